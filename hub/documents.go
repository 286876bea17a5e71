package hub

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/strictjson"
)

// Documents are what agents read and write as JSON. Those of the collection skills
// are releases: doc_id is the skill's name, and a write is a push that waits for
// review as every other does. Those of other collections are plain: kept as they
// were written.
//
// Of skills an agent sees what is active. In a tenant that opted out of review the
// document of a skill that has no active release is its newest one that nobody took
// back, whether or not somebody approved it; what a scan quarantined or a person
// rejected is seen through documents nowhere. What nodes put on disk is less: see
// installableReleases. Everything else of the hub shows what is active in
// both.
//
//   - documents.go           who sees what; read, delete, collections
//   - documents_skill.go     a release as a document
//   - documents_validate.go  what a written skill must fulfil
//   - documents_write.go     writes and proposals
//   - documents_query.go, documents_search.go
//   - installable.go         the catalogue that nodes reconcile

// Limits of plain documents.
const (
	maxDocument      = 256 << 10 // bytes of data
	maxCollection    = 200       // bytes of a collection's name
	maxDocumentID    = 500       // bytes
	maxTenantDocs    = 20_000    // documents of a tenant
	maxTenantDocSize = 64 << 20  // bytes of data of a tenant
)

const actDocumentDelete = "document-delete"

// gate is what of skills a tenant's documents show.
type gate struct {
	opted    bool
	settings hubapi.TenantSettings
}

// gateOf reads the tenant's settings. Where they cannot be read, reading goes on as
// if it had opted in (shut), and whatever changes something is refused.
func gateOf(r Reader, p Principal) (gate, error) {
	row, err := r.Tenant(p.Tenant)
	if err != nil {
		return gate{opted: true}, hubapi.Errorf(hubapi.Internal, "the settings of the tenant cannot be read: %v", err)
	}
	s := settingsOf(row)
	return gate{opted: s.OptedIn, settings: s}, nil
}

// shut is the gate for reading: of a tenant whose settings cannot be read only what
// is active is shown.
func shut(r Reader, p Principal) gate {
	g, _ := gateOf(r, p)
	return g
}

// hidden is the one rule of which releases documents show, on every surface: the
// active ones, and of one's own tenant, when it opted out, those that nobody took
// back.
func (g gate) hidden(p Principal, row ReleaseRow) bool {
	switch row.Status {
	case hubapi.Active:
		return false
	case hubapi.Staged, hubapi.Candidate:
		return g.opted || row.Tenant != p.Tenant
	}
	return true
}

// documentStatuses are those of releases that can be documents at all, the active
// one first: it stands before all others.
var documentStatuses = []hubapi.Status{hubapi.Active, hubapi.Staged, hubapi.Candidate}

// noDocument is the one answer for what is not there and for what may not be seen.
func noDocument(collection, id string) *hubapi.Error {
	return hubapi.Errorf(hubapi.NotFound, "not found: %s/%s", collection, id)
}

// checkCollection refuses what cannot be a collection's name, and those that are
// the hub's own.
func checkCollection(name string) error {
	switch {
	case name == "":
		return hubapi.Errorf(hubapi.Invalid, "collection is missing")
	case !plainName(name, maxCollection):
		return hubapi.Errorf(hubapi.Invalid, "a collection's name is text of 1 to %d bytes without control characters or space around it", maxCollection)
	case strings.HasPrefix(name, "_"):
		return hubapi.Errorf(hubapi.Forbidden, "collections whose name starts with '_' are the hub's own")
	}
	return nil
}

func checkDocumentID(id string) error {
	switch {
	case id == "":
		return hubapi.Errorf(hubapi.Invalid, "doc_id is missing")
	case !plainName(id, maxDocumentID):
		return hubapi.Errorf(hubapi.Invalid, "a doc_id is text of 1 to %d bytes without control characters or space around it", maxDocumentID)
	}
	return nil
}

func plainName(s string, most int) bool {
	return s != "" && len(s) <= most && utf8.ValidString(s) && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, unicode.IsControl)
}

// ReadDocument gives one document. What p may not see is NotFound, as what is not
// there.
func (h *Hub) ReadDocument(ctx context.Context, p Principal, collection, id string) (hubapi.Document, error) {
	out := hubapi.Document{Collection: collection, DocID: id}
	if err := errors.Join(p.check(), checkCollection(collection), checkDocumentID(id)); err != nil {
		return out, hubapi.AsError(err)
	}
	err := h.read(ctx, func(r Reader) error {
		if collection != hubapi.SkillsCollection {
			row, err := r.PlainDocument(p.Tenant, collection, id)
			if errors.Is(err, ErrNoRow) {
				return noDocument(collection, id)
			}
			out.Data, out.UpdatedAt = json.RawMessage(row.Data), row.UpdatedAt
			return err
		}
		row, err := documentRelease(r, p, shut(r, p), id)
		if errors.Is(err, ErrNoRow) {
			return noDocument(collection, id)
		}
		if err != nil {
			return err
		}
		data, err := skillData(r, row, true)
		out.Data, out.UpdatedAt = json.RawMessage(asJSON(data)), row.UpdatedAt
		return err
	})
	return out, err
}

// documentRelease is the release that is the document called slug, ErrNoRow where
// there is none that p may see.
func documentRelease(r Reader, p Principal, g gate, slug string) (ReleaseRow, error) {
	skill, err := r.Skill(p.Tenant, slug)
	if err != nil {
		return ReleaseRow{}, err
	}
	var newest ReleaseRow
	for _, status := range documentStatuses {
		if newest.Status == hubapi.Active {
			break // what waits for review never stands before what is active
		}
		rows, err := r.Releases(skill.ID, status, 1)
		if err != nil {
			return newest, err
		}
		if len(rows) == 1 && !g.hidden(p, rows[0]) && rows[0].Seq > newest.Seq {
			newest = rows[0]
		}
	}
	if newest.Seq == 0 {
		return newest, ErrNoRow
	}
	return newest, nil
}

// documentReleases are the releases that are documents, ordered by name. More than
// most are refused as TooLarge.
func documentReleases(r Reader, p Principal, g gate, most int) ([]ReleaseRow, error) {
	tooMany := hubapi.Errorf(hubapi.TooLarge, "the tenant %s has more than %d skills", p.Tenant, most)
	if g.opted {
		var out []ReleaseRow
		for after := ""; ; after = out[len(out)-1].Name {
			rows, err := r.ActiveReleases(p.Tenant, after, min(1000, most+1-len(out)))
			if err != nil || len(rows) == 0 {
				return out, err
			}
			if out = append(out, rows...); len(out) > most {
				return nil, tooMany
			}
		}
	}
	newest := map[int64]ReleaseRow{}
	for _, status := range documentStatuses {
		rows, err := r.TenantReleases(p.Tenant, status, most+1)
		if err != nil {
			return nil, err
		}
		if len(rows) > most {
			return nil, tooMany
		}
		for _, row := range rows {
			before := newest[row.Skill]
			if !g.hidden(p, row) && before.Status != hubapi.Active && row.Seq > before.Seq {
				newest[row.Skill] = row
			}
		}
	}
	if len(newest) > most {
		return nil, tooMany
	}
	return byName(newest), nil
}

// DeleteDocument deletes one document. Of a skill it ends the active release, as
// withdrawing it does, by whoever may do that; one that waits for review is as
// absent here as one that was never written. In a tenant that opted out it ends
// every release that could be the document. Of plain documents an agent deletes its
// own.
func (h *Hub) DeleteDocument(ctx context.Context, p Principal, collection, id string) (hubapi.DocumentDeleted, error) {
	out := hubapi.DocumentDeleted{Collection: collection, DocID: id}
	if err := errors.Join(p.check(), checkCollection(collection), checkDocumentID(id)); err != nil {
		return out, hubapi.AsError(err)
	}
	if !p.publishes() {
		return out, hubapi.Errorf(hubapi.Forbidden, "%s may not delete documents", p.Role.WithArticle())
	}
	err := h.write(ctx, func(w Writer) error {
		if collection == hubapi.SkillsCollection {
			return h.deleteSkill(w, p, id)
		}
		row, err := w.PlainDocument(p.Tenant, collection, id)
		if errors.Is(err, ErrNoRow) {
			return noDocument(collection, id)
		}
		if err != nil {
			return err
		}
		if p.Role == Agent && (row.CreatedBy != p.ID || row.UpdatedBy != p.ID) {
			return hubapi.Errorf(hubapi.Forbidden, "an agent may delete only documents that it wrote itself")
		}
		if _, err := w.DropPlainDocument(p.Tenant, collection, id); err != nil {
			return err
		}
		return w.AddAudit(AuditRow{Tenant: p.Tenant, At: h.now(), Principal: p.ID, Action: actDocumentDelete, Name: id, Note: collection})
	})
	if err != nil {
		return out, err
	}
	out.OK, out.Deleted = true, true
	return out, nil
}

func (h *Hub) deleteSkill(w Writer, p Principal, slug string) error {
	g, err := gateOf(w, p)
	if err != nil {
		return err
	}
	skill, err := w.Skill(p.Tenant, slug)
	if errors.Is(err, ErrNoRow) {
		return noDocument(hubapi.SkillsCollection, slug)
	}
	if err != nil {
		return err
	}
	ended := 0
	for _, status := range documentStatuses {
		rows, err := w.Releases(skill.ID, status, maxInbox)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if g.hidden(p, row) {
				continue
			}
			t, err := p.step(Withdraw, row, hubapi.Ref{Name: slug})
			if err != nil {
				return err
			}
			if _, err := h.move(w, p, t, row, row.Note, h.now(), "its document was deleted"); err != nil {
				return err
			}
			ended++
		}
	}
	if ended == 0 {
		return noDocument(hubapi.SkillsCollection, slug)
	}
	return nil
}

// Collections counts the documents of every collection. Of skills those count that
// can be read.
func (h *Hub) Collections(ctx context.Context, p Principal) (hubapi.CollectionList, error) {
	out := hubapi.CollectionList{Collections: []hubapi.Collection{}}
	if err := p.check(); err != nil {
		return out, err
	}
	err := h.read(ctx, func(r Reader) error {
		out.Collections = out.Collections[:0]
		counts, err := r.CountPlain(p.Tenant)
		if err != nil {
			return err
		}
		skills := 0
		if g := shut(r, p); g.opted {
			skills, err = r.CountReleases(p.Tenant, hubapi.Active)
		} else {
			var rows []ReleaseRow
			rows, err = documentReleases(r, p, g, maxScannedSkills)
			skills = len(rows)
		}
		if err != nil {
			return err
		}
		add := func(name string, n int) {
			out.Collections = append(out.Collections, hubapi.Collection{Name: name, Count: n})
		}
		for _, c := range counts {
			if skills > 0 && c.Name > hubapi.SkillsCollection {
				add(hubapi.SkillsCollection, skills)
				skills = 0
			}
			add(c.Name, c.Count)
		}
		if skills > 0 {
			add(hubapi.SkillsCollection, skills)
		}
		out.Count = len(out.Collections)
		return nil
	})
	return out, err
}

// readDocumentData reads the data of a write strictly.
func readDocumentData(data []byte) (*strictjson.Node, error) {
	if len(data) > maxDocument {
		return nil, hubapi.Errorf(hubapi.TooLarge, "the data has %d bytes, at most %d are kept", len(data), maxDocument)
	}
	if len(data) == 0 {
		return nil, hubapi.Errorf(hubapi.Invalid, "data is missing")
	}
	node, faults := strictjson.Parse(data)
	if len(faults) > 0 {
		return nil, hubapi.Errorf(hubapi.Invalid, "data: %s", faults[0].Text).
			With(hubapi.Detail{ID: faults[0].ID, Message: faults[0].Text, Pointer: faults[0].Pointer})
	}
	if node.Kind != strictjson.Object {
		e := hubapi.Errorf(hubapi.Invalid, "data must be an object, not %s", node.Kind)
		return nil, e.With(hubapi.Detail{ID: "document.object", Message: e.Message})
	}
	return node, nil
}
