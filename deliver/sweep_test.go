package deliver

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/kortecx/kx/internal/fsx"
)

// listings counts how often each directory is listed.
type listings struct {
	fsx.Root
	of map[string]int
}

func (l listings) ReadDir(name string) ([]fs.DirEntry, error) {
	l.of[filepath.Join(l.Name(), name)]++
	return l.Root.ReadDir(name)
}

// What a killed run left of five thousand skills took half a minute to put in order, and
// their removal as long, most of it to list their folder for each of them.
func TestManySkillsListTheirFolderOnce(t *testing.T) {
	const n = 20
	dir, listed := t.TempDir(), map[string]int{}
	wrap := func(r fsx.Root) fsx.Root { return listings{r, listed} }
	w := openWorkspace(t, dir, nil)
	copies, links := filepath.Join(w.o.Dir, "a"), filepath.Join(w.o.Dir, "b")
	var wanted []Wanted
	var removals []Removal
	for i := range n {
		name := fmt.Sprint("s", i)
		wanted = append(wanted, wantSkill(t, name, "1", Spot{Dir: copies}, Spot{Dir: links, Mode: AsLink}))
		removals = append(removals, Removal{Name: name})
	}
	must(t, firstFault(w.Apply(w.Plan(t.Context(), wanted))))
	left := map[string]intent{}
	for name, s := range w.lock.Skills {
		left[name] = intent{After: &s}
	}
	must(t, w.writeJournal(filepath.Join(w.o.Data, filepath.FromSlash(journalName(w.o.File))), left))
	must(t, os.Remove(w.o.File))
	must(t, w.Close())

	w = openWorkspace(t, dir, wrap)
	same(t, n, len(w.Repaired))
	must(t, firstFault(w.Apply(w.PlanRemoval(removals))))
	must(t, w.Close())
	nothingInstalled(t, copies, links)
	for at, times := range listed {
		if times > 5 {
			t.Errorf("%s was listed %d times for %d skills", at, times, n)
		}
	}
}

func nothingInstalled(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if len(entries) > 0 || err != nil && !os.IsNotExist(err) {
			t.Errorf("%s holds %v, %v", dir, entries, err)
		}
	}
}
