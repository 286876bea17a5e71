package strictjson

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Unmarshal fills v from one document by the rules of Parse. Names are matched
// by case, members that v does not know are refused, and null is refused where
// v has no way to hold it (it is fine for pointers, slices, maps and
// interfaces). The error is a *Fault wherever the document is to blame.
func Unmarshal(data []byte, v any) error { return unmarshal(data, v, true) }

// maxLaxNodes is how many values UnmarshalLax fills v from, those passed over not
// counted but for their names. The fullest answer of a hub, an inbox of 200 releases
// with 20 findings each, has half as many.
const maxLaxNodes = 1 << 16

// UnmarshalLax is Unmarshal but passes over members that v does not know. It is
// for answers of a hub that may be newer than we are, or hostile: what is passed
// over costs no memory, and the rest is bounded (json.too-many).
func UnmarshalLax(data []byte, v any) error { return unmarshal(data, v, false) }

// Elements reads an array, or the array called name of an object, as UnmarshalLax does,
// and gives the text of each element: parts of data, which may be large. Null has none,
// and neither has an object without that member.
func Elements(data []byte, name string) (elements [][]byte, err error) {
	root, faults := parse(data, maxLaxNodes, reflect.TypeFor[[]jsontext.Value]())
	if root != nil && root.Kind == Object {
		root, faults = parse(data, maxLaxNodes, reflect.TypeFor[map[string][]jsontext.Value]())
		if root != nil {
			root = root.Get(name)
		}
	}
	switch {
	case len(faults) > 0:
		return nil, faults[0]
	case root == nil || root.Kind == Null:
		return nil, nil
	case root.Kind != Array:
		return nil, &Fault{ID: "json.type", Offset: root.Offset, Text: "expected an array, found " + root.Kind.String()}
	}
	elements = make([][]byte, len(root.Elems))
	for i, e := range root.Elems {
		elements[i] = data[e.Offset:e.End:e.End]
	}
	return elements, nil
}

func unmarshal(data []byte, v any, known bool) error {
	t := reflect.TypeOf(v)
	if filled(data, v, known) {
		return nil
	}
	var root *Node
	var faults []*Fault
	if known || t == nil {
		root, faults = Parse(data)
	} else {
		root, faults = parse(data, maxLaxNodes, t)
	}
	if len(faults) > 0 {
		return faults[0]
	}
	if t != nil && t.Kind() == reflect.Pointer {
		if fault := make(fieldTypes).refuse(root, t.Elem(), ""); fault != nil {
			return fault
		}
	}
	err := json.Unmarshal(data, v, json.RejectUnknownMembers(known), jsontext.AllowDuplicateNames(true))
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		return explainSemantic(root, semantic)
	}
	return err
}

// filled fills v, which was empty, if it is plain that nothing is wrong with the
// document, as it is with nearly all: to find out what is wrong, and where, takes four
// times as long. Otherwise v stays empty.
func filled(data []byte, v any, known bool) bool {
	to := reflect.ValueOf(v)
	if to.Kind() != reflect.Pointer || to.IsNil() || !to.Elem().IsZero() || !plain(data, maxLaxNodes) {
		return false
	}
	if json.Unmarshal(data, v, json.RejectUnknownMembers(known)) == nil {
		return true
	}
	to.Elem().SetZero()
	return false
}

// plain tells whether a document has no null, does not nest too deep and has no more
// than most values, if it is one that the decoder accepts: those three are what the
// decoder does not look at.
func plain(data []byte, most int) bool {
	depth, values := 0, 1
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			values++
			if depth > MaxDepth {
				return false
			}
		case '}', ']':
			depth--
		case ',':
			values++
		case 'n':
			return false
		}
	}
	return values <= most
}

// explainSemantic finds the value that the error is about in the tree, because
// the decoder's own offset may be that of the space before it.
func explainSemantic(root *Node, err *json.SemanticError) *Fault {
	f := &Fault{ID: "json.type", Offset: int(err.ByteOffset), Pointer: string(err.JSONPointer)}
	value, name := find(root, err.JSONPointer)
	switch {
	case errors.Is(err, json.ErrUnknownName):
		f.ID = "json.unknown-field"
		f.Text = fmt.Sprintf("the key %.80q is not known here", err.JSONPointer.LastToken())
		if name >= 0 {
			f.Offset = name
		}
		return f
	case value == nil:
		f.Text = "the value does not fit"
	case err.Err != nil:
		f.Offset = value.Offset
		f.Text = fmt.Sprintf("the value does not fit: %v", err.Err)
	default:
		f.Offset = value.Offset
		f.Text = fmt.Sprintf("expected %s, got %s", wanted(err.GoType), value.Kind)
	}
	return f
}

// find follows a pointer; name is the offset of the last name on the way, or -1.
func find(n *Node, pointer jsontext.Pointer) (value *Node, name int) {
	name = -1
	for token := range pointer.Tokens() {
		switch n.Kind {
		case Array:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(n.Elems) {
				return nil, -1
			}
			n, name = n.Elems[i], -1
		case Object:
			i := len(n.Members) - 1
			for i >= 0 && n.Members[i].Name != token {
				i--
			}
			if i < 0 {
				return nil, -1
			}
			n, name = n.Members[i].Value, n.Members[i].NameOffset
		default:
			return nil, -1
		}
	}
	return n, name
}

func wanted(t reflect.Type) string {
	if t == nil {
		return "another value"
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return Bool.String()
	case reflect.String:
		return String.String()
	case reflect.Struct, reflect.Map:
		return Object.String()
	case reflect.Slice, reflect.Array:
		return Array.String()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
		return Number.String()
	}
	return "another value"
}

// fieldTypes keeps the fields of the struct types that one document needs, because
// finding them is slow and lists repeat them.
type fieldTypes map[reflect.Type]map[string]reflect.Type

// refuse finds a null that the decoder would turn into a zero value without a
// word. Types that decode themselves are not looked into.
func (c fieldTypes) refuse(n *Node, t reflect.Type, pointer string) *Fault {
	switch t.Kind() {
	case reflect.Pointer:
		if n.Kind == Null {
			return nil
		}
		return c.refuse(n, t.Elem(), pointer)
	case reflect.Interface:
		return nil
	case reflect.Slice, reflect.Map:
		if n.Kind == Null {
			return nil
		}
	}
	if n.Kind == Null {
		return &Fault{
			ID: "json.null", Offset: n.Offset, Pointer: pointer,
			Text: fmt.Sprintf("expected %s, got null", wanted(t)),
		}
	}
	if decodesItself(t) {
		return nil
	}
	switch {
	case n.Kind == Array && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array):
		for i, elem := range n.Elems {
			if f := c.refuse(elem, t.Elem(), pointer+"/"+strconv.Itoa(i)); f != nil {
				return f
			}
		}
	case n.Kind == Object && t.Kind() == reflect.Map:
		for _, m := range n.Members {
			if f := c.refuse(m.Value, t.Elem(), Child(pointer, m.Name)); f != nil {
				return f
			}
		}
	case n.Kind == Object && t.Kind() == reflect.Struct:
		for _, m := range n.Members {
			if field := c.of(t)[m.Name]; field != nil {
				if f := c.refuse(m.Value, field, Child(pointer, m.Name)); f != nil {
					return f
				}
			}
		}
	}
	return nil
}

func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[json.UnmarshalerFrom]())
}

// of gives the types of a struct's fields by the names that the decoder
// fills them from.
func (c fieldTypes) of(t reflect.Type) map[string]reflect.Type {
	if fields, known := c[t]; known {
		return fields
	}
	fields := make(map[string]reflect.Type, t.NumField())
	for _, field := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || tag == "-" || field.Anonymous && tag == "" {
			continue
		}
		if tag == "" {
			tag = field.Name
		}
		if _, taken := fields[tag]; !taken {
			fields[tag] = field.Type
		}
	}
	c[t] = fields
	return fields
}
