package yamledit

import "bytes"

// plain reads the text that most frontmatter is: lines of a key, a colon, one space and an
// unquoted value, and nothing else but a line --- in front of them. It costs a small part of
// what the library does and gives the same. Of any other text it gives nil, and says nothing
// about it.
//
// The text has passed checkText.
func (s *source) plain() *Mapping {
	const most = 100 // bytes of a key; and keys, as each is compared with all before it
	text := s.data
	if s.base > 0 || len(s.lines) > most {
		return nil
	}
	first := 0
	if bytes.HasPrefix(text, []byte("---\n")) {
		first = 1
	}
	m := &Mapping{Line: first + 1, Column: 1, Offset: s.lines[first], Entries: make([]Entry, 0, len(s.lines))}
	for n := first; n < len(s.lines); n++ {
		start, end := s.lines[n], len(text)
		if start == end && n > first { // behind the last line end
			break
		}
		if n+1 < len(s.lines) {
			end = s.lines[n+1] - 1
		}
		line := text[start:end]
		colon := 0
		for colon < len(line) && plainKey(line[colon], colon) {
			colon++
		}
		at := colon + len(": ")
		if colon == 0 || colon > most || at >= len(line) || line[colon] != ':' || line[colon+1] != ' ' || !plainValue(line[at:]) {
			return nil
		}
		key := string(line[:colon])
		if m.Entry(key) != nil {
			return nil
		}
		m.Entries = append(m.Entries, Entry{
			Key: key, Line: n + 1, Column: 1, Offset: start,
			Value: Value{Kind: Scalar, Text: string(line[at:]), Line: n + 1, Column: at + 1, Offset: start + at},
		})
	}
	return m
}

// plainKey tells whether a byte may stand at an offset of a key.
func plainKey(c byte, at int) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || at > 0 && ('0' <= c && c <= '9' || c == '-' || c == '_')
}

// plainValue tells whether a line is one unquoted value to the end, and not null.
func plainValue(line []byte) bool {
	if c := line[0]; !plainKey(c, 0) && (c < '0' || c > '9') || bytes.EqualFold(line, []byte("null")) {
		return false
	}
	for i, c := range line {
		switch c {
		case '\t', '\r':
			return false
		case ':':
			if i+1 == len(line) || line[i+1] == ' ' {
				return false
			}
		case ' ':
			if i+1 == len(line) || line[i+1] == '#' {
				return false
			}
		}
	}
	return true
}
