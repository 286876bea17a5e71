package storetest

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync"
	"testing"
)

// Watch sees whether a store changes while a request is refused, so that every refusal
// of every test is asked for it.
type Watch struct {
	t       testing.TB
	conn    *sql.Conn
	mu      sync.Mutex
	begun   int // requests so far
	running int // requests that are not answered yet
}

// NewWatch watches the SQLite store in dir.
func NewWatch(t testing.TB, dir string) *Watch {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "hub.db"))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); _ = db.Close() })
	return &Watch{t: t, conn: conn}
}

// version is another number after every commit.
func (w *Watch) version() (n int64) {
	w.t.Helper()
	if err := w.conn.QueryRowContext(context.Background(), "PRAGMA data_version").Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// Request is called before a request is sent. What it gives is called with whether it was
// refused, and fails the test for a refusal that changed the store, if no other request
// ran beside it.
func (w *Watch) Request(what string) func(refused bool) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun++
	mine, before, alone := w.begun, w.version(), w.running == 0
	w.running++
	return func(refused bool) {
		w.t.Helper()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.running--
		if refused && alone && w.begun == mine && w.version() != before {
			w.t.Errorf("%s was refused, and the store changed", what)
		}
	}
}
