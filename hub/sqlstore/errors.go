package sqlstore

import (
	"context"
	"errors"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

// code is SQLite's extended result code, 0 for an error that is not SQLite's.
func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// storeError puts an error into the vocabulary. Errors of the function that a
// Read or Write was given pass as they are.
func storeError(err error) error {
	if err == nil || errors.Is(err, hub.ErrNoRow) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if errors.Is(err, syscall.ENOSPC) {
		return noSpace()
	}
	switch code(err) & 0xff {
	case sqlite3.SQLITE_FULL:
		return noSpace()
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return hubapi.Errorf(hubapi.Unavailable, "the hub's database is busy").WithHint("try again")
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return hubapi.Errorf(hubapi.Internal, "the hub's database is damaged: %v", err).WithHint("restore a backup")
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
		return hubapi.Errorf(hubapi.Internal, "the hub's disk failed: %v", err)
	}
	if e := postgresError(err); e != nil {
		return e
	}
	if e, ok := errors.AsType[*LockedError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*hubapi.Error](err); ok {
		return e
	}
	return hubapi.Errorf(hubapi.Internal, "the hub's store: %v", err)
}

func noSpace() *hubapi.Error {
	return hubapi.Errorf(hubapi.NoSpace, "the hub's disk is full").WithHint("free some space and try again; nothing of this was kept")
}
