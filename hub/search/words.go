package search

import (
	"cmp"
	"slices"
	"sort"
	"unicode/utf8"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/sorting"
)

// expansion is one term that a word of the query may stand for.
type expansion struct {
	term  uint32
	kind  hubapi.MatchKind
	share float64
}

// wordPlan is how one word of a query is looked for: the terms themselves, and a
// part of the dictionary whose terms begin with it.
type wordPlan struct {
	word     string
	terms    []expansion
	from, to int // in order
	rarity   float64
}

func (w *wordPlan) listed(term uint32) bool {
	return slices.ContainsFunc(w.terms, func(e expansion) bool { return e.term == term })
}

// as is what a term of the plan is there for.
func (w *wordPlan) as(term uint32) expansion {
	if i := slices.IndexFunc(w.terms, func(e expansion) bool { return e.term == term }); i >= 0 {
		return w.terms[i]
	}
	return expansion{term, hubapi.MatchPrefix, sharePrefix}
}

// each runs fn on all terms of the plan until it says no.
func (x *Index) each(w *wordPlan, fn func(expansion) bool) {
	for _, e := range w.terms {
		if !fn(e) {
			return
		}
	}
	for _, term := range x.order[w.from:w.to] {
		if !w.listed(term) && !fn(expansion{term, hubapi.MatchPrefix, sharePrefix}) {
			return
		}
	}
}

// plan finds the terms that are the word, have its stem or begin with it.
func (x *Index) plan(word string) wordPlan {
	w := wordPlan{word: word}
	if term, ok := x.find(word); ok {
		w.terms = append(w.terms, expansion{term, hubapi.MatchExact, 1})
	}
	s := stem(word)
	if term, ok := x.find(s); ok && s != word && stem(s) == s {
		w.terms = append(w.terms, expansion{term, hubapi.MatchStem, shareStem})
	}
	var stems []expansion
	for next := x.stems[hash(s)]; next != 0; next = x.terms[next-1].nextStem {
		if text := string(x.text(next - 1)); text != word && stem(text) == s {
			stems = append(stems, expansion{next - 1, hubapi.MatchStem, shareStem})
		}
	}
	w.terms = append(w.terms, stems...)
	w.from, w.to = x.prefixed(word)
	return w
}

// prefixed is the part of order whose terms begin with prefix.
func (x *Index) prefixed(prefix string) (from, to int) {
	from = sort.Search(len(x.order), func(i int) bool { return string(x.text(x.order[i])) >= prefix })
	rest := x.order[from:]
	n := sort.Search(len(rest), func(i int) bool {
		text := x.text(rest[i])
		return string(text[:min(len(text), len(prefix))]) != prefix
	})
	return from, from + n
}

// typos is how many a word may have.
func typos(word string) int {
	switch n := utf8.RuneCountInString(word); {
	case n >= longTypo:
		return 2
	case n >= shortestTypo:
		return 1
	}
	return 0
}

// near gives the terms between from and to that are within most edits of word, the
// nearest first. An edit inserts, drops or replaces one character, or swaps two
// neighbours. It goes through the ordered dictionary as through a tree and leaves
// out every branch that is already too far.
func (x *Index) near(word string, most, from, to int) []expansion {
	want := []rune(word)
	rows := [][]int{make([]int, len(want)+1)}
	for j := range rows[0] {
		rows[0][j] = j
	}
	least := []int{0}
	var (
		path []rune // the characters that rows stand for
		ends []int  // where each ends in the text before
		last []byte
		out  []expansion
	)
	for i := from; i < to; {
		text := x.text(x.order[i])
		same := 0
		for same < len(text) && same < len(last) && text[same] == last[same] {
			same++
		}
		depth := len(path)
		for depth > 0 && ends[depth-1] > same {
			depth--
		}
		path, ends = path[:depth], ends[:depth]
		at := 0
		if depth > 0 {
			at = ends[depth-1]
		}
		dead := false
		for at < len(text) && !dead {
			r, size := utf8.DecodeRune(text[at:])
			at += size
			path, ends = append(path, r), append(ends, at)
			depth = len(path)
			if len(rows) == depth {
				rows, least = append(rows, make([]int, len(want)+1)), append(least, 0)
			}
			least[depth] = editRow(rows, path, want)
			dead = least[depth] > most && least[depth-1]+1 > most
		}
		last = text
		if !dead {
			if d := rows[len(path)][len(want)]; d <= most {
				share := shareTypo
				if d > 1 {
					share = shareTypos
				}
				out = append(out, expansion{x.order[i], hubapi.MatchTypo, share})
			}
			i++
			continue
		}
		i = x.behind(i, to, text[:at])
	}
	sorting.Stable(out, func(a, b expansion) int { return cmp.Compare(b.share, a.share) })
	return out
}

// editRow fills the row of the last character of path and gives its least value.
func editRow(rows [][]int, path, want []rune) int {
	d := len(path)
	row, above := rows[d], rows[d-1]
	row[0] = d
	least := d
	for j := 1; j <= len(want); j++ {
		cost := 1
		if path[d-1] == want[j-1] {
			cost = 0
		}
		row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
		if d > 1 && j > 1 && path[d-1] == want[j-2] && path[d-2] == want[j-1] {
			row[j] = min(row[j], rows[d-2][j-2]+1)
		}
		least = min(least, row[j])
	}
	return least
}

// behind is the first place after i whose term does not begin with prefix.
func (x *Index) behind(i, to int, prefix []byte) int {
	begins := func(i int) bool {
		text := x.text(x.order[i])
		return len(text) >= len(prefix) && string(text[:len(prefix)]) == string(prefix)
	}
	step := 1
	for i+step < to && begins(i+step) {
		i += step
		step *= 2
	}
	return i + 1 + sort.Search(min(step, to-i)-1, func(n int) bool { return !begins(i + 1 + n) })
}

// words is the part of order that holds words rather than facets.
func (x *Index) words() (from, to int) {
	from = sort.Search(len(x.order), func(i int) bool { return string(x.text(x.order[i])) >= firstWord })
	return from, len(x.order)
}
