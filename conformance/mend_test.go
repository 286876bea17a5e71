package conformance

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/internal/yamledit"
)

func TestMendFiles(t *testing.T) {
	const bom = byteOrderMark
	for _, tc := range []struct {
		name, file, in, want string
		left                 string // id of what stays
	}{
		{
			"layout", "skill.json",
			`{"schema":"kortecx.skill/v1","name":"x","tools":{"b":"1","a":"2"},"tags":["z","a"]}`,
			"{\n  \"name\": \"x\",\n  \"schema\": \"kortecx.skill/v1\",\n  \"tags\": [\n    \"z\",\n    \"a\"\n  ],\n  \"tools\": {\n    \"a\": \"2\",\n    \"b\": \"1\"\n  }\n}\n",
			"",
		},
		{"empty values stay", "skill.json", `{"tools":{ },"tags":[ ]}`, "{\n  \"tags\": [],\n  \"tools\": {}\n}\n", ""},
		{"escapes become canonical", "skill.json", `{"a":"\u00e9\/\u001B"}`, "{\n  \"a\": \"é/\\u001b\"\n}\n", ""},
		{"numbers stay as written", "skill.json", `{"a":1.50,"b":-0}`, "{\n  \"a\": 1.50,\n  \"b\": -0\n}\n", ""},
		{"mark and layout", "skill.json", bom + "{\"a\":true}", "{\n  \"a\": true\n}\n", ""},
		{"not JSON", "skill.json", "{\"a\":1,}", "{\"a\":1,}", "json.syntax"},
		{"not JSON behind a mark", "skill.json", bom + "{", "{", "json.syntax"},
		{"duplicate keys need judgement", "skill.json", `{"a":1,"a":2}`, `{"a":1,"a":2}`, "json.duplicate-key"},

		{"two marks", "README.md", bom + bom + "x", "x", ""},
		{"Markdown mark", "README.md", bom + "# x\r\n", "# x\r\n", ""},
		{"Markdown otherwise untouched", "instructions.md", "a  \r\n\n\n", "a  \r\n\n\n", ""},

		{"fence spaces", "SKILL.md", "--- \nname: x\n---\t\nbody  \n", "---\nname: x\n---\nbody  \n", ""},
		{"fence ends like its frontmatter", "SKILL.md", "---\r\nname: x\n---\r\nbody\r\n", "---\nname: x\n---\nbody\r\n", ""},
		{"all CRLF stays", "SKILL.md", "---\r\nname: x\r\n---\r\nbody\r\n", "---\r\nname: x\r\n---\r\nbody\r\n", ""},
		{"no newline at the end", "SKILL.md", "---\nname: x\n--- ", "---\nname: x\n---", ""},
		{"no frontmatter", "SKILL.md", "# x\n--- \n", "# x\n--- \n", ""},
		{"unclosed", "SKILL.md", "--- \nname: x\n", "--- \nname: x\n", ""},
		{
			"colon", "SKILL.md", bom + "---\nname: x\ndescription: Use when: asked \n---\nb: c: d\n",
			"---\nname: x\ndescription: \"Use when: asked\" \n---\nb: c: d\n", "",
		},
		{
			"metadata", "SKILL.md", "---\nname: x\nmetadata:\n  version: 1.0 # first\n  ok: \"2\"\n  draft: yes\n  day: 2026-01-02\n  word: text\n---\n",
			"---\nname: x\nmetadata:\n  version: \"1.0\" # first\n  ok: \"2\"\n  draft: \"yes\"\n  day: \"2026-01-02\"\n  word: text\n---\n", "",
		},
		{"metadata in braces", "SKILL.md", "---\nmetadata: {version: 1, a: b}\n---\n", "---\nmetadata: {version: \"1\", a: b}\n---\n", ""},
		{"what cannot be read stays", "SKILL.md", "---\nname: x\nname: y\nmetadata:\n  v: 1\n---\n", "---\nname: x\nname: y\nmetadata:\n  v: 1\n---\n", "yaml.duplicate-key"},

		{
			"kazma", "skill_manifest.yaml", bom + "name: x # c\nversion: 1.0\nchecksum: " + strings.Repeat("1", 61) + "e00\ndescription: a: b\n",
			"name: x # c\nversion: \"1.0\"\nchecksum: \"" + strings.Repeat("1", 61) + "e00\"\ndescription: \"a: b\"\n", "",
		},
		{"kazma in order", "skill_manifest.yaml", "name: x\nversion: 1.0.0\nflag: yes\n", "name: x\nversion: 1.0.0\nflag: yes\n", ""},
		{"kazma broken", "skill_manifest.yaml", "name: [\n", "name: [\n", "yaml.syntax"},
	} {
		out, notes, left := menderOf(tc.file)([]byte(tc.in))
		if diff := cmp.Diff(tc.want, string(out)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		if (len(notes) > 0) != (tc.in != tc.want) {
			t.Errorf("%s: notes %q", tc.name, notes)
		}
		id := ""
		if len(left) > 0 {
			id = left[0].ID
		}
		if id != tc.left {
			t.Errorf("%s: left %q, want %q", tc.name, id, tc.left)
		}
		if again, _, _ := menderOf(tc.file)(out); !bytes.Equal(again, out) {
			t.Errorf("%s: mending twice gives\n%s", tc.name, again)
		}
	}
	if menderOf("main.py") != nil || menderOf("sub/skill.json") != nil {
		t.Error("a file that is no manifest would be rewritten")
	}
}

// drawJSON makes documents without duplicate keys, in any layout.
func drawJSON(t *rapid.T, depth int) string {
	space := rapid.StringMatching(`[ \n\r\t]{0,2}`).Draw(t, "space")
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 {
		kind = min(kind, 3)
	}
	switch kind {
	case 0:
		return space + rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "word")
	case 1:
		return space + rapid.SampledFrom([]string{"0", "-0", "1.50", "1e9", "12345678901234567890"}).Draw(t, "number") + space
	case 2, 3:
		return space + string(strictjson.AppendString(nil, rapid.String().Draw(t, "text")))
	case 4:
		n := rapid.IntRange(0, 3).Draw(t, "elements")
		parts := make([]string, n)
		for i := range parts {
			parts[i] = drawJSON(t, depth-1)
		}
		return "[" + strings.Join(parts, ",") + space + "]"
	}
	names := rapid.SliceOfNDistinct(rapid.String(), 0, 4, func(s string) string { return strings.ToValidUTF8(s, "\ufffd") }).Draw(t, "names")
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = string(strictjson.AppendString(nil, name)) + space + ":" + drawJSON(t, depth-1)
	}
	return "{" + strings.Join(parts, ","+space) + "}"
}

// plainNode is a value without places, objects as maps: what a document means.
func plainNode(n *strictjson.Node) any {
	switch n.Kind {
	case strictjson.Array:
		out := []any{}
		for _, e := range n.Elems {
			out = append(out, plainNode(e))
		}
		return out
	case strictjson.Object:
		out := map[string]any{}
		for _, m := range n.Members {
			out[m.Name] = plainNode(m.Value)
		}
		return out
	}
	return n.Kind.String() + " " + n.Text
}

func TestMendJSONKeepsTheMeaningAndSettles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawJSON(t, 4)
		before, faults := strictjson.Parse([]byte(in))
		if len(faults) > 0 {
			t.Skip("not strict")
		}
		out, _, left := mendJSON([]byte(in))
		if len(left) > 0 {
			t.Fatalf("left %v", left[0])
		}
		after, faults := strictjson.Parse(out)
		if len(faults) > 0 {
			t.Fatalf("became unreadable: %v\n%s", faults[0], out)
		}
		if diff := cmp.Diff(plainNode(before), plainNode(after)); diff != "" {
			t.Fatalf("the meaning changed (-before +after):\n%s", diff)
		}
		if again, notes, _ := mendJSON(out); !bytes.Equal(again, out) || len(notes) > 0 {
			t.Fatalf("not settled: %s", again)
		}
	})
}

// texts are the scalars of a mapping in order, by their text alone.
func texts(m *yamledit.Mapping) []string {
	var out []string
	var value func(v *yamledit.Value)
	mapping := func(m *yamledit.Mapping) {
		for i := range m.Entries {
			out = append(out, m.Entries[i].Key)
			value(&m.Entries[i].Value)
		}
	}
	value = func(v *yamledit.Value) {
		out = append(out, v.Text)
		for i := range v.Items {
			value(&v.Items[i])
		}
		if v.Map != nil {
			mapping(v.Map)
		}
	}
	mapping(m)
	return out
}

func FuzzMend(f *testing.F) {
	for _, file := range []string{"skill.json", "SKILL.md", "skill_manifest.yaml", "README.md"} {
		for _, s := range []string{
			"", "{}", "{\"b\":1, \"a\":[]}", "---\nname: x\n---\n", "--- \nmetadata: {v: 1}\n---\r\n", "---\nd: a: b\n---",
			"version: 1.0\nchecksum: 12e3\n", "d: a: b: c\n", "\xef\xbb\xbfx", "---\nmetadata:\n  a: 0o17\n  b: ~\n---\n",
		} {
			f.Add(file, []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, file string, data []byte) {
		mend := menderOf(file)
		if mend == nil || len(data) > 1<<16 {
			return
		}
		out, _, left := mend(data)
		again, notes, leftAgain := mend(out)
		if !bytes.Equal(again, out) || len(notes) > 0 {
			t.Fatalf("not settled: %q became %q and then %q (%q)", data, out, again, notes)
		}
		if len(left) != len(leftAgain) {
			t.Fatalf("%d faults left, then %d", len(left), len(leftAgain))
		}
		if file != kazmaManifest {
			return
		}
		data, _ = withoutMark(data)
		before, faults, _ := yamledit.Parse(data)
		if len(faults) > 0 {
			return
		}
		after, faults, _ := yamledit.Parse(out)
		if len(faults) > 0 {
			t.Fatalf("%q became unreadable: %v", out, faults[0])
		}
		if diff := cmp.Diff(texts(before), texts(after)); diff != "" {
			t.Fatalf("texts changed (-before +after):\n%s", diff)
		}
	})
}

func TestMendOnDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	put := func(name, text string, perm os.FileMode) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), perm); err != nil {
			t.Fatal(err)
		}
	}
	put("skill.json", `{"name":"x","a":1}`, 0o600)
	put("instructions.md", byteOrderMark+"# x\n", 0o644)
	put("README.md", "# x\n", 0o644)
	put(".git/notes.md", byteOrderMark+"hidden\n", 0o644)
	if err := os.Symlink("../outside.md", filepath.Join(dir, "link.md")); err != nil {
		t.Fatal(err)
	}

	seen, err := Mend(dir, MendOptions{Check: true})
	if err != nil {
		t.Fatal(err)
	}
	files := func(m Mended) (out []string) {
		for _, c := range m.Changes {
			out = append(out, c.File)
		}
		return out
	}
	if diff := cmp.Diff([]string{"instructions.md", "skill.json"}, files(seen)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "skill.json")); string(data) != `{"name":"x","a":1}` {
		t.Errorf("looking wrote %s", data)
	}

	if only, err := Mend(filepath.Join(dir, "skill.json"), MendOptions{Check: true}); err != nil || len(only.Changes) != 1 {
		t.Errorf("the manifest alone: %v, %v", files(only), err)
	}
	if _, err := Mend(dir, MendOptions{}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "skill.json"))
	if err != nil || string(data) != "{\n  \"a\": 1,\n  \"name\": \"x\"\n}\n" {
		t.Errorf("got %s, %v", data, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "skill.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if again, err := Mend(dir, MendOptions{}); err != nil || len(again.Changes) > 0 {
		t.Errorf("a second time: %v, %v", files(again), err)
	}
	if _, err := Mend(filepath.Dir(dir), MendOptions{}); err == nil {
		t.Error("a folder that is no pack was mended")
	}
}
