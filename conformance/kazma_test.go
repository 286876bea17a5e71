package conformance

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const goodKazma = "name: demo\nversion: 1.0.0\ndescription: Reads pages and sums them up.\nauthor: ann\nlicense: MIT\nentry_point: main:Demo\n"

const cleanPython = "class Demo:\n    pass\n"

func kazmaPack(extra string) files {
	return files{"skill_manifest.yaml": goodKazma + extra, "main.py": cleanPython}
}

func TestCheckKazma(t *testing.T) {
	hex := strings.Repeat("0a", 32)
	without := func(line string) files {
		return files{"skill_manifest.yaml": strings.Replace(goodKazma, line, "", 1), "main.py": cleanPython}
	}
	swap := func(old, new string) files {
		return files{"skill_manifest.yaml": strings.Replace(goodKazma, old, new, 1), "main.py": cleanPython}
	}
	const all = "pack_loads manifest_valid entry_point_contained permissions_known mcp_servers_valid integrity_fields_wellformed files_portable"
	fails := func(checks ...string) string {
		out := all
		for _, c := range checks {
			out = strings.Replace(out, c, c+"!", 1)
		}
		return out
	}
	const blinded = "pack_loads! files_portable"
	for _, tc := range []struct {
		name    string
		content files
		want    []string
		checks  string
	}{
		{"good", kazmaPack(""), []string{}, all},
		{"signed", kazmaPack("checksum: " + hex + "\nsignature: " + hex + "\n"), []string{}, all},
		{"no license", without("license: MIT\n"), []string{"license.missing skill_manifest.yaml:1:1"}, fails("pack_loads", "manifest_valid")},
		{"version", swap("1.0.0", "1.0"), []string{"version.semver skill_manifest.yaml:2:10"}, fails("pack_loads", "manifest_valid")},
		{"B2", kazmaPack("a: &a [*a]\n"), []string{"yaml.alias skill_manifest.yaml:7:4"}, blinded},
		{"B3", swap("name: demo", "name: &n demo"), []string{"yaml.alias skill_manifest.yaml:1:7"}, blinded},
		{"B5", kazmaPack("name: evil\n"), []string{"yaml.duplicate-key skill_manifest.yaml:7:1"}, strings.Replace(fails("pack_loads"), " manifest_valid", "", 1)},
		{"B6", kazmaPack("---\nname: x\n"), []string{"yaml.multi-document skill_manifest.yaml:7:1"}, blinded},
		{"B8", swap("1.0.0", "0o17"), []string{"version.semver skill_manifest.yaml:2:10"}, fails("pack_loads", "manifest_valid")},
		{"B11", kazmaPack("checksum: " + strings.Repeat("1", 61) + "e00\n"), []string{}, all},
		{"B12", swap("name: demo", "name: !!binary aGVsbG8="), []string{"yaml.tag skill_manifest.yaml:1:7"}, blinded},
		{"B13", kazmaPack("tags:\n\t- a\n"), []string{"yaml.syntax skill_manifest.yaml:8:1"}, blinded},
		{"B14", files{"skill_manifest.yaml": byteOrderMark + goodKazma, "main.py": cleanPython}, []string{"yaml.bom skill_manifest.yaml:1:1"}, all},
		{"B15", kazmaPack("tags: [\xff]\n"), []string{"yaml.invalid-utf8 skill_manifest.yaml:7:8"}, blinded},
		{"B16", kazmaPack("a: " + strings.Repeat("[", 10001)), []string{"yaml.depth skill_manifest.yaml:7:36"}, blinded},
		{"B21", swap("main:Demo", "../../x:Cls"), []string{"entry.path skill_manifest.yaml:6:14"}, fails("pack_loads", "entry_point_contained")},
		{"entry that is not there", swap("main:Demo", "other:Demo"), []string{"entry.missing skill_manifest.yaml:6:14"}, fails("pack_loads", "entry_point_contained")},
		{"B24", kazmaPack("signature: " + hex + "\n"), []string{"sign.no-checksum skill_manifest.yaml:7:12"}, fails("pack_loads", "integrity_fields_wellformed")},
		{"B27", kazmaPack("checksum: " + strings.ToUpper(hex) + "\n"), []string{"sign.checksum-format skill_manifest.yaml:7:11"}, fails("pack_loads", "integrity_fields_wellformed")},
		{"permission", kazmaPack("permissions: [file_read, fly]\n"), []string{"permissions.unknown skill_manifest.yaml:7:26"}, all},
		{"server", kazmaPack("mcp_servers:\n- name: a\n  type: streamable_http\n"), []string{"mcp.type skill_manifest.yaml:9:9"}, fails("pack_loads", "mcp_servers_valid")},
		{"portable", files{"skill_manifest.yaml": goodKazma, "main.py": cleanPython, "a:b.txt": ""}, []string{"path.portable a:b.txt"}, fails("pack_loads", "files_portable")},
	} {
		r := Check(makeFolder(t, "any-folder", tc.content), Options{})
		if diff := cmp.Diff(tc.want, found(r)); diff != "" {
			t.Errorf("%s findings (-want +got):\n%s", tc.name, diff)
		}
		if got := names(r); got != tc.checks {
			t.Errorf("%s checks\n got %s\nwant %s", tc.name, got, tc.checks)
		}
		checkInvariants(t, tc.name, r)
	}
	r := Check(makeFolder(t, "any", kazmaPack("permissions: [fly]\n")), Options{Strict: true})
	if r.Passed || names(r) != fails("permissions_known") {
		t.Errorf("strict: %s", names(r))
	}
}

func TestValidateKazma(t *testing.T) {
	python := func(source string) files {
		f := kazmaPack("")
		f["lib/tools.py"] = source
		return f
	}
	for _, tc := range []struct {
		name     string
		content  files
		score    float64
		errors   int
		warnings int
	}{
		{"clean", kazmaPack(""), 100, 0, 0},
		{"clean without class", files{"skill_manifest.yaml": strings.Replace(goodKazma, "main:Demo", "main", 1), "main.py": cleanPython}, 100, 0, 0},
		{"no manifest", files{"main.py": cleanPython}, 70, 1, 0},
		{"only a name", files{"skill_manifest.yaml": "name: demo\n", "main.py": cleanPython}, 70, 4, 0},
		{"not YAML", files{"skill_manifest.yaml": "{{{{invalid yaml", "main.py": cleanPython}, 70, 1, 0},
		{"entry is missing", files{"skill_manifest.yaml": goodKazma}, 100, 1, 0},
		{"eval", python("eval(x)"), 80, 0, 1},
		{"exec", python("exec(x)"), 80, 0, 1},
		{"import", python("__import__('x')"), 85, 0, 1},
		{"os.system", python("os.system('x')"), 75, 0, 1},
		{"secret", python("api_key = 'x'"), 90, 0, 1},
		{"four at once", python("eval(x); exec(x); os.system(x); api_key='x'"), 25, 0, 4},
		{"the score stops at zero", files{"skill_manifest.yaml": goodKazma, "main.py": "eval(x); exec(x); os.system(x)", "b.py": "eval(x); exec(x); os.system(x)"}, 0, 0, 6},
		{"permissions in a list", kazmaPack("permissions: [unknown_perm_xyz, file_read, fly]\n"), 90, 0, 2},
		{"permissions in a map", kazmaPack("permissions: {required: [fly]}\n"), 100, 0, 1},
		{"a server of an unknown type", kazmaPack("mcp_servers: [{name: a, type: ws}]\n"), 100, 1, 0},
		{"a server without a name", kazmaPack("mcp_servers: [{type: sse}]\n"), 70, 1, 0},
		{"stricter than the reference", kazmaPack("name: demo\n"), 70, 1, 0},
		{"not Python", func() files { f := kazmaPack(""); f["notes.txt"] = "eval(x)"; return f }(), 100, 0, 0},
	} {
		v, err := ValidateKazma(makeFolder(t, "demo", tc.content))
		if err != nil {
			t.Fatal(err)
		}
		if v.Score != tc.score || len(v.Errors) != tc.errors || len(v.Warnings) != tc.warnings || v.Passed != (tc.errors == 0) {
			t.Errorf("%s: %+v", tc.name, v)
		}
		if tc.name == "no manifest" && !strings.Contains(v.Errors[0], "manifest") {
			t.Errorf("%s: %q", tc.name, v.Errors)
		}
	}
	if _, err := ValidateKazma(filepath.Join(t.TempDir(), "absent")); !os.IsNotExist(err) {
		t.Errorf("an absent path: %v", err)
	}
	dir := makeFolder(t, "demo", kazmaPack(""))
	if v, err := ValidateKazma(filepath.Join(dir, "main.py")); err != nil || v.Passed || v.Score != 70 {
		t.Errorf("a file: %+v, %v", v, err)
	}
	if err := os.Symlink("main.py", filepath.Join(dir, "loop.py")); err != nil {
		t.Fatal(err)
	}
	if v, err := ValidateKazma(dir); err != nil || v.Passed {
		t.Errorf("a link: %+v, %v", v, err)
	}
}

func TestValidateKazmaOutput(t *testing.T) {
	pass := &KazmaValidation{Path: "skills/demo", Passed: true, Errors: []string{}, Warnings: []string{}, Score: 100}
	fail := &KazmaValidation{
		Path: "skills/dé\x1bmo", Errors: []string{"name is \"empty\"\n[PASS] forged", "zwei"}, Warnings: []string{"lib.py: calls eval() 😀\u009b"}, Score: 50,
	}
	for name, v := range map[string]*KazmaValidation{"pass": pass, "fail": fail} {
		var text, doc bytes.Buffer
		if err := v.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		golden(t, "kazma-"+name+".text", text.Bytes())
		if err := v.WriteJSON(&doc); err != nil {
			t.Fatal(err)
		}
		golden(t, "kazma-"+name+".json", doc.Bytes())
		var back KazmaValidation
		if err := json.Unmarshal(doc.Bytes(), &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(*v, back); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for _, c := range doc.Bytes() {
			if c >= 0x7f || c < 0x20 && c != '\n' {
				t.Errorf("%s: byte %#x in the JSON", name, c)
			}
		}
	}
}
