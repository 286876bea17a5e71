package hub

import (
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/scan"
)

// ContentScanner is the Scanner that package scan makes: what every hub of kx uses.
type ContentScanner struct{}

var _ Scanner = ContentScanner{}

// Rules implements Scanner.
func (ContentScanner) Rules() string { return scan.RuleSet() }

// Scan implements Scanner.
func (ContentScanner) Scan(p *pack.Pack) ScanResult {
	r := scan.Pack(p, scan.Options{})
	out := ScanResult{Critical: r.Counts.Critical, Warn: r.Counts.High + r.Counts.Medium + r.Counts.Low, Info: r.Counts.Info}
	// The gravest first: a card shows only some.
	sorting.Stable(r.Findings, func(a, b scan.Finding) int { return b.Severity.Rank() - a.Severity.Rank() })
	for _, f := range r.Findings[:min(len(r.Findings), maxDetails)] {
		out.Findings = append(out.Findings, hubapi.Finding{
			Rule: f.Rule, Severity: string(f.Severity), Message: f.Reason,
			File: f.File, Line: f.Line, Column: f.Column, Fix: f.Fix,
		})
	}
	return out
}
