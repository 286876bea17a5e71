package pack

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/internal/timetest"
)

const skillHead = "---\nname: demo\ndescription: Does things. Use when asked.\n---\n"

// skillFolder is a folder with this SKILL.md and empty files with the names
// given.
func skillFolder(text string, names ...string) []File {
	files := []File{{Path: "SKILL.md", Data: []byte(text)}}
	for _, name := range names {
		files = append(files, File{Path: name})
	}
	return files
}

func TestSkillMDReadsEverything(t *testing.T) {
	text := `---
name: demo
description: |
  Does things.
  Use when asked.
license: Apache-2.0
compatibility: needs git
metadata:
  author: acme
  version: "1.2"
  plain: text
allowed-tools: Bash(git add:*) Read
user-invocable: true
model: opus
version: 9
tags: [a, b]
---
# Demo

---
name: not metadata
---
`
	in := Read("demo", skillFolder(text, "scripts/run.sh"), Options{})
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	want := &SkillMDManifest{
		Name: "demo", Description: "Does things.\nUse when asked.", License: "Apache-2.0", Compatibility: "needs git",
		AllowedTools: []string{"Bash(git add:*)", "Read"},
		Metadata:     map[string]string{"author": "acme", "version": "1.2", "plain": "text"},
		OtherKeys:    []string{"user-invocable", "model", "version"},
		Body:         []byte("# Demo\n\n---\nname: not metadata\n---\n"), BodyLine: 18, // B19
	}
	p := in.Pack
	if diff := cmp.Diff(want, p.SkillMD); diff != "" {
		t.Error(diff)
	}
	got := []any{p.Format, p.Name, p.Version, p.Author, p.Description, p.Tags, len(p.Files), string(p.Instructions()), in.Name}
	if diff := cmp.Diff([]any{SkillMD, "demo", "1.2", "", want.Description, []string{"a", "b"}, 2, string(want.Body), "demo"}, got); diff != "" {
		t.Error(diff)
	}
	if got := said(in.Layout, in.Warnings); got != "" {
		t.Error(got)
	}
}

func TestSplitFrontmatter(t *testing.T) {
	tests := []struct {
		row, name   string
		in          string
		front, body string
		line        int
		said        string
	}{
		{name: "plain", in: "---\na: b\n---\nbody", front: "a: b\n", body: "body", line: 4},
		{name: "no body", in: "---\na: b\n---", front: "a: b\n", body: "", line: 4},
		{name: "empty", in: "---\n---\n", front: "", body: "", line: 3},
		{row: "B18", name: "space behind the opening", in: "--- \t\na: b\n---\n", front: "a: b\n", line: 4, said: "frontmatter.fence-space@SKILL.md:1:1"},
		{row: "B18", name: "space behind the closing", in: "---\na: b\n---  \nx", front: "a: b\n", body: "x", line: 4},
		{row: "B18", name: "BOM", in: "\ufeff---\na: b\n---\nx", front: "a: b\n", body: "x", line: 4, said: "text.bom@SKILL.md:1:1"},
		{row: "B18", name: "BOM inside is none", in: "\ufeff\ufeff---\na: b\n---\n", said: "frontmatter.missing@SKILL.md:1:1\ntext.bom@SKILL.md:1:1"},
		{row: "B18", name: "four hyphens", in: "----\na: b\n----\n", said: "frontmatter.missing@SKILL.md:1:1"},
		{row: "B18", name: "blank line first", in: "\n---\na: b\n---\n", said: "frontmatter.missing@SKILL.md:1:1"},
		{row: "B18", name: "space first", in: "  \n\t---\na: b\n---\n", said: "frontmatter.missing@SKILL.md:1:1"},
		{row: "B18", name: "indented", in: " ---\na: b\n---\n", said: "frontmatter.missing@SKILL.md:1:1"},
		{row: "B18", name: "glued key", in: "---name: demo\n---\n", said: "frontmatter.fence@SKILL.md:1:1"},
		{row: "B18", name: "glued space of another kind", in: "---\u00a0\nname: demo\n---\n", said: "frontmatter.fence@SKILL.md:1:1"},
		{name: "no frontmatter", in: "# Demo\n", said: "frontmatter.missing@SKILL.md:1:1"},
		{name: "empty file", in: "", said: "frontmatter.missing@SKILL.md:1:1"},
		{name: "only space", in: "\n \n", said: "frontmatter.missing@SKILL.md:1:1"},
		{name: "CR only", in: "---\ra: b\r---\r", said: "frontmatter.missing@SKILL.md:1:1"},
		{row: "B20", name: "CRLF", in: "---\r\na: b\r\n---\r\nx\r\n", front: "a: b\r\n", body: "x\r\n", line: 4},
		{row: "B20", name: "mixed", in: "---\r\na: b\r\n---\r\nx\ny\r\n", front: "a: b\r\n", body: "x\ny\r\n", line: 4, said: "text.line-ends@SKILL.md:4:1"},
		{row: "B20", name: "mixed the other way", in: "---\na: b\n---\nx\r\n", front: "a: b\n", body: "x\r\n", line: 4, said: "text.line-ends@SKILL.md:4:1"},
		{row: "B17", name: "not closed", in: "---\na: b\n", said: "frontmatter.unclosed@SKILL.md:1:1"},
		{row: "B17", name: "1 MiB without a fence", in: "---\n" + strings.Repeat("a: b\n", 200000) + "---\n", said: "frontmatter.unclosed@SKILL.md:1:1"},
		{row: "B17", name: "closed too late", in: "---\n" + strings.Repeat("x", MaxManifest) + "\n---\n", said: "frontmatter.unclosed@SKILL.md:1:1"},
		{
			row: "B17", name: "closed just in time", in: "---\n" + strings.Repeat("x", MaxManifest-5) + "\n---\n",
			front: strings.Repeat("x", MaxManifest-5) + "\n", line: 4,
		},
		{row: "B19", name: "rule in the body", in: "---\na: b\n---\nx\n---\nname: evil\n---\n", front: "a: b\n", body: "x\n---\nname: evil\n---\n", line: 4},
		{name: "hyphens in a value", in: "---\na: \"x --- y\"\nb: |\n  ---\n---\nx", front: "a: \"x --- y\"\nb: |\n  ---\n", body: "x", line: 6},
		{name: "UTF-16", in: "\xff\xfe-\x00-\x00-\x00", said: "text.encoding@SKILL.md:1:1"},
		{name: "UTF-16 big-endian without BOM", in: "\x00-\x00-\x00-\x00\n", said: "text.encoding@SKILL.md:1:1"},
		{name: "UTF-32", in: "\xff\xfe\x00\x00-\x00\x00\x00", said: "text.encoding@SKILL.md:1:1"},
		{row: "B15", name: "invalid UTF-8 in the body", in: "---\na: b\n---\nx\xff\n", said: "text.invalid-utf8@SKILL.md:4:2"},
	}
	for _, tt := range tests {
		t.Run(tt.row+" "+tt.name, func(t *testing.T) {
			front, body, line, faults, warnings := SplitFrontmatter([]byte(tt.in))
			if diff := cmp.Diff(tt.said, said(faults, warnings)); diff != "" {
				t.Error(diff)
			}
			if string(front) != tt.front || string(body) != tt.body || line != tt.line {
				t.Errorf("front %.40q, body %.40q, line %d", front, body, line)
			}
		})
	}
}

func TestSplitFrontmatterSaysWhy(t *testing.T) {
	for in, want := range map[string]string{
		"----\n":              "more than three hyphens",
		"\n---\n":             "blank line before",
		"---name: x\n":        `"name: x" directly behind`,
		"---\u200b\n":         "U+200B directly behind",
		"\xfe\xff\x00-":       "UTF-16 (big-endian)",
		"\x2d\x00-\x00-\x00":  "UTF-16 (little-endian)",
		"\ufeff":              "empty",
		"---\ra: b\r":         "lone carriage return",
		"---\na: b\n ---\n":   `line 3 is " ---"`,
		"---\na: b\n...\nx":   `line 3 is "..."`,
		"---\na: b\n-----\nx": `line 3 is "-----"`,
	} {
		_, _, _, faults, _ := SplitFrontmatter([]byte(in))
		if len(faults) != 1 || !strings.Contains(faults[0].Text+faults[0].Hint, want) {
			t.Errorf("%q: %v %q", in, faults, faults[0].Hint)
		}
	}
}

func TestSkillMDRefuses(t *testing.T) {
	front := func(keys string) string { return "---\n" + keys + "---\nText.\n" }
	const named = "name: demo\ndescription: Does things.\n"
	tests := []struct {
		row, name string
		in        string
		folder    string
		want      string
	}{
		{name: "nothing", in: front(""), want: "yaml.not-mapping@:2:1"},
		{name: "no name", in: front("description: x\n"), want: "name.missing@:2:1/name"},
		{name: "no description", in: front("name: demo\n"), want: "description.missing@:2:1/description"},
		{name: "empty", in: front("name: ''\ndescription:\n"), want: "name.empty@:2:7/name\ndescription.empty@:3:13/description"},
		{name: "lists", in: front("name: [a]\ndescription: {a: b}\n"), want: "name.type@:2:7/name\ndescription.type@:3:14/description"},
		{name: "blank description", in: front("name: demo\ndescription: \" \\n\"\n"), want: "description.empty@:3:14/description"},
		{name: "name of 65", in: front("name: " + strings.Repeat("a", 65) + "\ndescription: x\n"), want: "name.length@:2:7/name"},
		{name: "capitals", in: front("name: Demo\ndescription: x\n"), want: "name.charset@:2:7/name"},
		{name: "underscore", in: front("name: de_mo\ndescription: x\n"), want: "name.charset@:2:7/name"},
		{name: "leading hyphen", in: front("name: -demo\ndescription: x\n"), want: "name.charset@:2:7/name"},
		{name: "trailing hyphen", in: front("name: demo-\ndescription: x\n"), want: "name.charset@:2:7/name"},
		{name: "double hyphen", in: front("name: de--mo\ndescription: x\n"), want: "name.charset@:2:7/name"},
		{name: "combining mark", in: front("name: cafe\u0301\ndescription: x\n"), want: "name.charset@:2:7/name"},
		{name: "NUL by escape", in: front("name: \"a\\0b\"\ndescription: x\n"), want: "name.charset@:2:7/name"},
		{row: "C5", name: "folder in another case", in: front(named), folder: "Demo", want: "pack.name-mismatch@:2:7/name"},
		{name: "another folder", in: front(named), folder: "other", want: "pack.name-mismatch@:2:7/name"},
		{name: "compatibility", in: front(named + "compatibility: " + strings.Repeat("é", 501) + "\n"), want: "compatibility.too-long@:4:16/compatibility"},
		{name: "license a list", in: front(named + "license: [MIT]\n"), want: "license.type@:4:10/license"},
		{name: "metadata a list", in: front(named + "metadata: [a]\n"), want: "metadata.type@:4:11/metadata"},
		{name: "metadata nested", in: front(named + "metadata:\n  a/b: {c: d}\n  e: [f]\n"), want: "metadata.type@:5:8/metadata/a~1b\nmetadata.type@:6:6/metadata/e"},
		{name: "allowed-tools a map", in: front(named + "allowed-tools: {a: b}\n"), want: "allowed-tools.type@:4:16/allowed-tools"},
		{row: "B2", name: "alias", in: front("a: &a [*a]\n" + named), want: "yaml.alias@:2:4"},
		{row: "B5", name: "duplicate", in: front(named + "name: evil\n"), want: "yaml.duplicate-key@:4:1"},
		{row: "B6", name: "document end", in: front(named + "...\nx: y\n"), want: "yaml.multi-document@:5:1"},
		{row: "B12", name: "tag", in: front("name: !!binary aGVsbG8=\ndescription: x\n"), want: "yaml.tag@:2:7"},
		{row: "B13", name: "tab", in: front(named + "metadata:\n\ta: b\n"), want: "yaml.syntax@:5:1"},
		{row: "B16", name: "10,001 brackets", in: front(named + "x: " + strings.Repeat("[", 10001) + "\n"), want: "yaml.depth@:4:36"},
		{name: "unquoted colon", in: front("name: demo\ndescription: Use when: x\n"), want: "yaml.syntax@:3:22"},
		{row: "C4", name: "no body", in: "---\n" + named + "---\n", want: "pack.empty-meaning@:5"},
		{row: "C4", name: "comments only", in: "---\n" + named + "---\n\n<!-- a\nb -->\n \u200b\n", want: "pack.empty-meaning@:5"},
		{row: "B18", name: "fence", in: "----\n" + named + "---\nx", want: "frontmatter.missing@:1:1"},
	}
	for _, tt := range tests {
		t.Run(tt.row+" "+tt.name, func(t *testing.T) {
			folder := tt.folder
			if folder == "" {
				folder = "demo"
			}
			start := time.Now()
			in := Read(folder, skillFolder(tt.in), Options{})
			if took := time.Since(start); took > timetest.Limit(time.Second) {
				t.Errorf("took %v", took)
			}
			got := strings.ReplaceAll(said(in.Faults), "SKILL.md", "")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s\n%v", diff, in.Faults)
			}
			for _, f := range in.Faults {
				if f.Text == "" || f.Kind == "" || f.Place.Line == 0 {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

func TestSkillMDWarns(t *testing.T) {
	front := func(keys string) string {
		return "---\nname: demo\ndescription: Does things.\n" + keys + "---\nText.\n"
	}
	tests := []struct {
		name string
		in   string
		want string
		hint string
	}{
		{name: "unknown key", in: front("x/y: z\n"), want: "key.unknown@:4:1/x~1y", hint: "metadata"},
		{name: "misspelt key", in: front("Allowed_Tools: z\n"), want: "key.unknown@:4:1/Allowed_Tools", hint: "write allowed-tools"},
		{name: "agent keys", in: front("hooks: {a: [b]}\ncontext: fork\nagent: x\nargument-hint: '[a]'\ndisable-model-invocation: yes\n")},
		{name: "metadata number", in: front("metadata:\n  version: 1.0\n"), want: "metadata.not-string@:5:12/metadata/version", hint: `write version: "1.0"`},
		{
			name: "metadata of all kinds", in: front("metadata: {a: yes, b: 2024-01-01, c: , d: 'no', e: text}\n"),
			want: "metadata.not-string@:4:15/metadata/a\nmetadata.not-string@:4:23/metadata/b\nmetadata.not-string@:4:38/metadata/c", hint: `write a: "yes"`,
		},
		{name: "list of tools", in: front("allowed-tools: [Read, 'Bash(git *)']\n"), want: "allowed-tools.list@:4:16/allowed-tools", hint: `write allowed-tools: "Read Bash(git *)"`},
		{name: "commas", in: front("allowed-tools: Read, Grep\n"), want: "allowed-tools.commas@:4:16/allowed-tools", hint: "write allowed-tools: Read Grep"},
		{name: "angle", in: strings.Replace(skillHead, "things", "<b>", 1) + "x", want: "description.angle@:3:14/description"},
		{name: "license a number", in: front("license: 0\n"), want: "license.not-string@:4:10/license"},
		{name: "description a date", in: "---\nname: demo\ndescription: 2024-01-01\n---\nx", want: "description.not-string@:3:14/description"},
		{name: "fence and BOM", in: "\ufeff--- \n" + skillHead[4:] + "x", want: "text.bom@:1:1\nfrontmatter.fence-space@:1:1"},
		{name: "500 lines", in: skillHead + strings.Repeat("x\n", 500)},
		{name: "501 lines", in: skillHead + strings.Repeat("x\n", 500) + "x", want: "body.long@:5"},
		{name: "20,000 bytes", in: skillHead + strings.Repeat("x", 20000)},
		{name: "20,004 bytes", in: skillHead + strings.Repeat("x", 20004), want: "body.long@:5"},
		{name: "hidden by an escape", in: "---\nname: demo\ndescription: \"a\\u202eb\"\n---\nx", want: "text.hidden-unicode@:3:14/description"},
		{name: "500 characters of compatibility", in: front("compatibility: " + strings.Repeat("é", 500) + "\n")},
		{name: "tags as text", in: front("tags: a, b\n")},
		{name: "CRLF", in: strings.ReplaceAll(front(""), "\n", "\r\n")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := Read("demo", skillFolder(tt.in), Options{})
			if err := in.Err(); err != nil {
				t.Fatal(in.Faults)
			}
			if diff := cmp.Diff(tt.want, strings.ReplaceAll(said(in.Layout, in.Warnings), "SKILL.md", "")); diff != "" {
				t.Error(diff)
			}
			if len(in.Warnings) > 0 && !strings.Contains(in.Warnings[0].Hint, tt.hint) {
				t.Errorf("hint %q", in.Warnings[0].Hint)
			}
		})
	}
}

func TestSkillMDDescriptionLength(t *testing.T) {
	text := func(n int) []File {
		return skillFolder("---\nname: demo\ndescription: |\n  " + strings.Repeat("é", n) + "\n---\nx")
	}
	if in := Read("demo", text(1024), Options{}); len(in.Layout) > 0 || in.Pack == nil {
		t.Errorf("1024: %v %v", in.Faults, in.Layout)
	}
	// It reads, because agents read it, and no check lets it pass.
	in := Read("demo", text(1025), Options{})
	if got := said(in.Layout); in.Pack == nil || got != "description.too-long@SKILL.md:3:14/description" {
		t.Errorf("1025: %v %s", in.Faults, got)
	}
}

func TestSkillMDVersionAndTags(t *testing.T) {
	for keys, want := range map[string]string{
		"":                           "[]",
		"version: 1.10\n":            "1.10 []",
		"metadata: {version: '2'}\n": "2 []",
		"version: 1\nmetadata: {version: '2'}\ntags:\n- a\n- {b: c}\n- ''\n": "2 [a]",
		"tags: a, b ,\n": "[a b]",
		"tags: {a: b}\n": "[]",
	} {
		in := Read("demo", skillFolder("---\nname: demo\ndescription: x\n"+keys+"---\nx"), Options{})
		if got := strings.TrimSpace(fmt.Sprint(in.Pack.Version, " ", in.Pack.Tags)); got != want {
			t.Errorf("%q: %s, want %s", keys, got, want)
		}
	}
}

func TestSkillNames(t *testing.T) {
	for name, id := range map[string]string{
		"a": "", "demo-1": "", "1": "", strings.Repeat("a", 64): "", "": "name.length", strings.Repeat("a", 65): "name.length",
		"Demo": "name.charset", "a b": "name.charset", "a.b": "name.charset", "-a": "name.charset", "a--b": "name.charset",
		"é": "name.charset", "../x": "name.charset", "a\n": "name.charset", "\xff": "name.charset",
	} {
		err := ValidSkillName(name)
		if (err == nil) != (id == "") || err != nil && err.ID != id {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"café", "مهارة", "技能", "ёлка-1"} {
		in := Read(name, skillFolder("---\nname: "+name+"\ndescription: x\n---\nx"), Options{})
		if got := said(in.Faults, in.Warnings); got != "name.non-ascii@SKILL.md:2:7/name" {
			t.Errorf("%s: %s", name, got)
		}
	}
	in := Read("x", skillFolder("---\nname: My Skill_2\ndescription: x\n---\nx"), Options{})
	if len(in.Faults) == 0 || in.Faults[0].Hint != "write name: my-skill-2" {
		t.Errorf("%v", in.Faults)
	}
}

func TestSkillMDLinks(t *testing.T) {
	body := strings.Join([]string{
		"See [a](references/a.md), [b](references/missing.md) and ![c](./assets/c.png \"title\").", // line 5
		"[dir](references/) [dir](references) [space](my%20file.md) [angle](<my file.md>)",
		"[web](https://example.com/x.md) [mail](mailto:x@example.com) [page](#part) [root](/etc/x.md) [var]({lang}/x.md) [word](url)",
		"[up](../other/SKILL.md) [back](references/../references/a.md#part) [case](References/A.md)",
		"`[code](gone.md)` ``x ` [code](gone.md)`` \\[not](gone2.md)",
		"```",
		"[code](gone.md)",
		"````x",
		"[code](gone.md)",
		"```",
		"~~~md",
		"``` [code](gone.md)",
		"~~~",
		"[ref]: references/ref.md 'title'",
		"[^note]: gone.md",
		"[again](references/missing.md) `[open](references/late.md)",
		"[nested](a(b).md) [broken](x.md",
	}, "\n")
	in := Read("demo", skillFolder(skillHead+body, "references/a.md", "assets/c.png", "my file.md"), Options{})
	want := strings.Join([]string{
		"link.missing@SKILL.md:5:31", "link.missing@SKILL.md:8:6", "link.missing@SKILL.md:8:75",
		"link.missing@SKILL.md:18:8", "link.missing@SKILL.md:20:40", "link.missing@SKILL.md:21:10",
	}, "\n")
	if diff := cmp.Diff(want, said(in.Warnings)); diff != "" {
		t.Errorf("%s\n%v", diff, in.Warnings)
	}
	if hint := in.Warnings[2].Hint; hint != `the pack has "references/a.md"` {
		t.Errorf("hint %q", hint)
	}

	var many strings.Builder
	for i := range 50 {
		fmt.Fprintf(&many, "[x](gone/%d.md)\n", i)
	}
	in = Read("demo", skillFolder(skillHead+many.String()), Options{})
	if n := len(in.Warnings); n != maxRemarks+1 || !strings.HasPrefix(in.Warnings[n-1].Text, "30 more") {
		t.Errorf("%d warnings, the last %v", n, in.Warnings[n-1])
	}
}

// Bodies at the size limit that make a careless reader go back and forth.
func TestSkillMDBodyIsLinear(t *testing.T) {
	timetest.LongInOneGoroutine(t)
	ladder := func() string {
		var b strings.Builder
		for n := 5000; n > 0; n-- {
			b.WriteString(strings.Repeat("`", n) + "x")
		}
		return b.String()
	}
	for name, body := range map[string]string{
		"brackets":   strings.Repeat("](", MaxBytes/2-100),
		"backticks":  ladder(),
		"open links": strings.Repeat("[](a", MaxBytes/4-100),
		"links":      strings.Repeat("[](a/b)", MaxBytes/7-100),
		"marks":      "x" + strings.Repeat("\u200f", MaxBytes/3-100),
		"zero width": strings.Repeat("a\u200b", MaxBytes/4-100),
		"comments":   "x" + strings.Repeat("<!--", MaxBytes/4-100),
		"fences":     strings.Repeat("```\n", MaxBytes/4-100),
	} {
		start := time.Now()
		in := Read("demo", skillFolder(skillHead+body), Options{})
		if took := time.Since(start); took > timetest.Limit(10*time.Second) {
			t.Errorf("%s: %v", name, took)
		}
		if len(in.Warnings) > 3*maxRemarks {
			t.Errorf("%s: %d warnings", name, len(in.Warnings))
		}
	}
}

// FuzzSkillMD: any text gets an answer with places inside it, the parts put
// together are the file, and no answer depends on the time of asking.
func FuzzSkillMD(f *testing.F) {
	for _, seed := range []string{
		skillHead + "[x](y.md) `a` \u200b\n", "", "---\n", "----\nname: x\n---\n", "\ufeff--- \r\nname: demo\r\n---\r\nx",
		"---\nname: demo\ndescription: a: b\n---\nx", "---\nname: demo\ndescription: x\nmetadata: {a: 1}\nallowed-tools: [a]\ntags: a\n---\n\U0001F3F4\U000E0067\n",
		skillHead + "```\n[a](b.md)\n~~~\n[a]: <b.md>\n", "\xff\xfe-\x00", skillHead + "<!-- x",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		in := Read("demo", skillFolder(string(text), "a/b.md"), Options{})
		if (in.Pack == nil) != (len(in.Faults) > 0) {
			t.Fatalf("pack %v with faults %v", in.Pack, in.Faults)
		}
		again := Read("demo", skillFolder(string(text), "a/b.md"), Options{})
		if said(in.Faults, in.Layout, in.Warnings) != said(again.Faults, again.Layout, again.Warnings) {
			t.Fatal("two answers to one text")
		}
		lines := strings.Count(string(text), "\n") + 1
		for _, list := range [][]*Error{in.Faults, in.Layout, in.Warnings} {
			for _, e := range list {
				if e.ID == "" || e.Text == "" || e.Place.Line > lines+1 || e.Place.Column > len(text)+1 {
					t.Fatalf("%+v", e)
				}
			}
		}
		front, body, line, faults, _ := SplitFrontmatter(text)
		if len(faults) > 0 {
			return
		}
		if !strings.HasSuffix(string(text), string(body)) || !strings.Contains(string(text), string(front)) {
			t.Fatal("the parts are not of the file")
		}
		if start := len(text) - len(body); strings.Count(string(text[:start]), "\n") != line-1 && len(body) > 0 {
			t.Fatalf("body on line %d", line)
		}
	})
}

// BenchmarkReadSkillMD is one skill of usual size, everything but the disk.
func BenchmarkReadSkillMD(b *testing.B) {
	text := "---\nname: demo\ndescription: Does things with documents. Use when the user asks for a summary or a table.\nlicense: MIT\n" +
		"compatibility: needs git\nmetadata:\n  author: acme\n  version: \"1.0\"\nallowed-tools: Read Grep\n---\n# Demo\n\n" +
		strings.Repeat("Read [the guide](references/guide.md) first – then run `scripts/run.sh` and say what you see.\n", 60)
	files := skillFolder(text, "references/guide.md", "scripts/run.sh")
	b.ReportAllocs()
	for b.Loop() {
		if in := Read("demo", files, Options{}); in.Pack == nil || len(in.Warnings) > 0 {
			b.Fatal(in.Faults, in.Warnings)
		}
	}
}
