package pack

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kortecx/kx/internal/timetest"
)

const kazmaMinimal = `name: demo-skill
version: 1.0.0
description: Does things
author: your-org
license: MIT
`

const someHex = "5d6943532bcacce45a14f1fcf2bbc1e43f86bf05ff0eac70d3ea18bd6e68c720"

// kazmaFolder is a folder with this manifest and a main.py, and empty files with
// the names given.
func kazmaFolder(manifest string, names ...string) []File {
	files := []File{{Path: "skill_manifest.yaml", Data: []byte(manifest)}}
	for _, name := range append([]string{"main.py"}, names...) {
		files = append(files, File{Path: name, Data: []byte("class Demo:\n    pass\n")})
	}
	return files
}

// said lists ids with their places, faults first.
func said(errs ...[]*Error) string {
	var out []string
	for _, list := range errs {
		for _, e := range list {
			out = append(out, e.ID+"@"+e.Place.String()+e.Place.Pointer)
		}
	}
	return strings.Join(out, "\n")
}

func TestKazmaReadsEverything(t *testing.T) {
	manifest := "\ufeff" + `---
name: demo-skill # comment
version: "1.0.0"
description: >-
  Does
  things
author: your-org
license: MIT
entry_point: pkg.main:Demo
capabilities: [mcp, file_read]
permissions:
  required: [file_read]
  optional: [network_outbound]
mcp_servers:
  - name: one
    type: stdio
    command: x
  - {name: two, type: streamable-http}
min_core_version: 0.4.0
tags:
- a
- b
certified: true
dependencies: {core: x}
checksum: ` + someHex + `
signature: "` + someHex + `"
`
	in := Read("any folder", kazmaFolder(manifest, "pkg/main.py"), Options{})
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	want := &KazmaManifest{
		Name: "demo-skill", Version: "1.0.0", Description: "Does things", Author: "your-org", License: "MIT",
		EntryPoint: "pkg.main:Demo", EntryFile: "pkg/main.py", Class: "Demo",
		Capabilities: []string{"mcp", "file_read"}, Permissions: []string{"file_read"}, OptionalPermissions: []string{"network_outbound"},
		Tags: []string{"a", "b"}, MCPServers: []MCPServer{{"one", "stdio"}, {"two", "streamable-http"}},
		MinCoreVersion: "0.4.0", Checksum: someHex, Signature: someHex, Certified: true, OtherKeys: []string{"dependencies"},
	}
	p := in.Pack
	if diff := cmp.Diff(want, p.Kazma); diff != "" {
		t.Error(diff)
	}
	got := []any{p.Format, p.Name, p.Version, p.Author, p.Description, p.Tags, len(p.Files), len(p.Tools), in.Name}
	if diff := cmp.Diff([]any{Kazma, "demo-skill", "1.0.0", "your-org", "Does things", []string{"a", "b"}, 3, 0, "demo-skill"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("yaml.bom@skill_manifest.yaml:1:1\nkazma.certified-claim@skill_manifest.yaml:23:12/certified", said(in.Warnings)); diff != "" {
		t.Error(diff)
	}
}

func TestKazmaAccepts(t *testing.T) {
	tests := []struct {
		row, name string
		manifest  string
		extra     []string
		warnings  string
	}{
		{name: "minimal", manifest: kazmaMinimal},
		{row: "B20", name: "CRLF", manifest: strings.ReplaceAll(kazmaMinimal, "\n", "\r\n")},
		{row: "B24", name: "unsigned by empty values", manifest: kazmaMinimal + "checksum:\nsignature: \"\"\n"},
		{row: "B11", name: "checksum of digits", manifest: kazmaMinimal + "checksum: " + strings.Repeat("1", 61) + "e11\n"},
		{name: "checksum alone", manifest: kazmaMinimal + "checksum: " + someHex + "\n"},
		{name: "nulls", manifest: kazmaMinimal + "entry_point:\nmcp_servers: ~\ntags: null\npermissions:\nmin_core_version:\ncapabilities:\ncertified: ~\n"},
		{name: "unknown keys", manifest: kazmaMinimal + "config_schema: {type: object}\nhomepage: https://example.com\nx: [1, {a: ~}]\n"},
		{name: "not certified", manifest: kazmaMinimal + "certified: false\n"},
		{name: "name as in the reference", manifest: strings.Replace(kazmaMinimal, "demo-skill", "a--b-", 1)},
		{
			name: "no entry at all", manifest: strings.Replace(kazmaMinimal, "demo-skill", "x", 1) + "entry_point: ''\n", extra: []string{"-main.py"},
			warnings: "entry.none@skill_manifest.yaml:1:1/entry_point",
		},
		{
			name: "unknown permissions", manifest: kazmaMinimal + "permissions: [file_read, fly, database_write]\n",
			warnings: "permissions.unknown@skill_manifest.yaml:6:26/permissions/1",
		},
		{
			name: "unknown permission in the map", manifest: kazmaMinimal + "permissions:\n  optional:\n  - fly\n  other: x\n",
			warnings: "permissions.unknown@skill_manifest.yaml:8:5/permissions/optional/0",
		},
		{
			name: "many", manifest: kazmaMinimal + "tags: [" + strings.Repeat("a,", 21) + "]\ncapabilities: [" + strings.Repeat("a,", 51) +
				"]\nmcp_servers: [" + strings.Repeat("{name: a, type: sse},", 21) + "]\n",
			warnings: "mcp.many@skill_manifest.yaml:8:14/mcp_servers\ncapabilities.many@skill_manifest.yaml:7:15/capabilities\ntags.many@skill_manifest.yaml:6:7/tags",
		},
	}
	for _, tt := range tests {
		t.Run(tt.row+" "+tt.name, func(t *testing.T) {
			files := kazmaFolder(tt.manifest)
			if len(tt.extra) > 0 {
				files = files[:1]
			}
			in := Read("demo", files, Options{})
			if err := in.Err(); err != nil {
				t.Fatalf("%v", in.Faults)
			}
			if diff := cmp.Diff(tt.warnings, said(in.Warnings)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestKazmaRefuses(t *testing.T) {
	without := func(key string) string {
		var kept []string
		for line := range strings.Lines(kazmaMinimal) {
			if !strings.HasPrefix(line, key+":") {
				kept = append(kept, line)
			}
		}
		return strings.Join(kept, "")
	}
	with := func(key, value string) string { return without(key) + key + ": " + value + "\n" }
	tests := []struct {
		row, name string
		manifest  string
		want      string // ids and places behind skill_manifest.yaml
	}{
		{name: "empty file", manifest: "", want: "yaml.not-mapping@"},
		{row: "B5", name: "duplicate name", manifest: kazmaMinimal + "name: evil\n", want: "yaml.duplicate-key@:6:1"},
		{row: "B12", name: "tag", manifest: with("author", "!!binary aGVsbG8="), want: "yaml.tag@:5:9"},
		{row: "B3", name: "alias", manifest: "x: &a b\n" + kazmaMinimal, want: "yaml.alias@:1:4"},
		{name: "corrupted", manifest: "{{{{invalid yaml", want: "yaml.syntax@:1:17"},
		{
			name: "only a comment key", manifest: "x: y\n",
			want: "name.missing@:1:1/name\nversion.missing@:1:1/version\ndescription.missing@:1:1/description\nauthor.missing@:1:1/author\nlicense.missing@:1:1/license",
		},
		{name: "no license", manifest: without("license"), want: "license.missing@:1:1/license"},
		{name: "name empty", manifest: with("name", "''"), want: "name.empty@:5:7/name"},
		{name: "name null", manifest: with("name", "null"), want: "name.empty@:5:7/name"},
		{name: "name a list", manifest: with("name", "[a]"), want: "name.type@:5:7/name"},
		{name: "name in capitals", manifest: with("name", "UpperCase"), want: "name.charset@:5:7/name"},
		{name: "name with a digit first", manifest: with("name", "123abc"), want: "name.charset@:5:7/name"},
		{name: "name with underscores", manifest: with("name", "has_underscores"), want: "name.charset@:5:7/name"},
		{name: "name with a final newline", manifest: with("name", `"demo\n"`), want: "name.charset@:5:7/name"},
		{name: "name that is a boolean", manifest: with("name", "yes"), want: "name.type@:5:7/name"},
		{name: "version with two numbers", manifest: with("version", "1.0"), want: "version.semver@:5:10/version"},
		{name: "version with v", manifest: with("version", "v1.0.0"), want: "version.semver@:5:10/version"},
		{name: "version with suffix", manifest: with("version", "1.0.0-beta"), want: "version.semver@:5:10/version"},
		{name: "version negative", manifest: with("version", "-1.0.0"), want: "version.semver@:5:10/version"},
		{name: "version with a final newline", manifest: with("version", `"1.0.0\n"`), want: "version.semver@:5:10/version"},
		{name: "version in Arabic digits", manifest: with("version", "١.٠.٠"), want: "version.semver@:5:10/version"},
		{name: "description a number", manifest: with("description", "1.5"), want: "description.type@:5:14/description"},
		{name: "description blank", manifest: with("description", `" \t"`), want: "description.empty@:5:14/description"},
		{name: "author a map", manifest: with("author", "{a: b}"), want: "author.type@:5:9/author"},
		{name: "license false", manifest: with("license", "false"), want: "license.type@:5:10/license"},
		{name: "capabilities a word", manifest: kazmaMinimal + "capabilities: mcp\n", want: "capabilities.type@:6:15/capabilities"},
		{
			name: "capabilities items", manifest: kazmaMinimal + "capabilities: [a, '', {b: c}, ~]\n",
			want: "capabilities.empty@:6:19/capabilities/1\ncapabilities.type@:6:23/capabilities/2\ncapabilities.empty@:6:31/capabilities/3",
		},
		{name: "permissions a word", manifest: kazmaMinimal + "permissions: file_read\n", want: "permissions.type@:6:14/permissions"},
		{name: "permissions nested", manifest: kazmaMinimal + "permissions: {required: [[a]]}\n", want: "permissions.type@:6:26/permissions/required/0"},
		{name: "permissions not a list", manifest: kazmaMinimal + "permissions: {optional: a}\n", want: "permissions.type@:6:25/permissions/optional"},
		{name: "tags a map", manifest: kazmaMinimal + "tags: {a: b}\n", want: "tags.type@:6:7/tags"},
		{name: "servers a map", manifest: kazmaMinimal + "mcp_servers: {name: a}\n", want: "mcp.not-list@:6:14/mcp_servers"},
		{
			name: "servers of all kinds", manifest: kazmaMinimal + "mcp_servers:\n- x\n- {type: sse}\n- {name: a}\n- {name: a, type: streamable_http}\n- {name: [a], type: ''}\n",
			want: "mcp.not-map@:7:3/mcp_servers/0\nmcp.no-name@:8:3/mcp_servers/1\nmcp.no-type@:9:3/mcp_servers/2\nmcp.type@:10:19/mcp_servers/3/type\n" +
				"mcp.no-name@:11:10/mcp_servers/4/name\nmcp.no-type@:11:21/mcp_servers/4/type",
		},
		{name: "min_core_version", manifest: kazmaMinimal + "min_core_version: 1.0\n", want: "min-core-version.semver@:6:19/min_core_version"},
		{row: "B21", name: "entry outside", manifest: kazmaMinimal + "entry_point: ../../x:Cls\n", want: "entry.path@:6:14/entry_point"},
		{name: "entry a list", manifest: kazmaMinimal + "entry_point: [a]\n", want: "entry.type@:6:14/entry_point"},
		{name: "entry absent", manifest: kazmaMinimal + "entry_point: nonexistent_module:SomeClass\n", want: "entry.missing@:6:14/entry_point"},
		{name: "entry class", manifest: kazmaMinimal + "entry_point: 'main:'\n", want: "entry.class@:6:14/entry_point"},
		{row: "B24", name: "signature alone", manifest: kazmaMinimal + "signature: " + someHex + "\n", want: "sign.no-checksum@:6:12/signature"},
		{row: "B24", name: "empty checksum", manifest: kazmaMinimal + "checksum: ''\nsignature: " + someHex + "\n", want: "sign.no-checksum@:7:12/signature"},
		{row: "B27", name: "upper case", manifest: kazmaMinimal + "checksum: " + strings.ToUpper(someHex) + "\n", want: "sign.checksum-format@:6:11/checksum"},
		{row: "B27", name: "63 digits", manifest: kazmaMinimal + "checksum: " + someHex[1:] + "\n", want: "sign.checksum-format@:6:11/checksum"},
		{row: "B27", name: "not ASCII", manifest: kazmaMinimal + "checksum: é" + someHex[2:] + "\n", want: "sign.checksum-format@:6:11/checksum"},
		{row: "B27", name: "prefix", manifest: kazmaMinimal + "checksum: sha256:" + someHex + "\n", want: "sign.checksum-format@:6:11/checksum"},
		{row: "B27", name: "false", manifest: kazmaMinimal + "checksum: false\n", want: "sign.checksum-format@:6:11/checksum"},
		{row: "B27", name: "signature", manifest: kazmaMinimal + "checksum: " + someHex + "\nsignature: x\n", want: "sign.signature-format@:7:12/signature"},
	}
	for _, tt := range tests {
		t.Run(tt.row+" "+tt.name, func(t *testing.T) {
			in := Read("demo", kazmaFolder(tt.manifest), Options{Format: Kazma})
			got := strings.ReplaceAll(said(in.Faults), "skill_manifest.yaml", "")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s\n%v", diff, in.Faults)
			}
			if in.Pack != nil {
				t.Error("a pack in spite of faults")
			}
			for _, f := range in.Faults {
				if f.Text == "" || f.Place.File == "" || f.Kind == "" || (f.Kind == KindYAML) != strings.HasPrefix(f.ID, "yaml.") {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

func TestKazmaHints(t *testing.T) {
	for name, tt := range map[string]struct{ line, hint string }{
		"quoted form":      {"license: 2024-01-01", `write license: "2024-01-01"`},
		"hyphen":           {"mcp_servers: [{name: a, type: streamable_http}]", "with a hyphen"},
		"file and class":   {"entry_point: main.py:Demo", "write main:Demo"},
		"another case":     {"entry_point: Main:Demo", `the pack has "main.py"`},
		"another folder":   {"entry_point: src/main.py", `the pack has "main.py"`},
		"word for a list":  {"tags: a", "write tags: [a]"},
		"unquoted colon":   {"description: Use when: x", `quote it: description: "Use when: x"`},
		"unknown":          {"permissions: [fly]", "file_read, file_write"},
		"the only file":    {"entry_point: other:Demo", `the pack has "main.py"`},
		"stripped by hand": {"signature: " + someHex, "sign the skill again"},
	} {
		t.Run(name, func(t *testing.T) {
			key, _, _ := strings.Cut(tt.line, ":")
			var manifest strings.Builder
			for line := range strings.Lines(kazmaMinimal) {
				if !strings.HasPrefix(line, key+":") {
					manifest.WriteString(line)
				}
			}
			in := Read("demo", kazmaFolder(manifest.String()+tt.line+"\n"), Options{})
			all := append(in.Faults, in.Warnings...)
			if len(all) == 0 || !strings.Contains(all[0].Hint, tt.hint) {
				t.Errorf("got %v", all)
			}
		})
	}
}

func TestKazmaBytecode(t *testing.T) {
	in := Read("demo", kazmaFolder(kazmaMinimal, "__pycache__/main.cpython-313.pyc", "lib/x.PYC", "lib/__pycache__/notes.txt"), Options{})
	want := "pack.bytecode@__pycache__/main.cpython-313.pyc\npack.bytecode@lib/__pycache__/notes.txt\npack.bytecode@lib/x.PYC"
	if diff := cmp.Diff(want, said(in.Faults)); diff != "" {
		t.Error(diff)
	}
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("__pycache__/m%02d.pyc", i))
	}
	in = Read("demo", kazmaFolder(kazmaMinimal, many...), Options{})
	if len(in.Faults) != maxModules || !strings.Contains(in.Faults[maxModules-1].Text, "and 80 more") {
		t.Errorf("%d faults, the last %v", len(in.Faults), in.Faults[len(in.Faults)-1])
	}
}

// Python takes the first of package, extension module and source that has a name: what
// was checked and signed is the source.
func TestModulesThatWouldRunInsteadOfTheSource(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		files      []string
	}{
		{
			"extension modules of every system", "pack.extension-module@helper.pyd\npack.extension-module@lib/libx.DYLIB\npack.extension-module@main.cpython-311-x86_64-linux-gnu.so\npack.extension-module@sub/a.dll",
			[]string{"main.cpython-311-x86_64-linux-gnu.so", "helper.pyd", "sub/a.dll", "lib/libx.DYLIB"},
		},
		{"a package of the entry's name", "pack.shadowed-module@main/__init__.py", []string{"main/__init__.py"}},
		{"a package of the name of another module", "pack.shadowed-module@lib/util/__init__.pyw", []string{"lib/util.py", "lib/util/__init__.pyw"}},
		{"both", "pack.extension-module@main/__init__.abi3.so", []string{"main/__init__.abi3.so"}},
		{"packages of their own, and words that only look like it", "", []string{"pkg/__init__.py", "pkg/main.py", "__init__.py", "main/notes.txt", "lib.so.md", "so"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := Read("demo", kazmaFolder(kazmaMinimal, tt.files...), Options{})
			if diff := cmp.Diff(tt.want, said(in.Faults)); diff != "" {
				t.Error(diff)
			}
			if (in.Pack == nil) != (tt.want != "") {
				t.Errorf("the pack is %v", in.Pack)
			}
		})
	}
}

func TestResolveEntry(t *testing.T) {
	for entry, want := range map[string][2]string{
		"main:Demo":          {"main.py", "Demo"},
		"my-skill:Demo":      {"my-skill.py", "Demo"},
		"pkg.main:Cls":       {"pkg/main.py", "Cls"}, // B22
		"pkg/main:Cls":       {"pkg/main.py", "Cls"},
		"pkg/sub.main:_C1":   {"pkg/sub/main.py", "_C1"},
		"my_skill.py":        {"my_skill.py", ""},
		"src/my_skill.py":    {"src/my_skill.py", ""},
		"a.b.py":             {"a.b.py", ""},
		"main":               {"main.py", ""},
		"pkg.main":           {"pkg/main.py", ""},
		"مهارة:مهارة":        {"مهارة.py", "مهارة"},
		"deep.er.still.a:Xé": {"deep/er/still/a.py", "Xé"},
	} {
		file, class, err := ResolveEntry(entry)
		if err != nil || file != want[0] || class != want[1] {
			t.Errorf("%q: %q %q %v", entry, file, class, err)
		}
	}
	for entry, id := range map[string]string{
		"../../x:Cls": "entry.path", "/abs:Cls": "entry.path", "/abs.py": "entry.path", "../x.py": "entry.path", "./x.py": "entry.path",
		".main:Cls": "entry.path", "main.:Cls": "entry.path", "a..b:Cls": "entry.path", "a//b:Cls": "entry.path", ":Cls": "entry.path",
		"": "entry.path", ".py": "entry.path", "a/.py": "entry.path", "a:b:C": "entry.path", `a\b:C`: "entry.path", "a\x00b:C": "entry.path",
		"a\nb:C": "entry.path", "main.py:C": "entry.path", "main:": "entry.class", "main:A.B": "entry.class", "main:1A": "entry.class",
		"main: A": "entry.class", " main:A": "", "a/../b:C": "entry.path", "a/../../b.py": "entry.path", "con:C": "entry.path",
		".git/x.py": "entry.path", "C:\\x.py": "entry.path", "x.py/": "entry.path", "a/b/": "entry.path", "..": "entry.path", ".": "entry.path",
	} {
		file, _, err := ResolveEntry(entry)
		switch {
		case id == "" && err != nil:
			t.Errorf("%q: %v", entry, err)
		case id != "" && (err == nil || err.ID != id || err.Place.Pointer != "/entry_point" || file != ""):
			t.Errorf("%q: %q %v, want %s", entry, file, err, id)
		}
	}
}

// Whatever the entry point is, what comes out of it is a path that CheckPath
// allows, or nothing.
func TestResolveEntryStaysInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entry := rapid.OneOf(rapid.StringMatching(`[./a\\:]{0,8}(\.py)?(:[A-Za-z]*)?`), rapid.String()).Draw(t, "entry")
		file, _, err := ResolveEntry(entry)
		if err == nil && (CheckPath(file) != nil || !strings.HasSuffix(file, ".py")) {
			t.Fatalf("%q resolves to %q", entry, file)
		}
		if err != nil && file != "" {
			t.Fatalf("%q: both a file and a fault", entry)
		}
	})
}

func TestKazmaHugeManifest(t *testing.T) {
	start := time.Now()
	in := Read("demo", kazmaFolder(kazmaMinimal+"permissions: ["+strings.Repeat("x,", 9000)+"]\n"), Options{})
	if took := time.Since(start); took > timetest.Limit(time.Second) {
		t.Errorf("took %v", took)
	}
	if len(in.Warnings) > maxFaults {
		t.Errorf("%d warnings", len(in.Warnings))
	}
	in = Read("demo", kazmaFolder(kazmaMinimal+"# "+strings.Repeat("x", MaxManifest)), Options{})
	if got := said(in.Faults); got != "yaml.too-large@skill_manifest.yaml" {
		t.Error(got)
	}
}

// FuzzKazma: any manifest gets an answer, a pack or faults with places, and the
// entry of a pack is one of its files.
func FuzzKazma(f *testing.F) {
	for _, seed := range []string{
		kazmaMinimal, kazmaMinimal + "entry_point: pkg.main:Cls\nchecksum: " + someHex + "\n", "", "name: [a]\n", "a: &a *a\n",
		kazmaMinimal + "mcp_servers: [{name: a, type: sse}]\npermissions: {required: [x]}\ntags: [a]\ncertified: yes\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, manifest []byte) {
		files := kazmaFolder(string(manifest), "pkg/main.py", "x.pyc.txt")
		in := Read("demo", files, Options{})
		if (in.Pack == nil) != (len(in.Faults) > 0) {
			t.Fatalf("pack %v with faults %v", in.Pack, in.Faults)
		}
		if said(in.Faults, in.Warnings) != said(Read("demo", files, Options{}).Faults, in.Warnings) {
			t.Fatal("two answers to one text")
		}
		for _, e := range append(in.Faults, in.Warnings...) {
			if e.ID == "" || e.Text == "" || e.Place.File == "" {
				t.Fatalf("%+v", e)
			}
		}
		if in.Pack == nil {
			return
		}
		m := in.Pack.Kazma
		if _, ok := in.Pack.File(m.EntryFile); !ok && m.EntryFile != "" {
			t.Fatalf("entry file %q", m.EntryFile)
		}
		if m.Name == "" || m.Version == "" || m.License == "" || m.Signature != "" && m.Checksum == "" {
			t.Fatalf("%+v", m)
		}
	})
}
