//go:build unix

package fsx

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/internal/memtest"
)

// effects is a Root that counts the effects that pass through it and lets a test
// step in before one of them.
type effects struct {
	Root
	n      int
	before func(n int, op, name string) error
}

func (e *effects) step(op, name string) error {
	e.n++
	if e.before == nil {
		return nil
	}
	return e.before(e.n, op, name)
}

func (e *effects) MkdirAll(name string, perm fs.FileMode) error {
	if err := e.step("mkdir", name); err != nil {
		return err
	}
	return e.Root.MkdirAll(name, perm)
}

func (e *effects) Create(name string, data []byte, perm fs.FileMode) error {
	if err := e.step("create", name); err != nil {
		return err
	}
	return e.Root.Create(name, data, perm)
}

func (e *effects) WriteFile(name string, data []byte, perm fs.FileMode) error {
	if err := e.step("write", name); err != nil {
		return err
	}
	return e.Root.WriteFile(name, data, perm)
}

func (e *effects) WriteFrom(name string, from io.WriterTo, perm fs.FileMode) error {
	if err := e.step("write", name); err != nil {
		return err
	}
	return e.Root.WriteFrom(name, from, perm)
}

func (e *effects) Rename(a, b string) error {
	if err := e.step("rename", b); err != nil {
		return err
	}
	return e.Root.Rename(a, b)
}

func (e *effects) RenameNew(a, b string) error {
	if err := e.step("renamenew", b); err != nil {
		return err
	}
	return e.Root.RenameNew(a, b)
}

func (e *effects) Exchange(a, b string) error {
	if err := e.step("exchange", b); err != nil {
		return err
	}
	return e.Root.Exchange(a, b)
}

func (e *effects) Symlink(target, name string) error {
	if err := e.step("link", name); err != nil {
		return err
	}
	return e.Root.Symlink(target, name)
}

func (e *effects) Remove(name string) error {
	if err := e.step("remove", name); err != nil {
		return err
	}
	return e.Root.Remove(name)
}

func (e *effects) RemoveAll(name string) error {
	if err := e.step("removeall", name); err != nil {
		return err
	}
	return e.Root.RemoveAll(name)
}

func (e *effects) Sync(names ...string) error {
	if err := e.step("sync", strings.Join(names, " ")); err != nil {
		return err
	}
	return e.Root.Sync(names...)
}

// plain is a Root on a system without a rename that swaps or refuses.
type plain struct{ Root }

func (p plain) Exchange(_, _ string) error { return errors.ErrUnsupported }

func (p plain) RenameNew(a, b string) error {
	if _, err := p.Lstat(b); err == nil {
		return fs.ErrExist
	}
	return p.Rename(a, b)
}

// folder is what the tests write: every file says which version it belongs to.
func folder(version string) []File {
	return []File{
		{"SKILL.md", []byte("version " + version + "\n"), 0o644},
		{"scripts/run.sh", []byte("echo " + version + "\n"), 0o755},
		{"scripts/lib/" + version + ".txt", []byte(version + "\n"), 0o644},
	}
}

// tree reads everything below dir, hidden names included: "path mode: content".
func tree(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			out = append(out, fmt.Sprintf("%s %v", filepath.ToSlash(rel), info.Mode().Type()))
			return nil
		}
		data, err := os.ReadFile(name)
		out = append(out, fmt.Sprintf("%s %o: %s", filepath.ToSlash(rel), info.Mode().Perm(), data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// want is what tree gives for files at name.
func want(name string, files []File) []string {
	var out []string
	for _, f := range files {
		out = append(out, fmt.Sprintf("%s %o: %s", path.Join(name, f.Path), f.Perm, f.Data))
	}
	slices.Sort(out)
	return out
}

func same(t testing.TB, dir string, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", dir, diff)
	}
}

func open(t testing.TB, dir string) Root {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error is %v, want %v", err, want)
	}
}

func entries(t testing.TB, r Root) []string {
	t.Helper()
	list, err := r.ReadDir(".")
	must(t, err)
	out := []string{}
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

// TestMain also is the program that the kill tests end.
func TestMain(m *testing.M) {
	if job := os.Getenv("KX_FSX_CHILD"); job != "" {
		syscall.Umask(0o022)
		if err := child(job, os.Getenv("KX_FSX_DIR")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	syscall.Umask(0o022)
	os.Exit(memtest.Run(m))
}

// child runs one job on dir. KX_FSX_STEP is the effect before which it ends
// itself as hard as a process can be ended. With KX_FSX_BARE nothing stands between the
// job and the disk, and folders are written side by side.
func child(job, dir string) error {
	if job == "made" {
		return writeBelowNew(filepath.Join(dir, "a", "b"))
	}
	base, err := Open(dir)
	if err != nil {
		return err
	}
	if os.Getenv("KX_FSX_PLAIN") != "" {
		base = plain{base}
	}
	e := &effects{Root: base}
	r := Root(e)
	if os.Getenv("KX_FSX_BARE") != "" {
		r = base
	}
	if step, err := strconv.Atoi(os.Getenv("KX_FSX_STEP")); err == nil {
		e.before = func(n int, _, _ string) error {
			if n == step {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
			return nil
		}
	}
	switch job {
	case "many":
		return many(r)
	case "denied":
		if os.Getuid() == 0 {
			if err := syscall.Setuid(65534); err != nil {
				return err
			}
		}
		return denied(r)
	case "loop":
		for i := 0; ; i++ {
			if err := loop(r, strconv.Itoa(i)); err != nil {
				return err
			}
		}
	}
	return jobs[job].run(r)
}

// writeBelowNew writes a file in a directory that need not be there.
func writeBelowNew(dir string) error {
	root, err := OpenOrCreate(dir, 0o755)
	if err != nil {
		return err
	}
	return errors.Join(root.WriteFile("f", []byte("1"), 0o644), root.Close())
}
