package hub

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/pack"
)

// maxActive bounds what nodes are compared with. A catalogue has no more than
// hubapi.MaxInstallable, but what is active may be more.
const maxActive = 100_000

// activeSet is what the nodes of a tenant should have: what Installable gives them.
// Releases belong to no fleet, so it is the same for all of them.
type activeSet struct {
	rows   []ReleaseRow // by name
	byName map[string]ReleaseRow
	digest string // as hubapi.ReconcileCompact has it for a node with all of them
}

func activeSkills(r Reader, tenant string) (*activeSet, error) {
	p := Principal{ID: "fleet", Tenant: tenant, Role: Node}
	g, err := gateOf(r, p)
	if err != nil {
		return nil, err
	}
	rows, err := installableReleases(r, p, g, maxActive)
	if err != nil {
		return nil, err
	}
	a := &activeSet{byName: make(map[string]ReleaseRow, len(rows))}
	sum := sha256.New()
	for _, row := range rows {
		if slices.Contains(protectedNames, row.Name) || row.Format == string(pack.Kazma) {
			continue // withheld from every catalogue, see makeCatalogueRow
		}
		a.rows = append(a.rows, row)
		a.byName[row.Name] = row
		sum.Write([]byte(row.Name + " " + row.Digest + "\n"))
	}
	a.digest = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return a, nil
}

// expand puts the skills into a summary that only has their number and their digest,
// where these are known: they are those that are active, or those that the node had.
func expand(is *hubapi.ReconcileSummary, active *activeSet, before string) {
	compact := is.Kx.Compact
	put := func(skills []hubapi.ReconciledSkill) {
		is.Installed, is.Kx.Installed, is.Kx.Compact = nil, skills, nil
		for _, skill := range skills {
			is.Installed = append(is.Installed, skill.Slug)
		}
	}
	if compact.Digest == active.digest && compact.Counts["installed"] == len(active.rows) {
		skills := make([]hubapi.ReconciledSkill, len(active.rows))
		for i, row := range active.rows {
			skills[i] = hubapi.ReconciledSkill{Slug: row.Name, Version: row.Version, Digest: row.Digest}
		}
		put(skills)
		return
	}
	var old hubapi.ReconcileSummary
	if before == "" || json.Unmarshal([]byte(before), &old) != nil || old.Kx == nil {
		return
	}
	sum := sha256.New()
	for _, skill := range old.Kx.Installed {
		sum.Write([]byte(skill.Slug + " " + skill.Digest + "\n"))
	}
	if compact.Digest == "sha256:"+hex.EncodeToString(sum.Sum(nil)) && compact.Counts["installed"] == len(old.Kx.Installed) {
		put(old.Kx.Installed)
	}
}

// nodeState compares what a node was last known to have with what is active now. It
// is the one place that knows what drift is.
func nodeState(row NodeRow, active *activeSet, now time.Time, detail bool) (hubapi.NodeState, error) {
	state := hubapi.NodeState{
		Drift: hubapi.DriftUnknown, Active: len(active.rows), Error: row.Failure, ReportedBy: row.ReportedBy,
		SnapshotAt: saidAt(row.SnapshotAt), LastSuccessAt: saidAt(row.SuccessAt),
	}
	if !row.SuccessAt.IsZero() {
		age := max(0, int64(now.Sub(row.SuccessAt)/time.Second))
		state.SuccessAge = &age
	}
	if row.Failure != "" {
		state.Drift = hubapi.DriftFailing
	}
	if row.Snapshot == "" {
		if detail {
			state.Skills = emptySkills()
		}
		return state, nil
	}
	var is hubapi.ReconcileSummary
	if err := json.Unmarshal([]byte(row.Snapshot), &is); err != nil {
		return state, hubapi.Errorf(hubapi.Internal, "what is known of the node %s cannot be read: %v", row.Name, err)
	}
	if is.Kx == nil {
		is.Kx = new(hubapi.ReconcileDetails)
	}
	skills := compare(is, active, row.SuccessAt)
	state.Installed, state.Missing, state.Outdated, state.Extra = len(skills.Installed), len(skills.Missing), len(skills.Outdated), len(skills.Extra)
	state.Collisions, state.Skipped, state.Failed, state.Protected = len(skills.Collisions), len(skills.Skipped), len(skills.Failed), len(skills.Protected)
	if compact := is.Kx.Compact; compact != nil {
		count(&state, skills, compact, active)
	}
	switch {
	case state.Drift == hubapi.DriftFailing:
	case state.Partial || state.Missing+state.Outdated+state.Extra > 0:
		state.Drift = hubapi.DriftSome
	default:
		state.Drift = hubapi.DriftNone
	}
	if detail {
		state.Skills = skills
	}
	return state, nil
}

// count corrects what follows from lists that a node has cut.
func count(state *hubapi.NodeState, skills *hubapi.NodeSkills, compact *hubapi.ReconcileCompact, active *activeSet) {
	n := compact.Counts["installed"]
	state.Partial = compact.Digest != active.digest || n != len(active.rows)
	if n > len(skills.Installed) { // the names are cut, too
		state.Installed, state.Missing, state.Extra = n, max(0, len(active.rows)-n), max(0, n-len(active.rows))
		skills.Missing, skills.Extra = []hubapi.NodeSkill{}, []hubapi.NodeSkill{}
	}
	for _, c := range []struct {
		to  *int
		key string
	}{{&state.Collisions, "collisions"}, {&state.Skipped, "skipped"}, {&state.Failed, "failed"}, {&state.Protected, "protected"}} {
		*c.to = max(*c.to, compact.Counts[c.key])
	}
}

func emptySkills() *hubapi.NodeSkills {
	return &hubapi.NodeSkills{
		Installed: []hubapi.NodeSkill{}, Missing: []hubapi.NodeSkill{}, Outdated: []hubapi.NodeSkill{}, Extra: []hubapi.NodeSkill{},
		Collisions: []string{}, Protected: []string{}, Skipped: []hubapi.ReconcileNote{}, Failed: []hubapi.ReconcileNote{},
		Kept: []hubapi.ReconcileNote{}, Held: []hubapi.ReconcileNote{}, Targets: []hubapi.ReconcileTarget{}, Registered: []string{},
	}
}

// compare sorts the skills of a node by how they stand to what is active. Digests are
// compared where the node tells them; the MemClaw plugin does not.
func compare(is hubapi.ReconcileSummary, active *activeSet, success time.Time) *hubapi.NodeSkills {
	out := emptySkills()
	has := map[string]hubapi.ReconciledSkill{}
	for _, slug := range is.Installed {
		has[slug] = hubapi.ReconciledSkill{Slug: slug}
	}
	for _, skill := range is.Kx.Installed {
		// A skill that lies in several targets is there as often as it differs; one
		// that is not what is active outweighs.
		if known, twice := has[skill.Slug]; !twice || known.Digest == "" || known.Digest == active.byName[skill.Slug].Digest {
			has[skill.Slug] = skill
		}
	}
	for _, skill := range has {
		mine := hubapi.NodeSkill{Slug: skill.Slug, Version: skill.Version, Digest: skill.Digest}
		now, there := active.byName[skill.Slug]
		switch {
		case !there:
			mine.Why = noteOn(skill.Slug, is.Kx.Held, is.Kx.Kept)
			out.Extra = append(out.Extra, mine)
		case skill.Digest != "" && skill.Digest != now.Digest, skill.Digest == "" && skill.Version != "" && skill.Version != now.Version:
			mine.Active = activeSkill(now)
			mine.Why = cmp.Or(noteOn(skill.Slug, is.Kx.Kept, is.Kx.Failed), since(now, success))
			out.Outdated = append(out.Outdated, mine)
		}
		out.Installed = append(out.Installed, mine)
	}
	skipped := is.Kx.Skipped
	if len(skipped) == 0 {
		for _, slug := range is.Skipped {
			skipped = append(skipped, hubapi.ReconcileNote{Slug: slug, Reason: guess(slug, active)})
		}
	}
	for _, row := range active.rows {
		if _, there := has[row.Name]; there {
			continue
		}
		why := ""
		switch {
		case slices.Contains(is.Collisions, row.Name):
			why = "a folder that is not ours is in its place"
		case slices.Contains(is.Protected, row.Name):
			why = "a folder with its name is protected"
		default:
			why = cmp.Or(noteOn(row.Name, is.Kx.Failed, skipped, is.Kx.Kept, is.Kx.Held), since(row, success))
		}
		out.Missing = append(out.Missing, hubapi.NodeSkill{Slug: row.Name, Version: row.Version, Digest: row.Digest, Active: activeSkill(row), Why: why})
	}
	for _, list := range [][]hubapi.NodeSkill{out.Installed, out.Outdated, out.Extra} {
		sorting.Sort(list, func(a, b hubapi.NodeSkill) int { return strings.Compare(a.Slug, b.Slug) })
	}
	out.Collisions = append(out.Collisions, is.Collisions...)
	out.Protected = append(out.Protected, is.Protected...)
	out.Skipped = append(out.Skipped, skipped...)
	out.Failed = append(out.Failed, is.Kx.Failed...)
	out.Kept = append(out.Kept, is.Kx.Kept...)
	out.Held = append(out.Held, is.Kx.Held...)
	out.Targets = append(out.Targets, is.Targets...)
	out.Registered = append(out.Registered, is.RegisteredDirs...)
	return out
}

func activeSkill(row ReleaseRow) *hubapi.ActiveSkill {
	return &hubapi.ActiveSkill{Author: row.Author, Version: row.Version, Digest: row.Digest}
}

// noteOn is what a node itself says of a skill.
func noteOn(slug string, notes ...[]hubapi.ReconcileNote) string {
	for _, list := range notes {
		for _, note := range list {
			if note.Slug == slug && note.Reason != "" {
				return note.Reason
			}
		}
	}
	return ""
}

// since says that a node cannot have a release yet.
func since(row ReleaseRow, success time.Time) string {
	if row.ApprovedAt.After(success) {
		return "it became active after the node's last success"
	}
	return ""
}

// guess is why a node passes a skill over, where it does not say so itself.
func guess(slug string, active *activeSet) string {
	row, there := active.byName[slug]
	switch {
	case hubapi.CheckName(slug) != nil:
		return "its name cannot be that of a folder"
	case there && strings.TrimSpace(row.Description) == "":
		return "it has no description"
	case !there:
		return "the node could not use it, and it is not active any more"
	}
	return "the node could not use it and does not say why"
}
