package deliver

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Leaving left {"skills":{"load":{"extraDirs":[]}}} behind in a configuration that had
// none of it.
func TestLeavingRestoresOpenClawsConfiguration(t *testing.T) {
	cases := map[string]struct {
		before string
		// between is what somebody else does to the file while the targets are registered.
		between func(string) string
		want    string // empty: as before
	}{
		"nothing in it":                 {before: "{}\n"},
		"nothing in it, on two lines":   {before: "{\n}\n"},
		"blanks in it":                  {before: "{ }"},
		"without skills":                {before: "{\n  \"owner\": \"a person\"\n}\n"},
		"on one line":                   {before: `{"owner":"a person","theme":{}}`},
		"skills, empty":                 {before: "{\"skills\": {}}"},
		"skills, empty, on two lines":   {before: "{\n  \"skills\": {\n  }\n}\n"},
		"load, empty":                   {before: "{\r\n\t\"skills\": {\"load\": { }}\r\n}\r\n"},
		"load with other things":        {before: "{\n  \"skills\": {\n    \"load\": {\n      \"watch\": true\n    }\n  }\n}\n"},
		"the list, empty":               {before: "{\"skills\": {\"load\": {\"extraDirs\": []}}}"},
		"the list, empty, on two lines": {before: "{\"skills\": {\"load\": {\"extraDirs\": [\n]}}}"},
		"the list with others":          {before: "{\n\"skills\": {\"load\": {\"extraDirs\": [\n\"/else\"\n]}}}"},
		"somebody writes elsewhere": {
			before:  "{\n  \"owner\": \"a person\"\n}\n",
			between: func(s string) string { return strings.Replace(s, "a person", "another", 1) },
			want:    "{\n  \"owner\": \"another\"\n}\n",
		},
		"somebody else's folder in the list that was made": {
			before:  "{}",
			between: func(s string) string { return strings.Replace(s, "[", `["/else", `, 1) },
			want:    "{\n  \"skills\": {\n    \"load\": {\n      \"extraDirs\": [\"/else\"\n      ]\n    }\n  }\n}",
		},
		"somebody else's setting in the object that was made": {
			before:  "{}",
			between: func(s string) string { return strings.Replace(s, `"load"`, `"enabled": true, "load"`, 1) },
			want:    "{\n  \"skills\": {\n    \"enabled\": true\n  }\n}",
		},
		"somebody takes our entries out": {
			before:  "{}",
			between: func(string) string { return `{"skills": {"load": {"extraDirs": []}}}` },
			want:    `{"skills": {"load": {"extraDirs": []}}}`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			file := filepath.Join(g.base, ".openclaw", "openclaw.json")
			put(t, g.base, ".openclaw/openclaw.json", c.before)
			other := filepath.Join(g.base, "other", "skills")
			// One after the other, and the first one leaves first: the second finds
			// what the first one made.
			for _, dir := range []string{g.dir, other} {
				_, err := g.reconciler().Run(context.Background(), []SyncTarget{{Dir: dir, Mode: AdditiveTarget, Register: true}}, nil)
				must(t, err)
			}
			data, err := os.ReadFile(file)
			must(t, err)
			if c.between != nil {
				must(t, os.WriteFile(file, []byte(c.between(string(data))), 0o644))
			}
			for _, dir := range []string{g.dir, other} {
				left, err := g.reconciler().Leave([]string{dir})
				must(t, err)
				if len(left) != 1 || left[0].Error != "" || left[0].Unregistered == (name == "somebody takes our entries out") {
					t.Errorf("%+v", left)
				}
			}
			want := c.want
			if want == "" {
				want = c.before
			}
			if data, err := os.ReadFile(file); err != nil || string(data) != want {
				t.Errorf("%v\nleft %q\nwant %q", err, data, want)
			}
			// What was made is forgotten with the last target: an empty list that is
			// somebody else's by now stays.
			entries, err := os.ReadDir(filepath.Join(g.base, "state"))
			must(t, err)
			for _, e := range entries {
				if !strings.HasPrefix(e.Name(), "hub-") {
					t.Errorf("%s is still remembered", e.Name())
				}
			}
		})
	}
}

// G1 to G4 of the reference: who is registered, and that a skill is written all the same.
func TestWhoIsRegistered(t *testing.T) {
	const other = `{"skills": {"load": {"extraDirs": ["/else"]}}}`
	for name, c := range map[string]struct {
		file     string // before; empty: none. DIR is the target
		register bool
		want     string // afterwards
		dirs     int    // registered
	}{
		"G1 asked for":      {file: other, register: true, want: `{"skills": {"load": {"extraDirs": ["/else", "DIR"]}}}`, dirs: 1},
		"G2 not asked for":  {file: other, want: other},
		"G3 no file":        {register: true},
		"G4 there already":  {file: `{"skills":{"load":{"extraDirs":["DIR"]}}}`, register: true, want: `{"skills":{"load":{"extraDirs":["DIR"]}}}`, dirs: 1},
		"G4 and unreadable": {file: `{"skills":`, register: true, want: `{"skills":`},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			file, dir := filepath.Join(g.base, ".openclaw", "openclaw.json"), filepath.Join(g.base, "more", "skills")
			with := func(s string) string { return strings.ReplaceAll(s, "DIR", dir) }
			if c.file != "" {
				put(t, g.base, ".openclaw/openclaw.json", with(c.file))
			}
			g.hub.rows = []map[string]any{row("a", "x")}
			s, err := g.reconciler().Run(context.Background(), []SyncTarget{{Dir: g.dir, Mode: OwnedTarget}, {Dir: dir, Mode: AdditiveTarget, Register: c.register}}, nil)
			must(t, err)
			got, err := os.ReadFile(file)
			if c.file == "" && !os.IsNotExist(err) || string(got) != with(c.want) {
				t.Errorf("the file is %s, %v, want %s", got, err, with(c.want))
			}
			if len(s.RegisteredDirs) != c.dirs || c.dirs == 1 && s.RegisteredDirs[0] != dir || s.RegisteredDirs == nil {
				t.Errorf("registered: %#v", s.RegisteredDirs)
			}
			if data, err := os.ReadFile(filepath.Join(dir, "a", "SKILL.md")); err != nil || string(data) != asText("a", "x") {
				t.Errorf("the skill is %q, %v", data, err)
			}
		})
	}
}
