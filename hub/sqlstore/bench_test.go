package sqlstore

import (
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
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
