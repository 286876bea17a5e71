package yamledit

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Quote writes s as a double-quoted YAML scalar on one line. Everything that is
// not printable, or that ends a line for some reader, is escaped; invalid UTF-8
// becomes U+FFFD.
func Quote(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < ' ' || r >= 0x7f && r < 0xa0:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// ReadsAs tells what an unquoted scalar is to some reader of YAML 1.1 or 1.2
// when it is not text to all of them: "true or false", "number", "date" or
// "null". It is empty for text.
func ReadsAs(plain string) string {
	switch strings.ToLower(plain) {
	case "", "~", "null":
		return "null"
	case "true", "false", "yes", "no", "on", "off", "y", "n":
		// Odd spellings such as "yEs" are text to readers; they are counted
		// here because nobody should have to know.
		return "true or false"
	}
	switch {
	case isDate(plain):
		return "date"
	case isNumber(plain):
		return "number"
	}
	return ""
}

// isNumber covers the integers and floats of YAML 1.1 (underscores, base 2, 8,
// 16 and 60) and those of the 1.2 core schema.
func isNumber(s string) bool {
	s = strings.ToLower(s)
	if s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	if s == ".inf" || s == ".nan" {
		return true
	}
	switch {
	case strings.HasPrefix(s, "0x"):
		return len(s) > 2 && strings.Trim(s[2:], "0123456789abcdef_") == ""
	case strings.HasPrefix(s, "0o"):
		return len(s) > 2 && strings.Trim(s[2:], "01234567_") == ""
	case strings.HasPrefix(s, "0b"):
		return len(s) > 2 && strings.Trim(s[2:], "01_") == ""
	}
	if head, exponent, ok := strings.Cut(s, "e"); ok {
		exponent = strings.TrimPrefix(strings.TrimPrefix(exponent, "-"), "+")
		return strings.Contains("0123456789.", head[:min(1, len(head))]) && allDigits(exponent, "") && isDecimal(head)
	}
	if head, rest, ok := strings.Cut(s, ":"); ok {
		if !allDigits(head, "_") {
			return false
		}
		for part := range strings.SplitSeq(rest, ":") {
			whole, _, _ := strings.Cut(part, ".")
			if len(whole) > 2 || !isDecimal(part) {
				return false
			}
		}
		return true
	}
	return isDecimal(s)
}

// isDecimal tells whether s is digits with at most one point in or beside them.
func isDecimal(s string) bool {
	whole, part, point := strings.Cut(s, ".")
	if !point {
		return allDigits(whole, "_")
	}
	if whole == "" {
		return allDigits(part, "_")
	}
	return allDigits(whole, "_") && strings.Trim(part, "0123456789_") == ""
}

// allDigits tells whether s is one digit or more, with any of extra behind the
// first.
func allDigits(s, extra string) bool {
	return s != "" && s[0] >= '0' && s[0] <= '9' && strings.Trim(s, "0123456789"+extra) == ""
}

// isDate covers the timestamps of YAML 1.1, by day and by moment.
func isDate(s string) bool {
	if len(s) < len("2006-1-2") || s[4] != '-' || !allDigits(s[:4], "") {
		return false
	}
	month, rest, ok := strings.Cut(s[5:], "-")
	if !ok || len(month) > 2 || !allDigits(month, "") {
		return false
	}
	day := rest
	if i := strings.IndexAny(rest, "Tt \t"); i >= 0 {
		day = rest[:i]
		if clock := strings.TrimLeft(rest[i:], "Tt \t"); !strings.Contains(clock, ":") || !allDigits(clock[:1], "") {
			return false
		}
	}
	return len(day) <= 2 && allDigits(day, "")
}

// isHex tells whether s could be a digest or the short form of one. Some of
// these are numbers to some readers, so none is left unquoted.
func isHex(s string) bool {
	return len(s) >= 7 && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// safePlain tells whether s means itself without quotes to every reader of YAML,
// in a block mapping.
func safePlain(s string) bool {
	if ReadsAs(s) != "" || isHex(s) || strings.HasSuffix(s, " ") || strings.HasSuffix(s, ":") || strings.Contains(s, ": ") {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '/':
		case i > 0 && strings.IndexByte(" .:+@-", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// Text writes s as a scalar of a block mapping or list: as it is where every
// reader takes that for the same text, else in double quotes.
func Text(s string) string {
	if safePlain(s) {
		return s
	}
	return Quote(s)
}

func validUTF8(set []KeyValue) bool {
	for _, kv := range set {
		if !utf8.ValidString(kv.Key) || !utf8.ValidString(kv.Value) {
			return false
		}
	}
	return true
}
