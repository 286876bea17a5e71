package sign

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	stdasn1 "encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"strings"

	"filippo.io/edwards25519"
	"golang.org/x/crypto/cryptobyte"
	asn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// MaxKeyFile is the most bytes that a key in any form may have.
const MaxKeyFile = 16 << 10

const (
	publicPrefix  = "skey1:"
	publicPEM     = "PUBLIC KEY"
	privatePEM    = "PRIVATE KEY"
	shortIDLength = 16 // hex digits of a key id that people are shown
)

// The DER around an Ed25519 key is always the same (RFC 8410), so it is compared
// and not parsed: there is one encoding of a key and nothing hides beside it.
const (
	spkiPrefix  = "\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00"
	pkcs8Prefix = "\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20"
)

// PublicKey is an Ed25519 public key that passed the checks of NewPublicKey. It is
// comparable. The zero value is no key and verifies nothing.
type PublicKey struct {
	point [ed25519.PublicKeySize]byte
}

// NewPublicKey takes the 32 bytes of RFC 8032. It refuses what is not the one
// encoding of a point of the curve, and the eight points of small order, whose
// owner could make one signature fit many messages.
func NewPublicKey(raw []byte) (PublicKey, error) {
	if len(raw) != ed25519.PublicKeySize {
		return PublicKey{}, refuse(IDKeyFormat, "an Ed25519 public key has 32 bytes, not %d", len(raw))
	}
	point, err := new(edwards25519.Point).SetBytes(raw)
	if err != nil {
		return PublicKey{}, refuse(IDKeyFormat, "these 32 bytes are no point of the curve")
	}
	if !bytes.Equal(point.Bytes(), raw) {
		return PublicKey{}, refuse(IDWeakKey, "the key is written in a second, non-canonical way")
	}
	if new(edwards25519.Point).MultByCofactor(point).Equal(edwards25519.NewIdentityPoint()) == 1 {
		return PublicKey{}, refuse(IDWeakKey, "the key is a point of small order, for which anyone can sign")
	}
	return PublicKey{point: [ed25519.PublicKeySize]byte(raw)}, nil
}

// ParsePublicKey reads a public key in the form that PEM or String writes. White
// space around it is allowed, anything else beside it is not.
func ParsePublicKey(data []byte) (PublicKey, error) {
	if len(data) > MaxKeyFile {
		return PublicKey{}, refuse(IDKeyFormat, "a public key has at most %d bytes", MaxKeyFile)
	}
	text := bytes.Trim(data, " \t\r\n")
	switch {
	case bytes.HasPrefix(text, []byte(publicPrefix)):
		raw, ok := decodeBase64(string(text[len(publicPrefix):]), base64.StdEncoding)
		if !ok {
			return PublicKey{}, refuse(IDKeyFormat, "what follows %q is not standard base64", publicPrefix)
		}
		return NewPublicKey(raw)
	case bytes.HasPrefix(text, []byte("-----BEGIN ")):
		block, err := readPEM(text)
		if err != nil {
			return PublicKey{}, err
		}
		if block.Type != publicPEM {
			return PublicKey{}, wrongPEM(block.Type, publicPEM)
		}
		raw, err := unwrapDER(block.Bytes, spkiPrefix)
		if err != nil {
			return PublicKey{}, err
		}
		return NewPublicKey(raw)
	case bytes.HasPrefix(text, []byte("ssh-")), bytes.HasPrefix(text, []byte("untrusted comment:")), bytes.HasPrefix(text, []byte("age1")):
		return PublicKey{}, refuse(IDKeyType, "a key of another tool").
			hint("give an Ed25519 key as PEM (PUBLIC KEY) or as " + publicPrefix + "...")
	}
	return PublicKey{}, refuse(IDKeyFormat, "not a public key").
		hint("a public key is PEM (PUBLIC KEY) or begins with " + publicPrefix)
}

// String is skey1: and the 32 bytes in standard base64, on one line.
func (k PublicKey) String() string {
	return publicPrefix + base64.StdEncoding.EncodeToString(k.point[:])
}

// PEM is the key as SubjectPublicKeyInfo, which other tools read.
func (k PublicKey) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: publicPEM, Bytes: k.spki()})
}

// ID is the lower-case hex SHA-256 of the SubjectPublicKeyInfo, 64 digits.
func (k PublicKey) ID() string {
	sum := sha256.Sum256(k.spki())
	return hex.EncodeToString(sum[:])
}

// ShortID is what people are shown of ID: the first 16 digits. It names a key in
// text and decides nothing.
func (k PublicKey) ShortID() string { return k.ID()[:shortIDLength] }

// Words is four words for the four bytes of ID behind those of ShortID, so that
// both together show 96 bits.
func (k PublicKey) Words() string {
	sum := sha256.Sum256(k.spki())
	words := make([]string, 4)
	for i := range words {
		words[i] = keyWords[sum[shortIDLength/2+i]]
	}
	return strings.Join(words, "-")
}

// MarshalText writes what String gives.
func (k PublicKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what ParsePublicKey reads.
func (k *PublicKey) UnmarshalText(text []byte) error {
	parsed, err := ParsePublicKey(text)
	if err == nil {
		*k = parsed
	}
	return err
}

func (k PublicKey) spki() []byte { return append([]byte(spkiPrefix), k.point[:]...) }

// verify reports whether sig is a signature of message by k. The zero key is a
// point of small order and must not reach the arithmetic.
func (k PublicKey) verify(message, sig []byte) bool {
	return k != PublicKey{} && len(sig) == ed25519.SignatureSize && ed25519.Verify(k.point[:], message, sig)
}

// readPEM reads text that is one PEM block and nothing else, as this package and
// OpenSSL write it: no headers, 64 columns, no second encoding of the same bytes.
func readPEM(text []byte) (*pem.Block, error) {
	unix := bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	block, _ := pem.Decode(unix)
	if block == nil {
		return nil, refuse(IDKeyFormat, "not a whole PEM block")
	}
	if len(block.Headers) > 0 || !bytes.Equal(bytes.TrimSuffix(pem.EncodeToMemory(block), []byte("\n")), unix) {
		return nil, refuse(IDKeyFormat, "the PEM block has headers, other data beside it, or unusual line breaks")
	}
	return block, nil
}

func wrongPEM(got, want string) error {
	e := refuse(IDKeyType, "a PEM block %q, where %q is needed", got, want)
	if strings.HasSuffix(got, privatePEM) && want == publicPEM {
		e.Hint = "this is a private key: keep it to yourself and give the public half"
	}
	return e
}

// unwrapDER takes the 32 bytes of a key out of its DER wrapping. When the wrapping
// is another one it says whether that is of a key of another kind.
func unwrapDER(der []byte, prefix string) ([]byte, error) {
	if len(der) == len(prefix)+32 && string(der[:len(prefix)]) == prefix {
		return der[len(prefix):], nil
	}
	if algorithm, ok := keyAlgorithm(der); ok && algorithm != "Ed25519" {
		return nil, refuse(IDKeyType, "the key is for %s, not for Ed25519", algorithm)
	}
	return nil, refuse(IDKeyFormat, "the DER is not that of an Ed25519 key")
}

// keyAlgorithm names the algorithm in a SubjectPublicKeyInfo or a PKCS#8 key.
func keyAlgorithm(der []byte) (string, bool) {
	var outer, algorithm cryptobyte.String
	var oid stdasn1.ObjectIdentifier
	in := cryptobyte.String(der)
	if !in.ReadASN1(&outer, asn1.SEQUENCE) ||
		!outer.SkipOptionalASN1(asn1.INTEGER) ||
		!outer.ReadASN1(&algorithm, asn1.SEQUENCE) ||
		!algorithm.ReadASN1ObjectIdentifier(&oid) {
		return "", false
	}
	switch id := oid.String(); id {
	case "1.3.101.112":
		return "Ed25519", true
	case "1.3.101.110":
		return "X25519", true
	case "1.3.101.113":
		return "Ed448", true
	case "1.2.840.113549.1.1.1":
		return "RSA", true
	case "1.2.840.10045.2.1":
		return "ECDSA", true
	default:
		return "algorithm " + id, true
	}
}

// decodeBase64 is strict: padded, no line ends, no stray bits, one spelling.
func decodeBase64(s string, enc *base64.Encoding) ([]byte, bool) {
	if strings.ContainsAny(s, "\r\n") { // which the decoder skips
		return nil, false
	}
	raw, err := enc.Strict().DecodeString(s)
	return raw, err == nil
}
