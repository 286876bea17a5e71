package sign

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"strings"
)

// MaxSignatures is the most signatures of one envelope, and of one signature file.
const MaxSignatures = 16

// Envelope is a DSSE envelope: a payload, what kind of payload it is, and who
// signed both.
type Envelope struct {
	PayloadType string
	Payload     []byte
	Signatures  []Signature
}

// Signature is one signature in an envelope.
type Signature struct {
	KeyID string // which key to try first; anyone can write anything here
	Sig   []byte // 64 bytes, Ed25519
}

// PAE is the encoding of DSSE v1 that is signed: it states the lengths of type and
// payload, so no two pairs share an encoding.
func PAE(payloadType string, payload []byte) []byte {
	b := fmt.Appendf(nil, "DSSEv1 %d %s %d ", len(payloadType), payloadType, len(payload))
	return append(b, payload...)
}

// Sign vouches for the statement. What it signs is known to read back: a statement
// that ParseStatement would refuse is refused here.
func Sign(s Statement, key PrivateKey) (Envelope, error) {
	if key.key == nil {
		return Envelope{}, refuse(IDKeyFormat, "no private key to sign with")
	}
	if err := s.check(); err != nil {
		return Envelope{}, err
	}
	payload := s.Payload()
	if _, err := ParseStatement(payload); err != nil {
		return Envelope{}, err
	}
	sig := key.sign(PAE(PayloadType, payload))
	return Envelope{
		PayloadType: PayloadType, Payload: payload,
		Signatures: []Signature{{KeyID: key.Public().ID(), Sig: sig}},
	}, nil
}

// Check is the outcome for one signature of an envelope.
type Check struct {
	KeyID string    // as written in the envelope
	Key   PublicKey // the key that made the signature; zero when none of those given did
}

// Valid reports whether one of the keys given made the signature.
func (c Check) Valid() bool { return c.Key != PublicKey{} }

// Check tries every key on every signature, and answers for each signature in
// order. The error is for an envelope that must not be used whoever signed it: of
// another payload type, without a signature, with more than MaxSignatures, or with
// two by one key.
func (e Envelope) Check(keys []PublicKey) ([]Check, error) {
	return e.check(indexKeys(keys))
}

// keyIndex is the known keys with their ids, which cost a hash each.
type keyIndex struct {
	keys []PublicKey
	byID map[string]PublicKey
}

func indexKeys(keys []PublicKey) keyIndex {
	index := keyIndex{keys: keys, byID: make(map[string]PublicKey, len(keys))}
	for _, k := range keys {
		index.byID[k.ID()] = k
	}
	return index
}

func (e Envelope) check(index keyIndex) ([]Check, error) {
	return e.checkAs(PayloadType, index)
}

// checkAs is check for an envelope of any type: which one is wanted is for the
// caller to say, never for the envelope.
func (e Envelope) checkAs(kind string, index keyIndex) ([]Check, error) {
	switch n := len(e.Signatures); {
	case e.PayloadType != kind:
		return nil, refuse(IDPayloadType, "the envelope holds a %.80q, not a %q", e.PayloadType, kind)
	case n == 0:
		return nil, refuse(IDFormat, "the envelope has no signature")
	case n > MaxSignatures:
		return nil, refuse(IDTooLarge, "%d signatures in one envelope; at most %d are read", n, MaxSignatures)
	}
	pae := PAE(e.PayloadType, e.Payload)
	checks := make([]Check, len(e.Signatures))
	seen := make(map[PublicKey]bool)
	for i, sig := range e.Signatures {
		for _, earlier := range e.Signatures[:i] {
			if bytes.Equal(earlier.Sig, sig.Sig) {
				return nil, refuse(IDDuplicateSigner, "one signature is in the envelope twice")
			}
		}
		key := index.find(pae, sig)
		checks[i] = Check{KeyID: sig.KeyID, Key: key}
		if !checks[i].Valid() {
			continue
		}
		if seen[key] {
			return nil, refuse(IDDuplicateSigner, "key %s signed twice", key.ShortID())
		}
		seen[key] = true
	}
	return checks, nil
}

// find gives the key that made sig, the one that its hint names first.
func (index keyIndex) find(pae []byte, sig Signature) PublicKey {
	hinted, ok := index.byID[sig.KeyID]
	if ok && hinted.verify(pae, sig.Sig) {
		return hinted
	}
	for _, k := range index.keys {
		if k != hinted && k.verify(pae, sig.Sig) {
			return k
		}
	}
	return PublicKey{}
}

type (
	wireEnvelope struct {
		PayloadType string          `json:"payloadType"`
		Payload     string          `json:"payload"`
		Signatures  []wireSignature `json:"signatures"`
	}
	wireSignature struct {
		KeyID string `json:"keyid"`
		Sig   string `json:"sig"`
	}
)

func (e Envelope) wire() wireEnvelope {
	w := wireEnvelope{PayloadType: e.PayloadType, Payload: base64.StdEncoding.EncodeToString(e.Payload)}
	for _, s := range e.Signatures {
		w.Signatures = append(w.Signatures, wireSignature{s.KeyID, base64.StdEncoding.EncodeToString(s.Sig)})
	}
	return w
}

func (w wireEnvelope) read() (Envelope, error) {
	if len(w.Signatures) > MaxSignatures {
		return Envelope{}, refuse(IDTooLarge, "%d signatures in one envelope; at most %d are read", len(w.Signatures), MaxSignatures)
	}
	payload, ok := decodeEither(w.Payload)
	if !ok || len(payload) == 0 {
		return Envelope{}, refuse(IDFormat, "the payload of an envelope is not base64 of anything")
	}
	e := Envelope{PayloadType: w.PayloadType, Payload: payload}
	for _, s := range w.Signatures {
		sig, ok := decodeEither(s.Sig)
		if !ok || len(sig) != ed25519.SignatureSize {
			return Envelope{}, refuse(IDFormat, "a signature is not base64 of %d bytes", ed25519.SignatureSize)
		}
		if len(s.KeyID) > maxLabel {
			return Envelope{}, refuse(IDFormat, "a keyid has more than %d bytes", maxLabel)
		}
		e.Signatures = append(e.Signatures, Signature{KeyID: s.KeyID, Sig: sig})
	}
	return e, nil
}

// decodeEither reads standard or URL-safe base64, which DSSE lets writers choose
// between, never a mixture.
func decodeEither(s string) ([]byte, bool) {
	if strings.ContainsAny(s, "-_") {
		return decodeBase64(s, base64.URLEncoding)
	}
	return decodeBase64(s, base64.StdEncoding)
}
