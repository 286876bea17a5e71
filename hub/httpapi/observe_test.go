package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/timetest"
)

// observed is a hub with everything that `kx serve` puts around it.
type observed struct {
	*running
	handler http.Handler
	log     *bytes.Buffer
}

func observe(t *testing.T, o httpapi.ObserveOptions) observed {
	t.Helper()
	s := start(t, httpapi.DevLocal())
	log := &bytes.Buffer{}
	o.Now = time.Now
	o.Access = slog.New(slog.NewJSONHandler(log, nil))
	o.Stats = func(ctx context.Context) httpapi.StoreStats { return httpapi.StoreStats(s.store.Stats(ctx)) }
	return observed{s, httpapi.Observe(s.handler, o), log}
}

func (o observed) ask(method, target string, body io.Reader, header ...string) answer {
	o.t.Helper()
	r := httptest.NewRequest(method, target, body)
	r.Host = "127.0.0.1"
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	o.handler.ServeHTTP(w, r)
	return answer{w.Result(), w.Body.Bytes()}
}

var metricLine = regexp.MustCompile(`^(# (HELP|TYPE) kx_[a-z_]+ .+|kx_[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+)$`)

func TestMetrics(t *testing.T) {
	o := observe(t, httpapi.ObserveOptions{Loopback: true})
	archive := archiveOf(t, "triage", kortecx("triage", "1", "text"))
	for range 2 {
		o.ask(http.MethodPost, "/api/v1/releases?author=acme", bytes.NewReader(archive))
	}
	o.ask(http.MethodPost, "/api/v1/releases", strings.NewReader("no archive"))
	o.ask(http.MethodGet, "/api/v1/search?q=mail", nil)
	o.ask("BREW", "/nowhere/"+big(5000), nil)
	got := o.ask(http.MethodGet, "/metrics", nil)
	if got.StatusCode != 200 || !strings.HasPrefix(got.Header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%s %v", got.Status, got.Header)
	}
	text := string(got.body)
	for _, want := range []string{
		`kx_http_requests_total{route="/api/v1/releases",method="POST",code="201"} 1`,
		`kx_http_requests_total{route="/api/v1/releases",method="POST",code="200"} 1`,
		`kx_http_requests_total{route="other",method="other",code="404"} 1`,
		`kx_http_request_duration_seconds_count{route="/api/v1/releases"} 3`,
		`kx_http_request_duration_seconds_bucket{route="/api/v1/search",le="+Inf"} 1`,
		`kx_pushes_total{outcome="new"} 1`,
		`kx_pushes_total{outcome="unchanged"} 1`,
		`kx_pushes_total{outcome="refused"} 1`,
		`kx_http_in_flight 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("without %s", want)
		}
	}
	if !regexp.MustCompile(`kx_store_writes_total [1-9]`).MatchString(text) || !regexp.MustCompile(`kx_store_size_bytes [1-9]`).MatchString(text) {
		t.Error("nothing of the store")
	}
	for line := range strings.Lines(text) {
		if !metricLine.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("not the text format: %q", line)
		}
	}
	if got := o.ask(http.MethodPost, "/metrics", nil); got.StatusCode != 405 {
		t.Error(got.Status)
	}
}

type byKey map[string]hub.Role

func (k byKey) Authenticate(r *http.Request) (hub.Principal, error) {
	key, err := httpapi.Credential(r)
	if err != nil {
		return hub.Principal{}, err
	}
	if role, ok := k[key]; ok {
		return hub.Principal{ID: key, Tenant: hub.LocalTenant, Role: role}, nil
	}
	return hub.Principal{}, hubapi.Errorf(hubapi.Unauthorized, "no")
}

// Beyond loopback the metrics are an admin's; on loopback no other site's page
// gets them.
func TestMetricsAreForOperators(t *testing.T) {
	open := observe(t, httpapi.ObserveOptions{Auth: byKey{"a": hub.Admin, "r": hub.Reviewer}})
	for key, want := range map[string]int{"a": 200, "r": 403, "x": 401, "": 401} {
		if got := open.ask(http.MethodGet, "/metrics", nil, "X-API-Key", key); got.StatusCode != want {
			t.Errorf("key %q: %s", key, got.Status)
		}
	}
	local := observe(t, httpapi.ObserveOptions{Loopback: true})
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Host = "evil.example"
	w := httptest.NewRecorder()
	local.handler.ServeHTTP(w, r)
	if w.Code != 403 || strings.Contains(w.Body.String(), "kx_") {
		t.Errorf("another host: %d", w.Code)
	}
}

func TestTheAccessLogHasNoSecrets(t *testing.T) {
	o := observe(t, httpapi.ObserveOptions{Loopback: true})
	o.ask(http.MethodGet, "/api/v1/search?q=geheim&limit=1", nil, "Authorization", "Bearer geheim", "Cookie", "session=geheim", "X-Kazma-Secret", "geheim")
	o.ask(http.MethodGet, "/api/v1/releases/acme/none?token=geheim", nil, "X-API-Key", "geheim")
	o.ask(http.MethodGet, "/"+big(5000), nil)
	var records []map[string]any
	for line := range bytes.Lines(o.log.Bytes()) {
		var record map[string]any
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		records = append(records, record)
	}
	if strings.Contains(o.log.String(), "geheim") || len(records) != 3 || o.log.Len() > 2000 {
		t.Errorf("%d records of %d bytes:\n%s", len(records), o.log.Len(), o.log)
	}
	if r := records[0]; r["route"] != "/api/v1/search" || r["status"] != 200.0 || r["method"] != "GET" || r["bytes"].(float64) == 0 {
		t.Errorf("%v", r)
	}
}

// A server lets in no more connections than it can hold, and the others wait.
func TestConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	s := start(t, httpapi.DevLocal())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := httpapi.Limit(l, 4)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	server := httpapi.NewServer(s.handler)
	server.ReadHeaderTimeout, server.IdleTimeout = 300*time.Millisecond, 300*time.Millisecond
	go func() { done <- httpapi.Serve(ctx, server, limited) }()
	for range 8 {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	time.Sleep(50 * time.Millisecond)
	if n := limited.Open(); n != 4 {
		t.Errorf("%d connections are open", n)
	}
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	for _, transport := range []*http.Transport{{}, {Protocols: &protocols}} {
		c, err := hubclient.New(hubclient.Config{Endpoint: "http://" + l.Addr().String(), Transport: transport})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Search(t.Context(), "", hubclient.SearchOptions{Limit: 1}); err != nil {
			t.Errorf("after the slow ones were cut off: %v", err)
		}
		transport.CloseIdleConnections()
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := limited.Open(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}

// F3, F4, R8: hundreds of slow sockets are cut off while others are served, and
// leave nothing behind.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	s := start(t, httpapi.DevLocal())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := httpapi.Limit(l, httpapi.MaxConns)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	server := httpapi.NewServer(s.handler)
	if !reliability() {
		server.ReadHeaderTimeout, server.ReadTimeout = time.Second, 2*time.Second
	}
	go func() { done <- httpapi.Serve(ctx, server, limited) }()
	address := l.Addr().String()
	fast := &http.Transport{MaxIdleConnsPerHost: 4}
	client, err := hubclient.New(hubclient.Config{Endpoint: "http://" + address, Transport: fast})
	if err != nil {
		t.Fatal(err)
	}
	pushes := 0
	push := func(n int) (all []time.Duration) {
		for range n {
			pushes++
			name := fmt.Sprint("p", pushes)
			begun := time.Now()
			if _, err := client.Push(t.Context(), hubclient.PushInput{Name: name, Files: kortecx(name, "1", "text")}); err != nil {
				t.Fatal(err)
			}
			all = append(all, time.Since(begun))
		}
		slices.Sort(all)
		return all
	}
	before := push(100)

	sockets := 200
	if reliability() {
		sockets = 500
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	cut := map[string][]time.Duration{}
	for i := range sockets {
		wg.Go(func() {
			kind, head := "header", "GET /api/v1/search HTTP/1.1\r\n"
			if i%2 == 0 {
				kind, head = "body", "POST /api/v1/releases HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n"
			}
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			begun := time.Now()
			_, err = conn.Write([]byte(head))
			stop := make(chan struct{})
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(200 * time.Millisecond):
						_, _ = conn.Write([]byte("x"))
					}
				}
			})
			// Until the server gives up.
			_ = conn.SetReadDeadline(begun.Add(2 * server.ReadTimeout))
			_, readErr := io.Copy(io.Discard, conn)
			close(stop)
			var timeout net.Error
			if errors.As(readErr, &timeout) && timeout.Timeout() || err != nil {
				t.Errorf("a slow %s was not cut off: %v, %v", kind, readErr, err)
			}
			mu.Lock()
			cut[kind] = append(cut[kind], time.Since(begun))
			mu.Unlock()
		})
	}
	time.Sleep(300 * time.Millisecond) // all of them are there
	during := push(100)
	wg.Wait()
	for kind, limit := range map[string]time.Duration{"header": server.ReadHeaderTimeout, "body": server.ReadTimeout} {
		slices.Sort(cut[kind])
		last := cut[kind][len(cut[kind])-1]
		t.Logf("%d slow %ss were cut off after %v to %v", len(cut[kind]), kind, cut[kind][0], last)
		if last > limit+limit/2+timetest.Limit(2*time.Second) {
			t.Errorf("a slow %s was served for %v", kind, last)
		}
	}
	t.Logf("p99 of pushes: %v before, %v beside %d slow sockets", before[98], during[98], sockets)
	if reliability() && during[98] > 2*before[98]+20*time.Millisecond {
		t.Errorf("pushes suffer: p99 %v before, %v during", before[98], during[98])
	}
	fast.CloseIdleConnections()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := limited.Open(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
	if err := s.store.Read(t.Context(), func(r hub.Reader) error {
		n, err := r.CountReleases(hub.LocalTenant, hubapi.Staged)
		if n != pushes {
			t.Errorf("%d releases after %d pushes", n, pushes)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}
