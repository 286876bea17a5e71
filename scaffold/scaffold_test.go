package scaffold

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kortecx/kx/conformance"
	"github.com/kortecx/kx/pack"
)

func TestNewRefusesNamesOfNoFolder(t *testing.T) {
	for _, name := range []string{"con", "nul", "aux.x", "com1", "a.", "x.."} {
		dir := filepath.Join(t.TempDir(), "skills")
		_, err := New(Options{Name: name, Dir: dir})
		if e, ok := errors.AsType[*pack.Error](err); !ok || e.ID != "name.portable" {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(dir); err == nil {
			t.Errorf("%s: something was made", name)
		}
	}
}

func TestNewNamesTheWish(t *testing.T) {
	_, err := New(Options{Name: "q", Dir: t.TempDir(), Tools: []string{"a/b@latest"}})
	if err == nil || !strings.HasPrefix(err.Error(), "skill.tools[a/b] \"latest\"") {
		t.Error(err)
	}
}

func TestNewPassesAtOnce(t *testing.T) {
	for _, tc := range []struct {
		options Options
		files   []string
		wishes  int
	}{
		{Options{Name: "triage"}, []string{"README.md", "instructions.md", "skill.json"}, 0},
		{Options{Name: "triage", Tools: []string{"gmail/read@2", "fs-read"}, Tags: []string{"mail", "näh"}, Description: "Sorts \"mail\": <&>\nfast."}, []string{"README.md", "instructions.md", "skill.json"}, 2},
		{Options{Name: "a.b_c-1", Format: pack.Kortecx}, []string{"README.md", "instructions.md", "skill.json"}, 0},
		{Options{Name: "web-reader", Format: pack.Kazma}, []string{"README.md", "main.py", "skill_manifest.yaml"}, 0},
		{Options{Name: "yes", Format: pack.Kazma, Author: "acme-2", Tags: []string{"1", "a: b"}, Description: "Reads: pages # and more."}, []string{"README.md", "main.py", "skill_manifest.yaml"}, 0},
		{Options{Name: "class", Format: pack.Kazma, Author: "Ann Ex: ample"}, []string{"README.md", "main.py", "skill_manifest.yaml"}, 0},
		{Options{Name: "pdf-forms", Format: pack.SkillMD}, []string{"SKILL.md"}, 0},
		{Options{Name: "007", Format: pack.SkillMD, Description: "Fills forms: use when a PDF has fields."}, []string{"SKILL.md"}, 0},
	} {
		parent := filepath.Join(t.TempDir(), "new", "parent")
		tc.options.Dir = parent
		r, err := New(tc.options)
		if err != nil {
			t.Errorf("%+v: %v", tc.options, err)
			continue
		}
		if r.Path != filepath.Join(parent, tc.options.Name) {
			t.Errorf("path %s", r.Path)
		}
		if diff := cmp.Diff(tc.files, r.Files); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
		report := conformance.Check(r.Path, conformance.Options{Strict: true})
		if !report.Passed || report.Format != r.Format || report.Discovered != tc.wishes {
			t.Errorf("%+v: %+v", tc.options, report)
		}
		if d := tc.options.Description; d != "" {
			if p, err := pack.Open(r.Path, pack.Options{}); err != nil || p.Description != d {
				t.Errorf("description %q, %v", p.Description, err)
			}
		}
		if r.Format == pack.Kazma {
			v, err := conformance.ValidateKazma(r.Path)
			if err != nil || !v.Passed || v.Score != 100 || len(v.Warnings) > 0 {
				t.Errorf("%+v, %v", v, err)
			}
		}
		mended, err := conformance.Mend(r.Path, conformance.MendOptions{Check: true})
		if err != nil || len(mended.Changes) > 0 {
			t.Errorf("%+v would be changed by fmt: %+v, %v", tc.options, mended.Changes, err)
		}
		if entries, err := os.ReadDir(parent); err != nil || len(entries) != 1 {
			t.Errorf("left beside the pack: %v, %v", entries, err)
		}
		for _, file := range r.Files {
			data, err := os.ReadFile(filepath.Join(r.Path, file))
			if err != nil || strings.Contains(string(data), "{{") && file != "main.py" {
				t.Errorf("%s: %v\n%s", file, err, data)
			}
			if info, err := os.Stat(filepath.Join(r.Path, file)); err != nil || info.Mode().Perm()&0o111 != 0 {
				t.Errorf("%s: mode %v, %v", file, info.Mode(), err)
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, tc := range []struct {
		name string
		o    Options
		id   string
	}{
		{"upper case", Options{Name: "UPPER"}, "name.charset"},
		{"empty", Options{}, "name.length"},
		{"dot", Options{Name: "."}, "name.reserved"},
		{"above", Options{Name: ".."}, "name.reserved"},
		{"path", Options{Name: "a/b"}, "name.charset"},
		{"too long", Options{Name: strings.Repeat("x", 65)}, "name.length"},
		{"leading dash is a warning of the format", Options{Name: "ok", Format: "zip"}, "new.format"},
		{"tool", Options{Name: "x", Tools: []string{"Gmail/Read@1"}}, "tool.grammar"},
		{"tool version", Options{Name: "x", Tools: []string{"a@latest"}}, "version.not-integer"},
		{"tool twice", Options{Name: "x", Tools: []string{"a@1", "a@2"}}, "new.tool"},
		{"tag", Options{Name: "x", Tags: []string{""}}, "tags.empty"},
		{"kazma dot", Options{Name: "a.b", Format: pack.Kazma}, "name.grammar"},
		{"kazma digit", Options{Name: "1a", Format: pack.Kazma}, "name.grammar"},
		{"kazma tools", Options{Name: "a", Format: pack.Kazma, Tools: []string{"fs-read"}}, "new.tool"},
		{"skill-md underscore", Options{Name: "a_b", Format: pack.SkillMD}, "name.charset"},
		{"skill-md tools", Options{Name: "a", Format: pack.SkillMD, Tools: []string{"fs-read"}}, "new.tool"},
		{"skill-md tags", Options{Name: "a", Format: pack.SkillMD, Tags: []string{"x"}}, "new.tag"},
		{"huge description", Options{Name: "x", Description: strings.Repeat("d", 70000)}, "manifest.too-large"},
	} {
		tc.o.Dir = filepath.Join(t.TempDir(), "parent")
		_, err := New(tc.o)
		var fault *pack.Error
		if !errors.As(err, &fault) || fault.ID != tc.id {
			t.Errorf("%s: got %v, want %s", tc.name, err, tc.id)
		}
		if _, err := os.Stat(tc.o.Dir); err == nil {
			t.Errorf("%s: something was written", tc.name)
		}
	}
}

func TestNewLeavesWhatIsThere(t *testing.T) {
	parent := t.TempDir()
	at := func(name string) string { return filepath.Join(parent, name) }
	if err := errors.Join(
		os.Mkdir(at("empty"), 0o755),
		os.Mkdir(at("full"), 0o755),
		os.WriteFile(at("full/.keep"), nil, 0o644),
		os.WriteFile(at("file"), []byte("mine"), 0o644),
		os.Symlink("empty", at("link")),
		os.Symlink("nowhere", at("gone")),
	); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"full", "file", "link", "gone"} {
		_, err := New(Options{Name: name, Dir: parent})
		var fault *pack.Error
		if !errors.As(err, &fault) || fault.ID != "new.exists" || fault.Hint == "" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := New(Options{Name: "empty", Dir: parent}); err != nil {
		t.Fatal(err)
	}
	if r := conformance.Check(at("empty"), conformance.Options{}); !r.Passed {
		t.Errorf("report %+v", r)
	}
	if _, err := New(Options{Name: "empty", Dir: parent}); err == nil {
		t.Error("a pack was overwritten")
	}
	var names []string
	entries, err := os.ReadDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"empty", "file", "full", "gone", "link"}, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if data, err := os.ReadFile(at("file")); err != nil || string(data) != "mine" {
		t.Errorf("got %q, %v", data, err)
	}
	if _, err := New(Options{Name: "x", Dir: at("file")}); err == nil {
		t.Error("a file was used as a folder")
	}
}

func TestNewOnceAtATime(t *testing.T) {
	parent := t.TempDir()
	results := make(chan error)
	const runs = 8
	for range runs {
		go func() {
			_, err := New(Options{Name: "triage", Dir: parent})
			results <- err
		}()
	}
	made := 0
	for range runs {
		err := <-results
		var fault *pack.Error
		switch {
		case err == nil:
			made++
		case !errors.As(err, &fault) || fault.ID != "new.exists":
			t.Error(err)
		}
	}
	if made != 1 {
		t.Errorf("%d of %d runs made the pack", made, runs)
	}
	if r := conformance.Check(filepath.Join(parent, "triage"), conformance.Options{}); !r.Passed {
		t.Errorf("report %+v", r)
	}
}

func TestNewHereWithoutDir(t *testing.T) {
	t.Chdir(t.TempDir())
	if r, err := New(Options{Name: "triage"}); err != nil || r.Path != "triage" {
		t.Errorf("%+v, %v", r, err)
	}
}

// Whatever is asked for: a pack that passes, or an error and nothing built.
func TestBuildPassesOrRefuses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{
			Name:        rapid.OneOf(rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,20}`), rapid.StringMatching(`[a-zA-Z0-9._/ -]{0,70}`)).Draw(t, "name"),
			Format:      rapid.SampledFrom(pack.Formats).Draw(t, "format"),
			Description: rapid.String().Draw(t, "description"),
		}
		if o.Format == pack.Kazma {
			o.Author = rapid.String().Draw(t, "author")
		}
		files, err := build(o)
		if err != nil {
			return
		}
		in := pack.Read(o.Name, files, pack.Options{Format: o.Format})
		if r := conformance.Judge(in, o.Name, conformance.Options{}); !r.Passed {
			t.Fatalf("%+v: %+v", o, r)
		}
		want := o.Description
		if o.Format == pack.SkillMD { // its readers take the white space off
			want = strings.TrimSpace(want)
		}
		if o.Description != "" && in.Pack.Description != want {
			t.Fatalf("description %q became %q", o.Description, in.Pack.Description)
		}
	})
}
