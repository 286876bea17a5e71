package markdown

import (
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/kortecx/kx/internal/termtext"
)

// writer turns the blocks of one document into lines.
type writer struct {
	source []byte
	width  int
	spoken bool
	twice  strings.Builder // what the source says twice, and the output once
}

// narrow is how few columns are left to what stands behind a mark; with fewer the
// mark takes no room of its own.
const narrow = 12

// ruleWidth is how long a line across is at most.
const ruleWidth = 40

func ours(s string, style Style) Span { return Span{Text: s, Style: style, ours: true} }

// blocks are the lines of everything in a container, with an empty line between two.
func (w *writer) blocks(parent ast.Node, width int) []Line {
	var out []Line
	tight := false
	if item, ok := parent.(*ast.ListItem); ok {
		if list, ok := item.Parent().(*ast.List); ok {
			tight = list.IsTight
		}
	}
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		lines := w.block(n, width)
		if len(lines) == 0 {
			continue
		}
		together := tight || n.Kind() == ast.KindLinkReferenceDefinition && n.PreviousSibling() != nil &&
			n.PreviousSibling().Kind() == ast.KindLinkReferenceDefinition
		if len(out) > 0 && !together {
			out = append(out, nil)
		}
		out = append(out, lines...)
	}
	return out
}

func (w *writer) block(n ast.Node, width int) []Line {
	switch n := n.(type) {
	case *ast.Heading:
		return w.heading(n, width)
	case *ast.Blockquote:
		if w.spoken {
			return w.between("quote:", "end of quote", w.blocks(n, width))
		}
		return w.behind(ours("> ", Aside), ours("> ", Aside), width, func(width int) []Line { return w.blocks(n, width) })
	case *ast.List:
		return w.list(n, width)
	case *ast.FencedCodeBlock:
		info := ""
		if n.Info != nil {
			info = string(n.Info.Value(w.source))
		}
		return w.boxed("code", info, w.linesOf(n), Code, width)
	case *ast.CodeBlock:
		return w.boxed("code", "", w.linesOf(n), Code, width)
	case *ast.HTMLBlock:
		value := w.linesOf(n)
		if n.HasClosure() {
			value += string(n.ClosureLine.Value(w.source))
		}
		return w.boxed("HTML, shown as text", "", value, Raw, width)
	case *ast.LinkReferenceDefinition:
		return w.chopped(w.linesOf(n), Aside, width)
	case *ast.ThematicBreak:
		if w.spoken {
			return []Line{{ours("a line across", Aside)}}
		}
		return []Line{{ours(strings.Repeat("─", min(width, ruleWidth)), Aside)}}
	case *extast.Table:
		return w.table(n, width)
	}
	if n.Type() == ast.TypeBlock && n.FirstChild() != nil && n.FirstChild().Type() == ast.TypeBlock {
		return w.blocks(n, width)
	}
	return wrap(w.inline(n, Plain), width)
}

// linesOf is the source of a block that is not looked into.
func (w *writer) linesOf(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		at := n.Lines().At(i)
		b.Write(at.Value(w.source))
	}
	return b.String()
}

func (w *writer) heading(n *ast.Heading, width int) []Line {
	content := w.inline(n, Heading)
	if w.spoken {
		return wrap(append([]Span{ours(fmt.Sprintf("heading %d: ", n.Level), Aside)}, content...), width)
	}
	if n.Level > 2 {
		content = append([]Span{ours(strings.Repeat("#", n.Level)+" ", Heading)}, content...)
	}
	lines := wrap(content, width)
	if n.Level <= 2 && len(lines) > 0 {
		long := 0
		for _, l := range lines {
			long = max(long, l.width())
		}
		line := "═"
		if n.Level == 2 {
			line = "─"
		}
		lines = append(lines, Line{ours(strings.Repeat(line, min(long, width)), Heading)})
	}
	return lines
}

func (w *writer) list(n *ast.List, width int) []Line {
	var out []Line
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		switch {
		case n.IsOrdered():
			mark = fmt.Sprintf("%d%c ", number, n.Marker)
			number++
		case w.spoken:
			mark = "- "
		}
		lines := w.behind(ours(mark, Aside), ours(strings.Repeat(" ", termtext.Width(mark)), Plain), width,
			func(width int) []Line { return w.blocks(item, width) })
		if len(lines) == 0 {
			lines = []Line{{ours(termtext.Fitting(mark, width), Aside)}}
		}
		if len(out) > 0 && !n.IsTight {
			out = append(out, nil)
		}
		out = append(out, lines...)
	}
	return out
}

// behind puts a mark in front of the first line of what fill gives, and another one in
// front of the rest.
func (w *writer) behind(first, rest Span, width int, fill func(width int) []Line) []Line {
	room := width - termtext.Width(first.Text)
	if room < narrow {
		lines := fill(width)
		if len(lines) > 0 && len(lines[0]) > 0 && lines[0].width()+termtext.Width(first.Text) <= width {
			lines[0] = append(Line{first}, lines[0]...)
		}
		return lines
	}
	lines := fill(room)
	for i, l := range lines {
		mark := rest
		if i == 0 {
			mark = first
		}
		if len(l) == 0 && strings.TrimSpace(mark.Text) == "" {
			continue
		}
		lines[i] = append(Line{mark}, l...)
	}
	return lines
}

func (w *writer) between(begin, end string, lines []Line) []Line {
	out := append([]Line{{ours(begin, Aside)}}, lines...)
	return append(out, Line{ours(end, Aside)})
}

// boxed is text that is shown as it stands, with a bar in front of each line of it, so
// that a line which was broken is not taken for two.
func (w *writer) boxed(what, about, value string, style Style, width int) []Line {
	about = strings.TrimSpace(expand(about))
	value = strings.TrimRight(value, "\n")
	if w.spoken {
		begin := Line{ours(what, Aside)}
		if about != "" {
			begin = append(begin, ours(" ", Aside), Span{Text: about, Style: Aside})
		}
		out := []Line{append(begin, ours(":", Aside))}
		out = append(out, w.chopped(value, style, width)...)
		return append(out, Line{ours("end of "+strings.SplitN(what, ",", 2)[0], Aside)})
	}
	var out []Line
	if about != "" {
		out = wrap([]Span{{Text: about, Style: Aside}}, width)
	}
	for line := range strings.SplitSeq(value, "\n") {
		out = append(out, w.behind(ours("│ ", Aside), ours("  ", Plain), width, func(width int) []Line {
			return w.chopped(line, style, width)
		})...)
		if line == "" {
			out = append(out, Line{ours("│", Aside)})
		}
	}
	return out
}

// verbatim is a whole text as it stands.
func (w *writer) verbatim(value string, style Style) []Line {
	return w.chopped(strings.TrimRight(value, "\n"), style, w.width)
}

// chopped is text with its own line ends; lines that are too long are broken where
// they are full, or behind the last space before in what is no code.
func (w *writer) chopped(value string, style Style, width int) []Line {
	if value == "" {
		return nil
	}
	var out []Line
	for line := range strings.SplitSeq(strings.TrimRight(value, "\n"), "\n") {
		line = strings.TrimRight(expand(line), " ")
		if line == "" {
			out = append(out, nil)
		}
		for line != "" {
			part := termtext.Fitting(line, width)
			if at := strings.LastIndexByte(part, ' '); at > 0 && len(part) < len(line) && style != Code && style != Raw {
				part = part[:at+1]
			}
			out = append(out, Line{{Text: part, Style: style}})
			line = line[len(part):]
		}
	}
	return out
}

// expand puts spaces in place of tabs.
func expand(s string) string { return strings.ReplaceAll(s, "\t", "    ") }
