package conformance

import (
	"bytes"
	"sort"

	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/pack"
)

// mendJSON gives a manifest the layout in which the reference exports one: two
// spaces of indent, keys ascending by bytes, one newline at the end.
func mendJSON(data []byte) ([]byte, []string, []*pack.Error) {
	rest, notes := withoutMark(data)
	root, faults := strictjson.Parse(rest)
	if len(faults) > 0 {
		var left []*pack.Error
		for _, f := range faults {
			line, column := strictjson.Position(rest, f.Offset)
			left = append(left, &pack.Error{
				Kind: pack.KindJSON, ID: f.ID, Text: f.Text,
				Place: pack.Place{Line: line, Column: column, Pointer: f.Pointer},
			})
		}
		return rest, notes, left
	}
	out := append(appendNode(make([]byte, 0, len(rest)+64), root, 0), '\n')
	if !bytes.Equal(out, rest) {
		notes = append(notes, "canonical layout: sorted keys, two spaces of indent, one newline at the end")
	}
	return out, notes, nil
}

// appendNode writes a value whose line starts at a depth.
func appendNode(dst []byte, n *strictjson.Node, depth int) []byte {
	switch n.Kind {
	case strictjson.String:
		return strictjson.AppendString(dst, n.Text)
	case strictjson.Array:
		dst = append(dst, '[')
		for i, e := range n.Elems {
			dst = appendBreak(dst, i, depth+1)
			dst = appendNode(dst, e, depth+1)
		}
		return append(appendEnd(dst, len(n.Elems), depth), ']')
	case strictjson.Object:
		members := append([]strictjson.Member(nil), n.Members...)
		sort.SliceStable(members, func(i, k int) bool { return members[i].Name < members[k].Name })
		dst = append(dst, '{')
		for i, m := range members {
			dst = appendBreak(dst, i, depth+1)
			dst = append(strictjson.AppendString(dst, m.Name), ':', ' ')
			dst = appendNode(dst, m.Value, depth+1)
		}
		return append(appendEnd(dst, len(members), depth), '}')
	}
	return append(dst, n.Text...)
}

// appendBreak starts the line of element i.
func appendBreak(dst []byte, i, depth int) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	dst = append(dst, '\n')
	for range depth {
		dst = append(dst, ' ', ' ')
	}
	return dst
}

// appendEnd starts the line of the closing bracket; an empty one stays on its
// line.
func appendEnd(dst []byte, n, depth int) []byte {
	if n == 0 {
		return dst
	}
	dst = append(dst, '\n')
	for range depth {
		dst = append(dst, ' ', ' ')
	}
	return dst
}
