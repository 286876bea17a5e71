package sign

import (
	"bytes"
	"encoding/base64"
	"math/big"
	"slices"
	"strings"
	"testing"
)

func TestDSSEVector(t *testing.T) {
	v := readSigningVectors(t).DSSE
	if got := Checksum(PAE(v.PayloadType, []byte(v.Payload))); got != v.PAESHA256 {
		t.Errorf("PAE hash %s, want %s", got, v.PAESHA256)
	}
	e := envelopeOf(t, statementOf(t, helloPack(t), StatementOptions{Author: "acme"}), vectorKey(t))
	if got := base64.StdEncoding.EncodeToString(e.Signatures[0].Sig); got != v.SignatureBase64 {
		t.Errorf("signature %s, want %s", got, v.SignatureBase64)
	}
	if e.Signatures[0].KeyID != v.KeyID || e.PayloadType != v.PayloadType || string(e.Payload) != v.Payload {
		t.Errorf("envelope %+v", e)
	}
	checks, err := e.Check([]PublicKey{seedKey(t, 1).Public(), vectorKey(t).Public()})
	if err != nil || len(checks) != 1 || checks[0].Key != vectorKey(t).Public() {
		t.Errorf("it verifies as %+v, %v", checks, err)
	}
}

// The example that the DSSE specification gives.
func TestPAE(t *testing.T) {
	got := string(PAE("http://example.com/HelloWorld", []byte("hello world")))
	if want := "DSSEv1 29 http://example.com/HelloWorld 11 hello world"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := string(PAE("é", nil)), "DSSEv1 2 é 0 "; got != want {
		t.Errorf("got %q, want %q: lengths count bytes", got, want)
	}
}

func helloEnvelope(t testing.TB) Envelope {
	return envelopeOf(t, statementOf(t, helloPack(t), StatementOptions{Author: "acme"}), vectorKey(t))
}

func TestEnvelopeChecks(t *testing.T) {
	alice, bob, carol := vectorKey(t), seedKey(t, 40), seedKey(t, 80)
	known := []PublicKey{alice.Public(), bob.Public()}
	good := helloEnvelope(t)
	by := func(key PrivateKey, keyID string) Signature {
		return Signature{KeyID: keyID, Sig: key.sign(PAE(good.PayloadType, good.Payload))}
	}
	envelope := func(s ...Signature) Envelope { return Envelope{good.PayloadType, good.Payload, s} }
	var sixteen []Signature
	for i := range byte(MaxSignatures + 1) {
		sixteen = append(sixteen, by(seedKey(t, 100+i), ""))
	}
	otherType := forge(alice, "application/json", good.Payload)
	for _, tt := range []struct {
		name string
		e    Envelope
		want []PublicKey // zero: nobody's
		id   string
	}{
		{"right", good, []PublicKey{alice.Public()}, ""},
		{"no keyid", envelope(by(alice, "")), []PublicKey{alice.Public()}, ""},
		{"keyid of another known key", envelope(by(alice, bob.Public().ID())), []PublicKey{alice.Public()}, ""},
		{"G6: keyid of a known key, signature of another", envelope(by(carol, alice.Public().ID())), []PublicKey{{}}, ""},
		{"unknown key", envelope(by(carol, carol.Public().ID())), []PublicKey{{}}, ""},
		{"two signers", envelope(by(bob, ""), by(alice, "")), []PublicKey{bob.Public(), alice.Public()}, ""},
		{"one of three", envelope(by(carol, ""), by(alice, ""), by(seedKey(t, 99), "")), []PublicKey{{}, alice.Public(), {}}, ""},
		{"sixteen", envelope(sixteen[:16]...), make([]PublicKey, 16), ""},
		{"seventeen", envelope(sixteen...), nil, IDTooLarge},
		{"none", envelope(), nil, IDFormat},
		{"one twice", envelope(by(alice, ""), by(alice, "x")), nil, IDDuplicateSigner},
		{"an unknown one twice", envelope(by(carol, ""), by(carol, "x")), nil, IDDuplicateSigner},
		{"G9: payload type changed", Envelope{"application/json", good.Payload, good.Signatures}, nil, IDPayloadType},
		{"payload type changed, signed as such", otherType, nil, IDPayloadType},
		{"no payload type", Envelope{"", good.Payload, good.Signatures}, nil, IDPayloadType},
		{"G9: white space in the payload", Envelope{good.PayloadType, append([]byte(" "), good.Payload...), good.Signatures}, []PublicKey{{}}, ""},
		{"signature of the payload alone", envelope(Signature{"", alice.sign(good.Payload)}), []PublicKey{{}}, ""},
		{"63 bytes", envelope(Signature{"", good.Signatures[0].Sig[:63]}), []PublicKey{{}}, ""},
		{"no bytes", envelope(Signature{}), []PublicKey{{}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checks, err := tt.e.Check(known)
			wantID(t, err, tt.id)
			var got []PublicKey
			for _, c := range checks {
				got = append(got, c.Key)
				if c.Valid() != (c.Key != PublicKey{}) {
					t.Error("Valid and Key disagree")
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("signed by %v, want %v", got, tt.want)
			}
		})
	}
	if checks, err := good.Check([]PublicKey{{}}); err != nil || checks[0].Valid() {
		t.Errorf("the zero key verifies: %v, %v", checks, err)
	}
}

// G8: S and S + L satisfy the same equation; only the first is a signature.
func TestMalleableSignature(t *testing.T) {
	good := helloEnvelope(t)
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	sig := slices.Clone(good.Signatures[0].Sig)
	s := slices.Clone(sig[32:])
	slices.Reverse(s)
	more := new(big.Int).Add(new(big.Int).SetBytes(s), order).FillBytes(make([]byte, 32))
	slices.Reverse(more)
	copy(sig[32:], more)
	if bytes.Equal(sig, good.Signatures[0].Sig) {
		t.Fatal("nothing was changed")
	}
	checks, err := Envelope{good.PayloadType, good.Payload, []Signature{{good.Signatures[0].KeyID, sig}}}.Check([]PublicKey{vectorKey(t).Public()})
	if err != nil || checks[0].Valid() {
		t.Errorf("S + L verifies: %v, %v", checks, err)
	}
}

func TestSignRefusesWhatItWouldNotRead(t *testing.T) {
	for name, change := range map[string]func(s *Statement){
		"name not UTF-8": func(s *Statement) { s.Name = "a\xff" },
		"other digest":   func(s *Statement) { s.Digest = "sp1:" + s.Digest[5:] + "0" },
		"other format":   func(s *Statement) { s.Format = "zip" },
		"no files":       func(s *Statement) { s.Files = nil },
		"odd author":     func(s *Statement) { s.Author = "A" },
		"empty":          func(s *Statement) { *s = Statement{} },
		"half a second":  func(s *Statement) { s.Expires = s.SignedAt.Add(1) },
	} {
		s := statementOf(t, helloPack(t), StatementOptions{})
		change(&s)
		if _, err := Sign(s, vectorKey(t)); err == nil {
			t.Errorf("%s: it is signed", name)
		}
	}
}

func TestBase64Spellings(t *testing.T) {
	// Bytes whose base64 needs both of the characters that the alphabets differ in.
	raw := []byte{0xfb, 0xef, 0xff, 0xfe}
	std, url := base64.StdEncoding.EncodeToString(raw), base64.URLEncoding.EncodeToString(raw)
	for text, ok := range map[string]bool{
		std: true, url: true, "": true, strings.TrimRight(std, "="): false, strings.Replace(std, "+", "-", 1): false,
		std + "\n": false, std[:4] + "\r\n" + std[4:]: false, " " + std: false, std[:len(std)-3] + "h==": false,
	} {
		got, good := decodeEither(text)
		if good != ok || ok && text != "" && !bytes.Equal(got, raw) {
			t.Errorf("%q gives %x, %v", text, got, good)
		}
	}
}
