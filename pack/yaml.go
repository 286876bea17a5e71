package pack

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kortecx/kx/internal/yamledit"
)

// yamlReader judges the YAML of one file and collects what it finds.
type yamlReader struct {
	file     string
	root     *yamledit.Mapping
	faults   Errors
	warnings []*Error
}

// parse reads data and keeps its root, which is nil when the text cannot be
// read.
func (r *yamlReader) parse(data []byte) {
	root, faults, warnings := yamledit.Parse(data)
	r.root = root
	for _, f := range faults {
		r.faults = append(r.faults, r.translate(f))
	}
	for _, w := range warnings {
		r.warnings = append(r.warnings, r.translate(w))
	}
	if root != nil {
		r.controls(root, "")
	}
}

// controls remarks on texts, keys too, with characters that a terminal would obey.
// Escapes in double quotes are how they get here: raw ones are no YAML.
func (r *yamlReader) controls(m *yamledit.Mapping, pointer string) {
	for i := range m.Entries {
		e := &m.Entries[i]
		where := pointerTo(pointer, e.Key)
		if c, ok := terminalControl(e.Key); ok {
			r.warn("terminal-escape", &yamledit.Value{Line: e.Line, Column: e.Column}, where, obeyed(c), "")
		}
		r.valueControls(&e.Value, where)
	}
}

func (r *yamlReader) valueControls(v *yamledit.Value, pointer string) {
	if c, ok := terminalControl(v.Text); ok {
		r.warn("terminal-escape", v, pointer, obeyed(c), "")
	}
	for i := range v.Items {
		r.valueControls(&v.Items[i], pointer+"/"+strconv.Itoa(i))
	}
	if v.Map != nil {
		r.controls(v.Map, pointer)
	}
}

func (r *yamlReader) translate(f *yamledit.Fault) *Error {
	return &Error{
		Kind: KindYAML, ID: f.ID, Text: f.Text, Hint: f.Hint,
		Place: Place{File: r.file, Line: f.Line, Column: f.Column},
	}
}

// at starts a fault or warning about a value.
func (r *yamlReader) at(id string, v *yamledit.Value, pointer, text string) *Error {
	return &Error{
		Kind: KindInvalid, ID: id, Text: text,
		Place: Place{File: r.file, Line: v.Line, Column: v.Column, Pointer: pointer},
	}
}

// Not inlined, for the size of the programs.
//
//go:noinline
func (r *yamlReader) fault(id string, v *yamledit.Value, pointer, text, hint string) {
	if len(r.faults) < maxFaults {
		e := r.at(id, v, pointer, text)
		e.Hint = hint
		r.faults = append(r.faults, e)
	}
}

func (r *yamlReader) warn(id string, v *yamledit.Value, pointer, text, hint string) {
	if len(r.warnings) < maxFaults {
		e := r.at(id, v, pointer, text)
		e.Hint = hint
		r.warnings = append(r.warnings, e)
	}
}

// missing is the fault of a key that is not there; its place is where the
// mapping starts.
func (r *yamlReader) missing(key string) {
	r.fault(key+".missing", r.start(), "/"+key, "there is no "+key, "")
}

// start is the place of the mapping itself.
func (r *yamlReader) start() *yamledit.Value {
	return &yamledit.Value{Line: r.root.Line, Column: r.root.Column}
}

// given is the value of an optional key, nil when it is absent or null.
func (r *yamlReader) given(key string) *yamledit.Value {
	if v := r.root.Get(key); v != nil && v.Kind != yamledit.Null {
		return v
	}
	return nil
}

// scalar gives the text of a value and whether it has one; a list or mapping is
// a fault.
func (r *yamlReader) scalar(id string, v *yamledit.Value, pointer string) (string, bool) {
	switch v.Kind {
	case yamledit.Scalar:
		return v.Text, true
	case yamledit.Sequence, yamledit.Map:
		r.fault(id+".type", v, pointer, fmt.Sprintf("%s must be text, not %s", last(pointer), shape(v)), "")
	}
	return "", false
}

// list gives the texts of a list, none when the key is absent or null.
func (r *yamlReader) list(key string, v *yamledit.Value, pointer string) []string {
	if v == nil {
		return nil
	}
	if v.Kind != yamledit.Sequence {
		hint := ""
		if v.Kind == yamledit.Scalar {
			hint = "write " + last(pointer) + ": [" + yamledit.Text(v.Text) + "]"
		}
		r.fault(key+".type", v, pointer, fmt.Sprintf("%s must be a list, not %s", last(pointer), shape(v)), hint)
		return nil
	}
	out := make([]string, 0, len(v.Items))
	for i := range v.Items {
		item, where := &v.Items[i], pointer+"/"+strconv.Itoa(i)
		switch {
		case item.Kind == yamledit.Sequence || item.Kind == yamledit.Map:
			r.fault(key+".type", item, where, fmt.Sprintf("an item of %s must be text, not %s", last(pointer), shape(item)), "")
		case item.Kind == yamledit.Null || strings.TrimSpace(item.Text) == "":
			r.fault(key+".empty", item, where, "an item of "+last(pointer)+" is empty", "")
		default:
			out = append(out, item.Text)
		}
	}
	return out
}

// quotedForm shows the entry as it must be written to be text to every reader.
func quotedForm(key string, v *yamledit.Value) string {
	return "write " + key + ": " + yamledit.Quote(v.Text)
}

func shape(v *yamledit.Value) string {
	switch v.Kind {
	case yamledit.Sequence:
		return "a list"
	case yamledit.Map:
		return "a mapping"
	case yamledit.Scalar:
		return "a single value"
	}
	return "empty"
}

// last is the final name in a pointer.
func last(pointer string) string {
	return pointer[strings.LastIndexByte(pointer, '/')+1:]
}

// pointerTo appends a key to a JSON pointer, escaped as RFC 6901 says.
func pointerTo(pointer, key string) string {
	return pointer + "/" + strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}
