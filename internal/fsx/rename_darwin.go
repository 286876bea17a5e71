package fsx

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const (
	renameNoReplace = unix.RENAME_EXCL
	renameExchange  = unix.RENAME_SWAP
)

func renameAt(from *os.File, oldbase string, to *os.File, newbase string, flag int) error {
	err := unix.RenameatxNp(int(from.Fd()), oldbase, int(to.Fd()), newbase, uint32(flag))
	if errors.Is(err, unix.EINVAL) {
		return errors.ErrUnsupported
	}
	return err
}
