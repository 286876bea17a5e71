// Package markdown shows Markdown from strangers to a person at a terminal, who has
// to judge it: headings, lists, tables and code look like what they are, and nothing
// that the text says is left out. Raw HTML and its comments stand there as text, the
// definitions of links and what follows the language of a code block too, and each
// link and picture is followed by its address. What a terminal would obey, and what
// a reader cannot see, is written out as package termtext does.
//
// It knows no colours: a Span says what its text is for, and the caller decides how
// that looks. Call Render.
package markdown

import (
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/kortecx/kx/internal/termtext"
)

// Style is what a piece of text is for.
type Style uint8

// The styles.
const (
	Plain Style = iota
	Heading
	Strong
	Emphasis
	Code
	Address // where a link leads
	Aside   // rules, marks of lists, definitions, front matter
	Raw     // HTML, which is not obeyed here and may be hidden elsewhere
)

// Span is a piece of a line. Its text is fit to print.
type Span struct {
	Text  string
	Style Style

	ours bool // not in the source
}

// Line is one line of the output, no wider than was asked for.
type Line []Span

// Text is the line without its styles.
func (l Line) Text() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

func (l Line) width() (n int) {
	for _, s := range l {
		n += termtext.Width(s.Text)
	}
	return n
}

// Options say for whom the text is rendered.
type Options struct {
	// Width is how many columns there are; 0 breaks no line.
	Width int
	// Spoken output is read aloud: words say what lines, boxes and columns show.
	Spoken bool
}

// Render turns Markdown into lines. What cannot be rendered in bounded time, or so
// that every letter of it is seen, comes back as it was written.
func Render(source []byte, o Options) []Line {
	visible := escapeLines(string(source))
	w := &writer{width: o.Width, spoken: o.Spoken}
	if w.width <= 0 {
		w.width = unbroken
	}
	front, body := cutFrontMatter(visible)
	w.source = []byte(body)
	if Tangled(w.source) {
		return w.verbatim(visible, Plain)
	}
	var out []Line
	if front != "" {
		out = append(w.verbatim(front, Aside), nil)
	}
	document := newParser(true).Parse(text.NewReader(w.source))
	out = append(out, w.blocks(document, w.width)...)
	for len(out) > 0 && len(out[len(out)-1]) == 0 {
		out = out[:len(out)-1]
	}
	if !holds(append(slices.Clone(out), Line{{Text: w.twice.String()}}), visible) {
		return w.verbatim(visible, Plain)
	}
	return out
}

// Verbatim is a text as it was written, fit to print, its lines broken where they are
// full.
func Verbatim(source []byte, o Options) []Line {
	w := &writer{width: o.Width}
	if w.width <= 0 {
		w.width = unbroken
	}
	return w.verbatim(escapeLines(string(source)), Plain)
}

// unbroken is a width that no line has.
const unbroken = 1 << 30

// newParser is the parser; without inlines it sees only the blocks. It is made when it is
// needed: most commands render nothing.
func newParser(inlines bool) parser.Parser {
	blocks := parser.WithBlockParsers(parser.DefaultBlockParsers()...)
	if !inlines {
		return parser.NewParser(blocks)
	}
	return parser.NewParser(
		blocks,
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(), util.Prioritized(extension.NewTableParagraphTransformer(), 200))...),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
}

// Bounds of what is rendered. The parser's time grows with the square of the depth of
// quotes and lists, and with that of the openers in one paragraph; what people write
// stays far below.
const (
	maxDepth  = 64
	maxTangle = 100_000_000 // openers × bytes, over all blocks: at most 0.4 s
)

// Tangled tells whether a text is made so that reading it takes long.
func Tangled(source []byte) bool {
	for line := range strings.Lines(string(source)) {
		depth := 0
		for i := 0; i < len(line); i++ {
			c := line[i]
			if c == '>' || strings.IndexByte("-+*", c) >= 0 && i+1 < len(line) && (line[i+1] == ' ' || line[i+1] == '\t') {
				depth++
			} else if c != ' ' && c != '\t' && c != '.' && c != ')' && (c < '0' || c > '9') {
				break
			}
		}
		if depth > maxDepth {
			return true
		}
	}
	cost := 0
	_ = ast.Walk(newParser(false).Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering || n.Type() != ast.TypeBlock || n.IsRaw() || n.Lines() == nil {
			return ast.WalkContinue, nil
		}
		openers, bytes := 0, 0
		for i := range n.Lines().Len() {
			at := n.Lines().At(i)
			value := at.Value(source)
			bytes += len(value)
			for _, c := range value {
				if strings.IndexByte("[*_`<", c) >= 0 {
					openers++
				}
			}
		}
		cost += openers * bytes
		return ast.WalkContinue, nil
	})
	return cost > maxTangle
}

// holds tells whether every letter and every character beyond ASCII of the source is
// in the lines as often as there. Digits do not count: a list numbers its items.
func holds(lines []Line, source string) bool {
	have := map[rune]int{}
	for _, l := range lines {
		for _, s := range l {
			if !s.ours {
				for _, r := range s.Text {
					have[r]++
				}
			}
		}
	}
	for _, r := range source {
		if r >= 0x80 && !unicode.IsSpace(r) || unicode.IsLetter(r) {
			if have[r]--; have[r] < 0 {
				return false
			}
		}
	}
	return true
}

// cutFrontMatter separates the YAML in front of a skill's text, with its fences.
func cutFrontMatter(s string) (front, body string) {
	if !strings.HasPrefix(s, "---\n") {
		return "", s
	}
	at := strings.Index(s, "\n---\n")
	if at < 0 {
		return "", s
	}
	at += len("\n---\n")
	return s[:at], s[at:]
}

// escapeLines writes out what a terminal obeys and what nobody sees, and keeps line
// ends and tabs, which Markdown is made of.
func escapeLines(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		body, ended := strings.CutSuffix(line, "\n")
		body = strings.TrimSuffix(body, "\r")
		for i, part := range strings.Split(body, "\t") {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(termtext.Escape(part))
		}
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
