package scan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/pack"
)

// Severity says how much a finding matters.
type Severity string

// The severities, the worst first. High and critical are meant to stop a
// publication or an installation until somebody has looked.
const (
	Critical Severity = "critical"
	High     Severity = "high"
	Medium   Severity = "medium"
	Low      Severity = "low"
	Info     Severity = "info"
)

// Severities lists every severity, the worst first.
func Severities() []Severity { return []Severity{Critical, High, Medium, Low, Info} }

// Rank orders severities: 5 for critical down to 1 for info, 0 for none.
func (s Severity) Rank() int {
	switch s {
	case Critical:
		return 5
	case High:
		return 4
	case Medium:
		return 3
	case Low:
		return 2
	case Info:
		return 1
	}
	return 0
}

// lower gives the severity that is steps below s, not below Info.
func (s Severity) lower(steps int) Severity {
	all := [...]Severity{Info, Low, Medium, High, Critical}
	return all[max(s.Rank()-1-steps, 0)]
}

// Finding is one thing that was seen.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	File     string   `json:"file"`    // relative to the folder; empty for the folder itself
	Line     int      `json:"line"`    // from 1; zero when the whole file is meant
	Column   int      `json:"column"`  // from 1, in bytes; zero when unknown
	Excerpt  string   `json:"excerpt"` // at most 160 bytes, escaped, secrets redacted
	Reason   string   `json:"reason"`
	Fix      string   `json:"fix"`
}

// Counts is how many findings there are of each severity.
type Counts struct {
	Critical int `json:"critical"`
	High     int `json:"high"`
	Medium   int `json:"medium"`
	Low      int `json:"low"`
	Info     int `json:"info"`
}

func (c *Counts) add(s Severity) {
	switch s {
	case Critical:
		c.Critical++
	case High:
		c.High++
	case Medium:
		c.Medium++
	case Low:
		c.Low++
	case Info:
		c.Info++
	}
}

// AtLeast is how many findings are of a severity or a worse one.
func (c Counts) AtLeast(s Severity) int {
	n, rank := 0, s.Rank()
	for i, k := range [...]int{c.Info, c.Low, c.Medium, c.High, c.Critical} {
		if i+1 >= rank {
			n += k
		}
	}
	return n
}

// Report is what was found in one pack or folder. Its JSON keys only grow.
type Report struct {
	RuleSet    string         `json:"rule_set"` // changes whenever the rules do
	Name       string         `json:"name"`
	Path       string         `json:"path"`   // as it was asked for; empty when nothing was read from disk
	Format     pack.Format    `json:"format"` // empty for files that are no pack
	Files      int            `json:"files"`
	Bytes      int64          `json:"bytes"`
	Counts     Counts         `json:"counts"`
	Suppressed int            `json:"suppressed"` // taken out by the consumer's options
	Truncated  int            `json:"truncated"`  // left out, none worse than what is here
	Sentinel   SentinelStatus `json:"sentinel"`   // what MemClaw's own pre-scan would say of a pack
	Findings   []Finding      `json:"findings"`   // ascending by file and place
}

// Worst is the severity of the worst finding, or empty when there is none.
func (r *Report) Worst() Severity {
	for _, s := range Severities() {
		if r.Counts.AtLeast(s) > 0 {
			return s
		}
	}
	return ""
}

func (r *Report) count() {
	r.Counts = Counts{}
	for i := range r.Findings {
		r.Counts.add(r.Findings[i].Severity)
	}
}

func compareFindings(a, b Finding) int {
	return cmp.Or(
		strings.Compare(a.File, b.File),
		cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.Column, b.Column),
		b.Severity.Rank()-a.Severity.Rank(),
		strings.Compare(a.Rule, b.Rule),
		strings.Compare(a.Reason, b.Reason),
	)
}

// maxExcerpt bounds an excerpt in bytes, after escaping.
const maxExcerpt = 160

// clean makes a piece of a pack fit to print: secrets out, one line, bounded.
func clean(text string) string {
	if len(text) > 4*maxExcerpt {
		text = text[:4*maxExcerpt]
	}
	text = redact(text)
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' }), " ")
	text = termtext.Escape(text)
	if !asciiOnly(text) {
		var b strings.Builder
		for _, r := range text {
			if unseen(r) { // what writing needs elsewhere has no place in an excerpt
				fmt.Fprintf(&b, `\u%04x`, r)
				continue
			}
			b.WriteRune(r)
		}
		text = b.String()
	}
	return cut(text, maxExcerpt)
}

// cut shortens a text to at most limit bytes, at the border of a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit - len("…")
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// Added are the findings of after that before does not have, wherever in a file they
// stand. One that was less severe there is another one, and so is one whose excerpt was cut
// short: what is behind it may have changed.
func Added(before, after []Finding) []Finding {
	had := slices.Clone(before)
	var out []Finding
	for _, f := range after {
		at := slices.IndexFunc(had, func(b Finding) bool {
			return b.Rule == f.Rule && b.File == f.File && b.Excerpt == f.Excerpt && b.Severity.Rank() >= f.Severity.Rank()
		})
		if at < 0 || strings.HasSuffix(f.Excerpt, "…") {
			out = append(out, f)
			continue
		}
		had = slices.Delete(had, at, at+1)
	}
	return out
}
