package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hub/storetest"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/pack"
)

// running is a hub on a real listener.
type running struct {
	t       testing.TB
	url     string
	handler http.Handler
	hub     *hub.Hub
	store   *sqlstore.Store
	client  *hubclient.Client
	wire    *http.Transport
	watch   *storetest.Watch
}

func start(t testing.TB, auth httpapi.Authenticator) *running {
	t.Helper()
	return startIn(t, auth, storetest.TempDir(t))
}

func startIn(t testing.TB, auth httpapi.Authenticator, dir string) *running {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), dir, sqlstore.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	h := hub.New(store, hub.Config{Now: time.Now})
	handler := httpapi.Handler(h, auth, httpapi.Options{Loopback: true})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- httpapi.Serve(ctx, httpapi.NewServer(handler), l) }()
	url := "http://" + l.Addr().String()
	// Its own connections, closed at the end: a server waits for new ones.
	wire := &http.Transport{MaxIdleConnsPerHost: 16}
	client, err := hubclient.New(hubclient.Config{Endpoint: url, Transport: wire})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		wire.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
		if err := store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &running{t, url, handler, h, store, client, wire, storetest.NewWatch(t, dir)}
}

// answer is a response that was read whole.
type answer struct {
	*http.Response
	body []byte
}

// refusal is the JSON document of a refusal; any other body fails the test.
func (a answer) refusal(t testing.TB) *hubapi.Error {
	t.Helper()
	var body hubapi.ErrorBody
	if err := json.Unmarshal(a.body, &body); err != nil || body.Error == nil || body.Error.Code == "" || body.Error.Message == "" {
		t.Fatalf("%s: not a refusal of ours: %q", a.Status, a.body)
	}
	return body.Error
}

func (s *running) do(r *http.Request) answer {
	s.t.Helper()
	answered := s.watch.Request(r.Method + " " + r.URL.Path)
	resp, err := s.wire.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	answered(resp.StatusCode >= 400)
	return answer{resp, body}
}

func (s *running) request(method, path string, body io.Reader, header ...string) answer {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return s.do(r)
}

func (s *running) get(path string, header ...string) answer {
	s.t.Helper()
	return s.request(http.MethodGet, path, nil, header...)
}

// inProcess answers without a network, for what a client library would not send.
func (s *running) inProcess(r *http.Request) answer {
	s.t.Helper()
	w := httptest.NewRecorder()
	answered := s.watch.Request(r.Method + " " + r.URL.Path)
	s.handler.ServeHTTP(w, r)
	answered(w.Code >= 400)
	return answer{w.Result(), w.Body.Bytes()}
}

// empty fails the test if the store holds anything that a push leaves.
func (s *running) empty() {
	s.t.Helper()
	err := s.store.Read(context.Background(), func(r hub.Reader) error {
		for _, status := range []hubapi.Status{hubapi.Staged, hubapi.Active} {
			if n, err := r.CountReleases(hub.LocalTenant, status); n != 0 || err != nil {
				return fmt.Errorf("%d %s releases (%v)", n, status, err)
			}
		}
		if rows, err := r.Audit(hub.LocalTenant, 0, 1); len(rows) != 0 || err != nil {
			return fmt.Errorf("audit rows (%v)", err)
		}
		return nil
	})
	if err != nil {
		s.t.Errorf("a refusal left something behind: %v", err)
	}
}

// kortecx makes a small pack of the kortecx format.
func kortecx(name, version, text string) []pack.File {
	return []pack.File{
		{Path: "README.md", Data: []byte("How " + name + " works.\n")},
		{Path: "instructions.md", Data: []byte("# " + name + "\n\n" + text + "\n")},
		{Path: "skill.json", Data: fmt.Appendf(nil, `{"schema":"kortecx.skill/v1","name":%q,"version":%q,"description":"Sort the mail of %s","tags":["mail"],"tools":{"gmail/read":"1"}}`, name, version, name)},
	}
}

// skillMD makes a small pack of the skill-md format.
func skillMD(name, description, text string) []pack.File {
	return []pack.File{
		{Path: "SKILL.md", Data: fmt.Appendf(nil, "---\nname: %s\ndescription: %s\n---\n\n# %s\n\n%s\n", name, description, name, text)},
	}
}

func archiveOf(t testing.TB, top string, files []pack.File) []byte {
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

func big(n int) string { return strings.Repeat("x", n) }

// reliability says that the long sizes are asked for (make reliability).
func reliability() bool { return os.Getenv("KX_RELIABILITY") == "1" }
