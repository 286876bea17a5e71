package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
)

const (
	lockFile  = "hub.lock"
	lockRetry = 20 * time.Millisecond

	tellAfter = time.Second // that somebody is waited for
)

// Lock keeps a data directory to one process. It is held for as long as a store is
// open in it. The operating system gives it up when the process ends, however it
// ends.
type Lock struct{ file *flock.Flock }

// LockDir takes the lock of dir, which it makes if there is none: Open does it by
// itself, a server over another database needs it for its server.json. It waits
// for a short command that has it, and not for a server, which gives its address
// in server.json; its error then is a *LockedError. Waiting may be nil; see Options.
func LockDir(ctx context.Context, dir string, wait time.Duration, waiting func(*LockedError)) (*Lock, error) {
	if err := fsx.EnsureDir(dir, 0o700); err != nil {
		return nil, storeError(err)
	}
	path := filepath.Join(dir, lockFile)
	if err := onlyFile(path); err != nil {
		return nil, err
	}
	f := flock.New(path, flock.SetPermissions(0o600))
	if err := waitFor(ctx, wait, waiting, dir, f.TryLock); err != nil {
		return nil, err
	}
	// Who holds the lock, for messages only: where the lock keeps others from
	// reading the file, they say less.
	_ = os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600)
	return &Lock{f}, nil
}

// waitFor tries until the lock of dir is had, as LockDir says.
func waitFor(ctx context.Context, wait time.Duration, waiting func(*LockedError), dir string, try func() (bool, error)) error {
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	long := time.NewTimer(tellAfter)
	defer long.Stop()
	for {
		ok, err := try()
		if err != nil {
			return storeError(err)
		}
		if ok {
			return nil
		}
		holder := lockHolder(dir)
		if wait <= 0 || holder.Server != nil {
			return holder
		}
		retry := time.NewTimer(lockRetry)
		select {
		case <-ctx.Done():
			retry.Stop()
			return ctx.Err()
		case <-timeout.C:
			retry.Stop()
			return holder
		case <-long.C:
			retry.Stop()
			if waiting != nil {
				waiting(holder)
			}
		case <-retry.C:
		}
	}
}

// onlyFile refuses what is there and no regular file, links included: to open a named
// pipe is to wait for whoever writes into it.
func onlyFile(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return storeError(err)
	}
	if !info.Mode().IsRegular() {
		return hubapi.Errorf(hubapi.Precondition, "%s is not a regular file", path).
			WithHint("move it away, or name another directory for the hub")
	}
	return nil
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

// Release gives the lock up. The file stays: to remove it would let two processes
// lock two files of one name.
func (l *Lock) Release() error { return l.file.Unlock() }

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
	if e.PID > 0 {
		return out.WithHint("try again when it has ended; ps -p %d says what it is", e.PID)
	}
	return out.WithHint("try again when it has ended")
}
