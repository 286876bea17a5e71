package sign

import (
	"testing"
)

func TestDocumentOpensForItsOwnKindAndKeyOnly(t *testing.T) {
	key, other := seedKey(t, 1), seedKey(t, 2)
	payload := []byte(`{"v":1}`)
	e, err := SignDocument(SnapshotDocument, payload, key)
	if err != nil {
		t.Fatal(err)
	}
	data, err := e.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	back, err := ParseEnvelope(data)
	if err != nil {
		t.Fatal(err)
	}
	got, signers, err := back.OpenDocument(SnapshotDocument, []PublicKey{other.Public(), key.Public()})
	if err != nil || string(got) != string(payload) || len(signers) != 1 || signers[0] != key.Public() {
		t.Fatalf("opened %q by %v: %v", got, signers, err)
	}
	_, _, err = back.OpenDocument(SnapshotDocument, []PublicKey{other.Public()})
	wantID(t, err, IDUnknownKey)
	_, _, err = back.OpenDocument("application/vnd.kx.other.v1+json", []PublicKey{key.Public()})
	wantID(t, err, IDPayloadType)
	_, err = back.Check([]PublicKey{key.Public()})
	wantID(t, err, IDPayloadType)

	// Another kind written over it is not what was signed.
	back.PayloadType = "application/vnd.kx.other.v1+json"
	_, _, err = back.OpenDocument("application/vnd.kx.other.v1+json", []PublicKey{key.Public()})
	wantID(t, err, IDUnknownKey)

	_, err = SignDocument(PayloadType, payload, key)
	wantID(t, err, IDPayloadType)
	_, err = SignDocument(SnapshotDocument, nil, key)
	wantID(t, err, IDFormat)
	_, err = SignDocument(SnapshotDocument, payload, PrivateKey{})
	wantID(t, err, IDKeyFormat)
}

func TestEnvelopeIsReadStrictly(t *testing.T) {
	for _, text := range []string{
		``, `[]`, `{}`, `{"payloadType":"a","payload":"e30=","signatures":[],"more":1}`,
		`{"payloadType":"a","payload":"e30=","payload":"e30=","signatures":[]}`,
		`{"payloadType":"a","payload":"not base64!","signatures":[]}`,
	} {
		if _, err := ParseEnvelope([]byte(text)); err == nil {
			t.Errorf("%s was read", text)
		}
	}
	_, err := ParseEnvelope(make([]byte, MaxDocument+1))
	wantID(t, err, IDTooLarge)
}
