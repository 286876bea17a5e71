//go:build linux

package pack_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/stracetest"
	"github.com/kortecx/kx/internal/timetest"
	"github.com/kortecx/kx/pack"
)

const skillMD = "---\nname: s\ndescription: says what it does and when\n---\n# S\n"

// C12: no link in a pack is followed, wherever it points.
func TestSymlinks(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	writeFiles(t, filepath.Dir(secret), map[string]string{"secret": "root:x:0:0"})
	for _, target := range []string{"README.md", secret, "nowhere", "../good"} {
		for _, name := range []string{"skill.json", "instructions.md", "README.md", "extra.md"} {
			if name == target {
				continue
			}
			dir := filepath.Join(t.TempDir(), "good")
			files := good(nil)
			delete(files, name)
			writeFiles(t, dir, files)
			symlink(t, target, filepath.Join(dir, name))
			in, err := pack.Inspect(dir, pack.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if name == "extra.md" {
				wantIDs(t, in.Faults)
				wantIDs(t, in.Layout, "pack.symlink")
				continue
			}
			wantIDs(t, in.Faults, "pack.symlink")
			if got, want := in.Faults[0].Text, "this is a symbolic link to \""+target+"\""; len(target) < 80 && got != want {
				t.Errorf("text %q, want %q", got, want)
			}
		}
		dir := filepath.Join(t.TempDir(), "s")
		writeFiles(t, dir, map[string]string{"SKILL.md": skillMD, "sub/a.md": "x"})
		symlink(t, target, filepath.Join(dir, "sub", "link"))
		in, err := pack.Inspect(dir, pack.Options{})
		if err != nil {
			t.Fatal(err)
		}
		wantFault(t, in, "pack.symlink", "sub/link")
	}
	dir := filepath.Join(t.TempDir(), "s")
	writeFiles(t, dir, map[string]string{"real.md": skillMD})
	symlink(t, "real.md", filepath.Join(dir, "SKILL.md"))
	in, err := pack.Inspect(dir, pack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	wantIDs(t, in.Faults, "pack.symlink")
	if in.Format != pack.SkillMD {
		t.Errorf("format %q", in.Format)
	}
}

// C14: what is no regular file is refused without waiting for it.
func TestNotRegular(t *testing.T) {
	makers := map[string]func(path string) error{
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"folder": func(path string) error { return os.Mkdir(path, 0o755) },
		"socket": func(path string) error {
			l, err := net.Listen("unix", path)
			if err == nil {
				t.Cleanup(func() { l.Close() })
			}
			return err
		},
	}
	if os.Getuid() == 0 {
		makers["device"] = func(path string) error { return syscall.Mknod(path, syscall.S_IFCHR|0o644, 1<<8|5) } // /dev/zero
	}
	for what, make := range makers {
		for _, name := range []string{"skill.json", "instructions.md", "README.md", "x"} {
			base, err := os.MkdirTemp("", "kx") // a socket's path has to be short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(base) })
			dir := filepath.Join(base, "good")
			files := good(nil)
			delete(files, name)
			writeFiles(t, dir, files)
			if err := make(filepath.Join(dir, name)); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			start := time.Now()
			in, err := pack.Inspect(dir, pack.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > timetest.Limit(time.Second) {
				t.Errorf("%s as %s took %v", what, name, took)
			}
			switch {
			case name != "x":
				wantIDs(t, in.Faults, "pack.not-regular")
			case what == "folder":
				wantIDs(t, in.Layout, "pack.subdirectory")
			default:
				wantIDs(t, in.Layout, "pack.not-regular")
			}
		}
	}
}

func TestPipeAsPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := pack.Inspect(path, pack.Options{})
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil {
			t.Error("no error")
		}
	case <-time.After(timetest.Limit(5 * time.Second)):
		t.Error("still waiting for the other end of the pipe")
	}
}

// What is mounted on a name has another number than its folder lists for it.
func TestMountedNamesAreRead(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "s")
	writeFiles(t, base, map[string]string{"over": "over", "folder/deep.md": "deep", "folder/a.md": "a"})
	writeFiles(t, dir, map[string]string{"SKILL.md": skillMD, "notes.md": "under", "sub/under.md": "under"})
	for from, to := range map[string]string{"over": "notes.md", "folder": "sub"} {
		at := filepath.Join(dir, to)
		if err := syscall.Mount(filepath.Join(base, from), at, "", syscall.MS_BIND, ""); err != nil {
			t.Skipf("this user may not mount: %v", err)
		}
		t.Cleanup(func() { syscall.Unmount(at, syscall.MNT_DETACH) })
	}
	in, err := pack.Inspect(dir, pack.Options{})
	if err != nil || in.Err() != nil {
		t.Fatal(err, in.Err())
	}
	got := map[string]string{}
	for _, f := range in.Pack.Files {
		got[f.Path] = string(f.Data)
	}
	if diff := cmp.Diff(map[string]string{"SKILL.md": skillMD, "notes.md": "over", "sub/a.md": "a", "sub/deep.md": "deep"}, got); diff != "" {
		t.Error(diff)
	}
}

// Before Linux 5.6, and where a sandbox stands in between, there is no openat2.
func TestSystemsWithoutOpenat2(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	strace := stracetest.Find(t)
	for _, fault := range []string{"ENOSYS", "EPERM"} {
		log := filepath.Join(t.TempDir(), "log")
		cmd := exec.CommandContext(t.Context(), strace, "-f", "-qq", "-o", log, "-e", "trace=openat2", "-e", "inject=openat2:error="+fault,
			exe, "-test.short", "-test.run=^Test(Symlinks|NotRegular|HardLinks|HostileFolders|Unreadable|MountedNamesAreRead)$")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "PASS") {
			t.Errorf("with %s: %v\n%s", fault, err, out)
		}
		if calls, err := os.ReadFile(log); err != nil || !strings.Contains(string(calls), "INJECTED") {
			t.Errorf("no call failed with %s: %v", fault, err)
		}
	}
}

// swapping is a folder in which another program gives each name to another file, between
// the list and the opening.
type swapping struct {
	fsx.Folder
	dir string
}

func (s swapping) Open(name string, listed fs.DirEntry) (fs.File, fs.FileInfo, error) {
	at := filepath.Join(s.dir, name)
	if err := errors.Join(os.WriteFile(at+".new", []byte(skillMD+"new\n"), 0o644), os.Rename(at+".new", at)); err != nil {
		return nil, nil, err
	}
	return s.Folder.Open(name, listed)
}

func TestASwappedFileIsNoticedAndReadAnew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	for way, open := range map[string]func(string) (fsx.Folder, error){"by number": fsx.OpenFolder, "plain": fsx.OpenPlainFolder} {
		writeFiles(t, dir, map[string]string{"SKILL.md": skillMD})
		folder, err := open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer folder.Close()
		in, err := pack.InspectFolder(swapping{folder, dir}, dir, pack.Options{})
		if err != nil || in.Err() != nil {
			t.Fatal(way, err, in.Err())
		}
		if got := string(in.Pack.Files[0].Data); got != skillMD+"new\n" {
			t.Errorf("%s: %q was read", way, got)
		}
	}
}

// C13: a second name of a file is told, not refused, here.
func TestHardLinks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "good")
	writeFiles(t, dir, good(nil))
	if err := os.Link(filepath.Join(dir, "instructions.md"), filepath.Join(filepath.Dir(dir), "other")); err != nil {
		t.Fatal(err)
	}
	in, err := pack.Inspect(dir, pack.Options{})
	if err != nil || in.Err() != nil {
		t.Fatal(err, in.Err())
	}
	wantIDs(t, in.Warnings, "pack.hardlink")
	if in.Warnings[0].Place.File != "instructions.md" {
		t.Errorf("place %v", in.Warnings[0].Place)
	}
}

// C20: what cannot be read is said, never passed over.
func TestUnreadable(t *testing.T) {
	base := t.TempDir()
	if err := os.Chmod(filepath.Dir(base), 0o755); err != nil {
		t.Fatal(err)
	}
	kortecx, skill, shut := filepath.Join(base, "good"), filepath.Join(base, "s"), filepath.Join(base, "shut")
	for _, name := range []string{"skill.json", "instructions.md", "README.md"} {
		dir := filepath.Join(base, name, "good")
		writeFiles(t, dir, good(nil))
		chmod(t, filepath.Join(dir, name), 0)
	}
	writeFiles(t, kortecx, good(map[string]string{"sub/x": "x"}))
	chmod(t, filepath.Join(kortecx, "sub"), 0)
	writeFiles(t, skill, map[string]string{"SKILL.md": skillMD, "sub/x": "x", "y": "x"})
	chmod(t, filepath.Join(skill, "sub"), 0)
	chmod(t, filepath.Join(skill, "y"), 0)
	writeFiles(t, shut, good(nil))
	chmod(t, shut, 0)

	inspect := asNobody(t)
	for _, name := range []string{"skill.json", "instructions.md", "README.md"} {
		in := inspect(filepath.Join(base, name, "good"))
		wantIDs(t, in.Faults, "pack.unreadable")
		wantFault(t, in, "pack.unreadable", name)
	}
	in := inspect(kortecx)
	wantIDs(t, in.Faults)
	wantIDs(t, in.Layout, "pack.subdirectory")
	in = inspect(skill)
	wantFault(t, in, "pack.unreadable", "sub")
	wantFault(t, in, "pack.unreadable", "y")
	in = inspect(shut)
	wantIDs(t, in.Faults, "pack.unreadable")
}

// asNobody gives an Inspect that has no rights beyond a user's, also when the
// tests run as root. The rights belong to the thread, so they are given back by
// letting it end.
func asNobody(t *testing.T) func(string) *pack.Inspection {
	return func(dir string) *pack.Inspection {
		t.Helper()
		var in *pack.Inspection
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // never unlocked: the thread is not reused
			if os.Getuid() == 0 {
				if err = syscall.Setfsuid(65534); err != nil {
					return
				}
			}
			in, err = pack.Inspect(dir, pack.Options{})
		}()
		<-done
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
}

func symlink(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// chmod takes rights away, and gives them back so that the folder can be removed.
func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(path, 0o755) })
}
