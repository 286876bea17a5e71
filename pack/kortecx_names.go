package pack

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of the kortecx grammar, in bytes.
const (
	maxName   = 64
	maxToolID = 128
)

// ValidName tells why name may not be the name of a kortecx pack, or nil: 1 to
// 64 bytes out of a-z, 0-9, dot, underscore and hyphen. Other than the
// reference we refuse "." and "..", which are no names on any disk.
func ValidName(name string) *Error {
	if faults := nameFaults(name); len(faults) > 0 {
		return faults[0]
	}
	return nil
}

// nameFaults lists what is wrong with a name, its length first because the
// reference looks at that first.
func nameFaults(name string) []*Error {
	var faults []*Error
	if name == "" || len(name) > maxName {
		faults = append(faults, &Error{
			Kind: KindInvalid, ID: "name.length",
			Text: fmt.Sprintf("skill.name is %d bytes long, 1 to %d are allowed", len(name), maxName),
		})
	}
	if i := outsideCharset(name); i >= 0 {
		faults = append(faults, &Error{
			Kind: KindInvalid, ID: "name.charset",
			Text: fmt.Sprintf("skill.name %s has %s; a-z, 0-9, '.', '_' and '-' are allowed", quoted(name), runeAt(name, i)),
		})
	}
	if name == "." || name == ".." {
		faults = append(faults, &Error{
			Kind: KindInvalid, ID: "name.reserved",
			Text: fmt.Sprintf("skill.name %q is what every disk calls a folder itself or its parent", name),
		})
	}
	return faults
}

// ValidToolID tells why id may not name a tool that a pack wishes for, or nil:
// one segment for a bundled tool, connector/tool for one of a connector, 128
// bytes in all, the bytes of a name in each segment. Other than the reference
// we refuse the segments "." and "..".
func ValidToolID(id string) *Error {
	why := ""
	first, second, two := strings.Cut(id, "/")
	switch {
	case len(id) > maxToolID:
		why = fmt.Sprintf("is %d bytes long, %d are allowed", len(id), maxToolID)
	case strings.Contains(second, "/"):
		why = "has more than one '/'"
	case first == "" || two && second == "":
		why = "has an empty segment"
	case first == "." || first == ".." || second == "." || second == "..":
		why = `has a segment "." or ".."`
	default:
		segments := first + second
		i := outsideCharset(segments)
		if i < 0 {
			return nil
		}
		why = "has " + runeAt(segments, i) + "; a-z, 0-9, '.', '_' and '-' are allowed"
	}
	return &Error{Kind: KindInvalid, ID: "tool.grammar", Text: fmt.Sprintf("skill.tools key %s %s", quoted(id), why)}
}

// ValidVersion tells why v may not be the version of a kortecx pack or of a tool
// wish, or nil: an unsigned 64-bit integer as text, with one plus sign and
// leading zeros allowed, as the reference reads it.
func ValidVersion(v string) *Error {
	if id, why := versionFault(v); id != "" {
		return &Error{Kind: KindInvalid, ID: id, Text: "skill.version " + quoted(v) + " " + why}
	}
	return nil
}

func versionFault(v string) (id, why string) {
	digits := strings.TrimPrefix(v, "+")
	if digits == "" {
		return "version.not-integer", "is not an integer such as \"1\""
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return "version.not-integer", "is not an integer such as \"1\""
		}
	}
	if _, err := strconv.ParseUint(digits, 10, 64); err != nil {
		return "version.range", fmt.Sprintf("is above %d", uint64(math.MaxUint64))
	}
	return "", ""
}

// canonicalVersion tells whether a valid version is written the short way.
func canonicalVersion(v string) bool {
	return v[0] != '+' && (v[0] != '0' || len(v) == 1)
}

// outsideCharset gives the index of the first byte that names may not have, or -1.
func outsideCharset(s string) int {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return i
		}
	}
	return -1
}

// runeAt names the character at i for a message.
func runeAt(s string, i int) string {
	r, _ := utf8.DecodeRuneInString(s[i:])
	if r > ' ' && r < 0x7f {
		return strconv.QuoteRune(r)
	}
	return fmt.Sprintf("U+%04X", r)
}

// quoted shows a piece of a pack in a message: safe for a terminal, and never
// longer than a line.
func quoted(s string) string {
	if short := clipped(s); short != s {
		return strconv.Quote(short) + "…"
	}
	return strconv.Quote(s)
}

func clipped(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}
