package deliver

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
)

// readContents reads every file of a skill's folder but the marker, to merge it. What
// is no regular file could not be written again, and ends it.
func readContents(root fsx.Dir, slug string) (map[string]content, error) {
	dir, err := root.OpenDir(slug)
	if err != nil {
		return nil, meanwhile(err)
	}
	defer dir.Close()
	out, size := map[string]content{}, 0
	var walk func(below string) error
	walk = func(below string) error {
		entries, err := dir.ReadDir(below)
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(below, e.Name())
			switch {
			case e.IsDir():
				if err := walk(name); err != nil {
					return err
				}
				continue
			case name == MarkerFile:
				continue
			case !e.Type().IsRegular():
				return unmergeable(slug, name, "it is not a regular file")
			case len(out) >= 2*pack.MaxFiles:
				return unmergeable(slug, name, "the folder has too many files")
			}
			data, info, err := dir.ReadFileInfo(name, pack.MaxBytes)
			if errors.Is(err, fsx.ErrTooLarge) || size > 4*pack.MaxBytes {
				return unmergeable(slug, name, "it is too large")
			}
			if err != nil {
				return err
			}
			size += len(data)
			out[name] = content{data: data, executable: info.Mode()&0o111 != 0}
		}
		return nil
	}
	if err := walk("."); err != nil {
		return nil, meanwhile(err)
	}
	return out, nil
}

func unmergeable(slug, file, why string) error {
	return refusal(hubapi.Conflict, IDLocalEdits, slug+"/"+file, "the folder %s was edited and cannot be merged: of %s, %s", slug, file, why).
		WithHint("move your own files elsewhere first")
}

// contentsOf is what a pack is in the folder called slug.
func contentsOf(p *pack.Pack, slug string) (map[string]content, error) {
	files, err := render(p, slug)
	if err != nil {
		return nil, err
	}
	out := make(map[string]content, len(files))
	for _, f := range files {
		out[f.Path] = content{data: f.Data, executable: f.Perm&0o100 != 0}
	}
	return out, nil
}

func asFiles(contents map[string]content) []fsx.File {
	out := make([]fsx.File, 0, len(contents)+1) // room for the marker
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		c := contents[name]
		perm := fs.FileMode(fileMode)
		if c.executable {
			perm = executableMode
		}
		out = append(out, fsx.File{Path: name, Data: c.data, Perm: perm})
	}
	return out
}

// stillHolds fails when the folder, which is now at moved, is not the one that was
// merged, to the byte.
func (s *State) stillHolds(root fsx.Root, moved string, seen map[string]content) error {
	if err := s.still(root, moved, true); err != nil {
		return err
	}
	now, err := readContents(root, moved)
	if err != nil {
		return err
	}
	same := func(a, b content) bool { return bytes.Equal(a.data, b.data) }
	if !maps.EqualFunc(now, seen, same) {
		return errMeanwhile
	}
	return nil
}
