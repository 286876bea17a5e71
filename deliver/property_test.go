package deliver

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
)

// TestNoOrderOfThingsLosesAFile draws what kx and a person do to one target, in
// any order. Nothing that the person wrote may go without force, and an
// installation that succeeds ends with the pack, whatever was there before.
func TestNoOrderOfThingsLosesAFile(t *testing.T) {
	fewer(t)
	packs := map[string]map[string]*pack.Pack{}
	for _, name := range []string{"alpha", "beta"} {
		packs[name] = map[string]*pack.Pack{}
		for _, version := range []string{"1", "2", "3"} {
			packs[name]["s"+version] = skillMD(t, name, version)
			packs[name]["k"+version] = kortecx(t, name, version)
		}
	}
	base := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		dir := filepath.Join(base, fmt.Sprint(runs))
		must(t, os.Mkdir(dir, 0o755))
		root, err := fsx.Open(dir)
		must(t, err)
		defer func() { must(t, root.Close()); must(t, os.RemoveAll(dir)) }()

		written := 0
		// theirs counts the person's words on the disk: each is unique, so that a
		// copy or a rename keeps it and only a loss removes it.
		theirs := func() map[string]bool {
			out := map[string]bool{}
			for _, data := range tree(t, dir) {
				for word := range strings.FieldsSeq(data) {
					if strings.HasPrefix(word, "person-") {
						out[word] = true
					}
				}
			}
			return out
		}
		any := func() (string, bool) { // a file on the disk that is no marker
			files := slices.Sorted(maps.Keys(without(tree(t, dir))))
			if len(files) == 0 {
				return "", false
			}
			return rapid.SampledFrom(files).Draw(t, "file"), true
		}
		name := func() string { return rapid.SampledFrom([]string{"alpha", "beta"}).Draw(t, "skill") }

		t.Repeat(map[string]func(*rapid.T){
			"install": func(t *rapid.T) {
				skill := name()
				p := packs[skill][rapid.SampledFrom([]string{"s1", "s2", "s3", "k1", "k2"}).Draw(t, "pack")]
				o := options()
				o.Force = rapid.IntRange(0, 4).Draw(t, "force") == 0
				stood, err := Check(root, skill)
				must(t, err)
				before, words := tree(t, dir), theirs()
				got, err := Install(root, p, o)
				after := tree(t, dir)
				if err != nil {
					same(t, before, after)
					if stood.Status == Absent || stood.Status == Owned && (o.Force || len(stood.Edits()) == 0) {
						t.Fatalf("refused for no reason: %v", err)
					}
					return
				}
				if stood.Status == Foreign {
					t.Fatalf("a foreign folder was taken")
				}
				if !o.Force {
					for word := range words {
						if !theirs()[word] {
							t.Fatalf("%s is lost", word)
						}
					}
				}
				ours := map[string]string{}
				for at, data := range without(after) {
					if strings.HasPrefix(at, skill+"/") {
						ours[at] = data
					}
				}
				same(t, asInstalled(t, p, skill), ours)
				for at, data := range before {
					if !strings.HasPrefix(at, skill+"/") && after[at] != data {
						t.Fatalf("%s was changed by the way", at)
					}
				}
				again, err := Install(root, p, o)
				must(t, err)
				if again.Outcome != Unchanged || got.Marker.Digest != p.Digest() {
					t.Fatalf("again: %+v", again)
				}
				same(t, after, tree(t, dir))
			},
			"remove": func(t *rapid.T) {
				skill := name()
				force := rapid.IntRange(0, 4).Draw(t, "force") == 0
				stood, err := Check(root, skill)
				must(t, err)
				before, words := tree(t, dir), theirs()
				if err := Remove(root, skill, options().Owner, force); err != nil {
					same(t, before, tree(t, dir))
					if stood.Status == Owned && (force || len(stood.Edits()) == 0) {
						t.Fatalf("refused for no reason: %v", err)
					}
					return
				}
				if stood.Status != Owned {
					t.Fatalf("a folder that is %s was removed", stood.Status)
				}
				if !force {
					same(t, words, theirs())
				}
				if _, err := os.Lstat(filepath.Join(dir, skill)); err == nil {
					t.Fatalf("it is still there")
				}
			},
			"edit": func(t *rapid.T) {
				at, ok := any()
				if !ok {
					return
				}
				written++
				f, err := os.OpenFile(filepath.Join(dir, at), os.O_APPEND|os.O_WRONLY, 0)
				must(t, err)
				_, err = fmt.Fprintf(f, " person-%d ", written)
				must(t, err)
				must(t, f.Close())
			},
			"add": func(t *rapid.T) {
				written++
				at := rapid.SampledFrom([]string{"notes.md", "scripts/mine.sh", "references/9", "deep/er/x"}).Draw(t, "path")
				put(t, dir, name()+"/"+at, fmt.Sprintf("person-%d", written))
			},
			"rename": func(t *rapid.T) {
				if at, ok := any(); ok {
					to := filepath.Join(dir, name(), "renamed")
					must(t, os.MkdirAll(filepath.Dir(to), 0o755))
					must(t, os.Link(filepath.Join(dir, at), fmt.Sprint(to, written)))
					written++
					must(t, os.Remove(filepath.Join(dir, at)))
				}
			},
			"delete": func(t *rapid.T) {
				if at, ok := any(); ok {
					must(t, os.Remove(filepath.Join(dir, at)))
				}
			},
			"lose the marker": func(t *rapid.T) {
				err := os.Remove(filepath.Join(dir, name(), MarkerFile))
				if err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
			},
			"put away": func(t *rapid.T) {
				must(t, os.RemoveAll(filepath.Join(dir, name())))
			},
			"": func(t *rapid.T) {
				entries, err := os.ReadDir(dir)
				must(t, err)
				for _, e := range entries {
					if fsx.IsStaged(e.Name()) {
						t.Fatalf("%s is left over", e.Name())
					}
				}
			},
		})
	})
}
