package sqlstore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/storetest"
	"github.com/kortecx/kx/hubapi"
)

func codeOf(err error) hubapi.Code {
	if e := hubapi.AsError(err); e != nil {
		return e.Code
	}
	return ""
}

func putContent(s *Store, data []byte) (hub.Sum, error) {
	sum := hub.Sum(sha256.Sum256(data))
	return sum, s.Write(context.Background(), func(w hub.Writer) error { return w.PutContent(sum, data) })
}

func random(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.Read(data)
	return data
}

// R4: a full disk refuses what does not fit and nothing else, and writes go on
// when there is room again. The database's own limit stands for the disk's.
func TestFullDisk(t *testing.T) {
	s := opened(t, storetest.TempDir(t))
	limit := func(pages int) {
		t.Helper()
		if _, err := s.writer.session.conn.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
			t.Fatal(err)
		}
	}
	limit(400)
	var wg sync.WaitGroup
	var small, large atomic.Int64
	for i := range 64 {
		wg.Go(func() {
			size := 1000
			if i%4 == 0 {
				size = 3 << 20 // never fits
			}
			_, err := putContent(s, random(size))
			switch {
			case err == nil && size == 1000:
				small.Add(1)
			case err != nil && size > 1000 && codeOf(err) == hubapi.NoSpace:
				large.Add(1)
			default:
				t.Errorf("%d bytes: %v", size, err)
			}
		})
	}
	wg.Wait()
	if small.Load() != 48 || large.Load() != 16 {
		t.Errorf("%d small ones kept, %d large ones refused", small.Load(), large.Load())
	}
	kept := map[hub.Sum]int{}
	for {
		data := random(20_000)
		sum, err := putContent(s, data)
		if err != nil {
			if codeOf(err) != hubapi.NoSpace {
				t.Fatal(err)
			}
			break
		}
		kept[sum] = len(data)
	}
	limit(4000)
	if _, err := putContent(s, random(100_000)); err != nil {
		t.Errorf("after there is room again: %v", err)
	}
	if len(kept) == 0 {
		t.Fatal("nothing was kept")
	}
	for sum := range kept {
		if err := s.Read(t.Context(), func(r hub.Reader) error {
			data, err := r.Content(sum)
			if hub.Sum(sha256.Sum256(data)) != sum {
				t.Error("an acknowledged content is damaged")
			}
			return err
		}); err != nil {
			t.Error(err)
		}
	}
	checkIntegrity(t, s)
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("not ready: %v", err)
	}
}

func checkIntegrity(t *testing.T, s *Store) {
	t.Helper()
	for check, want := range map[string]string{"PRAGMA integrity_check": "ok", "SELECT count(*) FROM pragma_foreign_key_check": "0"} {
		var got string
		if err := s.writer.session.conn.QueryRowContext(t.Context(), check).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %q, %v", check, got, err)
		}
	}
}

// Waiting writes share transactions: else a disk's fsync is the limit of pushes.
func TestWaitingWritesAreCommittedTogether(t *testing.T) {
	s := opened(t, storetest.TempDir(t))
	inside, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = s.Write(context.Background(), func(hub.Writer) error {
			close(inside)
			<-leave
			return nil
		})
	})
	<-inside
	const writes = 200
	for i := range writes {
		wg.Go(func() {
			err := s.Write(context.Background(), func(w hub.Writer) error {
				return w.AddAudit(hub.AuditRow{Tenant: "local", Action: fmt.Sprint(i)})
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	for len(s.writer.jobs) < maxBatch { // the queue is full: the others wait at its door
		time.Sleep(time.Millisecond)
	}
	var before, after int64
	count := func(n *int64) {
		// The log grows by at least one frame of 4 KiB for each transaction.
		info, err := os.Stat(filepath.Join(filepath.Dir(databasePath(t, s)), databaseFile+"-wal"))
		if err != nil {
			t.Fatal(err)
		}
		*n = info.Size() / 4096
	}
	count(&before)
	close(leave)
	wg.Wait()
	count(&after)
	if frames := after - before; frames > writes/2 {
		t.Errorf("%d writes made %d frames: they are not committed together", writes, frames)
	}
}

func databasePath(t *testing.T, s *Store) (file string) {
	t.Helper()
	if err := s.writer.session.conn.QueryRowContext(t.Context(), "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&file); err != nil {
		t.Fatal(err)
	}
	return file
}

// I4: one bit of a stored content flips. The store gives what it has; the rules
// refuse it (see the hub's tests), and a content that is gone is said to be.
func TestDamageIsSeen(t *testing.T) {
	s := opened(t, storetest.TempDir(t))
	h := hub.New(s, hub.Config{Now: time.Now})
	local := hub.LocalAdmin()
	_, err := h.CatalogAdd(t.Context(), local, "", []byte(`{"schema":"kortecx.skill/v1","name":"a"}`), []byte("body"))
	if err != nil {
		t.Fatal(err)
	}
	show := func() error {
		_, err := h.CatalogForm(t.Context(), local, "a")
		return err
	}
	if err := show(); err != nil {
		t.Fatal(err)
	}
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := s.writer.session.conn.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("UPDATE contents SET data = ?", []byte("bodz"))
	if e := hubapi.AsError(show()); e == nil || e.Code != hubapi.Internal || e.ID() != "blob.corrupt" {
		t.Errorf("a flipped bit: %v", e)
	}
	exec("PRAGMA foreign_keys = OFF")
	exec("DELETE FROM contents")
	exec("PRAGMA foreign_keys = ON")
	if e := hubapi.AsError(show()); e == nil || e.Code != hubapi.Internal || e.ID() != "blob.corrupt" {
		t.Errorf("a content that is gone: %v", e)
	}
}

func TestADegradedStoreIsNotReady(t *testing.T) {
	s := opened(t, storetest.TempDir(t))
	err := errors.New("fsync failed")
	s.writer.degraded.Store(&err)
	if e := hubapi.AsError(s.Ready(t.Context())); e == nil || e.Code != hubapi.Unavailable {
		t.Errorf("ready: %v", e)
	}
}

// modernc.org/sqlite is only tested with the exact modernc.org/libc of its own
// go.mod; another module may raise it without a word.
func TestLibcIsTheOneThatSQLiteWasBuiltWith(t *testing.T) {
	goTool := func(args ...string) string {
		out, err := exec.Command("go", args...).Output()
		if err != nil {
			t.Fatalf("go %v: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	gomod, err := os.ReadFile(goTool("list", "-m", "-f", "{{.GoMod}}", "modernc.org/sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	_, want, _ := strings.Cut(string(gomod), "modernc.org/libc ")
	want, _, _ = strings.Cut(want, "\n")
	if got := goTool("list", "-m", "-f", "{{.Version}}", "modernc.org/libc"); got != want || want == "" {
		t.Errorf("modernc.org/libc is %s, modernc.org/sqlite wants %q", got, want)
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "modernc.org/libc" && (dep.Version != want || dep.Replace != nil) {
				t.Errorf("this binary has modernc.org/libc %s, want %s", dep.Version, want)
			}
		}
	}
}
