package sqlstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/kortecx/kx/hubapi"
)

// OpenToRead opens the store in dir for somebody who must not leave a trace: no file is
// made or changed, not even those that SQLite has while it works. A directory without a
// hub, or none at all, is a hub in which nothing is. Like Open it refuses a store that
// another process has open, and waits for a short command.
func OpenToRead(ctx context.Context, dir string, o Options) (*Store, error) {
	file, err := filepath.Abs(filepath.Join(dir, databaseFile))
	if err != nil {
		return nil, err
	}
	if _, err = os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return openEmpty(ctx, o)
	}
	if err != nil {
		return nil, storeError(err)
	}
	lock, err := lockToRead(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	s, err := openUnchanged(ctx, file, o)
	if err != nil {
		return nil, errors.Join(storeError(err), lock.Release())
	}
	s.lock, s.dir = lock, dir
	return s, nil
}

// lockToRead is LockDir that leaves the file as it is. The file is there wherever a hub
// is; one that was taken away is not made again, because others would lock a file of
// their own.
func lockToRead(ctx context.Context, dir string, o Options) (*Lock, error) {
	path := filepath.Join(dir, lockFile)
	if err := onlyFile(path); err != nil {
		return nil, err
	}
	f := flock.New(path, flock.SetFlag(os.O_RDONLY))
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return &Lock{f}, nil // nobody has it
	}
	if err := waitFor(ctx, o.Wait, o.Waiting, dir, f.TryLock); err != nil {
		return nil, err
	}
	return &Lock{f}, nil
}

// errNothing says that there is a file of ours and no hub in it yet.
var errNothing = errors.New("nothing is there")

func openUnchanged(ctx context.Context, file string, o Options) (*Store, error) {
	// What is in the journal of a process that was killed is a part of the database, and
	// to read it is to write it into the file.
	for _, journal := range []string{"-wal", "-journal"} {
		if info, err := os.Stat(file + journal); err != nil || info.Size() == 0 {
			continue
		}
		return nil, hubapi.Errorf(hubapi.Precondition, "the hub in %s was not closed as it should, and cannot be read without changing it", filepath.Dir(file)).
			WithHint("run any other command on it first, such as kx search")
	}
	if err := prepareFile(file, os.O_RDONLY); err != nil {
		return nil, err
	}
	db, err := openDatabase(file, "mode", "ro", "immutable", "1")
	if err != nil {
		return nil, err
	}
	s, err := newStore(ctx, db, sqliteDialect, o, func(first *session) error {
		steps, err := sqliteDialect.migrations()
		if err != nil {
			return err
		}
		applied, err := first.applied(ctx, steps)
		switch {
		case err == nil && len(applied) == 0: // whoever began to make it was killed
			return errNothing
		case err == nil && len(applied) < len(steps):
			return hubapi.Errorf(hubapi.Precondition, "an older kx wrote the hub in %s, and it cannot be read without changing it", filepath.Dir(file)).
				WithHint("run kx hub migrate first")
		}
		return err
	})
	if errors.Is(err, errNothing) {
		return openEmpty(ctx, o)
	}
	return s, err
}

// openEmpty opens a hub in memory in which nothing is.
func openEmpty(ctx context.Context, o Options) (*Store, error) {
	// The name begins with a slash: connections of one process then share it.
	db, err := openDatabase("/nothing-is-here", "vfs", "memdb")
	if err != nil {
		return nil, err
	}
	return newStore(ctx, db, sqliteDialect, o, func(first *session) error {
		steps, err := sqliteDialect.migrations()
		if err != nil {
			return err
		}
		return sqliteDialect.migrate(context.WithoutCancel(ctx), first.conn, steps, o.Now)
	})
}
