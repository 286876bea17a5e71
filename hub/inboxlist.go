package hub

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// reviewing refuses who may not look at what waits, in the order in which the
// inbox's clients expect it: first whether there is an inbox, then who asks.
func (h *Hub) reviewing(ctx context.Context, p Principal) (TenantRow, error) {
	tenant, err := h.inInbox(ctx, p)
	if err == nil && !p.reviews() {
		err = notReviewing(p)
	}
	return tenant, err
}

// inInbox is p's tenant, which has an inbox.
func (h *Hub) inInbox(ctx context.Context, p Principal) (TenantRow, error) {
	var tenant TenantRow
	if err := h.InboxOpen(ctx, p); err != nil {
		return tenant, err
	}
	err := h.read(ctx, func(r Reader) (err error) {
		tenant, err = r.Tenant(p.Tenant)
		return err
	})
	return tenant, err
}

// notReviewing refuses a view of what others proposed.
func notReviewing(p Principal) *hubapi.Error {
	e := hubapi.Errorf(hubapi.Forbidden, "%s may not see what waits for review, other than its own proposals", p.Role.WithArticle())
	return e.With(hubapi.Detail{ID: "SKILLS_INBOX_FORBIDDEN", Message: e.Message}).WithHint("kx inbox show AUTHOR/NAME shows one of its own")
}

// InboxOpen refuses every use of the inbox in a tenant that opted out.
func (h *Hub) InboxOpen(ctx context.Context, p Principal) error {
	settings, err := h.Settings(ctx, p)
	if err != nil || settings.OptedIn {
		return err
	}
	e := hubapi.Errorf(hubapi.Forbidden, "the tenant %s has opted out of review", p.Tenant)
	return e.With(hubapi.Detail{ID: "SKILLS_FACTORY_DISABLED", Message: e.Message}).
		WithHint("an admin opts in again with: kx hub tenant set --opted-in=true")
}

// InboxInput says what of the inbox is wanted.
type InboxInput struct {
	Limit    int           // 0 means 50; more than 200 is 200
	Contents bool          // with the text of each release
	Status   hubapi.Status // empty: what waits for review
}

// Inbox lists what waits for review, what was deferred last, each newest first.
func (h *Hub) Inbox(ctx context.Context, p Principal, limit int, contents bool) (hubapi.Inbox, error) {
	return h.InboxOf(ctx, p, InboxInput{Limit: limit, Contents: contents})
}

// InboxOf lists releases of any status for reviewers. No more are listed than the
// tenant's inbox_max_pending.
func (h *Hub) InboxOf(ctx context.Context, p Principal, in InboxInput) (hubapi.Inbox, error) {
	tenant, err := h.reviewing(ctx, p)
	if err != nil {
		return hubapi.Inbox{}, err
	}
	limit, err := clamp(in.Limit, 50, maxInbox)
	if err != nil {
		return hubapi.Inbox{}, err
	}
	limit = min(limit, settingsOf(tenant).InboxMaxPending)
	status := cmp.Or(in.Status, hubapi.Staged)
	if !knownStatus(status) {
		return hubapi.Inbox{}, hubapi.Errorf(hubapi.Invalid, "%.80q is no status", status)
	}
	var box hubapi.Inbox
	err = h.read(ctx, func(r Reader) error {
		box = hubapi.Inbox{TenantID: p.Tenant, Items: []hubapi.InboxItem{}}
		rows, err := r.Waiting(p.Tenant, status, limit+1)
		if err != nil {
			return err
		}
		if box.Truncated = len(rows) > limit; box.Truncated {
			rows = rows[:limit]
		}
		for _, row := range rows {
			item, err := inboxItem(r, row, in.Contents)
			if err != nil {
				return err
			}
			box.Items = append(box.Items, item)
		}
		box.Count = len(box.Items)
		return nil
	})
	return box, err
}

func knownStatus(s hubapi.Status) bool {
	return slices.Contains([]hubapi.Status{
		hubapi.Candidate, hubapi.Staged, hubapi.Active, hubapi.Rejected, hubapi.Quarantined, hubapi.Deprecated, hubapi.Stale,
	}, s)
}

func inboxItem(r Reader, row ReleaseRow, contents bool) (hubapi.InboxItem, error) {
	item := hubapi.InboxItem{
		Slug: row.Name, DocID: row.Name, Name: row.Name, Description: row.Description, Summary: row.Summary,
		Domain: "general", Tags: row.Tags, Source: row.Source, Status: row.Status, Kind: "create",
		CreatedAt: seconds(row.CreatedAt), UpdatedAt: seconds(row.UpdatedAt),
		Fingerprint: row.Fingerprint, ScanState: hubapi.ScanNone, Cites: []string{},
		SentinelScan: hubapi.SentinelScan{Status: hubapi.ScanNone, Findings: []hubapi.Finding{}},
		Author:       row.Author, Version: row.Version, Digest: row.Digest, Format: row.Format,
	}
	if item.Tags == nil {
		item.Tags = []string{}
	}
	if !row.Note.DeferredAt.IsZero() {
		at := seconds(row.Note.DeferredAt)
		item.DeferredAt = &at
	}
	if err := onEvidence(r, row, &item); err != nil {
		return item, err
	}
	if row.Note.Base != "" {
		item.Kind, item.Target = "update", &hubapi.InboxTarget{Slug: row.Name, TargetDigest: row.Note.Base}
		base, err := r.ReleaseWithDigest(row.Skill, row.Note.Base)
		if err != nil && !errors.Is(err, ErrNoRow) {
			return item, err
		}
		item.Target.PreviousVersion = base.Version
	}
	file, err := r.File(row.Seq, proseFile(pack.Format(row.Format)))
	if errors.Is(err, ErrNoRow) {
		return item, nil
	}
	if err != nil {
		return item, err
	}
	item.ContentHash = "sha256:" + hex.EncodeToString(file.Sum[:])
	if contents {
		data, err := content(r, file.Sum)
		if err != nil {
			return item, err
		}
		text := strings.ToValidUTF8(string(data), "\uFFFD")
		item.Content = &text
	}
	return item, nil
}

// onEvidence fills in what a release was proposed with and what a scan found.
func onEvidence(r Reader, row ReleaseRow, item *hubapi.InboxItem) error {
	stored, err := r.Evidence(row.Seq)
	if err != nil {
		return err
	}
	if item.Origin, err = originOf(stored); err != nil {
		return err
	}
	if item.Origin.AgentID == "" {
		item.Origin.AgentID = row.PublishedBy
	}
	if item.Origin.Domain != "" {
		item.Domain = item.Origin.Domain
	}
	if row.Source == "forge" {
		item.ForgeEvidence = &hubapi.ForgeEvidence{ClusterSize: item.Origin.ClusterSize, DistinctAgents: item.Origin.DistinctAgents}
	}
	s, err := scanOf(stored)
	if err != nil || s == nil {
		return err
	}
	item.ScanState, item.ScanCritical, item.ScanWarn = s.State, s.Critical, s.Warn
	item.SentinelScan = hubapi.SentinelScan{
		Status: s.State, CriticalCount: s.Critical, WarningCount: s.Warn, Findings: s.Findings[:min(len(s.Findings), maxCardFindings)],
	}
	return nil
}

// InboxDetail shows one release, in any status, with its scan and what p may do with
// it: any to a reviewer, with its gates, and to others those that they published. Without a
// version it is the newest that waits.
func (h *Hub) InboxDetail(ctx context.Context, p Principal, ref hubapi.Ref, contents bool) (hubapi.InboxDetail, error) {
	tenant, err := h.inInbox(ctx, p)
	if err != nil {
		return hubapi.InboxDetail{}, err
	}
	var out hubapi.InboxDetail
	err = h.read(ctx, func(r Reader) error {
		out = hubapi.InboxDetail{Gates: []hubapi.Gate{}}
		row, err := shownTo(r, p, ref)
		if err != nil {
			return err
		}
		if out.Item, err = inboxItem(r, row, contents); err != nil {
			return err
		}
		files, err := r.Files(row.Seq)
		if err != nil {
			return err
		}
		stored, err := r.Evidence(row.Seq)
		if err != nil {
			return err
		}
		if out.Scan, err = scanOf(stored); err != nil {
			return err
		}
		if p.reviews() {
			if out.Gates, err = h.gatesOf(r, tenant, row); err != nil {
				return err
			}
		}
		out.Release, out.Reason, out.Base = release(row, files), cmp.Or(row.Note.Reason, row.Note.DeferReason), row.Note.Base
		out.Actions = p.actionsOn(row, ref, tenant)
		return nil
	})
	return out, err
}

// actionsOn are the actions that p may do to a release as it is.
func (p Principal) actionsOn(row ReleaseRow, ref hubapi.Ref, tenant TenantRow) []string {
	out := []string{}
	for _, a := range Actions() {
		if _, err := p.step(a, row, ref); err == nil && (a != Approve || !p.owns(row) || tenant.SelfApprove) {
			out = append(out, string(a))
		}
	}
	return out
}

// shownTo is the release that ref means in the inbox to p: any to a reviewer, to
// others what they published. Whatever else they ask for has one refusal, whether it is
// there or not.
func shownTo(r Reader, p Principal, ref hubapi.Ref) (ReleaseRow, error) {
	if p.reviews() {
		return shown(r, p, ref)
	}
	skill, err := ownSkill(r, p, ref)
	if err != nil && hubapi.AsError(err).Code == hubapi.NotFound {
		return ReleaseRow{}, notReviewing(p)
	}
	if err != nil {
		return ReleaseRow{}, err
	}
	if ref.Version != "" {
		row, err := r.Release(skill.ID, ref.Version)
		if errors.Is(err, ErrNoRow) || err == nil && row.PublishedBy != p.ID {
			return ReleaseRow{}, notReviewing(p)
		}
		return row, err
	}
	for _, status := range shownFirst() {
		rows, err := r.Releases(skill.ID, status, maxInbox)
		if err != nil {
			return ReleaseRow{}, err
		}
		if i := slices.IndexFunc(rows, func(row ReleaseRow) bool { return row.PublishedBy == p.ID }); i >= 0 {
			return rows[i], nil
		}
	}
	return ReleaseRow{}, notReviewing(p)
}

// shownFirst are the statuses in which a release without a version is looked for.
func shownFirst() []hubapi.Status {
	return []hubapi.Status{hubapi.Staged, hubapi.Quarantined, hubapi.Candidate, hubapi.Active, hubapi.Rejected, hubapi.Stale, hubapi.Deprecated}
}

// shown is the release that a reviewer wants to see.
func shown(r Reader, p Principal, ref hubapi.Ref) (ReleaseRow, error) {
	if ref.Version != "" {
		return visible(r, p, ref)
	}
	skill, err := ownSkill(r, p, ref)
	if err != nil {
		return ReleaseRow{}, err
	}
	for _, status := range shownFirst() {
		if rows, err := r.Releases(skill.ID, status, 1); err != nil || len(rows) == 1 {
			return append(rows, ReleaseRow{})[0], err
		}
	}
	return ReleaseRow{}, absent(ref)
}

// maxEvents is the most events of one answer.
const maxEvents = 500

// Events gives a tenant's audit trail behind the sequence number after, oldest
// first; for reviewers. Limit 0 means 100.
func (h *Hub) Events(ctx context.Context, p Principal, after int64, limit int) (hubapi.Events, error) {
	if err := p.check(); err != nil {
		return hubapi.Events{}, err
	}
	if !p.reviews() {
		return hubapi.Events{}, hubapi.Errorf(hubapi.Forbidden, "%s may not see the audit trail", p.Role.WithArticle())
	}
	limit, err := clamp(limit, 100, maxEvents)
	if err != nil {
		return hubapi.Events{}, err
	}
	var out hubapi.Events
	err = h.read(ctx, func(r Reader) error {
		out = hubapi.Events{Events: []hubapi.Event{}, Next: after}
		rows, err := r.Audit(p.Tenant, after, limit)
		for _, row := range rows {
			out.Next = row.Seq
			out.Events = append(out.Events, eventOf(row))
		}
		return err
	})
	return out, err
}
