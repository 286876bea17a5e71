package deliver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
)

// rig is one machine with targets, and a hub that answers what the test says.
type rig struct {
	t        fatal
	base     string
	dir      string // the only target, unless a test makes more
	hub      *stubHub
	now      time.Time
	logged   []string
	openRoot func(dir string, perm os.FileMode) (fsx.Root, error)
}

// stubHub speaks HTTP through the real client.
type stubHub struct {
	rows       []map[string]any
	body       string // in place of the rows
	status     int
	kind       string
	generation int64 // 0: not told
	etag       string
	asked      []http.Header
	bodies     []string
}

func (h *stubHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.asked = append(h.asked, r.Header.Clone())
	body := new(strings.Builder)
	if r.Body != nil {
		data := make([]byte, 1<<16)
		n, _ := r.Body.Read(data)
		body.Write(data[:n])
	}
	h.bodies = append(h.bodies, r.URL.Path+" "+body.String())
	if h.kind == "" {
		h.kind = "application/json"
	}
	w.Header().Set("Content-Type", h.kind)
	text := []byte(h.body)
	if h.body == "" && h.status == 0 {
		var err error
		if text, err = json.Marshal(append([]map[string]any{}, h.rows...)); err != nil {
			panic(err)
		}
	}
	if h.generation > 0 {
		w.Header().Set(hubapi.HeaderGeneration, fmt.Sprint(h.generation))
		w.Header().Set(hubapi.HeaderTotal, fmt.Sprint(len(h.rows)))
	}
	if h.etag != "" {
		w.Header().Set("ETag", h.etag)
		if r.Header.Get("If-None-Match") == h.etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if h.status != 0 {
		w.WriteHeader(h.status)
	}
	_, _ = w.Write(text)
}

// inProcess calls the handler without a socket.
type inProcess struct{ handler http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	p.handler.ServeHTTP(rec, r)
	return rec.Result(), nil
}

func newRig(t testing.TB) *rig { return rigIn(t, t.TempDir()) }

func rigIn(t fatal, base string) *rig {
	g := &rig{t: t, base: base, dir: filepath.Join(base, "agent", "skills"), hub: &stubHub{}, now: time.Now()}
	must(t, os.MkdirAll(g.dir, 0o755))
	return g
}

func row(slug, content string, more ...any) map[string]any {
	data := map[string]any{"name": slug, "slug": slug, "description": "does " + slug, "content": content}
	for i := 0; i+1 < len(more); i += 2 {
		if more[i+1] == nil {
			delete(data, more[i].(string))
			continue
		}
		data[more[i].(string)] = more[i+1]
	}
	return map[string]any{"id": "id-" + slug, "tenant_id": "t1", "fleet_id": nil, "collection": "skills", "doc_id": slug, "data": data}
}

// asText is what row becomes on disk.
func asText(slug, content string) string {
	return "---\nname: " + slug + "\ndescription: \"does " + slug + "\"\n---\n\n" + content
}

func (g *rig) reconciler(change ...func(*Reconciler)) *Reconciler {
	client, err := hubclient.New(hubclient.Config{Endpoint: "http://hub.test", Token: "k", Transport: inProcess{g.hub}})
	must(g.t, err)
	r := &Reconciler{
		Hub: client, Origin: "http://hub.test", Owner: "kx-test", State: filepath.Join(g.base, "state"),
		Now: func() time.Time { return g.now }, OpenClaw: filepath.Join(g.base, ".openclaw", "openclaw.json"),
		Log:  func(what, where, why string) { g.logged = append(g.logged, what+" "+where+" "+why) },
		Open: g.openRoot,
		Fetch: func(context.Context, hubapi.Ref, bool) (*pack.Pack, []byte, error) {
			return nil, nil, hubapi.Errorf(hubapi.NotFound, "no releases here")
		},
	}
	for _, c := range change {
		c(r)
	}
	return r
}

func (g *rig) targets(mode SyncMode) []SyncTarget { return []SyncTarget{{Dir: g.dir, Mode: mode}} }

// sync runs once over one target.
func (g *rig) sync(mode SyncMode, change ...func(*Reconciler)) hubapi.ReconcileSummary {
	g.t.Helper()
	s, err := g.reconciler(change...).Run(context.Background(), g.targets(mode), nil)
	must(g.t, err)
	return s
}

func (g *rig) put(name, data string) { put(g.t, g.dir, name, data) }

func (g *rig) read(name string) string {
	data, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		return "(" + err.Error()[strings.LastIndex(err.Error(), ": ")+2:] + ")"
	}
	return string(data)
}

// folders are the visible names in the target.
func (g *rig) folders() []string {
	entries, err := os.ReadDir(g.dir)
	must(g.t, err)
	out := []string{}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			out = append(out, e.Name())
		}
	}
	return out
}

func confirm(r *Reconciler) { r.ConfirmRemovals = true }
func claim(r *Reconciler)   { r.Claim = true }

// lists shows a summary without what depends on the machine.
func lists(s hubapi.ReconcileSummary) string {
	var b strings.Builder
	for _, l := range []struct {
		name string
		list []string
	}{
		{"installed", s.Installed},
		{"added", s.Added},
		{"removed", s.Removed},
		{"skipped", s.Skipped},
		{"collisions", s.Collisions},
		{"protected", s.Protected},
	} {
		if len(l.list) > 0 {
			fmt.Fprintf(&b, "%s %s; ", l.name, strings.Join(l.list, " "))
		}
	}
	for _, l := range []struct {
		name  string
		notes []hubapi.ReconcileNote
	}{{"kept", s.Kx.Kept}, {"failed", s.Kx.Failed}, {"held", s.Kx.Held}} {
		var slugs []string
		for _, n := range l.notes {
			slugs = append(slugs, n.Slug)
		}
		if len(slugs) > 0 {
			fmt.Fprintf(&b, "%s %s; ", l.name, strings.Join(slices.Compact(slugs), " "))
		}
	}
	return b.String() + string(s.Kx.Status)
}

func mustOpen(t testing.TB, dir string) fsx.Root {
	t.Helper()
	root, err := fsx.Open(dir)
	must(t, err)
	t.Cleanup(func() { _ = root.Close() })
	return root
}

func mustJSON(t fatal, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	must(t, err)
	return data
}
