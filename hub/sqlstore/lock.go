package sqlstore

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/kortecx/kx/hubapi"
)

const (
	lockFile  = "hub.lock"
	lockRetry = 20 * time.Millisecond
)

// dirLock is held for as long as a store is open. The operating system gives it
// up when the process ends, however it ends.
type dirLock struct{ file *flock.Flock }

// lockDir takes the lock of dir. It waits for a short command that has it, and not
// for a server, which gives its address in server.json.
func lockDir(ctx context.Context, dir string, wait time.Duration) (*dirLock, error) {
	path := filepath.Join(dir, lockFile)
	f := flock.New(path, flock.SetPermissions(0o600))
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	for {
		ok, err := f.TryLock()
		if err != nil {
			return nil, storeError(err)
		}
		if ok {
			// Who holds the lock, for messages only: where the lock keeps
			// others from reading the file, they say less.
			_ = os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600)
			return &dirLock{f}, nil
		}
		holder := lockHolder(dir)
		if wait <= 0 || holder.Server != nil {
			return nil, holder
		}
		retry := time.NewTimer(lockRetry)
		select {
		case <-ctx.Done():
			retry.Stop()
			return nil, ctx.Err()
		case <-timeout.C:
			retry.Stop()
			return nil, holder
		case <-retry.C:
		}
	}
}

// lockHolder learns what it can about who has the lock. A server.json whose pid is
// not the holder's is a leftover of a server that crashed.
func lockHolder(dir string) *LockedError {
	e := &LockedError{Dir: dir}
	if data, err := os.ReadFile(filepath.Join(dir, lockFile)); err == nil {
		e.PID, _ = strconv.Atoi(strings.TrimSpace(string(data)))
	}
	server, err := hubapi.ReadServerFile(dir)
	if err == nil && (e.PID == 0 || e.PID == server.PID) {
		e.PID, e.Server = server.PID, &server
	}
	return e
}

// release gives the lock up. The file stays: to remove it would let two processes
// lock two files of one name.
func (l *dirLock) release() error { return l.file.Unlock() }
