package sign

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/internal/strictjson"
)

// PublisherKind is an author's list of keys (PublisherDocument).
const PublisherKind DocumentType = "application/vnd.kx.publisher.v1+json"

// PublisherDocument is whose signatures an author stands for, and whose no more. Its
// versions are a chain: each is signed by enough keys of the one before and by enough
// of its own, so that whoever saw one can follow to the newest, and nobody who holds
// too few keys can bend it.
type PublisherDocument struct {
	Owner   string `json:"owner"`   // the author's namespace
	Version int64  `json:"version"` // from 1, by one
	// Prev is the SHA-256 of the payload before, 64 hex digits; empty in version 1.
	Prev      string         `json:"prev"`
	Threshold int            `json:"threshold"` // of keys that must sign the next version, and this one
	Keys      []PublisherKey `json:"keys"`
	Revoked   []RevokedKey   `json:"revoked"` // it only grows
	Expires   string         `json:"expires"` // RFC 3339, UTC: it proves nothing about keys later on
}

// PublisherKey is one key of an author.
type PublisherKey struct {
	ID     string `json:"id"`  // 64 hex digits
	Public string `json:"pub"` // skey1:...
}

// RevokedKey is a key that an author stands for no more.
type RevokedKey struct {
	ID     string `json:"id"`
	At     string `json:"at"`     // RFC 3339, UTC
	Reason string `json:"reason"` // superseded: what it signed stays signed; compromised: only what a log had before
}

// The reasons of a revocation.
const (
	Superseded  = "superseded"
	Compromised = "compromised"
)

// The ids of refusals of publisher documents.
const (
	IDRotateInvalid   = "rotate.invalid"   // not such a document
	IDRotateChain     = "rotate.chain"     // does not follow from the one before
	IDRotateRollback  = "rotate.rollback"  // older than one that was seen
	IDRotateFork      = "rotate.fork"      // another of the same version
	IDRotateThreshold = "rotate.threshold" // too few keys signed it
	IDRotateExpired   = "rotate.expired"
)

const maxPublisherKeys = 64

// Publication is one version of a publisher document whose own signatures verified.
type Publication struct {
	Document PublisherDocument
	Payload  []byte
	Envelope Envelope
}

// Sum is the SHA-256 of the payload, as the next version names it.
func (p Publication) Sum() string {
	sum := sha256.Sum256(p.Payload)
	return hex.EncodeToString(sum[:])
}

// Payload is the document in its one form.
func (d PublisherDocument) Payload() ([]byte, error) {
	if d.Revoked == nil {
		d.Revoked = []RevokedKey{}
	}
	if err := d.check(); err != nil {
		return nil, err
	}
	return json.Marshal(d)
}

// PublicKeys are the keys of the document.
func (d PublisherDocument) PublicKeys() []PublicKey {
	var out []PublicKey
	for _, k := range d.Keys {
		if key, err := ParsePublicKey([]byte(k.Public)); err == nil {
			out = append(out, key)
		}
	}
	return out
}

func (d PublisherDocument) check() error {
	bad := func(format string, args ...any) error { return refuse(IDRotateInvalid, format, args...) }
	switch {
	case !isNamespace(d.Owner):
		return bad("a publisher document has the owner %.80q", d.Owner)
	case d.Version < 1 || d.Version == 1 && d.Prev != "" || d.Version > 1 && !isHex256(d.Prev):
		return bad("version %d of a publisher document does not say what is before it", d.Version)
	case len(d.Keys) == 0 || len(d.Keys) > maxPublisherKeys || len(d.Revoked) > 16*maxPublisherKeys:
		return bad("a publisher document has %d keys; it takes 1 to %d", len(d.Keys), maxPublisherKeys)
	case d.Threshold < 1 || d.Threshold > len(d.Keys):
		return bad("threshold %d cannot be met by %d keys", d.Threshold, len(d.Keys))
	}
	seen := map[string]bool{}
	for _, k := range d.Keys {
		key, err := ParsePublicKey([]byte(k.Public))
		if err != nil || key.ID() != k.ID || key.String() != k.Public || seen[k.ID] {
			return bad("a publisher document has a key %.64q that is not what it says, or stands there twice", k.ID)
		}
		seen[k.ID] = true
	}
	for _, r := range d.Revoked {
		if !isHex256(r.ID) || seen[r.ID] || !utcText(r.At) || r.Reason != Superseded && r.Reason != Compromised {
			return bad("a publisher document revokes %.64q in a way that cannot be", r.ID)
		}
		seen[r.ID] = true
	}
	if !utcText(d.Expires) {
		return bad("a publisher document has the expiry %.40q", d.Expires)
	}
	return nil
}

func utcText(s string) bool {
	t, err := time.Parse(time.RFC3339, s)
	return err == nil && t.UTC().Format(time.RFC3339) == s
}

// ReadPublication reads one version and verifies that enough of its own keys signed
// it. That says nothing yet about whose it is: Follow does, from one that was seen.
func ReadPublication(data []byte) (Publication, error) {
	e, err := ParseEnvelope(data)
	if err != nil {
		return Publication{}, err
	}
	return OpenPublication(e)
}

// OpenPublication is ReadPublication for an envelope.
func OpenPublication(e Envelope) (Publication, error) {
	p, err := openPending(e)
	if err != nil {
		return p, err
	}
	return p, p.signedBy(p.Document, "its own")
}

// ReadPending reads a version that may not have been signed by enough keys yet. The
// signatures of its own keys that it has must be right.
func ReadPending(data []byte) (Publication, error) {
	e, err := ParseEnvelope(data)
	if err != nil {
		return Publication{}, err
	}
	p, err := openPending(e)
	if err != nil {
		return p, err
	}
	for _, s := range e.Signatures {
		for _, key := range p.Document.PublicKeys() {
			if s.KeyID == key.ID() && !slices.Contains(p.Signers(), s.KeyID) {
				return p, refuse(IDInvalid, "the signature of the key %.16s is not of this document", s.KeyID)
			}
		}
	}
	return p, nil
}

func openPending(e Envelope) (Publication, error) {
	p := Publication{Payload: e.Payload, Envelope: e}
	if e.PayloadType != string(PublisherKind) {
		return p, refuse(IDPayloadType, "the envelope holds %.80q, not a publisher document", e.PayloadType)
	}
	if err := strictjson.Unmarshal(e.Payload, &p.Document); err != nil {
		return p, &Error{ID: IDRotateInvalid, Text: "not a publisher document: " + err.Error(), Err: err}
	}
	canonical, err := p.Document.Payload()
	if err != nil {
		return p, err
	}
	if string(canonical) != string(e.Payload) {
		return p, refuse(IDRotateInvalid, "a publisher document is not in its one form")
	}
	return p, nil
}

// Signers are the ids of the document's own keys that signed it.
func (p Publication) Signers() []string {
	var ids []string
	_, signers, err := p.Envelope.OpenDocument(PublisherKind, p.Document.PublicKeys())
	if err != nil {
		return nil
	}
	for _, key := range signers {
		if !slices.Contains(ids, key.ID()) {
			ids = append(ids, key.ID())
		}
	}
	sorting.Sort(ids, cmp.Compare[string])
	return ids
}

// Names tells whether a key is one that may sign this version: one of its own, or
// one of those before, which it revokes.
func (p Publication) Names(id string) bool {
	return slices.ContainsFunc(p.Document.Keys, func(k PublisherKey) bool { return k.ID == id }) ||
		slices.ContainsFunc(p.Document.Revoked, func(r RevokedKey) bool { return r.ID == id })
}

// WantsLog tells whether a log decides about a release: where a key that signed it
// was revoked as compromised.
func (p Publication) WantsLog(v Result) bool {
	return slices.ContainsFunc(p.Document.Revoked, func(r RevokedKey) bool {
		return r.Reason == Compromised && slices.ContainsFunc(v.Signers, func(s Signer) bool { return s.KeyID == r.ID })
	})
}

// signedBy wants the threshold of a document's keys.
func (p Publication) signedBy(d PublisherDocument, whose string) error {
	_, signers, err := p.Envelope.OpenDocument(PublisherKind, d.PublicKeys())
	if err != nil {
		if e, ok := err.(*Error); !ok || e.ID != IDUnknownKey {
			return err
		}
	}
	sorting.Sort(signers, func(a, b PublicKey) int { return cmp.Compare(a.ID(), b.ID()) })
	signers = slices.Compact(signers) // who signs twice is one
	if len(signers) < d.Threshold {
		return refuse(IDRotateThreshold, "%d of %s keys signed version %d of the keys of %s, %d must",
			len(signers), whose, p.Document.Version, p.Document.Owner, d.Threshold)
	}
	return nil
}

// Follow goes from a version that was seen to the last of next, one by one. The
// versions up to the seen one may be among them, and must then be the same: an older
// last one is a rollback, another one of the same number a fork.
func (p Publication) Follow(next ...Publication) (Publication, error) {
	now := p
	for _, n := range next {
		switch {
		case n.Document.Owner != now.Document.Owner:
			return p, refuse(IDRotateChain, "the keys of %s are followed by those of %s", now.Document.Owner, n.Document.Owner)
		case n.Document.Version < now.Document.Version:
			continue
		case n.Document.Version == now.Document.Version:
			if n.Sum() != now.Sum() {
				return p, refuse(IDRotateFork, "there are two versions %d of the keys of %s", n.Document.Version, n.Document.Owner)
			}
			continue
		}
		if err := now.before(n); err != nil {
			return p, err
		}
		now = n
	}
	if len(next) > 0 && next[len(next)-1].Document.Version < p.Document.Version {
		return p, refuse(IDRotateRollback, "version %d of the keys of %s was seen before, and the last one is %d now",
			p.Document.Version, p.Document.Owner, next[len(next)-1].Document.Version)
	}
	return now, nil
}

// before tells whether n may come right behind p.
func (p Publication) before(n Publication) error {
	if n.Document.Version != p.Document.Version+1 || n.Document.Prev != p.Sum() {
		return refuse(IDRotateChain, "version %d of the keys of %s does not follow version %d", n.Document.Version, n.Document.Owner, p.Document.Version)
	}
	for _, r := range p.Document.Revoked {
		if !slices.Contains(n.Document.Revoked, r) {
			return refuse(IDRotateChain, "version %d of the keys of %s takes back that %s is revoked", n.Document.Version, n.Document.Owner, r.ID[:shortIDLength])
		}
	}
	if err := n.signedBy(p.Document, fmt.Sprintf("version %d's", p.Document.Version)); err != nil {
		e := err.(*Error)
		return refuse(IDRotateChain, "%s", e.Text)
	}
	return n.signedBy(n.Document, "its own")
}

// Valid refuses a document that proves nothing any more.
func (p Publication) Valid(now time.Time) error {
	expires, err := time.Parse(time.RFC3339, p.Document.Expires)
	switch {
	case err != nil:
		return refuse(IDRotateInvalid, "a publisher document has the expiry %.40q", p.Document.Expires)
	case now.Before(earliest):
		return refuse(IDClock, "this machine's clock says %s, which cannot be", now.UTC().Format(time.RFC3339))
	case !now.Before(expires):
		return refuse(IDRotateExpired, "the keys of %s were to be renewed by %s", p.Document.Owner, p.Document.Expires)
	}
	return nil
}

// SignPublication signs a document with keys.
func SignPublication(d PublisherDocument, keys ...PrivateKey) (Publication, error) {
	payload, err := d.Payload()
	if err != nil {
		return Publication{}, err
	}
	return Publication{Document: d, Payload: payload}.Sign(keys...)
}

// Sign adds the signatures of keys that have not signed a version yet.
func (p Publication) Sign(keys ...PrivateKey) (Publication, error) {
	out := p
	out.Envelope.Signatures = slices.Clone(p.Envelope.Signatures)
	for _, key := range keys {
		e, err := SignDocument(PublisherKind, p.Payload, key)
		if err != nil {
			return p, err
		}
		if len(out.Envelope.Signatures) == 0 {
			out.Envelope = e
			continue
		}
		if !slices.ContainsFunc(out.Envelope.Signatures, func(s Signature) bool { return s.KeyID == e.Signatures[0].KeyID }) {
			out.Envelope.Signatures = append(out.Envelope.Signatures, e.Signatures...)
		}
	}
	return out, nil
}

// Judge holds who signed a release against the author's own list of keys: what is
// signed must be signed by one of them. A key that was superseded still counts for
// what it signed; one that was compromised only for what a log had before. What is
// not signed at all is for the policy.
func (p Publication) Judge(v Result, log LogFacts, now time.Time) []Finding {
	if len(v.Signers) == 0 && len(v.UnknownKeys) == 0 {
		return nil
	}
	if err := p.Valid(now); err != nil {
		e := err.(*Error)
		return []Finding{{e.ID, e.Text}}
	}
	counts := false
	var out []Finding
	for _, s := range v.Signers {
		if slices.ContainsFunc(p.Document.Keys, func(k PublisherKey) bool { return k.ID == s.KeyID }) {
			counts = true
		}
		for _, r := range p.Document.Revoked {
			if r.ID != s.KeyID {
				continue
			}
			at, err := time.Parse(time.RFC3339, r.At)
			if r.Reason == Superseded || err == nil && log.Proved && !log.At.IsZero() && log.At.Before(at) {
				counts = true
				continue
			}
			out = append(out, Finding{IDTrustRevoked, fmt.Sprintf("the author revoked the key %s as compromised at %s, and no log had this release before", s.KeyID[:shortIDLength], r.At)})
		}
	}
	if !counts && len(out) == 0 {
		out = append(out, Finding{IDTrustPublisher, fmt.Sprintf("none of the keys that %s stands for signed it", p.Document.Owner)})
	}
	return out
}
