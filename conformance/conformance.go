// Package conformance judges skill packs: it runs the named checks of a pack's
// format, says where each fault is, and prints the reports in the forms that
// people, editors and build servers read. It also publishes the JSON Schemas of
// the manifests and mends what can be mended without judgement.
//
// It reads packs through package pack and adds the rules of good style that
// loading does not need. It does not scan content for attacks (package scan) and
// does not look at signatures (package sign).
//
// Call Check for one pack, Run for many, NewWriter for output, Mend for kx fmt.
package conformance

import (
	"path/filepath"

	"github.com/kortecx/kx/pack"
)

// Options for Check, Judge and Run.
type Options struct {
	// Strict makes every warning an error, and so fails the check that owns it.
	Strict bool
	// Format picks the grammar of a folder that could be read as two; empty
	// means: the one whose manifest file is there.
	Format pack.Format
	// Jobs is how many packs Run judges at once, at most 256; zero means GOMAXPROCS.
	Jobs int
}

// Severity says whether a finding fails the check that owns it.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Report is what was learnt about one pack. The first four keys are those of the
// kortecx reference, which its tools read; ours follow, and may grow.
type Report struct {
	Connector  string        `json:"connector"`  // the name of a pack that loads, else its folder's
	Reachable  bool          `json:"reachable"`  // the pack loads
	Discovered int           `json:"discovered"` // how many tools it wishes for
	Checks     []CheckResult `json:"checks"`     // those that could be judged, in the format's order
	Format     pack.Format   `json:"format"`     // empty when no manifest was found
	Path       string        `json:"path"`       // as it was asked for, with "/"
	Passed     bool          `json:"passed"`     // reachable, and every check passed
	Findings   []Finding     `json:"findings"`   // errors first, each kind in the order of the reader
}

// CheckResult is the outcome of one named check.
type CheckResult struct {
	Name string `json:"name"`
	// Gate is the reference's number for the requirement behind the check.
	Gate   int    `json:"gate_item"`
	Passed bool   `json:"passed"`
	Detail string `json:"detail"`
}

// Finding is one fault or warning. It belongs to exactly one check.
type Finding struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind"` // Invalid, Json, Schema, Pack or Yaml, the reference's words for refusals
	Severity Severity `json:"severity"`
	Check    string   `json:"check"`
	File     string   `json:"file"`    // relative to the pack; empty for the folder itself
	Line     int      `json:"line"`    // from 1; zero when the whole file is meant
	Column   int      `json:"column"`  // from 1, in bytes; zero when unknown
	Pointer  string   `json:"pointer"` // JSON pointer into the manifest, where there is one
	Message  string   `json:"message"`
	Hint     string   `json:"hint"`
}

// Count is how many findings are errors and how many are warnings.
func (r *Report) Count() (errors, warnings int) {
	for i := range r.Findings {
		if r.Findings[i].Severity == Error {
			errors++
		} else {
			warnings++
		}
	}
	return errors, warnings
}

// displayPath is a path as reports carry it.
func displayPath(path string) string {
	return filepath.ToSlash(filepath.Clean(path))
}
