package httpapi_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
)

// late is an authenticator that is known once its hub is.
type late struct{ httpapi.Authenticator }

// keyed is a hub with keys, and one client for each role of the tenant team.
type withKeys struct {
	*running
	now    time.Time
	tokens map[string]string
}

const localKey = "the key of server.json"

func startKeyed(t *testing.T) *withKeys {
	t.Helper()
	auth := &late{}
	k := &withKeys{running: start(t, auth), now: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), tokens: map[string]string{"local": localKey}}
	auth.Authenticator = httpapi.Keys(k.hub, httpapi.KeyOptions{Local: localKey, KazmaSecret: "geheimnis ÄÖÜ", Now: func() time.Time { return k.now }})
	if _, err := k.as("local").NewTenant(t.Context(), hubapi.NewTenant{ID: "team"}); err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"admin", "reviewer", "publisher", "agent", "node"} {
		in := hubapi.NewKey{Role: role, Tenant: "team"}
		if role == "publisher" || role == "agent" {
			in.Authors = []string{"acme"}
		}
		k.make(role, in)
	}
	return k
}

func (k *withKeys) make(name string, in hubapi.NewKey) hubapi.KeyMade {
	k.t.Helper()
	made, err := k.as("local").NewKey(k.t.Context(), in)
	if err != nil {
		k.t.Fatal(err)
	}
	k.tokens[name] = made.Token
	return made
}

// as is a client that shows the key with that name.
func (k *withKeys) as(name string) *hubclient.Client {
	k.t.Helper()
	c, err := hubclient.New(hubclient.Config{Endpoint: k.url, Token: k.tokens[name], Transport: k.wire})
	if err != nil {
		k.t.Fatal(err)
	}
	return c
}

func (k *withKeys) bearer(name string) []string {
	return []string{"Authorization", "Bearer " + k.tokens[name]}
}

func TestKeysOverHTTP(t *testing.T) {
	k := startKeyed(t)
	get := func(header ...string) int { return k.get("/api/v1/search", header...).StatusCode }
	for name, tt := range map[string]struct {
		header []string
		want   int
	}{
		"none":                 {nil, 401},
		"bearer":               {k.bearer("node"), 200},
		"api key":              {[]string{"X-API-Key", k.tokens["node"]}, 200},
		"local":                {k.bearer("local"), 200},
		"unknown":              {[]string{"X-API-Key", "kx_" + strings.Repeat("0", 64)}, 401},
		"empty":                {[]string{"X-API-Key", ""}, 401},
		"basic":                {[]string{"Authorization", "Basic " + k.tokens["node"]}, 401},
		"two different":        {append(k.bearer("node"), "X-API-Key", k.tokens["admin"]), 400},
		"two the same":         {append(k.bearer("node"), "X-API-Key", k.tokens["node"]), 400},
		"two of one header":    {append(k.bearer("node"), k.bearer("admin")...), 400},
		"a secret of Kazma":    {[]string{"X-Kazma-Secret", "geheimnis ÄÖÜ"}, 401},
		"a secret with a key":  {append(k.bearer("node"), "X-Kazma-Secret", "x"), 200},
		"a key in a parameter": {nil, 401},
	} {
		if got := get(tt.header...); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
	if got := k.get("/api/v1/search?token=" + k.tokens["node"]); got.StatusCode != 401 {
		t.Errorf("a key in the query: %s", got.Status)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if got := k.get(path); got.StatusCode != 200 {
			t.Errorf("%s: %s", path, got.Status)
		}
	}
}

// A revoked key is unknown to the next request.
func TestRevocationIsAtOnce(t *testing.T) {
	k := startKeyed(t)
	made := k.make("gone", hubapi.NewKey{Role: "node", Tenant: "team"})
	if _, err := k.as("gone").Search(t.Context(), "", hubclient.SearchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := k.as("admin").RevokeKey(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := k.as("gone").Search(t.Context(), "", hubclient.SearchOptions{}); hubapi.AsError(err).Code != hubapi.Unauthorized {
		t.Errorf("after it was revoked: %v", err)
	}
}

func TestRateLimits(t *testing.T) {
	k := startKeyed(t)
	k.make("slow", hubapi.NewKey{Role: "node", Tenant: "team", Rate: 3})
	get := func(name string) answer { return k.get("/api/v1/search", k.bearer(name)...) }
	for i := range 3 {
		if got := get("slow"); got.StatusCode != 200 {
			t.Fatalf("request %d: %s", i, got.Status)
		}
	}
	got := get("slow")
	if e := got.refusal(t); got.StatusCode != http.StatusTooManyRequests || e.Code != hubapi.RateLimited || got.Header.Get("Retry-After") == "" {
		t.Errorf("the fourth: %s %+v", got.Status, e)
	}
	if got := get("node"); got.StatusCode != 200 {
		t.Errorf("another key: %s", got.Status)
	}
	k.now = k.now.Add(-time.Hour) // a clock that goes back gives nothing
	if got := get("slow"); got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("an hour before: %s", got.Status)
	}
	k.now = k.now.Add(20 * time.Second)
	if a, b := get("slow"), get("slow"); a.StatusCode != 200 || b.StatusCode != http.StatusTooManyRequests {
		t.Errorf("after a third of a minute: %s, then %s", a.Status, b.Status)
	}
}

// Who may do what, over the wire: every role on every route that is not for all.
func TestRolesOverHTTP(t *testing.T) {
	k := startKeyed(t)
	push := archiveOf(t, "triage", kortecx("triage", "1", "text"))
	for _, tt := range []struct {
		method, path, body string
		allowed            string
	}{
		{"GET", "/api/v1/search", "", "admin reviewer publisher agent node"},
		{"GET", "/api/v1/skills-inbox", "", "admin reviewer"},
		{"GET", "/api/v1/skills-inbox/absent", "", "admin reviewer"},
		{"GET", "/api/v1/skills-inbox/absent/diff", "", "admin reviewer"},
		{"POST", "/api/v1/skills-inbox/absent/approve", "", "admin reviewer"},
		{"POST", "/api/v1/skills-inbox/absent/reject", `{"reason":"x"}`, "admin reviewer"},
		{"POST", "/api/v1/skills-inbox/absent/repropose", "", "admin reviewer publisher agent"},
		{"POST", "/api/v1/releases/-/absent/1/withdraw", "", "admin reviewer publisher agent"},
		{"POST", "/api/v1/releases/-/absent/1/deprecate", "", "admin reviewer publisher"},
		{"GET", "/api/v1/events", "", "admin reviewer"},
		{"GET", "/api/v1/admin/tokens", "", "admin"},
		{"POST", "/api/v1/admin/tokens", `{"role":"node"}`, "admin"},
		{"DELETE", "/api/v1/admin/tokens/k0", "", "admin"},
		{"GET", "/api/v1/admin/tenants", "", "admin"},
		{"GET", "/api/v1/admin/tenants/-", "", "admin"},
		{"PUT", "/api/v1/admin/tenants/team", `{}`, "admin"},
		{"POST", "/api/v1/admin/promote", "", "admin"},
		{"POST", "/api/v1/admin/tenants", `{"id":"mine","settings":{}}`, ""},
	} {
		for _, role := range []string{"admin", "reviewer", "publisher", "agent", "node"} {
			got := k.request(tt.method, tt.path, strings.NewReader(tt.body), k.bearer(role)...)
			if may := strings.Contains(" "+tt.allowed+" ", " "+role+" "); may == (got.StatusCode == http.StatusForbidden) {
				t.Errorf("%s %s as %s: %s %s", tt.method, tt.path, role, got.Status, got.body)
			}
		}
	}
	for role, want := range map[string]int{"node": 403, "agent": 201} {
		if got := k.request("POST", "/api/v1/releases", bytes.NewReader(push), k.bearer(role)...); got.StatusCode != want {
			t.Errorf("push as %s: %s", role, got.Status)
		}
	}
	if got := k.request("POST", "/api/v1/releases?author=evil", bytes.NewReader(archiveOf(t, "other", kortecx("other", "1", "x"))), k.bearer("publisher")...); got.StatusCode != 403 {
		t.Errorf("push as another author: %s", got.Status)
	}
}

// F19: to the byte and with the same head, an answer about what waits is that about
// what is not there.
func TestF19WaitingIsAbsent(t *testing.T) {
	k := startKeyed(t)
	if _, err := k.as("publisher").Push(t.Context(), hubclient.PushInput{Name: "staged", Files: kortecx("staged", "1", "x")}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"GET /1", "GET /1/archive", "GET /1/files/skill.json", "GET /1/signature", "GET /1/diff", "POST /1/withdraw", "GET "} {
		method, path, _ := strings.Cut(path, " ")
		for _, role := range []string{"node", "publisher"} {
			if role == "publisher" && method == "POST" {
				continue // its own it may take back
			}
			staged := k.request(method, "/api/v1/releases/-/staged"+path, nil, k.bearer(role)...)
			absent := k.request(method, "/api/v1/releases/-/absent"+path, nil, k.bearer(role)...)
			staged.Header.Del("Date")
			absent.Header.Del("Date")
			if staged.Status != absent.Status || string(staged.body) != strings.ReplaceAll(string(absent.body), "absent", "staged") || !cmp.Equal(staged.Header, absent.Header) {
				t.Errorf("%s %s as %s: %s %s, absent is %s %s", method, path, role, staged.Status, staged.body, absent.Status, absent.body)
			}
		}
	}
}

// The trusted proxy is the only one who is answered.
func TestOnlyTheProxyIsAnswered(t *testing.T) {
	s := start(t, httpapi.DevLocal())
	h := httpapi.Handler(s.hub, httpapi.DevLocal(), httpapi.Options{From: netip.MustParsePrefix("10.0.0.0/24")})
	for remote, want := range map[string]int{
		"10.0.0.7:1": 200, "[::ffff:10.0.0.7]:1": 200, "10.0.1.7:1": 403, "127.0.0.1:1": 403, "[::1]:1": 403, "": 403, "x": 403,
	} {
		r := httptest.NewRequest(http.MethodGet, "http://hub.example/healthz", nil)
		r.RemoteAddr = remote
		r.Header.Set("X-Forwarded-For", "10.0.0.7")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("from %q: %d, want %d", remote, w.Code, want)
		}
	}
}

// BenchmarkAuthenticatedSearch is what a key costs each request, its rate included: the
// clock of that goes on by as much as a request more needs.
func BenchmarkAuthenticatedSearch(b *testing.B) {
	auth := &late{}
	s := start(b, auth)
	now := time.Now()
	auth.Authenticator = httpapi.Keys(s.hub, httpapi.KeyOptions{Now: func() time.Time {
		now = now.Add(time.Millisecond)
		return now
	}})
	made, err := s.hub.NewKey(b.Context(), hub.LocalAdmin(), hubapi.NewKey{Role: "node"})
	if err != nil {
		b.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/api/v1/search", nil)
	r.Header.Set("X-API-Key", made.Token)
	for b.Loop() {
		if _, err := auth.Authenticate(r); err != nil {
			b.Fatal(err)
		}
	}
}

func decode(t testing.TB, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
}
