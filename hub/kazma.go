package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kortecx/kx/hub/search"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/yamledit"
	"github.com/kortecx/kx/pack"
)

// maxCategory is the length of a category in bytes; a longer one is none.
const maxCategory = 100

// Uncategorized is what a skill without a category counts as.
const Uncategorized = "uncategorized"

// maxListed is the most items of one answer, maxOffset the furthest that a page can
// be from the first.
const (
	maxListed = 1000
	maxOffset = 1 << 31
)

// number keeps a JSON number as it was written.
func number(literal string) any { return json.Number(literal) }

// categoryOf is what a pack says that it is about, empty when it does not.
func categoryOf(p *pack.Pack) string {
	var category string
	switch p.Format {
	case pack.Kazma:
		data, _ := p.File(pack.Kazma.ManifestFile())
		m, _, _ := yamledit.Parse(data)
		if v := m.Get("category"); v != nil && v.Kind == yamledit.Scalar {
			category = v.Text
		}
	case pack.SkillMD:
		category = p.SkillMD.Metadata["category"]
	case pack.Kortecx: // has no such key
	}
	category = strings.TrimSpace(category)
	if len(category) > maxCategory || !utf8.ValidString(category) || strings.ContainsFunc(category, unicode.IsControl) {
		return ""
	}
	return category
}

// categorize keeps the category of a new release, inside its transaction.
func categorize(w Writer, row ReleaseRow, p *pack.Pack) error {
	category := categoryOf(p)
	if category == "" {
		return nil
	}
	return w.SetCategory(row.Seq, category)
}

// KazmaQuery says which active releases are listed, and in which order.
type KazmaQuery struct {
	// Text must be in the name, author, description, tags or category; ASCII letters
	// match in either case. What it finds is in order of publication.
	Text      string
	Category  string // exactly; empty means any
	Certified *bool  // with a badge that holds now, or without
	Sort      Sort   // without a text
	Limit     int
	Offset    int
}

// KazmaList lists active releases, and says how many there are on all pages. The index
// that search has answers; a text is looked for in what is written, not among its words.
func (h *Hub) KazmaList(ctx context.Context, p Principal, q KazmaQuery) (items []hubapi.KazmaSkill, total int, err error) {
	if err := p.check(); err != nil {
		return nil, 0, err
	}
	if len(q.Text) > maxQuery || !utf8.ValidString(q.Text) {
		return nil, 0, hubapi.Errorf(hubapi.Invalid, "a query is UTF-8 text of at most %d KiB", maxQuery>>10)
	}
	q.Limit, q.Offset = min(max(q.Limit, 0), maxListed), min(max(q.Offset, 0), maxOffset)
	t, err := h.current(ctx, p.Tenant)
	if err != nil {
		return nil, 0, refusal(err)
	}
	now := h.now().UnixMicro()
	t.mu.RLock()
	docs, total := t.index.Select(search.Selection{
		Text: q.Text, Category: q.Category, Certified: q.Certified, Now: now, Sort: q.Sort, Offset: q.Offset, Limit: q.Limit,
	})
	t.mu.RUnlock()
	seqs := make([]int64, len(docs))
	for i, d := range docs {
		seqs[i] = d.ID
	}
	cards, err := h.cards(ctx, t, seqs)
	items = make([]hubapi.KazmaSkill, 0, len(cards))
	for i, c := range cards {
		if c == nil {
			continue // taken out of the hub altogether meanwhile
		}
		ref := hubapi.Ref{Author: c.Author, Name: c.Name, Version: c.Version}
		items = append(items, kazmaSkill(ref, c.description, docs[i].Category, c.Tags, docs[i].CertifiedUntil >= now))
	}
	return items, total, refusal(err)
}

func kazmaSkill(ref hubapi.Ref, description, category string, tags []string, certified bool) hubapi.KazmaSkill {
	s := hubapi.KazmaSkill{
		ID: hubapi.KazmaID(ref), Name: ref.Name, Author: ref.Author, Version: ref.Version, Tags: tags, Certified: certified,
	}
	if description != "" {
		s.Description = &description
	}
	if category != "" {
		s.Category = &category
	}
	if s.Tags == nil {
		s.Tags = []string{}
	}
	return s
}

// KazmaSkill describes one release as the Kazma API does.
func (h *Hub) KazmaSkill(ctx context.Context, p Principal, ref hubapi.Ref) (hubapi.KazmaDetail, error) {
	var out hubapi.KazmaDetail
	err := h.onRelease(ctx, p, ref, func(r Reader, row ReleaseRow) error {
		category, err := r.Category(row.Seq)
		if err != nil && !errors.Is(err, ErrNoRow) {
			return err
		}
		badge, err := r.Badge(row.Seq)
		if err != nil && !errors.Is(err, ErrNoRow) {
			return err
		}
		certified := false
		if err == nil {
			certified, _ = badge.valid(row.Digest, h.now())
		}
		created, updated := hubapi.KazmaTime(row.CreatedAt), hubapi.KazmaTime(row.UpdatedAt)
		out = hubapi.KazmaDetail{
			KazmaSkill: kazmaSkill(refOf(row), row.Description, category, row.Tags, certified),
			CreatedAt:  &created, UpdatedAt: &updated,
		}
		return nil
	})
	return out, err
}

// KazmaStats counts active releases by category and certification.
func (h *Hub) KazmaStats(ctx context.Context, p Principal) (hubapi.KazmaStats, error) {
	if err := p.check(); err != nil {
		return hubapi.KazmaStats{}, err
	}
	t, err := h.current(ctx, p.Tenant)
	if err != nil {
		return hubapi.KazmaStats{}, refusal(err)
	}
	now := h.now().UnixMicro()
	out := hubapi.KazmaStats{ByCategory: map[string]int{}}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for d := range t.index.All() {
		out.TotalSkills++
		if d.CertifiedUntil >= now {
			out.CertifiedCount++
		}
		out.ByCategory[cmp.Or(d.Category, Uncategorized)]++
	}
	return out, nil
}
