package scan

import "strings"

// shortest is the length of the shortest literal that can be looked for.
const shortest = 3

// finder finds many literals in one pass: the bytes at each offset lead to the
// few literals that begin with them. It is built in no time, which an automaton
// over the same literals is not. A literal that begins with a letter or a digit is
// found at the beginning of a word only, so that most offsets need no look.
type finder struct {
	literals []string
	// By a hash of the bytes that literals begin with, 1 + the first literal of a
	// bucket, 0 for none. A literal stands where the most of its bytes count.
	three  [1 << threeBits]uint16
	four   [1 << fourBits]uint16
	six    [1 << sixBits]uint16
	eight  [1 << eightBits]uint16
	next   []uint16                     // 1 + the next one of the bucket
	starts []start                      // of each literal
	begins [1 << (beginBits - 5)]uint32 // the first four bytes of the literals, as a set of their hashes
}

// start is the first eight bytes of a literal.
type start struct {
	bytes uint64
	rest  uint // bits that are of none, as the literal is shorter
}

const (
	threeBits = 9
	fourBits  = 11
	sixBits   = 12
	eightBits = 14
	beginBits = 16
)

// spread makes a hash of bytes, in its highest bits.
const spread = 0x9e3779b97f4a7c15

// newFinder indexes literals of at least three bytes, fewer than 65,535 of them.
func newFinder(literals []string) *finder {
	f := &finder{literals: literals, next: make([]uint16, len(literals)), starts: make([]start, len(literals))}
	for id, s := range literals {
		bytes := eightOf(s, 0)
		f.starts[id] = start{bytes, uint(64 - 8*min(len(s), 8))}
		head := f.bucket(bytes, len(s))
		f.next[id] = *head
		*head = uint16(id + 1)
		if len(s) > shortest {
			f.begin(bytes)
			continue
		}
		for c := range uint64(256) {
			f.begin(bytes | c<<24)
		}
	}
	return f
}

func (f *finder) bucket(bytes uint64, length int) *uint16 {
	switch {
	case length >= 8:
		return &f.eight[bytes*spread>>(64-eightBits)]
	case length >= 6:
		return &f.six[bytes<<16*spread>>(64-sixBits)]
	case length >= 4:
		return &f.four[bytes<<32*spread>>(64-fourBits)]
	}
	return &f.three[bytes<<40*spread>>(64-threeBits)]
}

func (f *finder) begin(bytes uint64) {
	h := bytes << 32 * spread >> (64 - beginBits)
	f.begins[h>>5] |= 1 << (h & 31)
}

// eightOf is the eight bytes at an offset of a text, with zeros for those behind its end.
func eightOf(text string, at int) (bytes uint64) {
	if at+8 <= len(text) {
		t := text[at : at+8]
		return uint64(t[0]) | uint64(t[1])<<8 | uint64(t[2])<<16 | uint64(t[3])<<24 |
			uint64(t[4])<<32 | uint64(t[5])<<40 | uint64(t[6])<<48 | uint64(t[7])<<56
	}
	for i := len(text) - 1; i >= at; i-- {
		bytes = bytes<<8 | uint64(text[i])
	}
	return bytes
}

// each calls found for every literal in text, ascending by start. It gives the greatest
// number of words of one character that follow each other.
func (f *finder) each(text string, found func(literal, start, end int)) (alone int) {
	inWord, run := class(0), 0
	for i := range len(text) {
		word := classes[text[i]] & wordByte
		if word&inWord != 0 {
			continue
		}
		if inWord = word; word != 0 {
			if run++; i+1 < len(text) && classes[text[i+1]]&wordByte != 0 {
				run = 0
			}
			alone = max(alone, run)
		}
		bytes := eightOf(text, i)
		h := bytes << 32 * spread
		if b := h >> (64 - beginBits); f.begins[b>>5]>>(b&31)&1 == 0 {
			continue
		}
		heads := [4]uint16{
			f.three[bytes<<40*spread>>(64-threeBits)], f.four[h>>(64-fourBits)],
			f.six[bytes<<16*spread>>(64-sixBits)], f.eight[bytes*spread>>(64-eightBits)],
		}
		if heads[0]|heads[1]|heads[2]|heads[3] != 0 {
			f.at(text, i, bytes, &heads, found)
		}
	}
	return alone
}

// at calls found for the literals of some buckets that stand at an offset: those of three
// bytes first, then the later ones first.
func (f *finder) at(text string, offset int, bytes uint64, heads *[4]uint16, found func(literal, start, end int)) {
	var room [16]uint16
	ids := room[:0]
	for _, id := range heads {
		for ; id != 0; id = f.next[id-1] {
			n, s := f.starts[id-1], f.literals[id-1]
			if (bytes^n.bytes)<<n.rest != 0 || len(s) > 8 && !strings.HasPrefix(text[offset:], s) {
				continue
			}
			ids = append(ids, id)
			for i := len(ids) - 1; i > 0 && ids[i-1] < id && len(f.literals[ids[i-1]-1]) > shortest; i-- {
				ids[i-1], ids[i] = id, ids[i-1]
			}
		}
	}
	for _, id := range ids {
		found(int(id-1), offset, offset+len(f.literals[id-1]))
	}
}
