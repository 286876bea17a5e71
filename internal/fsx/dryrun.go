package fsx

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

// DryRunRoot answers reads from the root below it and writes nothing: each write
// is recorded instead. Reads do not see recorded writes, with one exception: a
// folder that was moved into staging can be read there, so that the check of
// ReplaceDir and RemoveDir has something to look at.
type DryRunRoot struct {
	root Root

	mu      sync.Mutex
	changes []change
	pending []string          // staged files, not in their place yet
	moved   map[string]string // staged name to the real folder it stands for
}

type change struct {
	target string
	lines  []string
}

var _ Root = (*DryRunRoot)(nil)

// DryRun wraps root. Closing the result closes root.
func DryRun(root Root) *DryRunRoot {
	return &DryRunRoot{root: root, moved: map[string]string{}}
}

// Changes tells what would have been written, in that order, one line for each:
// "create FILE", "write FILE", "mkdir DIR", "replace DIR", "remove NAME",
// "rename A to B", "exchange A and B", "link NAME to TARGET". Staging is not mentioned.
func (d *DryRunRoot) Changes() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, c := range d.changes {
		out = append(out, c.lines...)
	}
	return out
}

func (d *DryRunRoot) record(target string, lines ...string) {
	d.changes = append(d.changes, change{target, lines})
}

// undo takes back the last change of target.
func (d *DryRunRoot) undo(target string) {
	for i, c := range slices.Backward(d.changes) {
		if c.target == target {
			d.changes = slices.Delete(d.changes, i, i+1)
			return
		}
	}
}

func inStage(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), IsStaged)
}

// real is the name to read for a name that may have been moved into staging.
func (d *DryRunRoot) real(name string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for at, target := range d.moved {
		if name == at {
			return target
		}
		if rest, ok := strings.CutPrefix(name, at+"/"); ok {
			return path.Join(target, rest)
		}
	}
	return name
}

func (d *DryRunRoot) Name() string { return d.root.Name() }
func (d *DryRunRoot) Close() error { return d.root.Close() }

func (d *DryRunRoot) Lstat(name string) (fs.FileInfo, error) { return d.root.Lstat(d.real(name)) }

// ReadDir leaves out staging, so that a dry run sweeps nothing.
func (d *DryRunRoot) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := d.root.ReadDir(d.real(name))
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return IsStaged(e.Name()) }), err
}

func (d *DryRunRoot) ReadFile(name string, limit int64) ([]byte, error) {
	return d.root.ReadFile(d.real(name), limit)
}

func (d *DryRunRoot) ReadFileInfo(name string, limit int64) ([]byte, fs.FileInfo, error) {
	return d.root.ReadFileInfo(d.real(name), limit)
}

func (d *DryRunRoot) Readlink(name string) (string, error) { return d.root.Readlink(d.real(name)) }

func (d *DryRunRoot) OpenDir(name string) (Dir, error) { return d.root.OpenDir(d.real(name)) }

// LookOver is that of the root below.
func (d *DryRunRoot) LookOver(name string) (Sight, error) { return d.root.LookOver(d.real(name)) }

// LookAgain is that of the root below.
func (d *DryRunRoot) LookAgain(name, names string) (Sight, error) {
	return d.root.LookAgain(d.real(name), names)
}

// present fails when name is not there.
func (d *DryRunRoot) present(name string) error {
	_, err := d.root.Lstat(name)
	return err
}

// absent fails when name is there.
func (d *DryRunRoot) absent(op, name string) error {
	_, err := d.root.Lstat(name)
	switch {
	case err == nil:
		return &fs.PathError{Op: op, Path: path.Join(d.Name(), name), Err: fs.ErrExist}
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

func (d *DryRunRoot) MkdirAll(name string, _ fs.FileMode) error {
	if inStage(name) || d.present(name) == nil {
		return checkName(name)
	}
	return d.write("mkdir", name)
}

func (d *DryRunRoot) Create(name string, _ []byte, _ fs.FileMode) error {
	if inStage(name) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.pending = append(d.pending, name)
		return checkName(name)
	}
	if err := d.absent("create", name); err != nil {
		return err
	}
	return d.write("create", name)
}

func (d *DryRunRoot) WriteFile(name string, _ []byte, _ fs.FileMode) error {
	return d.write("write", name)
}

func (d *DryRunRoot) WriteFrom(name string, _ io.WriterTo, _ fs.FileMode) error {
	return d.write("write", name)
}

func (d *DryRunRoot) write(verb, name string) error {
	if err := checkName(name); err != nil {
		return &fs.PathError{Op: verb, Path: name, Err: err}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.record(name, verb+" "+name)
	return nil
}

// unstage takes the files that are pending below staged and names them below
// target.
func (d *DryRunRoot) unstage(verb, staged, target string) []string {
	var lines []string
	d.pending = slices.DeleteFunc(d.pending, func(name string) bool {
		rest, ok := strings.CutPrefix(name, staged+"/")
		if ok {
			lines = append(lines, verb+" "+path.Join(target, rest))
		}
		return ok
	})
	return lines
}

func (d *DryRunRoot) Rename(oldname, newname string) error {
	from, to := inStage(oldname), inStage(newname)
	if from && to {
		return nil
	}
	if !from {
		if err := d.present(oldname); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case to:
		d.moved[newname] = oldname
		d.record(oldname, "remove "+oldname)
	case from && d.moved[oldname] == newname:
		delete(d.moved, oldname)
		d.undo(newname)
	case from:
		d.record(newname, d.unstage("create", oldname, newname)...)
	default:
		d.record(newname, "rename "+oldname+" to "+newname)
	}
	return nil
}

func (d *DryRunRoot) RenameNew(oldname, newname string) error {
	d.mu.Lock()
	back := d.moved[oldname] == newname
	d.mu.Unlock()
	if !back && !inStage(newname) {
		if err := d.absent("rename", newname); err != nil {
			return err
		}
	}
	return d.Rename(oldname, newname)
}

func (d *DryRunRoot) Exchange(a, b string) error {
	if err := d.present(b); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case !inStage(a):
		d.record(b, "exchange "+a+" and "+b)
	case d.moved[a] == b:
		delete(d.moved, a)
		d.undo(b)
	default:
		d.moved[a] = b
		d.record(b, append([]string{"replace " + b}, d.unstage("write", a, b)...)...)
	}
	return nil
}

func (d *DryRunRoot) Symlink(target, name string) error {
	if err := checkName(name); err != nil || name == "." || target == "" || strings.ContainsRune(target, 0) {
		return &fs.PathError{Op: "link", Path: name, Err: fs.ErrInvalid}
	}
	if inStage(name) {
		return nil
	}
	if err := d.absent("link", name); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.record(name, "link "+name+" to "+target)
	return nil
}

func (d *DryRunRoot) Remove(name string) error { return d.remove(name) }

func (d *DryRunRoot) RemoveAll(name string) error {
	if errors.Is(d.present(name), fs.ErrNotExist) {
		return nil
	}
	return d.remove(name)
}

func (d *DryRunRoot) remove(name string) error {
	if inStage(name) {
		return nil
	}
	if err := d.present(name); err != nil {
		return err
	}
	return d.write("remove", name)
}

// Sync has nothing to make durable.
func (d *DryRunRoot) Sync(...string) error { return nil }
