package fsx

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAStampShowsEveryChange(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	write := func(data string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stamp := func() Stamp {
		t.Helper()
		info, err := os.Lstat(file)
		if err != nil {
			t.Fatal(err)
		}
		return StampOf(info)
	}
	write("one")
	before := stamp()
	if before.Settled(time.Now()) {
		t.Error("a file that was just written counts as settled")
	}
	if !before.Settled(time.Now().Add(3 * time.Second)) {
		t.Error("a file that was left alone never settles")
	}
	if stamp() != before {
		t.Error("the stamp of an untouched file changed")
	}
	time.Sleep(20 * time.Millisecond) // more than a tick of any clock here
	write("two")
	if stamp() == before {
		t.Error("a change of the same size does not show")
	}
}
