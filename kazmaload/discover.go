package kazmaload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

// MaxSkills is how many skills of one folder are looked at.
const MaxSkills = 4096

// Found is what a folder of skills holds, ascending by the name of the folder.
type Found struct {
	Loaded  []*Loaded
	Refused []Refused
}

// Refused is a skill that must not be loaded.
type Refused struct {
	Folder string
	Dir    string
	Err    *hubapi.Error
}

// Discover judges every skill in the folder root: its sub-folders with a
// skill_manifest.yaml. One that is refused hides no other. Without the folder there
// are none. The error is for a folder that cannot be listed, and for ctx.
func Discover(ctx context.Context, root string, secrets sign.Secrets, policy Policy) (Found, error) {
	var out Found
	dir, err := fsx.Open(root)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return out, hubapi.Errorf(hubapi.Invalid, "cannot read the folder of skills: %v", err)
	}
	entries, err := dir.ReadDir(".")
	if err := errors.Join(err, dir.Close()); err != nil {
		return out, hubapi.Errorf(hubapi.Invalid, "cannot read the folder of skills: %v", err)
	}
	seen := 0
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		at := filepath.Join(root, e.Name())
		link := e.Type()&fs.ModeSymlink != 0
		if !e.IsDir() && !link || !hasManifest(at) {
			continue
		}
		if seen++; seen > MaxSkills {
			return out, hubapi.Errorf(hubapi.TooLarge, "%s holds more than %d skills", root, MaxSkills)
		}
		if link {
			out.Refused = append(out.Refused, Refused{Folder: e.Name(), Dir: at, Err: linked(e.Name())})
			continue
		}
		loaded, err := Load(at, secrets, policy)
		if err != nil {
			out.Refused = append(out.Refused, Refused{Folder: e.Name(), Dir: at, Err: hubapi.AsError(err)})
			continue
		}
		loaded.Folder, loaded.Pack = e.Name(), nil
		out.Loaded = append(out.Loaded, loaded)
	}
	out.twice()
	return out, nil
}

// hasManifest tells whether a folder means to be a kazma skill, whatever its manifest
// is: also one that cannot be read is told of.
func hasManifest(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, pack.Kazma.ManifestFile()))
	return err == nil
}

// twice says of skills that share a name that they do.
func (f *Found) twice() {
	by := map[string]string{}
	for _, l := range f.Loaded {
		if other, ok := by[l.Manifest.Name]; ok {
			l.Warnings = append(l.Warnings, fmt.Sprintf("the folder %s calls itself %s too", other, l.Manifest.Name))
			continue
		}
		by[l.Manifest.Name] = l.Folder
	}
}
