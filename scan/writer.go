package scan

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kortecx/kx/internal/report"
	"github.com/kortecx/kx/internal/sarif"
	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/internal/termtext"
)

// Output formats of NewWriter.
const (
	Text  = "text"  // for people
	JSON  = "json"  // one document with every report
	SARIF = "sarif" // SARIF 2.1.0, for code scanning
)

// OutputFormats lists the formats that NewWriter knows.
func OutputFormats() []string { return []string{Text, JSON, SARIF} }

// Writer prints reports as they come. The same reports give the same bytes.
type Writer interface {
	Report(*Report) error
	// Close ends the document. It does not close what is written to.
	Close() error
}

// WriterOptions for NewWriter.
type WriterOptions = report.Options

// NewWriter makes a writer of an output format to w. Writes are buffered until
// Close.
func NewWriter(format string, w io.Writer, o WriterOptions) (Writer, error) {
	out := &output{Output: report.NewOutput(w, o)}
	switch format {
	case Text:
		return &textWriter{out}, nil
	case JSON:
		return &jsonWriter{out}, nil
	case SARIF:
		return newSARIFWriter(out)
	}
	return nil, fmt.Errorf("output format %q is not one of %s", format, strings.Join(OutputFormats(), ", "))
}

// Summary adds reports up.
type Summary struct {
	Reports int    `json:"scanned"`
	Files   int    `json:"files"`
	Counts  Counts `json:"counts"`
}

// Add counts one more report.
func (s *Summary) Add(r *Report) {
	s.Reports++
	s.Files += r.Files
	s.Counts.Critical += r.Counts.Critical
	s.Counts.High += r.Counts.High
	s.Counts.Medium += r.Counts.Medium
	s.Counts.Low += r.Counts.Low
	s.Counts.Info += r.Counts.Info
}

// String is the summary in a line.
func (s Summary) String() string {
	return plural(s.Files, "file") + " in " + plural(s.Reports, "place") + ": " + s.Counts.String()
}

// String is the counts in words, the worst first; "no finding" when there is none.
func (c Counts) String() string {
	var parts []string
	for _, p := range [...]struct {
		n    int
		what Severity
	}{{c.Critical, Critical}, {c.High, High}, {c.Medium, Medium}, {c.Low, Low}, {c.Info, Info}} {
		if p.n > 0 {
			parts = append(parts, strconv.Itoa(p.n)+" "+string(p.what))
		}
	}
	if parts == nil {
		return "no finding"
	}
	return strings.Join(parts, ", ")
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// output is what every writer shares.
type output struct {
	*report.Output
	sum Summary
}

// place is the file of a finding as a path from where the user stands.
func (r *Report) place(f *Finding) string {
	switch {
	case f.File == "":
		return r.Path
	case r.Path == "" || r.Path == ".":
		return f.File
	case path.Base(r.Path) == f.File: // the report is about one file
		return r.Path
	}
	return strings.TrimSuffix(r.Path, "/") + "/" + f.File
}

// textWriter prints for people: what was seen where, why it matters, what to do.
// Findings of little weight are counted only.
type textWriter struct{ *output }

// maxTextFindings is how many findings of one report are printed.
const maxTextFindings = 60

func (t *textWriter) Report(r *Report) error {
	t.sum.Add(r)
	name := first(r.Path, r.Name)
	shown := 0
	for i := range r.Findings {
		if r.Findings[i].Severity.Rank() > Info.Rank() {
			shown++
		}
	}
	if shown == 0 {
		t.Put("ok   ", termtext.Escape(name), " (", plural(r.Files, "file"), ") ", r.Counts.String(), "\n")
		return nil
	}
	t.Put("found ", r.Counts.String(), " in ", termtext.Escape(name), " (", plural(r.Files, "file"), ")\n")
	// The worst come first, each kind in the order of the files.
	list := slices.Clone(r.Findings)
	sorting.Stable(list, func(a, b Finding) int { return b.Severity.Rank() - a.Severity.Rank() })
	for i := range min(shown, maxTextFindings) {
		t.finding(r, &list[i])
	}
	if more := shown - maxTextFindings + r.Truncated; more > 0 {
		t.Put("  and ", plural(more, "finding"), " more\n")
	}
	return nil
}

func (t *textWriter) finding(r *Report, f *Finding) {
	at := r.place(f)
	if f.Line > 0 {
		at += ":" + strconv.Itoa(f.Line)
		if f.Column > 0 {
			at += ":" + strconv.Itoa(f.Column)
		}
	}
	t.Put("  ", string(f.Severity), ": ", termtext.Escape(at), ": ", termtext.Escape(f.Reason), " [", f.Rule, "]\n")
	if f.Excerpt != "" {
		t.Put("    | ", f.Excerpt, "\n")
	}
	if f.Fix != "" {
		t.Put("    fix: ", f.Fix, "\n")
	}
}

func (t *textWriter) Close() error {
	if t.sum.Reports > 1 {
		t.Put("\n", t.sum.String(), "\n")
	}
	return t.Flush()
}

// jsonWriter prints {"reports":[…],"scanned":N,"files":N,"counts":{…}}, one report
// a line.
type jsonWriter struct{ *output }

func (j *jsonWriter) Report(r *Report) error {
	j.sum.Add(r)
	return j.Item(r)
}

func (j *jsonWriter) Close() error { return j.EndItems(j.sum) }

// sarifWriter prints one run, with the risks of OWASP as its taxonomy.
type sarifWriter struct {
	*output
	doc *sarif.Writer
}

func newSARIFWriter(out *output) (*sarifWriter, error) {
	run := sarif.Run{Version: out.Version, Taxonomy: &sarif.Taxonomy{
		Name: "OWASP Agentic Skills Top 10", Address: "https://owasp.org/www-project-agentic-skills-top-10/",
	}}
	for _, r := range Rules() {
		run.Rules = append(run.Rules, sarif.Rule{ID: r.ID, Short: r.Reason, Help: first(r.Fix, r.Reason), Level: sarifLevel(r.Severity), Tags: []string{"security", r.AST}})
	}
	risks := Risks()
	for _, id := range slices.Sorted(maps.Keys(risks)) {
		run.Taxonomy.Taxa = append(run.Taxonomy.Taxa, sarif.Taxon{ID: id, Name: risks[id]})
	}
	doc, err := sarif.New(out.Writer, run)
	return &sarifWriter{out, doc}, err
}

// sarifLevel is what viewers know: they have three levels and ours are five.
func sarifLevel(s Severity) string {
	switch s {
	case Critical, High:
		return sarif.Error
	case Medium:
		return sarif.Warning
	}
	return sarif.Note
}

func (s *sarifWriter) Report(r *Report) error {
	for i := range r.Findings {
		f := &r.Findings[i]
		file := s.Below(r.place(f))
		text := string(f.Severity) + ": " + termtext.Escape(f.Reason)
		if f.Excerpt != "" {
			text += "\n" + f.Excerpt
		}
		if f.Fix != "" {
			text += "\n" + f.Fix
		}
		if err := s.doc.Result(sarif.Result{
			Rule: f.Rule, Level: sarifLevel(f.Severity), Text: text, File: file, Line: f.Line, Column: f.Column,
			Identity: []string{f.Rule, file, f.Excerpt},
		}); err != nil {
			return err
		}
	}
	return nil
}

func (s *sarifWriter) Close() error { return s.doc.Close() }
