package hub

import (
	"cmp"
	"context"
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
	if a == Approve && p.reviews() {
		apart, err := r.Releases(skill.ID, hubapi.Quarantined, 1)
		if err != nil {
			return ReleaseRow{}, "", err
		}
		if len(apart) == 1 {
			e.Message += fmt.Sprintf("; %s is quarantined", refOf(apart[0]))
			e.Hint = quarantinedHint(apart[0])
		}
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
		if t.Action == Withdraw && row.Status == hubapi.Deprecated && note.ReplacedBy == "" {
			return row, "", hubapi.Errorf(hubapi.Conflict, "%s is withdrawn already", refOf(row))
		}
		note.Reason = in.Reason
	case Defer:
		note.DeferredAt, note.DeferReason = now, in.Reason
	case Repropose:
		return h.repropose(w, p, t, row, in)
	}
	row, err := h.move(w, p, t, row, note, now, in.Reason)
	if t.Action == Defer {
		return row, "it stands at the end of the inbox, until somebody moves it", err
	}
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
	note, from := ReviewNote{}, "nothing"
	now, err := w.Releases(row.Skill, hubapi.Active, 1)
	if err != nil {
		return row, "", err
	}
	if len(now) == 1 {
		note.Base, from = now[0].Digest, "version "+now[0].Version
	}
	row, err = h.move(w, p, t, row, note, h.now(), said)
	return row, "it waits for review as a change of what is active now: " + from, err
}
