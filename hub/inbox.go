package hub

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// Limits of the inbox and of what a reviewer writes.
const (
	maxInbox        = 200
	maxReason       = 2000 // characters
	maxCooloffDays  = 365
	maxCardFindings = 20
)

// Approve makes a staged release the active one; the release that was active
// becomes deprecated in the same transaction. Without a version the newest staged
// release is meant, and the answer's detail says which it was when others wait too.
func (h *Hub) Approve(ctx context.Context, p Principal, ref hubapi.Ref) (hubapi.InboxMove, error) {
	return h.Act(ctx, p, ref, Approve, hubapi.Review{})
}

// Act makes one move of the lifecycle that somebody asks for: Stage, Approve,
// Reject, Quarantine, Defer, Edit, Withdraw, Deprecate or Repropose. Without a
// version it is the newest release in the status that the action is mostly meant
// for; an active release has to be named to be rejected or quarantined.
func (h *Hub) Act(ctx context.Context, p Principal, ref hubapi.Ref, a Action, in hubapi.Review) (hubapi.InboxMove, error) {
	if err := p.check(); err != nil {
		return hubapi.InboxMove{}, err
	}
	if err := h.MayAct(ctx, p, a); err != nil {
		return hubapi.InboxMove{}, err
	}
	if err := checkReview(p, a, &in); err != nil {
		return hubapi.InboxMove{}, err
	}
	look, err := h.lookAt(ctx, p, ref, a, in)
	if err != nil {
		return hubapi.InboxMove{}, err
	}
	var (
		after ReleaseRow
		note  string
	)
	err = h.write(ctx, func(w Writer) error {
		row, err := w.Release(look.row.Skill, look.row.Version)
		if err != nil {
			return err
		}
		t, err := p.step(a, row, ref)
		if err != nil {
			return err
		}
		if row.UpdatedAt != look.row.UpdatedAt || row.Note != look.row.Note {
			return hubapi.Errorf(hubapi.Conflict, "%s changed meanwhile", refOf(row)).WithHint("look at it again")
		}
		if look.scan != nil {
			fresh := evidence(nil, look.scan)
			fresh.Origin = look.evidence.Origin
			if err := w.SetEvidence(row.Seq, fresh); err != nil {
				return err
			}
		}
		after, note, err = h.act(w, p, t, row, in, look)
		return err
	})
	if err != nil {
		return hubapi.InboxMove{}, err
	}
	move := hubapi.InboxMove{Slug: after.Name, PreviousStatus: look.row.Status, NewStatus: after.Status, Release: release(after, nil)}
	var said []string
	for _, s := range []string{look.said, note} {
		if s != "" {
			said = append(said, s)
		}
	}
	if len(said) > 0 {
		detail := strings.Join(said, "; ")
		move.Detail = &detail
	}
	return move, nil
}

// MayAct refuses an action that p never may do, whatever it is about: an inbox that
// the tenant does not have, then the role.
func (h *Hub) MayAct(ctx context.Context, p Principal, a Action) error {
	if err := p.check(); err != nil {
		return err
	}
	if !slices.Contains(Actions(), a) {
		return hubapi.Errorf(hubapi.NotFound, "there is no action %.80q", a)
	}
	if a != Withdraw && a != Deprecate {
		if err := h.InboxOpen(ctx, p); err != nil {
			return err
		}
	}
	return p.mayEver(a)
}

// checkReview refuses what an action does not take or lacks.
func checkReview(p Principal, a Action, in *hubapi.Review) error {
	in.Reason = strings.TrimSpace(in.Reason)
	takesReason := slices.Contains([]Action{Reject, Quarantine, Defer, Withdraw, Deprecate, Repropose}, a)
	edits := in.Content != nil || in.Description != nil || in.Summary != nil
	switch {
	case in.Reason == "" && (a == Reject || a == Quarantine):
		return hubapi.Errorf(hubapi.Invalid, "to %s needs a reason", a)
	case in.Reason != "" && !takesReason:
		return hubapi.Errorf(hubapi.Invalid, "to %s takes no reason", a)
	case utf8.RuneCountInString(in.Reason) > maxReason:
		return hubapi.Errorf(hubapi.Invalid, "a reason has at most %d characters", maxReason)
	case in.CooloffDays != 0 && a != Reject:
		return hubapi.Errorf(hubapi.Invalid, "only a rejection has a cool-off")
	case a == Edit && !edits:
		return hubapi.Errorf(hubapi.Invalid, "an edit needs content, description or summary")
	case a != Edit && edits:
		return hubapi.Errorf(hubapi.Invalid, "only an edit takes content, description and summary")
	case in.Force && a != Approve && a != Repropose:
		return hubapi.Errorf(hubapi.Invalid, "to %s cannot be forced", a)
	case in.Force && p.Role != Admin:
		return hubapi.Errorf(hubapi.Forbidden, "only an admin may force")
	}
	if in.CooloffDays != 0 {
		return within("cooloff_days", in.CooloffDays, 1, maxCooloffDays)
	}
	return nil
}

// looked is what was found out about a release before the transaction that moves
// it: its content never changes, so that looking at it needs none.
type looked struct {
	row      ReleaseRow
	said     string // which release was meant, when that was not clear
	evidence EvidenceRow
	scan     *hubapi.Scan // nil: nothing scans
	edit     *publication // of an edit only
}

func (h *Hub) lookAt(ctx context.Context, p Principal, ref hubapi.Ref, a Action, in hubapi.Review) (looked, error) {
	var (
		out looked
		now *pack.Pack
	)
	err := h.read(ctx, func(r Reader) error {
		out, now = looked{}, nil
		skill, err := ownSkill(r, p, ref)
		if err != nil {
			return err
		}
		if out.row, out.said, err = meant(r, p, skill, ref, a); err != nil {
			return err
		}
		if _, err := p.step(a, out.row, ref); err != nil {
			return err
		}
		if out.evidence, err = r.Evidence(out.row.Seq); err != nil {
			return err
		}
		if a == Approve || a == Edit || a == Repropose && h.scanner != nil {
			now, err = storedPack(r, out.row)
		}
		return err
	})
	if err != nil || now == nil {
		return out, err
	}
	if a == Edit {
		out.edit, err = h.edited(now, out.row, in)
		return out, err
	}
	if string(now.Digest()) != out.row.Digest {
		return out, hubapi.Errorf(hubapi.Conflict, "the content of %s is not what was pushed: %s, not %s", refOf(out.row), now.Digest(), out.row.Digest)
	}
	out.scan = h.scan(now)
	if dirty(out.scan) && !(in.Force && a == Repropose) {
		return out, scanRefused(refOf(out.row).String(), out.scan)
	}
	return out, nil
}

// storedPack reads a stored release back as the pack that it was.
func storedPack(r Reader, row ReleaseRow) (*pack.Pack, error) {
	files, err := packFiles(r, row.Seq)
	if err != nil {
		return nil, err
	}
	seen := pack.Read(row.Name, files, pack.Options{Format: pack.Format(row.Format)})
	if seen.Pack == nil {
		return nil, packError(refOf(row).String()+" can no longer be read as a pack", seen.Faults)
	}
	return seen.Pack, nil
}

func packFiles(r Reader, release int64) ([]pack.File, error) {
	rows, err := r.Files(release)
	if err != nil {
		return nil, err
	}
	files := make([]pack.File, len(rows))
	for i, row := range rows {
		data, err := content(r, row.Sum)
		if err != nil {
			return nil, err
		}
		files[i] = pack.File{Path: row.Path, Data: data, Executable: row.Executable}
	}
	return files, nil
}

// mostlyFrom are the statuses in which an action looks for a release when no
// version is named, the first first.
func mostlyFrom(a Action) []hubapi.Status {
	switch a {
	case Stage:
		return []hubapi.Status{hubapi.Candidate}
	case Reject:
		return []hubapi.Status{hubapi.Staged, hubapi.Quarantined, hubapi.Candidate}
	case Quarantine:
		return []hubapi.Status{hubapi.Staged, hubapi.Candidate}
	case Withdraw:
		return []hubapi.Status{hubapi.Active, hubapi.Staged, hubapi.Candidate}
	case Deprecate:
		return []hubapi.Status{hubapi.Active}
	case Repropose:
		return []hubapi.Status{hubapi.Rejected, hubapi.Quarantined, hubapi.Stale, hubapi.Staged, hubapi.Deprecated}
	}
	return []hubapi.Status{hubapi.Staged}
}

// meant finds the release that an action is about.
func meant(r Reader, p Principal, skill SkillRow, ref hubapi.Ref, a Action) (ReleaseRow, string, error) {
	if ref.Version != "" {
		row, err := r.Release(skill.ID, ref.Version)
		if errors.Is(err, ErrNoRow) {
			return row, "", absent(ref)
		}
		return row, "", err
	}
	mine := slices.Contains(p.Authors, skill.Author) || len(p.Authors) == 0 && skill.Author == LocalAuthor
	if !p.reviews() && !mine {
		if row, err := active(r, p, skill, ref); err != nil {
			return row, "", err
		}
	}
	statuses := mostlyFrom(a)
	for _, status := range statuses {
		rows, err := r.Releases(skill.ID, status, maxInbox)
		if err != nil {
			return ReleaseRow{}, "", err
		}
		if len(rows) > 0 {
			said := ""
			if n := len(rows) - 1; n > 0 {
				said = fmt.Sprintf("version %s, the newest of %s that are %s", rows[0].Version, atLeast(n+1), status)
				if status == hubapi.Staged {
					said = fmt.Sprintf("version %s, the newest of %s that wait", rows[0].Version, atLeast(n+1))
				}
			}
			return rows[0], said, nil
		}
	}
	names := make([]string, len(statuses))
	for i, s := range statuses {
		names[i] = string(s)
	}
	e := hubapi.Errorf(hubapi.Conflict, "no release of %s/%s is %s", skill.Author, skill.Name, orList(names))
	if statuses[0] == hubapi.Staged {
		e.Message = fmt.Sprintf("nothing of %s/%s waits for review", skill.Author, skill.Name)
	}
	return ReleaseRow{}, "", e
}

func atLeast(n int) string {
	if n >= maxInbox {
		return fmt.Sprintf("at least %d", n)
	}
	return fmt.Sprint(n)
}

// act makes the move, inside the transaction.
func (h *Hub) act(w Writer, p Principal, t Transition, row ReleaseRow, in hubapi.Review, look looked) (ReleaseRow, string, error) {
	now, note := h.now(), row.Note
	switch t.Action {
	case Approve:
		return h.activate(w, p, t, row, in.Force)
	case Edit:
		return h.replaceEdited(w, p, row, look.edit)
	case Reject:
		return h.reject(w, p, t, row, in)
	case Quarantine, Withdraw, Deprecate:
		note.Reason = in.Reason
	case Defer:
		note.DeferredAt, note.DeferReason = now, in.Reason
	case Repropose:
		return h.repropose(w, p, t, row, in)
	}
	row, err := h.move(w, p, t, row, note, now, in.Reason)
	return row, "", err
}

// reject moves a release to rejected and begins the cool-off of its content.
func (h *Hub) reject(w Writer, p Principal, t Transition, row ReleaseRow, in hubapi.Review) (ReleaseRow, string, error) {
	tenant, err := w.Tenant(row.Tenant)
	if err != nil {
		return row, "", err
	}
	now, note := h.now(), row.Note
	days := cmp.Or(in.CooloffDays, settingsOf(tenant).CooloffDays)
	note.Reason, note.DeferredAt, note.DeferReason = in.Reason, time.Time{}, ""
	if row.Fingerprint == "" { // pushed to a hub that kept none
		p, err := storedPack(w, row)
		if err != nil {
			return row, "", err
		}
		row.Fingerprint = contentFingerprint(p)
	}
	if err := w.AddCooloff(CooloffRow{
		Tenant: row.Tenant, Fingerprint: row.Fingerprint, Release: row.Seq, RejectedBy: p.ID,
		RejectedAt: now, Until: now.Add(time.Duration(days) * 24 * time.Hour), Reason: in.Reason,
	}); err != nil {
		return row, "", err
	}
	row, err = h.move(w, p, t, row, note, now, in.Reason)
	return row, fmt.Sprintf("the same content is not taken again for %d days", days), err
}

// repropose puts a release up for review again, made from what is active now.
func (h *Hub) repropose(w Writer, p Principal, t Transition, row ReleaseRow, in hubapi.Review) (ReleaseRow, string, error) {
	said := in.Reason
	cools, until, err := h.cooling(w, row.Tenant, row.Fingerprint)
	if err != nil {
		return row, "", err
	}
	if cools {
		if !p.reviews() {
			e := hubapi.Errorf(hubapi.Conflict, "%s was rejected and is not taken again before %s: %s", refOf(row), until.Until.Format(time.DateOnly), until.Reason)
			return row, "", e.With(hubapi.Detail{ID: "review.cooloff", Message: e.Message})
		}
		if _, err := w.DropCooloffs(row.Tenant, row.Fingerprint); err != nil {
			return row, "", err
		}
		said = strings.TrimPrefix(said+"; its cool-off ends", "; ")
	}
	if in.Force {
		said = strings.TrimPrefix(said+"; forced", "; ")
	}
	note := ReviewNote{}
	now, err := w.Releases(row.Skill, hubapi.Active, 1)
	if err != nil {
		return row, "", err
	}
	if len(now) == 1 {
		note.Base = now[0].Digest
	}
	row, err = h.move(w, p, t, row, note, h.now(), said)
	return row, "", err
}

// reviewing refuses who may not look at what waits, in the order in which the
// inbox's clients expect it: first whether there is an inbox, then who asks.
func (h *Hub) reviewing(ctx context.Context, p Principal) (TenantRow, error) {
	var tenant TenantRow
	if err := h.InboxOpen(ctx, p); err != nil {
		return tenant, err
	}
	if !p.reviews() {
		e := hubapi.Errorf(hubapi.Forbidden, "a %s may not see what waits for review", p.Role)
		return tenant, e.With(hubapi.Detail{ID: "SKILLS_INBOX_FORBIDDEN", Message: e.Message})
	}
	err := h.read(ctx, func(r Reader) (err error) {
		tenant, err = r.Tenant(p.Tenant)
		return err
	})
	return tenant, err
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

// InboxDetail shows a reviewer one release, in any status, with its scan, its gates
// and what they may do with it. Without a version it is the newest that waits.
func (h *Hub) InboxDetail(ctx context.Context, p Principal, ref hubapi.Ref, contents bool) (hubapi.InboxDetail, error) {
	tenant, err := h.reviewing(ctx, p)
	if err != nil {
		return hubapi.InboxDetail{}, err
	}
	var out hubapi.InboxDetail
	err = h.read(ctx, func(r Reader) error {
		out = hubapi.InboxDetail{Actions: []string{}}
		row, err := shown(r, p, ref)
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
		if out.Gates, err = h.gatesOf(r, tenant, row); err != nil {
			return err
		}
		out.Release, out.Reason, out.Base = release(row, files), cmp.Or(row.Note.Reason, row.Note.DeferReason), row.Note.Base
		for _, a := range Actions() {
			if _, err := p.step(a, row, ref); err == nil && (a != Approve || !p.owns(row) || tenant.SelfApprove) {
				out.Actions = append(out.Actions, string(a))
			}
		}
		return nil
	})
	return out, err
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
	for _, status := range []hubapi.Status{hubapi.Staged, hubapi.Quarantined, hubapi.Candidate, hubapi.Active, hubapi.Rejected, hubapi.Stale, hubapi.Deprecated} {
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
		return hubapi.Events{}, hubapi.Errorf(hubapi.Forbidden, "a %s may not see the audit trail", p.Role)
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
			out.Events = append(out.Events, hubapi.Event{
				Seq: row.Seq, At: row.At, Principal: row.Principal, Action: row.Action, Author: row.Author,
				Name: row.Name, Version: row.Version, Digest: row.Digest, Note: row.Note,
			})
		}
		return err
	})
	return out, err
}
