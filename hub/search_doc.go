package hub

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/internal/yamledit"
	"github.com/kortecx/kx/pack"
)

// field says where in a release a word stands; fields add up.
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

// A facet is a term that a filter asks for. Its first byte keeps it apart from
// words, none of which begins with a control character.
const (
	facetAuthor  = "\x01"
	facetFormat  = "\x02"
	facetTag     = "\x03"
	facetAbility = "\x04"
	facetName    = "\x05"
	firstWord    = " " // sorts behind every facet and before every word
)

// Limits of what is indexed of one release.
const (
	maxBody      = 16 << 10 // bytes of prose
	maxBodyFile  = 1 << 20  // a larger file is not even read
	maxBodyWords = 256      // different words of it
	maxFacet     = 128      // bytes; of longer values the hash is kept
	maxCount     = 15       // a word that stands there more often counts as this often
)

// docVersion is raised whenever the same release would give another document, so
// that what was stored by an older program is made anew.
const docVersion = 1

// docTerm is one word of a document.
type docTerm struct {
	text  string
	in    field
	prose byte // how often it stands in summary and description
	body  byte // and in the body
}

// searchDoc is what search knows of one release.
type searchDoc struct {
	name       string
	proseWords int // of summary and description
	bodyWords  int
	terms      []docTerm // ascending by text
}

// analysis is a searchDoc in the making.
type analysis struct {
	doc   searchDoc
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
	if term, ok := facet(kind, value); ok {
		a.term(term)
	}
}

// facet is the term of a filter: the value without the space around it and
// without case. An empty value is none.
func facet(kind, value string) (term string, ok bool) {
	value = fold(strings.TrimSpace(value))
	if len(value) > maxFacet {
		sum := sha256.Sum256([]byte(value))
		value = "#" + hex.EncodeToString(sum[:])
	}
	return kind + value, value != ""
}

// analyse makes the document of a release. Its body and its abilities come from
// its files.
func analyse(row ReleaseRow, body []byte, abilities []string) searchDoc {
	a := &analysis{doc: searchDoc{name: row.Name}, terms: make(map[string]*docTerm, 64+len(body)/10)}
	a.add(inName, row.Name)
	a.add(inSummary, row.Summary)
	if row.Description != row.Summary {
		a.add(inDescription, row.Description)
	}
	a.facet(facetName, row.Name)
	a.facet(facetAuthor, row.Author)
	a.facet(facetFormat, row.Format)
	for _, tag := range row.Tags {
		a.add(inTags, tag)
		a.facet(facetTag, tag)
	}
	for id := range row.Tools {
		a.add(inTools, id)
		a.facet(facetAbility, id)
	}
	for _, ability := range abilities {
		a.add(inTools, ability)
		a.facet(facetAbility, ability)
	}
	a.add(inAuthor, row.Author)
	a.addBody(body)
	for _, t := range a.terms {
		a.doc.terms = append(a.doc.terms, *t)
	}
	sorting.Sort(a.doc.terms, func(x, y docTerm) int { return strings.Compare(x.text, y.text) })
	return a.doc
}

// encode writes a document: terms share their beginnings with the one before.
func (d *searchDoc) encode() []byte {
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

// docHead reads the head of an encoded document and gives its terms. Stale is true
// for one that another version wrote.
func docHead(data []byte) (d searchDoc, terms []byte, stale bool, err error) {
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
	return searchDoc{name: string(data[:size]), proseWords: int(prose), bodyWords: int(body)}, data[size:], false, nil
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

// documentOf makes the document of a release that a store has. A damaged or
// unreadable file must not keep a release from being found by the rest.
func documentOf(r Reader, row ReleaseRow) ([]byte, error) {
	format := pack.Format(row.Format)
	var prose []byte
	file, err := r.File(row.Seq, proseFile(format))
	switch {
	case errors.Is(err, ErrNoRow):
	case err != nil:
		return nil, err
	case file.Size <= maxBodyFile:
		if prose, err = r.Content(file.Sum); err != nil && !errors.Is(err, ErrNoRow) {
			return nil, err
		}
	}
	body, abilities := prose, []string(nil)
	switch format {
	case pack.SkillMD:
		front, rest, _, _, _ := pack.SplitFrontmatter(prose)
		body, abilities = rest, manifestList(front, "allowed-tools")
	case pack.Kazma:
		body, abilities = nil, manifestList(prose, "capabilities")
	}
	doc := analyse(row, body, abilities)
	return doc.encode(), nil
}

// manifestList is a list of a YAML manifest, or what stands in its place parted by
// blanks and commas.
func manifestList(data []byte, key string) []string {
	m, faults, _ := yamledit.Parse(data)
	if m == nil || len(faults) > 0 {
		return nil
	}
	v := m.Get(key)
	switch {
	case v == nil:
		return nil
	case v.Kind == yamledit.Scalar:
		return strings.FieldsFunc(v.Text, func(r rune) bool { return r == ',' || r == ' ' })
	}
	var out []string
	for _, item := range v.Items {
		if item.Kind == yamledit.Scalar {
			out = append(out, item.Text)
		}
	}
	return out
}

// putDocument makes a release findable, in the transaction that makes it active.
func putDocument(w Writer, row ReleaseRow) error {
	data, err := documentOf(w, row)
	if err != nil {
		return fmt.Errorf("index %s: %w", refOf(row), err)
	}
	return w.PutSearchDoc(SearchDoc{Tenant: row.Tenant, Release: row.Seq, Data: data})
}

// dropDocument takes a release out of search, in the transaction that ends its
// being active.
func dropDocument(w Writer, row ReleaseRow) error {
	return w.PutSearchDoc(SearchDoc{Tenant: row.Tenant, Release: row.Seq})
}
