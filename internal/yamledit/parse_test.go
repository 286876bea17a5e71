package yamledit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/internal/timetest"
)

// show writes a mapping as one line, so that tables stay readable.
func show(m *Mapping) string {
	if m == nil {
		return "-"
	}
	var b strings.Builder
	for i, e := range m.Entries {
		if i > 0 {
			b.WriteString(" ")
		}
		fmt.Fprintf(&b, "%s=%s", e.Key, showValue(&e.Value))
	}
	return b.String()
}

func showValue(v *Value) string {
	switch v.Kind {
	case Null:
		return "null(" + v.Text + ")"
	case Scalar:
		return fmt.Sprintf("%q", v.Text)
	case Sequence:
		var parts []string
		for i := range v.Items {
			parts = append(parts, showValue(&v.Items[i]))
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return "{" + show(v.Map) + "}"
}

func showFaults(faults []*Fault) string {
	var parts []string
	for _, f := range faults {
		parts = append(parts, fmt.Sprintf("%s@%d:%d", f.ID, f.Line, f.Column))
	}
	return strings.Join(parts, " ")
}

func TestParse(t *testing.T) {
	tests := []struct {
		row  string // of the table of hostile inputs, where there is one
		name string
		in   string
		want string
	}{
		{name: "plain", in: "name: a\nversion: 1.10\n", want: `name="a" version="1.10"`},
		{name: "document markers", in: "---\na: b\n...\n", want: `a="b"`},
		{name: "marker with blanks", in: "--- \t\na: b\n", want: `a="b"`},
		{name: "comment behind the end", in: "a: b\n... # done\n# really\n", want: `a="b"`},
		{name: "nulls", in: "a:\nb: ~\nc: null\nd: \"\"\ne: 'null'\n", want: `a=null() b=null(~) c=null(null) d="" e="null"`},
		{name: "lists and maps", in: "a: [x, {y: z}]\nb:\n- 1\n- c: 0x1F\n", want: `a=["x" {y="z"}] b=["1" {c="0x1F"}]`},
		{name: "blocks", in: "a: |\n  x\n  y\nb: >-\n  x\n  y\n", want: `a="x\ny\n" b="x y"`},
		{name: "unquoted over lines", in: "a: x\n  y\n\n  z\nb: c\n", want: `a="x y\nz" b="c"`},
		{name: "quoted merge key is a key", in: "\"<<\": x\n", want: `<<="x"`},
		{name: "explicit key", in: "? a\n: b\n", want: `a="b"`},
		{name: "tab between", in: "a:\tb\tc\n", want: `a="b\tc"`},
		{name: "nul by escape is delivered", in: "a: \"x\\0y\"\n", want: `a="x\x00y"`},
		{row: "B8", name: "octal", in: "version: 0o17\nother: 017\n", want: `version="0o17" other="017"`},
		{row: "B8", name: "booleans of 1.1", in: "a: yes\nb: on\nc: 1:30\nd: 2024-01-01\n", want: `a="yes" b="on" c="1:30" d="2024-01-01"`},
		{
			row: "B11", name: "digits with an e",
			in:   "checksum: 1111111111111111111111111111111111111111111111111111111111111e11\n",
			want: `checksum="1111111111111111111111111111111111111111111111111111111111111e11"`,
		},
		{row: "B20", name: "CRLF", in: "a: b\r\nc: |\r\n  x\r\n", want: `a="b" c="x\n"`},
		{name: "emoji", in: "a: \U0001F600 x\n", want: "a=\"\U0001F600 x\""},
	}
	for _, tt := range tests {
		t.Run(tt.row+" "+tt.name, func(t *testing.T) {
			m, faults, warnings := Parse([]byte(tt.in))
			if len(faults) > 0 || len(warnings) > 0 {
				t.Fatalf("faults %v, warnings %v", faults, warnings)
			}
			if got := show(m); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestParsePlaces(t *testing.T) {
	// Columns are bytes: é and ü are two each.
	m, faults, _ := Parse([]byte("\ufeff\"é\": \"ü\" # c\nb:\n  - é: x\n    ü: |\n      y\n"))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	type place struct{ Line, Column, Offset int }
	list := m.Get("b").Items[0].Map
	got := []place{
		{m.Entries[0].Line, m.Entries[0].Column, m.Entries[0].Offset},
		{m.Get("é").Line, m.Get("é").Column, m.Get("é").Offset},
		{list.Entries[0].Line, list.Entries[0].Column, list.Entries[0].Offset},
		{list.Get("é").Line, list.Get("é").Column, list.Get("é").Offset},
		{list.Get("ü").Line, list.Get("ü").Column, list.Get("ü").Offset},
	}
	want := []place{{1, 1, 3}, {1, 7, 9}, {3, 5, 25}, {3, 9, 29}, {4, 9, 39}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseFaults(t *testing.T) {
	tests := []struct {
		row  string
		name string
		in   string
		want string // ids and places
		text string // part of the first fault's text
		hint string // part of its hint
	}{
		{row: "B2", name: "self-reference", in: "a: &a [*a]\n", want: "yaml.alias@1:4", text: "anchor &a"},
		{row: "B3", name: "anchor and alias", in: "name: &n x\nversion: *n\n", want: "yaml.alias@1:7 yaml.alias@2:10"},
		{row: "B3", name: "alias without anchor", in: "a: *x\n", want: "yaml.alias@1:4"},
		{row: "B3", name: "glob", in: "a: *.py\n", want: "yaml.alias@1:4", hint: `a: "*.py"`},
		{row: "B3", name: "merge key", in: "a: b\n<<: {a: c}\n", want: "yaml.alias@2:1", text: "merge keys"},
		{row: "B5", name: "duplicate key", in: "name: a\nx: y\nname: b\n", want: "yaml.duplicate-key@3:1", text: `key "name" is here twice, on line 1 and on line 3`},
		{row: "B5", name: "duplicate by quotes", in: "name: a\n\"n\\x61me\": b\n", want: "yaml.duplicate-key@2:1"},
		{row: "B5", name: "duplicate below", in: "a:\n  b: 1\n  b: 2\n", want: "yaml.duplicate-key@3:3"},
		{row: "B6", name: "two documents", in: "a: b\n---\nc: d\n", want: "yaml.multi-document@2:1"},
		{row: "B6", name: "two documents by end marker", in: "a: b\n...\nc: d\n", want: "yaml.multi-document@3:1"},
		{row: "B6", name: "empty second document", in: "a: b\n---\n", want: "yaml.multi-document@2:1"},
		{row: "B12", name: "binary", in: "name: !!binary aGVsbG8=\n", want: "yaml.tag@1:7", text: "tag !!binary"},
		{row: "B12", name: "python object", in: "name: !!python/object/apply:os.system [id]\n", want: "yaml.tag@1:7"},
		{row: "B12", name: "harmless tags", in: "a: !!str x\nb: ! y\nc: !z {d: e}\nf: ! [g]\nh: !\ni: !!map {}\n", want: "yaml.tag@1:4 yaml.tag@2:4 yaml.tag@3:4 yaml.tag@4:4 yaml.tag@5:4 yaml.tag@6:4"},
		{row: "B12", name: "tag on a key", in: "!!str a: b\n", want: "yaml.tag@1:1"},
		{row: "B12", name: "tag of the root", in: "!!map\na: b\n", want: "yaml.tag@1:1"},
		{row: "B12", name: "tag directive", in: "%TAG ! tag:x,1:\n---\na: !x b\n", want: "yaml.tag@1:1"},
		{name: "version directive", in: "# c\n%YAML 1.1\n---\na: b\n", want: "yaml.syntax@2:1", hint: "remove"},
		{row: "B13", name: "tab below", in: "a:\n\tb: c\n", want: "yaml.syntax@2:1", text: "tab"},
		{row: "B13", name: "tab first", in: "\ta: b\n", want: "yaml.syntax@1:1", text: "tab"},
		{row: "B15", name: "invalid UTF-8", in: "a: b\nc: x\xffy\n", want: "yaml.invalid-utf8@2:5", text: "offset 9"},
		{row: "B15", name: "overlong", in: "a: \xc0\xaf\n", want: "yaml.invalid-utf8@1:4"},
		{row: "B16", name: "10,001 brackets", in: "a: " + strings.Repeat("[", 10001), want: "yaml.depth@1:36"},
		{row: "B16", name: "balanced brackets", in: "a: " + strings.Repeat("[", 40) + strings.Repeat("]", 40), want: "yaml.depth@1:36"},
		{row: "B16", name: "one too deep", in: "a: " + strings.Repeat("[", 32) + strings.Repeat("]", 32), want: "yaml.depth@1:35"},
		{row: "B16", name: "lists in lines", in: "a:\n" + strings.Repeat("- ", 20000) + "x\n", want: "yaml.depth@2:65"},
		{name: "too large", in: "a: " + strings.Repeat("x", MaxBytes), want: "yaml.too-large@0:0"},
		{name: "too many values", in: "a: [" + strings.Repeat("x,", 10000) + "]\n", want: "yaml.too-large@1:19999"},
		{name: "empty", in: "", want: "yaml.not-mapping@0:0"},
		{name: "comments", in: "# nothing\n\n", want: "yaml.not-mapping@0:0"},
		{name: "empty document", in: "---\n", want: "yaml.not-mapping@2:1", text: "found nothing"},
		{name: "scalar", in: "hello\n", want: "yaml.not-mapping@1:1", text: "a single value"},
		{name: "list", in: "- a\n", want: "yaml.not-mapping@1:1", text: "a list"},
		{name: "list as key", in: "? [a]\n: b\n", want: "yaml.syntax@1:3", text: "a key must be a word"},
		{name: "no key", in: ": b\n", want: "yaml.syntax@1:1", text: "no key"},
		{name: "NUL", in: "a: \x00\n", want: "yaml.syntax@1:4", text: "U+0000"},
		{name: "C1 control", in: "a: x\u009b31m\n", want: "yaml.syntax@1:5", text: "U+009B"},
		{name: "lone CR", in: "a: b\rname: evil\n", want: "yaml.syntax@1:5", text: "carriage return"},
		{name: "line separator", in: "a: b\u2028name: evil\n", want: "yaml.syntax@1:5", text: "U+2028"},
		{name: "next line", in: "a: b\u0085name: evil\n", want: "yaml.syntax@1:5", text: "U+0085"},
		{name: "second BOM", in: "\ufeff\ufeffa: b\n", want: "yaml.syntax@1:1", text: "byte order mark"},
		{
			name: "unquoted colon", in: "name: x\ndescription: Use when: x  # why\n", want: "yaml.syntax@2:22",
			text: "a colon and a space", hint: `quote it: description: "Use when: x"`,
		},
		{
			name: "unquoted colon in a list", in: "a:\n  - Use when: x: y\n", want: "yaml.syntax@2:16",
			hint: `quote it: - Use when: "x: y"`,
		},
		{
			name: "unquoted colon on the next line", in: "description: This skill\n  is used\n  when: x\n  or y\nname: z\n", want: "yaml.syntax@3:7",
			hint: `if it belongs to the text that starts on line 1, quote it: description: "This skill is used when: x or y"`,
		},
		{name: "indented key", in: "a: 'b'\n  c: d\n", want: "yaml.syntax@2:3", text: "not a key of the mapping"},
		{name: "at sign", in: "author: @me\n", want: "yaml.syntax@1:9", hint: `quote it: author: "@me"`},
		{name: "backtick", in: "a: `x` and\n", want: "yaml.syntax@1:4", hint: "quote it: a: \"`x` and\""},
		{name: "text behind quotes", in: "a: \"x\" and 'y'\n", want: "yaml.syntax@1:8", hint: `quote it: a: "\"x\" and 'y'"`},
		{name: "open quote", in: "a: b\nc: 'x\n", want: "yaml.syntax@2:4", text: "never closed"},
		{name: "open bracket", in: "a: [x\nb: c\n", want: "yaml.syntax@2:2", text: "opens at 1:4"},
		{name: "list on the line of the key", in: "a: - b\n", want: "yaml.syntax@1:4", text: "a list cannot start here"},
		{name: "no colon", in: "a: b\nnonsense\nc: d\n", want: "yaml.syntax@2:1", text: "neither"},
		{name: "less indented", in: " a: b\nc: d\n", want: "yaml.syntax@2:1", text: "indented less"},
		{name: "escape", in: `a: "\q"` + "\n", want: "yaml.syntax@1:5", text: "escape"},
		{name: "surrogate escape", in: `a: "\ud800"` + "\n", want: "yaml.syntax@1:7", text: "escape"},
	}
	for _, tt := range tests {
		t.Run(tt.row+" "+tt.name, func(t *testing.T) {
			m, faults, _ := Parse([]byte(tt.in))
			if got := showFaults(faults); got != tt.want {
				t.Fatalf("got %s, want %s (%v)", got, tt.want, faults)
			}
			if (m != nil) != (faults[0].ID == IDDuplicateKey) {
				t.Errorf("mapping %v beside %s", m, faults[0].ID)
			}
			if !strings.Contains(faults[0].Text, tt.text) || !strings.Contains(faults[0].Hint, tt.hint) {
				t.Errorf("text %q, hint %q", faults[0].Text, faults[0].Hint)
			}
		})
	}
}

func TestParseBOM(t *testing.T) { // B14
	m, faults, warnings := Parse([]byte("\ufeffname: a\n"))
	if len(faults) > 0 || m.Get("name") == nil {
		t.Fatal(faults)
	}
	if got := showFaults(warnings); got != "yaml.bom@1:1" {
		t.Errorf("warnings %s", got)
	}
}

func TestParseLimits(t *testing.T) {
	exact := "a: " + strings.Repeat("x", MaxBytes-4) + "\n"
	deep := "a: " + strings.Repeat("[", MaxDepth-1) + strings.Repeat("]", MaxDepth-1)
	many := "a: [" + strings.Repeat("x,", MaxNodes-3) + "]\n"
	for _, in := range []string{exact, deep, many} {
		if _, faults, _ := Parse([]byte(in)); len(faults) > 0 {
			t.Errorf("%d bytes: %v", len(in), faults)
		}
	}
}

func TestParseFaultsAreBounded(t *testing.T) {
	_, faults, _ := Parse([]byte(strings.Repeat("a:\n", 20000)))
	if len(faults) != maxFaults {
		t.Errorf("%d faults", len(faults))
	}
}

// B16: nesting that is refused must be refused at once. The best of a few runs
// counts, because tests share the machine.
func TestParseDepthIsQuick(t *testing.T) {
	best := time.Hour
	for range 5 {
		start := time.Now()
		Parse([]byte("a: " + strings.Repeat("[", 10001)))
		best = min(best, time.Since(start))
	}
	if best > timetest.Limit(200*time.Millisecond) {
		t.Errorf("took %v", best)
	}
}

// Each of these is at the size limit and was chosen to make a reader go back
// and forth. The bound is far above what is measured (23 ms at most), and far
// below what one quadratic step would take.
func TestParseIsLinear(t *testing.T) {
	for name, in := range map[string]string{
		"comments":     strings.Repeat("#\n", 32000) + "a: b",
		"comments in":  "a: b\n" + strings.Repeat("a: b #\n#\n\n", 6000),
		"keys":         strings.Repeat("a:\n", 20000),
		"list":         "a: [" + strings.Repeat("a,", 32000) + "]",
		"block":        "a: |\n" + strings.Repeat("\n", 65000),
		"escaped":      "a: \"" + strings.Repeat("\\\n", 32000) + "\"",
		"anchors":      strings.Repeat("&a ", 20000),
		"two-byte":     "a: " + strings.Repeat("é", 32000) + ": b",
		"long columns": "{" + strings.Repeat("é: b, ", 9000) + "}",
	} {
		start := time.Now()
		Parse([]byte(in))
		if took := time.Since(start); took > timetest.Limit(3*time.Second) {
			t.Errorf("%s: %v", name, took)
		}
	}
}

func TestGet(t *testing.T) {
	var none *Mapping
	if none.Get("a") != nil || none.Entry("a") != nil {
		t.Error("a nil mapping has keys")
	}
	m, _, _ := Parse([]byte("a: 1\nb: yes\nc: 'yes'\nd:\n"))
	if m.Entry("b").Line != 2 || m.Get("x") != nil {
		t.Error("wrong entry")
	}
	got := []string{m.Get("a").ReadsAs(), m.Get("b").ReadsAs(), m.Get("c").ReadsAs(), m.Get("d").ReadsAs()}
	if diff := cmp.Diff([]string{"number", "true or false", "", "null"}, got); diff != "" {
		t.Error(diff)
	}
}

const frontmatter = `---
name: brand-guidelines
description: Applies brand colors and typography to any sort of artifact that may benefit from a look and feel. Use it when brand colors or style guidelines apply.
license: Complete terms in LICENSE.txt
compatibility: needs python
metadata:
  version: "1.0"
  author: acme
allowed-tools: Read Write
tags:
  - one
`

// BenchmarkParse is the frontmatter of one skill; 1,000 of them are checked
// within 300 ms together with everything else.
func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, faults, _ := Parse([]byte(frontmatter)); len(faults) > 0 {
			b.Fatal(faults)
		}
	}
}
