package mcpapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hub/mcpapi"
	"github.com/kortecx/kx/internal/nodetest"
	"github.com/kortecx/kx/internal/timetest"
)

// short leaves the programs of others to the run without the race detector.
func short(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("programs of others are run once, without -short")
	}
}

// run runs a program to its end.
func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}

var passed = regexp.MustCompile(`Passed: (\d+)/(\d+), (\d+) failed`)

// The three scenarios of the skills extension, in full.
func TestConformanceOfTheExtension(t *testing.T) {
	short(t)
	nodetest.Dir(t)
	s := start(t, mcpapi.Options{Loopback: true})
	s.shelf()
	for scenario, checks := range map[string]string{"sep-2640-skills-enumeration": "32", "sep-2640-skills-manifest": "6", "sep-2640-skills-directory": "7"} {
		out := run(t, nodetest.Command(t, "conformance", "server", "--url", s.url+"/mcp", "--scenario", scenario))
		if m := passed.FindStringSubmatch(out); m == nil || m[1] != checks || m[2] != checks {
			t.Errorf("%s: %v, want all of %s\n%s", scenario, m, checks, out)
		}
	}
}

// What both revisions require, but for what the files in testdata explain. The suite
// fails as well when something that is excused there works.
func TestConformance(t *testing.T) {
	short(t)
	nodetest.Dir(t)
	s := start(t, mcpapi.Options{Loopback: true})
	s.shelf()
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		excused, err := filepath.Abs("testdata/conformance-" + revision + ".yml")
		if err != nil {
			t.Fatal(err)
		}
		run(t, nodetest.Command(t, "conformance", "server", "--url", s.url+"/mcp", "--requirements", revision, "--expected-failures", excused))
	}
}

// The scenarios that want tools of the suite's own run against the library's server
// for them, behind our gate: hosts, origins, keys and limits change nothing for who
// may call.
func TestProtocolThroughTheGate(t *testing.T) {
	short(t)
	nodetest.Dir(t)
	program := filepath.Join(t.TempDir(), "everything")
	run(t, exec.Command("go", "build", "-o", program, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"))
	address := freeAddress(t)
	server := exec.CommandContext(t.Context(), program, "-http", address)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	to := &url.URL{Scheme: "http", Host: address}
	behind := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	gate := mcpapi.Gate(httpapi.DevLocal(), behind, mcpapi.Options{Now: time.Now, Loopback: true})
	front := httptest.NewServer(httpapi.Handler(nil, httpapi.DevLocal(), httpapi.Options{Loopback: true, MCP: gate}))
	t.Cleanup(front.Close)
	for deadline := time.Now().Add(timetest.Limit(20 * time.Second)); ; time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get("http://" + address)
		if err == nil {
			_ = resp.Body.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	excused, err := filepath.Abs("testdata/conformance-gate.yml")
	if err != nil {
		t.Fatal(err)
	}
	// On a busy machine the suite may count notifications of progress before it has
	// looked at them, so it has a second try.
	suite := func() *exec.Cmd {
		return nodetest.Command(t, "conformance", "server", "--url", front.URL+"/mcp", "--requirements", "2026-07-28", "--expected-failures", excused)
	}
	if out, err := suite().CombinedOutput(); err != nil {
		t.Logf("the first try: %v\n%s", err, out)
		run(t, suite())
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	return s.Listener.Addr().String()
}

// The Inspector: digests of every file, and schemas that every model's tool calls can
// say.
func TestInspector(t *testing.T) {
	short(t)
	nodetest.Dir(t)
	s := start(t, mcpapi.Options{Loopback: true})
	s.shelf()
	at := s.url + "/mcp"
	for _, args := range [][]string{
		{"--method", "tools/list", "--strict"},
		{"--protocol-era", "modern", "--method", "tools/list", "--strict"},
		{"--protocol-era", "modern", "--method", "skills/list", "--verify", "--require-digests"},
		{"--protocol-era", "modern", "--method", "skills/get", "--uri", "skill://acme/triage/SKILL.md", "--verify", "--require-digests"},
		{"--protocol-era", "modern", "--method", "resources/directory/read", "--uri", "skill://acme/triage"},
		{"--method", "tools/call", "--tool-name", "search_skills", "--tool-arg", "query=mailbox"},
		{"--method", "prompts/list"},
	} {
		out := run(t, nodetest.Command(t, "mcp-inspector", append([]string{"--cli", at}, args...)...))
		if strings.Contains(out, "secret") {
			t.Errorf("%v tells of what is staged: %s", args, out)
		}
	}
	cmd := nodetest.Command(t, "mcp-inspector", "--cli", at, "--protocol-era", "modern", "--method", "skills/get", "--uri", "skill://local/secret/SKILL.md", "--verify")
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("what is staged is verified: %s", out)
	}
}

// A client of our own on the protocol's TypeScript library.
func TestVerifyingClient(t *testing.T) {
	short(t)
	s := start(t, mcpapi.Options{Loopback: true, PageSize: 2})
	s.shelf()
	cmd := nodetest.Command(t, "node", "client.mjs", s.url+"/mcp", "skill://local/secret/SKILL.md")
	if err := os.WriteFile(filepath.Join(cmd.Dir, "client.mjs"), []byte(read(t, "testdata/client.mjs")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(nodetest.Dir(t), "node_modules"), filepath.Join(cmd.Dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	out := strings.TrimSpace(run(t, cmd))
	var seen struct {
		Skills, Files int
		Wrong         []string
	}
	if err := json.Unmarshal([]byte(out[strings.LastIndex(out, "\n")+1:]), &seen); err != nil || seen.Skills != 3 || seen.Files != 8 || len(seen.Wrong) > 0 {
		t.Errorf("%+v, %v\n%s", seen, err, out)
	}
}
