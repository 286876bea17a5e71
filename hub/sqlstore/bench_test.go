package sqlstore

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/storetest"
	"github.com/kortecx/kx/hubapi"
)

// BenchmarkOpen is what a command pays that opens the hub in its own process.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		s, err := Open(b.Context(), dir, Options{Now: time.Now})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Read(b.Context(), func(r hub.Reader) error {
			_, err := r.Tenant(hub.LocalTenant)
			return err
		}); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	s, err := Open(b.Context(), b.TempDir(), Options{Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := s.Write(b.Context(), func(w hub.Writer) error {
				return w.AddAudit(hub.AuditRow{Tenant: hub.LocalTenant, Action: "publish"})
			}); err != nil {
				b.Error(err)
			}
		}
	})
}

// No statement on the way of a request walks through a whole table: what it costs
// would grow with the hub.
func TestStatementsUseTheirIndexes(t *testing.T) {
	s := opened(t, storetest.TempDir(t))
	publish(t, s, "triage", "one", true)
	h := hub.New(s, hub.Config{Now: time.Now})
	for _, call := range []func() error{
		func() error {
			_, err := h.Release(t.Context(), hub.LocalAdmin(), hubapi.Ref{Name: "triage"})
			return err
		},
		func() error {
			_, err := h.Archive(t.Context(), hub.LocalAdmin(), hubapi.Ref{Name: "triage", Version: "1"})
			return err
		},
		func() error {
			_, err := h.Search(t.Context(), hub.LocalAdmin(), hub.SearchQuery{Text: "mail"})
			return err
		},
		func() error {
			return s.Read(t.Context(), func(r hub.Reader) error {
				_, a := r.TenantReleases(hub.LocalTenant, hubapi.Active, 10)
				_, b := r.Releases(1, hubapi.Active, 10)
				_, c := r.ReleasesBehind(hub.LocalTenant, 1, 10)
				_, d := r.LogEntriesNamed(hub.LocalTenant, "triage", 0, 10)
				return errors.Join(a, b, c, d)
			})
		},
	} {
		if err := call(); err != nil {
			t.Fatal(err)
		}
	}
	sessions := []*session{s.writer.session}
	for range len(s.idle) {
		session := <-s.idle
		sessions = append(sessions, session)
		defer s.giveBack(session)
	}
	seen := 0
	for _, session := range sessions {
		for query := range session.stmts {
			if !strings.HasPrefix(query, "SELECT") {
				continue
			}
			seen++
			args := make([]any, strings.Count(query, "?"))
			steps, err := session.conn.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
			if err != nil {
				t.Fatal(err)
			}
			for steps.Next() {
				var id, parent, unused int
				var step string
				if err := steps.Scan(&id, &parent, &unused, &step); err != nil {
					t.Fatal(err)
				}
				// One part of a key that every row has is no key.
				if strings.HasPrefix(step, "SCAN ") && !strings.Contains(query, "FROM search_changes") || strings.HasSuffix(step, "(tenant=?)") && !strings.Contains(step, "log_trees") && !strings.Contains(step, "search_changes") {
					t.Errorf("%s\n\t%s", query, step)
				}
			}
			if err := errors.Join(steps.Err(), steps.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if seen < 8 {
		t.Errorf("only %d statements were seen", seen)
	}
}
