package sign

import (
	"bytes"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"filippo.io/age"
	"filippo.io/age/armor"
)

// Work factors (log2 of the scrypt cost) of a passphrase. The first is what age
// writes: about a second and 256 MiB. The second bounds what a key file can make
// its reader do.
const (
	DefaultWorkFactor = 18
	MaxWorkFactor     = 20
)

// PrivateKey is an Ed25519 private key. It never prints itself: every verb of fmt,
// slog and encoding/json shows its public id at most.
type PrivateKey struct {
	key ed25519.PrivateKey
}

// NewPrivateKey makes a key from 32 bytes of rand, which is crypto/rand.Reader
// outside of tests.
func NewPrivateKey(rand io.Reader) (PrivateKey, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(rand, seed); err != nil {
		return PrivateKey{}, fmt.Errorf("cannot make a key: no randomness: %w", err)
	}
	return PrivateKey{key: ed25519.NewKeyFromSeed(seed)}, nil
}

// Public is the public half. That of the zero PrivateKey is the zero PublicKey.
func (k PrivateKey) Public() PublicKey {
	if k.key == nil {
		return PublicKey{}
	}
	return PublicKey{point: [ed25519.PublicKeySize]byte(k.key[ed25519.SeedSize:])}
}

// PEM is the key as unencrypted PKCS#8. Whoever reads it can sign.
func (k PrivateKey) PEM() ([]byte, error) {
	if k.key == nil {
		return nil, refuse(IDKeyFormat, "no private key")
	}
	return pem.EncodeToMemory(&pem.Block{Type: privatePEM, Bytes: append([]byte(pkcs8Prefix), k.key.Seed()...)}), nil
}

// Seal protects a private key with a passphrase.
type Seal struct {
	Passphrase string
	WorkFactor int // 0 is DefaultWorkFactor; at most MaxWorkFactor
}

// Encrypt is PEM inside an armoured age file (age-encryption.org/v1, scrypt), which
// `age -d` opens with the passphrase. The salt and the file key come from
// crypto/rand: age takes no other source.
func (k PrivateKey) Encrypt(s Seal) ([]byte, error) {
	plain, err := k.PEM()
	if err != nil {
		return nil, err
	}
	if s.Passphrase == "" {
		return nil, refuse(IDPassphrase, "the passphrase is empty")
	}
	factor := s.WorkFactor
	if factor == 0 {
		factor = DefaultWorkFactor
	}
	if factor < 1 || factor > MaxWorkFactor {
		return nil, refuse(IDPassphrase, "work factor %d is not within 1 to %d", factor, MaxWorkFactor)
	}
	recipient, err := age.NewScryptRecipient(s.Passphrase)
	if err != nil {
		return nil, fmt.Errorf("cannot encrypt the key: %w", err)
	}
	recipient.SetWorkFactor(factor)
	var out bytes.Buffer
	armoured := armor.NewWriter(&out)
	inner, err := age.Encrypt(armoured, recipient)
	if err != nil {
		return nil, fmt.Errorf("cannot encrypt the key: %w", err)
	}
	if _, err := inner.Write(plain); err != nil {
		return nil, fmt.Errorf("cannot encrypt the key: %w", err)
	}
	if err := errors.Join(inner.Close(), armoured.Close()); err != nil {
		return nil, fmt.Errorf("cannot encrypt the key: %w", err)
	}
	return out.Bytes(), nil
}

// IsEncrypted reports whether data begins as an armoured age file does.
func IsEncrypted(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte(armor.Header))
}

// ParsePrivateKey reads what PEM or Encrypt wrote; passphrase is asked for the
// latter only, and may be nil when there is nobody to ask. White space around the
// key is allowed, anything else beside it is not.
func ParsePrivateKey(data []byte, passphrase func() (string, error)) (PrivateKey, error) {
	if len(data) > MaxKeyFile {
		return PrivateKey{}, refuse(IDKeyFormat, "a private key has at most %d bytes", MaxKeyFile)
	}
	if IsEncrypted(data) {
		plain, err := decrypt(data, passphrase)
		if err != nil {
			return PrivateKey{}, err
		}
		data = plain
	}
	text := bytes.Trim(data, " \t\r\n")
	if !bytes.HasPrefix(text, []byte("-----BEGIN ")) {
		if bytes.HasPrefix(text, []byte(publicPrefix)) {
			return PrivateKey{}, refuse(IDKeyType, "this is a public key; signing needs the private one")
		}
		return PrivateKey{}, refuse(IDKeyFormat, "not a private key").
			hint("a private key is PKCS#8 in PEM (PRIVATE KEY), or that in an armoured age file")
	}
	block, err := readPEM(text)
	if err != nil {
		return PrivateKey{}, err
	}
	if block.Type != privatePEM {
		return PrivateKey{}, wrongPEM(block.Type, privatePEM)
	}
	seed, err := unwrapDER(block.Bytes, pkcs8Prefix)
	if err != nil {
		return PrivateKey{}, err
	}
	return PrivateKey{key: ed25519.NewKeyFromSeed(seed)}, nil
}

func decrypt(data []byte, passphrase func() (string, error)) ([]byte, error) {
	if passphrase == nil {
		return nil, refuse(IDKeyLocked, "the key is protected by a passphrase, and there is none to try")
	}
	secret, err := passphrase()
	if err != nil {
		return nil, fmt.Errorf("no passphrase for the key: %w", err)
	}
	identity, err := age.NewScryptIdentity(secret)
	if err != nil {
		return nil, refuse(IDPassphrase, "the passphrase is empty")
	}
	identity.SetMaxWorkFactor(MaxWorkFactor)
	armoured := armor.NewReader(bytes.NewReader(data))
	plain, err := age.Decrypt(armoured, identity)
	if err != nil {
		var noMatch *age.NoIdentityMatchError
		if errors.As(err, &noMatch) {
			return nil, &Error{ID: IDPassphrase, Text: "the passphrase does not open the key", Err: err}
		}
		return nil, &Error{ID: IDKeyFormat, Text: fmt.Sprintf("the age file around the key cannot be read: %v", err), Err: err}
	}
	out, err := io.ReadAll(io.LimitReader(plain, MaxKeyFile))
	if err != nil {
		return nil, &Error{ID: IDKeyFormat, Text: fmt.Sprintf("the age file around the key cannot be read: %v", err), Err: err}
	}
	// age stops at the end of its own data; the armour must end there as well.
	if n, err := io.Copy(io.Discard, armoured); err != nil || n > 0 {
		return nil, refuse(IDKeyFormat, "other data follows the age file around the key")
	}
	return out, nil
}

// String names the key by the short id of its public half.
func (k PrivateKey) String() string { return "private key " + k.Public().ShortID() }

// Format writes what String gives, whatever the verb.
func (k PrivateKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// LogValue logs what String gives.
func (k PrivateKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

func (k PrivateKey) sign(message []byte) []byte { return ed25519.Sign(k.key, message) }
