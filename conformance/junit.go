package conformance

import (
	"bytes"
	"encoding/xml"
	"strconv"
	"strings"

	"github.com/kortecx/kx/internal/termtext"
)

// junitWriter prints a test suite for each pack and a test case for each check.
// It names no times, so that the same packs give the same bytes.
type junitWriter struct {
	*output
	open bool
}

func (j *junitWriter) start() {
	if !j.open {
		j.Put(xml.Header, "<testsuites name=\"kx check\">\n")
		j.open = true
	}
}

func (j *junitWriter) Report(r *Report) error {
	j.start()
	j.count(r)
	failed := 0
	for i := range r.Checks {
		if !r.Checks[i].Passed {
			failed++
		}
	}
	j.Put(`  <testsuite name="`, xmlText(termtext.Escape(r.Connector)), `" file="`, xmlText(termtext.Escape(r.Path)), `" tests="`, strconv.Itoa(len(r.Checks)),
		`" failures="`, strconv.Itoa(failed), `" errors="0" skipped="0">`, "\n")
	left := maxTextLines
	for i := range r.Checks {
		c := &r.Checks[i]
		j.Put(`    <testcase classname="`, xmlText(termtext.Escape(r.Path)), `" name="`, c.Name, `"`)
		body := junitFindings(r, c.Name, &left)
		switch {
		case !c.Passed:
			j.Put(`><failure type="`, junitType(r, c.Name), `" message="`, xmlText(termtext.Escape(c.Detail)), `">`, xmlLines(body), "</failure></testcase>\n")
		case body != "":
			j.Put("><system-out>", xmlLines(body), "</system-out></testcase>\n")
		default:
			j.Put("/>\n")
		}
	}
	j.Put("  </testsuite>\n")
	return nil
}

func (j *junitWriter) Close() error {
	j.start()
	j.Put("</testsuites>\n")
	return j.Flush()
}

// junitType is the id of the first finding of a check.
func junitType(r *Report, check string) string {
	for i := range r.Findings {
		if r.Findings[i].Check == check {
			return xmlText(r.Findings[i].ID)
		}
	}
	return check
}

// junitFindings lists the findings of a check, a line each, behind the check's
// own line, as long as there is something left of the lines for the pack.
func junitFindings(r *Report, check string, left *int) string {
	more := 0
	var b strings.Builder
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Check != check {
			continue
		}
		if *left == 0 {
			more++
			continue
		}
		*left--
		b.WriteString(string(f.Severity) + ": " + termtext.Escape(placed(f)) + " [" + f.ID + "]\n")
		if f.Hint != "" {
			b.WriteString("  hint: " + termtext.Escape(f.Hint) + "\n")
		}
	}
	if more > 0 {
		b.WriteString("and " + plural(more, "finding") + " more; --format json lists them all\n")
	}
	return b.String()
}

// xmlLines is xmlText for text, where line ends need no escape.
func xmlLines(s string) string { return strings.ReplaceAll(xmlText(s), "&#xA;", "\n") }

// xmlText is s for an attribute or for text, without the characters that XML 1.0
// cannot carry in any form.
func xmlText(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r',
			r >= 0x20 && r <= 0xd7ff,
			r >= 0xe000 && r <= 0xfffd,
			r >= 0x10000 && r <= 0x10ffff:
			return r
		}
		return -1
	}, s)
	var b bytes.Buffer
	// A buffer does not fail.
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}
