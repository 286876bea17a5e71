// Package sqlstore keeps a hub in one SQLite file of a data directory: WAL,
// synchronous=FULL, one writer that commits waiting writes together, a pool of
// readers, and a lock that lets one process in.
//
// It decides nothing about releases or principals; package hub does, through the
// functions that it hands to Read and Write.
//
// Call Open.
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
	"sync"
	"time"

	"modernc.org/sqlite"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

const (
	databaseFile = "hub.db"
	// applicationID is in the header of every database of ours: "kxhu".
	applicationID = 0x6b786875
)

// Options for Open.
type Options struct {
	Now func() time.Time // required
	// Wait is how long Open waits for another short command to give the
	// directory up. It never waits for a server.
	Wait time.Duration
	// Readers is the size of the read pool; 0 means 4.
	Readers int
}

// Store is a hub's store in SQLite.
type Store struct {
	lock    *dirLock
	db      *sql.DB
	writer  *writer
	idle    chan *session // readers that nobody uses
	spare   chan struct{} // a token for each reader that may still be opened
	readers int
	closing sync.Once
	closed  error
}

var _ hub.Store = (*Store)(nil)

// Open opens the store in dir, making it if there is none. It refuses, with a
// *LockedError, while another process has it open; it refuses a hub.db that is
// not a hub's, or that a newer kx wrote, without changing it.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, storeError(err)
	}
	lock, err := lockDir(ctx, dir, o.Wait)
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, dir, o)
	if err != nil {
		return nil, errors.Join(storeError(err), lock.release())
	}
	s.lock = lock
	return s, nil
}

func open(ctx context.Context, dir string, o Options) (s *Store, err error) {
	file, err := filepath.Abs(filepath.Join(dir, databaseFile))
	if err != nil {
		return nil, err
	}
	if err := prepareFile(file); err != nil {
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
	readers := o.Readers
	if readers <= 0 {
		readers = 4
	}
	db.SetMaxOpenConns(readers + 1)
	db.SetMaxIdleConns(readers + 1)
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if err := initialise(ctx, conn, o.Now); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	s = &Store{db: db, idle: make(chan *session, readers), spare: make(chan struct{}, readers), readers: readers}
	for range readers {
		s.spare <- struct{}{}
	}
	s.writer = startWriter(newSession(conn, sqliteDialect))
	return s, nil
}

// reader waits for a reader, opening one while there are few.
func (s *Store) reader(ctx context.Context) (*session, error) {
	select {
	case session := <-s.idle:
		return session, nil
	default:
	}
	select {
	case session := <-s.idle:
		return session, nil
	case <-s.spare:
		conn, err := s.db.Conn(ctx)
		if err != nil {
			s.spare <- struct{}{}
			return nil, err
		}
		return newSession(conn, sqliteDialect), nil
	case <-s.writer.quit:
		return nil, errClosed()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// prepareFile makes an empty database that only the user can read, and refuses a
// file that is not ours before SQLite can change it.
func prepareFile(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
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
	const magic = "SQLite format 3\x00"
	if n < len(header) || string(header[:len(magic)]) != magic || binary.BigEndian.Uint32(header[68:]) != applicationID {
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

func openDatabase(file string) (*sql.DB, error) {
	// A commit is as durable with fdatasync and does not wait for the file's
	// times to go through the journal. Where there is none, nothing changes.
	_, _ = sqlite.Fdatasync(true)
	name := filepath.ToSlash(file)
	if name[0] != '/' { // a drive letter
		name = "/" + name
	}
	dsn := url.URL{Scheme: "file", Path: name, RawQuery: url.Values{"_pragma": {
		"busy_timeout(10000)", // first, so that the others wait too
		"synchronous(FULL)",
		"foreign_keys(ON)",
		"trusted_schema(OFF)",
		"cell_size_check(ON)",
		"temp_store(MEMORY)",
		"journal_size_limit(67108864)",
	}}.Encode()}
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
	if err := migrate(context.WithoutCancel(ctx), conn, steps, now); err != nil {
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

// Ready implements hub.Store.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.writer.degraded.Load(); err != nil {
		return hubapi.Errorf(hubapi.Unavailable, "the hub's disk failed: %v", *err).WithHint("check the disk, then restart the server")
	}
	return s.Write(ctx, func(hub.Writer) error { return nil })
}

// Close waits for writes that have begun and gives the directory up.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closed = s.close() })
	return s.closed
}

func (s *Store) close() error {
	errs := []error{s.writer.close()}
	for range s.readers {
		select {
		case session := <-s.idle:
			errs = append(errs, session.close())
		case <-s.spare:
		}
	}
	errs = append(errs, s.db.Close(), s.lock.release())
	return errors.Join(errs...)
}

// LockedError says that another process has the data directory open.
type LockedError struct {
	Dir string
	PID int // 0 when it could not be learnt
	// Server is how the process can be reached, if it is a server.
	Server *hubapi.ServerFile
}

func (e *LockedError) Error() string { return e.hubError().Message }

// Unwrap lets the error be used as the *hubapi.Error that it is.
func (e *LockedError) Unwrap() error { return e.hubError() }

func (e *LockedError) hubError() *hubapi.Error {
	who := "another process"
	if e.PID > 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	out := hubapi.Errorf(hubapi.Unavailable, "the hub in %s is in use by %s", e.Dir, who)
	if e.Server != nil {
		return out.WithHint("it serves at %s", e.Server.Address)
	}
	return out.WithHint("try again when it has ended")
}
