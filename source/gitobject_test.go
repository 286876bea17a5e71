package source

import (
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/filemode"
)

func TestGitObjectsAreReadStrictly(t *testing.T) {
	hash := strings.Repeat("\x01", 20)
	entries, err := parseTree([]byte("100644 a.md\x00" + hash + "40000 dir\x00" + hash + "100755 run\x00" + hash + "120000 l\x00" + hash + "160000 sub\x00" + hash))
	if err != nil || len(entries) != 5 {
		t.Fatalf("%v, %v", entries, err)
	}
	for i, want := range []filemode.FileMode{filemode.Regular, filemode.Dir, filemode.Executable, filemode.Symlink, filemode.Submodule} {
		if entries[i].Mode != want {
			t.Errorf("entry %d has mode %v, want %v", i, entries[i].Mode, want)
		}
	}
	for _, bad := range []string{"100644 a\x00short", "100644 a", "100644a\x00" + hash, "9 a\x00" + hash, " a\x00" + hash, "\x00" + hash} {
		if entries, err := parseTree([]byte(bad)); err == nil {
			t.Errorf("%q was read as %v", bad, entries)
		}
	}
	hex := strings.Repeat("0a", 20)
	if to, err := parsePointer([]byte("tree "+hex+"\nauthor x"), "tree "); err != nil || to.String() != hex {
		t.Errorf("%v, %v", to, err)
	}
	for _, bad := range []string{"", "tree", "tree " + hex, "object " + hex + "\n", "tree " + hex + "00\n", "tree zz\n", "tree  " + hex + "\n"} {
		if to, err := parsePointer([]byte(bad), "tree "); err == nil {
			t.Errorf("%q was read as %v", bad, to)
		}
	}
}

func FuzzGitTree(f *testing.F) {
	f.Add([]byte("100644 a.md\x0001234567890123456789"))
	f.Add([]byte("40000 \x0001234567890123456789"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := parseTree(data)
		if err == nil && len(entries) > len(data)/22 {
			t.Fatalf("%d entries out of %d bytes", len(entries), len(data))
		}
	})
}
