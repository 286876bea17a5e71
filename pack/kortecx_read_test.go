package pack_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/internal/timetest"
	"github.com/kortecx/kx/pack"
)

const goodManifest = `{"schema":"kortecx.skill/v1","name":"good"}`

// good is a small kortecx pack with changes: an empty name as content removes a file.
func good(changes map[string]string) map[string]string {
	files := map[string]string{"skill.json": goodManifest, "instructions.md": "Do it.\n", "README.md": "Docs.\n"}
	for name, content := range changes {
		if content == absent {
			delete(files, name)
			continue
		}
		files[name] = content
	}
	return files
}

const absent = "\x00absent"

// inspect reads files from a folder called name and from memory; both must say
// the same.
func inspect(t *testing.T, name string, files map[string]string, o pack.Options) *pack.Inspection {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	writeFiles(t, dir, files)
	onDisk, err := pack.Inspect(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	var list []pack.File
	for path, content := range files {
		list = append(list, pack.File{Path: path, Data: []byte(content)})
	}
	inMemory := pack.Read(name, list, o)
	if diff := cmp.Diff(onDisk, inMemory, cmp.Comparer(bytes.Equal)); diff != "" {
		t.Errorf("the folder and memory differ (-disk +memory):\n%s", diff)
	}
	return onDisk
}

func TestReadKortecx(t *testing.T) {
	in := inspect(t, "good", good(map[string]string{
		"skill.json": `{"schema":"kortecx.skill/v1","name":"good","version":"2","description":"d","tags":["t"],"tools":{"a":"1"}}`,
	}), pack.Options{})
	if in.Err() != nil || len(in.Layout) > 0 || len(in.Warnings) > 0 {
		t.Fatalf("%v %v %v", in.Err(), in.Layout, in.Warnings)
	}
	want := &pack.Pack{
		Format: pack.Kortecx, Name: "good", Version: "2", Description: "d", Tags: []string{"t"}, Tools: map[string]string{"a": "1"},
		Kortecx: &pack.KortecxManifest{
			Schema: pack.SchemaKortecx, Name: "good", Version: "2", Description: "d", Tags: []string{"t"}, Tools: map[string]string{"a": "1"},
		},
		Files: []pack.File{
			{Path: "README.md", Data: []byte("Docs.\n")},
			{Path: "instructions.md", Data: []byte("Do it.\n")},
			{Path: "skill.json", Data: []byte(`{"schema":"kortecx.skill/v1","name":"good","version":"2","description":"d","tags":["t"],"tools":{"a":"1"}}`)},
		},
	}
	if diff := cmp.Diff(want, in.Pack); diff != "" {
		t.Errorf("pack (-want +got):\n%s", diff)
	}
	if got := string(in.Pack.Instructions()); got != "Do it.\n" {
		t.Errorf("instructions %q", got)
	}
}

// The rows of hostile-inputs.md C that need nothing but files, and the loader's
// rules of kortecx.md 2.1 and 2.2.
func TestKortecxFolders(t *testing.T) {
	full := strings.Repeat("i", pack.MaxInstructions)
	for _, c := range []struct {
		row, folder string
		changes     map[string]string
		faults      []string
		layout      []string
		warnings    []string
	}{
		{"C2", "good", map[string]string{"README.md": absent}, nil, nil, nil},
		{"C3 empty", "good", map[string]string{"instructions.md": ""}, []string{"pack.empty-instructions"}, nil, nil},
		{"C3 over the cap", "good", map[string]string{"instructions.md": full + "i"}, []string{"pack.instructions-too-large"}, nil, nil},
		{"C3 at the cap", "good", map[string]string{"instructions.md": full}, nil, nil, nil},
		{"C3 not UTF-8", "good", map[string]string{"instructions.md": "a\n\xff"}, []string{"pack.invalid-utf8"}, nil, nil},
		{"C4 space", "good", map[string]string{"instructions.md": " \n\t\u00a0\u200b"}, []string{"pack.empty-meaning"}, nil, nil},
		{"C4 comments", "good", map[string]string{"instructions.md": "<!-- a -->\n<!-- b"}, []string{"pack.empty-meaning"}, nil, nil},
		{"C4 comment and text", "good", map[string]string{"instructions.md": "<!-- a -->x"}, nil, nil, nil},
		{"C5", "Good", nil, []string{"pack.name-mismatch"}, nil, nil},
		{"C7", "good", map[string]string{"readme.md": "x"}, nil, []string{"pack.case-collision", "pack.unexpected-file"}, nil},
		{"C10", "good", map[string]string{"A~1.MD": "x"}, nil, []string{"path.portable", "pack.unexpected-file"}, nil},
		{"C10 stream", "good", map[string]string{"skill.json::$DATA": "x"}, nil, []string{"path.portable", "pack.unexpected-file"}, nil},
		{"C11", "good", map[string]string{"a\nb": "x"}, nil, []string{"path.control", "pack.unexpected-file"}, nil},
		{"missing instructions", "good", map[string]string{"instructions.md": absent}, []string{"pack.no-instructions"}, nil, nil},
		{"mismatch comes before missing instructions", "other", map[string]string{"instructions.md": absent}, []string{"pack.name-mismatch", "pack.no-instructions"}, nil, nil},
		{"manifest, then files", "good", map[string]string{"skill.json": `{"schema":"kortecx.skill/v1","name":"good","x":1}`, "instructions.md": "", "README.md": "\xff"}, []string{"json.unknown-field", "pack.empty-instructions", "pack.readme"}, nil, nil},
		{"manifest over the cap", "good", map[string]string{"skill.json": strings.Repeat("x", pack.MaxManifest+1)}, []string{"manifest.too-large"}, nil, nil},
		{"a bad name says nothing of the folder", "good", map[string]string{"skill.json": `{"schema":"kortecx.skill/v1","name":"GOOD"}`}, []string{"name.charset"}, nil, nil},
		{"README not UTF-8", "good", map[string]string{"README.md": "\xff"}, []string{"pack.readme"}, nil, nil},
		{"README of 3 MB", "good", map[string]string{"README.md": strings.Repeat("r", 3_000_000)}, nil, nil, nil},
		{"README over all limits", "good", map[string]string{"README.md": strings.Repeat("r", pack.MaxBytes+1)}, []string{"pack.too-large"}, nil, nil},
		{"over the limit together", "good", map[string]string{"README.md": strings.Repeat("r", pack.MaxBytes)}, []string{"pack.too-large"}, nil, nil},
		{"unexpected files", "good", map[string]string{".DS_Store": "x", ".gitkeep": "", "skill.json~": "x"}, nil, []string{"pack.unexpected-file", "pack.unexpected-file", "pack.unexpected-file"}, nil},
		{"folders", "good", map[string]string{"scripts/a/run.sh": "x", "b/c": "x"}, nil, []string{"pack.subdirectory", "pack.subdirectory"}, nil},
		{"line ends and BOM", "good", map[string]string{"instructions.md": "\uFEFFa\r\n", "README.md": "b\n\r\n"}, nil, nil, []string{"text.bom", "text.crlf", "text.crlf"}},
		{"our marker", "good", map[string]string{".kx-owned": "x"}, nil, nil, nil},
	} {
		t.Run(c.row, func(t *testing.T) {
			in := inspect(t, c.folder, good(c.changes), pack.Options{})
			if in.Format != pack.Kortecx {
				t.Errorf("format %q", in.Format)
			}
			wantIDs(t, in.Faults, c.faults...)
			wantIDs(t, in.Layout, c.layout...)
			wantIDs(t, in.Warnings, c.warnings...)
			if (in.Pack == nil) != (len(in.Faults) > 0) {
				t.Errorf("pack %v beside %v", in.Pack, in.Faults)
			}
			if in.Pack != nil {
				for _, f := range in.Pack.Files {
					if f.Path != "README.md" && f.Path != "instructions.md" && f.Path != "skill.json" {
						t.Errorf("%s is part of the pack", f.Path)
					}
				}
			}
			for _, f := range in.Faults {
				if f.Kind == pack.KindPack && f.Place.File == "" && f.ID != "pack.too-large" {
					t.Errorf("%s names no file", f.ID)
				}
			}
		})
	}
}

func TestInspectionName(t *testing.T) {
	for manifest, want := range map[string]string{
		goodManifest:                          "good",
		`{"schema":"v2","name":"other"}`:      "other",
		`{"schema":"v2","name":"NOT A NAME"}`: "folder",
		`{"schema":"v2"}`:                     "folder",
		`{`:                                   "folder",
	} {
		in := inspect(t, "folder", good(map[string]string{"skill.json": manifest}), pack.Options{})
		if in.Name != want {
			t.Errorf("%s: name %q, want %q", manifest, in.Name, want)
		}
	}
}

func TestDetection(t *testing.T) {
	two := good(map[string]string{"SKILL.md": "x", "skill_manifest.yaml": "x"})
	for _, c := range []struct {
		name   string
		files  map[string]string
		o      pack.Options
		id     string
		format pack.Format
		text   []string
	}{
		{"none", map[string]string{"a.txt": "x"}, pack.Options{}, "pack.no-manifest", "", []string{"skill.json", "skill_manifest.yaml", "SKILL.md"}},
		{"empty", map[string]string{"sub/skill.json": "x"}, pack.Options{}, "pack.no-manifest", "", nil},
		{"lower case", map[string]string{"skill.md": "x"}, pack.Options{}, "pack.no-manifest", "", []string{"rename skill.md to SKILL.md"}},
		{"upper case", map[string]string{"Skill.json": "x"}, pack.Options{}, "pack.no-manifest", "", []string{"rename Skill.json to skill.json"}},
		{"ambiguous", two, pack.Options{}, "pack.ambiguous-format", "", []string{"skill.json", "SKILL.md", "skill_manifest.yaml", "--pack-format"}},
		{"picked", two, pack.Options{Format: pack.Kortecx}, "", pack.Kortecx, nil},
		{"picked but absent", good(nil), pack.Options{Format: pack.Kazma}, "pack.no-manifest", "", []string{"skill_manifest.yaml"}},
		{"picked nonsense", good(nil), pack.Options{Format: "zip"}, "pack.unknown-format", "", []string{"zip"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := inspect(t, "good", c.files, c.o)
			if in.Format != c.format {
				t.Errorf("format %q, want %q", in.Format, c.format)
			}
			if c.id == "" {
				wantIDs(t, in.Faults)
				return
			}
			wantIDs(t, in.Faults, c.id)
			for _, want := range c.text {
				if got := in.Faults[0].Text + "; " + in.Faults[0].Hint; !strings.Contains(got, want) {
					t.Errorf("%q lacks %q", got, want)
				}
			}
		})
	}
}

func TestInspectPaths(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "good")
	writeFiles(t, dir, good(nil))
	if err := os.Symlink(dir, filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, path := range []string{dir, dir + "/", dir + "//", dir + "/.", ".", "./", "../good", "../good/", "../x/../good", dir + "/../good"} {
		in, err := pack.Inspect(path, pack.Options{})
		if err != nil || in.Err() != nil || len(in.Layout) > 0 {
			t.Errorf("Inspect(%q) = %v, %v", path, in, err)
		}
	}
	// A link is judged by its own name, as the reference does.
	in, err := pack.Inspect("../link", pack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	wantIDs(t, in.Faults, "pack.name-mismatch")

	if _, err := pack.Inspect("skill.json", pack.Options{}); err == nil || !strings.Contains(err.Error(), "name the folder") {
		t.Errorf("a file as path: %v", err)
	}
	if _, err := pack.Inspect("../none", pack.Options{}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "../none") {
		t.Errorf("an absent path: %v", err)
	}
	if _, err := pack.Inspect("", pack.Options{}); err == nil {
		t.Error("an empty path is accepted")
	}
	if p, err := pack.Open(".", pack.Options{}); err != nil || p.Name != "good" {
		t.Errorf("Open = %v, %v", p, err)
	}
	if p, err := pack.Open("../link", pack.Options{}); p != nil || !errors.As(err, new(*pack.Error)) {
		t.Errorf("Open of a bad pack = %v, %v", p, err)
	}
}

// C16: a file is refused by its size, and nothing of it is read.
func TestSparseFiles(t *testing.T) {
	for name, ids := range map[string][]string{
		"skill.json":      {"manifest.too-large", "pack.too-large"},
		"instructions.md": {"pack.instructions-too-large", "pack.too-large"},
		"README.md":       {"pack.too-large"},
	} {
		dir := filepath.Join(t.TempDir(), "good")
		writeFiles(t, dir, good(nil))
		if err := os.Truncate(filepath.Join(dir, name), 8<<30); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		in, err := pack.Inspect(dir, pack.Options{})
		if err != nil {
			t.Fatal(err)
		}
		wantIDs(t, in.Faults, ids...)
		if took := time.Since(start); took > timetest.Limit(time.Second) {
			t.Errorf("took %v", took)
		}
	}
	dir := filepath.Join(t.TempDir(), "s")
	writeFiles(t, dir, map[string]string{"SKILL.md": "---\nname: s\ndescription: d\n---\nx\n", "big.bin": ""})
	if err := os.Truncate(filepath.Join(dir, "big.bin"), 8<<30); err != nil {
		t.Fatal(err)
	}
	in, err := pack.Inspect(dir, pack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	wantFault(t, in, "pack.too-large", "big.bin")
}

func TestExecuteBits(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "good")
	writeFiles(t, dir, good(map[string]string{"run.sh": "x"}))
	for _, name := range []string{"README.md", "run.sh", "skill.json"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o744); err != nil {
			t.Fatal(err)
		}
	}
	in, err := pack.Inspect(dir, pack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	wantIDs(t, in.Faults)
	wantIDs(t, in.Layout, "pack.executable", "pack.unexpected-file", "pack.executable", "pack.executable")
	if !in.Pack.Files[0].Executable || in.Pack.Files[1].Executable {
		t.Error("the bits are not on the files")
	}
}

func wantFault(t *testing.T, in *pack.Inspection, id, file string) {
	t.Helper()
	for _, f := range append(append(pack.Errors{}, in.Faults...), in.Layout...) {
		if f.ID == id && f.Place.File == file {
			return
		}
	}
	t.Errorf("no %s at %q in %v, %v", id, file, in.Faults, in.Layout)
	for _, f := range in.Faults {
		t.Logf("%s: %v", f.ID, f)
	}
}

// FuzzRead holds Read to its promises on any three files.
func FuzzRead(f *testing.F) {
	f.Add("good", "skill.json", []byte(goodManifest), "instructions.md", []byte("x"), "README.md", []byte(""))
	f.Add("s", "SKILL.md", []byte("---\nname: s\ndescription: d\n---\nx"), "a/b.md", []byte("x"), "A/b.md", []byte("x"))
	f.Add("k", "skill_manifest.yaml", []byte("name: k\nversion: 1.0.0\nauthor: a\n"), "main.py", []byte("x"), "../x", []byte("x"))
	f.Add("", "", []byte(""), "/", []byte(""), "a//b", []byte(""))
	f.Add("x", "a", []byte(""), "a", []byte(""), "a/b", []byte(""))
	f.Add("x", "SKILL.md", []byte("\xff"), ".g\u200cit/x", []byte(""), "caf\u0065\u0301.md", []byte(""))
	f.Fuzz(func(t *testing.T, name, p1 string, d1 []byte, p2 string, d2 []byte, p3 string, d3 []byte) {
		files := []pack.File{{Path: p1, Data: d1}, {Path: p2, Data: d2}, {Path: p3, Data: d3}}
		in := pack.Read(name, files, pack.Options{})
		if (in.Pack == nil) != (len(in.Faults) > 0) {
			t.Fatalf("pack %v beside %v", in.Pack, in.Faults)
		}
		if files[0].Path != p1 || files[2].Path != p3 {
			t.Fatal("the caller's slice was changed")
		}
		for _, e := range append(append(append([]*pack.Error{}, in.Faults...), in.Layout...), in.Warnings...) {
			if e.ID == "" || e.Kind == "" || e.Text == "" {
				t.Fatalf("a fault without id, kind or text: %+v", e)
			}
		}
		backwards := pack.Read(name, []pack.File{files[2], files[1], files[0]}, pack.Options{})
		if p1 != p2 && p2 != p3 && p1 != p3 {
			if diff := cmp.Diff(in, backwards); diff != "" {
				t.Fatalf("the order of the files matters:\n%s", diff)
			}
		}
		if in.Pack == nil {
			return
		}
		for _, file := range in.Pack.Files {
			if err := pack.CheckPath(file.Path); err != nil {
				t.Fatalf("a pack has the path %q: %v", file.Path, err)
			}
		}
		if again := pack.Read(name, in.Pack.Files, pack.Options{}); again.Pack == nil || again.Pack.Digest() != in.Pack.Digest() {
			t.Fatal("a pack's files do not make the same pack")
		}
	})
}
