package yamledit

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

const byteOrderMark = "\ufeff"

// source is a text and the places in it. Offsets are into the whole text, a
// byte order mark included; lines and columns are without it.
type source struct {
	data  []byte
	base  int   // length of the byte order mark
	lines []int // offset of the first byte of every line

	// The place that was asked for last. Places are asked for in the order of
	// the text, so without it one long line would cost its length for each.
	last struct{ line, column, offset int }
}

func newSource(data []byte) *source {
	s := &source{data: data}
	if bytes.HasPrefix(data, []byte(byteOrderMark)) {
		s.base = len(byteOrderMark)
	}
	s.lines = append(make([]int, 0, 32), s.base)
	for at := s.base; ; {
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 {
			return s
		}
		at += i + 1
		s.lines = append(s.lines, at)
	}
}

// text is what the library reads: everything behind the byte order mark.
func (s *source) text() []byte { return s.data[s.base:] }

// offset turns a place as the library counts it (columns in characters, from 1)
// into a byte offset. A place behind the end is the end.
func (s *source) offset(line, column int) int {
	if line > len(s.lines) {
		return len(s.data)
	}
	at, now := s.lines[max(line, 1)-1], 1
	if s.last.line == line && s.last.column <= column {
		at, now = s.last.offset, s.last.column
	}
	for ; now < column && at < len(s.data); now++ {
		if s.data[at] < utf8.RuneSelf {
			at++
			continue
		}
		_, size := utf8.DecodeRune(s.data[at:])
		at += size
	}
	s.last.line, s.last.column, s.last.offset = line, now, at
	return at
}

// position turns a byte offset into line and column, both from 1, the column in
// bytes.
func (s *source) position(offset int) (line, column int) {
	lo, hi := 0, len(s.lines)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; s.lines[mid] <= offset {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo + 1, offset - s.lines[lo] + 1
}

// line gives line n, counted from 1, without its line end.
func (s *source) line(n int) []byte {
	if n < 1 || n > len(s.lines) {
		return nil
	}
	end := len(s.data)
	if n < len(s.lines) {
		end = s.lines[n]
	}
	return bytes.TrimRight(s.data[s.lines[n-1]:end], "\r\n")
}

// Not inlined, for the size of the programs.
//
//go:noinline
func (s *source) fault(id string, offset int, text string) *Fault {
	f := &Fault{ID: id, Text: text}
	f.Line, f.Column = s.position(offset)
	return f
}

// checkText finds the first byte that may not be in any manifest. Everything
// that ends a line for one reader of YAML and not for another is among it, so
// that lines are the same for all of them from here on.
func (s *source) checkText() *Fault {
	data := s.data
	for i := s.base; i < len(data); {
		c := data[i]
		if c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
			i++
			continue
		}
		if c == '\r' {
			if i+1 == len(data) || data[i+1] != '\n' {
				return s.fault(IDSyntax, i, "a carriage return without a line feed")
			}
			i++
			continue
		}
		if c < utf8.RuneSelf {
			return s.fault(IDSyntax, i, fmt.Sprintf("control character U+%04X", c))
		}
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return s.fault(IDInvalidUTF8, i, fmt.Sprintf("byte 0x%02x at offset %d is not UTF-8", c, i))
		case r == 0x85 || r == 0x2028 || r == 0x2029:
			return s.fault(IDSyntax, i, fmt.Sprintf("U+%04X ends a line for some readers of YAML and not for others", r))
		case r < 0xa0, r == 0xfffe, r == 0xffff:
			return s.fault(IDSyntax, i, fmt.Sprintf("control character U+%04X", r))
		case r == 0xfeff:
			return s.fault(IDSyntax, i, "a byte order mark (U+FEFF) inside the text")
		}
		i += size
	}
	return nil
}

// checkDirectives refuses %YAML and %TAG: the first makes readers switch between
// versions, the second gives tags another meaning. They can only stand before
// the content.
func (s *source) checkDirectives() *Fault {
	for n := 1; n <= len(s.lines); n++ {
		line := s.line(n)
		blank := bytes.TrimLeft(line, " \t")
		if len(blank) == 0 || blank[0] == '#' {
			continue
		}
		if line[0] != '%' {
			return nil
		}
		id, text := IDSyntax, "a YAML directive is not read here"
		if bytes.HasPrefix(line, []byte("%TAG")) {
			id, text = IDTag, "a %TAG directive is not read here"
		}
		f := s.fault(id, s.lines[n-1], text)
		f.Hint = "remove this line"
		return f
	}
	return nil
}
