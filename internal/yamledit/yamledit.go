// Package yamledit reads the small YAML that manifests and frontmatter are
// written in, and changes single values of it without touching another byte.
//
// It is not a YAML decoder: it gives the text of every scalar and never a typed
// value, because the readers of these files disagree about types (YAML 1.1 or
// 1.2) and a checksum of 64 digits must stay 64 digits. What two readers could
// understand differently is refused: anchors, aliases, merge keys, tags,
// directives, duplicate keys, a second document, and line breaks that only
// YAML 1.1 knows.
//
// Call Parse to read, SetScalars to edit.
package yamledit

import "fmt"

// Limits on what is read.
const (
	MaxBytes = 64 << 10 // bytes of the whole text
	MaxDepth = 32       // mappings and lists inside each other, the outermost included
	MaxNodes = 10000    // scalars, lists and mappings together, keys included
)

// The ids of faults, and of the one warning.
const (
	IDSyntax        = "yaml.syntax"
	IDAlias         = "yaml.alias"
	IDDuplicateKey  = "yaml.duplicate-key"
	IDMultiDocument = "yaml.multi-document"
	IDTag           = "yaml.tag"
	IDDepth         = "yaml.depth"
	IDInvalidUTF8   = "yaml.invalid-utf8"
	IDTooLarge      = "yaml.too-large"
	IDNotMapping    = "yaml.not-mapping"
	IDBOM           = "yaml.bom" // a warning
)

// Fault is one reason why a text is not read, or one remark about it. Line and
// Column count from 1, columns in bytes and without a byte order mark; zero
// means the whole text.
type Fault struct {
	ID     string
	Line   int
	Column int
	Text   string // lower case, no full stop
	Hint   string // what to write instead, where that is known

	fix *splice // set when the hint can be applied by itself
}

// Error gives place and text; the hint is left to printers.
func (f *Fault) Error() string {
	if f.Line == 0 {
		return f.Text
	}
	return fmt.Sprintf("%d:%d: %s", f.Line, f.Column, f.Text)
}

// Kind is the shape of a value.
type Kind uint8

// The kinds of value. Null is a value that is absent or an unquoted null or ~.
const (
	Null Kind = iota
	Scalar
	Sequence
	Map
)

// Style is how a value is written.
type Style uint8

// The styles. A list or mapping is Plain when it is written in lines and Flow
// when it is written in brackets.
const (
	Plain Style = iota
	SingleQuoted
	DoubleQuoted
	Literal // |
	Folded  // >
	Flow
)

// Value is one value with its place. Line and Column count as in Fault.
type Value struct {
	Kind   Kind
	Style  Style
	Text   string // of a scalar: its content, never typed; of a null: what was written
	Line   int
	Column int
	Offset int      // of its first byte in the text that was parsed
	Items  []Value  // of a sequence
	Map    *Mapping // of a mapping
}

// ReadsAs tells what some reader of YAML takes v for when it is an unquoted
// scalar that is not text to all of them; see the function of the same name.
func (v *Value) ReadsAs() string {
	if v.Kind == Null {
		return "null"
	}
	if v.Kind != Scalar || v.Style != Plain {
		return ""
	}
	return ReadsAs(v.Text)
}

// Entry is one key of a mapping with its value. Line, Column and Offset are
// those of the key.
type Entry struct {
	Key    string
	Line   int
	Column int
	Offset int
	Value  Value

	keyStyle Style
}

// Mapping is keys and values in the order in which they are written.
type Mapping struct {
	Entries []Entry
	Style   Style // Plain or Flow
	Line    int
	Column  int
	Offset  int
}

// Get gives the value of key, or nil when the mapping does not have it. Of a
// key that is there twice (a fault) it is the first. A nil mapping has no keys.
func (m *Mapping) Get(key string) *Value {
	if e := m.Entry(key); e != nil {
		return &e.Value
	}
	return nil
}

// Entry gives the first entry of key with the place of the key itself, or nil.
func (m *Mapping) Entry(key string) *Entry {
	if m == nil {
		return nil
	}
	for i := range m.Entries {
		if m.Entries[i].Key == key {
			return &m.Entries[i]
		}
	}
	return nil
}
