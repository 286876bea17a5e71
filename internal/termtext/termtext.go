// Package termtext makes text from packs, servers and file names harmless to
// print: what a terminal would obey, and what a reader cannot see, is written
// out as an escape. It leaves everything else alone and adds no colour.
//
// Escape is for anything that is printed as part of a line; JSON is for whole
// JSON documents that may end up on a terminal.
package termtext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// Escape replaces control characters, line and paragraph separators, characters
// that reorder or hide text, and bytes that are not UTF-8 by backslash escapes
// as Go writes them (\n, \x1b, \u202e). Text without any is returned as it is.
// A backslash is kept, so the result is for eyes and not for parsing.
func Escape(s string) string {
	start := firstUnsafe(s)
	if start == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:start])
	for i := start; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			writeHex(&b, 'x', uint32(s[i]), 2)
		case unsafe(r):
			writeRune(&b, r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// firstUnsafe is the offset of the first thing to escape, or len(s).
func firstUnsafe(s string) int {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c < 0x20 || c == 0x7f {
				return i
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if (r == utf8.RuneError && size == 1) || unsafe(r) {
			return i
		}
		i += size
	}
	return len(s)
}

// unsafe tells which characters must not reach a terminal. Of the invisible
// format characters only the two joiners stay: Persian, Indic scripts and emoji
// are spelt with them.
func unsafe(r rune) bool {
	switch {
	case r < 0x20 || (r >= 0x7f && r < 0xa0):
		return true
	case r < 0xa0:
		return false
	case r == 0x200c || r == 0x200d:
		return false
	case r == 0x2028 || r == 0x2029:
		return true
	}
	return unicode.Is(unicode.Cf, r)
}

func writeRune(b *strings.Builder, r rune) {
	switch r {
	case '\n':
		b.WriteString(`\n`)
	case '\r':
		b.WriteString(`\r`)
	case '\t':
		b.WriteString(`\t`)
	default:
		switch {
		case r < 0x80:
			writeHex(b, 'x', uint32(r), 2)
		case r < 0x10000:
			writeHex(b, 'u', uint32(r), 4)
		default:
			writeHex(b, 'U', uint32(r), 8)
		}
	}
}

func writeHex(b *strings.Builder, letter byte, v uint32, digits int) {
	b.WriteByte('\\')
	b.WriteByte(letter)
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		b.WriteByte(hexDigits[v>>shift&0xf])
	}
}

// JSON rewrites a JSON document so that its strings carry the characters that
// Escape would replace as \u escapes. The document keeps its meaning: outside
// strings JSON has no such characters but white space, which is kept.
func JSON(doc []byte) []byte {
	start := 0
	for start < len(doc) {
		c := doc[start]
		if c == 0x7f {
			break
		}
		if c < utf8.RuneSelf {
			start++
			continue
		}
		r, size := utf8.DecodeRune(doc[start:])
		if unsafe(r) {
			break
		}
		start += size
	}
	if start == len(doc) {
		return doc
	}
	out := append(make([]byte, 0, len(doc)+32), doc[:start]...)
	for i := start; i < len(doc); {
		r, size := utf8.DecodeRune(doc[i:])
		switch {
		case r < 0x20 || !unsafe(r):
			out = append(out, doc[i:i+size]...)
		case r < 0x10000:
			out = appendUnit(out, uint32(r))
		default:
			r -= 0x10000
			out = appendUnit(out, 0xd800+uint32(r>>10))
			out = appendUnit(out, 0xdc00+uint32(r&0x3ff))
		}
		i += size
	}
	return out
}

func appendUnit(dst []byte, v uint32) []byte {
	return append(dst, '\\', 'u', hexDigits[v>>12&0xf], hexDigits[v>>8&0xf], hexDigits[v>>4&0xf], hexDigits[v&0xf])
}
