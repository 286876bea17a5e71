//go:build unix

package deliver

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
)

// killer ends the process before its Nth effect on any of the directories of a
// workspace.
type killer struct {
	fsx.Root
	left *int
}

func (k *killer) step() {
	if *k.left--; *k.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (k *killer) MkdirAll(name string, perm fs.FileMode) error {
	k.step()
	return k.Root.MkdirAll(name, perm)
}

func (k *killer) Create(name string, data []byte, perm fs.FileMode) error {
	k.step()
	return k.Root.Create(name, data, perm)
}

func (k *killer) WriteFile(name string, data []byte, perm fs.FileMode) error {
	k.step()
	return k.Root.WriteFile(name, data, perm)
}

func (k *killer) WriteFrom(name string, from io.WriterTo, perm fs.FileMode) error {
	k.step()
	return k.Root.WriteFrom(name, from, perm)
}

func (k *killer) Rename(a, b string) error {
	k.step()
	return k.Root.Rename(a, b)
}

func (k *killer) RenameNew(a, b string) error {
	k.step()
	return k.Root.RenameNew(a, b)
}

func (k *killer) Exchange(a, b string) error {
	k.step()
	return k.Root.Exchange(a, b)
}

func (k *killer) Symlink(target, name string) error {
	k.step()
	return k.Root.Symlink(target, name)
}

func (k *killer) Remove(name string) error {
	k.step()
	return k.Root.Remove(name)
}

func (k *killer) RemoveAll(name string) error {
	k.step()
	return k.Root.RemoveAll(name)
}

func (k *killer) Sync(names ...string) error {
	k.step()
	return k.Root.Sync(names...)
}

// workspaceJobs are changes of a lock with its folders, from one state to another.
var workspaceJobs = map[string]struct {
	from, to string // versions of both skills, "" for none
	run      func(t fatal, w *Workspace) error
}{
	"install": {"", "1", func(t fatal, w *Workspace) error { return installBoth(t, w, "1") }},
	"update":  {"1", "2", func(t fatal, w *Workspace) error { return installBoth(t, w, "2") }},
	"remove": {"1", "", func(_ fatal, w *Workspace) error {
		plans, err := w.Apply(w.PlanRemoval([]Removal{{Name: "one"}, {Name: "two"}}))
		return firstFault(plans, err)
	}},
}

func installBoth(t fatal, w *Workspace, version string) error {
	spots := []Spot{{Dir: filepath.Join(w.o.Dir, "a", "skills")}, {Dir: filepath.Join(w.o.Dir, "b")}, {Dir: filepath.Join(w.o.Dir, "c"), Mode: AsLink}}
	wanted := []Wanted{wantSkill(t, "one", version, spots...), wantSkill(t, "two", version, spots...)}
	plans, err := w.Apply(w.Plan(context.Background(), wanted))
	return firstFault(plans, err)
}

func workspaceChild(job string) {
	left, err := strconv.Atoi(os.Getenv("KX_DELIVER_STEP"))
	must(giveUp{}, err)
	w := openWorkspace(giveUp{}, os.Getenv("KX_DELIVER_DIR"), func(r fsx.Root) fsx.Root { return &killer{r, &left} })
	must(giveUp{}, workspaceJobs[job].run(giveUp{}, w))
	os.Exit(0)
}

// Peers 3, R17: lock and disk agree, whenever it ends.
// Marker, receipt and lock agree: wherever a run is killed, the next one finds or
// makes the lock say what the folders hold, and the same command ends as if it had
// never been killed.
func TestWorkspaceKilledAtEveryStep(t *testing.T) {
	exe, err := os.Executable()
	must(t, err)
	for name, job := range workspaceJobs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clean := t.TempDir()
			prepareWorkspace(t, clean, job.from)
			must(t, withWorkspace(t, clean, job.run))
			want := tree(t, filepath.Join(clean, "project"))
			stride := 5 // a child process for each effect takes its time
			if os.Getenv("KX_TEST_ALL") != "" {
				stride = 1
			}
			for step := 1; ; step += stride {
				dir := t.TempDir()
				prepareWorkspace(t, dir, job.from)
				cmd := exec.CommandContext(t.Context(), exe)
				cmd.Env = append(os.Environ(), "KX_WORKSPACE_CHILD="+name, "KX_DELIVER_DIR="+dir, fmt.Sprint("KX_DELIVER_STEP=", step))
				out, err := cmd.CombinedOutput()
				if err == nil {
					if step < 15 {
						t.Errorf("only %d steps were seen", step)
					}
					return
				}
				if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
					t.Fatalf("step %d: %v: %s", step, err, out)
				}
				must(t, withWorkspace(t, dir, func(_ fatal, w *Workspace) error {
					lockAndDiskAgree(t, w)
					return nil
				}))
				err = withWorkspace(t, dir, job.run)
				if e, ok := err.(*hubapi.Error); ok && job.to == "" && e.Code == hubapi.NotFound {
					err = nil // it was removed already
				}
				must(t, err)
				same(t, want, tree(t, filepath.Join(dir, "project")))
				if t.Failed() {
					t.Fatalf("killed before step %d", step)
				}
			}
		})
	}
}

func prepareWorkspace(t testing.TB, dir, version string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(dir, "project"), 0o755))
	put(t, dir, "project/mine.txt", "mine")
	if version != "" {
		must(t, withWorkspace(t, dir, func(t fatal, w *Workspace) error { return installBoth(t, w, version) }))
	}
}
