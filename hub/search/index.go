// Package search finds documents by what they say and by what they mean. An index lies in
// memory; it knows no store, no tenant and no principal: those are the hub's, which keeps
// documents beside what they are of and hands them to an index.
//
// Content.Encode makes a document, Index.Put takes it in and Settle makes it found. Words
// and Facet read what somebody asks for, Find ranks by it and says why, List and Select
// give what is there in an order.
//
// Words are looked for as they stand, in another form (stem.go), as a beginning, and where
// none of these is anywhere, with a typo. Fields have weights, rare words count for more,
// and scores are whole numbers, so that an order never hangs on the order of adding.
package search

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"iter"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/kortecx/kx/internal/sorting"
)

// Index is a dictionary of words, each with the documents in which it stands. Many may
// read it at a time, while nobody changes it.
//
// Everything of size is in a few flat slices without pointers: with 100,000
// documents the garbage collector has nothing to walk, and a word costs 2 to 4
// bytes for each document that it stands in.
type Index struct {
	docs  []indexedDoc
	sizes []docSize // of docs; apart from them, because every match reads one
	byID  map[int64]uint32
	// byName are the documents that are there, ordered by name; arranged has them in
	// the other orders that were asked for since the last change.
	byName     []uint32
	arranged   [ByVersion + 1][]uint32
	arrangedMu sync.Mutex
	dead       int      // documents that were taken out
	settled    int      // documents that were there when it was last settled
	shared     []string // versions and categories, of which many are the same
	sharedAt   map[string]uint32
	written    writings

	proseWords, bodyWords int64 // of the documents that are there

	terms  []indexedTerm
	texts  []byte
	lookup []uint64 // open hashing: the hash and term + 1, or 0
	stems  map[uint32]uint32
	order  []uint32 // terms by text
	fresh  []uint32 // terms that are not in order yet
	blocks blocks
}

type indexedDoc struct {
	id        int64 // 0: taken out
	name      string
	version   uint32 // in shared
	category  uint32
	certified int64 // microseconds until which its badge holds; 0: it has none that does
}

// docSize counts the words of a document.
type docSize struct{ prose, body uint16 }

// indexedTerm is one word. Documents are counted when they are read, so that
// taking one out needs no look at its words.
type indexedTerm struct {
	text     uint32 // where it begins in texts
	size     byte
	level    byte // of the last block
	first    uint32
	last     uint32 // block that is written to
	used     uint32 // bytes of it
	doc      uint32 // the last one, plus one
	nextStem uint32 // the next term of this stem, plus one
}

// New makes an empty index.
func New() *Index {
	return &Index{byID: map[int64]uint32{}, shared: []string{""}, sharedAt: map[string]uint32{"": 0}, stems: map[uint32]uint32{}, lookup: make([]uint64, 1024)}
}

func (x *Index) text(term uint32) []byte {
	t := &x.terms[term]
	return x.texts[t.text : t.text+uint32(t.size)]
}

// Size is how many documents are there.
func (x *Index) Size() int { return len(x.byName) }

// hash is FNV-1a.
func hash[T string | []byte](text T) uint32 {
	h := uint32(2166136261)
	for i := range len(text) {
		h = (h ^ uint32(text[i])) * 16777619
	}
	return h
}

// find is the term with that text.
func (x *Index) find(text string) (uint32, bool) {
	h := hash(text)
	mask := uint32(len(x.lookup) - 1)
	for i := h & mask; x.lookup[i] != 0; i = (i + 1) & mask {
		if term := uint32(x.lookup[i]) - 1; uint32(x.lookup[i]>>32) == h && string(x.text(term)) == text {
			return term, true
		}
	}
	return 0, false
}

func (x *Index) intern(text []byte) uint32 {
	h := hash(text)
	mask := uint32(len(x.lookup) - 1)
	i := h & mask
	for ; x.lookup[i] != 0; i = (i + 1) & mask {
		if term := uint32(x.lookup[i]) - 1; uint32(x.lookup[i]>>32) == h && string(x.text(term)) == string(text) {
			return term
		}
	}
	term := uint32(len(x.terms))
	x.terms = append(x.terms, indexedTerm{text: uint32(len(x.texts)), size: byte(len(text))})
	x.texts = append(x.texts, text...)
	x.lookup[i] = uint64(h)<<32 | uint64(term+1)
	x.fresh = append(x.fresh, term)
	if word := string(text); text[0] > facetName[0] {
		if s := stem(word); s != word {
			h := hash(s)
			x.terms[term].nextStem = x.stems[h]
			x.stems[h] = term + 1
		}
	}
	if 2*len(x.terms) > len(x.lookup) {
		x.grow()
	}
	return term
}

func (x *Index) grow() {
	before := x.lookup
	x.lookup = make([]uint64, 2*len(before))
	mask := uint32(len(x.lookup) - 1)
	for _, entry := range before {
		if entry == 0 {
			continue
		}
		i := uint32(entry>>32) & mask
		for x.lookup[i] != 0 {
			i = (i + 1) & mask
		}
		x.lookup[i] = entry
	}
}

// add takes a document in.
func (x *Index) add(id int64, data []byte) error {
	head, terms, _, err := docHead(data)
	if err != nil {
		return err
	}
	x.Remove(id)
	doc := uint32(len(x.docs))
	err = eachTerm(terms, func(text []byte, in, counts byte) {
		if len(text) > 0 {
			x.post(x.intern(text), doc, in, counts)
		}
	})
	x.docs = append(x.docs, indexedDoc{
		id: id, name: head.name,
	})
	size := docSize{uint16(min(head.proseWords, math.MaxUint16)), uint16(min(head.bodyWords, math.MaxUint16))}
	x.sizes = append(x.sizes, size)
	if err != nil {
		x.docs[doc].id = 0
		x.dead++
		return err
	}
	x.proseWords += int64(size.prose)
	x.bodyWords += int64(size.body)
	x.byID[id] = doc
	return nil
}

// Entry is a document with what lists show of it.
type Entry struct {
	ID   int64  // not 0; a later document has a higher one
	Data []byte // of Content.Encode
	// What Select looks at.
	Version, Author, Description, Category string
	Tags                                   string // a JSON array
	CertifiedUntil                         int64  // Unix time in microseconds; 0: not certified
}

// Put takes a document in, in the place of one with its ID. It is found once Settle was
// called. A document that is damaged or Stale is an error, and is not there.
func (x *Index) Put(e Entry) error {
	if err := x.add(e.ID, e.Data); err != nil {
		return err
	}
	last := len(x.docs) - 1
	doc := &x.docs[last]
	doc.version, doc.category, doc.certified = x.share(e.Version), x.share(e.Category), e.CertifiedUntil
	x.written.add(uint32(last), writing(nil, doc.name, e.Author, e.Description, e.Tags, e.Category))
	return nil
}

// Has tells whether a document is there.
func (x *Index) Has(id int64) bool {
	_, ok := x.byID[id]
	return ok
}

// IDs are those of all documents, in no order.
func (x *Index) IDs() iter.Seq[int64] { return maps.Keys(x.byID) }

// share gives the place in shared of a text of which many documents have the same.
func (x *Index) share(text string) uint32 {
	at, ok := x.sharedAt[text]
	if !ok {
		at = uint32(len(x.shared))
		x.shared, x.sharedAt[text] = append(x.shared, text), at
	}
	return at
}

// Remove takes a document out, if it is there.
func (x *Index) Remove(id int64) {
	doc, ok := x.byID[id]
	if !ok {
		return
	}
	clear(x.arranged[:])
	delete(x.byID, id)
	if i, ok := slices.BinarySearchFunc(x.byName, doc, x.compareNames); ok {
		x.byName = slices.Delete(x.byName, i, i+1)
	}
	x.proseWords -= int64(x.sizes[doc].prose)
	x.bodyWords -= int64(x.sizes[doc].body)
	x.docs[doc].id = 0
	x.dead++
}

func (x *Index) compareNames(a, b uint32) int {
	if c := strings.Compare(x.docs[a].name, x.docs[b].name); c != 0 {
		return c
	}
	return int(a) - int(b)
}

// Settle brings what Put left unordered into order. It must be called before the next
// question.
func (x *Index) Settle() {
	clear(x.arranged[:])
	var added []uint32
	for doc := x.settled; doc < len(x.docs); doc++ {
		if x.docs[doc].id != 0 {
			added = append(added, uint32(doc))
		}
	}
	x.settled = len(x.docs)
	sorting.Sort(added, x.compareNames)
	x.byName = merged(x.byName, added, x.compareNames)
	sorting.Sort(x.fresh, x.compareTerms)
	x.order = merged(x.order, x.fresh, x.compareTerms)
	x.fresh = nil
}

func (x *Index) compareTerms(a, b uint32) int {
	return bytes.Compare(x.text(a), x.text(b))
}

// merged puts what is added into its places; few additions move few bytes.
func merged(all, added []uint32, compare func(a, b uint32) int) []uint32 {
	if len(added) == 0 {
		return all
	}
	i := len(all) - 1
	all = append(all, added...)
	to := len(all) - 1
	for j := len(added) - 1; j >= 0; j-- {
		at, _ := slices.BinarySearchFunc(all[:i+1], added[j], compare)
		n := i + 1 - at
		copy(all[to-n+1:to+1], all[at:i+1])
		to -= n
		i = at - 1
		all[to] = added[j]
		to--
	}
	return all
}

// in gives the documents that are there in an order; the caller does not change them.
func (x *Index) in(order Sort) []uint32 {
	if order == ByName {
		return x.byName
	}
	x.arrangedMu.Lock()
	defer x.arrangedMu.Unlock()
	if x.arranged[order] == nil {
		docs := slices.Clone(x.byName)
		sorting.Sort(docs, func(a, b uint32) int {
			first, second := &x.docs[a], &x.docs[b]
			if order == ByVersion {
				if c := strings.Compare(x.shared[first.version], x.shared[second.version]); c != 0 {
					return c
				}
			}
			return cmp.Compare(first.id, second.id)
		})
		x.arranged[order] = docs
	}
	return x.arranged[order]
}

// post notes that a term stands in a document, which is the last one so far.
func (x *Index) post(term, doc uint32, in, counts byte) {
	t := &x.terms[term]
	var entry [binary.MaxVarintLen32 + 2]byte
	n := binary.PutUvarint(entry[:], uint64(doc+1-t.doc))
	entry[n] = in
	n++
	if in&hasCounts != 0 {
		entry[n] = counts
		n++
	}
	if t.first == 0 {
		t.first = x.blocks.alloc(0)
		t.last = t.first
	}
	for t.used+uint32(n) > blockSize(t.level)-blockLink {
		next := x.blocks.alloc(min(t.level+1, maxLevel))
		x.blocks.link(t.last, t.level, next)
		t.last, t.used, t.level = next, 0, min(t.level+1, maxLevel)
	}
	copy(x.blocks.at(t.last)[t.used:], entry[:n])
	t.used += uint32(n)
	t.doc = doc + 1
}

// postings reads the documents of a term, ascending.
type postings struct {
	x     *Index
	block []byte // what is left of it, without the link
	addr  uint32
	level byte
	next  uint32 // document, plus one

	doc        uint32
	in, counts byte
}

func (x *Index) postings(term uint32) postings {
	p := postings{x: x, addr: x.terms[term].first}
	p.open()
	return p
}

func (p *postings) open() {
	if p.addr != 0 {
		p.block = p.x.blocks.at(p.addr)[:blockSize(p.level)-blockLink]
	}
}

// step goes to the next document that is there.
func (p *postings) step() bool {
	for {
		if len(p.block) == 0 || p.block[0] == 0 { // no entry begins with a zero
			if p.addr == 0 {
				return false
			}
			p.addr = p.x.blocks.next(p.addr, p.level)
			if p.addr == 0 {
				return false
			}
			p.level = min(p.level+1, maxLevel)
			p.open()
			continue
		}
		delta, n := uint32(p.block[0]), 1
		if delta >= 0x80 {
			wide, size := binary.Uvarint(p.block)
			delta, n = uint32(wide), size
		}
		p.next += delta
		p.in, p.counts = p.block[n], 0
		n++
		if p.in&hasCounts != 0 {
			p.counts = p.block[n]
			n++
		}
		p.block = p.block[n:]
		p.doc = p.next - 1
		if p.x.dead == 0 || p.x.docs[p.doc].id != 0 {
			return true
		}
	}
}

// blocks is memory for postings: blocks that double in size, each with the address
// of the next one in its last bytes. Zero is no address and no entry begins with
// it, so fresh memory needs no marks.
type blocks struct {
	chunks [][]byte
	used   uint32 // of the last chunk
}

const (
	chunkBits = 16
	chunkSize = 1 << chunkBits
	blockLink = 4
	minBlock  = 8
	maxLevel  = 8
)

func blockSize(level byte) uint32 { return minBlock << level }

func (b *blocks) alloc(level byte) uint32 {
	size := blockSize(level)
	if len(b.chunks) == 0 {
		b.used = minBlock // so that 0 is no address
		b.chunks = append(b.chunks, make([]byte, chunkSize))
	} else if b.used+size > chunkSize {
		b.used = 0
		b.chunks = append(b.chunks, make([]byte, chunkSize))
	}
	address := uint32(len(b.chunks)-1)<<chunkBits | b.used
	b.used += size
	return address
}

func (b *blocks) at(address uint32) []byte {
	return b.chunks[address>>chunkBits][address&(chunkSize-1):]
}

func (b *blocks) link(address uint32, level byte, next uint32) {
	binary.LittleEndian.PutUint32(b.at(address)[blockSize(level)-blockLink:], next)
}

func (b *blocks) next(address uint32, level byte) uint32 {
	return binary.LittleEndian.Uint32(b.at(address)[blockSize(level)-blockLink:])
}

// compactFrom is how many documents must have been taken out before that is looked at.
const compactFrom = 1000

// Sparse tells whether so many documents were taken out that Compacted pays.
func (x *Index) Sparse() bool { return x.dead > compactFrom && x.dead > x.Size()/3 }

// Compacted is the same index without the documents that were taken out.
func (x *Index) Compacted() *Index {
	out := New()
	out.lookup = make([]uint64, 1<<bits.Len(uint(2*len(x.terms)|1023)))
	number := make([]uint32, len(x.docs))
	for doc, d := range x.docs {
		if d.id == 0 {
			continue
		}
		number[doc] = uint32(len(out.docs))
		out.byID[d.id] = number[doc]
		d.version, d.category = out.share(x.shared[d.version]), out.share(x.shared[d.category])
		out.docs, out.sizes = append(out.docs, d), append(out.sizes, x.sizes[doc])
	}
	for _, term := range x.order {
		to, begun := uint32(0), false
		for p := x.postings(term); p.step(); {
			if !begun {
				to, begun = out.intern(x.text(term)), true
			}
			out.post(to, number[p.doc], p.in, p.counts)
		}
	}
	x.written.all(func(doc uint32, text []byte) {
		if x.docs[doc].id != 0 {
			out.written.add(number[doc], text)
		}
	})
	out.proseWords, out.bodyWords = x.proseWords, x.bodyWords
	out.Settle()
	return out
}
