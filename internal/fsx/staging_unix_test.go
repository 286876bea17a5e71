//go:build unix

package fsx

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestTheUmaskNarrowsWhatIsStaged(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	dir := t.TempDir()
	must(t, PutDir(open(t, dir), "hello", folder("1")))
	for name, want := range map[string]fs.FileMode{
		"hello": 0o750 | fs.ModeDir, "hello/scripts": 0o750 | fs.ModeDir, "hello/SKILL.md": 0o640, "hello/scripts/run.sh": 0o750,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		must(t, err)
		if info.Mode() != want {
			t.Errorf("the mode of %s is %v, want %v", name, info.Mode(), want)
		}
	}
}
