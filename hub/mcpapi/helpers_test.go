package mcpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hub/mcpapi"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hub/storetest"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

const modernEra = "2026-07-28"

// running is a hub on a real listener, behind everything that a server has before it.
type running struct {
	t    testing.TB
	url  string
	hub  *hub.Hub
	wire *http.Transport

	watch, calls *storetest.Watch // of requests, and of tools that say no
}

// start serves to everybody on this machine.
func start(t testing.TB, o mcpapi.Options) *running {
	return startWith(t, func(*hub.Hub) httpapi.Authenticator { return httpapi.DevLocal() }, o)
}

func startWith(t testing.TB, auth func(*hub.Hub) httpapi.Authenticator, o mcpapi.Options) *running {
	t.Helper()
	dir := storetest.TempDir(t)
	store, err := sqlstore.Open(t.Context(), dir, sqlstore.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	h := hub.New(store, hub.Config{Now: time.Now, Scanner: hub.ContentScanner{}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o.Now, o.Ending, o.Version = time.Now, ctx.Done(), "test"
	handler := httpapi.Handler(h, auth(h), httpapi.Options{Loopback: o.Loopback, MCP: mcpapi.Handler(h, auth(h), o)})
	done := make(chan error, 1)
	go func() { done <- httpapi.Serve(ctx, httpapi.NewServer(handler), l) }()
	s := &running{t: t, url: "http://" + l.Addr().String(), hub: h, wire: &http.Transport{MaxIdleConnsPerHost: 16}, watch: storetest.NewWatch(t, dir), calls: storetest.NewWatch(t, dir)}
	t.Cleanup(func() {
		s.wire.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
		if err := store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func (s *running) push(p hub.Principal, author string, approve bool, name string, files ...pack.File) {
	s.t.Helper()
	if _, err := s.hub.Publish(context.Background(), p, hub.PublishInput{Name: name, Author: author, Files: files, Approve: approve}); err != nil {
		s.t.Fatal(name, err, hubapi.AsError(err).Details)
	}
}

func skillMD(name, description, more, text string) pack.File {
	return pack.File{Path: "SKILL.md", Data: fmt.Appendf(nil, "---\nname: %s\ndescription: %s\n%s---\n\n# %s\n\n%s\n", name, description, more, name, text)}
}

// shelf publishes a little of everything.
func (s *running) shelf() {
	s.t.Helper()
	admin := hub.LocalAdmin()
	s.push(admin, "acme", true, "triage", skillMD("triage", "Sort a mailbox and draft replies.", "", "See references/Q&A.md."),
		pack.File{Path: "logo.png", Data: []byte("\x89PNG\x00\xff\xfe")},
		pack.File{Path: "references/Q&A.md", Data: []byte("# Questions\n")},
		pack.File{Path: "references/deep/table one.csv", Data: []byte("a,b\n")},
		pack.File{Path: "scripts/run.sh", Data: []byte("echo run\n"), Executable: true},
	)
	s.push(admin, "local", true, "git-workflow", skillMD("git-workflow", "Branch, commit and release as we do.", "license: MIT\nmetadata:\n  version: \"1\"\n", "Branch first, see references/branches.md."),
		// The suite looks at the first skill that is listed, and wants a folder in it.
		pack.File{Path: "references/branches.md", Data: []byte("# Branches\n")})
	s.push(admin, "local", true, "my.skill",
		pack.File{Path: "instructions.md", Data: []byte("# My skill\n\nDo it.\n")},
		pack.File{Path: "skill.json", Data: []byte(`{"schema":"kortecx.skill/v1","name":"my.skill","version":"1","description":"A skill whose name no agent takes."}`)},
	)
	s.push(admin, "local", false, "secret", skillMD("secret", "The hidden plan of staging.", "", "Not yet."))
}

// message sends one message of the era and gives what came back.
func (s *running) message(era, method string, params map[string]any, header ...string) (status int, out map[string]any) {
	s.t.Helper()
	if params == nil {
		params = map[string]any{}
	}
	if era == modernEra {
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion": era, "io.modelcontextprotocol/clientCapabilities": map[string]any{},
		}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		s.t.Fatal(err)
	}
	header = append([]string{
		"Content-Type", "application/json", "Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", era,
	}, header...)
	if era == modernEra {
		header = append(header, "Mcp-Method", method)
		for _, key := range []string{"name", "uri"} {
			if name, ok := params[key].(string); ok && (method == "tools/call" || method == "prompts/get" || method == "resources/read") {
				header = append(header, "Mcp-Name", name)
			}
		}
	}
	resp, data := s.send(http.MethodPost, "/mcp", bytes.NewReader(body), header...)
	_ = json.Unmarshal(data, &out)
	return resp.StatusCode, out
}

func (s *running) send(method, path string, body io.Reader, header ...string) (*http.Response, []byte) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Add(header[i], header[i+1])
	}
	answered := s.watch.Request(method + " " + path)
	resp, err := s.wire.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	answered(resp.StatusCode >= 400)
	return resp, data
}

// result wants an answer and gives its result.
func (s *running) result(era, method string, params map[string]any) map[string]any {
	s.t.Helper()
	status, out := s.message(era, method, params)
	result, ok := out["result"].(map[string]any)
	if status != http.StatusOK || !ok {
		s.t.Fatalf("%s %s %v: %d %v", era, method, params, status, out)
	}
	return result
}

// call calls a tool and gives its text.
func (s *running) call(name string, arguments map[string]any) (text string, failed bool) {
	s.t.Helper()
	answered := s.calls.Request(name)
	result := s.result(modernEra, "tools/call", map[string]any{"name": name, "arguments": arguments})
	for _, c := range result["content"].([]any) {
		text += c.(map[string]any)["text"].(string)
	}
	failed, _ = result["isError"].(bool)
	answered(failed)
	return text, failed
}

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func has(t testing.TB, text, want string) {
	t.Helper()
	if !strings.Contains(text, want) {
		t.Errorf("%q is not in %q", want, text)
	}
}
