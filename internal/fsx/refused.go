package fsx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// refusedError is an error of the file system that the user can do something about: it
// names the path that is in the way, and says what to do.
type refusedError struct {
	text string
	err  error
}

func (e *refusedError) Error() string { return e.text }
func (e *refusedError) Unwrap() error { return e.err }

// refused puts an error in the user's words, if it says that a folder is none or that
// this user may not; any other stays as it is.
func refused(err error) error {
	on, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		return err
	}
	at := on.Path
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return &refusedError{text: fileOf(at) + " is not a directory: move it away, or name another folder", err: err}
	case !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS):
		return err
	}
	does := "written"
	if slices.Contains([]string{"open", "list", "read", "stat", "lstat", "statat", "openat"}, on.Op) {
		does = "opened"
	}
	if i := strings.Index(at, stagePrefix); i >= 0 { // a name of ours, which nobody typed
		at, does = filepath.Clean(at[:i]), "written"
	}
	return &refusedError{text: at + " cannot be " + does + ": " + bare(on).Error() + "; ask for access to it, or name another place", err: err}
}

// fileOf is what is no folder among a path and those above it.
func fileOf(path string) string {
	for p := path; ; p = filepath.Dir(p) {
		if info, err := os.Stat(p); err == nil && !info.IsDir() {
			return p
		} else if err == nil || p == filepath.Dir(p) {
			return path
		}
	}
}
