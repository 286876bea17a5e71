package yamledit

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

func addSeeds(add func(string)) {
	for _, seed := range []string{
		frontmatter, "", "a: b", "a: &a [*a]\n", "a: b\n---\nc: d\n", "\ufeffa: b\r\nc: 'd'\r\n", "{a: b, c: [d]}",
		"a: |\n  b\n\nc: >-\n d\n", "? a\n: b\n", "a: Use when: x\n", "a: !!str b\n", "\ta: b\n", "a: \"\\x\"\n",
		"a:\n- b\n-  c: d\n   e: f\n", "%YAML 1.1\n---\na: b\n...\n", "é: ü # c\n", "a: *.py\n", "a: b\n  c: d\n",
		"- a", "a: " + strings.Repeat("[", 50), "a: |+\n\n  x\n\n", "a: 'b\n\n  c'\n", "a: \"x\" y\n", "a: @b\n",
	} {
		add(seed)
	}
}

// FuzzParse: no panic, places inside the text, every value where it is said to
// be, and the same answer twice.
func FuzzParse(f *testing.F) {
	addSeeds(func(s string) { f.Add([]byte(s)) })
	f.Fuzz(func(t *testing.T, data []byte) {
		m, faults, warnings := Parse(data)
		again, faultsAgain, _ := Parse(bytes.Clone(data))
		if show(m) != show(again) || showFaults(faults) != showFaults(faultsAgain) {
			t.Fatal("two answers to one text")
		}
		if m == nil && len(faults) == 0 {
			t.Fatal("neither mapping nor fault")
		}
		lines := bytes.Count(data, []byte("\n")) + 1
		for _, fault := range slices.Concat(faults, warnings) {
			if fault.Line < 0 || fault.Line > lines || fault.Column < 0 || fault.Column > len(data)+1 || fault.Text == "" || len(fault.Hint) > 2000 {
				t.Fatalf("fault %+v", fault)
			}
		}
		if len(faults) == 0 {
			checkPlaces(t, data, m)
		}
		if fixed, changed := QuoteColons(data); len(changed) == 0 && !bytes.Equal(fixed, data) {
			t.Fatal("changed without a line")
		}
	})
}

func checkPlaces(t *testing.T, data []byte, m *Mapping) {
	t.Helper()
	for i := range m.Entries {
		checkPlace(t, data, &m.Entries[i].Value)
	}
}

func checkPlace(t *testing.T, data []byte, v *Value) {
	t.Helper()
	rest := data[v.Offset:]
	starts := map[Style]string{SingleQuoted: "'", DoubleQuoted: `"`, Literal: "|", Folded: ">"}
	start, ok := starts[v.Style]
	switch {
	case ok:
	case v.Style == Flow && v.Kind == Sequence, v.Style == Flow && v.Kind == Map:
		// A single pair in a list, [a: b], is a mapping without a bracket.
		if len(rest) == 0 {
			t.Fatalf("%s at the end", showValue(v))
		}
	case v.Text != "":
		start = strings.Fields(v.Text)[0]
	}
	if !bytes.HasPrefix(rest, []byte(start)) {
		t.Fatalf("%s is not at %d:%d", showValue(v), v.Line, v.Column)
	}
	for i := range v.Items {
		checkPlace(t, data, &v.Items[i])
	}
	if v.Kind == Map {
		checkPlaces(t, data, v.Map)
	}
}

// FuzzSetScalars: what can be read can be edited or is refused, and an edit
// changes the two keys and nothing else.
func FuzzSetScalars(f *testing.F) {
	addSeeds(func(s string) {
		f.Add([]byte(s), "a", "x: y", "checksum")
		f.Add([]byte(s), "new", digest, "é")
	})
	f.Fuzz(func(t *testing.T, data []byte, key, value, other string) {
		set := []KeyValue{{key, value}, {other, digest}}
		after, err := SetScalars(data, set)
		if err != nil {
			if _, ok := errors.AsType[*Fault](err); !ok && !errors.Is(err, ErrEdit) {
				t.Fatal(err)
			}
			return
		}
		checkEdit(t, string(data), string(after), set)
	})
}
