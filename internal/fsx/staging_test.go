package fsx

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
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
	for i := range 3 * maxOpenFolders {
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
