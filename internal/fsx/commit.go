package fsx

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/kortecx/kx/internal/workers"
)

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
	root, ours := c.root.(*osRoot)
	if ours {
		_, _ = root.handle() // before anything is written; see syncWhole
	}
	switch err := c.begin(); {
	case err != nil:
		c.fail(err)
	case ours && len(c.entries) >= crowd:
		workers.Roomy(func() { c.sideBySide(root) })
	case ours:
		c.sideBySide(root)
	default:
		c.inTurn()
	}
	c.end()
}

// inTurn is for who stands between us and the disk, as tests do: one effect comes after
// the other.
func (c *commit) inTurn() {
	for n := range c.parts {
		for i := n * partSize; i < min((n+1)*partSize, len(c.entries)); i++ {
			c.write(i, c.root)
		}
		c.move(n)
	}
}

// crowd is how many folders make it worth while to stop all goroutines for a moment, which
// workers.Roomy does.
const crowd = 16

// sideBySide writes several folders at the same time, and moves a part of them while the
// next is written. There are as many writers as may run at once: small files cost calls and
// not the disk, but now and then one of them waits for what is on its way there.
func (c *commit) sideBySide(root *osRoot) {
	written := make(chan int, len(c.parts))
	var next atomic.Int64
	var writers, all workers.Group
	all.Go(func() {
		defer close(written)
		for range min(runtime.GOMAXPROCS(0), len(c.entries)) {
			writers.Go(func() {
				w := folderWriter{root: root}
				defer w.close()
				for i := int(next.Add(1)) - 1; i < len(c.entries) && c.failed.Load() == nil; i = int(next.Add(1)) - 1 {
					if c.write(i, &w) {
						written <- c.entries[i].part
					}
				}
			})
		}
		writers.Wait()
	})
	for n := range written {
		c.move(n)
	}
	all.Wait()
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

// maker is what of a Root writes a folder.
type maker interface {
	MkdirAll(name string, perm fs.FileMode) error
	Create(name string, data []byte, perm fs.FileMode) error
}

// write stages one folder, and tells whether it was the last of its part.
func (c *commit) write(i int, by maker) bool {
	e := &c.entries[i]
	p := &c.parts[e.part]
	names, err := c.writeOne(e, by)
	if err != nil {
		c.errs[i], names = &StageError{c.inPlace(e, err)}, nil
	}
	p.names[i%partSize] = names
	return p.open.Add(-1) == 0
}

// inPlace names in an error where a file would be, because nobody knows the place where it
// is written.
func (b *Batch) inPlace(e *entry, err error) error {
	at, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		return err
	}
	if rest, ok := strings.CutPrefix(at.Path, filepath.Join(b.root.Name(), b.staged(e))); ok {
		at.Path = filepath.Join(b.root.Name(), b.target(e.name)) + rest
	}
	return err
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

func (b *Batch) writeOne(e *entry, by maker) (written []string, err error) {
	top := b.staged(e)
	if err := by.MkdirAll(top, folderPerm); err != nil {
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
			if err := by.MkdirAll(folder, folderPerm); err != nil {
				return nil, err
			}
			seen[folder] = true
			folders = append(folders, folder)
		}
		if err := by.Create(name, file.Data, file.Perm); err != nil {
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
