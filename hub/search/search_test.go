package search

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kortecx/kx/hubapi"
)

// slow ranks documents one by one, as the package documentation describes it, and
// shares nothing with the index but the analysis and the weights.
type slow map[int64]document

func (s slow) rank(q string, words, facets []string) (hits []scored) {
	n, prose, body := len(s), 0, 0
	for _, d := range s {
		prose, body = prose+d.proseWords, body+d.bodyWords
	}
	ratio := func(of, all int) float64 { return float64(of) * (float64(n) / math.Max(1, float64(all))) }
	type worth struct{ doc map[int64]float64 }
	var each []worth
	for _, word := range words {
		met := func(kinds ...hubapi.MatchKind) map[int64]float64 {
			out := map[int64]float64{}
			for id, d := range s {
				for _, t := range d.terms {
					share := shareOf(word, t.text, kinds)
					if share == 0 {
						continue
					}
					w := 0.0
					if t.in&inSummary != 0 {
						w = weightSummary
					} else if t.in&inDescription != 0 {
						w = weightDescription
					}
					w *= math.Max(1, float64(t.prose)) / (1 - proseBend + proseBend*ratio(d.proseWords, prose))
					if t.in&inBody != 0 {
						w += weightBody * float64(t.body) / (1 - bodyBend + bodyBend*ratio(d.bodyWords, body))
					}
					for in, weight := range map[field]float64{inName: weightName, inTags: weightTags, inTools: weightTools, inAuthor: weightAuthor} {
						if t.in&in != 0 {
							w += weight
						}
					}
					out[id] = math.Max(out[id], share*wordPoints*w/(saturation+w))
				}
			}
			return out
		}
		docs := met(hubapi.MatchExact, hubapi.MatchStem, hubapi.MatchPrefix)
		if len(docs) == 0 {
			docs = met(hubapi.MatchTypo)
		}
		each = append(each, worth{docs})
	}
	exact, bonus := "", int64(0)
	for i, name := range []string{fold(strings.TrimSpace(q)), strings.Join(words, "-"), strings.Join(words, "_"), strings.Join(words, ".")} {
		for _, d := range s {
			if d.name == name && exact == "" {
				if exact, bonus = name, pointsSpelt*micro; i == 0 {
					bonus = pointsExact * micro
				}
			}
		}
	}
docs:
	for id, d := range s {
		h := scored{id: id}
		for _, facet := range facets {
			if !slices.ContainsFunc(d.terms, func(t docTerm) bool { return t.text == facet }) {
				continue docs
			}
		}
		for _, w := range each {
			points, ok := w.doc[id]
			if !ok {
				continue docs
			}
			h.score += int64(math.Round(points * rarity(n, len(w.doc)) * micro))
		}
		if d.name == exact {
			h.score += bonus
		}
		hits = append(hits, h)
	}
	slices.SortFunc(hits, better)
	return hits
}

func shareOf(word, term string, kinds []hubapi.MatchKind) float64 {
	if term < firstWord {
		return 0
	}
	may := func(k hubapi.MatchKind) bool { return slices.Contains(kinds, k) }
	switch d := distance([]rune(word), []rune(term)); {
	case may(hubapi.MatchExact) && word == term:
		return 1
	case may(hubapi.MatchStem) && stem(word) == stem(term):
		return shareStem
	case may(hubapi.MatchPrefix) && strings.HasPrefix(term, word):
		return sharePrefix
	case may(hubapi.MatchTypo) && d == 1 && typos(word) >= 1:
		return shareTypo
	case may(hubapi.MatchTypo) && d == 2 && typos(word) >= 2:
		return shareTypos
	}
	return 0
}

func distance(a, b []rune) int {
	all := make([][]int, len(a)+1)
	for i := range all {
		all[i] = make([]int, len(b)+1)
		for j := range all[i] {
			switch {
			case i == 0:
				all[i][j] = j
			case j == 0:
				all[i][j] = i
			default:
				cost := 1
				if a[i-1] == b[j-1] {
					cost = 0
				}
				all[i][j] = min(all[i-1][j]+1, all[i][j-1]+1, all[i-1][j-1]+cost)
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					all[i][j] = min(all[i][j], all[i-2][j-2]+1)
				}
			}
		}
	}
	return all[len(a)][len(b)]
}

var vocabulary = []string{
	"mail", "mails", "mailing", "mailbox", "deploy", "deploys", "deployment", "deployed", "database", "databases",
	"databse", "kubernetes", "kubernets", "übersetzen", "übersetzt", "翻訳する", "翻訳", "привет", "приветы", "test",
	"tests", "testing", "tset", "a", "b", "the", "2024", "gpt4", "مرحبا", "naïve", "ℌello",
}

func drawText(rt *rapid.T, label string, most int) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, most).Draw(rt, label), " ")
}

func TestIndexRanksAsBruteForceDoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x, all := New(), slow{}
		id := int64(0)
		for range rapid.IntRange(1, 6).Draw(rt, "batches") {
			for range rapid.IntRange(0, 12).Draw(rt, "changes") {
				if len(all) > 0 && rapid.IntRange(0, 3).Draw(rt, "take out") == 0 {
					gone := rapid.SampledFrom(sortedIDs(all)).Draw(rt, "which")
					delete(all, gone)
					x.Remove(gone)
					continue
				}
				id++
				d := analyse(Content{
					Name:   rapid.SampledFrom([]string{"mail", "deploy", "test-mail", "x"}).Draw(rt, "name") + fmt.Sprint(id),
					Author: rapid.SampledFrom([]string{"acme", "bob"}).Draw(rt, "author"), Format: "kortecx",
					Summary: drawText(rt, "summary", 6), Description: drawText(rt, "description", 6),
					Tags: rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 3).Draw(rt, "tags"),
					Body: []byte(drawText(rt, "body", 20)), Abilities: []string{"web"},
				})
				all[id] = d
				if err := x.add(id, d.encode()); err != nil {
					rt.Fatal(err)
				}
			}
			x.Settle()
			switch rapid.IntRange(0, 3).Draw(rt, "then") {
			case 0:
				x = x.Compacted()
			case 1: // a restart
				x = New()
				for _, id := range sortedIDs(all) {
					d := all[id]
					if err := x.add(id, d.encode()); err != nil {
						rt.Fatal(err)
					}
				}
				x.Settle()
			}
			for range 4 {
				q := drawQuery(rt)
				words := Words(q)
				if len(words) == 0 {
					continue
				}
				var facets []string
				if rapid.Bool().Draw(rt, "filtered") {
					facets = append(facets, Author+"acme")
				}
				if rapid.IntRange(0, 3).Draw(rt, "tagged") == 0 {
					tag, _ := Facet(Tag, rapid.SampledFrom(vocabulary).Draw(rt, "tag"))
					facets = append(facets, tag)
				}
				want := all.rank(q, words, facets)
				got := x.rank(q, words, facets, nil, 1000)
				if diff := cmp.Diff(plain(want), plain(got.hits)); diff != "" || got.total != len(want) {
					rt.Fatalf("%q %q: total %d, want %d: %s", q, facets, got.total, len(want), diff)
				}
				pages(rt, x, q, words, facets, got.hits)
				explained := x.explain(&got)
				again := got
				again.why = nil // every term is looked at again, as for words behind the first ones
				if diff := cmp.Diff(x.explain(&again), explained); diff != "" {
					rt.Fatalf("%q: the terms that were kept are not those that are found (-found +kept):\n%s", q, diff)
				}
				for i, matches := range explained {
					sum := 0.0
					for _, m := range matches {
						sum += m.Points
					}
					if math.Abs(sum-float64(got.hits[i].score)/micro) > 0.001*float64(len(words)+1) {
						rt.Fatalf("%q: the matches add up to %v, the score is %v", q, sum, got.hits[i].score)
					}
				}
			}
		}
	})
}

// pages checks that pages together are the whole.
func pages(rt *rapid.T, x *Index, q string, words, facets []string, whole []scored) {
	size := rapid.IntRange(1, 5).Draw(rt, "page")
	var all []scored
	var after *scored
	for {
		r := x.rank(q, words, facets, after, size)
		if len(r.hits) == 0 {
			break
		}
		all = append(all, r.hits...)
		after = &all[len(all)-1]
	}
	if diff := cmp.Diff(plain(whole), plain(all)); diff != "" {
		rt.Fatalf("%q in pages of %d: %s", q, size, diff)
	}
}

func drawQuery(rt *rapid.T) string {
	var words []string
	for range rapid.IntRange(1, maxWhy+1).Draw(rt, "words") {
		word := []rune(rapid.SampledFrom(vocabulary).Draw(rt, "word"))
		switch rapid.IntRange(0, 4).Draw(rt, "bend") {
		case 0:
			word = word[:rapid.IntRange(1, len(word)).Draw(rt, "cut")]
		case 1:
			i := rapid.IntRange(0, len(word)-1).Draw(rt, "at")
			word[i] = rapid.SampledFrom([]rune("abemtü訳")).Draw(rt, "letter")
		case 2:
			if i := rapid.IntRange(0, len(word)-1).Draw(rt, "swap"); i > 0 {
				word[i], word[i-1] = word[i-1], word[i]
			}
		}
		words = append(words, string(word))
	}
	return strings.Join(words, " ")
}

func sortedIDs(s slow) (out []int64) {
	for id := range s {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

func plain(hits []scored) (out []string) {
	for _, h := range hits {
		out = append(out, fmt.Sprintf("%d: %d", h.id, h.score))
	}
	return out
}

func FuzzWords(f *testing.F) {
	for _, seed := range []string{
		"mail draft", "don’t — STOP", "翻訳する", "ΣΊΣΥΦΟΣ ß ﷺ", "\x00\x01*\"%_", "مَرْحَبًا", "ไทยไทย", "a\u00ADb\u200Dc", strings.Repeat("x", 200),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		count := 0
		eachWord(text, true, func(word string) bool {
			count++
			if word == "" || len(word) > maxWord || word < firstWord {
				t.Fatalf("the word %q of %q", word, text)
			}
			if utf8.ValidString(text) && !utf8.ValidString(word) {
				t.Fatalf("the word %q of %q is not UTF-8", word, text)
			}
			return true
		})
		if count > 20*len(text)+1 {
			t.Fatalf("%d words of %d bytes", count, len(text))
		}
		if !utf8.ValidString(text) {
			return
		}
		// What is indexed is found by itself.
		x := New()
		if err := x.add(1, Content{Name: "x", Summary: text}.Encode()); err != nil {
			t.Fatal(err)
		}
		x.Settle()
		words := Words(text)
		if len(words) > 0 && len(words) <= MaxWords && x.rank(text, words, nil, nil, 1).total != 1 {
			t.Fatalf("%q is not found by %q", text, words)
		}
	})
}

func FuzzDocument(f *testing.F) {
	f.Add(Content{Name: "mail", Summary: "Sorts mail mail", Tags: []string{"a", "ab"}, Body: []byte("mail and more")}.Encode())
	f.Add([]byte{docVersion, 0, 0, 0})
	f.Add([]byte{docVersion, 0xff, 0xff, 0xff, 0xff, 1, 0, 200})
	f.Fuzz(func(t *testing.T, data []byte) {
		x := New()
		if _, _, stale, _ := docHead(data); stale {
			return
		}
		_ = x.add(1, data) // damaged or not, it must not panic
		x.Settle()
		x.rank("mail", []string{"mail"}, nil, nil, 1)
	})
}

func TestStem(t *testing.T) {
	for _, group := range []string{
		"deploy deploys deployed deploying deployment deployments", "sort sorts sorted sorting", "mail mails mailing",
		"relate related relating", "connect connected connecting connection connections", "summary summaries",
		"organize organized organizing organizer", "hope hoped hoping", "hop hopped hopping", "run runs running",
		"database databases", "test tests tested testing", "copy copies copied", "agree agreed", "useful usefulness",
	} {
		words := strings.Fields(group)
		for _, word := range words[1:] {
			if stem(word) != stem(words[0]) {
				t.Errorf("%s → %s, but %s → %s", words[0], stem(words[0]), word, stem(word))
			}
		}
	}
	for _, word := range []string{"übersetzungen", "привет", "gpt4s", "as", "is", "sing", "red", "bed", "class"} {
		if stem(word) != word {
			t.Errorf("%s → %s", word, stem(word))
		}
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"Sort my E-Mail, don't delete it!": "sort my e mail dont delete it",
		"snake_case/kebab-case.dots":       "snake case kebab case dots",
		"ＦＵＬＬ ﬁne Straße ΣΊΣΥΦΟΣ":          "full fine strasse σίσυφοσ",
		"翻訳する":                             "翻訳 訳す する る",
		"訳":                                "訳",
		"AI翻訳2":                            "ai 翻訳 訳 2",
		"مَرْحَبًا مرحبا":                  "مرحبا مرحبا",
		"pass\u00ADword zero\u200Bwidth":   "password zerowidth",
		"한국어":                              "한국 국어 어",
		"":                                 "",
		"--- *** %%":                       "",
	} {
		var got []string
		eachWord(text, true, func(word string) bool {
			got = append(got, word)
			return true
		})
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
