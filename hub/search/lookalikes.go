package search

import (
	"strings"
	"unicode/utf8"
)

// shortestSquats is how many characters a name has of which one edit makes another: among
// shorter names every second one is near.
const shortestSquats = 4

// Lookalikes are documents whose names people may take for name: one edit away, or looking
// the same. Names that differ in digits only are those of a series. At most limit of them.
func (x *Index) Lookalikes(name string, limit int) (ids []int64) {
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
		for p := x.postings(e.term); p.step() && len(ids) < limit; {
			ids = append(ids, x.docs[p.doc].id)
		}
	}
	return ids
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
