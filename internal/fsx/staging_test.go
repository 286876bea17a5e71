package fsx

import (
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
	stage := stageName()
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
	do(root.RemoveAll(stage))
	if err := root.Create(path.Join(stage, "moved", "h"), nil, 0o644); !os.IsNotExist(err) {
		t.Errorf("a folder that was removed takes files: %v", err)
	}
}
