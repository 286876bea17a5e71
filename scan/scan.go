// Package scan looks for attacks in the content of skill packs: text that steers
// an agent against its user, commands that fetch and run what nobody reviewed,
// secrets that are read and sent away, writing that people cannot see. It is
// deterministic, needs no network and no model, and takes time in proportion to
// the size of what it reads.
//
// A finding is a place that deserves a reader, not a verdict: what is quoted as a
// bad example, forbidden, or part of a text on security counts for less than the
// same words as an instruction. The package does not judge whether a folder is a
// pack of its format (package conformance does) and stops nothing by itself.
//
// Call Pack for a pack, Files for any other files, Walk for folders on disk and
// NewWriter for output. Sentinel is the pre-scan of MemClaw documents.
package scan

import (
	"path"
	"slices"
	"strings"

	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/pack"
)

// Options for Pack, Files and Walk.
type Options struct {
	// Suppress takes findings out that the consumer has judged. Nothing inside
	// what is scanned can suppress anything.
	Suppress []Suppression
	// MaxFindings bounds a report; the worst are kept. Zero means 500.
	MaxFindings int
	// Format picks the grammar of a folder that could be read as two (Walk).
	Format pack.Format
}

// Suppression names findings that the consumer does not want to see.
type Suppression struct {
	Rule string // the id of one rule
	File string // a pattern of path.Match on the finding's file; empty means every file
}

const defaultMaxFindings = 500

// Pack scans every string of a pack: its manifest, its texts, its file names, and
// its wishes against what the instructions say.
func Pack(p *pack.Pack, o Options) *Report {
	return scanAll(p.Name, p.Files, p, o)
}

// Files scans files that need not be a pack. The name is the folder's, and is
// judged as the name of a skill. The files may come in any order.
func Files(name string, files []pack.File, o Options) *Report {
	return scanAll(name, files, nil, o)
}

func scanAll(name string, files []pack.File, p *pack.Pack, o Options) *Report {
	s := &scanner{set: ruleSet(), name: name, pack: p, options: o, budget: matchBudget}
	if p != nil {
		s.report.Format = p.Format
	}
	s.report.RuleSet = s.set.version
	s.report.Name = name
	files = slices.Clone(files)
	sorting.Stable(files, func(a, b pack.File) int { return strings.Compare(a.Path, b.Path) })
	s.prepare(files)
	s.budget += 8 * int(s.report.Bytes)
	for i := range s.docs {
		s.document(&s.docs[i])
	}
	s.names(files)
	s.wishes()
	s.combine()
	s.report.Files = len(files)
	if p != nil {
		s.sentinel(p)
	}
	return s.finish()
}

// scanner is the state of one report.
type scanner struct {
	set     *compiledSet
	name    string
	pack    *pack.Pack
	options Options
	report  Report
	docs    []document
	subject subject // what the pack says that it is about
	budget  int     // bytes that may still be given to regular expressions
	spent   bool    // the budget ran out, which was reported
	signals []signal
}

// prepare classifies the files and learns what the pack is about before any of
// them is judged.
func (s *scanner) prepare(files []pack.File) {
	for i := range files {
		f := &files[i]
		s.report.Bytes += int64(len(f.Data))
		if s.binary(f) {
			continue
		}
		s.docs = append(s.docs, newDocument(f))
	}
	s.subject = subjectOf(s.name, s.pack, s.docs)
}

// document scans one text.
func (s *scanner) document(d *document) {
	s.hiddenText(d)
	s.controls(d)
	s.padding(d)
	s.secrets(d)
	d.divide()
	s.match(d)
	s.links(d)
	s.derived(d)
	s.encoded(d)
}

// add keeps a finding about a place in the raw text of a document.
func (s *scanner) add(d *document, r *Rule, sev Severity, at int, excerpt, reason string) {
	line, column := d.position(at)
	s.put(Finding{
		Rule: r.ID, Severity: sev, File: d.path, Line: line, Column: column,
		Excerpt: clean(excerpt), Reason: first(reason, r.Reason), Fix: r.Fix,
	})
}

func (s *scanner) put(f Finding) {
	for _, sup := range s.options.Suppress {
		if sup.covers(&f) {
			s.report.Suppressed++
			return
		}
	}
	s.report.Findings = append(s.report.Findings, f)
}

func (sup Suppression) covers(f *Finding) bool {
	if sup.Rule != f.Rule {
		return false
	}
	if sup.File == "" {
		return true
	}
	ok, err := path.Match(sup.File, f.File)
	return err == nil && ok
}

// finish sorts, removes repetitions and bounds the report.
func (s *scanner) finish() *Report {
	r := &s.report
	sorting.Stable(r.Findings, compareFindings)
	r.Findings = slices.CompactFunc(r.Findings, func(a, b Finding) bool {
		return a.Rule == b.Rule && a.File == b.File && a.Line == b.Line && a.Severity == b.Severity
	})
	limit := s.options.MaxFindings
	if limit <= 0 {
		limit = defaultMaxFindings
	}
	if len(r.Findings) > limit {
		kept := slices.Clone(r.Findings)
		sorting.Stable(kept, func(a, b Finding) int { return b.Severity.Rank() - a.Severity.Rank() })
		r.Truncated = len(kept) - limit
		r.Findings = kept[:limit]
		sorting.Stable(r.Findings, compareFindings)
	}
	r.count()
	return r
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
