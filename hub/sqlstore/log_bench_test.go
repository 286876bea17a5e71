package sqlstore

import (
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
)

// BenchmarkAppendLog is what an entry adds to a transaction, without its commit.
func BenchmarkAppendLog(b *testing.B) {
	s, err := Open(b.Context(), b.TempDir(), Options{Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	row := hub.LogRow{Entry: make([]byte, 250), Op: "submit", Name: "triage", Nonce: make([]byte, 32), Principal: "local-dev"}
	err = s.Write(b.Context(), func(w hub.Writer) error {
		for b.Loop() {
			if _, err := w.AppendLog(hub.LocalTenant, row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
