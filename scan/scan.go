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
	"sync"

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
	s := scanners.Get().(*scanner)
	defer s.release()
	s.set, s.name, s.pack, s.options, s.budget = ruleSet(), name, p, o, matchBudget
	if p != nil {
		s.report.Format = p.Format
	}
	s.report.RuleSet = s.set.version
	s.report.Name = name
	files = slices.Clone(files)
	byPath := func(a, b pack.File) int { return strings.Compare(a.Path, b.Path) }
	if !slices.IsSortedFunc(files, byPath) {
		sorting.Stable(files, byPath)
	}
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
	scratch
}

// scratch is what a scanner needs for a while only, and what no report keeps.
type scratch struct {
	buffer []byte
	hits   []hit
	done   []int // by pattern, see match
	vain   []int // by group of words, see lacking
}

// scanners are used again, with the memory that they have: most of what a small pack
// takes would go into that.
var scanners = sync.Pool{New: func() any { return new(scanner) }}

// release gives a scanner back, unless a large pack made it large.
func (s *scanner) release() {
	const most = 256 << 10
	if s.report.Bytes > most {
		return
	}
	for i := range s.docs {
		s.docs[i].forget()
	}
	*s = scanner{docs: s.docs[:0], signals: s.signals[:0], scratch: s.scratch}
	scanners.Put(s)
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
		n := len(s.docs)
		s.docs = slices.Grow(s.docs, 1)[:n+1]
		s.buffer = s.docs[n].read(f, s.buffer)
	}
	s.subject = subjectOf(s.name, s.pack, s.docs)
}

// document scans one text.
func (s *scanner) document(d *document) {
	s.hiddenText(d)
	s.controls(d)
	s.padding(d)
	s.buffer = d.divide(s.buffer)
	s.match(d)
	s.secrets(d)
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
	r := s.report
	if len(r.Findings) > 1 {
		sorting.Stable(r.Findings, compareFindings)
	}
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
	return &r
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
