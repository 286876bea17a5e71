package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"

	"github.com/kortecx/kx/internal/termtext"
)

// inline are the pieces of a paragraph. A piece that is a line end breaks the line.
func (w *writer) inline(parent ast.Node, style Style) []Span {
	var out []Span
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		out = append(out, w.piece(n, style)...)
	}
	return out
}

func (w *writer) piece(n ast.Node, style Style) []Span {
	switch n := n.(type) {
	case *ast.Text:
		value := n.Segment.Value(w.source)
		if !n.IsRaw() {
			value = util.UnescapePunctuations(value)
		}
		out := []Span{{Text: string(value), Style: style}}
		switch {
		case n.HardLineBreak():
			out = append(out, ours("\n", Plain))
		case n.SoftLineBreak():
			out = append(out, ours(" ", Plain))
		}
		return out
	case *ast.String:
		return []Span{{Text: string(n.Value), Style: style}}
	case *ast.CodeSpan:
		var b strings.Builder
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if t, ok := c.(*ast.Text); ok {
				b.Write(t.Segment.Value(w.source))
			}
		}
		return []Span{{Text: "`" + strings.ReplaceAll(b.String(), "\n", " ") + "`", Style: Code}}
	case *ast.Emphasis:
		inner := Emphasis
		if n.Level == 2 {
			inner = Strong
		}
		if style == Heading || style == Strong {
			inner = style
		}
		return w.inline(n, inner)
	case *ast.Link:
		return w.leading(w.inline(n, style), n.Reference, n.Destination, n.Title, style)
	case *ast.Image:
		out := append([]Span{ours("[picture: ", Aside)}, w.inline(n, style)...)
		return w.leading(append(out, ours("]", Aside)), n.Reference, n.Destination, n.Title, style)
	case *ast.AutoLink:
		return []Span{{Text: string(n.Label(w.source)), Style: Address}}
	case *ast.RawHTML:
		var b strings.Builder
		for i := range n.Segments.Len() {
			at := n.Segments.At(i)
			b.Write(at.Value(w.source))
		}
		return []Span{{Text: strings.ReplaceAll(b.String(), "\n", " "), Style: Raw}}
	}
	return w.inline(n, style)
}

// leading puts the address of a link or a picture behind its text, with the label and
// the title, which pages show to nobody or only under the mouse. An address that is
// the text itself is not said twice.
func (w *writer) leading(says []Span, ref *ast.ReferenceLink, destination, title []byte, style Style) []Span {
	if ref != nil && ref.Type == ast.ReferenceLinkFull {
		says = append(says, Span{Text: " [" + oneLine(ref.Value) + "]", Style: style})
	}
	address := oneLine(destination)
	if Line(says).Text() == address && len(title) == 0 && ref == nil {
		w.twice.WriteString(address)
		return []Span{{Text: address, Style: Address}}
	}
	// The definition stands where it was written, so its letters here are no new ones.
	repeated := ref != nil
	says = append(says, ours(" (", Plain), Span{Text: address, Style: Address, ours: repeated})
	if len(title) > 0 {
		says = append(says, Span{Text: " \"" + oneLine(title) + "\"", Style: Plain, ours: repeated})
	}
	return append(says, ours(")", Plain))
}

func oneLine(b []byte) string { return strings.ReplaceAll(string(b), "\n", " ") }

// wrap breaks pieces into lines between words, and words that are too long inside of
// them.
func wrap(pieces []Span, width int) []Line {
	f := &filler{width: max(width, 1)}
	for _, p := range pieces {
		if p.Text == "\n" {
			f.word()
			f.end()
			continue
		}
		text := expand(p.Text)
		for text != "" {
			at := strings.IndexByte(text, ' ')
			if at == 0 {
				f.word()
				text = text[1:]
				continue
			}
			if at < 0 {
				at = len(text)
			}
			f.open = append(f.open, Span{Text: text[:at], Style: p.Style, ours: p.ours})
			text = text[at:]
		}
	}
	f.word()
	f.end()
	return f.lines
}

// filler fills lines with words. A word may be made of pieces of several styles.
type filler struct {
	width int
	lines []Line
	line  Line
	used  int
	open  Line // the word that is not ended yet
}

// word ends the open word and puts it into the line.
func (f *filler) word() {
	if len(f.open) == 0 {
		return
	}
	n := f.open.width()
	if f.used > 0 && f.used+1+n > f.width {
		f.end()
	}
	if f.used > 0 {
		f.add(ours(" ", between(f.line, f.open)))
	}
	for _, s := range f.open {
		for s.Text != "" {
			head := s
			if head.Text = termtext.Fitting(s.Text, max(f.width-f.used, 0)); f.used > 0 && f.used+termtext.Width(head.Text) > f.width {
				f.end() // not even one more character
				continue
			}
			f.add(head)
			if s.Text = s.Text[len(head.Text):]; s.Text != "" {
				f.end()
			}
		}
	}
	f.open = nil
}

// between is the style of the space between a line and the word behind it.
func between(line, word Line) Style {
	if s := line[len(line)-1].Style; s == word[0].Style {
		return s
	}
	return Plain
}

func (f *filler) add(s Span) {
	if s.Text == "" {
		return
	}
	f.used += termtext.Width(s.Text)
	if n := len(f.line); n > 0 && f.line[n-1].Style == s.Style && f.line[n-1].ours == s.ours {
		f.line[n-1].Text += s.Text
		return
	}
	f.line = append(f.line, s)
}

func (f *filler) end() {
	if len(f.line) > 0 {
		f.lines = append(f.lines, f.line)
	}
	f.line, f.used = nil, 0
}
