package scaffold

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kortecx/kx/pack"
)

func packOf(t testing.TB, name string, files map[string]string) *pack.Pack {
	t.Helper()
	var list []pack.File
	for path, text := range files {
		list = append(list, pack.File{Path: path, Data: []byte(text)})
	}
	in := pack.Read(name, sortedFiles(list), pack.Options{})
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return in.Pack
}

func sortedFiles(files []pack.File) []pack.File {
	for i := range files {
		for k := i; k > 0 && files[k].Path < files[k-1].Path; k-- {
			files[k], files[k-1] = files[k-1], files[k]
		}
	}
	return files
}

func (c *Converted) text(path string) string {
	for _, f := range c.Files {
		if f.Path == path {
			return string(f.Data)
		}
	}
	return ""
}

const (
	triageJSON = `{"schema":"kortecx.skill/v1","name":"mail_triage","version":"3","description":"Sorts mail.","tags":["mail","a, b"],"tools":{"gmail/search":"1"}}`
	reader     = "---\nname: reader\ndescription: \"Reads: things\"\nlicense: MIT\ncompatibility: Needs git\nallowed-tools: Read Bash(git:*)\nmetadata:\n  version: \"2.1\"\n  team: ops\n---\n# Reader\n\nRead.\n"
	web        = "name: web\nversion: 2.0.1\ndescription: Fetches pages\nauthor: acme\nlicense: MIT\nentry_point: main:Web\ncapabilities: [fetch]\npermissions: [network_outbound]\ntags: [http]\n"
)

func TestConvertNamesWhatIsLost(t *testing.T) {
	triage := packOf(t, "mail_triage", map[string]string{"skill.json": triageJSON, "instructions.md": "# Triage\n\nSort.\n", "README.md": "For people.\n"})
	skill := packOf(t, "reader", map[string]string{"SKILL.md": reader, "scripts/run.sh": "#!/bin/sh\n"})
	kazma := packOf(t, "web", map[string]string{"skill_manifest.yaml": web, "main.py": "class Web: pass\n", "README.md": "# Web\n\nFetch.\n"})
	for _, tt := range []struct {
		p      *pack.Pack
		to     pack.Format
		name   string
		lost   string
		has    map[string]string // path to a text in it
		hasNot []string
	}{
		{
			triage, pack.SkillMD, "mail-triage", "name",
			map[string]string{"SKILL.md": "kx-wishes: \"gmail/search@1\"", "README.md": "For people."},
			[]string{"skill.json", "instructions.md"},
		},
		{
			triage, pack.Kazma, "mail-triage", "license name tools version",
			map[string]string{"skill_manifest.yaml": "version: 3.0.0", "instructions.md": "# Triage", "main.py": "class MailTriageSkill"},
			[]string{"skill.json"},
		},
		{
			skill, pack.Kortecx, "reader", "allowed-tools compatibility license metadata.team scripts/run.sh version",
			map[string]string{"skill.json": `"version": "2"`, "instructions.md": "# Reader"},
			[]string{"SKILL.md", "scripts/run.sh"},
		},
		{
			skill, pack.Kazma, "reader", "allowed-tools compatibility metadata.team version",
			map[string]string{"skill_manifest.yaml": "license: \"MIT\"", "scripts/run.sh": "#!/bin/sh", "instructions.md": "# Reader"},
			[]string{"SKILL.md"},
		},
		{
			kazma, pack.SkillMD, "web", "capabilities entry_point permissions",
			map[string]string{"SKILL.md": "# Web", "main.py": "class Web"},
			[]string{"skill_manifest.yaml"},
		},
		{
			kazma, pack.Kortecx, "web", "author capabilities entry_point license main.py permissions version",
			map[string]string{"skill.json": `"version": "2"`, "instructions.md": "# Web"},
			[]string{"main.py", "skill_manifest.yaml"},
		},
	} {
		c, err := Convert(tt.p, tt.to, ConvertOptions{})
		if err != nil {
			t.Errorf("%s to %s: %v", tt.p.Name, tt.to, err)
			continue
		}
		var lost []string
		for _, l := range c.Losses {
			lost = append(lost, l.What)
		}
		if got := strings.Join(lost, " "); got != tt.lost || c.Name != tt.name {
			t.Errorf("%s to %s is %s and loses %q, want %q", tt.p.Name, tt.to, c.Name, got, tt.lost)
		}
		for path, text := range tt.has {
			if !strings.Contains(c.text(path), text) {
				t.Errorf("%s to %s: %s is %q, without %q", tt.p.Name, tt.to, path, c.text(path), text)
			}
		}
		for _, path := range tt.hasNot {
			if c.text(path) != "" {
				t.Errorf("%s to %s has %s", tt.p.Name, tt.to, path)
			}
		}
	}
}

func TestConvertRefuses(t *testing.T) {
	triage := packOf(t, "triage", map[string]string{
		"skill.json": `{"schema":"kortecx.skill/v1","name":"triage"}`, "instructions.md": "Sort.\n",
	})
	odd := packOf(t, "__", map[string]string{"skill.json": `{"schema":"kortecx.skill/v1","name":"__"}`, "instructions.md": "Sort.\n"})
	taken := packOf(t, "taken", map[string]string{"SKILL.md": "---\nname: taken\ndescription: Has a program of its own\n---\nRun.\n", "main.py": "x = 1\n"})
	for _, tt := range []struct {
		p  *pack.Pack
		to pack.Format
		o  ConvertOptions
		id string
	}{
		{triage, pack.Kortecx, ConvertOptions{}, "convert.same"},
		{triage, "zip", ConvertOptions{}, "convert.format"},
		{triage, pack.SkillMD, ConvertOptions{Name: "Bad Name"}, "name.charset"},
		{odd, pack.SkillMD, ConvertOptions{}, "name.length"},
		{odd, pack.Kazma, ConvertOptions{}, "name.grammar"},
		{taken, pack.Kazma, ConvertOptions{}, "convert.exists"},
	} {
		_, err := Convert(tt.p, tt.to, tt.o)
		if e, ok := errors.AsType[*pack.Error](err); !ok || e.ID != tt.id {
			t.Errorf("%s to %s: %v, want %s", tt.p.Name, tt.to, err, tt.id)
		}
	}
}

// What a kortecx pack says survives the way to a SKILL.md and back.
func TestKortecxSurvivesTheWayThereAndBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := pack.KortecxManifest{
			Schema: pack.SchemaKortecx, Name: rapid.StringMatching(`[a-z][a-z0-9]{0,8}(-[a-z0-9]{1,5})?`).Draw(rt, "name"),
			Version:     rapid.StringMatching(`[1-9][0-9]{0,5}`).Draw(rt, "version"),
			Description: strings.TrimSpace(rapid.StringMatching(`[A-Za-zäß:"'#\\ -]{1,60}`).Draw(rt, "description")) + ".",
			Tools:       map[string]string{},
		}
		m.Tags = rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z][a-z ,\\]{0,6}[a-z]`), 0, 3, rapid.ID).Draw(rt, "tags")
		for _, id := range rapid.SliceOfN(rapid.StringMatching(`[a-z]{2,6}/[a-z]{2,6}`), 0, 3).Draw(rt, "tools") {
			m.Tools[id] = rapid.StringMatching(`[1-9][0-9]?`).Draw(rt, "tool version")
		}
		body := []byte("# Do\n\n" + rapid.StringMatching(`[a-z \n]{1,80}`).Draw(rt, "body") + "x\n")
		in := pack.Read(m.Name, []pack.File{{Path: "instructions.md", Data: body}, {Path: "skill.json", Data: m.Indented()}}, pack.Options{})
		if err := in.Err(); err != nil {
			rt.Skip(err)
		}
		there, err := Convert(in.Pack, pack.SkillMD, ConvertOptions{})
		if err != nil {
			rt.Fatal(err)
		}
		read := pack.Read(there.Name, there.Files, pack.Options{})
		if err := read.Err(); err != nil {
			rt.Fatal(err)
		}
		back, err := Convert(read.Pack, pack.Kortecx, ConvertOptions{})
		if err != nil {
			rt.Fatal(err)
		}
		got, want := back.text("skill.json"), string(m.Indented())
		if got != want || !bytes.Equal([]byte(back.text("instructions.md")), body) || len(back.Losses) != 0 {
			rt.Fatalf("came back with %v and\n%s", back.Losses, cmp.Diff(want, got))
		}
	})
}

func TestConvertIsDeterministicAndKeepsModes(t *testing.T) {
	p := packOf(t, "reader", map[string]string{"SKILL.md": reader, "scripts/run.sh": "#!/bin/sh\n"})
	for i := range p.Files {
		p.Files[i].Executable = strings.HasSuffix(p.Files[i].Path, ".sh")
	}
	first, err := Convert(p, pack.Kazma, ConvertOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, err := Convert(p, pack.Kazma, ConvertOptions{})
		if err != nil || !cmp.Equal(first, again) {
			t.Fatalf("%v\n%s", err, cmp.Diff(first, again))
		}
	}
	for _, f := range first.Files {
		if f.Executable != (f.Path == "scripts/run.sh") {
			t.Errorf("%s has another mode", f.Path)
		}
	}
}

// Keys that only some agents know went without a word.
func TestConvertNamesKeysThatOnlyAgentsKnow(t *testing.T) {
	skill := packOf(t, "r", map[string]string{"SKILL.md": "---\nname: r\ndescription: Reads.\nuser-invocable: true\nhooks: {a: b}\nversion: 7\nteam: ops\ntags: [x]\nmetadata: {version: \"3\"}\n---\nRead.\n"})
	kazma := packOf(t, "w", map[string]string{"skill_manifest.yaml": "name: w\nversion: 2.0.0\ndescription: Fetches\nauthor: acme\nlicense: MIT\ncertified: true\ncategory: web\ndependencies: {core: x}\n", "README.md": "Fetch.\n"})
	for _, tt := range []struct {
		p    *pack.Pack
		to   pack.Format
		lost string
	}{
		{skill, pack.Kortecx, "hooks team user-invocable version"},
		{skill, pack.Kazma, "hooks license team user-invocable version version"},
		{kazma, pack.SkillMD, "category certified dependencies"},
		{kazma, pack.Kortecx, "author category certified dependencies license version"},
	} {
		c, err := Convert(tt.p, tt.to, ConvertOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var lost []string
		for _, l := range c.Losses {
			lost = append(lost, l.What)
		}
		if got := strings.Join(lost, " "); got != tt.lost {
			t.Errorf("%s to %s loses %q, want %q", tt.p.Name, tt.to, got, tt.lost)
		}
	}
}

// The instructions that kazma packs of our own making keep in instructions.md were
// replaced by a stub on the way back, and the program that hands them out came along.
func TestConvertToKazmaAndBackKeepsTheInstructions(t *testing.T) {
	const text = "---\nname: reader\ndescription: \"Reads: things\"\nmetadata:\n  author: \"acme\"\n  kx-tags: \"a, b\"\n  version: \"2.1.0\"\n---\n# Reader\n\nno end of line"
	skill := packOf(t, "reader", map[string]string{"SKILL.md": text, "references/r.md": "more\n"})
	there, err := Convert(skill, pack.Kazma, ConvertOptions{})
	if err != nil {
		t.Fatal(err)
	}
	files := func(c *Converted) map[string]string {
		out := map[string]string{}
		for _, f := range c.Files {
			out[f.Path] = string(f.Data)
		}
		return out
	}
	if got := files(there)["skill_manifest.yaml"]; !strings.Contains(got, "author: acme\n") {
		t.Errorf("the author went:\n%s", got)
	}
	made := packOf(t, "reader", files(there))
	back, err := Convert(made, pack.SkillMD, ConvertOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"SKILL.md": text, "references/r.md": "more\n"}, files(back)); diff != "" || len(back.Losses) > 0 {
		t.Errorf("loses %v; %s", back.Losses, diff)
	}
	short, err := Convert(made, pack.Kortecx, ConvertOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := files(short)["instructions.md"]; got != "# Reader\n\nno end of line" {
		t.Errorf("as a kortecx pack it says %q", got)
	}
	// A program that somebody changed is not thrown away, and the text is still the text.
	edited := files(there)
	edited["main.py"] += "# mine\n"
	kept, err := Convert(packOf(t, "reader", edited), pack.SkillMD, ConvertOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := files(kept); got["main.py"] != edited["main.py"] || !strings.HasSuffix(got["SKILL.md"], "no end of line") || kept.Losses[0].What != "entry_point" {
		t.Errorf("%v, lost %v", got, kept.Losses)
	}
}
