package conformance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/pack"
)

// files is the content of a folder, by relative path.
type files map[string]string

// makeFolder writes files into a new folder of that name and gives its path.
func makeFolder(t testing.TB, name string, content files) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range content {
		path := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const goodManifest = `{
  "description": "Sorts mail and drafts answers that a person sends.",
  "name": "good",
  "schema": "kortecx.skill/v1",
  "tools": {
    "gmail/draft": "1",
    "fs-read": "2"
  }
}
`

func goodPack() files {
	return files{"skill.json": goodManifest, "instructions.md": "# Good\n\nDo good.\n", "README.md": "# Good\n"}
}

// names lists the checks of a report, a failed one with a bang.
func names(r *Report) string {
	var out []string
	for _, c := range r.Checks {
		name := c.Name
		if !c.Passed {
			name += "!"
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

// found lists the findings of a report as id and place.
func found(r *Report) []string {
	out := []string{}
	for i := range r.Findings {
		f := &r.Findings[i]
		line := f.ID
		if at := f.place().String(); at != "" {
			line += " " + at
		}
		out = append(out, line)
	}
	return out
}

func TestCheckGoodPack(t *testing.T) {
	r := Check(makeFolder(t, "good", goodPack()), Options{Strict: true})
	if !r.Passed || !r.Reachable || r.Discovered != 2 || r.Connector != "good" || r.Format != pack.Kortecx || len(r.Findings) > 0 {
		t.Errorf("report %+v", r)
	}
	want := []CheckResult{
		{"pack_loads", 10, true, "the manifest and 3 files were read"},
		{"canonical_roundtrip", 10, true, "252 canonical bytes read back identically"},
		{"no_authority_keys", 5, true, "no key of the manifest claims authority"},
		{"wish_grammar", 5, true, "fs-read@2, gmail/draft@1"},
		{"instructions_bounded", 7, true, "17 of at most 262144 bytes"},
		{"pack_is_declarative", 3, true, "only declarative files, none of them executable"},
		{"empty_grant_binds_to_zero", 5, true, "2 wished tools and no grant bind to 0 tools"},
	}
	if diff := cmp.Diff(want, r.Checks); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

const allSeven = "pack_loads canonical_roundtrip no_authority_keys wish_grammar instructions_bounded pack_is_declarative empty_grant_binds_to_zero"

// Rows of hostile-inputs.md, and what the reference's harness is known to do.
func TestCheckKortecxFaults(t *testing.T) {
	manifest := func(body string) files {
		f := goodPack()
		f["skill.json"] = body
		return f
	}
	with := func(members string) files {
		return manifest(`{"schema":"kortecx.skill/v1","name":"good",` + members + `}`)
	}
	without := func(name string) files {
		f := goodPack()
		delete(f, name)
		return f
	}
	plus := func(name, text string) files {
		f := goodPack()
		f[name] = text
		return f
	}
	const (
		loads   = "pack_loads!"
		folder  = "instructions_bounded pack_is_declarative"
		blinded = loads + " " + folder
		judged  = loads + " no_authority_keys " + folder
	)
	tooLarge := "x" + strings.Repeat(" ", pack.MaxManifest)
	for _, tc := range []struct {
		name    string
		content files
		want    []string // id and place
		checks  string
	}{
		{"A1", manifest(`{"schema":"kortecx.skill/v1","name":"good","name":"evil"}`), []string{"json.duplicate-key skill.json:1:44", "pack.name-mismatch skill.json:1:51"}, judged},
		{"A2", with(`"tools":{"gmail/read":"1","gmail/read":"2"}`), []string{"json.duplicate-key skill.json:1:70"}, judged},
		{"A3", with(`"tools":{"a":"1","\u0061":"2"}`), []string{"json.duplicate-key skill.json:1:61"}, judged},
		{"A4", manifest(`{"name":"good","NAME":"evil"}`), []string{"json.unknown-field skill.json:1:16", "schema.unsupported skill.json:1:1"}, judged},
		{"A5", manifest(`{"ſchema":"kortecx.skill/v1","name":"good"}`), []string{"json.unknown-field skill.json:1:2", "schema.unsupported skill.json:1:1"}, judged},
		{"A7", manifest(`{"name":"a\ud800b"}`), []string{"json.invalid-surrogate skill.json:1:11"}, blinded},
		{"A12", manifest(`null`), []string{"json.not-object skill.json:1:1"}, blinded},
		{"A14", manifest(`{"schema":"kortecx.skill/v1","name":null}`), []string{"json.null skill.json:1:37"}, judged},
		{"A15", with(`"version":1`), []string{"json.type skill.json:1:54"}, judged},
		{"A16", with(`"version":"v1"`), []string{"version.not-integer skill.json:1:54"}, judged},
		{"A18", with(`"version":"18446744073709551616"`), []string{"version.range skill.json:1:54"}, judged},
		{"A19", with(`"tools":{"retrieve":1.5}`), []string{"json.float skill.json:1:64", "json.type skill.json:1:64"}, loads + " no_authority_keys wish_grammar! " + folder},
		{"A20", with(`"x":1e999999`), []string{"json.unknown-field skill.json:1:44"}, judged},
		{"A21", with(`"version":1e1000001`), []string{"json.type skill.json:1:54"}, judged},
		{"A23", with(`"x":` + strings.Repeat("[", 10001)), []string{"json.depth skill.json:1:79"}, blinded},
		{"A24", manifest(tooLarge), []string{"manifest.too-large skill.json"}, blinded},
		{"A25", with("\"description\":\"a\tb\""), []string{"json.control skill.json:1:60"}, blinded},
		{"A26", manifest(`{"schema":"kortecx.skill/v1","name":"a\u0000b"}`), []string{"name.charset skill.json:1:37"}, judged},
		{"A27", manifest(`{"schema":"kortecx.skill/v2","name":"good"}`), []string{"schema.unsupported skill.json:1:11"}, judged},
		{"A28", with(`"instructions_ref":"` + strings.Repeat("a", 64) + `"`), []string{"pack.instructions-ref skill.json:1:63"}, judged},
		{"A29", with(`"x":{"toolGrants":1}`), []string{"authority.key skill.json:1:49", "json.unknown-field skill.json:1:44"}, "pack_loads! no_authority_keys! " + folder},
		{"A30", with(`"gra\u006et":1`), []string{"authority.key skill.json:1:44", "json.unknown-field skill.json:1:44"}, "pack_loads! no_authority_keys! " + folder},
		{"A31", with(`"tools":{"gmail/search/x":"1"}`), []string{"tool.grammar skill.json:1:53"}, "pack_loads! no_authority_keys wish_grammar! " + folder},
		{"A33", with(`"tags":[""]`), []string{"tags.empty skill.json:1:52"}, judged},
		{"A36", with(`"__proto__":{"grant":1}`), []string{"authority.key skill.json:1:57", "json.unknown-field skill.json:1:44"}, "pack_loads! no_authority_keys! " + folder},
		{"A37", manifest("{\"schema\":\"kortecx.skill/v1\",\n // x\n\"name\":\"good\"}"), []string{"json.syntax skill.json:2:2"}, blinded},
		{"A38", with(`"description":"x"`), []string{}, allSeven},
		{"tool version", with(`"tools":{"a":"latest"}`), []string{"tool.version skill.json:1:57"}, "pack_loads! no_authority_keys wish_grammar! " + folder},
		{"C2", without("README.md"), []string{}, allSeven},
		{"C3 missing", without("instructions.md"), []string{"pack.no-instructions instructions.md"}, "pack_loads! canonical_roundtrip no_authority_keys wish_grammar instructions_bounded! pack_is_declarative empty_grant_binds_to_zero"},
		{"C3 empty", plus("instructions.md", ""), []string{"pack.empty-instructions instructions.md"}, "pack_loads! canonical_roundtrip no_authority_keys wish_grammar instructions_bounded! pack_is_declarative empty_grant_binds_to_zero"},
		{"C3 too large", plus("instructions.md", strings.Repeat("a", pack.MaxInstructions+1)), []string{"pack.instructions-too-large instructions.md"}, "pack_loads! canonical_roundtrip no_authority_keys wish_grammar instructions_bounded! pack_is_declarative empty_grant_binds_to_zero"},
		{"C3 at the cap", plus("instructions.md", strings.Repeat("a", pack.MaxInstructions)), []string{}, allSeven},
		{"C3 not UTF-8", plus("instructions.md", "a\n\xff"), []string{"pack.invalid-utf8 instructions.md:2:1"}, "pack_loads! canonical_roundtrip no_authority_keys wish_grammar instructions_bounded! pack_is_declarative empty_grant_binds_to_zero"},
		{"C4", plus("instructions.md", "<!-- x -->\n \n"), []string{"pack.empty-meaning instructions.md"}, "pack_loads! canonical_roundtrip no_authority_keys wish_grammar instructions_bounded! pack_is_declarative empty_grant_binds_to_zero"},
		{"C5", manifest(`{"schema":"kortecx.skill/v1","name":"gOod"}`), []string{"name.charset skill.json:1:37"}, judged},
		{"C7", plus("readme.md", "x"), []string{"pack.case-collision readme.md", "pack.unexpected-file readme.md"}, "pack_loads canonical_roundtrip no_authority_keys wish_grammar instructions_bounded pack_is_declarative! empty_grant_binds_to_zero"},
		{"C11", plus("a\x1b[31m\n.md", "x"), []string{"path.control a\x1b[31m\n.md", "pack.unexpected-file a\x1b[31m\n.md"}, "pack_loads canonical_roundtrip no_authority_keys wish_grammar instructions_bounded pack_is_declarative! empty_grant_binds_to_zero"},
		{"extra file", plus("run.sh", "x"), []string{"pack.unexpected-file run.sh"}, "pack_loads canonical_roundtrip no_authority_keys wish_grammar instructions_bounded pack_is_declarative! empty_grant_binds_to_zero"},
		{"subdirectory", plus("sub/a.md", "x"), []string{"pack.subdirectory sub"}, "pack_loads canonical_roundtrip no_authority_keys wish_grammar instructions_bounded pack_is_declarative! empty_grant_binds_to_zero"},
		{"wrong name", manifest(`{"schema":"kortecx.skill/v1","name":"other"}`), []string{"pack.name-mismatch skill.json:1:37"}, "pack_loads! canonical_roundtrip no_authority_keys wish_grammar instructions_bounded pack_is_declarative empty_grant_binds_to_zero"},
	} {
		r := Check(makeFolder(t, "good", tc.content), Options{})
		if diff := cmp.Diff(tc.want, found(r)); diff != "" {
			t.Errorf("%s findings (-want +got):\n%s", tc.name, diff)
		}
		if got := names(r); got != tc.checks {
			t.Errorf("%s checks\n got %s\nwant %s", tc.name, got, tc.checks)
		}
		if r.Passed != (len(tc.want) == 0) {
			t.Errorf("%s: passed %v", tc.name, r.Passed)
		}
		checkInvariants(t, tc.name, r)
	}
}

// checkInvariants holds for every report: a check fails exactly when it owns an
// error, but for the one about loading, which any fault of loading fails.
func checkInvariants(t testing.TB, name string, r *Report) {
	t.Helper()
	owned := map[string]bool{}
	for _, f := range r.Findings {
		if f.Severity == Error {
			owned[f.Check] = true
		}
	}
	all := r.Reachable
	for _, c := range r.Checks {
		all = all && c.Passed
		if c.Passed == owned[c.Name] && (c.Name != checkLoads || r.Reachable) {
			t.Errorf("%s: %s passed %v, owns an error %v", name, c.Name, c.Passed, owned[c.Name])
		}
		if c.Name == checkLoads && c.Passed != r.Reachable && !owned[checkLoads] {
			t.Errorf("%s: pack_loads %v, reachable %v", name, c.Passed, r.Reachable)
		}
		if c.Detail == "" {
			t.Errorf("%s: %s says nothing", name, c.Name)
		}
		delete(owned, c.Name)
	}
	for check := range owned {
		t.Errorf("%s: errors belong to %s, which is not in the report", name, check)
	}
	if r.Passed != all || len(r.Checks) == 0 {
		t.Errorf("%s: passed %v with checks %s", name, r.Passed, names(r))
	}
	for i := 1; i < len(r.Findings); i++ {
		if r.Findings[i-1].Severity == Warning && r.Findings[i].Severity == Error {
			t.Errorf("%s: a warning stands before an error", name)
		}
	}
	for _, f := range r.Findings {
		if _, known := ruleByID(f.ID); !known {
			t.Errorf("%s: %s has no rule", name, f.ID)
		}
	}
	out := write(t, Text, WriterOptions{}, r)
	if n := bytes.Count(out, []byte{'\n'}); n > 200 {
		t.Errorf("%s: %d lines", name, n)
	}
	if i := bytes.IndexFunc(out, func(c rune) bool { return c < 0x20 && c != '\n' || c >= 0x7f && c < 0xa0 }); i >= 0 {
		t.Errorf("%s: a control character reaches the terminal: %q", name, out[i:min(i+20, len(out))])
	}
}

// A35: what a terminal would obey is accepted, remarked on, and escaped.
func TestCheckEscapesInDescriptions(t *testing.T) {
	f := goodPack()
	f["skill.json"] = `{"schema":"kortecx.skill/v1","name":"good","description":"\u001b]8;;http://evil\u0007click"}`
	r := Check(makeFolder(t, "good", f), Options{})
	checkInvariants(t, "A35", r)
	if diff := cmp.Diff([]string{"terminal-escape skill.json:1:58"}, found(r)); diff != "" || !r.Passed {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestCheckStrictFailsWarnings(t *testing.T) {
	f := goodPack()
	f["skill.json"] = `{"schema":"kortecx.skill/v1","name":"good","version":"007","tools":{"a":"+1"}}`
	f["README.md"] = "a\r\n"
	dir := makeFolder(t, "good", f)
	lax := Check(dir, Options{})
	if _, warnings := lax.Count(); warnings != 3 || !lax.Passed {
		t.Errorf("found %v", found(lax))
	}
	strict := Check(dir, Options{Strict: true})
	checkInvariants(t, "strict", strict)
	if got := names(strict); got != "pack_loads! canonical_roundtrip no_authority_keys wish_grammar! instructions_bounded! pack_is_declarative empty_grant_binds_to_zero" {
		t.Errorf("checks %s", got)
	}
	if strict.Passed || !strict.Reachable {
		t.Errorf("passed %v, reachable %v", strict.Passed, strict.Reachable)
	}
}

// The stored form is 86 bytes longer than the pack form, and the cap applies to
// both: 65,450 canonical bytes pass and 65,451 do not.
func TestCheckCanonicalRoundtripAtTheCap(t *testing.T) {
	for size, passed := range map[int]bool{65450: true, 65451: false, 65536: false} {
		f := goodPack()
		f["skill.json"] = string(padded(size))
		r := Check(makeFolder(t, "x", f), Options{})
		if r.Passed != passed || !r.Reachable {
			t.Errorf("%d bytes: passed %v, reachable %v, %v", size, r.Passed, r.Reachable, found(r))
		}
		if !passed {
			want := strings.Replace(allSeven, "canonical_roundtrip", "canonical_roundtrip!", 1)
			if names(r) != want || r.Findings[0].ID != "canonical.too-large" {
				t.Errorf("%d bytes: %s %v", size, names(r), found(r))
			}
		}
		checkInvariants(t, fmt.Sprint(size), r)
	}
}

func TestCheckLinksAndModes(t *testing.T) {
	dir := makeFolder(t, "good", goodPack())
	inside := func(name string) string { return filepath.Join(dir, name) }
	for _, step := range []struct {
		name   string
		change func() error
		want   []string
	}{
		{"executable", func() error { return os.Chmod(inside("README.md"), 0o755) }, []string{"pack.executable README.md"}},
		{"C13", func() error {
			if err := os.Chmod(inside("README.md"), 0o644); err != nil {
				return err
			}
			return os.Link(inside("README.md"), filepath.Join(dir, "..", "other"))
		}, []string{"pack.hardlink README.md"}},
		{"README is a link", func() error {
			if err := os.Remove(inside("README.md")); err != nil {
				return err
			}
			return os.Symlink("skill.json", inside("README.md"))
		}, []string{"pack.symlink README.md"}},
		{"C12 dangling", func() error {
			if err := os.Remove(inside("README.md")); err != nil {
				return err
			}
			if err := os.Remove(inside("skill.json")); err != nil {
				return err
			}
			return os.Symlink("nowhere", inside("skill.json"))
		}, []string{"pack.symlink skill.json"}},
		{"C14 folder", func() error {
			if err := os.Remove(inside("skill.json")); err != nil {
				return err
			}
			return os.Mkdir(inside("skill.json"), 0o755)
		}, []string{"pack.not-regular skill.json"}},
	} {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		r := Check(dir, Options{})
		if diff := cmp.Diff(step.want, found(r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
		checkInvariants(t, step.name, r)
	}
}

func TestCheckWhatIsNoPack(t *testing.T) {
	empty := makeFolder(t, "empty", nil)
	both := makeFolder(t, "both", files{"skill.json": "{}", "SKILL.md": "---\nname: both\n---\n"})
	file := filepath.Join(makeFolder(t, "x", files{"notes.txt": "x"}), "notes.txt")
	for path, want := range map[string]string{
		empty:                          "pack.no-manifest",
		both:                           "pack.ambiguous-format",
		file:                           "pack.not-folder",
		filepath.Join(empty, "absent"): "pack.not-found",
	} {
		r := Check(path, Options{})
		if r.Passed || r.Reachable || names(r) != "pack_loads!" || r.Findings[0].ID != want || r.Connector != filepath.Base(path) {
			t.Errorf("%s: %+v", want, r)
		}
		checkInvariants(t, want, r)
	}
	if r := Check(both, Options{Format: pack.Kortecx}); r.Format != pack.Kortecx {
		t.Errorf("format %q", r.Format)
	}
	if r := Check("", Options{}); r.Passed || len(r.Findings) != 1 {
		t.Errorf("an empty path: %+v", r)
	}
}

func TestCheckTakesTheManifestFile(t *testing.T) {
	dir := makeFolder(t, "good", goodPack())
	r := Check(filepath.Join(dir, "skill.json"), Options{})
	if !r.Passed || r.Path != filepath.ToSlash(dir) {
		t.Errorf("report %+v", r)
	}
	t.Chdir(dir)
	for _, path := range []string{".", "./", "skill.json", "../good"} {
		if r := Check(path, Options{}); !r.Passed || r.Connector != "good" {
			t.Errorf("%s: %+v", path, r)
		}
	}
}
