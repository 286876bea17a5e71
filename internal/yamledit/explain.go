package yamledit

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// explain says in the words of the person who wrote the file what the library
// says in those of its grammar.
func (s *source) explain(err error) *Fault {
	var le *yaml.LoadError
	if !errors.As(err, &le) {
		return &Fault{ID: IDSyntax, Text: err.Error()}
	}
	at := s.mark(le.Mark)
	if le.Message == errDepth.Error() {
		return s.fault(IDDepth, at, tooDeep())
	}
	opened := at
	if le.ContextMark.Line > 0 {
		opened = s.mark(le.ContextMark)
	}
	var char byte
	if at < len(s.data) {
		char = s.data[at]
	}

	f := s.fault(IDSyntax, at, le.Message)
	switch {
	case strings.Contains(le.Message, "unknown anchor"):
		f.ID, f.Text = IDAlias, "aliases (*name) are not read here"
		s.suggestQuotes(f, at)
	case strings.HasSuffix(le.ContextMsg, "an alias"), strings.HasSuffix(le.ContextMsg, "an anchor"):
		f = s.fault(IDAlias, opened, "a value that starts with * or & is an alias or anchor, which are not read here")
		s.suggestQuotes(f, opened)
	case strings.HasSuffix(le.ContextMsg, "a tag"), strings.Contains(le.Message, "tag handle"):
		f = s.fault(IDTag, opened, "a value that starts with ! is a tag, and tags are not read here")
		s.suggestQuotes(f, opened)
	case char == '\t' && strings.Contains(le.Message, "cannot start any token"), strings.Contains(le.Message, "found a tab character"):
		f.Text, f.Hint = "a tab cannot be used for indentation", "indent with spaces"
	case strings.Contains(le.Message, "cannot start any token"):
		f.Text = fmt.Sprintf("a value cannot start with %q unless it is quoted", char)
		s.suggestQuotes(f, at)
	case strings.Contains(le.Message, "mapping values are not allowed"):
		s.explainColon(f, at)
	case strings.Contains(le.Message, "block sequence entries"):
		f.Text, f.Hint = "a list cannot start here", "put every - item on a line of its own below the key"
	case strings.Contains(le.Message, "did not find expected key"):
		s.explainKey(f, at)
	case strings.Contains(le.Message, "did not find expected '-' indicator"):
		f.Text = "this line is neither an item of the list above nor indented like the key of that list"
	case strings.Contains(le.Message, "did not find expected ',' or"):
		line, column := s.position(opened)
		f.Text = fmt.Sprintf("the bracket that opens at %d:%d is not closed before this", line, column)
	case strings.Contains(le.Message, "<document start>"):
		f.Text = "this line is indented less than the first one, or follows the end of the document"
	case strings.Contains(le.Message, "could not find expected ':'"):
		f = s.fault(IDSyntax, opened, "this line is neither \"key: value\" nor part of the value above it")
		f.Hint = "put a space behind the colon, or indent the line if it continues the value above"
	case strings.Contains(le.ContextMsg, "quoted scalar") && strings.Contains(le.Message, "unexpected"):
		f = s.fault(IDSyntax, opened, "the quote that opens here is never closed")
	case strings.Contains(le.ContextMsg, "quoted scalar"):
		f.Text = "not an escape that double quotes know"
		f.Hint = `write \\ for a backslash, or use single quotes`
	}
	return f
}

func (s *source) mark(m yaml.Mark) int {
	return s.offset(m.Line, m.Column)
}

// explainColon handles the fault that people meet most: a second ": " in an
// unquoted text, on the line of the key or on a line that continues it.
func (s *source) explainColon(f *Fault, at int) {
	e, ok := s.entryOn(f.Line)
	if ok && e.colon < at {
		f.Text = "a colon and a space inside unquoted text start a new key"
		s.suggest(f, "", e, s.line(f.Line))
		return
	}
	f.Text = "a key cannot start here; it is indented more than the keys above it, or part of an unquoted text"
	head, ok := s.headOf(f.Line)
	if !ok {
		return
	}
	joined := append([]byte(nil), s.line(head.line)...)
	last := head.line
	for n := head.line + 1; n <= len(s.lines); n++ {
		line := s.line(n)
		blank := bytes.TrimLeft(line, " ")
		if len(blank) == 0 || len(line)-len(blank) <= head.indent {
			break
		}
		joined = append(append(joined, ' '), bytes.TrimSpace(blank)...)
		last = n
	}
	s.suggest(f, fmt.Sprintf("if it belongs to the text that starts on line %d, ", head.line), head, joined)
	if f.fix != nil && last > head.line {
		f.fix.end = s.lines[last-1] + len(bytes.TrimRight(s.line(last), " \t"))
	}
}

// explainKey handles text behind a closing quote, which the library meets when
// it looks for the next key.
func (s *source) explainKey(f *Fault, at int) {
	f.Text = "this is not a key of the mapping above: check the indentation and quotes"
	e, ok := s.entryOn(f.Line)
	if !ok || e.value >= at || (s.data[e.value] != '"' && s.data[e.value] != '\'') {
		return
	}
	f.Text = "there is more text behind the closing quote"
	s.suggest(f, "", e, s.line(f.Line))
}

// suggestQuotes hints at the quoted form when the value of the line starts at
// offset.
func (s *source) suggestQuotes(f *Fault, offset int) {
	line, _ := s.position(offset)
	f.Hint = "write the value itself; text that starts like this must be quoted"
	if e, ok := s.entryOn(line); ok && e.value == offset {
		s.suggest(f, "if it is meant as text, ", e, s.line(line))
	}
}

// entry is one line "key: value" or "- value", as far as a line shows it.
type entry struct {
	line   int
	indent int // spaces before the key or dash
	colon  int // offset of the colon; of the value when there is no key
	value  int // offset of the value
}

// entryOn splits line n; it answers no for a line without key or dash, and for
// one whose value is empty, a block or a bracket.
func (s *source) entryOn(n int) (entry, bool) {
	line := s.line(n)
	i := len(line) - len(bytes.TrimLeft(line, " "))
	e := entry{line: n, indent: i}
	dash := false
	for i < len(line) && bytes.HasPrefix(line[i:], []byte("- ")) {
		dash = true
		for i++; i < len(line) && line[i] == ' '; i++ {
		}
	}
	if n < 1 || n > len(s.lines) || i == len(line) || line[i] == '#' {
		return e, false
	}
	start := s.lines[n-1]
	e.colon, e.value = start+i, start+i
	if colon := keyColon(line[i:]); colon > 0 {
		e.colon = start + i + colon
		for i += colon + 1; i < len(line) && (line[i] == ' ' || line[i] == '\t'); i++ {
		}
		e.value = start + i
	} else if !dash {
		return e, false
	}
	if i == len(line) || strings.IndexByte("[{|>#", line[i]) >= 0 {
		return e, false
	}
	return e, true
}

// keyColon finds the colon behind the key that starts b, or gives -1.
func keyColon(b []byte) int {
	if b[0] == '"' || b[0] == '\'' {
		end := quotedEnd(b, 0)
		if end < 0 {
			return -1
		}
		if rest := bytes.TrimLeft(b[end:], " "); len(rest) > 0 && rest[0] == ':' {
			return len(b) - len(rest)
		}
		return -1
	}
	for i := range b {
		if b[i] == ':' && (i+1 == len(b) || b[i+1] == ' ' || b[i+1] == '\t') {
			return i
		}
	}
	return -1
}

// headOf finds the line "key: text" that line n continues when it is indented
// deeper than that key.
func (s *source) headOf(n int) (entry, bool) {
	indent := func(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }
	limit := indent(s.line(n))
	for n--; n >= 1; n-- {
		line := s.line(n)
		if len(bytes.TrimSpace(line)) == 0 {
			return entry{}, false
		}
		if indent(line) < limit {
			e, ok := s.entryOn(n)
			return e, ok && s.data[e.value] != '"' && s.data[e.value] != '\''
		}
	}
	return entry{}, false
}

// maxHint bounds how much of a line a hint repeats, in characters.
const maxHint = 100

// suggest sets the hint to the entry with its value in double quotes. line is
// the entry's line, or it and what continues it, joined.
func (s *source) suggest(f *Fault, when string, e entry, line []byte) {
	value := line[e.value-s.lines[e.line-1]:]
	quote := value[0] == '"' || value[0] == '\''
	if i := bytes.Index(value, []byte(" #")); i >= 0 && !quote {
		value = value[:i]
	}
	text := string(bytes.TrimRight(value, " \t"))
	key := string(bytes.TrimLeft(s.data[s.lines[e.line-1]:e.value], " "))
	f.fix = &splice{start: e.value, end: e.value + len(text), text: Quote(text)}
	f.Hint = when + "quote it: " + key + shorten(Quote(text))
}

// shorten cuts the middle out of a long text.
func shorten(s string) string {
	if utf8.RuneCountInString(s) <= maxHint {
		return s
	}
	r := []rune(s)
	return string(r[:maxHint*3/4]) + " … " + string(r[len(r)-maxHint/4:])
}

// maxFixes bounds the rounds of QuoteColons; each parses the text once.
const maxFixes = 50

// QuoteColons writes values in double quotes where an unquoted text holds a
// colon and a space, or starts with a character that must be quoted, and gives
// the lines that it changed. It repairs as long as the first fault is one of
// these; what is left is for Parse to report. Without a change it returns data
// itself.
func QuoteColons(data []byte) (fixed []byte, lines []int) {
	fixed = data
	for range maxFixes {
		_, faults, _ := Parse(fixed)
		if len(faults) == 0 || faults[0].fix == nil || faults[0].ID != IDSyntax {
			break
		}
		line := faults[0].Line
		if len(lines) > 0 && line <= lines[len(lines)-1] {
			break // the same line again: quoting it did not help
		}
		fixed = apply(fixed, []splice{*faults[0].fix})
		lines = append(lines, line)
	}
	return fixed, lines
}
