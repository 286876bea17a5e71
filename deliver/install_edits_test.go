package deliver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
)

func TestLocalEdits(t *testing.T) {
	p := skillMD(t, "hello", "1")
	for name, tt := range map[string]struct {
		edit func(dir string)
		want []Difference
	}{
		"changed": {
			func(dir string) { put(t, dir, "SKILL.md", "mine") },
			[]Difference{{"SKILL.md", Changed, ""}},
		},
		"added": {
			func(dir string) { put(t, dir, "notes/mine.md", "mine") },
			[]Difference{{"notes/mine.md", Added, ""}},
		},
		"missing": {
			func(dir string) { must(t, os.Remove(filepath.Join(dir, "references", "v.md"))) },
			[]Difference{{"references/v.md", Missing, ""}},
		},
		"renamed": {
			func(dir string) {
				must(t, os.Rename(filepath.Join(dir, "references", "v.md"), filepath.Join(dir, "mine.md")))
			},
			[]Difference{{"references/v.md", Renamed, "mine.md"}},
		},
		"folder renamed": {
			func(dir string) {
				must(t, os.Rename(filepath.Join(dir, "references"), filepath.Join(dir, "docs")))
			},
			[]Difference{{"references/1", Renamed, "docs/1"}, {"references/v.md", Renamed, "docs/v.md"}},
		},
		"link instead": {
			func(dir string) {
				must(t, os.Remove(filepath.Join(dir, "SKILL.md")))
				must(t, os.Symlink("scripts/run.sh", filepath.Join(dir, "SKILL.md")))
			},
			[]Difference{{"SKILL.md", Changed, ""}},
		},
		"link added": {
			func(dir string) { must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link"))) },
			[]Difference{{"link", Added, ""}},
		},
		"folder instead": {
			func(dir string) {
				must(t, os.Remove(filepath.Join(dir, "SKILL.md")))
				put(t, dir, "SKILL.md/mine", "mine")
			},
			[]Difference{{"SKILL.md", Missing, ""}, {"SKILL.md/mine", Added, ""}},
		},
		"huge instead": {
			func(dir string) { must(t, os.Truncate(filepath.Join(dir, "SKILL.md"), pack.MaxBytes+1)) },
			[]Difference{{"SKILL.md", Changed, ""}},
		},
		"several": {
			func(dir string) {
				put(t, dir, "SKILL.md", "mine")
				put(t, dir, "mine", "mine")
				must(t, os.Chmod(filepath.Join(dir, "references", "v.md"), 0o755))
				must(t, os.Remove(filepath.Join(dir, "scripts", "run.sh")))
			},
			[]Difference{{"SKILL.md", Changed, ""}, {"mine", Added, ""}, {"references/v.md", Mode, ""}, {"scripts/run.sh", Missing, ""}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			root, dir := target(t)
			_, err := Install(root, p, options())
			must(t, err)
			tt.edit(filepath.Join(dir, "hello"))
			before := tree(t, dir)
			s, err := Check(root, "hello")
			must(t, err)
			same(t, tt.want, s.Differences)

			for _, version := range []string{"1", "2"} {
				_, err = Install(root, skillMD(t, "hello", version), options())
				refused(t, err, hubapi.Conflict, IDLocalEdits)
				details := err.(*hubapi.Error).Details
				if len(details) != len(s.Edits()) || details[0].File != "hello/"+s.Edits()[0].Path {
					t.Errorf("the details are %+v", details)
				}
			}
			refused(t, Remove(root, "hello", options().Owner, false), hubapi.Conflict, IDLocalEdits)
			same(t, before, tree(t, dir))

			o := options()
			o.Force = true
			got, err := Install(root, p, o)
			must(t, err)
			if got.Outcome != Updated {
				t.Errorf("by force: %+v", got)
			}
			same(t, tt.want, got.Differences)
			same(t, asInstalled(t, p, "hello"), without(tree(t, dir)))

			tt.edit(filepath.Join(dir, "hello"))
			must(t, Remove(root, "hello", options().Owner, true))
			same(t, map[string]string{}, tree(t, dir))
			nothingStaged(t, dir)
		})
	}
}

func TestWhatIsNoEdit(t *testing.T) {
	root, dir := target(t)
	p := skillMD(t, "hello", "1")
	_, err := Install(root, p, options())
	must(t, err)
	must(t, os.Chmod(filepath.Join(dir, "hello/scripts/run.sh"), 0o600))
	put(t, dir, "hello/.DS_Store", "x")
	put(t, dir, "hello/scripts/__pycache__/run.cpython-313.pyc", "x")
	want := []Difference{{".DS_Store", Added, ""}, {"scripts/__pycache__/run.cpython-313.pyc", Added, ""}, {"scripts/run.sh", Mode, ""}}
	before := tree(t, dir)
	got, err := Install(root, p, options())
	must(t, err)
	if got.Outcome != Unchanged {
		t.Errorf("%+v", got)
	}
	same(t, want, got.Differences)
	same(t, before, tree(t, dir))

	got, err = Install(root, skillMD(t, "hello", "2"), options())
	must(t, err)
	if got.Outcome != Updated {
		t.Errorf("%+v", got)
	}
	same(t, want, got.Differences)
	same(t, asInstalled(t, skillMD(t, "hello", "2"), "hello"), without(tree(t, dir)))
	must(t, os.WriteFile(filepath.Join(dir, "hello", "Thumbs.db"), nil, 0o600))
	must(t, Remove(root, "hello", options().Owner, false))
}

func TestManyAddedFilesAreNotNamedOneByOne(t *testing.T) {
	root, dir := target(t)
	_, err := Install(root, skillMD(t, "hello", "1"), options())
	must(t, err)
	for i := range maxAdded {
		put(t, dir, fmt.Sprint("hello/a/", i), "")
	}
	for i := range 100 {
		put(t, dir, "hello/b/"+strings.Repeat("d/", i)+"x", "")
	}
	s, err := Check(root, "hello")
	must(t, err)
	if len(s.Differences) != maxAdded+1 || s.Differences[maxAdded] != (Difference{"b/", Added, ""}) {
		t.Errorf("%d differences, the last is %v", len(s.Differences), s.Differences[len(s.Differences)-1])
	}
}

type interrupt struct {
	fsx.Root
	do func()
}

func (r *interrupt) Exchange(a, b string) error {
	r.do()
	return r.Root.Exchange(a, b)
}

func (r *interrupt) RenameNew(a, b string) error {
	r.do()
	return r.Root.RenameNew(a, b)
}

func (r *interrupt) Rename(a, b string) error {
	if !strings.HasPrefix(a, ".kx-stage-") {
		r.do()
	}
	return r.Root.Rename(a, b)
}

func TestEditBetweenLookAndWrite(t *testing.T) {
	root, dir := target(t)
	_, err := Install(root, skillMD(t, "hello", "1"), options())
	must(t, err)
	var once sync.Once
	r := &interrupt{root, func() { once.Do(func() { put(t, dir, "hello/SKILL.md", "mine") }) }}
	_, err = Install(r, skillMD(t, "hello", "2"), options())
	refused(t, err, hubapi.Conflict, IDLocalEdits)
	if got := tree(t, dir)["hello/SKILL.md"]; got != "644 mine" {
		t.Errorf("SKILL.md is %q", got)
	}
	o := options()
	o.Force = true
	_, err = Install(root, skillMD(t, "hello", "1"), o)
	must(t, err)
	once = sync.Once{}
	r.do = func() { once.Do(func() { put(t, dir, "hello/SKILL.md", "mine too") }) }
	refused(t, Remove(r, "hello", options().Owner, false), hubapi.Conflict, IDLocalEdits)
	if got := tree(t, dir)["hello/SKILL.md"]; got != "644 mine too" {
		t.Errorf("SKILL.md is %q", got)
	}

	// A folder of the user's own that takes the place of ours is not ours by
	// force either.
	once = sync.Once{}
	r.do = func() {
		once.Do(func() {
			must(t, os.RemoveAll(filepath.Join(dir, "hello")))
			put(t, dir, "hello/SKILL.md", "all mine")
		})
	}
	_, err = Install(r, skillMD(t, "hello", "2"), o)
	refused(t, err, hubapi.Conflict, IDCollision)
	same(t, map[string]string{"hello/SKILL.md": "644 all mine"}, tree(t, dir))

	// The same for a place that was free.
	once = sync.Once{}
	r.do = func() { once.Do(func() { put(t, dir, "other/SKILL.md", "mine") }) }
	_, err = Install(r, skillMD(t, "other", "1"), o)
	refused(t, err, hubapi.Conflict, IDCollision)

	// Somebody who never stops is told of.
	_, err = Install(root, skillMD(t, "third", "1"), options())
	must(t, err)
	n := 0
	r.do = func() {
		n++
		other := options()
		other.Source = fmt.Sprint(n)
		_, err := Install(root, skillMD(t, "third", "1"), other)
		must(t, err)
	}
	_, err = Install(r, skillMD(t, "third", "2"), options())
	refused(t, err, hubapi.Conflict, IDBusy)
	nothingStaged(t, dir)
}
