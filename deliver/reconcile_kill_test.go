//go:build unix

package deliver

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/kortecx/kx/internal/fsx"
)

// sharedStepper is a stepper for every root that a reconciler opens, with one count.
type sharedStepper struct {
	*stepper
	root fsx.Root
}

func (s sharedStepper) WriteFile(name string, data []byte, perm fs.FileMode) error {
	s.step()
	return s.root.WriteFile(name, data, perm)
}

func (s sharedStepper) Remove(name string) error {
	s.step()
	return s.root.Remove(name)
}

func (s sharedStepper) Close() error { return s.root.Close() }

var (
	firstRows  = []map[string]any{row("a", "one"), row("b", "one"), row("c", "one")}
	secondRows = []map[string]any{row("a", "two"), row("b", "one"), row("d", "two")}
)

// reconcileChild is the program that TestReconcileKilledAtEveryStep ends.
func reconcileChild() {
	left, err := strconv.Atoi(os.Getenv("KX_DELIVER_STEP"))
	must(giveUp{}, err)
	g := rigIn(giveUp{}, os.Getenv("KX_DELIVER_DIR"))
	g.hub.rows = secondRows
	count := &stepper{left: left}
	g.openRoot = func(dir string, perm fs.FileMode) (fsx.Root, error) {
		root, err := fsx.OpenOrCreate(dir, perm)
		if err != nil {
			return nil, err
		}
		// One count goes on from root to root.
		return sharedStepper{&stepper{Root: root, shared: count}, root}, nil
	}
	g.sync(AdditiveTarget)
}

// W11, R17: old or new, whenever it ends.
func TestReconcileKilledAtEveryStep(t *testing.T) {
	exe, err := os.Executable()
	must(t, err)
	stride := 6
	if os.Getenv("KX_TEST_ALL") != "" {
		stride = 1
	}
	for _, plain := range []string{"", "plain"} {
		t.Run("exchange"+plain, func(t *testing.T) {
			t.Parallel()
			for step := 1; ; step += stride {
				g := newRig(t)
				g.hub.rows = firstRows
				g.sync(AdditiveTarget)
				g.put("mine/SKILL.md", "mine")
				cmd := exec.CommandContext(t.Context(), exe)
				cmd.Env = append(os.Environ(), "KX_RECONCILE_CHILD=1", "KX_DELIVER_DIR="+g.base,
					fmt.Sprint("KX_DELIVER_STEP=", step), "KX_DELIVER_PLAIN="+plain)
				out, err := cmd.CombinedOutput()
				if err == nil {
					if step < 12 {
						t.Errorf("only %d steps were seen", step)
					}
					return
				}
				if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
					t.Fatalf("step %d: %v: %s", step, err, out)
				}
				at := fmt.Sprintf("killed before step %d: ", step)

				// Before anything is repaired, every folder is whole, and its marker is
				// one that the receipts know.
				known, err := readReceipts(mustOpen(t, filepath.Join(g.base, "state")), realPath(g.dir))
				must(t, err)
				root := mustOpen(t, g.dir)
				for slug, texts := range map[string][]string{"a": {"one", "two"}, "b": {"one"}, "c": {"one"}, "d": {"two"}} {
					s, err := Check(root, slug)
					must(t, err)
					switch {
					case s.Status == Absent && (slug == "c" || slug == "d" || slug == "a" && plain != ""):
						continue
					case s.Status != Owned || len(s.Differences) > 0:
						t.Errorf("%s%s is %s, %v", at, slug, s.Status, s.Differences)
						continue
					}
					whole := false
					for _, text := range texts {
						whole = whole || g.read(slug+"/SKILL.md") == asText(slug, text)
					}
					if !whole {
						t.Errorf("%s%s is %q", at, slug, g.read(slug+"/SKILL.md"))
					}
					if one := known.at(slug); one == nil || !one.knows(hexSum(s.marker)) {
						t.Errorf("%sthe receipts do not know %s", at, slug)
					}
				}

				g.hub.rows = secondRows
				s := g.sync(AdditiveTarget)
				if s.Kx.Status != "converged" || len(s.Installed) != 3 {
					t.Errorf("%sa rerun says %s", at, lists(s))
				}
				for name, want := range map[string]string{
					"a/SKILL.md": asText("a", "two"), "b/SKILL.md": asText("b", "one"), "d/SKILL.md": asText("d", "two"), "mine/SKILL.md": "mine",
				} {
					if got := g.read(name); got != want {
						t.Errorf("%s%s is %q after a rerun", at, name, got)
					}
				}
				if again := g.sync(AdditiveTarget); lists(again) != "installed a b d; converged" {
					t.Errorf("%sa second rerun says %s", at, lists(again))
				}
				nothingStaged(t, g.dir)
				if t.Failed() {
					t.FailNow()
				}
			}
		})
	}
}
