//go:build unix

package fsx

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kortecx/kx/internal/timetest"
)

// job is one change that is killed at every step.
type job struct {
	before map[string]string // folder to version
	after  map[string]string
	run    func(Root) error
}

var jobs = map[string]job{
	"put": {
		after: map[string]string{"hello": "1"},
		run: func(r Root) error {
			return PutDir(r, "hello", folder("1"))
		},
	},
	"replace": {
		before: map[string]string{"hello": "1"},
		after:  map[string]string{"hello": "2"},
		run: func(r Root) error {
			return ReplaceDir(r, "hello", folder("2"), nil)
		},
	},
	"remove": {
		before: map[string]string{"hello": "1", "other": "1"},
		after:  map[string]string{"other": "1"},
		run: func(r Root) error {
			return RemoveDir(r, "hello", nil)
		},
	},
	"batch": {
		before: map[string]string{"b": "1"},
		after:  map[string]string{"a": "2", "b": "2", "c": "2"},
		run: func(r Root) error {
			b := NewBatch(r, ".")
			err := errors.Join(
				b.Put("a", folder("2")),
				b.Replace("b", folder("2"), nil),
				b.Put("c", folder("2")))
			if err != nil {
				return err
			}
			return errors.Join(b.Commit()...)
		},
	},
	"new directory": {
		after: map[string]string{"dir/a": "1", "dir/b": "1"},
		run: func(r Root) error {
			b := NewBatch(r, "dir")
			if err := errors.Join(b.Put("a", folder("1")), b.Put("b", folder("1"))); err != nil {
				return err
			}
			return errors.Join(b.Commit()...)
		},
	},
}

// many is a batch with more names in it than are flushed one by one.
func many(r Root) error {
	b := NewBatch(r, ".")
	for i := range wholeSync {
		if err := b.Put(fmt.Sprint("s", i), folder("1")); err != nil {
			return err
		}
	}
	return errors.Join(b.Commit()...)
}

// again does what a rerun of the program does: sweep, then whatever is missing.
func (j job) again(r Root) error {
	if err := SweepStaged(r, "."); err != nil {
		return err
	}
	for name, version := range j.after {
		err := PutDir(r, name, folder(version))
		if errors.Is(err, fs.ErrExist) {
			err = ReplaceDir(r, name, folder(version), nil)
		}
		if err != nil {
			return err
		}
	}
	for name := range j.before {
		if _, stays := j.after[name]; stays {
			continue
		}
		if err := RemoveDir(r, name, nil); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// memory is a new directory that costs no disk: the end of a process shows the
// same there, and the tests end and begin hundreds.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "fsx")
	if err != nil {
		return t.TempDir() // a system without one
	}
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}

// prepare makes the folders of versions in a new directory.
func prepare(t *testing.T, versions map[string]string) string {
	t.Helper()
	dir := memory(t)
	for name, version := range versions {
		for _, f := range folder(version) {
			at := filepath.Join(dir, name, f.Path)
			must(t, os.MkdirAll(filepath.Dir(at), 0o755))
			must(t, os.WriteFile(at, f.Data, f.Perm))
		}
	}
	return dir
}

// intact checks that each folder is as before or as after the job, whole; absent
// may be added to what is allowed.
func (j job) intact(t *testing.T, dir string, absent bool) {
	t.Helper()
	names := map[string]bool{}
	for name := range j.before {
		names[name] = true
	}
	for name := range j.after {
		names[name] = true
	}
	for name := range names {
		var got []string
		for _, line := range tree(t, dir) {
			if strings.HasPrefix(line, name+"/") {
				got = append(got, line)
			}
		}
		allowed := [][]string{}
		for _, state := range []map[string]string{j.before, j.after} {
			if version, ok := state[name]; ok {
				allowed = append(allowed, want(name, folder(version)))
			} else {
				allowed = append(allowed, nil)
			}
		}
		if absent {
			allowed = append(allowed, nil)
		}
		if !slices.ContainsFunc(allowed, func(a []string) bool { return slices.Equal(a, got) }) {
			t.Errorf("%s is torn:\n%s", name, strings.Join(got, ""))
		}
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil && len(got) == 0 {
			t.Errorf("%s is there and empty", name)
		}
	}
}

// converges checks that a rerun ends as the job would have, and leaves nothing
// else.
func (j job) converges(t *testing.T, dir string) {
	t.Helper()
	must(t, j.again(open(t, dir)))
	var all []string
	for name, version := range j.after {
		all = append(all, want(name, folder(version))...)
	}
	slices.Sort(all)
	same(t, dir, all)
	expected := map[string]bool{}
	for name := range j.after {
		top, _, _ := strings.Cut(name, "/")
		expected[top] = true
	}
	for _, name := range entries(t, open(t, dir)) {
		if !expected[name] {
			t.Errorf("%s is left over", name)
		}
	}
}

func runChild(t *testing.T, wrap []string, job, dir string, env ...string) (killed bool, output string) {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), timetest.Limit(time.Minute))
	defer cancel()
	args := append(slices.Clone(wrap), exe)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), append(env, "KX_FSX_CHILD="+job, "KX_FSX_DIR="+dir)...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false, string(out)
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatal(err)
	}
	status, _ := exit.Sys().(syscall.WaitStatus)
	if status.Signaled() && status.Signal() == syscall.SIGKILL || status.ExitStatus() == 128+int(syscall.SIGKILL) {
		return true, string(out)
	}
	return false, fmt.Sprintf("%v: %s", err, out)
}

func TestKilledAtEveryStep(t *testing.T) {
	for name, j := range jobs {
		for _, system := range []string{"", "plain"} {
			t.Run(name+system, func(t *testing.T) {
				t.Parallel()
				for step := 1; ; step++ {
					dir := prepare(t, j.before)
					killed, out := runChild(t, nil, name, dir,
						fmt.Sprint("KX_FSX_STEP=", step), "KX_FSX_PLAIN="+system)
					if !killed {
						if out != "" {
							t.Fatalf("step %d: %s", step, out)
						}
						if step < 5 {
							t.Fatalf("only %d steps were seen: the test kills nothing", step)
						}
						return
					}
					// Without a swap there is a moment without the folder; a
					// sweep ends it.
					j.intact(t, dir, system == "plain")
					must(t, SweepStaged(open(t, dir), "."))
					j.intact(t, dir, false)
					j.converges(t, dir)
					if t.Failed() {
						t.Fatalf("killed before step %d", step)
					}
				}
			})
		}
	}
}

// TestFaultAtEveryStep is the same with an error in the place of the end: the
// caller hears of it unless the change is complete, and nothing is left staged.
func TestFaultAtEveryStep(t *testing.T) {
	for name, j := range jobs {
		for _, system := range []string{"", "plain"} {
			t.Run(name+system, func(t *testing.T) {
				t.Parallel()
				for step := 1; ; step++ {
					dir := prepare(t, j.before)
					r := &effects{Root: open(t, dir)}
					if system != "" {
						r.Root = plain{r.Root}
					}
					var at string
					r.before = func(n int, op, name string) error {
						if n == step {
							at = op + " " + name
							return &fs.PathError{Op: op, Path: name, Err: syscall.EIO}
						}
						return nil
					}
					err := j.run(r)
					if at == "" {
						must(t, err)
						return
					}
					j.intact(t, dir, false)
					if err == nil {
						var all []string
						for name, version := range j.after {
							all = append(all, want(name, folder(version))...)
						}
						slices.Sort(all)
						got := slices.DeleteFunc(tree(t, dir), func(line string) bool { return strings.HasPrefix(line, stagePrefix) })
						if !slices.Equal(all, got) {
							t.Errorf("no error and not done")
						}
					}
					if t.Failed() {
						t.Fatalf("fault at step %d: %s: %v", step, at, err)
					}
				}
			})
		}
	}
}

// loop writes one version of everything after another.
func loop(r Root, version string) error {
	if err := SweepStaged(r, "."); err != nil {
		return err
	}
	for _, name := range []string{"a", "b"} {
		err := PutDir(r, name, folder(version))
		if errors.Is(err, fs.ErrExist) {
			err = ReplaceDir(r, name, folder(version), nil)
		}
		if err != nil {
			return err
		}
	}
	if err := RemoveDir(r, "b", nil); err != nil {
		return err
	}
	return r.WriteFile("lock.json", []byte(strings.Repeat(version+"\n", 2000)), 0o600)
}

// TestKilledAtAnyMoment kills between the system calls of one step too, where
// TestKilledAtEveryStep does not come.
func TestKilledAtAnyMoment(t *testing.T) {
	rounds := 20
	if os.Getenv("KX_TEST_ALL") != "" {
		rounds = 200
	}
	exe, err := os.Executable()
	must(t, err)
	for _, system := range []string{"BARE", "STEP", "PLAIN"} {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			dir := memory(t)
			for range rounds {
				cmd := exec.Command(exe)
				cmd.Env = append(os.Environ(), "KX_FSX_CHILD=loop", "KX_FSX_DIR="+dir, "KX_FSX_"+system+"=-")
				before := stamp(dir)
				must(t, cmd.Start())
				// One round whole, however slow the machine is today, and then any moment.
				for deadline := time.Now().Add(time.Minute); stamp(dir) == before && time.Now().Before(deadline); {
					time.Sleep(time.Millisecond)
				}
				time.Sleep(rand.N(40 * time.Millisecond))
				must(t, cmd.Process.Kill())
				_ = cmd.Wait()

				must(t, SweepStaged(open(t, dir), "."))
				whole(t, dir)
				if t.Failed() {
					return
				}
			}
			if _, err := os.Lstat(filepath.Join(dir, "lock.json")); err != nil {
				t.Errorf("the child never came to the end of a round: %v", err)
			}
		})
	}
}

// stamp tells one lock.json from the next.
func stamp(dir string) string {
	info, err := os.Lstat(filepath.Join(dir, "lock.json"))
	if err != nil {
		return ""
	}
	return info.ModTime().String()
}

// whole checks what loop may leave: folders of one version, a lock of one
// version, and nothing else.
func whole(t *testing.T, dir string) {
	t.Helper()
	for _, name := range entries(t, open(t, dir)) {
		switch name {
		case "a", "b":
			data, err := os.ReadFile(filepath.Join(dir, name, "SKILL.md"))
			must(t, err)
			version := strings.TrimSuffix(strings.TrimPrefix(string(data), "version "), "\n")
			same(t, filepath.Join(dir, name), want("", folder(version)))
		case "lock.json":
			data, err := os.ReadFile(filepath.Join(dir, name))
			must(t, err)
			version, _, _ := strings.Cut(string(data), "\n")
			if version == "" || string(data) != strings.Repeat(version+"\n", 2000) {
				t.Errorf("lock.json is torn: %d bytes", len(data))
			}
		default:
			t.Errorf("%s is left over", name)
		}
	}
}

// TestPermissionErrors runs as another user where this one may do everything.
func TestPermissionErrors(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	must(t, PutDir(r, "hello", folder("1")))
	must(t, r.Create("secret", []byte("x"), 0))
	must(t, os.Chmod(dir, 0o555))
	if _, out := runChild(t, nil, "denied", dir); strings.Contains(out, "exit status") {
		t.Error(out)
	}
	must(t, os.Chmod(dir, 0o755))
	if diff := slices.Compare([]string{"hello", "secret"}, entries(t, r)); diff != 0 {
		t.Errorf("%q are there", entries(t, r))
	}
}
