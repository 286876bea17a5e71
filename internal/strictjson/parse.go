package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Parse reads one document. A fault of its syntax, encoding or depth is the
// first fault and leaves no tree. Members named twice are faults too, but the
// tree is there, with all of them, so that callers can go on looking. No more
// than 100 faults are given.
//
// The tree shares memory with one copy of data, never with data itself. It has no
// more than MaxNodes values: a tree needs some fifty times the memory of its text.
func Parse(data []byte) (*Node, []*Fault) { return parse(data, MaxNodes, nil) }

// parse reads one document of at most budget values. With a type, what the decoder
// would pass over when it fills such a value is read as strictly, but gets no nodes.
func parse(data []byte, budget int, t reflect.Type) (*Node, []*Fault) {
	if bytes.HasPrefix(data, []byte("\uFEFF")) {
		return nil, []*Fault{{ID: "json.bom", Text: "the document starts with a byte order mark"}}
	}
	p := parser{
		data: data,
		src:  string(data),
		// Duplicates are looked for here, where both places are known.
		dec:    jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true)),
		budget: budget,
		most:   budget,
	}
	in := everything
	if t != nil {
		p.fields = make(fieldTypes)
		in = interest{typ: t}
	}
	root, fault := p.document(in)
	if fault != nil {
		return nil, append([]*Fault{fault}, p.faults...)
	}
	return root, p.faults
}

type parser struct {
	data    []byte
	src     string // the same bytes, so that most strings need no copy of their own
	dec     *jsontext.Decoder
	end     int // just behind the last token
	nodes   []Node
	members []Member // of the objects that are open, innermost last
	elems   []*Node  // of the arrays that are open, innermost last
	faults  []*Fault
	budget  int // how many values may still come
	most    int // what it was in the beginning
	fields  fieldTypes
}

// interest says what of a value the caller wants to see.
type interest struct {
	all  bool         // the value and everything in it
	typ  reflect.Type // unless all: what it will fill
	none bool         // nothing: it is read and forgotten
}

var everything = interest{all: true}

// member is the interest in one member of an object, element in what an array
// holds. What goes into a type that decodes itself, or does not fit at all, is for
// the decoder to judge.
func (p *parser) member(in interest, name string) interest {
	if in.all || in.none {
		return in
	}
	t := deref(in.typ)
	switch {
	case decodesItself(t):
	case t.Kind() == reflect.Struct:
		if field := p.fields.of(t)[name]; field != nil {
			return interest{typ: field}
		}
	case t.Kind() == reflect.Map:
		return interest{typ: t.Elem()}
	case t.Kind() == reflect.Interface:
		return everything
	}
	return interest{none: true}
}

func (p *parser) element(in interest) interest {
	if in.all || in.none {
		return in
	}
	t := deref(in.typ)
	switch {
	case decodesItself(t):
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Array:
		return interest{typ: t.Elem()}
	case t.Kind() == reflect.Interface:
		return everything
	}
	return interest{none: true}
}

func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// spend counts one value, or the name of one that gets no node.
func (p *parser) spend(at int) *Fault {
	if p.budget--; p.budget >= 0 {
		return nil
	}
	return &Fault{ID: "json.too-many", Offset: at, Text: fmt.Sprintf("the document has more than %d values", p.most)}
}

// document reads the one value and makes sure that nothing follows it.
func (p *parser) document(in interest) (*Node, *Fault) {
	start, kind, fault := p.next()
	if fault != nil {
		return nil, fault
	}
	root, fault := p.value(start, kind, in)
	if fault != nil {
		return nil, fault
	}
	rest := p.end
	for rest < len(p.data) && isSpace(p.data[rest]) {
		rest++
	}
	if rest < len(p.data) {
		if f := badRune(p.data, rest); f != nil {
			return nil, f
		}
		return nil, &Fault{ID: "json.syntax", Offset: rest, Text: "there is something behind the end of the document"}
	}
	return root, nil
}

// next reads one token and tells where it starts.
func (p *parser) next() (int, jsontext.Kind, *Fault) {
	start := p.end
	for start < len(p.data) && (isSpace(p.data[start]) || p.data[start] == ',' || p.data[start] == ':') {
		start++
	}
	token, err := p.dec.ReadToken()
	if err != nil {
		return 0, 0, p.explain(start, err)
	}
	p.end = int(p.dec.InputOffset())
	return start, token.Kind(), nil
}

// value reads the value that begins with the token at start. The node is nil where
// nobody wants to see it.
func (p *parser) value(start int, kind jsontext.Kind, in interest) (*Node, *Fault) {
	if in.none {
		return nil, p.pass(kind, start)
	}
	if fault := p.spend(start); fault != nil {
		return nil, fault
	}
	n := p.node()
	n.Offset = start
	switch kind {
	case '{', '[':
		fault := p.depth(start)
		if fault != nil {
			return nil, fault
		}
		if kind == '{' {
			n.Kind, fault = Object, p.object(n, in)
		} else {
			n.Kind, fault = Array, p.array(n, in)
		}
		if fault != nil {
			return nil, fault
		}
	case '"':
		n.Kind, n.Text = String, p.text(start)
	case '0':
		n.Kind, n.Text = Number, p.src[start:p.end]
	case 't', 'f':
		n.Kind, n.Text = Bool, p.src[start:p.end]
	case 'n':
		n.Kind, n.Text = Null, p.src[start:p.end]
	default: // a closing bracket where a value belongs; ReadToken refuses those itself
		return nil, &Fault{ID: "json.syntax", Offset: start, Text: "a value is missing"}
	}
	n.End = p.end
	return n, nil
}

// pass reads a value that nobody wants to see by the same rules.
func (p *parser) pass(kind jsontext.Kind, start int) *Fault {
	if kind != '{' && kind != '[' {
		return nil
	}
	if fault := p.depth(start); fault != nil {
		return fault
	}
	if kind == '{' {
		return p.object(nil, interest{none: true})
	}
	return p.array(nil, interest{none: true})
}

func (p *parser) depth(start int) *Fault {
	if p.dec.StackDepth() <= MaxDepth {
		return nil
	}
	return &Fault{
		ID: "json.depth", Offset: start, Pointer: string(p.dec.StackPointer()),
		Text: fmt.Sprintf("objects and arrays nest deeper than %d", MaxDepth),
	}
}

func (p *parser) object(n *Node, in interest) *Fault {
	base := len(p.members)
	var seen map[string]int // into p.members, from the 17th member on
	for {
		start, kind, fault := p.next()
		if fault != nil {
			return fault
		}
		if kind == '}' {
			break
		}
		name := p.text(start)
		first := -1
		if seen != nil {
			if at, ok := seen[name]; ok {
				first = at
			} else {
				seen[name] = len(p.members)
			}
		} else {
			for i := base; i < len(p.members); i++ {
				if p.members[i].Name == name {
					first = i
					break
				}
			}
			if len(p.members)-base == 16 {
				seen = make(map[string]int)
				for i := base; i < len(p.members); i++ {
					if _, ok := seen[p.members[i].Name]; !ok {
						seen[p.members[i].Name] = i
					}
				}
				if first < 0 {
					seen[name] = len(p.members)
				}
			}
		}
		if first >= 0 {
			p.duplicate(name, p.members[first].NameOffset, start)
		}
		nameAt := start
		if start, kind, fault = p.next(); fault != nil {
			return fault
		}
		inner := p.member(in, name)
		if inner.none {
			if fault := p.spend(nameAt); fault != nil {
				return fault
			}
		}
		value, fault := p.value(start, kind, inner)
		if fault != nil {
			return fault
		}
		p.members = append(p.members, Member{Name: name, NameOffset: nameAt, Value: value})
	}
	if n != nil {
		seen := slices.DeleteFunc(p.members[base:], func(m Member) bool { return m.Value == nil })
		n.Members = append(n.Members, seen...)
	}
	p.members = p.members[:base]
	return nil
}

func (p *parser) array(n *Node, in interest) *Fault {
	base, inner := len(p.elems), p.element(in)
	for {
		start, kind, fault := p.next()
		if fault != nil {
			return fault
		}
		if kind == ']' {
			break
		}
		value, fault := p.value(start, kind, inner)
		if fault != nil {
			return fault
		}
		if value != nil {
			p.elems = append(p.elems, value)
		}
	}
	if n != nil {
		n.Elems = append(n.Elems, p.elems[base:]...)
	}
	p.elems = p.elems[:base]
	return nil
}

// duplicate records a name that its object has already. The pointer is that of
// the object: one to the member would not say which of the two is meant.
func (p *parser) duplicate(name string, first, again int) {
	if len(p.faults) >= maxFaults {
		return
	}
	line1, col1 := Position(p.data, first)
	line2, col2 := Position(p.data, again)
	p.faults = append(p.faults, &Fault{
		ID: "json.duplicate-key", Offset: again, Pointer: string(p.dec.StackPointer().Parent()),
		Text: fmt.Sprintf("the key %.80q stands twice, at %d:%d and at %d:%d", name, line1, col1, line2, col2),
	})
}

// text decodes the string token that was just read.
func (p *parser) text(start int) string {
	raw := p.data[start:p.end]
	if bytes.IndexByte(raw, '\\') < 0 {
		return p.src[start+1 : p.end-1]
	}
	// The token was accepted, so that unquoting cannot fail.
	decoded, _ := jsontext.AppendUnquote(nil, raw)
	return string(decoded)
}

// node hands out nodes from blocks, because a manifest has dozens.
func (p *parser) node() *Node {
	if len(p.nodes) == cap(p.nodes) {
		p.nodes = make([]Node, 0, min(max(16, 2*cap(p.nodes)), 256))
	}
	p.nodes = p.nodes[:len(p.nodes)+1]
	return &p.nodes[len(p.nodes)-1]
}

// explain turns an error of the tokenizer at the token that starts at start
// into a fault. Inside a string it looks for the reason itself, because callers
// need to tell a raw control character from bad UTF-8 and from a lone surrogate.
func (p *parser) explain(start int, err error) *Fault {
	f := &Fault{ID: "json.syntax", Offset: start, Text: err.Error()}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		f.Offset = min(int(syntax.ByteOffset), len(p.data))
		f.Pointer = string(syntax.JSONPointer)
		f.Text = syntax.Err.Error()
	}
	// A string is only at fault itself where one was expected; where it was
	// not, the tokenizer points at its first byte.
	if start < len(p.data) && p.data[start] == '"' && f.Offset != start {
		if id, at, text := badString(p.data, start); id != "" {
			f.ID, f.Offset, f.Text = id, at, text
			return f
		}
	}
	if bad := badRune(p.data, f.Offset); bad != nil {
		bad.Pointer = f.Pointer
		return bad
	}
	switch {
	case errors.Is(err, io.EOF) && len(bytes.TrimSpace(p.data)) == 0:
		f.Offset, f.Text = 0, "the document is empty"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		f.Offset, f.Text = len(p.data), "the document ends too early"
	case p.data[f.Offset] == '/':
		f.Text = "comments are not allowed in JSON"
	case p.data[f.Offset] == ',':
		rest := bytes.TrimLeft(p.data[f.Offset+1:], " \t\r\n")
		if len(rest) > 0 && (rest[0] == '}' || rest[0] == ']') {
			f.Text = fmt.Sprintf("a comma may not stand before %q", rest[0])
		}
	}
	return f
}

// badString tells what is wrong inside the string that starts at start; the id
// is empty when nothing is, but for a missing end.
func badString(data []byte, start int) (id string, at int, text string) {
	for i := start + 1; i < len(data); {
		switch c := data[i]; {
		case c == '"':
			return "", 0, ""
		case c < ' ':
			return "json.control", i, fmt.Sprintf("the control character U+%04X must be escaped in a string", c)
		case c == '\\':
			unit, ok := codeUnit(data[i:])
			switch {
			case i+1 < len(data) && data[i+1] != 'u':
				if bytes.IndexByte([]byte(`"\/bfnrt`), data[i+1]) < 0 {
					return "json.syntax", i, "there is no such escape"
				}
				i += 2
			case !ok:
				return "json.syntax", i, "a \\u escape has four hex digits"
			case unit >= 0xD800 && unit <= 0xDBFF:
				if low, ok := codeUnit(data[i+6:]); !ok || low < 0xDC00 || low > 0xDFFF {
					return "json.invalid-surrogate", i, fmt.Sprintf("the surrogate \\u%04x has no second half", unit)
				}
				i += 12
			case unit >= 0xDC00 && unit <= 0xDFFF:
				return "json.invalid-surrogate", i, fmt.Sprintf("the surrogate \\u%04x has no first half", unit)
			default:
				i += 6
			}
		case c < utf8.RuneSelf:
			i++
		default:
			if bad := badRune(data, i); bad != nil {
				return bad.ID, bad.Offset, bad.Text
			}
			_, size := utf8.DecodeRune(data[i:])
			i += size
		}
	}
	return "json.syntax", start, "the string is not closed"
}

// codeUnit reads one \uXXXX escape.
func codeUnit(b []byte) (unit rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		unit = unit<<4 | rune(c)
	}
	return unit, true
}

// badRune gives a fault when the bytes at offset are not UTF-8.
func badRune(data []byte, offset int) *Fault {
	if offset >= len(data) {
		return nil
	}
	if r, size := utf8.DecodeRune(data[offset:]); r == utf8.RuneError && size == 1 {
		return &Fault{
			ID: "json.invalid-utf8", Offset: offset,
			Text: fmt.Sprintf("the byte 0x%02x at offset %d is not UTF-8", data[offset], offset),
		}
	}
	return nil
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
