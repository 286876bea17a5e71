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
	long     [1 << 15]uint16 // 1 + the first literal of a bucket, 0 for none
	short    [1 << 12]uint16 // the same for literals of three bytes
	next     []uint16        // 1 + the next one of the bucket
	pairs    [1 << 10]uint64 // the two bytes that a literal begins with, as a set
}

// newFinder indexes literals of at least three bytes, fewer than 65,535 of them.
func newFinder(literals []string) *finder {
	f := &finder{literals: literals, next: make([]uint16, len(literals))}
	for id, s := range literals {
		head := f.bucket(s)
		f.next[id] = *head
		*head = uint16(id + 1)
		pair := uint16(s[0]) | uint16(s[1])<<8
		f.pairs[pair>>6] |= 1 << (pair & 63)
	}
	return f
}

func (f *finder) bucket(s string) *uint16 {
	key := uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16
	if len(s) == shortest {
		return &f.short[key*0x9e3779b1>>20]
	}
	return &f.long[(key|uint32(s[3])<<24)*0x9e3779b1>>17]
}

// each calls found for every literal in text, ascending by start.
func (f *finder) each(text string, found func(literal, start, end int)) {
	inWord := class(0)
	for i := 0; i+shortest <= len(text); i++ {
		word := classes[text[i]] & wordByte
		if word&inWord != 0 {
			continue
		}
		inWord = word
		if pair := uint16(text[i]) | uint16(text[i+1])<<8; f.pairs[pair>>6]>>(pair&63)&1 == 0 {
			continue
		}
		f.chain(*f.bucket(text[i : i+shortest]), text, i, found)
		if i+shortest < len(text) {
			f.chain(*f.bucket(text[i : i+shortest+1]), text, i, found)
		}
	}
}

func (f *finder) chain(id uint16, text string, at int, found func(literal, start, end int)) {
	for ; id != 0; id = f.next[id-1] {
		if s := f.literals[id-1]; strings.HasPrefix(text[at:], s) {
			found(int(id-1), at, at+len(s))
		}
	}
}
