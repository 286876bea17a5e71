package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hub/sqlstore"
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
	return a.leaf("serve", "run a hub for others on this machine", spec{
		long: "Serves the hub in --data over HTTP/1.1 and h2c on one port. It listens on loopback only; requests need the key that\n" +
			"it leaves for your own commands in DATA/server.json, or --dev-allow-local, with which everybody on this machine is\n" +
			"its administrator.\n\n" +
			"Your own commands find it without an --endpoint when it serves your own hub. Ctrl-C ends it: what has begun is\n" +
			"answered first, for ten seconds at most.",
		examples: []example{
			{"serve --dev-allow-local", "on 127.0.0.1:50151, over your own hub"},
			{"serve --dev-allow-local --listen 127.0.0.1:0 --data scratch", "on a free port, over another one"},
		},
	}, []cli.Flag{
		&cli.StringFlag{Name: "listen", Value: "127.0.0.1:50151", Usage: "listen on `ADDRESS`; port 0 takes a free one"},
		&cli.StringFlag{Name: "data", Usage: "keep everything in `DIR` (default: the hub in your KX_HOME)"},
		&cli.StringFlag{Name: "database-url", Usage: "keep everything in the PostgreSQL database at `URL` (also " + databaseURL + ", which others cannot see); several servers may share it"},
		&cli.BoolFlag{Name: "access-log", Usage: "write one JSON line for each request to standard error, without keys and queries"},
		&cli.BoolFlag{Name: "dev-allow-local", Aliases: []string{"allow-local-dev"}, Usage: "let everybody on this machine in, as administrator"},
		jsonFlag(),
	}, a.runServe)
}

func (a *app) runServe(ctx context.Context, c *cli.Command) (err error) {
	dir, err := a.dataDir(c)
	if err != nil {
		return err
	}
	if err := loopbackOnly(c.String("listen")); err != nil {
		return err
	}
	a.grace.Store(int64(drainTime + 5*time.Second))
	store, unlock, err := a.openStore(ctx, c, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(), unlock()) }()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.String("listen"))
	if err != nil {
		return hubapi.Errorf(hubapi.Unavailable, "cannot listen: %v", err).WithHint("--listen 127.0.0.1:0 takes a free port")
	}
	key := make([]byte, 32)
	if _, err := io.ReadFull(a.Rand, key); err != nil {
		return err
	}
	file := hubapi.ServerFile{Address: "http://" + listener.Addr().String(), PID: os.Getpid(), Key: hex.EncodeToString(key)}
	if err := hubapi.WriteServerFile(dir, file); err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, hubapi.RemoveServerFile(dir, file)) }()
	auth := httpapi.LocalKey(file.Key)
	if c.Bool("dev-allow-local") {
		auth = httpapi.DevLocal()
	}
	if c.Bool("json") {
		err = a.printJSON(map[string]any{"address": file.Address, "data": dir, "pid": file.PID})
	} else {
		a.printf("hub on %s, data in %s\n", file.Address, dir)
		if c.Bool("dev-allow-local") {
			a.note("everybody on this machine is administrator of this hub (--dev-allow-local)")
		} else {
			a.note("requests need a key: your own commands find it in %s", termtext.Escape(dir))
		}
	}
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	handler := httpapi.Handler(hub.New(store, hub.Config{Now: a.Now}), auth, httpapi.Options{
		Loopback: true,
		Log:      slog.New(slog.NewTextHandler(a.Stderr, nil)),
	})
	limited := httpapi.Limit(listener, httpapi.MaxConns)
	handler = httpapi.Observe(handler, httpapi.ObserveOptions{
		Now: a.Now, Access: a.accessLog(c), Conns: limited.Open, Loopback: true, Auth: auth,
		Stats: func(ctx context.Context) httpapi.StoreStats { return httpapi.StoreStats(store.Stats(ctx)) },
	})
	return httpapi.Serve(ctx, httpapi.NewServer(handler), limited)
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
	options := sqlstore.Options{Now: a.Now, Wait: lockWait, MinFree: minFree}
	url := a.databaseURL(c)
	if url == "" {
		store, err = sqlstore.Open(ctx, dir, options)
		return store, func() error { return nil }, err
	}
	lock, err := sqlstore.LockDir(ctx, dir, lockWait)
	if err != nil {
		return nil, nil, err
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

// loopbackOnly refuses an address that others could reach: this version has no
// accounts that would keep them out.
func loopbackOnly(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return usagef("--listen %s: %v", address, err).WithHint("write it as HOST:PORT, such as 127.0.0.1:50151")
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return usagef("--listen %s: only loopback addresses are served, because this version has no accounts for others", address)
}
