package search

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Suggest gives queries near to one that found nothing: the names that it may have meant,
// and the query with its unknown words (of Result) replaced or left out.
func (x *Index) Suggest(q Query, unknown []string) []string {
	var out []string
	add := func(text string) {
		if text != "" && text != q.Text && len(out) < 3 && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	name := strings.Join(q.Words, "-")
	if len(name) <= maxWord {
		from, to := x.prefixed(facetName)
		for _, e := range x.near(facetName+name, min(2, utf8.RuneCountInString(name)/3), from, to) {
			if x.live(e.term) {
				add(string(x.text(e.term)[len(facetName):]))
			}
		}
	}
	var mended, known []string
	for _, word := range q.Words {
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
		if len(words) > 0 && x.rank("", words, q.Facets, nil, 1).total > 0 {
			add(strings.Join(words, " "))
		}
	}
	if len(out) == 0 && len(unknown) == 0 {
		// Every word is somewhere, but nothing has them all.
		for i := range q.Words {
			words := slices.Delete(slices.Clone(q.Words), i, i+1)
			if len(words) > 0 && x.rank("", words, q.Facets, nil, 1).total > 0 {
				add(strings.Join(words, " "))
			}
		}
	}
	return out
}

// live tells whether any document has a term.
func (x *Index) live(term uint32) bool {
	p := x.postings(term)
	return p.step()
}
