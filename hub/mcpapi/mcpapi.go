// Package mcpapi is the hub for agents that pull: the Model Context Protocol over
// streamable HTTP, with and without the handshake that revisions before 2026-07-28
// have. It keeps no sessions. (kx mcp carries the same messages over standard streams;
// see hubclient.)
//
// A skill is reachable in five ways, because agents differ in what they use: tools
// (search_skills, read_skill), resources, prompts, the skills extension, and the
// server's instructions. What is served is decided in package hub (Served), never
// here: anything else is as absent as what does not exist.
//
// Every answer is computed from a snapshot of what is active, which is replaced when
// that changes; a skill's files are read when somebody asks for them.
//
// Call Handler.
package mcpapi

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kortecx/kx/hub"
)

// Limits.
const (
	// maxBody is how many bytes one message may have.
	maxBody = 4 << 20
	// maxTenants is how many tenants' snapshots are kept.
	maxTenants = 256

	defaultPrompts  = 100 // listed as commands
	defaultPage     = 100 // items of a list
	maxPageFiles    = 4096
	defaultPoll     = 2 * time.Second
	maxStreams      = 512 // subscriptions/listen, of all callers
	maxStreamsOfOne = 64  // and of one of them
)

// How long a client may keep an answer, in milliseconds. A skill that is withdrawn
// must not be used much longer.
const (
	ttlSkills = 5_000
	ttlTools  = 60_000
)

// Authenticator finds out who calls. Its error is a *hubapi.Error.
type Authenticator interface {
	Authenticate(r *http.Request) (hub.Principal, error)
}

// Options for Handler.
type Options struct {
	Version string           // of this program
	Now     func() time.Time // required
	// Log takes what an operator has to know; nil drops it.
	Log *slog.Logger
	// Prompts is how many skills are listed as prompts, which clients show as
	// commands: 0 means 100, below 0 none. Every skill can be had as one by its name.
	Prompts int
	// PageSize is how many items a page of a list has; 0 means 100.
	PageSize int
	// Poll is how often what is active is looked at for who subscribed to changes;
	// 0 means 2 s.
	Poll time.Duration

	// Static says that nobody is told of changes: the handler does not live long enough.
	Static bool

	// Loopback says that only this machine is meant to reach the handler.
	Loopback bool
	// Hosts are the names, without port, under which others reach it; empty means
	// any, since a key is needed.
	Hosts []string
	// Origins are those of web pages that may call it, such as https://app.example.com.
	// Without, a page may only where Loopback is set and it comes from the handler's
	// own address.
	Origins []string
	// Ending, when closed, ends the streams that wait for changes.
	Ending <-chan struct{}
}

// service is what answers, whoever calls and however.
type service struct {
	hub     *hub.Hub
	options Options
	log     *slog.Logger
	streams streams

	mu      sync.Mutex
	tenants map[string]*tenant
}

func newService(h *hub.Hub, o Options) *service {
	if o.Prompts == 0 {
		o.Prompts = defaultPrompts
	}
	if o.PageSize <= 0 {
		o.PageSize = defaultPage
	}
	if o.Poll <= 0 {
		o.Poll = defaultPoll
	}
	s := &service{hub: h, options: o, log: o.Log, tenants: map[string]*tenant{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s
}

// tenant is what one tenant's callers share: the protocol's server, which tells them
// of changes, and the snapshot.
type tenant struct {
	server *mcp.Server
	shelf  shelf
	watch  watch
}

// of gives the tenant of p.
func (s *service) of(p hub.Principal) *tenant {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenants[p.Tenant]
	if t == nil {
		if len(s.tenants) >= maxTenants {
			for id, old := range s.tenants {
				if old.watch.idle() { // it is made again when somebody calls
					delete(s.tenants, id)
				}
			}
		}
		t = &tenant{}
		t.server = s.newServer(t)
		s.tenants[p.Tenant] = t
	}
	return t
}

// newServer makes the protocol's server of a tenant. Everything that depends on what
// is active is answered by answer, before the library looks at what it knows.
func (s *service) newServer(t *tenant) *mcp.Server {
	capabilities := &mcp.ServerCapabilities{
		Tools:     &mcp.ToolCapabilities{},
		Resources: &mcp.ResourceCapabilities{ListChanged: !s.options.Static},
		Prompts:   &mcp.PromptCapabilities{ListChanged: !s.options.Static},
	}
	capabilities.AddExtension(extensionID, map[string]any{"directoryRead": true})
	server := mcp.NewServer(&mcp.Implementation{Name: "kx", Title: "Skills of a kx hub", Version: s.options.Version}, &mcp.ServerOptions{
		Capabilities: capabilities,
		Logger:       slog.New(slog.DiscardHandler),
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.CacheScope = "private"
			if c.TTLMs == 0 {
				c.TTLMs = ttlTools
			}
		},
	})
	addStandIns(server)
	s.addTools(server)
	s.addExtension(server)
	server.AddReceivingMiddleware(s.middleware(t))
	return server
}

type principalKey struct{}

// caller is the principal whose request this is. Without one the hub refuses: the
// zero principal is nobody.
func caller(ctx context.Context) hub.Principal {
	p, _ := ctx.Value(principalKey{}).(hub.Principal)
	return p
}
