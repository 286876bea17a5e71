package mcpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hub/mcpapi"
	"github.com/kortecx/kx/hubapi"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

var jsonHeader = []string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2025-06-18"}

// F.1: an origin that may not call is refused on every method, whatever stands behind.
func TestOriginOnEveryMethod(t *testing.T) {
	s := start(t, mcpapi.Options{Loopback: true, Origins: []string{"https://app.example.com"}})
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
		for origin, allowed := range map[string]bool{
			"https://evil.example":         false,
			"null":                         false,
			"https://app.example.com.evil": false,
			"http://app.example.com":       false,
			"https://app.example.com:444":  false,
			"http://127.0.0.1:1":           false,
			"file://":                      false,
			"":                             true,
			s.url:                          true,
			"https://app.example.com":      true,
		} {
			header := append([]string{}, jsonHeader...)
			if origin != "" {
				header = append(header, "Origin", origin)
			}
			resp, _ := s.send(method, "/mcp", strings.NewReader(ping), header...)
			want := http.StatusForbidden
			switch {
			case allowed && method == http.MethodPost:
				want = http.StatusOK
			case allowed && method == http.MethodOptions && origin == "https://app.example.com":
				want = http.StatusNoContent
			case allowed:
				want = http.StatusMethodNotAllowed
			}
			if resp.StatusCode != want {
				t.Errorf("%s from %q: %d, want %d", method, origin, resp.StatusCode, want)
			}
			if shared := resp.Header.Get("Access-Control-Allow-Origin"); (shared != "") != (origin == "https://app.example.com") {
				t.Errorf("%s from %q shares with %q", method, origin, shared)
			}
		}
		header := append([]string{"Origin", "https://app.example.com", "Origin", "https://evil.example"}, jsonHeader...)
		if resp, _ := s.send(method, "/mcp", strings.NewReader(ping), header...); resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s from two origins: %d", method, resp.StatusCode)
		}
	}
}

func TestHosts(t *testing.T) {
	local := start(t, mcpapi.Options{Loopback: true})
	named := start(t, mcpapi.Options{Hosts: []string{"hub.example.com", "10.0.0.5"}})
	open := start(t, mcpapi.Options{})
	for _, tt := range []struct {
		s    *running
		host string
		want int
	}{
		{local, "localhost", 200},
		{local, "LOCALHOST:99", 200},
		{local, "127.0.0.1:50151", 200},
		{local, "[::1]:50151", 200},
		{local, "hub.example.com", 421},
		{local, "127.0.0.1.evil.example", 421},
		{local, "localhost.evil.example:80", 421},
		{named, "hub.example.com", 200},
		{named, "HUB.example.com:8443", 200},
		{named, "10.0.0.5", 200},
		{named, "evil.example", 421},
		{named, "localhost", 421},
		{named, "hub.example.com.evil.example", 421},
		{open, "evil.example", 200},
	} {
		resp, _ := tt.s.send("POST", "/mcp", strings.NewReader(ping), append([]string{"Host", tt.host}, jsonHeader...)...)
		if resp.StatusCode != tt.want {
			t.Errorf("Host %s: %d, want %d", tt.host, resp.StatusCode, tt.want)
		}
	}
	// Behind a proxy no page has the hub's own origin.
	resp, _ := open.send("POST", "/mcp", strings.NewReader(ping), append([]string{"Host", "evil.example", "Origin", "http://evil.example"}, jsonHeader...)...)
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("a page that calls itself what it likes: %d", resp.StatusCode)
	}
}

// Agents' keys are for agents: an admin's is refused, a reviewer's sees no more than
// an agent's, and none is taken from anywhere but a header.
func TestKeys(t *testing.T) {
	s := startWith(t, func(h *hub.Hub) httpapi.Authenticator {
		return httpapi.Keys(h, httpapi.KeyOptions{Local: "the key of server.json", Now: time.Now})
	}, mcpapi.Options{Loopback: true})
	s.shelf()
	key := func(role string, rate int) string {
		t.Helper()
		out, err := s.hub.NewKey(t.Context(), hub.LocalAdmin(), hubapi.NewKey{Role: role, Name: role, Rate: rate})
		if err != nil {
			t.Fatal(err)
		}
		return out.Token
	}
	for _, tt := range []struct {
		name   string
		header []string
		want   int
		say    string
	}{
		{"no key", nil, 401, "UNAUTHORIZED"},
		{"unknown key", []string{"Authorization", "Bearer nope"}, 401, "UNAUTHORIZED"},
		{"two keys", []string{"Authorization", "Bearer a", "X-Api-Key", "b"}, 400, "more than one"},
		{"admin", []string{"Authorization", "Bearer " + key("admin", 0)}, 403, "FORBIDDEN"},
		{"reviewer", []string{"Authorization", "Bearer " + key("reviewer", 0)}, 200, ""},
		{"publisher", []string{"X-Api-Key", key("publisher", 0)}, 200, ""},
		{"agent", []string{"Authorization", "Bearer " + key("agent", 0)}, 200, ""},
		{"node", []string{"Authorization", "Bearer " + key("node", 0)}, 200, ""},
		{"the user of the machine", []string{"Authorization", "Bearer the key of server.json"}, 200, ""},
	} {
		resp, body := s.send("POST", "/mcp", strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_skill","arguments":{"name":"secret"}}}`,
		), append(tt.header, jsonHeader...)...)
		if resp.StatusCode != tt.want {
			t.Errorf("%s: %d %s", tt.name, resp.StatusCode, body)
		}
		has(t, string(body), tt.say)
		if strings.Contains(string(body), "Not yet.") {
			t.Errorf("%s reads what is staged: %s", tt.name, body)
		}
		if (resp.StatusCode == 401) != (resp.Header.Get("WWW-Authenticate") == "Bearer") {
			t.Errorf("%s: WWW-Authenticate %q", tt.name, resp.Header.Get("WWW-Authenticate"))
		}
	}
	agent := key("agent", 0)
	if resp, _ := s.send("POST", "/mcp?token="+agent, strings.NewReader(ping), jsonHeader...); resp.StatusCode != 400 {
		t.Errorf("a key in the query: %d", resp.StatusCode)
	}
	slow := append([]string{"Authorization", "Bearer " + key("agent", 1)}, jsonHeader...)
	s.send("POST", "/mcp", strings.NewReader(ping), slow...)
	if resp, _ := s.send("POST", "/mcp", strings.NewReader(ping), slow...); resp.StatusCode != 429 {
		t.Errorf("beyond the key's rate: %d", resp.StatusCode)
	}
}

// What is no message of the protocol was answered by the library as plain text, which
// clients of the protocol cannot read.
func TestBodies(t *testing.T) {
	s := start(t, mcpapi.Options{Loopback: true})
	const both = "application/json, text/event-stream"
	for name, tt := range map[string]struct {
		body, kind, accept, version string
		status, code                int
		id                          any
		say                         string
	}{
		"too large":            {body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 5<<20) + `"}}`, status: 413, code: -32600, say: "4 MiB"},
		"not JSON":             {body: "{", status: 400, code: -32700, say: "not JSON"},
		"no UTF-8":             {body: "\xff\xfe", status: 400, code: -32700},
		"nothing":              {body: "", status: 400, code: -32700},
		"two messages":         {body: ping + ping, status: 400, code: -32700},
		"a number":             {body: "7", status: 400, code: -32600},
		"nobody's null":        {body: "null", status: 400, code: -32600},
		"no method":            {body: `{"jsonrpc":"2.0","id":1}`, status: 400, code: -32600},
		"a method that is 5":   {body: `{"jsonrpc":"2.0","id":1,"method":5}`, status: 400, code: -32600},
		"an id that is a list": {body: `{"jsonrpc":"2.0","id":[1],"method":"ping"}`, status: 400, code: -32600},
		"another protocol":     {body: `{"jsonrpc":"1.0","id":1,"method":"ping"}`, status: 400, code: -32600},
		"a batch":              {body: "[" + ping + "]", status: 400, code: -32600},
		"an empty batch":       {body: "[]", status: 400, code: -32600},
		"another type":         {body: ping, kind: "text/plain", status: 415, code: -32600},
		"a form":               {body: "a=b", kind: "application/x-www-form-urlencoded", status: 415, code: -32600},
		"who takes no events":  {body: ping, accept: "application/json", status: 400, code: -32600, say: "Accept"},
		"an old revision":      {body: ping, version: "1900-01-01", status: 400, code: -32600, say: "Unsupported protocol version"},
		"an unknown method":    {body: `{"jsonrpc":"2.0","id":"a","method":"no/such"}`, status: 400, code: -32601, id: "a", say: "no/such"},
	} {
		t.Run(name, func(t *testing.T) {
			or := func(text, otherwise string) string {
				if text == "" {
					return otherwise
				}
				return text
			}
			resp, body := s.send("POST", "/mcp", strings.NewReader(tt.body), "Content-Type", or(tt.kind, "application/json"), "Accept", or(tt.accept, both), "Mcp-Protocol-Version", or(tt.version, "2025-06-18"))
			var out struct {
				Version string `json:"jsonrpc"`
				ID      any    `json:"id"`
				Error   struct {
					Code    int    `json:"code"`
					Message string `json:"message"`
				} `json:"error"`
			}
			err := json.Unmarshal(body, &out)
			if err != nil || resp.StatusCode != tt.status || resp.Header.Get("Content-Type") != "application/json" || out.Version != "2.0" ||
				out.ID != tt.id || out.Error.Code != tt.code || out.Error.Message == "" || !strings.Contains(out.Error.Message, tt.say) {
				t.Errorf("%v: %d %s %s", err, resp.StatusCode, resp.Header.Get("Content-Type"), body)
			}
		})
	}
}
