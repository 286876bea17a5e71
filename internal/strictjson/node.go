package strictjson

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// MaxDepth is how deep objects and arrays may nest. The runtime that reads the
// same manifests stops at 128; staying far below it means that there is no
// document which only one of us can read for its depth.
const MaxDepth = 32

// MaxNodes is how many values the tree of one document may have. The largest that
// we write or read, the marker of a full folder, has a hundredth of it.
const MaxNodes = 1 << 18

// maxFaults bounds how many faults are collected for one document, so that a
// hostile one cannot make megabytes of complaints out of kilobytes.
const maxFaults = 100

// Kind is the JSON type of a Node.
type Kind byte

// The JSON types.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String gives the word that messages use for the type.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "a boolean"
	case Number:
		return "a number"
	case String:
		return "a string"
	case Array:
		return "an array"
	case Object:
		return "an object"
	}
	return "nothing"
}

// Node is one JSON value with its place in the document.
type Node struct {
	Kind    Kind
	Offset  int      // of its first byte
	End     int      // just behind its last byte
	Text    string   // String: decoded; Number, Bool and Null: as written
	Elems   []*Node  // of an Array
	Members []Member // of an Object, in the document's order
}

// Member is one name and value of an object.
type Member struct {
	Name       string // decoded
	NameOffset int    // of the opening quote
	Value      *Node
}

// Get gives the last member called name, or nil. Last, because that is what
// lenient readers of a document with duplicates see.
func (n *Node) Get(name string) *Node {
	for i := len(n.Members) - 1; i >= 0; i-- {
		if n.Members[i].Name == name {
			return n.Members[i].Value
		}
	}
	return nil
}

// Fault is one reason why a document is refused.
type Fault struct {
	ID      string // json.syntax, json.control, json.duplicate-key and so on
	Offset  int    // byte offset into the document
	Pointer string // RFC 6901, as far as the place is known
	Text    string // lower case, no full stop
}

// Error gives the text behind the pointer.
func (f *Fault) Error() string {
	if f.Pointer == "" {
		return f.Text
	}
	return f.Pointer + ": " + f.Text
}

// Child extends an RFC 6901 pointer by one name.
func Child(pointer, name string) string {
	if strings.ContainsAny(name, "~/") {
		name = strings.ReplaceAll(name, "~", "~0")
		name = strings.ReplaceAll(name, "/", "~1")
	}
	return pointer + "/" + name
}

// Position turns an offset into a line and a column, both from 1, the column in
// bytes. An offset behind the end means the end.
func Position(data []byte, offset int) (line, column int) {
	offset = min(max(offset, 0), len(data))
	line = 1 + bytes.Count(data[:offset], []byte{'\n'})
	column = offset - bytes.LastIndexByte(data[:offset], '\n')
	return line, column
}

// AppendString appends s as a JSON string with only what must be escaped
// escaped: the quote, the backslash and U+0000 to U+001F, with the short forms
// where JSON has one and lower-case hex otherwise. Bytes that are not UTF-8
// become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}
