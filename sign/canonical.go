package sign

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/internal/strictjson"
)

// KazmaCanonicalJSON writes v as the Kazma registry writes a manifest before it
// takes the checksum of it: keys sorted by code point, ", " and ": " between
// things, text unescaped except where JSON demands it, numbers as Python prints
// them. It takes what a JSON decoder gives (nil, bool, string, float64,
// json.Number, []any, map[string]any), Go's integers, and lists and maps of
// strings. NaN, infinities, text that is not UTF-8 and more than
// strictjson.MaxDepth levels are errors.
func KazmaCanonicalJSON(v any) ([]byte, error) {
	return appendCanonical(nil, v, 0)
}

func appendCanonical(dst []byte, v any, depth int) ([]byte, error) {
	if depth > strictjson.MaxDepth {
		return nil, refuse(IDFormat, "more than %d levels of nesting", strictjson.MaxDepth)
	}
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case string:
		return appendCanonicalString(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case uint64:
		return strconv.AppendUint(dst, v, 10), nil
	case float64:
		return appendPythonFloat(dst, v)
	case json.Number:
		return appendPythonNumber(dst, string(v))
	case []string:
		return appendList(dst, v, depth)
	case []any:
		return appendList(dst, v, depth)
	case map[string]string:
		return appendObject(dst, v, depth)
	case map[string]any:
		return appendObject(dst, v, depth)
	}
	return nil, refuse(IDFormat, "%T has no canonical form", v)
}

func appendList[E any](dst []byte, list []E, depth int) ([]byte, error) {
	dst = append(dst, '[')
	for i, e := range list {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		var err error
		if dst, err = appendCanonical(dst, e, depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func appendObject[E any](dst []byte, object map[string]E, depth int) ([]byte, error) {
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(object)) {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		var err error
		if dst, err = appendCanonicalString(dst, name); err != nil {
			return nil, err
		}
		dst = append(dst, ": "...)
		if dst, err = appendCanonical(dst, object[name], depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendCanonicalString(dst []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, refuse(IDFormat, "text that is not valid UTF-8 has no canonical form")
	}
	return strictjson.AppendString(dst, s), nil
}

// maxPythonDigits is the length at which Python refuses to read an int.
const maxPythonDigits = 4300

// appendPythonNumber writes a JSON number as Python does after reading it: what has
// a fraction or an exponent became a float, everything else an int of any size.
func appendPythonNumber(dst []byte, literal string) ([]byte, error) {
	if strings.ContainsAny(literal, ".eE") {
		f, err := strconv.ParseFloat(literal, 64)
		if err != nil {
			return nil, &Error{ID: IDFormat, Text: fmt.Sprintf("number %q has no canonical form", literal), Err: err}
		}
		return appendPythonFloat(dst, f)
	}
	if len(literal) <= maxPythonDigits {
		if n, ok := new(big.Int).SetString(literal, 10); ok {
			return n.Append(dst, 10), nil
		}
	}
	return nil, refuse(IDFormat, "number %.40q has no canonical form", literal)
}

// appendPythonFloat is Python's repr: the shortest digits that read back the same,
// with an exponent outside 1e-4 to 1e16, and always a sign that it is a float.
func appendPythonFloat(dst []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, refuse(IDFormat, "a number that is not finite has no canonical form")
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64), nil
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if !strings.Contains(string(dst[start:]), ".") {
		dst = append(dst, ".0"...)
	}
	return dst, nil
}
