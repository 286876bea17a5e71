//go:build unix

package fsx

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSymlink(t *testing.T) {
	outside := t.TempDir()
	dir := t.TempDir()
	r := open(t, dir)
	must(t, PutDir(r, "store", folder("1")))
	must(t, r.MkdirAll("agent", 0o755))
	must(t, os.Symlink(outside, filepath.Join(dir, "out")))

	must(t, r.Symlink("../store", "agent/hello"))
	target, err := r.Readlink("agent/hello")
	must(t, err)
	if target != "../store" {
		t.Errorf("the link says %q", target)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "agent", "hello", "SKILL.md")); err != nil || string(data) != "version 1\n" {
		t.Errorf("through the link: %q, %v", data, err)
	}
	// A link that leads nowhere, or out, is only text.
	must(t, r.Symlink("/nowhere/at/all", "agent/broken"))

	for _, tt := range []struct {
		target, name string
		want         error
	}{
		{"../store", "agent/hello", fs.ErrExist},
		{"../store", "agent", fs.ErrExist},
		{"../store", "absent/hello", fs.ErrNotExist},
		{"", "agent/empty", fs.ErrInvalid},
		{"a\x00b", "agent/nul", fs.ErrInvalid},
		{"x", ".", fs.ErrInvalid},
		{"x", "../hello", fs.ErrInvalid},
		{"x", "/tmp/hello", fs.ErrInvalid},
	} {
		wantErr(t, r.Symlink(tt.target, tt.name), tt.want)
	}
	if err := r.Symlink("x", "out/hello"); err == nil {
		t.Error("a link was made outside")
	}
	same(t, outside, nil)
	for name, want := range map[string]error{"agent": fs.ErrInvalid, "store/SKILL.md": fs.ErrInvalid, "absent": fs.ErrNotExist, "../x": fs.ErrInvalid} {
		_, err := r.Readlink(name)
		wantErr(t, err, want)
	}
	// Removing a link leaves what it leads to.
	must(t, r.Remove("agent/hello"))
	must(t, r.RemoveAll("agent/broken"))
	same(t, dir, append([]string{"out L---------"}, want("store", folder("1"))...))
}

func TestDryRunLinks(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	must(t, r.Create("file", nil, 0o644))
	must(t, r.Symlink("file", "old"))
	before := tree(t, dir)
	d := DryRun(r)
	must(t, d.Symlink("../store", "hello"))
	wantErr(t, d.Symlink("../store", "old"), fs.ErrExist)
	wantErr(t, d.Symlink("", "x"), fs.ErrInvalid)
	if target, err := d.Readlink("old"); err != nil || target != "file" {
		t.Errorf("old leads to %q, %v", target, err)
	}
	must(t, d.Remove("old"))
	if diff := cmp.Diff([]string{"link hello to ../store", "remove old"}, d.Changes()); diff != "" {
		t.Error(diff)
	}
	same(t, dir, before)
}
