// Package webui is the hub as web pages: the catalogue, a release with its files
// and rendered instructions, the difference between two releases, the inbox for
// reviewers, the fleet, the log, and a reference of the API. Pages are rendered on the server, work without a script, and
// may load nothing from elsewhere.
//
// It decides nothing: it asks the hub's rules as the principal who is logged in, and
// what they refuse, it shows. Call Handler.
package webui

import (
	"bytes"
	"embed"
	"html/template"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

//go:embed templates static
var assets embed.FS

// Options for Handler.
type Options struct {
	// Authenticate finds the principal of a key. With Open it is called with an
	// empty key and must answer.
	Authenticate func(key string) (hub.Principal, error)
	Open         bool // everybody is let in without a key (--dev-allow-local)
	Secure       bool // the pages are served over TLS, so cookies may be sent over it alone
	Now          func() time.Time
	Rand         io.Reader
	Log          *slog.Logger // nil drops it
	OpenAPI      []byte       // the API's description, for /docs; without it there is no such page
}

type site struct {
	hub      *hub.Hub
	o        Options
	sessions *sessions
	pages    map[string]*template.Template
	mux      *http.ServeMux
	origins  *http.CrossOriginProtection

	reference func() (docsPage, error) // what /docs shows; read when it is first asked for
}

// Handler serves the pages of h.
func Handler(h *hub.Hub, o Options) http.Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &site{
		hub: h, o: o, pages: parsePages(), mux: http.NewServeMux(),
		sessions: newSessions(o.Now, o.Rand), origins: http.NewCrossOriginProtection(),
		reference: sync.OnceValues(func() (docsPage, error) { return readDocs(o.OpenAPI) }),
	}
	static, err := fs.Sub(assets, "static")
	if err != nil {
		panic(err) // the files are part of the program
	}
	s.mux.Handle("GET /static/", http.StripPrefix("/static/", cached(http.FileServerFS(static))))
	s.mux.HandleFunc("GET /docs", s.docs)
	s.mux.HandleFunc("GET /login", s.loginForm)
	s.mux.HandleFunc("POST /login", s.login)
	s.mux.HandleFunc("POST /logout", s.logout)
	for pattern, serve := range map[string]func(*visit) error{
		"GET /{$}":                                              s.catalogue,
		"GET /skills/{author}/{name}":                           s.release,
		"GET /skills/{author}/{name}/{version}":                 s.release,
		"GET /skills/{author}/{name}/{version}/files/{path...}": s.file,
		"GET /diff/{author}/{name}/{from}/{to}":                 s.diff,
		"GET /inbox":                                            s.inbox,
		"GET /inbox/{author}/{name}/{version}":                  s.review,
		"POST /inbox/{author}/{name}/{version}/{action}":        s.move,
		"GET /fleet":                                            s.fleet,
		"GET /fleet/{node}":                                     s.node,
		"POST /fleet/{node}/remove":                             s.removeNode,
		"GET /log":                                              s.log,
		"/":                                                     s.nothing,
	} {
		s.mux.HandleFunc(pattern, s.page(serve))
	}
	return s
}

// ServeHTTP sets what every page promises.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	if err := s.origins.Check(r); err != nil {
		http.Error(w, "a page of another site may not write here", http.StatusForbidden)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// cached lets browsers keep the style sheet for an hour.
func cached(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600")
		h.ServeHTTP(w, r)
	})
}

// visit is one request of somebody who is logged in.
type visit struct {
	w       http.ResponseWriter
	r       *http.Request
	p       hub.Principal
	session *session
}

// page finds out who asks, or sends them to the login.
func (s *site) page(serve func(*visit) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := &visit{w: w, r: r}
		var err error
		v.session, v.p, err = s.authenticate(w, r)
		if err != nil {
			if r.Method != http.MethodGet {
				http.Error(w, "log in first", http.StatusUnauthorized)
				return
			}
			http.Redirect(w, r, "/login?next="+template.URLQueryEscaper(r.URL.RequestURI()), http.StatusSeeOther)
			return
		}
		if err := serve(v); err != nil {
			s.failed(v, err)
		}
	}
}

func (s *site) nothing(*visit) error {
	return hubapi.Errorf(hubapi.NotFound, "there is no such page")
}

// failed shows a refusal of the hub as a page.
func (s *site) failed(v *visit, err error) {
	e := hubapi.AsError(err)
	if e.Code == hubapi.Internal {
		s.o.Log.Error("page failed", "path", v.r.URL.Path, "error", e.Message)
	}
	s.render(v, e.Code.HTTP(), "error.html", page{Title: "Not possible", Error: e})
}

// page is what every template gets.
type page struct {
	Title     string
	Error     *hubapi.Error
	Principal hub.Principal
	CSRF      string
	Open      bool
	Docs      bool // there is a page about the API
	Reviewer  bool
	Notice    string
	Data      any
}

func (s *site) render(v *visit, status int, name string, p page) {
	p.Principal, p.Open, p.Docs = v.p, s.o.Open, s.documented()
	p.Reviewer = v.p.Role == hub.Admin || v.p.Role == hub.Reviewer
	if v.session != nil {
		p.CSRF = v.session.csrf
	}
	writePage(v.w, status, s.pages[name], p)
}

func writePage(w http.ResponseWriter, status int, t *template.Template, p page) {
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "layout", p); err != nil {
		http.Error(w, "a fault of the page", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}
