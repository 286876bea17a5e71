package scan

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// A folder that does not let itself be listed is no empty one. Root lists every folder, so
// there the files are looked at as nobody.
func TestWalkOfWhatCannotBeListed(t *testing.T) {
	dir := tree(t, map[string]string{"shut/x.md": "x\n"})
	shut := filepath.Join(dir, "shut")
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(shut, 0o111); err != nil { // it can be entered, and not listed
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(shut, 0o700) })
	if os.Geteuid() == 0 {
		const nobody = 65534
		runtime.LockOSThread() // the identity is the thread's
		defer runtime.UnlockOSThread()
		if err := unix.Setfsuid(nobody); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Setfsuid(0) }()
	}
	if _, err := os.ReadDir(shut); !errors.Is(err, fs.ErrPermission) {
		t.Fatalf("the folder can be listed: %v", err)
	}
	nothing := func(*Report) error { t.Error("a report"); return nil }
	if err := Walk(shut, Options{}, nothing); !errors.Is(err, ErrUnread) && !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v", err)
	}
}
