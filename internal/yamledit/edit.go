package yamledit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kortecx/kx/internal/sorting"
)

// KeyValue is one top-level key and the text that it shall have.
type KeyValue struct {
	Key   string
	Value string
}

// splice replaces the bytes from start to end of a text.
type splice struct {
	start, end int
	text       string
}

// apply makes all splices, which must not overlap.
func apply(data []byte, splices []splice) []byte {
	sorting.Stable(splices, func(a, b splice) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, sp := range splices {
		out = append(append(out, data[at:sp.start]...), sp.text...)
		at = sp.end
	}
	return append(out, data[at:]...)
}

// ErrEdit is the class of refusals by SetScalars that are not faults of the
// text: a value that is a list, a layout that cannot be edited in place.
var ErrEdit = errors.New("cannot edit this YAML in place")

// SetScalars gives data with every key of set at the top level of the mapping
// having its value. A key that is there keeps its place; others are appended in
// the order of set. Comments, order, line ends, a byte order mark and a missing
// final newline stay as they are. Values are double-quoted when some reader
// could take them for something other than text; hex digits always are.
//
// The result has been parsed again and differs from data in these keys only.
// The error is a *Fault when data cannot be read, and wraps ErrEdit when it can
// be read but not edited.
func SetScalars(data []byte, set []KeyValue) ([]byte, error) {
	before, faults, _ := Parse(data)
	if len(faults) > 0 {
		return nil, faults[0]
	}
	if err := checkSet(set); err != nil {
		return nil, err
	}
	e := editor{source: newSource(data), root: before}
	if err := e.plan(set); err != nil {
		return nil, err
	}
	if len(e.splices) == 0 && len(e.added) == 0 {
		return bytes.Clone(data), nil
	}
	// New lines go to the end. Behind a block scalar without a final newline
	// they would give it one, so then they go above the last key and its
	// comments, or between these when they are the text of another block.
	for _, place := range []func() (splice, bool){e.atEnd, e.aboveComments, e.aboveLast} {
		splices := slices.Clone(e.splices)
		if len(e.added) > 0 {
			sp, ok := place()
			if !ok {
				continue
			}
			splices = append(splices, sp)
		}
		after := apply(data, splices)
		if sameExcept(before, after, set) {
			return after, nil
		}
	}
	return nil, fmt.Errorf("%w: its layout is too unusual; write one \"key: value\" a line", ErrEdit)
}

func checkSet(set []KeyValue) error {
	if !validUTF8(set) {
		return fmt.Errorf("%w: the new text is not UTF-8", ErrEdit)
	}
	seen := make(map[string]bool, len(set))
	for _, kv := range set {
		if kv.Key == "" || kv.Key == "<<" || seen[kv.Key] {
			return fmt.Errorf("%w: key %q is empty, reserved or given twice", ErrEdit, kv.Key)
		}
		seen[kv.Key] = true
	}
	return nil
}

type editor struct {
	*source
	root    *Mapping
	splices []splice
	added   []KeyValue
}

// plan collects what to replace and what to add.
func (e *editor) plan(set []KeyValue) error {
	for _, kv := range set {
		i := slices.IndexFunc(e.root.Entries, func(old Entry) bool { return old.Key == kv.Key })
		if i < 0 {
			e.added = append(e.added, kv)
			continue
		}
		old := &e.root.Entries[i].Value
		quoted := old.Style != Plain || e.root.Style == Flow
		if old.Kind == Scalar && old.Text == kv.Value && (quoted || safePlain(kv.Value)) {
			continue
		}
		if old.Kind == Sequence || old.Kind == Map {
			return fmt.Errorf("%w: %q on line %d holds %s, not a single value", ErrEdit, kv.Key, old.Line, old.Kind.words())
		}
		spans, ok := e.spans(i)
		if !ok {
			return fmt.Errorf("%w: cannot tell where the value of %q on line %d ends; write it as %q on one line",
				ErrEdit, kv.Key, old.Line, kv.Key+": value")
		}
		if quoted {
			spans[0].text += Quote(kv.Value)
		} else {
			spans[0].text += Text(kv.Value)
		}
		e.splices = append(e.splices, spans...)
	}
	return nil
}

// lineEnd is what lines of the text end in.
func (e *editor) lineEnd() string {
	if bytes.Contains(e.data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// addedLines writes the new entries, each as a line without its end.
func (e *editor) addedLines() []string {
	out := make([]string, len(e.added))
	for i, kv := range e.added {
		out[i] = strings.Repeat(" ", e.root.Column-1) + Text(kv.Key) + ": " + Text(kv.Value)
	}
	return out
}

// atEnd places the new entries behind everything else.
func (e *editor) atEnd() (splice, bool) {
	if e.root.Style == Flow {
		return e.beforeBracket()
	}
	at, eol := e.contentEnd(), e.lineEnd()
	text := strings.Join(e.addedLines(), eol)
	if at == 0 || e.data[at-1] == '\n' {
		text += eol
	} else {
		text = eol + text
	}
	return splice{start: at, end: at, text: text}, true
}

// aboveComments places the new entries above the last key and the comment lines
// that touch it.
func (e *editor) aboveComments() (splice, bool) {
	n := e.lastLine()
	for n > 1 && bytes.HasPrefix(bytes.TrimLeft(e.line(n-1), " "), []byte("#")) {
		n--
	}
	return e.above(n)
}

// aboveLast places the new entries directly above the last key.
func (e *editor) aboveLast() (splice, bool) {
	return e.above(e.lastLine())
}

// lastLine is the line of the last key, 0 without one.
func (e *editor) lastLine() int {
	if len(e.root.Entries) == 0 {
		return 0
	}
	return e.root.Entries[len(e.root.Entries)-1].Line
}

func (e *editor) above(line int) (splice, bool) {
	if e.root.Style == Flow || line == 0 {
		return splice{}, false
	}
	at, eol := e.lines[line-1], e.lineEnd()
	return splice{start: at, end: at, text: strings.Join(e.addedLines(), eol) + eol}, true
}

// beforeBracket places the new entries before the bracket that closes a mapping
// written as {a: b}.
func (e *editor) beforeBracket() (splice, bool) {
	end := flowEnd(e.data, e.root.Offset)
	if end < 0 {
		return splice{}, false
	}
	last := e.root.Offset // the last byte before the bracket that is no blank or comment
	for i := e.root.Offset; i < end-1; i = flowNext(e.data, i) {
		if c := e.data[i]; strings.IndexByte(" \t\r\n", c) < 0 && !startsComment(e.data, i) {
			last = flowNext(e.data, i) - 1
		}
	}
	var b strings.Builder
	for i, kv := range e.added {
		if i > 0 || strings.IndexByte("{,", e.data[last]) < 0 {
			b.WriteString(",")
		}
		if i > 0 || e.data[last] != '{' {
			b.WriteString(" ")
		}
		b.WriteString(Quote(kv.Key) + ": " + Quote(kv.Value))
	}
	return splice{start: last + 1, end: last + 1, text: b.String()}, true
}

// sameExcept parses after and compares it with before, where the keys of set
// must have their values and everything else must be as it was.
func sameExcept(before *Mapping, after []byte, set []KeyValue) bool {
	m, faults, _ := Parse(after)
	if len(faults) > 0 {
		return false
	}
	left := make(map[string]string, len(set))
	for _, kv := range set {
		left[kv.Key] = kv.Value
	}
	old := make(map[string]*Value, len(before.Entries))
	var order []string
	for i := range before.Entries {
		old[before.Entries[i].Key] = &before.Entries[i].Value
		order = append(order, before.Entries[i].Key)
	}
	var kept []string
	for i := range m.Entries {
		entry := &m.Entries[i]
		was, had := old[entry.Key]
		if had {
			kept = append(kept, entry.Key)
		}
		if want, ours := left[entry.Key]; ours {
			if entry.Value.Kind != Scalar || entry.Value.Text != want {
				return false
			}
			delete(left, entry.Key)
			continue
		}
		if !had || !sameValue(was, &entry.Value) {
			return false
		}
	}
	return len(left) == 0 && slices.Equal(order, kept)
}

func sameValue(a, b *Value) bool {
	if a.Kind != b.Kind || a.Style != b.Style || a.Text != b.Text || len(a.Items) != len(b.Items) {
		return false
	}
	for i := range a.Items {
		if !sameValue(&a.Items[i], &b.Items[i]) {
			return false
		}
	}
	if a.Kind != Map {
		return true
	}
	return slices.EqualFunc(a.Map.Entries, b.Map.Entries, func(x, y Entry) bool {
		return x.Key == y.Key && sameValue(&x.Value, &y.Value)
	})
}
