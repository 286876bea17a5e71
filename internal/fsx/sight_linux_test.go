package fsx

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNamesAreBelievedOnDisksThatTellOfThem: elsewhere a folder is listed every time.
func TestNamesAreBelievedOnDisksThatTellOfThem(t *testing.T) {
	for kind, want := range map[uint32]bool{
		unix.EXT4_SUPER_MAGIC: true, unix.TMPFS_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true, unix.NFS_SUPER_MAGIC: false, unix.FUSE_SUPER_MAGIC: false,
		unix.SMB2_SUPER_MAGIC: false, unix.V9FS_MAGIC: false, unix.MSDOS_SUPER_MAGIC: false, 0: false,
	} {
		if got := tellsNames(kind); got != want {
			t.Errorf("%#x: %t", kind, got)
		}
	}
	dir := t.TempDir()
	must(t, errors.Join(os.MkdirAll(filepath.Join(dir, "skill"), 0o755), os.WriteFile(filepath.Join(dir, "skill", "a"), nil, 0o644), os.WriteFile(filepath.Join(dir, "skill", "b"), nil, 0o644)))
	for at, names := range map[string]string{dir: "skill", "/proc/self": "attr"} {
		r := open(t, at)
		var st unix.Statfs_t
		must(t, unix.Statfs(at, &st))
		whole, err := r.LookOver(names)
		must(t, err)
		first := "a"
		if names == "attr" {
			first = "current"
		}
		again, err := r.LookAgain(names, first)
		must(t, err)
		if listed := again.Names == whole.Names; listed == tellsNames(uint32(st.Type)) {
			t.Errorf("in %s the names are %q", at, again.Names)
		}
	}
}
