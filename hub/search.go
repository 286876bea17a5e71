package hub

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/hub/search"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// Limits of a query.
const (
	maxQuery   = 16 << 10 // bytes
	maxHits    = 100
	maxFilters = 16   // values of one filter
	maxScanned = 2000 // releases of another status than active that are looked through
	maxSimilar = 5    // names that a push is warned of
)

// SearchQuery asks for releases. Everything that is set must hold.
type SearchQuery struct {
	// Text are words. Each must stand somewhere in the release: itself, in another
	// form, as the beginning of a word, or with a typo where nothing else fits. Of
	// the words that begin with it, those first in the alphabet count, until they
	// were met about 260,000 times: a single letter in a large hub stops there.
	// Without text, everything that the filters leave is listed by name.
	Text         string
	Tags         []string
	Capabilities []string // of a kazma manifest; wished and allowed tools of the others
	Author       string
	Format       string
	// Status is that of the releases; empty means active. Other ones are found by
	// those who review.
	Status hubapi.Status
	Limit  int    // 0 means 20; more than 100 is 100
	Cursor string // NextCursor of the page before
}

// Search finds releases, the best first and equals newest first.
func (h *Hub) Search(ctx context.Context, p Principal, q SearchQuery) (hubapi.SearchResult, error) {
	out := hubapi.SearchResult{Query: q.Text, Items: []hubapi.SearchItem{}}
	if err := p.check(); err != nil {
		return out, err
	}
	s, err := readSearch(p, q)
	if err != nil {
		return out, err
	}
	if s.nothing {
		return out, nil
	}
	if s.status == hubapi.Active {
		return out, refusal(h.searchActive(ctx, s, &out))
	}
	if !p.sees(ReleaseRow{Tenant: p.Tenant, Status: s.status}) {
		return out, nil // what may not be seen is absent
	}
	return out, h.searchScanned(ctx, s, &out)
}

// searching is a query that was read.
type searching struct {
	tenant  string
	text    string
	words   []string
	facets  []string
	status  hubapi.Status
	limit   int
	after   *position
	query   [8]byte // sum of all but the place
	nothing bool    // text without a word: nothing can be found
}

// position is the last item of a page.
type position struct {
	score int64
	seq   int64
	name  string // of a list
}

func readSearch(p Principal, q SearchQuery) (*searching, error) {
	s := &searching{tenant: p.Tenant, text: q.Text, status: q.Status}
	var err error
	if s.limit, err = clamp(q.Limit, 20, maxHits); err != nil {
		return nil, err
	}
	if len(q.Text) > maxQuery || !utf8.ValidString(q.Text) {
		return nil, hubapi.Errorf(hubapi.Invalid, "a query is UTF-8 text of at most %d KiB", maxQuery>>10)
	}
	if s.words = search.Words(q.Text); len(s.words) > search.MaxWords {
		return nil, hubapi.Errorf(hubapi.Invalid, "a query has at most %d different words", search.MaxWords)
	}
	if strings.TrimSpace(q.Text) == "" {
		s.text = ""
	}
	s.nothing = s.text != "" && len(s.words) == 0
	if s.status == "" {
		s.status = hubapi.Active
	}
	if !slices.Contains(statuses, s.status) {
		return nil, hubapi.Errorf(hubapi.Invalid, "there is no status %.40q", string(s.status)).
			WithHint("the statuses are %s", joined(statuses))
	}
	if q.Format != "" && !slices.Contains(pack.Formats, pack.Format(q.Format)) {
		return nil, hubapi.Errorf(hubapi.Invalid, "there is no format %.40q", q.Format)
	}
	for _, filter := range []struct {
		name, kind string
		values     []string
	}{
		{"author", search.Author, one(q.Author)},
		{"format", search.Format, one(q.Format)},
		{"tag", search.Tag, q.Tags},
		{"capability", search.Ability, q.Capabilities},
	} {
		if len(filter.values) > maxFilters {
			return nil, hubapi.Errorf(hubapi.Invalid, "a search has at most %d values of %s", maxFilters, filter.name)
		}
		for _, value := range filter.values {
			term, ok := search.Facet(filter.kind, value)
			if !ok || !utf8.ValidString(value) {
				return nil, hubapi.Errorf(hubapi.Invalid, "a value of %s is empty or not UTF-8", filter.name)
			}
			s.facets = append(s.facets, term)
		}
	}
	sum := sha256.New()
	for _, part := range append([]string{"1", s.tenant, s.text, string(s.status)}, s.facets...) {
		fmt.Fprintf(sum, "%d:%s,", len(part), part)
	}
	copy(s.query[:], sum.Sum(nil))
	if q.Cursor != "" {
		if s.after, err = s.readCursor(q.Cursor); err != nil {
			return nil, err
		}
	}
	return s, nil
}

var statuses = []hubapi.Status{
	hubapi.Active, hubapi.Candidate, hubapi.Staged, hubapi.Rejected, hubapi.Quarantined, hubapi.Deprecated, hubapi.Stale,
}

func joined(all []hubapi.Status) string {
	var out []string
	for _, s := range all {
		out = append(out, string(s))
	}
	return strings.Join(out, ", ")
}

func one(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// cursor writes the place behind an item. It carries a sum over itself and the
// query, so that one that was changed, or belongs to another search, is refused.
// It is not secret and not signed: whoever makes one up asks for another part of
// what they may see anyway, and servers need share no key.
func (s *searching) cursor(at position) string {
	data := binary.BigEndian.AppendUint64(nil, uint64(at.score))
	data = binary.BigEndian.AppendUint64(data, uint64(at.seq))
	data = append(data, at.name...)
	return base64.RawURLEncoding.EncodeToString(append(s.cursorSum(data), data...))
}

func (s *searching) cursorSum(data []byte) []byte {
	sum := sha256.Sum256(slices.Concat([]byte("kx search cursor\n"), s.query[:], data))
	return sum[:12]
}

func (s *searching) readCursor(text string) (*position, error) {
	refused := hubapi.Errorf(hubapi.Invalid, "the cursor is not one of this search").
		WithHint("start again without a cursor, and change nothing else between pages")
	if len(text) > 512 {
		return nil, refused
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(data) < 12+16 || string(s.cursorSum(data[12:])) != string(data[:12]) {
		return nil, refused
	}
	data = data[12:]
	return &position{
		score: int64(binary.BigEndian.Uint64(data)), seq: int64(binary.BigEndian.Uint64(data[8:])), name: string(data[16:]),
	}, nil
}

// page answers a search from an index. It gives the releases without their rows.
func (s *searching) page(x *search.Index, meaning *search.Meaning, out *hubapi.SearchResult) (hits []search.Hit, matches [][]hubapi.SearchMatch) {
	if len(s.words) == 0 {
		return s.list(x, out), nil
	}
	q := search.Query{Text: s.text, Words: s.words, Facets: s.facets, Meaning: meaning, Limit: s.limit}
	if s.after != nil {
		q.After = &search.Hit{ID: s.after.seq, Score: s.after.score}
	}
	r := x.Find(q)
	out.Total = r.Total
	if r.Total == 0 && s.after == nil {
		out.DidYouMean = x.Suggest(q, r.Unknown)
	}
	if r.More {
		last := r.Hits[len(r.Hits)-1]
		out.NextCursor = s.cursor(position{score: last.Score, seq: last.ID})
	}
	return r.Hits, r.Matches
}

// list gives what the filters leave, by name.
func (s *searching) list(x *search.Index, out *hubapi.SearchResult) (hits []search.Hit) {
	var after *search.Shown
	if s.after != nil {
		after = &search.Shown{ID: s.after.seq, Name: s.after.name}
	}
	page, total, more := x.List(s.facets, after, s.limit)
	out.Total = total
	for _, d := range page {
		hits = append(hits, search.Hit{ID: d.ID})
	}
	if more {
		last := page[len(page)-1]
		out.NextCursor = s.cursor(position{seq: last.ID, name: last.Name})
	}
	return hits
}

// searchActive answers from the tenant's index.
func (h *Hub) searchActive(ctx context.Context, s *searching, out *hubapi.SearchResult) error {
	t, err := h.current(ctx, s.tenant)
	if err != nil {
		return err
	}
	var meaning *search.Meaning
	if len(s.words) > 0 {
		meaning, out.Note = h.meaningOf(ctx, t, s.text)
	}
	t.mu.RLock()
	hits, matches := s.page(t.index, meaning, out)
	t.mu.RUnlock()
	seqs := make([]int64, len(hits))
	for i, hit := range hits {
		seqs[i] = hit.ID
	}
	cards, err := h.cards(ctx, t, seqs)
	if err != nil {
		return err
	}
	out.Items = make([]hubapi.SearchItem, 0, len(cards))
	for i, card := range cards {
		if card == nil {
			continue // taken out of the hub altogether meanwhile
		}
		item := card.SearchItem
		item.Score = hits[i].Points()
		if matches != nil {
			item.Matches = matches[i]
		}
		out.Items = append(out.Items, item)
	}
	return nil
}

// searchScanned answers for the other statuses, of which no index is kept: it
// makes one of the newest releases of that status for this one answer.
func (h *Hub) searchScanned(ctx context.Context, s *searching, out *hubapi.SearchResult) error {
	return h.read(ctx, func(r Reader) error {
		*out = hubapi.SearchResult{Query: out.Query, Items: []hubapi.SearchItem{}}
		rows, err := r.TenantReleases(s.tenant, s.status, maxScanned+1)
		if err != nil {
			return err
		}
		if len(rows) > maxScanned {
			rows = rows[:maxScanned]
			out.Note = fmt.Sprintf("only the newest %d %s releases were searched", maxScanned, s.status)
		}
		x := search.New()
		bySeq := map[int64]ReleaseRow{}
		for _, row := range slices.Backward(rows) {
			data, err := documentOf(r, row)
			if err != nil {
				return err
			}
			if err := x.Put(search.Entry{ID: row.Seq, Data: data}); err != nil {
				return err
			}
			bySeq[row.Seq] = row
		}
		x.Settle()
		hits, matches := s.page(x, nil, out)
		for i, hit := range hits {
			item := searchItem(bySeq[hit.ID])
			item.Score = hit.Points()
			if matches != nil {
				item.Matches = matches[i]
			}
			out.Items = append(out.Items, item)
		}
		return nil
	})
}

func searchItem(row ReleaseRow) hubapi.SearchItem {
	item := hubapi.SearchItem{
		Name: row.Name, Author: row.Author, Version: row.Version, Status: row.Status,
		Digest: row.Digest, Summary: row.Summary, Format: row.Format, Tags: row.Tags,
	}
	if item.Tags == nil {
		item.Tags = []string{}
	}
	return item
}

// similar gives active skills of other authors whose names people may take for
// name: one edit away, or looking the same.
func (h *Hub) similar(ctx context.Context, tenant, name, author string) ([]string, error) {
	t, err := h.current(ctx, tenant)
	if err != nil {
		return nil, err
	}
	t.mu.RLock()
	seqs := t.index.Lookalikes(name, 4*maxSimilar)
	t.mu.RUnlock()
	cards, err := h.cards(ctx, t, seqs)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, card := range cards {
		if card != nil && card.Author != author && len(out) < maxSimilar {
			out = append(out, card.Author+"/"+card.Name)
		}
	}
	return out, nil
}
