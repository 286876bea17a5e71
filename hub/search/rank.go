package search

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/kortecx/kx/hubapi"
)

// Weights of the fields. A word counts for the sum over the fields in which it
// stands, which saturates, so that many weak fields do not outdo the summary.
const (
	weightSummary     = 10
	weightDescription = 9
	weightName        = 8
	weightTags        = 5
	weightTools       = 3
	weightAuthor      = 2
	weightBody        = 1

	saturation   = 10  // the weight that is worth half of what a word can be
	wordPoints   = 20  // what a word can be worth at most, times its rarity
	proseBend    = 0.3 // how much a long summary takes from each of its words
	bodyBend     = 0.5
	pointsExact  = 1000    // the query is the very name
	pointsSpelt  = 900     // it is, but for what parts its words
	micro        = 1e6     // scores are sums of whole millionths: no order of adding matters
	maxWhy       = 4       // words of a query for which the best term of each document is kept
	maxPrefixed  = 1 << 18 // postings of words that only begin with what was asked for
	shareStem    = 0.9
	sharePrefix  = 0.6
	shareTypo    = 0.3
	shareTypos   = 0.2
	shortestTypo = 4 // characters of a word that may have one typo
	longTypo     = 8 // and of one that may have two
)

// fieldNames are the fields of a match, the heaviest first.
var fieldNames = [...]struct {
	in   field
	name string
}{
	{inSummary, "summary"},
	{inDescription, "description"},
	{inName, "name"},
	{inTags, "tags"},
	{inTools, "tools"},
	{inAuthor, "author"},
	{inBody, "body"},
}

// weight is what the fields of a posting are worth together.
func (x *Index) weight(p *postings, norm *norms) float64 {
	prose, body := 1.0, 1.0
	if p.in&hasCounts != 0 {
		prose, body = float64(p.counts>>4), float64(p.counts&maxCount)
	}
	size := x.sizes[p.doc]
	in, w := field(p.in), 0.0
	if in&(inSummary|inDescription) != 0 {
		heavy := float64(weightDescription)
		if in&inSummary != 0 {
			heavy = weightSummary
		}
		w += heavy * prose / (1 - proseBend + proseBend*float64(size.prose)*norm.prose)
	}
	if in&inBody != 0 {
		w += weightBody * body / (1 - bodyBend + bodyBend*float64(size.body)*norm.body)
	}
	if in&inName != 0 {
		w += weightName
	}
	if in&inTags != 0 {
		w += weightTags
	}
	if in&inTools != 0 {
		w += weightTools
	}
	if in&inAuthor != 0 {
		w += weightAuthor
	}
	return wordPoints * w / (saturation + w)
}

// norms are the inverses of the mean lengths.
type norms struct{ prose, body float64 }

func (x *Index) norms() *norms {
	n := float64(x.Size())
	return &norms{prose: n / max(1, float64(x.proseWords)), body: n / max(1, float64(x.bodyWords))}
}

// rarity is worth more the fewer of n documents have a word, and never nothing.
func rarity(n, having int) float64 {
	return 1 + math.Log(1+(float64(n-having)+0.5)/(float64(having)+0.5))
}

// Query says what is looked for. A zero After begins at the best.
type Query struct {
	Text    string   // as it was asked: it may be a name
	Words   []string // of Words
	Facets  []string // of Facet; all must be there
	Meaning *Meaning // of the text; nil: only words are looked for
	After   *Hit     // the last one of the page before
	Limit   int
}

// Hit is a document that was found.
type Hit struct {
	ID    int64
	Score int64 // in millionths of a point
}

// Points is a score as people read it.
func (h Hit) Points() float64 { return rounded(h.Score) }

// Result is a page of what was found.
type Result struct {
	Hits    []Hit                  // the best first, equals newest first
	Matches [][]hubapi.SearchMatch // how the score of each hit came about
	Total   int                    // on all pages
	More    bool
	Unknown []string // words that nothing in the index stands for
}

// Find ranks the documents that have every facet and every word, or are near in meaning.
func (x *Index) Find(q Query) Result {
	var after *scored
	if q.After != nil {
		after = &scored{id: q.After.ID, score: q.After.Score}
	}
	r := x.rankNear(q.Text, q.Words, q.Facets, q.Meaning, after, q.Limit+1)
	out := Result{Total: r.total, Unknown: r.unknown}
	if out.More = len(r.hits) > q.Limit; out.More {
		r.hits = r.hits[:q.Limit]
	}
	out.Matches = x.explain(&r)
	out.Hits = make([]Hit, len(r.hits))
	for i, h := range r.hits {
		out.Hits[i] = Hit{ID: h.id, Score: h.score}
	}
	return out
}

// scored is one document that a query found.
type scored struct {
	doc   uint32
	id    int64
	score int64 // in millionths
}

// better is the order of an answer: the highest score, then the newest.
func better(a, b scored) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.id, a.id))
}

// ranking is what a query found.
type ranking struct {
	plans []wordPlan
	exact uint32 // document, plus one, whose name the query is
	bonus int64
	total int
	hits  []scored            // the asked part of them, in order
	why   [][]uint32          // for the first words, the best term of each hit, plus one
	near  map[uint32]nearness // documents whose meaning is near
	// words tells whether a document was found by its words.
	words map[uint32]bool // of those in near
	// unknown are the words that nothing in the index stands for.
	unknown []string
}

// scratch is the working memory of one query, by document. A number that is not
// the current one means nothing, so that nothing needs clearing.
type scratch struct {
	turn  uint32
	seen  []uint32 // turn in which a word was seen
	best  []float64
	alive []uint32 // turn up to which everything matched
	score []int64
	found []uint32
	why   [maxWhy][]uint32 // the term, plus one, that gave the first words their best
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (s *scratch) fit(n int) {
	if len(s.seen) < n || s.turn > 1<<31 {
		n += n / 8
		*s = scratch{seen: make([]uint32, n), best: make([]float64, n), alive: make([]uint32, n), score: make([]int64, n)}
	}
}

// whyOf is where the terms of a word are kept; nil for a later one, whose terms are
// looked for again.
func (s *scratch) whyOf(word int) []uint32 {
	if word >= maxWhy {
		return nil
	}
	if s.why[word] == nil {
		s.why[word] = make([]uint32, len(s.seen))
	}
	return s.why[word]
}

// rank finds the documents that have every facet and every word, and gives the
// best that come behind the place after, limit of them at most.
func (x *Index) rank(q string, words, facets []string, after *scored, limit int) ranking {
	return x.rankNear(q, words, facets, nil, after, limit)
}

// rankNear is rank that also finds documents by what the query means.
func (x *Index) rankNear(q string, words, facets []string, meaning *Meaning, after *scored, limit int) ranking {
	var out ranking
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.fit(len(x.docs))
	first := true
	for _, facet := range facets {
		x.narrow(s, facet, first)
		first = false
	}
	if meaning != nil {
		turn := s.turn
		out.near = meaning.nearest(x, func(doc uint32) bool { return len(facets) == 0 || s.alive[doc] == turn })
	}
	budget := maxPrefixed
	for _, word := range words {
		w := x.plan(word)
		why := s.whyOf(len(out.plans))
		if x.match(s, &w, first, &budget, why) == 0 {
			if n := typos(word); n > 0 {
				from, to := x.words()
				w.terms = x.near(word, n, from, to)
				w.from, w.to = 0, 0
			}
			if x.match(s, &w, first, &budget, why) == 0 {
				out.unknown = append(out.unknown, word)
			}
		}
		first = false
		out.plans = append(out.plans, w)
	}
	x.named(q, words, &out)
	x.collect(s, &out, after, limit)
	for i := range min(len(words), maxWhy) {
		terms := make([]uint32, len(out.hits))
		for j, h := range out.hits {
			if len(out.unknown) == 0 && s.alive[h.doc] == s.turn { // not by its meaning only
				terms[j] = s.why[i][h.doc]
			}
		}
		out.why = append(out.why, terms)
	}
	return out
}

// narrow keeps the documents that have a facet.
func (x *Index) narrow(s *scratch, facet string, first bool) {
	before := s.turn
	s.turn++
	s.found = s.found[:0]
	term, ok := x.find(facet)
	if !ok {
		return
	}
	for p := x.postings(term); p.step(); {
		if first || s.alive[p.doc] == before {
			if first {
				s.score[p.doc] = 0
			}
			s.alive[p.doc] = s.turn
			s.found = append(s.found, p.doc)
		}
	}
}

// match adds the points of one word to the documents that had everything before
// it, and says how many documents have the word at all.
func (x *Index) match(s *scratch, w *wordPlan, first bool, budget *int, why []uint32) (having int) {
	before := s.turn
	s.turn++
	norm := x.norms()
	found := s.found[:0]
	position := w.from
	x.each(w, func(e expansion) bool {
		for p := x.postings(e.term); p.step(); {
			if e.kind == hubapi.MatchPrefix {
				*budget--
			}
			doc := p.doc
			if s.seen[doc] != s.turn {
				s.seen[doc] = s.turn
				s.best[doc] = 0
				having++
				if first || s.alive[doc] == before {
					found = append(found, doc)
				}
			}
			if first || s.alive[doc] == before {
				if n := e.share * x.weight(&p, norm); n > s.best[doc] {
					s.best[doc] = n
					if why != nil {
						why[doc] = e.term + 1
					}
				}
			}
		}
		if e.kind == hubapi.MatchPrefix {
			for x.order[position] != e.term {
				position++
			}
			position++
		}
		return *budget > 0 || e.kind != hubapi.MatchPrefix
	})
	if *budget <= 0 {
		w.to = max(w.from, position)
	}
	if having == 0 {
		s.turn = before // another try may follow
		return 0
	}
	w.rarity = rarity(x.Size(), having)
	for _, doc := range found {
		if first {
			s.score[doc] = 0
		}
		s.alive[doc] = s.turn
		s.score[doc] += points(s.best[doc], w.rarity)
	}
	s.found = found
	return having
}

func points(weight, rarity float64) int64 { return int64(math.Round(weight * rarity * micro)) }

// named finds the document whose name the query is.
func (x *Index) named(q string, words []string, out *ranking) {
	try := func(name string, bonus int64) {
		term, ok := x.find(facetName + name)
		if !ok || out.exact != 0 {
			return
		}
		for p := x.postings(term); p.step(); {
			out.exact, out.bonus = p.doc+1, bonus*micro
		}
	}
	try(fold(strings.TrimSpace(q)), pointsExact)
	for _, between := range []string{"-", "_", "."} {
		try(strings.Join(words, between), pointsSpelt)
	}
}

func (x *Index) collect(s *scratch, out *ranking, after *scored, limit int) {
	found := s.found
	if len(out.unknown) > 0 {
		found = nil
	}
	out.total = len(found)
	worst := func() scored { return out.hits[len(out.hits)-1] }
	take := func(h scored) {
		h.score += out.near[h.doc].points
		if after != nil && better(*after, h) >= 0 || len(out.hits) == limit && better(worst(), h) <= 0 {
			return
		}
		at, _ := slices.BinarySearchFunc(out.hits, h, better)
		if len(out.hits) == limit {
			out.hits = out.hits[:limit-1]
		}
		out.hits = slices.Insert(out.hits, at, h)
	}
	if len(out.near) > 0 {
		out.words = make(map[uint32]bool, len(out.near))
		for doc, n := range out.near {
			if len(out.unknown) == 0 && s.alive[doc] == s.turn {
				out.words[doc] = true
				continue
			}
			out.total++
			take(scored{doc: doc, id: n.id})
		}
	}
	for _, doc := range slices.Backward(found) { // the newest first: equals are refused, not moved
		score := s.score[doc]
		if doc+1 == out.exact {
			score += out.bonus
		}
		if len(out.near) == 0 && len(out.hits) == limit && score < worst().score {
			continue // nearly all of a large hub: not even looked at
		}
		take(scored{doc, x.docs[doc].id, score})
	}
}

// explain says for each hit how its score came about.
func (x *Index) explain(r *ranking) [][]hubapi.SearchMatch {
	out := make([][]hubapi.SearchMatch, len(r.hits))
	n := len(r.plans) // matches of nearly every hit
	room := make([]hubapi.SearchMatch, n*len(r.hits))
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.fit(len(x.docs))
	s.turn++
	last := uint32(0)
	for i, h := range r.hits {
		out[i] = room[i*n : i*n : (i+1)*n]
		meant, near := r.near[h.doc]
		if near {
			out[i] = append(out[i], hubapi.SearchMatch{
				Kind: hubapi.MatchMeaning, Field: "summary", Points: rounded(meant.points), Likeness: math.Round(meant.likeness*1e4) / 1e4,
			})
		}
		if near && !r.words[h.doc] {
			continue
		}
		s.seen[h.doc], s.score[h.doc] = s.turn, int64(i)
		last = max(last, h.doc)
		if h.doc+1 == r.exact {
			out[i] = append(out[i], hubapi.SearchMatch{
				Term: x.docs[h.doc].name, Kind: hubapi.MatchName, Field: "name", Points: rounded(r.bonus),
			})
		}
	}
	norm := x.norms()
	best := make([]reason, len(r.hits))
	for i := range r.plans {
		w := &r.plans[i]
		clear(best)
		look := func(e expansion) bool {
			for p := x.postings(e.term); p.step() && p.doc <= last; {
				if s.seen[p.doc] != s.turn {
					continue
				}
				hit := s.score[p.doc]
				if i < len(r.why) && r.why[i][hit] != e.term+1 {
					continue
				}
				if n := e.share * x.weight(&p, norm); n > best[hit].points {
					best[hit] = reason{e, field(p.in), n}
				}
			}
			return true
		}
		if i < len(r.why) {
			for j, h := range r.hits {
				if term := r.why[i][j]; term != 0 && s.seen[h.doc] == s.turn && !slices.Contains(r.why[i][:j], term) {
					look(w.as(term - 1))
				}
			}
		} else {
			x.each(w, look)
		}
		for i, why := range best {
			if s.seen[r.hits[i].doc] != s.turn {
				continue
			}
			out[i] = append(out[i], hubapi.SearchMatch{
				Word: w.word, Term: string(x.text(why.term)), Kind: why.kind, Field: heaviest(why.in),
				Points: rounded(points(why.points, w.rarity)),
			})
		}
	}
	return out
}

// reason is the best that a word met in one document.
type reason struct {
	expansion
	in     field
	points float64
}

func heaviest(in field) string {
	for _, f := range fieldNames {
		if in&f.in != 0 {
			return f.name
		}
	}
	return ""
}

// rounded is a score as people read it.
func rounded(score int64) float64 { return math.Round(float64(score)/micro*1000) / 1000 }
