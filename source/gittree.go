package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// maxTree bounds one folder of a repository, in bytes: some 200,000 names.
const maxTree = 8 << 20

// gitWalk finds the packs in a tree.
type gitWalk struct {
	ctx     context.Context
	objects storer.EncodedObjectStorer
	limits  Limits
	ref     Ref
	entries int
	bytes   int64
	found   []Found
	notes   []hubapi.Detail
}

// find starts at the folder that the reference names.
func (w *gitWalk) find(root plumbing.Hash) error {
	tree, err := w.tree(root, "")
	if err != nil {
		return err
	}
	at := ""
	var parent []treeEntry
	for name := range strings.SplitSeq(w.ref.Path, "/") {
		if w.ref.Path == "" {
			break
		}
		at = path.Join(at, name)
		var next *treeEntry
		for i := range tree {
			if tree[i].Name == name {
				next = &tree[i]
			}
		}
		switch {
		case next == nil:
			return fail(hubapi.NotFound, "source.not-found", "there is no folder %s in %s", clip(w.ref.Path), w.ref.Location)
		case next.Mode == filemode.Symlink:
			return fail(hubapi.Invalid, "pack.symlink", "%s is a symbolic link", clip(at)).WithHint("name the folder that it leads to")
		case next.Mode != filemode.Dir:
			return fail(hubapi.Invalid, "source.not-folder", "%s is not a folder", clip(at))
		}
		parent = tree
		if tree, err = w.tree(next.Hash, at); err != nil {
			return err
		}
	}
	return w.folder(tree, parent, at, 0)
}

// tree lists a folder and refuses names by which a checkout would reach git's own
// files.
func (w *gitWalk) tree(h plumbing.Hash, at string) ([]treeEntry, error) {
	if err := w.ctx.Err(); err != nil {
		return nil, err
	}
	if size, err := w.objects.EncodedObjectSize(h); err != nil || size > maxTree {
		if err == nil {
			err = tooManyEntries(w.limits)
		}
		return nil, err
	}
	data, err := w.read(plumbing.TreeObject, h, maxTree)
	if err != nil {
		return nil, err
	}
	entries, err := parseTree(data)
	if err != nil {
		return nil, err
	}
	if w.entries += len(entries); w.entries > w.limits.Entries {
		return nil, tooManyEntries(w.limits)
	}
	for _, e := range entries {
		if fault := pack.CheckPath(e.Name); fault != nil && fault.ID == "path.dotgit" {
			return nil, fail(hubapi.Invalid, fault.ID, "the repository has an entry %q in %q, which some systems take for git's own", clip(e.Name), clip(at))
		}
		if strings.Contains(e.Name, "/") || e.Name == ".." || e.Name == "." || e.Name == "" {
			return nil, fail(hubapi.Invalid, "path.portable", "the repository has an entry %q in %q, which no folder can have", clip(e.Name), clip(at))
		}
	}
	return entries, nil
}

// folder looks in a tree, and below it; parent is the tree that holds it.
func (w *gitWalk) folder(tree, parent []treeEntry, at string, depth int) error {
	for _, e := range tree {
		if isManifest(e.Name) && e.Mode != filemode.Dir && e.Mode != filemode.Submodule {
			if len(w.found) >= w.limits.Packs {
				return tooManyPacks(w.limits)
			}
			return w.pack(tree, parent, at)
		}
	}
	for _, e := range tree {
		p := path.Join(at, e.Name)
		switch {
		case e.Mode == filemode.Submodule:
			w.notes = note(w.notes, "source.submodule", p, "is another repository and was left out")
		case e.Mode == filemode.Symlink:
		case e.Mode != filemode.Dir:
			if m := nearMiss(e.Name); m != "" {
				w.notes = note(w.notes, "source.near-miss", p, "makes no pack: it would have to be called "+m)
			}
			if e.Name == ".gitattributes" {
				w.filters(e, p)
			}
		case pruned(e.Name):
		case depth >= w.limits.Depth:
			w.notes = note(w.notes, "source.too-deep", p, fmt.Sprintf("was not searched: it is more than %d folders deep", w.limits.Depth))
		default:
			below, err := w.tree(e.Hash, p)
			if err != nil {
				return err
			}
			if err := w.folder(below, tree, p, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// filters remarks that a checkout would run programs over the files. Nothing is
// checked out here, so none is run.
func (w *gitWalk) filters(e treeEntry, p string) {
	if size, err := w.objects.EncodedObjectSize(e.Hash); err != nil || size > 64<<10 {
		return
	}
	if data, err := w.blob(e.Hash, 64<<10); err == nil && bytes.Contains(data, []byte("filter=")) {
		w.notes = note(w.notes, "source.filter", p, "asks for filters, which were not run: files are as they are stored")
	}
}

// pack reads the folder at a place as a pack.
func (w *gitWalk) pack(tree, parent []treeEntry, at string) error {
	c := packFiles{walk: w, at: at}
	if err := c.folder(tree, "", 0); err != nil {
		return err
	}
	name := path.Base(at)
	if at == "" {
		name = strings.TrimSuffix(path.Base(strings.ReplaceAll(w.ref.Location, ":", "/")), ".git")
	}
	in := pack.Read(name, c.files, pack.Options{})
	if at == "" && len(in.Faults) == 1 && in.Faults[0].ID == "pack.name-mismatch" {
		// A repository may be called as it likes, and a clone of it too.
		in = pack.Read(in.Name, c.files, pack.Options{})
	}
	if len(c.faults) > 0 {
		in.Pack, in.Faults = nil, append(c.faults, in.Faults...)
	}
	found := foundOf(at, in)
	signatureBeside(&found, w.beside(parent))
	w.found = append(w.found, found)
	return nil
}

// packFiles collects the files of one pack.
type packFiles struct {
	walk   *gitWalk
	at     string
	files  []pack.File
	size   int64
	faults pack.Errors
	full   bool
}

func (c *packFiles) fault(id, p, text string) {
	c.faults = append(c.faults, &pack.Error{Kind: pack.KindPack, ID: id, Place: pack.Place{File: p}, Text: text})
}

func (c *packFiles) folder(tree []treeEntry, at string, depth int) error {
	for _, e := range tree {
		p := path.Join(at, e.Name)
		if c.full {
			return nil
		}
		switch e.Mode {
		case filemode.Dir:
			if depth > pack.MaxDepth {
				c.fault("pack.too-deep", p, fmt.Sprintf("folders nest deeper than %d", pack.MaxDepth))
				c.full = true
				return nil
			}
			below, err := c.walk.tree(e.Hash, path.Join(c.at, p))
			if err != nil {
				return err
			}
			if err := c.folder(below, p, depth+1); err != nil {
				return err
			}
		case filemode.Symlink:
			text := "this is a symbolic link"
			if to, err := c.walk.blob(e.Hash, 4096); err == nil {
				text += fmt.Sprintf(" to %q", clip(string(to)))
			}
			c.fault("pack.symlink", p, text)
		case filemode.Submodule:
			c.walk.notes = note(c.walk.notes, "source.submodule", path.Join(c.at, p), "is another repository and was left out")
		default:
			if err := c.file(e, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *packFiles) file(e treeEntry, p string) error {
	w := c.walk
	size, err := w.objects.EncodedObjectSize(e.Hash)
	if err != nil {
		return err
	}
	switch {
	case size > pack.MaxBytes-c.size:
		c.fault("pack.too-large", "", fmt.Sprintf("the files are larger than %d MiB together", pack.MaxBytes>>20))
		c.full = true
		return nil
	case len(c.files) > pack.MaxFiles: // one too many: package pack says so
		c.full = true
		return nil
	case size > w.limits.Bytes-w.bytes:
		return fail(hubapi.TooLarge, "fetch.too-large", "the packs hold more than %d MiB", w.limits.Bytes>>20).
			WithHint("name the folder in the source that you want")
	}
	data, err := w.blob(e.Hash, size)
	if err != nil {
		return err
	}
	c.size += size
	w.bytes += size
	if bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/")) {
		w.notes = note(w.notes, "source.lfs", path.Join(c.at, p), "is a pointer to a file that is stored elsewhere (Git LFS), and was taken as it is")
	}
	c.files = append(c.files, pack.File{Path: p, Data: data, Executable: e.Mode == filemode.Executable})
	return nil
}

// blob reads a file whole. The size was looked up before; it is not believed.
func (w *gitWalk) blob(h plumbing.Hash, limit int64) ([]byte, error) {
	return w.read(plumbing.BlobObject, h, limit)
}

func (w *gitWalk) read(kind plumbing.ObjectType, h plumbing.Hash, limit int64) ([]byte, error) {
	o, err := w.objects.EncodedObject(kind, h)
	if err != nil {
		return nil, err
	}
	r, err := o.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = errors.New("an object is larger than it says")
	}
	return data, err
}
