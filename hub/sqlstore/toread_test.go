package sqlstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

// traces are the files in dir with their times and contents.
func traces(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s %x\n", e.Name(), info.ModTime(), data)
	}
	return b.String()
}

func TestReadingLeavesNoTrace(t *testing.T) {
	for name, prepare := range map[string]func(dir string){
		"no folder": func(dir string) { _ = os.Remove(dir) },
		"no hub":    func(string) {},
		"a hub":     func(dir string) { _ = opened(t, dir).Close() },
		"a hub without its lock": func(dir string) {
			_ = opened(t, dir).Close()
			_ = os.Remove(filepath.Join(dir, lockFile))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "hub")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			prepare(dir)
			before := traces(t, dir)
			s, err := OpenToRead(t.Context(), dir, Options{Now: time.Now})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			h := hub.New(s, hub.Config{Now: time.Now})
			if _, err := h.Installable(t.Context(), hub.LocalAdmin(), hubapi.InstallableQuery{}); err != nil {
				t.Error(err)
			}
			if during := traces(t, dir); during != before {
				t.Errorf("while it is read:\n%s", during)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if after := traces(t, dir); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

// A store of which another process has the lock, or that could be read only by changing
// it, is refused, and stays as it is.
func TestReadingRefusesWhatItWouldChange(t *testing.T) {
	dir := t.TempDir()
	open := opened(t, dir)
	if _, err := OpenToRead(t.Context(), dir, Options{Now: time.Now}); !isLocked(err) {
		t.Errorf("of an open store: %v", err)
	}
	_ = open.Close()

	wal := filepath.Join(dir, databaseFile+"-wal")
	if err := os.WriteFile(wal, []byte("of a process that was killed"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := traces(t, dir)
	if _, err := OpenToRead(t.Context(), dir, Options{Now: time.Now}); err == nil || !strings.Contains(err.Error(), "not closed as it should") {
		t.Errorf("with a journal: %v", err)
	}
	if after := traces(t, dir); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if err := os.Remove(wal); err != nil {
		t.Fatal(err)
	}

	db := raw(t, dir)
	if _, err := db.Exec("DELETE FROM migrations WHERE number = ?", schema(t)); err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
	if _, err := OpenToRead(t.Context(), dir, Options{Now: time.Now}); err == nil || !strings.Contains(err.Error(), "an older kx wrote") {
		t.Errorf("of an older schema: %v", err)
	}
}

func isLocked(err error) bool {
	_, locked := errors.AsType[*LockedError](err)
	return locked
}
