// Package sqlstore keeps a hub in a database: one SQLite file of a data directory
// (WAL, synchronous=FULL, a lock that lets one process in), or PostgreSQL for
// several servers. In both, one writer of the process commits waiting writes
// together, and a pool of readers sees unchanging views.
//
// It decides nothing about releases or principals; package hub does, through the
// functions that it hands to Read and Write.
//
// Call Open or OpenPostgres.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

// Options for Open and OpenPostgres.
type Options struct {
	Now func() time.Time // required
	// Wait is how long Open waits for another short command to give the
	// directory up. It never waits for a server.
	Wait time.Duration
	// Waiting is told once who has it, when that takes longer than a second.
	Waiting func(*LockedError)
	// Readers is the size of the read pool; 0 means 4.
	Readers int
	// MinFree is the free space in bytes below which Ready says no; 0 means that
	// it does not matter. Only the disk of a SQLite file is looked at.
	MinFree int64
}

// Store is a hub's store in a database.
type Store struct {
	is      *dialect
	lock    *Lock // nil with PostgreSQL
	db      *sql.DB
	writer  *writer
	idle    chan *session // readers that nobody uses
	spare   chan struct{} // a token for each reader that may still be opened
	readers int
	dir     string // of the SQLite file; empty with PostgreSQL
	minFree int64
	now     func() time.Time
	warn    []string
	closing sync.Once
	closed  error
}

var _ hub.Store = (*Store)(nil)

// newStore makes the store of db, which it takes over, when ready has found its schema, or
// brought it up to date, through the first connection. That one is the writer's then.
func newStore(ctx context.Context, db *sql.DB, is *dialect, o Options, ready func(first *session) error) (*Store, error) {
	n := o.readers()
	db.SetMaxOpenConns(n + 1)
	db.SetMaxIdleConns(n + 1)
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	first := newSession(conn, is)
	if err := ready(first); err != nil {
		return nil, errors.Join(err, first.close(), db.Close())
	}
	first.now = o.Now
	s := &Store{is: is, db: db, idle: make(chan *session, n), spare: make(chan struct{}, n), readers: n, minFree: o.MinFree, now: o.Now}
	for range n {
		s.spare <- struct{}{}
	}
	s.writer = startWriter(first, s.connect)
	return s, nil
}

func (o Options) readers() int {
	if o.Readers <= 0 {
		return 4
	}
	return o.Readers
}

func (s *Store) connect(ctx context.Context) (*session, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	session := newSession(conn, s.is)
	session.now = s.now
	return session, nil
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
		session, err := s.connect(ctx)
		if err != nil {
			s.spare <- struct{}{}
		}
		return session, err
	case <-s.writer.quit:
		return nil, errClosed()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// giveBack lets others use a reader. One whose connection broke is replaced when
// it is needed.
func (s *Store) giveBack(session *session) {
	if session.alive() {
		s.idle <- session
		return
	}
	_ = session.close()
	s.spare <- struct{}{}
}

// view gives a reader that has begun to look.
func (s *Store) view(ctx context.Context) (*session, error) {
	for first := true; ; first = false {
		session, err := s.reader(ctx)
		if err != nil {
			return nil, err
		}
		err = session.control(s.is.beginRead)
		if err == nil {
			return session, nil
		}
		lost := !session.alive()
		s.giveBack(session)
		if !first || !lost { // the server may have restarted meanwhile
			return nil, err
		}
	}
}

// Read implements hub.Store.
func (s *Store) Read(ctx context.Context, fn func(hub.Reader) error) error {
	session, err := s.view(ctx)
	if err != nil {
		return storeError(err)
	}
	defer s.giveBack(session)
	defer func() { _ = session.control("ROLLBACK") }()
	return storeError(fn(&tx{session}))
}

// Look implements hub.Store: one statement is a view by itself. With PostgreSQL that is
// one round trip, where Read has three.
func (s *Store) Look(ctx context.Context, fn func(hub.Reader) error) error {
	for first := true; ; first = false {
		session, err := s.reader(ctx)
		if err != nil {
			return storeError(err)
		}
		err = fn(&tx{session})
		lost := !session.alive()
		s.giveBack(session)
		if !first || !lost { // the server may have restarted meanwhile
			return storeError(err)
		}
	}
}

// Mark implements hub.Store. It changes behind the commit and before the answer; a
// commit of which nobody knows what became of it counts too. The lock keeps others away
// from a file of SQLite, and nothing keeps other servers away from PostgreSQL.
func (s *Store) Mark() (mark int64, alone bool) {
	return s.writer.commits.Load() + s.writer.failures.Load(), s.is == sqliteDialect
}

// Ready implements hub.Store.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.writer.degraded.Load(); err != nil {
		return hubapi.Errorf(hubapi.Unavailable, "the hub's disk failed: %v", *err).WithHint("check the disk, then restart the server")
	}
	if s.dir != "" && s.minFree > 0 {
		free, err := freeSpace(s.dir)
		if err != nil {
			return storeError(err)
		}
		if free < s.minFree {
			return hubapi.Errorf(hubapi.NoSpace, "the hub's disk has only %d MiB left", free>>20).WithHint("free some space; a hub wants %d MiB", s.minFree>>20)
		}
	}
	return s.Write(ctx, func(hub.Writer) error { return nil })
}

// Warnings are what an operator should know about how the database is set up.
func (s *Store) Warnings() []string { return s.warn }

// Stats are counts of what the store has done since it was opened.
type Stats struct {
	Writes  int64 // that were committed
	Commits int64 // the transactions that they shared
	Failed  int64 // transactions that were taken back
	// Bytes is the size of the database; -1 when it could not be learnt.
	Bytes int64
}

// Stats gives the counts.
func (s *Store) Stats(ctx context.Context) Stats {
	out := Stats{Writes: s.writer.writes.Load(), Commits: s.writer.commits.Load(), Failed: s.writer.failures.Load(), Bytes: -1}
	session, err := s.view(ctx)
	if err != nil {
		return out
	}
	defer s.giveBack(session)
	defer func() { _ = session.control("ROLLBACK") }()
	if n, err := one(all(session, scanInt, s.is.databaseSize)); err == nil {
		out.Bytes = n
	}
	return out
}

// Close waits for writes that have begun and gives the database up.
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
	errs = append(errs, s.db.Close())
	if s.lock != nil {
		errs = append(errs, s.lock.Release())
	}
	return errors.Join(errs...)
}
