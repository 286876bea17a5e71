package yamledit

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v4"
)

// maxFaults bounds what one text can make us say.
const maxFaults = 20

// Parse reads one YAML document whose root is a mapping. A leading --- and a
// closing ... are fine.
//
// The faults are in the order of their places. With faults other than duplicate
// keys the mapping is nil; with duplicate keys it holds both, so that callers
// can report what else is wrong. The only warning is a byte order mark.
func Parse(data []byte) (m *Mapping, faults, warnings []*Fault) {
	if len(data) > MaxBytes {
		return nil, []*Fault{{ID: IDTooLarge, Text: fmt.Sprintf("%d bytes of YAML, the limit is %d", len(data), MaxBytes)}}, nil
	}
	s := newSource(data)
	if s.base > 0 {
		warnings = []*Fault{{
			ID: IDBOM, Line: 1, Column: 1,
			Text: "the text starts with a byte order mark", Hint: "save it as UTF-8 without BOM",
		}}
	}
	m, faults = s.parse()
	return m, faults, warnings
}

func (s *source) parse() (*Mapping, []*Fault) {
	for _, check := range []func() *Fault{s.checkText, s.checkDirectives} {
		if f := check(); f != nil {
			return nil, []*Fault{f}
		}
	}
	if m := s.plain(); m != nil {
		return m, nil
	}
	return s.any()
}

// any reads every text that passed the checks.
func (s *source) any() (*Mapping, []*Fault) {
	root, second, err := load(s.text())
	if err != nil {
		return nil, []*Fault{s.explain(err)}
	}
	if root == nil {
		return nil, []*Fault{{ID: IDNotMapping, Text: "there is nothing but comments and blank lines where a mapping is needed"}}
	}
	if second != nil {
		f := s.fault(IDMultiDocument, s.offset(second.Line, second.Column), "a second YAML document starts here")
		f.Hint = "keep one document; a --- line is allowed only before the first key"
		return nil, []*Fault{f}
	}
	w := walker{source: s}
	v := w.value(root, 1)
	if w.only(IDDuplicateKey) && v.Kind != Map {
		w.add(s.fault(IDNotMapping, v.Offset, "found "+v.Kind.words()+" where a mapping (key: value) is needed"))
	}
	if !w.only(IDDuplicateKey) {
		return nil, w.faults
	}
	return v.Map, w.faults
}

func (k Kind) words() string {
	switch k {
	case Scalar:
		return "a single value"
	case Sequence:
		return "a list"
	case Map:
		return "a mapping"
	}
	return "nothing"
}

// errDepth stops the library as soon as nesting is certain to be too deep: it
// would go on to 10,000, at quadratic cost.
var errDepth = errors.New("nesting is too deep")

type limits struct{}

func (limits) CheckDepth(depth int, _ *yaml.DepthContext) error {
	if depth > MaxDepth {
		return errDepth
	}
	return nil
}

// CheckAlias has nothing to count: nodes do not expand aliases, and the walk
// refuses the first one.
func (limits) CheckAlias(_, _ int) error { return nil }

var errPanic = errors.New("the YAML reader cannot cope with this text")

// load gives the content of the first document, nil when there is none, and the
// second document when there is one.
func load(text []byte) (root, second *yaml.Node, err error) {
	defer func() {
		if recover() != nil {
			root, second, err = nil, nil, errPanic
		}
	}()
	loader, err := yaml.NewLoader(bytes.NewReader(text), yaml.WithPlugin(limits{}), yaml.WithUniqueKeys(false))
	if err != nil {
		return nil, nil, err
	}
	var first, next yaml.Node
	if err := loader.Load(&first); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil, nil
		}
		return nil, nil, err
	}
	if first.Kind != yaml.DocumentNode || len(first.Content) != 1 {
		return nil, nil, errPanic
	}
	switch err := loader.Load(&next); {
	case errors.Is(err, io.EOF):
		return first.Content[0], nil, nil
	case err != nil:
		return nil, nil, err
	}
	return first.Content[0], &next, nil
}

// walker turns the library's nodes into values and refuses what manifests may
// not use.
type walker struct {
	*source
	nodes  int
	faults []*Fault
	full   bool // no more is said or read
}

func (w *walker) add(f *Fault) {
	if len(w.faults) == maxFaults {
		w.full = true
		return
	}
	w.faults = append(w.faults, f)
}

// only tells whether every fault so far has this id.
func (w *walker) only(id string) bool {
	for _, f := range w.faults {
		if f.ID != id {
			return false
		}
	}
	return true
}

func (w *walker) value(n *yaml.Node, depth int) Value {
	v := Value{Offset: w.offset(n.Line, n.Column)}
	v.Line, v.Column = w.position(v.Offset)
	if w.nodes++; w.nodes > MaxNodes && !w.full {
		w.add(w.fault(IDTooLarge, v.Offset, fmt.Sprintf("more than %d values", MaxNodes)))
		w.full = true
	}
	if w.full || !w.allowed(n, v.Offset) {
		return v
	}
	switch n.Kind {
	case yaml.ScalarNode:
		v.Kind, v.Style, v.Text = Scalar, scalarStyle(n.Style), n.Value
		if v.Style == Plain && n.Tag == "!!null" {
			v.Kind = Null
		}
	case yaml.SequenceNode, yaml.MappingNode:
		if n.Style&yaml.FlowStyle != 0 {
			v.Style = Flow
		}
		if depth > MaxDepth {
			w.add(w.fault(IDDepth, v.Offset, tooDeep()))
			w.full = true
			return v
		}
		if n.Kind == yaml.MappingNode {
			v.Kind, v.Map = Map, w.mapping(n, &v, depth)
			return v
		}
		v.Kind, v.Items = Sequence, make([]Value, len(n.Content))
		for i, item := range n.Content {
			v.Items[i] = w.value(item, depth+1)
		}
	}
	return v
}

func (w *walker) mapping(n *yaml.Node, at *Value, depth int) *Mapping {
	m := &Mapping{Style: at.Style, Line: at.Line, Column: at.Column, Offset: at.Offset}
	m.Entries = make([]Entry, 0, len(n.Content)/2)
	first := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content) && !w.full; i += 2 {
		said := len(w.faults)
		key := w.value(n.Content[i], depth+1)
		switch {
		case len(w.faults) > said:
			continue
		case key.Kind == Sequence || key.Kind == Map:
			w.add(w.fault(IDSyntax, key.Offset, "a key must be a word, not "+key.Kind.words()))
			continue
		case key.Kind == Null && key.Text == "":
			w.add(w.fault(IDSyntax, key.Offset, "there is no key before the colon"))
			continue
		case key.Style == Plain && key.Text == "<<":
			w.add(w.fault(IDAlias, key.Offset, "merge keys (<<) are not read here"))
			continue
		}
		e := Entry{Key: key.Text, Line: key.Line, Column: key.Column, Offset: key.Offset, keyStyle: key.Style}
		if before, twice := first[e.Key]; twice {
			old := m.Entries[before]
			w.add(w.fault(IDDuplicateKey, e.Offset,
				fmt.Sprintf("key %q is here twice, on line %d and on line %d", e.Key, old.Line, e.Line)))
		} else {
			first[e.Key] = len(m.Entries)
		}
		e.Value = w.value(n.Content[i+1], depth+1)
		m.Entries = append(m.Entries, e)
	}
	return m
}

// allowed refuses what makes a value depend on something other than its own
// text.
func (w *walker) allowed(n *yaml.Node, offset int) bool {
	id, text := "", ""
	switch {
	case n.Kind == yaml.AliasNode:
		id, text = IDAlias, fmt.Sprintf("alias *%s: aliases are not read here", n.Value)
	case n.Anchor != "":
		id, text = IDAlias, fmt.Sprintf("anchor &%s: anchors are not read here", n.Anchor)
	case n.Style&yaml.TaggedStyle != 0 || n.Tag == "!":
		id, text = IDTag, fmt.Sprintf("tag %s: tags are not read here", n.Tag)
	default:
		return true
	}
	f := w.fault(id, offset, text)
	w.suggestQuotes(f, offset)
	w.add(f)
	return false
}

func scalarStyle(s yaml.Style) Style {
	switch {
	case s&yaml.DoubleQuotedStyle != 0:
		return DoubleQuoted
	case s&yaml.SingleQuotedStyle != 0:
		return SingleQuoted
	case s&yaml.LiteralStyle != 0:
		return Literal
	case s&yaml.FoldedStyle != 0:
		return Folded
	}
	return Plain
}

func tooDeep() string {
	return fmt.Sprintf("more than %d lists and mappings inside each other", MaxDepth)
}
