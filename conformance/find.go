package conformance

import (
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/kortecx/kx/pack"
)

// maxWalkDepth bounds how deep below an argument packs are looked for.
const maxWalkDepth = 32

// Target is one pack to judge.
type Target struct {
	Path   string      // its folder, as it was reached from the argument
	Format pack.Format // set when the argument named a manifest file

	walked bool // found below an argument, which asked for no pack in particular
}

// wants picks the format that a run asks for. An argument must be of it; what is
// found below one may be of another, unless its folder has both.
func (t Target) wants(f pack.Format) Target {
	if f == "" {
		return t
	}
	if t.walked {
		if _, err := os.Lstat(filepath.Join(t.Path, f.ManifestFile())); err != nil {
			return t
		}
	}
	t.Format = f
	return t
}

// Find lists the packs that paths lead to, argument by argument and ascending
// below each. A path may be a pack's folder, its manifest file, or a folder of
// packs, which is searched to depth 32. Hidden folders are not searched, and
// nothing is looked for inside a pack. A folder that may not be read counts as a
// pack, whose report says so. A link to a pack is one; other linked
// folders are not entered. A path that leads to no pack is an error.
//
// For many packs use Targets, which does not hold them all.
func Find(paths []string) ([]Target, []error) {
	var found []Target
	var errs []error
	for t, err := range Targets(paths) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		found = append(found, t)
	}
	return found, errs
}

// Targets is Find as a sequence: an element is a pack, or the error of one
// argument or folder. A pack that two arguments lead to comes once.
func Targets(paths []string) iter.Seq2[Target, error] {
	return func(yield func(Target, error) bool) {
		w := &walker{yield: yield}
		if len(paths) > 1 {
			w.seen = map[string]bool{}
		}
		for _, path := range paths {
			if !w.argument(path) {
				return
			}
		}
	}
}

// NotFoundError says that a path leads to no pack.
type NotFoundError struct{ Path string }

func (e *NotFoundError) Error() string {
	return e.Path + ": no pack here: no skill.json, skill_manifest.yaml or SKILL.md"
}

type walker struct {
	yield func(Target, error) bool
	seen  map[string]bool // nil for a single argument, which cannot repeat itself
	found int
}

// argument walks one path; false means that the caller wants no more.
func (w *walker) argument(path string) bool {
	t, err := resolve(path)
	if err != nil {
		return w.yield(Target{}, err)
	}
	if t.Format != "" || hasManifest(t.Path) {
		return w.emit(t)
	}
	before := w.found
	if !w.folder(t.Path, 0) {
		return false
	}
	if w.found == before {
		return w.yield(Target{}, &NotFoundError{Path: path})
	}
	return true
}

func (w *walker) emit(t Target) bool {
	w.found++
	if w.seen != nil {
		key := t.Path
		if abs, err := filepath.Abs(key); err == nil {
			key = abs
		}
		if w.seen[key] {
			return true
		}
		w.seen[key] = true
	}
	return w.yield(t, nil)
}

// folder searches a folder that is no pack itself.
func (w *walker) folder(dir string, depth int) bool {
	if depth > maxWalkDepth {
		return w.yield(Target{}, errors.New(dir+": nested too deep to look for packs"))
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrPermission) {
		// It may be a pack, so it is judged as one that cannot be read: to pass over
		// it would be silence about what nobody has seen.
		return w.emit(Target{Path: dir, walked: depth > 0})
	}
	if err != nil {
		return w.yield(Target{}, err)
	}
	if nearMiss(entries) {
		return w.emit(Target{Path: dir, walked: true})
	}
	for _, e := range entries {
		name := e.Name()
		linked := e.Type()&fs.ModeSymlink != 0
		if strings.HasPrefix(name, ".") || (!e.IsDir() && !linked) {
			continue
		}
		child := filepath.Join(dir, name)
		switch {
		case hasManifest(child):
			if !w.emit(Target{Path: child, walked: true}) {
				return false
			}
		case !linked:
			if !w.folder(child, depth+1) {
				return false
			}
		}
	}
	return true
}

// nearMiss tells whether a folder holds a manifest that is written in another
// case. The reader of the pack says how it must be called.
func nearMiss(entries []fs.DirEntry) bool {
	for _, e := range entries {
		for _, f := range pack.Formats {
			if !e.IsDir() && strings.EqualFold(e.Name(), f.ManifestFile()) {
				return true
			}
		}
	}
	return false
}

// hasManifest tells whether the folder holds a file, of whatever kind, by the
// name of a manifest. What is wrong with it is for the reader of the pack.
func hasManifest(dir string) bool {
	for _, f := range pack.Formats {
		if _, err := os.Lstat(filepath.Join(dir, f.ManifestFile())); err == nil {
			return true
		}
	}
	return false
}

// resolve turns an argument into a folder: a manifest file stands for the folder
// that it lies in, and picks its format.
func resolve(path string) (Target, error) {
	if path == "" {
		return Target{}, errors.New("an empty path names no pack")
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return Target{Path: filepath.Clean(path)}, nil
	}
	base := filepath.Base(path)
	for _, f := range pack.Formats {
		if base != f.ManifestFile() {
			continue
		}
		// A link or a FIFO by that name is refused by the reader, with its reason.
		if _, lerr := os.Lstat(path); lerr == nil {
			return Target{Path: filepath.Dir(path), Format: f}, nil
		}
	}
	if err != nil {
		return Target{}, err
	}
	return Target{}, &pack.Error{
		Kind: pack.KindPack, ID: "pack.not-folder",
		Text: path + " is neither a folder nor a manifest file",
		Hint: "name the pack's folder, or its skill.json, skill_manifest.yaml or SKILL.md",
	}
}
