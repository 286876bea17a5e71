package yamledit

import (
	"bytes"
	"strings"
)

// spans gives the bytes that hold the value of top-level entry i: the first is
// where the new value goes (its text is what must stand before it), others are
// to be removed. It answers no when the text does not look as expected; what it
// gets wrong in spite of that, the comparison of the trees finds.
func (e *editor) spans(i int) ([]splice, bool) {
	v := &e.root.Entries[i].Value
	switch {
	case v.Kind == Null && v.Text == "":
		return e.emptySpan(&e.root.Entries[i])
	case v.Style == SingleQuoted || v.Style == DoubleQuoted:
		end := quotedEnd(e.data, v.Offset)
		return []splice{{start: v.Offset, end: end}}, end > 0
	case v.Style == Literal || v.Style == Folded:
		return e.blockSpans(v, e.regionEnd(i))
	}
	return e.plainSpan(v, e.regionEnd(i))
}

// regionEnd is where everything that belongs to entry i must have ended: the
// line of the next key, or the end of the content.
func (e *editor) regionEnd(i int) int {
	if i+1 < len(e.root.Entries) {
		if e.root.Style == Flow {
			return e.root.Entries[i+1].Offset
		}
		return e.lines[e.root.Entries[i+1].Line-1]
	}
	return e.contentEnd()
}

// contentEnd is the offset of the line that closes the document with ..., or
// the end of the text.
func (e *editor) contentEnd() int {
	for n := e.root.Line; n <= len(e.lines); n++ {
		line := e.line(n)
		if bytes.HasPrefix(line, []byte("...")) && (len(line) == 3 || line[3] == ' ' || line[3] == '\t') {
			return e.lines[n-1]
		}
	}
	return len(e.data)
}

// emptySpan is the place behind the colon of a key without a value.
func (e *editor) emptySpan(entry *Entry) ([]splice, bool) {
	at := entry.Offset
	if c := e.data[at]; c == '"' || c == '\'' {
		if at = quotedEnd(e.data, at); at < 0 {
			return nil, false
		}
	} else {
		colon := keyColon(e.line(entry.Line)[entry.Column-1:])
		if colon < 0 {
			return nil, false
		}
		at += colon
	}
	for at < len(e.data) && (e.data[at] == ' ' || e.data[at] == '\t') {
		at++
	}
	if at == len(e.data) || e.data[at] != ':' {
		return nil, false
	}
	return []splice{{start: at + 1, end: at + 1, text: " "}}, true
}

// plainSpan ends an unquoted value at a comment, at the last line that is not
// blank, or in brackets at the next comma or bracket.
func (e *editor) plainSpan(v *Value, limit int) ([]splice, bool) {
	end := v.Offset
	for n := v.Line; n <= len(e.lines) && e.lines[n-1] < limit; n++ {
		line := e.line(n)
		start := e.lines[n-1]
		if n == v.Line {
			start = v.Offset
			line = line[v.Column-1:]
		} else if bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("#")) {
			break
		}
		comment := false
		if i := indexComment(line); i >= 0 {
			line, comment = line[:i], true
		}
		if e.root.Style == Flow {
			if i := bytes.IndexAny(line, ",{}[]"); i >= 0 {
				line, comment = line[:i], true
			}
		}
		if line = bytes.TrimRight(line, " \t"); len(bytes.TrimSpace(line)) > 0 {
			end = start + len(line)
		}
		if comment {
			break
		}
	}
	return []splice{{start: v.Offset, end: end}}, end > v.Offset
}

// indexComment finds a # behind a blank.
func indexComment(line []byte) int {
	for i := 1; i < len(line); i++ {
		if line[i] == '#' && (line[i-1] == ' ' || line[i-1] == '\t') {
			return i
		}
	}
	return -1
}

// blockSpans are the indicator of a block scalar (| or >, with its modifiers)
// and its lines. A comment behind the indicator stays, and so does one below
// that is indented less than the content.
func (e *editor) blockSpans(v *Value, limit int) ([]splice, bool) {
	head := v.Offset + 1
	indent := 0
	for ; head < len(e.data) && strings.IndexByte("+-123456789", e.data[head]) >= 0; head++ {
		if c := e.data[head]; c >= '1' {
			indent = e.root.Column - 1 + int(c-'0')
		}
	}
	out := []splice{{start: v.Offset, end: head}}
	if v.Line == len(e.lines) {
		return out, true
	}
	start := e.lines[v.Line] // the line below the indicator
	end := start
	for n := v.Line + 1; n <= len(e.lines) && e.lines[n-1] < limit; n++ {
		line := e.line(n)
		text := bytes.TrimLeft(line, " ")
		if len(text) == 0 {
			continue
		}
		if indent == 0 {
			indent = len(line) - len(text)
		}
		if len(line)-len(text) < indent {
			break
		}
		end = limit
		if n < len(e.lines) {
			end = min(limit, e.lines[n])
		}
	}
	if end > start {
		out = append(out, splice{start: start, end: end})
	}
	if end == len(e.data) && end > start && e.data[end-1] != '\n' {
		// The value was the end of a text without a final newline.
		out[1].start -= len(e.lineEnd())
	}
	return out, true
}

// quotedEnd gives the offset behind the quote that closes the one at start, or
// -1.
func quotedEnd(b []byte, start int) int {
	quote := b[start]
	for i := start + 1; i < len(b); i++ {
		switch {
		case b[i] == '\\' && quote == '"':
			i++
		case b[i] != quote:
		case quote == '\'' && i+1 < len(b) && b[i+1] == '\'':
			i++
		default:
			return i + 1
		}
	}
	return -1
}

// startsComment tells whether the # at i is one; inside a word it is not.
func startsComment(b []byte, i int) bool {
	return b[i] == '#' && (i == 0 || strings.IndexByte(" \t\r\n", b[i-1]) >= 0)
}

// flowNext steps over one byte of text in brackets, or over a whole comment or
// quoted scalar.
func flowNext(b []byte, i int) int {
	switch c := b[i]; {
	case startsComment(b, i):
		if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
			return i + n
		}
		return len(b)
	case (c == '"' || c == '\'') && i > 0 && strings.IndexByte(" \t\r\n,:[{", b[i-1]) >= 0:
		if end := quotedEnd(b, i); end > 0 {
			return end
		}
		return len(b)
	}
	return i + 1
}

// flowEnd gives the offset behind the bracket that closes the one at start, or
// -1.
func flowEnd(b []byte, start int) int {
	depth := 0
	for i := start; i < len(b); i = flowNext(b, i) {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
