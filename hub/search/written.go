package search

import (
	"bytes"
	"sort"
	"strings"
)

// writingSize is the size of a piece of writings in bytes; a longer text has one of its
// own.
const writingSize = 64 << 10

// writings are what Select looks for a text in: for each document one (writing).
// They lie one behind the other, so that to look through all of them is one run over
// memory, and in pieces, so that nothing is copied when they grow.
type writings []writingPiece

type writingPiece struct {
	data []byte
	docs []uint32
	ends []uint32 // where the text of each of docs ends
}

// writing is what is searched of a document: every part with its ASCII letters in lower
// case and a NUL behind it.
func writing(to []byte, parts ...string) []byte {
	for _, part := range parts {
		to = append(lower(to, part), 0)
	}
	return to
}

// lower appends a text, its ASCII letters in lower case.
func lower(to []byte, text string) []byte {
	for i := range len(text) {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		to = append(to, c)
	}
	return to
}

func (t *writings) add(doc uint32, text []byte) {
	last := len(*t) - 1
	if last < 0 || cap((*t)[last].data)-len((*t)[last].data) < len(text) {
		*t = append(*t, writingPiece{data: make([]byte, 0, max(len(text), writingSize))})
		last++
	}
	p := &(*t)[last]
	p.data = append(p.data, text...)
	p.docs, p.ends = append(p.docs, doc), append(p.ends, uint32(len(p.data)))
}

// all runs fn on every document and its text.
func (t writings) all(fn func(doc uint32, text []byte)) {
	for _, p := range t {
		from := uint32(0)
		for i, end := range p.ends {
			fn(p.docs[i], p.data[from:end])
			from = end
		}
	}
}

// containing runs fn on every document with a text of which a part contains what.
func (t writings) containing(what string, fn func(doc uint32)) {
	if strings.IndexByte(what, 0) >= 0 {
		return // parts have none
	}
	wanted := lower(nil, what)
	for _, p := range t {
		for from := 0; ; {
			at := bytes.Index(p.data[from:], wanted)
			if at < 0 {
				break
			}
			n := sort.Search(len(p.ends), func(i int) bool { return int(p.ends[i]) > from+at })
			fn(p.docs[n])
			from = int(p.ends[n])
		}
	}
}
