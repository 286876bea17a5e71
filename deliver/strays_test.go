package deliver

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/kortecx/kx/internal/fsx"
)

// What kx sync keeps, what a person wrote, and what a link shows of a folder that the lock
// has, are no strays: removing them would be wrong, and --frozen would never pass.
func TestOnlyWhatTheLockLostIsAStray(t *testing.T) {
	dir := t.TempDir()
	project := filepath.Join(dir, "project")
	claude, shared := filepath.Join(project, ".claude", "skills"), filepath.Join(project, ".agents", "skills")
	must(t, os.MkdirAll(filepath.Join(project, ".cursor"), 0o755))
	must(t, withWorkspace(t, dir, func(t fatal, w *Workspace) error {
		return firstFault(w.Apply(w.Plan(context.Background(), []Wanted{
			wantSkill(t, "one", "1", Spot{Dir: shared}), wantSkill(t, "two", "1", Spot{Dir: shared}, Spot{Dir: claude, Mode: AsLink}),
		})))
	}))
	put(t, shared, "mine/SKILL.md", "mine")
	root, err := fsx.Open(shared)
	must(t, err)
	defer root.Close()
	synced := options()
	synced.Owner, synced.Source = "kx-test", syncSource+"http://hub"
	_, err = Install(root, skillMD(t, "synced", "1"), synced)
	must(t, err)
	must(t, os.Symlink("../.agents/skills", filepath.Join(project, ".cursor", "skills")))
	must(t, os.Symlink("../../.agents/skills/mine", filepath.Join(claude, "mine")))

	strays := func() (out []string) {
		must(t, withWorkspace(t, dir, func(_ fatal, w *Workspace) error {
			for _, s := range w.Strays() {
				out = append(out, s.Dir)
			}
			return nil
		}))
		return out
	}
	same(t, []string(nil), strays())
	lock := filepath.Join(project, LockFile)
	must(t, os.WriteFile(lock, []byte("{\n  \"v\": 1,\n  \"skills\": {}\n}\n"), 0o644))
	same(t, []string{filepath.Join(shared, "one"), filepath.Join(shared, "two"), filepath.Join(claude, "two")}, strays())
	must(t, withWorkspace(t, dir, func(_ fatal, w *Workspace) error {
		w.o.User = true
		same(t, 0, len(w.Strays()))
		w.o.User, w.o.Shared = false, true
		same(t, 0, len(w.Strays()))
		w.o.Shared = false
		return firstFault(w.Apply(w.PlanRemoval([]Removal{{Name: "two"}})))
	}))
	same(t, []string{filepath.Join(shared, "one")}, strays())
}
