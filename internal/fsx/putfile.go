package fsx

import (
	"errors"
	"io/fs"
	"path"
)

// PutFile writes one new file: fs.ErrExist when name is there. Whatever ends the process,
// name is absent or whole, and it is durable once PutFile has returned nil. What killed
// runs left beside it goes.
func PutFile(r Root, name string, data []byte, perm fs.FileMode) error {
	dir := path.Dir(name)
	if err := SweepStaged(r, dir); err != nil {
		return err
	}
	hidden := path.Join(dir, StageName())
	err := r.Create(hidden, data, perm)
	if err == nil {
		err = r.Sync(hidden)
	}
	if err == nil {
		err = r.RenameNew(hidden, name)
	}
	if err == nil {
		return r.Sync(dir)
	}
	if cleanup := r.Remove(hidden); cleanup != nil && !errors.Is(cleanup, fs.ErrNotExist) {
		err = errors.Join(err, cleanup)
	}
	return err
}
