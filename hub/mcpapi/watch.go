package mcpapi

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/workers"
)

// watch looks at a tenant's change number while somebody waits for changes.
type watch struct {
	mu      sync.Mutex
	waiting int
	stop    context.CancelFunc
	done    chan struct{}
}

func (w *watch) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting == 0
}

// streams counts who waits for changes.
type streams struct {
	mu    sync.Mutex
	total int
	of    map[string]int
}

func (s *streams) enter(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total >= maxStreams || s.of[id] >= maxStreamsOfOne {
		return false
	}
	if s.of == nil {
		s.of = map[string]int{}
	}
	s.total++
	s.of[id]++
	return true
}

func (s *streams) leave(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total--
	if s.of[id]--; s.of[id] == 0 {
		delete(s.of, id)
	}
}

// listen keeps a subscription until its client ends it, or the server ends.
func (s *service) listen(ctx context.Context, t *tenant, serve func(context.Context) (mcp.Result, error)) (mcp.Result, error) {
	p := caller(ctx)
	key := p.Tenant + "\n" + p.ID
	if !s.streams.enter(key) {
		return nil, hubapi.Errorf(hubapi.RateLimited, "too many subscriptions wait for changes already")
	}
	defer s.streams.leave(key)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if s.options.Ending != nil {
		go func() {
			select {
			case <-s.options.Ending:
				stop()
			case <-ctx.Done():
			}
		}()
	}
	followed := s.follow(ctx, t, p)
	result, err := serve(ctx)
	stop()
	<-followed
	return result, err
}

// follow has the tenant's clients told of changes until ctx ends; the channel that
// it gives is closed when that is over.
func (s *service) follow(ctx context.Context, t *tenant, p hub.Principal) <-chan struct{} {
	w := &t.watch
	w.mu.Lock()
	w.waiting++
	if w.waiting == 1 {
		polling, stop := context.WithCancel(context.WithoutCancel(ctx))
		w.stop, w.done = stop, make(chan struct{})
		// Whoever waits is told of everything from here on.
		known, err := s.hub.ServedChange(ctx, p)
		go s.poll(polling, t, p, known, err == nil, w.done)
	}
	w.mu.Unlock()
	over := make(chan struct{})
	go func() {
		defer close(over)
		<-ctx.Done()
		w.mu.Lock()
		w.waiting--
		last, done := w.waiting == 0, w.done
		if last {
			w.stop()
		}
		w.mu.Unlock()
		if last {
			<-done
		}
	}()
	return over
}

// poll looks for changes after the one that is known.
func (s *service) poll(ctx context.Context, t *tenant, p hub.Principal, known int64, seen bool, done chan<- struct{}) {
	defer close(done)
	ticker := time.NewTicker(s.options.Poll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		fault := workers.Catch(func() {
			change, err := s.hub.ServedChange(ctx, p)
			if err != nil {
				return // the next look may do better
			}
			if seen && change != known {
				t.changed()
			}
			known, seen = change, true
		})
		if fault != nil {
			fault.Log(s.log, "task", "subscriptions")
		}
	}
}

// changed has the library tell the clients that both lists changed.
func (t *tenant) changed() { addStandIns(t.server) }
