package webui

import (
	"crypto/subtle"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

const (
	cookieName  = "kx_session"
	sessionLife = 12 * time.Hour
	maxSessions = 10000
	maxForm     = 1 << 20
)

// session is one login. It keeps the key and not what it may do, so that a key that
// is revoked ends it at once.
type session struct {
	key   string
	csrf  string
	until time.Time
}

// sessions are the logins of this process; a restart ends them all.
type sessions struct {
	now  func() time.Time
	rand io.Reader
	mu   sync.Mutex
	all  map[string]*session
}

func newSessions(now func() time.Time, rand io.Reader) *sessions {
	return &sessions{now: now, rand: rand, all: map[string]*session{}}
}

func (s *sessions) token() (string, error) {
	b := make([]byte, 32)
	if _, err := io.ReadFull(s.rand, b); err != nil {
		return "", err
	}
	return hex.EncodeToString(b), nil
}

func (s *sessions) start(key string) (id string, made *session, err error) {
	if id, err = s.token(); err != nil {
		return "", nil, err
	}
	csrf, err := s.token()
	if err != nil {
		return "", nil, err
	}
	made = &session{key: key, csrf: csrf, until: s.now().Add(sessionLife)}
	s.mu.Lock()
	defer s.mu.Unlock()
	for old, session := range s.all {
		if len(s.all) >= maxSessions || s.now().After(session.until) {
			delete(s.all, old)
		}
	}
	s.all[id] = made
	return id, made, nil
}

func (s *sessions) find(r *http.Request) *session {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.all[cookie.Value]
	if found == nil || s.now().After(found.until) {
		delete(s.all, cookie.Value)
		return nil
	}
	return found
}

func (s *sessions) end(r *http.Request) {
	if cookie, err := r.Cookie(cookieName); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.all, cookie.Value)
	}
}

// authenticate finds the principal of a request. On an open hub everybody has a
// session, because forms need its token.
func (s *site) authenticate(w http.ResponseWriter, r *http.Request) (*session, hub.Principal, error) {
	found := s.sessions.find(r)
	if found == nil && s.o.Open {
		id, made, err := s.sessions.start("")
		if err != nil {
			return nil, hub.Principal{}, err
		}
		s.setCookie(w, id, sessionLife)
		found = made
	}
	if found == nil {
		return nil, hub.Principal{}, hubapi.Errorf(hubapi.Unauthorized, "log in first")
	}
	p, err := s.o.Authenticate(found.key)
	return found, p, err
}

func (s *site) setCookie(w http.ResponseWriter, id string, life time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: id, Path: "/", MaxAge: int(life / time.Second),
		HttpOnly: true, Secure: s.o.Secure, SameSite: http.SameSiteStrictMode,
	})
}

// checkForm refuses a post that no page of ours made.
func (v *visit) checkForm() error {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
	if err := v.r.ParseForm(); err != nil {
		return hubapi.Errorf(hubapi.Invalid, "the form cannot be read: %v", err)
	}
	if subtle.ConstantTimeCompare([]byte(v.r.PostForm.Get("csrf")), []byte(v.session.csrf)) != 1 {
		return hubapi.Errorf(hubapi.Forbidden, "the form is too old").WithHint("go back, reload the page and try again")
	}
	return nil
}

func (s *site) loginForm(w http.ResponseWriter, r *http.Request) {
	writePage(w, http.StatusOK, s.pages["login.html"], page{Title: "Log in", Docs: s.documented(), Data: localPath(r.URL.Query().Get("next"))})
}

func (s *site) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 16<<10)
	key := strings.TrimSpace(r.PostFormValue("key"))
	next := localPath(r.PostFormValue("next"))
	_, err := s.o.Authenticate(key)
	if err != nil || key == "" && !s.o.Open {
		writePage(w, http.StatusUnauthorized, s.pages["login.html"], page{
			Title: "Log in", Docs: s.documented(), Data: next, Notice: "That key is not known to this hub.",
		})
		return
	}
	id, _, err := s.sessions.start(key)
	if err != nil {
		http.Error(w, "no session could be made", http.StatusInternalServerError)
		return
	}
	s.setCookie(w, id, sessionLife)
	http.Redirect(w, r, next, http.StatusSeeOther)
}

func (s *site) logout(w http.ResponseWriter, r *http.Request) {
	v := &visit{w: w, r: r, session: s.sessions.find(r)}
	if v.session == nil || v.checkForm() != nil {
		http.Error(w, "the form is too old", http.StatusForbidden)
		return
	}
	s.sessions.end(r)
	s.setCookie(w, "", -time.Second)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// localPath keeps a redirect on this hub.
func localPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.Contains(next, `\`) {
		return "/"
	}
	return next
}
