//go:build !unix

package fsx

import (
	"errors"
	"io/fs"
	"os"
)

// heldFolder is an open folder, from which all is made.
type heldFolder struct{ dir *os.Root }

// holdFolder opens a folder below root.
func holdFolder(root *os.Root, name string) (heldFolder, error) {
	dir, err := root.OpenRoot(name)
	return heldFolder{dir}, err
}

func (f heldFolder) mkdir(name string, perm fs.FileMode) error { return f.dir.Mkdir(name, perm) }

// create writes a file that must not exist.
func (f heldFolder) create(name string, data []byte, perm fs.FileMode) error {
	file, err := f.dir.OpenFile(name, newFile, perm)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err != nil {
		_ = f.dir.Remove(name) // half a file is no use to anyone
	}
	return err
}

func (f heldFolder) close() { _ = f.dir.Close() }
