package hub_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

// kazmaWith is a kazma pack whose manifest ends with more, and with more files.
func kazmaWith(more string, files ...pack.File) []pack.File {
	out := kazma("triage", "1.0.0", "acme")
	out[1].Data = append(out[1].Data, more...)
	return append(out, files...)
}

// Weaknesses 1, 2, 4 and 14 of the Kazma hub, where packs come in: what its loader would
// verify in another way than it is signed, or not at all, is not published.
func TestKazmaPacksThatWouldLoadUnverified(t *testing.T) {
	code := kazma("triage", "1.0.0", "acme")[0].Data
	sum := sign.Checksum(code)
	entry := func(value string, files ...pack.File) []pack.File {
		out := kazmaWith("", files...)
		out[1].Data = bytes.Replace(out[1].Data, []byte("entry_point: main:Skill"), []byte("entry_point: "+value), 1)
		return out
	}
	for name, tt := range map[string]struct {
		id    string
		files []pack.File
	}{
		"1: an entry outside of the pack":          {"entry.path", entry("../main:Skill")},
		"1: an entry by an absolute path":          {"entry.path", entry("/main:Skill")},
		"1: an entry that is not there":            {"entry.missing", entry("other:Skill")},
		"2: a checksum without a signature":        {"sign.downgraded", kazmaWith("checksum: " + sum + "\n")},
		"2: a signature without a checksum":        {"sign.no-checksum", kazmaWith("signature: " + sum + "\n")},
		"2: an empty checksum":                     {"sign.no-checksum", kazmaWith("checksum: ''\nsignature: " + sum + "\n")},
		"2: a checksum of nothing":                 {"sign.no-checksum", kazmaWith("checksum: null\nsignature: " + sum + "\n")},
		"2: a checksum of other code":              {"sign.digest", kazmaWith("checksum: " + sign.Checksum([]byte("x")) + "\nsignature: " + sum + "\n")},
		"4: compiled code in place of the source":  {"pack.bytecode", kazmaWith("", pack.File{Path: "__pycache__/main.cpython-312.pyc", Data: []byte("\xcb\x0d\x0d\x0a\x00\x00\x00\x00 code")})},
		"4: a package in place of the source":      {"pack.shadowed-module", kazmaWith("", pack.File{Path: "main/__init__.py", Data: []byte("x = 1\n")})},
		"14: a key twice":                          {"yaml.duplicate-key", kazmaWith("checksum: junk\nchecksum: " + sum + "\nsignature: " + sum + "\n")},
		"14: an alias":                             {"yaml.alias", kazmaWith("tags: &t [a]\ncategory: *t\n")},
		"14: a version that other readers round":   {"min-core-version.semver", kazmaWith("min_core_version: 1.0\n")},
		"14: a name that is a boolean in YAML 1.1": {"name.type", []pack.File{{Path: "main.py", Data: code}, {Path: "skill_manifest.yaml", Data: []byte("name: yes\nversion: 1.0.0\ndescription: Does things\nauthor: acme\nlicense: MIT\nentry_point: main:Skill\n")}}},
	} {
		f := newHub(t)
		_, err := f.push(publisher, hub.PublishInput{Name: "triage", Files: tt.files})
		if err == nil || hubapi.AsError(err).Code != hubapi.Invalid || hubapi.AsError(err).ID() != tt.id {
			t.Errorf("%s: %v, want %s", name, err, tt.id)
		}
		if len(f.trail("team")) != 0 {
			t.Errorf("%s: a refused push left something", name)
		}
	}
}

// Weaknesses 3 and 9 of the Kazma hub: a release is all of its files, and nothing of it
// changes behind what was approved, certified and signed, whoever holds a secret.
func TestKazmaReleasesAreAllOfTheirFiles(t *testing.T) {
	f := newHub(t)
	first := f.pushed(publisher, hub.PublishInput{Files: kazmaWith("", pack.File{Path: "helper.py", Data: []byte("x = 1\n")})})
	f.approved(reviewer, "triage")
	before := len(f.trail("team"))
	for name, files := range map[string][]pack.File{
		"a helper module": kazmaWith("", pack.File{Path: "helper.py", Data: []byte("x = 2\n")}),
		"one file more":   kazmaWith("", pack.File{Path: "helper.py", Data: []byte("x = 1\n")}, pack.File{Path: "data.txt", Data: []byte("x\n")}),
		"permissions":     kazmaWith("permissions: [network_outbound]\n", pack.File{Path: "helper.py", Data: []byte("x = 1\n")}),
		"servers":         kazmaWith("mcp_servers:\n- name: x\n  type: stdio\n", pack.File{Path: "helper.py", Data: []byte("x = 1\n")}),
	} {
		for _, p := range []hub.Principal{publisher, reviewer} {
			_, err := f.push(p, hub.PublishInput{Author: "acme", Files: files})
			if err == nil {
				t.Errorf("%s by %s: the version is another one now", name, p.ID)
			}
		}
	}
	if got, err := f.Release(t.Context(), node, parse(t, "triage")); err != nil || got.Digest != first.Digest || len(f.trail("team")) != before {
		t.Errorf("%+v, %v", got, err)
	}
	// A signature counts for the skill and the version that it names.
	for _, subject := range []string{"acme/triage 2.0.0", "acme/other 1.0.0", "evil/triage 1.0.0"} {
		_, err := f.push(publisher, hub.PublishInput{
			Files:     kazmaWith("", pack.File{Path: "helper.py", Data: []byte("x = 1\n")}),
			Signature: fmt.Append(nil, subject, " ", first.Digest),
		})
		if e := refused(t, subject, err, hubapi.Invalid); e.ID() != "sign.subject" {
			t.Errorf("%s: %+v", subject, e)
		}
	}
}

// Weaknesses 9 and 10 of the Kazma hub: a name that is a path, or nothing, comes neither
// from a pack nor from a submission.
func TestKazmaNamesAreNames(t *testing.T) {
	f := newHub(t)
	for _, name := range []string{"", ".", "..", "../x", "a/b", "/etc", "a\\\\b", "a\\n", "con/../x", "ä", strings.Repeat("a", 65)} {
		_, err := f.push(publisher, hub.PublishInput{Name: "triage", Files: kazma(fmt.Sprintf("%q", name), "1.0.0", "acme")})
		if err == nil {
			t.Errorf("%q was published", name)
		}
		for _, in := range [][2]string{{"acme", name}, {name, "triage"}} {
			manifest := kazmaJSON(in[0], in[1], "")
			if _, err := f.Submit(t.Context(), publisher, hub.SubmitInput{Manifest: manifest, SubmitterID: "x"}); err == nil {
				t.Errorf("%s was taken as a submission", manifest)
			}
		}
		if name == "" {
			continue
		}
		if ref, err := hubapi.ParseKazmaID("kazma-hub://acme/" + name + "@1.0.0"); err == nil {
			t.Errorf("the id of %q leads to %v", name, ref)
		}
	}
	if len(f.trail("team")) != 0 {
		t.Errorf("something was kept: %q", f.trail("team"))
	}
}
