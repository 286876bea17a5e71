package pack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kortecx/kx/internal/fsx"
)

// Open reads the folder at path as a pack. The error is Errors with everything
// that is wrong, or an error of the file system for a path that is not there.
func Open(path string, o Options) (*Pack, error) {
	in, err := Inspect(path, o)
	if err != nil {
		return nil, err
	}
	return in.Pack, in.Err()
}

// Inspect reads the folder at path and reports all that it finds. The error is
// for what is not about a pack: path absent, or not a folder.
//
// Links inside the folder are never followed and never read; path itself may be
// one. A .git and the file .kx-owned at the top are no part of the pack. No more
// than the limits of this package is held in memory, and of a kortecx folder
// only the files that a kortecx pack has.
func Inspect(path string, o Options) (*Inspection, error) { return InspectFolder(nil, path, o) }

// InspectFolder is Inspect for a folder that the caller opened at path, and closes. It may
// be nil.
func InspectFolder(folder fsx.Folder, path string, o Options) (*Inspection, error) {
	name, err := folderName(path)
	if err != nil {
		return nil, err
	}
	if folder == nil {
		folder, err = openFolder(path, fsx.OpenFolder)
		switch {
		case errors.Is(err, fs.ErrPermission):
			return &Inspection{Name: name, Faults: Errors{unreadable("", err)}}, nil
		case err != nil:
			return nil, err
		}
		defer folder.Close()
	}
	in, swapped := inspect(folder, name, o)
	if !swapped {
		return in, nil
	}
	// Or the disk lists files by other numbers than it opens them.
	if plain, err := openFolder(path, fsx.OpenPlainFolder); err == nil {
		defer plain.Close()
		in, _ = inspect(plain, name, o)
	}
	return in, nil
}

// inspect is InspectFolder by one way to read folders. It also tells whether something was
// not what it was listed as.
func inspect(folder fsx.Folder, name string, o Options) (in *Inspection, swapped bool) {
	d := disk{folder: folder, tree: &tree{name: name}, skip: o.LeaveBytecode}
	top, err := d.top()
	if err != nil {
		return &Inspection{Name: name, Faults: Errors{unreadable("", err)}}, false
	}
	format, fault := detect(top, o.Format)
	if fault != nil {
		return &Inspection{Name: name, Faults: Errors{fault}}, false
	}
	if format == Kortecx {
		d.kortecx()
	} else {
		d.skip = d.skip && format == Kazma
		d.whole()
	}
	in = d.tree.inspect(format)
	in.Bytecode = d.tree.bytecode
	return in, d.swapped
}

// Read judges files that are in memory as the content of a folder called name
// (an archive, a push). It applies every rule that Inspect applies except those
// of the disk. The answer shares the files' content with the caller.
func Read(name string, files []File, o Options) *Inspection {
	t := &tree{name: name}
	top := make([]string, 0, 8)
	for _, f := range files {
		if f.Path == OwnedMarker {
			continue
		}
		t.files = append(t.files, f)
		if !strings.Contains(f.Path, "/") {
			top = append(top, f.Path)
		}
	}
	format, fault := detect(top, o.Format)
	if fault != nil {
		return &Inspection{Name: name, Faults: Errors{fault}}
	}
	t.memory(format)
	return t.inspect(format)
}

// OwnedMarker is the file that kx writes into a folder which it manages for an
// agent. It describes the folder and is no part of the pack.
const OwnedMarker = ".kx-owned"

// foreignMarker is the same of another installer. In a pack it is refused.
const foreignMarker = ".memclaw-owned"

// folderName is the name that a pack's folder goes by: the last component of the
// path as written, made absolute where that says nothing.
func folderName(path string) (string, error) {
	if path == "" {
		return "", errors.New("the path of the pack is empty")
	}
	name := filepath.Base(path)
	if name == "." || name == ".." || name == string(filepath.Separator) {
		abs, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		name = filepath.Base(abs)
	}
	return name, nil
}

// openFolder opens path, and says it where that is no folder.
func openFolder(path string, open func(string) (fsx.Folder, error)) (fsx.Folder, error) {
	folder, err := open(path)
	if err == nil {
		return folder, nil
	}
	if info, statErr := os.Stat(path); statErr == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder: name the folder that holds the pack", path)
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: bare(err)}
}

// bare takes the path out of a file system's error, where the caller says it
// better.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// detect picks the grammar by the manifests among the names at the top.
func detect(top []string, want Format) (Format, *Error) {
	var found []Format
	for _, f := range Formats {
		if slices.Contains(top, f.ManifestFile()) {
			found = append(found, f)
		}
	}
	if want != "" {
		if slices.Contains(found, want) {
			return want, nil
		}
		if want.ManifestFile() == "" {
			return "", folderError("pack.unknown-format", fmt.Sprintf("there is no format %s", quoted(string(want))),
				"the formats are kortecx, kazma and skill-md")
		}
		return "", folderError("pack.no-manifest", fmt.Sprintf("there is no %s, which a %s pack has", want.ManifestFile(), want), nearMiss(top))
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		hint := nearMiss(top)
		if hint == "" {
			hint = "a pack has skill.json (kortecx), skill_manifest.yaml (kazma) or SKILL.md (skill-md)"
		}
		return "", folderError("pack.no-manifest", "there is no manifest in the folder", hint)
	}
	var files []string
	for _, f := range found {
		files = append(files, fmt.Sprintf("%s (%s)", f.ManifestFile(), f))
	}
	return "", folderError("pack.ambiguous-format", "the folder can be read in more than one format: "+strings.Join(files, ", "),
		"choose one with --pack-format")
}

// nearMiss finds a manifest that is written in another case.
func nearMiss(top []string) string {
	for _, name := range top {
		for _, f := range Formats {
			if strings.EqualFold(name, f.ManifestFile()) && name != f.ManifestFile() {
				return fmt.Sprintf("rename %s to %s", name, f.ManifestFile())
			}
		}
	}
	return ""
}

func folderError(id, text, hint string) *Error {
	return &Error{Kind: KindPack, ID: id, Text: text, Hint: hint}
}

// inspect hands the tree to its format and adds what was found before.
func (t *tree) inspect(format Format) *Inspection {
	t.sort()
	manifest := format.ManifestFile()
	if _, ok := t.file(manifest); !ok && format != Kortecx {
		// The reason is among the faults, except for a folder of that name, which
		// is a fault only as a manifest, and for one in a folder of which too much is there to
		// be read. The grammar has nothing to look at.
		if slices.Contains(t.dirs, manifest) || len(t.faults) == 0 {
			fault := folderError("pack.not-regular", manifest+" is a folder, not a file", "")
			fault.Place.File = manifest
			t.faults = append(Errors{fault}, t.faults...)
		}
		return &Inspection{Format: format, Name: t.name, Faults: t.faults, Warnings: t.warnings}
	}
	var in *Inspection
	switch format {
	case Kortecx:
		return readKortecx(t)
	case Kazma:
		in = readKazma(t)
	case SkillMD:
		in = readSkillMD(t)
	}
	for _, f := range t.faults {
		if !slices.Contains(in.Faults, f) {
			in.Faults = append(in.Faults, f)
		}
	}
	for _, w := range t.warnings {
		if !slices.Contains(in.Warnings, w) {
			in.Warnings = append(in.Warnings, w)
		}
	}
	if len(in.Faults) > 0 {
		in.Pack = nil
	} else if in.Pack != nil {
		in.Pack.Warnings = in.Warnings
	}
	return in
}
