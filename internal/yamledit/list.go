package yamledit

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// AddItem gives data with item as the last one of the list at path: keys of
// mappings, and in a list the number of an item, counted from 0. Mappings and the
// list are made where they are missing. Of item only Kind, Text, Items and Map count;
// texts are written as SetScalars writes them. Everything else, comments included,
// stays byte for byte.
//
// The result has been parsed again and differs from data in this only. The error is
// a *Fault when data cannot be read, and wraps ErrEdit when it cannot be edited.
func AddItem(data []byte, path []string, item Value) ([]byte, error) {
	return editList(data, path, -1, &item)
}

// ReplaceItem is AddItem for the item with the number at in the list at path, whose
// place and lines the new one takes; nil removes it. Comments inside of the old item
// go with it.
func ReplaceItem(data []byte, path []string, at int, item *Value) ([]byte, error) {
	if at < 0 {
		return nil, fmt.Errorf("%w: no item has the number %d", ErrEdit, at)
	}
	return editList(data, path, at, item)
}

func editList(data []byte, path []string, at int, item *Value) ([]byte, error) {
	before, faults, _ := Parse(data)
	if len(faults) > 0 {
		return nil, faults[0]
	}
	e := &listEditor{editor: editor{source: newSource(data), root: before}}
	want, splices, err := e.plan(path, at, item)
	if err != nil {
		return nil, err
	}
	after := apply(data, splices)
	got, faults, _ := Parse(after)
	if len(faults) > 0 || !alike(&Value{Kind: Map, Map: got}, &want) {
		return nil, fmt.Errorf("%w: its layout is too unusual; write the list with one item a line", ErrEdit)
	}
	return after, nil
}

// listEditor plans changes of one list.
type listEditor struct{ editor }

var errNoItem = fmt.Errorf("%w: there is no such item", ErrEdit)

// plan gives the tree that shall come out, and how to get there.
func (e *listEditor) plan(path []string, at int, item *Value) (Value, []splice, error) {
	want := deepCopy(Value{Kind: Map, Map: e.root})
	here, there := &Value{Kind: Map, Map: e.root, Style: e.root.Style, Offset: e.root.Offset}, &want
	var holder *Entry // the key that here is the value of, where it is one
	for i, step := range path {
		switch here.Kind {
		case Map:
			entry := here.Map.Entry(step)
			if entry == nil || entry.Value.Kind == Null && entry.Value.Text == "" {
				if at >= 0 {
					return want, nil, errNoItem
				}
				value := nest(path[i+1:], *item)
				if entry == nil {
					there.Map.Entries = append(there.Map.Entries, Entry{Key: step, Value: value})
					splices, err := e.newKey(here, step, value)
					return want, splices, err
				}
				there.Map.Entry(step).Value = value
				if here.Style == Flow {
					return want, nil, fmt.Errorf("%w: %q on line %d has no value", ErrEdit, step, entry.Line)
				}
				return want, e.insert(entry.Line, render(value, entry.Column-1+indentStep)), nil
			}
			holder, here, there = entry, &entry.Value, &there.Map.Entry(step).Value
		case Sequence:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(here.Items) {
				return want, nil, errNoItem
			}
			holder, here, there = nil, &here.Items[n], &there.Items[n]
		default:
			return want, nil, fmt.Errorf("%w: line %d holds %s, not a list", ErrEdit, here.Line, here.Kind.words())
		}
	}
	if here.Kind != Sequence {
		return want, nil, fmt.Errorf("%w: line %d holds %s, not a list", ErrEdit, here.Line, here.Kind.words())
	}
	if at >= len(here.Items) {
		return want, nil, errNoItem
	}
	switch {
	case at < 0:
		there.Items = append(there.Items, deepCopy(*item))
	case item == nil:
		there.Items = slices.Delete(there.Items, at, at+1)
	default:
		there.Items[at] = deepCopy(*item)
	}
	if here.Style == Flow {
		splices, err := e.inBrackets(here, holder, at, item)
		return want, splices, err
	}
	splices, err := e.inLines(here, holder, at, item)
	return want, splices, err
}

const indentStep = 2

// nest is a list of one item below the keys of path.
func nest(path []string, item Value) Value {
	value := Value{Kind: Sequence, Items: []Value{deepCopy(item)}}
	for _, key := range slices.Backward(path) {
		value = Value{Kind: Map, Map: &Mapping{Entries: []Entry{{Key: key, Value: value}}}}
	}
	return value
}

// newKey adds a key to a mapping.
func (e *listEditor) newKey(parent *Value, key string, value Value) ([]splice, error) {
	if parent.Style == Flow {
		return e.beforeEnd(parent.Offset, Quote(key)+": "+flow(value))
	}
	indent := strings.Repeat(" ", parent.Map.Column-1)
	lines := append([]string{indent + Text(key) + ":"}, render(value, parent.Map.Column-1+indentStep)...)
	end := parent.Map.Line - 1
	if n := len(parent.Map.Entries); n > 0 {
		end = e.lastLineOf(&parent.Map.Entries[n-1].Value, parent.Map.Entries[n-1].Line)
	}
	return e.insert(end, lines), nil
}

// insert puts lines behind line n.
func (e *listEditor) insert(n int, lines []string) []splice {
	eol := e.lineEnd()
	text := strings.Join(lines, eol)
	if n < len(e.lines) {
		return []splice{{start: e.lines[n], end: e.lines[n], text: text + eol}}
	}
	return []splice{{start: len(e.data), end: len(e.data), text: eol + text}}
}

// lastLineOf is the last line of a value; line is that of its key, for one that is
// empty. An unquoted text on several lines is not followed: the comparison finds it.
func (e *listEditor) lastLineOf(v *Value, line int) int {
	switch {
	case v.Kind == Null && v.Text == "":
		return line
	case v.Style == Flow:
		if end := flowEnd(e.data, v.Offset); end > 0 {
			line, _ = e.position(end - 1)
		}
		return line
	case v.Kind == Map && len(v.Map.Entries) > 0:
		last := &v.Map.Entries[len(v.Map.Entries)-1]
		return e.lastLineOf(&last.Value, last.Line)
	case v.Kind == Sequence && len(v.Items) > 0:
		last := &v.Items[len(v.Items)-1]
		return e.lastLineOf(last, last.Line)
	case v.Style == SingleQuoted || v.Style == DoubleQuoted:
		if end := quotedEnd(e.data, v.Offset); end > 0 {
			line, _ = e.position(end - 1)
		}
		return line
	}
	return v.Line
}

// inLines changes a list that has one item a line, or several lines for one.
func (e *listEditor) inLines(list *Value, holder *Entry, at int, item *Value) ([]splice, error) {
	dash := func(i int) int {
		line := e.line(list.Items[i].Line)
		return len(line) - len(bytes.TrimLeft(line, " "))
	}
	first := max(at, 0)
	if len(list.Items) == 0 || dash(first) >= len(e.line(list.Items[first].Line)) || e.line(list.Items[first].Line)[dash(first)] != '-' {
		return nil, fmt.Errorf("%w: the list on line %d is laid out unusually", ErrEdit, list.Line)
	}
	var lines []string
	if item != nil {
		lines = render(Value{Kind: Sequence, Items: []Value{*item}}, dash(first))
	}
	if at < 0 {
		return e.insert(e.lastLineOf(list, list.Line), lines), nil
	}
	from, to := list.Items[at].Line, e.lastLineOf(&list.Items[at], list.Items[at].Line)
	end := len(e.data)
	if to < len(e.lines) {
		end = e.lines[to]
	}
	cut := splice{start: e.lines[from-1], end: end}
	if len(lines) > 0 {
		cut.text = strings.Join(lines, e.lineEnd())
		if to < len(e.lines) {
			cut.text += e.lineEnd()
		}
		return []splice{cut}, nil
	}
	if end == len(e.data) && e.data[end-1] != '\n' {
		cut.start -= len(e.lineEnd()) // it was the end of a text without a final newline
	}
	if len(list.Items) > 1 {
		return []splice{cut}, nil
	}
	// A key without a value is no list any more.
	if holder == nil {
		return nil, fmt.Errorf("%w: the list on line %d would be empty", ErrEdit, list.Line)
	}
	empty, ok := e.emptySpan(holder)
	if !ok {
		return nil, fmt.Errorf("%w: the list on line %d would be empty", ErrEdit, list.Line)
	}
	empty[0].text = " []"
	return []splice{empty[0], cut}, nil
}

// inBrackets changes a list that is written as [a, b]. An empty one that is the
// value of a key of its own is written in lines from then on.
func (e *listEditor) inBrackets(list *Value, holder *Entry, at int, item *Value) ([]splice, error) {
	end := flowEnd(e.data, list.Offset)
	if end < 0 {
		return nil, fmt.Errorf("%w: the list on line %d does not end", ErrEdit, list.Line)
	}
	if at < 0 {
		if start := e.lines[list.Line-1]; len(list.Items) == 0 && holder != nil && e.inBlock(holder) && e.line(list.Line)[holder.Column-1] != '"' {
			from := list.Offset
			for from > start && e.data[from-1] == ' ' {
				from--
			}
			lines := render(Value{Kind: Sequence, Items: []Value{*item}}, holder.Column-1+indentStep)
			return append([]splice{{start: from, end: end}}, e.insert(list.Line, lines)...), nil
		}
		return e.beforeEnd(list.Offset, flow(*item))
	}
	one := &list.Items[at]
	till := e.endInBrackets(one)
	switch {
	case item != nil:
		return []splice{{start: one.Offset, end: till, text: flow(*item)}}, nil
	case at+1 < len(list.Items):
		return []splice{{start: one.Offset, end: list.Items[at+1].Offset}}, nil
	case at > 0:
		return []splice{{start: e.endInBrackets(&list.Items[at-1]), end: till}}, nil
	}
	return []splice{{start: one.Offset, end: till}}, nil
}

// inBlock tells whether a key stands in lines: nothing but blanks, or the dash of an
// item, is before it.
func (e *listEditor) inBlock(entry *Entry) bool {
	return len(bytes.Trim(e.line(entry.Line)[:entry.Column-1], " -")) == 0 && entry.Value.Line == entry.Line
}

// endInBrackets is behind the last byte of a value in brackets.
func (e *listEditor) endInBrackets(v *Value) int {
	switch {
	case v.Style == Flow:
		return flowEnd(e.data, v.Offset)
	case v.Style == SingleQuoted || v.Style == DoubleQuoted:
		return quotedEnd(e.data, v.Offset)
	}
	return v.Offset + len(v.Text)
}

// beforeEnd adds text as the last element of the brackets that open at start.
func (e *listEditor) beforeEnd(start int, text string) ([]splice, error) {
	end := flowEnd(e.data, start)
	if end < 0 {
		return nil, fmt.Errorf("%w: brackets do not end", ErrEdit)
	}
	last := start // the last byte before the bracket that is no blank or comment
	for i := start; i < end-1; i = flowNext(e.data, i) {
		if c := e.data[i]; strings.IndexByte(" \t\r\n", c) < 0 && !startsComment(e.data, i) {
			last = flowNext(e.data, i) - 1
		}
	}
	switch e.data[last] {
	case '{', '[':
		if last != start {
			text = ", " + text
		}
	case ',':
		text = " " + text
	default:
		text = ", " + text
	}
	return []splice{{start: last + 1, end: last + 1, text: text}}, nil
}

// render writes a list or mapping in lines, without their ends.
func render(v Value, indent int) []string {
	margin := strings.Repeat(" ", indent)
	var out []string
	switch {
	case v.Kind == Sequence:
		for _, item := range v.Items {
			if !inLines(item) {
				out = append(out, margin+"- "+one(item))
				continue
			}
			lines := render(item, indent+indentStep)
			lines[0] = margin + "- " + strings.TrimLeft(lines[0], " ")
			out = append(out, lines...)
		}
	case v.Kind == Map:
		for _, entry := range v.Map.Entries {
			if !inLines(entry.Value) {
				out = append(out, margin+Text(entry.Key)+": "+one(entry.Value))
				continue
			}
			out = append(append(out, margin+Text(entry.Key)+":"), render(entry.Value, indent+indentStep)...)
		}
	}
	return out
}

// inLines tells whether a value takes lines of its own.
func inLines(v Value) bool {
	return v.Kind == Sequence && len(v.Items) > 0 || v.Kind == Map && len(v.Map.Entries) > 0
}

// one is a value on the line of its key.
func one(v Value) string {
	if v.Kind == Scalar {
		return Text(v.Text)
	}
	return flow(v)
}

// flow writes a value in brackets and quotes.
func flow(v Value) string {
	var parts []string
	switch v.Kind {
	case Scalar:
		return Quote(v.Text)
	case Sequence:
		for _, item := range v.Items {
			parts = append(parts, flow(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case Map:
		for _, entry := range v.Map.Entries {
			parts = append(parts, Quote(entry.Key)+": "+flow(entry.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "null"
}

func deepCopy(v Value) Value {
	v.Items = slices.Clone(v.Items)
	for i := range v.Items {
		v.Items[i] = deepCopy(v.Items[i])
	}
	if v.Map != nil {
		m := *v.Map
		m.Entries = slices.Clone(m.Entries)
		for i := range m.Entries {
			m.Entries[i].Value = deepCopy(m.Entries[i].Value)
		}
		v.Map = &m
	}
	return v
}

// alike compares two values without their places and styles.
func alike(a, b *Value) bool {
	if a.Kind != b.Kind || a.Text != b.Text || len(a.Items) != len(b.Items) {
		return false
	}
	for i := range a.Items {
		if !alike(&a.Items[i], &b.Items[i]) {
			return false
		}
	}
	if a.Kind != Map {
		return true
	}
	return slices.EqualFunc(a.Map.Entries, b.Map.Entries, func(x, y Entry) bool {
		return x.Key == y.Key && alike(&x.Value, &y.Value)
	})
}
