package deliver

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What lost its receipts is taken back when it is what the catalogue wants anyway.
func TestLostReceipts(t *testing.T) {
	g := newRig(t)
	g.hub.rows = []map[string]any{row("a", "x"), row("b", "x")}
	g.sync(AdditiveTarget)
	must(t, os.RemoveAll(filepath.Join(g.base, "state")))
	before := tree(t, g.dir)
	if got := lists(g.sync(AdditiveTarget)); got != "installed a b; converged" {
		t.Error(got)
	}
	same(t, before, tree(t, g.dir))
	g.hub.rows = g.hub.rows[:1]
	if got := lists(g.sync(AdditiveTarget)); got != "installed a; removed b; converged" {
		t.Error(got)
	}
}

func TestNothingNewCostsOneConditionalRequest(t *testing.T) {
	g := newRig(t)
	g.hub.rows, g.hub.etag = []map[string]any{row("a", "x"), row("b", "x")}, `"one"`
	g.sync(OwnedTarget)
	g.now = g.now.Add(10e9) // the stamps settle
	g.sync(OwnedTarget)
	g.hub.asked = nil
	state := tree(t, filepath.Join(g.base, "state"))
	s := g.sync(OwnedTarget)
	if got := lists(s); got != "installed a b; converged" || !s.Kx.Unchanged || s.CatalogCount != 2 {
		t.Errorf("%s %+v", got, *s.Kx)
	}
	if len(g.hub.asked) != 1 || g.hub.asked[0].Get("If-None-Match") != `"one"` {
		t.Errorf("%v", g.hub.asked)
	}
	same(t, state, tree(t, filepath.Join(g.base, "state")))

	// A folder that somebody deletes comes back all the same.
	must(t, os.RemoveAll(filepath.Join(g.dir, "a")))
	g.hub.asked = nil
	if got := lists(g.sync(OwnedTarget)); got != "installed a b; added a; converged" || len(g.hub.asked) != 2 {
		t.Errorf("%s after %d requests", got, len(g.hub.asked))
	}
	// So does an edit that keeps size and time.
	info, err := os.Stat(filepath.Join(g.dir, "b", "SKILL.md"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(g.dir, "b", "SKILL.md"), []byte(strings.ToUpper(asText("b", "x"))), 0o644))
	must(t, os.Chtimes(filepath.Join(g.dir, "b", "SKILL.md"), info.ModTime(), info.ModTime()))
	if got := lists(g.sync(OwnedTarget)); got != "installed a; kept b; incomplete" {
		t.Errorf("%s", got)
	}
}

func TestADryRunWritesNothing(t *testing.T) {
	g := newRig(t)
	g.hub.rows = []map[string]any{row("a", "x"), row("b", "x")}
	g.sync(OwnedTarget)
	g.hub.rows = []map[string]any{row("b", "y"), row("c", "x")}
	before := tree(t, g.base)
	s := g.sync(OwnedTarget, func(r *Reconciler) { r.DryRun = true })
	if got := lists(s); got != "installed b c; added b c; removed a; converged" || !s.Kx.DryRun {
		t.Error(got)
	}
	same(t, before, tree(t, g.base))
	if got := lists(g.sync(OwnedTarget)); got != "installed b c; added b c; removed a; converged" {
		t.Error(got)
	}
}

func TestLeaving(t *testing.T) {
	g := newRig(t)
	put(t, g.base, ".openclaw/openclaw.json", "{\"skills\": {\"load\": {\"extraDirs\": [\"/else\"]}}}\n")
	g.hub.rows = []map[string]any{row("a", "x"), row("b", "x")}
	targets := []SyncTarget{{Dir: g.dir, Mode: OwnedTarget, Register: true}}
	s, err := g.reconciler().Run(context.Background(), targets, nil)
	must(t, err)
	if len(s.RegisteredDirs) != 1 {
		t.Errorf("%+v", s)
	}
	g.put("b/notes.md", "mine")
	g.put("theirs/SKILL.md", "x")
	left, err := g.reconciler().Leave(nil)
	must(t, err)
	if len(left) != 1 || strings.Join(left[0].Removed, " ") != "a" || len(left[0].Stayed) != 1 || left[0].Stayed[0].Slug != "b" || !left[0].Unregistered || left[0].Error != "" {
		t.Errorf("%+v", left)
	}
	if got := strings.Join(g.folders(), " "); got != "b theirs" {
		t.Error(got)
	}
	if data, _ := os.ReadFile(filepath.Join(g.base, ".openclaw", "openclaw.json")); string(data) != "{\"skills\": {\"load\": {\"extraDirs\": [\"/else\"]}}}\n" {
		t.Errorf("%s", data)
	}
	must(t, os.Remove(filepath.Join(g.dir, "b", "notes.md")))
	left, err = g.reconciler().Leave([]string{g.dir})
	must(t, err)
	if len(left) != 1 || strings.Join(left[0].Removed, " ") != "b" || len(left[0].Stayed) != 0 {
		t.Errorf("%+v", left)
	}
	if _, err := os.Stat(filepath.Join(g.dir, sentinel)); err == nil {
		t.Error("the claim is still there")
	}
	if _, err := g.reconciler().Leave([]string{g.dir}); err == nil {
		t.Error("a target that is left can be left again")
	}
}

// Peers 18: folders that were made for the skills alone stayed behind, empty.
func TestLeavingTakesTheFoldersThatWereMade(t *testing.T) {
	g := newRig(t)
	g.hub.rows = []map[string]any{row("a", "x")}
	made, busy, had := filepath.Join(g.base, "one", "two"), filepath.Join(g.base, "three", "four"), filepath.Join(g.base, "five")
	must(t, os.Mkdir(had, 0o755))
	targets := []SyncTarget{{Dir: made, Mode: AdditiveTarget}, {Dir: busy, Mode: OwnedTarget}, {Dir: had, Mode: AdditiveTarget}}
	for range 2 { // the second run finds them there
		_, err := g.reconciler().Run(context.Background(), targets, nil)
		must(t, err)
	}
	put(t, g.base, "three/notes.md", "mine")
	_, err := g.reconciler().Leave(nil)
	must(t, err)
	for dir, stays := range map[string]bool{made: false, filepath.Dir(made): false, busy: false, filepath.Dir(busy): true, had: true, g.base: true} {
		if _, err := os.Stat(dir); (err == nil) != stays {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
