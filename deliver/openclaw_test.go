package deliver

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kortecx/kx/internal/strictjson"
)

func TestOpenClawRegistration(t *testing.T) {
	// HOME stands for the home, in files as in directories.
	cases := map[string]struct {
		file    string
		dirs    []string
		want    string // empty: as before
		present []string
		fails   string
	}{
		"E1 create": {file: "{}\n", dirs: []string{"/s/a"}, want: "{\n  \"skills\": {\n    \"load\": {\n      \"extraDirs\": [\n        \"/s/a\"\n      ]\n    }\n  }\n}\n", present: []string{"/s/a"}},
		"E2 append, and watch stays": {
			file: "{\n  \"skills\": {\n    \"load\": {\n      \"watch\": true,\n      \"extraDirs\": [\n        \"/else\"\n      ]\n    }\n  },\n  \"other\": [1,2]\n}\n", dirs: []string{"/s/a"},
			want: "{\n  \"skills\": {\n    \"load\": {\n      \"watch\": true,\n      \"extraDirs\": [\n        \"/else\",\n        \"/s/a\"\n      ]\n    }\n  },\n  \"other\": [1,2]\n}\n", present: []string{"/s/a"},
		},
		"E2 beside watch": {
			file: "{\n  \"skills\": {\n    \"load\": {\n      \"watch\": true\n    }\n  }\n}\n", dirs: []string{"/s/a", "/s/b"},
			want: "{\n  \"skills\": {\n    \"load\": {\n      \"watch\": true,\n      \"extraDirs\": [\n        \"/s/a\",\n        \"/s/b\"\n      ]\n    }\n  }\n}\n", present: []string{"/s/a", "/s/b"},
		},
		"E3 and E4 there already":   {file: `{"skills":{"load":{"extraDirs":["/s/a"]}}}`, dirs: []string{"/s/a"}, present: []string{"/s/a"}},
		"E5 a home in short":        {file: `{"skills":{"load":{"extraDirs":["~/x"]}}}`, dirs: []string{"HOME/x"}, present: []string{"HOME/x"}},
		"E5 a slash more":           {file: `{"skills":{"load":{"extraDirs":["/s/a/"]}}}`, dirs: []string{"/s/a"}, present: []string{"/s/a"}},
		"E6 entries of other kinds": {file: `{"skills":{"load":{"extraDirs":[1,null,{"a":[]}]}}}`, dirs: []string{"/s/a"}, want: `{"skills":{"load":{"extraDirs":[1,null,{"a":[]}, "/s/a"]}}}`, present: []string{"/s/a"}},
		"E7 no file":                {dirs: []string{"/s/a"}, fails: "no configuration"},
		"E8 a list at the top":      {file: `["skills"]`, dirs: []string{"/s/a"}, fails: "should be"},
		"E9 skills of text":         {file: `{"skills":"x"}`, dirs: []string{"/s/a"}, fails: "skills should be"},
		"E9 load of a list":         {file: `{"skills":{"load":[]}}`, dirs: []string{"/s/a"}, fails: "load should be"},
		"E9 dirs of text":           {file: `{"skills":{"load":{"extraDirs":"/s/a"}}}`, dirs: []string{"/s/a"}, fails: "extraDirs should be"},
		"E10 relative is literal":   {file: `{"skills":{"load":{"extraDirs":["s/a"]}}}`, dirs: []string{"/s/a"}, want: `{"skills":{"load":{"extraDirs":["s/a", "/s/a"]}}}`, present: []string{"/s/a"}},
		"E11 nothing asked":         {file: `{broken`, dirs: nil},
		"E12 the same twice":        {file: `{"skills":{"load":{"extraDirs":[]}}}`, dirs: []string{"/s/a", "/s/a"}, want: `{"skills":{"load":{"extraDirs":["/s/a"]}}}`, present: []string{"/s/a"}},
		"comments":                  {file: "{ // mine\n}", dirs: []string{"/s/a"}, fails: "left alone: it has comments"},
		"comments, and by hand":     {file: "{ /* mine */ \"skills\": {\"load\": {\"extraDirs\": [\"//x\", \"/s/a\", // ours\n]}},}", dirs: []string{"/s/a"}, present: []string{"/s/a"}},
		"a comma at an end":         {file: `{"skills":{"load":{"extraDirs":["/s/b",]}}}`, dirs: []string{"/s/a", "/s/b"}, fails: "left alone: it has comments, or a comma", present: []string{"/s/b"}},
		"a fault behind a comment":  {file: "{ /* mine\n */\n  \"a\": tru\n}", dirs: []string{"/s/a"}, fails: "read as JSON: /a: "},
		"a comment without end":     {file: `{"a": 1 /* }`, dirs: []string{"/s/a"}, fails: "cannot be read as JSON"},
		"two commas":                {file: `{"a": [1,,]}`, dirs: []string{"/s/a"}, fails: "cannot be read as JSON"},
		"a comma alone":             {file: `{"a": [,]}`, dirs: []string{"/s/a"}, present: nil, fails: "left alone"},
		"broken, but partly there":  {file: `{"skills":{"load":{"extraDirs":["/s/a"]}}`, dirs: []string{"/s/a"}, fails: "left alone"},
		"on one line":               {file: `{"a": 1, "skills": {}}`, dirs: []string{"/s/a"}, want: `{"a": 1, "skills": {"load": {"extraDirs": ["/s/a"]}}}`, present: []string{"/s/a"}},
		"tabs and carriage returns": {file: "{\r\n\t\"a\": 1\r\n}\r\n", dirs: []string{"/s/a"}, want: "{\r\n\t\"a\": 1,\r\n\t\"skills\": {\r\n\t  \"load\": {\r\n\t    \"extraDirs\": [\r\n\t      \"/s/a\"\r\n\t    ]\r\n\t  }\r\n\t}\r\n}\r\n", present: []string{"/s/a"}},
		"a quote in the name":       {file: `{"skills":{"load":{"extraDirs":[]}}}`, dirs: []string{`/s/"a"\b`}, want: `{"skills":{"load":{"extraDirs":["/s/\"a\"\\b"]}}}`, present: []string{`/s/"a"\b`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			file := OpenClawFile(home)
			if c.file != "" {
				put(t, home, ".openclaw/openclaw.json", strings.ReplaceAll(c.file, "HOME", home))
				must(t, os.Chmod(file, 0o640))
			}
			in := func(list []string) (out []string) {
				for _, s := range list {
					out = append(out, strings.ReplaceAll(s, "HOME", home))
				}
				return out
			}
			var made OpenClawMade
			got, err := RegisterInOpenClaw(file, in(c.dirs), func(_ []string, m OpenClawMade) error { made = m; return nil })
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("the error is %v", err)
				}
			} else {
				must(t, err)
			}
			if !slices.Equal(got.Present, in(c.present)) {
				t.Errorf("present: %v", got.Present)
			}
			if c.file == "" {
				return
			}
			want := c.want
			if want == "" {
				want = c.file
			}
			same(t, map[string]string{".openclaw/openclaw.json": "640 " + strings.ReplaceAll(want, "HOME", home)}, tree(t, home))
			if c.fails != "" {
				return
			}
			again, err := RegisterInOpenClaw(file, in(c.dirs), func([]string, OpenClawMade) error { t.Error("remembered again"); return nil })
			must(t, err)
			if len(again.Added) > 0 {
				t.Errorf("added again: %v", again.Added)
			}
			removed, err := UnregisterFromOpenClaw(file, got.Added, made)
			must(t, err)
			if len(removed) != len(got.Added) {
				t.Errorf("removed %v of %v", removed, got.Added)
			}
			same(t, map[string]string{".openclaw/openclaw.json": "640 " + strings.ReplaceAll(c.file, "HOME", home)}, tree(t, home))
		})
	}
}

func TestOpenClawsConfigurationBehindALink(t *testing.T) {
	home := t.TempDir()
	put(t, home, "dotfiles/openclaw.json", "{}")
	must(t, os.MkdirAll(filepath.Join(home, ".openclaw"), 0o755))
	must(t, os.Symlink(filepath.Join(home, "dotfiles", "openclaw.json"), OpenClawFile(home)))
	_, err := RegisterInOpenClaw(OpenClawFile(home), []string{"/s/a"}, func([]string, OpenClawMade) error { return nil })
	must(t, err)
	if info, err := os.Lstat(OpenClawFile(home)); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v %v", info, err)
	}
	if data, _ := os.ReadFile(filepath.Join(home, "dotfiles", "openclaw.json")); !strings.Contains(string(data), "/s/a") {
		t.Errorf("%s", data)
	}
}

// W18: whatever a readable configuration looks like, registering adds the entry and
// nothing else, and unregistering gives the file of before.
func TestOpenClawIsOnlyAddedTo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		space := func() string {
			return rapid.SampledFrom([]string{"", " ", "\n", "\n  ", "\t", "\r\n"}).Draw(t, "space")
		}
		list := func(open, end string, parts []string) string {
			text := open + space()
			for i, p := range parts {
				if i > 0 {
					text += "," + space()
				}
				text += p + space()
			}
			return text + end
		}
		var entries []string
		for range rapid.IntRange(0, 3).Draw(t, "entries") {
			entries = append(entries, rapid.SampledFrom([]string{`"/x"`, `"~/y"`, `5`, `null`, `"rel"`, `{"a":[]}`}).Draw(t, "entry"))
		}
		member := func(name, value string, shown bool) []string {
			var parts []string
			if rapid.Bool().Draw(t, "before "+name) {
				parts = append(parts, `"b`+name+`":`+space()+`[1, "x"]`)
			}
			if shown {
				parts = append(parts, `"`+name+`":`+space()+value)
			}
			if rapid.Bool().Draw(t, "behind "+name) {
				parts = append(parts, `"z`+name+`": true`)
			}
			return parts
		}
		depth := rapid.IntRange(0, 3).Draw(t, "depth")
		text := list("[", "]", entries)
		text = list("{", "}", member("extraDirs", text, depth > 2))
		text = list("{", "}", member("load", text, depth > 1))
		text = space() + list("{", "}", member("skills", text, depth > 0)) + space()
		before, err := readOpenClaw([]byte(text))
		if err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		after, err := readOpenClaw(before.append([]string{"/new/a", "/new/b"}))
		if err != nil {
			t.Fatalf("%v after %q", err, text)
		}
		if got, want := after.dirs(), append(before.dirs(), "/new/a", "/new/b"); !slices.Equal(got, want) {
			t.Fatalf("%q: %v, want %v", text, got, want)
		}
		made := before.made()
		once, err := readOpenClaw(after.remove(len(after.dirs())-1, made.Blank))
		if err != nil {
			t.Fatal(err)
		}
		back := once.remove(len(once.dirs())-1, made.Blank)
		if made.Member != "" {
			if back, err = unmake(back, made); err != nil {
				t.Fatal(err)
			}
		}
		if string(back) != text {
			t.Fatalf("%q became %q", text, back)
		}
	})
}

func FuzzOpenClaw(f *testing.F) {
	f.Add([]byte(`{"skills":{"load":{"extraDirs":["/a"]}}}`), "/b")
	f.Add([]byte("{\n \"skills\": {}\n}"), "x")
	f.Fuzz(func(t *testing.T, data []byte, dir string) {
		doc, err := readOpenClaw(data)
		if err != nil {
			return
		}
		after, err := readOpenClaw(doc.append([]string{dir}))
		if err != nil {
			t.Fatalf("%q broke: %v", data, err)
		}
		if len(after.dirs()) != len(doc.dirs())+1 {
			t.Fatalf("%q has %v", data, after.dirs())
		}
		if n, faults := strictjson.Parse(after.data); len(faults) > 0 || n == nil {
			t.Fatal(faults)
		}
	})
}
