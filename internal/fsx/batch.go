package fsx

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"
	"sync/atomic"
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

// Batch writes many folders of one directory: it stages them all out of sight,
// makes them durable together, then moves each into its place in one step. What
// it promises, it promises for each folder: old or new. Durable together means one
// wait for the disk however many folders there are (see Root.Sync); because none of
// them is in its place before, a power cut at any moment leaves each as it was or
// whole.
//
// The zero Batch is not usable; call NewBatch, then Put and Replace, then Commit.
type Batch struct {
	root    Root
	dir     string
	stage   string // name below root, made when the first folder is staged
	made    bool
	entries []entry
	names   map[string]bool // of entries
}

type entry struct {
	name  string
	files []File
	check func(old string) error // nil for Put
}

// NewBatch prepares to write folders that lie directly in dir, which must exist
// below root.
func NewBatch(root Root, dir string) *Batch {
	return &Batch{root: root, dir: dir, stage: path.Join(dir, StageName()), names: map[string]bool{}}
}

func (b *Batch) staged(name string) string { return path.Join(b.stage, stageNew, name) }
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
	return b.add(entry{name, files, check})
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
// each Put and Replace in the order of the calls, nil where the folder is in its
// place and durable, a *StageError where it could not even be written. The second
// result is an error that concerns them all: staging could not be made, or not made
// durable, and nothing was moved, or the directory itself could not, and what was moved
// may not survive a power cut.
func (b *Batch) Commit() ([]error, error) {
	errs := make([]error, len(b.entries))
	if len(b.entries) == 0 {
		return errs, nil
	}
	written, err := b.write(errs)
	if err == nil && len(written) > 0 {
		err = b.root.Sync(written...)
	}
	if err != nil || len(written) == 0 {
		return errs, errors.Join(err, b.discard())
	}
	for i, e := range b.entries {
		switch {
		case errs[i] != nil:
		case e.check == nil:
			errs[i] = b.root.RenameNew(b.staged(e.name), b.target(e.name))
		default:
			errs[i] = b.swap(e)
		}
	}
	// The new entries must be durable before the old folders go: otherwise a
	// power cut could leave neither.
	if err := b.root.Sync(b.dir); err != nil {
		return errs, err
	}
	// Everything is in its place. What cannot be removed now is hidden, and
	// SweepStaged tries again.
	_ = b.discard()
	return errs, nil
}

// write stages all folders, and gives the names of what it wrote: files, and
// directories behind what they hold. The errors of single folders go into errs.
func (b *Batch) write(errs []error) ([]string, error) {
	// Only this user sees what is not whole yet.
	if err := b.root.MkdirAll(b.stage, 0o700); err != nil {
		return nil, err
	}
	b.made = true
	if err := b.root.MkdirAll(path.Join(b.stage, stageNew), folderPerm); err != nil {
		return nil, err
	}
	// Whoever stands between us and the disk, as tests do, sees one effect after the
	// other.
	writers := 1
	if r, ok := b.root.(interface{ writers() int }); ok {
		writers = r.writers()
	}
	names := make([][]string, len(b.entries))
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(writers, len(b.entries)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(b.entries); i = int(next.Add(1)) - 1 {
				var err error
				if names[i], err = b.writeOne(b.entries[i]); err != nil {
					errs[i], names[i] = &StageError{err}, nil
				}
			}
		})
	}
	group.Wait()
	return slices.Concat(names...), nil
}

func (b *Batch) writeOne(e entry) (written []string, err error) {
	top := b.staged(e.name)
	if err := b.root.MkdirAll(top, folderPerm); err != nil {
		return nil, err
	}
	seen := map[string]bool{top: true}
	folders := []string{top}
	for _, file := range e.files {
		name := path.Join(top, file.Path)
		for _, folder := range parents(top, name) {
			if seen[folder] {
				continue
			}
			if err := b.root.MkdirAll(folder, folderPerm); err != nil {
				return nil, err
			}
			seen[folder] = true
			folders = append(folders, folder)
		}
		if err := b.root.Create(name, file.Data, file.Perm); err != nil {
			return nil, err
		}
		written = append(written, name)
	}
	slices.Reverse(folders) // an inner directory before the one that names it
	return append(written, folders...), nil
}

// swap puts the staged folder where the old one is.
func (b *Batch) swap(e entry) error {
	staged, target := b.staged(e.name), b.target(e.name)
	err := b.root.Exchange(staged, target)
	if err == nil {
		if refused := e.check(staged); refused != nil {
			if back := b.root.Exchange(staged, target); back != nil {
				return errors.Join(refused, back, b.rescue(staged, target))
			}
			return refused
		}
		return nil
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	// Two renames instead. Between them target is absent; should the process end
	// there, SweepStaged finds the old folder parked and puts it back.
	parked := b.parked(e.name)
	if err := b.root.MkdirAll(path.Dir(parked), 0o700); err != nil {
		return err
	}
	if err := b.root.Rename(target, parked); err != nil {
		return err
	}
	if err = e.check(parked); err == nil {
		err = b.root.RenameNew(staged, target)
	}
	if err != nil {
		if back := b.root.RenameNew(parked, target); back != nil {
			return errors.Join(err, back, b.rescue(parked, target))
		}
		return err
	}
	// Nothing may bring the old folder back from here on: it goes where Exchange
	// would have put it. Should that fail, target is there and says the same.
	_ = b.root.Rename(parked, staged)
	return nil
}

// rescue saves a folder that cannot go back to its place, because something took
// the place meanwhile or the disk fails: it must not go with the staging that it
// is in.
func (b *Batch) rescue(from, target string) error {
	to := target + keptPrefix + rand.Text()[:8]
	if err := b.root.RenameNew(from, to); err != nil {
		b.made = false // the staging stays too
		return err
	}
	return fmt.Errorf("what was there is kept as %s", to)
}

// discard removes what is staged and not in its place.
func (b *Batch) discard() error {
	if !b.made {
		return nil
	}
	b.made = false
	return doom(b.root, b.stage)
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
	errs, err := b.Commit()
	return errors.Join(errs[0], err)
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
