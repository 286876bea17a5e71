package deliver

import (
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/internal/strictjson"
)

// What a reconciler remembers is one JSON document with a long list as its last member,
// and is read whenever anything is. strictjson takes more time for it than the rest of a
// run in which nothing happened, so a list that is written just as encoding/json does is
// read here; any other document is for strictjson, which says what is wrong with it.

// readRows reads a document: head gets all but its last member, the list called list, and
// row reads one element. False says that it is not as we write it; head is good for
// nothing then.
func readRows(data []byte, list string, head any, row func(r *rowReader)) bool {
	// A quote in a text is written with a backslash, so this is no part of one.
	before, rows, found := strings.Cut(string(data), `,"`+list+`":[`)
	rows, closed := strings.CutSuffix(rows, "]}\n")
	if !found || !closed || rows == "" || strings.TrimSpace(before) == "{" || !utf8.ValidString(rows) {
		return false
	}
	rest := []byte(before + "}")
	root, faults := strictjson.Parse(rest)
	if len(faults) > 0 || root.Get(list) != nil || strictjson.Unmarshal(rest, head) != nil {
		return false
	}
	r := rowReader{text: rows}
	for {
		r.open()
		row(&r)
		r.literal("}")
		if r.bad || r.text == "" {
			return !r.bad
		}
		r.literal(",")
	}
}

// rowReader reads flat objects whose members come in a known order, each once or not at
// all.
type rowReader struct {
	text  string // what is left
	first bool   // the next member is the first one
	bad   bool
}

func (r *rowReader) literal(s string) {
	rest, ok := strings.CutPrefix(r.text, s)
	r.text, r.bad = rest, r.bad || !ok
}

func (r *rowReader) open() {
	r.literal("{")
	r.first = true
}

// member takes the name of a member, if it is the next one.
func (r *rowReader) member(name string) bool {
	rest, ok := r.text, true
	if !r.first {
		rest, ok = strings.CutPrefix(rest, ",")
	}
	if len(rest) < len(name)+3 || rest[0] != '"' || rest[1:1+len(name)] != name || rest[1+len(name):len(name)+3] != `":` || !ok || r.bad {
		return false
	}
	r.text, r.first = rest[len(name)+3:], false
	return true
}

// string reads a member that is a text without escapes.
func (r *rowReader) string(name string, to *string) {
	if !r.member(name) {
		return
	}
	r.literal(`"`)
	for i := range len(r.text) {
		switch c := r.text[i]; {
		case c == '"':
			*to, r.text = r.text[:i], r.text[i+1:]
			return
		case c == '\\' || c < ' ':
			r.bad = true
			return
		}
	}
	r.bad = true
}

func (r *rowReader) bool(name string, to *bool) {
	if !r.member(name) {
		return
	}
	if rest, ok := strings.CutPrefix(r.text, "true"); ok {
		*to, r.text = true, rest
		return
	}
	r.literal("false")
}
