package webui

import (
	"bytes"
	"html/template"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/kortecx/kx/internal/markdown"
	"github.com/kortecx/kx/internal/termtext"
)

// maxShown is the most bytes of one file that a page shows.
const maxShown = 512 << 10

// renderMarkdown turns instructions into HTML that can do nothing: raw HTML is
// shown as text, pictures become links, links leave without a referrer and only to
// the web, and characters that cannot be seen are written out.
func renderMarkdown(source []byte) template.HTML {
	visible := []byte(escapeLines(string(source)))
	if markdown.Tangled(visible) {
		return template.HTML("<pre>" + template.HTMLEscapeString(string(visible)) + "</pre>")
	}
	md := goldmark.New(
		goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList),
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(harmless{}, 100))),
	)
	var b bytes.Buffer
	if err := md.Convert(visible, &b); err != nil {
		return template.HTML("<pre>" + template.HTMLEscapeString(string(visible)) + "</pre>")
	}
	return template.HTML(b.String())
}

// harmless is the transformer that takes the teeth out of a document.
type harmless struct{}

func (harmless) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	source := reader.Source()
	var replace []ast.Node
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			n.Level = min(n.Level+2, 6) // below the headings of the page
		case *ast.RawHTML, *ast.HTMLBlock, *ast.Image:
			replace = append(replace, n)
		case *ast.Link:
			n.Destination = webOnly(n.Destination)
			n.SetAttributeString("rel", []byte("noreferrer nofollow"))
		case *ast.AutoLink:
			if n.AutoLinkType == ast.AutoLinkURL && string(webOnly(n.URL(source))) == "#" {
				replace = append(replace, n)
			}
			n.SetAttributeString("rel", []byte("noreferrer nofollow"))
		}
		return ast.WalkContinue, nil
	})
	for _, n := range replace {
		if parent := n.Parent(); parent != nil {
			parent.ReplaceChild(parent, n, asText(n, source))
		}
	}
}

// asText is what stands in the page instead of raw HTML or a picture.
func asText(n ast.Node, source []byte) ast.Node {
	switch n := n.(type) {
	case *ast.Image:
		return rawText([]byte("[picture: " + string(n.Destination) + "]"))
	case *ast.RawHTML:
		return rawText(n.Segments.Value(source))
	case *ast.AutoLink:
		return rawText(n.Label(source))
	case *ast.HTMLBlock:
		block := ast.NewCodeBlock()
		lines := n.Lines()
		if n.HasClosure() {
			lines.Append(n.ClosureLine)
		}
		block.SetLines(lines)
		return block
	}
	return n
}

// rawText is a node that is escaped and not looked into again.
func rawText(value []byte) ast.Node {
	text := ast.NewString(value)
	text.SetRaw(true)
	return text
}

func webOnly(destination []byte) []byte {
	d := string(destination)
	if strings.HasPrefix(d, "https://") || strings.HasPrefix(d, "http://") || strings.HasPrefix(d, "#") || strings.HasPrefix(d, "mailto:") {
		return destination
	}
	return []byte("#")
}

// escapeLines writes out hidden and control characters, keeping line ends and tabs.
func escapeLines(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		body := strings.TrimRight(line, "\r\n")
		for i, part := range strings.Split(body, "\t") {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(termtext.Escape(part))
		}
		if len(body) < len(line) {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// shownText is a file as a page can show it; false for one that is not text.
func shownText(data []byte) (string, bool) {
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return "", false
	}
	cut := data
	if len(cut) > maxShown {
		cut = cut[:maxShown]
	}
	return escapeLines(strings.ToValidUTF8(string(cut), "")), true
}
