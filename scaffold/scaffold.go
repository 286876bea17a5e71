// Package scaffold writes new skill packs: small, complete, and passing every
// check at once, so that the first change an author makes is the first thing that
// can be wrong. It changes nothing that exists and asks nothing.
//
// Call New for a new pack, Convert for an old one in another format.
package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sort"
	"strings"

	"github.com/kortecx/kx/conformance"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
)

// Options for New.
type Options struct {
	Name   string      // of the pack and of its folder
	Dir    string      // where the folder is made; empty means the current directory; missing parents are made
	Format pack.Format // empty means kortecx

	Description string   // empty gives one that asks to be replaced
	Author      string   // kazma only; empty means "local"
	Tools       []string // wishes, "id@version" or "id" for version 1; kortecx only
	Tags        []string // not for skill-md, which has none
}

// Result is what was written.
type Result struct {
	Path   string      `json:"path"`   // of the pack's folder, as Dir and Name give it
	Format pack.Format `json:"format"` // of the pack
	Files  []string    `json:"files"`  // in it, ascending
}

// New writes a pack into Dir/Name. The folder may exist when it is empty; anything
// else in its place is an error and is left alone. The folder appears whole or not
// at all. The error is a *pack.Error for options that make no pack.
func New(o Options) (Result, error) {
	if o.Format == "" {
		o.Format = pack.Kortecx
	}
	files, err := build(o)
	if err != nil {
		return Result{}, err
	}
	dir := o.Dir
	if dir == "" {
		dir = "."
	}
	if err := write(dir, o.Name, files); err != nil {
		return Result{}, err
	}
	r := Result{Path: filepath.Join(dir, o.Name), Format: o.Format}
	for _, f := range files {
		r.Files = append(r.Files, f.Path)
	}
	sort.Strings(r.Files)
	return r, nil
}

// build makes the files and proves that they pass, before anything is written.
func build(o Options) ([]pack.File, error) {
	var files []pack.File
	var err error
	switch o.Format {
	case pack.Kortecx:
		files, err = kortecx(o)
	case pack.Kazma:
		files, err = kazma(o)
	case pack.SkillMD:
		files, err = skillMD(o)
	default:
		return nil, refuse("new.format", fmt.Sprintf("format %q is not one of kortecx, kazma, skill-md", o.Format), "")
	}
	if err != nil {
		return nil, err
	}
	if fault := pack.CheckPath(o.Name); fault != nil {
		return nil, refuse("name.portable", fault.Text, "choose a name that can be a folder on every system")
	}
	sort.Slice(files, func(i, k int) bool { return files[i].Path < files[k].Path })
	in := pack.Read(o.Name, files, pack.Options{Format: o.Format})
	if err := in.Err(); err != nil {
		return nil, err
	}
	if r := conformance.Judge(in, o.Name, conformance.Options{}); !r.Passed {
		f := r.Findings[0]
		return nil, refuse(f.ID, f.Message, f.Hint)
	}
	return files, nil
}

// write puts the folder into dir in one step.
func write(dir, name string, files []pack.File) (err error) {
	root, err := fsx.OpenOrCreate(dir, 0o755)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	out := onDisk(files)
	// What a killed run left here is not ours to complain about.
	_ = fsx.SweepStaged(root, ".")
	target := filepath.Join(dir, name)
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = fsx.PutDir(root, name, out)
		if errors.Is(err, fs.ErrExist) {
			return inTheWay(target, "it appeared meanwhile")
		}
		return err
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return inTheWay(target, "it is a link")
	case !info.IsDir():
		return inTheWay(target, "it is a file")
	}
	empty := func(at string) error {
		entries, err := root.ReadDir(at)
		if err == nil && len(entries) > 0 {
			return inTheWay(target, "it is a folder that is not empty")
		}
		return err
	}
	if err := empty(name); err != nil {
		return err
	}
	return fsx.ReplaceDir(root, name, out, empty)
}

// onDisk gives files the modes that they have on disk.
func onDisk(files []pack.File) []fsx.File {
	out := make([]fsx.File, 0, len(files))
	for _, f := range files {
		out = append(out, fsx.File{Path: f.Path, Data: f.Data, Perm: f.Mode()})
	}
	return out
}

func inTheWay(target, why string) error {
	return refuse("new.exists", target+" cannot be used: "+why, "choose another name or another --dir; nothing was written")
}

// Not inlined, for the size of the programs.
//
//go:noinline
func refuse(id, text, hint string) *pack.Error {
	return &pack.Error{Kind: pack.KindPack, ID: id, Text: text, Hint: hint}
}

// tools reads the wishes of a kortecx pack.
func tools(list []string) (map[string]string, error) {
	wishes := map[string]string{}
	for _, wish := range list {
		id, version, found := strings.Cut(wish, "@")
		if !found {
			version = "1"
		}
		if e := pack.ValidToolID(id); e != nil {
			return nil, e
		}
		if e := pack.ValidVersion(version); e != nil {
			e.Text = strings.Replace(e.Text, "skill.version", "skill.tools["+id+"]", 1)
			return nil, e
		}
		if old, twice := wishes[id]; twice && old != version {
			return nil, refuse("new.tool", "tool "+id+" is wished for at version "+old+" and at version "+version, "")
		}
		wishes[id] = version
	}
	return wishes, nil
}

// noTools refuses wishes for a format that has no word for them.
func noTools(o Options) error {
	if len(o.Tools) == 0 {
		return nil
	}
	return refuse("new.tool", fmt.Sprintf("a %s pack cannot wish for tools", o.Format),
		"wishes are part of the kortecx format; leave --tool out, or make a kortecx pack")
}
