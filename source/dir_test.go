package source

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/workers"
	"github.com/kortecx/kx/pack"
)

// skill is the text of a SKILL.md.
func skill(name string) string {
	return "---\nname: " + name + "\ndescription: Sorts what came in. Use it every morning.\n---\n\n# " + name + "\n\nRead each message and file it.\n"
}

// write puts files below a new folder and gives its path.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func fetch(t *testing.T, s *Sources, text string) *Fetched {
	t.Helper()
	got, err := s.Fetch(t.Context(), parse(t, text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return got
}

func parse(t *testing.T, text string) Ref {
	t.Helper()
	ref, err := Parse(text, ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// refused checks the id of an error of the vocabulary.
func refused(t *testing.T, err error, id string) *hubapi.Error {
	t.Helper()
	e, ok := errors.AsType[*hubapi.Error](err)
	if !ok || e.ID() != id {
		t.Fatalf("error %v of %T, want the id %s", err, err, id)
	}
	return e
}

func refusal(err error) string {
	if e, ok := errors.AsType[*hubapi.Error](err); ok {
		return e.ID()
	}
	return ""
}

func paths(f *Fetched) []string {
	var out []string
	for _, found := range f.Found {
		out = append(out, found.Path)
	}
	return out
}

// Peers 15.
func TestAFolderOfPacksListsEachAndHidesNoneForTheInvalidOne(t *testing.T) {
	dir := write(t, map[string]string{
		"skills/alpha/SKILL.md":           skill("alpha"),
		"skills/alpha/nested/SKILL.md":    skill("nested"),
		"skills/beta/SKILL.md":            "---\nname: beta\n---\n",
		"skills/beta/NOTES.md":            "notes",
		".claude/skills/gamma/SKILL.md":   skill("gamma"),
		"node_modules/x/SKILL.md":         skill("x"),
		".git/x/SKILL.md":                 skill("x"),
		"docs/README.md":                  "no pack",
		"docs/skill.md":                   skill("docs"),
		"kortecx/delta/skill.json":        `{"schema":"kortecx.skill/v1","name":"delta","version":"1","description":"d","tools":{}}`,
		"kortecx/delta/instructions.md":   "Do it.\n",
		"kazma/eps/skill_manifest.yaml":   "name: eps\n",
		"kazma/eps/main.py":               "x = 1\n",
		"skills/alpha/references/more.md": "more",
	})
	got := fetch(t, &Sources{Dir: dir}, ".")
	want := []string{".claude/skills/gamma", "kazma/eps", "kortecx/delta", "skills/alpha", "skills/beta"}
	if !slices.Equal(paths(got), want) {
		t.Fatalf("found %q, want %q", paths(got), want)
	}
	for _, f := range got.Found {
		broken := f.Path == "skills/beta" || f.Path == "kazma/eps"
		if broken != (f.Faults != nil) || broken != (f.Pack == nil) || broken == (f.Digest != "") {
			t.Errorf("%s: faults %v, digest %q", f.Path, f.Faults, f.Digest)
		}
	}
	if len(got.Notes) != 1 || got.Notes[0].ID != "source.near-miss" || got.Notes[0].File != "docs/skill.md" {
		t.Errorf("notes %+v, want one about docs/skill.md", got.Notes)
	}
	all, err := got.All()
	if err != nil || len(all) != 3 {
		t.Errorf("all: %d packs, %v, want the 3 without faults", len(all), err)
	}
	if f, err := got.Pick("alpha"); err != nil || f.Path != "skills/alpha" {
		t.Errorf("picked by name: %+v, %v", f, err)
	}
	if f, err := got.Pick("kortecx/delta"); err != nil || f.Pack.Format != pack.Kortecx {
		t.Errorf("picked by folder: %+v, %v", f, err)
	}
	if _, err := got.Pick("beta"); err == nil || !strings.Contains(err.Error(), "description") {
		t.Errorf("picking one with faults: %v", err)
	}
	e := refused(t, second(got.Pick("")), "source.ambiguous")
	if !strings.Contains(e.Message, "skills/alpha") || !strings.Contains(e.Message, "kortecx/delta") {
		t.Errorf("the refusal lists no choices: %s", e.Message)
	}
	refused(t, second(got.Pick("nothing")), "source.no-such")
}

func second[T any](_ T, err error) error { return err }

func TestAFolderThatIsAPackIsOne(t *testing.T) {
	dir := write(t, map[string]string{"triage/SKILL.md": skill("triage"), "triage/more/SKILL.md": skill("more")})
	got := fetch(t, &Sources{Dir: dir}, "./triage")
	found, err := got.Pick("")
	if err != nil || found.Path != "" || found.Name != "triage" || got.Revision != string(found.Digest) {
		t.Fatalf("%+v, %v", found, err)
	}
	if again := fetch(t, &Sources{Dir: filepath.Join(dir, "triage")}, "."); again.Revision != got.Revision {
		t.Errorf("named by a dot the same folder is %s, not %s", again.Revision, got.Revision)
	}
}

// E7, peers 12.
func TestTwoFoldersWithOneNameAreRefusedWithBothPaths(t *testing.T) {
	other := strings.Replace(skill("bird"), "Sorts", "Steals", 1)
	got := fetch(t, &Sources{Dir: write(t, map[string]string{"a/bird/SKILL.md": skill("bird"), "b/bird/SKILL.md": other})}, ".")
	for _, err := range []error{second(got.Pick("bird")), second(got.All())} {
		e := refused(t, err, "source.ambiguous")
		if !strings.Contains(e.Message, "a/bird") || !strings.Contains(e.Message, "b/bird") {
			t.Errorf("not both paths: %s", e.Message)
		}
	}
	if f, err := got.Pick("b/bird"); err != nil || f.Path != "b/bird" {
		t.Errorf("by its folder: %+v, %v", f, err)
	}
	copies := fetch(t, &Sources{Dir: write(t, map[string]string{"a/bird/SKILL.md": skill("bird"), "b/bird/SKILL.md": skill("bird")})}, ".")
	if all, err := copies.All(); err != nil || len(all) != 1 || all[0].Path != "a/bird" {
		t.Errorf("copies of one content: %+v, %v", all, err)
	}
}

// symlink makes a link, for which some users of Windows need a right that they lack.
func symlink(t *testing.T, target, name string) {
	t.Helper()
	switch err := os.Symlink(target, name); {
	case err != nil && runtime.GOOS == "windows":
		t.Skip("links: " + err.Error())
	case err != nil:
		t.Fatal(err)
	}
}

func TestALinkInAFolderOfPacksIsNotFollowed(t *testing.T) {
	dir := write(t, map[string]string{"a/one/SKILL.md": skill("one")})
	outside := write(t, map[string]string{"two/SKILL.md": skill("two")})
	symlink(t, outside, filepath.Join(dir, "b"))
	got := fetch(t, &Sources{Dir: dir}, ".")
	if !slices.Equal(paths(got), []string{"a/one"}) || len(got.Notes) != 1 || got.Notes[0].ID != "source.link" {
		t.Errorf("found %q, notes %+v", paths(got), got.Notes)
	}
}

func TestLimitsOfAFolder(t *testing.T) {
	dir := write(t, map[string]string{"a/SKILL.md": skill("a"), "b/SKILL.md": skill("b"), "c/d/e/SKILL.md": skill("e")})
	ref := Ref{Kind: Dir, Location: "."}
	_, err := (&Sources{Dir: dir, Limits: Limits{Packs: 1}}).Fetch(t.Context(), ref)
	refused(t, err, "source.too-many")
	_, err = (&Sources{Dir: dir, Limits: Limits{Entries: 2}}).Fetch(t.Context(), ref)
	refused(t, err, "source.too-many")
	got, err := (&Sources{Dir: dir, Limits: Limits{Depth: 1}}).Fetch(t.Context(), ref)
	if err != nil || len(got.Found) != 2 || len(got.Notes) != 1 || got.Notes[0].ID != "source.too-deep" {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = (&Sources{Dir: dir}).Fetch(t.Context(), Ref{Kind: Dir, Location: "./nothing"})
	refused(t, err, "source.not-found")
	_, err = (&Sources{Dir: dir}).Fetch(t.Context(), Ref{Kind: Dir, Location: "./a/SKILL.md"})
	refused(t, err, "source.not-folder")
	_, err = (&Sources{Dir: t.TempDir()}).Fetch(t.Context(), ref)
	refused(t, err, "source.empty")
}

func TestLatestOfAFolderFollowsItsContent(t *testing.T) {
	dir := write(t, map[string]string{"a/SKILL.md": skill("a"), "b/SKILL.md": skill("b")})
	s := &Sources{Dir: dir}
	refs := []Ref{{Kind: Dir, Location: "."}, {Kind: Dir, Location: "./a"}, {Kind: Dir, Location: "./gone"}}
	before, err := s.Latest(t.Context(), refs)
	if err != nil || before[0].Revision != fetch(t, s, ".").Revision || before[2].Err == nil {
		t.Fatalf("%+v, %v", before, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "b", "SKILL.md"), []byte(skill("b")+"more\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	after, _ := s.Latest(t.Context(), refs)
	if after[0].Revision == before[0].Revision || after[1].Revision != before[1].Revision {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

// A panic of one who reads ended the process; and with all of them gone, the search would
// wait for ever for somebody to take what it finds.
func TestAPanicOfAReaderReachesWhoWaits(t *testing.T) {
	files := map[string]string{}
	for i := range 3 * (maxPlaced + runtime.GOMAXPROCS(0)) {
		files[fmt.Sprintf("s%d/SKILL.md", i)] = skill("s")
	}
	w := dirWalk{ctx: t.Context(), limits: Limits{Packs: 1000, Entries: 10000, Depth: 8}, top: write(t, files)}
	p := workers.Catch(func() {
		_, _ = w.each(func(string, fsx.Folder) (Found, error) { panic("boom") })
	})
	if p == nil || p.Value != "boom" {
		t.Errorf("%v", p)
	}
}

// A lock of a thousand folders listed the folder that holds them a thousand times.
func TestFetchesTogetherListAFolderOnce(t *testing.T) {
	top := write(t, map[string]string{"a/SKILL.md": skill("a"), "b/SKILL.md": skill("b")})
	alone := Sources{Dir: top}
	together := alone.Together()
	fault := func(s *Sources, folder string) error {
		t.Helper()
		got, err := s.Fetch(t.Context(), Ref{Kind: Dir, Location: folder})
		if err != nil {
			t.Fatal(err)
		}
		return got.Found[0].SignatureFault
	}
	if err := fault(together, "a"); err != nil {
		t.Fatal(err)
	}
	// What comes later is seen by who looks again.
	if err := os.Mkdir(filepath.Join(top, "b.sig.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := fault(together, "b"); err != nil {
		t.Errorf("the folder was listed again: %v", err)
	}
	if err := fault(&alone, "b"); err == nil {
		t.Error("a signature that cannot be read passes for none")
	}
}
