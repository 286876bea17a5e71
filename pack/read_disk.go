package pack

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/kortecx/kx/internal/fsx"
)

// maxEntries bounds how many names of one folder are held. A folder with more
// is refused; only its manifests are still looked for.
const maxEntries = 4096

// disk reads one folder into a tree. Every access goes through folder, which checks that
// a name is still what was listed, and follows no link.
type disk struct {
	folder  fsx.Folder
	swapped bool // a name was not what was listed
	tree    *tree
	entries []fs.DirEntry // of the top, ascending by name, without what is no part of the pack
	budget  int64         // bytes that may still be read
	skip    bool          // compiled Python is left out
}

// top lists the folder itself and gives the names.
func (d *disk) top() ([]string, error) {
	entries, more, err := d.folder.List(".", nil, maxEntries)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if name := e.Name(); name != ".git" && name != OwnedMarker {
			names, d.entries = append(names, name), append(d.entries, e)
		}
	}
	if more {
		d.fault(tooMany())
		for _, name := range []string{"skill.json", "instructions.md", "README.md", "skill_manifest.yaml", "SKILL.md"} {
			if info, err := d.folder.Lstat(name); err == nil && !slices.Contains(names, name) {
				names = append(names, name)
				d.entries = append(d.entries, fs.FileInfoToDirEntry(info))
			}
		}
	}
	return names, nil
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
			entries = d.list(dir, seen[dir])
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
					d.fault(tooDeep(p))
				}
				deep = true
			case !isDotGit(e.Name()): // refused for its name; what is in it does not matter
				t.dirs = append(t.dirs, p)
				queue = append(queue, p)
			}
			if len(files) > MaxFiles || len(t.dirs) > MaxFiles || len(t.bytecode) > MaxFiles {
				d.fault(tooMany())
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

// list lists a folder below the top.
func (d *disk) list(name string, e fs.DirEntry) []fs.DirEntry {
	entries, _, err := d.folder.List(name, e, maxEntries)
	if err != nil {
		d.refused(name, err)
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
	f, info, err := d.folder.Open(name, e)
	if err != nil {
		d.refused(name, err)
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

// Not inlined, for the size of the programs.
//
//go:noinline
func (d *disk) fault(e *Error) { d.tree.faults = append(d.tree.faults, e) }

// refused is about a name that could not be opened.
func (d *disk) refused(name string, err error) {
	d.swapped = d.swapped || errors.Is(err, fsx.ErrChanged)
	d.fault(unreadable(name, err))
}

// wrongType is about an entry that is neither a regular file nor a folder where
// one may stand.
func (d *disk) wrongType(name string, typ fs.FileMode) *Error {
	e := &Error{Kind: KindPack, ID: "pack.not-regular", Place: Place{File: name}}
	switch {
	case typ&fs.ModeSymlink != 0:
		e.ID = "pack.symlink"
		e.Text = "this is a symbolic link"
		to, err := d.folder.Readlink(name)
		if err == nil {
			e.Text += " to " + quoted(to)
		}
		d.swapped = d.swapped || errors.Is(err, fsx.ErrChanged)
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
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fsx.ErrChanged) {
		return changed(name)
	}
	return &Error{
		Kind: KindPack, ID: "pack.unreadable", Place: Place{File: name},
		Text: "cannot be read: " + bare(err).Error(),
	}
}

// Not inlined, for the size of the programs.
//
//go:noinline
func changed(name string) *Error {
	return &Error{
		Kind: KindPack, ID: "pack.changed-during-read", Place: Place{File: name},
		Text: "changed while it was being read", Hint: "try again when nothing writes to the folder",
	}
}

func isExecutable(info fs.FileInfo) bool { return info.Mode().Perm()&0o111 != 0 }
