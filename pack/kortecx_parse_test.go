package pack_test

import (
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kortecx/kx/internal/timetest"
	"github.com/kortecx/kx/pack"
)

// with is a valid manifest with more members.
func with(members string) string {
	return `{"schema":"kortecx.skill/v1","name":"good",` + members + `}`
}

// The rows of hostile-inputs.md A, by their numbers.
func TestHostileManifests(t *testing.T) {
	const (
		jsonKind = pack.KindJSON
		invalid  = pack.KindInvalid
	)
	name64, tool128 := strings.Repeat("x", 64), strings.Repeat("t", 64)+"/"+strings.Repeat("t", 63)
	for _, c := range []struct {
		row, in string
		kind    pack.Kind
		ids     []string // all of them; none means that it is accepted
		pointer string   // of the first
		has     []string // what the first text must have
	}{
		{"A1", `{"schema":"kortecx.skill/v1","name":"good","name":"evil","version":"1"}`, jsonKind, []string{"json.duplicate-key"}, "", []string{"1:30", "1:44"}},
		{"A2", with(`"tools":{"gmail/read":"1","gmail/read":"2"}`), jsonKind, []string{"json.duplicate-key"}, "/tools", nil},
		{"A3", with(`"tools":{"a":"1","\u0061":"2"}`), jsonKind, []string{"json.duplicate-key"}, "/tools", nil},
		{"A4", `{"schema":"kortecx.skill/v1","name":"good","NAME":"evil"}`, jsonKind, []string{"json.unknown-field"}, "/NAME", []string{`"NAME"`, "schema, name, version, description, tags, instructions_ref, tools"}},
		{"A5", `{"ſchema":"kortecx.skill/v1","name":"good"}`, jsonKind, []string{"json.unknown-field", "schema.unsupported"}, "/ſchema", nil},
		{"A7", `{"schema":"kortecx.skill/v1","name":"a\ud800b"}`, jsonKind, []string{"json.invalid-surrogate"}, "/name", nil},
		{"A12", `null`, jsonKind, []string{"json.not-object"}, "", []string{"null"}},
		{"A14", `{"schema":"kortecx.skill/v1","name":null}`, jsonKind, []string{"json.null"}, "/name", []string{"string"}},
		{"A15", with(`"version":1`), jsonKind, []string{"json.type"}, "/version", []string{"expected a string"}},
		{"A16", with(`"version":"1.0"`), invalid, []string{"version.not-integer"}, "/version", []string{"skill.version"}},
		{"A16", with(`"version":"v1"`), invalid, []string{"version.not-integer"}, "/version", nil},
		{"A16", with(`"version":""`), invalid, []string{"version.not-integer"}, "/version", nil},
		{"A16", with(`"version":" 1"`), invalid, []string{"version.not-integer"}, "/version", nil},
		{"A16", with(`"version":"-1"`), invalid, []string{"version.not-integer"}, "/version", nil},
		{"A18", with(`"version":"18446744073709551616"`), invalid, []string{"version.range"}, "/version", nil},
		{"A19", with(`"tools":{"retrieve":1.5}`), invalid, []string{"json.float", "json.type"}, "/tools/retrieve", []string{"floats are not allowed"}},
		{"A19", with(`"zz":[{"y":[-0]}]`), invalid, []string{"json.float", "json.unknown-field"}, "/zz/0/y/0", nil},
		{"A19", with(`"zz":18446744073709551616`), invalid, []string{"json.float", "json.unknown-field"}, "/zz", nil},
		{"A20", with(`"x":1e999999`), jsonKind, []string{"json.unknown-field"}, "/x", []string{`"x"`}},
		{"A20", with(`"x":{"y":[1e999999,-1e999999]},"z":2`), jsonKind, []string{"json.unknown-field", "json.unknown-field"}, "/x", nil},
		{"A21", with(`"version":1e1000001`), jsonKind, []string{"json.type"}, "/version", nil},
		{"A21", with(`"tools":{"a":1e1000001,"b":2.5}`), jsonKind, []string{"json.type", "json.float", "json.type"}, "/tools/a", nil},
		{"A21", `[1e1000001]`, jsonKind, []string{"json.not-object"}, "", nil},
		{"A23", with(`"x":` + strings.Repeat("[", 10_001)), jsonKind, []string{"json.depth"}, "/x" + strings.Repeat("/0", 31), []string{"32"}},
		{"A24", padded(65_537), invalid, []string{"manifest.too-large"}, "", []string{"65537", "65536"}},
		{"A24", padded(65_536), "", nil, "", nil},
		{"A25", "{\"schema\":\"kortecx.skill/v1\",\"name\":\"a\tb\"}", jsonKind, []string{"json.control"}, "/name", nil},
		{"A25", "{\"schema\":\"kortecx.skill/v1\",\"name\":\"a\x01b\"}", jsonKind, []string{"json.control"}, "/name", nil},
		{"A26", `{"schema":"kortecx.skill/v1","name":"a\u0000b"}`, invalid, []string{"name.charset"}, "/name", []string{"skill.name", "U+0000"}},
		{"A27", `{"schema":"kortecx.skill/v2","name":"good"}`, pack.KindSchema, []string{"schema.unsupported"}, "/schema", []string{`"kortecx.skill/v2"`, `"kortecx.skill/v1"`}},
		{"A27", `{"schema":"Kortecx.Skill/v1","name":"good"}`, pack.KindSchema, []string{"schema.unsupported"}, "/schema", nil},
		{"A27", `{"name":"good"}`, jsonKind, []string{"schema.unsupported"}, "/schema", []string{"got nothing", `"kortecx.skill/v1"`}},
		{"A28", with(`"instructions_ref":"` + strings.Repeat("a", 64) + `"`), invalid, []string{"pack.instructions-ref"}, "/instructions_ref", nil},
		{"A29", with(`"toolGrants":[]`), invalid, []string{"authority.key", "json.unknown-field"}, "/toolGrants", []string{`"toolGrants"`, `"grant"`, "forbidden"}},
		{"A29", with(`"x":{"client_secret":1}`), invalid, []string{"authority.key", "json.unknown-field"}, "/x/client_secret", []string{`"secret"`}},
		{"A29", with(`"x":[[{"awsCredentials":1}]]`), invalid, []string{"authority.key", "json.unknown-field"}, "/x/0/0/awsCredentials", []string{`"credential"`}},
		{"A29", with(`"x":{"tools":{"grant":1}}`), invalid, []string{"authority.key", "json.unknown-field"}, "/x/tools/grant", nil},
		{"A29", `[{"tools":{"GRANT":1}}]`, invalid, []string{"authority.key", "json.not-object"}, "/0/tools/GRANT", nil},
		{"A30", with(`"gra\u006et":1`), invalid, []string{"authority.key", "json.unknown-field"}, "/grant", nil},
		{"A31", with(`"tools":{"gmail/search/x":"1"}`), invalid, []string{"tool.grammar"}, "/tools/gmail~1search~1x", []string{"skill.tools key"}},
		{"A31", with(`"tools":{"/x":"1"}`), invalid, []string{"tool.grammar"}, "/tools/~1x", nil},
		{"A31", with(`"tools":{"x/":"1"}`), invalid, []string{"tool.grammar"}, "/tools/x~1", nil},
		{"A31", with(`"tools":{"Gmail/read":"1"}`), invalid, []string{"tool.grammar"}, "/tools/Gmail~1read", nil},
		{"A31", with(`"tools":{"` + tool128 + `t":"1"}`), invalid, []string{"tool.grammar"}, "/tools/" + strings.Replace(tool128, "/", "~1", 1) + "t", []string{"129"}},
		{"A31", with(`"tools":{"` + tool128 + `":"1"}`), "", nil, "", nil},
		{"A33", with(`"tags":["a",""]`), invalid, []string{"tags.empty"}, "/tags/1", []string{"skill.tags"}},
		{"A36", `{"schema":"kortecx.skill/v1","name":"good","__proto__":{"grant":1}}`, invalid, []string{"authority.key", "json.unknown-field"}, "/__proto__/grant", nil},
		{"A36", with(`"__proto__":{"a":1}`), jsonKind, []string{"json.unknown-field"}, "/__proto__", nil},
		{"A37", "{\"schema\":\"kortecx.skill/v1\", // tag\n\"name\":\"good\"}", jsonKind, []string{"json.syntax"}, "", []string{"comments"}},
		{"A37", `{"schema":"kortecx.skill/v1","name":"good",}`, jsonKind, []string{"json.syntax"}, "", []string{"comma"}},
		{"A38", `{"schema":"kortecx.skill/v1","name":"` + name64 + `"}`, "", nil, "", nil},
		{"A38", `{"schema":"kortecx.skill/v1","name":"` + name64 + `x"}`, invalid, []string{"name.length"}, "/name", []string{"skill.name", "65"}},
	} {
		t.Run(c.row, func(t *testing.T) {
			start := time.Now()
			m, faults, _ := pack.ParseManifest([]byte(c.in), pack.PackForm)
			if took := time.Since(start); took > timetest.Limit(time.Second) {
				t.Errorf("took %v", took)
			}
			wantIDs(t, faults, c.ids...)
			if (m == nil) != (len(faults) > 0) {
				t.Errorf("manifest %v beside %d faults", m, len(faults))
			}
			if len(faults) == 0 || len(c.ids) == 0 {
				return
			}
			first := faults[0]
			if first.Kind != c.kind || first.Place.Pointer != c.pointer {
				t.Errorf("kind %s at %q, want %s at %q", first.Kind, first.Place.Pointer, c.kind, c.pointer)
			}
			for _, want := range c.has {
				if !strings.Contains(first.Text, want) {
					t.Errorf("the text %q lacks %q", first.Text, want)
				}
			}
			for _, f := range faults {
				if f.ID != "manifest.too-large" && (f.Place.File != "skill.json" || f.Place.Line < 1 || f.Place.Column < 1) {
					t.Errorf("%s has no place: %+v", f.ID, f.Place)
				}
				if f.Text == "" || strings.HasSuffix(f.Text, ".") {
					t.Errorf("%s has the text %q", f.ID, f.Text)
				}
			}
		})
	}
}

// A22: numbers are never computed with, however many and however huge.
func TestHostileNumbersAreCheap(t *testing.T) {
	t.Run("A22", func(t *testing.T) {
		array := "[" + strings.TrimSuffix(strings.Repeat("1e999999,", 7_000), ",") + "]"
		for _, in := range []string{array, with(`"x":` + array), with(`"tags":` + array)} {
			faults := within(t, 200*time.Millisecond, in)
			if len(faults) == 0 || len(faults) > 100 || faults[0].Kind != pack.KindJSON {
				t.Errorf("%d faults, first %v", len(faults), faults)
			}
		}
	})
	t.Run("A20", func(t *testing.T) {
		long := strings.Repeat("9", 60_000)
		for _, n := range []string{"1e999999", "1e-999999", long, "0." + long, "1e" + long} {
			faults := within(t, 50*time.Millisecond, with(`"x":`+n))
			if len(faults) == 0 {
				t.Errorf("%.20s was accepted", n)
			}
		}
	})
}

// within parses in and wants one of a few tries to be quick: the machine may be
// busy with something else.
func within(t *testing.T, limit time.Duration, in string) (faults pack.Errors) {
	t.Helper()
	var took time.Duration
	for range 5 {
		start := time.Now()
		_, faults, _ = pack.ParseManifest([]byte(in), pack.PackForm)
		if took = time.Since(start); took <= timetest.Limit(limit) {
			return faults
		}
	}
	t.Errorf("%.60q took %v", in, took)
	return faults
}

// Faults come in the order in which the reference checks, and all of them.
func TestOrderOfFaults(t *testing.T) {
	for _, c := range []struct {
		in  string
		ids []string
	}{
		{`{"schema":"v2","name":"x","zz":1}`, []string{"json.unknown-field", "schema.unsupported"}},
		{`{"schema":"v2","name":"x","secret":"s"}`, []string{"authority.key", "json.unknown-field", "schema.unsupported"}},
		{`{"schema":"v2","name":"x","secret":1.5}`, []string{"json.float", "authority.key", "json.unknown-field", "schema.unsupported"}},
		{`{"secret":1e999,"y":1.5,"schema":"v2","name":null}`, []string{"json.unknown-field", "json.float", "authority.key", "json.unknown-field", "json.null", "schema.unsupported"}},
		{`{"tags":[""],"tools":{"b":"x","A":"1","":"2"},"version":"v","name":"A","schema":"","instructions_ref":"zz"}`, []string{
			"schema.unsupported", "name.charset", "version.not-integer", "tool.grammar", "tool.grammar", "tool.version", "tags.empty", "pack.instructions-ref",
		}},
		{`{}`, []string{"schema.unsupported", "json.missing-field"}},
		{`{"schema":"kortecx.skill/v1","name":"` + strings.Repeat("é", 33) + `"}`, []string{"name.length", "name.charset"}},
		{`{"schema":1,"name":[],"version":{},"description":true,"tags":{},"tools":[],"instructions_ref":null}`, []string{
			"json.type", "json.type", "json.type", "json.type", "json.type", "json.type", "json.null",
		}},
		{`{"schema":"kortecx.skill/v1","name":"x","tags":["a",1,null],"tools":{"a":1,"b":null}}`, []string{
			"json.type", "json.null", "json.type", "json.null",
		}},
	} {
		_, faults, _ := pack.ParseManifest([]byte(c.in), pack.PackForm)
		t.Log(c.in)
		wantIDs(t, faults, c.ids...)
	}
}

func TestStoredForm(t *testing.T) {
	ref := strings.Repeat("0f", 32)
	for in, id := range map[string]string{
		with(`"version":"1"`):                                         "ref.missing",
		with(`"instructions_ref":""`):                                 "ref.missing",
		with(`"instructions_ref":"` + ref[1:] + `"`):                  "ref.format",
		with(`"instructions_ref":"` + strings.ToUpper(ref) + `"`):     "ref.format",
		with(`"instructions_ref":"` + ref + `"`):                      "",
		with(`"instructions_ref":"` + strings.Repeat("0g", 32) + `"`): "ref.format",
	} {
		m, faults, _ := pack.ParseManifest([]byte(in), pack.StoredForm)
		if id == "" {
			if len(faults) > 0 || m.InstructionsRef != ref {
				t.Errorf("%s: %v", in, faults)
			}
			continue
		}
		wantIDs(t, faults, id)
	}
}

// What is accepted with a remark.
func TestManifestWarnings(t *testing.T) {
	for _, c := range []struct {
		row, in string
		ids     []string
	}{
		{"A17", with(`"version":"+1"`), []string{"version.non-canonical"}},
		{"A17", with(`"version":"007"`), []string{"version.non-canonical"}},
		{"A17", with(`"tools":{"a":"01"}`), []string{"version.non-canonical"}},
		{"A35", with(`"description":"\u001b]8;;http://evil\u0007click"`), []string{"terminal-escape"}},
		{"A35", with(`"tags":["\u009b1m"]`), []string{"terminal-escape"}},
		{"leading hyphen", `{"schema":"kortecx.skill/v1","name":"-x"}`, []string{"name.leading-punctuation"}},
		{"leading dot", `{"schema":"kortecx.skill/v1","name":".hid"}`, []string{"name.leading-punctuation"}},
		{"tags", with(`"tags":["a","b","a"]`), []string{"tags.duplicate"}},
		{"long", with(`"description":"` + strings.Repeat("é", 1025) + `"`), []string{"description.long"}},
		{"not long", with(`"description":"` + strings.Repeat("é", 1024) + `"`), nil},
		{"plain", with(`"version":"0","description":"a\tb\nc","tags":["a","A"]`), nil},
	} {
		t.Run(c.row, func(t *testing.T) {
			m, faults, warnings := pack.ParseManifest([]byte(c.in), pack.PackForm)
			if len(faults) > 0 || m == nil {
				t.Fatalf("refused: %v", faults)
			}
			wantIDs(t, warnings, c.ids...)
			for _, w := range warnings {
				if w.Place.Line != 1 || w.Place.Column < 2 || w.Place.Pointer == "" {
					t.Errorf("%s has no place: %+v", w.ID, w.Place)
				}
				if strings.ContainsFunc(w.Text, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
					t.Errorf("the text %q has control characters", w.Text)
				}
			}
		})
	}
}

func TestVersionTextIsKept(t *testing.T) {
	m, _, _ := pack.ParseManifest([]byte(with(`"version":"+007"`)), pack.PackForm)
	if want := `{"name":"good","schema":"kortecx.skill/v1","version":"+007"}`; m == nil || string(m.Canonical()) != want {
		t.Errorf("got %s, want %s", m.Canonical(), want)
	}
}

func TestPlaces(t *testing.T) {
	in := "{\n  \"schema\": \"kortecx.skill/v1\",\n  \"name\": \"good\",\n  \"tools\": {\n    \"Bad\": \"1\",\n    \"ok\": \"x\"\n  },\n\t\"zz\": 1\n}"
	_, faults, _ := pack.ParseManifest([]byte(in), pack.PackForm)
	got := []string{}
	for _, f := range faults {
		got = append(got, f.ID+" "+f.Place.String()+" "+f.Place.Pointer)
	}
	want := []string{
		"json.unknown-field skill.json:8:2 /zz",
		"tool.grammar skill.json:5:5 /tools/Bad",
		"tool.version skill.json:6:11 /tools/ok",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

func TestMessagesStayShortAndPlain(t *testing.T) {
	key := strings.Repeat(`\u001b[2J`, 1_000)
	_, faults, _ := pack.ParseManifest([]byte(with(`"`+key+`":1,"`+key+`":2,"tools":{"`+key+`":"`+key+`"}`)), pack.PackForm)
	if len(faults) != 5 {
		t.Fatalf("%d faults: %v", len(faults), faults)
	}
	for _, f := range faults {
		if len(f.Text) > 1_000 || strings.Contains(f.Text, "\x1b") {
			t.Errorf("the text has %d bytes: %.200q", len(f.Text), f.Text)
		}
	}
}

func TestIndented(t *testing.T) {
	m, faults, _ := pack.ParseManifest([]byte(with(`"tags":["b","a"],"description":"<é>","tools":{"x/y":"2","a":"1"}`)), pack.PackForm)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	want := `{
  "description": "<é>",
  "name": "good",
  "schema": "kortecx.skill/v1",
  "tags": [
    "b",
    "a"
  ],
  "tools": {
    "a": "1",
    "x/y": "2"
  },
  "version": "1"
}
`
	if diff := cmp.Diff(want, string(m.Indented())); diff != "" {
		t.Errorf("indented (-want +got):\n%s", diff)
	}
	again, faults, _ := pack.ParseManifest(m.Indented(), pack.PackForm)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if diff := cmp.Diff(m, again); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestValidNames(t *testing.T) {
	for _, name := range []string{"a", "0", "a.b_c-9", "-x", ".hid", strings.Repeat("x", 64)} {
		if err := pack.ValidName(name); err != nil {
			t.Errorf("ValidName(%q) = %v", name, err)
		}
	}
	for name, id := range map[string]string{
		"": "name.length", strings.Repeat("x", 65): "name.length", "A": "name.charset", "a b": "name.charset",
		"a/b": "name.charset", "é": "name.charset", "a\x00": "name.charset", "a\xff": "name.charset", ".": "name.reserved", "..": "name.reserved",
	} {
		if err := pack.ValidName(name); err == nil || err.ID != id {
			t.Errorf("ValidName(%q) = %v, want %s", name, err, id)
		}
	}
	for _, id := range []string{"a", "a/b", "secret/get", "a_b.c-d/9", "-/-", "..."} {
		if err := pack.ValidToolID(id); err != nil {
			t.Errorf("ValidToolID(%q) = %v", id, err)
		}
	}
	for _, id := range []string{"", "/", "/x", "x/", "a//b", "a/b/c", "A", "a b", "a:b", "a@1", `a\b`, "é", ".", "..", "./.", "../x", "x/..", strings.Repeat("a", 129)} {
		if err := pack.ValidToolID(id); err == nil || err.ID != "tool.grammar" {
			t.Errorf("ValidToolID(%q) = %v", id, err)
		}
	}
	for _, v := range []string{"0", "1", "007", "+1", "+007", "18446744073709551615", strings.Repeat("0", 100) + "1"} {
		if err := pack.ValidVersion(v); err != nil {
			t.Errorf("ValidVersion(%q) = %v", v, err)
		}
	}
	for v, id := range map[string]string{
		"": "version.not-integer", "+": "version.not-integer", "-0": "version.not-integer", "++1": "version.not-integer",
		"1_0": "version.not-integer", "0x1": "version.not-integer", "１": "version.not-integer", "1 ": "version.not-integer",
		"18446744073709551616": "version.range", strings.Repeat("9", 1000): "version.range",
	} {
		if err := pack.ValidVersion(v); err == nil || err.ID != id {
			t.Errorf("ValidVersion(%q) = %v, want %s", v, err, id)
		}
	}
}

// Space, order and escapes of the source never reach the identity.
func TestCanonicalIsAFixedPoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &pack.KortecxManifest{
			Schema:      pack.SchemaKortecx,
			Name:        rapid.StringMatching(`[a-z0-9_][a-z0-9._-]{0,20}`).Draw(t, "name"),
			Version:     rapid.StringMatching(`\+?[0-9]{1,18}`).Draw(t, "version"),
			Description: strings.ToValidUTF8(rapid.String().Draw(t, "description"), "?"),
			Tags:        rapid.SliceOfN(rapid.StringN(1, 8, -1), 0, 4).Draw(t, "tags"),
			Tools:       rapid.MapOfN(rapid.StringMatching(`[a-z]{1,5}(/[a-z]{1,5})?`), rapid.StringMatching(`[0-9]{1,3}`), 0, 4).Draw(t, "tools"),
		}
		for i := range m.Tags {
			m.Tags[i] = strings.ToValidUTF8(m.Tags[i], "?")
		}
		canonical := string(m.Canonical())
		for _, text := range []string{canonical, string(m.Indented())} {
			again, faults, _ := pack.ParseManifest([]byte(text), pack.PackForm)
			if len(faults) > 0 {
				t.Fatalf("%s: %v", text, faults)
			}
			if got := string(again.Canonical()); got != canonical {
				t.Fatalf("got %s, want %s", got, canonical)
			}
		}
	})
}

func FuzzKortecxManifest(f *testing.F) {
	for _, seed := range []string{
		`{"schema":"kortecx.skill/v1","name":"x"}`, with(`"tools":{"a/b":"1"},"tags":["t"],"description":"d"`), with(`"x":1e999`),
		with(`"secret":{"y":[1.5]}`), `[{"tools":{"grant":-0}}]`, `{"name":"\u0000"}`, with(`"version":"+01"`), `{"a":1,"a":2}`, "\uFEFF{}",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, stored bool) {
		form := pack.PackForm
		if stored {
			form = pack.StoredForm
		}
		m, faults, warnings := pack.ParseManifest(data, form)
		if (m == nil) != (len(faults) > 0) {
			t.Fatalf("manifest %v beside %v", m, faults)
		}
		for _, e := range append(append([]*pack.Error{}, faults...), warnings...) {
			if e.ID == "" || e.Kind == "" || e.Text == "" || !utf8.ValidString(e.Text) {
				t.Fatalf("a fault without id, kind or text: %+v", e)
			}
			if strings.ContainsFunc(e.Text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Fatalf("the text %q has control characters", e.Text)
			}
		}
		if m == nil {
			return
		}
		canonical := m.Canonical()
		if len(canonical) > pack.MaxManifest {
			return
		}
		again, faults, _ := pack.ParseManifest(canonical, form)
		if len(faults) > 0 {
			t.Fatalf("the canonical form %s is refused: %v", canonical, faults)
		}
		if string(again.Canonical()) != string(canonical) {
			t.Fatalf("%s became %s", canonical, again.Canonical())
		}
	})
}

// The whole file is judged within the memory that its size allows.
func TestHostileManifestMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for _, in := range []string{
		with(`"x":[` + strings.TrimSuffix(strings.Repeat("0,", 32_000), ",") + `]`),
		with(`"x":[` + strings.TrimSuffix(strings.Repeat("{},", 21_000), ",") + `]`),
		with(`"tools":{` + strings.TrimSuffix(strings.Repeat(`"":"",`, 10_000), ",") + `}`),
	} {
		if _, faults, _ := pack.ParseManifest([]byte(in), pack.PackForm); len(faults) == 0 || len(faults) > 100 {
			t.Errorf("%d faults", len(faults))
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
		t.Errorf("%d MiB were allocated", grown>>20)
	}
}
