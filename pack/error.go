package pack

import (
	"fmt"
	"strings"
)

// Kind is the class of a refusal. The first four are the words of the kortecx
// reference, which tools print and compare; Yaml is ours, for the two formats
// whose manifest is YAML.
type Kind string

// The kinds of refusal.
const (
	KindInvalid Kind = "Invalid" // a value or structure that the grammar forbids
	KindJSON    Kind = "Json"    // not JSON, or not the shape that the manifest has
	KindSchema  Kind = "Schema"  // the schema tag is not one that we read
	KindPack    Kind = "Pack"    // the folder or one of its files
	KindYAML    Kind = "Yaml"    // not the YAML subset that manifests may use
)

// Place says where in a pack something was seen. Line and Column count from 1,
// columns in bytes; zero means that the whole file (or folder) is meant.
type Place struct {
	File    string // relative to the pack, with "/"; empty for the folder itself
	Line    int
	Column  int
	Pointer string // JSON pointer (RFC 6901) into the manifest, where there is one
}

// String writes the place as file:line:column, as far as it is known. It does
// not escape control characters; printers do.
func (p Place) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
		if p.Column > 0 {
			fmt.Fprintf(&b, ":%d", p.Column)
		}
	}
	if b.Len() == 0 {
		return p.Pointer
	}
	return b.String()
}

// Error is one fault of a pack, or one warning about it.
type Error struct {
	Kind  Kind
	ID    string // stable machine id such as "json.duplicate-key"
	Place Place
	Text  string // lower case, no full stop
	Hint  string // what to do, where we know it; may be empty
}

// Error gives place and text; the hint is left to printers.
func (e *Error) Error() string {
	if at := e.Place.String(); at != "" {
		return at + ": " + e.Text
	}
	return e.Text
}

// Errors is every fault that was found, the one that the reference would have
// reported first at index 0.
type Errors []*Error

// Error gives the first fault and how many more there are.
func (e Errors) Error() string {
	switch len(e) {
	case 0:
		return "no fault"
	case 1:
		return e[0].Error()
	}
	return fmt.Sprintf("%v (and %d more)", e[0], len(e)-1)
}

// Unwrap lets errors.As find the first fault.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, fault := range e {
		out[i] = fault
	}
	return out
}
