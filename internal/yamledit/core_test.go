package yamledit

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Hosts compare this JSON with what they make of the same text themselves, by the
// core schema of YAML 1.2.
func TestCoreJSON(t *testing.T) {
	for _, tt := range []struct{ yaml, want string }{
		{"a: 2026-01-02", `{"a":"2026-01-02"}`},
		{"a: 010", `{"a":10}`},
		{"a: 0o10", `{"a":8}`},
		{"a: 0x1F", `{"a":31}`},
		{"a: -0x1F", `{"a":"-0x1F"}`},
		{"a: 0b11", `{"a":"0b11"}`},
		{"a: 1_000", `{"a":"1_000"}`},
		{"a: 1e3", `{"a":1000}`},
		{"a: 1.50", `{"a":1.5}`},
		{"a: .5", `{"a":0.5}`},
		{"a: 5.", `{"a":5}`},
		{"a: .", `{"a":"."}`},
		{"a: 1.2.3", `{"a":"1.2.3"}`},
		{"a: +12", `{"a":12}`},
		{"a: -0", `{"a":-0}`},
		{"a: 123456789012345678901234567890", `{"a":123456789012345678901234567890}`},
		{"a: 12:30", `{"a":"12:30"}`},
		{"a: yes", `{"a":"yes"}`},
		{"a: On", `{"a":"On"}`},
		{"a: True", `{"a":true}`},
		{"a: tRue", `{"a":"tRue"}`},
		{"a: ~", `{"a":null}`},
		{"a:", `{"a":null}`},
		{"a: Null", `{"a":null}`},
		{"a: nUll", `{"a":"nUll"}`},
		{`a: "1"`, `{"a":"1"}`},
		{`a: 'true'`, `{"a":"true"}`},
		{"a: |\n  1\n", `{"a":"1\n"}`},
		{"a: >-\n  one\n  two\n", `{"a":"one two"}`},
		{"a: [1, 'x', [true], {b: c}]", `{"a":[1,"x",[true],{"b":"c"}]}`},
		{"a:\n  - 1\n  - b: 2\n", `{"a":[1,{"b":2}]}`},
		{"a: \"\\u2028<\"", "{\"a\":\"\\u2028\\u003c\"}"},
		{`"1": x`, `{"1":"x"}`},
		{"a: 1e", `{"a":"1e"}`},
		{"a: 1e400", ""},
		{"a: .inf", ""},
		{"a: -.INF", ""},
		{"a: .nan", ""},
		{"1: x", ""},
		{"true: x", ""},
		{"a: {1.0: x}", ""},
	} {
		m, faults, _ := Parse([]byte(tt.yaml))
		if len(faults) > 0 {
			t.Errorf("%q: %v", tt.yaml, faults[0])
			continue
		}
		got, err := m.CoreJSON()
		if (err != nil) != (tt.want == "") || err == nil && string(got) != tt.want {
			t.Errorf("%q: %s, %v; want %s", tt.yaml, got, err, tt.want)
		}
	}
}

// Whatever can be parsed becomes JSON that can be read, or is refused.
func FuzzCoreJSON(f *testing.F) {
	for _, seed := range []string{"a: 1", "a: [.inf]", "name: x\nmetadata: {v: 1.0}", "a: -0", "a: 0x", "? a\n: b", "a: +"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, faults, _ := Parse(data)
		if len(faults) > 0 {
			return
		}
		out, err := m.CoreJSON()
		if err != nil {
			return
		}
		var read map[string]any
		if err := json.Unmarshal(out, &read); err != nil {
			t.Fatalf("%q became %q: %v", data, out, err)
		}
		again, _ := m.CoreJSON()
		if diff := cmp.Diff(string(out), string(again)); diff != "" {
			t.Error(diff)
		}
	})
}
