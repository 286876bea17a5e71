package wizard

import (
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// look is what a piece of text is for. Colour never says something that a word or a
// sign beside it does not say too.
type look int

const (
	plain look = iota
	strong
	faint
	accent
	good
	warn
	bad
	slanted
	coded
	address
	cursor
	looks
)

// span is a piece of a row, row a line of the screen. Text in them is fit to print.
type span struct {
	text string
	look look
}

type row []span

func (r row) width() (n int) {
	for _, s := range r {
		n += widthOf(s.text)
	}
	return n
}

// cut shortens a row to n columns.
func (r row) cut(n int) row {
	if r.width() <= n {
		return r
	}
	var out row
	for _, s := range r {
		w := widthOf(s.text)
		if w > n {
			return append(out, span{cut(s.text, n), s.look})
		}
		out = append(out, s)
		n -= w
	}
	return out
}

// text is the row without its looks.
func (r row) text() string {
	var b strings.Builder
	for _, s := range r {
		b.WriteString(s.text)
	}
	return b.String()
}

// theme turns rows into what a terminal understands.
type theme struct {
	styles [looks]lipgloss.Style
	// attributes are used without colours too: NO_COLOR forbids only those.
	attributes bool
	colourless bool
}

// colours of a theme are those of 256-colour terminals; lipgloss takes the nearest
// one where there are fewer.
type colours struct{ faint, accent, good, warn, bad lipgloss.Color }

var (
	onDark  = colours{faint: "246", accent: "80", good: "78", warn: "221", bad: "210"}
	onLight = colours{faint: "241", accent: "25", good: "28", warn: "130", bad: "160"}
)

// newTheme makes a theme for a terminal of its own; the terminal is asked nothing.
func newTheme(profile termenv.Profile, dark bool) *theme {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(profile)
	r.SetHasDarkBackground(dark)
	c := onLight
	if dark {
		c = onDark
	}
	style := func() lipgloss.Style { return r.NewStyle().Inline(true) }
	return &theme{colourless: profile == termenv.Ascii, styles: [looks]lipgloss.Style{
		plain:  style(),
		strong: style().Bold(true),
		faint:  style().Foreground(c.faint),
		accent: style().Foreground(c.accent).Bold(true),
		good:   style().Foreground(c.good),
		warn:   style().Foreground(c.warn),
		bad:    style().Foreground(c.bad).Bold(true),

		slanted: style().Italic(true),
		coded:   style().Foreground(c.accent),
		address: style().Underline(true),
		cursor:  style().Reverse(true),
	}}
}

// profileOf reads from the environment how many colours a terminal has.
func profileOf(getenv func(string) string) termenv.Profile {
	term := getenv("TERM")
	switch {
	case getenv("NO_COLOR") != "" || term == "dumb" || term == "":
		return termenv.Ascii
	case getenv("COLORTERM") != "" || strings.Contains(term, "256color"):
		return termenv.ANSI256
	}
	return termenv.ANSI
}

// darkTerminal reads what a terminal says of its background, if it says anything:
// COLORFGBG ends in the number of the colour.
func darkTerminal(given string, getenv func(string) string) bool {
	for _, said := range []string{given, getenv("KX_BACKGROUND")} {
		switch said {
		case "light":
			return false
		case "dark":
			return true
		}
	}
	v := getenv("COLORFGBG")
	back := v[strings.LastIndexByte(v, ';')+1:]
	return back != "7" && back != "15"
}

func (t *theme) render(r row) string {
	var b strings.Builder
	for _, s := range r {
		if s.text == "" {
			continue
		}
		switch {
		case s.look == plain:
			b.WriteString(s.text)
		case !t.colourless:
			b.WriteString(t.styles[s.look].Render(s.text))
		case t.attributes && s.look == cursor:
			b.WriteString("\x1b[7m" + s.text + "\x1b[0m")
		case t.attributes && s.look == slanted:
			b.WriteString("\x1b[3m" + s.text + "\x1b[0m")
		case t.attributes && s.look == address:
			b.WriteString("\x1b[4m" + s.text + "\x1b[0m")
		case t.attributes && (s.look == strong || s.look == accent || s.look == bad):
			b.WriteString("\x1b[1m" + s.text + "\x1b[0m")
		case s.look == cursor && s.text == " ":
			b.WriteByte('_')
		default:
			b.WriteString(s.text)
		}
	}
	return b.String()
}
