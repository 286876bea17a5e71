package deliver

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/scan"
)

// Limits of a review: what is beyond them is said to differ, without its lines.
const (
	maxReviewText = 256 << 10 // bytes of one text
	maxReviewDiff = 1 << 20   // bytes of all differences
)

// Revised is one side of a review.
type Revised struct {
	Revision string      `json:"revision"`
	Version  string      `json:"version,omitempty"`
	Digest   pack.Digest `json:"digest"`
}

// Review is what an update of a skill changes, for a person who has to say yes. It
// is about exactly the digest in To.
type Review struct {
	Name   string  `json:"name"`
	Source string  `json:"source"`
	From   Revised `json:"from"`
	To     Revised `json:"to"`
	// WhitespaceOnly says that no text differs in more than white space, and nothing
	// else differs.
	WhitespaceOnly bool              `json:"whitespace_only"`
	Files          []hubapi.FileDiff `json:"files"`
	WishesAdded    []string          `json:"wishes_added,omitempty"` // tools and permissions that it asks for now
	WishesDropped  []string          `json:"wishes_dropped,omitempty"`
	Executable     []string          `json:"executable,omitempty"` // files that can be run and could not before
	Findings       []scan.Finding    `json:"findings,omitempty"`   // of the scanner, medium or worse, that are new
	Signer         string            `json:"signer,omitempty"`     // how the signature changed
	// Folders are those that change, which are all in which the lock has the skill.
	Folders []string `json:"folders,omitempty"`
	// Unknown says that what is installed could not be had, so that everything is
	// shown as new.
	Unknown bool `json:"unknown,omitempty"`
}

// NewReview compares what the lock says of a skill with an offer. old is the pack
// that is installed; nil when it cannot be had.
func NewReview(name string, before Locked, old *pack.Pack, o Offer) Review {
	after := entryOf(o, o.Pack.Digest())
	r := Review{
		Name: name, Source: after.Source, Unknown: old == nil,
		From: Revised{before.Revision, before.Version, before.Digest},
		To:   Revised{after.Revision, after.Version, after.Digest},
	}
	var was []pack.File
	if old != nil {
		was = old.Files
	}
	r.Files = reviewFiles(was, o.Pack.Files)
	r.WhitespaceOnly = old != nil && !slices.ContainsFunc(r.Files, func(f hubapi.FileDiff) bool { return !f.WhitespaceOnly })
	r.WishesAdded, r.WishesDropped = changed(wishes(old), wishes(o.Pack))
	r.Executable, _ = changed(before.Executable, after.Executable)
	r.Findings = newFindings(old, o.Pack)
	r.Signer = signerChange(before, after)
	return r
}

// Widened reports whether the update can do, or asks for, more than before. Somebody
// has to have seen that, whatever else they agreed to.
func (r *Review) Widened() bool {
	return len(r.WishesAdded)+len(r.Executable)+len(r.Findings) > 0 || r.Signer != "" || r.Unknown
}

// wishes are all that a pack asks to be allowed, in the words of its format.
func wishes(p *pack.Pack) []string {
	if p == nil {
		return nil
	}
	var out []string
	for id, version := range p.Tools {
		out = append(out, id+"@"+version)
	}
	if p.SkillMD != nil {
		out = append(out, p.SkillMD.AllowedTools...)
	}
	if p.Kazma != nil {
		out = append(out, p.Kazma.Permissions...)
		for _, optional := range p.Kazma.OptionalPermissions {
			out = append(out, optional+" (optional)")
		}
		for _, server := range p.Kazma.MCPServers {
			out = append(out, "MCP server "+server.Name)
		}
		for _, capability := range p.Kazma.Capabilities {
			out = append(out, "capability "+capability)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// changed are what only the second and what only the first list has, ascending.
func changed(before, after []string) (added, dropped []string) {
	for _, s := range after {
		if !slices.Contains(before, s) {
			added = append(added, s)
		}
	}
	for _, s := range before {
		if !slices.Contains(after, s) {
			dropped = append(dropped, s)
		}
	}
	return added, dropped
}

// newFindings are those of the new pack that the old one did not have.
func newFindings(old, now *pack.Pack) []scan.Finding {
	var had []scan.Finding
	if old != nil {
		had = scan.Pack(old, scan.Options{}).Findings
	}
	return slices.DeleteFunc(scan.Added(had, scan.Pack(now, scan.Options{}).Findings), func(f scan.Finding) bool {
		return f.Severity.Rank() < scan.Medium.Rank()
	})
}

func signerChange(before, after Locked) string {
	switch {
	case before.Signed && !after.Signed:
		return "it was signed, and is not any more"
	case slices.Equal(before.Signers, after.Signers):
		return ""
	case len(before.Signers) == 0:
		return "" // a signature more is no reason to stop
	case len(after.Signers) == 0:
		return "it was signed by a key, and is not any more"
	}
	return "it was signed by " + shortKeys(before.Signers) + ", and now by " + shortKeys(after.Signers)
}

func shortKeys(ids []string) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = id[:min(len(id), 12)]
	}
	return strings.Join(words, ", ")
}

func reviewFiles(before, after []pack.File) []hubapi.FileDiff {
	old := map[string]pack.File{}
	for _, f := range before {
		old[f.Path] = f
	}
	out := []hubapi.FileDiff{}
	budget := maxReviewDiff
	for _, f := range after {
		was, known := old[f.Path]
		delete(old, f.Path)
		switch {
		case !known:
			out = append(out, fileDiff(f.Path, "added", nil, f.Data, &budget))
		case !bytes.Equal(was.Data, f.Data):
			out = append(out, fileDiff(f.Path, "changed", was.Data, f.Data, &budget))
		case was.Executable != f.Executable:
			out = append(out, hubapi.FileDiff{Path: f.Path, Change: "mode"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		out = append(out, fileDiff(name, "removed", old[name].Data, nil, &budget))
	}
	sorting.Sort(out, func(a, b hubapi.FileDiff) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func fileDiff(name, change string, before, after []byte, budget *int) hubapi.FileDiff {
	d := hubapi.FileDiff{Path: name, Change: change}
	for _, data := range [][]byte{before, after} {
		if len(data) > maxReviewText || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
			d.Binary = true
			return d
		}
	}
	d.WhitespaceOnly = change == "changed" && slices.Equal(strings.Fields(string(before)), strings.Fields(string(after)))
	text := udiff.Unified("a/"+name, "b/"+name, string(before), string(after))
	if *budget -= len(text); *budget < 0 {
		d.Binary = true
		return d
	}
	d.Text = text
	return d
}
