package deliver

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

func someDigest(n int) pack.Digest {
	return pack.Digest("sp1:" + strings.Repeat(fmt.Sprintf("%02x", n%256), 32))
}

func lockedSkill(name string, n int) Locked {
	return Locked{
		Source: "acme/" + name, Revision: fmt.Sprint(n), Author: "acme", Name: name, Version: fmt.Sprint(n),
		Digest: someDigest(n), Format: pack.SkillMD, Targets: []Target{{Dir: ".claude/skills", Agents: []string{"claude-code"}, Mode: AsCopy}},
	}
}

// drawLock gives locks that this kx could have written.
func drawLock(t *rapid.T, label string) *Lock {
	out := &Lock{Skills: map[string]Locked{}}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 4, rapid.ID[string]).Draw(t, label) {
		s := lockedSkill(name, rapid.IntRange(1, 3).Draw(t, "revision"))
		s.Targets = nil
		for _, dir := range slices.Sorted(slices.Values(rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "y", "z"}), 1, 3, rapid.ID[string]).Draw(t, "dirs"))) {
			agents := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"p", "q"}), 1, 2, rapid.ID[string]).Draw(t, "agents")
			slices.Sort(agents)
			s.Targets = append(s.Targets, Target{Dir: dir, Agents: agents, Mode: AsCopy})
		}
		for i := range rapid.IntRange(0, 2).Draw(t, "history") {
			s.History = append(s.History, Past{Source: s.Source, Revision: fmt.Sprint(90 + i), Digest: someDigest(90 + i)})
		}
		out.Skills[name] = s
	}
	return out
}

func TestLockIsReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLock(t, "names")
		data := l.Encode()
		again, err := ParseLock(data)
		must(t, err)
		if !bytes.Equal(again.Encode(), data) {
			t.Fatalf("written again, it is other bytes:\n%s\n%s", data, again.Encode())
		}
		if n := strings.Count(string(data), "\n"); n != len(l.Skills)+5-btoi(len(l.Skills) == 0) {
			t.Fatalf("%d lines for %d skills:\n%s", n, len(l.Skills), data)
		}
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestLockRefusals(t *testing.T) {
	good := string((&Lock{Skills: map[string]Locked{"a": lockedSkill("a", 1), "b": lockedSkill("b", 2)}}).Encode())
	_, err := ParseLock([]byte(good))
	must(t, err)
	replace := func(old, new string) string {
		t.Helper()
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in the lock", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	for name, c := range map[string]struct {
		data, id string
		line     int
	}{
		"conflict":        {replace("    \"a\"", "<<<<<<< HEAD\n    \"a\""), IDLockConflict, 4},
		"middle":          {replace("    \"b\"", "=======\n    \"b\""), IDLockConflict, 5},
		"newer":           {replace(`"v": 1`, `"v": 2`), IDLockVersion, 0},
		"unknown member":  {replace(`"revision"`, `"revizion"`), IDLockInvalid, 0},
		"no version":      {replace("  \"v\": 1,\n", ""), IDLockInvalid, 0},
		"twice":           {replace(`"b":`, `"a":`), "json.duplicate-key", 5},
		"password":        {replace("acme/a", "https://me:secret@example.org/a.git"), IDLockSecret, 4},
		"digest":          {replace(string(someDigest(1)), "sp1:00"), IDLockInvalid, 4},
		"mode":            {replace(`"copy"`, `"move"`), IDLockInvalid, 4},
		"only a link":     {replace(`"copy"`, `"link"`), IDLockInvalid, 4},
		"folder name":     {replace(`"a":`, `"../a":`), IDLockInvalid, 4},
		"skills are null": {"{\n  \"v\": 1,\n  \"skills\": null\n}\n", IDLockInvalid, 3},
		"empty":           {"", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseLock([]byte(c.data))
			if err == nil {
				t.Fatal("it was taken")
			}
			e := hubapi.AsError(err)
			if c.id != "" && e.Details[0].ID != c.id || c.line != 0 && e.Details[0].Line != c.line {
				t.Errorf("%v %+v, want %s in line %d", err, e.Details, c.id, c.line)
			}
			if strings.Contains(err.Error(), "secret@") {
				t.Errorf("the message repeats the password: %v", err)
			}
		})
	}
}

func merged(t fatal, base, ours, theirs *Lock) ([]byte, []string) {
	t.Helper()
	data, conflicts, err := MergeLocks(base.Encode(), ours.Encode(), theirs.Encode())
	must(t, err)
	return data, conflicts
}

// Peers: no entry is dropped in a merge.
func TestLockMergeLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, ours, theirs := drawLock(t, "base"), drawLock(t, "ours"), drawLock(t, "theirs")
		data, conflicts := merged(t, base, ours, theirs)
		other, otherConflicts := merged(t, base, theirs, ours)
		same(t, conflicts, otherConflicts)
		if len(conflicts) == 0 && !bytes.Equal(data, other) {
			t.Fatalf("the order of the sides matters:\n%s\n%s", data, other)
		}
		if again, c := merged(t, base, ours, ours); len(c) > 0 || !bytes.Equal(again, ours.Encode()) {
			t.Fatalf("a lock merged with itself is another:\n%s", again)
		}
		if same, c := merged(t, base, ours, base); len(c) > 0 || !bytes.Equal(same, ours.Encode()) {
			t.Fatalf("a side that changed nothing changes the other:\n%s", same)
		}
		for name, s := range ours.Skills {
			_, inTheirs := theirs.Skills[name]
			if _, inBase := base.Skills[name]; !inTheirs && inBase && sameEntry(base.Skills[name], s) {
				continue // they removed what we left alone
			}
			if !bytes.Contains(data, []byte(fmt.Sprintf("    %q: ", name))) {
				t.Fatalf("%s is lost:\n%s", name, data)
			}
		}
		if len(conflicts) > 0 {
			_, err := ParseLock(data)
			refused(t, err, hubapi.Invalid, IDLockConflict)
			checkTaken(t, data, conflicts, ours, theirs)
			for _, name := range conflicts {
				for _, side := range []*Lock{ours, theirs} {
					if s, ok := side.Skills[name]; ok && !bytes.Contains(data, lockLine(name, s)) {
						t.Fatalf("the conflict about %s does not show both sides:\n%s", name, data)
					}
				}
			}
			return
		}
		l, err := ParseLock(data)
		must(t, err)
		for name := range l.Skills {
			if _, ok := ours.Skills[name]; !ok {
				if _, ok := theirs.Skills[name]; !ok {
					t.Fatalf("%s came from nowhere", name)
				}
			}
		}
	})
}

// checkTaken takes one side of each conflict as it stands, as an editor does. A comma was
// left behind where the side of the last one had nothing.
func checkTaken(t *rapid.T, data []byte, conflicts []string, ours, theirs *Lock) {
	t.Helper()
	var out []byte
	takeOurs, within, second := false, false, false
	for line := range bytes.Lines(data) {
		switch {
		case bytes.HasPrefix(line, []byte("<<<<<<<")):
			takeOurs, within, second = rapid.Bool().Draw(t, "take ours"), true, false
		case bytes.HasPrefix(line, []byte("=======")):
			second = true
		case bytes.HasPrefix(line, []byte(">>>>>>>")):
			within = false
		case !within || takeOurs != second:
			out = append(out, line...)
		}
	}
	l, err := ParseLock(out)
	if err != nil {
		t.Fatalf("%v\n%s\nfrom\n%s", err, out, data)
	}
	for _, name := range conflicts {
		if s, ok := l.Skills[name]; ok && !sameEntry(s, ours.Skills[name]) && !sameEntry(s, theirs.Skills[name]) {
			t.Fatalf("%s is of neither side:\n%s", name, out)
		}
	}
}

// A hand that merges leaves a comma too many, or one too few.
func TestALockThatIsNoJSONSaysHowToMendIt(t *testing.T) {
	for text, hint := range map[string]string{
		"{\n  \"v\": 1,\n  \"skills\": {\n    \"a\": {},\n  }\n}\n":                "take out the comma at line 4: each skill has one line",
		"{\n  \"v\": 1,\n  \"skills\": {\n    ,\"a\": {}\n  }\n}\n":                "take out the comma at line 4: each skill has one line",
		"{\n  \"v\": 1,\n  \"skills\": {\n    \"a\": {}\n    \"b\": {}\n  }\n}\n":  "each skill has one line, and all of these lines but the last end with a comma",
		"{\n  \"v\": 1,\n  \"skills\": {\n    \"a\": {},\n    \"a\": {}\n  }\n}\n": "each skill has one line",
	} {
		_, err := ParseLock([]byte(text))
		if e := hubapi.AsError(err); !strings.HasPrefix(e.Hint, hint) {
			t.Errorf("%v, hint %q, want %q", err, e.Hint, hint)
		}
	}
}

func TestLockMergeTakesWholeRevisions(t *testing.T) {
	base := &Lock{Skills: map[string]Locked{"a": lockedSkill("a", 1)}}
	ours, theirs := base.clone(), base.clone()
	updated := lockedSkill("a", 2)
	updated.follows(base.Skills["a"])
	ours.Skills["a"] = updated
	moved := theirs.Skills["a"]
	moved.Targets = append(moved.Targets, Target{Dir: ".codex/skills", Agents: []string{"codex"}, Mode: AsCopy})
	theirs.Skills["a"] = moved
	data, conflicts := merged(t, base, ours, theirs)
	same(t, []string(nil), conflicts)
	l, err := ParseLock(data)
	must(t, err)
	want := updated.clone()
	want.Targets = moved.Targets
	same(t, want, l.Skills["a"])
}

func TestHistoryIsBoundedAndHasNothingTwice(t *testing.T) {
	s := lockedSkill("a", 1)
	for n := 2; n < 12; n++ {
		next := lockedSkill("a", n)
		next.follows(s)
		s = next
	}
	same(t, maxHistory, len(s.History))
	back := lockedSkill("a", 9)
	back.follows(s)
	same(t, []string{"11", "10", "8", "7", "6"}, slices.Collect(func(yield func(string) bool) {
		for _, p := range back.History {
			yield(p.Revision)
		}
	}))
}

func FuzzParseLock(f *testing.F) {
	f.Add((&Lock{}).Encode())
	f.Add((&Lock{Skills: map[string]Locked{"a": lockedSkill("a", 1)}}).Encode())
	f.Add([]byte("{\"v\": 1, \"skills\": {}}\n=======\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseLock(data)
		if err != nil {
			return
		}
		again, err := ParseLock(l.Encode())
		if err != nil {
			t.Fatalf("what was read is refused when it is written: %v\n%s", err, l.Encode())
		}
		if !slices.Equal(slices.Sorted(maps.Keys(l.Skills)), again.Names()) || !bytes.Equal(l.Encode(), again.Encode()) {
			t.Fatalf("it does not settle:\n%s\n%s", l.Encode(), again.Encode())
		}
	})
}

func TestMergeText(t *testing.T) {
	for name, c := range map[string]struct {
		base, ours, theirs, want string
		ok                       bool
	}{
		"apart":            {"a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n", true},
		"same change":      {"a\nb\n", "a\nB\n", "a\nB\n", "a\nB\n", true},
		"same line":        {"a\nb\n", "a\nB\n", "a\nX\n", "", false},
		"touching":         {"a\nb\n", "A\nb\n", "a\nB\n", "", false},
		"added at the end": {"a\nb\nc\n", "0\na\nb\nc\n", "a\nb\nc\nd\n", "0\na\nb\nc\nd\n", true},
		"binary":           {"a\x00\n", "b\x00\n", "a\x00\nc\n", "", false},
		"line ends":        {"a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n", "a\r\nb\r\nC", "A\r\nb\r\nC", true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := MergeText([]byte(c.base), []byte(c.ours), []byte(c.theirs))
			if ok != c.ok || string(got) != c.want {
				t.Errorf("%q %t, want %q %t", got, ok, c.want, c.ok)
			}
		})
	}
}

func TestMergeTextLaws(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "d\n"}), 0, 12).Draw(t, "lines"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		base, ours, theirs := []byte(text.Draw(t, "base")), []byte(text.Draw(t, "ours")), []byte(text.Draw(t, "theirs"))
		got, ok := MergeText(base, ours, theirs)
		turned, okTurned := MergeText(base, theirs, ours)
		if ok != okTurned || !bytes.Equal(got, turned) {
			t.Fatalf("the order of the sides matters: %q %t, %q %t", got, ok, turned, okTurned)
		}
		if same, ok := MergeText(base, ours, base); !ok || !bytes.Equal(same, ours) {
			t.Fatalf("a side without changes gives %q %t, want %q", same, ok, ours)
		}
		if same, ok := MergeText(base, ours, ours); !ok || !bytes.Equal(same, ours) {
			t.Fatalf("two equal sides give %q %t, want %q", same, ok, ours)
		}
	})
}
