//go:build unix

package deliver

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/memtest"
)

// stepper ends the process before its Nth effect.
type stepper struct {
	fsx.Root
	left int

	shared *stepper // counts in place of this one, where several roots count as one
}

func (s *stepper) step() {
	if s.shared != nil {
		s.shared.step()
		return
	}
	if s.left--; s.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (s *stepper) MkdirAll(name string, perm fs.FileMode) error {
	s.step()
	return s.Root.MkdirAll(name, perm)
}

func (s *stepper) Create(name string, data []byte, perm fs.FileMode) error {
	s.step()
	return s.Root.Create(name, data, perm)
}

func (s *stepper) Rename(a, b string) error {
	s.step()
	return s.Root.Rename(a, b)
}

func (s *stepper) RenameNew(a, b string) error {
	s.step()
	return s.Root.RenameNew(a, b)
}

func (s *stepper) Exchange(a, b string) error {
	s.step()
	if os.Getenv("KX_DELIVER_PLAIN") != "" {
		return errors.ErrUnsupported
	}
	return s.Root.Exchange(a, b)
}

func (s *stepper) RemoveAll(name string) error {
	s.step()
	return s.Root.RemoveAll(name)
}

func (s *stepper) Sync(names ...string) error {
	s.step()
	return s.Root.Sync(names...)
}

// giveUp lets the helpers of the tests work in the child.
type giveUp struct{}

func (giveUp) Helper() {}

func (giveUp) Errorf(format string, args ...any) { giveUp{}.Fatalf(format, args...) }

func (giveUp) Fatalf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}

// TestMain also is the program that the kill tests end.
func TestMain(m *testing.M) {
	syscall.Umask(0o022)
	if job := os.Getenv("KX_WORKSPACE_CHILD"); job != "" {
		workspaceChild(job)
	}
	if os.Getenv("KX_RECONCILE_CHILD") != "" {
		reconcileChild()
		os.Exit(0)
	}
	job := os.Getenv("KX_DELIVER_CHILD")
	if job == "" {
		os.Exit(memtest.Run(m))
	}
	root, err := fsx.Open(os.Getenv("KX_DELIVER_DIR"))
	must(giveUp{}, err)
	step, err := strconv.Atoi(os.Getenv("KX_DELIVER_STEP"))
	must(giveUp{}, err)
	must(giveUp{}, deliveries[job].run(giveUp{}, &stepper{Root: root, left: step}))
	os.Exit(0)
}

// deliveries are the changes that are killed at every step: from one version of
// the folder to another, "" for none.
var deliveries = map[string]struct {
	from, to string
	run      func(t fatal, root fsx.Root) error
}{
	"install": {"", "2", func(t fatal, root fsx.Root) error {
		_, err := Install(root, skillMD(t, "hello", "2"), options())
		return err
	}},
	"update": {"1", "2", func(t fatal, root fsx.Root) error {
		_, err := Install(root, skillMD(t, "hello", "2"), options())
		return err
	}},
	"remove": {"1", "", func(t fatal, root fsx.Root) error {
		return Remove(root, "hello", options().Owner, false)
	}},
}

// R17: one folder, by every way of writing it.
func TestKilledAtEveryStep(t *testing.T) {
	exe, err := os.Executable()
	must(t, err)
	for name, d := range deliveries {
		for _, plain := range []string{"", "plain"} {
			t.Run(name+plain, func(t *testing.T) {
				t.Parallel()
				for step := 1; ; step++ {
					root, dir := target(t)
					if d.from != "" {
						_, err := Install(root, skillMD(t, "hello", d.from), options())
						must(t, err)
					}
					put(t, dir, "mine/SKILL.md", "mine")
					cmd := exec.CommandContext(t.Context(), exe)
					cmd.Env = append(os.Environ(), "KX_DELIVER_CHILD="+name, "KX_DELIVER_DIR="+dir,
						fmt.Sprint("KX_DELIVER_STEP=", step), "KX_DELIVER_PLAIN="+plain)
					out, err := cmd.CombinedOutput()
					if err == nil {
						if step < 6 {
							t.Errorf("only %d steps were seen", step)
						}
						return
					}
					if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
						t.Fatalf("step %d: %v: %s", step, err, out)
					}

					// Before anything is repaired, a reader sees whole folders.
					s, err := Check(root, "hello")
					must(t, err)
					switch {
					case s.Status == Absent && (d.from == "" || d.to == "" || plain != ""):
					case s.Status != Owned || len(s.Differences) > 0 || s.Marker.Version != "":
						t.Errorf("killed before step %d, it stands as %+v", step, s)
					case s.Marker.Digest != skillMD(t, "hello", "1").Digest() && s.Marker.Digest != skillMD(t, "hello", "2").Digest():
						t.Errorf("killed before step %d, it is %s", step, s.Marker.Digest)
					}

					want := map[string]string{"mine/SKILL.md": "644 mine"}
					if err := d.run(t, root); err != nil && d.to != "" {
						t.Errorf("killed before step %d, a rerun says %v", step, err)
					}
					if d.to != "" {
						maps.Copy(want, asInstalled(t, skillMD(t, "hello", d.to), "hello"))
					}
					same(t, want, without(tree(t, dir)))
					nothingStaged(t, dir)
					if t.Failed() {
						t.Fatalf("killed before step %d", step)
					}
				}
			})
		}
	}
}
