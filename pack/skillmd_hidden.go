package pack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"unicode"
	"unicode/utf8"
)

// HiddenRunes gives the offset and the code point of every character of text
// that people do not see and models read: zero-width and bidirectional controls,
// tag characters, stray variation selectors and other invisible ones. It passes
// over those that writing needs where they stand: joiners in emoji and in scripts
// that join, direction marks in right-to-left lines, selectors behind emoji and
// ideographs, the flags of England, Scotland and Wales. Text that is not UTF-8 is
// passed over too.
func HiddenRunes(text []byte) iter.Seq2[int, rune] {
	return func(yield func(int, rune) bool) {
		lineEnd, leftward := 0, false // of the line whose direction was asked for last
		for i := 0; i < len(text); {
			if text[i] < utf8.RuneSelf {
				for i++; i+8 <= len(text) && binary.LittleEndian.Uint64(text[i:])&0x8080808080808080 == 0; i += 8 {
				}
				continue
			}
			r, size := utf8.DecodeRune(text[i:])
			switch {
			case r == blackFlag:
				size += flagLength(text[i+size:])
			case !invisible(r):
			case r == 0x200e || r == 0x200f || r == 0x061c: // direction marks
				if i >= lineEnd {
					lineEnd, leftward = lineAround(text, i)
				}
				if !leftward && !yield(i, r) {
					return
				}
			case !needed(r, text[:i], text[i+size:]) && !yield(i, r):
				return
			}
			i += size
		}
	}
}

// invisible tells whether r has no shape of its own.
func invisible(r rune) bool {
	switch {
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0:
		return true
	case isSelector(r):
		return true
	case r > 0x3164 && r < 0xfe00: // ideographs and Hangul, the bulk of what gets here
		return false
	case r >= 0x0600 && r <= 0x0605, r == 0x06dd, r == 0x070f, r == 0x0890, r == 0x0891, r == 0x08e2,
		r == 0x110bd, r == 0x110cd, r >= 0x13430 && r <= 0x1345f:
		return false // format characters that show
	case r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return unicode.Is(unicode.Cf, r)
}

func isSelector(r rune) bool {
	return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef || r >= 0x180b && r <= 0x180f
}

// needed tells whether writing needs r between what stands before and after it.
func needed(r rune, before, after []byte) bool {
	prev, _ := utf8.DecodeLastRune(before)
	next, _ := utf8.DecodeRune(after)
	switch {
	case r == 0x200d && emojiPart(prev) && emojiPart(next):
		return true
	case r == 0x200d || r == 0x200c:
		return joins(prev) || joins(next)
	case r == 0xfe0f || r == 0xfe0e:
		return emojiBase(prev) || next == 0x20e3 && (prev >= '0' && prev <= '9' || prev == '#' || prev == '*') || unicode.Is(unicode.Han, prev)
	case r >= 0xfe00 && r < 0xfe0e:
		return unicode.In(prev, unicode.Han, unicode.Sm, unicode.Myanmar, unicode.Phags_Pa, unicode.Manichaean)
	case r >= 0xe0100 && r <= 0xe01ef:
		return unicode.Is(unicode.Han, prev)
	case r >= 0x180b && r <= 0x180f:
		return unicode.Is(unicode.Mongolian, prev)
	case r == 0x200b:
		return breaksUnseen(prev) || breaksUnseen(next)
	case r == 0x034f:
		return unicode.Is(unicode.Mn, prev)
	}
	return false
}

// joins tells whether r is of a script in which joiners and non-joiners change
// what is read.
func joins(r rune) bool {
	return r >= 0x0600 && unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mandaic, unicode.Manichaean,
		unicode.Mongolian, unicode.Phags_Pa, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
		unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Tibetan, unicode.Myanmar,
		unicode.Khmer, unicode.Balinese, unicode.Javanese)
}

// breaksUnseen tells whether r is of a script that is written without spaces and
// marks where a line may break.
func breaksUnseen(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan)
}

// lineAround gives the end of the line that holds offset at, and whether there is
// a letter on it that is written from right to left.
func lineAround(text []byte, at int) (end int, leftward bool) {
	start := bytes.LastIndexByte(text[:at], '\n') + 1
	end = len(text)
	if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
		end = at + n
	}
	return end, bytes.ContainsFunc(text[start:end], func(r rune) bool {
		return r >= 0x0590 && unicode.IsLetter(r) &&
			unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko)
	})
}

// emojiBase tells whether r can be shown as an emoji.
func emojiBase(r rune) bool {
	switch {
	case r >= 0x1f000 && r <= 0x1faff, r >= 0x2190 && r <= 0x21ff, r >= 0x2300 && r <= 0x23ff, r >= 0x2460 && r <= 0x24ff,
		r >= 0x25a0 && r <= 0x27bf, r >= 0x2900 && r <= 0x297f, r >= 0x2b00 && r <= 0x2bff:
		return true
	case r == 0xa9, r == 0xae, r == 0x203c, r == 0x2049, r == 0x2122, r == 0x2139, r == 0x3030, r == 0x303d, r == 0x3297, r == 0x3299:
		return true
	}
	return false
}

func emojiPart(r rune) bool { return emojiBase(r) || r == 0xfe0f || r == 0x20e3 }

const blackFlag = '\U0001F3F4'

// flagLength gives the length of the tag characters behind a black flag when they
// are one of the three flags in use; any others could spell a text.
func flagLength(after []byte) int {
	for _, region := range []string{"gbeng", "gbsct", "gbwls"} {
		var tags []byte
		for _, c := range region {
			tags = utf8.AppendRune(tags, 0xe0000+c)
		}
		if tags = utf8.AppendRune(tags, 0xe007f); bytes.HasPrefix(after, tags) {
			return len(tags)
		}
	}
	return 0
}

// hidden warns about invisible characters, once for each run of them, and about
// those that the description gets by escapes.
func (s *skillReader) hidden(data []byte) {
	data = bytes.TrimPrefix(data, []byte(bom))
	line, lineStart := 1, 0
	runs, length, end := 0, 0, -1
	var current *Error
	finish := func() {
		if current != nil && length > 1 {
			current.Text += fmt.Sprintf(", with %d more like it behind it", length-1)
		}
	}
	for at, r := range HiddenRunes(data) {
		if at == end {
			length++
			end += utf8.RuneLen(r)
			continue
		}
		finish()
		current, length, end = nil, 1, at+utf8.RuneLen(r)
		if runs++; runs > maxRemarks {
			continue
		}
		line += bytes.Count(data[lineStart:at], []byte("\n"))
		lineStart = bytes.LastIndexByte(data[:at], '\n') + 1
		s.remark("text.hidden-unicode", line, at-lineStart+1, hiddenText(r), "remove it, or write it as visible text")
		current = s.warnings[len(s.warnings)-1]
	}
	finish()
	if runs > maxRemarks {
		s.remark("text.hidden-unicode", 0, 0, fmt.Sprintf("%d more places have invisible characters", runs-maxRemarks), "")
	}
	if runs > 0 || s.m.Description == "" {
		return
	}
	for _, r := range HiddenRunes([]byte(s.m.Description)) {
		v := s.root.Get("description")
		s.warn("text.hidden-unicode", v, "/description", hiddenText(r)+" (by an escape)", "remove it, or write it as visible text")
		return
	}
}

func hiddenText(r rune) string {
	what := "an invisible character"
	switch {
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c:
		what = "a bidirectional control"
	case r >= 0xe0000 && r <= 0xe007f:
		what = "a tag character"
	case isSelector(r):
		what = "a variation selector"
	case r >= 0x200b && r <= 0x200d, r == 0x2060, r == 0xfeff:
		what = "a zero-width character"
	}
	return fmt.Sprintf("%s (U+%04X) that people do not see and models read", what, r)
}
