package deliver

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/pack"
)

func TestRenderKortecx(t *testing.T) {
	p := kortecx(t, "email-triage", "3")
	files, err := Render(p)
	must(t, err)
	same(t, []fsx.File{{Path: "SKILL.md", Perm: 0o644, Data: []byte(`---
name: email-triage
description: "Sorts mail"
metadata:
  version: "3"
  kx-digest: "` + string(p.Digest()) + `"
  kx-wishes: "gmail/read@2 retrieve@1"
---
# Sort

Version 3.
`)}}, files)
	if strings.Contains(string(files[0].Data), "allowed-tools") {
		t.Error("a wish became a grant")
	}
}

func TestRenderCopiesOthersWhole(t *testing.T) {
	for _, p := range []*pack.Pack{skillMD(t, "hello", "1"), kazma(t, "hello")} {
		files, err := Render(p)
		must(t, err)
		if len(files) != len(p.Files) {
			t.Fatalf("%d files of %d", len(files), len(p.Files))
		}
		for i, f := range files {
			of := p.Files[i]
			if f.Path != of.Path || string(f.Data) != string(of.Data) || of.Executable != (f.Perm == 0o755) || !of.Executable && f.Perm != 0o644 {
				t.Errorf("%s %o became %s %o", of.Path, of.Data, f.Path, f.Perm)
			}
		}
	}
}

func TestRenderRefuses(t *testing.T) {
	for _, name := range []string{".kx-owned", ".KX-owned", ".memclaw-owned", ".kx-owned/x"} {
		p := skillMD(t, "hello", "1")
		p.Files = append(p.Files, pack.File{Path: name})
		_, err := Render(p)
		refused(t, err, hubapi.Invalid, IDReserved)
	}
	// Names that a kortecx pack may have and a skill may not.
	for _, name := range []string{"._-", "-", "..."} {
		p := read(t, name, map[string]string{
			"skill.json":      `{"schema":"kortecx.skill/v1","name":"` + name + `"}`,
			"instructions.md": "Do.\n",
		})
		_, err := Render(p)
		refused(t, err, hubapi.Invalid, IDName)
	}
}

func TestSlug(t *testing.T) {
	for name, want := range map[string]string{
		"email-triage":   "email-triage",
		"email_triage.2": "email-triage-2",
		"-a--b.":         "a-b",
		".hidden":        "hidden",
		"a":              "a",
		"2fa":            "2fa",
		"__":             "",
	} {
		if got := Slug(&pack.Pack{Format: pack.Kortecx, Name: name}); got != want {
			t.Errorf("Slug(%q) = %q, want %q", name, got, want)
		}
	}
	if got := Slug(&pack.Pack{Format: pack.Kazma, Name: "a_b"}); got != "a_b" {
		t.Errorf("a kazma pack's name became %q", got)
	}
}

func TestDescription(t *testing.T) {
	long := strings.Repeat("é", 1024)
	for _, tt := range []struct{ text, want string }{
		{"", "Instructions for email triage."},
		{" \n\t", "Instructions for email triage."},
		{" Sorts. ", "Sorts."},
		{long, long},
		{long + "x", strings.Repeat("é", 1023) + "…"},
	} {
		if got := description(tt.text, "email-triage"); got != tt.want {
			t.Errorf("description(%.20q) = %.40q, want %.40q", tt.text, got, tt.want)
		}
	}
}

// TestNamesThatYAMLTakesForSomethingElse stay text.
func TestNamesThatYAMLTakesForSomethingElse(t *testing.T) {
	for _, name := range []string{"true", "null", "no", "y", "1e3", "0x10", "12", "2026-11-30", "on"} {
		p := read(t, name, map[string]string{
			"skill.json":      `{"schema":"kortecx.skill/v1","name":"` + name + `"}`,
			"instructions.md": "Do.\n",
		})
		files, err := Render(p)
		must(t, err)
		if !strings.Contains(string(files[0].Data), "\nname: \""+name+"\"\n") {
			t.Errorf("%s is not quoted:\n%s", name, files[0].Data)
		}
	}
}

// TestRenderedSkillIsASkill: whatever a manifest says and whatever the
// instructions hold, an agent reads a valid skill with the same text.
func TestRenderedSkillIsASkill(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z][a-z0-9._-]{0,20}[a-z0-9]`).Draw(t, "name")
		text := rapid.String().Draw(t, "description")
		body := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"---\nname: evil\n---\n", "\n---\n", "\r\n", "\ufeffx", "no end of line"})).Draw(t, "body")
		in := pack.Read(name, []pack.File{
			{Path: "instructions.md", Data: []byte(body)},
			{Path: "skill.json", Data: []byte(`{"schema":"kortecx.skill/v1","name":"` + name + `","description":` + string(strictjson.AppendString(nil, text)) + `}`)},
		}, pack.Options{})
		if in.Pack == nil {
			t.Skip("no pack")
		}
		files, err := Render(in.Pack)
		must(t, err)
		slug := Slug(in.Pack)
		out := pack.Read(slug, []pack.File{{Path: files[0].Path, Data: files[0].Data}}, pack.Options{})
		if err := out.Err(); err != nil {
			t.Fatalf("%v in:\n%s", err, files[0].Data)
		}
		if got := out.Pack.Name; got != slug {
			t.Fatalf("the name is %q", got)
		}
		want := strings.TrimSpace(text)
		if got := out.Pack.Description; want != "" && utf8.RuneCountInString(want) <= maxDescription && got != want {
			t.Fatalf("the description is %q, was %q", got, want)
		}
		if got := string(out.Pack.Instructions()); got != body {
			t.Fatalf("the text is %q, was %q", got, body)
		}
	})
}
