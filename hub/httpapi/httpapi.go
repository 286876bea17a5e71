// Package httpapi is the hub over HTTP: it reads requests strictly, finds out who
// calls, calls the hub's rules and writes what they answer. It decides nothing
// about releases itself.
//
// Handler is the whole API under /api/v1 with /healthz and /readyz; NewServer and
// Serve put it on a listener; InProcess lets a client call it without one.
package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/workers"
)

// Options for Handler.
type Options struct {
	// Loopback says that only this machine is meant to reach the handler:
	// requests whose Host is not a loopback name or address are refused, so that
	// no web page can make a browser talk to it under its own name.
	Loopback bool
	// From is the network whose connections alone are answered: that of a proxy,
	// which does the TLS. The zero value answers everybody's.
	From netip.Prefix
	// Pages answers what is no path of the API; nil refuses it.
	Pages http.Handler
	// MCP answers /mcp, and finds out by itself who calls and from which page; nil
	// refuses it.
	MCP http.Handler
	// Log takes what an operator has to know; nil drops it.
	Log *slog.Logger
}

type api struct {
	hub      *hub.Hub
	auth     Authenticator
	loopback bool
	from     netip.Prefix
	log      *slog.Logger
	origins  *http.CrossOriginProtection
	mux      *http.ServeMux
	archives hubapi.Archiver
}

// call is one request whose caller is known and whose parameters were read.
type call struct {
	w http.ResponseWriter
	r *http.Request
	p hub.Principal
	q params
}

// endpoint is one method of one path.
type endpoint struct {
	params string // names of the query parameters that it knows, space separated
	public bool   // needs no key
	legacy bool   // refusals have the older form too, and its statuses
	kazma  bool   // a write route of Kazma: its shared secret is a key here
	serve  func(*call) error
}

// methods is what a path answers to. HEAD is not among them anywhere.
type methods map[string]endpoint

// Handler serves h to whom auth knows.
func Handler(h *hub.Hub, auth Authenticator, o Options) http.Handler {
	a := &api{
		hub: h, auth: auth, loopback: o.Loopback, from: o.From, log: o.Log,
		origins: http.NewCrossOriginProtection(), mux: http.NewServeMux(),
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	for pattern, m := range a.routes() {
		a.mux.HandleFunc(pattern, a.route(m))
	}
	noPath := func(w http.ResponseWriter, _ *http.Request) {
		a.refuse(w, hubapi.Errorf(hubapi.NotFound, "there is no such path in the API"))
	}
	if o.MCP != nil {
		a.mux.Handle("/mcp", o.MCP)
	} else {
		a.mux.HandleFunc("/mcp", noPath)
	}
	a.mux.HandleFunc("/api", noPath)
	a.mux.HandleFunc("/api/", noPath)
	if o.Pages != nil {
		a.mux.Handle("/", o.Pages)
	} else {
		a.mux.HandleFunc("/", noPath)
	}
	return a
}

// routes are all paths of the API with what they answer to, but for those that older
// Kazma clients call (see isKazma).
func (a *api) routes() map[string]methods {
	get := func(params string, serve func(*call) error) methods {
		return methods{http.MethodGet: {params: params, serve: serve}}
	}
	own := map[string]methods{
		"/healthz":         {http.MethodGet: {public: true, serve: a.health}},
		"/readyz":          {http.MethodGet: {public: true, serve: a.ready}},
		"/api/v1/releases": {http.MethodPost: {params: "author version approve origin", serve: a.push}},
		"/api/v1/search":   get(searchParams, a.search),
		"/api/v1/catalog": {
			http.MethodGet: {params: "limit after_name", serve: a.catalogList},
			http.MethodPut: {serve: a.catalogAdd},
		},
		"/api/v1/catalog/{name}": {
			http.MethodGet:    {serve: a.catalogForm},
			http.MethodPut:    {serve: a.catalogAdd},
			http.MethodDelete: {serve: a.catalogRemove},
		},
		"/api/v1/releases/{author}/{name}":                           get("", ofRelease(a.hub.Release)),
		"/api/v1/releases/{author}/{name}/{version}":                 get("", ofRelease(a.hub.Release)),
		"/api/v1/releases/{author}/{name}/{version}/archive":         get("", a.archive),
		"/api/v1/releases/{author}/{name}/{version}/signature":       get("", a.signature),
		"/api/v1/releases/{author}/{name}/{version}/files/{path...}": get("", a.file),
		"/checkpoint":          {http.MethodGet: {public: true, serve: a.reading(a.checkpoint)}},
		"/tile/{path...}":      {http.MethodGet: {public: true, serve: a.reading(a.logTile)}},
		"/api/v1/log":          {http.MethodGet: {public: true, serve: a.reading(a.logState)}},
		"/api/v1/log/proof":    {http.MethodGet: {public: true, params: "index from size", serve: a.reading(a.logProof)}},
		"/api/v1/log/entries":  {http.MethodGet: {public: true, params: "name first limit", serve: a.reading(a.logEntries)}},
		"/api/v1/log/releases": {http.MethodGet: {public: true, params: "after limit", serve: a.reading(a.logReleases)}},
		"/openapi.json":        {http.MethodGet: {public: true, serve: a.openAPI}},
	}
	for _, more := range []map[string]methods{a.reviewRoutes(), a.adminRoutes(), a.badgeRoutes(), a.documentRoutes(), a.fleetRoutes(), a.siteRoutes(), a.publisherRoutes()} {
		maps.Copy(own, more)
	}
	return own
}

// ServeHTTP guards the routes.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer a.recover(w, r)
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
	header.Set("Referrer-Policy", "no-referrer")
	// Answers depend on who asks; the few that may be kept say so themselves.
	header.Set("Cache-Control", "no-store")
	switch {
	case a.from.IsValid() && !fromNetwork(a.from, r.RemoteAddr):
		a.refuse(w, hubapi.Errorf(hubapi.Forbidden, "this hub answers its proxy only"))
	case a.loopback && !loopbackHost(r.Host):
		a.refuseWith(w, http.StatusMisdirectedRequest, hubapi.Errorf(hubapi.Forbidden, "this hub answers on its own machine only, not as %q", r.Host))
	case r.Method == http.MethodConnect || r.Method == http.MethodTrace:
		header.Set("Allow", "DELETE, GET, POST, PUT")
		a.methodRefused(w, r)
	case isKazma(r.URL.Path):
		a.serveKazma(w, r)
	case !plainPath(r.URL):
		a.refuse(w, hubapi.Errorf(hubapi.Invalid, "the path is not in its plain form"))
	default:
		a.mux.ServeHTTP(w, r)
	}
}

// route answers one path.
func (a *api) route(m methods) http.HandlerFunc {
	allow := strings.Join(slices.Sorted(maps.Keys(m)), ", ")
	return func(w http.ResponseWriter, r *http.Request) {
		e, ok := m[r.Method]
		if !ok {
			w.Header().Set("Allow", allow)
			a.methodRefused(w, r)
			return
		}
		c, err := a.admit(e, w, r)
		if err != nil {
			a.refuseAs(w, e, err, false)
			return
		}
		if c.q, err = readParams(r.URL.RawQuery, strings.Fields(e.params)); err == nil {
			err = e.serve(c)
		}
		if err != nil {
			a.refuseAs(w, e, err, true)
		}
	}
}

// admit finds out who calls.
func (a *api) admit(e endpoint, w http.ResponseWriter, r *http.Request) (*call, error) {
	if err := a.origins.Check(r); err != nil {
		return nil, hubapi.Errorf(hubapi.Forbidden, "a page of another site may not write here")
	}
	if e.kazma {
		r = markKazmaWrite(r)
	}
	c := &call{w: w, r: r}
	if e.public {
		return c, nil
	}
	var err error
	c.p, err = a.auth.Authenticate(r)
	return c, err
}

func (a *api) methodRefused(w http.ResponseWriter, r *http.Request) {
	a.refuseWith(w, http.StatusMethodNotAllowed, hubapi.Errorf(hubapi.Invalid, "the method %s is not allowed here", r.Method).
		WithHint("allowed: %s", w.Header().Get("Allow")))
}

// refuse writes any error as the JSON document that every refusal is.
func (a *api) refuse(w http.ResponseWriter, err error) {
	e := hubapi.AsError(err)
	a.refuseWith(w, e.Code.HTTP(), e)
}

// refuseAs refuses in the form of the endpoint. Clients of the older APIs read
// "detail", and to them a parameter or a body that is wrong is 422.
func (a *api) refuseAs(w http.ResponseWriter, as endpoint, err error, admitted bool) {
	e := hubapi.AsError(err)
	if !as.legacy {
		a.refuse(w, err)
		return
	}
	status, detail := e.Code.HTTP(), e.Message
	if e.Code == hubapi.Invalid && admitted {
		status = http.StatusUnprocessableEntity
	}
	if id := e.ID(); id != "" && id == strings.ToUpper(id) {
		detail = id + ": " + detail
	}
	a.refuseBody(w, status, hubapi.ErrorBody{Error: e, Detail: detail})
}

func (a *api) refuseWith(w http.ResponseWriter, status int, e *hubapi.Error) {
	a.refuseBody(w, status, hubapi.ErrorBody{Error: e})
}

func (a *api) refuseBody(w http.ResponseWriter, status int, body hubapi.ErrorBody) {
	a.refusalHeader(w.Header(), body.Error)
	writeJSON(w, status, body)
}

// refusalHeader sets the headers that go with a refusal, and logs what an operator
// has to know of.
func (a *api) refusalHeader(header http.Header, e *hubapi.Error) {
	switch e.Code {
	case hubapi.Unauthorized:
		header.Set("WWW-Authenticate", "Bearer")
	case hubapi.Unavailable, hubapi.RateLimited:
		header.Set("Retry-After", "1")
	case hubapi.TooLarge:
		header.Set("Connection", "close") // rather than read the rest
	case hubapi.Internal, hubapi.NoSpace:
		a.log.Error("request failed", "code", string(e.Code), "error", e.Message)
	}
}

// recover turns a panic into a refusal, so that a fault of ours is still an answer.
func (a *api) recover(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
	workers.Recovered(p).Log(a.log, "method", r.Method, "path", r.URL.Path)
	a.refuse(w, hubapi.Errorf(hubapi.Internal, "a fault of the hub; its log says more"))
}

// answer writes what the hub answered, or hands on why it did not.
//
// Not inlined, for the size of the programs.
//
//go:noinline
func (c *call) answer(v any, err error) error {
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, v)
	return nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	buf := answers.Get().(*bytes.Buffer)
	buf.Reset()
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		// Wire types hold nothing that cannot be encoded.
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(buf.Len()))
	w.WriteHeader(status)
	// HTTP/2 may still read what a Write that failed was given, because the client went away.
	if _, err := w.Write(buf.Bytes()); err == nil && buf.Cap() <= maxKept {
		answers.Put(buf)
	}
}

// answers are buffers of answers that were written, none larger than maxKept.
var answers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const maxKept = 64 << 10

func (a *api) health(c *call) error {
	writeJSON(c.w, http.StatusOK, map[string]string{"status": "ok"})
	return nil
}

func (a *api) ready(c *call) error {
	if err := a.hub.Ready(c.r.Context()); err != nil {
		e := hubapi.AsError(err)
		a.refuseWith(c.w, http.StatusServiceUnavailable, e)
		return nil
	}
	writeJSON(c.w, http.StatusOK, map[string]string{"status": "ready"})
	return nil
}
