package sign

import (
	"encoding/json"
	"fmt"

	"github.com/kortecx/kx/internal/strictjson"
)

// DocumentType is a kind of document that a key vouches for besides packs. Each has
// a payload type of its own, which is part of what is signed: a signature on one
// kind is none on another, and none on a pack.
type DocumentType string

// SnapshotDocument heads a hub's snapshot (package snapshot).
const SnapshotDocument DocumentType = "application/vnd.kx.snapshot.v1+json"

// MaxDocument is the most bytes of a signed document with its envelope.
const MaxDocument = 1 << 20

// SignDocument vouches for a document. What it says is for the caller to check.
func SignDocument(kind DocumentType, payload []byte, key PrivateKey) (Envelope, error) {
	switch {
	case key.key == nil:
		return Envelope{}, refuse(IDKeyFormat, "no private key to sign with")
	case len(payload) == 0:
		return Envelope{}, refuse(IDFormat, "an empty document is not signed")
	case string(kind) == PayloadType:
		return Envelope{}, refuse(IDPayloadType, "a statement about a pack is signed with Sign")
	}
	return Envelope{
		PayloadType: string(kind), Payload: payload,
		Signatures: []Signature{{KeyID: key.Public().ID(), Sig: key.sign(PAE(string(kind), payload))}},
	}, nil
}

// OpenDocument gives the document and the keys, of those given, that signed it; none
// of them having done so is IDUnknownKey. Which of them suffice is the caller's.
func (e Envelope) OpenDocument(kind DocumentType, keys []PublicKey) ([]byte, []PublicKey, error) {
	checks, err := e.checkAs(string(kind), indexKeys(keys))
	if err != nil {
		return nil, nil, err
	}
	var signers []PublicKey
	named := ""
	for _, c := range checks {
		if c.Valid() {
			signers = append(signers, c.Key)
		} else if named == "" {
			named = c.KeyID
		}
	}
	if len(signers) == 0 {
		return nil, nil, refuse(IDUnknownKey, "none of the keys that are trusted here signed it; it names the key %.80q", named)
	}
	return e.Payload, signers, nil
}

// ParseEnvelope reads one envelope strictly. It verifies nothing.
func ParseEnvelope(data []byte) (Envelope, error) {
	if len(data) > MaxDocument {
		return Envelope{}, refuse(IDTooLarge, "the signed document has %d bytes; at most %d are read", len(data), MaxDocument)
	}
	var w wireEnvelope
	if err := strictjson.Unmarshal(data, &w); err != nil {
		return Envelope{}, &Error{ID: IDFormat, Text: "not a DSSE envelope: " + err.Error(), Err: err}
	}
	return w.read()
}

// Marshal writes the envelope, indented, with one line end at its end.
func (e Envelope) Marshal() ([]byte, error) {
	data, err := json.MarshalIndent(e.wire(), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("cannot write the signed document: %w", err)
	}
	return append(data, '\n'), nil
}
