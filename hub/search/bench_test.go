package search

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// benchDocs are encoded documents of packs of 2 KB.
func benchDocs(n int) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.07, 4, 20_000)
	word := func() string {
		const syllables = "basedigolumanoperitusavekifohaze"
		var out strings.Builder
		for n := zipf.Uint64() + 40; n > 0; n /= 16 {
			out.WriteString(syllables[2*(n%16) : 2*(n%16)+2])
		}
		return out.String()
	}
	text := func(n int) string {
		out := make([]string, n)
		for i := range out {
			out[i] = word()
		}
		return strings.Join(out, " ")
	}
	docs := make([][]byte, n)
	for i := range docs {
		docs[i] = Content{
			Name: fmt.Sprintf("%s-%d", word(), i), Author: "acme", Format: "kortecx", Summary: text(12), Tags: []string{word(), word()},
			Body: []byte(text(270)),
		}.Encode()
	}
	return docs
}

func indexOf(b *testing.B, docs [][]byte) *Index {
	x := New()
	for i, data := range docs {
		if err := x.add(int64(i+1), data); err != nil {
			b.Fatal(err)
		}
	}
	x.Settle()
	return x
}

// BenchmarkLoadIndex is what the first search of a process pays beyond reading.
func BenchmarkLoadIndex(b *testing.B) {
	docs := benchDocs(1000)
	for b.Loop() {
		indexOf(b, docs)
	}
}

func BenchmarkRank(b *testing.B) {
	x := indexOf(b, benchDocs(1000))
	from, to := x.words()
	for _, q := range []string{string(x.text(x.order[from+(to-from)/2])), "babase", "b", "gobase lugo", "maxolu"} {
		b.Run(q, func(b *testing.B) {
			words := Words(q)
			for b.Loop() {
				r := x.rank(q, words, nil, nil, 21)
				x.explain(&r)
			}
		})
	}
}

// BenchmarkEncode is what an approval pays.
func BenchmarkEncode(b *testing.B) {
	body := []byte(strings.Repeat("Read the mail first, then sort it by sender and answer what is urgent. ", 28))
	c := Content{Name: "triage", Author: "acme", Format: "kortecx", Summary: "Sorts a mailbox and drafts replies.", Tags: []string{"mail"}, Body: body}
	for b.Loop() {
		c.Encode()
	}
}
