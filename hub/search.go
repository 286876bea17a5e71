package hub

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kortecx/kx/hubapi"
)

// Limits of a query.
const (
	maxQuery      = 16 << 10 // bytes
	maxQueryWords = 32
	maxWord       = 64 // bytes of a word that are indexed and compared
	maxHits       = 100
)

// Points of a search hit. A word of the query counts once, for the best field in
// which it stands; a word that is only the beginning of what stands there counts
// less; a query that is the very name of a skill comes first.
const (
	pointsSummary = 10
	pointsName    = 8
	pointsTags    = 5
	pointsTools   = 3
	pointsAuthor  = 2
	prefixShare   = 0.6
	pointsExact   = 100
)

// fields are what is searched, the heaviest first.
var fields = [...]struct {
	bit    Field
	name   string
	points float64
}{
	{InSummary, "summary", pointsSummary},
	{InName, "name", pointsName},
	{InTags, "tags", pointsTags},
	{InTools, "tools", pointsTools},
	{InAuthor, "author", pointsAuthor},
}

func (f Field) best() (name string, points float64) {
	for _, field := range fields {
		if f&field.bit != 0 {
			return field.name, field.points
		}
	}
	return "", 0
}

// Search finds active releases in which every word of q stands, or begins a word
// that does, the best first and equals newest first. An empty q lists everything
// that is active by name. Limit 0 means 20; more than 100 is 100.
func (h *Hub) Search(ctx context.Context, p Principal, q string, limit int) (hubapi.SearchResult, error) {
	if err := p.check(); err != nil {
		return hubapi.SearchResult{}, err
	}
	limit, err := clamp(limit, 20, maxHits)
	if err != nil {
		return hubapi.SearchResult{}, err
	}
	if len(q) > maxQuery || !utf8.ValidString(q) {
		return hubapi.SearchResult{}, hubapi.Errorf(hubapi.Invalid, "a query is UTF-8 text of at most %d KiB", maxQuery>>10)
	}
	words := splitWords(q)
	if len(words) > maxQueryWords {
		return hubapi.SearchResult{}, hubapi.Errorf(hubapi.Invalid, "a query has at most %d different words", maxQueryWords)
	}
	out := hubapi.SearchResult{Query: q, Items: []hubapi.SearchItem{}}
	err = h.read(ctx, func(r Reader) error {
		out.Items = out.Items[:0]
		if strings.TrimSpace(q) == "" {
			return list(r, p.Tenant, limit, &out)
		}
		if len(words) == 0 {
			return nil
		}
		return search(r, p.Tenant, q, words, limit, &out)
	})
	return out, err
}

func list(r Reader, tenant string, limit int, out *hubapi.SearchResult) error {
	rows, err := r.ActiveReleases(tenant, "", limit)
	if err != nil {
		return err
	}
	for _, row := range rows {
		out.Items = append(out.Items, searchItem(row, nil))
	}
	out.Total, err = r.CountReleases(tenant, hubapi.Active)
	return err
}

type hit struct {
	seq     int64
	score   float64
	matches []hubapi.SearchMatch
}

func search(r Reader, tenant, q string, words []string, limit int, out *hubapi.SearchResult) error {
	hits, err := candidates(r, tenant, words)
	if err != nil {
		return err
	}
	exact, err := activeNamed(r, tenant, strings.ToLower(strings.TrimSpace(q)))
	if err != nil {
		return err
	}
	ranked := make([]hit, 0, len(hits))
	for seq, h := range hits {
		h.seq = seq
		if seq == exact {
			h.add("", "name", pointsExact)
		}
		ranked = append(ranked, *h)
	}
	slices.SortFunc(ranked, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.seq, a.seq))
	})
	out.Total = len(ranked)
	ranked = ranked[:min(limit, len(ranked))]
	seqs := make([]int64, len(ranked))
	for i, h := range ranked {
		seqs[i] = h.seq
	}
	rows, err := r.ReleasesBySeq(seqs)
	if err != nil {
		return err
	}
	for i, row := range rows {
		out.Items = append(out.Items, searchItem(row, &ranked[i]))
	}
	return nil
}

// candidates are the releases in which every word was found.
func candidates(r Reader, tenant string, words []string) (map[int64]*hit, error) {
	var hits map[int64]*hit
	for i, word := range words {
		postings, err := r.Postings(tenant, word)
		if err != nil {
			return nil, err
		}
		best := map[int64]hubapi.SearchMatch{}
		for _, p := range postings {
			if i > 0 && hits[p.Release] == nil {
				continue
			}
			field, points := p.Fields.best()
			if p.Text != word {
				points *= prefixShare
			}
			if points > best[p.Release].Points {
				best[p.Release] = hubapi.SearchMatch{Word: word, Field: field, Points: points}
			}
		}
		found := make(map[int64]*hit, len(best))
		for seq, match := range best {
			h := hits[seq]
			if h == nil {
				h = &hit{}
			}
			h.add(match.Word, match.Field, match.Points)
			found[seq] = h
		}
		if hits = found; len(hits) == 0 {
			break
		}
	}
	return hits, nil
}

func (h *hit) add(word, field string, points float64) {
	h.score += points
	h.matches = append(h.matches, hubapi.SearchMatch{Word: word, Field: field, Points: points})
}

// activeNamed is the active release of the skill with that name, or 0.
func activeNamed(r Reader, tenant, name string) (int64, error) {
	if hubapi.CheckName(name) != nil {
		return 0, nil
	}
	skill, err := r.Skill(tenant, name)
	if errors.Is(err, ErrNoRow) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	rows, err := r.Releases(skill.ID, hubapi.Active, 1)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	return rows[0].Seq, nil
}

func searchItem(row ReleaseRow, h *hit) hubapi.SearchItem {
	item := hubapi.SearchItem{
		Name: row.Name, Author: row.Author, Version: row.Version, Status: row.Status,
		Digest: row.Digest, Summary: row.Summary, Format: row.Format, Tags: row.Tags,
	}
	if item.Tags == nil {
		item.Tags = []string{}
	}
	if h != nil {
		item.Score = math.Round(h.score*100) / 100
		item.Matches = h.matches
	}
	return item
}

// searchWords are the words under which an active release is found.
func searchWords(row ReleaseRow) []Word {
	found := map[string]Field{}
	add := func(field Field, texts ...string) {
		for _, text := range texts {
			for _, word := range splitWords(text) {
				found[word] |= field
			}
		}
	}
	add(InName, row.Name)
	add(InSummary, row.Summary, row.Description)
	add(InTags, row.Tags...)
	for id := range row.Tools {
		add(InTools, id)
	}
	add(InAuthor, row.Author)
	words := make([]Word, 0, len(found))
	for text, in := range found {
		words = append(words, Word{Text: text, Fields: in})
	}
	slices.SortFunc(words, func(a, b Word) int { return cmp.Compare(a.Text, b.Text) })
	return words
}

// splitWords gives the different words of a text in lower case, in the order of
// their first use. Letters, marks and digits make words, everything else parts
// them. Chinese and Japanese do not part words, so each of their characters is
// one.
func splitWords(text string) []string {
	var (
		words []string
		seen  = map[string]bool{}
		word  strings.Builder
	)
	end := func() {
		w := word.String()
		word.Reset()
		if w != "" && !seen[w] {
			seen[w] = true
			words = append(words, w)
		}
	}
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			end()
			word.WriteRune(r)
			end()
		case unicode.IsLetter(r), unicode.IsMark(r), unicode.IsDigit(r):
			r = unicode.ToLower(r)
			if word.Len()+utf8.RuneLen(r) <= maxWord {
				word.WriteRune(r)
			}
		default:
			end()
		}
	}
	end()
	return words
}
