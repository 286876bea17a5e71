package pack_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/internal/timetest"
	"github.com/kortecx/kx/pack"
)

func skill(files map[string]string) map[string]string {
	out := map[string]string{"SKILL.md": "---\nname: s\ndescription: says what it does and when\n---\n# S\n"}
	for name, content := range files {
		out[name] = content
	}
	return out
}

// The rows of hostile-inputs.md C and E5 that hold for every format, on a
// skill-md folder.
func TestHostileFolders(t *testing.T) {
	for _, c := range []struct {
		row   string
		files map[string]string
		id    string
		at    string
	}{
		{"C7", map[string]string{"README.md": "a", "readme.md": "b"}, "pack.case-collision", "readme.md"},
		{"C7 folders", map[string]string{"Docs/a.md": "a", "docs/b.md": "b"}, "pack.case-collision", "docs"},
		{"C7 beyond ASCII", map[string]string{"É.md": "a", "é.md": "b"}, "pack.case-collision", "é.md"},
		{"C8", map[string]string{"caf\u00e9.md": "a", "cafe\u0301.md": "b"}, "pack.normalisation-collision", "caf\u00e9.md"},
		{"C8 alone", map[string]string{"cafe\u0301.md": "b"}, "path.portable", "cafe\u0301.md"},
		{"C10 space", map[string]string{"a ": "x"}, "path.portable", "a "},
		{"C10 dot", map[string]string{"d./x": "x"}, "path.portable", "d."},
		{"C10 colon", map[string]string{"a:b": "x"}, "path.portable", "a:b"},
		{"C10 backslash", map[string]string{`a\b`: "x"}, "path.portable", `a\b`},
		{"C10 stream", map[string]string{"skill.json::$DATA": "x"}, "path.portable", "skill.json::$DATA"},
		{"C10 short name", map[string]string{"A~1.MD": "x"}, "path.portable", "A~1.MD"},
		{"C11 LF", map[string]string{"a\nb": "x"}, "path.control", "a\nb"},
		{"C11 ESC", map[string]string{"\x1b[2J": "x"}, "path.control", "\x1b[2J"},
		{"C11 BOM", map[string]string{"\uFEFFa": "x"}, "path.control", "\uFEFFa"},
		{"E5 lower", map[string]string{"sub/.git/config": "x"}, "path.dotgit", "sub/.git"},
		{"E5 upper", map[string]string{".GIT/config": "x"}, "path.dotgit", ".GIT"},
		{"E5 NTFS", map[string]string{"git~1": "x"}, "path.dotgit", "git~1"},
		{"E5 HFS+", map[string]string{".g\u200cit": "x"}, "path.dotgit", ".g\u200cit"},
	} {
		t.Run(c.row, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "s")
			writeFiles(t, dir, skill(c.files))
			onDisk, err := pack.Inspect(dir, pack.Options{})
			if err != nil {
				t.Fatal(err)
			}
			inMemory := pack.Read("s", memory(skill(c.files)), pack.Options{})
			for _, in := range []*pack.Inspection{onDisk, inMemory} {
				wantIDs(t, in.Faults, c.id)
				wantFault(t, in, c.id, c.at)
				if in.Pack != nil {
					t.Error("it is a pack all the same")
				}
				for _, f := range in.Faults {
					if strings.ContainsAny(f.Text, "\n\x1b\uFEFF\u200c") {
						t.Errorf("the text %q shows what it warns of", f.Text)
					}
				}
			}
		})
	}
}

func memory(files map[string]string) (list []pack.File) {
	for path, content := range files {
		list = append(list, pack.File{Path: path, Data: []byte(content)})
	}
	return list
}

// C19: folders are refused by count and depth before they are read.
func TestLimits(t *testing.T) {
	numbered := func(n int) map[string]string {
		files := make(map[string]string, n)
		for i := range n {
			files[fmt.Sprintf("d%d/f%05d", i%3, i)] = ""
		}
		return files
	}
	deep := func(n int) map[string]string { return map[string]string{strings.Repeat("d/", n) + "f": "x"} }
	for _, c := range []struct {
		row   string
		files map[string]string
		id    string
	}{
		{"C19 10,000 files", numbered(10_000), "pack.too-many"},
		{"C19 513 files", numbered(512), "pack.too-many"},
		{"C19 512 files", numbered(511), ""},
		{"C19 depth 65", deep(65), "pack.too-deep"},
		{"C19 depth 17", deep(17), "pack.too-deep"},
		{"C19 depth 16", deep(16), ""},
		{"16 MiB in two files", map[string]string{"a": strings.Repeat("a", 9<<20), "b": strings.Repeat("b", 9<<20)}, "pack.too-large"},
	} {
		t.Run(c.row, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "s")
			writeFiles(t, dir, skill(c.files))
			start := time.Now()
			onDisk, err := pack.Inspect(dir, pack.Options{})
			if err != nil {
				t.Fatal(err)
			}
			inMemory := pack.Read("s", memory(skill(c.files)), pack.Options{})
			if took := time.Since(start); took > timetest.Limit(time.Second) {
				t.Errorf("took %v", took)
			}
			for _, in := range []*pack.Inspection{onDisk, inMemory} {
				if c.id == "" {
					wantIDs(t, in.Faults)
					continue
				}
				found := false
				for _, f := range in.Faults {
					found = found || f.ID == c.id
				}
				if !found || in.Pack != nil || len(in.Faults) > 3 {
					t.Errorf("want %s, got %d faults: %v", c.id, len(in.Faults), in.Faults)
				}
			}
		})
	}
}

// Of a folder with too many files at its top, SKILL.md is not reached, and was called a
// folder.
func TestTooManyFilesMakeNoFolderOfTheManifest(t *testing.T) {
	for _, n := range []int{520, 4_500} {
		files := map[string]string{"SKILL.md": "---\nname: many\ndescription: Use it for many files.\n---\nText.\n"}
		for i := range n {
			files[fmt.Sprintf("A%05d", i)] = ""
		}
		dir := filepath.Join(t.TempDir(), "many")
		writeFiles(t, dir, files)
		in, err := pack.Inspect(dir, pack.Options{})
		if err != nil {
			t.Fatal(err)
		}
		wantIDs(t, in.Faults, "pack.too-many")
	}
}

// A folder with more names than we hold is still told by its manifest.
func TestHugeFolder(t *testing.T) {
	files := make(map[string]string)
	for i := range 4_500 {
		files[fmt.Sprintf("f%05d", i)] = ""
	}
	for name, content := range good(nil) {
		files[name] = content
	}
	dir := filepath.Join(t.TempDir(), "good")
	writeFiles(t, dir, files)
	in, err := pack.Inspect(dir, pack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	wantIDs(t, in.Faults)
	if in.Format != pack.Kortecx || in.Pack == nil || len(in.Pack.Files) != 3 {
		t.Errorf("format %q, pack %v", in.Format, in.Pack)
	}
	wantFault(t, in, "pack.too-many", "")
}

func TestReadPathRules(t *testing.T) {
	for path, id := range map[string]string{
		"../evil": "path.portable", "/abs": "path.portable", "a/../../b": "path.portable", "a//b": "path.portable",
		"": "path.portable", "a/": "path.portable", ".git/config": "path.dotgit", "a\x00b": "path.control", "a/./b": "path.portable",
		"SKILL.md/x": "pack.duplicate-path", "\xff": "path.portable",
	} {
		in := pack.Read("s", memory(skill(map[string]string{path: "x"})), pack.Options{})
		found := false
		for _, f := range in.Faults {
			found = found || f.ID == id
		}
		if !found || in.Pack != nil {
			t.Errorf("%q: want %s, got %v", path, id, in.Faults)
		}
	}
	apart := pack.Read("s", memory(skill(map[string]string{"a": "x", "a-b": "x", "a/b": "x"})), pack.Options{})
	wantIDs(t, apart.Faults, "pack.duplicate-path")
	twice := append(memory(skill(nil)), memory(skill(nil))...)
	wantIDs(t, pack.Read("s", twice, pack.Options{}).Faults, "pack.duplicate-path")
}
