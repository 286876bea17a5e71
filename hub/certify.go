package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kortecx/kx/conformance"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// BadgeValidity is how long a badge of any level holds: the year that the Kazma hub
// gives. (Its separate certification tool gives 90, 180 or 365 days by level, but
// the hub's answers never came from that.)
const BadgeValidity = 365 * 24 * time.Hour

// The actions on badges that the audit trail names.
const (
	actBadgeIssue  = "badge-issue"
	actBadgeRevoke = "badge-revoke"
	actBadgeLift   = "badge-lift"
	actAttest      = "attest"
)

// How a requirement is decided.
const (
	evaluated = "evaluated"
	attested  = "attested"
	combined  = "combined"
)

// requirements are those of all levels in the reference's order. A level asks for
// what its own row names and, through the combined ones, for the levels below.
var requirements = [...]struct {
	id    string
	level hubapi.BadgeLevel
	how   string
}{
	{conformance.ReqManifest, hubapi.BadgeBasic, evaluated},
	{conformance.ReqLint, hubapi.BadgeBasic, evaluated},
	{conformance.ReqCritical, hubapi.BadgeBasic, evaluated},
	{"basic_requirements", hubapi.BadgeStandard, combined},
	{"code_review_approved", hubapi.BadgeStandard, attested},
	{"test_coverage_80", hubapi.BadgeStandard, attested},
	{conformance.ReqDocs, hubapi.BadgeStandard, evaluated},
	{"standard_requirements", hubapi.BadgePremium, combined},
	{"penetration_test_passed", hubapi.BadgePremium, attested},
	{"dependency_audit_clean", hubapi.BadgePremium, attested},
	{"performance_benchmark_met", hubapi.BadgePremium, attested},
}

// attestable are the requirements that only a person can answer.
func attestable() []string {
	var ids []string
	for _, r := range requirements {
		if r.how == attested {
			ids = append(ids, r.id)
		}
	}
	return ids
}

// judged is a release with what its own files and its reviewers say of it.
type judged struct {
	row   ReleaseRow
	score float64
	all   []hubapi.Requirement
}

// unmet are the requirements of a level, and of those below, that are not met.
func (j judged) unmet(level hubapi.BadgeLevel) (missing []hubapi.Requirement) {
	for i, r := range requirements {
		if rank(r.level) <= rank(level) && !j.all[i].Met && r.how != combined {
			missing = append(missing, j.all[i])
		}
	}
	return missing
}

// met are the ids of a level and of those below that are met.
func (j judged) met(level hubapi.BadgeLevel) []string {
	ids := []string{}
	for i, r := range requirements {
		if rank(r.level) <= rank(level) && j.all[i].Met {
			ids = append(ids, r.id)
		}
	}
	return ids
}

func rank(level hubapi.BadgeLevel) int { return slices.Index(hubapi.BadgeLevels(), level) }

// judgeRelease evaluates a release from the bytes that the hub keeps of it.
func (h *Hub) judgeRelease(r Reader, row ReleaseRow) (judged, error) {
	files, err := packFiles(r, row.Seq)
	if err != nil {
		return judged{}, err
	}
	evidence := h.evaluate(row.Name, files)
	words, err := r.Attestations(row.Seq)
	if err != nil {
		return judged{}, err
	}
	j := judged{row: row, score: evidence.Score}
	below := true // everything so far is met
	for _, rule := range requirements {
		q := hubapi.Requirement{ID: rule.id, How: rule.how}
		switch rule.how {
		case combined:
			q.Met, q.Reason = below, "everything of the level below is met"
			if !below {
				q.Reason = "something of the level below is not met"
			}
		case evaluated:
			i := slices.IndexFunc(evidence.Requirements, func(m conformance.Met) bool { return m.Requirement == rule.id })
			q.Met, q.Reason = evidence.Requirements[i].Met, evidence.Requirements[i].Why
		case attested:
			q.Reason = "no reviewer has attested it"
			if i := slices.IndexFunc(words, func(a AttestationRow) bool { return a.Requirement == rule.id }); i >= 0 {
				at := words[i].At
				q.Met, q.Reason, q.By, q.At = words[i].Met, words[i].Reason, words[i].By, &at
			}
		}
		below = below && q.Met
		j.all = append(j.all, q)
	}
	return j, nil
}

// evaluate judges files by the rules of their format, the lint and the scanner.
func (h *Hub) evaluate(name string, files []pack.File) conformance.Evidence {
	e := conformance.Evaluate(name, files)
	seen := pack.Read(name, files, pack.Options{})
	if seen.Pack == nil {
		return e
	}
	scan := h.scan(seen.Pack)
	if !dirty(scan) {
		return e
	}
	for i := range e.Requirements {
		if m := &e.Requirements[i]; m.Requirement == conformance.ReqCritical {
			m.Met, m.Why = false, fmt.Sprintf("the scan found %d critical things", scan.Critical)
		}
	}
	return e
}

// BadgeRequirements says which requirements a release meets now, and for which
// levels that is enough.
func (h *Hub) BadgeRequirements(ctx context.Context, p Principal, ref hubapi.Ref) (hubapi.BadgeRequirements, error) {
	var out hubapi.BadgeRequirements
	err := h.onRelease(ctx, p, ref, func(r Reader, row ReleaseRow) error {
		j, err := h.judgeRelease(r, row)
		if err != nil {
			return err
		}
		out = hubapi.BadgeRequirements{
			SkillID: hubapi.KazmaID(refOf(row)), Digest: row.Digest, Score: j.score,
			Requirements: j.all, Qualifies: []hubapi.BadgeLevel{},
		}
		for _, level := range hubapi.BadgeLevels() {
			if len(j.unmet(level)) == 0 {
				out.Qualifies = append(out.Qualifies, level)
			}
		}
		return nil
	})
	return out, err
}

// IssueBadge certifies an active release at a level, for BadgeValidity from now.
// The server evaluates the requirements: nothing that the manifest says of itself
// counts. A badge that is there is replaced, up or down, but a revoked one is not:
// an admin lifts the revocation first. The same holds for a release whose very
// bytes carry a revoked badge elsewhere.
func (h *Hub) IssueBadge(ctx context.Context, p Principal, ref hubapi.Ref, level hubapi.BadgeLevel) (hubapi.Badge, error) {
	if rank(level) < 0 {
		return hubapi.Badge{}, hubapi.Errorf(hubapi.Invalid, "%.40q is not a level of badges", string(level)).
			WithHint("levels are basic, standard and premium")
	}
	if err := certifier(p); err != nil {
		return hubapi.Badge{}, err
	}
	// Evaluating may take a while: it is done beside the writer. Files and digest
	// of a release never change; everything else is asked again in the write.
	var seen judged
	err := h.onRelease(ctx, p, ref, func(r Reader, row ReleaseRow) (err error) {
		seen, err = h.judgeRelease(r, row)
		return err
	})
	if err != nil {
		return hubapi.Badge{}, err
	}
	var out hubapi.Badge
	err = h.write(ctx, func(w Writer) error {
		j, err := again(w, p, seen)
		if err != nil {
			return err
		}
		if err := certifiable(w, p, j.row); err != nil {
			return err
		}
		if missing := j.unmet(level); len(missing) > 0 {
			return unmetError(j.row, level, missing)
		}
		now := h.now()
		badge := BadgeRow{
			Release: j.row.Seq, Tenant: p.Tenant, Digest: j.row.Digest, Level: level, Met: j.met(level),
			IssuedAt: now, ExpiresAt: now.Add(BadgeValidity), IssuedBy: p.ID,
		}
		if err := w.PutBadge(badge); err != nil {
			return err
		}
		out = h.badge(j.row, badge)
		return h.audit(w, p, actBadgeIssue, j.row, string(level))
	})
	return out, err
}

// again takes what can change of a judged release from the writer's view.
func again(w Writer, p Principal, seen judged) (judged, error) {
	row, err := visible(w, p, refOf(seen.row))
	if err != nil {
		return judged{}, err
	}
	if row.Seq != seen.row.Seq || row.Digest != seen.row.Digest {
		return judged{}, changedMeanwhile(row)
	}
	words, err := w.Attestations(row.Seq)
	if err != nil {
		return judged{}, err
	}
	for _, q := range seen.all {
		if q.How != attested {
			continue
		}
		met := slices.ContainsFunc(words, func(a AttestationRow) bool { return a.Requirement == q.ID && a.Met })
		if met != q.Met {
			return judged{}, changedMeanwhile(row)
		}
	}
	seen.row = row
	return seen, nil
}

func changedMeanwhile(row ReleaseRow) *hubapi.Error {
	return hubapi.Errorf(hubapi.Conflict, "%s changed meanwhile", refOf(row)).WithHint("try again")
}

func unmetError(row ReleaseRow, level hubapi.BadgeLevel, missing []hubapi.Requirement) *hubapi.Error {
	ids := make([]string, len(missing))
	for i, q := range missing {
		ids[i] = q.ID
	}
	e := hubapi.Errorf(hubapi.Precondition, "%s does not meet the %s level: %s", refOf(row), level, strings.Join(ids, ", ")).
		WithHint("what only a person can know is attested by a reviewer: %s", strings.Join(attestable(), ", "))
	for _, q := range missing {
		_ = e.With(hubapi.Detail{ID: "badge." + q.ID, Message: q.ID + ": " + q.Reason})
	}
	return e
}

// certifier refuses who may not touch badges.
func certifier(p Principal) error {
	if err := p.check(); err != nil {
		return err
	}
	if !p.reviews() {
		return hubapi.Errorf(hubapi.Forbidden, "%s may not certify", p.Role.WithArticle())
	}
	return nil
}

// certifiable refuses a release that cannot be given a badge by p.
func certifiable(r Reader, p Principal, row ReleaseRow) error {
	if row.Status != hubapi.Active {
		return hubapi.Errorf(hubapi.Precondition, "%s is %s, only an active release can be certified", refOf(row), row.Status)
	}
	if err := notOwn(r, p, row); err != nil {
		return err
	}
	revoked, err := r.RevokedDigest(p.Tenant, row.Digest)
	if errors.Is(err, ErrNoRow) {
		return nil
	}
	if err != nil {
		return err
	}
	return hubapi.Errorf(hubapi.Conflict, "the badge of %s is revoked: %s", refOf(row), revoked.RevokeReason).
		WithHint("an admin can lift the revocation, with a reason")
}

// notOwn refuses an author who certifies their own release, unless the tenant
// allows it.
func notOwn(r Reader, p Principal, row ReleaseRow) error {
	tenant, err := r.Tenant(p.Tenant)
	if err != nil {
		return err
	}
	if p.owns(row) && !tenant.SelfApprove {
		return hubapi.Errorf(hubapi.Forbidden, "an author may not certify a release of their own").
			WithHint("have another reviewer certify %s", refOf(row))
	}
	return nil
}

// Attest records what a reviewer says of a requirement that only a person can
// answer, in place of what was said before; the audit keeps every word. A badge
// that was issued already stays as it is: revoke it if it must not stand.
func (h *Hub) Attest(ctx context.Context, p Principal, ref hubapi.Ref, in hubapi.BadgeAttest) (hubapi.Requirement, error) {
	if err := certifier(p); err != nil {
		return hubapi.Requirement{}, err
	}
	if !slices.Contains(attestable(), in.Requirement) {
		return hubapi.Requirement{}, hubapi.Errorf(hubapi.Invalid, "%.80q is not for people to attest", in.Requirement).
			WithHint("these are: %s", strings.Join(attestable(), ", "))
	}
	reason, err := checkReason(in.Reason)
	if err != nil {
		return hubapi.Requirement{}, err
	}
	var out hubapi.Requirement
	err = h.write(ctx, func(w Writer) error {
		row, err := visible(w, p, ref)
		if err != nil {
			return err
		}
		if err := notOwn(w, p, row); err != nil {
			return err
		}
		now := h.now()
		if err := w.PutAttestation(AttestationRow{
			Release: row.Seq, Requirement: in.Requirement, Met: in.Met, At: now, By: p.ID, Reason: reason,
		}); err != nil {
			return err
		}
		out = hubapi.Requirement{ID: in.Requirement, Met: in.Met, How: attested, Reason: reason, By: p.ID, At: &now}
		word := "not met"
		if in.Met {
			word = "met"
		}
		return h.audit(w, p, actAttest, row, fmt.Sprintf("%s %s: %s", in.Requirement, word, reason))
	})
	return out, err
}

// RevokeBadge takes a badge back. It stays revoked until an admin lifts that.
func (h *Hub) RevokeBadge(ctx context.Context, p Principal, ref hubapi.Ref, reason string) (hubapi.Badge, error) {
	if err := certifier(p); err != nil {
		return hubapi.Badge{}, err
	}
	return h.changeBadge(ctx, p, ref, reason, actBadgeRevoke, func(row ReleaseRow, b *BadgeRow, reason string) error {
		if !b.RevokedAt.IsZero() {
			return hubapi.Errorf(hubapi.Conflict, "the badge of %s is revoked already: %s", refOf(row), b.RevokeReason)
		}
		b.RevokedAt, b.RevokedBy, b.RevokeReason = h.now(), p.ID, reason
		return nil
	})
}

// LiftRevocation makes a revoked badge what it was before, until it expires. Only
// an admin may, and the audit keeps the reason.
func (h *Hub) LiftRevocation(ctx context.Context, p Principal, ref hubapi.Ref, reason string) (hubapi.Badge, error) {
	if err := certifier(p); err != nil {
		return hubapi.Badge{}, err
	}
	if p.Role != Admin {
		return hubapi.Badge{}, hubapi.Errorf(hubapi.Forbidden, "only an admin may lift a revocation, not %s", p.Role.WithArticle())
	}
	return h.changeBadge(ctx, p, ref, reason, actBadgeLift, func(row ReleaseRow, b *BadgeRow, _ string) error {
		if b.RevokedAt.IsZero() {
			return hubapi.Errorf(hubapi.Conflict, "the badge of %s is not revoked", refOf(row))
		}
		b.RevokedAt, b.RevokedBy, b.RevokeReason = time.Time{}, "", ""
		return nil
	})
}

func (h *Hub) changeBadge(ctx context.Context, p Principal, ref hubapi.Ref, reason, action string,
	change func(ReleaseRow, *BadgeRow, string) error,
) (hubapi.Badge, error) {
	reason, err := checkReason(reason)
	if err != nil {
		return hubapi.Badge{}, err
	}
	var out hubapi.Badge
	err = h.write(ctx, func(w Writer) error {
		row, err := visible(w, p, ref)
		if err != nil {
			return err
		}
		badge, err := w.Badge(row.Seq)
		if errors.Is(err, ErrNoRow) {
			return noBadge(row)
		}
		if err != nil {
			return err
		}
		if err := change(row, &badge, reason); err != nil {
			return err
		}
		if err := w.PutBadge(badge); err != nil {
			return err
		}
		out = h.badge(row, badge)
		return h.audit(w, p, action, row, reason)
	})
	return out, err
}

func noBadge(row ReleaseRow) *hubapi.Error {
	return hubapi.Errorf(hubapi.NotFound, "no badge found for %s", refOf(row))
}

// checkReason gives a reason without the space around it.
func checkReason(reason string) (string, error) {
	reason = strings.TrimSpace(reason)
	switch {
	case reason == "":
		return "", hubapi.Errorf(hubapi.Invalid, "a reason is needed")
	case !utf8.ValidString(reason) || utf8.RuneCountInString(reason) > maxReason || strings.ContainsFunc(reason, unprintable):
		return "", hubapi.Errorf(hubapi.Invalid, "a reason is text of at most %d characters", maxReason)
	}
	return reason, nil
}

func unprintable(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// Badge gives the badge of a release, valid or not.
func (h *Hub) Badge(ctx context.Context, p Principal, ref hubapi.Ref) (hubapi.Badge, error) {
	var out hubapi.Badge
	err := h.onRelease(ctx, p, ref, func(r Reader, row ReleaseRow) error {
		badge, err := r.Badge(row.Seq)
		if errors.Is(err, ErrNoRow) {
			return noBadge(row)
		}
		out = h.badge(row, badge)
		return err
	})
	return out, err
}

// badge is a row as the API shows it.
func (h *Hub) badge(row ReleaseRow, b BadgeRow) hubapi.Badge {
	out := hubapi.Badge{
		SkillID: hubapi.KazmaID(refOf(row)), Author: row.Author, Name: row.Name, Version: row.Version,
		Digest: b.Digest, Level: b.Level, Label: b.Level.Label(),
		IssuedAt: b.IssuedAt, ExpiresAt: b.ExpiresAt, IssuedBy: b.IssuedBy,
		Revoked: !b.RevokedAt.IsZero(), RevokeReason: b.RevokeReason, RevokedBy: b.RevokedBy, Requirements: b.Met,
	}
	if out.Revoked {
		out.RevokedAt = &b.RevokedAt
	}
	out.Valid, out.Reason = b.valid(row.Digest, h.now())
	return out
}

// Badges lists the badges of active releases in order of names, behind the name
// after; an empty level means any. Limit 0 means 100; more than 256 is 256.
func (h *Hub) Badges(ctx context.Context, p Principal, level hubapi.BadgeLevel, after string, limit int) (hubapi.BadgeList, error) {
	if err := p.check(); err != nil {
		return hubapi.BadgeList{}, err
	}
	if level != "" && rank(level) < 0 {
		return hubapi.BadgeList{}, hubapi.Errorf(hubapi.Invalid, "%.40q is not a level of badges", string(level))
	}
	limit, err := clamp(limit, 100, maxCatalogPage)
	if err != nil {
		return hubapi.BadgeList{}, err
	}
	var out hubapi.BadgeList
	err = h.read(ctx, func(r Reader) error {
		rows, err := r.Badges(p.Tenant, level, after, limit+1)
		if err != nil {
			return err
		}
		out = hubapi.BadgeList{Items: []hubapi.Badge{}, HasMore: len(rows) > limit}
		for _, on := range rows[:min(limit, len(rows))] {
			row := ReleaseRow{Author: on.Author, Name: on.Name, Version: on.Version, Digest: on.ReleaseDigest}
			out.Items = append(out.Items, h.badge(row, on.BadgeRow))
		}
		return nil
	})
	return out, err
}

// BadgeStats counts the tenant's badges as the reference does: those that are not
// revoked, by level, and how many of them were issued in the last 30 days.
func (h *Hub) BadgeStats(ctx context.Context, p Principal) (hubapi.BadgeStats, error) {
	if err := p.check(); err != nil {
		return hubapi.BadgeStats{}, err
	}
	out := hubapi.BadgeStats{ByLevel: map[hubapi.BadgeLevel]int{}}
	err := h.read(ctx, func(r Reader) error {
		groups, err := r.CountBadges(p.Tenant, h.now().Add(-30*24*time.Hour))
		if err != nil {
			return err
		}
		out = hubapi.BadgeStats{ByLevel: map[hubapi.BadgeLevel]int{}}
		for _, level := range hubapi.BadgeLevels() {
			out.ByLevel[level] = 0
		}
		for _, g := range groups {
			if g.Revoked {
				out.Revoked += g.Badges
				continue
			}
			out.Total += g.Badges
			out.ByLevel[g.Level] += g.Badges
			out.Recent += g.Recent
		}
		return nil
	})
	return out, err
}
