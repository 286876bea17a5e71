package webui

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/timetest"
	"github.com/kortecx/kx/pack"
)

const hostile = `# Title

<script>alert(1)</script>
<img src=x onerror=alert(1)>

[click](javascript:alert(1)) [data](data:text/html,<script>) [fine](https://example.com/)
![picture](https://tracker.example/p.png)

hidden ` + "\u202e\u200b\U000E0041" + ` text <b onclick="x()">bold</b>

| a | b |
|---|---|
| 1 | 2 |
`

// keys of the test hub.
var principals = map[string]hub.Principal{
	"admin-key":    {ID: "ada", Tenant: hub.LocalTenant, Role: hub.Admin},
	"reviewer-key": {ID: "rea", Tenant: hub.LocalTenant, Role: hub.Reviewer},
	"agent-key":    {ID: "amy", Tenant: hub.LocalTenant, Role: hub.Agent},
}

type browserless struct {
	t      *testing.T
	server *httptest.Server
	client *http.Client
	hub    *hub.Hub
}

func newSite(t *testing.T, open bool, config ...hub.Config) *browserless {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), t.TempDir(), sqlstore.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	h := hub.New(store, append(config, hub.Config{Now: time.Now})[0])
	server := httptest.NewServer(Handler(h, Options{
		Open: open, Now: time.Now, Rand: rand.Reader, OpenAPI: committedOpenAPI(t),
		Authenticate: func(key string) (hub.Principal, error) {
			if open {
				return hub.LocalAdmin(), nil
			}
			if p, ok := principals[key]; ok {
				return p, nil
			}
			return hub.Principal{}, hubapi.Errorf(hubapi.Unauthorized, "unknown key")
		},
	}))
	t.Cleanup(server.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browserless{t: t, server: server, hub: h, client: &http.Client{Jar: jar}}
}

func (b *browserless) publish(name, version, instructions string, approve bool) {
	b.t.Helper()
	files := []pack.File{
		{Path: "instructions.md", Data: []byte(instructions)},
		{Path: "skill.json", Data: []byte(`{"schema":"kortecx.skill/v1","name":"` + name + `","version":"` + version + `","description":"Sorts <b>mail</b> & drafts replies.","tags":["mail"],"tools":{"gmail/search":"1"}}`)},
	}
	if _, err := b.hub.Publish(context.Background(), hub.LocalAdmin(), hub.PublishInput{Name: name, Files: files, Author: "acme", Approve: approve}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browserless) get(path string) (int, string) {
	b.t.Helper()
	resp, err := b.client.Get(b.server.URL + path)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.read(resp)
}

func (b *browserless) post(path string, form url.Values) (int, string) {
	b.t.Helper()
	resp, err := b.client.PostForm(b.server.URL+path, form)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.read(resp)
}

func (b *browserless) read(resp *http.Response) (int, string) {
	b.t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if csp := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
		b.t.Errorf("%s has the policy %q", resp.Request.URL, csp)
	}
	return resp.StatusCode, string(body)
}

func (b *browserless) login(key string) {
	b.t.Helper()
	if code, body := b.post("/login", url.Values{"key": {key}, "next": {"/"}}); code != http.StatusOK || strings.Contains(body, "not known") {
		b.t.Fatalf("login with %s: %d\n%s", key, code, body)
	}
}

func (b *browserless) csrf(path string) string {
	b.t.Helper()
	_, body := b.get(path)
	found := regexp.MustCompile(`name="csrf" value="([0-9a-f]{64})"`).FindStringSubmatch(body)
	if found == nil {
		b.t.Fatalf("no form token on %s:\n%s", path, body)
	}
	return found[1]
}

func TestInstructionsCanDoNothing(t *testing.T) {
	html := string(renderMarkdown([]byte(hostile)))
	for _, bad := range []string{"<script", "<img", "onerror=alert(1)>", "javascript:", "data:text", `<b onclick`, "\u202e", "\u200b", "\U000E0041"} {
		if strings.Contains(html, bad) {
			t.Errorf("the page has %q:\n%s", bad, html)
		}
	}
	for _, good := range []string{"<h3", "&lt;script&gt;", `href="https://example.com/"`, "<table>", `\u202e`, "[picture: https://tracker.example/p.png]"} {
		if !strings.Contains(html, good) {
			t.Errorf("the page lacks %q:\n%s", good, html)
		}
	}
}

func TestPagesShowWhatTheHubKnows(t *testing.T) {
	b := newSite(t, false)
	b.publish("triage", "1", "# Triage\n\nRead the mail.\n", true)
	b.publish("triage", "2", "# Triage\n\nRead all of the mail.\n"+hostile, false)
	b.login("reviewer-key")
	for path, want := range map[string][]string{
		"/":                                      {"acme/triage", "Sorts &lt;b&gt;mail&lt;/b&gt; &amp; drafts replies.", `href="/inbox"`},
		"/?q=mail":                               {"acme/triage", "1 active skills match"},
		"/?q=nothing-like-it":                    {"0 active skills match"},
		"/skills/acme/triage":                    {"gmail/search@1", "sp1:", "Not signed", "Read the mail."},
		"/skills/acme/triage/2":                  {"staged", "See what changes."},
		"/skills/acme/triage/1/files/skill.json": {"kortecx.skill/v1"},
		"/diff/acme/triage/1/2":                  {"instructions.md", "Read all of the mail.", "changed"},
		"/inbox":                                 {"acme/triage", "1 releases wait"},
		"/inbox/acme/triage/2":                   {"Approve", "What changes from version 1", "Reject"},
		"/log":                                   {"publish", "entry-0"},
	} {
		code, body := b.get(path)
		if code != http.StatusOK {
			t.Errorf("%s: %d", path, code)
		}
		for _, text := range want {
			if !strings.Contains(body, text) {
				t.Errorf("%s lacks %q:\n%s", path, text, body)
			}
		}
		if strings.Contains(body, "<script") || !strings.Contains(body, `<html lang="en">`) || strings.Count(body, "<h1") < 1 {
			t.Errorf("%s is not a plain page:\n%s", path, body)
		}
	}
	for _, path := range []string{"/skills/acme/nothing", "/skills/acme/triage/9", "/skills/acme/triage/1/files/../../x", "/nowhere"} {
		if code, _ := b.get(path); code != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, code)
		}
	}
}

func TestWhoIsNotLoggedInSeesTheLogin(t *testing.T) {
	b := newSite(t, false)
	code, body := b.get("/skills/acme/triage")
	if code != http.StatusOK || !strings.Contains(body, `type="password"`) || !strings.Contains(body, `value="/skills/acme/triage"`) {
		t.Errorf("%d\n%s", code, body)
	}
	if code, body := b.post("/login", url.Values{"key": {"wrong"}}); code != http.StatusUnauthorized || !strings.Contains(body, "not known") {
		t.Errorf("a wrong key: %d\n%s", code, body)
	}
	if code, _ := b.post("/inbox/acme/triage/1/approve", url.Values{}); code != http.StatusUnauthorized {
		t.Errorf("a post without a login: %d", code)
	}
}

func TestAgentsSeeNothingThatWaits(t *testing.T) {
	b := newSite(t, false)
	b.publish("triage", "1", "# Triage\n\nRead.\n", false)
	b.login("agent-key")
	absent, _ := b.get("/skills/acme/absent")
	hidden, body := b.get("/skills/acme/triage/1")
	if hidden != absent || hidden != http.StatusNotFound {
		t.Errorf("hidden %d, absent %d\n%s", hidden, absent, body)
	}
	if code, _ := b.get("/inbox"); code != http.StatusForbidden {
		t.Errorf("the inbox: %d", code)
	}
}

func TestDecisionsNeedTheFormOfTheSession(t *testing.T) {
	b := newSite(t, false)
	b.publish("triage", "1", "# Triage\n\nRead.\n", false)
	b.login("reviewer-key")
	at := "/inbox/acme/triage/1"
	for name, form := range map[string]url.Values{"no token": {}, "another token": {"csrf": {strings.Repeat("0", 64)}}} {
		if code, _ := b.post(at+"/approve", form); code != http.StatusForbidden {
			t.Errorf("%s: %d", name, code)
		}
	}
	request, err := http.NewRequest(http.MethodPost, b.server.URL+at+"/approve", strings.NewReader("csrf="+b.csrf(at)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	if resp, err := b.client.Do(request); err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("from another site: %v %v", resp, err)
	}
	code, body := b.post(at+"/reject", url.Values{"csrf": {b.csrf(at)}, "reason": {"too <eager>"}, "cooloff_days": {"7"}})
	if code != http.StatusOK || !strings.Contains(body, "acme/triage@1 is rejected") {
		t.Errorf("reject: %d\n%s", code, body)
	}
	r, err := b.hub.Release(t.Context(), hub.LocalAdmin(), hubapi.Ref{Author: "acme", Name: "triage", Version: "1"})
	if err != nil || r.Status != hubapi.Rejected {
		t.Errorf("after it: %v %v", r.Status, err)
	}
}

func TestEditMakesANewRelease(t *testing.T) {
	b := newSite(t, true)
	b.publish("triage", "1", "# Triage\n\nRead.\n", false)
	at := "/inbox/acme/triage/1"
	code, body := b.post(at+"/edit", url.Values{"csrf": {b.csrf(at)}, "content": {"# Triage\r\n\r\nRead twice.\r\n"}})
	if code != http.StatusOK {
		t.Fatalf("%d\n%s", code, body)
	}
	if _, body = b.get("/inbox"); !strings.Contains(body, "1 releases wait") {
		t.Errorf("the inbox after an edit:\n%s", body)
	}
}

func TestLogoutEndsTheSession(t *testing.T) {
	b := newSite(t, false)
	b.login("reviewer-key")
	code, _ := b.post("/logout", url.Values{"csrf": {b.csrf("/")}})
	if code != http.StatusOK {
		t.Errorf("logout: %d", code)
	}
	if _, body := b.get("/"); !strings.Contains(body, `type="password"`) {
		t.Errorf("still logged in:\n%s", body)
	}
}

func TestRedirectsStayHere(t *testing.T) {
	for next, want := range map[string]string{
		"/inbox?x=1": "/inbox?x=1", "": "/", "//evil.example": "/", "https://evil.example/": "/", `/\evil.example`: "/", "javascript:alert(1)": "/",
	} {
		if got := localPath(next); got != want {
			t.Errorf("localPath(%q) = %q, want %q", next, got, want)
		}
	}
}

func FuzzRenderMarkdown(f *testing.F) {
	f.Add([]byte(hostile))
	f.Add([]byte("[a]: javascript:x\n[b][a] <javascript:alert(1)> ![x][a]"))
	f.Fuzz(func(t *testing.T, source []byte) {
		html := bytes.ToLower([]byte(renderMarkdown(source)))
		for _, bad := range []string{"<script", "<img", "<iframe", `href="javascript:`, `href="data:`, "<style", " onerror=\""} {
			if bytes.Contains(html, []byte(bad)) {
				t.Fatalf("%q became %q", source, html)
			}
		}
	})
}

// Before, one page of such instructions took a minute of the hub's time.
func TestTangledInstructionsCostNoTime(t *testing.T) {
	start := time.Now()
	html := string(renderMarkdown([]byte(strings.Repeat("![a](", 50_000))))
	if took := time.Since(start); took > timetest.Limit(10*time.Second) {
		t.Errorf("took %v", took)
	}
	if !strings.HasPrefix(html, "<pre>![a](![a](") {
		t.Errorf("got %.100s", html)
	}
}

// Who reviews sees what the scan found also of what is active; agents see no findings. What
// people push needs no gate, so that none is shown as open beside the decision.
func TestFindingsAreShownToReviewers(t *testing.T) {
	b := newSite(t, false, hub.Config{Now: time.Now, Scanner: hub.ContentScanner{}})
	const text = "# a\n\nDo it.\n" // never names the tool that the manifest wishes for
	b.publish("alpha", "1", text, true)
	b.publish("alpha", "2", text+"More.\n", false)
	for key, want := range map[string]bool{"reviewer-key": true, "agent-key": false} {
		b.post("/login", url.Values{"key": {key}})
		status, body := b.get("/skills/acme/alpha")
		if got := strings.Contains(body, "wish.not-mentioned"); status != http.StatusOK || got != want {
			t.Errorf("%s: %d, findings shown: %v", key, status, got)
		}
	}
	b.post("/login", url.Values{"key": {"reviewer-key"}})
	if status, body := b.get("/inbox/acme/alpha/2"); status != http.StatusOK || !strings.Contains(body, "wish.not-mentioned") || strings.Contains(body, "Gates") {
		t.Errorf("%d\n%s", status, body)
	}
	if _, body := b.get("/inbox"); !strings.Contains(body, "1 warning<") {
		t.Error(body)
	}
}
