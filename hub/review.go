package hub

import (
	"fmt"
	"strings"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// actSign is what the audit trail names beside the actions of the lifecycle.
const actSign = "sign"

func (h *Hub) audit(w Writer, p Principal, action string, row ReleaseRow, note string) error {
	return w.AddAudit(AuditRow{
		Tenant: p.Tenant, At: h.now(), Principal: p.ID, Action: action,
		Author: row.Author, Name: row.Name, Version: row.Version, Digest: row.Digest, Note: note,
	})
}

// activate moves a release to active inside a transaction, by step t, and says what
// else that changed. The release that was active becomes deprecated.
func (h *Hub) activate(w Writer, p Principal, t Transition, row ReleaseRow, force bool) (after ReleaseRow, note string, err error) {
	tenant, err := w.Tenant(p.Tenant)
	if err != nil {
		return row, "", err
	}
	var said []string
	if p.owns(row) {
		if !tenant.SelfApprove {
			return row, "", hubapi.Errorf(hubapi.Forbidden, "an author may not approve a release of their own").
				WithHint("have another reviewer approve %s", refOf(row))
		}
		said = append(said, "by its own author, which this tenant allows")
	}
	moved, err := baseMoved(w, row)
	if err != nil {
		return row, "", err
	}
	switch {
	case moved != nil && !force:
		return row, "", moved
	case moved != nil:
		said = append(said, "forced: "+moved.Message)
	}
	note, err = h.supersede(w, p, row)
	if err != nil {
		return row, "", err
	}
	done := row.Note
	done.DeferredAt, done.DeferReason, done.Reason = time.Time{}, "", ""
	row, err = h.move(w, p, t, row, done, h.now(), strings.Join(said, "; "))
	return row, note, err
}

// baseMoved is the refusal of an update whose base is not what is active, nil for
// any other release.
func baseMoved(r Reader, row ReleaseRow) (*hubapi.Error, error) {
	if row.Note.Base == "" {
		return nil, nil
	}
	now, err := r.Releases(row.Skill, hubapi.Active, 1)
	if err != nil || len(now) == 1 && now[0].Digest == row.Note.Base {
		return nil, err
	}
	active := "nothing is active now"
	if len(now) == 1 {
		active = fmt.Sprintf("version %s is active now, %s", now[0].Version, now[0].Digest)
	}
	e := hubapi.Errorf(hubapi.Conflict, "%s was made from %s, but %s", refOf(row), row.Note.Base, active).
		WithHint("look at the difference, then: kx inbox repropose %s", refOf(row))
	return e.With(hubapi.Detail{ID: "review.base", Message: e.Message}), nil
}

// supersede takes the place of the active release away, if there is one, and says
// so.
func (h *Hub) supersede(w Writer, p Principal, by ReleaseRow) (string, error) {
	before, err := w.Releases(by.Skill, hubapi.Active, 1)
	if err != nil || len(before) == 0 {
		return "", err
	}
	t, err := byHub(Supersede, hubapi.Active)
	if err != nil {
		return "", err
	}
	old := before[0]
	note := old.Note
	note.ReplacedBy = by.Version
	if _, err := h.move(w, p, t, old, note, h.now(), "by version "+by.Version); err != nil {
		return "", err
	}
	return fmt.Sprintf("version %s replaces version %s", by.Version, old.Version), nil
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
