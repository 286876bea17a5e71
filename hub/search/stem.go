package search

import "strings"

// stem takes the English endings off a word in lower case, so that "deploys",
// "deployed" and "deploying" meet. It follows the rules that M. F. Porter
// published in 1980, but for a y at the end. Words with anything but the letters a to z, and words of one
// or two letters, stay as they are: no other language is stemmed.
func stem(word string) string {
	if len(word) < 3 {
		return word
	}
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	w := plural(word)
	w = pastTense(w)
	if b, ok := strings.CutSuffix(w, "y"); ok && len(b) > 1 && !vowel(b, len(b)-1) {
		w = b + "i" // not after a vowel: "deploy" is to meet "deployment"
	}
	w = replaceEnding(w, 0, doubleEndings)
	w = replaceEnding(w, 0, wordEndings)
	w = dropEnding(w)
	return lastE(w)
}

// ending is a suffix and what stands in its place.
type ending struct{ from, to string }

// Of the endings that fit, the first is the one that counts, so longer ones stand
// before those that they end in.
var (
	doubleEndings = []ending{
		{"ational", "ate"},
		{"tional", "tion"},
		{"enci", "ence"},
		{"anci", "ance"},
		{"izer", "ize"},
		{"bli", "ble"},
		{"alli", "al"},
		{"entli", "ent"},
		{"eli", "e"},
		{"ousli", "ous"},
		{"ization", "ize"},
		{"ation", "ate"},
		{"ator", "ate"},
		{"alism", "al"},
		{"iveness", "ive"},
		{"fulness", "ful"},
		{"ousness", "ous"},
		{"aliti", "al"},
		{"iviti", "ive"},
		{"biliti", "ble"},
		{"logi", "log"},
	}
	wordEndings = []ending{
		{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""},
	}
	droppedEndings = []string{
		"al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "sion", "tion",
		"ou", "ism", "ate", "iti", "ous", "ive", "ize",
	}
)

// vowel tells whether the letter at i is one; y is after a consonant.
func vowel(w string, i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return true
	case 'y':
		return i > 0 && !vowel(w, i-1)
	}
	return false
}

func vowelIn(w string) bool {
	for i := range len(w) {
		if vowel(w, i) {
			return true
		}
	}
	return false
}

// measure counts how often a vowel is followed by a consonant.
func measure(w string) (m int) {
	before := false
	for i := range len(w) {
		now := vowel(w, i)
		if before && !now {
			m++
		}
		before = now
	}
	return m
}

func doubled(w string) bool {
	n := len(w)
	return n >= 2 && w[n-1] == w[n-2] && !vowel(w, n-1)
}

// short tells whether a word ends as "hop" does: consonant, vowel, consonant, the
// last not w, x or y.
func short(w string) bool {
	n := len(w)
	return n >= 3 && !vowel(w, n-3) && vowel(w, n-2) && !vowel(w, n-1) && !strings.ContainsRune("wxy", rune(w[n-1]))
}

func plural(w string) string {
	switch {
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "ies"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "ss"):
		return w
	}
	return strings.TrimSuffix(w, "s")
}

func pastTense(w string) string {
	if b, ok := strings.CutSuffix(w, "eed"); ok {
		if measure(b) > 0 {
			return w[:len(w)-1]
		}
		return w
	}
	b, ok := strings.CutSuffix(w, "ed")
	if !ok {
		b, ok = strings.CutSuffix(w, "ing")
	}
	switch {
	case !ok || !vowelIn(b):
		return w
	case strings.HasSuffix(b, "at"), strings.HasSuffix(b, "bl"), strings.HasSuffix(b, "iz"):
		return b + "e"
	case doubled(b) && !strings.ContainsRune("lsz", rune(b[len(b)-1])):
		return b[:len(b)-1]
	case measure(b) == 1 && short(b):
		return b + "e"
	}
	return b
}

func replaceEnding(w string, above int, endings []ending) string {
	for _, e := range endings {
		if b, ok := strings.CutSuffix(w, e.from); ok {
			if measure(b) > above {
				return b + e.to
			}
			return w
		}
	}
	return w
}

func dropEnding(w string) string {
	for _, e := range droppedEndings {
		b, ok := strings.CutSuffix(w, e)
		if !ok {
			continue
		}
		if e == "sion" || e == "tion" {
			b = w[:len(w)-3]
		}
		if measure(b) > 1 {
			return b
		}
		return w
	}
	return w
}

func lastE(w string) string {
	if b, ok := strings.CutSuffix(w, "e"); ok {
		if m := measure(b); m > 1 || m == 1 && !short(b) {
			w = b
		}
	}
	if strings.HasSuffix(w, "ll") && measure(w[:len(w)-1]) > 1 {
		w = w[:len(w)-1]
	}
	return w
}
