package deliver

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/pack"
)

func written(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	must(t, err)
	return append(data, '\n')
}

// quickly holds the quick way to read against strictjson: it may refuse, and what it
// takes is the same.
func quickly(t testing.TB, data []byte) (taken bool) {
	t.Helper()
	for _, v := range []interface{ quick([]byte) bool }{new(receipts), new(memory)} {
		if !v.quick(data) {
			if !reflect.ValueOf(v).Elem().IsZero() {
				t.Fatalf("%q is refused, and half of it taken", data)
			}
			continue
		}
		taken = true
		strict := reflect.New(reflect.TypeOf(v).Elem()).Interface()
		if err := strictjson.Unmarshal(data, strict); err != nil {
			t.Fatalf("%q is taken as %T: %v", data, v, err)
		}
		if diff := cmp.Diff(strict, v); diff != "" {
			t.Fatalf("%q is read as something else: %s", data, diff)
		}
	}
	return taken
}

// TestWhatIsRememberedIsReadQuickly: the quick way takes all that is written without a
// character that JSON escapes, and reads it as it was.
func TestWhatIsRememberedIsReadQuickly(t *testing.T) {
	digest := pack.DigestFiles(nil)
	when := time.Unix(1700000000, 0).UTC()
	generation := int64(7)
	full := receipts{
		V: 1, Dir: "/home/x y/skills", Origin: "own", Catalogue: "abc", Claimed: true, Registered: "r", VerifiedAt: when,
		Skills: []receipt{
			{Folder: "a", Slug: "a", Digest: digest},
			{Folder: "b", Slug: "ü", Author: "acme", Version: "1", Digest: digest, Signed: true, Marker: "m", Pending: "p", Stamp: "s", Names: ".kx-owned//SKILL.md", Held: true},
			{},
		},
	}
	seen := memory{
		V: 1, Origin: "own", Rules: `"" "" false`, ETag: `"etag"`, Generation: &generation, Complete: true, Count: 3, Named: []string{"n"},
		Skipped: []hubapi.ReconcileNote{{Slug: `,"wants":[`, Reason: "why"}}, LastSuccessAt: &when,
		Wants: []memoryWant{{Slug: "a", Folder: "a", Author: "acme", Version: "1", Digest: digest, Release: true, Signed: true}, {}},
	}
	for _, v := range []any{full, seen} {
		if data := written(t, v); !quickly(t, data) {
			t.Errorf("%s is not read quickly", data)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string) string {
			return rapid.OneOf(rapid.StringMatching(`[a-zä -~]{0,5}`), rapid.String()).Draw(t, label)
		}
		r := full
		r.Dir = text("dir")
		r.Skills = []receipt{full.Skills[rapid.IntRange(0, 2).Draw(t, "which")], {Folder: text("folder"), Names: text("names"), Held: rapid.Bool().Draw(t, "held")}}
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, '\n')
		var back receipts
		switch plain := !strings.ContainsAny(r.Skills[1].Folder+r.Skills[1].Names, "\"\\<>&") && !strings.Contains(string(data), `\u`); {
		case !back.quick(data) && plain && !strings.ContainsFunc(r.Skills[1].Folder+r.Skills[1].Names, func(c rune) bool { return c < ' ' }):
			t.Fatalf("%q is not read quickly", data)
		case !reflect.DeepEqual(back, receipts{}) && !reflect.DeepEqual(back, r):
			t.Fatalf("%q is read as %v", data, back)
		}
	})
}

// FuzzWhatIsRemembered: nothing is read that strictjson would refuse or read otherwise.
func FuzzWhatIsRemembered(f *testing.F) {
	for _, text := range []string{
		`{"v":1,"dir":"d","skills":[{"folder":"a","slug":"b","signed":true,"held":false},{}]}`,
		`{"v":1,"dir":"d","skills":[{"slug":"b","folder":"a"}]}`,
		`{"v":1,"dir":"d","skills":[{"folder":"a","folder":"a"}]}`,
		`{"v":1,"dir":"d","skills":[{"folder":"a",}]}`,
		`{"v":1,"dir":"d","skills":[{"folder":"a"}],"skills":[{"folder":"b"}]}`,
		`{"v":1,"x":{"y":1,"skills":[{"folder":"a"}]}`,
		`{"v":1,"rules":",\"wants\":[","wants":[{"slug":"a","folder":"a","digest":"sp1:"}]}`,
		`{"v":1,"wants":[{"slug":"` + "\x7f\u2028\ufeff" + `"}]}`,
	} {
		f.Add([]byte(text + "\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) { quickly(t, data) })
}

// FuzzLockOf: a lock is read from its tree as strictjson reads it.
func FuzzLockOf(f *testing.F) {
	lock := &Lock{Skills: map[string]Locked{"a": lockedSkill("a", 1), "b": lockedSkill("b", 2)}}
	f.Add(lock.Encode())
	for _, text := range []string{
		`{"v":1,"skills":{"a":{"signers":null}}}`, `{"v":1,"skills":{"a":null}}`, `{"v":1.0,"skills":{}}`, `{"v":1,"skills":[]}`,
		`{"v":1,"skills":{"a":{"targets":[{"dir":1}],"history":[],"signers":[]}}}`, `{"v":1,"skills":{"a":{"more":1}}}`, `[]`,
		`{"v":1,"skills":{"a":{"targets":[{"dir":"d","agents":["x"],"mode":"copy","digest":"sp1:"}],"history":[{"source":"s","revision":"r","version":"v","digest":"d"}]}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		root, faults := strictjson.Parse(data)
		if len(faults) > 0 {
			return
		}
		got, ok := lockOf(root)
		if !ok {
			return
		}
		var want lockFile
		if err := strictjson.Unmarshal(data, &want); err != nil {
			t.Fatalf("%q is taken: %v", data, err)
		}
		if want.Skills == nil && len(got.Skills) == 0 {
			want.Skills, got.Skills = nil, nil
		}
		if diff := cmp.Diff(want, got); diff != "" && want.V == got.V {
			t.Fatalf("%q is read as something else: %s", data, diff)
		}
	})
}

// TestALockIsReadOnce: what we write needs no second reading.
func TestALockIsReadOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lock := drawLock(t, "skills")
		root, faults := strictjson.Parse(lock.Encode())
		if len(faults) > 0 {
			t.Fatal(faults[0])
		}
		if file, ok := lockOf(root); !ok || len(file.Skills) != len(lock.Skills) {
			t.Fatalf("%s is read twice", lock.Encode())
		}
	})
}
