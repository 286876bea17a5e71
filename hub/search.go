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

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// Limits of a query.
const (
	maxQuery      = 16 << 10 // bytes
	maxQueryWords = 32
	maxHits       = 100
	maxFilters    = 16   // values of one filter
	maxScanned    = 2000 // releases of another status than active that are looked through
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

// search is a query that was read.
type search struct {
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

func readSearch(p Principal, q SearchQuery) (*search, error) {
	s := &search{tenant: p.Tenant, text: q.Text, status: q.Status}
	var err error
	if s.limit, err = clamp(q.Limit, 20, maxHits); err != nil {
		return nil, err
	}
	if len(q.Text) > maxQuery || !utf8.ValidString(q.Text) {
		return nil, hubapi.Errorf(hubapi.Invalid, "a query is UTF-8 text of at most %d KiB", maxQuery>>10)
	}
	if s.words = queryWords(q.Text); len(s.words) > maxQueryWords {
		return nil, hubapi.Errorf(hubapi.Invalid, "a query has at most %d different words", maxQueryWords)
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
		{"author", facetAuthor, one(q.Author)},
		{"format", facetFormat, one(q.Format)},
		{"tag", facetTag, q.Tags},
		{"capability", facetAbility, q.Capabilities},
	} {
		if len(filter.values) > maxFilters {
			return nil, hubapi.Errorf(hubapi.Invalid, "a search has at most %d values of %s", maxFilters, filter.name)
		}
		for _, value := range filter.values {
			term, ok := facet(filter.kind, value)
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
func (s *search) cursor(at position) string {
	data := binary.BigEndian.AppendUint64(nil, uint64(at.score))
	data = binary.BigEndian.AppendUint64(data, uint64(at.seq))
	data = append(data, at.name...)
	return base64.RawURLEncoding.EncodeToString(append(s.cursorSum(data), data...))
}

func (s *search) cursorSum(data []byte) []byte {
	sum := sha256.Sum256(slices.Concat([]byte("kx search cursor\n"), s.query[:], data))
	return sum[:12]
}

func (s *search) readCursor(text string) (*position, error) {
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

// page answers a search from an index. It gives the hits without their rows.
func (s *search) page(x *searchIndex, meaning *asked, out *hubapi.SearchResult) (hits []scored, matches [][]hubapi.SearchMatch) {
	if len(s.words) == 0 {
		return s.list(x, out), nil
	}
	var after *scored
	if s.after != nil {
		after = &scored{score: s.after.score, seq: s.after.seq}
	}
	r := x.rankNear(s.text, s.words, s.facets, meaning, after, s.limit+1)
	out.Total = r.total
	if r.total == 0 && s.after == nil {
		out.DidYouMean = x.suggest(s, r.unknown)
	}
	if len(r.hits) > s.limit {
		r.hits = r.hits[:s.limit]
		last := r.hits[s.limit-1]
		out.NextCursor = s.cursor(position{score: last.score, seq: last.seq})
	}
	return r.hits, x.explain(&r)
}

// list gives what the filters leave, by name.
func (s *search) list(x *searchIndex, out *hubapi.SearchResult) (hits []scored) {
	keeps := func(uint32) bool { return true }
	out.Total = x.size()
	if len(s.facets) > 0 {
		work := scratches.Get().(*scratch)
		defer scratches.Put(work)
		work.fit(len(x.docs))
		for i, facet := range s.facets {
			x.narrow(work, facet, i == 0)
		}
		out.Total = len(work.found)
		keeps = func(doc uint32) bool { return work.alive[doc] == work.turn }
	}
	from := 0
	if s.after != nil {
		from, _ = slices.BinarySearchFunc(x.byName, *s.after, func(doc uint32, after position) int {
			d := &x.docs[doc]
			if d.name < after.name || d.name == after.name && d.seq <= after.seq {
				return -1
			}
			return 1
		})
	}
	for _, doc := range x.byName[from:] {
		if !keeps(doc) {
			continue
		}
		if len(hits) == s.limit {
			last := hits[s.limit-1]
			out.NextCursor = s.cursor(position{seq: last.seq, name: x.docs[last.doc].name})
			break
		}
		hits = append(hits, scored{doc: doc, seq: x.docs[doc].seq})
	}
	return hits
}

// searchActive answers from the tenant's index.
func (h *Hub) searchActive(ctx context.Context, s *search, out *hubapi.SearchResult) error {
	t, err := h.current(ctx, s.tenant)
	if err != nil {
		return err
	}
	var meaning *asked
	if len(s.words) > 0 {
		meaning, out.Note = h.meaningOf(ctx, t, s.text)
	}
	t.mu.RLock()
	hits, matches := s.page(t.index, meaning, out)
	t.mu.RUnlock()
	cards, err := h.cards(ctx, t, hits)
	if err != nil {
		return err
	}
	out.Items = make([]hubapi.SearchItem, 0, len(cards))
	for i, card := range cards {
		if card == nil {
			continue // taken out of the hub altogether meanwhile
		}
		item := card.SearchItem
		item.Score = rounded(hits[i].score)
		if matches != nil {
			item.Matches = matches[i]
		}
		out.Items = append(out.Items, item)
	}
	return nil
}

// searchScanned answers for the other statuses, of which no index is kept: it
// makes one of the newest releases of that status for this one answer.
func (h *Hub) searchScanned(ctx context.Context, s *search, out *hubapi.SearchResult) error {
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
		x := newSearchIndex()
		bySeq := map[int64]ReleaseRow{}
		for _, row := range slices.Backward(rows) {
			data, err := documentOf(r, row)
			if err != nil {
				return err
			}
			if err := x.add(row.Seq, data); err != nil {
				return err
			}
			bySeq[row.Seq] = row
		}
		x.settle(0)
		hits, matches := s.page(x, nil, out)
		for i, hit := range hits {
			item := searchItem(bySeq[hit.seq])
			item.Score = rounded(hit.score)
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

// suggest gives queries near to one that found nothing: the names of skills that
// it may have meant, and the query with its unknown words replaced or left out.
func (x *searchIndex) suggest(s *search, unknown []string) []string {
	var out []string
	add := func(q string) {
		if q != "" && q != s.text && len(out) < 3 && !slices.Contains(out, q) {
			out = append(out, q)
		}
	}
	name := strings.Join(s.words, "-")
	if len(name) <= maxWord {
		from, to := x.prefixed(facetName)
		for _, e := range x.near(facetName+name, min(2, utf8.RuneCountInString(name)/3), from, to) {
			if x.live(e.term) {
				add(string(x.text(e.term)[len(facetName):]))
			}
		}
	}
	var mended, known []string
	for _, word := range s.words {
		if !slices.Contains(unknown, word) {
			mended, known = append(mended, word), append(known, word)
			continue
		}
		from, to := x.words()
		for _, e := range x.near(word, min(3, utf8.RuneCountInString(word)/3), from, to) {
			if x.live(e.term) {
				mended = append(mended, string(x.text(e.term)))
				break
			}
		}
	}
	for _, words := range [][]string{mended, known} {
		if len(words) > 0 && x.rank("", words, s.facets, nil, 1).total > 0 {
			add(strings.Join(words, " "))
		}
	}
	if len(out) == 0 && len(unknown) == 0 {
		// Every word is somewhere, but nothing has them all.
		for i := range s.words {
			words := slices.Delete(slices.Clone(s.words), i, i+1)
			if len(words) > 0 && x.rank("", words, s.facets, nil, 1).total > 0 {
				add(strings.Join(words, " "))
			}
		}
	}
	return out
}

// live tells whether any document has a term.
func (x *searchIndex) live(term uint32) bool {
	p := x.postings(term)
	return p.step()
}
