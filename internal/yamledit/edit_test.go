package yamledit

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const digest = "5d6943532bcacce45a14f1fcf2bbc1e43f86bf05ff0eac70d3ea18bd6e68c720"

func TestSetScalars(t *testing.T) {
	both := []KeyValue{{"checksum", digest}, {"signature", strings.Repeat("1", 64)}}
	ones := strings.Repeat("1", 64)
	tests := []struct {
		name string
		in   string
		set  []KeyValue
		want string
	}{
		{
			"appended in order", "name: a # c\n\n# tail\n", both,
			"name: a # c\n\n# tail\nchecksum: \"" + digest + "\"\nsignature: \"" + ones + "\"\n",
		},
		{
			"replaced in place", "checksum: old # why\nname: a\nsignature: 'old'\n", both,
			"checksum: \"" + digest + "\" # why\nname: a\nsignature: \"" + ones + "\"\n",
		},
		{
			"one replaced, one appended", "signature: x\nname: a\n", both,
			"signature: \"" + ones + "\"\nname: a\nchecksum: \"" + digest + "\"\n",
		},
		{"no final newline", "a: b", []KeyValue{{"c", "d"}}, "a: b\nc: d"},
		{"no final newline behind a comment", "a: b # x", []KeyValue{{"c", "d"}}, "a: b # x\nc: d"},
		{"CRLF", "a: b\r\nc: d\r\n", []KeyValue{{"a", "x"}, {"e", "f"}}, "a: x\r\nc: d\r\ne: f\r\n"},
		{"CRLF without the last", "a: b\r\nc: d", []KeyValue{{"e", "f"}}, "a: b\r\nc: d\r\ne: f"},
		{"BOM", "\ufeffa: b\n", []KeyValue{{"a", "x"}, {"e", "f"}}, "\ufeffa: x\ne: f\n"},
		{"markers", "---\na: b\n...\n# end\n", []KeyValue{{"e", "f"}}, "---\na: b\ne: f\n...\n# end\n"},
		{"frontmatter", "---\na: b\n", []KeyValue{{"e", "f"}}, "---\na: b\ne: f\n"},
		{"same value", "a: 'x'\n", []KeyValue{{"a", "x"}}, "a: 'x'\n"},
		{"same value that needs quotes", "a: 123\n", []KeyValue{{"a", "123"}}, "a: \"123\"\n"},
		{"empty value", "a:\nb: c\n", []KeyValue{{"a", "x"}}, "a: x\nb: c\n"},
		{"empty value with comment", "a:   # none yet\nb: c\n", []KeyValue{{"a", "x"}}, "a: x   # none yet\nb: c\n"},
		{"empty value at the end", "b: c\na:", []KeyValue{{"a", "x"}}, "b: c\na: x"},
		{"empty value of a quoted key", "\"a\" :\nb: c\n", []KeyValue{{"a", "x"}}, "\"a\" : x\nb: c\n"},
		{"null", "a: ~\nb: null # n\n", []KeyValue{{"a", "x"}, {"b", "w"}}, "a: x\nb: w # n\n"},
		{"over lines", "a: one\n  two # c\n# d\nb: c\n", []KeyValue{{"a", "x"}}, "a: x # c\n# d\nb: c\n"},
		{"over lines with a blank one", "a: one\n\n  two\n\nb: c\n", []KeyValue{{"a", "x"}}, "a: x\n\nb: c\n"},
		{"quoted over lines", "a: \"one\n  \\\" two\" # c\nb: c\n", []KeyValue{{"a", "x"}}, "a: \"x\" # c\nb: c\n"},
		{"single quotes inside", "a: 'it''s' # c\n", []KeyValue{{"a", "x"}}, "a: \"x\" # c\n"},
		{
			"literal", "a: |-  # why\n  one\n\n  # two\n # note\n\nb: c\n",
			[]KeyValue{{"a", "x"}},
			"a: \"x\"  # why\n # note\n\nb: c\n",
		},
		{"folded at the end", "a: >2\n    one\n  two", []KeyValue{{"a", "x"}}, "a: \"x\""},
		{"empty block", "a: |\nb: c\n", []KeyValue{{"a", "x"}}, "a: \"x\"\nb: c\n"},
		{"behind a literal", "a: |\n  one\n", []KeyValue{{"c", "d"}}, "a: |\n  one\nc: d\n"},
		{
			"behind a literal without a final newline", "z: y\n# about a\na: |\n  one",
			[]KeyValue{{"c", "d"}},
			"z: y\nc: d\n# about a\na: |\n  one",
		},
		{"behind a list", "a:\n- b\n- c\n", []KeyValue{{"c", "d"}}, "a:\n- b\n- c\nc: d\n"},
		{"indented root", "  a: b\n  c: d\n", []KeyValue{{"e", "f"}}, "  a: b\n  c: d\n  e: f\n"},
		{"brackets", "{a: b, c: d}\n", []KeyValue{{"a", "x"}, {"e", "f"}}, "{a: \"x\", c: d, \"e\": \"f\"}\n"},
		{"empty brackets", "{}", []KeyValue{{"e", "f"}, {"g", "h"}}, `{"e": "f", "g": "h"}`},
		{
			"JSON", "{\n  \"a\": \"b}\", # c }\n  \"c\": [1, 2]\n}\n",
			[]KeyValue{{"e", "f"}},
			"{\n  \"a\": \"b}\", # c }\n  \"c\": [1, 2], \"e\": \"f\"\n}\n",
		},
		{"trailing comma", "{a: b,}", []KeyValue{{"e", "f"}}, `{a: b, "e": "f"}`},
		{"version stays plain", "version: 1.0.0\n", []KeyValue{{"version", "1.0.1"}}, "version: 1.0.1\n"},
		{"version that is a number", "version: 1.0\n", []KeyValue{{"version", "1.1"}}, "version: \"1.1\"\n"},
		{"text that would end early", "a: b\n", []KeyValue{{"a", "x # y"}, {"c", "x: y"}}, "a: \"x # y\"\nc: \"x: y\"\n"},
		{"lines and controls", "a: b\n", []KeyValue{{"a", "x\n\ty\x1b\u2028\"\\"}}, `a: "x\n\ty\x1b\u2028\"\\"` + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := SetScalars([]byte(tt.in), tt.set)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSetScalarsRefuses(t *testing.T) {
	tests := []struct {
		name string
		in   string
		set  []KeyValue
		want string
	}{
		{"a list", "a: b\nchecksum:\n- x\n", []KeyValue{{"checksum", "y"}}, `"checksum" on line 3 holds a list`},
		{"a mapping", "checksum: {a: b}\n", []KeyValue{{"checksum", "y"}}, "holds a mapping"},
		{"a key twice", "a: b\n", []KeyValue{{"c", "1"}, {"c", "2"}}, `key "c"`},
		{"no key", "a: b\n", []KeyValue{{"", "1"}}, "empty"},
		{"not UTF-8", "a: b\n", []KeyValue{{"a", "\xff"}}, "UTF-8"},
		{"explicit key without value", "? a\n", []KeyValue{{"a", "x"}}, "line 2"},
		{"too large", "a: " + strings.Repeat("x", MaxBytes-4) + "\n", []KeyValue{{"c", "x"}}, "layout"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := SetScalars([]byte(tt.in), tt.set)
			if !errors.Is(err, ErrEdit) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	_, err := SetScalars([]byte("a: b\na: c\n"), []KeyValue{{"a", "x"}})
	if fault, ok := errors.AsType[*Fault](err); !ok || fault.ID != IDDuplicateKey {
		t.Errorf("duplicate key: %v", err)
	}
}

func TestQuoteColons(t *testing.T) {
	tests := []struct {
		name, in, want string
		lines          []int
	}{
		{
			"colons and comments", "name: x # c\ndescription: Use when: x, or: y # d\nother: @me\n",
			"name: x # c\ndescription: \"Use when: x, or: y\" # d\nother: \"@me\"\n",
			[]int{2, 3},
		},
		{
			"over lines", "description: It\r\n  is used when: x\r\n  or y\r\nname: z\r\n",
			"description: \"It is used when: x or y\"\r\nname: z\r\n",
			[]int{2},
		},
		{"text behind quotes", "a: \"x\" and 'y'\n", "a: \"\\\"x\\\" and 'y'\"\n", []int{1}},
		{"nothing to do", "a: b\n", "a: b\n", nil},
		{"another fault", "a: 'b\n", "a: 'b\n", nil},
		{"an alias is not text", "a: *b\n", "a: *b\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, lines := QuoteColons([]byte(tt.in))
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.lines, lines); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadsAs(t *testing.T) {
	for want, texts := range map[string][]string{
		"null":          {"", "~", "null", "Null", "NULL"},
		"true or false": {"yes", "No", "TRUE", "off", "y"},
		"number": {
			"0", "-1", "+12", "1_000", "1.0", "1.", ".5", "1e3", "1.5E-3", "0x1F", "0o17", "017", "0b101",
			"1:30", "190:20:30", "190:20:30.15", "-.inf", ".NaN", "08", "1._5", "2024",
		},
		"date": {"2024-01-01", "2024-1-2", "2024-01-01T10:00:00Z", "2024-01-01 10:00:00.5 +2"},
		"": {
			"1.0.0", "v1", "a", "1e", "e1", "0x", "0xg", "1:a", "1:300", "-", "+", ".", "1.2.3", "20240-1-1",
			"2024-01", "2024-01-01x", "2024-01-01 notes", "_1", "1-2", "1.e", "e", ":", "1:", "x:1",
		},
	} {
		for _, text := range texts {
			if got := ReadsAs(text); got != want {
				t.Errorf("%q reads as %q, want %q", text, got, want)
			}
		}
	}
}

// A text in quotes is what every parser gives back, whatever is in it.
func TestQuoteRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		m, faults, _ := Parse([]byte("a: " + Quote(text) + "\n"))
		if len(faults) > 0 {
			t.Fatalf("%q: %v", text, faults)
		}
		if got := m.Get("a").Text; got != text {
			t.Fatalf("%q came back as %q", text, got)
		}
	})
}

// drawManifest writes a mapping from pieces that a person might write, with
// every style and comments in every place.
func drawManifest(t *rapid.T) string {
	eol := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol")
	values := []string{
		"", " plain", " plain text # note", " 'single ''quoted'''", " \"double \\\" # quoted\"", " ~", " 1.10",
		" |" + eol + "  literal" + eol + eol + "  # text", " >-" + eol + "  folded" + eol + "   more",
		" |+ # keep" + eol + "  x" + eol + eol, " two" + eol + "  lines", " \"two" + eol + "  lines\"",
		" [a, {b: c}]", eol + "- a" + eol + "- b: c", eol + "  b: c" + eol + "  # inner" + eol + "  d: |" + eol + "    e",
		" http://x/y?a=b#c", " main:Cls # :",
	}
	var b strings.Builder
	b.WriteString(rapid.SampledFrom([]string{"", "\ufeff", "---" + eol, "# head" + eol}).Draw(t, "head"))
	keys := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "\"c\"", "'d'", "checksum", "signature", "long key"}), 1, 6, rapid.ID[string]).Draw(t, "keys")
	for i, key := range keys {
		if i > 0 {
			b.WriteString(eol)
			b.WriteString(rapid.SampledFrom([]string{"", "", "# between" + eol, eol, "   # deep" + eol}).Draw(t, "gap"))
		}
		b.WriteString(key + ":" + rapid.SampledFrom(values).Draw(t, "value"))
	}
	b.WriteString(rapid.SampledFrom([]string{"", eol, eol + "# tail", eol + eol, eol + "..." + eol}).Draw(t, "tail"))
	return b.String()
}

func TestSetScalarsProperty(t *testing.T) {
	done := 0
	rapid.Check(t, func(t *rapid.T) {
		in := drawManifest(t)
		key := rapid.SampledFrom([]string{"a", "c", "checksum", "new key"}).Draw(t, "key")
		value := rapid.SampledFrom([]string{digest, "x", "", "yes", "a: b", "é", "1.0.0", "a\nb"}).Draw(t, "new")
		set := []KeyValue{{key, value}}
		before, faults, _ := Parse([]byte(in))
		if len(faults) > 0 {
			t.Fatalf("%q: %v", in, faults)
		}
		after, err := SetScalars([]byte(in), set)
		if old := before.Get(key); old != nil && (old.Kind == Sequence || old.Kind == Map) {
			if !errors.Is(err, ErrEdit) {
				t.Fatalf("%q: replaced a list or mapping: %v", in, err)
			}
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		checkEdit(t, in, string(after), set)
		done++
	})
	if done == 0 {
		t.Error("no case was edited")
	}
}

// checkEdit holds what SetScalars promises against the texts before and after.
func checkEdit(t interface {
	Helper()
	Fatalf(string, ...any)
}, before, after string, set []KeyValue,
) {
	t.Helper()
	was, _, _ := Parse([]byte(before))
	is, faults, _ := Parse([]byte(after))
	if len(faults) > 0 {
		t.Fatalf("%q became %q: %v", before, after, faults)
	}
	want := map[string]string{}
	for _, kv := range set {
		want[kv.Key] = kv.Value
	}
	for _, e := range is.Entries {
		if text, ours := want[e.Key]; ours {
			if e.Value.Kind != Scalar || e.Value.Text != text {
				t.Fatalf("%q became %q: %s is %s", before, after, e.Key, showValue(&e.Value))
			}
		} else if old := was.Get(e.Key); old == nil || showValue(old) != showValue(&e.Value) {
			t.Fatalf("%q became %q: %s changed", before, after, e.Key)
		}
	}
	again, err := SetScalars([]byte(after), set)
	if err != nil || string(again) != after {
		t.Fatalf("%q became %q and then %q (%v)", before, after, again, err)
	}
	for line := range strings.Lines(before) {
		// A comment line at the margin belongs to no value, except in a literal,
		// where it would be indented.
		if strings.HasPrefix(line, "#") && !strings.Contains(after, strings.TrimRight(line, "\r\n")) {
			t.Fatalf("%q became %q: lost %q", before, after, line)
		}
	}
	if len(set) == 1 && was.Get(set[0].Key) == nil {
		head := 0
		for head < len(before) && before[head] == after[head] {
			head++
		}
		if !strings.HasSuffix(after, before[head:]) {
			t.Fatalf("%q became %q: more than an insertion", before, after)
		}
	}
}
