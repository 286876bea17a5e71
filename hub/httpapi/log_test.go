package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/translog"
)

func (s *running) logState(header ...string) hubapi.Log {
	s.t.Helper()
	var out hubapi.Log
	a := s.get("/api/v1/log", header...)
	if err := json.Unmarshal(a.body, &out); err != nil || a.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s", a.Status, a.body)
	}
	return out
}

// httpTiles reads tiles as any client of such logs does.
type httpTiles struct {
	s      *running
	c2sp   bool
	served int
}

func (h *httpTiles) Height() int                     { return 8 }
func (h *httpTiles) SaveTiles([]tlog.Tile, [][]byte) {}
func (h *httpTiles) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var out [][]byte
	for _, t := range tiles {
		path := t.Path()
		if h.c2sp {
			path = strings.Replace(path, "tile/8/", "tile/", 1)
		}
		a := h.s.get("/" + path)
		if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != "application/octet-stream" {
			return nil, fmt.Errorf("%s: %s %s", path, a.Status, a.body)
		}
		h.served++
		out = append(out, a.body)
	}
	return out, nil
}

// The Go checksum database's own code reads our log: its notes, its tiles in both
// spellings, and what it proves with them agrees with what we prove.
func TestTheLibrarysClientReadsOurLog(t *testing.T) {
	s := start(t, httpapi.DevLocal())
	seed(t, s, 150) // 300 entries: more than one tile
	state := s.logState()
	if state.Size != 300 || state.Origin != "local/local" || state.Public {
		t.Fatalf("%+v", state)
	}
	verifier, err := note.NewVerifier(state.VKey)
	if err != nil {
		t.Fatal(err)
	}
	a := s.get("/checkpoint")
	if a.Header.Get("Content-Type") != "text/plain; charset=utf-8" || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("checkpoint headers %v", a.Header)
	}
	n, err := note.Open(a.body, note.VerifierList(verifier))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("local/local\n300\n%s\n", state.Root); n.Text != want {
		t.Errorf("checkpoint %q, want %q", n.Text, want)
	}
	root, err := tlog.ParseHash(state.Root)
	if err != nil {
		t.Fatal(err)
	}
	first := s.get("/tile/entries/000")
	if got := first.Header.Get("Cache-Control"); !strings.Contains(got, "immutable") || !strings.Contains(got, "private") {
		t.Errorf("a full tile may be kept: %q", got)
	}
	rest := s.get("/tile/entries/001.p/44")
	if got := rest.Header.Get("Cache-Control"); strings.Contains(got, "immutable") {
		t.Errorf("a partial tile: %q", got)
	}
	one, err := translog.DecodeBundle(first.body, 256)
	if err != nil {
		t.Fatal(err)
	}
	two, err := translog.DecodeBundle(rest.body, 44)
	if err != nil {
		t.Fatal(err)
	}
	entries := append(one, two...)
	for _, c2sp := range []bool{false, true} {
		tiles := &httpTiles{s: s, c2sp: c2sp}
		reader := tlog.TileHashReader(tlog.Tree{N: 300, Hash: root}, tiles)
		for _, index := range []int64{0, 1, 255, 256, 299} {
			theirs, err := tlog.ProveRecord(300, index, reader)
			if err != nil {
				t.Fatal(err)
			}
			if err := tlog.CheckRecord(theirs, 300, root, index, tlog.RecordHash(entries[index])); err != nil {
				t.Errorf("entry %d: %v", index, err)
			}
			var ours hubapi.LogProof
			a := s.get(fmt.Sprintf("/api/v1/log/proof?index=%d&size=300", index))
			if err := json.Unmarshal(a.body, &ours); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(texts(theirs), ours.Hashes); diff != "" {
				t.Errorf("entry %d: %s", index, diff)
			}
		}
		for _, from := range []int64{1, 2, 255, 256, 257, 299, 300} {
			theirs, err := tlog.ProveTree(300, from, reader)
			if err != nil {
				t.Fatal(err)
			}
			var ours hubapi.LogProof
			a := s.get(fmt.Sprintf("/api/v1/log/proof?from=%d", from))
			if err := json.Unmarshal(a.body, &ours); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(texts(theirs), ours.Hashes); diff != "" || ours.Size != 300 || *ours.From != from {
				t.Errorf("from %d: %s", from, diff)
			}
		}
		if tiles.served == 0 {
			t.Error("no tile was asked for")
		}
	}
}

func texts[T ~[]tlog.Hash](hashes T) []string {
	out := []string{}
	for _, h := range hashes {
		out = append(out, h.String())
	}
	return out
}

func TestLogRequestsThatAreRefused(t *testing.T) {
	s := start(t, httpapi.DevLocal())
	seed(t, s, 2)
	for path, want := range map[string]int{
		"/tile/entries/000":                         404, // not full yet
		"/tile/entries/000.p/5":                     404,
		"/tile/entries/000.p/4":                     200,
		"/tile/8/0/000.p/4":                         200,
		"/tile/0/000.p/3":                           200,
		"/tile/1/000.p/1":                           404,
		"/tile/8/data/000.p/1":                      404,
		"/tile/0/000.p/04":                          404,
		"/tile/0/x999/x999/x999/x999/x999/x999/999": 404,
		"/tile/":                                      404,
		"/tile/0/000.p/1?x=1":                         400,
		"/tile/0/..%2f000":                            400,
		"/checkpoint?tenant=team":                     400,
		"/api/v1/log/proof":                           400,
		"/api/v1/log/proof?index=0&from=1":            400,
		"/api/v1/log/proof?index=4":                   404,
		"/api/v1/log/proof?index=0&size=5":            404,
		"/api/v1/log/proof?index=-1":                  400,
		"/api/v1/log/proof?index=x":                   400,
		"/api/v1/log/proof?index=9223372036854775807": 400,
		"/api/v1/log/proof?from=5":                    404,
		"/api/v1/log/proof?from=0":                    200,
		"/api/v1/log/proof?from=4":                    200,
		"/api/v1/log/entries?name=a/b/c/d":            400,
		"/api/v1/log/entries?first=x":                 400,
		"/api/v1/log/entries?first=100":               200,
		"/api/v1/log/entries?limit=-1":                400,
		"/api/v1/log/releases?after=x":                400,
		"/api/v1/log/releases?after=1&limit=1":        200,
	} {
		if a := s.get(path); a.StatusCode != want {
			t.Errorf("%s: %s %s, want %d", path, a.Status, a.body, want)
		}
	}
	for _, path := range []string{"/checkpoint", "/tile/0/000.p/1", "/api/v1/log", "/api/v1/log/proof"} {
		if a := s.request(http.MethodPost, path, nil); a.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %s", path, a.Status)
		}
	}
}

// keyed lets one key in, as a node of the tenant "team".
type keyed struct{}

func (keyed) Authenticate(r *http.Request) (hub.Principal, error) {
	key, err := httpapi.Credential(r)
	if err != nil {
		return hub.Principal{}, err
	}
	if key != "good" {
		return hub.Principal{}, hubapi.Errorf(hubapi.Unauthorized, "the key is not known to this hub")
	}
	return hub.Principal{ID: "n", Tenant: "team", Role: hub.Node}, nil
}

// The log of a tenant is for its own; that of the local tenant is for everybody once
// it is public. A wrong key is never nobody's.
func TestWhoReadsTheLogOverHTTP(t *testing.T) {
	s := start(t, keyed{})
	put := func(row hub.TenantRow) {
		t.Helper()
		if err := s.store.Write(context.Background(), func(w hub.Writer) error { return w.PutTenant(row) }); err != nil {
			t.Fatal(err)
		}
	}
	put(hub.TenantRow{ID: "team", PublicLog: true})
	paths := []string{"/checkpoint", "/api/v1/log", "/api/v1/log/entries", "/api/v1/log/releases", "/api/v1/log/proof?from=0"}
	for _, path := range paths {
		for _, header := range [][]string{nil, {"Authorization", "Bearer bad"}, {"X-Api-Key", "bad"}} {
			if a := s.get(path, header...); a.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s with %v: %s", path, header, a.Status)
			}
		}
		if a := s.get(path, "Authorization", "Bearer good"); a.StatusCode != http.StatusOK {
			t.Errorf("%s with a key: %s %s", path, a.Status, a.body)
		}
	}
	if state := s.logState("X-Api-Key", "good"); state.Origin != "local/team" || !state.Public {
		t.Errorf("a key reads %+v", state)
	}
	put(hub.TenantRow{ID: hub.LocalTenant, SelfApprove: true, PublicLog: true})
	for _, path := range paths {
		if a := s.get(path); a.StatusCode != http.StatusOK {
			t.Errorf("public %s: %s %s", path, a.Status, a.body)
		}
		if a := s.get(path, "Authorization", "Bearer bad"); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("public %s with a wrong key: %s", path, a.Status)
		}
	}
	if state := s.logState(); state.Origin != "local/local" {
		t.Errorf("nobody reads %+v", state)
	}
}

// G19: a hub whose index says something else than its log is found out, by who
// audits it and by who fetches a release.
func TestAnIndexThatLies(t *testing.T) {
	dir := t.TempDir()
	s := startIn(t, httpapi.DevLocal(), dir)
	seed(t, s, 3)
	client := func() *hubclient.Client {
		c, err := hubclient.New(hubclient.Config{Endpoint: s.url, Transport: s.wire, Memory: &hubclient.LogMemory{Dir: filepath.Join(t.TempDir(), "log")}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	audit, err := client().AuditLog(t.Context(), time.Now())
	if err != nil || !audit.OK || audit.Size != 6 || audit.Releases != 3 || len(audit.Findings) != 0 {
		t.Fatalf("%+v, %v", audit, err)
	}
	lie := func(name string, change func(w hub.Writer, row hub.ReleaseRow) error) {
		t.Helper()
		err := s.store.Write(t.Context(), func(w hub.Writer) error {
			skill, err := w.Skill(hub.LocalTenant, name)
			if err != nil {
				return err
			}
			row, err := w.Release(skill.ID, "1")
			if err != nil {
				return err
			}
			return change(w, row)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// A release that the log never saw, and one that was taken away in silence.
	lie("pack-1", func(w hub.Writer, row hub.ReleaseRow) error {
		if _, err := w.Move(row.Seq, hubapi.Active, hubapi.Deprecated, time.Now(), "x"); err != nil {
			return err
		}
		row.Version, row.Digest = "2", "sp1:"+strings.Repeat("0", 64)
		_, err := w.AddRelease(row)
		return err
	})
	lie("pack-2", func(w hub.Writer, row hub.ReleaseRow) error {
		_, err := w.Move(row.Seq, hubapi.Active, hubapi.Quarantined, time.Now(), "x")
		return err
	})
	audit, err = client().AuditLog(t.Context(), time.Now())
	if err != nil || audit.OK {
		t.Fatalf("%+v, %v", audit, err)
	}
	var got []string
	for _, f := range audit.Findings {
		got = append(got, f.ID+" "+f.Text)
	}
	want := []string{
		"log.missing local/pack-1@2 is in the hub's index, but not in its log",
		"log.mismatch the log says that local/pack-1@1 is active, the hub's index does not",
		"log.mismatch the log says that local/pack-2@1 is active, the hub's index does not",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	c := client()
	release, err := c.Release(t.Context(), hubapi.Ref{Name: "pack-1"})
	if err != nil {
		t.Fatal(err)
	}
	view, err := c.OpenLog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := view.ProveRelease(t.Context(), release); hubapi.AsError(err).ID() != translog.IDMissing {
		t.Errorf("a release that was not logged: %v", err)
	}
	release, err = c.Release(t.Context(), hubapi.Ref{Name: "pack-3"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := view.ProveRelease(t.Context(), release); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(*hubapi.Release){
		"digest": func(r *hubapi.Release) { r.Digest = "sp1:" + strings.Repeat("0", 64) },
		"name":   func(r *hubapi.Release) { r.Name = "pack-2" },
		"author": func(r *hubapi.Release) { r.Author = "acme" },
		"index":  func(r *hubapi.Release) { *r.LogIndex-- },
	} {
		changed := release
		index := *release.LogIndex
		changed.LogIndex = &index
		change(&changed)
		if _, err := view.ProveRelease(t.Context(), changed); hubapi.AsError(err).ID() != translog.IDMismatch {
			t.Errorf("another %s: %v", what, err)
		}
	}
	beyond := int64(1000)
	release.LogIndex = &beyond
	if _, err := view.ProveRelease(t.Context(), release); hubapi.AsError(err).ID() != translog.IDMissing {
		t.Errorf("an index that is not there: %v", err)
	}
}

// Readers of the log see whole states while it grows.
func TestTheLogWhileItGrows(t *testing.T) {
	s := start(t, httpapi.DevLocal())
	done := make(chan struct{})
	go func() {
		defer close(done)
		seed(t, s, 60)
	}()
	c, err := hubclient.New(hubclient.Config{Endpoint: s.url, Transport: s.wire, Memory: &hubclient.LogMemory{Dir: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if _, err := c.OpenLog(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	audit, err := c.AuditLog(t.Context(), time.Now())
	if err != nil || !audit.OK || audit.Size != 120 {
		t.Errorf("%+v, %v", audit, err)
	}
}
