//go:build unix && !solaris && !aix

package fsx

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLockDir locks the directory itself, so that nothing is left lying in it.
func tryLockDir(dir string) (func(), error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return func() { _ = f.Close() }, nil
	}
	_ = f.Close()
	switch {
	case errors.Is(err, unix.EWOULDBLOCK), errors.Is(err, unix.EINTR):
		return nil, ErrLocked
	case errors.Is(err, unix.EBADF), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTSUP):
		return nil, errors.ErrUnsupported // directories on some network file systems
	}
	return nil, err
}
