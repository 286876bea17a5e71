// Package strictjson reads JSON by the strictest rules that its grammar allows:
// one document, valid UTF-8, no byte order mark, no lone surrogate, no member
// named twice, no nesting beyond MaxDepth. Other parsers let some of these pass,
// each in its own way, so that two programs read two things out of one file.
//
// Parse gives a tree with the offset of every value and name, for grammars that
// must say where a fault is. Unmarshal and UnmarshalLax fill Go values; unlike
// encoding/json they match member names by case. Nothing here evaluates a
// number: its literal is kept, so 1e999999999 costs nothing.
//
// It is not an encoder; AppendString only writes the one string form that
// canonical documents use.
package strictjson
