package hub

import (
	"context"
	"strings"
	"unicode/utf8"
)

const (
	maxSimilar     = 5
	shortestSquats = 4 // characters: among shorter names every second one is near
)

// similar gives active skills of other authors whose names people may take for
// name: one edit away, or looking the same.
func (h *Hub) similar(ctx context.Context, tenant, name, author string) ([]string, error) {
	t, err := h.current(ctx, tenant)
	if err != nil {
		return nil, err
	}
	t.mu.RLock()
	hits := t.index.lookalikes(name)
	t.mu.RUnlock()
	cards, err := h.cards(ctx, t, hits)
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

func (x *searchIndex) lookalikes(name string) (hits []scored) {
	from, to := x.prefixed(facetName)
	long := utf8.RuneCountInString(name) >= shortestSquats
	for _, e := range x.near(facetName+name, 2, from, to) {
		other := string(x.text(e.term)[len(facetName):])
		if other == name || numbered(other) == numbered(name) {
			continue
		}
		if !(long && e.share == shareTypo) && looks(other) != looks(name) {
			continue
		}
		for p := x.postings(e.term); p.step() && len(hits) < 4*maxSimilar; {
			hits = append(hits, scored{doc: p.doc, seq: x.docs[p.doc].seq})
		}
	}
	return hits
}

// numbered makes names equal that differ in digits only, as those of a series do.
func numbered(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return '0'
		}
		return r
	}, name)
}

// looks makes names equal that look the same.
func looks(name string) string {
	return strings.NewReplacer("rn", "m", "vv", "w", "cl", "d", "0", "o", "1", "l", "i", "l", "-", "", "_", "", ".", "").Replace(name)
}
