package conformance

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kortecx/kx/pack"
)

func TestNamesThatNoHubTakes(t *testing.T) {
	long := strings.Repeat("a", 65)
	kortecx := func(name string) []pack.File {
		return []pack.File{{Path: "skill.json", Data: []byte(`{"schema":"kortecx.skill/v1","name":"` + name + `","version":"1"}`)}, {Path: "instructions.md", Data: []byte("Do.\n")}}
	}
	skill := func(name, version string) []pack.File {
		return []pack.File{{Path: "SKILL.md", Data: []byte("---\nname: " + name + "\ndescription: Sorts mail and drafts answers.\nmetadata:\n  version: " + version + "\n---\nDo.\n")}}
	}
	kazma := func(name, version string) []pack.File {
		return []pack.File{{Path: "main.py"}, {Path: "skill_manifest.yaml", Data: []byte("name: " + name + "\nversion: " + version + "\ndescription: x\nauthor: a\nlicense: MIT\n")}}
	}
	for _, tc := range []struct {
		name  string
		files []pack.File
		want  string
	}{
		{"good", kortecx("good"), ""},
		{"con", kortecx("con"), "name.portable /name"},
		{"aux.x", kortecx("aux.x"), "name.portable /name"},
		{"x..", kortecx("x.."), "name.portable /name"},
		{"com1", skill("com1", `"1"`), "name.portable /name"},
		{"good", skill("good", `"1.0"`), ""},
		{"good", skill("good", `"1/0"`), "version.portable /metadata/version"},
		{"nul", kazma("nul", "1.0.0"), "name.portable /name"},
		{long, kazma(long, "1.0.0"), "name.portable /name"},
		{"good", kazma("good", "1.0."+strings.Repeat("1", 64)), "version.portable /version"},
	} {
		r := Judge(pack.Read(tc.name, tc.files, pack.Options{}), tc.name, Options{})
		var got []string
		for _, f := range r.Findings {
			if strings.HasSuffix(f.ID, ".portable") && f.Severity == Warning {
				got = append(got, f.ID+" "+f.Pointer)
			}
		}
		if strings.Join(got, ", ") != tc.want || !r.Passed {
			t.Errorf("%s %s: %v", r.Format, tc.name, r.Findings)
		}
	}
}

func TestEveryFindingHasAKind(t *testing.T) {
	kinds := []string{"Invalid", "Json", "Schema", "Pack", "Yaml"}
	for _, content := range []files{
		{"skill.json": `{"name":1,"name":2}`},
		{"SKILL.md": "---\nname: Good\n---\n"},
		{"skill_manifest.yaml": "a: *b\n"},
		{"x": ""},
		{"SKILL.md": "---\nname: good\ndescription: short\n---\n[x](gone.md)\n"},
	} {
		r := Check(makeFolder(t, "good", content), Options{})
		if len(r.Findings) == 0 {
			t.Error("nothing found")
		}
		for _, f := range r.Findings {
			if !slices.Contains(kinds, f.Kind) {
				t.Errorf("%s has the kind %q", f.ID, f.Kind)
			}
		}
	}
}

func TestRunBoundsItsJobs(t *testing.T) {
	dir := makeFolder(t, "good", skill(goodSkill))
	sum, err := Run(context.Background(), []string{dir}, Options{Jobs: math.MaxInt}, func(*Report) error { return nil })
	if err != nil || sum.Passed != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
}
