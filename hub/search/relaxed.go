package search

import (
	"cmp"
	"strings"

	"github.com/kortecx/kx/internal/sorting"
)

// maxPartial is how many documents each single word of a query may bring in.
const maxPartial = 1000

// Partial is a hit that may lack words of the query.
type Partial struct {
	Hit
	Met int // words that it has
}

// Relaxed ranks the documents that have all words and, where these are fewer than
// k, those that have the most; k of them at most.
func (x *Index) Relaxed(text string, words []string, k int) []Partial {
	var out []Partial
	have := map[int64]bool{}
	for _, hit := range x.rank(text, words, nil, nil, k).hits {
		out = append(out, Partial{Hit{hit.id, hit.score}, len(words)})
		have[hit.id] = true
	}
	if len(out) < k && len(words) > 1 {
		sums := map[int64]*Partial{}
		for _, word := range words {
			for _, hit := range x.rank("", []string{word}, nil, nil, maxPartial).hits {
				if have[hit.id] {
					continue
				}
				if sums[hit.id] == nil {
					sums[hit.id] = &Partial{Hit: Hit{ID: hit.id}}
				}
				sums[hit.id].Score += hit.score
				sums[hit.id].Met++
			}
		}
		for _, sum := range sums {
			sum.Met = min(sum.Met, len(words)-1) // all of them together it does not have
			out = append(out, *sum)
		}
	}
	sorting.Sort(out, func(a, b Partial) int {
		return cmp.Or(cmp.Compare(b.Met, a.Met), cmp.Compare(b.Score, a.Score), cmp.Compare(b.ID, a.ID))
	})
	return out[:min(len(out), k)]
}

// Count adds to counts how often each of words stands in a text that is in no index: a word
// in another form counts for 0.8, one that only begins with it for 0.5.
func Count(words []string, text string, counts []float64) {
	eachWord(text, true, func(have string) bool {
		for i, word := range words {
			switch {
			case have == word:
				counts[i]++
			case stem(have) == stem(word):
				counts[i] += 0.8
			case len(word) > 2 && strings.HasPrefix(have, word):
				counts[i] += 0.5
			}
		}
		return true
	})
}
