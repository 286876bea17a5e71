package fsx

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
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
const partSize = 192

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

// commit is one Commit at work.
type commit struct {
	*Batch
	errs   []error // by entry
	parts  []part
	failed atomic.Pointer[StageError] // nothing is moved any more

	asked bool   // Before was
	moved []bool // by entry
}

// part are the entries that become durable together.
type part struct {
	open  atomic.Int64 // entries that are not written yet
	names [][]string   // of what was written, by entry
}

func (c *commit) run() {
	if err := c.begin(); err != nil {
		c.fail(err)
	} else if r, ok := c.root.(interface{ writers() int }); ok {
		c.sideBySide(r.writers())
	} else {
		c.inTurn()
	}
	c.end()
}

// inTurn is for who stands between us and the disk, as tests do: one effect comes after
// the other.
func (c *commit) inTurn() {
	for n := range c.parts {
		for i := n * partSize; i < min((n+1)*partSize, len(c.entries)); i++ {
			c.write(i)
		}
		c.move(n)
	}
}

// sideBySide writes several folders at the same time, and moves a part of them while the
// next is written.
func (c *commit) sideBySide(writers int) {
	written := make(chan int, len(c.parts))
	go func() {
		var next atomic.Int64
		var group sync.WaitGroup
		for range min(writers, len(c.entries)) {
			group.Go(func() {
				for i := int(next.Add(1)) - 1; i < len(c.entries) && c.failed.Load() == nil; i = int(next.Add(1)) - 1 {
					if c.write(i) {
						written <- c.entries[i].part
					}
				}
			})
		}
		group.Wait()
		close(written)
	}()
	for n := range written {
		c.move(n)
	}
}

func (c *commit) fail(err error) { c.failed.CompareAndSwap(nil, &StageError{err}) }

// begin makes the directories for what is to be written.
func (c *commit) begin() error {
	if _, err := c.root.Lstat(c.dir); errors.Is(err, fs.ErrNotExist) {
		c.whole, c.stage = true, path.Join(path.Dir(c.dir), path.Base(c.stage))
	}
	// Only this user sees what is not whole yet.
	if err := c.root.MkdirAll(c.stage, 0o700); err != nil {
		return err
	}
	c.made = true
	for n := range c.parts {
		first := n * partSize
		if err := c.root.MkdirAll(path.Dir(c.staged(&c.entries[first])), folderPerm); err != nil {
			return err
		}
		size := min(partSize, len(c.entries)-first)
		c.parts[n].names = make([][]string, size)
		c.parts[n].open.Store(int64(size))
	}
	return nil
}

// write stages one folder, and tells whether it was the last of its part.
func (c *commit) write(i int) bool {
	e := &c.entries[i]
	p := &c.parts[e.part]
	names, err := c.writeOne(e)
	if err != nil {
		c.errs[i], names = &StageError{err}, nil
	}
	p.names[i%partSize] = names
	return p.open.Add(-1) == 0
}

// move makes a part durable and moves it into its place.
func (c *commit) move(n int) {
	names := slices.Concat(c.parts[n].names...)
	if len(names) == 0 || c.failed.Load() != nil {
		return
	}
	if err := c.root.Sync(names...); err != nil {
		c.fail(err)
		return
	}
	if c.whole || !c.ask() {
		return
	}
	for i := n * partSize; i < min((n+1)*partSize, len(c.entries)); i++ {
		switch e := &c.entries[i]; {
		case c.errs[i] != nil:
			continue
		case e.check == nil:
			c.errs[i] = c.root.RenameNew(c.staged(e), c.target(e.name))
		default:
			c.errs[i] = c.swap(e)
		}
		c.moved[i] = c.errs[i] == nil
	}
}

// ask asks Before, once, and tells whether something may be moved.
func (c *commit) ask() bool {
	if !c.asked && c.Before != nil {
		if err := c.Before(); err != nil {
			c.fail(err)
			return false
		}
	}
	c.asked = true
	return true
}

// moveAll gives the directory its name, with all that could be written in it.
func (c *commit) moveAll() {
	all := path.Join(c.stage, stageNew)
	some := false
	for i := range c.entries {
		e := &c.entries[i]
		switch {
		case c.errs[i] == nil && e.check != nil:
			c.errs[i] = &fs.PathError{Op: "replace", Path: c.target(e.name), Err: fs.ErrNotExist}
			fallthrough
		case c.errs[i] != nil:
			if err := c.root.RemoveAll(c.staged(e)); err != nil {
				c.fail(err)
				return
			}
		default:
			some = true
		}
	}
	if !some {
		return
	}
	if err := c.root.Sync(all); err != nil {
		c.fail(err)
		return
	}
	if !c.ask() {
		return
	}
	err := c.root.RenameNew(all, c.dir)
	for i := range c.entries {
		if c.errs[i] == nil {
			c.errs[i], c.moved[i] = err, err == nil
		}
	}
}

// end makes durable where the folders are now, and cleans up.
func (c *commit) end() {
	if c.whole && c.failed.Load() == nil {
		c.moveAll()
	}
	if failed := c.failed.Load(); failed != nil {
		for i, moved := range c.moved {
			if !moved && c.errs[i] == nil {
				c.errs[i] = failed
			}
		}
	}
	if slices.Contains(c.moved, true) {
		// The new entries must be durable before the old folders go: otherwise a
		// power cut could leave neither.
		at := c.dir
		if c.whole {
			at = path.Dir(c.dir)
		}
		if err := c.root.Sync(at); err != nil {
			for i, moved := range c.moved {
				if moved {
					c.errs[i] = err
				}
			}
			return
		}
	}
	// What cannot be removed now is hidden, and SweepStaged tries again.
	_ = c.discard()
}

func (b *Batch) writeOne(e *entry) (written []string, err error) {
	top := b.staged(e)
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
func (b *Batch) swap(e *entry) error {
	staged, target := b.staged(e), b.target(e.name)
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
