package kazmaload

import (
	"strings"
	"testing"

	"github.com/kortecx/kx/hubapi"
)

func environment(name string) string {
	return map[string]string{"HOME": "/home/u", "SKILLS_DIR": "my/skills"}[name]
}

func TestReadSettings(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       Settings
		id         string
	}{
		{"empty", "", Settings{Path: DefaultPath, AutoDiscover: true}, ""},
		{"without the section", "mcp:\n  servers: []\n", Settings{Path: DefaultPath, AutoDiscover: true}, ""},
		{"the source document's", "skills:\n  path: kazma-skills/manifests/\n  auto_discover: true\nother: [1, {a: b}]\n", Settings{Path: "kazma-skills/manifests/", AutoDiscover: true}, ""},
		{"turned off", "skills: {auto_discover: no}\n", Settings{Path: DefaultPath}, ""},
		{"signed only", "skills: {require_signed: true}\n", Settings{Path: DefaultPath, AutoDiscover: true, RequireSigned: true}, ""},
		{"a variable", "skills:\n  path: ${SKILLS_DIR}/x\n", Settings{Path: "my/skills/x", AutoDiscover: true, Expanded: true}, ""},
		{"two variables and a dollar", "skills:\n  path: ${HOME}/$$a$b/${SKILLS_DIR}\n", Settings{Path: "/home/u/$a$b/my/skills", AutoDiscover: true, Expanded: true}, ""},
		{"a skill that is turned off", "skills:\n  demo: {enabled: false, config: {a: 1}}\n  other: {enabled: yes}\n", Settings{Path: DefaultPath, AutoDiscover: true, Disabled: []string{"demo"}}, ""},
		{"a variable without a value", "skills:\n  path: ${NOT_SET}\n", Settings{}, IDVariable},
		{"a variable that is none", "skills:\n  path: ${a b}\n", Settings{}, IDVariable},
		{"a variable without an end", "skills:\n  path: a${HOME\n", Settings{}, IDVariable},
		{"a misspelt key", "skills:\n  auto_disover: true\n", Settings{}, IDSettings},
		{"path is a list", "skills:\n  path: [a]\n", Settings{}, IDSettings},
		{"path is empty", "skills:\n  path: ''\n", Settings{}, IDSettings},
		{"auto_discover is text", "skills:\n  auto_discover: perhaps\n", Settings{}, IDSettings},
		{"the section is a list", "skills: [a]\n", Settings{}, IDSettings},
		{"not YAML", "{{{{", Settings{}, "yaml.syntax"},
		{"twice", "skills: {}\nskills: {path: x}\n", Settings{}, "yaml.duplicate-key"},
		{"not UTF-8", "skills: {path: \"\xff\"}\n", Settings{}, "yaml.invalid-utf8"},
		{"too large", "a: " + strings.Repeat("x", MaxSettings), Settings{}, "yaml.too-large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ReadSettings([]byte(tt.text), environment)
			if tt.id != "" {
				if e := hubapi.AsError(err); e == nil || e.ID() != tt.id || e.Code != hubapi.Usage {
					t.Fatalf("%v, want %s", err, tt.id)
				}
				return
			}
			if err != nil || got.Path != tt.want.Path || got.AutoDiscover != tt.want.AutoDiscover || got.RequireSigned != tt.want.RequireSigned ||
				got.Expanded != tt.want.Expanded || strings.Join(got.Disabled, ",") != strings.Join(tt.want.Disabled, ",") {
				t.Errorf("%+v, %v; want %+v", got, err, tt.want)
			}
		})
	}
}

// What is expanded holds no value of a variable that was not named, and an error
// never shows a value.
func FuzzExpand(f *testing.F) {
	for _, text := range []string{"${HOME}", "$$", "a$", "${", "${HOME}${X}", "$${HOME}"} {
		f.Add(text)
	}
	const value = "\x01value\x01"
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "\x01") {
			t.Skip("the text holds the mark of a value, which tells nothing about expanding")
		}
		out, expanded, err := Expand(text, func(name string) string {
			if name == "HOME" {
				return value
			}
			return ""
		})
		if err != nil {
			if strings.Contains(err.Error(), value) {
				t.Errorf("%q: the error shows a value: %v", text, err)
			}
			return
		}
		if expanded != strings.Contains(out, value) {
			t.Errorf("%q became %q, expanded %v", text, out, expanded)
		}
		if n := strings.Count(out, value); n > strings.Count(text, "${HOME}") {
			t.Errorf("%q became %q", text, out)
		}
	})
}

func FuzzReadSettings(f *testing.F) {
	f.Add([]byte("skills:\n  path: ${HOME}/x\n  auto_discover: true\n"))
	f.Add([]byte("skills: {demo: {enabled: false}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := ReadSettings(data, environment)
		if err == nil && got.Path == "" {
			t.Errorf("%q gave no path", data)
		}
	})
}
