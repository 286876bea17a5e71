package fsx

import (
	"errors"
	"io/fs"
	"path"
	"strconv"
)

// File is one file of a folder that is to be written.
type File struct {
	Path string // below the folder, "/" separated
	Data []byte
	Perm fs.FileMode // less the umask
}

// folderPerm is for the folders that are written; the umask narrows it.
const folderPerm = 0o755

// keptPrefix begins what is put behind the name of a folder that could not go
// back to its place; see rescue.
const keptPrefix = ".kx-kept-"

// Batch writes many folders of one directory: it stages them out of sight, makes them
// durable, then moves each into its place in one step. What it promises, it promises
// for each folder: old or new. None is in its place before it is durable, so a power cut
// at any moment leaves each as it was or whole. A directory that is not there yet comes to
// be with all of its folders in one step.
//
// Folders become durable many at a time, with one wait for the disk (see Root.Sync), and
// while the disk is at work on some, the next are written.
//
// The zero Batch is not usable; call NewBatch, then Put and Replace, then Commit.
type Batch struct {
	// Before, where it is set, is asked once when something is about to be moved into its
	// place. Its error is that of every folder, and nothing is moved.
	Before func() error

	root    Root
	dir     string
	stage   string // name below root, made when the first folder is staged
	made    bool
	whole   bool // dir is made of what is staged
	entries []entry
	names   map[string]bool // of entries
}

type entry struct {
	name  string
	files []File
	check func(old string) error // nil for Put
	part  int
}

// partSize is how many folders become durable together. Fewer would wait for the disk
// more often, more would be done with writing before the disk has begun.
const partSize = 256

// NewBatch prepares to write folders that lie directly in dir, which must exist below
// root, or else the directory that is to hold it.
func NewBatch(root Root, dir string) *Batch {
	return &Batch{root: root, dir: dir, stage: path.Join(dir, StageName()), names: map[string]bool{}}
}

// staged is where a folder is written. Each part has a directory of its own: in a small
// one the system finds a name faster.
func (b *Batch) staged(e *entry) string {
	if b.whole {
		return path.Join(b.stage, stageNew, e.name)
	}
	return path.Join(b.stage, stageNew, strconv.Itoa(e.part), e.name)
}

func (b *Batch) parked(name string) string { return path.Join(b.stage, stageOld, name) }
func (b *Batch) target(name string) string { return path.Join(b.dir, name) }

// Put adds a folder that must not exist when it is committed. Nothing is written yet.
func (b *Batch) Put(name string, files []File) error {
	return b.add(entry{name: name, files: files})
}

// Replace adds a folder that must exist when it is committed. check, which may
// be nil, is called at that moment with the place to which the old folder has
// been moved, where nobody looks for it: when it fails, the old folder goes back
// and its error is that folder's.
func (b *Batch) Replace(name string, files []File, check func(old string) error) error {
	if check == nil {
		check = func(string) error { return nil }
	}
	return b.add(entry{name: name, files: files, check: check})
}

func (b *Batch) add(e entry) error {
	if err := checkName(e.name); err != nil || path.Base(e.name) != e.name || e.name == "." {
		return &fs.PathError{Op: "stage", Path: e.name, Err: fs.ErrInvalid}
	}
	if b.names[e.name] {
		return &fs.PathError{Op: "stage", Path: e.name, Err: fs.ErrExist}
	}
	for _, file := range e.files {
		if err := checkName(file.Path); err != nil || file.Path == "." {
			return &fs.PathError{Op: "stage", Path: path.Join(e.name, file.Path), Err: fs.ErrInvalid}
		}
	}
	b.names[e.name] = true
	e.part = len(b.entries) / partSize
	b.entries = append(b.entries, e)
	return nil
}

// StageError says that a folder could not be written out of sight: it did not come to
// what it was to replace.
type StageError struct{ Err error }

func (e *StageError) Error() string { return e.Err.Error() }

// Unwrap gives what went wrong.
func (e *StageError) Unwrap() error { return e.Err }

// Commit writes every folder and moves it into its place. The result has one error for
// each Put and Replace in the order of the calls: nil where the folder is in its place
// and durable, a *StageError where it is as it was because the new one could not be
// written or not made durable. Where the directory itself could not be made durable, each
// that was moved has that error, and may not survive a power cut.
func (b *Batch) Commit() []error {
	errs := make([]error, len(b.entries))
	if len(b.entries) == 0 {
		return errs
	}
	c := commit{Batch: b, errs: errs, parts: make([]part, (len(b.entries)-1)/partSize+1), moved: make([]bool, len(b.entries))}
	c.run()
	return errs
}

// PutDir writes one new folder: fs.ErrExist when name is there. Afterwards it is
// whole and durable; whatever ends the process meanwhile, it is absent or whole.
func PutDir(r Root, name string, files []File) error {
	return one(r, name, func(b *Batch, base string) error { return b.Put(base, files) })
}

// ReplaceDir writes one folder in the place of another: fs.ErrNotExist when there
// is none. check is that of Batch.Replace and may be nil.
func ReplaceDir(r Root, name string, files []File, check func(old string) error) error {
	return one(r, name, func(b *Batch, base string) error { return b.Replace(base, files, check) })
}

func one(r Root, name string, add func(b *Batch, base string) error) error {
	if err := checkName(name); err != nil {
		return &fs.PathError{Op: "stage", Path: name, Err: err}
	}
	b := NewBatch(r, path.Dir(name))
	if err := add(b, path.Base(name)); err != nil {
		return err
	}
	return b.Commit()[0]
}

// RemoveDir removes one folder whole: whatever ends the process, it is there
// whole, or gone. check, which may be nil, is called with the place to which the
// folder has been moved; when it fails, the folder goes back.
func RemoveDir(r Root, name string, check func(old string) error) error {
	if err := checkName(name); err != nil || name == "." {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrInvalid}
	}
	b := NewBatch(r, path.Dir(name))
	parked := b.parked(path.Base(name))
	if err := r.MkdirAll(path.Dir(parked), 0o700); err != nil {
		return err
	}
	b.made = true
	if err := r.Rename(name, parked); err != nil {
		return errors.Join(err, b.discard())
	}
	if check != nil {
		if err := check(parked); err != nil {
			if back := r.RenameNew(parked, name); back != nil {
				err = errors.Join(err, back, b.rescue(parked, name))
			}
			return errors.Join(err, b.discard())
		}
	}
	// From this rename on no sweep puts it back.
	dead, err := kill(r, b.stage)
	if err != nil {
		return err
	}
	if err := r.Sync(b.dir); err != nil {
		return err
	}
	_ = r.RemoveAll(dead) // as in Commit
	return nil
}
