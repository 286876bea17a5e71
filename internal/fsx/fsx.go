// Package fsx is every effect that kx has on files. All of it goes through Root,
// one directory that nothing can lead out of, so that a dry run, a fault
// injection or a proof that a command writes nothing is the same code over
// another Root.
//
// It is not a virtual file system: names are relative, "/" separated, and mean
// real files. It knows nothing of packs or of what a folder is for.
//
// Call Open first. PutDir, ReplaceDir and RemoveDir change one folder whole;
// Batch does it for many and pays for durability once. Whatever ends the process,
// a folder that they write is absent or old, or whole and new. What a killed run
// leaves behind has a name of its own grammar (see SweepStaged) and is removed by
// a later run.
//
// Folders of others, which may change while they are read, are read through Folder.
package fsx

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// Errors that callers tell apart. A missing or existing file is fs.ErrNotExist
// and fs.ErrExist as everywhere.
var (
	ErrTooLarge   = errors.New("file is larger than allowed")
	ErrNotRegular = errors.New("not a regular file")
	ErrNotFolder  = errors.New("not a folder")
	ErrChanged    = errors.New("changed while it was read")
)

// Dir is what can be read below one directory.
type Dir interface {
	// Name is the path that the directory was opened with.
	Name() string
	Lstat(name string) (fs.FileInfo, error)
	// ReadDir lists a directory in ascending order of names.
	ReadDir(name string) ([]fs.DirEntry, error)
	// ReadFile reads a regular file of at most limit bytes: ErrTooLarge above,
	// ErrNotRegular for anything else (it does not wait for a pipe), ErrChanged
	// when the file was replaced or grew meanwhile.
	ReadFile(name string, limit int64) ([]byte, error)
	// ReadFileInfo is ReadFile that also tells about the file it has read.
	ReadFileInfo(name string, limit int64) ([]byte, fs.FileInfo, error)
	// Readlink gives the text of a symbolic link, which may be of any form and lead
	// anywhere, and fs.ErrInvalid for what is none.
	Readlink(name string) (string, error)
	// OpenDir opens a directory that is no symbolic link (ErrNotFolder otherwise).
	// What it gives stays that directory wherever it is moved, so that all that
	// is read of it belongs together.
	OpenDir(name string) (Dir, error)
	// LookOver tells how the folder called name and all that is in it look from
	// outside, without reading any file. ErrNotFolder for what is none, ErrTooLarge
	// for one with more in it than is worth it.
	LookOver(name string) (Sight, error)
	// LookAgain is LookOver for a folder that was looked over before, when it had
	// these names in it (Sight.Names). Where its Sum is the one of then, the folder
	// looks as it did; where it is another one, or there is an error, it says nothing,
	// and LookOver tells.
	LookAgain(name, names string) (Sight, error)
	Close() error
}

// Root is one directory and every effect on files below it. Names are relative
// and "/" separated, without "..", and "." is the directory itself. A symbolic
// link on the way is followed only while it stays below the directory; as the
// last element it is never followed, except by ReadDir and Sync.
//
// Errors are *fs.PathError or *os.LinkError and carry the full path.
type Root interface {
	Dir

	MkdirAll(name string, perm fs.FileMode) error
	// Create writes a file that must not exist. It is durable after Sync.
	Create(name string, data []byte, perm fs.FileMode) error
	// WriteFile writes one file whole: whatever happens, name holds its old
	// content or data, and data once WriteFile has returned nil.
	WriteFile(name string, data []byte, perm fs.FileMode) error
	// WriteFrom is WriteFile for content that is not in one piece.
	WriteFrom(name string, from io.WriterTo, perm fs.FileMode) error
	// Rename moves a file or an empty or staged directory, replacing what the
	// system's rename replaces.
	Rename(oldname, newname string) error
	// RenameNew is Rename that fails with fs.ErrExist when newname is there.
	RenameNew(oldname, newname string) error
	// Exchange swaps two names in one step; errors.ErrUnsupported where the
	// system or its file system has no such step. ReplaceDir knows what to do
	// then.
	Exchange(a, b string) error
	// Symlink makes a symbolic link in one step: fs.ErrExist when name is there. The
	// target is written as it is; nothing asks whether it exists or stays below the
	// root, and nothing here ever follows it out. errors.ErrUnsupported where this
	// user or this disk cannot have links.
	Symlink(target, name string) error
	Remove(name string) error
	RemoveAll(name string) error
	// Sync makes the content of files, and the entries of directories, durable.
	// All names are on one file system: many of them may be served by flushing
	// the one that holds the first.
	Sync(names ...string) error
}

// checkName refuses names that are not relative, clean and "/" separated, before any
// system interprets them its own way.
func checkName(name string) error {
	if !fs.ValidPath(name) || strings.ContainsAny(name, "\\\x00") {
		return fs.ErrInvalid
	}
	return nil
}

// WriteFileAt is Root.WriteFile for one file by a path of the system's own kind.
// The directory must exist. A symbolic link at path is replaced, not followed.
func WriteFileAt(path string, data []byte, perm fs.FileMode) error {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	root, err := Open(dir)
	if err != nil {
		return err
	}
	err = root.WriteFile(base, data, perm)
	return errors.Join(err, root.Close())
}

// parents lists the directories between dir and file, both excluded, outermost
// first; file is below dir.
func parents(dir, file string) []string {
	var out []string
	for at := path.Dir(file); at != dir && at != "."; at = path.Dir(at) {
		out = append(out, at)
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}
