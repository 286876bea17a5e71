package sqlstore_test

import (
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hub/storetest"
)

func openStore(t testing.TB, dir string) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), dir, sqlstore.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Opener {
		dir := storetest.TempDir(t)
		return func(t *testing.T) hub.Store { return openStore(t, dir) }
	})
}
