package sign

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func decodeNumbers(t testing.TB, data []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestKazmaCanonicalJSONVectors(t *testing.T) {
	vectors := readKazmaVectors(t).RegistryManifestChecksum
	if len(vectors) < 2 {
		t.Fatalf("only %d vectors were read", len(vectors))
	}
	for _, v := range vectors {
		got, err := KazmaCanonicalJSON(decodeNumbers(t, v.Data))
		if err != nil || string(got) != v.Canonical {
			t.Errorf("got %s, %v, want %s", got, err, v.Canonical)
		}
		if sum := Checksum(got); sum != v.SHA256 {
			t.Errorf("%s: checksum %s, want %s", v.Canonical, sum, v.SHA256)
		}
	}
}

func TestKazmaCanonicalJSON(t *testing.T) {
	deep := any("x")
	for range 33 {
		deep = []any{deep}
	}
	for _, tt := range []struct {
		name string
		in   any
		want string // empty: refused
	}{
		{"nothing", nil, "null"},
		{"bools", []any{true, false}, "[true, false]"},
		{"ints", []any{1, int64(-2), uint64(math.MaxUint64), json.Number("-0"), json.Number("123456789012345678901234567890")}, "[1, -2, 18446744073709551615, 0, 123456789012345678901234567890]"},
		{"floats", []any{1.0, math.Copysign(0, -1), 0.1, 1e15, 1e16, 1.5e300, 0.0001, 0.00001, 123456.789, 5e-324}, "[1.0, -0.0, 0.1, 1000000000000000.0, 1e+16, 1.5e+300, 0.0001, 1e-05, 123456.789, 5e-324]"},
		{"float literals", []any{json.Number("1.50"), json.Number("1E2"), json.Number("1e-7"), json.Number("-0.0")}, "[1.5, 100.0, 1e-07, -0.0]"},
		{"empty", map[string]any{"a": []any{}, "b": map[string]any{}}, `{"a": [], "b": {}}`},
		{"order by code point", map[string]any{"\U0001F511": 1, "\ufb01": 2, "a": 3, "B": 4, "aa": 5}, "{\"B\": 4, \"a\": 3, \"aa\": 5, \"\ufb01\": 2, \"\U0001F511\": 1}"},
		{"text", "<&>/\u007f\u2028é\x00\x1f\b\f\n\r\t\"\\", "\"<&>/\u007f\u2028é\\u0000\\u001f\\b\\f\\n\\r\\t\\\"\\\\\""},
		{"lists of text", map[string]string{"a": "b"}, `{"a": "b"}`},
		{"text lists", []string{"a", "b"}, `["a", "b"]`},
		{"not a number", math.NaN(), ""},
		{"infinite", math.Inf(1), ""},
		{"infinite literal", json.Number("1e999"), ""},
		{"no number", json.Number("one"), ""},
		{"longer than Python reads", json.Number(strings.Repeat("9", 4301)), ""},
		{"not UTF-8", "a\xff", ""},
		{"key not UTF-8", map[string]any{"a\xff": 1}, ""},
		{"other type", struct{}{}, ""},
		{"too deep", deep, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := KazmaCanonicalJSON(tt.in)
			if tt.want == "" {
				wantID(t, err, IDFormat)
				return
			}
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}

// One run of Python judges many values, so that the test is quick.
func TestCanonicalJSONAgreesWithPython(t *testing.T) {
	python := need(t, "python3")
	value := rapid.Custom(func(t *rapid.T) any {
		return rapid.OneOf(
			rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.String().AsAny(), rapid.Int().AsAny(),
			rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).AsAny(), rapid.Float64Range(-2, 2).AsAny(),
			rapid.SliceOfN(rapid.String().AsAny(), 0, 3).AsAny(), rapid.MapOfN(rapid.String(), rapid.Float64Range(0, 1e18).AsAny(), 0, 4).AsAny(),
		).Draw(t, "value")
	})
	var input, want bytes.Buffer
	for i := range 500 {
		v := map[string]any{"v": value.Example(i)}
		line, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		canonical, err := KazmaCanonicalJSON(decodeNumbers(t, line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		input.Write(append(line, '\n'))
		want.Write(append(canonical, '\n'))
	}
	script := `import json,sys
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(json.dumps(json.loads(line), sort_keys=True, ensure_ascii=False).encode() + b"\n")`
	got := strings.Split(run(t, input.Bytes(), python, "-c", script), "\n")
	for i, line := range strings.Split(want.String(), "\n") {
		if i >= len(got) || got[i] != line {
			t.Fatalf("line %d:\nours   %s\npython %s", i, line, got[min(i, len(got)-1)])
		}
	}
}
