package hub

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/translog"
	"github.com/kortecx/kx/pack"
)

// The actions that the audit trail names.
const (
	actPublish   = "publish"
	actSign      = "sign"
	actApprove   = "approve"
	actSupersede = "superseded"
)

func (h *Hub) audit(w Writer, p Principal, action string, row ReleaseRow, note string) error {
	return w.AddAudit(AuditRow{
		Tenant: p.Tenant, At: h.now(), Principal: p.ID, Action: action,
		Author: row.Author, Name: row.Name, Version: row.Version, Digest: row.Digest, Note: note,
	})
}

// Approve makes a staged release the active one; the release that was active
// becomes deprecated in the same transaction. Without a version the newest staged
// release is meant, and the answer's detail says which it was when others wait too.
func (h *Hub) Approve(ctx context.Context, p Principal, ref hubapi.Ref) (hubapi.InboxMove, error) {
	if err := p.check(); err != nil {
		return hubapi.InboxMove{}, err
	}
	if !p.reviews() {
		return hubapi.InboxMove{}, hubapi.Errorf(hubapi.Forbidden, "a %s may not approve", p.Role)
	}
	var (
		move hubapi.InboxMove
		said []string
	)
	err := h.write(ctx, func(w Writer) error {
		said = nil
		skill, err := ownSkill(w, p, ref)
		if err != nil {
			return err
		}
		row, others, err := toApprove(w, skill, ref)
		if err != nil {
			return err
		}
		if others > 0 {
			said = append(said, fmt.Sprintf("version %s, the newest of %s that wait", row.Version, atLeast(others+1)))
		}
		from := row.Status
		row, note, err := h.activate(w, p, row)
		if err != nil {
			return err
		}
		if note != "" {
			said = append(said, note)
		}
		move = hubapi.InboxMove{Slug: row.Name, PreviousStatus: from, NewStatus: row.Status, Release: release(row, nil)}
		return nil
	})
	if err != nil {
		return hubapi.InboxMove{}, err
	}
	if len(said) > 0 {
		detail := strings.Join(said, "; ")
		move.Detail = &detail
	}
	return move, nil
}

// toApprove finds the release that waits, and how many others of its skill do.
func toApprove(r Reader, skill SkillRow, ref hubapi.Ref) (row ReleaseRow, others int, err error) {
	if ref.Version != "" {
		row, err = r.Release(skill.ID, ref.Version)
		if errors.Is(err, ErrNoRow) {
			return row, 0, absent(ref)
		}
		return row, 0, err
	}
	waiting, err := r.Releases(skill.ID, hubapi.Staged, maxInbox)
	if err != nil {
		return row, 0, err
	}
	if len(waiting) == 0 {
		return row, 0, hubapi.Errorf(hubapi.Conflict, "nothing of %s/%s waits for review", skill.Author, skill.Name)
	}
	return waiting[0], len(waiting) - 1, nil
}

func atLeast(n int) string {
	if n >= maxInbox {
		return fmt.Sprintf("at least %d", n)
	}
	return fmt.Sprint(n)
}

// activate moves a staged release to active, inside a transaction, and says what
// else that changed.
func (h *Hub) activate(w Writer, p Principal, row ReleaseRow) (after ReleaseRow, note string, err error) {
	tenant, err := w.Tenant(p.Tenant)
	if err != nil {
		return row, "", err
	}
	own := row.PublishedBy == p.ID || slices.Contains(p.Authors, row.Author)
	if own && !tenant.SelfApprove {
		return row, "", hubapi.Errorf(hubapi.Forbidden, "an author may not approve a release of their own").
			WithHint("have another reviewer approve %s", refOf(row))
	}
	now := h.now()
	before, err := w.Releases(row.Skill, hubapi.Active, 1)
	if err != nil {
		return row, "", err
	}
	if row.Status == hubapi.Staged && len(before) == 1 {
		old := before[0]
		if err := h.supersede(w, p, old, row, now); err != nil {
			return row, "", err
		}
		note = fmt.Sprintf("version %s replaces version %s", row.Version, old.Version)
	}
	moved, err := w.Move(row.Seq, hubapi.Staged, hubapi.Active, now, p.ID)
	if err != nil {
		return row, "", err
	}
	if !moved {
		return row, "", hubapi.Errorf(hubapi.Conflict, "%s is %s, only a staged release can be approved", refOf(row), row.Status)
	}
	row.Status, row.UpdatedAt, row.ApprovedAt, row.ApprovedBy = hubapi.Active, now, now, p.ID
	if err := w.PutWords(p.Tenant, row.Seq, searchWords(row)); err != nil {
		return row, "", err
	}
	said := ""
	if own {
		said = "by its own author, which this tenant allows"
	}
	if err := h.audit(w, p, actApprove, row, said); err != nil {
		return row, "", err
	}
	return row, note, h.logRelease(w, p, translog.Publish, row, said)
}

// supersede takes the place of the active release away.
func (h *Hub) supersede(w Writer, p Principal, old, by ReleaseRow, now time.Time) error {
	moved, err := w.Move(old.Seq, hubapi.Active, hubapi.Deprecated, now, p.ID)
	if err != nil {
		return err
	}
	if !moved {
		return hubapi.Errorf(hubapi.Conflict, "%s changed meanwhile", refOf(old)).WithHint("try again")
	}
	if err := w.DropWords(old.Seq); err != nil {
		return err
	}
	return h.audit(w, p, actSupersede, old, "by version "+by.Version)
}

// maxInbox is the most items of one inbox answer.
const maxInbox = 200

// Inbox lists what waits for review, newest first. Limit 0 means 50; more than
// 200 is 200. Contents are in the answer only if asked for.
func (h *Hub) Inbox(ctx context.Context, p Principal, limit int, contents bool) (hubapi.Inbox, error) {
	if err := p.check(); err != nil {
		return hubapi.Inbox{}, err
	}
	if !p.reviews() {
		return hubapi.Inbox{}, hubapi.Errorf(hubapi.Forbidden, "a %s may not see what waits for review", p.Role)
	}
	limit, err := clamp(limit, 50, maxInbox)
	if err != nil {
		return hubapi.Inbox{}, err
	}
	var box hubapi.Inbox
	err = h.read(ctx, func(r Reader) error {
		box = hubapi.Inbox{TenantID: p.Tenant, Items: []hubapi.InboxItem{}}
		rows, err := r.TenantReleases(p.Tenant, hubapi.Staged, limit+1)
		if err != nil {
			return err
		}
		if box.Truncated = len(rows) > limit; box.Truncated {
			rows = rows[:limit]
		}
		for _, row := range rows {
			item, err := inboxItem(r, row, contents)
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

func inboxItem(r Reader, row ReleaseRow, contents bool) (hubapi.InboxItem, error) {
	item := hubapi.InboxItem{
		Slug: row.Name, DocID: row.Name, Name: row.Name, Description: row.Description, Summary: row.Summary,
		Domain: "general", Tags: row.Tags, Source: row.Source, Status: row.Status, Kind: "create",
		CreatedAt: seconds(row.CreatedAt), UpdatedAt: seconds(row.UpdatedAt),
		Author: row.Author, Version: row.Version, Digest: row.Digest, Format: row.Format,
	}
	if item.Tags == nil {
		item.Tags = []string{}
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

// proseFile is the file of a pack that an agent reads.
func proseFile(f pack.Format) string {
	if f == pack.Kortecx {
		return "instructions.md"
	}
	return f.ManifestFile()
}

// seconds is the resolution of times in a document's card.
func seconds(t time.Time) time.Time { return t.Truncate(time.Second) }

// clamp applies a default and an upper limit to a limit that a caller gave.
func clamp(limit, fallback, most int) (int, error) {
	switch {
	case limit < 0:
		return 0, hubapi.Errorf(hubapi.Invalid, "a limit is not negative")
	case limit == 0:
		return fallback, nil
	}
	return min(limit, most), nil
}
