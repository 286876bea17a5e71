package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/storetest"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/timetest"
)

func opened(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir, Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// raw opens the database of a closed store as anybody could.
func raw(t *testing.T, dir string) *sql.DB {
	t.Helper()
	db, err := openDatabase(filepath.Join(dir, databaseFile))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func pragma(t *testing.T, c *sql.Conn, name string) (value string) {
	t.Helper()
	if err := c.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// schema is the number of the last migration.
func schema(t *testing.T) int {
	t.Helper()
	steps, err := sqliteDialect.migrations()
	if err != nil {
		t.Fatal(err)
	}
	return len(steps)
}

func TestEveryConnectionIsSafe(t *testing.T) {
	s := opened(t, storetest.TempDir(t))
	reader, err := s.reader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.idle <- reader }()
	for _, c := range []*sql.Conn{s.writer.session.conn, reader.conn} {
		for name, want := range map[string]string{
			"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "trusted_schema": "0",
			"busy_timeout": "10000", "cell_size_check": "1", "application_id": "1803053173", "user_version": fmt.Sprint(schema(t)),
		} {
			if got := pragma(t, c, name); got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
	}
}

func TestFilesAreTheUsersOwn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes mean nothing here")
	}
	dir := filepath.Join(storetest.TempDir(t), "hub #1 100%?")
	s := opened(t, dir)
	if err := s.Write(t.Context(), func(w hub.Writer) error { return w.PutTenant(hub.TenantRow{ID: "x"}) }); err != nil {
		t.Fatal(err)
	}
	names := []string{".", "hub.db", "hub.lock", "hub.db-wal", "hub.db-shm"}
	for _, name := range names {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != len(names)-1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// I7: one process, and the second is told which.
func TestASecondOpenerIsRefused(t *testing.T) {
	dir := storetest.TempDir(t)
	s := opened(t, dir)
	_, err := Open(t.Context(), dir, Options{Now: time.Now})
	locked, ok := errors.AsType[*LockedError](err)
	if !ok || locked.PID != os.Getpid() || locked.Server != nil {
		t.Fatalf("%v (%+v)", err, locked)
	}
	if e := hubapi.AsError(err); e.Code != hubapi.Unavailable || !strings.Contains(e.Message, "process ") {
		t.Errorf("%+v", e)
	}

	// A leftover of another server is not taken for the holder.
	stale := hubapi.ServerFile{Address: "http://127.0.0.1:1", PID: os.Getpid() + 1, Key: "k"}
	if err := hubapi.WriteServerFile(dir, stale); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), dir, Options{Now: time.Now})
	if locked, _ := errors.AsType[*LockedError](err); locked == nil || locked.Server != nil {
		t.Errorf("a stale server.json: %v", err)
	}

	// A server is not waited for.
	mine := hubapi.ServerFile{Address: "http://127.0.0.1:50151", PID: os.Getpid(), Key: "k"}
	if err := hubapi.WriteServerFile(dir, mine); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	_, err = Open(t.Context(), dir, Options{Now: time.Now, Wait: time.Minute})
	locked, _ = errors.AsType[*LockedError](err)
	if locked == nil || locked.Server == nil || locked.Server.Key != "k" || time.Since(begun) > timetest.Limit(10*time.Second) {
		t.Errorf("a server: %v after %v", err, time.Since(begun))
	}
	if err := hubapi.RemoveServerFile(dir, mine); err != nil {
		t.Fatal(err)
	}

	// A short command is.
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		time.Sleep(50 * time.Millisecond)
		cancel()
	})
	if _, err := Open(ctx, dir, Options{Now: time.Now, Wait: time.Minute}); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that was given up: %v", err)
	}
	wg.Go(func() {
		time.Sleep(50 * time.Millisecond)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	next, err := Open(t.Context(), dir, Options{Now: time.Now, Wait: time.Minute})
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
}

func TestAForeignDatabaseIsRefusedUntouched(t *testing.T) {
	other := filepath.Join(t.TempDir(), "registry.db")
	db, err := sql.Open("sqlite", other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE skills (name TEXT)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	foreign, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"another program's": foreign,
		"a text":            []byte("hello"),
		"a long text":       bytes.Repeat([]byte("hello\n"), 1000),
	} {
		dir := storetest.TempDir(t)
		file := filepath.Join(dir, databaseFile)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), dir, Options{Now: time.Now})
		if e := hubapi.AsError(err); e == nil || e.Code != hubapi.Precondition || !strings.Contains(e.Message, "not a hub's database") {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, data) {
			t.Errorf("%s was changed (%v)", name, err)
		}
		// The lock was given up again.
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		opened(t, dir)
	}
}

// A database that lost all its bytes once passed for a new hub.
func TestFileWithoutBytesIsDamagedAndNotNew(t *testing.T) {
	for name, open := range map[string]func(dir string) error{
		"opened": func(dir string) error {
			_, err := Open(t.Context(), dir, Options{Now: time.Now})
			return err
		},
		"read": func(dir string) error {
			_, err := OpenToRead(t.Context(), dir, Options{Now: time.Now})
			return err
		},
		"checked": func(dir string) error {
			_, err := Fsck(t.Context(), Place{Dir: dir})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := storetest.TempDir(t)
			if err := opened(t, dir).Close(); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, databaseFile)
			if err := os.Truncate(file, 0); err != nil {
				t.Fatal(err)
			}
			e := hubapi.AsError(open(dir))
			if e == nil || e.Code != hubapi.Precondition || !strings.Contains(e.Message, file+" is damaged: it has no bytes") || !strings.Contains(e.Hint, "backup") {
				t.Errorf("%+v", e)
			}
			if info, err := os.Stat(file); err != nil || info.Size() != 0 {
				t.Errorf("it was changed: %v, %v", info, err)
			}
		})
	}
}

// What a new hub begins with is a whole database, so that a process that is killed
// before its first statement leaves a hub that can be used, and read.
func TestHubThatWasJustBegun(t *testing.T) {
	dir := storetest.TempDir(t)
	if err := os.WriteFile(filepath.Join(dir, databaseFile), blankDatabase(), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := OpenToRead(t.Context(), dir, Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db := raw(t, dir)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"integrity_check": "ok", "application_id": "1803053173", "page_count": "1", "page_size": "4096", "encoding": "UTF-8", "freelist_count": "0",
	} {
		if got := pragma(t, conn, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if err := errors.Join(conn.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	s = opened(t, dir)
	if err := s.Write(t.Context(), func(w hub.Writer) error { return w.PutTenant(hub.TenantRow{ID: "x"}) }); err != nil {
		t.Fatal(err)
	}
	if report, err := Fsck(t.Context(), Place{Dir: dir}); err != nil || len(report.Faults) > 0 {
		t.Errorf("%v, %v", report, err)
	}
}

func TestHistoryIsNotRewritten(t *testing.T) {
	for name, tt := range map[string]struct{ change, want string }{
		"a newer schema":   {fmt.Sprintf("INSERT INTO migrations VALUES (%d, 'more', 'x', 0)", schema(t)+1), "newer"},
		"an edited step":   {"UPDATE migrations SET sha256 = 'x'", "does not have"},
		"a renumbered one": {"UPDATE migrations SET number = number + 100", "newer"},
	} {
		dir := storetest.TempDir(t)
		if err := opened(t, dir).Close(); err != nil {
			t.Fatal(err)
		}
		db := raw(t, dir)
		if _, err := db.Exec(tt.change); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), dir, Options{Now: time.Now})
		if e := hubapi.AsError(err); e == nil || e.Code != hubapi.Precondition || !strings.Contains(e.Message, tt.want) || e.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMigrationsRunOnceAndInOrder(t *testing.T) {
	db := raw(t, storetest.TempDir(t))
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	step := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	files := fstest.MapFS{
		"migrations/0001_one.sqlite.sql":   step("CREATE TABLE a (x);\nINSERT INTO a VALUES (1);"),
		"migrations/0001_one.postgres.sql": step("not for us"),
	}
	run := func() error {
		steps, err := readMigrations(files, sqliteDialect)
		if err != nil {
			return err
		}
		return sqliteDialect.migrate(t.Context(), conn, steps, time.Now)
	}
	for range 2 {
		if err := run(); err != nil {
			t.Fatal(err)
		}
	}
	files["migrations/0002_two.sqlite.sql"] = step("INSERT INTO a VALUES (2);\nINSERT INTO absent VALUES (1);")
	if err := run(); err == nil || !strings.Contains(err.Error(), "0002_two") {
		t.Errorf("a step that fails: %v", err)
	}
	count := func() (n int) {
		if err := conn.QueryRowContext(t.Context(), "SELECT count(*) FROM a").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if count() != 1 {
		t.Errorf("%d rows after a step that failed, want 1", count())
	}
	files["migrations/0002_two.sqlite.sql"] = step("INSERT INTO a VALUES (2);\r\n")
	if err := run(); err != nil || count() != 2 {
		t.Errorf("%d rows, %v", count(), err)
	}
	files["migrations/0002_two.sqlite.sql"] = step("INSERT INTO a VALUES (2);\n") // another checkout
	if err := run(); err != nil || count() != 2 {
		t.Errorf("%d rows, %v", count(), err)
	}
	delete(files, "migrations/0001_one.sqlite.sql")
	if err := run(); err == nil {
		t.Error("a gap in the numbers was accepted")
	}
}

// Whoever moved a damaged database away and left its journal would get the old hub's
// pages in the new one.
func TestAJournalWithoutItsDatabaseIsRefused(t *testing.T) {
	for _, journal := range []string{"-wal", "-journal"} {
		dir := t.TempDir()
		left := filepath.Join(dir, databaseFile+journal)
		if err := os.WriteFile(left, []byte("of another database"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), dir, Options{Now: time.Now})
		if e, _ := errors.AsType[*hubapi.Error](err); e == nil || e.Code != hubapi.Precondition || !strings.Contains(e.Message, databaseFile+journal) {
			t.Errorf("%s: %v", journal, err)
		}
		if _, err := os.Stat(filepath.Join(dir, databaseFile)); err == nil {
			t.Errorf("%s: a database was made", journal)
		}
		if err := os.Remove(left); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), dir, Options{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A connection kept a statement for every number of releases that it was ever asked for.
func TestVectorsOfAnyNumberOfReleasesAreFewStatements(t *testing.T) {
	s := opened(t, t.TempDir())
	reader, err := s.reader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.giveBack(reader)
	before := len(reader.stmts)
	var releases []int64
	for i := range int64(300) {
		releases = append(releases, i)
		if err := (&tx{session: reader}).Embeddings("m", releases, nil); err != nil {
			t.Fatal(err)
		}
	}
	if more := len(reader.stmts) - before; more > 10 {
		t.Errorf("%d statements", more)
	}
}
