//go:build unix

package fsx

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"
)

// fileEffects takes note of what is done to a file, and of whether "new" is there by then.
type fileEffects struct {
	Root
	t    *testing.T
	done []string
}

func (e *fileEffects) note(what string) {
	if _, err := e.Lstat("new"); err == nil {
		what += " with new"
	}
	e.done = append(e.done, what)
}

func (e *fileEffects) Create(name string, data []byte, perm fs.FileMode) error {
	if name == "new" {
		e.t.Error("it is written where others read it")
	}
	err := e.Root.Create(name, data, perm)
	e.note("create")
	return err
}

func (e *fileEffects) RenameNew(a, b string) error {
	err := e.Root.RenameNew(a, b)
	e.note("rename")
	return err
}

func (e *fileEffects) Sync(names ...string) error {
	e.note("sync")
	return e.Root.Sync(names...)
}

func TestANewFileIsDurableBeforeItHasItsName(t *testing.T) {
	dir := t.TempDir()
	root, err := Open(dir)
	must(t, err)
	defer root.Close()
	e := &fileEffects{Root: root, t: t}
	must(t, PutFile(e, "new", []byte("1"), 0o600))
	if want := []string{"create", "sync", "rename with new", "sync with new"}; !slices.Equal(e.done, want) {
		t.Errorf("%q, want %q", e.done, want)
	}
	if err := PutFile(root, "new", []byte("2"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("again: %v", err)
	}
	left, err := os.ReadDir(dir)
	must(t, err)
	if data, err := root.ReadFile("new", 9); err != nil || string(data) != "1" || len(left) != 1 {
		t.Errorf("%q, %v, among %d files", data, err, len(left))
	}
}
