package yamledit

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// CoreJSON writes m as the JSON that a reader of YAML 1.2 with its core schema
// makes of it: 010 is ten, 2026-01-02, yes and 1_000 are text, 1e3 is a number. It
// refuses what has no JSON: infinities, what is not a number, and keys that are not
// text.
func (m *Mapping) CoreJSON() ([]byte, error) {
	return m.appendCore(nil)
}

func (m *Mapping) appendCore(out []byte) ([]byte, error) {
	out = append(out, '{')
	for i := range m.Entries {
		e := &m.Entries[i]
		if i > 0 {
			out = append(out, ',')
		}
		if e.keyStyle == Plain && coreScalar(e.Key) != coreText {
			return nil, &Fault{Line: e.Line, Column: e.Column, Text: fmt.Sprintf("the key %s is not text", e.Key), Hint: "put it in quotes"}
		}
		out = appendText(out, e.Key)
		out = append(out, ':')
		var err error
		if out, err = e.Value.appendCore(out); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

func (v *Value) appendCore(out []byte) ([]byte, error) {
	switch v.Kind {
	case Map:
		return v.Map.appendCore(out)
	case Sequence:
		out = append(out, '[')
		for i := range v.Items {
			if i > 0 {
				out = append(out, ',')
			}
			var err error
			if out, err = v.Items[i].appendCore(out); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	case Null:
		return append(out, "null"...), nil
	}
	if v.Style != Plain {
		return appendText(out, v.Text), nil
	}
	switch coreScalar(v.Text) {
	case coreNull:
		return append(out, "null"...), nil
	case coreBool:
		return append(out, strings.ToLower(v.Text)...), nil
	case coreInt:
		return append(out, coreInteger(v.Text)...), nil
	case coreFloat:
		f, err := strconv.ParseFloat(v.Text, 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, &Fault{Line: v.Line, Column: v.Column, Text: fmt.Sprintf("%s is no number that JSON has", v.Text), Hint: "put it in quotes"}
		}
		return strconv.AppendFloat(out, f, 'g', -1, 64), nil
	}
	return appendText(out, v.Text), nil
}

func appendText(out []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil { // a string can always be written
		panic(err)
	}
	return append(out, text...)
}

// coreKind is what the core schema makes of an unquoted scalar.
type coreKind uint8

const (
	coreText coreKind = iota
	coreNull
	coreBool
	coreInt
	coreFloat
)

// coreScalar follows the table of YAML 1.2.2, 10.3.2.
func coreScalar(s string) coreKind {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return coreNull
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return coreBool
	case ".nan", ".NaN", ".NAN":
		return coreFloat
	}
	for prefix, digits := range map[string]string{"0o": "01234567", "0x": "0123456789abcdefABCDEF"} {
		if rest, ok := strings.CutPrefix(s, prefix); ok && rest != "" && strings.Trim(rest, digits) == "" {
			return coreInt
		}
	}
	number := s
	if number[0] == '-' || number[0] == '+' {
		number = number[1:]
	}
	switch number {
	case ".inf", ".Inf", ".INF":
		return coreFloat
	}
	const digits = "0123456789"
	rest := strings.TrimLeft(number, digits)
	whole := len(number) - len(rest)
	if rest == "" && whole > 0 {
		return coreInt
	}
	if after, ok := strings.CutPrefix(rest, "."); ok {
		rest = strings.TrimLeft(after, digits)
		if whole == 0 && len(rest) == len(after) {
			return coreText
		}
	} else if whole == 0 {
		return coreText
	}
	if rest == "" {
		return coreFloat
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return coreText
	}
	exponent := rest[1:]
	if exponent != "" && (exponent[0] == '-' || exponent[0] == '+') {
		exponent = exponent[1:]
	}
	if exponent == "" || strings.Trim(exponent, digits) != "" {
		return coreText
	}
	return coreFloat
}

// coreInteger writes an integer in digits, however large it is.
func coreInteger(s string) string {
	base, number := 10, s
	switch {
	case strings.HasPrefix(s, "0o"):
		base, number = 8, s[2:]
	case strings.HasPrefix(s, "0x"):
		base, number = 16, s[2:]
	}
	n, ok := new(big.Int).SetString(number, base)
	if !ok { // coreScalar saw the digits
		panic("not an integer: " + s)
	}
	if n.Sign() == 0 && s[0] == '-' {
		return "-0"
	}
	return n.String()
}
