package pack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kortecx/kx/internal/sorting"
)

// tree is a folder's content as read, before any grammar looks at it. A format
// is one function from a tree to an Inspection; it need not repeat faults and
// warnings, because the caller adds them to its answer.
type tree struct {
	name     string   // last component of the absolute cleaned path, or the name given to Read
	files    []File   // regular files, ascending by path
	faults   Errors   // what could not be read or may not be there, ascending by path
	warnings []*Error // accepted with a remark, ascending by path
	dirs     []string // sub-folders, ascending
	bytecode []string // compiled Python that was left out, ascending
}

// file gives the content of one file that was read.
func (t *tree) file(path string) ([]byte, bool) {
	i, ok := slices.BinarySearchFunc(t.files, path, func(f File, path string) int { return strings.Compare(f.Path, path) })
	if !ok {
		return nil, false
	}
	return t.files[i].Data, true
}

// sort brings everything into the order that the fields promise. Faults of one
// path keep the order in which they were found.
func (t *tree) sort() {
	byPlace := func(a, b *Error) int { return strings.Compare(a.Place.File, b.Place.File) }
	sorting.Sort(t.files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	sorting.Stable(t.faults, byPlace)
	sorting.Stable(t.warnings, byPlace)
	slices.Sort(t.dirs)
	slices.Sort(t.bytecode)
}

// memory applies the rules of names and sizes to files that never were on a
// disk. Of a kortecx pack only the top matters: what is below is refused as a
// folder, however much it is.
func (t *tree) memory(format Format) {
	t.sort()
	t.dropDuplicates()
	paths := make([]string, 0, len(t.files))
	dirs := make(map[string]bool)
	total, deepest := 0, ""
	for _, f := range t.files {
		paths = append(paths, f.Path)
		total += len(f.Data)
		for i := range len(f.Path) {
			if i > 0 && f.Path[i] == '/' {
				dirs[f.Path[:i]] = true
			}
		}
		if deepest == "" && strings.Count(f.Path, "/") > MaxDepth {
			deepest = f.Path
		}
	}
	for dir := range dirs {
		t.dirs = append(t.dirs, dir)
		if _, ok := t.file(dir); ok {
			t.faults = append(t.faults, pathError("pack.duplicate-path", dir, fmt.Sprintf("the path %s is both a file and a folder", quoted(dir))))
		}
	}
	if format != Kortecx {
		if deepest != "" {
			t.faults = append(t.faults, tooDeep(deepest))
		}
		if len(t.files) > MaxFiles || len(t.dirs) > MaxFiles {
			t.faults = append(t.faults, tooMany())
		}
		if total > MaxBytes {
			t.faults = append(t.faults, tooLarge("", int64(total)))
		}
		t.reserved(paths)
	}
	t.checkPaths(paths)
}

// dropDuplicates keeps the first of two files with one path.
func (t *tree) dropDuplicates() {
	t.files = slices.CompactFunc(t.files, func(kept, f File) bool {
		if kept.Path != f.Path {
			return false
		}
		t.faults = append(t.faults, pathError("pack.duplicate-path", f.Path, fmt.Sprintf("the path %s is there twice", quoted(f.Path))))
		return true
	})
}

func tooMany() *Error {
	return &Error{
		Kind: KindPack, ID: "pack.too-many", Text: fmt.Sprintf("there are more than %d files or folders", MaxFiles),
		Hint: "leave out what the skill does not need, such as build output and dependencies",
	}
}

func tooDeep(path string) *Error {
	return &Error{
		Kind: KindPack, ID: "pack.too-deep", Place: Place{File: path},
		Text: fmt.Sprintf("folders nest deeper than %d", MaxDepth),
	}
}

// tooLarge is about one file, or about all together when path is empty.
func tooLarge(path string, size int64) *Error {
	what := "all files together are"
	if path != "" {
		what = "the file is"
	}
	return &Error{
		Kind: KindPack, ID: "pack.too-large", Place: Place{File: path},
		Text: fmt.Sprintf("%s %d bytes long, %d are allowed", what, size, MaxBytes),
	}
}
