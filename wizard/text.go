package wizard

import (
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/internal/termtext"
)

// clean makes a text from a stranger fit for one line.
func clean(s string) string {
	return termtext.Escape(strings.TrimSpace(strings.ReplaceAll(s, "\t", " ")))
}

// cleanLines takes a text of a stranger apart into lines that are fit to print.
func cleanLines(s string) []string {
	s = strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	if s == "" {
		return nil
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = termtext.Escape(strings.ReplaceAll(strings.TrimRight(line, " \t\r"), "\t", "    "))
	}
	return lines
}

func widthOf(s string) int { return termtext.Width(s) }

// cut shortens a line to n columns; what is cut off ends in an ellipsis.
func cut(s string, n int) string {
	switch {
	case n <= 0:
		return ""
	case widthOf(s) <= n:
		return s
	case n == 1:
		return "…"
	}
	return termtext.Truncate(s, n, "…")
}

// pad is cut, filled with spaces to exactly n columns.
func pad(s string, n int) string {
	s = cut(s, n)
	return s + strings.Repeat(" ", max(0, n-widthOf(s)))
}

// wrap breaks a line between words, and words that are too long inside of them.
func wrap(s string, n int) []string {
	if n <= 0 {
		return nil
	}
	if widthOf(s) <= n {
		return []string{s}
	}
	indent := s[:len(s)-len(strings.TrimLeft(s, " "))]
	if len(indent) > n/2 {
		indent = ""
	}
	var out []string
	line, used := indent, len(indent)
	flush := func() {
		out = append(out, line)
		line, used = indent, len(indent)
	}
	for _, word := range strings.Fields(s) {
		w := widthOf(word)
		if used > len(indent) && used+1+w > n {
			flush()
		}
		if used > len(indent) {
			line, used = line+" ", used+1
		}
		for used+w > n {
			head := termtext.Fitting(word, n-used)
			line += head
			flush()
			word = word[len(head):]
			w = widthOf(word)
		}
		line, used = line+word, used+w
	}
	if used > len(indent) {
		out = append(out, line)
	}
	return out
}

// chop breaks a line behind a space, or where it is full. Other than wrap it changes
// nothing else in it; only a space at which it is broken may go.
func chop(s string, n int) []string {
	n = max(n, 1)
	var out []string
	for widthOf(s) > n {
		head := termtext.Fitting(s, n)
		rest := s[len(head):]
		at := strings.LastIndexByte(head, ' ')
		switch {
		case strings.HasPrefix(rest, " "):
			rest = rest[1:]
		case at >= 0 && strings.Trim(head[:at], " +-") != "":
			head, rest = head[:at], s[at+1:]
		}
		out, s = append(out, head), rest
	}
	if s != "" {
		out = append(out, s)
	}
	return out
}

// input is a line that is being typed.
type input struct {
	text string
	at   int // byte offset of the cursor
}

func (in *input) set(s string) { in.text, in.at = s, len(s) }

func (in *input) insert(s string) {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return -1
		}
		return r
	}, s)
	const most = 4096
	if len(in.text)+len(s) > most {
		return
	}
	in.text = in.text[:in.at] + s + in.text[in.at:]
	in.at += len(s)
}

func (in *input) left() {
	_, size := utf8.DecodeLastRuneInString(in.text[:in.at])
	in.at -= size
}

func (in *input) right() {
	_, size := utf8.DecodeRuneInString(in.text[in.at:])
	in.at += size
}

func (in *input) backspace() {
	end := in.at
	in.left()
	in.text = in.text[:in.at] + in.text[end:]
}

func (in *input) erase() {
	_, size := utf8.DecodeRuneInString(in.text[in.at:])
	in.text = in.text[:in.at] + in.text[in.at+size:]
}

// backWord takes the word in front of the cursor away.
func (in *input) backWord() {
	head := strings.TrimRight(in.text[:in.at], " ")
	head = head[:strings.LastIndexByte(head, ' ')+1]
	in.text, in.at = head+in.text[in.at:], len(head)
}

// toStart takes everything in front of the cursor away.
func (in *input) toStart() { in.text, in.at = in.text[in.at:], 0 }

// shown are the spans of the input in n columns, with the cursor in sight.
func (in *input) shown(n int) row {
	n = max(n, 1)
	before := termtext.Escape(in.text[:in.at])
	under, rest := " ", ""
	if in.at < len(in.text) {
		_, size := utf8.DecodeRuneInString(in.text[in.at:])
		under, rest = termtext.Escape(in.text[in.at:in.at+size]), termtext.Escape(in.text[in.at+size:])
	}
	for widthOf(before)+widthOf(under) > n && before != "" {
		_, size := utf8.DecodeRuneInString(before)
		before = before[size:]
	}
	return row{{before, plain}, {under, cursor}, {rest, plain}}.cut(n)
}
