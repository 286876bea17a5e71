package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// MaxWords is how many different words a query should have; Words gives one more at most.
const MaxWords = 32

// maxWord is how many bytes of a word are indexed and compared.
const maxWord = 64

// unspaced are the scripts that do not part words, and Hangul, whose words carry
// their particles: texts in them are cut into pairs of characters.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// fold makes texts equal that people hold for the same: compatibility forms,
// case, composition.
func fold(text string) string {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(text)))
		}
	}
	return strings.ToLower(text)
}

type runeClass byte

const (
	parts    runeClass = iota // ends a word
	ofWord                    // belongs to a word
	ofPair                    // belongs to an unspaced run
	unspoken                  // is dropped, and parts nothing
)

func classOf(r rune) runeClass {
	switch {
	case r < utf8.RuneSelf:
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r >= 'A' && r <= 'Z':
			return ofWord
		case r == '\'':
			return unspoken
		}
		return parts
	case r == '’', r == 'ʼ':
		return unspoken
	case r == 'ـ', r >= 0x064B && r <= 0x065F, r == 0x0670, r >= 0x0591 && r <= 0x05C7 && unicode.IsMark(r):
		return unspoken // the vowel signs and the stretching that most texts leave out
	case r == 0x00AD, r >= 0x200B && r <= 0x200D, r == 0x2060, r == 0xFEFF, r >= 0xFE00 && r <= 0xFE0F:
		return unspoken
	case r >= 0x0E00 && (r == 'ー' || unicode.In(r, unspaced...)):
		if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || r == 'ー' {
			return ofPair
		}
		return parts
	case unicode.IsLetter(r), unicode.IsMark(r), unicode.IsDigit(r):
		return ofWord
	}
	return parts
}

// eachWord gives the words of a text one by one until yield says no. Letters,
// marks and digits make words; a run of an unspaced script gives every pair of
// neighbours. With tails set it gives the last character of a run as well, so
// that what is indexed is found by any single character of it.
func eachWord(text string, tails bool, yield func(string) bool) {
	text = fold(text)
	begin := -1 // of a word that can be cut out of text as it is
	var built []byte
	flush := func(end int) bool {
		word := ""
		switch {
		case built != nil:
			word = string(append(built, text[begin:end]...))
			built = nil
		case begin >= 0:
			word = text[begin:end]
		}
		begin = -1
		return word == "" || yield(cut(word))
	}
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		switch classOf(r) {
		case ofWord:
			if begin < 0 {
				begin = i
			}
		case unspoken:
			if begin >= 0 {
				built = append(built, text[begin:i]...)
				begin = i + size
			}
		case parts:
			if !flush(i) {
				return
			}
		case ofPair:
			if !flush(i) {
				return
			}
			end, ok := eachPair(text[i:], tails, yield)
			if !ok {
				return
			}
			i += end
			continue
		}
		i += size
	}
	flush(len(text))
}

// eachPair cuts the unspaced run that text starts with.
func eachPair(text string, tails bool, yield func(string) bool) (end int, ok bool) {
	last, count := 0, 0 // where the character before began
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		if classOf(r) != ofPair {
			break
		}
		if count > 0 && !yield(text[last:end+size]) {
			return end, false
		}
		last, count = end, count+1
		end += size
	}
	if (tails || count == 1) && !yield(text[last:end]) {
		return end, false
	}
	return end, true
}

// cut shortens a word to maxWord bytes at a character's end.
func cut(word string) string {
	if len(word) <= maxWord {
		return word
	}
	end := maxWord
	for !utf8.RuneStart(word[end]) {
		end--
	}
	return word[:end]
}

// Words gives the different words of a query in their order. Words that
// every text has are left out unless there is no other.
func Words(q string) []string {
	var words, spoken []string
	seen := map[string]bool{}
	eachWord(q, false, func(word string) bool {
		if !seen[word] {
			seen[word] = true
			words = append(words, word)
			if !stopWord(word) {
				spoken = append(spoken, word)
			}
		}
		return len(words) <= MaxWords
	})
	if len(spoken) > 0 && len(words) <= MaxWords {
		return spoken
	}
	return words
}

// stopList are words that say nothing about a skill. They are not required of
// what is found, and bodies are not indexed by them.
const stopList = " a an and are as at be been but by can could did do does for from had has have how i if in into " +
	"is it its me my no not of on or our shall should so some such than that the their them then there these they " +
	"this those to was we were what when where which who will with would you your "

func stopWord(word string) bool {
	return len(word) <= 6 && strings.Contains(stopList, " "+word+" ")
}
