package cli

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// R/507, where packs are written: on a full disk nothing of one is left, not even the
// folders that were made for it, and the same command works when there is room.
func TestAFullDiskLeavesNothing(t *testing.T) {
	env, stdout, stderr := testEnv(t, nil)
	env.Rand = rand.Reader
	run := func(args ...string) int {
		stdout.Reset()
		stderr.Reset()
		env.Args = append([]string{"kx"}, args...)
		return Kx(env)
	}
	disk := filepath.Join(env.Dir, "disk")
	text := "---\nname: big\ndescription: Sorts what is too large for a small disk.\n---\n\n" + strings.Repeat("Read it all, and sort it.\n", 2000)
	for _, dir := range []string{disk, filepath.Join(env.Dir, "big")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(env.Dir, "big", "SKILL.md"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if code := run("push", "big", "--author", "acme", "--version", "1", "--approve"); code != 0 {
		t.Fatalf("push: exit %d\n%s", code, stderr)
	}
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=20k"); err != nil {
		t.Skipf("this machine does not let us mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	commands := [][]string{
		{"pull", "acme/big", "--dir", "disk/a/b"},
		{"skills", "install", "acme/big", "--to", "disk/c/d"},
		{"convert", "big", "--to", "kortecx", "--dir", "disk/e/f"},
	}
	for _, args := range commands {
		code := run(args...)
		if code == 0 || !strings.Contains(stderr.String(), "no space left") || !strings.Contains(stderr.String(), "hint: free some space") {
			t.Errorf("%q: exit %d: %s", args, code, stderr)
		}
		if strings.Contains(stderr.String(), ".kx-stage") {
			t.Errorf("%q names a place that nobody knows: %s", args, stderr)
		}
		left, err := os.ReadDir(disk)
		if err != nil || len(left) > 0 {
			t.Errorf("%q left %v, %v", args, left, err)
		}
	}
	if err := unix.Mount("", disk, "", unix.MS_REMOUNT, "size=2m"); err != nil {
		t.Fatal(err)
	}
	for _, args := range commands {
		if code := run(args...); code != 0 {
			t.Errorf("%q with room: exit %d: %s", args, code, stderr)
		}
	}
}
