package fsx

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

const (
	openNonblock = 0
	syncFlags    = os.O_RDWR // a flush needs a handle that may write
)

// ignoreUnsyncable drops the refusal to open or flush a directory: Windows makes
// a rename durable with the file system's own log.
func ignoreUnsyncable(err error) error {
	if errors.Is(err, syscall.EISDIR) || errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_INVALID_HANDLE) {
		return nil
	}
	return err
}

// alive reports whether a process of this number runs on this machine.
func alive(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = process.Release()
	return true
}

// IsNoSpace reports whether err says that the disk, or the user's share of it, is
// full.
func IsNoSpace(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// noLinks reports that this user may not make symbolic links, for which Windows
// wants a privilege or its developer mode, or that the disk has none.
func noLinks(err error) bool {
	return errors.Is(err, windows.ERROR_PRIVILEGE_NOT_HELD) || errors.Is(err, windows.ERROR_INVALID_FUNCTION) || errors.Is(err, windows.ERROR_NOT_SUPPORTED)
}
