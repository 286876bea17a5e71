package sqlstore

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/kortecx/kx/hubapi"
)

func TestPlaceholders(t *testing.T) {
	for query, want := range map[string]string{
		"BEGIN":                              "BEGIN",
		"a = ? AND b = ?":                    "a = $1 AND b = $2",
		"a = '?' AND b = ?":                  "a = '?' AND b = $1",
		"a = 'it''s ?' AND b = ?":            "a = 'it''s ?' AND b = $1",
		`"a?" = ?`:                           `"a?" = $1`,
		"a = ? -- really?\n AND b = ?":       "a = $1 -- really?\n AND b = $2",
		"a - ? --?":                          "a - $1 --?",
		"?,?,?,?,?,?,?,?,?,?":                "$1,$2,$3,$4,$5,$6,$7,$8,$9,$10",
		"a = ? AND b = 'open ?":              "a = $1 AND b = 'open ?",
		"a = 'ü?' AND b = ? AND c = '" + "'": "a = 'ü?' AND b = $1 AND c = ''",
	} {
		if got := numbered(query); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}

// Every step is there for both databases under the same name.
func TestMigrationsArePaired(t *testing.T) {
	files, err := fs.Glob(migrationFiles, "migrations/*")
	if err != nil {
		t.Fatal(err)
	}
	dialects := map[string][]string{}
	for _, file := range files {
		name, dialect, _ := strings.Cut(strings.TrimSuffix(file, ".sql"), ".")
		dialects[name] = append(dialects[name], dialect)
	}
	for name, got := range dialects {
		if strings.Join(got, " ") != "postgres sqlite" {
			t.Errorf("%s is there for %v", name, got)
		}
	}
}

// Both databases keep the same texts: a NUL is refused, and finds nothing.
func TestTextsThatCannotBeKept(t *testing.T) {
	s := opened(t, t.TempDir())
	for _, text := range []string{"a\x00b", "\xff"} {
		tx := &tx{s.writer.session}
		if _, err := tx.exec("INSERT INTO tenants (id) VALUES (?)", text); codeOf(err) != hubapi.Invalid {
			t.Errorf("exec of %q: %v", text, err)
		}
		if _, err := tx.insert("INSERT INTO skills (tenant) VALUES (?) RETURNING id", text); codeOf(err) != hubapi.Invalid {
			t.Errorf("insert of %q: %v", text, err)
		}
		if _, err := tx.Tenant(text); err == nil {
			t.Errorf("the tenant %q was found", text)
		}
	}
}
