package fsx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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
		again, err := root.LookAgain("skill", quick.Names)
		do(err)
		againDry, err := DryRun(outer).LookAgain("a/skill", quick.Names)
		do(err)
		if quick != plain || quick != below || quick != dry || quick != again || quick != againDry {
			t.Fatalf("the ways to look see different things: %v, %v, %v, %v, %v, %v", quick, plain, below, dry, again, againDry)
		}
		return quick
	}
	before := look()
	if before.Settled(time.Now()) || !before.Settled(time.Now().Add(3*time.Second)) {
		t.Error("it does not settle when it is left alone for a while, and only then")
	}
	if look() != before || before.Names != "SKILL.md//deep//deep/er//deep/er/run" {
		t.Errorf("the sight of an untouched folder changed, or its names are %q", before.Names)
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
		// By the names of before, which is how a change is looked for.
		if again, err := root.LookAgain("skill", before.Names); err == nil && again.Sum == before.Sum {
			t.Errorf("%s does not show by the names", c.what)
		}
		after := look()
		if after == before {
			t.Errorf("%s does not show", c.what)
		}
		before = after
	}
	do(os.Symlink("deep", at("way")))
	before = look()
	do(errors.Join(os.Remove(at("way")), os.Rename(at("deep"), filepath.Join(base, "deep")), os.Symlink(filepath.Join(base, "deep"), at("deep"))))
	if again, err := root.LookAgain("skill", before.Names); err == nil && again.Sum == before.Sum {
		t.Error("a folder that became a link to where it is now does not show")
	}
	if _, err := root.LookAgain("skill", "../skill"); runtime.GOOS == "linux" && !errors.Is(err, os.ErrInvalid) {
		t.Errorf("names that lead out of the folder: %v", err)
	}
	do(os.WriteFile(at("new\nline"), nil, 0o644))
	if s := look(); s.Names != "" {
		t.Errorf("names that are no line of text are given: %q", s.Names)
	}
	do(os.Remove(at("new\nline")))
	for i := range 300 { // more than one call for the list
		do(os.WriteFile(at(fmt.Sprintf("a file with a long name, so that the list is long %d", i)), []byte("x"), 0o644))
	}
	if s := look(); s.Names != "" {
		t.Errorf("%d bytes of names are given", len(s.Names))
	}
	for i := range maxSight {
		do(os.WriteFile(at(fmt.Sprint(i)), nil, 0o644))
	}
	for name, want := range map[string]error{"skill": ErrTooLarge, "skill/SKILL.md": ErrNotFolder, "none": os.ErrNotExist, "../a": os.ErrInvalid} {
		if _, err := root.LookOver(name); !errors.Is(err, want) {
			t.Errorf("%s: %v instead of %v", name, err, want)
		}
		if _, err := root.LookAgain(name, "x"); err == nil {
			t.Errorf("%s is there by a name", name)
		}
	}
	do(os.Symlink("skill", filepath.Join(base, "a", "linked")))
	if _, err := root.LookOver("linked"); !errors.Is(err, ErrNotFolder) {
		t.Errorf("a link to a folder: %v", err)
	}
}
