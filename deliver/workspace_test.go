package deliver

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/workers"
	"github.com/kortecx/kx/pack"
)

func openWorkspace(t fatal, dir string, wrap func(fsx.Root) fsx.Root) *Workspace {
	t.Helper()
	project := filepath.Join(dir, "project")
	w, err := OpenWorkspace(WorkspaceOptions{
		Dir: project, File: filepath.Join(project, LockFile), Data: filepath.Join(dir, "data"),
		Owner: "kx-test", Now: func() time.Time { return now }, wrap: wrap,
	})
	must(t, err)
	return w
}

func withWorkspace(t fatal, dir string, use func(t fatal, w *Workspace) error) error {
	t.Helper()
	w := openWorkspace(t, dir, nil)
	err := use(t, w)
	must(t, w.Close())
	return err
}

func wantSkill(t fatal, name, version string, spots ...Spot) Wanted {
	t.Helper()
	return Wanted{Name: name, Spots: spots, Offer: Offer{Source: "./" + name, Revision: version, Pack: skillMD(t, name, version)}}
}

func firstFault(plans []Planned, err error) error {
	for i := range plans {
		if err == nil {
			err = plans[i].Err
		}
		for _, s := range plans[i].Steps {
			if err == nil {
				err = s.Err
			}
		}
	}
	return err
}

// lockAndDiskAgree checks that every folder that the lock names holds what it says,
// as far as it is there, and that every folder of ours is in the lock.
func lockAndDiskAgree(t fatal, w *Workspace) {
	t.Helper()
	known := map[string]bool{}
	for _, p := range w.List() {
		known[p.Dir] = true
		holds := p.Locked.Digest
		if p.Target.Digest != "" {
			holds = p.Target.Digest
		}
		state, err := w.check(p.Name, filepath.Dir(p.Dir))
		must(t, err)
		if state.Status == Owned && state.Marker.Digest != holds {
			t.Errorf("the lock says that %s holds %s, and it holds %s", p.Dir, holds, state.Marker.Digest)
		}
	}
	err := filepath.WalkDir(w.o.Dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == MarkerFile && !known[filepath.Dir(name)] && !strings.Contains(name, ".kx-stage-") {
			t.Errorf("%s is ours, and the lock does not have it", filepath.Dir(name))
		}
		return err
	})
	must(t, err)
	if entries, _ := os.ReadDir(filepath.Join(w.o.Data, "journal")); len(entries) > 0 {
		t.Errorf("a journal is left: %v", entries)
	}
}

// Whatever is done, and whatever people do meanwhile: lock and folders agree, doing
// the same again changes nothing, and no word that a person wrote is lost.
func TestWorkspaceConverges(t *testing.T) {
	fewer(t)
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "kx-workspace-")
		must(t, err)
		defer os.RemoveAll(dir)
		project := filepath.Join(dir, "project")
		must(t, os.MkdirAll(project, 0o755))
		written := map[string]bool{}
		spots := []Spot{{Dir: filepath.Join(project, "a"), Agents: []string{"claude-code"}}, {Dir: filepath.Join(project, "b", "c"), Agents: []string{"codex"}}}
		edits := 0
		for range rapid.IntRange(1, 5).Draw(t, "steps") {
			name := rapid.SampledFrom([]string{"one", "two"}).Draw(t, "name")
			spot := rapid.SampledFrom(spots).Draw(t, "spot")
			at := filepath.Join(spot.Dir, name)
			switch rapid.SampledFrom([]string{"install", "install", "update", "remove", "edit", "add", "delete"}).Draw(t, "operation") {
			case "install", "update":
				version := rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "version")
				want := wantSkill(t, name, version, spot)
				want.KeepEdits = rapid.Bool().Draw(t, "keep edits")
				side := rapid.SampledFrom([]Side{AskSide, KeepSide}).Draw(t, "side")
				want.Side = side
				must(t, withWorkspace(t, dir, func(t fatal, w *Workspace) error {
					plans, err := w.Apply(w.Plan(context.Background(), []Wanted{want}))
					must(t, err)
					refusedOrDone(t, plans)
					before := w.Lock().Encode()
					again, err := w.Apply(w.Plan(context.Background(), []Wanted{want}))
					must(t, err)
					if firstFault(plans, nil) == nil {
						for _, s := range again[0].Steps {
							if s.writes() {
								t.Errorf("the same again: %s in %s", s.Action, s.Dir)
							}
						}
					}
					if string(before) != string(w.Lock().Encode()) {
						t.Errorf("the same again changes the lock:\n%s\n%s", before, w.Lock().Encode())
					}
					return nil
				}))
			case "remove":
				must(t, withWorkspace(t, dir, func(t fatal, w *Workspace) error {
					plans, err := w.Apply(w.PlanRemoval([]Removal{{Name: name}}))
					must(t, err)
					refusedOrDone(t, plans)
					return nil
				}))
			case "edit":
				if data, err := os.ReadFile(filepath.Join(at, skillFile)); err == nil {
					edits++
					word := fmt.Sprintf("word-%d", edits)
					written[word] = true
					must(t, os.WriteFile(filepath.Join(at, skillFile), append(data, "\n\n"+word+"\n"...), 0o644))
				}
			case "add":
				if _, err := os.Stat(at); err == nil {
					edits++
					word := fmt.Sprintf("word-%d", edits)
					written[word] = true
					must(t, os.WriteFile(filepath.Join(at, word+".txt"), []byte(word), 0o644))
				}
			case "delete":
				for word := range written {
					if holdsWord(at, word) {
						delete(written, word)
					}
				}
				must(t, os.RemoveAll(at))
			}
			must(t, withWorkspace(t, dir, func(t fatal, w *Workspace) error {
				lockAndDiskAgree(t, w)
				return nil
			}))
			for word := range written {
				if !holdsWord(project, word) {
					t.Fatalf("%s is lost", word)
				}
			}
		}
	})
}

func refusedOrDone(t fatal, plans []Planned) {
	t.Helper()
	err := firstFault(plans, nil)
	if err == nil {
		return
	}
	if e, ok := err.(*hubapi.Error); !ok || len(e.Details) == 0 || e.Details[0].ID != IDLocalEdits && e.Details[0].ID != IDNotInstalled {
		t.Errorf("it fails with %v", err)
	}
}

func holdsWord(dir, word string) bool {
	found := false
	_ = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, _ := os.ReadFile(name)
			found = found || strings.Contains(string(data)+"\n", word+"\n") || string(data) == word
		}
		return nil
	})
	return found
}

func TestStoreGivesBackWhatWasPutIn(t *testing.T) {
	s := NewStore(filepath.Join(t.TempDir(), "store"))
	one, two, three := skillMD(t, "one", "1"), kortecx(t, "two", "1"), kazma(t, "three")
	must(t, s.Put([]Kept{{Pack: one, Signature: []byte("{}")}, {Pack: two}}))
	must(t, s.Put([]Kept{{Pack: three}}))
	must(t, s.Put([]Kept{{Pack: three}}))
	got, err := s.Get(one.Digest(), three.Digest(), someDigest(7))
	must(t, err)
	if len(got) != 2 || string(got[one.Digest()].Signature) != "{}" || got[three.Digest()].Pack.Name != "three" {
		t.Fatalf("it gives %+v", got)
	}
	same(t, one.Files, got[one.Digest()].Pack.Files)

	// What was changed on disk is not given out.
	entries, err := os.ReadDir(s.dir)
	must(t, err)
	same(t, 2, len(entries))
	for _, e := range entries {
		name := filepath.Join(s.dir, e.Name())
		data, err := os.ReadFile(name)
		must(t, err)
		data[len(data)-2] ^= 1
		must(t, os.WriteFile(name, data, 0o600))
	}
	got, err = s.Get(two.Digest(), three.Digest())
	must(t, err)
	if len(got) != 0 {
		t.Errorf("a broken pack is given out: %v", got)
	}
}

// An update of a thousand skills read the head of the store a thousand times.
func TestStoreReadsAFileOnceForManyQuestions(t *testing.T) {
	s := NewStore(filepath.Join(t.TempDir(), "store"))
	one, two := skillMD(t, "one", "1"), skillMD(t, "two", "1")
	must(t, s.Put([]Kept{{Pack: one}, {Pack: two}}))
	get := func(p *pack.Pack) int {
		t.Helper()
		got, err := s.Get(p.Digest())
		must(t, err)
		return len(got)
	}
	same(t, 1, get(one))
	entries, err := os.ReadDir(s.dir)
	must(t, err)
	name := filepath.Join(s.dir, entries[0].Name())
	before, err := os.Stat(name)
	must(t, err)
	must(t, os.WriteFile(name, make([]byte, before.Size()), 0o600))
	must(t, os.Chtimes(name, before.ModTime(), before.ModTime()))
	same(t, 1, get(two)) // it is in memory
	must(t, os.Chtimes(name, before.ModTime(), before.ModTime().Add(time.Second)))
	same(t, 0, get(two))
}

// Of skills that were installed at two times, each question read the whole file of one of
// them again.
func TestStoreHoldsWhatWasPutInAtTwoTimes(t *testing.T) {
	s := NewStore(filepath.Join(t.TempDir(), "store"))
	packs := []*pack.Pack{skillMD(t, "one", "1"), skillMD(t, "two", "1")}
	for round := range 2 {
		for _, p := range packs {
			if round == 0 {
				must(t, s.Put([]Kept{{Pack: p}}))
			}
			got, err := s.Get(p.Digest())
			must(t, err)
			same(t, 1, len(got))
		}
		entries, err := os.ReadDir(s.dir)
		must(t, err)
		same(t, 2, len(entries))
		for _, e := range entries {
			before, err := e.Info()
			must(t, err)
			name := filepath.Join(s.dir, e.Name())
			must(t, os.WriteFile(name, make([]byte, before.Size()), 0o600))
			must(t, os.Chtimes(name, before.ModTime(), before.ModTime()))
		}
	}
}

func TestStoreHoldsNoMoreThanItMay(t *testing.T) {
	var s Store
	held := make([]heldSegment, 5)
	for i, size := range []int{1, 1, maxBody / 2, maxBody / 2, maxBody + 1} {
		s.keepBody(&held[i], make([]byte, size))
	}
	if len(s.bodies) != 2 || held[0].body != nil || held[1].body != nil || held[2].body == nil || held[3].body == nil || held[4].body != nil {
		t.Errorf("%d are held", len(s.bodies))
	}
}

func FuzzStoreFile(f *testing.F) {
	f.Add([]byte(`{"v":1,"packs":[{"digest":"sp1:00","name":"a","format":"skill-md","files":[{"path":"SKILL.md","size":3}]}]}` + "\nabc"))
	s := NewStore(filepath.Join(f.TempDir(), "store"))
	must(f, s.Put([]Kept{{Pack: skillMD(f, "one", "1")}, {Pack: kazma(f, "two")}}))
	written, err := filepath.Glob(filepath.Join(s.dir, "*"+storeEnd))
	must(f, err)
	real, err := os.ReadFile(written[0])
	must(f, err)
	f.Add(real)
	f.Fuzz(func(t *testing.T, data []byte) {
		out := map[pack.Digest]Kept{}
		var h heldSegment
		body := h.read(data)
		wanted := map[pack.Digest]bool{}
		for d := range h.packs {
			wanted[d] = true
		}
		h.pick(body, wanted, out)
		if bytes.Equal(data, real) && len(out) != 2 {
			t.Fatalf("%d of two packs are given out", len(out))
		}
		for d, k := range out {
			if k.Pack.Digest() != d {
				t.Fatalf("%s is given out as %s", k.Pack.Digest(), d)
			}
		}
	})
}

// A marker is written by whoever likes: without the lock's word for its digest, the
// folder is a person's, and neither update nor removal touches it.
func TestForgedMarkerIsNotTakenForOurs(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "project"), 0o755))
	spot := Spot{Dir: filepath.Join(dir, "project", "a")}
	run := func(use func(w *Workspace) ([]Planned, error)) error {
		return withWorkspace(t, dir, func(_ fatal, w *Workspace) error { return firstFault(use(w)) })
	}
	install := func(version string) error {
		return run(func(w *Workspace) ([]Planned, error) {
			return w.Apply(w.Plan(context.Background(), []Wanted{wantSkill(t, "one", version, spot)}))
		})
	}
	must(t, install("1"))
	must(t, os.RemoveAll(filepath.Join(spot.Dir, "one")))
	root, err := fsx.Open(spot.Dir)
	must(t, err)
	defer root.Close()
	forged := options()
	forged.Owner = "somebody"
	_, err = Install(root, skillMD(t, "one", "9"), forged)
	must(t, err)
	put(t, spot.Dir, "one/diary.txt", "mine")
	before := tree(t, spot.Dir)

	must(t, withWorkspace(t, dir, func(_ fatal, w *Workspace) error {
		if got := w.List()[0].Standing; got != NotOurs {
			t.Errorf("it stands as %s", got)
		}
		return nil
	}))
	if err := install("2"); err == nil {
		t.Error("the update went over it")
	}
	must(t, run(func(w *Workspace) ([]Planned, error) {
		return w.Apply(w.PlanRemoval([]Removal{{Name: "one", Force: true}}))
	}))
	same(t, before, tree(t, spot.Dir))
}

// Peers 15.
// One folder that cannot be read hides no other from the list.
func TestABrokenFolderHidesNoOther(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "project"), 0o755))
	must(t, withWorkspace(t, dir, func(t fatal, w *Workspace) error {
		spot := Spot{Dir: filepath.Join(w.o.Dir, "a")}
		return firstFault(w.Apply(w.Plan(context.Background(), []Wanted{wantSkill(t, "one", "1", spot), wantSkill(t, "two", "1", spot)})))
	}))
	must(t, os.WriteFile(filepath.Join(dir, "project", "a", "one", MarkerFile), []byte("{"), 0o644))
	must(t, withWorkspace(t, dir, func(_ fatal, w *Workspace) error {
		list := w.List()
		if len(list) != 2 || list[0].Standing != NotOurs || list[1].Standing != Current {
			t.Errorf("the list is %+v", list)
		}
		return nil
	}))
}

// Whoever names one folder means that one: an older copy in another was brought along
// unasked, and one that was taken away came back.
func TestNamedFoldersAloneAreWritten(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "project"), 0o755))
	spot := func(name string) Spot { return Spot{Dir: filepath.Join(dir, "project", name, "skills")} }
	at := func(name string) string { return filepath.Join(spot(name).Dir, "notes") }
	install := func(version string, only bool, name string) error {
		w := openWorkspace(t, dir, nil)
		defer w.Close()
		wanted := wantSkill(t, "notes", version, spot(name))
		wanted.Offer.Version, wanted.Only = version, only
		err := firstFault(w.Apply(w.Plan(t.Context(), []Wanted{wanted})))
		lockAndDiskAgree(t, w)
		return err
	}
	must(t, install("1", true, ".claude"))
	must(t, os.RemoveAll(at(".claude")))
	must(t, install("1", true, ".cursor"))
	if _, err := os.Lstat(at(".claude")); err == nil {
		t.Error("a folder that nobody named was made again")
	}
	if _, err := os.Lstat(at(".cursor")); err != nil {
		t.Error(err)
	}
	for _, name := range []string{".codex", ".cursor"} {
		err := install("2", true, name)
		if e := hubapi.AsError(err); e == nil || e.ID() != IDOtherFolders || !strings.Contains(e.Message, spot(".claude").Dir) || !strings.Contains(e.Hint, "--all-folders") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(at(".codex")); err == nil {
			t.Error("what was refused was written")
		}
	}
	must(t, install("2", false, ".codex"))
	w := openWorkspace(t, dir, nil)
	defer w.Close()
	for _, p := range w.List() {
		if p.Standing != Current || p.Locked.Version != "2" {
			t.Errorf("%s: %s, version %s", p.Dir, p.Standing, p.Locked.Version)
		}
	}
}

// A panic while packs are kept beside the folders ended the process past every guard.
func TestAPanicOfTheStoreReachesWhoWaits(t *testing.T) {
	w := &Workspace{}
	kept := w.beside(func() error { return w.keep([]Kept{{}}) })
	for range 2 { // Apply asks at the end of a command too
		p := workers.Catch(func() { _ = kept() })
		if p == nil || !strings.Contains(string(p.Stack), "deliver.(*Store).Put") {
			t.Fatalf("%v", p)
		}
	}
}
