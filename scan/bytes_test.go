package scan

import (
	"math/rand/v2"
	"strings"
	"testing"

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
		fast, slow := findEncoded(string(text), kinds), findEncoded(string(text), kinds|codeByte)
		if d := cmp.Diff(slow, fast, cmp.AllowUnexported(blob{})); d != "" {
			t.Fatalf("%q:\n%s", text, d)
		}
		found += len(slow)
	}
	if found < 1000 {
		t.Errorf("only %d of the texts held something, so nothing was compared", found)
	}
}

func TestHoldsRare(t *testing.T) {
	for _, text := range []string{"", "w", "assword", "password", "wwassword", "asswor", "assw assword", "ssword", "xassWord", "aassword"} {
		if got, want := holdsRare(text, "assword", 3), strings.Contains(text, "assword"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
