//go:build !unix || solaris || aix

package fsx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// lockStale is when a lock file counts as left behind by a killed process.
const lockStale = time.Minute

// tryLockDir makes a lock file: these systems cannot lock a directory.
func tryLockDir(dir string) (func(), error) {
	name := filepath.Join(dir, ".kx-lock")
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return func() { _ = os.Remove(name) }, f.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > lockStale {
		_ = os.Remove(name)
	}
	return nil, ErrLocked
}
