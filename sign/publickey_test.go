package sign

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestKeyVector(t *testing.T) {
	v := readSigningVectors(t).DSSE
	key := vectorKey(t).Public()
	if got := key.ID(); got != v.KeyID {
		t.Errorf("key id %s, want %s", got, v.KeyID)
	}
	if got, want := key.String(), "skey1:"+v.PublicKeyBase64; got != want {
		t.Errorf("key %s, want %s", got, want)
	}
	if got, want := key.ShortID(), v.KeyID[:16]; got != want {
		t.Errorf("short id %s, want %s", got, want)
	}
	// The words are bytes 8 to 11 of the id.
	want := strings.Join([]string{keyWords[0xcc], keyWords[0xf7], keyWords[0x39], keyWords[0x4b]}, "-")
	if got := key.Words(); got != want {
		t.Errorf("words %s, want %s", got, want)
	}
	if want := "river-wheat-cloud-dragon"; key.Words() != want {
		t.Errorf("the word list was changed: %s, want %s", key.Words(), want)
	}
}

func TestWordList(t *testing.T) {
	seen := make(map[string]bool)
	for _, w := range keyWords {
		if seen[w] || len(w) < 2 || len(w) > 9 || strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") != "" {
			t.Errorf("%q is there twice, too short, too long or not plain", w)
		}
		seen[w] = true
	}
	if !slices.IsSorted(keyWords[:]) {
		t.Error("the list is not in its order")
	}
}

func TestPublicKeyForms(t *testing.T) {
	key := vectorKey(t).Public()
	for name, data := range map[string]string{
		"line":         key.String(),
		"line and LF":  key.String() + "\n",
		"white space":  " \r\n" + key.String() + "\t\n\n",
		"PEM":          string(key.PEM()),
		"PEM, no LF":   strings.TrimSpace(string(key.PEM())),
		"PEM with CRs": strings.ReplaceAll(string(key.PEM()), "\n", "\r\n"),
	} {
		got, err := ParsePublicKey([]byte(data))
		if err != nil || got != key {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	text, err := json.Marshal(map[string]PublicKey{"key": key})
	var back map[string]PublicKey
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil || back["key"] != key {
		t.Errorf("through JSON %s: %v, %v", text, back, err)
	}
	wantID(t, json.Unmarshal([]byte(`{"key":"skey1:AAAA"}`), &back), IDKeyFormat)
}

func spki(t *testing.T, public any) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

func TestPublicKeyRefusals(t *testing.T) {
	key := vectorKey(t)
	public := key.Public()
	private, err := key.PEM()
	if err != nil {
		t.Fatal(err)
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	x, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	asPEM := func(der string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte(der)}))
	}
	good, line := string(public.PEM()), public.String()
	raw := string(public.point[:])
	for _, tt := range []struct{ name, data, id string }{
		{"nothing", "", IDKeyFormat},
		{"prose", "hello", IDKeyFormat},
		{"too large", line + strings.Repeat(" ", MaxKeyFile), IDKeyFormat},
		{"line in the line", line[:20] + "\n" + line[20:], IDKeyFormat},
		{"no padding", strings.TrimRight(line, "="), IDKeyFormat},
		{"stray bits", line[:len(line)-2] + "h=", IDKeyFormat},
		{"URL-safe base64", publicPrefix + base64.URLEncoding.EncodeToString(bytes.Repeat([]byte{0xfb}, 32)), IDKeyFormat},
		{"31 bytes", publicPrefix + base64.StdEncoding.EncodeToString([]byte(raw[:31])), IDKeyFormat},
		{"33 bytes", publicPrefix + base64.StdEncoding.EncodeToString([]byte(raw+"x")), IDKeyFormat},
		{"two lines", line + "\n" + line, IDKeyFormat},
		{"not on the curve", publicPrefix + base64.StdEncoding.EncodeToString(append([]byte{2}, make([]byte, 31)...)), IDKeyFormat},
		{"two blocks", good + good, IDKeyFormat},
		{"text behind", good + "x", IDKeyFormat},
		{"text before", "x\n" + good, IDKeyFormat},
		{"headers", strings.Replace(good, "KEY-----\n", "KEY-----\nA: b\n\n", 1), IDKeyFormat},
		{"broken block", good[:60], IDKeyFormat},
		{"other line breaks", good[:40] + "\n" + good[40:], IDKeyFormat},
		{"broken block before", strings.Replace(good, "END", "XXX", 1) + good, IDKeyFormat},
		{"DER with more", asPEM(spkiPrefix + raw + "\x00"), IDKeyFormat},
		{"DER with less", asPEM(spkiPrefix + raw[:31]), IDKeyFormat},
		{"DER with parameters", asPEM("\x30\x2c\x30\x07\x06\x03\x2b\x65\x70\x05\x00\x03\x21\x00" + raw), IDKeyFormat},
		{"no DER", asPEM("hello"), IDKeyFormat},
		{"ECDSA", spki(t, ec.Public()), IDKeyType},
		{"X25519", spki(t, x.PublicKey()), IDKeyType},
		{"RSA", spki(t, &rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), 2047), E: 65537}), IDKeyType},
		{"private key", string(private), IDKeyType},
		{"certificate", strings.ReplaceAll(good, "PUBLIC KEY", "CERTIFICATE"), IDKeyType},
		{"SSH", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4 me", IDKeyType},
		{"minisign", "untrusted comment: x\nRWQ", IDKeyType},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParsePublicKey([]byte(tt.data))
			wantID(t, err, tt.id)
		})
	}
}

// weakPoints are the eight points of small order, in every encoding that a lenient
// reader takes for one.
var weakPoints = []string{
	"0100000000000000000000000000000000000000000000000000000000000000", // order 1
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", // 2
	"0000000000000000000000000000000000000000000000000000000000000000", // 4
	"0000000000000000000000000000000000000000000000000000000000000080", // 4
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05", // 8
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85", // 8
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a", // 8
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa", // 8
	// The same points again: x = 0 with its sign set, or y + p.
	"0100000000000000000000000000000000000000000000000000000000000080",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
}

func TestWeakKeys(t *testing.T) {
	for _, point := range weakPoints {
		raw := unhex(t, point)
		for form, data := range map[string][]byte{
			"line": []byte(publicPrefix + base64.StdEncoding.EncodeToString(raw)),
			"PEM":  pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: append([]byte(spkiPrefix), raw...)}),
		} {
			_, err := ParsePublicKey(data)
			if err == nil {
				t.Errorf("%s as %s is accepted", point, form)
				continue
			}
			wantID(t, err, IDWeakKey)
		}
	}
}

// Every y from p to 2^255-1 has a canonical twin.
func TestNonCanonicalKeys(t *testing.T) {
	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	refused := 0
	for y := range int64(19) {
		raw := new(big.Int).Add(p, big.NewInt(y)).FillBytes(make([]byte, 32))
		slices.Reverse(raw)
		for _, sign := range []byte{0, 0x80} {
			encoded := slices.Clone(raw)
			encoded[31] |= sign
			if _, err := NewPublicKey(encoded); err == nil {
				t.Errorf("%x is accepted", encoded)
			} else {
				refused++
			}
		}
	}
	if refused != 38 {
		t.Errorf("%d encodings refused, want 38", refused)
	}
}

// The zero key is a point of small order: with it, an all-zero signature is right
// for about every eighth message.
func TestZeroKeyVerifiesNothing(t *testing.T) {
	var zero PublicKey
	sig := make([]byte, ed25519.SignatureSize)
	sig[0] = 1
	for i := range 100 {
		if zero.verify([]byte{byte(i)}, sig) || zero.verify([]byte{byte(i)}, make([]byte, 64)) {
			t.Fatal("the zero key verifies a signature")
		}
	}
	if key := vectorKey(t).Public(); key.verify(nil, nil) || key.verify(nil, make([]byte, 63)) {
		t.Error("a signature of another length verifies")
	}
}

func TestPublicKeyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "seed")
		private, err := NewPrivateKey(bytes.NewReader(seed))
		if err != nil {
			t.Fatal(err)
		}
		key := private.Public()
		for _, form := range [][]byte{key.PEM(), []byte(key.String())} {
			back, err := ParsePublicKey(form)
			if err != nil || back != key {
				t.Fatalf("%s reads as %v, %v", form, back, err)
			}
		}
		// The standard library reads the same key out of our PEM.
		block, _ := pem.Decode(key.PEM())
		public, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil || !bytes.Equal(public.(ed25519.PublicKey), key.point[:]) {
			t.Fatalf("x509 reads %v, %v", public, err)
		}
		data, err := private.PEM()
		if err != nil {
			t.Fatal(err)
		}
		block, _ = pem.Decode(data)
		if other, err := x509.ParsePKCS8PrivateKey(block.Bytes); err != nil || !private.key.Equal(other.(ed25519.PrivateKey)) {
			t.Fatalf("x509 reads another private key, %v", err)
		}
		back, err := ParsePrivateKey(data, nil)
		if err != nil || !back.key.Equal(private.key) {
			t.Fatalf("the private key does not read back: %v", err)
		}
	})
}
