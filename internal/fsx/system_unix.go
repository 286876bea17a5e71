//go:build unix

package fsx

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const (
	openNonblock = unix.O_NONBLOCK // opening a pipe must not wait for its writer
	syncFlags    = os.O_RDONLY
)

// ignoreUnsyncable drops the answer of file systems that cannot flush this kind
// of file (directories on some network ones): there is nothing better to do there.
func ignoreUnsyncable(err error) error {
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	return err
}

// alive reports whether a process of this number runs on this machine.
func alive(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || !errors.Is(err, unix.ESRCH)
}

// IsNoSpace reports whether err says that the disk, or the user's share of it, is
// full.
func IsNoSpace(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// noLinks reports that the disk has no symbolic links, as FAT has none.
func noLinks(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS)
}

// retry calls again what a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}
