package hubapi

import (
	"slices"
	"strings"
)

// Nearest is for "did you mean": it gives the candidate within two edits of word (one for short words), or
// the only one that begins with it; empty when there is none.
func Nearest(word string, candidates []string) string {
	limit := 2
	if len(word) <= 3 {
		limit = 1
	}
	best, bestDistance := "", limit+1
	for _, c := range candidates {
		if d := editDistance(word, c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	if best == "" {
		prefixed := slices.DeleteFunc(slices.Clone(candidates), func(c string) bool {
			return word == "" || !strings.HasPrefix(c, word)
		})
		if len(prefixed) == 1 {
			best = prefixed[0]
		}
	}
	return best
}

// editDistance counts insertions, deletions, replacements and swaps of neighbours.
func editDistance(a, b string) int {
	prev2, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], prev2[j-2]+1)
			}
		}
		prev2, prev, row = prev, row, prev2
	}
	return prev[len(b)]
}
