package fsx

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kortecx/kx/internal/sorting"
)

// Folder is an open folder of somebody else, that is read as it was listed or not at
// all. Names are relative to it and "/" separated. No link leads out of the folder, or to
// anything but what was listed.
type Folder interface {
	// List gives at most limit entries of the folder called name, ascending by name, and
	// whether there are more. listed is what a list gave for name; nil for ".", which is
	// the Folder itself, and which may be told as it was when it was listed first. Nobody
	// may change what it gives.
	List(name string, listed fs.DirEntry, limit int) (entries []fs.DirEntry, more bool, err error)
	// Open opens a regular file that was listed, and tells about what it has opened. It
	// does not wait for a pipe.
	//
	// Open and List fail with ErrChanged where the name is no longer what was listed.
	Open(name string, listed fs.DirEntry) (fs.File, fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	// Readlink gives the text of a symbolic link.
	Readlink(name string) (string, error)
	Close() error
}

// OpenPlainFolder opens the folder at dir, which may be a symbolic link, by the calls that
// every system has. It takes note of what each name is when it lists it.
func OpenPlainFolder(dir string) (Folder, error) {
	root, err := os.OpenRoot(onlyFolder(dir))
	if err != nil {
		return nil, err
	}
	return &plainFolder{root}, nil
}

// onlyFolder makes the system refuse anything but a folder before it opens it: a pipe
// would block us.
func onlyFolder(dir string) string {
	dir = filepath.Clean(dir)
	if !os.IsPathSeparator(dir[len(dir)-1]) {
		dir += string(filepath.Separator)
	}
	return dir
}

type plainFolder struct{ root *os.Root }

func (f *plainFolder) List(name string, listed fs.DirEntry, limit int) (entries []fs.DirEntry, more bool, err error) {
	dir, err := f.root.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, false, err
	}
	defer dir.Close()
	if listed != nil {
		if _, err := asListed(dir, listed); err != nil {
			return nil, false, err
		}
	}
	entries, err = dir.ReadDir(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	if len(entries) > limit {
		entries, more = entries[:limit], true
	}
	sorting.Sort(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, more, nil
}

func (f *plainFolder) Open(name string, listed fs.DirEntry) (fs.File, fs.FileInfo, error) {
	file, err := f.root.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := asListed(file, listed)
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// asListed tells about an open file, which must be what was listed.
func asListed(f *os.File, listed fs.DirEntry) (fs.FileInfo, error) {
	before, err := listed.Info()
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil || !os.SameFile(before, info) || info.Mode().Type() != listed.Type() {
		return nil, ErrChanged
	}
	return info, nil
}

func (f *plainFolder) Lstat(name string) (fs.FileInfo, error) { return f.root.Lstat(name) }
func (f *plainFolder) Readlink(name string) (string, error)   { return f.root.Readlink(name) }
func (f *plainFolder) Close() error                           { return f.root.Close() }
