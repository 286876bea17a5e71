//go:build unix

package fsx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/internal/workers"
)

// TestBatchMakesItsDirectory: what is not there yet comes to be in one step, with every
// folder that could be written.
func TestBatchMakesItsDirectory(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	b := NewBatch(r, "skills")
	must(t, b.Put("a", folder("1")))
	must(t, b.Put("twice", []File{{Path: "f", Perm: 0o644}, {Path: "f", Perm: 0o644}}))
	must(t, b.Replace("absent", folder("1"), nil))
	must(t, b.Put("b", folder("2")))
	b.Before = func() error {
		if got := tree(t, filepath.Join(dir, b.stage, stageNew)); len(got) != 6 {
			t.Errorf("%q are staged when Before is asked", got)
		}
		if _, err := r.Lstat("skills"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the directory is there before it may be: %v", err)
		}
		return nil
	}
	errs := b.Commit()
	wantErr(t, errs[0], nil)
	wantErr(t, errs[1], fs.ErrExist)
	wantErr(t, errs[2], fs.ErrNotExist)
	wantErr(t, errs[3], nil)
	same(t, dir, append(want("skills/a", folder("1")), want("skills/b", folder("2"))...))
	if diff := cmp.Diff([]string{"skills"}, entries(t, r)); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(filepath.Join(dir, "skills"))
	must(t, err)
	if info.Mode().Perm() != 0o755 {
		t.Errorf("its mode is %v", info.Mode())
	}
}

func TestBatchOfADirectoryThatAppearsMeanwhile(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	b := NewBatch(r, "skills")
	must(t, b.Put("a", folder("1")))
	must(t, b.Put("b", folder("1")))
	b.Before = func() error { return PutDir(r, "skills/a", folder("2")) }
	for i, err := range b.Commit() {
		if !errors.Is(err, fs.ErrExist) {
			t.Errorf("folder %d gives %v", i, err)
		}
	}
	same(t, dir, want("skills/a", folder("2")))
	if diff := cmp.Diff([]string{"skills"}, entries(t, r)); diff != "" {
		t.Error(diff)
	}
}

func TestBatchThatMayNotMove(t *testing.T) {
	no := errors.New("not yet")
	for _, at := range []string{".", "new"} {
		t.Run(at, func(t *testing.T) {
			dir := t.TempDir()
			r := open(t, dir)
			must(t, PutDir(r, "there", folder("1")))
			b := NewBatch(r, at)
			for i := range 2*partSize + 1 {
				must(t, b.Put(fmt.Sprint("s", i), []File{{Path: "f", Perm: 0o644}}))
			}
			asked := 0
			b.Before = func() error {
				asked++
				return no
			}
			errs := b.Commit()
			if i := slices.IndexFunc(errs, func(err error) bool { return !errors.Is(err, no) }); i >= 0 {
				t.Errorf("folder %d gives %v", i, errs[i])
			}
			if asked != 1 {
				t.Errorf("it was asked %d times", asked)
			}
			same(t, dir, want("there", folder("1")))
			if diff := cmp.Diff([]string{"there"}, entries(t, r)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestBatchOfManyParts has more folders than become durable together, and one among them
// that cannot be written.
func TestBatchOfManyParts(t *testing.T) {
	for _, at := range []string{".", "new"} {
		t.Run(at, func(t *testing.T) {
			dir := t.TempDir()
			r := open(t, dir)
			b := NewBatch(r, at)
			const bad = partSize + 7
			for i := range 3 * partSize {
				files := []File{{Path: "f", Data: []byte(fmt.Sprint(i)), Perm: 0o644}}
				if i == bad {
					files = append(files, files[0])
				}
				must(t, b.Put(fmt.Sprint("s", i), files))
			}
			for i, err := range b.Commit() {
				if (err != nil) != (i == bad) {
					t.Errorf("folder %d gives %v", i, err)
				}
			}
			for i := range 3 * partSize {
				data, err := os.ReadFile(filepath.Join(dir, at, fmt.Sprint("s", i), "f"))
				if i == bad && !errors.Is(err, fs.ErrNotExist) || i != bad && string(data) != fmt.Sprint(i) {
					t.Errorf("folder %d holds %q, %v", i, data, err)
				}
			}
			if n := len(tree(t, dir)); n != 3*partSize-1 {
				t.Errorf("%d files are there", n)
			}
		})
	}
}

// A panic of a writer ended the process past every guard of the command.
func TestAPanicOfAWriterReachesWhoCommits(t *testing.T) {
	b := NewBatch(open(t, t.TempDir()), ".")
	for i := range 10 {
		must(t, b.Put(fmt.Sprint("f", i), folder("1")))
	}
	b.entries[3].part = 7 // there is none
	p := workers.Catch(func() { b.Commit() })
	if p == nil || !strings.Contains(fmt.Sprint(p.Value), "index out of range") || !strings.Contains(string(p.Stack), "fsx.(*commit).write") {
		t.Errorf("%v", p)
	}
}
