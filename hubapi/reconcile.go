package hubapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/kortecx/kx/internal/sorting"
)

// MaxReconcile is how large a node's summary may be as JSON, in bytes: what is
// larger is not kept by the hubs that this one works with.
const MaxReconcile = 8 << 10

// ReconcileSummary is what a node tells of one reconciliation: which skills of the
// catalogue lie on its disk now, and what was done and not done to get there. The
// names of skills in the lists at the top are those of all targets together. Lists
// are ascending and never null once Normalize was called; Kx is what only our own
// reconciler tells.
type ReconcileSummary struct {
	CatalogCount   int               `json:"catalogCount"` // rows of the catalogue, good and bad
	Installed      []string          `json:"installed"`    // as the catalogue has them, now
	Added          []string          `json:"added"`        // written by this run, new or changed
	Removed        []string          `json:"removed"`
	Skipped        []string          `json:"skipped"`    // rows that are no skill that could be written
	Collisions     []string          `json:"collisions"` // folders that are not ours
	Protected      []string          `json:"protected"`  // folders that are never touched
	Targets        []ReconcileTarget `json:"targets"`    // in the order in which they were given
	RegisteredDirs []string          `json:"registeredDirs"`
	Kx             *ReconcileDetails `json:"kx,omitempty"`
}

// ReconcileTarget is the part of one directory.
type ReconcileTarget struct {
	Dir        string   `json:"dir"`
	Mode       string   `json:"mode"` // owned or additive
	Installed  []string `json:"installed"`
	Added      []string `json:"added"`
	Removed    []string `json:"removed"`
	Collisions []string `json:"collisions"`
	Protected  []string `json:"protected"`
}

// ReconcileStatus is how a reconciliation ended.
type ReconcileStatus string

// The statuses of a reconciliation.
const (
	ReconcileConverged  ReconcileStatus = "converged"  // every target is as the catalogue wants it
	ReconcileIncomplete ReconcileStatus = "incomplete" // something could not be done, the rest was
	ReconcileRefused    ReconcileStatus = "refused"    // the catalogue was not believed in part: nothing was removed
	ReconcileUnusable   ReconcileStatus = "unusable"   // no row of a catalogue with rows could be used
	ReconcileFailed     ReconcileStatus = "failed"     // there was no catalogue: nothing was touched
)

// ReconcileDetails tell more than the keys of ReconcileSummary can.
type ReconcileDetails struct {
	Status ReconcileStatus `json:"status"`
	// Unchanged says that the hub had nothing new since the last run.
	Unchanged bool `json:"unchanged,omitempty"`
	// DryRun says that nothing was changed: the lists tell what would have been.
	DryRun bool `json:"dry_run,omitempty"`
	// Generation counts the changes of the hub's catalogue; absent when the hub
	// does not tell it.
	Generation    *int64     `json:"generation,omitempty"`
	LastSuccessAt *time.Time `json:"last_success_at,omitempty"`
	// Error says why there was no catalogue, or why it was not believed.
	Error string `json:"error,omitempty"`

	Installed []ReconciledSkill `json:"installed"`
	Kept      []ReconcileNote   `json:"kept"`     // edited by a person: neither updated nor removed
	Failed    []ReconcileNote   `json:"failed"`   // could not be written, read or verified
	Skipped   []ReconcileNote   `json:"skipped"`  // rows that are no skill that could be written
	Collided  []ReconcileNote   `json:"collided"` // the folder is somebody else's: wanted, or in a directory of the catalogue's alone
	Held      []ReconcileNote   `json:"held"`     // not removed, because nothing proves that they should be; not updated, because nobody reviewed it

	// Compact is there when the summary was too large: lists are then empty or cut.
	Compact *ReconcileCompact `json:"compact,omitempty"`
}

// ReconciledSkill is one skill on a node's disk.
type ReconciledSkill struct {
	Slug    string `json:"slug"`
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest,omitempty"` // of the pack, where the hub names one
	SHA256  string `json:"sha256,omitempty"` // of its SKILL.md as written
}

// ReconcileNote is one thing that was not done, and why.
type ReconcileNote struct {
	Dir    string `json:"dir,omitempty"` // of the target; absent when it is about the catalogue
	Slug   string `json:"slug,omitempty"`
	Reason string `json:"reason"`
	Hint   string `json:"hint,omitempty"` // what to do
}

// Why is the reason and, where one is known, what to do about it.
func (n ReconcileNote) Why() string {
	if n.Hint == "" {
		return n.Reason
	}
	return n.Reason + "; " + n.Hint
}

// ReconcileCompact stands for lists that had no room.
type ReconcileCompact struct {
	// Digest is "sha256:" and the hash over the lines "slug digest" of all that is
	// installed, ascending: two nodes with the same one have the same skills.
	Digest string         `json:"digest"`
	Counts map[string]int `json:"counts"` // by the names of the lists at the top, and kept, failed, held
}

// Normalize sorts the lists, takes out what is in them twice and makes none null.
func (s *ReconcileSummary) Normalize() {
	for _, list := range s.lists() {
		sorted := append([]string{}, *list...) // others may share what is sorted
		slices.Sort(sorted)
		*list = slices.Compact(sorted)
	}
	if s.Targets == nil {
		s.Targets = []ReconcileTarget{}
	}
	if s.Kx == nil {
		return
	}
	s.Kx.Installed = append([]ReconciledSkill{}, s.Kx.Installed...)
	sorting.Sort(s.Kx.Installed, func(a, b ReconciledSkill) int { return strings.Compare(a.key(), b.key()) })
	s.Kx.Installed = slices.CompactFunc(s.Kx.Installed, func(a, b ReconciledSkill) bool { return a.key() == b.key() })
	for _, notes := range s.Kx.notes() {
		*notes = append([]ReconcileNote{}, *notes...)
		sorting.Stable(*notes, func(a, b ReconcileNote) int {
			return strings.Compare(a.Dir+"\x00"+a.Slug+"\x00"+a.Reason, b.Dir+"\x00"+b.Slug+"\x00"+b.Reason)
		})
		*notes = slices.Compact(*notes)
	}
}

func (s ReconciledSkill) key() string { return s.Slug + " " + s.content() + " " + s.Version }

func (s ReconciledSkill) content() string {
	if s.Digest != "" {
		return s.Digest
	}
	return "sha256:" + s.SHA256
}

// lists are all lists of names, those at the top first.
func (s *ReconcileSummary) lists() []*[]string {
	out := []*[]string{&s.Installed, &s.Added, &s.Removed, &s.Skipped, &s.Collisions, &s.Protected, &s.RegisteredDirs}
	for i := range s.Targets {
		t := &s.Targets[i]
		out = append(out, &t.Installed, &t.Added, &t.Removed, &t.Collisions, &t.Protected)
	}
	return out
}

func (d *ReconcileDetails) notes() []*[]ReconcileNote {
	return []*[]ReconcileNote{&d.Kept, &d.Failed, &d.Skipped, &d.Collided, &d.Held}
}

// Fit gives s as a node sends it: s itself while its JSON has at most limit bytes,
// else a copy with less and less in its lists, and with what stands for them in
// Kx.Compact. Problems stay longest. What does not fit even so has no lists at all.
func (s ReconcileSummary) Fit(limit int) ReconcileSummary {
	s.Targets = slices.Clone(s.Targets)
	if s.Kx != nil {
		own := *s.Kx
		s.Kx = &own
	}
	s.Normalize()
	if fits(s, limit) {
		return s
	}
	compact := s.compact()
	out := s
	out.Targets = slices.Clone(s.Targets)
	details := ReconcileDetails{Status: ReconcileConverged}
	if s.Kx != nil {
		details = *s.Kx
	}
	details.Compact = compact
	out.Kx = &details
	details.Installed = []ReconciledSkill{}
	if fits(out, limit) {
		return out
	}
	for i := range out.Targets {
		out.Targets[i].Installed = []string{}
	}
	if fits(out, limit) {
		return out
	}
	out.Installed = []string{}
	for _, most := range []int{64, 16, 4, 1, 0} {
		for _, list := range out.lists() {
			*list = (*list)[:min(len(*list), most)]
		}
		for _, notes := range details.notes() {
			*notes = (*notes)[:min(len(*notes), most)]
		}
		if fits(out, limit) {
			return out
		}
	}
	out.Targets = []ReconcileTarget{}
	details.Error = details.Error[:min(len(details.Error), limit/4)]
	return out
}

func fits(s ReconcileSummary, limit int) bool {
	data, err := json.Marshal(s)
	return err == nil && len(data) <= limit
}

func (s *ReconcileSummary) compact() *ReconcileCompact {
	c := &ReconcileCompact{Counts: map[string]int{
		"installed": len(s.Installed), "added": len(s.Added), "removed": len(s.Removed), "skipped": len(s.Skipped),
		"collisions": len(s.Collisions), "protected": len(s.Protected), "targets": len(s.Targets), "registeredDirs": len(s.RegisteredDirs),
	}}
	sum := sha256.New()
	if s.Kx != nil {
		for _, skill := range s.Kx.Installed {
			sum.Write([]byte(skill.Slug + " " + skill.content() + "\n"))
		}
		c.Counts["kept"], c.Counts["failed"], c.Counts["held"] = len(s.Kx.Kept), len(s.Kx.Failed), len(s.Kx.Held)
	}
	c.Digest = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return c
}
