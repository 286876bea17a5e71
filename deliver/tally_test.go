package deliver

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kortecx/kx/internal/fsx"
)

// TestCountSeesWhatSurveySees changes skills that were counted, in every way that could
// hide, and holds Count against Survey.
func TestCountSeesWhatSurveySees(t *testing.T) {
	base := t.TempDir()
	data, folder := filepath.Join(base, "data"), filepath.Join(base, "project", ".claude", "skills")
	must(t, os.MkdirAll(folder, 0o755))
	must(t, os.MkdirAll(filepath.Join(base, "home", ".claude"), 0o755))
	s := Surroundings{Getenv: func(string) string { return "" }, Home: filepath.Join(base, "home"), Project: filepath.Join(base, "project"), OS: "linux"}
	at := func(name string) string { return filepath.Join(folder, filepath.FromSlash(name)) }
	write := func(name, text string) {
		must(t, os.MkdirAll(filepath.Dir(at(name)), 0o755))
		must(t, os.WriteFile(at(name), []byte(text), 0o644))
	}
	root, err := fsx.Open(folder)
	must(t, err)
	defer root.Close()
	for _, name := range []string{"ours", "edited"} {
		_, err := Install(root, skillMD(t, name, "1"), options())
		must(t, err)
	}
	good := "---\nname: foreign\ndescription: Sorts messages.\n---\nText.\n"
	write("foreign/SKILL.md", good)
	write("invalid/SKILL.md", "no frontmatter\n")
	write("none/README.md", "no skill\n")
	must(t, os.Symlink("foreign", at("linked")))
	must(t, os.Symlink("nowhere", at("broken")))

	clock := time.Now()
	count := func(owner string) *SkillsFolder {
		return s.Count(owner, false, data, clock)[0].Folders[ProjectScope][0]
	}
	read := func(owner string) Counts { return s.Survey(owner, false)[0].Folders[ProjectScope][0].Counts() }
	same(t, Counts{Ours: 2, Foreign: 4, Invalid: 3}, count(options().Owner).Counts())
	if entries, err := os.ReadDir(filepath.Join(data, "seen")); err == nil && len(entries) > 0 {
		t.Error("skills that were written this moment are remembered")
	}
	for _, change := range []struct {
		what string
		do   func()
	}{
		{"nothing", func() {}},
		{"content of the same size, with its old time", func() {
			info, err := os.Stat(at("foreign/SKILL.md"))
			must(t, err)
			write("foreign/SKILL.md", "xxx"+good[3:])
			must(t, os.Chtimes(at("foreign/SKILL.md"), info.ModTime(), info.ModTime()))
		}},
		{"back again", func() { write("foreign/SKILL.md", good) }},
		{"no marker any more", func() { must(t, os.Remove(at("ours/"+MarkerFile))) }},
		{"another's marker", func() { write("edited/"+foreignMarker, "{}") }},
		{"a skill less", func() { must(t, os.RemoveAll(at("invalid"))) }},
		{"a folder that becomes a skill", func() { write("none/SKILL.md", good) }},
		{"no skill any more", func() { must(t, os.Remove(at("foreign/SKILL.md"))) }},
		{"a link in the place of a skill", func() {
			must(t, os.Rename(at("ours"), filepath.Join(base, "ours")))
			must(t, os.Symlink(filepath.Join(base, "ours"), at("ours")))
		}},
	} {
		change.do()
		clock = clock.Add(time.Minute) // what was changed is settled by then
		for _, owner := range []string{options().Owner, "kx-other"} {
			for range 2 {
				if got, want := count(owner).Counts(), read(owner); got != want {
					t.Errorf("%s: %+v are counted for %s, and %+v are there", change.what, got, owner, want)
				}
			}
			for _, v := range count(owner).Skills {
				if v.Link == "" {
					t.Errorf("%s: %s was read again", change.what, v.Dir)
				}
			}
		}
	}
	clock = clock.Add(2 * verifyEvery)
	if n := len(count(options().Owner).Skills); n < 3 {
		t.Errorf("after hours only %d skills are read", n)
	}
}
