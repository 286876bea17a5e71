package sign

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"filippo.io/age/armor"
)

// quickSeal is too cheap for use and quick enough for tests.
func quickSeal(passphrase string) Seal { return Seal{Passphrase: passphrase, WorkFactor: 4} }

func passphrase(text string) func() (string, error) {
	return func() (string, error) { return text, nil }
}

func TestNewPrivateKeyNeedsRandomness(t *testing.T) {
	_, err := NewPrivateKey(bytes.NewReader(make([]byte, 31)))
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("31 bytes of randomness give %v", err)
	}
	a, err := NewPrivateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := NewPrivateKey(rand.Reader); err != nil || a.Public() == b.Public() {
		t.Errorf("two new keys are the same, %v", err)
	}
}

func TestPrivateKeyNeverPrintsItself(t *testing.T) {
	key := vectorKey(t)
	type holder struct {
		Key PrivateKey
		Ptr *PrivateKey
	}
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Info("key", "key", key, "holder", holder{key, &key})
	asJSON, err := json.Marshal(holder{key, &key})
	if err != nil {
		t.Fatal(err)
	}
	out := logged.String() + string(asJSON)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%c", "%T", "%08b"} {
		out += fmt.Sprintf(verb, key) + fmt.Sprintf(verb, &key) + fmt.Sprintf(verb, []PrivateKey{key}) + fmt.Sprintf(verb, holder{Key: key})
	}
	seed := key.key.Seed()
	for how, secret := range map[string]string{
		"hex": hex.EncodeToString(seed[4:12]), "HEX": strings.ToUpper(hex.EncodeToString(seed[10:16])),
		"decimal": "4 5 6 7 8", "bytes": string(seed[1:5]), "go": "0x4, 0x5", "octal": "12 13 14", "binary": "00000100 00000101",
	} {
		if strings.Contains(out, secret) {
			t.Errorf("the seed is printed (%s)", how)
		}
	}
	if want := "private key a050837d85070582"; key.String() != want {
		t.Errorf("it prints as %q, want %q", key, want)
	}
}

func TestZeroPrivateKey(t *testing.T) {
	var zero PrivateKey
	if zero.Public() != (PublicKey{}) {
		t.Error("no private key has a public one")
	}
	_, err := zero.PEM()
	wantID(t, err, IDKeyFormat)
	_, err = zero.Encrypt(quickSeal("x"))
	wantID(t, err, IDKeyFormat)
	_, err = Sign(statementOf(t, helloPack(t), StatementOptions{}), zero)
	wantID(t, err, IDKeyFormat)
	_ = zero.String()
}

func TestEncryptedKey(t *testing.T) {
	key := vectorKey(t)
	data, err := key.Encrypt(quickSeal("correct horse"))
	if err != nil {
		t.Fatal(err)
	}
	if !IsEncrypted(data) || bytes.Contains(data, []byte("PRIVATE KEY")) {
		t.Fatalf("not encrypted:\n%s", data)
	}
	got, err := ParsePrivateKey(data, passphrase("correct horse"))
	if err != nil || got.Public() != key.Public() {
		t.Errorf("it does not open: %v", err)
	}
	_, err = ParsePrivateKey(data, passphrase("wrong"))
	wantID(t, err, IDPassphrase)
	_, err = ParsePrivateKey(data, passphrase(""))
	wantID(t, err, IDPassphrase)
	_, err = ParsePrivateKey(data, nil)
	wantID(t, err, IDKeyLocked)
	stop := errors.New("the user went away")
	if _, err := ParsePrivateKey(data, func() (string, error) { return "", stop }); !errors.Is(err, stop) {
		t.Errorf("an error of the prompt comes back as %v", err)
	}
	for _, seal := range []Seal{{}, {WorkFactor: 4}, {Passphrase: "x", WorkFactor: MaxWorkFactor + 1}, {Passphrase: "x", WorkFactor: -1}} {
		_, err := key.Encrypt(seal)
		wantID(t, err, IDPassphrase)
	}
}

func sealed(t *testing.T, plain []byte, r age.Recipient) []byte {
	t.Helper()
	var out bytes.Buffer
	a := armor.NewWriter(&out)
	w, err := age.Encrypt(a, r)
	if err == nil {
		_, err = w.Write(plain)
	}
	if err == nil {
		err = errors.Join(w.Close(), a.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestPrivateKeyRefusals(t *testing.T) {
	key := vectorKey(t)
	plain, err := key.PEM()
	if err != nil {
		t.Fatal(err)
	}
	seal, err := age.NewScryptRecipient("x")
	if err != nil {
		t.Fatal(err)
	}
	seal.SetWorkFactor(4)
	locked := string(sealed(t, plain, seal))
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ecDER, err := x509.MarshalPKCS8PrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	seed := key.key.Seed()
	der := append([]byte(pkcs8Prefix), seed...)
	lines := strings.SplitAfter(locked, "\n")
	costly := sealed(t, plain, expensive{})
	for _, tt := range []struct{ name, data, id string }{
		{"nothing", "", IDKeyFormat},
		{"prose", "hello", IDKeyFormat},
		{"public line", key.Public().String(), IDKeyType},
		{"public PEM", string(key.Public().PEM()), IDKeyType},
		{"too large", string(plain) + strings.Repeat("\n", MaxKeyFile), IDKeyFormat},
		{"text behind", string(plain) + "x", IDKeyFormat},
		{"two keys", string(plain) + string(plain), IDKeyFormat},
		{"headers", strings.Replace(string(plain), "KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\n\n", 1), IDKeyFormat},
		{"DER with more", block("PRIVATE KEY", append(der[:len(der):len(der)], 0)), IDKeyFormat},
		{"DER with less", block("PRIVATE KEY", der[:len(der)-1]), IDKeyFormat},
		{"ECDSA", block("PRIVATE KEY", ecDER), IDKeyType},
		{"PKCS#1 label", block("RSA PRIVATE KEY", der), IDKeyType},
		{"encrypted PKCS#8", block("ENCRYPTED PRIVATE KEY", der), IDKeyType},
		{"OpenSSH", block("OPENSSH PRIVATE KEY", der), IDKeyType},
		{"text behind the armour", locked + "x", IDKeyFormat},
		{"two armours", locked + locked, IDKeyFormat},
		{"armour cut short", strings.Join(lines[:len(lines)-3], ""), IDKeyFormat},
		{"armour damaged", strings.Replace(locked, lines[len(lines)-3], strings.Repeat("A", 63)+"\n", 1), IDKeyFormat},
		{"text behind the key inside", string(sealed(t, append(plain[:len(plain):len(plain)], "and more"...), seal)), IDKeyFormat},
		{"no key inside", string(sealed(t, []byte("hello"), seal)), IDKeyFormat},
		{"a sealed key inside", string(sealed(t, []byte(locked), seal)), IDKeyType},
		{"a lot inside", string(sealed(t, bytes.Repeat([]byte(" "), MaxKeyFile-4000), seal)), IDKeyFormat},
		{"for a key, not a passphrase", string(sealed(t, plain, identity.Recipient())), IDPassphrase},
		{"a work factor that takes hours", string(costly), IDKeyFormat},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParsePrivateKey([]byte(tt.data), passphrase("x"))
			wantID(t, err, tt.id)
		})
	}
}

// expensive claims a work factor of 2^30 without having done the work.
type expensive struct{}

func (expensive) Wrap([]byte) ([]*age.Stanza, error) {
	return []*age.Stanza{{Type: "scrypt", Args: []string{"AAAAAAAAAAAAAAAAAAAAAA", "30"}, Body: make([]byte, 32)}}, nil
}

func TestKeysAgreeWithOpenSSL(t *testing.T) {
	openssl := need(t, "openssl")
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, data []byte) string {
		if err := os.WriteFile(path(name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path(name)
	}
	key := vectorKey(t)
	private, err := key.PEM()
	if err != nil {
		t.Fatal(err)
	}
	ours := write("ours.key", private)
	if got := run(t, nil, openssl, "pkey", "-in", ours, "-pubout"); got != string(key.Public().PEM()) {
		t.Errorf("openssl derives\n%s, we\n%s", got, key.Public().PEM())
	}
	if got := run(t, nil, openssl, "pkey", "-in", ours); got != string(private) {
		t.Errorf("openssl writes the private key as\n%s", got)
	}

	// Its signature is ours, and it accepts ours.
	e := envelopeOf(t, statementOf(t, helloPack(t), StatementOptions{Author: "acme"}), key)
	message := write("message", PAE(e.PayloadType, e.Payload))
	if got := run(t, nil, openssl, "pkeyutl", "-sign", "-inkey", ours, "-rawin", "-in", message); got != string(e.Signatures[0].Sig) {
		t.Errorf("openssl signs %x, we %x", got, e.Signatures[0].Sig)
	}
	run(t, nil, openssl, "pkeyutl", "-verify", "-pubin", "-inkey", write("ours.pub", key.Public().PEM()), "-rawin", "-in", message,
		"-sigfile", write("sig", e.Signatures[0].Sig))

	// We read a key that it made.
	run(t, nil, openssl, "genpkey", "-algorithm", "ed25519", "-out", path("theirs.key"))
	data, err := os.ReadFile(path("theirs.key"))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := ParsePrivateKey(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	public, err := ParsePublicKey([]byte(run(t, nil, openssl, "pkey", "-in", path("theirs.key"), "-pubout")))
	if err != nil || public != theirs.Public() {
		t.Errorf("its public key reads as %v, %v, want %v", public, err, theirs.Public())
	}
}
