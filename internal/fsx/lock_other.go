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
	if stale(dir, name) {
		_ = os.Remove(name)
	}
	return nil, ErrLocked
}

// stale compares with the clock of the file system itself, by a file that is made
// for it.
func stale(dir, name string) bool {
	probe, err := os.CreateTemp(dir, ".kx-clock-*")
	if err != nil {
		return false
	}
	defer os.Remove(probe.Name())
	now, err := probe.Stat()
	_ = probe.Close()
	info, statErr := os.Stat(name)
	return err == nil && statErr == nil && now.ModTime().Sub(info.ModTime()) > lockStale
}
