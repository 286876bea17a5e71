package deliver

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kortecx/kx/pack"
)

// TestAPlanThatWasCarriedOutIsDone draws any situation and plays its plan on a model of
// the disk: nothing of others is among the changes, nothing that was edited goes, and
// the plan for what is there afterwards changes nothing.
func TestAPlanThatWasCarriedOutIsDone(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "caura", "memclaw"}
	digests := []pack.Digest{"sp1:1", "sp1:2"}
	rapid.Check(t, func(t *rapid.T) {
		s := situation{
			mode:    rapid.SampledFrom([]SyncMode{OwnedTarget, AdditiveTarget}).Draw(t, "mode"),
			claimed: rapid.Bool().Draw(t, "claimed"), proven: rapid.Bool().Draw(t, "proven"),
			hold:  rapid.SampledFrom([]string{"", "", "a doubt"}).Draw(t, "hold"),
			named: map[string]bool{}, disk: map[string]found{},
		}
		s.claimed = s.claimed && s.mode == OwnedTarget
		for _, name := range names {
			switch rapid.IntRange(0, 3).Draw(t, "catalogue "+name) {
			case 0, 1:
				if !isProtected(name) {
					s.wants = append(s.wants, want{slug: name, folder: name, digest: rapid.SampledFrom(digests).Draw(t, "digest")})
				}
				s.named[name] = true
			case 2:
				s.named[name] = rapid.Bool().Draw(t, "named")
				if !s.named[name] {
					delete(s.named, name)
				}
			}
			standing := rapid.SampledFrom([]standing{standsAbsent, standsOurs, standsOurs, standsEdited, standsAlike, standsForeign, standsOthers}).Draw(t, "disk "+name)
			s.disk[name] = found{standing: standing, slug: name, digest: rapid.SampledFrom(digests).Draw(t, "there"), version: rapid.SampledFrom([]string{"", "2"}).Draw(t, "version")}
		}
		before := maps.Clone(s.disk)
		removals := 0
		for _, st := range s.plan() {
			have := before[st.folder]
			switch st.verb {
			case doWrite, doUpdate, doAdopt:
				if have.standing == standsForeign || have.standing == standsOthers || have.standing == standsEdited {
					t.Fatalf("%s, which is %s", st, have.standing)
				}
				s.disk[st.folder] = found{standing: standsOurs, slug: st.slug, digest: st.want.digest, version: st.want.version}
			case doRemove, doPrune:
				if have.standing != standsOurs && (have.standing != standsForeign || !s.claimed) || isProtected(st.folder) || s.named[st.folder] {
					t.Fatalf("%s, which is %s", st, have.standing)
				}
				if s.hold != "" {
					t.Fatalf("%s, in spite of a doubt", st)
				}
				removals++
				delete(s.disk, st.folder)
			case doForget:
				delete(s.disk, st.folder)
			case doHold:
				have.held = have.standing == standsOurs
				s.disk[st.folder] = have
			}
		}
		if removals > 0 && !s.proven && len(s.named) == 0 {
			t.Fatalf("%d removals by an empty catalogue", removals)
		}
		for _, st := range s.plan() {
			switch st.verb {
			case doWrite, doUpdate, doAdopt, doRemove, doPrune, doForget:
				t.Fatalf("again: %s", st)
			}
		}
	})
}

// TestNoHistoryOfCataloguesLosesAFile draws what a hub, kx sync, and a person do to
// one target in any order.
func TestNoHistoryOfCataloguesLosesAFile(t *testing.T) {
	fewer(t)
	base := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		at := filepath.Join(base, fmt.Sprint(runs))
		must(t, os.Mkdir(at, 0o755))
		defer func() { must(t, os.RemoveAll(at)) }()
		g := rigIn(t, at)
		mode := rapid.SampledFrom([]SyncMode{OwnedTarget, AdditiveTarget}).Draw(t, "mode")
		if rapid.Bool().Draw(t, "not empty") {
			g.put("theirs/SKILL.md", "person-0")
		}
		names := []string{"alpha", "beta", "gamma", "theirs"}
		words := func() map[string]bool {
			out := map[string]bool{}
			for _, data := range tree(t, g.dir) {
				for word := range strings.FieldsSeq(data) {
					if strings.HasPrefix(word, "person-") {
						out[word] = true
					}
				}
			}
			return out
		}
		// pruned are what an owned, claimed target may lose: whole folders of others.
		pruned := func(before map[string]string) map[string]bool {
			out := map[string]bool{}
			if mode == OwnedTarget && g.read(sentinel) != "" {
				for name, data := range before {
					folder, _, _ := strings.Cut(name, "/")
					if _, marked := before[folder+"/"+MarkerFile]; !marked {
						for word := range strings.FieldsSeq(data) {
							out[word] = true
						}
					}
				}
			}
			return out
		}
		written := 0
		t.Repeat(map[string]func(*rapid.T){
			"catalogue": func(t *rapid.T) {
				g.hub.rows = nil
				for _, name := range names {
					if rapid.Bool().Draw(t, name) {
						g.hub.rows = append(g.hub.rows, row(name, "text "+rapid.SampledFrom([]string{"1", "2"}).Draw(t, "text")))
					}
				}
				g.hub.generation = int64(rapid.IntRange(0, 3).Draw(t, "generation"))
			},
			"sync": func(t *rapid.T) {
				confirmed := rapid.IntRange(0, 3).Draw(t, "confirmed") == 0
				g.now = g.now.Add(time.Duration(rapid.IntRange(0, 4000).Draw(t, "later")) * time.Second)
				before, had := tree(t, g.dir), words()
				change := func(r *Reconciler) { r.ConfirmRemovals = confirmed }
				s := g.sync(mode, change)
				may := pruned(before)
				now := words()
				for word := range had {
					if !now[word] && !may[word] {
						t.Fatalf("%s is lost: %s", word, lists(s))
					}
				}
				for _, r := range g.hub.rows {
					slug := r["doc_id"].(string)
					if slices.Contains(s.Installed, slug) && g.read(slug+"/SKILL.md") != asText(slug, r["data"].(map[string]any)["content"].(string)) {
						t.Fatalf("%s counts as installed and is %q", slug, g.read(slug+"/SKILL.md"))
					}
					if !slices.Contains(s.Installed, slug) && !slices.Contains(s.Collisions, slug) && !strings.Contains(lists(s), "kept") {
						t.Fatalf("%s is neither there nor told: %s", slug, lists(s))
					}
				}
				after := tree(t, g.dir)
				again := g.sync(mode, change)
				if len(again.Added)+len(again.Removed) > 0 {
					t.Fatalf("again: %s, after %s", lists(again), lists(s))
				}
				same(t, after, tree(t, g.dir))
				nothingStaged(t, g.dir)
			},
			"edit": func(t *rapid.T) {
				files := slices.Sorted(maps.Keys(without(tree(t, g.dir))))
				files = slices.DeleteFunc(files, func(f string) bool { return f == sentinel })
				if len(files) == 0 {
					return
				}
				written++
				f, err := os.OpenFile(filepath.Join(g.dir, rapid.SampledFrom(files).Draw(t, "file")), os.O_APPEND|os.O_WRONLY, 0)
				must(t, err)
				_, err = fmt.Fprintf(f, " person-%d ", written)
				must(t, err)
				must(t, f.Close())
			},
			"add": func(t *rapid.T) {
				written++
				g.put(rapid.SampledFrom(names).Draw(t, "name")+"/"+rapid.SampledFrom([]string{"SKILL.md2", "notes.md", "deep/er/x"}).Draw(t, "path"), fmt.Sprintf("person-%d", written))
			},
			"lose the marker": func(t *rapid.T) {
				err := os.Remove(filepath.Join(g.dir, rapid.SampledFrom(names).Draw(t, "name"), MarkerFile))
				if err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
			},
			"put away": func(t *rapid.T) {
				must(t, os.RemoveAll(filepath.Join(g.dir, rapid.SampledFrom(names).Draw(t, "name"))))
			},
			"lose the receipts": func(t *rapid.T) {
				if rapid.IntRange(0, 4).Draw(t, "really") == 0 {
					must(t, os.RemoveAll(filepath.Join(g.base, "state")))
				}
			},
		})
	})
}
