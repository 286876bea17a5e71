package httpapi_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/timetest"
	"github.com/kortecx/kx/pack"
)

func TestPushOverHTTP(t *testing.T) {
	s := start(t, httpapi.DevLocal())
	body := archiveOf(t, "triage", kortecx("triage", "1", "text"))
	push := func() answer {
		return s.request(http.MethodPost, "/api/v1/releases?author=acme", bytes.NewReader(body), "Content-Type", "application/gzip")
	}
	first := push()
	if first.StatusCode != http.StatusCreated || first.Header.Get("Location") != "/api/v1/releases/acme/triage/1" {
		t.Errorf("%s %s", first.Status, first.Header)
	}
	// F6: the same again is the same release.
	again := push()
	var one, two hubapi.PushResult
	if err := errors.Join(json.Unmarshal(first.body, &one), json.Unmarshal(again.body, &two)); err != nil {
		t.Fatal(err)
	}
	if again.StatusCode != http.StatusOK || !two.Unchanged || one.Unchanged || !one.CreatedAt.Equal(two.CreatedAt) {
		t.Errorf("%s: %+v after %+v", again.Status, two, one)
	}
	// F7: other content under the version is a conflict that names both.
	other := kortecx("triage", "1", "other text")
	conflict := s.request(http.MethodPost, "/api/v1/releases?author=acme", bytes.NewReader(archiveOf(t, "triage", other)))
	if e := conflict.refusal(t); conflict.StatusCode != http.StatusConflict || !strings.Contains(e.Message, one.Digest) || !strings.Contains(e.Message, string(pack.DigestFiles(other))) {
		t.Errorf("%s: %+v", conflict.Status, e)
	}
	for path, want := range map[string]int{
		"/api/v1/releases/acme/triage/1": 200, "/api/v1/releases/-/triage/1": 200, "/api/v1/releases/evil/triage/1": 404,
		"/api/v1/releases/acme/triage": 404, "/api/v1/releases/acme/triage/2": 404,
		"/api/v1/releases/acme/triage/1/signature": 404, "/api/v1/releases/acme/triage/1/files/skill.json": 200,
		"/api/v1/releases/acme/triage/1/files/absent": 404, "/api/v1/releases/acme/triage/1/archive": 200,
	} {
		got := s.get(path)
		if got.StatusCode != want {
			t.Errorf("%s: %s", path, got.Status)
		}
		if want >= 400 {
			got.refusal(t)
		}
	}
}

func TestARefusedPackSaysWhere(t *testing.T) {
	s := start(t, httpapi.DevLocal())
	files := kortecx("triage", "1", "text")
	files[2].Data = []byte("{\n  \"schema\": \"kortecx.skill/v1\",\n  \"nome\": \"triage\"\n}")
	got := s.request(http.MethodPost, "/api/v1/releases", bytes.NewReader(archiveOf(t, "triage", files)))
	e := got.refusal(t)
	if got.StatusCode != http.StatusBadRequest || len(e.Details) == 0 {
		t.Fatalf("%s: %s", got.Status, got.body)
	}
	if d := e.Details[0]; d.File != "skill.json" || d.Line != 3 || d.ID != "json.unknown-field" {
		t.Errorf("detail %+v", d)
	}
	s.empty()
}

// F1: over the limit, with and without a length that says so.
func TestOversizedPushes(t *testing.T) {
	t.Parallel()
	timetest.LongInOneGoroutine(t)
	s := start(t, httpapi.DevLocal())
	noise := make([]byte, hubapi.MaxArchive+1)
	state := uint32(1)
	for i := range noise { // not compressible, so that the body is as large as the files
		state = state*1664525 + 1013904223
		noise[i] = byte(state >> 24)
	}
	body := archiveOf(t, "p", []pack.File{{Path: "a", Data: noise}})
	head := "POST /api/v1/releases HTTP/1.1\r\nHost: localhost\r\n"
	for name, request := range map[string]string{
		"with a length":    fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body),
		"without a length": fmt.Sprintf("%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", head, len(body), body),
	} {
		got := s.talk(request)
		if !strings.HasPrefix(got, "HTTP/1.1 413") || !strings.Contains(got, "\r\nConnection: close\r\n") {
			t.Errorf("%s: %.200q", name, got)
		}
	}
	s.empty()
}

// talk sends bytes as they are and reads what comes back until the end. It ends its
// side when the request leaves the end to it: the server takes that for a client that
// has gone away, so a request that is whole says Connection: close instead.
func (s *running) talk(request string) string {
	s.t.Helper()
	return s.exchange(request, !strings.Contains(request, "\r\nConnection: close\r\n"))
}

// exchange is talk that ends what it sends, or not: to a server, an end is a client that
// went away, whose requests it need not finish.
func (s *running) exchange(request string, end bool) string {
	s.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	answered := s.watch.Request(strings.SplitN(request, "\r\n", 2)[0])
	go func() { // the server may answer before it has read everything
		_, _ = io.WriteString(c, request)
		if end {
			_ = c.(*net.TCPConn).CloseWrite()
		}
	}()
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	got, _ := io.ReadAll(bufio.NewReader(c))
	status := 400 // no answer is one too
	_, _ = fmt.Sscanf(string(got), "HTTP/1.1 %d", &status)
	answered(status >= 400)
	return string(got)
}

// F2: a body that is shorter than its length.
func TestShortPush(t *testing.T) {
	s := start(t, httpapi.DevLocal())
	body := archiveOf(t, "triage", kortecx("triage", "1", "text"))
	for _, length := range []int{len(body) + 1, len(body) + 10000} {
		got := s.talk(fmt.Sprintf("POST /api/v1/releases HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", length, body))
		if !strings.HasPrefix(got, "HTTP/1.1 400") {
			t.Errorf("length %d for %d bytes: %.60q", length, len(body), got)
		}
	}
	if got := s.talk("POST /api/v1/releases HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc"); !strings.HasPrefix(got, "HTTP/1.1 400") {
		t.Errorf("3 of 10 bytes: %.60q", got)
	}
	s.talk(fmt.Sprintf("POST /api/v1/releases HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(body), body)) // no last chunk
	s.empty()
}

// F5
func TestOversizedHeadersAndQueries(t *testing.T) {
	t.Parallel()
	s := start(t, httpapi.DevLocal())
	got := s.talk("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Big: " + big(17<<10) + "\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 431") {
		t.Errorf("17 KiB of headers: %.60q", got)
	}
	got = s.talk("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Big: " + big(14<<10) + "\r\nConnection: close\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Errorf("14 KiB of headers: %.60q", got)
	}
	for name, query := range map[string]string{
		"10,000 parameters": strings.Repeat("q=a&", 10000),
		"10,000 names":      strings.Repeat("a&", 10000),
		"twice":             "q=a&q=b",
		"unknown":           "query=a",
		"a semicolon":       "q=a;limit=1",
		"a broken escape":   "q=%zz",
		"not a number":      "limit=ten",
		"negative":          "limit=-1",
		"a huge number":     "limit=99999999999999999999",
	} {
		got := s.inProcess(httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/search?"+query, nil))
		if got.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", name, got.Status)
		}
		got.refusal(t)
	}
}

// F8: one of many wins.
func TestConcurrentPushesOfOneVersion(t *testing.T) {
	s := start(t, httpapi.DevLocal())
	for round := range 10 {
		name := fmt.Sprintf("race-%d", round)
		var wg sync.WaitGroup
		statuses := make(chan int, 16)
		won := ""
		for i := range 16 {
			text := fmt.Sprintf("text %d", i)
			body := archiveOf(t, name, kortecx(name, "1", text))
			wg.Go(func() {
				status := s.request(http.MethodPost, "/api/v1/releases", bytes.NewReader(body)).StatusCode
				if statuses <- status; status == http.StatusCreated {
					won = text // the race detector sees two that won
				}
			})
		}
		wg.Wait()
		if got := s.get("/api/v1/releases/-/" + name + "/1/files/instructions.md"); got.StatusCode != 200 || !strings.Contains(string(got.body), won+"\n") {
			t.Errorf("%q won, and %s %s is there", won, got.Status, got.body)
		}
		close(statuses)
		count := map[int]int{}
		for status := range statuses {
			count[status]++
		}
		if diff := cmp.Diff(map[int]int{201: 1, 409: 15}, count); diff != "" {
			t.Error(diff)
		}
	}
}

// F12
func TestHostilePaths(t *testing.T) {
	s := start(t, httpapi.DevLocal())
	if _, err := s.client.Push(t.Context(), hubclient.PushInput{Name: "triage", Files: kortecx("triage", "1", "text")}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"/api/v1/releases/..%2f..%2fx/y", "/api/v1/releases/a/..%2f..%2f..%2fetc%2fpasswd/1", "/api/v1/releases/a%00/b",
		"/api/v1/releases//triage", "//api/v1/search", "/api/v1/./search", "/api/v1/releases/../search", "/api/v1/releases/%2e%2e/search",
		"/api/v1/releases/-/triage/1/files/../skill.json", "/api/v1/releases/-/triage/1/files/%2e%2e%2fskill.json",
		"/api/v1/releases/-/triage/1/files//skill.json", "/api/v1/releases/-/triage/1/files/", "/api/v1/releases/-/triage/1/files/a%5cb",
		"/api/v1/releases/local;x=1/triage", "/api/v1/releases/-/cafe%CC%81", "/api/v1/releases/-/caf%C3%A9", "/api/v1/releases/-/TRIAGE",
		"/api/v1/releases/-/triage/", "/api/v1/releases/-/triage/1/", "/api/v1/releases/-/triage/1/nothing", "/api/v1/releases/-/triage/%20",
		"/api/v1/releases/-/triage/1%0a", "/api/v1/skills-inbox/x", "/api/v1/skills-inbox//", "/api/v1", "/api", "/", "/api/v2/search", "/%zz",
	} {
		got := s.talk("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 400") && !strings.HasPrefix(got, "HTTP/1.1 404") {
			t.Errorf("%s: %.80q", path, got)
		}
	}
}

// F13
func TestMethods(t *testing.T) {
	s := start(t, httpapi.DevLocal())
	for path, allow := range map[string]string{
		"/healthz": "GET", "/readyz": "GET", "/api/v1/search": "GET", "/api/v1/releases": "POST", "/api/v1/catalog": "GET, PUT",
		"/api/v1/catalog/triage": "DELETE, GET, PUT", "/api/v1/skills-inbox": "GET", "/api/v1/skills-inbox/": "GET",
		"/api/v1/skills-inbox/triage/approve": "POST", "/api/v1/releases/-/triage": "GET", "/api/v1/releases/-/triage/1/archive": "GET",
	} {
		for _, method := range []string{"HEAD", "TRACE", "OPTIONS", "PATCH", "BREW", "GET", "PUT", "POST", "DELETE"} {
			if strings.Contains(allow, method) {
				continue
			}
			got := s.request(method, path, nil)
			if got.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %s", method, path, got.Status)
			}
			if a := got.Header.Get("Allow"); a != allow && method != "TRACE" {
				t.Errorf("%s %s: allowed are %q, want %q", method, path, a, allow)
			}
			if method != "HEAD" {
				got.refusal(t)
			}
		}
		// Overrides are not heeded.
		got := s.request(http.MethodPatch, path, nil, "X-HTTP-Method-Override", "GET", "X-Method-Override", "GET", "X-HTTP-Method", "GET")
		if got.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s with an override: %s", path, got.Status)
		}
	}
	if got := s.talk("CONNECT localhost:1 HTTP/1.1\r\nHost: localhost:1\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 405") {
		t.Errorf("CONNECT: %.60q", got)
	}
}

// F14
func TestOtherHostsAndSites(t *testing.T) {
	s := start(t, httpapi.DevLocal())
	for host, want := range map[string]int{
		"localhost": 200, "localhost:50151": 200, "LOCALHOST": 200, "127.0.0.1": 200, "127.3.2.1:80": 200, "[::1]": 200, "[::1]:8080": 200,
		"[::ffff:127.0.0.1]:1": 200,
		"evil.example":         421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421, "evil.example:50151": 421,
		"10.0.0.1": 421, "169.254.169.254": 421, "0.0.0.0": 421, "2130706433": 421, "localhost:x": 421, "": 421, "127.0.0.1:80:80": 421,
	} {
		r := httptest.NewRequest(http.MethodGet, "http://x/healthz", nil)
		r.Host = host
		got := s.inProcess(r)
		if got.StatusCode != want {
			t.Errorf("Host %q: %s", host, got.Status)
		}
		if want != 200 {
			got.refusal(t)
		}
	}
	body := archiveOf(t, "triage", kortecx("triage", "1", "text"))
	for name, headers := range map[string][]string{
		"an origin":      {"Origin", "https://evil.example"},
		"a null origin":  {"Origin", "null"},
		"another port":   {"Origin", "http://127.0.0.1:1"},
		"fetch metadata": {"Sec-Fetch-Site", "cross-site"},
		"same site only": {"Sec-Fetch-Site", "same-site"},
	} {
		got := s.request(http.MethodPost, "/api/v1/releases", bytes.NewReader(body), headers...)
		if got.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", name, got.Status)
		}
		got.refusal(t)
		got = s.request(http.MethodDelete, "/api/v1/catalog/triage", nil, headers...)
		if got.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", name, got.Status)
		}
	}
	s.empty()
	if got := s.request(http.MethodPost, "/api/v1/releases", bytes.NewReader(body), "Origin", s.url); got.StatusCode != http.StatusCreated {
		t.Errorf("its own origin: %s", got.Status)
	}
}

// F16
func TestHostileQueries(t *testing.T) {
	timetest.LongInOneGoroutine(t)
	s := start(t, httpapi.DevLocal())
	seed(t, s, 50)
	for _, piece := range []string{"*", `"`, "%", "'", `*"%`, "a OR ", "NEAR(", "(", "\x00", "-", "^", ":", "x* ", "pack ", "pack-1 AND ", "ü", "翻"} {
		q := strings.Repeat(piece, 10<<10/len(piece))
		begun := time.Now()
		r := httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/search", nil)
		r.URL.RawQuery = "q=" + escape(q)
		got := s.inProcess(r)
		if got.StatusCode != http.StatusOK && got.StatusCode != http.StatusBadRequest {
			t.Errorf("10 KiB of %q: %s %s", piece, got.Status, got.body)
		}
		if took := time.Since(begun); took > timetest.Limit(time.Second) { // 100 ms on a quiet machine
			t.Errorf("10 KiB of %q took %v", piece, took)
		}
	}
}

func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02x", s[i])
	}
	return b.String()
}

// F18
func TestConditionalRequests(t *testing.T) {
	s := start(t, httpapi.DevLocal())
	out, err := s.client.Push(t.Context(), hubclient.PushInput{Name: "triage", Files: kortecx("triage", "1", "text")})
	if err != nil {
		t.Fatal(err)
	}
	path := "/api/v1/releases/-/triage/1/archive"
	full := s.get(path)
	etag := full.Header.Get("ETag")
	if full.StatusCode != 200 || etag != `"`+out.Digest+`"` || full.Header.Get("Content-Type") != "application/gzip" {
		t.Fatalf("%s %s", full.Status, full.Header)
	}
	if again := s.get(path); !bytes.Equal(again.body, full.body) {
		t.Error("the archive is not the same twice")
	}
	for name, tt := range map[string]struct {
		header []string
		want   int
	}{
		"the same":         {[]string{"If-None-Match", etag}, 304},
		"weakly the same":  {[]string{"If-None-Match", "W/" + etag}, 304},
		"anything":         {[]string{"If-None-Match", "*"}, 304},
		"one of two lines": {[]string{"If-None-Match", `"x"`, "If-None-Match", etag}, 304},
		"another":          {[]string{"If-None-Match", `"x"`}, 200},
		"a range":          {[]string{"Range", "bytes=0-1"}, 200},
		"many ranges":      {[]string{"Range", "bytes=" + strings.Repeat("0-,", 1000)}, 200},
	} {
		got := s.get(path, tt.header...)
		if got.StatusCode != tt.want || got.Header.Get("ETag") != etag || got.Header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%s: %s %s", name, got.Status, got.Header)
		}
		if tt.want == 200 && !bytes.Equal(got.body, full.body) || tt.want == 304 && len(got.body) != 0 {
			t.Errorf("%s: %d bytes", name, len(got.body))
		}
	}
	begun := time.Now()
	r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
	r.Header.Set("If-None-Match", strings.Repeat(`"x",`, 10000)+etag)
	if got := s.inProcess(r); got.StatusCode != 304 || time.Since(begun) > timetest.Limit(time.Second) {
		t.Errorf("10,000 etags: %s after %v", got.Status, time.Since(begun))
	}
	// What is gone or never was is not 304.
	if got := s.get("/api/v1/releases/-/absent/1/archive", "If-None-Match", "*"); got.StatusCode != 404 {
		t.Errorf("absent: %s", got.Status)
	}
}

func TestAnswersAreNotKeptAndNotRun(t *testing.T) {
	s := start(t, httpapi.DevLocal())
	files := append(skillMD("triage", "Sorts", "text"), pack.File{Path: "page.html", Data: []byte("<script>alert(1)</script>")}, pack.File{Path: "logo.png", Data: []byte("\x89PNG\xff")})
	if _, err := s.client.Push(t.Context(), hubclient.PushInput{Name: "triage", Files: files}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][2]string{
		"/api/v1/search":                                  {"application/json", "no-store"},
		"/api/v1/catalog":                                 {"application/json", "no-store"},
		"/api/v1/skills-inbox":                            {"application/json", "no-store"},
		"/api/v1/releases/-/triage/1":                     {"application/json", "no-store"},
		"/api/v1/nothing":                                 {"application/json", "no-store"},
		"/api/v1/releases/-/triage/1/files/page.html":     {"text/plain; charset=utf-8", "private, no-cache"},
		"/api/v1/releases/-/triage/1/files/logo.png":      {"application/octet-stream", "private, no-cache"},
		"/api/v1/releases/-/triage/1/files/absent":        {"application/json", "no-store"},
		"/api/v1/releases/-/triage/1/archive?format=zip":  {"application/json", "no-store"},
		"/api/v1/skills-inbox?limit=1&include_content=1":  {"application/json", "no-store"},
		"/api/v1/skills-inbox/?limit=1&include_content=0": {"application/json", "no-store"},
	} {
		got := s.get(path)
		h := got.Header
		if h.Get("Content-Type") != want[0] || h.Get("Cache-Control") != want[1] || h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%s: %s", path, h)
		}
	}
}

func TestKeys(t *testing.T) {
	s := start(t, httpapi.LocalKey("right"))
	for name, tt := range map[string]struct {
		header []string
		want   int
	}{
		"none":              {nil, 401},
		"bearer":            {[]string{"Authorization", "Bearer right"}, 200},
		"bearer, lower":     {[]string{"Authorization", "bearer right"}, 200},
		"api key":           {[]string{"X-API-Key", "right"}, 200},
		"wrong":             {[]string{"X-API-Key", "wrong"}, 401},
		"empty":             {[]string{"X-API-Key", ""}, 401},
		"empty bearer":      {[]string{"Authorization", "Bearer "}, 401},
		"basic":             {[]string{"Authorization", "Basic right"}, 401},
		"longer":            {[]string{"X-API-Key", "right "}, 200}, // the header's own space
		"two":               {[]string{"X-API-Key", "right", "X-API-Key", "right"}, 400},
		"two kinds":         {[]string{"X-API-Key", "right", "Authorization", "Bearer right"}, 400},
		"a kazma secret":    {[]string{"X-Kazma-Secret", "right"}, 401},
		"forwarded as user": {[]string{"X-Forwarded-User", "local-dev", "X-Forwarded-For", "127.0.0.1"}, 401},
	} {
		got := s.get("/api/v1/search", tt.header...)
		if got.StatusCode != tt.want {
			t.Errorf("%s: %s", name, got.Status)
		}
		if tt.want == 401 && got.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: %s", name, got.Header)
		}
		if tt.want != 200 {
			got.refusal(t)
		}
	}
	if got := s.get("/api/v1/search?token=right&key=right"); got.StatusCode != 401 {
		t.Errorf("a key in the query: %s", got.Status)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if got := s.get(path); got.StatusCode != 200 {
			t.Errorf("%s: %s", path, got.Status)
		}
	}
	for _, shown := range []string{"", "x"} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/", nil)
		r.Header.Set("X-API-Key", shown)
		if p, err := httpapi.LocalKey("").Authenticate(r); err == nil {
			t.Errorf("an empty key let %q in as %+v", shown, p)
		}
	}
}

func TestBodiesAreReadStrictly(t *testing.T) {
	t.Parallel()
	s := start(t, httpapi.DevLocal())
	manifest := `{\"schema\":\"kortecx.skill/v1\",\"name\":\"triage\"}`
	put := func(path, body string) answer {
		return s.request(http.MethodPut, path, strings.NewReader(body))
	}
	for name, tt := range map[string]struct {
		path, body string
		want       int
		id         string
	}{
		"good":               {"/api/v1/catalog/triage", `{"manifest":"` + manifest + `","instructions":"x"}`, 200, ""},
		"no name in path":    {"/api/v1/catalog", `{"manifest":"` + manifest + `","instructions":"x"}`, 200, ""},
		"another name":       {"/api/v1/catalog/other", `{"manifest":"` + manifest + `","instructions":"x"}`, 400, ""},
		"an unknown key":     {"/api/v1/catalog/triage", `{"manifest":"` + manifest + `","body":"x"}`, 400, "json.unknown-field"},
		"a key twice":        {"/api/v1/catalog/triage", `{"manifest":"x","manifest":"` + manifest + `"}`, 400, "json.duplicate-key"},
		"another case":       {"/api/v1/catalog/triage", `{"Manifest":"` + manifest + `"}`, 400, "json.unknown-field"},
		"data behind it":     {"/api/v1/catalog/triage", `{"manifest":"` + manifest + `"} {}`, 400, "json.syntax"},
		"nothing":            {"/api/v1/catalog/triage", ``, 400, "json.syntax"},
		"null":               {"/api/v1/catalog/triage", `null`, 400, "json.null"},
		"a bad manifest":     {"/api/v1/catalog/triage", `{"manifest":"{}","instructions":"x"}`, 400, "schema.unsupported"},
		"too large":          {"/api/v1/catalog/triage", `{"manifest":"` + big(3<<20) + `"}`, 413, ""},
		"not UTF-8":          {"/api/v1/catalog/triage", "{\"manifest\":\"\xff\"}", 400, "json.invalid-utf8"},
		"a query parameter":  {"/api/v1/catalog/triage?x=1", `{"manifest":"` + manifest + `","instructions":"x"}`, 400, ""},
		"too many brackets":  {"/api/v1/catalog/triage", strings.Repeat("[", 5000), 400, "json.depth"},
		"a number for a ref": {"/api/v1/catalog/triage", `{"manifest":1}`, 400, "json.type"},
	} {
		got := put(tt.path, tt.body)
		if got.StatusCode != tt.want {
			t.Errorf("%s: %s %s", name, got.Status, got.body)
			continue
		}
		if tt.want == 200 {
			continue
		}
		if e := got.refusal(t); tt.id != "" && e.ID() != tt.id {
			t.Errorf("%s: %s %s, want %s", name, e.ID(), e.Message, tt.id)
		}
	}
	for body, want := range map[string]int{"": 404, "{}": 404, `{"reason":"x"}`: 422, "x": 422} {
		if got := s.request(http.MethodPost, "/api/v1/skills-inbox/absent/approve", strings.NewReader(body)); got.StatusCode != want {
			t.Errorf("approve with %q: %s", body, got.Status)
		}
	}
}

// F19 over the wire: to the byte, with the name replaced.
func TestStagedAndAbsentAnswerAlike(t *testing.T) {
	s := start(t, as{hub.Principal{ID: "n", Tenant: hub.LocalTenant, Role: hub.Node}})
	if _, err := s.hub.Publish(t.Context(), hub.LocalAdmin(), hub.PublishInput{Name: "staged", Files: kortecx("staged", "1", "text")}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", "/1", "/1/archive", "/1/signature", "/1/files/skill.json"} {
		staged, absent := s.get("/api/v1/releases/-/staged"+path), s.get("/api/v1/releases/-/absent"+path)
		if staged.StatusCode != 404 || string(staged.body) != strings.ReplaceAll(string(absent.body), "absent", "staged") {
			t.Errorf("%s: %s %s, absent is %s", path, staged.Status, staged.body, absent.body)
		}
		staged.Header.Del("Date")
		absent.Header.Del("Date")
		if diff := cmp.Diff(staged.Header, absent.Header); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	for path, want := range map[string]int{"/api/v1/skills-inbox": 403, "/api/v1/search?q=staged": 200} {
		got := s.get(path)
		if got.StatusCode != want || strings.Contains(string(got.body), `"name":"staged"`) {
			t.Errorf("%s: %s %s", path, got.Status, got.body)
		}
	}
}

// as is an authenticator for one principal.
type as struct{ hub.Principal }

func (a as) Authenticate(*http.Request) (hub.Principal, error) { return a.Principal, nil }

func TestInboxShape(t *testing.T) {
	s := start(t, httpapi.DevLocal())
	if _, err := s.client.Push(t.Context(), hubclient.PushInput{Name: "triage", Files: skillMD("triage", "Sorts", "text")}); err != nil {
		t.Fatal(err)
	}
	var box struct {
		TenantID string `json:"tenant_id"`
		FleetID  any    `json:"fleet_id"`
		Count    int
		Items    []map[string]any
	}
	got := s.get("/api/v1/skills-inbox")
	if err := json.Unmarshal(got.body, &box); err != nil || box.TenantID != "local" || box.FleetID != nil || box.Count != 1 {
		t.Fatalf("%s, %v", got.body, err)
	}
	for key, want := range map[string]any{
		"slug": "triage", "doc_id": "triage", "name": "triage", "description": "Sorts", "summary": "Sorts", "content": nil,
		"domain": "general", "source": "manual", "status": "staged", "kind": "create", "version": "1", "author": "local", "format": "skill-md",
	} {
		if got, ok := box.Items[0][key]; !ok || got != want {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
	move := s.request(http.MethodPost, "/api/v1/skills-inbox/triage/approve", nil)
	var answer map[string]any
	if err := json.Unmarshal(move.body, &answer); err != nil || move.StatusCode != 200 {
		t.Fatalf("%s, %v", move.body, err)
	}
	delete(answer, "release")
	want := map[string]any{"slug": "triage", "previous_status": "staged", "new_status": "active", "detail": nil}
	if diff := cmp.Diff(want, answer); diff != "" {
		t.Error(diff)
	}
}
