package scan

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"
)

// class is a set of kinds of a byte. Every byte of a text is asked for several of them,
// so that they are looked up and not worked out.
type class uint32

const (
	wordByte     class = 1 << iota // letters, digits and _, in ASCII
	letterByte                     // in ASCII
	digitByte                      // in ASCII
	base64Byte                     // of the alphabets of base64, without =
	leetByte                       // stands for a letter in 1gn0r3
	codeByte                       // begins an escape: \ and %
	controlByte                    // a terminal obeys it
	foldByte                       // is something else in the normal text, or may be
	markupByte                     // may be markup between words
	emphasisByte                   // the same, but for the end of a line
	beyondByte                     // of a character that is no ASCII
	assignByte                     // stands between a name and its value
	quoteByte                      // " and '
	tickByte                       // `
	tagByte                        // <
	lineByte                       // _
	mailByte                       // @
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
		case c == '\n':
			of[i] |= markupByte
		case c == '\t', c == '*', c == '_', c == '>':
			of[i] |= markupByte | emphasisByte
		case c == ':', c == '=':
			of[i] |= assignByte
		case c == '"', c == '\'':
			of[i] |= quoteByte
		case c == '`':
			of[i] |= tickByte
		case c == '<':
			of[i] |= tagByte
		case c == '@':
			of[i] |= mailByte
		}
		if c == '_' {
			of[i] |= lineByte
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

// lower writes from with its ASCII letters in lower case to to, which is as long and may
// be the same.
func lower(to, from []byte) {
	for len(from) >= 8 {
		binary.LittleEndian.PutUint64(to, lowerEight(binary.LittleEndian.Uint64(from)))
		to, from = to[8:], from[8:]
	}
	for i, c := range from {
		to[i] = lowerByte(c)
	}
}

// lowerEight is eight bytes with their ASCII letters in lower case.
func lowerEight(w uint64) uint64 {
	const each, low = 0x0101010101010101, 0x7f7f7f7f7f7f7f7f
	fromA := w&low + each*(0x80-'A') // sets the highest bit of what is A or more
	behindZ := w&low + each*(0x7f-'Z')
	return w | fromA&^behindZ&^w&(each*0x80)>>2
}

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
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
		lower(part[:n], part[:n])
		b.Write(part[:n])
		text = text[n:]
	}
}

// holdsRare is strings.Contains for a literal that is looked for by its byte at an
// offset, which most texts have seldom: by a first byte that is everywhere, it takes
// ten times as long.
func holdsRare(text, literal string, offset int) bool {
	for at, tries := offset, 0; at < len(text); at++ {
		i := strings.IndexByte(text[at:], literal[offset])
		if i < 0 {
			return false
		}
		at += i
		if strings.HasPrefix(text[at-offset:], literal) {
			return true
		}
		if tries++; tries > 8+at/16 { // the byte is everywhere
			return strings.Contains(text[at-offset:], literal)
		}
	}
	return false
}

// rarest is the offset of the byte of a literal that texts have most seldom.
func rarest(literal string) int {
	best := 0
	for i := range len(literal) {
		if common[literal[i]] < common[literal[best]] {
			best = i
		}
	}
	return best
}

// common has a greater number for a byte that more of a text is.
var common = func() (of [256]uint8) {
	for i, c := range []byte("qjzxkvbywgpfmucdlhrsnioate ") {
		of[c] = uint8(i + 1)
	}
	for _, c := range []byte("-./:,") {
		of[c] = of['p']
	}
	return of
}()

// seek is the first offset, from one on, of a byte of some kinds; the length of the text if
// there is none.
func seek[T string | []byte](text T, at int, kinds class) int {
	if at < len(text) && classes[text[at]]&kinds != 0 {
		return at // they often follow each other
	}
	for ; at+8 <= len(text); at += 8 {
		if t := text[at : at+8]; (classes[t[0]]|classes[t[1]]|classes[t[2]]|classes[t[3]]|
			classes[t[4]]|classes[t[5]]|classes[t[6]]|classes[t[7]])&kinds != 0 {
			break
		}
	}
	for at < len(text) && classes[text[at]]&kinds == 0 {
		at++
	}
	return at
}

// kindsOf are all kinds of bytes that a text has.
func kindsOf[T string | []byte](text T) (all class) {
	for len(text) >= 8 {
		all |= classes[text[0]] | classes[text[1]] | classes[text[2]] | classes[text[3]] |
			classes[text[4]] | classes[text[5]] | classes[text[6]] | classes[text[7]]
		text = text[8:]
	}
	for i := range len(text) {
		all |= classes[text[i]]
	}
	return all
}
