package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hub/webhook"
	"github.com/kortecx/kx/hub/webui"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/termtext"
)

// drainTime is how long a server that was told to stop answers what has begun.
const drainTime = 10 * time.Second

const (
	// minFree is the free space below which a server says that it is not ready.
	minFree = 64 << 20
	// postgresReaders is how many connections read, besides the one that writes.
	postgresReaders = 8
)

func (a *app) serveCommand() *cli.Command {
	return a.leaf("serve", "run a hub for others", spec{
		long: "Serves the hub in --data over HTTP/1.1 and HTTP/2 on one port. Every request needs a key of kx hub token new; your own\n" +
			"commands have one for each run in DATA/server.json. With --dev-allow-local everybody on this machine is its\n" +
			"administrator. An address that others can reach is served with TLS only, or to a proxy that does it. KAZMA_SECRET in\n" +
			"the environment opens the write routes of Kazma to who shows it.\n\n" +
			"Your own commands find it without an --endpoint when it serves your own hub. Ctrl-C ends it: what has begun is\n" +
			"answered first, for ten seconds at most.",
		examples: []example{
			{"serve --dev-allow-local", "on 127.0.0.1:50151, over your own hub"},
			{"serve --dev-allow-local --listen 127.0.0.1:0 --data scratch", "on a free port, over another one"},
		},
	}, append(listenFlags(), []cli.Flag{
		&cli.StringFlag{Name: "data", Usage: "keep everything in `DIR` (default: the hub in your KX_HOME)"},
		&cli.StringFlag{Name: "database-url", Usage: "keep everything in the PostgreSQL database at `URL` (also " + databaseURL + ", which others cannot see); several servers may share it"},
		&cli.StringSliceFlag{Name: "mcp-origin", Usage: "let web pages of `ORIGIN` (https://app.example.com) call /mcp; repeat it for more"},
		&cli.StringSliceFlag{Name: "mcp-host", Usage: "answer on /mcp only to who calls this hub `NAME`; repeat it for more (default: the names in --tls-cert, else any)"},
		mcpFlags()[0],
		&cli.StringFlag{Name: "log-host", Usage: "call the transparency logs HOST/TENANT after the `HOST` that clients know; possible until something was logged (default: local)"},
		&cli.StringSliceFlag{Name: "webhook", Usage: "POST what happens to releases to `[TENANT=]URL` (default tenant: local), signed with " + webhookSecret + "; may be given again"},
		&cli.StringFlag{Name: "embeddings-url", Usage: "find releases by meaning too, with the embeddings of the OpenAI-compatible API at `URL`, which is sent what releases say of themselves and what is searched for; its key is " + embeddingsKey},
		&cli.StringFlag{Name: "embeddings-model", Usage: "the `MODEL` that the API is asked for"},
		&cli.FloatFlag{Name: "embeddings-least", Value: 0.3, Usage: "the least `COSINE` of a query and a release that is near"},
		&cli.BoolFlag{Name: "access-log", Usage: "write one JSON line for each request to standard error, without keys and queries"},
		&cli.BoolFlag{Name: "dev-allow-local", Aliases: []string{"allow-local-dev"}, Usage: "let everybody on this machine in, as administrator"},
		jsonFlag(),
	}...), a.runServe)
}

func (a *app) runServe(ctx context.Context, c *cli.Command) (err error) {
	dir, err := a.dataDir(c)
	if err != nil {
		return err
	}
	at, err := a.listenAt(c)
	if err != nil {
		return err
	}
	hooks, err := a.hooks(c)
	if err != nil {
		return err
	}
	config := hub.Config{Now: a.Now, Rand: a.Rand, Scanner: hub.ContentScanner{}}
	if err := a.embedder(c, &config); err != nil {
		return err
	}
	agents, err := a.mcpServing(ctx, c, at)
	if err != nil {
		return err
	}
	if host := c.String("log-host"); host != "" {
		if err := hub.CheckLogHost(host); err != nil {
			return err
		}
	}
	if err := a.knownTenants(c, dir, hooks); err != nil {
		return err
	}
	a.grace.Store(int64(drainTime + 5*time.Second))
	if a.Getenv("GOGC") == "" {
		// Most of a server's memory is the search index, which stays: to let the
		// heap double before it is swept would be to pay for the index twice.
		debug.SetGCPercent(40)
	}
	store, unlock, err := a.openStore(ctx, c, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(), unlock()) }()
	doors, err := openDoors(ctx, at)
	if err != nil {
		return err
	}
	key := make([]byte, 32)
	if _, err := io.ReadFull(a.Rand, key); err != nil {
		return err
	}
	file := hubapi.ServerFile{Address: doors.own(), PID: os.Getpid(), Key: hex.EncodeToString(key)}
	if err := hubapi.WriteServerFile(dir, file); err != nil {
		return errors.Join(err, doors.close())
	}
	defer func() { err = errors.Join(err, hubapi.RemoveServerFile(dir, file)) }()
	h := hub.New(store, config)
	if err := webhook.Check(ctx, h, hooks); err != nil {
		return errors.Join(usagef("--webhook: %v", err), doors.close())
	}
	if host := c.String("log-host"); host != "" {
		if err := h.SetLogHost(ctx, host); err != nil {
			return errors.Join(err, doors.close())
		}
	}
	auth := httpapi.Keys(h, httpapi.KeyOptions{Local: file.Key, KazmaSecret: a.Getenv("KAZMA_SECRET"), Now: a.Now})
	if c.Bool("dev-allow-local") {
		auth = httpapi.DevServer(a.Getenv("KAZMA_SECRET"))
	}
	if c.Bool("json") {
		err = a.printJSON(map[string]any{"address": doors.address(), "data": dir, "pid": file.PID})
	} else {
		where := dir
		if a.databaseURL(c) != "" {
			where = "PostgreSQL" // the URL may hold a password
		}
		a.printf("hub on %s, data in %s\n", doors.address(), where)
		if c.Bool("dev-allow-local") {
			a.note("everybody on this machine is administrator of this hub (--dev-allow-local)")
		} else {
			a.note("requests need a key (kx hub token new); your own commands find theirs in %s", termtext.Escape(dir))
		}
	}
	if err != nil {
		return errors.Join(err, doors.close())
	}
	log := slog.New(slog.NewTextHandler(a.Stderr, nil))
	a.logKazmaSkills(ctx, c, log)
	limited := httpapi.Limit(doors.main, httpapi.MaxConns)
	doors.main = limited
	observe := func(handler http.Handler) http.Handler {
		return httpapi.Observe(handler, httpapi.ObserveOptions{
			Now: a.Now, Access: a.accessLog(c), Conns: limited.Open, Loopback: at.here(), Auth: auth,
			Stats: func(ctx context.Context) httpapi.StoreStats { return httpapi.StoreStats(store.Stats(ctx)) },
		})
	}
	kept, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { a.tell(kept, h, hooks, log) })
	if config.Embedder != nil {
		beside.Go(func() { keepUp(kept, "embeddings", log, func() { embedPending(kept, h, log) }) })
	}
	beside.Go(func() {
		logged("search index", log, func() {
			if err := h.LoadSearch(kept); err != nil && kept.Err() == nil {
				log.Warn("the search index could not be loaded; the first search tries again", "error", err)
			}
		})
		keepUp(kept, "upkeep", log, func() { upkeep(kept, h, log) })
	})
	agents.Log = log
	err = doors.serve(ctx, h, auth, a.pages(c, h, auth, at, log), agents, log, observe)
	stop()
	beside.Wait()
	return err
}

// pages are the hub's web pages. A key that is typed into the login is the same key
// that a request would show.
func (a *app) pages(c *cli.Command, h *hub.Hub, auth httpapi.Authenticator, at listening, log *slog.Logger) http.Handler {
	return webui.Handler(h, webui.Options{
		Open: c.Bool("dev-allow-local"), Secure: at.tls != nil || at.proxy.IsValid(),
		Now: a.Now, Rand: a.Rand, Log: log, OpenAPI: httpapi.OpenAPI(),
		Authenticate: func(key string) (hub.Principal, error) {
			r := &http.Request{Header: http.Header{}}
			if key != "" {
				r.Header.Set("Authorization", "Bearer "+key)
			}
			return auth.Authenticate(r)
		},
	})
}

// accessLog is where requests are written, nil without --access-log.
func (a *app) accessLog(c *cli.Command) *slog.Logger {
	if !c.Bool("access-log") {
		return nil
	}
	return slog.New(slog.NewJSONHandler(a.Stderr, nil))
}

// openStore opens what a server serves. Its directory is its own in either case: it
// holds server.json, through which the user's own commands find it.
func (a *app) openStore(ctx context.Context, c *cli.Command, dir string) (store *sqlstore.Store, unlock func() error, err error) {
	options := sqlstore.Options{Now: a.Now, Wait: a.lockWait(), Waiting: a.waitingFor, MinFree: minFree}
	url := a.databaseURL(c)
	if url == "" {
		store, err = sqlstore.Open(ctx, dir, options)
		return store, func() error { return nil }, err
	}
	lock, err := sqlstore.LockDir(ctx, dir, a.lockWait(), a.waitingFor)
	if err != nil {
		return nil, nil, hubapi.AsError(err).WithHint("servers that share a database on one machine each need a --data DIR of their own")
	}
	options.Readers = postgresReaders
	store, err = sqlstore.OpenPostgres(ctx, url, options)
	if err != nil {
		return nil, nil, errors.Join(err, lock.Release())
	}
	for _, warning := range store.Warnings() {
		a.note("%s: %s", a.program, warning)
	}
	return store, lock.Release, nil
}
