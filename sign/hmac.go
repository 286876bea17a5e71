package sign

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// hexLen is the length of a SHA-256 in hex, which both halves of a Pair have.
const hexLen = 2 * sha256.Size

// minSecret is how many bytes a secret should have; shorter ones are used with a
// warning, because the reference takes any length.
const minSecret = 16

// Pair is a checksum and the HMAC over it, in the notation of the Kazma
// reference: 64 lower-case hex digits each.
type Pair struct {
	Checksum  string `json:"checksum"`
	Signature string `json:"signature"`
}

// Checksum is the SHA-256 of data in lower-case hex, over the bytes as they are.
func Checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// ChecksumText is the checksum that the Kazma reference gives a SKILL.md: over the
// text with LF line ends, so that a checkout with CRLF has the same one. Data that
// is not UTF-8 is no text and is refused, as there.
func ChecksumText(data []byte) (string, error) {
	if !utf8.Valid(data) {
		return "", refuse(IDFormat, "not valid UTF-8, so it has no text checksum")
	}
	unix := bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	return Checksum(bytes.ReplaceAll(unix, []byte("\r"), []byte("\n"))), nil
}

// MAC is the signature of the Kazma reference: HMAC-SHA256 in lower-case hex, keyed
// with the bytes of secret, over the characters of the checksum (not over the hash
// that they spell). Callers pass the secret through CheckSecret first.
func MAC(secret []byte, checksum string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(checksum))
	return hex.EncodeToString(mac.Sum(nil))
}

// CheckSecret refuses an empty secret, with which anyone could sign, and says what
// is doubtful about any other. The bytes are never changed: a secret that looks
// like hex is not decoded, and no Unicode form is preferred.
func CheckSecret(secret []byte) (warnings []string, err error) {
	if len(secret) == 0 {
		return nil, refuse(IDSecretEmpty, "the secret is empty")
	}
	if len(bytes.TrimFunc(secret, isPythonSpace)) != len(secret) {
		warnings = append(warnings, "the secret begins or ends with white space, which is used as it is; KAZMA_SECRET would be trimmed")
	}
	if len(secret) < minSecret {
		warnings = append(warnings, fmt.Sprintf("the secret has %d bytes; %d or more are hard to guess", len(secret), minSecret))
	}
	return warnings, nil
}

// SecretFromEnv is the secret that the Kazma reference takes from the value of
// KAZMA_SECRET: without surrounding white space. It is nil when nothing is left.
func SecretFromEnv(value string) []byte {
	trimmed := bytes.TrimFunc([]byte(value), isPythonSpace)
	if len(trimmed) == 0 {
		return nil
	}
	return trimmed
}

// SecretFromFile is the secret in a file: its content without the one line end
// (LF or CRLF) that editors add.
func SecretFromFile(content []byte) []byte {
	if rest, ok := bytes.CutSuffix(content, []byte("\n")); ok {
		return bytes.TrimSuffix(rest, []byte("\r"))
	}
	return content
}

// isPythonSpace is str.isspace of the reference's language, which counts the four
// separators U+001C to U+001F that Go does not.
func isPythonSpace(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
}

// Secrets are those that a verifier accepts. Signing uses Current alone; Previous
// are kept while packs that they signed are still about.
type Secrets struct {
	Current  []byte
	Previous [][]byte
}

// Empty reports whether there is no secret to verify with.
func (s Secrets) Empty() bool {
	if len(s.Current) > 0 {
		return false
	}
	for _, secret := range s.Previous {
		if len(secret) > 0 {
			return false
		}
	}
	return true
}

// Which says which of several secrets made a signature: 0 none, 1 the current one,
// 1+n the nth previous one.
type Which int

// String is "none", "current" or "previous n".
func (w Which) String() string {
	switch {
	case w <= 0:
		return "none"
	case w == 1:
		return "current"
	}
	return fmt.Sprintf("previous %d", int(w)-1)
}

// MarshalText writes what String gives.
func (w Which) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// Match finds the secret that made signature over checksum. It compares in
// constant time and tries every secret whatever the result, so that time tells
// nothing. Empty secrets match nothing.
func (s Secrets) Match(checksum, signature string) Which {
	found := Which(0)
	try := func(secret []byte, which Which) {
		equal := hmac.Equal([]byte(MAC(secret, checksum)), []byte(signature))
		if equal && len(secret) > 0 && found == 0 {
			found = which
		}
	}
	try(s.Current, 1)
	for i, secret := range s.Previous {
		try(secret, Which(2+i))
	}
	return found
}

// isHex256 reports whether s is 64 lower-case hex digits.
func isHex256(s string) bool {
	if len(s) != hexLen {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
