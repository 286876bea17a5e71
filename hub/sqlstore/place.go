package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/kortecx/kx/hubapi"
)

// Place is where a hub's database is: in PostgreSQL when URL is set, else in the
// SQLite file of a data directory. What works on a Place (Fsck, Plan, Backup,
// Collect) does not need the directory's lock: it may run beside a server.
type Place struct {
	Dir string
	URL string
}

// OpenPlace opens the store there, with Open or OpenPostgres.
func OpenPlace(ctx context.Context, p Place, o Options) (*Store, error) {
	if p.URL != "" {
		return OpenPostgres(ctx, p.URL, o)
	}
	return Open(ctx, p.Dir, o)
}

func (p Place) dialect() *dialect {
	if p.URL != "" {
		return postgresDialect
	}
	return sqliteDialect
}

// open opens a database that is there, as it is.
func (p Place) open() (*sql.DB, error) {
	if p.URL != "" {
		return connectPostgres(p.URL, nil)
	}
	file, err := filepath.Abs(filepath.Join(p.Dir, databaseFile))
	if err != nil {
		return nil, err
	}
	return openExisting(file)
}

func openExisting(file string) (*sql.DB, error) {
	if info, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil, hubapi.Errorf(hubapi.NotFound, "there is no hub's database at %s", file)
	}
	if err := prepareFile(file, os.O_RDWR); err != nil {
		return nil, err
	}
	return openDatabase(file)
}

// inSession calls fn with one connection to the database that is there.
func (p Place) inSession(ctx context.Context, fn func(*session) error) error {
	db, err := p.open()
	if err != nil {
		return storeError(err)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return storeError(errors.Join(err, db.Close()))
	}
	s := newSession(conn, p.dialect())
	return storeError(errors.Join(fn(s), s.close(), db.Close()))
}

// inView calls fn with one unchanging view of the database that is there.
func (p Place) inView(ctx context.Context, fn func(*session) error) error {
	return p.inSession(ctx, func(s *session) error {
		if err := s.control(s.is.beginRead); err != nil {
			return err
		}
		return errors.Join(fn(s), s.control("ROLLBACK"))
	})
}

// Step is one migration of the schema.
type Step struct {
	Number  int
	Name    string
	Applied time.Time // zero when it is still to be done
}

// Plan lists the migrations that this program knows, done and to be done, and
// changes nothing. It refuses a history that is not ours, as Open does.
func Plan(ctx context.Context, p Place) ([]Step, error) {
	steps, err := p.dialect().migrations()
	if err != nil {
		return nil, err
	}
	out := make([]Step, len(steps))
	for i, step := range steps {
		out[i] = Step{Number: step.number, Name: step.name}
	}
	err = p.inView(ctx, func(s *session) error {
		applied, err := s.applied(ctx, steps)
		for i, at := range applied {
			out[i].Applied = at
		}
		return err
	})
	return out, err
}

// applied is the history of a database that may have none yet.
func (s *session) applied(ctx context.Context, steps []migration) ([]time.Time, error) {
	tables, err := s.tables()
	if err != nil {
		return nil, err
	}
	for _, table := range tables {
		if table == "migrations" {
			return history(ctx, s.conn, steps)
		}
	}
	return nil, nil
}

// tables are the ordinary tables of the schema, by name.
func (s *session) tables() ([]string, error) {
	return texts(s, s.is.listTables)
}

func texts(s *session, query string, args ...any) ([]string, error) {
	return all(s, func(rows *sql.Rows) (text string, err error) {
		return text, rows.Scan(&text)
	}, query, args...)
}

// reference is a column whose values stand in another table.
type reference struct{ table, column, to, toColumn string }

// references are those of the whole schema, found in the database itself, so that
// none is forgotten when the schema grows.
func (s *session) references() ([]reference, error) {
	return all(s, func(rows *sql.Rows) (r reference, err error) {
		return r, rows.Scan(&r.table, &r.column, &r.to, &r.toColumn)
	}, s.is.listReferences)
}

// unreferenced is the condition under which a row of contents is in no use.
func (s *session) unreferenced() (string, error) {
	refs, err := s.references()
	if err != nil {
		return "", err
	}
	where, n := "1 = 1", 0
	for _, r := range refs {
		if r.to != "contents" {
			continue
		}
		n++
		where += fmt.Sprintf(" AND NOT EXISTS (SELECT 1 FROM %s r WHERE r.%s = contents.%s)", r.table, r.column, r.toColumn)
	}
	if n == 0 {
		return "", errors.New("the schema has no reference to a content: nothing can be said about what is in use")
	}
	return where, nil
}
