package hubclient_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/timetest"
	"github.com/kortecx/kx/pack"
)

func newClient(t *testing.T, c hubclient.Config) *hubclient.Client {
	t.Helper()
	out, err := hubclient.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// serve answers every request with h.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// want checks the class and, unless it is empty, the id of an error.
func want(t *testing.T, what string, err error, code hubapi.Code, id string) *hubapi.Error {
	t.Helper()
	e := hubapi.AsError(err)
	if e == nil || e.Code != code || e.ID() != id {
		t.Errorf("%s: %+v, want %s %s", what, e, code, id)
		return &hubapi.Error{}
	}
	return e
}

func sendJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func TestEndpoints(t *testing.T) {
	for endpoint, ok := range map[string]bool{
		"http://127.0.0.1:50151": true, "https://hub.example": true, "https://hub.example/": true, "https://hub.example/kx/": true, "http://[::1]:1": true,
		"": false, "hub.example": false, "localhost:50151": false, "ftp://x": false, "http://": false, "http://user:hunter2@hub.example": false,
		"https://hub@evil.example/": false, "http://x?a=b": false, "http://x?": false, "http://x#a": false, "http://x y": false, "http://%zz": false,
	} {
		_, err := hubclient.New(hubclient.Config{Endpoint: endpoint})
		if (err == nil) != ok {
			t.Errorf("%q: %v", endpoint, err)
		}
		if err != nil && (hubapi.AsError(err).Code != hubapi.Usage || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
	if _, err := hubclient.New(hubclient.Config{Endpoint: "http://x", Token: "a\r\nX: y"}); err == nil {
		t.Error("a token with a line break was accepted")
	}
}

func TestRequests(t *testing.T) {
	type seen struct{ Method, URI, Auth, Agent, Body string }
	var got []seen
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Content-Type") == "application/gzip" {
			body = []byte("archive")
		}
		got = append(got, seen{r.Method, r.RequestURI, r.Header.Get("Authorization"), r.UserAgent(), string(body)})
		release := hubapi.Release{Name: "triage", Author: "acme", Version: "1%%2?#", Status: hubapi.Active, Digest: string(pack.DigestFiles([]pack.File{{Path: "a"}}))}
		switch {
		case strings.HasSuffix(r.URL.Path, "/releases"):
			release.Name, release.Author, release.Version = "p", "a-b", "1+2"
			sendJSON(w, 201, hubapi.PushResult{Release: release})
		case strings.HasSuffix(r.URL.Path, "/approve"):
			sendJSON(w, 200, hubapi.InboxMove{Slug: "triage", NewStatus: hubapi.Active, Release: release})
		case strings.HasSuffix(r.URL.Path, "/signature"):
			sendJSON(w, 200, map[string]any{})
		case strings.Contains(r.URL.Path, "/releases/"):
			sendJSON(w, 200, release)
		default:
			sendJSON(w, 200, map[string]any{})
		}
	})
	c := newClient(t, hubclient.Config{Endpoint: url + "/base/", Token: "secret", UserAgent: "kx/1"})
	ctx := t.Context()
	ref := hubapi.Ref{Author: "acme", Name: "triage", Version: "1%%2?#"}
	body := "b"
	_, err1 := c.Push(ctx, hubclient.PushInput{Name: "p", Files: []pack.File{{Path: "a"}}, Author: "a-b", Version: "1+2", Approve: true})
	_, err2 := c.Release(ctx, ref)
	_, err3 := c.Release(ctx, hubapi.Ref{Name: "triage"})
	_, err4 := c.Signature(ctx, ref)
	_, err5 := c.Search(ctx, "a b&c", hubclient.SearchOptions{Limit: 3})
	_, err6 := c.Search(ctx, "", hubclient.SearchOptions{})
	_, err7 := c.Inbox(ctx, 2, true)
	_, err8 := c.Approve(ctx, ref)
	_, err9 := c.CatalogAdd(ctx, hubapi.CatalogAdd{Manifest: "{}", Instructions: &body})
	_, err10 := c.CatalogList(ctx, 5, "x")
	_, err11 := c.CatalogForm(ctx, "-x")
	_, err12 := c.CatalogRemove(ctx, "x")
	for i, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8, err9, err10, err11, err12} {
		if err != nil {
			t.Errorf("call %d: %v", i+1, err)
		}
	}
	var all []seen
	for _, line := range []seen{
		{"POST", "/releases?approve=true&author=a-b&version=1%2B2", "", "", "archive"},
		{"GET", "/releases/acme/triage/1%25%252%3F%23", "", "", ""},
		{"GET", "/releases/-/triage", "", "", ""},
		{"GET", "/releases/acme/triage/1%25%252%3F%23/signature", "", "", ""},
		{"GET", "/search?limit=3&q=a+b%26c", "", "", ""},
		{"GET", "/search", "", "", ""},
		{"GET", "/skills-inbox?include_content=true&limit=2", "", "", ""},
		{"POST", "/skills-inbox/triage/approve?author=acme&version=1%25%252%3F%23", "", "", ""},
		{"PUT", "/catalog", "", "", `{"manifest":"{}","instructions":"b"}`},
		{"GET", "/catalog?after_name=x&limit=5", "", "", ""},
		{"GET", "/catalog/-x", "", "", ""},
		{"DELETE", "/catalog/x", "", "", ""},
	} {
		line.URI, line.Auth, line.Agent = "/base/api/v1"+line.URI, "Bearer secret", "kx/1"
		all = append(all, line)
	}
	if diff := cmp.Diff(all, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheHubsOwnErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		kind   string
		body   string
		code   hubapi.Code
		text   string
	}{
		"ours":             {409, "application/json", `{"error":{"code":"conflict","message":"there","hint":"raise it","details":[{"id":"x","message":"y"}]}}`, hubapi.Conflict, "there"},
		"ours, newer":      {409, "application/json; charset=utf-8", `{"error":{"code":"brand_new","message":"there","more":1},"more":1}`, "brand_new", "there"},
		"a proxy's":        {502, "text/html", "<h1>Bad Gateway</h1>", hubapi.Unavailable, "502"},
		"a proxy's JSON":   {503, "application/json", `{"message":"x"}`, hubapi.Unavailable, "503"},
		"another server's": {404, "text/plain", "404 page not found", hubapi.NotFound, "404"},
		"Kazma's":          {404, "application/json", `{"detail":"Not Found"}`, hubapi.NotFound, " refused GET /api/v1/search: Not Found"},
		"broken JSON":      {401, "application/json", `{"error":`, hubapi.Unauthorized, "401"},
		"no content":       {204, "", "", hubapi.Internal, "204"},
		"partial":          {206, "application/json", "{}", hubapi.Internal, "206"},
	} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", tt.kind)
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		})
		_, err := newClient(t, hubclient.Config{Endpoint: url}).Search(t.Context(), "", hubclient.SearchOptions{})
		e := hubapi.AsError(err)
		if e == nil || e.Code != tt.code || !strings.Contains(e.Message, tt.text) {
			t.Errorf("%s: %+v", name, e)
		}
		if name == "ours" && (e.Hint != "raise it" || e.ID() != "x") {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// E14 to E16: what is not the answer of a hub.
func TestHostileAnswers(t *testing.T) {
	many := func(w io.Writer) {
		chunk := bytes.Repeat([]byte(" "), 1<<20)
		for range 70 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	for name, tt := range map[string]struct {
		serve http.HandlerFunc
		code  hubapi.Code
		id    string
	}{
		"200 with HTML": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>")
		}, hubapi.Internal, "fetch.type"},
		"not JSON": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "<html>")
		}, hubapi.Internal, "fetch.type"},
		"JSON of another kind": {func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 200, []int{1}) }, hubapi.Internal, "fetch.type"},
		"a key twice": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"total":1,"total":2,"items":[]}`)
		}, hubapi.Internal, "fetch.type"},
		"short": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"items":[]}`)
		}, hubapi.Unavailable, "fetch.short"},
		"cut chunks": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"items":[]}`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, hubapi.Unavailable, "fetch.short"},
		"too large": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			many(w)
		}, hubapi.Internal, "fetch.too-large"},
		"too large when unpacked": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			zw := gzip.NewWriter(w)
			many(zw)
			_ = zw.Close()
		}, hubapi.Internal, "fetch.too-large"},
		"another port": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/api/v1/search", http.StatusFound)
		}, hubapi.Internal, "fetch.redirect"},
		"its own other path": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, hubapi.Internal, "fetch.redirect"},
		"a file": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusMovedPermanently)
		}, hubapi.Internal, "fetch.redirect"},
	} {
		url := serve(t, tt.serve)
		_, err := newClient(t, hubclient.Config{Endpoint: url, Token: "secret"}).Search(t.Context(), "", hubclient.SearchOptions{})
		e := want(t, name, err, tt.code, tt.id)
		if text := e.Message + e.Hint; len(text) > 400 || strings.Contains(text, "secret") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// A hub that fails is named, and what it was asked: its own words say neither.
func TestFailuresNameTheHubAndWhatWasAsked(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"no words":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"a gateway's": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusBadGateway) },
		"its own": func(w http.ResponseWriter, _ *http.Request) {
			sendJSON(w, 500, hubapi.ErrorBody{Error: hubapi.Errorf(hubapi.Internal, "a fault")})
		},
		"too large": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(make([]byte, 8<<20))
		},
		"it ends early": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			_, _ = io.WriteString(w, "{}")
		},
		"no JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{")
		},
		"of another kind": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(302) },
	} {
		url := serve(t, answer)
		_, err := newClient(t, hubclient.Config{Endpoint: url}).Release(t.Context(), hubapi.Ref{Author: "acme", Name: "triage"})
		if e := hubapi.AsError(err); e == nil || !strings.Contains(e.Message, url) || !strings.Contains(e.Message, "GET /api/v1/releases/acme/triage") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// E9: the key goes to the endpoint and to nobody else.
func TestTheKeyStaysWithTheEndpoint(t *testing.T) {
	var leaked atomic.Bool
	other := serve(t, func(_ http.ResponseWriter, r *http.Request) { leaked.Store(true) })
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other+r.URL.Path, http.StatusTemporaryRedirect)
	})
	c := newClient(t, hubclient.Config{Endpoint: url, Token: "secret"})
	_, err := c.Push(t.Context(), hubclient.PushInput{Name: "p", Files: []pack.File{{Path: "a"}}})
	want(t, "push", err, hubapi.Internal, "fetch.redirect")
	if leaked.Load() {
		t.Error("the redirect was followed")
	}
}

// E15: a total deadline, however steadily the bytes drip.
func TestSlowAnswers(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, " ")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	})
	begun := time.Now()
	_, err := newClient(t, hubclient.Config{Endpoint: url, Timeout: 150 * time.Millisecond}).Search(t.Context(), "", hubclient.SearchOptions{})
	if e := want(t, "drip", err, hubapi.Timeout, "fetch.timeout"); e.Code.Exit() != hubapi.ExitTimeout {
		t.Errorf("%+v", e)
	}
	if took := time.Since(begun); took > timetest.Limit(5*time.Second) {
		t.Errorf("took %v", took)
	}
	// An archive may take four times as long.
	begun = time.Now()
	_, err = newClient(t, hubclient.Config{Endpoint: serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/archive") {
			sendJSON(w, 200, hubapi.Release{Name: "triage", Author: "acme", Version: "1", Format: "skill-md"})
			return
		}
		<-r.Context().Done()
	}), Timeout: 50 * time.Millisecond}).Archive(t.Context(), hubapi.Ref{Name: "triage"})
	if e := want(t, "an archive", err, hubapi.Timeout, "fetch.timeout"); !strings.Contains(e.Message, "it had 200ms") || !strings.Contains(e.Hint, "KX_HUB_TIMEOUT") {
		t.Errorf("%+v", e)
	}
	if took := time.Since(begun); took < 200*time.Millisecond {
		t.Errorf("an archive had %v", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err = newClient(t, hubclient.Config{Endpoint: url}).Search(ctx, "", hubclient.SearchOptions{})
	want(t, "interrupted", err, hubapi.Interrupted, "")
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	c := newClient(t, hubclient.Config{Endpoint: "http://" + address})
	begun := time.Now()
	_, err = c.Search(t.Context(), "", hubclient.SearchOptions{})
	e := want(t, "nobody", err, hubapi.Unavailable, "")
	if !strings.Contains(e.Hint, "kx serve --dev-allow-local") || strings.Contains(e.Message, "/api/v1") {
		t.Errorf("%+v", e)
	}
	// Only on this machine can one be started.
	_, err = newClient(t, hubclient.Config{Endpoint: "http://name.invalid"}).Search(t.Context(), "", hubclient.SearchOptions{})
	if e := hubapi.AsError(err); strings.Contains(e.Hint, "kx serve") || e.Hint == "" {
		t.Errorf("%+v", e)
	}
	// 25 + 50 + 100 + 200 + 400 + 400 ms
	if took := time.Since(begun); took < 1100*time.Millisecond || took > timetest.Limit(10*time.Second) {
		t.Errorf("took %v", took)
	}

	// A server that comes up meanwhile is found, and a push is sent once.
	var pushes atomic.Int64
	time.AfterFunc(100*time.Millisecond, func() {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { _ = l.Close() })
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n, err := io.Copy(io.Discard, r.Body); err == nil && n > 0 {
				pushes.Add(1)
			}
			sendJSON(w, 201, hubapi.PushResult{Release: hubapi.Release{
				Name: "p", Author: "acme", Version: "1", Digest: string(pack.DigestFiles([]pack.File{{Path: "a"}})),
			}})
		}))
	})
	if _, err := c.Push(t.Context(), hubclient.PushInput{Name: "p", Files: []pack.File{{Path: "a"}}}); err != nil || pushes.Load() != 1 {
		t.Errorf("%d pushes, %v", pushes.Load(), err)
	}
	_, err = newClient(t, hubclient.Config{Endpoint: "http://name.invalid"}).Search(t.Context(), "", hubclient.SearchOptions{})
	want(t, "no such host", err, hubapi.Unavailable, "")
}

// fakeHub serves one release whose parts can be made to lie.
func fakeHub(t *testing.T, release hubapi.Release, archive []byte, kind string) *hubclient.Client {
	t.Helper()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/archive") {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write(archive)
			return
		}
		sendJSON(w, 200, release)
	})
	return newClient(t, hubclient.Config{Endpoint: url})
}

// archiveOf packs files as a hub does.
func archiveOf(t *testing.T, top string, files []pack.File) []byte {
	t.Helper()
	a := hubapi.Archive{Top: top}
	for _, f := range files {
		a.Files = append(a.Files, hubapi.File(f))
	}
	var buf bytes.Buffer
	if err := new(hubapi.Archiver).Write(&buf, a); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

const skillText = "---\nname: triage\ndescription: sorts a mailbox when there is much of it\n---\nRead it.\n"

func TestArchivesAreHashedAgain(t *testing.T) {
	files := []pack.File{{Path: "SKILL.md", Data: []byte(skillText)}, {Path: "run.sh", Data: []byte("y"), Executable: true}}
	digest := string(pack.DigestFiles(files))
	good := hubapi.Release{Name: "triage", Author: "acme", Version: "1", Digest: digest, Format: "skill-md"}
	with := func(change func(*hubapi.Release)) hubapi.Release {
		r := good
		change(&r)
		return r
	}
	changed := []pack.File{{Path: "SKILL.md", Data: []byte("evil")}, files[1]}
	ref := hubapi.Ref{Name: "triage"}

	got, err := fakeHub(t, good, archiveOf(t, "triage", files), "application/gzip").Archive(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&hubclient.Archive{Release: got.Release, Name: "triage", Digest: pack.Digest(digest), Files: files, Pack: got.Pack}, got); diff != "" {
		t.Error(diff)
	}
	for name, tt := range map[string]struct {
		release hubapi.Release
		archive []byte
		kind    string
		ref     hubapi.Ref
		id      string
	}{
		"other content":      {good, archiveOf(t, "triage", changed), "application/gzip", ref, "fetch.digest"},
		"one file more":      {good, archiveOf(t, "triage", append(changed[:1:1], files...)), "application/gzip", ref, "archive.duplicate"},
		"no digest":          {with(func(r *hubapi.Release) { r.Digest = "" }), archiveOf(t, "triage", files), "application/gzip", ref, "fetch.digest"},
		"another folder":     {good, archiveOf(t, "other", files), "application/gzip", ref, "fetch.digest"},
		"HTML":               {good, archiveOf(t, "triage", files), "text/html", ref, "fetch.type"},
		"a path that leaves": {good, archiveOf(t, "triage", []pack.File{{Path: "../../x"}}), "application/gzip", ref, "archive.path"},
		"another name":       {with(func(r *hubapi.Release) { r.Name = "other" }), archiveOf(t, "other", files), "application/gzip", ref, "fetch.type"},
		"a name that leaves": {with(func(r *hubapi.Release) { r.Name = "../x" }), archiveOf(t, "x", files), "application/gzip", ref, "fetch.type"},
		"another author":     {good, archiveOf(t, "triage", files), "application/gzip", hubapi.Ref{Author: "evil", Name: "triage"}, "fetch.type"},
		"another version":    {good, archiveOf(t, "triage", files), "application/gzip", hubapi.Ref{Name: "triage", Version: "2"}, "fetch.type"},
	} {
		got, err := fakeHub(t, tt.release, tt.archive, tt.kind).Archive(t.Context(), tt.ref)
		e := hubapi.AsError(err)
		if e == nil || e.ID() != tt.id || got != nil {
			t.Errorf("%s: %+v, want %s", name, e, tt.id)
		}
		if !strings.Contains(e.Message, "triage") && !strings.Contains(e.Message, "/archive") {
			t.Errorf("%s: which skill? %s", name, e.Message)
		}
	}
}

func TestOversizedPushesAreNotSent(t *testing.T) {
	timetest.LongInOneGoroutine(t)
	noise := make([]byte, hubapi.MaxArchive)
	state := uint32(1)
	for i := range noise {
		state = state*1664525 + 1013904223
		noise[i] = byte(state >> 24)
	}
	c := newClient(t, hubclient.Config{Endpoint: "http://name.invalid"})
	_, err := c.Push(t.Context(), hubclient.PushInput{Name: "p", Files: []pack.File{{Path: "a", Data: noise}}})
	want(t, "20 MiB", err, hubapi.TooLarge, "")
	_, err = c.Push(t.Context(), hubclient.PushInput{Name: "p", Files: []pack.File{{Path: "a\x00b"}}})
	want(t, "a NUL", err, hubapi.Invalid, "")
}

func ExampleClient_Search() {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sendJSON(w, 200, hubapi.SearchResult{Items: []hubapi.SearchItem{{Name: "triage", Author: "acme", Version: "1"}}})
	}))
	defer s.Close()
	c, err := hubclient.New(hubclient.Config{Endpoint: s.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := c.Search(context.Background(), "mail", hubclient.SearchOptions{Limit: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, item := range found.Items {
		fmt.Println(item.Author + "/" + item.Name + "@" + item.Version)
	}
	// Output: acme/triage@1
}
