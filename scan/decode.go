package scan

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/url"
	"strings"
	"unicode/utf8"
)

// What is decoded of one report.
const (
	maxLayers  = 3
	maxDecoded = 64 << 10 // bytes of all layers of one document
	minEncoded = 20       // characters, below which an encoding hides nothing
	maxBlobs   = 400      // encoded texts that are looked at in one document
)

// encoded looks for encoded text in a document and scans what it holds.
func (s *scanner) encoded(d *document) {
	budget := maxDecoded
	blobs := 0
	for _, b := range findEncoded(d.data, d.kinds) {
		if blobs++; blobs > maxBlobs || budget <= 0 {
			return
		}
		s.layer(d, b.text, b.at, b.how, 1, &budget)
	}
}

// layer decodes one text and scans it, and what is encoded in it.
func (s *scanner) layer(d *document, encoded string, at int, how string, depth int, budget *int) {
	// Half of what is left, so that something is left for what is inside.
	limit := *budget / 2
	if most := limit / 3 * 4; how == "base64" && len(encoded) > most {
		encoded = encoded[:most]
	}
	plain, ok := decodeBlob(encoded, how, limit)
	if !ok {
		return
	}
	*budget -= len(plain)
	if !s.child(d, plain, at, "payload.encoded", how) && executable(plain) {
		severity := Medium
		if depth > 1 || strings.Contains(plain, "://") {
			severity = High
		}
		s.add(d, s.set.rule("payload.encoded"), s.quotedBy(d, at, severity), at, plain, "")
	}
	inner := findEncoded([]byte(plain), kindsOf(plain))
	if len(inner) == 0 {
		return
	}
	if depth == maxLayers {
		// Nobody encodes a text four times without something to hide.
		if len(inner[0].text)*2 > len(plain) {
			r := s.set.rule("payload.nested")
			s.add(d, r, High, at, inner[0].text[:min(len(inner[0].text), 40)], "")
		}
		return
	}
	for i, b := range inner {
		if i == 8 || *budget <= 0 {
			return
		}
		s.layer(d, b.text, at, b.how, depth+1, budget)
	}
}

// blob is a stretch of text that may be encoded.
type blob struct {
	at   int
	text string
	how  string
}

// findEncoded lists what looks like base64, hex, escapes or percent encoding in a text
// that has bytes of some kinds.
func findEncoded(raw []byte, kinds class) []blob {
	var out []blob
	for i := 0; i < len(raw); {
		if kinds&codeByte == 0 {
			if i = nextLongRun(raw, i); i == len(raw) {
				break
			}
		}
		c := raw[i]
		switch {
		case c == '\\' && i+3 < len(raw) && raw[i+1] == 'x':
			n := repeated(raw[i:], `\x`, 2)
			if n >= 6*4 {
				out = append(out, blob{i, string(raw[i : i+n]), "hex escapes"})
			}
			i += max(n, 1)
		case c == '\\' && i+5 < len(raw) && raw[i+1] == 'u':
			n := repeated(raw[i:], `\u`, 4)
			if n >= 5*6 {
				out = append(out, blob{i, string(raw[i : i+n]), "unicode escapes"})
			}
			i += max(n, 1)
		case c == '%' && i+2 < len(raw) && hexDigit(raw[i+1]) >= 0 && hexDigit(raw[i+2]) >= 0:
			n := percentRun(raw[i:])
			if n >= 15 {
				out = append(out, blob{i, string(raw[i : i+n]), "percent encoding"})
			}
			i += max(n, 1)
		case isBase64(c):
			n := base64Run(raw[i:])
			if n >= minEncoded && plausible(raw[i:i+n]) {
				how := "base64"
				if hexOnly(raw[i : i+n]) {
					how = "hex"
				}
				out = append(out, blob{i, string(raw[i : i+n]), how})
			}
			i += n
		default:
			i++
		}
	}
	if bytes.IndexByte(raw, '[') < 0 && !bytes.Contains(raw, []byte("fromCharCode(")) {
		return out // no list of numbers
	}
	if numbers := charCodes(raw); numbers != nil {
		out = append(out, *numbers)
	} else if bytes.Contains(raw, []byte("fromCharCode")) || bytes.Contains(raw, []byte("chr")) {
		if numbers := numberList(raw); numbers != nil {
			out = append(out, *numbers)
		}
	}
	return out
}

// nextLongRun is the first offset from i on at which a run of the base64 alphabet, with
// its = at the end, may be long enough to be looked at. In prose one look at every
// twentieth byte tells that there is none.
func nextLongRun(raw []byte, i int) int {
	for i+minEncoded <= len(raw) {
		end := i + minEncoded
		at := end - 1
		for at >= i && (isBase64(raw[at]) || raw[at] == '=') {
			at--
		}
		if at < i {
			return i
		}
		i = at + 1
	}
	return len(raw)
}

// repeated is the length of a run of prefix followed by hex digits.
func repeated(s []byte, prefix string, digits int) int {
	n := 0
	for bytes.HasPrefix(s[n:], []byte(prefix)) && n+len(prefix)+digits <= len(s) {
		for _, c := range s[n+len(prefix) : n+len(prefix)+digits] {
			if hexDigit(c) < 0 {
				return n
			}
		}
		n += len(prefix) + digits
	}
	return n
}

// percentRun is the length of a text in which at least every third character is
// percent-encoded.
func percentRun(s []byte) int {
	n, plain, last := 0, 0, 0
	for n < len(s) {
		switch c := s[n]; {
		case c == '%' && n+2 < len(s) && hexDigit(s[n+1]) >= 0 && hexDigit(s[n+2]) >= 0:
			n += 3
			plain, last = 0, n
		case isWord(c) || c == '.' || c == '-' || c == '/':
			if plain++; plain > 2 {
				return last
			}
			n++
		default:
			return last
		}
	}
	return last
}

// base64Run is the length of a run of the base64 alphabet. A line end within it
// is passed over when the lines are long, as encoders break them.
func base64Run(s []byte) int {
	n, line := 0, 0
	for n < len(s) {
		c := s[n]
		switch {
		case isBase64(c):
			n++
			line++
		case c == '=':
			for n < len(s) && s[n] == '=' {
				n++
			}
			return n
		case c == '\n' && line >= 48:
			m := n + 1
			for m < len(s) && (s[m] == ' ' || s[m] == '\t') {
				m++
			}
			if m >= len(s) || !isBase64(s[m]) {
				return n
			}
			n, line = m, 0
		default:
			return n
		}
	}
	return n
}

// plausible tells whether a run of the alphabet may be an encoded text and no
// word, path or identifier.
func plausible(s []byte) bool {
	if hexOnly(s) {
		return len(s)%2 == 0 && len(s) >= 24
	}
	upper, lower, digit, slash := 0, 0, 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case 'A' <= c && c <= 'Z':
			upper++
		case 'a' <= c && c <= 'z':
			lower++
		case '0' <= c && c <= '9':
			digit++
		case c == '/' || c == '-' || c == '_':
			slash++
		}
	}
	if slash*6 > len(s) {
		return false
	}
	return upper > 1 && lower > 1 && (digit > 0 || upper*6 > len(s))
}

func hexOnly(s []byte) bool {
	for i := range len(s) {
		if hexDigit(s[i]) < 0 {
			return false
		}
	}
	return true
}

// charCodes finds the first list of decimal character codes that spells a text.
func charCodes(raw []byte) *blob {
	at := bytes.Index(raw, []byte("fromCharCode("))
	if at < 0 {
		if at = bytes.Index(raw, []byte("bytes([")); at < 0 {
			if at = bytes.Index(raw, []byte("bytearray([")); at < 0 {
				return nil
			}
		}
	}
	start := at + bytes.IndexByte(raw[at:], '(') + 1
	end := bytes.IndexAny(raw[start:], ")]")
	if end < 0 || end < 15 || end > maxDecoded {
		return nil
	}
	return &blob{at, string(raw[start : start+end]), "character codes"}
}

// numberList finds a list of numbers that a program turns into characters
// elsewhere.
func numberList(raw []byte) *blob {
	for at := 0; ; {
		i := bytes.IndexByte(raw[at:], '[')
		if i < 0 {
			return nil
		}
		at += i + 1
		end := at
		for end < len(raw) && end-at <= maxDecoded && (raw[end] >= '0' && raw[end] <= '9' || raw[end] == ',' || raw[end] == ' ' || raw[end] == '\n') {
			end++
		}
		if end-at >= 40 && end < len(raw) && raw[end] == ']' {
			return &blob{at, string(raw[at:end]), "character codes"}
		}
		at = end
	}
}

// decodeBlob decodes a text, and tells whether the result is text too.
func decodeBlob(text, how string, limit int) (string, bool) {
	var out []byte
	switch how {
	case "hex":
		out, _ = hex.DecodeString(text)
	case "hex escapes":
		out, _ = hex.DecodeString(strings.ReplaceAll(text, `\x`, ""))
	case "unicode escapes":
		for i := 0; i+6 <= len(text); i += 6 {
			b, err := hex.DecodeString(text[i+2 : i+6])
			if err != nil {
				return "", false
			}
			out = utf8.AppendRune(out, rune(b[0])<<8|rune(b[1]))
		}
	case "percent encoding":
		s, err := url.PathUnescape(text)
		if err != nil {
			return "", false
		}
		out = []byte(s)
	case "character codes":
		for f := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' || r == '[' || r == '\n' }) {
			n := 0
			for _, c := range []byte(f) {
				if c < '0' || c > '9' || n > 255 {
					return "", false
				}
				n = n*10 + int(c-'0')
			}
			out = append(out, byte(n))
		}
	case "base64":
		out = decodeBase64(text)
	}
	out = inflate(out, limit)
	if len(out) > limit || len(out) < 6 {
		return "", false
	}
	if wide := utf16Text(out); wide != "" {
		return wide, true
	}
	return string(out), printable(string(out))
}

func decodeBase64(text string) []byte {
	text = strings.Map(func(r rune) rune {
		switch r {
		case '\n', ' ', '\t', '=':
			return -1
		case '-':
			return '+'
		case '_':
			return '/'
		}
		return r
	}, text)
	if len(text)%4 == 1 {
		text = text[:len(text)-1]
	}
	out, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return out
}

// inflate opens what was compressed before it was encoded, as far as limit.
func inflate(data []byte, limit int) []byte {
	if len(data) < 12 {
		return data
	}
	var r io.Reader
	var err error
	switch {
	case data[0] == 0x1f && data[1] == 0x8b:
		r, err = gzip.NewReader(bytes.NewReader(data))
	case data[0] == 0x78 && (data[1] == 0x9c || data[1] == 0xda || data[1] == 0x01 || data[1] == 0x5e):
		r, err = zlib.NewReader(bytes.NewReader(data))
	default:
		return data
	}
	if err != nil {
		return data
	}
	out, err := io.ReadAll(io.LimitReader(r, int64(limit)))
	if err != nil && len(out) == 0 {
		return data
	}
	return out
}

// utf16Text reads UTF-16 without a mark, as PowerShell encodes its commands.
func utf16Text(data []byte) string {
	if len(data) < 12 || len(data)%2 != 0 {
		return ""
	}
	out := make([]byte, 0, len(data)/2)
	for i := 0; i < len(data); i += 2 {
		if data[i+1] != 0 {
			return ""
		}
		out = append(out, data[i])
	}
	if !printable(string(out)) {
		return ""
	}
	return string(out)
}

// printable tells whether decoded bytes are text.
func printable(s string) bool {
	if s == "" || !utf8.ValidString(s) {
		return false
	}
	odd := 0
	for _, r := range s {
		if r < 0x20 && r != '\n' && r != '\t' && r != '\r' || r == 0x7f || r >= 0x80 {
			odd++
		}
	}
	return odd*20 <= len(s)
}

// executable tells whether a decoded text is a command by its look.
func executable(text string) bool {
	lower := strings.ToLower(text)
	return containsAny(lower, []string{
		"curl ", "wget ", "/bin/sh", "/bin/bash", "bash -", "powershell", "invoke-", "import os", "import socket", "subprocess", "exec(",
		"eval(", "os.system", "/dev/tcp", "chmod ", "nc -", "rm -rf", "#!/", "require('child_process", "require(\"child_process", "sh -c",
		"base64 -d", "base64 --decode", "| sh", "| bash", "|sh", "|bash", "iex", "net.webclient",
	})
}
