package sqlstore

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
)

const (
	databaseFile = "hub.db"
	// applicationID is in the header of every database of ours: "kxhu".
	applicationID = 0x6b786875

	sqliteMagic = "SQLite format 3\x00"
	blankPage   = 4096 // bytes; SQLite's own choice for new databases
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

func open(ctx context.Context, dir string, o Options) (*Store, error) {
	file, err := filepath.Abs(filepath.Join(dir, databaseFile))
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		if err := noJournal(file); err != nil {
			return nil, err
		}
		if err := fsx.WriteFileAt(file, blankDatabase(), 0o600); err != nil {
			return nil, err
		}
	}
	if err := prepareFile(file, os.O_RDWR); err != nil {
		return nil, err
	}
	db, err := openDatabase(file)
	if err != nil {
		return nil, err
	}
	return newStore(ctx, db, sqliteDialect, o, func(first *session) error { return initialise(ctx, first.conn, o.Now) })
}

// noJournal refuses to make a database beside a journal of one that is gone: SQLite would
// play it into the new one.
func noJournal(file string) error {
	for _, journal := range []string{file + "-wal", file + "-journal"} {
		if info, err := os.Lstat(journal); err == nil && info.Size() > 0 {
			return hubapi.Errorf(hubapi.Precondition, "%s is missing beside %s, which belongs to it", file, filepath.Base(journal)).
				WithHint("put it back, or restore a backup into another directory (kx hub restore); to begin with an empty hub, move the journal away too")
		}
	}
	return nil
}

// blankDatabase is a database of ours in which nothing is: one page, as SQLite's file
// format has it. A new hub begins with it, whole or not at all, so that a file without
// any byte is never one that was just being made.
func blankDatabase() []byte {
	page := make([]byte, blankPage)
	copy(page, sqliteMagic)
	put := binary.BigEndian
	put.PutUint16(page[16:], blankPage)
	copy(page[18:], []byte{1, 1, 0, 64, 32, 32}) // no WAL yet; the rest is the same in every file
	put.PutUint32(page[24:], 1)                  // change counter
	put.PutUint32(page[28:], 1)                  // pages
	put.PutUint32(page[44:], 4)                  // schema format
	put.PutUint32(page[56:], 1)                  // UTF-8
	put.PutUint32(page[68:], applicationID)
	put.PutUint32(page[92:], 1) // the change counter for which the count of pages holds
	page[100] = 0x0d            // a table's leaf without cells, which begin at the end
	put.PutUint16(page[105:], blankPage)
	return page
}

// prepareFile refuses a file that is not ours before SQLite can change it.
func prepareFile(file string, flag int) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := onlyFile(file + suffix); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(file, flag, 0)
	if err != nil {
		return err
	}
	header := make([]byte, 100)
	n, err := io.ReadFull(f, header)
	if err := errors.Join(ignore(err, io.EOF, io.ErrUnexpectedEOF), f.Close()); err != nil {
		return err
	}
	switch {
	case n == 0:
		// SQLite would take it for a new one, and what was in it would be gone unseen.
		return hubapi.Errorf(hubapi.Precondition, "%s is damaged: it has no bytes, and every hub's database has some", file).
			WithHint("restore a backup of it into another directory (kx hub restore); to begin with an empty hub, move the file away, and those beside it that begin with its name")
	case !isHub(header[:n]):
		return hubapi.Errorf(hubapi.Precondition, "%s is not a hub's database", file).
			WithHint("name another directory for the hub, or move the file away")
	}
	return nil
}

// isHub tells whether the first 100 bytes of a file are those of a hub's database. The
// first page has the application id from the start.
func isHub(header []byte) bool {
	return len(header) == 100 && string(header[:len(sqliteMagic)]) == sqliteMagic && binary.BigEndian.Uint32(header[68:]) == applicationID
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
