package pack

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/kortecx/kx/internal/strictjson"
)

func TestSkillName(t *testing.T) {
	for name, want := range map[string]string{
		"email-triage":   "email-triage",
		"email_triage.2": "email-triage-2",
		"-a--b.":         "a-b",
		".hidden":        "hidden",
		"a":              "a",
		"2fa":            "2fa",
		"__":             "",
	} {
		if got := SkillName(&Pack{Format: Kortecx, Name: name}); got != want {
			t.Errorf("SkillName(%q) = %q, want %q", name, got, want)
		}
	}
	if got := SkillName(&Pack{Format: Kazma, Name: "a_b"}); got != "a_b" {
		t.Errorf("a kazma pack's name became %q", got)
	}
}

func TestAgentDescription(t *testing.T) {
	long := strings.Repeat("é", 1024)
	for _, tt := range []struct{ text, want string }{
		{"", "Instructions for email triage."},
		{" \n\t", "Instructions for email triage."},
		{" Sorts. ", "Sorts."},
		{long, long},
		{long + "x", strings.Repeat("é", 1023) + "…"},
	} {
		if got := agentDescription(tt.text, "email-triage"); got != tt.want {
			t.Errorf("agentDescription(%.20q) = %.40q, want %.40q", tt.text, got, tt.want)
		}
	}
}

// TestNamesThatYAMLTakesForSomethingElse stay text.
func TestNamesThatYAMLTakesForSomethingElse(t *testing.T) {
	for _, name := range []string{"true", "null", "no", "y", "1e3", "0x10", "12", "2026-11-30", "on"} {
		p := Read(name, []File{
			{Path: "instructions.md", Data: []byte("Do.\n")},
			{Path: "skill.json", Data: []byte(`{"schema":"kortecx.skill/v1","name":"` + name + `"}`)},
		}, Options{}).Pack
		files, err := AgentFiles(p)
		if err != nil {
			t.Fatal(err)
		}
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
		in := Read(name, []File{
			{Path: "instructions.md", Data: []byte(body)},
			{Path: "skill.json", Data: []byte(`{"schema":"kortecx.skill/v1","name":"` + name + `","description":` + string(strictjson.AppendString(nil, text)) + `}`)},
		}, Options{})
		if in.Pack == nil {
			t.Skip("no pack")
		}
		files, err := AgentFiles(in.Pack)
		if err != nil {
			t.Fatal(err)
		}
		slug := SkillName(in.Pack)
		out := Read(slug, []File{{Path: files[0].Path, Data: files[0].Data}}, Options{})
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
