package fsx

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// ErrLocked says that another process kept a directory for longer than LockDir waits.
var ErrLocked = errors.New("in use by another process")

const (
	lockWait  = 30 * time.Second
	lockRetry = 5 * time.Millisecond
)

// LockDir keeps the directory for the caller alone until unlock, against others that
// call LockDir: for a file in it that is read, changed and written back. It waits up
// to 30 seconds (ErrLocked then). The end of a process frees what it held. A file
// system that cannot lock is no reason to fail: then nothing is held.
func LockDir(dir string) (unlock func(), err error) {
	for waited := time.Duration(0); ; waited += lockRetry {
		unlock, err = tryLockDir(dir)
		switch {
		case err == nil:
			return unlock, nil
		case errors.Is(err, errors.ErrUnsupported):
			return func() {}, nil
		case !errors.Is(err, ErrLocked) || waited >= lockWait:
			return nil, &fs.PathError{Op: "lock", Path: dir, Err: fmt.Errorf("%w", bare(err))}
		}
		time.Sleep(lockRetry)
	}
}
