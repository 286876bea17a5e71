package cli

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hub/mcpapi"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
)

// leaveAfter is how long an agent's own hub stays open behind its last question. Other
// commands wait for it meanwhile; to open it takes a few milliseconds.
const leaveAfter = 250 * time.Millisecond

func (a *app) mcpCommand() *cli.Command {
	return a.leaf("mcp", "serve skills to an agent over standard streams", spec{
		long: "An agent starts this command and speaks the Model Context Protocol with it: it finds active skills, reads them, and may\n" +
			"propose new ones, which wait for review. It sees what the hub shows to agents: --endpoint, else the server that runs\n" +
			"over your own hub, else your own hub itself. docs/mcp.md says how to tell your agent about it.\n\n" +
			"It ends with its input; with --json it only prints the entry that makes an agent start it. A hub that is served\n" +
			"(" + a.program + " serve) is reached without this command too, at /mcp.",
		examples: []example{
			{"mcp", "what an agent runs; it is silent until it is asked"},
			{"mcp --json", "the entry for an agent's configuration"},
		},
	}, append(clientFlags(), mcpFlags()...), a.runMCP)
}

// mcpEntry is what mcp --json prints: the entry that many agents' configurations have.
type mcpEntry struct {
	Servers map[string]mcpStart `json:"mcpServers"`
}

// mcpStart is how an agent starts a program that it speaks with.
type mcpStart struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

// mcpEntry is the entry for this command with what it was given, but for a key, which
// does not belong there.
func (a *app) mcpEntry(c *cli.Command) mcpEntry {
	args := []string{"mcp"}
	for _, name := range []string{"endpoint", "token-file", "tls-ca"} {
		if value := c.String(name); value != "" {
			if name != "endpoint" {
				value = a.path(value)
			}
			args = append(args, "--"+name, value)
		}
	}
	if c.IsSet("mcp-prompts") {
		args = append(args, "--mcp-prompts", strconv.Itoa(c.Int("mcp-prompts")))
	}
	return mcpEntry{Servers: map[string]mcpStart{"skills": {Command: a.program, Args: args}}}
}

func mcpFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "mcp-prompts", Value: 100, Usage: "list at most `N` skills as prompts, which agents show as commands; 0 lists none"},
	}
}

// mcpOptions are the options of both commands that serve agents.
func (a *app) mcpOptions(c *cli.Command) (mcpapi.Options, error) {
	prompts := c.Int("mcp-prompts")
	if prompts < 0 {
		return mcpapi.Options{}, usagef("--mcp-prompts needs a whole number, not below 0")
	}
	if prompts == 0 {
		prompts = -1
	}
	return mcpapi.Options{Version: a.build().Version, Now: a.Now, Prompts: prompts}, nil
}

// mcpServing are the options of /mcp of a server, which tells who listens of changes
// until ctx ends.
func (a *app) mcpServing(ctx context.Context, c *cli.Command, at listening) (mcpapi.Options, error) {
	o, err := a.mcpOptions(c)
	if err != nil {
		return o, err
	}
	o.Ending = ctx.Done()
	o.Origins, o.Hosts = c.StringSlice("mcp-origin"), c.StringSlice("mcp-host")
	for _, origin := range o.Origins {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.Scheme+"://"+u.Host != origin {
			return o, usagef("--mcp-origin %s is no origin", origin).WithHint("write it as browsers do, such as https://app.example.com")
		}
	}
	if len(o.Hosts) == 0 && at.tls != nil {
		o.Hosts = certifiedNames(at.tls.Certificates[0].Leaf)
	}
	return o, nil
}

// certifiedNames are the names for which a certificate is; none when it has a pattern,
// which stands for names that are not known here.
func certifiedNames(cert *x509.Certificate) []string {
	if cert == nil {
		return nil
	}
	names := slices.Clone(cert.DNSNames)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "*") }) {
		return nil
	}
	return names
}

func (a *app) runMCP(ctx context.Context, c *cli.Command) error {
	options, err := a.mcpOptions(c)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return a.printJSON(a.mcpEntry(c))
	}
	s, err := a.settings(c)
	if err != nil {
		return err
	}
	if s.endpoint != "" {
		trust, err := a.authorities(c, s.endpoint)
		if err != nil {
			return err
		}
		return a.useClient(hubclient.Config{Endpoint: s.endpoint, Token: s.token, TLS: trust}, a.serveMCP(ctx))
	}
	if c.String("tls-ca") != "" {
		return usagef("--tls-ca needs an https --endpoint")
	}
	own := &ownHub{app: a, dir: s.home.hub(), options: options}
	defer own.close()
	return a.useClient(hubclient.Config{Endpoint: "http://127.0.0.1", Transport: own, Own: true}, a.serveMCP(ctx))
}

func (a *app) serveMCP(ctx context.Context) func(*hubclient.Client) error {
	return func(client *hubclient.Client) error { return client.ServeMCP(ctx, a.Stdin, a.Stdout) }
}

// ownHub carries requests to the user's own hub, however that can be reached when
// they are made. An agent runs for hours, and only one process may have the hub open:
// so this one opens it for a request and soon leaves it to others, and goes through a
// server that holds it.
type ownHub struct {
	app     *app
	dir     string
	options mcpapi.Options

	mu      sync.Mutex
	handler http.Handler // nil: not open
	store   *sqlstore.Store
	users   int
	leave   *time.Timer
	server  http.Transport
}

// RoundTrip implements http.RoundTripper.
func (o *ownHub) RoundTrip(r *http.Request) (*http.Response, error) {
	handler, err := o.enter(r.Context())
	if locked, ok := errors.AsType[*sqlstore.LockedError](err); ok && locked.Server != nil {
		return o.ask(r, locked.Server)
	}
	if err != nil {
		return nil, err
	}
	resp, err := httpapi.InProcess(handler).RoundTrip(r)
	if err != nil {
		o.exit()
		return nil, err
	}
	resp.Body = &leaving{ReadCloser: resp.Body, exit: sync.OnceFunc(o.exit)}
	return resp, nil
}

// ask sends a request to the server that holds the hub.
func (o *ownHub) ask(r *http.Request, server *hubapi.ServerFile) (*http.Response, error) {
	to := r.Clone(r.Context())
	base, err := r.URL.Parse(server.Address)
	if err != nil {
		return nil, err
	}
	to.URL.Scheme, to.URL.Host, to.Host = base.Scheme, base.Host, ""
	to.Header.Set("Authorization", "Bearer "+server.Key)
	return o.server.RoundTrip(to)
}

// enter opens the hub, or finds it open.
func (o *ownHub) enter(ctx context.Context) (http.Handler, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.leave != nil {
		o.leave.Stop()
	}
	if o.handler == nil {
		store, err := sqlstore.Open(ctx, o.dir, sqlstore.Options{Now: o.app.Now, Wait: o.app.lockWait(), Readers: 2})
		if err != nil {
			return nil, err
		}
		h := hub.New(store, hub.Config{Now: o.app.Now, Scanner: hub.ContentScanner{}})
		options := o.options
		options.Static, options.Loopback = true, true
		o.store = store
		o.handler = httpapi.Handler(h, httpapi.DevLocal(), httpapi.Options{MCP: mcpapi.Handler(h, httpapi.DevLocal(), options)})
	}
	o.users++
	return o.handler, nil
}

// exit leaves the hub open for a moment.
func (o *ownHub) exit() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.users--; o.users > 0 {
		return
	}
	o.leave = time.AfterFunc(leaveAfter, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.users == 0 {
			o.shut()
		}
	})
}

func (o *ownHub) shut() {
	if o.store == nil {
		return
	}
	if err := o.store.Close(); err != nil {
		o.app.note("%s: the hub was not closed as it should: %v", o.app.program, err)
	}
	o.store, o.handler = nil, nil
}

func (o *ownHub) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.leave != nil {
		o.leave.Stop()
	}
	o.shut()
	o.server.CloseIdleConnections()
}

// leaving is an answer's body that says when nobody reads it any more.
type leaving struct {
	io.ReadCloser
	exit func()
}

func (l *leaving) Close() error {
	defer l.exit()
	return l.ReadCloser.Close()
}
