package scan

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// What is skipped in texts without escapes holds nothing that looks encoded.
func TestSkippedTextHoldsNothingEncoded(t *testing.T) {
	const alphabet = "aB1cD2eF3=+ \n."
	rng := rand.New(rand.NewPCG(4, 2))
	found := 0
	for range 20_000 {
		text := make([]byte, rng.IntN(160))
		for i := range text {
			text[i] = alphabet[rng.IntN(len(alphabet)-1-rng.IntN(4))]
			if rng.IntN(12) > 0 {
				text[i] = alphabet[rng.IntN(9)]
			}
		}
		kinds := kindsOf(string(text))
		if kinds&codeByte != 0 {
			t.Fatalf("%q has an escape", text)
		}
		fast, slow := findEncoded(text, kinds), findEncoded(text, kinds|codeByte)
		if d := cmp.Diff(slow, fast, cmp.AllowUnexported(blob{})); d != "" {
			t.Fatalf("%q:\n%s", text, d)
		}
		found += len(slow)
	}
	if found < 1000 {
		t.Errorf("only %d of the texts held something, so nothing was compared", found)
	}
}

func TestLower(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for start := range 16 {
		from := all[start:]
		want := make([]byte, len(from))
		for i, c := range from {
			want[i] = c
			if c < utf8.RuneSelf {
				want[i] = byte(unicode.ToLower(rune(c)))
			}
		}
		if got := lowerASCII(string(from)); got != string(want) {
			t.Errorf("from %d on: %q", start, got)
		}
		to := slices.Clone(from)
		if lower(to, to); string(to) != string(want) {
			t.Errorf("in place, from %d on: %q", start, to)
		}
	}
}

func TestKindsOf(t *testing.T) {
	for size := range 20 {
		for at := range size {
			text := bytes.Repeat([]byte{'a'}, size)
			text[at] = '@'
			if kindsOf(text) != classes['@']|kindsOf(strings.Repeat("a", size-1)) || kindsOf(string(text)) != kindsOf(text) {
				t.Errorf("%q: %#x", text, kindsOf(text))
			}
		}
	}
}

func TestSeek(t *testing.T) {
	for size := range 20 {
		for place := range size + 1 {
			text := bytes.Repeat([]byte{'a'}, size)
			if place < size {
				text[place] = '@'
			}
			for at := range size + 1 {
				want := place
				if at > place {
					want = size
				}
				if got := seek(text, at, mailByte|tagByte); got != want || seek(string(text), at, mailByte) != want {
					t.Errorf("%q from %d on: %d, want %d", text, at, got, want)
				}
			}
		}
	}
}

func TestHoldsRare(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		text, literal := make([]byte, rng.IntN(60)), make([]byte, 1+rng.IntN(4))
		for i := range text {
			text[i] = "ppppp-q "[rng.IntN(8)]
		}
		for i := range literal {
			literal[i] = "pp-q"[rng.IntN(4)]
		}
		if got, want := holdsRare(string(text), string(literal), rarest(string(literal))), bytes.Contains(text, literal); got != want {
			t.Fatalf("%q in %q: %v", literal, text, got)
		}
	}
	for _, text := range []string{"", "w", "assword", "password", "wwassword", "asswor", "assw assword", "ssword", "xassWord", "aassword"} {
		if got, want := holdsRare(text, "assword", 3), strings.Contains(text, "assword"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
