package conformance

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/kortecx/kx/internal/yamledit"
	"github.com/kortecx/kx/pack"
)

// compile reads a published schema with a compiler that may load nothing else.
func compile(t testing.TB, name string) *jsonschema.Schema {
	t.Helper()
	data, ok := Schema(name)
	if !ok {
		t.Fatalf("no schema %q", name)
	}
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, errors.New("a schema wants to load " + url)
	}
	if err := c.AddResource(name, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEverySchemaCompiles(t *testing.T) {
	want := []string{"check-report", "kazma", "kortecx", "kortecx-stored", "skill-md"}
	if got := strings.Join(SchemaNames(), " "); got != strings.Join(want, " ") {
		t.Errorf("schemas are %s", got)
	}
	for _, name := range SchemaNames() {
		compile(t, name)
	}
	for _, name := range []string{"", "nothing", "../schema.go", "kortecx.json"} {
		if _, ok := Schema(name); ok {
			t.Errorf("a schema %q was found", name)
		}
	}
}

type vector struct {
	Case, Form, Input, Outcome string
	Base64                     string `json:"input_b64"`
	Note                       string `json:"input_note"`
}

func vectors(t testing.TB) []vector {
	t.Helper()
	data, err := os.ReadFile("../testdata/vectors/kortecx-manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Manifest []vector }
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Manifest) < 80 {
		t.Fatalf("only %d vectors", len(doc.Manifest))
	}
	return doc.Manifest
}

func (v vector) bytes(t testing.TB) []byte {
	t.Helper()
	switch {
	case v.Base64 != "":
		data, err := base64.StdEncoding.DecodeString(v.Base64)
		if err != nil {
			t.Fatal(err)
		}
		return data
	case v.Case == "exact 65536":
		return padded(65536)
	case strings.HasPrefix(v.Note, "generated"):
		return bytes.Repeat([]byte{'x'}, 65537)
	}
	return []byte(v.Input)
}

// padded is a valid manifest of exactly n bytes.
func padded(n int) []byte {
	const head, tail = `{"description":"`, `","name":"x","schema":"kortecx.skill/v1","version":"1"}`
	return []byte(head + strings.Repeat("d", n-len(head)-len(tail)) + tail)
}

// What a schema cannot say: cases in which the reader refuses what the schema
// accepts, and why.
var schemaCannotSay = map[string]string{
	"dup warrant? dup float": "duplicate keys are gone before a schema is asked",
	"dup tools map":          "duplicate keys are gone before a schema is asked",
	"duplicate name":         "duplicate keys are gone before a schema is asked",
	"invalid utf8":           "decoders repair it before a schema is asked",
	"lone surrogate":         "decoders repair it before a schema is asked",
	"over the cap":           "a schema does not see how many bytes the document has",
}

func TestSchemaAndReaderAgree(t *testing.T) {
	forms := map[string]struct {
		form   pack.Form
		schema *jsonschema.Schema
	}{
		"pack":   {pack.PackForm, compile(t, "kortecx")},
		"stored": {pack.StoredForm, compile(t, "kortecx-stored")},
	}
	own := []vector{
		{Case: "duplicate name", Form: "pack", Input: `{"schema":"kortecx.skill/v1","name":"x","name":"y"}`},
		{Case: "over the cap", Form: "pack", Input: string(padded(65537))},
		{Case: "largest version", Form: "pack", Input: `{"schema":"kortecx.skill/v1","name":"x","version":"18446744073709551615"}`},
		{Case: "version one too large", Form: "pack", Input: `{"schema":"kortecx.skill/v1","name":"x","version":"18446744073709551616"}`},
		{Case: "version of 20 digits", Form: "pack", Input: `{"schema":"kortecx.skill/v1","name":"x","version":"18446744073709551599"}`},
		{Case: "version with many zeros", Form: "pack", Input: `{"schema":"kortecx.skill/v1","name":"x","version":"+00000000000000000000000000018446744073709551615"}`},
		{Case: "version 99999999999999999999", Form: "pack", Input: `{"schema":"kortecx.skill/v1","name":"x","version":"99999999999999999999"}`},
		{Case: "version +", Form: "pack", Input: `{"schema":"kortecx.skill/v1","name":"x","version":"+"}`},
		{Case: "version 007", Form: "pack", Input: `{"schema":"kortecx.skill/v1","name":"x","version":"007"}`},
		{Case: "version with a line end", Form: "pack", Input: `{"schema":"kortecx.skill/v1","name":"x","version":"1\n"}`},
		{Case: "name .", Form: "pack", Input: `{"schema":"kortecx.skill/v1","name":"."}`},
		{Case: "name ..", Form: "pack", Input: `{"schema":"kortecx.skill/v1","name":".."}`},
		{Case: "name ...", Form: "pack", Input: `{"schema":"kortecx.skill/v1","name":"..."}`},
		{Case: "name .hid", Form: "pack", Input: `{"schema":"kortecx.skill/v1","name":".hid"}`},
		{Case: "name ..a", Form: "pack", Input: `{"schema":"kortecx.skill/v1","name":"..a"}`},
		{Case: "name with a line end", Form: "pack", Input: `{"schema":"kortecx.skill/v1","name":"x\n"}`},
		{Case: "tool a/..", Form: "pack", Input: `{"schema":"kortecx.skill/v1","name":"x","tools":{"a/..":"1"}}`},
		{Case: "tool ../a", Form: "pack", Input: `{"schema":"kortecx.skill/v1","name":"x","tools":{"../a":"1"}}`},
		{Case: "tool .a/b..", Form: "pack", Input: `{"schema":"kortecx.skill/v1","name":"x","tools":{".a/b..":"1"}}`},
		{Case: "tool of 128 bytes", Form: "pack", Input: `{"schema":"kortecx.skill/v1","name":"x","tools":{"` + strings.Repeat("a", 128) + `":"1"}}`},
		{Case: "a number in tools", Form: "pack", Input: `{"schema":"kortecx.skill/v1","name":"x","tools":{"a":1}}`},
		{Case: "good stored", Form: "stored", Input: `{"schema":"kortecx.skill/v1","name":"x","instructions_ref":"` + strings.Repeat("0a", 32) + `"}`},
		{Case: "stored without", Form: "stored", Input: `{"schema":"kortecx.skill/v1","name":"x"}`},
		{Case: "stored upper case", Form: "stored", Input: `{"schema":"kortecx.skill/v1","name":"x","instructions_ref":"` + strings.Repeat("0A", 32) + `"}`},
	}
	compared := 0
	for _, v := range append(vectors(t), own...) {
		data := v.bytes(t)
		var doc any
		if json.Unmarshal(data, &doc) != nil {
			continue // not JSON at all: there is nothing to ask a schema
		}
		f := forms[v.Form]
		_, faults, _ := pack.ParseManifest(data, f.form)
		schemaErr := f.schema.Validate(doc)
		compared++
		_, excepted := schemaCannotSay[v.Case]
		switch {
		case len(faults) == 0 && schemaErr != nil:
			t.Errorf("%s: the reader accepts what the schema refuses: %v", v.Case, schemaErr)
		case len(faults) > 0 && schemaErr == nil && !excepted:
			t.Errorf("%s: the schema accepts what the reader refuses: %v", v.Case, faults)
		case excepted && (len(faults) == 0 || schemaErr != nil):
			t.Errorf("%s: is no exception any more", v.Case)
		}
	}
	if compared < 80 {
		t.Errorf("only %d cases were compared", compared)
	}
}

// image is a mapping of YAML as JSON, with scalars typed as editors type them.
func image(m *yamledit.Mapping) map[string]any {
	var value func(v *yamledit.Value) any
	mapping := func(m *yamledit.Mapping) map[string]any {
		out := map[string]any{}
		for i := range m.Entries {
			out[m.Entries[i].Key] = value(&m.Entries[i].Value)
		}
		return out
	}
	value = func(v *yamledit.Value) any {
		switch v.Kind {
		case yamledit.Null:
			return nil
		case yamledit.Map:
			return mapping(v.Map)
		case yamledit.Sequence:
			out := []any{}
			for i := range v.Items {
				out = append(out, value(&v.Items[i]))
			}
			return out
		}
		switch v.ReadsAs() {
		case "number":
			return json.Number("1")
		case "true or false":
			return true
		}
		return v.Text
	}
	return mapping(m)
}

// What the schemas of the YAML formats refuse on purpose, because an editor should
// say so at once, and the readers only remark on.
var schemaIsStricter = map[string]string{
	"capability 2024":  "an unquoted number in a list of texts",
	"checksum 1e2":     "an unquoted checksum that YAML takes for a number",
	"description 5":    "an unquoted number where agents expect text",
	"metadata 1.0":     "a number in metadata makes some agents refuse the whole listing",
	"permission yes":   "an unquoted word that YAML takes for true",
	"license true":     "an unquoted word that YAML takes for true",
	"padded to length": "white space around the description counts for a schema",
}

func TestYAMLSchemasAndReadersAgree(t *testing.T) {
	hex := strings.Repeat("0a", 32)
	kazmaWith := func(extra string) string { return goodKazma + extra }
	kazmaSwap := func(old, new string) string { return strings.Replace(goodKazma, old, new, 1) }
	skillWith := func(extra string) string {
		return "name: good\ndescription: Sorts mail and drafts answers.\n" + extra
	}
	for _, tc := range []struct {
		format pack.Format
		name   string
		yaml   string
	}{
		{pack.Kazma, "good", goodKazma},
		{pack.Kazma, "no license", kazmaSwap("license: MIT\n", "")},
		{pack.Kazma, "no author", kazmaSwap("author: ann\n", "")},
		{pack.Kazma, "empty name", kazmaSwap("name: demo", "name: ''")},
		{pack.Kazma, "null version", kazmaSwap("1.0.0", "")},
		{pack.Kazma, "blank license", kazmaSwap("MIT", "' '")},
		{pack.Kazma, "name grammar", kazmaSwap("demo", "Demo")},
		{pack.Kazma, "name with a line end", kazmaSwap("demo", `"demo\n"`)},
		{pack.Kazma, "version 1.0", kazmaSwap("1.0.0", `"1.0"`)},
		{pack.Kazma, "version v1.0.0", kazmaSwap("1.0.0", "v1.0.0")},
		{pack.Kazma, "Arabic digits", kazmaSwap("1.0.0", "١.٠.٠")},
		{pack.Kazma, "author number", kazmaSwap("ann", "5")},
		{pack.Kazma, "description list", kazmaSwap("Reads pages and sums them up.", "[a]")},
		{pack.Kazma, "lists", kazmaWith("capabilities: [a, b]\ntags: []\npermissions: [file_read, unknown]\n")},
		{pack.Kazma, "capability 2024", kazmaWith("capabilities: [2024]\n")},
		{pack.Kazma, "permission yes", kazmaWith("permissions: [yes]\n")},
		{pack.Kazma, "empty tag", kazmaWith("tags: ['']\n")},
		{pack.Kazma, "tags text", kazmaWith("tags: a\n")},
		{pack.Kazma, "null lists", kazmaWith("tags:\ncapabilities: ~\nmcp_servers:\n")},
		{pack.Kazma, "permission map", kazmaWith("permissions: {required: [file_read], optional: []}\n")},
		{pack.Kazma, "permission text", kazmaWith("permissions: file_read\n")},
		{pack.Kazma, "servers", kazmaWith("mcp_servers: [{name: a, type: stdio}, {name: b, type: streamable-http, url: x}]\n")},
		{pack.Kazma, "server type", kazmaWith("mcp_servers: [{name: a, type: ws}]\n")},
		{pack.Kazma, "server without name", kazmaWith("mcp_servers: [{type: sse}]\n")},
		{pack.Kazma, "server text", kazmaWith("mcp_servers: [a]\n")},
		{pack.Kazma, "servers map", kazmaWith("mcp_servers: {a: b}\n")},
		{pack.Kazma, "core version", kazmaWith("min_core_version: 1.2.3\n")},
		{pack.Kazma, "core version short", kazmaWith("min_core_version: '1.2'\n")},
		{pack.Kazma, "signed", kazmaWith("checksum: " + hex + "\nsignature: " + hex + "\n")},
		{pack.Kazma, "empty signature", kazmaWith("signature: ''\n")},
		{pack.Kazma, "signature alone", kazmaWith("signature: " + hex + "\n")},
		{pack.Kazma, "signature and empty checksum", kazmaWith("checksum:\nsignature: " + hex + "\n")},
		{pack.Kazma, "upper case", kazmaWith("checksum: " + strings.ToUpper(hex) + "\n")},
		{pack.Kazma, "checksum 1e2", kazmaWith("checksum: " + strings.Repeat("1", 61) + "e00\n")},
		{pack.Kazma, "own keys", kazmaWith("homepage: x\nconfig_schema: {a: 1}\n")},

		{pack.SkillMD, "good", skillWith("")},
		{pack.SkillMD, "no name", "description: Sorts mail and drafts answers.\n"},
		{pack.SkillMD, "no description", "name: good\n"},
		{pack.SkillMD, "blank description", "name: good\ndescription: ' '\n"},
		{pack.SkillMD, "name upper", "name: Good\ndescription: Sorts mail.\n"},
		{pack.SkillMD, "name double", "name: a--b\ndescription: Sorts mail.\n"},
		{pack.SkillMD, "name end", "name: a-\ndescription: Sorts mail.\n"},
		{pack.SkillMD, "name long", "name: " + strings.Repeat("a", 65) + "\ndescription: Sorts mail.\n"},
		{pack.SkillMD, "name umlaut", "name: grün\ndescription: Sorts mail.\n"},
		{pack.SkillMD, "name dot", "name: a.b\ndescription: Sorts mail.\n"},
		{pack.SkillMD, "description 1024", "name: good\ndescription: " + strings.Repeat("ä", 1024) + "\n"},
		{pack.SkillMD, "description 1025", "name: good\ndescription: " + strings.Repeat("ä", 1025) + "\n"},
		{pack.SkillMD, "padded to length", "name: good\ndescription: \"" + strings.Repeat("ä", 1024) + " \"\n"},
		{pack.SkillMD, "description 5", "name: good\ndescription: 5\n"},
		{pack.SkillMD, "license true", skillWith("license: true\n")},
		{pack.SkillMD, "license null", skillWith("license:\n")},
		{pack.SkillMD, "license list", skillWith("license: [MIT]\n")},
		{pack.SkillMD, "compatibility", skillWith("compatibility: " + strings.Repeat("a", 500) + "\n")},
		{pack.SkillMD, "compatibility long", skillWith("compatibility: " + strings.Repeat("a", 501) + "\n")},
		{pack.SkillMD, "metadata", skillWith("metadata: {a: b, c: '1'}\n")},
		{pack.SkillMD, "metadata 1.0", skillWith("metadata: {a: 1.0}\n")},
		{pack.SkillMD, "metadata nested", skillWith("metadata: {a: {b: c}}\n")},
		{pack.SkillMD, "metadata text", skillWith("metadata: a\n")},
		{pack.SkillMD, "tools", skillWith("allowed-tools: Bash(git:*) Read\n")},
		{pack.SkillMD, "tools list", skillWith("allowed-tools: [Read, Write]\n")},
		{pack.SkillMD, "tools map", skillWith("allowed-tools: {a: b}\n")},
		{pack.SkillMD, "own keys", skillWith("model: x\nunknown: [1]\n")},
	} {
		m, faults, _ := yamledit.Parse([]byte(tc.yaml))
		if len(faults) > 0 {
			t.Fatalf("%s: %v", tc.name, faults[0])
		}
		var list []pack.File
		folder := "demo"
		if tc.format == pack.Kazma {
			list = []pack.File{{Path: "main.py", Data: []byte(cleanPython)}, {Path: "skill_manifest.yaml", Data: []byte(tc.yaml)}}
		} else {
			if name := m.Get("name"); name != nil {
				folder = name.Text
			}
			list = []pack.File{{Path: "SKILL.md", Data: []byte("---\n" + tc.yaml + "---\n# Text\n")}}
		}
		in := pack.Read(folder, list, pack.Options{Format: tc.format})
		refused := len(in.Faults)+len(in.Layout) > 0
		schemaErr := compile(t, string(tc.format)).Validate(image(m))
		_, stricter := schemaIsStricter[tc.name]
		if refused != (schemaErr != nil) && !(stricter && !refused) || stricter && schemaErr == nil {
			t.Errorf("%s %s: the reader says %v %v, the schema says %v", tc.format, tc.name, in.Faults, in.Layout, schemaErr)
		}
	}
}
