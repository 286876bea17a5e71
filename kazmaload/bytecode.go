package kazmaload

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
)

const (
	cacheFolder = "__pycache__"
	// pycHeader is how long the head of compiled Python is: a magic number, flags,
	// and the source's time and size.
	pycHeader = 16
)

// judgeBytecode refuses compiled Python that an interpreter would run in place of the
// source that was judged. What it would throw away, because it is of another source,
// does no harm, and is counted.
func judgeBytecode(root fsx.Root, in *pack.Inspection) (stale int, err error) {
	for _, file := range in.Bytecode {
		old, err := isStale(root, in.Pack, file)
		if err != nil {
			return 0, hubapi.Errorf(hubapi.Invalid, "%v", err)
		}
		if !old {
			e := refused(in.Name, IDBytecode, "remove it; with PYTHONDONTWRITEBYTECODE=1 Python leaves none behind",
				"%s is compiled Python, which may run in place of the source that was checked", file)
			e.Details[0].File = file
			return 0, e
		}
		stale++
	}
	return stale, nil
}

// isStale tells whether Python throws the compiled file away by itself: it says the
// time and size of its source, and they are not those of the source that is here.
// Whatever else it says, it could be run.
func isStale(root fsx.Root, p *pack.Pack, file string) (bool, error) {
	source, ok := sourceOf(file)
	if !ok || !slices.ContainsFunc(p.Files, func(f pack.File) bool { return f.Path == source }) {
		return false, nil
	}
	data, err := root.ReadFile(file, pack.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil || len(data) < pycHeader {
		return false, err
	}
	info, err := root.Lstat(source)
	if err != nil {
		return false, err
	}
	flags := binary.LittleEndian.Uint32(data[4:])
	modified, size := binary.LittleEndian.Uint32(data[8:]), binary.LittleEndian.Uint32(data[12:])
	//nolint:gosec // both are cut to 32 bits by Python too
	return flags == 0 && (modified != uint32(info.ModTime().Unix()) || size != uint32(info.Size())), nil
}

// sourceOf is the source that a file in a cache folder was compiled from:
// pkg/__pycache__/main.cpython-312.pyc is of pkg/main.py.
func sourceOf(file string) (string, bool) {
	dir, base := path.Split(file)
	dir = path.Clean(dir)
	if path.Base(dir) != cacheFolder {
		return "", false
	}
	module, _, ok := strings.Cut(base, ".")
	if !ok || module == "" {
		return "", false
	}
	return path.Join(path.Dir(dir), module+".py"), true
}
