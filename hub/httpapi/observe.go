package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

// maxLoggedPath is how many bytes of a request's path go to the access log.
const maxLoggedPath = 256

// StoreStats are counts of the store for /metrics.
type StoreStats struct {
	Writes, Commits, Failed int64 // committed writes, the commits they shared, transactions taken back
	Bytes                   int64 // of the database; negative when unknown
}

// ObserveOptions for Observe.
type ObserveOptions struct {
	Now func() time.Time // required
	// Access takes one record for each request: method, route, path, status,
	// bytes, duration. Keys, query strings, headers and bodies are not in it. Nil
	// writes none.
	Access *slog.Logger
	// Stats asks the store; nil leaves it out of the metrics.
	Stats func(context.Context) StoreStats
	// Conns counts open connections; nil leaves them out.
	Conns func() int64
	// Loopback says that only this machine is meant to reach the handler, as in
	// Options: then /metrics needs no key. Otherwise it needs an admin's.
	Loopback bool
	Auth     Authenticator
}

// Observe counts and logs what h answers, and adds /metrics in the text format of
// Prometheus.
func Observe(h http.Handler, o ObserveOptions) http.Handler {
	ob := &observer{handler: h, options: o, metrics: newMetrics()}
	ob.api = &api{log: slog.New(slog.DiscardHandler)} // writes refusals as every route does
	return ob
}

type observer struct {
	handler http.Handler
	options ObserveOptions
	api     *api
	metrics *metrics
	flying  atomic.Int64
}

// seen is a response whose status and size are remembered.
type seen struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (s *seen) WriteHeader(status int) {
	if s.status == 0 && status >= 200 {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *seen) Write(p []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	n, err := s.ResponseWriter.Write(p)
	s.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach what is below.
func (s *seen) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (o *observer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := o.options.Now()
	o.flying.Add(1)
	out := &seen{ResponseWriter: w}
	defer func() {
		o.flying.Add(-1)
		if out.status == 0 {
			out.status = http.StatusOK
		}
		took := o.options.Now().Sub(begun)
		route := routeOf(r)
		o.metrics.request(route, methodOf(r), out.status, took)
		if o.options.Access != nil {
			path := r.URL.Path
			if len(path) > maxLoggedPath {
				path = path[:maxLoggedPath]
			}
			o.options.Access.LogAttrs(context.Background(), slog.LevelInfo, "request",
				slog.String("method", methodOf(r)), slog.String("route", route), slog.String("path", path),
				slog.Int("status", out.status), slog.Int64("bytes", out.bytes),
				slog.Int64("micros", took.Microseconds()), slog.String("from", r.RemoteAddr))
		}
	}()
	if r.URL.Path != "/metrics" {
		o.handler.ServeHTTP(out, r)
		return
	}
	r.Pattern = "/metrics"
	if err := o.serveMetrics(out, r); err != nil {
		o.api.refuse(out, err)
	}
}

func (o *observer) serveMetrics(w http.ResponseWriter, r *http.Request) error {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	if o.options.Loopback {
		if !loopbackHost(r.Host) {
			return hubapi.Errorf(hubapi.Forbidden, "this hub answers on its own machine only, not as %q", r.Host)
		}
	} else {
		p, err := o.options.Auth.Authenticate(r)
		if err != nil {
			return err
		}
		if p.Role != hub.Admin {
			return hubapi.Errorf(hubapi.Forbidden, "%s may not see the metrics", p.Role.WithArticle())
		}
	}
	if r.Method != http.MethodGet {
		header.Set("Allow", http.MethodGet)
		o.api.methodRefused(w, r)
		return nil
	}
	header.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	gauges := []gauge{{"kx_http_in_flight", "requests that are being answered", o.flying.Load()}}
	if o.options.Conns != nil {
		gauges = append(gauges, gauge{"kx_http_connections", "open connections", o.options.Conns()})
	}
	var store *StoreStats
	if o.options.Stats != nil {
		s := o.options.Stats(r.Context())
		store = &s
	}
	_, _ = w.Write(o.metrics.text(gauges, store))
	return nil
}

// routeOf is the pattern that a request matched: there are few, whatever is asked.
func routeOf(r *http.Request) string {
	if r.Pattern == "" || r.Pattern == "/" {
		return "other"
	}
	return r.Pattern
}

// methodOf keeps invented methods out of labels and logs.
func methodOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions:
		return r.Method
	}
	return "other"
}

// pushOutcome names what became of a push; empty for other routes.
func pushOutcome(route, method string, status int) string {
	if route != pushRoute || method != http.MethodPost {
		return ""
	}
	switch {
	case status == http.StatusCreated:
		return "new"
	case status == http.StatusOK:
		return "unchanged"
	case status >= 500:
		return "failed"
	}
	return "refused"
}

const pushRoute = "/api/v1/releases"

// escapeLabel writes a label's value as the format wants it.
func escapeLabel(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s)
}
