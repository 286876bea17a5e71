package pack

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/kortecx/kx/internal/sorting"
)

// maxEntries bounds how many names of one folder are held. A folder with more
// is refused; only its manifests are still looked for.
const maxEntries = 4096

// disk reads one folder into a tree. Every access goes through root, is checked
// to be of the kind that was seen before it was opened, and follows no link.
type disk struct {
	root    *os.Root
	tree    *tree
	entries []fs.DirEntry // of the top, ascending by name, without what is no part of the pack
	budget  int64         // bytes that may still be read
	skip    bool          // compiled Python is left out
}

// top lists the folder itself and gives the names.
func (d *disk) top() ([]string, error) {
	dir, err := d.root.OpenFile(".", os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, more, err := list(dir, maxEntries)
	if err != nil {
		return nil, err
	}
	d.entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return e.Name() == ".git" || e.Name() == OwnedMarker
	})
	names := make([]string, len(d.entries))
	for i, e := range d.entries {
		names[i] = e.Name()
	}
	if more {
		d.tree.faults = append(d.tree.faults, tooMany())
		for _, name := range []string{"skill.json", "instructions.md", "README.md", "skill_manifest.yaml", "SKILL.md"} {
			if info, err := d.root.Lstat(name); err == nil && !slices.Contains(names, name) {
				names = append(names, name)
				d.entries = append(d.entries, fs.FileInfoToDirEntry(info))
			}
		}
	}
	return names, nil
}

// list gives at most limit entries, ascending by name, and whether there are more.
func list(dir *os.File, limit int) (entries []fs.DirEntry, more bool, err error) {
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

// kortecx reads the three files that a kortecx pack has. The others are only
// named, because they are refused whatever is in them.
func (d *disk) kortecx() {
	t := d.tree
	d.budget = MaxManifest + MaxInstructions + MaxBytes // each of the three has its own limit
	extras := false
	for _, e := range d.entries {
		name := e.Name()
		switch name {
		case "skill.json":
			d.file(name, e, MaxManifest)
		case "instructions.md":
			d.file(name, e, MaxInstructions)
		case "README.md":
			d.file(name, e, MaxBytes)
		default:
			extras = true
			switch {
			case e.IsDir():
				t.dirs = append(t.dirs, name)
			case !e.Type().IsRegular():
				d.fault(d.wrongType(name, e.Type()))
			default:
				f := File{Path: name}
				if info, err := e.Info(); err == nil {
					f.Executable = isExecutable(info)
				}
				t.files = append(t.files, f)
			}
		}
	}
	if extras {
		t.checkPaths(d.entryNames())
	}
}

// entryNames are the names at the top.
func (d *disk) entryNames() []string {
	names := make([]string, len(d.entries))
	for i, e := range d.entries {
		names[i] = e.Name()
	}
	return names
}

// whole reads every file of the folder. The names are collected first, so that a
// folder with too many is refused before anything is read.
func (d *disk) whole() {
	t := d.tree
	if len(t.faults) > 0 { // more entries than we hold
		return
	}
	var files, all []string
	seen := make(map[string]fs.DirEntry)
	deep := false
	for queue := []string{""}; len(queue) > 0; queue = queue[1:] {
		dir, entries := queue[0], d.entries
		if dir != "" {
			entries = d.folder(dir, seen[dir])
		}
		for _, e := range entries {
			p := path.Join(dir, e.Name())
			all = append(all, p)
			seen[p] = e
			switch {
			case d.skip && e.Type().IsRegular() && isBytecode(p):
				t.bytecode = append(t.bytecode, p)
			case !e.IsDir():
				files = append(files, p)
			case strings.Count(p, "/") >= MaxDepth:
				if !deep {
					t.faults = append(t.faults, tooDeep(p))
				}
				deep = true
			case !isDotGit(e.Name()): // refused for its name; what is in it does not matter
				t.dirs = append(t.dirs, p)
				queue = append(queue, p)
			}
			if len(files) > MaxFiles || len(t.dirs) > MaxFiles || len(t.bytecode) > MaxFiles {
				t.faults = append(t.faults, tooMany())
				return
			}
		}
	}
	t.checkPaths(all)
	t.reserved(d.entryNames())
	slices.Sort(files)
	d.budget = MaxBytes
	for _, p := range files {
		if !d.file(p, seen[p], MaxBytes) {
			return
		}
	}
}

// folder lists a folder below the top.
func (d *disk) folder(name string, e fs.DirEntry) []fs.DirEntry {
	dir, _, err := d.open(name, e)
	if err != nil {
		d.fault(err)
		return nil
	}
	defer dir.Close()
	entries, _, readErr := list(dir, maxEntries)
	if readErr != nil {
		d.fault(unreadable(name, readErr))
	}
	return entries
}

// file reads one regular file of at most limit bytes. It answers false when the
// pack is too large as a whole, so that reading on is pointless.
func (d *disk) file(name string, e fs.DirEntry, limit int64) bool {
	if !e.Type().IsRegular() {
		d.fault(d.wrongType(name, e.Type()))
		return true
	}
	f, info, fault := d.open(name, e)
	if fault != nil {
		d.fault(fault)
		return true
	}
	defer f.Close()
	size := info.Size()
	switch {
	case size > limit:
		d.oversized(name, size)
		return true
	case size > d.budget:
		d.fault(tooLarge("", MaxBytes-d.budget+size))
		return false
	}
	data, fault := readStable(name, f, info)
	if fault != nil {
		d.fault(fault)
		return true
	}
	d.budget -= size
	d.tree.files = append(d.tree.files, File{Path: name, Data: data, Executable: isExecutable(info)})
	if links(info) > 1 {
		d.tree.warnings = append(d.tree.warnings, &Error{
			Kind: KindPack, ID: "pack.hardlink", Place: Place{File: name},
			Text: fmt.Sprintf("the file has %d names on this disk and may be changed through another one", links(info)),
		})
	}
	return true
}

// oversized refuses a file by its size alone, in the words of what it is.
func (d *disk) oversized(name string, size int64) {
	switch name {
	case "skill.json":
		d.fault(manifestTooLarge(size))
	case "instructions.md":
		d.fault(instructionsTooLarge(size))
	}
	if size > MaxBytes {
		d.fault(tooLarge(name, size))
	}
}

// open opens a regular file or a folder that was listed as such. What it gets
// is held against what was listed, because the name may have been given to
// something else in between: opening a device may act, and opening a pipe would
// wait but for openFlags.
func (d *disk) open(name string, listed fs.DirEntry) (*os.File, fs.FileInfo, *Error) {
	before, err := listed.Info()
	if err != nil {
		return nil, nil, unreadable(name, err)
	}
	f, err := d.root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil, unreadable(name, err)
	}
	info, err := f.Stat()
	if err != nil || !os.SameFile(before, info) || info.Mode().Type() != listed.Type() {
		f.Close()
		return nil, nil, changed(name)
	}
	return f, info, nil
}

// source is an open file, as far as readStable needs it.
type source interface {
	io.Reader
	Stat() (fs.FileInfo, error)
}

// readStable reads a file whole and makes sure that it is the same before and
// after: a torn read would be hashed and published as if it were the file.
func readStable(name string, f source, before fs.FileInfo) ([]byte, *Error) {
	data := make([]byte, before.Size())
	if _, err := io.ReadFull(f, data); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, changed(name)
	} else if err != nil {
		return nil, unreadable(name, err)
	}
	after, err := f.Stat()
	if err != nil {
		return nil, unreadable(name, err)
	}
	if after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		return nil, changed(name)
	}
	return data, nil
}

func (d *disk) fault(e *Error) { d.tree.faults = append(d.tree.faults, e) }

// wrongType is about an entry that is neither a regular file nor a folder where
// one may stand.
func (d *disk) wrongType(name string, typ fs.FileMode) *Error {
	e := &Error{Kind: KindPack, ID: "pack.not-regular", Place: Place{File: name}}
	switch {
	case typ&fs.ModeSymlink != 0:
		e.ID = "pack.symlink"
		e.Text = "this is a symbolic link"
		if to, err := d.root.Readlink(name); err == nil {
			e.Text += " to " + quoted(to)
		}
		e.Hint = "put a copy of the file in its place"
	case typ.IsDir():
		e.Text = "this is a folder, not a file"
	case typ&fs.ModeNamedPipe != 0:
		e.Text = "this is a named pipe, not a file"
	case typ&fs.ModeSocket != 0:
		e.Text = "this is a socket, not a file"
	case typ&fs.ModeDevice != 0:
		e.Text = "this is a device, not a file"
	default:
		e.Text = "this is not a regular file"
	}
	return e
}

func unreadable(name string, err error) *Error {
	if errors.Is(err, fs.ErrNotExist) {
		return changed(name)
	}
	return &Error{
		Kind: KindPack, ID: "pack.unreadable", Place: Place{File: name},
		Text: "cannot be read: " + bare(err).Error(),
	}
}

func changed(name string) *Error {
	return &Error{
		Kind: KindPack, ID: "pack.changed-during-read", Place: Place{File: name},
		Text: "changed while it was being read", Hint: "try again when nothing writes to the folder",
	}
}

func isExecutable(info fs.FileInfo) bool { return info.Mode().Perm()&0o111 != 0 }
