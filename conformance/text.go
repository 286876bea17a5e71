package conformance

import (
	"strconv"
	"strings"

	"github.com/kortecx/kx/internal/termtext"
)

const (
	nameColumn   = 26 // width of a check's name, as the reference pads it
	maxTextLines = 80 // findings that are printed for one pack
)

// textWriter prints for people. One pack is printed whole; of several, those that
// pass take a line. It keeps the first report until it knows which it is.
type textWriter struct {
	*output
	first *Report
}

func (t *textWriter) Report(r *Report) error {
	t.count(r)
	switch t.sum.Packs {
	case 1:
		t.first = r
		return nil
	case 2:
		t.brief(t.first)
		t.first = nil
	}
	t.brief(r)
	return nil
}

func (t *textWriter) Close() error {
	switch {
	case t.sum.Packs == 1:
		t.full(t.first)
	case t.sum.Packs > 1:
		t.Put("\n", t.sum.String(), "\n")
	}
	return t.Flush()
}

// String is the summary in a line.
func (s Summary) String() string {
	return plural(s.Packs, "pack") + ": " + strconv.Itoa(s.Passed) + " passed, " + strconv.Itoa(s.Failed) + " failed"
}

// brief prints a pack among others.
func (t *textWriter) brief(r *Report) {
	if !r.Passed {
		t.full(r)
		return
	}
	t.Put("ok   ", termtext.Escape(r.Connector), " (", named(r.Format), ") ", termtext.Escape(r.Path), "\n")
	t.findings(r)
}

// full prints the header, every check and every finding.
func (t *textWriter) full(r *Report) {
	outcome := "FAIL"
	if r.Passed {
		outcome = "PASS"
	}
	t.Put(`skill "`, termtext.Escape(r.Connector), `" — `, strconv.Itoa(r.Discovered), " wished tool(s) — ", outcome, "\n")
	for i := range r.Checks {
		c := &r.Checks[i]
		mark := "  [XX] "
		if c.Passed {
			mark = "  [ok] "
		}
		pad := ""
		if n := nameColumn - len(c.Name); n > 0 {
			pad = strings.Repeat(" ", n)
		}
		t.Put(mark, c.Name, pad, " (gate ", strconv.Itoa(c.Gate), ") ", termtext.Escape(c.Detail), "\n")
	}
	t.findings(r)
}

func (t *textWriter) findings(r *Report) {
	for i := range r.Findings {
		if i == maxTextLines {
			t.Put("  and ", plural(len(r.Findings)-i, "finding"), " more; --format json lists them all\n")
			return
		}
		f := &r.Findings[i]
		at := f.place()
		at.File = r.Path
		if f.File != "" {
			at.File = strings.TrimSuffix(r.Path, "/") + "/" + f.File
		}
		t.Put("  ", string(f.Severity), ": ", termtext.Escape(at.String()), ": ", termtext.Escape(f.Message), " [", f.ID, "]\n")
		if f.Hint != "" {
			t.Put("    hint: ", termtext.Escape(f.Hint), "\n")
		}
	}
}
