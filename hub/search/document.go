package search

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/kortecx/kx/internal/sorting"
)

// field says where in a document a word stands; fields add up.
type field byte

const (
	inName field = 1 << iota
	inSummary
	inDescription
	inTags
	inTools
	inAuthor
	inBody

	hasCounts = 0x80 // in a posting: two counts follow
)

// The kinds of facets. A facet is a term that a filter asks for; its first byte keeps it
// apart from words, none of which begins with a control character.
const (
	Author    = "\x01"
	Format    = "\x02"
	Tag       = "\x03"
	Ability   = "\x04"
	facetName = "\x05"
	firstWord = " " // sorts behind every facet and before every word
)

// Limits of what is indexed of one document.
const (
	maxBody      = 16 << 10 // bytes of prose
	maxBodyWords = 256      // different words of it
	maxFacet     = 128      // bytes; of longer values the hash is kept
	maxCount     = 15       // a word that stands there more often counts as this often
)

// docVersion is raised whenever the same content would give another document, so
// that what was stored by an older program is made anew.
const docVersion = 1

// docTerm is one word of a document.
type docTerm struct {
	text  string
	in    field
	prose byte // how often it stands in summary and description
	body  byte // and in the body
}

// document is what an index knows of one content.
type document struct {
	name       string
	proseWords int // of summary and description
	bodyWords  int
	terms      []docTerm // ascending by text
}

// analysis is a document in the making.
type analysis struct {
	doc   document
	terms map[string]*docTerm
}

func (a *analysis) term(text string) *docTerm {
	t := a.terms[text]
	if t == nil {
		t = &docTerm{text: text}
		a.terms[text] = t
	}
	return t
}

func (a *analysis) add(in field, text string) {
	eachWord(text, true, func(word string) bool {
		t := a.term(word)
		t.in |= in
		if in&(inSummary|inDescription) != 0 {
			t.prose = min(t.prose+1, maxCount)
			a.doc.proseWords++
		}
		return true
	})
}

func (a *analysis) addBody(text []byte) {
	if len(text) > maxBody {
		text = text[:maxBody]
	}
	different := 0
	eachWord(strings.ToValidUTF8(string(text), " "), true, func(word string) bool {
		if stopWord(word) {
			return true
		}
		t := a.terms[word]
		if t == nil || t.in&inBody == 0 {
			if different++; different > maxBodyWords {
				return false
			}
			t = a.term(word)
			t.in |= inBody
		}
		t.body = min(t.body+1, maxCount)
		a.doc.bodyWords++
		return true
	})
}

func (a *analysis) facet(kind, value string) {
	if term, ok := Facet(kind, value); ok {
		a.term(term)
	}
}

// Facet is the term of a filter of a kind (Author, Format, Tag, Ability): the value
// without the space around it and without case. An empty value is none.
func Facet(kind, value string) (term string, ok bool) {
	value = fold(strings.TrimSpace(value))
	if len(value) > maxFacet {
		sum := sha256.Sum256([]byte(value))
		value = "#" + hex.EncodeToString(sum[:])
	}
	return kind + value, value != ""
}

// Content is what a document says.
type Content struct {
	Name, Author, Format string
	Summary, Description string
	Tags                 []string
	Abilities            []string // tools and the like
	Body                 []byte   // prose; what is no UTF-8 counts as space
}

// Encode makes the document that an Index takes in. It can be kept: Stale tells when it
// has to be made again.
func (c Content) Encode() []byte {
	d := analyse(c)
	return d.encode()
}

func analyse(c Content) document {
	a := &analysis{doc: document{name: c.Name}, terms: make(map[string]*docTerm, 64+len(c.Body)/10)}
	a.add(inName, c.Name)
	a.add(inSummary, c.Summary)
	if c.Description != c.Summary {
		a.add(inDescription, c.Description)
	}
	a.facet(facetName, c.Name)
	a.facet(Author, c.Author)
	a.facet(Format, c.Format)
	for _, tag := range c.Tags {
		a.add(inTags, tag)
		a.facet(Tag, tag)
	}
	for _, ability := range c.Abilities {
		a.add(inTools, ability)
		a.facet(Ability, ability)
	}
	a.add(inAuthor, c.Author)
	a.addBody(c.Body)
	for _, t := range a.terms {
		a.doc.terms = append(a.doc.terms, *t)
	}
	sorting.Sort(a.doc.terms, func(x, y docTerm) int { return strings.Compare(x.text, y.text) })
	return a.doc
}

// encode writes a document: terms share their beginnings with the one before.
func (d *document) encode() []byte {
	out := make([]byte, 0, 16+len(d.name)+8*len(d.terms))
	out = append(out, docVersion)
	out = binary.AppendUvarint(out, uint64(d.proseWords))
	out = binary.AppendUvarint(out, uint64(d.bodyWords))
	out = append(out, byte(len(d.name)))
	out = append(out, d.name...)
	before := ""
	for _, t := range d.terms {
		same := 0
		for same < len(before) && same < len(t.text) && before[same] == t.text[same] {
			same++
		}
		out = append(out, byte(same), byte(len(t.text)-same))
		out = append(out, t.text[same:]...)
		in, counts := posted(t)
		out = append(out, in)
		if in&hasCounts != 0 {
			out = append(out, counts)
		}
		before = t.text
	}
	return out
}

// posted is a term as a posting keeps it: a word that stands once wherever it
// stands needs no counts.
func posted(t docTerm) (in, counts byte) {
	in = byte(t.in)
	if t.prose > 1 || t.body > 1 {
		return in | hasCounts, t.prose<<4 | t.body
	}
	return in, 0
}

var errDocument = errors.New("a stored search document is damaged")

// Stale tells whether another version of this program made a document.
func Stale(data []byte) bool {
	_, _, stale, _ := docHead(data)
	return stale
}

// docHead reads the head of an encoded document and gives its terms. Stale is true
// for one that another version wrote.
func docHead(data []byte) (d document, terms []byte, stale bool, err error) {
	if len(data) == 0 || data[0] != docVersion {
		return d, nil, true, nil
	}
	data = data[1:]
	prose, n := binary.Uvarint(data)
	if n <= 0 {
		return d, nil, false, errDocument
	}
	data = data[n:]
	body, n := binary.Uvarint(data)
	if n <= 0 || len(data) <= n || len(data) <= n+int(data[n]) || prose > maxDocWords || body > maxDocWords {
		return d, nil, false, errDocument
	}
	size := int(data[n])
	data = data[n+1:]
	return document{name: string(data[:size]), proseWords: int(prose), bodyWords: int(body)}, data[size:], false, nil
}

// maxDocWords is beyond what any document has.
const maxDocWords = 1 << 24

// eachTerm runs yield on the terms of an encoded document; text is valid until it
// returns.
func eachTerm(data []byte, yield func(text []byte, in, counts byte)) error {
	var text [256 + 8]byte
	length := 0
	for len(data) > 0 {
		if len(data) < 3 {
			return errDocument
		}
		same, more := int(data[0]), int(data[1])
		if same > length || same+more > 255 || len(data) < 3+more {
			return errDocument
		}
		length = same + copy(text[same:], data[2:2+more])
		in, counts := data[2+more], byte(0)
		data = data[3+more:]
		if in&hasCounts != 0 {
			if len(data) == 0 {
				return errDocument
			}
			counts, data = data[0], data[1:]
		}
		yield(text[:length], in, counts)
	}
	return nil
}
