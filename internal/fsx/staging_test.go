package fsx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestFoldersThatAreHeldOpenAreStillTheirNames: what moves or is removed through a root
// is never written to by its old name, and files come back wherever they were written.
func TestFoldersThatAreHeldOpenAreStillTheirNames(t *testing.T) {
	base := t.TempDir()
	root, err := Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	stage := StageName()
	var names []string
	for i := range 48 {
		folder := path.Join(stage, fmt.Sprint(i%20), fmt.Sprint(i), "deep")
		do(root.MkdirAll(folder, 0o755))
		do(root.MkdirAll(folder, 0o755))
		do(root.Create(path.Join(folder, "f"), []byte(folder), 0o644))
		if err := root.Create(path.Join(folder, "f"), nil, 0o644); !os.IsExist(err) {
			t.Fatalf("a file is written twice: %v", err)
		}
		names = append(names, folder)
	}
	for _, folder := range names {
		if data, err := os.ReadFile(filepath.Join(base, filepath.FromSlash(folder), "f")); string(data) != folder {
			t.Errorf("%s holds %q, %v", folder, data, err)
		}
	}
	last := names[len(names)-1]
	do(root.Rename(last, path.Join(stage, "moved")))
	if err := root.Create(path.Join(last, "g"), nil, 0o644); !os.IsNotExist(err) {
		t.Errorf("a folder that was moved takes files under its old name: %v", err)
	}
	do(root.Create(path.Join(stage, "moved", "g"), nil, 0o644))
	// The step that puts a folder into its place lets go of that folder alone.
	do(root.Create(path.Join(stage, "1", "1", "e"), nil, 0o644))
	do(root.RenameNew(path.Join(stage, "1"), "placed"))
	if err := root.Create(path.Join(stage, "1", "1", "g"), nil, 0o644); !os.IsNotExist(err) {
		t.Errorf("a folder that is in its place takes files under its old name: %v", err)
	}
	do(root.RenameNew(path.Join(stage, "2"), "second"))
	do(root.MkdirAll(path.Join(stage, "2", "again"), 0o755))
	do(root.Create(path.Join(stage, "2", "again", "f"), []byte("new"), 0o644))
	if err := root.Exchange(path.Join(stage, "2"), "second"); !errors.Is(err, errors.ErrUnsupported) {
		do(err)
		if data, err := os.ReadFile(filepath.Join(base, "second", "again", "f")); string(data) != "new" {
			t.Errorf("what was swapped holds %q, %v", data, err)
		}
		if err := root.Create(path.Join(stage, "2", "again", "g"), nil, 0o644); !os.IsNotExist(err) {
			t.Errorf("a folder that was swapped takes files under its old name: %v", err)
		}
	}
	// The staging itself is another one under the same name.
	do(root.Rename(stage, "old"))
	do(root.MkdirAll(path.Join(stage, "3"), 0o755))
	do(root.RenameNew(path.Join(stage, "3"), "third"))
	if _, err := os.Stat(filepath.Join(base, "third", "3")); err == nil {
		t.Error("a folder of an earlier staging went into its place")
	}
	do(root.RemoveAll(stage))
	if err := root.Create(path.Join(stage, "moved", "h"), nil, 0o644); !os.IsNotExist(err) {
		t.Errorf("a folder that was removed takes files: %v", err)
	}
}

// TestWritersKeepToTheirFolders has many batches at work through one root, while others
// move and remove what is beside them: what one closes, another must not write to.
func TestWritersKeepToTheirFolders(t *testing.T) {
	base := t.TempDir()
	root, err := Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	files := func(name string) (out []File) {
		for _, at := range []string{"z", "a/b/c/f", "a/f", "b/f", "a/b/f", "b/c/f", "last"} {
			out = append(out, File{Path: at, Data: []byte(name + ":" + at), Perm: 0o644})
		}
		return out
	}
	const batches, folders = 8, 60
	var group sync.WaitGroup
	for n := range batches {
		group.Go(func() {
			dir := fmt.Sprint("d", n)
			if n%2 == 0 { // the others come to be with all that is in them
				if err := root.MkdirAll(dir, 0o755); err != nil {
					t.Error(err)
				}
			}
			b := NewBatch(root, dir)
			for i := range folders {
				name := fmt.Sprint("s", i)
				if err := b.Put(name, files(path.Join(dir, name))); err != nil {
					t.Error(err)
				}
			}
			if err := errors.Join(b.Commit()...); err != nil {
				t.Error(err)
			}
			if err := RemoveDir(root, path.Join(dir, "s0"), nil); err != nil {
				t.Error(err)
			}
			if err := ReplaceDir(root, path.Join(dir, "s1"), files(path.Join(dir, "s1")), nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for n := range batches {
		for i := range folders {
			name := path.Join(fmt.Sprint("d", n), fmt.Sprint("s", i))
			for _, file := range files(name) {
				data, err := os.ReadFile(filepath.Join(base, filepath.FromSlash(name), filepath.FromSlash(file.Path)))
				if i == 0 && !os.IsNotExist(err) || i > 0 && string(data) != string(file.Data) {
					t.Fatalf("%s of %s holds %q, %v", file.Path, name, data, err)
				}
			}
		}
	}
	left, err := filepath.Glob(filepath.Join(base, "*", "*", "*", "*", "*", "*"))
	if err != nil || len(left) != batches*(folders-1) {
		t.Errorf("%d files lie as deep as those of one name: %v", len(left), err)
	}
}

// TestWhatCannotBeStagedIsNamed: an error names the place of the file, not that in the
// staging, which nobody knows, and nothing is left of a folder that could not be written.
func TestWhatCannotBeStagedIsNamed(t *testing.T) {
	long := strings.Repeat("n", maxComponent+1)
	for what, tt := range map[string]struct {
		files []File
		op    string
		at    string
		want  error
	}{
		"a file twice":                 {[]File{{Path: "a/f"}, {Path: "a/f"}}, "create", "a/f", fs.ErrExist},
		"a file where a folder is":     {[]File{{Path: "a/f"}, {Path: "a"}}, "create", "a", fs.ErrExist},
		"a file as a folder":           {[]File{{Path: "a"}, {Path: "a/b/f"}}, "mkdir", "a", nil},
		"a name that is too long":      {[]File{{Path: "a/" + long}}, "create", "a/" + long, nil},
		"a folder whose name is so":    {[]File{{Path: "a/" + long + "/f"}}, "mkdir", "a/" + long, nil},
		"a file after one that failed": {[]File{{Path: "f"}, {Path: "f"}, {Path: "g"}}, "create", "f", fs.ErrExist},
	} {
		t.Run(what, func(t *testing.T) {
			base := t.TempDir()
			root, err := Open(base)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			err = PutDir(root, "x", tt.files)
			at, ok := errors.AsType[*fs.PathError](err)
			if !ok || at.Op != tt.op || at.Path != filepath.Join(base, "x", filepath.FromSlash(tt.at)) || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("the error is %v", err)
			}
			if stage, ok := errors.AsType[*StageError](err); !ok {
				t.Errorf("it is no error of staging: %v", stage)
			}
			if left, err := os.ReadDir(base); err != nil || len(left) > 0 {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
}
