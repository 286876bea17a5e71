package conformance

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The patterns of the Kazma reference. They look at text, not at syntax, so a
// call in a comment counts; each counts once a file. Word boundaries are those of
// Python, where any Unicode letter or digit belongs to a word.
var pythonCalls = [...]struct {
	name string // what is looked for, a word by itself
	call bool   // followed by an opening parenthesis
	loss int
	text string
}{
	{"eval", true, 20, "calls eval()"},
	{"exec", true, 20, "calls exec()"},
	{"__import__", false, 15, "uses __import__"},
	{"os.system", true, 25, "calls os.system()"},
}

const lossSecret = 10

// secretNames are names that hold secrets. They count as the end of a longer name
// and in any case.
var secretNames = [...]string{
	"api_key", "api_secret", "password", "passwd", "secret", "secret_key", "token", "access_token",
}

// pythonPatterns gives what one source holds, and what it takes off the score.
func pythonPatterns(source []byte) (found []string, loss int) {
	for _, p := range pythonCalls {
		if hasCall(source, []byte(p.name), p.call) {
			found = append(found, p.text)
			loss += p.loss
		}
	}
	if assignsSecret(source) {
		found = append(found, "holds what looks like a hardcoded secret")
		loss += lossSecret
	}
	return found, loss
}

func hasCall(source, name []byte, call bool) bool {
	for at := 0; ; {
		i := bytes.Index(source[at:], name)
		if i < 0 {
			return false
		}
		at += i
		before, _ := utf8.DecodeLastRune(source[:at])
		rest := source[at+len(name):]
		after, _ := utf8.DecodeRune(rest)
		switch {
		case at > 0 && isWord(before):
		case !call:
			if len(rest) == 0 || !isWord(after) {
				return true
			}
		case bytes.HasPrefix(bytes.TrimLeftFunc(rest, isPythonSpace), []byte("(")):
			return true
		}
		at += len(name)
	}
}

// assignsSecret looks for a name that holds secrets, an equals sign and a quote.
func assignsSecret(source []byte) bool {
	for {
		i := bytes.IndexByte(source, '=')
		if i < 0 {
			return false
		}
		before, after := source[:i], bytes.TrimLeftFunc(source[i+1:], isPythonSpace)
		source = source[i+1:]
		if len(after) == 0 || after[0] != '\'' && after[0] != '"' {
			continue
		}
		before = bytes.TrimRightFunc(before, isPythonSpace)
		for _, name := range secretNames {
			if strings.EqualFold(lastRunes(before, len(name)), name) {
				return true
			}
		}
	}
}

// lastRunes is the end of b, n characters long.
func lastRunes(b []byte, n int) string {
	start := len(b)
	for ; n > 0 && start > 0; n-- {
		_, size := utf8.DecodeLastRune(b[:start])
		start -= size
	}
	return string(b[start:])
}

// isWord tells what belongs to a word in Python. A byte that is not UTF-8 decodes
// to U+FFFD and does not.
func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
}

func isPythonSpace(r rune) bool {
	return unicode.IsSpace(r) || (r >= 0x1c && r <= 0x1f)
}
