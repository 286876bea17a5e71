//go:build unix

package deliver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
)

// interferer does something else before a directory gets its name, once, or fails to write
// into the directory that is called full.
type interferer struct {
	fsx.Root
	before *func()
	full   string
}

func (i interferer) RenameNew(a, b string) error {
	if do := *i.before; do != nil {
		*i.before = nil
		do()
	}
	return i.Root.RenameNew(a, b)
}

func (i interferer) WriteFile(name string, data []byte, perm os.FileMode) error {
	return i.WriteFrom(name, bytes.NewReader(data), perm)
}

func (i interferer) WriteFrom(name string, from io.WriterTo, perm os.FileMode) error {
	if filepath.Base(i.Name()) == i.full {
		return &os.PathError{Op: "write", Path: name, Err: syscall.ENOSPC}
	}
	return i.Root.WriteFrom(name, from, perm)
}

// Two programs install into a folder that neither found: what the other one put there
// stays, and ours comes beside it.
func TestInstallIntoAFolderThatAppearsMeanwhile(t *testing.T) {
	dir := t.TempDir()
	project := filepath.Join(dir, "project")
	must(t, os.Mkdir(project, 0o755))
	skills := filepath.Join(project, ".claude", "skills")
	do := func() {
		other, err := fsx.OpenOrCreate(skills, 0o755)
		must(t, err)
		defer other.Close()
		_, err = Install(other, skillMD(t, "theirs", "1"), options())
		must(t, err)
	}
	before := &do
	w := openWorkspace(t, dir, func(r fsx.Root) fsx.Root { return interferer{Root: r, before: before} })
	spot := Spot{Dir: skills, Agents: []string{"claude-code"}}
	plans, err := w.Apply(w.Plan(context.Background(), []Wanted{wantSkill(t, "one", "1", spot), wantSkill(t, "two", "1", spot)}))
	must(t, firstFault(plans, err))
	must(t, w.Close())
	if *before != nil {
		t.Fatal("nobody interfered")
	}
	root, err := fsx.Open(skills)
	must(t, err)
	defer root.Close()
	for _, name := range []string{"one", "theirs", "two"} {
		state, err := Check(root, name)
		must(t, err)
		if state.Status != Owned || len(state.Differences) > 0 {
			t.Errorf("%s stands as %+v", name, state)
		}
	}
	nothingStaged(t, filepath.Dir(skills))
	nothingStaged(t, skills)
}

// What cannot be kept to go back to is not installed: no folder and no lock says so.
func TestNothingIsInstalledThatCannotBeKept(t *testing.T) {
	dir := t.TempDir()
	project := filepath.Join(dir, "project")
	must(t, os.Mkdir(project, 0o755))
	var nothing func()
	w := openWorkspace(t, dir, func(r fsx.Root) fsx.Root { return interferer{Root: r, before: &nothing, full: "store"} })
	spot := Spot{Dir: filepath.Join(project, "skills"), Agents: []string{"claude-code"}}
	plans, err := w.Apply(w.Plan(context.Background(), []Wanted{wantSkill(t, "one", "1", spot)}))
	if !errors.Is(err, syscall.ENOSPC) || plans[0].Steps[0].Err == nil {
		t.Errorf("the error is %v, that of the step %v", err, plans[0].Steps[0].Err)
	}
	must(t, w.Close())
	entries, err := os.ReadDir(project)
	must(t, err)
	if len(entries) > 0 {
		t.Errorf("%v is left", entries)
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "data", "journal")); len(left) > 0 {
		t.Errorf("a journal is left: %v", left)
	}
}

// A lock that did not fit on the disk was told as if nothing had been installed.
func TestALockThatCannotBeWrittenIsMadeUpFor(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "project"), 0o755))
	var nothing func()
	w := openWorkspace(t, dir, func(r fsx.Root) fsx.Root { return interferer{Root: r, before: &nothing, full: "project"} })
	_, err := w.Apply(w.Plan(context.Background(), []Wanted{wantSkill(t, "one", "1", Spot{Dir: filepath.Join(dir, "project", "skills"), Agents: []string{"claude-code"}})}))
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "the next run sees to that") {
		t.Errorf("the error is %v", err)
	}
	must(t, w.Close())
	must(t, withWorkspace(t, dir, func(_ fatal, w *Workspace) error {
		if _, ok := w.Lock().Skills["one"]; !ok || len(w.Repaired) != 1 {
			t.Errorf("the next run finds %v, and repaired %q", w.Lock().Names(), w.Repaired)
		}
		return nil
	}))
}

// A lock that would be too large is refused before a folder is written: the journal of such
// a run would keep every later one from working.
func TestALockThatWouldBeTooLargeChangesNothing(t *testing.T) {
	dir := t.TempDir()
	project := filepath.Join(dir, "project")
	must(t, os.Mkdir(project, 0o755))
	w := openWorkspace(t, dir, nil)
	spot := Spot{Dir: filepath.Join(project, ".claude", "skills"), Agents: []string{"claude-code"}}
	one := wantSkill(t, "one", "1", spot)
	// What is in the lock by then is nearly all that it may hold.
	entry := func(n int) Locked {
		return Locked{Source: strings.Repeat("x", n), Name: "s", Targets: []Target{{Dir: ".claude/skills", Mode: AsCopy}}}
	}
	for i := range 2000 {
		w.lock.Skills[fmt.Sprint("s", i)] = entry(8000)
	}
	w.lock.Skills["s0"] = entry(8000 + maxLock - 50 - len(w.lock.Encode()))
	w.data = w.lock.Encode()
	must(t, os.WriteFile(w.File(), w.data, 0o644))
	_, err := w.Apply(w.Plan(context.Background(), []Wanted{one}))
	if e := hubapi.AsError(err); err == nil || e.Code != hubapi.TooLarge {
		t.Errorf("the error is %v", err)
	}
	must(t, w.Close())
	if _, err := os.Lstat(spot.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "data", "journal")); len(left) > 0 {
		t.Errorf("a journal is left: %v", left)
	}
}

// A run that was killed while it made a folder leaves what it staged beside it: the next
// one removes that, whether or not the folder came to be.
func TestWhatWasStagedBesideANewFolderGoes(t *testing.T) {
	dir := t.TempDir()
	project := filepath.Join(dir, "project")
	agent := filepath.Join(project, ".claude")
	must(t, os.MkdirAll(agent, 0o755))
	root, err := fsx.Open(agent)
	must(t, err)
	defer root.Close()
	left := leftover(t, root)
	for _, name := range []string{"one", "two"} {
		must(t, os.MkdirAll(filepath.Join(agent, left, "new", "torn"), 0o700))
		must(t, withWorkspace(t, dir, func(t fatal, w *Workspace) error {
			return firstFault(w.Apply(w.Plan(context.Background(), []Wanted{wantSkill(t, name, "1", Spot{Dir: filepath.Join(agent, "skills"), Agents: []string{"claude-code"}})})))
		}))
		nothingStaged(t, agent)
	}
}

// A run that was killed while it wrote the store, the journal or the lock left as much as
// all packs of a command there for good.
func TestWhatWasBeingWrittenAtAKillGoes(t *testing.T) {
	dir := t.TempDir()
	project := filepath.Join(dir, "project")
	data := filepath.Join(dir, "data")
	must(t, os.Mkdir(project, 0o755))
	root, err := fsx.Open(project)
	must(t, err)
	defer root.Close()
	left := leftover(t, root)
	places := []string{project, filepath.Join(data, "store"), filepath.Join(data, "journal")}
	for _, place := range places {
		must(t, os.MkdirAll(place, 0o755))
		must(t, os.WriteFile(filepath.Join(place, left), []byte("half a pack"), 0o600))
	}
	must(t, withWorkspace(t, dir, func(t fatal, w *Workspace) error {
		return firstFault(w.Apply(w.Plan(context.Background(), []Wanted{wantSkill(t, "one", "1", Spot{Dir: filepath.Join(project, ".claude", "skills"), Agents: []string{"claude-code"}})})))
	}))
	for _, place := range places {
		nothingStaged(t, place)
	}
}
