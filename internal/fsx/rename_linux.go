package fsx

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const (
	renameNoReplace = unix.RENAME_NOREPLACE
	renameExchange  = unix.RENAME_EXCHANGE
)

func renameAt(from *os.File, oldbase string, to *os.File, newbase string, flag int) error {
	err := unix.Renameat2(int(from.Fd()), oldbase, int(to.Fd()), newbase, uint(flag))
	if errors.Is(err, unix.EINVAL) {
		// Older kernels, and file systems that do not know the flag, say so
		// with the same number as for a real mistake; the plain rename that
		// callers fall back to tells the two apart.
		return errors.ErrUnsupported
	}
	return err
}
