package fsx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestASightShowsEveryChange holds the quick way against the plain one, and both
// against every kind of change.
func TestASightShowsEveryChange(t *testing.T) {
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, "a", "skill", name) }
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(os.MkdirAll(at("deep/er"), 0o755))
	for i := range 300 { // more than one call for the list
		do(os.WriteFile(at(fmt.Sprintf("deep/a file with a long name, so that the list is long %d", i)), []byte("x"), 0o644))
	}
	do(os.WriteFile(at("SKILL.md"), []byte("one"), 0o644))
	do(os.WriteFile(at("deep/er/run"), []byte("one"), 0o644))
	outer, err := Open(base)
	do(err)
	defer outer.Close()
	root, err := Open(filepath.Join(base, "a"))
	do(err)
	defer root.Close()
	look := func() Sight {
		t.Helper()
		quick, err := root.LookOver("skill")
		do(err)
		plain, err := lookOver(root, "skill")
		do(err)
		below, err := outer.LookOver("a/skill")
		do(err)
		dry, err := DryRun(root).LookOver("skill")
		do(err)
		if quick != plain || quick != below || quick != dry {
			t.Fatalf("the ways to look see different things: %v, %v, %v, %v", quick, plain, below, dry)
		}
		return quick
	}
	before := look()
	if before.Settled(time.Now()) || !before.Settled(time.Now().Add(3*time.Second)) {
		t.Error("it does not settle when it is left alone for a while, and only then")
	}
	if look() != before {
		t.Error("the sight of an untouched folder changed")
	}
	for _, c := range []struct {
		what string
		do   func() error
	}{
		{"another content of the same size", func() error { return os.WriteFile(at("deep/er/run"), []byte("two"), 0o644) }},
		{"a mode", func() error { return os.Chmod(at("deep/er/run"), 0o755) }},
		{"a sticky mode", func() error { return os.Chmod(at("deep"), 0o755|os.ModeSticky) }},
		{"a new file", func() error { return os.WriteFile(at("deep/er/new"), nil, 0o644) }},
		{"a file less", func() error { return os.Remove(at("deep/er/new")) }},
		{"a new name", func() error { return os.Rename(at("deep/er/run"), at("deep/er/ran")) }},
		{"a link", func() error { return os.Symlink("ran", at("deep/er/link")) }},
		{"another link", func() error {
			return errors.Join(os.Remove(at("deep/er/link")), os.Symlink("run", at("deep/er/link")))
		}},
		{"content with its old time", func() error {
			old := time.Now().Add(-time.Hour)
			return errors.Join(os.WriteFile(at("SKILL.md"), []byte("two"), 0o644), os.Chtimes(at("SKILL.md"), old, old))
		}},
		{"a folder that took its place", func() error {
			return errors.Join(os.Rename(at("deep/er"), at("away")), os.MkdirAll(at("deep/er"), 0o755), os.RemoveAll(at("away")))
		}},
	} {
		time.Sleep(20 * time.Millisecond) // more than a tick of any clock here
		do(c.do())
		after := look()
		if after == before {
			t.Errorf("%s does not show", c.what)
		}
		before = after
	}
	for i := range maxSight {
		do(os.WriteFile(at(fmt.Sprint(i)), nil, 0o644))
	}
	for name, want := range map[string]error{"skill": ErrTooLarge, "skill/SKILL.md": ErrNotFolder, "none": os.ErrNotExist, "../a": os.ErrInvalid} {
		if _, err := root.LookOver(name); !errors.Is(err, want) {
			t.Errorf("%s: %v instead of %v", name, err, want)
		}
	}
	do(os.Symlink("skill", filepath.Join(base, "a", "linked")))
	if _, err := root.LookOver("linked"); !errors.Is(err, ErrNotFolder) {
		t.Errorf("a link to a folder: %v", err)
	}
}
