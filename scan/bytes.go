package scan

import (
	"strings"
	"unicode/utf8"
)

// class is a set of kinds of a byte. Every byte of a text is asked for several of them,
// so that they are looked up and not worked out.
type class uint16

const (
	wordByte    class = 1 << iota // letters, digits and _, in ASCII
	letterByte                    // in ASCII
	digitByte                     // in ASCII
	base64Byte                    // of the alphabets of base64, without =
	leetByte                      // stands for a letter in 1gn0r3
	codeByte                      // begins an escape: \ and %
	controlByte                   // a terminal obeys it
	foldByte                      // is something else in the normal text, or may be
	markupByte                    // may be markup between words
	beyondByte                    // of a character that is no ASCII
)

var classes = classify256()

func classify256() (of [256]class) {
	for i := range of {
		c := byte(i)
		switch {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z':
			of[i] = wordByte | letterByte | base64Byte
		case '0' <= c && c <= '9':
			of[i] = wordByte | digitByte | base64Byte
		case c == '_':
			of[i] = wordByte | base64Byte
		case c == '+', c == '/', c == '-':
			of[i] = base64Byte
		case c == '\\', c == '%':
			of[i] = codeByte
		case c >= utf8.RuneSelf:
			of[i] = beyondByte
		case (c < 0x20 || c == 0x7f) && c != '\n' && c != '\t' && c != '\r' && c != '\f':
			of[i] = controlByte
		}
		switch {
		case c == '\r', c == '&', c >= utf8.RuneSelf:
			of[i] |= foldByte
		case c == '\n', c == '\t', c == '*', c == '_', c == '>':
			of[i] |= markupByte
		}
		if leet(c) != 0 {
			of[i] |= leetByte
		}
	}
	return of
}

// leet is the letter that a byte stands for in 1gn0r3, 0 for none.
func leet(c byte) byte {
	switch c {
	case '0':
		return 'o'
	case '1':
		return 'i'
	case '3':
		return 'e'
	case '4', '@':
		return 'a'
	case '5', '$':
		return 's'
	case '7':
		return 't'
	}
	return 0
}

func isWord(c byte) bool   { return classes[c]&wordByte != 0 }
func isLetter(c byte) bool { return classes[c]&letterByte != 0 }
func isBase64(c byte) bool { return classes[c]&base64Byte != 0 }

// lower writes the ASCII letters of b in lower case.
func lower(b []byte) {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
}

// lowerASCII is the text with ASCII letters in lower case; offsets stay.
func lowerASCII(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	writeLower(&b, text)
	return b.String()
}

// writeLower writes a text with ASCII letters in lower case.
func writeLower(b *strings.Builder, text string) {
	var part [256]byte
	for len(text) > 0 {
		n := copy(part[:], text)
		lower(part[:n])
		b.Write(part[:n])
		text = text[n:]
	}
}

// holdsRare is strings.Contains for a literal that is looked for by its byte at an
// offset, which most texts have seldom: by a first byte that is everywhere, it takes
// ten times as long.
func holdsRare(text, literal string, offset int) bool {
	for at := offset; at < len(text); at++ {
		i := strings.IndexByte(text[at:], literal[offset])
		if i < 0 {
			return false
		}
		at += i
		if strings.HasPrefix(text[at-offset:], literal) {
			return true
		}
	}
	return false
}

// kindsOf are all kinds of bytes that a text has.
func kindsOf(text string) (all class) {
	for i := range len(text) {
		all |= classes[text[i]]
	}
	return all
}
