package sqlstore_test

import (
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hub/storetest"
	"github.com/kortecx/kx/internal/pgtest"
)

func openPostgres(t testing.TB, url string) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.OpenPostgres(t.Context(), url, sqlstore.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestPostgresStore(t *testing.T) {
	pgtest.URL(t) // skips once
	storetest.Run(t, func(t *testing.T) storetest.Opener {
		url := pgtest.URL(t)
		return func(t *testing.T) hub.Store { return openPostgres(t, url) }
	})
}
