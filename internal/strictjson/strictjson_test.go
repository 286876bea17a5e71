package strictjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/internal/timetest"
)

func TestParseRefuses(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		name, in, id, pointer string
		offset                int
	}{
		{"empty", "", "json.syntax", "", 0},
		{"only space", " \n", "json.syntax", "", 0},
		{"cut short", `{"a":`, "json.syntax", "/a", 5},
		{"cut in literal", `tru`, "json.syntax", "", 3},
		{"cut in string", `{"a":"b`, "json.syntax", "/a", 5},
		{"bom", "\uFEFF{}", "json.bom", "", 0},
		{"trailing garbage", `{} x`, "json.syntax", "", 3},
		{"second document", `{} {}`, "json.syntax", "", 3},
		{"trailing comma in object", `{"a":1,}`, "json.syntax", "", 6},
		{"trailing comma in array", `[1,]`, "json.syntax", "", 2},
		{"comment", `{/*c*/"a":1}`, "json.syntax", "", 1},
		{"line comment", "{\"a\":1 // c\n}", "json.syntax", "", 7},
		{"single quotes", `{'a':1}`, "json.syntax", "", 1},
		{"bare name", `{a:1}`, "json.syntax", "", 1},
		{"NaN", `[NaN]`, "json.syntax", "/0", 1},
		{"leading zero", `[01]`, "json.syntax", "", 2},
		{"plus", `[+1]`, "json.syntax", "/0", 1},
		{"missing comma", `["a" "b"]`, "json.syntax", "", 5},
		{"missing value", `{"a":}`, "json.syntax", "/a", 5},
		{"name without value", `{"a"}`, "json.syntax", "/a", 4},
		{"wrong bracket", `[1}`, "json.syntax", "", 2},
		{"number as name", `{1:2}`, "json.syntax", "", 1},
		{"raw tab", "{\"a\":\"b\tc\"}", "json.control", "/a", 7},
		{"raw 0x01 in a name", "{\"a\x01\":1}", "json.control", "", 3},
		{"raw newline", "[\"a\nb\"]", "json.control", "/0", 3},
		{"control between tokens", "[\x01]", "json.syntax", "/0", 1},
		{"bad utf8 in string", "{\"a\":\"\xff\"}", "json.invalid-utf8", "/a", 6},
		{"overlong utf8", "[\"\xc0\xaf\"]", "json.invalid-utf8", "/0", 2},
		{"surrogate bytes", "[\"\xed\xa0\x80\"]", "json.invalid-utf8", "/0", 2},
		{"cut rune", "[\"\xe2\x82\"]", "json.invalid-utf8", "/0", 2},
		{"bad utf8 outside", "{} \xff", "json.invalid-utf8", "", 3},
		{"bad utf8 as value", "[\xff]", "json.invalid-utf8", "/0", 1},
		{"lone high surrogate", `{"a":"a\ud800b"}`, "json.invalid-surrogate", "/a", 7},
		{"lone high at the end", `{"a":"\ud800"}`, "json.invalid-surrogate", "/a", 6},
		{"lone low surrogate", `["\udc00"]`, "json.invalid-surrogate", "/0", 2},
		{"two high halves", `["\ud800\ud800"]`, "json.invalid-surrogate", "/0", 2},
		{"bad escape", `["\x"]`, "json.syntax", "/0", 2},
		{"short escape", `["\u12"]`, "json.syntax", "/0", 2},
		{"depth 33", nested(33), "json.depth", strings.Repeat("/0", 32), 32},
		{"depth 10,001", `{"x":` + nested(10_001) + `}`, "json.depth", "/x" + strings.Repeat("/0", 31), 36},
		{"depth 10,001 not closed", strings.Repeat("[", 10_001), "json.depth", strings.Repeat("/0", 32), 32},
		{"duplicate", `{"a":1,"a":2}`, "json.duplicate-key", "", 7},
		{"nested duplicate", `{"t":{"a":1,"b":2,"a":2}}`, "json.duplicate-key", "/t", 18},
		{"escaped duplicate", `{"a":1,"\u0061":2}`, "json.duplicate-key", "", 7},
		{"duplicate in an array", `[0,{"a":1,"a":2}]`, "json.duplicate-key", "/1", 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			node, faults := strictjson.Parse([]byte(c.in))
			if len(faults) == 0 {
				t.Fatalf("Parse(%.60q) found nothing", c.in)
			}
			got := *faults[0]
			if got.Text == "" {
				t.Error("the fault has no text")
			}
			got.Text = ""
			if diff := cmp.Diff(strictjson.Fault{ID: c.id, Offset: c.offset, Pointer: c.pointer}, got); diff != "" {
				t.Errorf("first fault (-want +got), text %q:\n%s", faults[0].Text, diff)
			}
			if want := c.id == "json.duplicate-key"; (node != nil) != want {
				t.Errorf("there is a tree: %v, want %v", node != nil, want)
			}
		})
	}
}

func TestParseAccepts(t *testing.T) {
	for _, in := range []string{
		`null`, `true`, ` false `, `-0`, `1e999999`, `""`, `[]`, `{}`, "\r\n\t {} \n",
		`"\ud83d\ude00"`, `"\u0000"`, `"\u007f\u2028"`, "\"\u2028\uFFFD\"", `{"":{"":[]}}`,
		strings.Repeat("[", 32) + strings.Repeat("]", 32),
		strings.Repeat(`{"a":`, 32) + "1" + strings.Repeat("}", 32),
	} {
		if node, faults := strictjson.Parse([]byte(in)); len(faults) > 0 || node == nil {
			t.Errorf("Parse(%q) = %v", in, faults)
		}
	}
}

func TestTree(t *testing.T) {
	const in = `{ "a" : ["x\n", -1.50e+3, true, null] , "b/~":{} }`
	got, faults := strictjson.Parse([]byte(in))
	if len(faults) > 0 {
		t.Fatal(faults[0])
	}
	want := &strictjson.Node{Kind: strictjson.Object, Offset: 0, End: len(in), Members: []strictjson.Member{
		{Name: "a", NameOffset: 2, Value: &strictjson.Node{Kind: strictjson.Array, Offset: 8, End: 37, Elems: []*strictjson.Node{
			{Kind: strictjson.String, Offset: 9, End: 14, Text: "x\n"},
			{Kind: strictjson.Number, Offset: 16, End: 24, Text: "-1.50e+3"},
			{Kind: strictjson.Bool, Offset: 26, End: 30, Text: "true"},
			{Kind: strictjson.Null, Offset: 32, End: 36, Text: "null"},
		}}},
		{Name: "b/~", NameOffset: 40, Value: &strictjson.Node{Kind: strictjson.Object, Offset: 46, End: 48}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	if got := strictjson.Child("/x", "b/~"); got != "/x/b~1~0" {
		t.Errorf("Child = %q", got)
	}
	if got.Get("a").Kind != strictjson.Array || got.Get("c") != nil {
		t.Error("Get does not find what is there, or finds what is not")
	}
}

// Wide objects change from a scan to a map; both must see the same duplicates.
func TestDuplicatesInWideObjects(t *testing.T) {
	for _, width := range []int{2, 15, 16, 17, 18, 40} {
		for first := range width {
			var b strings.Builder
			b.WriteString("{")
			for i := range width {
				fmt.Fprintf(&b, `"k%d":%d,`, i, i)
			}
			fmt.Fprintf(&b, `"k%d":0}`, first)
			_, faults := strictjson.Parse([]byte(b.String()))
			if len(faults) != 1 || faults[0].ID != "json.duplicate-key" {
				t.Fatalf("width %d, key %d twice: %v", width, first, faults)
			}
		}
	}
}

func TestDuplicateNamesBothPlaces(t *testing.T) {
	_, faults := strictjson.Parse([]byte("{\n \"name\":\"good\",\n  \"name\":\"evil\"}"))
	if len(faults) != 1 || !strings.Contains(faults[0].Text, "2:2") || !strings.Contains(faults[0].Text, "3:3") {
		t.Errorf("want one fault that names 2:2 and 3:3, got %v", faults)
	}
}

func TestFaultsAreBounded(t *testing.T) {
	in := "{" + strings.TrimSuffix(strings.Repeat(`"":0,`, 13_000), ",") + "}"
	start := time.Now()
	_, faults := strictjson.Parse([]byte(in))
	if len(faults) != 100 {
		t.Errorf("%d faults, want 100", len(faults))
	}
	if took := time.Since(start); took > timetest.Limit(time.Second) {
		t.Errorf("took %v", took)
	}
}

func TestSyntaxFaultComesFirst(t *testing.T) {
	node, faults := strictjson.Parse([]byte(`{"a":1,"a":2,}`))
	if node != nil || len(faults) != 2 || faults[0].ID != "json.syntax" || faults[1].ID != "json.duplicate-key" {
		t.Errorf("got %v, %v", node, faults)
	}
}

func TestPosition(t *testing.T) {
	data := []byte("ab\ncé\n\nd")
	for _, c := range []struct{ offset, line, column int }{
		{-1, 1, 1}, {0, 1, 1}, {1, 1, 2}, {2, 1, 3}, {3, 2, 1}, {6, 2, 4}, {7, 3, 1}, {8, 4, 1}, {9, 4, 2}, {99, 4, 2},
	} {
		if line, column := strictjson.Position(data, c.offset); line != c.line || column != c.column {
			t.Errorf("Position(%d) = %d:%d, want %d:%d", c.offset, line, column, c.line, c.column)
		}
	}
}

type inner struct {
	N int       `json:"n"`
	T time.Time `json:"t"`
}

type outer struct {
	Name  string            `json:"name"`
	Tags  []string          `json:"tags"`
	Tools map[string]string `json:"tools,omitempty"`
	In    inner             `json:"in"`
	Opt   *inner            `json:"opt"`
	Raw   json.RawMessage   `json:"raw"`
	inner
}

func TestUnmarshal(t *testing.T) {
	var got outer
	in := `{"name":"a","tags":null,"tools":{"x":"1"},"in":{"n":3,"t":"2026-11-29T00:00:00Z"},"opt":null,"raw":null}`
	if err := strictjson.Unmarshal([]byte(in), &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "a" || got.In.N != 3 || got.Tools["x"] != "1" || got.Opt != nil || got.In.T.Year() != 2026 {
		t.Errorf("got %+v", got)
	}
	for _, c := range []struct {
		in, id, pointer string
		offset          int
	}{
		{`{"name":"a","name":"b"}`, "json.duplicate-key", "", 12},
		{`{"NAME":"a"}`, "json.unknown-field", "/NAME", 1},
		{`{ "in": {"n":1, "m":2} }`, "json.unknown-field", "/in/m", 16},
		{`{"ſame":"a"}`, "json.unknown-field", "/ſame", 1},
		{`{"name":  1}`, "json.type", "/name", 10},
		{`{"tags":["a",{}]}`, "json.type", "/tags/1", 13},
		{`{"in":{"n":1.5}}`, "json.type", "/in/n", 11},
		{`{"in":{"n":1e999999}}`, "json.type", "/in/n", 11},
		{`{"in":{"t":"yesterday"}}`, "json.type", "/in/t", 11},
		{`{"name":null}`, "json.null", "/name", 8},
		{`{"in":null}`, "json.null", "/in", 6},
		{`{"in":{"n":null}}`, "json.null", "/in/n", 11},
		{`{"opt":{"n":null}}`, "json.null", "/opt/n", 12},
		{`{"tags":[null]}`, "json.null", "/tags/0", 9},
		{`{"tools":{"a/b":null}}`, "json.null", "/tools/a~1b", 16},
		{`null`, "json.null", "", 0},
		{`[]`, "json.type", "", 0},
		{`{} x`, "json.syntax", "", 3},
	} {
		var v outer
		err := strictjson.Unmarshal([]byte(c.in), &v)
		var f *strictjson.Fault
		if !errors.As(err, &f) {
			t.Errorf("Unmarshal(%s) = %v, want a fault", c.in, err)
			continue
		}
		if f.ID != c.id || f.Pointer != c.pointer || f.Offset != c.offset {
			t.Errorf("Unmarshal(%s) = %+v, want %s at %s (%d)", c.in, *f, c.id, c.pointer, c.offset)
		}
	}
}

func TestUnmarshalLax(t *testing.T) {
	var v outer
	if err := strictjson.UnmarshalLax([]byte(`{"name":"a","newer":{"x":[null]},"in":{"z":1}}`), &v); err != nil || v.Name != "a" {
		t.Errorf("got %+v, %v", v, err)
	}
	if err := strictjson.UnmarshalLax([]byte(`{"Name":"a"}`), &v); err != nil || v.Name != "a" {
		t.Errorf("a name in another case must be passed over: %+v, %v", v, err)
	}
	if err := strictjson.UnmarshalLax([]byte(`{"x":1,"x":1}`), &v); err == nil {
		t.Error("duplicates stay refused")
	}
	if err := strictjson.UnmarshalLax([]byte(`{"name":null}`), &v); err == nil {
		t.Error("null for a string stays refused")
	}
}

func TestUnmarshalIntoNothing(t *testing.T) {
	if err := strictjson.Unmarshal([]byte(`{}`), nil); err == nil {
		t.Error("no error for a nil target")
	}
	var m map[string]any
	if err := strictjson.Unmarshal([]byte(`{"a":[null,{"b":null}]}`), &m); err != nil {
		t.Error(err)
	}
}

func TestAppendString(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  `""`,
		"\x00\b\f\n\r\t\x1f\x7f\u2028/<>&é": `"\u0000\b\f\n\r\t\u001f` + "\x7f\u2028" + `/<>&é"`,
		`a"b\c`:                             `"a\"b\\c"`,
		"a\xffb":                            "\"a\uFFFDb\"",
	} {
		if got := string(strictjson.AppendString(nil, in)); got != want {
			t.Errorf("AppendString(%q) = %s, want %s", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.String().Draw(t, "in")
		node, faults := strictjson.Parse(strictjson.AppendString(nil, in))
		if len(faults) > 0 || node.Text != strings.ToValidUTF8(in, "\uFFFD") {
			t.Fatalf("%q came back as %+v, %v", in, node, faults)
		}
	})
}

// FuzzParse holds the parser to a lenient oracle: what it accepts is JSON, and
// what it refuses is either not JSON or against one of its own rules.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"schema":"kortecx.skill/v1","name":"x","tools":{"a/b":"1"}}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`,
		`["\ud800"]`, `["\ud83d\ude00"]`, "\uFEFF{}", "[\"\t\"]", "[\"\xff\"]", `[1e999999,-0,01]`, `{"a":{"b":[null,true,false]}} `,
		strings.Repeat("[", 40), `{"a":1,}`, `nul`, `"\u12`, `{"a" 1}`, "[\x01]", "[\"\\u",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := string(data)
		node, faults := strictjson.Parse(data)
		if string(data) != before {
			t.Fatal("the input was changed")
		}
		for _, fault := range faults {
			if fault.ID == "" || fault.Text == "" || fault.Offset < 0 || fault.Offset > len(data) {
				t.Fatalf("a fault without id, text or place: %+v", fault)
			}
		}
		valid := json.Valid(data)
		if node == nil {
			if len(faults) == 0 {
				t.Fatal("neither tree nor fault")
			}
			own := map[string]bool{"json.depth": true, "json.invalid-surrogate": true, "json.invalid-utf8": true}
			if valid && utf8.Valid(data) && !own[faults[0].ID] {
				t.Fatalf("refused as %s: %s", faults[0].ID, faults[0].Text)
			}
			return
		}
		if !valid {
			t.Fatal("accepted what is not JSON")
		}
		checkTree(t, data, node, 0, len(data))
		var v any
		err := strictjson.Unmarshal(data, &v)
		if (err == nil) != (len(faults) == 0) {
			// Numbers beyond a float64 parse, but do not fit into any.
			var fault *strictjson.Fault
			if !errors.As(err, &fault) || fault.ID != "json.type" {
				t.Fatalf("Parse says %v, Unmarshal says %v", faults, err)
			}
		}
	})
}

func checkTree(t *testing.T, data []byte, n *strictjson.Node, from, to int) {
	t.Helper()
	if n.Offset < from || n.End > to || n.Offset >= n.End || !json.Valid(data[n.Offset:n.End]) {
		t.Fatalf("%v at %d..%d is not a value inside %d..%d", n.Kind, n.Offset, n.End, from, to)
	}
	at := n.Offset + 1
	for _, e := range n.Elems {
		checkTree(t, data, e, at, n.End-1)
		at = e.End
	}
	for _, m := range n.Members {
		if m.NameOffset < at || data[m.NameOffset] != '"' {
			t.Fatalf("the name %q is not at %d", m.Name, m.NameOffset)
		}
		checkTree(t, data, m.Value, m.NameOffset+2, n.End-1)
		at = m.Value.End
	}
}

var manifest = []byte(`{
  "schema": "kortecx.skill/v1",
  "name": "email-triage",
  "version": "3",
  "description": "Sort the inbox, draft answers and keep a list of what is still open.",
  "tags": ["email", "triage", "inbox"],
  "tools": {
    "gmail/search": "1",
    "gmail/read": "1",
    "retrieve": "2"
  }
}
`)

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(manifest)))
	for b.Loop() {
		if _, faults := strictjson.Parse(manifest); len(faults) > 0 {
			b.Fatal(faults[0])
		}
	}
}
