package sqlstore

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"

	"github.com/kortecx/kx/hubapi"
)

const (
	databaseFile = "hub.db"
	// applicationID is in the header of every database of ours: "kxhu".
	applicationID = 0x6b786875

	sqliteMagic = "SQLite format 3\x00"

	creates = os.O_RDWR | os.O_CREATE
)

// Open opens the store in dir, making it if there is none. It refuses, with a
// *LockedError, while another process has it open; it refuses a hub.db that is
// not a hub's, or that a newer kx wrote, without changing it.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	lock, err := LockDir(ctx, dir, o.Wait, o.Waiting)
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, dir, o)
	if err != nil {
		return nil, errors.Join(storeError(err), lock.Release())
	}
	s.lock, s.dir = lock, dir
	return s, nil
}

func open(ctx context.Context, dir string, o Options) (s *Store, err error) {
	file, err := filepath.Abs(filepath.Join(dir, databaseFile))
	if err != nil {
		return nil, err
	}
	if err := prepareFile(file, creates); err != nil {
		return nil, err
	}
	db, err := openDatabase(file)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	db.SetMaxOpenConns(o.readers() + 1)
	db.SetMaxIdleConns(o.readers() + 1)
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if err := initialise(ctx, conn, o.Now); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return newStore(db, sqliteDialect, newSession(conn, sqliteDialect), o), nil
}

// prepareFile refuses a file that is not ours before SQLite can change it. With creates
// it makes an empty database, that only the user can read, where there is none.
func prepareFile(file string, flag int) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := onlyFile(file + suffix); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(file, flag, 0o600)
	if err != nil {
		return err
	}
	header := make([]byte, 100)
	n, err := io.ReadFull(f, header)
	if err := errors.Join(ignore(err, io.EOF, io.ErrUnexpectedEOF), f.Close()); err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	// The application id is written before the database first goes into WAL
	// mode, so the header always has it.
	if n < len(header) || string(header[:len(sqliteMagic)]) != sqliteMagic || binary.BigEndian.Uint32(header[68:]) != applicationID {
		return hubapi.Errorf(hubapi.Precondition, "%s is not a hub's database", file).
			WithHint("point --data at another directory, or move the file away")
	}
	return nil
}

func ignore(err error, what ...error) error {
	for _, w := range what {
		if errors.Is(err, w) {
			return nil
		}
	}
	return err
}

// openDatabase opens a file with our settings; more are names and values of SQLite's own
// parameters.
func openDatabase(file string, more ...string) (*sql.DB, error) {
	// A commit is as durable with fdatasync and does not wait for the file's
	// times to go through the journal. Where there is none, nothing changes.
	_, _ = sqlite.Fdatasync(true)
	name := filepath.ToSlash(file)
	if name[0] != '/' { // a drive letter
		name = "/" + name
	}
	parameters := url.Values{"_pragma": {
		"busy_timeout(10000)", // first, so that the others wait too
		"synchronous(FULL)",
		"foreign_keys(ON)",
		"trusted_schema(OFF)",
		"cell_size_check(ON)",
		"temp_store(MEMORY)",
		"journal_size_limit(67108864)",
	}}
	for i := 0; i+1 < len(more); i += 2 {
		parameters.Set(more[i], more[i+1])
	}
	dsn := url.URL{Scheme: "file", Path: name, RawQuery: parameters.Encode()}
	connector, err := sqlite.NewConnector(dsn.String())
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// initialise brings the schema up to date and switches to WAL. It does not look
// at ctx once a transaction has begun: the steps are short.
func initialise(ctx context.Context, conn *sql.Conn, now func() time.Time) error {
	steps, err := sqliteDialect.migrations()
	if err != nil {
		return err
	}
	if err := sqliteDialect.migrate(context.WithoutCancel(ctx), conn, steps, now); err != nil {
		return err
	}
	var mode string
	if err := conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the file system of the data directory does not support a write-ahead log (journal mode %s)", mode)
	}
	return nil
}
