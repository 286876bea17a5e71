package wizard

import (
	"strings"

	"github.com/kortecx/kx/internal/markdown"
)

// page collects rows for a width. Text that is handed to it is made fit to print and
// broken between words.
type page struct {
	width int
	rows  []row
	// spoken pages are read aloud, or by a program: words stand for signs, and a line
	// is as long as it is.
	spoken bool
	// raw pages show Markdown as it was written. What was rendered last is in drawn,
	// if there is any: a screen is drawn several times for each key.
	raw   bool
	drawn *drawn
}

// drawn is the last text that was rendered.
type drawn struct {
	text  string
	width int
	rows  []row
}

func newPage(width int) *page { return &page{width: max(width, 1)} }

// signWords are what signs are called aloud.
var signWords = map[string]string{
	"✓": "good", "!": "attention", "✗": "problem", "-": "", "+": "new", "~": "update", "=": "unchanged", ">": "quote",
}

// aloud is a text with its sign as a word.
func aloud(first, text string) string {
	sign, rest, _ := strings.Cut(strings.TrimSpace(first), " ")
	word, ok := signWords[sign]
	switch {
	case !ok:
		return strings.TrimSpace(first + text)
	case rest != "" && word != "":
		return rest + ", " + word + ": " + text
	case rest != "":
		return rest + ": " + text
	case text == "":
		return word
	}
	return word + ": " + text
}

func (p *page) row(r ...span) { p.rows = append(p.rows, row(r)) }

func (p *page) blank() { p.rows = append(p.rows, nil) }

// text is a paragraph.
func (p *page) text(l look, s string) { p.indented("", l, s) }

// indented is a paragraph behind an indent, which its first line shows.
func (p *page) indented(first string, l look, s string) {
	if p.spoken {
		p.row(span{aloud(first, clean(s)), l})
		return
	}
	w := widthOf(first)
	if w >= p.width {
		first, w = "", 0
	}
	for i, line := range wrap(clean(s), p.width-w) {
		if i > 0 {
			first = strings.Repeat(" ", w)
		}
		p.row(span{first, l}, span{line, l})
	}
}

// labelled is a value behind a label of so many columns; where there is little room
// it goes below the label.
func (p *page) labelled(label string, columns int, l look, value string) {
	if value == "" {
		return
	}
	if p.spoken {
		text := aloud(label, clean(value))
		if name := strings.TrimSpace(label); text == name+clean(value) && name != "" {
			text = name + ": " + clean(value)
		}
		p.row(span{text, l})
		return
	}
	if p.width < columns+24 {
		p.row(span{label, faint})
		p.indented("  ", l, value)
		return
	}
	for i, line := range wrap(clean(value), p.width-columns) {
		if i > 0 {
			label = ""
		}
		p.row(span{pad(label, columns), faint}, span{line, l})
	}
}

// heading is a line that opens a section.
func (p *page) heading(s string) {
	p.blank()
	if !p.spoken {
		s = cut(s, p.width)
	}
	p.row(span{s, strong})
}

// verbatim is text with its own line ends; look says how each line looks.
func (p *page) verbatim(indent, s string, looks func(line string) look) {
	for _, line := range cleanLines(s) {
		if p.spoken {
			p.row(span{line, plain})
			continue
		}
		l := plain
		if looks != nil {
			l = looks(line)
		}
		if line == "" {
			p.blank()
			continue
		}
		for _, part := range chop(line, p.width-widthOf(indent)) {
			p.row(span{indent + part, l})
		}
	}
}

// looksOf are the looks of rendered Markdown.
var looksOf = [...]look{
	markdown.Heading: strong, markdown.Strong: strong, markdown.Emphasis: slanted, markdown.Code: coded,
	markdown.Address: address, markdown.Aside: faint, markdown.Raw: warn,
}

// markdown shows what instructions say.
func (p *page) markdown(indent, text string) {
	if p.raw {
		p.verbatim(indent, text, nil)
		return
	}
	width := 0 // a spoken line is as long as it is
	if !p.spoken {
		width = max(p.width-widthOf(indent), 1)
	} else {
		indent = ""
	}
	if p.drawn == nil || p.drawn.text != text || p.drawn.width != width {
		d := &drawn{text: text, width: width}
		for _, line := range markdown.Render([]byte(text), markdown.Options{Width: width, Spoken: p.spoken}) {
			var r row
			if len(line) > 0 {
				r = append(r, span{indent, plain})
			}
			for _, s := range line {
				r = append(r, span{s.Text, looksOf[s.Style]})
			}
			d.rows = append(d.rows, r)
		}
		if p.drawn == nil {
			p.drawn = &drawn{}
		}
		*p.drawn = *d
	}
	p.rows = append(p.rows, p.drawn.rows...)
}

// lines are the rows as text.
func (p *page) lines() []string {
	out := make([]string, len(p.rows))
	for i, r := range p.rows {
		out[i] = strings.TrimRight(r.text(), " ")
	}
	return out
}
