package hub

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kortecx/kx/hubapi"
)

// maxInstallableBytes bounds the catalogue of one tenant.
const maxInstallableBytes = 64 << 20

// catalogues are the installable catalogues of a hub, each as it was last asked
// for.
type catalogues struct {
	mu       sync.Mutex
	byTenant map[string]*catalogue
}

// catalogue is that of one tenant. A row of it changes only with its release.
type catalogue struct {
	mu   sync.Mutex // held by whoever makes it anew
	made *hubapi.Installable
	err  error // of made, where there are too many skills
	rows map[int64]catalogueRow
}

type catalogueRow struct {
	updated time.Time
	signed  bool
	json    []byte // nil: withheld
	why     string
}

func (c *catalogues) of(tenant string) *catalogue {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byTenant == nil {
		c.byTenant = map[string]*catalogue{}
	}
	if c.byTenant[tenant] == nil {
		c.byTenant[tenant] = &catalogue{}
	}
	return c.byTenant[tenant]
}

// Installable is the catalogue that nodes reconcile: every active skill,
// ordered by name, whatever fleet asks, and of a tenant that opted out of review also
// what its people published since (see installableReleases). It is whole or refused: a tenant with
// more than MaxInstallable skills gets no part of it (TooLarge). A skill whose
// SKILL.md no reader could be given, or whose name installers bring themselves, is
// withheld and named. Where the settings of the tenant cannot be read it is
// Unavailable.
//
// What did not change since it was last asked for is answered from memory, after
// one look at the store.
func (h *Hub) Installable(ctx context.Context, p Principal, q hubapi.InstallableQuery) (hubapi.Installable, error) {
	if err := p.check(); err != nil {
		return hubapi.Installable{}, err
	}
	switch {
	case q.TenantID != "" && q.TenantID != p.Tenant: // a node of ours leaves it to its key
		return hubapi.Installable{}, hubapi.Errorf(hubapi.Forbidden, "this key is not one of the tenant %.80q", q.TenantID)
	case q.Limit != nil && (*q.Limit < 1 || *q.Limit > hubapi.MaxInstallable):
		return hubapi.Installable{}, hubapi.Errorf(hubapi.Invalid, "limit is a number from 1 to %d", hubapi.MaxInstallable)
	}
	c := h.catalogues.of(p.Tenant)
	c.mu.Lock()
	defer c.mu.Unlock()
	var failed error
	err := h.read(ctx, func(r Reader) error {
		failed = nil
		g, err := gateOf(r, p)
		if err != nil {
			failed = hubapi.Errorf(hubapi.Unavailable, "skill lifecycle gate unavailable")
			return nil
		}
		// Every change of a release or of the settings is in the audit trail, in
		// the transaction that makes it.
		seq, err := r.AuditSeq(p.Tenant)
		if err != nil || c.made != nil && c.made.Generation == seq {
			return err
		}
		return c.make(r, p, g, seq)
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return hubapi.Installable{}, err
	}
	if c.err == nil && q.Limit != nil && c.made.Total > *q.Limit {
		return hubapi.Installable{}, hubapi.Errorf(hubapi.TooLarge, "the tenant %s has %d skills, more than the limit of %d: a part of them is no catalogue", p.Tenant, c.made.Total, *q.Limit)
	}
	return *c.made, c.err
}

// make makes the catalogue anew. The caller holds mu.
func (c *catalogue) make(r Reader, p Principal, g gate, generation int64) error {
	rows, err := installableReleases(r, p, g, hubapi.MaxInstallable)
	if e := hubapi.AsError(err); e != nil {
		if e.Code != hubapi.TooLarge {
			return err
		}
		c.made, c.err = &hubapi.Installable{Generation: generation}, e.WithHint("withdraw what is not used any more")
		return nil
	}
	made := &hubapi.Installable{Generation: generation}
	kept := make(map[int64]catalogueRow, len(rows))
	var body bytes.Buffer
	body.WriteByte('[')
	for _, row := range rows {
		one, there := c.rows[row.Seq]
		if !there || !one.updated.Equal(row.UpdatedAt) || one.signed != (row.Signature != nil) {
			if one, err = makeCatalogueRow(r, row); err != nil {
				return err
			}
		}
		kept[row.Seq] = one
		if one.why != "" {
			made.Withheld = append(made.Withheld, hubapi.WithheldSkill{Ref: refOf(row).String(), Why: one.why})
			continue
		}
		if made.Total > 0 {
			body.WriteByte(',')
		}
		body.Write(one.json)
		made.Total++
		if body.Len() > maxInstallableBytes {
			c.rows = kept
			c.made = &hubapi.Installable{Generation: generation}
			c.err = hubapi.Errorf(hubapi.TooLarge, "the skills of the tenant %s have more than %d MiB together", p.Tenant, maxInstallableBytes>>20)
			return nil
		}
	}
	body.WriteString("]\n")
	made.Body = body.Bytes()
	made.ETag = fmt.Sprintf(`"%x"`, sha256.Sum256(made.Body))
	c.made, c.err, c.rows = made, nil, kept
	return nil
}

func makeCatalogueRow(r Reader, row ReleaseRow) (catalogueRow, error) {
	out := catalogueRow{updated: row.UpdatedAt, signed: row.Signature != nil}
	if slices.Contains(protectedNames, row.Name) {
		out.why = "installers bring a skill of that name themselves"
		return out, nil
	}
	text, why, err := skillText(r, row)
	if out.why = why; err != nil || why != "" {
		if e := hubapi.AsError(err); e != nil && e.ID() == "blob.corrupt" {
			out.why, err = e.Message, nil
		}
		return out, err
	}
	data, err := skillData(r, row, false)
	if err != nil {
		return out, err
	}
	data.Content, data.ContentHash = text, textHash(text)
	data.KX.Unreviewed = row.Status != hubapi.Active
	data.Scan = nil // it is renewed without the release changing
	// Some readers make a head of it line by line.
	data.Description = strings.Join(strings.Fields(data.Description), " ")
	if data.Description == "" {
		data.Description = strings.Join(strings.Fields(data.Summary), " ")
	}
	if data.Description == "" {
		data.Description = "The skill " + row.Name + "."
	}
	id := sha256.Sum256([]byte(row.Tenant + "\x00" + row.Name))
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	out.json = []byte(asJSON(hubapi.InstallableRow{
		ID:       fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16]),
		TenantID: row.Tenant, Collection: hubapi.SkillsCollection, DocID: row.Name, Data: data,
		CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}))
	return out, nil
}

// installableReleases are those of documentReleases that nodes may put on disk: the
// active ones, and where a skill has none, what a person published while the tenant
// was opted out, which nobody is going to review. What agents proposed, and what
// already waited for review when the tenant opted out, is for nobody's disk.
func installableReleases(r Reader, p Principal, g gate, most int) ([]ReleaseRow, error) {
	rows, err := documentReleases(r, p, g, most)
	if err != nil || !slices.ContainsFunc(rows, func(row ReleaseRow) bool { return row.Status != hubapi.Active }) {
		return rows, err
	}
	since, err := publishedSinceOptOut(r, p.Tenant)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(rows, func(row ReleaseRow) bool {
		// An agent's is never manual.
		return row.Status != hubapi.Active && (row.Source != "manual" || !since[refOf(row)])
	}), nil
}

// installedUnreviewed tells whether Installable gives out a release that is not active, so
// that nodes can fetch all its files too.
func installedUnreviewed(r Reader, p Principal, row ReleaseRow) (bool, error) {
	if row.Tenant != p.Tenant || row.Source != "manual" || !slices.Contains(documentStatuses, row.Status) {
		return false, nil
	}
	g, err := gateOf(r, p)
	if err != nil || g.opted {
		return false, nil // settings that cannot be read show nothing
	}
	shown, err := documentRelease(r, p, g, row.Name)
	if errors.Is(err, ErrNoRow) || err == nil && shown.Seq != row.Seq {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	since, err := publishedSinceOptOut(r, p.Tenant)
	return since[refOf(row)], err
}

// publishedSinceOptOut are the releases of a tenant that were published since it last
// opted out of review, by its audit trail.
func publishedSinceOptOut(r Reader, tenant string) (map[hubapi.Ref]bool, error) {
	const page = 1000
	out := map[hubapi.Ref]bool{}
	for after := int64(0); ; {
		rows, err := r.Audit(tenant, after, page)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			after = row.Seq
			switch {
			case row.Action == actTenantSet && slices.Contains(strings.Fields(row.Note), "OptedIn:false"):
				clear(out)
			case row.Action == string(Publish):
				out[hubapi.Ref{Author: row.Author, Name: row.Name, Version: row.Version}] = true
			}
		}
		if len(rows) < page {
			return out, nil
		}
	}
}
