package cli

import (
	"strings"

	"github.com/kortecx/kx/internal/termtext"
)

// columns of the kazma tables. The widths are the reference's.
const (
	nameColumn        = 24
	authorColumn      = 16
	versionColumn     = 10
	descriptionColumn = 40
	badgeColumn       = 12
)

// padded is one cell of a table: made safe to print, filled with spaces to its width.
// An identifier that is longer is kept whole, with one space behind it.
func padded(s string, width int) string {
	s = termtext.Escape(s)
	have := termtext.Width(s)
	if have > width {
		return s + " "
	}
	return s + strings.Repeat(" ", width-have)
}

// cutPadded is a cell whose text is cut at the width.
func cutPadded(s string, width int) string {
	return padded(termtext.Truncate(termtext.Escape(s), width, ""), width)
}

// kazmaTable prints rows of name, author, version and description as the reference
// does.
func (a *app) kazmaTable(rows [][4]string) {
	line := func(r [4]string) {
		a.printf("%s\n", padded(r[0], nameColumn)+padded(r[1], authorColumn)+padded(r[2], versionColumn)+cutPadded(r[3], descriptionColumn))
	}
	line([4]string{"NAME", "AUTHOR", "VERSION", "DESCRIPTION"})
	a.printf("%s\n", strings.Repeat("-", nameColumn+authorColumn+versionColumn+descriptionColumn))
	for _, r := range rows {
		line(r)
	}
}
