package sqlstore

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kortecx/kx/hubapi"
)

// kazmaRegistry makes a registry as the original Kazma does.
func kazmaRegistry(t *testing.T, statements ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "registry.db")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range append([]string{
		`PRAGMA journal_mode=WAL`,
		`CREATE TABLE skills (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, author TEXT NOT NULL, version TEXT NOT NULL, description TEXT, license TEXT, capabilities TEXT, tags TEXT, manifest_json TEXT, checksum TEXT, installed_path TEXT, created_at TEXT DEFAULT CURRENT_TIMESTAMP, UNIQUE(name, author, version))`,
		`CREATE TABLE skill_dependencies (skill_id INTEGER, dep_name TEXT NOT NULL, dep_version TEXT, is_optional INTEGER DEFAULT 0)`,
		`CREATE TABLE badges (skill_id TEXT PRIMARY KEY, level TEXT)`,
	}, statements...) {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

func TestReadKazmaRegistry(t *testing.T) {
	file := kazmaRegistry(
		t,
		`INSERT INTO skills (name, author, version, installed_path) VALUES ('alpha', 'bob', '1.0.0', '/skills/alpha'), ('beta', 'bob', '1.0.0', NULL)`,
		`INSERT INTO skills (name, author, version) VALUES (x'00ff', 'blob', '1')`,
		`INSERT INTO skills (name, author, version) VALUES (printf('%5000s', 'x'), 'long', '1')`,
	)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if kind, err := KindOf(file); kind != KazmaRegistry || err != nil {
		t.Fatalf("kind %d, %v", kind, err)
	}
	rows, err := ReadKazmaRegistry(t.Context(), file)
	if err != nil || len(rows) != 2 || rows[0] != (KazmaRow{"bob", "alpha", "1.0.0", "/skills/alpha"}) || rows[1].InstalledPath != "" {
		t.Errorf("%+v, %v", rows, err)
	}
	after, err := os.ReadFile(file)
	if err != nil || string(before) != string(after) {
		t.Errorf("the registry was changed (%v)", err)
	}
	if beside, err := filepath.Glob(file + "*"); err != nil || len(beside) != 1 {
		t.Errorf("beside the registry: %v, %v", beside, err)
	}
	if err := os.WriteFile(file+"-wal", []byte("unfinished"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKazmaRegistry(t.Context(), file); hubapi.AsError(err).Code != hubapi.Precondition {
		t.Errorf("a registry that somebody has open: %v", err)
	}
}

func TestKindOf(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), filepath.Join(dir, "hub"), Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	registry, err := os.ReadFile(kazmaRegistry(t))
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]Kind{
		filepath.Join(dir, "hub", FileName):                             HubDatabase,
		write("empty", ""):                                              OtherFile,
		write("text", "hello"):                                          OtherFile,
		write("cut", string(registry[:200])):                            OtherFile,
		write("junk", sqliteMagic+string(make([]byte, 4096))):           OtherFile,
		kazmaRegistry(t, `DROP TABLE skill_dependencies`):               OtherFile,
		write("name with spaces, %41 and ?mode=rwc#", string(registry)): KazmaRegistry,
	} {
		if got, err := KindOf(file); got != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", filepath.Base(file), got, err, want)
		}
	}
	if _, err := KindOf(filepath.Join(dir, "nowhere")); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := ReadKazmaRegistry(t.Context(), filepath.Join(dir, "nowhere")); hubapi.AsError(err).Code != hubapi.NotFound {
		t.Errorf("a registry that is not there: %v", err)
	}
}
