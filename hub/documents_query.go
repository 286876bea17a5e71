package hub

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/sorting"
)

// Limits of a query of documents.
const (
	maxDocumentPage  = 100
	maxDocumentWhere = 16
	maxScannedSkills = 20_000 // of a tenant, beyond which its skills are searched, not queried
)

// QueryDocuments gives documents of one collection, the last changed first unless
// another order is asked for. Of skills it gives what is active; where that tenant
// has review, asking for another status is refused, because those are the inbox's.
func (h *Hub) QueryDocuments(ctx context.Context, p Principal, q hubapi.DocumentQuery) (hubapi.DocumentList, error) {
	out := hubapi.DocumentList{Collection: q.Collection, Results: []hubapi.DocumentItem{}}
	if err := errors.Join(p.check(), checkCollection(q.Collection)); err != nil {
		return out, hubapi.AsError(err)
	}
	page, err := readDocumentQuery(q)
	if err != nil {
		return out, err
	}
	err = h.read(ctx, func(r Reader) error {
		out.Results = out.Results[:0]
		if q.Collection != hubapi.SkillsCollection {
			return page.plain(r, p, q, &out)
		}
		g, err := gateOf(r, p)
		if status, asked := q.Where["status"]; asked && status != string(hubapi.Active) {
			if err != nil {
				return err
			}
			if g.opted {
				e := hubapi.Errorf(hubapi.Invalid, "documents show active skills only; what waits for review is in the inbox (/api/v1/skills-inbox)")
				return e.With(hubapi.Detail{ID: "document.status", Message: e.Message, Pointer: "/where/status"})
			}
		}
		return page.skills(r, p, g, q, &out)
	})
	out.Count = len(out.Results)
	return out, err
}

// documentPage is a query that was read.
type documentPage struct {
	where         map[string]any
	orderBy       string
	down          bool
	limit, offset int
}

func readDocumentQuery(q hubapi.DocumentQuery) (documentPage, error) {
	page := documentPage{where: q.Where, orderBy: q.OrderBy, limit: 20, offset: q.Offset}
	if q.Limit != nil {
		if *q.Limit < 1 {
			return page, hubapi.Errorf(hubapi.Invalid, "limit is at least 1")
		}
		page.limit = min(*q.Limit, maxDocumentPage)
	}
	if q.Offset < 0 || q.Offset > maxOffset {
		return page, hubapi.Errorf(hubapi.Invalid, "offset is from 0 to %d", maxOffset)
	}
	switch q.Order {
	case "", "asc":
	case "desc":
		page.down = true
	default:
		return page, hubapi.Errorf(hubapi.Invalid, "order is asc or desc, not %.40q", q.Order)
	}
	if len(q.Where) > maxDocumentWhere {
		return page, hubapi.Errorf(hubapi.Invalid, "where has at most %d members", maxDocumentWhere)
	}
	for _, key := range slices.Sorted(maps.Keys(q.Where)) {
		switch q.Where[key].(type) {
		case string, bool, float64, int, int64, json.Number:
		default:
			return page, hubapi.Errorf(hubapi.Invalid, "where compares with text, numbers and booleans; %.80q is none of them", key)
		}
	}
	return page, nil
}

// found is one document that fits, as far as its place in the answer needs it.
type found struct {
	key     string // value of the member that orders; nothing behind everything
	has     bool
	updated time.Time
	id      string
	row     int
}

func (page documentPage) fits(data map[string]any) bool {
	for key, want := range page.where {
		if have, ok := data[key]; !ok || !equals(have, want) {
			return false
		}
	}
	return true
}

// cut orders what fits and gives its part that was asked for.
func (page documentPage) cut(all []found) []found {
	sorting.Sort(all, func(a, b found) int {
		if page.orderBy != "" {
			if a.has != b.has {
				if a.has {
					return -1
				}
				return 1
			}
			if c := strings.Compare(a.key, b.key); c != 0 {
				if page.down {
					return -c
				}
				return c
			}
		}
		return cmp.Or(b.updated.Compare(a.updated), strings.Compare(a.id, b.id))
	})
	from := min(page.offset, len(all))
	return all[from:min(from+page.limit, len(all))]
}

var errEnough = errors.New("enough was read")

func (page documentPage) plain(r Reader, p Principal, q hubapi.DocumentQuery, out *hubapi.DocumentList) error {
	var all []found
	looks := len(page.where) > 0 || page.orderBy != ""
	err := r.PlainDocuments(p.Tenant, q.Collection, func(row DocumentRow) error {
		if !inFleet(row, q.FleetID) {
			return nil
		}
		f := found{updated: row.UpdatedAt, id: row.ID}
		if looks {
			data, err := documentObject([]byte(row.Data))
			if err != nil {
				return err
			}
			if !page.fits(data) {
				return nil
			}
			f.key, f.has = asText(data[page.orderBy])
		}
		all = append(all, f)
		if !looks && len(all) >= page.offset+page.limit {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	for _, f := range page.cut(all) {
		row, err := r.PlainDocument(p.Tenant, q.Collection, f.id)
		if err != nil {
			return err
		}
		out.Results = append(out.Results, hubapi.DocumentItem{DocID: row.ID, Data: json.RawMessage(row.Data)})
	}
	return nil
}

// inFleet is the one rule of which fleet sees a document: its own, and every one
// sees those of none.
func inFleet(row DocumentRow, fleet string) bool {
	return fleet == "" || row.Fleet == "" || row.Fleet == fleet
}

func (page documentPage) skills(r Reader, p Principal, g gate, q hubapi.DocumentQuery, out *hubapi.DocumentList) error {
	rows, err := documentReleases(r, p, g, maxScannedSkills)
	if err != nil {
		if e := hubapi.AsError(err); e.Code == hubapi.TooLarge {
			return e.WithHint("search for them instead")
		}
		return err
	}
	looks, whole := len(page.where) > 0 || page.orderBy != "", false
	for _, key := range append(slices.Collect(maps.Keys(page.where)), page.orderBy) {
		whole = whole || key == "content" || key == "content_hash"
	}
	var all []found
	for i, row := range rows {
		f := found{updated: row.UpdatedAt, id: row.Name, row: i}
		if looks {
			d, err := skillData(r, row, whole)
			if err != nil {
				return err
			}
			data, err := documentObject([]byte(asJSON(d)))
			if err != nil {
				return err
			}
			if !page.fits(data) {
				continue
			}
			f.key, f.has = asText(data[page.orderBy])
		}
		all = append(all, f)
	}
	for _, f := range page.cut(all) {
		d, err := skillData(r, rows[f.row], true)
		if err != nil {
			return err
		}
		out.Results = append(out.Results, hubapi.DocumentItem{DocID: f.id, Data: json.RawMessage(asJSON(d))})
	}
	return nil
}

func documentObject(data []byte) (map[string]any, error) {
	var out map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // a number of any size was let in
	if err := d.Decode(&out); err != nil {
		return nil, hubapi.Errorf(hubapi.Internal, "a stored document is damaged: %v", err)
	}
	return out, nil
}

// equals compares a member with what is wanted: a boolean or a number with one of
// its own kind, text with the member as text.
func equals(have, want any) bool {
	switch want := want.(type) {
	case bool:
		return have == want
	case string:
		text, ok := asText(have)
		return ok && text == want
	}
	n, ok := have.(json.Number)
	if !ok {
		return false
	}
	a, fault := n.Float64()
	b, wrong := strconv.ParseFloat(fmt.Sprint(want), 64)
	return fault == nil && wrong == nil && a == b
}

// asText is a member as text, and whether it is there.
func asText(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", false
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		return v.String(), true
	}
	return asJSON(v), true
}
