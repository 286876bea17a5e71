package conformance

import (
	"github.com/kortecx/kx/internal/sarif"
	"github.com/kortecx/kx/internal/termtext"
)

// sarifWriter prints one run. Columns are bytes, as everywhere in reports.
type sarifWriter struct {
	*output
	doc *sarif.Writer // nil until the first report or the end
}

func newSARIFWriter(out *output) *sarifWriter { return &sarifWriter{output: out} }

func (s *sarifWriter) start() error {
	if s.doc != nil {
		return nil
	}
	list := make([]sarif.Rule, 0, len(rules))
	for _, r := range rules {
		list = append(list, sarif.Rule{ID: r.ID, Short: r.Summary, Help: r.help(), Level: string(r.Severity)})
	}
	doc, err := sarif.New(s.Writer, sarif.Run{Version: s.Version, Rules: list})
	s.doc = doc
	return err
}

func (s *sarifWriter) Report(r *Report) error {
	if err := s.start(); err != nil {
		return err
	}
	s.count(r)
	for i := range r.Findings {
		if err := s.doc.Result(s.result(r, &r.Findings[i])); err != nil {
			return err
		}
	}
	return nil
}

func (s *sarifWriter) result(r *Report, f *Finding) sarif.Result {
	file := s.file(r, f)
	text := termtext.Escape(f.Message)
	if f.Hint != "" {
		text += "\n" + termtext.Escape(f.Hint)
	}
	return sarif.Result{
		Rule: f.ID, Level: string(f.Severity), Text: text, File: file, Line: f.Line, Column: f.Column,
		// Neither line nor column enters, so that a finding keeps its identity
		// when text above it moves.
		Identity: []string{f.ID, file, f.Pointer, f.Message},
	}
}

func (s *sarifWriter) Close() error {
	if err := s.start(); err != nil {
		return err
	}
	return s.doc.Close()
}
