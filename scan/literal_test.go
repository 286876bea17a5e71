package scan

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kortecx/kx/pack"
)

// mixed is a text of pieces and of single bytes, which join to words or do not.
func mixed(rng *rand.Rand, pieces []string) string {
	const between = "   \n\n\t_*>-.:/|`\\\"'=09aAkz\r&;#x1"
	others := []string{"é", "а", "—", "\u200b", "&#97;", "&lt;", "&amp;", "\r\n", "…", "\xff", "中", "\ufe0f", "\u0301"}
	var b strings.Builder
	for range rng.IntN(40) {
		switch rng.IntN(4) {
		case 0:
			b.WriteString(pieces[rng.IntN(len(pieces))])
		case 2:
			if rng.IntN(3) == 0 {
				b.WriteString(others[rng.IntN(len(others))])
			}
		case 1:
			p := pieces[rng.IntN(len(pieces))]
			b.WriteString(p[:rng.IntN(len(p)+1)])
		default:
			b.WriteByte(between[rng.IntN(len(between))])
		}
	}
	return b.String()
}

func TestFinder(t *testing.T) {
	type place struct{ literal, start, end int }
	rng := rand.New(rand.NewPCG(1, 2))
	f := ruleSet().finder
	total := 0
	for range 400 {
		text := mixed(rng, f.literals)
		var want, got []place
		alone, run := 0, 0
		for at := range len(text) {
			if at > 0 && isWord(text[at-1]) && isWord(text[at]) {
				continue
			}
			if isWord(text[at]) {
				if run++; at+1 < len(text) && isWord(text[at+1]) {
					run = 0
				}
				alone = max(alone, run)
			}
			for _, short := range []bool{true, false} {
				for id, s := range slices.Backward(f.literals) {
					if (len(s) == shortest) == short && strings.HasPrefix(text[at:], s) {
						want = append(want, place{id, at, at + len(s)})
					}
				}
			}
		}
		if n := f.each(text, func(literal, start, end int) { got = append(got, place{literal, start, end}) }); n != alone {
			t.Fatalf("%q: %d words stand alone in a row, want %d", text, n, alone)
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(place{})); d != "" {
			t.Fatalf("%q:\n%s", text, d)
		}
		total += len(want)
	}
	if total < 1000 {
		t.Errorf("only %d literals were there to be found", total)
	}
}

// What a pass of its own over the raw text would see, the one over the normal text sees.
func TestOnePassMissesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	set := ruleSet()
	pieces := slices.Concat(secretLiterals(), sentinelSigns().literals)
	for _, s := range slices.Clone(pieces) {
		pieces = append(pieces, strings.ToUpper(s), s+"_", "_"+s, "*"+s, "\n"+s)
	}
	signs, tokens, plain, folded := 0, 0, 0, 0
	for n := range 20_000 {
		file := pack.File{Path: []string{"a.md", "a.py", "a.sh", "a.json"}[n%4], Data: []byte(mixed(rng, pieces))}
		s := &scanner{set: set, name: "a", budget: matchBudget}
		s.prepare([]pack.File{file})
		d := &s.docs[0]
		d.divide(nil)
		s.match(d)
		if d.joined {
			continue
		}
		if plain++; d.kinds&foldByte != 0 {
			folded++
		}
		may := newSentinelText(d.raw()).may
		if missed := may &^ d.seen.signs; missed != 0 {
			t.Fatalf("%q: signs %#x were not seen", d.raw(), missed)
		}
		signs += len(sentinelBits(may))
		set.secrets.each(d.raw(), func(literal, _, _ int) {
			if secretKinds[literal].begins() {
				tokens++
				if d.seen.tokens>>literal&1 == 0 || !beginsWord(d.raw(), secretKinds[literal].literal) {
					t.Fatalf("%q: %q was not seen", d.raw(), secretKinds[literal].literal)
				}
			}
		})
		for i := range secretKinds {
			if k := &secretKinds[i]; k.begins() && beginsWord(d.raw(), k.literal) && d.seen.tokens>>i&1 == 0 {
				t.Fatalf("%q: %q was not seen", d.raw(), k.literal)
			}
		}
	}
	if plain < 1000 || plain == 20_000 || folded < 1000 || signs < 1000 || tokens < 1000 {
		t.Errorf("%d texts, %d with what is folded, %d signs, %d tokens: too few", plain, folded, signs, tokens)
	}
}

func sentinelBits(may uint32) []int {
	var out []int
	for i := range sentinelPatterns {
		if may>>i&1 != 0 {
			out = append(out, i)
		}
	}
	return out
}
