package yamledit

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func scalar(s string) Value { return Value{Kind: Scalar, Text: s} }

func pairs(kv ...string) Value {
	m := &Mapping{}
	for i := 0; i < len(kv); i += 2 {
		m.Entries = append(m.Entries, Entry{Key: kv[i], Value: scalar(kv[i+1])})
	}
	return Value{Kind: Map, Map: m}
}

func TestAddItem(t *testing.T) {
	for _, tt := range []struct {
		name, before string
		path         string
		item         Value
		after        string
	}{
		{"nothing is there", "v: 1\n", "list", scalar("a"), "v: 1\nlist:\n  - a\n"},
		{"nothing below", "v: 1\n", "a b", scalar("x"), "v: 1\na:\n  b:\n    - x\n"},
		{"behind comments of another key", "list: # mine\n  # the first\n  - a # one\n\n# of v\nv: 1\n", "list", scalar("b"), "list: # mine\n  # the first\n  - a # one\n  - b\n\n# of v\nv: 1\n"},
		{"not indented", "list:\n- a\nv: 1\n", "list", scalar("b"), "list:\n- a\n- b\nv: 1\n"},
		{"a mapping", "list:\n  - k: 1\n    l: [2]\n", "list", pairs("k", "x: y", "l", "z"), "list:\n  - k: 1\n    l: [2]\n  - k: \"x: y\"\n    l: z\n"},
		{"brackets", "list: [a] # c\n", "list", scalar("b"), "list: [a, \"b\"] # c\n"},
		{"empty brackets", "list: [] # c\nv: 1\n", "list", pairs("k", "w"), "list: # c\n  - k: w\nv: 1\n"},
		{"brackets in brackets", "m: {list: [], v: 1}\n", "m list", pairs("k", "w"), "m: {list: [{\"k\": \"w\"}], v: 1}\n"},
		{"a key in brackets", "m: {v: 1}\n", "m list", scalar("b"), "m: {v: 1, \"list\": [\"b\"]}\n"},
		{"a key in empty brackets", "m: {}\n", "m list", scalar("b"), "m: {\"list\": [\"b\"]}\n"},
		{"a key in lines", "m:\n  v: 1\n\nw: 2\n", "m list", scalar("b"), "m:\n  v: 1\n  list:\n    - b\n\nw: 2\n"},
		{"no value", "list: # none yet\nv: 1\n", "list", scalar("b"), "list: # none yet\n  - b\nv: 1\n"},
		{"no line end at the end", "list:\n  - a", "list", scalar("b"), "list:\n  - a\n  - b"},
		{"carriage returns", "list:\r\n  - a\r\n", "list", scalar("b"), "list:\r\n  - a\r\n  - b\r\n"},
		{"a list in an item", "list:\n  - k: [a]\n    v: 1\n", "list 0 k", scalar("b"), "list:\n  - k: [a, \"b\"]\n    v: 1\n"},
	} {
		got, err := AddItem([]byte(tt.before), strings.Fields(tt.path), tt.item)
		if err != nil || string(got) != tt.after {
			t.Errorf("%s: %v\n%s\nwant\n%s", tt.name, err, got, tt.after)
		}
	}
}

func TestReplaceItem(t *testing.T) {
	other := scalar("z")
	for _, tt := range []struct {
		name, before string
		at           int
		item         *Value
		after        string
	}{
		{"the first", "list:\n  # of a\n  - a\n  - b\n", 0, nil, "list:\n  # of a\n  - b\n"},
		{"the last", "list:\n  - a\n  - k: 1\n    l: 2\nv: 1\n", 1, nil, "list:\n  - a\nv: 1\n"},
		{"the only one", "list: # mine\n  - a\nv: 1\n", 0, nil, "list: [] # mine\nv: 1\n"},
		{"in place", "list:\n  - a # c\n  - b\n", 0, &other, "list:\n  - z\n  - b\n"},
		{"first in brackets", "list: [a, \"b, c\", d]\n", 0, nil, "list: [\"b, c\", d]\n"},
		{"last in brackets", "list: [a, \"b, c\"]\n", 1, nil, "list: [a]\n"},
		{"only one in brackets", "list: [{a: 1}]\n", 0, nil, "list: []\n"},
		{"in place in brackets", "list: [a, b]\n", 1, &other, "list: [a, \"z\"]\n"},
	} {
		got, err := ReplaceItem([]byte(tt.before), []string{"list"}, tt.at, tt.item)
		if err != nil || string(got) != tt.after {
			t.Errorf("%s: %v\n%s\nwant\n%s", tt.name, err, got, tt.after)
		}
	}
}

func TestListsThatAreNotEdited(t *testing.T) {
	for name, text := range map[string]string{
		"a text":        "list: a\n",
		"a mapping":     "list: {a: 1}\n",
		"a folded item": "list:\n  - >\n    a\n    b\n",
		"several lines": "list:\n  - a\n    b\n",
	} {
		got, err := AddItem([]byte(text), []string{"list"}, scalar("b"))
		if !errors.Is(err, ErrEdit) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
	if _, err := ReplaceItem([]byte("list: [a]\n"), []string{"list"}, 1, nil); !errors.Is(err, ErrEdit) {
		t.Errorf("an item that is not there: %v", err)
	}
}

// What is added and removed again leaves every byte of the rest where it was.
func TestAddedAndRemovedLeavesTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := drawManifest(t)
		item := scalar(rapid.String().Filter(func(s string) bool { return len(s) < 200 }).Draw(t, "item"))
		after, err := AddItem([]byte(before), []string{"zz-list"}, item)
		if err != nil {
			return
		}
		m, faults, _ := Parse(after)
		if len(faults) > 0 || m.Get("zz-list") == nil || len(m.Get("zz-list").Items) != 1 {
			t.Fatalf("%v\n%s", faults, after)
		}
		twice, err := AddItem(after, []string{"zz-list"}, scalar("second"))
		if err != nil {
			t.Fatalf("%v\n%s", err, after)
		}
		back, err := ReplaceItem(twice, []string{"zz-list"}, 1, nil)
		if err != nil || string(back) != string(after) {
			t.Fatalf("%v\n%q\n%q", err, back, after)
		}
	})
}
