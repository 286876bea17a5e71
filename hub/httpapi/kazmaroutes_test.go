package httpapi_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hub/storetest"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

const kazmaSecret = "سرّ-كاظمه-🔑"

const dev = "dev"

// kazmaHub is a hub without a listener whose clock the test sets.
type kazmaHub struct {
	*testing.T
	handler http.Handler
	hub     *hub.Hub
	store   *sqlstore.Store
	now     time.Time
	watch   *storetest.Watch
}

// newKazma makes one that lets everyone in (dev), or who shows the key.
func newKazma(t *testing.T, key, secret string) *kazmaHub {
	t.Helper()
	dir := storetest.TempDir(t)
	store, err := sqlstore.Open(t.Context(), dir, sqlstore.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	k := &kazmaHub{T: t, store: store, watch: storetest.NewWatch(t, dir), now: time.Date(2026, 7, 1, 2, 3, 4, 5000, time.UTC)}
	k.hub = hub.New(store, hub.Config{Now: func() time.Time { return k.now }})
	auth := httpapi.DevServer(secret)
	if key != dev {
		auth = httpapi.Keys(k.hub, httpapi.KeyOptions{Local: key, KazmaSecret: secret, Now: time.Now})
	}
	k.handler = httpapi.Handler(k.hub, auth, httpapi.Options{Loopback: true})
	return k
}

func (k *kazmaHub) send(method, path, body string, header ...string) answer {
	k.Helper()
	r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	answered := k.watch.Request(method + " " + path)
	k.handler.ServeHTTP(w, r)
	answered(w.Code >= 400)
	return answer{w.Result(), w.Body.Bytes()}
}

// get reads a JSON answer of the status that is wanted.
func (k *kazmaHub) get(status int, path string, header ...string) map[string]any {
	k.Helper()
	return k.json(status, k.send(http.MethodGet, path, "", header...))
}

func (k *kazmaHub) json(status int, a answer) map[string]any {
	k.Helper()
	var out map[string]any
	if err := json.Unmarshal(a.body, &out); err != nil || a.StatusCode != status || a.Header.Get("Content-Type") != "application/json" {
		k.Fatalf("%s, want %d: %q", a.Status, status, a.body)
	}
	return out
}

func (k *kazmaHub) detail(want string, status int, a answer) {
	k.Helper()
	if got := k.json(status, a); !cmp.Equal(got, map[string]any{"detail": want}) {
		k.Errorf("got %v, want the detail %q", got, want)
	}
}

func kazmaFiles(author, name, version, more string) []pack.File {
	return []pack.File{
		{Path: "main.py", Data: []byte("class Skill:\n    pass\n")},
		{Path: "README.md", Data: []byte("How it is used.\n")},
		{Path: "skill_manifest.yaml", Data: fmt.Appendf(nil, "name: %s\nversion: %s\ndescription: Does the things of %s\nauthor: %s\nlicense: MIT\nentry_point: main:Skill\n%s", name, version, name, author, more)},
	}
}

// active publishes and approves.
func (k *kazmaHub) active(files []pack.File) hubapi.Release {
	k.Helper()
	out, err := k.hub.Publish(k.Context(), hub.LocalAdmin(), hub.PublishInput{Name: "notes", Files: files, Approve: true})
	if err != nil {
		k.Fatal(err)
	}
	return out.Release
}

func ref(s string) hubapi.Ref {
	r, err := hubapi.ParseKazmaID(s)
	if err != nil {
		panic(err)
	}
	return r
}

func (k *kazmaHub) certify(id string) {
	k.Helper()
	if _, err := k.hub.IssueBadge(k.Context(), hub.LocalAdmin(), ref(id), hubapi.BadgeBasic); err != nil {
		k.Fatal(err)
	}
}

func names(doc map[string]any) []string {
	out := []string{}
	for _, item := range doc["items"].([]any) {
		out = append(out, item.(map[string]any)["name"].(string))
	}
	return out
}

const escapedAlpha = "kazma-hub%3A%2F%2Fbob%2Falpha%401.0.0"

func TestKazmaHealthAndEmptyLists(t *testing.T) {
	k := newKazma(t, "x", "")
	if got := k.get(200, "/api/v1/health"); !cmp.Equal(got, map[string]any{"status": "ok", "version": "0.2.0"}) {
		t.Errorf("health without a key: %v", got)
	}
	k = newKazma(t, dev, "")
	none := []any{}
	for path, want := range map[string]map[string]any{
		"/api/v1/skills":                             {"items": none, "total": 0., "page": 1., "per_page": 20.},
		"/api/v1/skills?page=2":                      {"items": none, "total": 0., "page": 2., "per_page": 20.},
		"/api/v1/skills?page=1&per_page=5&unknown=1": {"items": none, "total": 0., "page": 1., "per_page": 5.},
		"/api/v1/skills?page=9223372036854775807":    {"items": none, "total": 0., "page": 9223372036854775807., "per_page": 20.},
		"/api/v1/skills/search":                      {"items": none, "total": 0., "query": ""},
		"/api/v1/skills/search?q=%00&category=a%FF":  {"items": none, "total": 0., "query": "\x00"},
		"/api/v1/skills/search?q=x&certified=TRUE":   {"items": none, "total": 0., "query": "x"},
		"/api/v1/stats":                              {"total_skills": 0., "certified_count": 0., "by_category": map[string]any{}},
	} {
		if diff := cmp.Diff(want, k.get(200, path)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

func TestKazmaParametersAreChecked(t *testing.T) {
	k := newKazma(t, dev, "")
	for query, want := range map[string][]string{
		"page=0":                    {"page", "greater_than_equal"},
		"page=x":                    {"page", "int_parsing"},
		"per_page=101":              {"per_page", "less_than_equal"},
		"per_page=0":                {"per_page", "greater_than_equal"},
		"certified=maybe":           {"certified", "bool_parsing"},
		"page=1&page=2":             {"page", "too_many_values"},
		"page=99999999999999999999": {"page", "int_parsing"},
	} {
		got := k.get(422, "/api/v1/skills?"+query)["detail"].([]any)[0].(map[string]any)
		if got["type"] != want[1] || !cmp.Equal(got["loc"], []any{"query", want[0]}) || got["msg"] == "" {
			t.Errorf("%s: %v", query, got)
		}
	}
}

func TestKazmaListsSkills(t *testing.T) {
	k := newKazma(t, dev, "")
	k.active(kazmaFiles("bob", "zeta", "1.0.0", "category: mail\ntags: [office]\n"))
	k.active(kazmaFiles("bob", "alpha", "10.0.0", "tags: [mail]\n"))
	k.active(kazmaFiles("ann", "case-test", "9.0.0", "category: mail\n"))
	k.active(kortecx("notes", "2", "Take notes."))
	for path, want := range map[string][]string{
		"/api/v1/skills":                               {"alpha", "case-test", "notes", "zeta"},
		"/api/v1/skills?sort=version":                  {"zeta", "alpha", "notes", "case-test"},
		"/api/v1/skills?sort=other":                    {"zeta", "alpha", "case-test", "notes"},
		"/api/v1/skills?per_page=2&page=2":             {"notes", "zeta"},
		"/api/v1/skills?per_page=2&page=3":             {},
		"/api/v1/skills?category=mail":                 {"case-test", "zeta"}, // of the field, not of the tags
		"/api/v1/skills?category=office":               {},
		"/api/v1/skills?certified=true":                {},
		"/api/v1/skills?certified=off":                 {"alpha", "case-test", "notes", "zeta"},
		"/api/v1/skills/search?q=Case":                 {"case-test"},
		"/api/v1/skills/search?q=office":               {"zeta"},
		"/api/v1/skills/search?q=%25":                  {}, // no wildcard
		"/api/v1/skills/search?q=a_p":                  {},
		"/api/v1/skills/search?q=license":              {}, // key names are not text
		"/api/v1/skills/search?q=&category=mail":       {"zeta", "case-test"},
		"/api/v1/skills/search?q=ALPHA&certified=true": {},
	} {
		if diff := cmp.Diff(want, names(k.get(200, path))); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	k.certify("bob/zeta")
	page := k.get(200, "/api/v1/skills?certified=1")
	want := map[string]any{
		"id": "kazma-hub://bob/zeta@1.0.0", "name": "zeta", "author": "bob", "version": "1.0.0",
		"description": "Does the things of zeta", "category": "mail", "tags": []any{"office"}, "certified": true, "downloads": 0.,
	}
	if diff := cmp.Diff([]any{want}, page["items"]); diff != "" || page["total"] != 1. {
		t.Error(diff, page["total"])
	}
	want["created_at"], want["updated_at"] = "2026-07-01T02:03:04.000005+00:00", "2026-07-01T02:03:04.000005+00:00"
	if diff := cmp.Diff(want, k.get(200, "/api/v1/skills/bob/zeta")); diff != "" {
		t.Error("detail", diff)
	}
	stats := map[string]any{
		"total_skills": 4., "certified_count": 1., "by_category": map[string]any{"mail": 2., "uncategorized": 2.},
	}
	if diff := cmp.Diff(stats, k.get(200, "/api/v1/stats")); diff != "" {
		t.Error("stats", diff)
	}
}

// Weakness 9 of the Kazma hub: one manifest with a null broke the lists for everyone.
func TestKazmaNoPoisonRows(t *testing.T) {
	k := newKazma(t, dev, "")
	k.active(kazmaFiles("bob", "alpha", "1.0.0", "tags: null\ncategory: null\n"))
	k.active(kazmaFiles("bob", "beta", "1.0.0", "category: [a, b]\ndependencies: null\n"))
	k.active(kazmaFiles("bob", "gamma", "1.0.0", "category: 2026-01-01\n"))
	if got := names(k.get(200, "/api/v1/skills")); len(got) != 3 {
		t.Errorf("listed %v", got)
	}
	got := k.get(200, "/api/v1/stats")["by_category"]
	if diff := cmp.Diff(map[string]any{"uncategorized": 2., "2026-01-01": 1.}, got); diff != "" {
		t.Error(diff)
	}
	if got := k.get(200, "/api/v1/skills/bob/alpha"); !cmp.Equal(got["tags"], []any{}) || got["category"] != nil {
		t.Errorf("detail %v", got)
	}
}

// Weakness 10 of the Kazma hub: an id that is a path leads nowhere.
func TestKazmaIDs(t *testing.T) {
	k := newKazma(t, dev, "s")
	k.active(kazmaFiles("bob", "alpha", "1.0.0", ""))
	k.certify("bob/alpha")
	const full = "kazma-hub://bob/alpha@1.0.0"
	for _, id := range []string{full, escapedAlpha, "bob/alpha@1.0.0", "bob%2Falpha", "bob/alpha", "alpha"} {
		if got := k.get(200, "/api/v1/skills/"+id); got["id"] != full {
			t.Errorf("%s: %v", id, got)
		}
		plain, _ := url.PathUnescape(id)
		if got := k.get(200, "/api/v1/skills/"+id+"/certification"); got["skill_id"] != plain || got["level"] != "basic" {
			t.Errorf("%s: %v", id, got)
		}
		if got := k.send(http.MethodGet, "/api/v1/skills/"+id+"/download", "", "X-Kazma-Secret", "s"); got.StatusCode != 200 {
			t.Errorf("%s: download %s", id, got.Status)
		}
	}
	for _, id := range []string{
		"ghost", "bob/ghost@1.0.0", "eve/alpha", "kazma-hub://bob/alpha", "kazma-hub://alpha@1.0.0", "KAZMA-HUB://bob/alpha@1.0.0",
		"kazma-hub://bob/alpha@1.0.0%0A", "kazma-hub://bob/../alpha@1.0.0", "a/../../x@1", "%2e%2e%2f%2e%2e%2fx", "bob/alpha@1.0.0/", "%00", "submit",
		"mallory/alpha@6.6.6", "kazma-hub:///@", "%ff", strings.Repeat("x", 5000),
	} {
		plain, _ := url.PathUnescape(id)
		plain = strings.ToValidUTF8(plain, "\uFFFD")
		if len(plain) > 200 {
			plain = plain[:200] + "..."
		}
		k.detail("Skill not found: "+plain, 404, k.send(http.MethodGet, "/api/v1/skills/"+id, ""))
		k.detail("No certification for: "+plain, 404, k.send(http.MethodGet, "/api/v1/skills/"+id+"/certification", ""))
		k.detail("Skill not found: "+plain, 404, k.send(http.MethodGet, "/api/v1/skills/"+id+"/download", "", "X-Kazma-Secret", "s"))
	}
}

func TestKazmaMethods(t *testing.T) {
	k := newKazma(t, dev, "s")
	for _, tt := range []struct{ method, path, allow string }{
		{"HEAD", "/api/v1/skills", "GET"},
		{"POST", "/api/v1/skills", "GET"},
		{"DELETE", "/api/v1/skills/bob/alpha", "GET"},
		{"PUT", "/api/v1/skills/submit", "POST"},
		{"POST", "/api/v1/stats", "GET"},
		{"POST", "/api/v1/health", "GET"},
	} {
		got := k.send(tt.method, tt.path, "", "X-HTTP-Method-Override", "GET")
		k.detail("Method Not Allowed", 405, got)
		if got.Header.Get("Allow") != tt.allow {
			t.Errorf("%s %s: Allow %q", tt.method, tt.path, got.Header.Get("Allow"))
		}
	}
	k.detail("Skill not found: submit", 404, k.send("GET", "/api/v1/skills/submit", ""))
	if got := k.send("POST", "/api/v1/skills/submit", submitBody("bob", "x"), "X-Kazma-Secret", "s", "Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"); got.StatusCode != 403 {
		t.Errorf("a page of another site: %s", got.Status)
	}
}

func submitBody(author, name string) string {
	return fmt.Sprintf(`{"manifest":{"name":%q,"version":"1.0.0","description":"Does things","author":%q,"license":"MIT","entry_point":"main:Skill","tags":null},"source_url":"","submitter_id":"cli-user","extra":1}`, name, author)
}

const (
	needed = "Unauthorized — provide a valid X-Kazma-Secret header"
	unset  = "KAZMA_SECRET not configured — auth required for hub write operations"
)

// Weakness 5 of the Kazma hub: its secret signs, and is the password of everything. Ours
// opens the write routes of that API, as a publisher, and nothing else.
func TestKazmaSecretOpensNothingElse(t *testing.T) {
	k := newKazma(t, "key", "s")
	k.active(kazmaFiles("bob", "alpha", "1.0.0", ""))
	if _, err := k.hub.Publish(t.Context(), hub.LocalAdmin(), hub.PublishInput{Name: "x", Files: kazmaFiles("bob", "beta", "1.0.0", "")}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ method, path, body string }{
		{"GET", "/api/v1/skills-inbox", ""},
		{"POST", "/api/v1/skills-inbox/beta/approve", "{}"},
		{"POST", "/api/v1/releases?author=bob", "x"},
		{"PUT", "/api/v1/badges/bob/alpha/1.0.0", `{"level":"basic"}`},
		{"GET", "/api/v1/admin/tokens", ""},
		{"POST", "/api/v1/admin/tokens", `{"role":"admin"}`},
		{"GET", "/api/v1/search", ""},
		{"POST", "/api/v1/documents", "{}"},
	} {
		got := k.send(tt.method, tt.path, tt.body, "X-Kazma-Secret", "s")
		if got.StatusCode != 401 {
			t.Errorf("%s %s: %s %s", tt.method, tt.path, got.Status, got.body)
		}
	}
	if r, err := k.hub.Release(t.Context(), hub.LocalAdmin(), ref("bob/beta@1.0.0")); err != nil || r.Status != hubapi.Staged {
		t.Errorf("%+v, %v", r, err)
	}
	k.submit(200, submitBody("bob", "gamma"))
}

// F10, F11, and weaknesses 9 and 11 of the Kazma hub: how it compares its secret.
func TestKazmaSecretFailsClosed(t *testing.T) {
	for _, auth := range []string{dev, "key"} {
		k := newKazma(t, auth, "  "+kazmaSecret+"\n")
		k.active(kazmaFiles("bob", "alpha", "1.0.0", ""))
		for name, header := range map[string][]string{
			"none": nil, "wrong": {"X-Kazma-Secret", "wrong"}, "empty": {"X-Kazma-Secret", ""}, "space": {"X-Kazma-Secret", " "},
			"non-ASCII": {"X-Kazma-Secret", "é"}, "no UTF-8": {"X-Kazma-Secret", "\xff\xfe"},
			"one more": {"X-Kazma-Secret", kazmaSecret + "x"},
		} {
			t.Run(name, func(t *testing.T) {
				k.detail(needed, 401, k.send("POST", "/api/v1/skills/submit", submitBody("bob", "beta"), header...))
				k.detail(needed, 401, k.send("GET", "/api/v1/skills/bob/alpha/download", "", header...))
			})
		}
		// A secret in the query is no secret.
		k.detail(needed, 401, k.send("POST", "/api/v1/skills/submit?X-Kazma-Secret="+url.QueryEscape(kazmaSecret), submitBody("bob", "beta")))
		for name, header := range map[string][]string{
			"two secrets": {"X-Kazma-Secret", kazmaSecret, "X-Kazma-Secret", kazmaSecret},
			"and a key":   {"X-Kazma-Secret", kazmaSecret, "Authorization", "Bearer key"},
		} {
			for _, got := range []answer{
				k.send("POST", "/api/v1/skills/submit", submitBody("bob", "beta"), header...),
				k.send("GET", "/api/v1/skills/bob/alpha/download", "", header...),
			} {
				if got.StatusCode != 400 {
					t.Errorf("%s: %s", name, got.Status)
				}
			}
		}
		if rows := k.audit("submit"); len(rows) != 0 {
			t.Errorf("a refused submission was kept: %v", rows)
		}
		for name, header := range map[string][]string{
			"the secret": {"X-Kazma-Secret", "\t" + kazmaSecret + "  "},
			"our key":    {"Authorization", "Bearer key"},
			"our key 2":  {"X-API-Key", "key"},
		} {
			if got := k.send("POST", "/api/v1/skills/submit", submitBody("bob", "beta"), header...); got.StatusCode != 200 {
				t.Errorf("%s: %s %s", name, got.Status, got.body)
			}
			if got := k.send("GET", "/api/v1/skills/bob/alpha/download", "", header...); got.StatusCode != 200 {
				t.Errorf("%s: %s %s", name, got.Status, got.body)
			}
		}
		// Unset: every write that shows no key of ours is refused.
		k = newKazma(t, auth, " ")
		for _, header := range [][]string{nil, {"X-Kazma-Secret", ""}, {"X-Kazma-Secret", "x"}} {
			k.detail(unset, 401, k.send("POST", "/api/v1/skills/submit", submitBody("bob", "beta"), header...))
			k.detail(unset, 401, k.send("GET", "/api/v1/skills/bob/alpha/download", "", header...))
		}
	}
}

// Reads follow the house: a hub with keys wants one, or the secret.
func TestKazmaReadsNeedAKeyWhereAllDo(t *testing.T) {
	k := newKazma(t, "key", "s")
	for _, path := range []string{"/api/v1/skills", "/api/v1/skills/search", "/api/v1/stats"} {
		if got := k.get(401, path); got["detail"] == "" {
			t.Errorf("%s: %v", path, got)
		}
		k.get(200, path, "X-Kazma-Secret", "s")
		k.get(200, path, "X-API-Key", "key")
		k.get(401, path, "X-Kazma-Secret", "no")
	}
}

// Weakness 16 of the Kazma hub: the download held a manifest as JSON and no code, and no digest.
func TestKazmaDownloadIsTheWholePack(t *testing.T) {
	k := newKazma(t, dev, "s")
	files := kazmaFiles("bob", "alpha", "1.0.0", "")
	release := k.active(files)
	got := k.send("GET", "/api/v1/skills/"+escapedAlpha+"/download", "", "X-Kazma-Secret", "s")
	if got.StatusCode != 200 || got.Header.Get("Content-Type") != "application/gzip" ||
		got.Header.Get("Content-Disposition") != "attachment; filename=alpha.tar.gz" || !strings.HasPrefix(got.Header.Get("Repr-Digest"), "sha-256=:") {
		t.Fatalf("%s %v", got.Status, got.Header)
	}
	again := k.send("GET", "/api/v1/skills/alpha/download", "", "X-Kazma-Secret", "s")
	if !bytes.Equal(got.body, again.body) {
		t.Error("the same release gives other bytes")
	}
	if kept := k.send("GET", "/api/v1/skills/alpha/download", "", "X-Kazma-Secret", "s", "If-None-Match", got.Header.Get("ETag")); kept.StatusCode != 304 {
		t.Error(kept.Status)
	}
	zr, err := gzip.NewReader(bytes.NewReader(got.body))
	if err != nil {
		t.Fatal(err)
	}
	var read []pack.File
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		if h.Mode != 0o644 || h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 0 {
			t.Errorf("%+v", h)
		}
		read = append(read, pack.File{Path: h.Name, Data: data})
	}
	if string(pack.DigestFiles(read)) != release.Digest {
		t.Errorf("the archive has another digest than the release: %v", read)
	}
}
