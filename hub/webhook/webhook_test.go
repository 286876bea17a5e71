package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hub/storetest"
	"github.com/kortecx/kx/hub/webhook"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/timetest"
	"github.com/kortecx/kx/pack"
)

// receiver takes deliveries, and refuses as many of the first as it is told.
type receiver struct {
	mu     sync.Mutex
	refuse int
	status int
	got    []webhook.Delivery
	heads  []http.Header
	bodies [][]byte
	asked  int
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	if r.asked <= r.refuse {
		w.Header().Set("Location", "http://127.0.0.1:1/")
		w.WriteHeader(r.status)
		return
	}
	var d webhook.Delivery
	if err := json.Unmarshal(body, &d); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.got, r.heads, r.bodies = append(r.got, d), append(r.heads, req.Header), append(r.bodies, body)
}

func (r *receiver) events() (out []hubapi.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.got {
		out = append(out, d.Events...)
	}
	return out
}

func newHub(t *testing.T) *hub.Hub {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), storetest.TempDir(t), sqlstore.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return hub.New(store, hub.Config{Now: time.Now})
}

func push(t *testing.T, h *hub.Hub, name string) {
	t.Helper()
	text := "---\nname: " + name + "\ndescription: Keeps notes. Use for notes.\n---\nWrite.\n"
	_, err := h.Publish(t.Context(), hub.LocalAdmin(), hub.PublishInput{
		Name: name, Files: []pack.File{{Path: "SKILL.md", Data: []byte(text)}}, Author: "acme",
	})
	if err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, h *hub.Hub, log io.Writer, hooks ...webhook.Hook) (stop func()) {
	t.Helper()
	return runOver(t, h, log, http.DefaultTransport, hooks...)
}

func runOver(t *testing.T, h *hub.Hub, log io.Writer, transport http.RoundTripper, hooks ...webhook.Hook) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &webhook.Sender{
		Hub: h, Hooks: hooks, Transport: transport, UserAgent: "kx/test",
		Now: time.Now, Log: slog.New(slog.NewTextHandler(log, nil)),
	}
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	return func() { cancel(); <-done }
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timetest.Limit(60 * time.Second)); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestEventsAreToldOnceInOrderAndSigned(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	push(t, h, "before") // the past of a new hook is not told
	to := &receiver{}
	server := httptest.NewServer(to)
	defer server.Close()
	hook, err := webhook.ParseHook(server.URL+"/hook?key=private", []byte("a secret that both know"))
	if err != nil {
		t.Fatal(err)
	}
	// Only what happens once the hook is known is told.
	if err := webhook.Check(t.Context(), h, []webhook.Hook{hook}); err != nil {
		t.Fatal(err)
	}
	stop := run(t, h, io.Discard, hook)
	push(t, h, "alpha")
	push(t, h, "beta")
	eventually(t, "two events", func() bool { return len(to.events()) == 2 })
	stop()

	// What happens while nobody runs is told by the next run, and nothing twice.
	push(t, h, "gamma")
	stop = run(t, h, io.Discard, hook)
	eventually(t, "three events", func() bool { return len(to.events()) >= 3 })
	time.Sleep(50 * time.Millisecond)
	stop()
	names := ""
	for _, e := range to.events() {
		names += e.Name + " "
	}
	if names != "alpha beta gamma " {
		t.Errorf("told of %s", names)
	}
	for i, head := range to.heads {
		want := webhook.Signature([]byte("a secret that both know"), head.Get(webhook.TimestampHeader), to.bodies[i])
		if head.Get(webhook.SignatureHeader) != want {
			t.Errorf("delivery %d is signed %q, want %q", i, head.Get(webhook.SignatureHeader), want)
		}
	}
}

func TestRefusedDeliveryIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusInternalServerError, http.StatusFound, http.StatusNotFound} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			h := newHub(t)
			to := &receiver{refuse: 1, status: status}
			server := httptest.NewServer(to)
			defer server.Close()
			hook, err := webhook.ParseHook("local="+server.URL+"/?key=private", nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := webhook.Check(t.Context(), h, []webhook.Hook{hook}); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			stop := run(t, h, &log, hook)
			push(t, h, "alpha")
			eventually(t, "the event", func() bool { return len(to.events()) == 1 })
			stop()
			if !strings.Contains(log.String(), "not delivered") || strings.Contains(log.String(), "private") {
				t.Errorf("logged %q", log.String())
			}
		})
	}
}

func TestCheckWantsTheTenant(t *testing.T) {
	hook, err := webhook.ParseHook("nosuch=http://127.0.0.1:1/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := webhook.Check(t.Context(), newHub(t), []webhook.Hook{hook}); hubapi.AsError(err).Code != hubapi.NotFound {
		t.Errorf("a tenant that is not there: %v", err)
	}
}

func TestParseHook(t *testing.T) {
	for _, tt := range []struct{ text, tenant, url string }{
		{"https://example.org/x", "local", "https://example.org/x"},
		{"https://example.org/x?a=b", "local", "https://example.org/x?a=b"},
		{"acme=http://127.0.0.1:9/x", "acme", "http://127.0.0.1:9/x"},
		{"acme=", "", ""},
		{"", "", ""},
		{"file:///etc/passwd", "", ""},
		{"ftp://example.org", "", ""},
		{"https://user:pass@example.org/", "", ""},
		{"https:///x", "", ""},
	} {
		hook, err := webhook.ParseHook(tt.text, nil)
		if (err != nil) != (tt.url == "") || hook.Tenant != tt.tenant || hook.URL != tt.url {
			t.Errorf("%q is %+v, %v", tt.text, hook, err)
		}
		if err != nil && strings.Contains(err.Error(), "pass@") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}

// A panic in a delivery ended the server.
func TestAPanicInADeliveryIsLoggedAndTriedAgain(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	to := &receiver{}
	server := httptest.NewServer(to)
	defer server.Close()
	hook, err := webhook.ParseHook(server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := webhook.Check(t.Context(), h, []webhook.Hook{hook}); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	var calls atomic.Int64
	stop := runOver(t, h, &log, roundTripper(func(r *http.Request) (*http.Response, error) {
		if calls.Add(1) == 1 {
			panic("boom")
		}
		return http.DefaultTransport.RoundTrip(r)
	}), hook)
	push(t, h, "alpha")
	eventually(t, "the event", func() bool { return len(to.events()) == 1 })
	stop()
	if !strings.Contains(log.String(), "internal fault: boom") || !strings.Contains(log.String(), "webhook_test.go") {
		t.Errorf("logged %q", log.String())
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
