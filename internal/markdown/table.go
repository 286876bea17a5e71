package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// cell is what stands in one field of a table.
type cell []Span

func (c cell) width() int { return Line(c).width() }

// table is drawn with columns where there is room for them, and else, or aloud, as
// one record for each row.
func (w *writer) table(n *extast.Table, width int) []Line {
	var rows [][]cell
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		rows = append(rows, w.cells(row))
	}
	if len(rows) == 0 {
		return nil
	}
	columns := 0
	for _, row := range rows {
		columns = max(columns, len(row))
	}
	widths, total := make([]int, columns), 3*(columns-1)
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], c.width())
		}
	}
	for _, n := range widths {
		total += n
	}
	if w.spoken || total > width {
		return w.records(rows, width)
	}
	var out []Line
	for i, row := range rows {
		out = append(out, drawn(row, widths))
		if i == 0 {
			marks := make([]string, columns)
			for j, n := range widths {
				marks[j] = strings.Repeat("─", n)
			}
			out = append(out, Line{ours(strings.Join(marks, "─┼─"), Aside)})
		}
	}
	return out
}

// drawn is one row with its cells below those of the other rows.
func drawn(row []cell, widths []int) Line {
	var out Line
	for i, n := range widths {
		if i > 0 {
			out = append(out, ours(" │ ", Aside))
		}
		have := 0
		if i < len(row) {
			out = append(out, row[i]...)
			have = row[i].width()
		}
		if i < len(widths)-1 && have < n {
			out = append(out, ours(strings.Repeat(" ", n-have), Plain))
		}
	}
	return out
}

// records are the rows one below the other, each field behind the name of its column.
func (w *writer) records(rows [][]cell, width int) []Line {
	names := rows[0]
	if len(rows) == 1 {
		var out []Line
		for _, name := range names {
			out = append(out, wrap(name, width)...)
		}
		return out
	}
	var out []Line
	for i, row := range rows[1:] {
		if i > 0 {
			out = append(out, nil)
		}
		for j := range max(len(row), len(names)) {
			var field []Span
			if j < len(names) && len(names[j]) > 0 {
				for _, s := range names[j] {
					s.ours = i > 0 // the first record says them, the others again
					field = append(field, s)
				}
				field = append(field, ours(": ", Plain))
			}
			if j < len(row) {
				field = append(field, row[j]...)
			}
			out = append(out, wrap(field, width)...)
		}
	}
	return out
}

// cells are those of a row. What stands behind the last column is a cell too: pages
// leave it out.
func (w *writer) cells(row ast.Node) []cell {
	style := Plain
	if row.Kind() == extast.KindTableHeader {
		style = Strong
	}
	var out []cell
	end := -1
	for c := row.FirstChild(); c != nil; c = c.NextSibling() {
		out = append(out, onOneLine(w.inline(c, style)))
		if c.Lines() != nil && c.Lines().Len() > 0 {
			end = c.Lines().At(c.Lines().Len() - 1).Stop
		}
	}
	if end < 0 {
		return out
	}
	rest := w.source[end:]
	if at := bytes.IndexByte(rest, '\n'); at >= 0 {
		rest = rest[:at]
	}
	if rest = bytes.Trim(rest, "| \t"); len(rest) > 0 {
		out = append(out, cell{{Text: expand(string(rest)), Style: Raw}})
	}
	return out
}

// onOneLine is a paragraph as one line that is as long as it is.
func onOneLine(pieces []Span) cell {
	lines := wrap(pieces, unbroken)
	if len(lines) == 0 {
		return nil
	}
	var out cell
	for i, l := range lines {
		if i > 0 {
			out = append(out, ours(" ", Plain))
		}
		out = append(out, l...)
	}
	return out
}
