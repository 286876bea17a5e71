package hubclient_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hubclient"
)

// carried sends lines to a server through a session and gives what came out of it.
func carried(t *testing.T, serve http.HandlerFunc, lines ...string) string {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	client, err := hubclient.New(hubclient.Config{Endpoint: server.URL + "/below", Token: "the-key", Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := client.ServeMCP(t.Context(), strings.NewReader(strings.Join(lines, "\n")), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Whatever a server answers, an agent gets one answer to its request, on one line.
func TestServeMCPAnswersEveryRequest(t *testing.T) {
	const ask = `{"jsonrpc":"2.0","id":"a","method":"tools/list"}`
	for name, tt := range map[string]struct {
		status int
		kind   string
		body   string
		want   string
	}{
		"JSON":               {200, "application/json", "{\"jsonrpc\":\"2.0\",\n \"id\":\"a\",\n\"result\":{}}", `"result":{}`},
		"events":             {200, "text/event-stream", ": hi\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":\"a\",\"result\":{\"x\":1}}\n\n", `"x":1`},
		"events, no end":     {200, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{\"x\":1}}", `"x":1`},
		"an error of nobody": {401, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"this hub needs a key"}}`, "this hub needs a key"},
		"a hub's refusal":    {503, "application/json", `{"error":{"code":"unavailable","message":"come back later"}}`, "come back later"},
		"a page":             {502, "text/html", "<html>", "502"},
		"another server":     {404, "text/plain", "no", "has no /mcp"},
		"taken, no answer":   {202, "text/plain", "", "did not answer"},
		"nothing":            {200, "application/json", "", ""},
		"no events":          {200, "text/event-stream", "", "did not answer"},
		"half":               {200, "application/json", `{"jsonrpc":"2.0","id":"a"`, ""},
	} {
		out := carried(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/below/mcp" || r.Header.Get("Authorization") != "Bearer the-key" || r.Method != http.MethodPost {
				t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
			}
			w.Header().Set("Content-Type", tt.kind)
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		}, ask)
		if strings.Count(out, "\n") != 1 || !strings.Contains(out, `"id":"a"`) || !strings.Contains(out, tt.want) {
			t.Errorf("%s: %q", name, out)
		}
	}
}

// The headers repeat what the message says: that of its revision, or of the handshake.
func TestServeMCPDescribesItsMessages(t *testing.T) {
	var seen []string
	out := carried(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, fmt.Sprint(r.Header.Get("Mcp-Protocol-Version"), " ", r.Header.Get("Mcp-Method"), " ", r.Header.Get("Mcp-Name")))
		if !bytes.Contains(body, []byte(`"id"`)) {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}`)
	},
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	)
	if strings.Count(out, "\n") != 1 || len(seen) != 2 || seen[0] != "  " || seen[1] != "2025-06-18  " {
		t.Errorf("%q %q", out, seen)
	}
	seen = nil
	carried(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, fmt.Sprint(r.Header.Get("Mcp-Protocol-Version"), " ", r.Header.Get("Mcp-Method"), " ", r.Header.Get("Mcp-Name")))
		w.WriteHeader(http.StatusAccepted)
	}, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"skill://a/b/ü","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	if len(seen) != 1 || seen[0] != "2026-07-28 resources/read =?base64?c2tpbGw6Ly9hL2Ivw7w=?=" {
		t.Errorf("%q", seen)
	}
}

// A message that was too large ended the session of the agent that sent it.
func TestServeMCPGoesOnBehindAMessageThatIsTooLarge(t *testing.T) {
	large := strings.Repeat("x", 5<<20)
	var seen []string
	out := carried(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, string(body))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":9,"result":{}}`)
	},
		`{"jsonrpc":"2.0","id":"first","method":"tools/call","params":{"x":"`+large+`"}}`,
		`{"method":"tools/call","params":{"x":"`+large+`","id":5},"jsonrpc":"2.0","id":7}`,
		large,
		`{"params":{"x":"`+large+`","y":{"id":8}}}`,
		`{"jsonrpc":"2.0","id":1}`,
		`{"jsonrpc":"2.0","id":9,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":"last","method":"ping","params":{"x":"`+large, // and no end of the line
	)
	var got []string
	for line := range strings.Lines(out) {
		var m struct {
			ID    json.RawMessage
			Error *struct{ Code int }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		if m.Error != nil {
			got = append(got, fmt.Sprint(string(m.ID), " ", m.Error.Code))
		} else {
			got = append(got, string(m.ID))
		}
	}
	slices.Sort(got) // an answer may overtake
	want := []string{`"first" -32600`, `"last" -32600`, "7 -32600", "9", "null -32600", "null -32600", "null -32600"}
	if !slices.Equal(got, want) || len(seen) != 1 {
		t.Errorf("%q, and %d messages were sent on", got, len(seen))
	}
}

// endless is a line that never ends.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.left -= n
	return n, nil
}

// However long a line is, no more of it is kept than of the largest message.
func TestServeMCPKeepsLittleOfALongLine(t *testing.T) {
	client, err := hubclient.New(hubclient.Config{Endpoint: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var out bytes.Buffer
	if err := client.ServeMCP(t.Context(), &endless{left: 256 << 20}, &out); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	// Growing a slice to 4 MiB allocates a few times as much in all.
	if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > 48 || strings.Count(out.String(), "-32600") != 1 {
		t.Errorf("%d MiB were allocated; the answer is %q", got, out.String())
	}
}

// A request that is given up ends its connection, and input that ends, every stream.
func TestServeMCPGivesUp(t *testing.T) {
	begun, gone := make(chan struct{}, 2), make(chan struct{}, 2)
	serve := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		begun <- struct{}{}
		<-r.Context().Done()
		gone <- struct{}{}
	}
	server := httptest.NewServer(http.HandlerFunc(serve))
	t.Cleanup(server.Close)
	client, err := hubclient.New(hubclient.Config{Endpoint: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	in, write := io.Pipe()
	var out bytes.Buffer
	done := make(chan error, 1)
	go func() { done <- client.ServeMCP(t.Context(), in, &out) }()
	say := func(line string) {
		if _, err := io.WriteString(write, line+"\n"); err != nil {
			t.Error(err)
		}
	}
	say(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}`)
	<-begun
	say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	<-gone
	say(`{"jsonrpc":"2.0","id":8,"method":"subscriptions/listen","params":{}}`)
	<-begun
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	<-gone
	if err := <-done; err != nil || out.Len() > 0 {
		t.Errorf("%v, %q", err, out.String())
	}
}

type falls struct{}

func (falls) RoundTrip(*http.Request) (*http.Response, error) { panic("boom") }

// A panic in one exchange ended the bridge, and with it all that the agent asked.
func TestServeMCPAnswersAPanic(t *testing.T) {
	client, err := hubclient.New(hubclient.Config{Endpoint: "http://127.0.0.1:1", Transport: falls{}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := client.ServeMCP(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":"a","method":"tools/list"}`), &out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"id":"a"`) || !strings.Contains(got, "internal fault: boom") {
		t.Errorf("%q", got)
	}
}
