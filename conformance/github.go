package conformance

import (
	"strconv"
	"strings"

	"github.com/kortecx/kx/internal/termtext"
)

// githubWriter prints workflow commands, which GitHub turns into annotations, and
// a summary line for the log.
type githubWriter struct{ *output }

var (
	githubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func (g *githubWriter) Report(r *Report) error {
	g.count(r)
	for i := range r.Findings {
		if i == maxTextLines {
			g.Put("::notice title=kx::and ", plural(len(r.Findings)-i, "finding"), " more; --format json lists them all\n")
			break
		}
		f := &r.Findings[i]
		g.Put("::", string(f.Severity), " file=", githubProperty.Replace(termtext.Escape(g.file(r, f))))
		if f.Line > 0 {
			g.Put(",line=", strconv.Itoa(f.Line))
			if f.Column > 0 {
				g.Put(",col=", strconv.Itoa(f.Column))
			}
		}
		text := termtext.Escape(f.Message)
		if f.Hint != "" {
			text += "\nhint: " + termtext.Escape(f.Hint)
		}
		g.Put(",title=", githubProperty.Replace(f.ID), "::", githubData.Replace(text), "\n")
	}
	return nil
}

func (g *githubWriter) Close() error {
	g.Put(g.sum.String(), "\n")
	return g.Flush()
}
