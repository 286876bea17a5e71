//go:build unix

package fsx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A folder that was made for what then did not come to be is not left, and neither are
// those on the way to it. One that holds something stays, and so does one that was there.
func TestFoldersMadeForNothingGo(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "mine"), 0o755))
	left := func() (names []string) {
		t.Helper()
		must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if path != dir {
				name, _ := filepath.Rel(dir, path)
				names = append(names, filepath.ToSlash(name))
			}
			return err
		}))
		return names
	}
	for name, tt := range map[string]struct {
		dir  string
		do   func(Root) error
		want []string
	}{
		"nothing came":         {"mine/a/b", func(Root) error { return nil }, []string{"mine"}},
		"what came went again": {"mine/a/b", func(r Root) error { return errors.Join(r.WriteFile("x", nil, 0o600), r.Remove("x")) }, []string{"mine"}},
		"it was there":         {"mine", func(Root) error { return nil }, []string{"mine"}},
		"something came beside": {
			"mine/a/b", func(Root) error { return os.WriteFile(filepath.Join(dir, "mine", "a", "other"), nil, 0o600) },
			[]string{"mine", "mine/a", "mine/a/other"},
		},
		"something came": {"mine/a/b", func(r Root) error { return r.WriteFile("x", nil, 0o600) }, []string{"mine", "mine/a", "mine/a/b", "mine/a/b/x"}},
	} {
		root, err := OpenOrCreate(filepath.Join(dir, filepath.FromSlash(tt.dir)), 0o755)
		must(t, err)
		must(t, tt.do(root))
		must(t, root.Close())
		if diff := cmp.Diff(tt.want, left()); diff != "" {
			t.Errorf("%s (-want +left):\n%s", name, diff)
		}
		must(t, os.RemoveAll(filepath.Join(dir, "mine", "a")))
	}
	must(t, EnsureDir(filepath.Join(dir, "mine", "a"), 0o755))
	if diff := cmp.Diff([]string{"mine", "mine/a"}, left()); diff != "" {
		t.Error(diff)
	}
}
