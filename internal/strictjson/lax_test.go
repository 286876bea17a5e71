package strictjson_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/internal/timetest"
)

type answer struct {
	Name  string            `json:"name"`
	Items []answerItem      `json:"items"`
	Tools map[string]string `json:"tools"`
	Inner *answerItem       `json:"inner"`
	Any   any               `json:"any"`
	At    time.Time         `json:"at"`

	Looked bool `json:"-"` // set: not empty before, so every value is looked at
}

type answerItem struct {
	N int `json:"n"`
}

func faultID(err error) string {
	if f, ok := errors.AsType[*strictjson.Fault](err); ok {
		return f.ID
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestLaxIsStrictAboutWhatItPassesOver(t *testing.T) {
	deep := strings.Repeat("[", strictjson.MaxDepth) + strings.Repeat("]", strictjson.MaxDepth)
	for name, tt := range map[string]struct{ in, id string }{
		"unknown":                 {`{"new":{"a":[1,{"b":null}],"c":"d"},"name":"x"}`, ""},
		"unknown within":          {`{"items":[{"n":1,"new":[[]]}],"inner":{"new":{}}}`, ""},
		"twice, unknown":          {`{"new":{"a":1,"a":2}}`, "json.duplicate-key"},
		"twice, unknown itself":   {`{"new":1,"new":2}`, "json.duplicate-key"},
		"twice, deep in an array": {`{"new":[[{"a":[],"b":1,"a":{}}]]}`, "json.duplicate-key"},
		"too deep, unknown":       {`{"new":` + deep + `}`, "json.depth"},
		"not UTF-8, unknown":      {"{\"new\":[\"\xff\"]}", "json.invalid-utf8"},
		"cut, unknown":            {`{"new":[{"a":`, "json.syntax"},
		"null, known":             {`{"name":null}`, "json.null"},
		"null, known within":      {`{"new":[1],"items":[{"new":[1],"n":null}]}`, "json.null"},
		"of another kind":         {`{"items":{"a":[1,2]}}`, "json.type"},
		"of another kind within":  {`{"inner":[{"a":1}]}`, "json.type"},
		"any":                     {`{"any":{"a":[1,{"b":null}]}}`, ""},
		"a time":                  {`{"at":"2026-01-02T03:04:05Z"}`, ""},
		"an array for an object":  {`[{"a":1}]`, "json.type"},
	} {
		if got := faultID(strictjson.UnmarshalLax([]byte(tt.in), new(answer))); got != tt.id {
			t.Errorf("%s: %q, want %q", name, got, tt.id)
		}
	}
	var got answer
	in := `{"new":[{"a":[1]}],"items":[{"n":1,"m":[2]},{"n":3}],"tools":{"a":"b"},"name":"x","inner":{"n":4},"more":{}}`
	if err := strictjson.UnmarshalLax([]byte(in), &got); err != nil {
		t.Fatal(err)
	}
	want := answer{Name: "x", Items: []answerItem{{1}, {3}}, Tools: map[string]string{"a": "b"}, Inner: &answerItem{4}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Kilobytes on the wire become megabytes of text: these must not become gigabytes.
func TestManyValuesCostLittle(t *testing.T) {
	const size = 4 << 20
	fill := func(before, unit, after string) string {
		return before + strings.TrimSuffix(strings.Repeat(unit+",", size/(len(unit)+1)), ",") + after
	}
	for name, tt := range map[string]struct{ in, id string }{
		"numbers, unknown": {fill(`{"x":[`, "0", `]}`), ""},
		"arrays, unknown":  {fill(`{"x":[`, "[]", `]}`), ""},
		"objects, unknown": {fill(`{"x":[`, "{}", `]}`), ""},
		"numbers, known":   {fill(`{"items":[`, "0", `]}`), "json.too-many"},
		"objects, known":   {fill(`{"items":[`, "{}", `]}`), "json.too-many"},
		"nulls, any":       {fill(`{"any":[`, "null", `]}`), "json.too-many"},
		"names, unknown":   {fill(`{"x":[`, `{"a":0}`, `]}`), "json.too-many"},
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		begun := time.Now()
		err := strictjson.UnmarshalLax([]byte(tt.in), new(answer))
		took := time.Since(begun)
		runtime.ReadMemStats(&after)
		if got := faultID(err); got != tt.id {
			t.Errorf("%s: %q, want %q", name, got, tt.id)
		}
		if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; grown > 48 || took > timetest.Limit(5*time.Second) {
			t.Errorf("%s: %d MiB were allocated in %v", name, grown, took)
		}
	}
	if _, faults := strictjson.Parse([]byte(fill("[", "0", "]"))); len(faults) != 1 || faults[0].ID != "json.too-many" {
		t.Errorf("%v", faults)
	}
	in := "[" + strings.Repeat("0,", strictjson.MaxNodes-2) + "0]"
	if _, faults := strictjson.Parse([]byte(in)); len(faults) != 0 {
		t.Errorf("%v", faults)
	}
}

// What is filled at once is what would be filled after a look at every value, and
// nothing is filled that the look refuses.
func TestFilledAtOnce(t *testing.T) {
	parts := rapid.SampledFrom([]string{
		"{", "}", "[", "]", ",", ":", " ", `"`, `\\`, "n", "null", "true", "0", "1e9", `"name"`, `"name":"x"`, `"name":null`, `"items":[`,
		`{"n":1}`, `{"n":null}`, `"tools":{"a":"b"}`, `"inner":{"n":2}`, `"inner":null`, `"any":[1,{"b":"n"}]`, `"at":"2026-01-02T03:04:05Z"`,
		`"new":{"a":1}`, `{"a":1,"a":2}`, `"\ud800"`, `"a\"b["`, `"\u0061"`, `"tools":{"\"":"b"},"at":null`, "\xff", "\uFEFF", strings.Repeat("[", 31), strings.Repeat("]", 31),
	})
	rapid.Check(t, func(t *rapid.T) {
		in := []byte("{" + strings.Join(rapid.SliceOfN(parts, 0, 9).Draw(t, "parts"), rapid.SampledFrom([]string{"", ","}).Draw(t, "between")) + "}")
		for _, unmarshal := range []func([]byte, any) error{strictjson.Unmarshal, strictjson.UnmarshalLax} {
			var got answer
			want := answer{Looked: true}
			gotErr, wantErr := unmarshal(in, &got), unmarshal(in, &want)
			got.Looked = true
			if diff := cmp.Diff(wantErr, gotErr); diff != "" {
				t.Fatalf("%s: %s", in, diff)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s: %s", in, diff)
			}
		}
	})
}

func BenchmarkUnmarshalLax(b *testing.B) {
	in := []byte(`{"name":"x","items":[` + strings.TrimSuffix(strings.Repeat(`{"n":1,"more":"of it"},`, 100), ",") + `],"tools":{"a":"b"}}`)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if err := strictjson.UnmarshalLax(in, new(answer)); err != nil {
			b.Fatal(err)
		}
	}
}
