package pack_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/pack"
)

// stricter lists the vectors on which we refuse what the reference takes, with
// the id of the refusal. Each has a test of its own below.
var stricter = map[string]string{
	"top array 2":            "json.not-object",
	"top array full":         "json.not-object",
	"dup warrant? dup float": "json.duplicate-key",
	"dup tools map":          "json.duplicate-key",
	"tool .":                 "tool.grammar",
	"tool ..":                "tool.grammar",
	"tool ./.":               "tool.grammar",
}

// idsOf gives the ids that a reason of the vectors file may have here.
var idsOf = map[string][]string{
	"syntax":              {"json.syntax", "json.bom", "json.invalid-utf8", "json.invalid-surrogate", "json.control", "json.depth", "json.type"},
	"array_length":        {"json.not-object"},
	"wrong_type":          {"json.type", "json.null", "json.not-object"},
	"missing_field":       {"json.missing-field", "schema.unsupported"},
	"unknown_field":       {"json.unknown-field"},
	"non_integer_number":  {"json.float"},
	"authority_key":       {"authority.key"},
	"schema_tag":          {"schema.unsupported"},
	"name_length":         {"name.length"},
	"name_charset":        {"name.charset"},
	"version_format":      {"version.not-integer", "version.range"},
	"tool_id_grammar":     {"tool.grammar"},
	"tool_version_format": {"tool.version"},
	"empty_tag":           {"tags.empty"},
	"ref_in_pack_form":    {"pack.instructions-ref"},
	"ref_format":          {"ref.format", "ref.missing"},
	"manifest_too_large":  {"manifest.too-large"},
}

type manifestVector struct {
	Case, Form, Outcome, Reason, Input, Canonical string
	InputB64                                      []byte `json:"input_b64"`
	InputNote                                     string `json:"input_note"`
}

type identityVector struct {
	Name, Source, Manifest, Body string
	InstructionsRef              string `json:"instructions_ref"`
	SkillRef                     string `json:"skill_ref"`
	Note                         string
}

func readVectors(t *testing.T) (manifests []manifestVector, identities []identityVector) {
	t.Helper()
	data, err := os.ReadFile("../testdata/vectors/kortecx-manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Manifest []manifestVector
		Identity []identityVector
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return file.Manifest, file.Identity
}

// padded is a valid manifest of exactly size bytes.
func padded(size int) string {
	const head, tail = `{"schema":"kortecx.skill/v1","name":"x","description":"`, `"}`
	return head + strings.Repeat("d", size-len(head)-len(tail)) + tail
}

func TestManifestVectors(t *testing.T) {
	manifests, _ := readVectors(t)
	if len(manifests) < 80 {
		t.Fatalf("only %d vectors", len(manifests))
	}
	kinds := map[string]pack.Kind{"invalid": pack.KindInvalid, "json": pack.KindJSON, "schema": pack.KindSchema}
	exceptions := 0
	for _, v := range manifests {
		t.Run(v.Case, func(t *testing.T) {
			input := []byte(v.Input)
			switch {
			case v.InputB64 != nil:
				input = v.InputB64
			case v.InputNote == "generated: 65536 bytes":
				input = []byte(padded(65_536))
			case v.InputNote == "generated: 65537 bytes":
				input = []byte(strings.Repeat("x", 65_537))
			case v.InputNote != "":
				t.Fatalf("unknown note %q", v.InputNote)
			}
			form := pack.PackForm
			if v.Form == "stored" {
				form = pack.StoredForm
			}
			m, faults, _ := pack.ParseManifest(input, form)
			if id, ok := stricter[v.Case]; ok {
				exceptions++
				if len(faults) == 0 || faults[0].ID != id {
					t.Errorf("want the refusal %s, got %v", id, faults)
				}
				return
			}
			if v.Outcome == "ok" {
				if len(faults) > 0 {
					t.Fatalf("refused: %v", faults)
				}
				if v.Canonical != "" && string(m.Canonical()) != v.Canonical {
					t.Errorf("canonical\n got %s\nwant %s", m.Canonical(), v.Canonical)
				}
				return
			}
			if len(faults) == 0 {
				t.Fatal("accepted")
			}
			if m != nil {
				t.Error("there is a manifest beside the faults")
			}
			if faults[0].Kind != kinds[v.Outcome] {
				t.Errorf("kind %s (%v), want %s", faults[0].Kind, faults[0], v.Outcome)
			}
			ids, ok := idsOf[v.Reason]
			if !ok {
				t.Fatalf("unknown reason %q", v.Reason)
			}
			for _, id := range ids {
				if id == faults[0].ID {
					return
				}
			}
			t.Errorf("id %s, want one of %v", faults[0].ID, ids)
		})
	}
	if exceptions != len(stricter) {
		t.Errorf("%d of %d exceptions have a vector", exceptions, len(stricter))
	}
}

func TestIdentityVectors(t *testing.T) {
	_, identities := readVectors(t)
	checked := 0
	for _, v := range identities {
		var m *pack.KortecxManifest
		ref := v.InstructionsRef
		switch {
		case v.Manifest != "":
			parsed, faults, _ := pack.ParseManifest([]byte(v.Manifest), pack.PackForm)
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			m = parsed
			if got := pack.InstructionsRef([]byte(v.Body)); got != v.InstructionsRef {
				t.Errorf("%s: instructions_ref %s, want %s", v.Name, got, v.InstructionsRef)
			}
		case v.Name == "by-ref":
			ref = strings.Repeat("a", 64)
			stored := `{"instructions_ref":"` + ref + `","name":"by-ref","schema":"kortecx.skill/v1"}`
			parsed, faults, _ := pack.ParseManifest([]byte(stored), pack.StoredForm)
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			m = parsed
		default: // the packs that the reference ships are not in this repository
			continue
		}
		checked++
		if got := m.SkillRef(ref); got != v.SkillRef {
			t.Errorf("%s: skill_ref %s, want %s", v.Name, got, v.SkillRef)
		}
	}
	if checked != 3 {
		t.Errorf("%d identities checked, want 3", checked)
	}
}

func TestStricterTopLevelArray(t *testing.T) {
	_, faults, _ := pack.ParseManifest([]byte(`["kortecx.skill/v1","x","1","d",["t"],"",{"retrieve":"1"}]`), pack.PackForm)
	wantIDs(t, faults, "json.not-object")
	if faults[0].Kind != pack.KindJSON {
		t.Errorf("kind %s", faults[0].Kind)
	}
}

func TestStricterDuplicates(t *testing.T) {
	for _, in := range []string{
		`{"schema":"kortecx.skill/v1","name":"y","version":"1","version":"2"}`,
		`{"schema":"kortecx.skill/v1","name":"y","tools":{"a":"1"},"tools":{"b":"2"}}`,
		`{"schema":"kortecx.skill/v1","name":"y","tools":{"a":"1","a":"1"}}`,
	} {
		_, faults, _ := pack.ParseManifest([]byte(in), pack.PackForm)
		wantIDs(t, faults, "json.duplicate-key")
		if len(faults) > 0 && faults[0].Kind != pack.KindJSON {
			t.Errorf("kind %s", faults[0].Kind)
		}
	}
}

func TestStricterDots(t *testing.T) {
	for _, name := range []string{".", ".."} {
		_, faults, _ := pack.ParseManifest([]byte(`{"schema":"kortecx.skill/v1","name":"`+name+`"}`), pack.PackForm)
		wantIDs(t, faults, "name.reserved")
		if faults[0].Kind != pack.KindInvalid {
			t.Errorf("kind %s", faults[0].Kind)
		}
	}
	for _, id := range []string{".", "..", "./.", "../x", "x/..", "a/."} {
		_, faults, _ := pack.ParseManifest([]byte(`{"schema":"kortecx.skill/v1","name":"x","tools":{"`+id+`":"1"}}`), pack.PackForm)
		wantIDs(t, faults, "tool.grammar")
	}
}

func wantIDs(t *testing.T, got []*pack.Error, want ...string) {
	t.Helper()
	ids := []string{}
	for _, e := range got {
		ids = append(ids, e.ID)
	}
	if want == nil {
		want = []string{}
	}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
		for _, e := range got {
			t.Logf("%s %s: %v", e.Kind, e.ID, e)
		}
	}
}
