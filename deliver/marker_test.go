package deliver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

func TestMarkerBytes(t *testing.T) {
	root, dir := target(t)
	o := options()
	o.Author, o.Source = "acme", `hub:acme/email-triage@3 "x"`
	o.Signature = []byte("\n{\"v\":1, \"dsse\":[],\n\"hmac\":{}}\n")
	p := kortecx(t, "email-triage", "3")
	_, err := Install(root, p, o)
	must(t, err)
	data, err := os.ReadFile(filepath.Join(dir, "email-triage", MarkerFile))
	must(t, err)
	want := `{
  "v": 1,
  "owner": "kx-test",
  "slug": "email-triage",
  "author": "acme",
  "name": "email-triage",
  "version": "3",
  "digest": "sp1:f40cbbefbbb4f9ba7443f1e5a4d30b3e4e7a2dc1d0b6c6ab3f3b3c2b0ff1ab51",
  "format": "kortecx",
  "installed_at": "2026-11-30T12:00:00Z",
  "source": "hub:acme/email-triage@3 \"x\"",
  "files": {
    "SKILL.md": {"sha256": "SKILL", "executable": false}
  },
  "manifest": "{\"schema\": \"kortecx.skill/v1\", \"name\": \"email-triage\", \"version\": \"3\",\n \"description\": \"Sorts mail\", \"tools\": {\"retrieve\": \"1\", \"gmail/read\": \"2\"}}\n",
  "pack_files": [
    {"path": "README.md", "size": 12, "sha256": "README"},
    {"path": "instructions.md", "size": 19, "sha256": "INSTR"},
    {"path": "skill.json", "size": 148, "sha256": "JSON"}
  ],
  "signature": {"v":1, "dsse":[],
"hmac":{}}
}
`
	file := func(name string) []byte { data, _ := p.File(name); return data }
	skill, err := os.ReadFile(filepath.Join(dir, "email-triage", "SKILL.md"))
	must(t, err)
	want = strings.NewReplacer(
		"sp1:f40cbbefbbb4f9ba7443f1e5a4d30b3e4e7a2dc1d0b6c6ab3f3b3c2b0ff1ab51", string(p.Digest()),
		`"SKILL"`, `"`+hexSum(skill)+`"`, `"README"`, `"`+hexSum(file("README.md"))+`"`,
		`"INSTR"`, `"`+hexSum(file("instructions.md"))+`"`, `"JSON"`, `"`+hexSum(file("skill.json"))+`"`,
	).Replace(want)
	same(t, want, string(data))

	m, err := ParseMarker(data)
	must(t, err)
	same(t, string(data), string(m.Encode()))
	// The pristine pack, but for its README, can be had back from the disk.
	same(t, string(file("skill.json")), m.Manifest)
}

// marker is a valid one for the tests below to spoil.
func marker(t fatal) string {
	p := skillMD(t, "hello", "1")
	files, err := render(p, pack.SkillName(p))
	must(t, err)
	m, err := newMarker(p, "hello", files, options())
	must(t, err)
	return string(m.Encode())
}

func TestHostileMarkersAreForeign(t *testing.T) {
	good := marker(t)
	if _, err := ParseMarker([]byte(good)); err != nil {
		t.Fatal(err)
	}
	replace := func(old, with string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the marker has no %q", old)
		}
		return strings.Replace(good, old, with, 1)
	}
	for name, data := range map[string]string{
		"empty":            "",
		"not JSON":         "mine",
		"cut":              good[:len(good)/2],
		"trailing":         good + "{}",
		"byte order mark":  "\ufeff" + good,
		"conflict markers": "<<<<<<< ours\n" + good + "=======\n" + good + ">>>>>>> theirs\n",
		"array":            "[" + good + "]",
		"null":             "null",
		"duplicate":        replace(`"v": 1`, `"v": 1, "v": 1`),
		"unknown member":   replace(`"v": 1`, `"v": 1, "grants": []`),
		"other case":       replace(`"owner"`, `"Owner"`),
		"newer":            replace(`"v": 1`, `"v": 2, "more": true`),
		"no version":       replace(`"v": 1,`, ``),
		"no owner":         replace(`"owner": "kx-test"`, `"owner": ""`),
		"owner null":       replace(`"owner": "kx-test"`, `"owner": null`),
		"slug":             replace(`"slug": "hello"`, `"slug": "../hello"`),
		"digest":           replace(`"digest": "sp1:`, `"digest": "sp2:`),
		"format":           replace(`"format": "skill-md"`, `"format": "kortecx"`),
		"strange format":   replace(`"format": "skill-md"`, `"format": "zip"`),
		"time":             replace(`2026-11-30T12:00:00Z`, `yesterday`),
		"files escape":     replace(`"scripts/run.sh"`, `"../../run.sh"`),
		"files absolute":   replace(`"scripts/run.sh"`, `"/etc/passwd"`),
		"files marker":     replace(`"scripts/run.sh"`, `".kx-owned"`),
		"hash":             replace(`"sha256": "`, `"sha256": "X`),
		"pack files order": replace(`"path": "SKILL.md"`, `"path": "zzz"`),
		"size":             replace(`"size": `, `"size": -`),
		"depth":            replace(`"v": 1`, `"signature": `+strings.Repeat("[", 40)+strings.Repeat("]", 40)+`, "v": 1`),
		"huge":             good + strings.Repeat(" ", maxMarker),
	} {
		t.Run(name, func(t *testing.T) {
			root, dir := target(t)
			put(t, dir, "hello/SKILL.md", "mine")
			put(t, dir, "hello/.kx-owned", data)
			before := tree(t, dir)
			s, err := Check(root, "hello")
			must(t, err)
			if s.Status != Foreign || s.Why == "" {
				t.Errorf("the folder is %s, %q", s.Status, s.Why)
			}
			o := options()
			o.Force = true
			_, err = Install(root, skillMD(t, "hello", "1"), o)
			refused(t, err, hubapi.Conflict, IDCollision)
			refused(t, Remove(root, "hello", o.Owner, true), hubapi.Conflict, IDCollision)
			same(t, before, tree(t, dir))
		})
	}
}

func TestSignatureMustBeJSON(t *testing.T) {
	root, dir := target(t)
	o := options()
	o.Signature = []byte(`{"v":1`)
	_, err := Install(root, skillMD(t, "hello", "1"), o)
	refused(t, err, hubapi.Invalid, "json.syntax")
	o.Signature = []byte(`"` + strings.Repeat("x", maxMarker) + `"`)
	_, err = Install(root, skillMD(t, "hello", "1"), o)
	refused(t, err, hubapi.TooLarge, IDTooLarge)
	same(t, map[string]string{}, tree(t, dir))
}

// TestAMarkerProvesItsDigest: whatever of the claim is changed, it is seen.
func TestAMarkerProvesItsDigest(t *testing.T) {
	packs := map[string]*pack.Pack{"kortecx": kortecx(t, "hello", "1"), "skill-md": skillMD(t, "hello", "1"), "kazma": kazma(t, "hello")}
	for format, p := range packs {
		for name, forge := range map[string]func(m *Marker, dir string){
			"digest": func(m *Marker, _ string) { m.Digest = "sp1:" + pack.Digest(strings.Repeat("0", 64)) },
			"pack file": func(m *Marker, _ string) {
				m.PackFiles[0].SHA256 = strings.Repeat("0", 64)
			},
			"pack file and digest": func(m *Marker, _ string) {
				// Consistent in itself, but not what is on the disk.
				if format == "kortecx" {
					m.PackFiles[1].SHA256 = strings.Repeat("0", 64)
				} else {
					m.PackFiles[0].SHA256 = strings.Repeat("0", 64)
				}
				m.Digest = digestOf(m)
			},
			"manifest": func(m *Marker, dir string) {
				if format != "kortecx" {
					m.Digest = ""
				}
				m.Manifest = strings.Replace(m.Manifest, "retrieve", "gmail/send", 1)
			},
			"text with its hash": func(m *Marker, dir string) {
				for file := range m.Files {
					at := filepath.Join(dir, "hello", file)
					data, _ := os.ReadFile(at)
					put(t, dir, "hello/"+file, string(data)+"ignore the above\n")
					m.Files[file] = WrittenFile{hexSum(append(data, "ignore the above\n"...)), m.Files[file].Executable}
					return
				}
			},
		} {
			t.Run(format+" "+name, func(t *testing.T) {
				root, dir := target(t)
				_, err := Install(root, p, options())
				must(t, err)
				s, err := Check(root, "hello")
				must(t, err)
				same(t, State{Slug: "hello", Status: Owned, Marker: s.Marker}, State{Slug: s.Slug, Status: s.Status, Marker: s.Marker, Differences: s.Differences, Doubts: s.Doubts}, cmp.AllowUnexported(State{}))
				forge(s.Marker, dir)
				if s.Marker.Digest == "" {
					return // there is no manifest to forge
				}
				put(t, dir, "hello/.kx-owned", string(s.Marker.Encode()))
				s, err = Check(root, "hello")
				must(t, err)
				if len(s.Doubts) == 0 || len(s.Edits()) == 0 {
					t.Errorf("the forgery is not seen: %+v", s)
				}
				_, err = Install(root, p, options())
				refused(t, err, hubapi.Conflict, IDLocalEdits)
			})
		}
	}
}

func digestOf(m *Marker) pack.Digest {
	var lines strings.Builder
	for _, f := range m.PackFiles {
		lines.WriteString(f.SHA256 + "  " + f.Path + "\n")
	}
	return pack.Digest("sp1:" + hexSum([]byte(lines.String())))
}

// TestAMarkerFromElsewhereIsNotTrusted covers markers that are copied or forged
// into a folder of the user's own.
func TestAMarkerFromElsewhereIsNotTrusted(t *testing.T) {
	root, dir := target(t)
	_, err := Install(root, skillMD(t, "hello", "1"), options())
	must(t, err)
	must(t, os.CopyFS(filepath.Join(dir, "copy"), os.DirFS(filepath.Join(dir, "hello"))))
	before := tree(t, dir)

	s, err := Check(root, "copy")
	must(t, err)
	if s.Status != Foreign {
		t.Errorf("a copied folder is %s", s.Status)
	}
	refused(t, Remove(root, "copy", "kx-test", true), hubapi.Conflict, IDCollision)

	// Another kx, or the same marker brought in with a checkout.
	refused(t, Remove(root, "hello", "kx-other", true), hubapi.Conflict, IDCollision)
	refused(t, Remove(root, "hello", "", true), hubapi.Conflict, IDCollision)
	o := options()
	o.Owner, o.Force = "kx-other", true
	_, err = Install(root, skillMD(t, "hello", "2"), o)
	refused(t, err, hubapi.Conflict, IDCollision)
	same(t, before, tree(t, dir))

	list, err := List(root)
	must(t, err)
	if len(list) != 1 || list[0].Slug != "hello" {
		t.Errorf("listed are %+v", list)
	}
}

func FuzzParseMarker(f *testing.F) {
	good := marker(f)
	f.Add([]byte(good))
	f.Add([]byte(strings.Replace(good, `"v": 1`, `"v": 2`, 1)))
	f.Add([]byte(`{"v":1,"owner":"kx","slug":"a","files":{"a":{"sha256":"","executable":true}}}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseMarker(data)
		if err != nil {
			return
		}
		again, err := ParseMarker(m.Encode())
		if err != nil {
			t.Fatalf("%v in:\n%s", err, m.Encode())
		}
		if string(again.Encode()) != string(m.Encode()) {
			t.Fatalf("not stable:\n%s\n%s", m.Encode(), again.Encode())
		}
		_ = m.doubts(data)
	})
}
