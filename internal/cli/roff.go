package cli

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/kortecx/kx/internal/termtext"
)

// roff writes a manual page in the language of man(7). Text comes in as text: whatever
// is in it, it can neither begin a request nor an escape.
type roff struct{ b strings.Builder }

// line writes a request or a line of text that is roff already.
//
// Not inlined, for the size of the programs.
//
//go:noinline
func (r *roff) line(format string, args ...any) { fmt.Fprintf(&r.b, format+"\n", args...) }

func (r *roff) section(title string) { r.line(".SH %s", roffQuoted(title)) }

// item begins an entry of a list. head is roff.
func (r *roff) item(head string) { r.line(".TP\n%s", head) }

// text writes text that is filled; a blank line in it is a new paragraph, and lines
// that begin with blanks stay as they are.
func (r *roff) text(s string) {
	var filled, literal []string
	begun := false
	paragraph := func() {
		if len(filled) > 0 {
			r.line("%s", roffProse(strings.Join(filled, " ")))
			filled, begun = nil, true
		}
	}
	example := func() {
		if len(literal) > 0 {
			r.literal(literal)
			literal, begun = nil, true
		}
	}
	blank := false
	for l := range strings.Lines(strings.Trim(s, "\n")) {
		l = strings.TrimRight(l, "\n")
		switch {
		case strings.TrimSpace(l) == "":
			paragraph()
			example()
			blank = begun
			continue
		case strings.HasPrefix(l, " "):
			paragraph()
			literal = append(literal, strings.TrimPrefix(l, "  "))
		default:
			example()
			if blank {
				r.line(".PP")
			}
			filled = append(filled, l)
		}
		blank = false
	}
	paragraph()
	example()
}

// literal writes lines as they are, a little to the right.
func (r *roff) literal(lines []string) {
	r.line(".PP\n.in +4n\n.EX")
	for _, l := range lines {
		r.line("%s", roffLiteral(l))
	}
	r.line(".EE\n.in\n.PP")
}

// roffProse escapes text for people. Hyphens of words may break a line; those of
// options, paths and addresses are what is typed.
func roffProse(s string) string {
	words := strings.Fields(strings.ReplaceAll(s, "`", ""))
	for i, word := range words {
		typed := strings.HasPrefix(strings.TrimLeft(word, `("'`), "-") || strings.ContainsAny(word, "/_@=.:")
		words[i] = roffEscape(word, typed)
	}
	return roffStart(strings.Join(words, " "))
}

// roffLiteral escapes what is typed: every blank and hyphen is kept.
func roffLiteral(s string) string { return roffStart(roffEscape(s, true)) }

// roffName is a command's name in the NAME section and the title, which indexers read.
func roffName(s string) string { return strings.ReplaceAll(s, "-", `\-`) }

func roffBold(s string) string   { return roffStart(`\fB` + roffEscape(s, true) + `\fR`) }
func roffItalic(s string) string { return roffStart(`\fI` + roffEscape(s, true) + `\fR`) }

// roffQuoted is one argument of a request.
func roffQuoted(s string) string { return `"` + roffEscape(s, true) + `"` }

// roffStart keeps the first character of a line from being a request.
func roffStart(s string) string {
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		return `\&` + s
	}
	return s
}

func roffEscape(s string, typed bool) string {
	var b strings.Builder
	for _, r := range termtext.Escape(s) {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-' && typed:
			b.WriteString(`\-`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r == '"':
			b.WriteString(`\(dq`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r > unicode.MaxASCII:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
