package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/hub/search"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/sorting"
)

// Limits of a search of documents.
const (
	defaultTopK = 5
	maxTopK     = 50
)

// SearchDocuments finds documents by their words, in one collection or in all.
// Skills are ranked as Search ranks them; where too few have every word of the
// query, those follow that have the most. Plain documents are ranked by how many of
// the words stand in their texts, and how often.
func (h *Hub) SearchDocuments(ctx context.Context, p Principal, q hubapi.DocumentSearch) (hubapi.DocumentHits, error) {
	out := hubapi.DocumentHits{Results: []hubapi.DocumentHit{}}
	if err := p.check(); err != nil {
		return out, err
	}
	if q.Collection != "" {
		if err := checkCollection(q.Collection); err != nil {
			return out, err
		}
		out.Collection = &q.Collection
	}
	if strings.TrimSpace(q.Query) == "" {
		return out, hubapi.Errorf(hubapi.Invalid, "query is missing")
	}
	if len(q.Query) > maxQuery || !utf8.ValidString(q.Query) {
		return out, hubapi.Errorf(hubapi.Invalid, "a query is UTF-8 text of at most %d KiB", maxQuery>>10)
	}
	k := defaultTopK
	if q.TopK != nil {
		k = min(max(*q.TopK, 1), maxTopK)
	}
	words := search.Words(q.Query)
	words = words[:min(len(words), search.MaxWords)]
	if len(words) == 0 {
		return out, nil
	}
	var hits []hubapi.DocumentHit
	if q.Collection == "" || q.Collection == hubapi.SkillsCollection {
		skills, err := h.searchSkills(ctx, p, q.Query, words, k)
		if err != nil {
			return out, refusal(err)
		}
		hits = append(hits, skills...)
	}
	if q.Collection != hubapi.SkillsCollection {
		plain, err := h.searchPlain(ctx, p, q, words, k)
		if err != nil {
			return out, err
		}
		hits = append(hits, plain...)
	}
	sorting.Stable(hits, func(a, b hubapi.DocumentHit) int { return cmp.Compare(b.Similarity, a.Similarity) })
	out.Results = append(out.Results, hits[:min(len(hits), k)]...)
	out.Count = len(out.Results)
	return out, nil
}

// similarity puts a rank into a number: the share of the query's words that were
// met, three quarters of it for meeting them and the rest for the share of the best
// score.
func similarity(met, words int, score, best float64) float64 {
	s := float64(met) / float64(words) * (0.75 + 0.25*score/best)
	return max(math.Round(s*1e4)/1e4, 1e-4)
}

func (h *Hub) searchSkills(ctx context.Context, p Principal, text string, words []string, k int) ([]hubapi.DocumentHit, error) {
	// What leaves the index between the two views is passed over, so some more are
	// looked for.
	const spare = 10
	t := h.indexes.of(p.Tenant)
	if err := h.refresh(ctx, t); err != nil {
		return nil, err
	}
	t.mu.RLock()
	ranked := t.index.Relaxed(text, words, k+spare)
	t.mu.RUnlock()
	var out []hubapi.DocumentHit
	err := h.store.Read(ctx, func(r Reader) error {
		out = nil
		g := shut(r, p)
		if !g.opted {
			x, err := documentIndex(r, p, g)
			if err != nil {
				return err
			}
			ranked = x.Relaxed(text, words, k)
		}
		seqs := make([]int64, len(ranked))
		best := 1.0
		for i, hit := range ranked {
			seqs[i], best = hit.ID, max(best, float64(hit.Score))
		}
		rows, err := r.ReleasesBySeq(seqs)
		if err != nil {
			return err
		}
		bySeq := make(map[int64]ReleaseRow, len(rows))
		for _, row := range rows {
			bySeq[row.Seq] = row
		}
		for _, hit := range ranked {
			row, there := bySeq[hit.ID]
			if !there || g.hidden(p, row) || len(out) == k {
				continue
			}
			d, err := skillData(r, row, true)
			if err != nil {
				return err
			}
			out = append(out, hubapi.DocumentHit{
				Collection: hubapi.SkillsCollection, DocID: row.Name, Data: json.RawMessage(asJSON(d)),
				Similarity: similarity(hit.Met, len(words), float64(hit.Score), best),
			})
		}
		return nil
	})
	return out, err
}

// documentIndex is an index of what documents show in a tenant that opted out, made
// for one answer.
func documentIndex(r Reader, p Principal, g gate) (*search.Index, error) {
	rows, err := documentReleases(r, p, g, maxScannedSkills)
	if err != nil {
		return nil, err
	}
	x := search.New()
	sorting.Sort(rows, func(a, b ReleaseRow) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, row := range rows {
		data, err := documentOf(r, row)
		if err != nil {
			return nil, err
		}
		if err := x.Put(search.Entry{ID: row.Seq, Data: data}); err != nil {
			return nil, err
		}
	}
	x.Settle()
	return x, nil
}

func (h *Hub) searchPlain(ctx context.Context, p Principal, q hubapi.DocumentSearch, words []string, k int) ([]hubapi.DocumentHit, error) {
	type scoredDoc struct {
		row   DocumentRow
		met   int
		score float64
	}
	var kept []scoredDoc
	order := func(a, b scoredDoc) int {
		return cmp.Or(cmp.Compare(b.met, a.met), cmp.Compare(b.score, a.score),
			strings.Compare(a.row.Collection, b.row.Collection), strings.Compare(a.row.ID, b.row.ID))
	}
	err := h.read(ctx, func(r Reader) error {
		kept = nil
		return r.PlainDocuments(p.Tenant, q.Collection, func(row DocumentRow) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !inFleet(row, q.FleetID) {
				return nil
			}
			data, err := documentObject([]byte(row.Data))
			if err != nil {
				return err
			}
			met, score := wordsIn(words, row.ID, data)
			if met == 0 {
				return nil
			}
			kept = append(kept, scoredDoc{row, met, score})
			if len(kept) >= 4*maxTopK {
				sorting.Sort(kept, order)
				kept = kept[:k]
			}
			return nil
		})
	})
	if err != nil {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return nil, refusal(err)
		}
		return nil, err
	}
	sorting.Sort(kept, order)
	kept = kept[:min(len(kept), k)]
	best := 1.0
	for _, d := range kept {
		best = max(best, d.score)
	}
	out := make([]hubapi.DocumentHit, len(kept))
	for i, d := range kept {
		out[i] = hubapi.DocumentHit{
			Collection: d.row.Collection, DocID: d.row.ID, Data: json.RawMessage(d.row.Data),
			Similarity: similarity(d.met, len(words), d.score, best),
		}
	}
	return out, nil
}

// wordsIn counts how many of the words stand in a document: themselves, in another
// form, or as the beginning of a word. Repeats count for less and less.
func wordsIn(words []string, id string, data map[string]any) (met int, score float64) {
	counts := make([]float64, len(words))
	look := func(text string) { search.Count(words, text, counts) }
	look(id)
	eachText(data, look)
	for _, n := range counts {
		if n > 0 {
			met++
			score += 1 + math.Log(n+1)
		}
	}
	return met, score
}

// eachText runs fn on every text of a JSON value. Keys are none.
func eachText(v any, fn func(string)) {
	switch v := v.(type) {
	case string:
		fn(v)
	case []any:
		for _, e := range v {
			eachText(e, fn)
		}
	case map[string]any:
		for _, e := range v {
			eachText(e, fn)
		}
	}
}
