package yamledit

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// samePlain compares the short way with the library, where the short way is taken.
func samePlain(t *testing.T, data []byte) bool {
	t.Helper()
	s := newSource(data)
	if s.checkText() != nil || s.checkDirectives() != nil {
		return false
	}
	m := s.plain()
	if m == nil {
		return false
	}
	want, faults := newSource(data).any()
	if len(faults) > 0 {
		t.Fatalf("%q: the library says %s", data, showFaults(faults))
	}
	if d := cmp.Diff(want, m, cmp.AllowUnexported(Entry{})); d != "" {
		t.Fatalf("%q:\n%s", data, d)
	}
	return true
}

func TestPlainIsWhatTheLibraryReads(t *testing.T) {
	keys := []string{"name", "a", "description", "allowed-tools", "true", "null", "y", "e1", "K_2", "a-", "é", "1a", "-a", "a b", "", "~", "<<", "? a", "\"q\"", " a", "a:b", strings.Repeat("k", 101)}
	betweens := []string{": ", ": ", ": ", ": ", ": ", ":", ":  ", " : ", ":\t", ": \t", ""}
	values := []string{
		"Sorts messages by what they are about.", "text", "1.0.3", "0x1f", "1e3", "2024-01-01", "2024-01-01 10:00:00", "true", "No", "null", "NULL", "nUll", "nulls", "~", "", " ", ".5", ".inf", "-", "- a", "-1",
		"a: b", "a:b", "a:", "a :b", "a::", "http://a.b/c?d=e&f#g", "a #b", "a#b", "a# b", "#a", "a ", "a\t", "a\tb", "a\r", "\"a\"", "a \"b\" 'c'", "it's", "'a'", "[a]", "a [b], {c}", "{a}", "a}", "&a", "*a", "a & b * c", "!a", "a! b",
		"|", ">", "a | b > c", "%a", "a % b", "@a", "a @ b", "`a`", "a `b`", "é", "a é — 中 😀", "a\u00a0b", "a\ufffd", "? a", "a ? b", "a - b", "--- a", "a ---", "...", "a ...", "Bash(git add:*) Read", "a,b, c", "<<", "= a", "0", "0o17", "1_000", "12:30:45", "a\\nb", "a\x7f",
	}
	ends := []string{"\n", "\n", "\n", "\n", "\n", "\n", "\n\n", "\r\n", "\n  ", "\n # c\n", "\n---\n", "\n...\n", "\n- a\n", ""}
	starts := []string{"", "", "---\n", "---\n", "---\n", "--- \n", "---\r\n", "---\n---\n", "\n", "# c\n", "%YAML 1.2\n---\n", "\ufeff", "---", " "}
	rng := rand.New(rand.NewPCG(1, 1))
	pick := func(list []string) string {
		if rng.IntN(8) > 0 { // most stand as they may
			return list[rng.IntN(len(list))/4]
		}
		return list[rng.IntN(len(list))]
	}
	taken := 0
	for range 60_000 {
		var b strings.Builder
		b.WriteString(pick(starts))
		for range 1 + rng.IntN(3) {
			b.WriteString(pick(keys) + pick(betweens) + values[rng.IntN(len(values))] + pick(ends))
		}
		if samePlain(t, []byte(b.String())) {
			taken++
		}
	}
	if taken < 5_000 || taken > 50_000 {
		t.Errorf("the short way was taken for %d texts of 60,000", taken)
	}
}

// What is read the short way is so on purpose: a text that it is made for is taken, and one
// that could be read in another way is not.
func TestPlainIsTaken(t *testing.T) {
	for text, want := range map[string]bool{
		"---\nname: triage\ndescription: Sorts messages — by what they are about.\n": true,
		"name: a": true, "---\n": false, "": false, "name: a\nname: b\n": false, "name: a\n  b\n": false, "name: a\n\n": false, "a: b # c\n": false,
	} {
		if got := samePlain(t, []byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func FuzzPlain(f *testing.F) {
	addSeeds(func(s string) { f.Add([]byte(s)) })
	f.Fuzz(func(t *testing.T, data []byte) { samePlain(t, data) })
}
