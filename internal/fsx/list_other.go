//go:build !linux

package fsx

import (
	"io/fs"
	"strings"

	"github.com/kortecx/kx/internal/sorting"
)

func (r *osRoot) readDir(name string) ([]fs.DirEntry, error) {
	f, err := r.dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	sorting.Sort(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}
