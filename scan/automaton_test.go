package scan

import (
	"os"
	"reflect"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"testing"

	"github.com/kortecx/kx/pack"
)

// everyText is the normal text of every file that the tests scan.
func everyText(t testing.TB) []string {
	t.Helper()
	var texts []string
	for _, dir := range []string{"benign", "malicious"} {
		for _, s := range corpus(t, dir) {
			for _, f := range s.files {
				texts = append(texts, normalise(string(f.Data)).text)
			}
		}
	}
	return texts
}

// What package regexp finds is never said to be impossible: not in a text, and not
// in a piece of one that was cut in the middle of a word or a character.
func TestAutomatonMissesNothing(t *testing.T) {
	texts := everyText(t)
	var expressions []string
	set := ruleSet()
	for i := range set.patterns {
		for _, re := range set.patterns[i].re {
			for _, b := range re() {
				expressions = append(expressions, b.source)
			}
		}
	}
	for i := range secretKinds {
		expressions = append(expressions, secretKinds[i].re)
	}
	matched, refused := 0, 0
	for n, expression := range expressions {
		re, a := regexp.MustCompile(expression), newAutomaton(expression)
		for i := n % 41; i < len(texts); i += 41 { // a part of them, another one for each
			text := texts[i]
			if at := re.FindStringIndex(text); at != nil {
				matched++
				for _, piece := range []string{text, text[at[0]:at[1]], text[at[0]:], text[:at[1]]} {
					if re.MatchString(piece) && !a.possible(piece) {
						t.Fatalf("%s matches %q", expression, piece)
					}
				}
			} else if !a.possible(text) {
				refused++
			}
		}
	}
	if matched < 20 || refused < 10*matched {
		t.Errorf("%d matches, %d refused", matched, refused)
	}
}

func TestAutomaton(t *testing.T) {
	for _, c := range []struct {
		expression, text string
		want             bool
	}{
		{"abc", "xxabcxx", true},
		{"abc", "xxabxcx", false},
		{"", "", true},
		{`\Aabc`, "xabc", false},
		{`\Aabc`, "abcx", true},
		{`(?i)key`, "KEY", true},
		{`(?i)key`, "\u212aey", true}, // the sign of kelvin
		{`a.c`, "aéc", true},
		{`a[^b]c`, "a\xa9c", true}, // cut in the middle of a character
		{`a[b-d]c`, "aéc", false},
		{`a\nb`, "a\nb", true},
		{`a.b`, "a\nb", false},
		{`密码`, "解压密码", true},
		{`a{3,5}$`, "aa", false},
		{`x*`, "", true},
		{`[[:^ascii:]]{2}z`, "éz", true}, // its two bytes may be two of them
	} {
		if got := newAutomaton(c.expression).possible(c.text); got != c.want {
			t.Errorf("%s in %q: %v", c.expression, c.text, got)
		}
	}
	// One with too many states says that it does not know.
	wide := newAutomaton(`a[ab]{14}c`)
	var counter strings.Builder
	for n := range 4096 {
		counter.WriteString(strings.NewReplacer("0", "a", "1", "b").Replace(strconv.FormatInt(int64(n), 2)))
	}
	if !wide.possible(counter.String()) || len(wide.states) != maxStates {
		t.Errorf("%d states", len(wide.states))
	}
}

func FuzzAutomaton(f *testing.F) {
	f.Add(`\b(?:curl|wget)\b[^|\n]*\|\s*sh`, "curl x | sh")
	f.Add(`(?i)k[é-ü]\d{2,}$`, "Ké12")
	f.Fuzz(func(t *testing.T, expression, text string) {
		if len(expression) > 200 {
			return
		}
		if _, err := syntax.Parse(expression, syntax.Perl); err != nil {
			return
		}
		re, err := regexp.Compile(expression)
		if err != nil {
			return
		}
		if re.MatchString(text) && !newAutomaton(expression).possible(text) {
			t.Errorf("%s matches %q", expression, text)
		}
	})
}

// A scanner that has run for long finds what a new one finds.
func TestWarmScannerFindsTheSame(t *testing.T) {
	before := ruleSet
	t.Cleanup(func() { ruleSet = before })
	fresh := func() { set := buildSet(); ruleSet = func() *compiledSet { return set } }
	samples := corpus(t, "malicious")[:60]
	cold := make([]*Report, len(samples))
	for i := range samples {
		if i%20 == 0 {
			fresh()
		}
		cold[i] = samples[i].scan()
	}
	for range 8 {
		for i := range samples {
			if warm := samples[i].scan(); !reflect.DeepEqual(warm, cold[i]) {
				t.Fatalf("%s: %+v, and at first %+v", samples[i].name, warm, cold[i])
			}
		}
	}
	made := 0
	for i := range ruleSet().patterns {
		for _, re := range ruleSet().patterns[i].re {
			for _, b := range re() {
				if b.guard.made.Load() != nil {
					made++
				}
			}
		}
	}
	if made < 10 {
		t.Errorf("%d automata", made)
	}
}

// english is a pack of 64 KiB as people write them: a manual, and a program.
func english(t testing.TB) []pack.File {
	t.Helper()
	manual, err := os.ReadFile("../docs/kx.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("../pack/kortecx_parse.go")
	if err != nil {
		t.Fatal(err)
	}
	const size, code = 64 << 10, 12 << 10
	if len(manual) < size-code || len(program) < code {
		t.Fatal("the texts are too short")
	}
	return []pack.File{
		{Path: "SKILL.md", Data: append([]byte("---\nname: english\ndescription: A manual.\n---\n"), manual...)[:size-code]},
		{Path: "scripts/run.go", Data: program[:code]},
	}
}

func BenchmarkEnglish64K(b *testing.B) {
	files := english(b)
	b.SetBytes(64 << 10)
	for range 5 {
		Files("english", files, Options{})
	}
	for b.Loop() {
		Files("english", files, Options{})
	}
}
