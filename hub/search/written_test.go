package search

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What a text finds is what a look at every part of every document finds, whatever was
// taken in and out before.
func TestTextsAreSearchedAsOneByOne(t *testing.T) {
	lowered := func(text string) string {
		return strings.Map(func(r rune) rune {
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			}
			return r
		}, text)
	}
	rapid.Check(t, func(rt *rapid.T) {
		part := rapid.StringOfN(rapid.SampledFrom([]rune(`aAbB%_"ÄäK`+"\u212a\n")), 0, 6, -1)
		x, all := New(), map[int64][]string{}
		for range rapid.IntRange(1, 12).Draw(rt, "changes") {
			id := rapid.Int64Range(1, 9).Draw(rt, "document")
			if rapid.IntRange(0, 3).Draw(rt, "out") == 0 {
				x.Remove(id)
				delete(all, id)
			} else {
				name := part.Draw(rt, "name")
				d := Entry{
					ID: id, Author: part.Draw(rt, "author"), Tags: part.Draw(rt, "tags"), Category: part.Draw(rt, "category"),
					// Some are longer than a piece has room for.
					Description: part.Draw(rt, "description") + strings.Repeat("x", rapid.SampledFrom([]int{0, 0, writingSize / 3, 2 * writingSize}).Draw(rt, "long")),
				}
				doc := document{name: name}
				d.Data = doc.encode()
				if err := x.Put(d); err != nil {
					rt.Fatal(err)
				}
				all[id] = []string{name, d.Author, d.Description, d.Tags, d.Category}
			}
			x.Settle()
			if rapid.IntRange(0, 5).Draw(rt, "compact") == 0 {
				x = x.Compacted()
			}
		}
		for _, q := range []string{"x", "\x00", part.Filter(func(s string) bool { return s != "" }).Draw(rt, "query")} {
			var got, want []int64
			page, total := x.Select(Selection{Text: q, Limit: 99})
			for _, d := range page {
				got = append(got, d.ID)
			}
			for id, parts := range all {
				if slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(lowered(part), lowered(q)) }) {
					want = append(want, id)
				}
			}
			slices.Sort(want)
			if !slices.Equal(got, want) || total != len(want) {
				rt.Fatalf("%q finds %v of %d, want %v", q, got, total, want)
			}
		}
	})
}
