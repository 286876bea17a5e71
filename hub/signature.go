package hub

import (
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/sign"
)

// Signed is what a signature file vouches for. An empty Subject or Version is one
// that the signer did not bind.
type Signed struct {
	Subject string // author/name
	Version string
	Digest  string // "sp1:" + 64 hex digits
	KeyID   string // what the file says about the key; anyone can write anything there
}

// SignatureReader reads a signature file that comes with a push. It checks form,
// not keys: whom to trust is the reader's decision, not the hub's.
type SignatureReader interface {
	Signed(file []byte) ([]Signed, error)
}

// SignFiles reads the files that package sign writes.
type SignFiles struct{}

var _ SignatureReader = SignFiles{}

// Signed implements SignatureReader.
func (SignFiles) Signed(file []byte) ([]Signed, error) {
	f, err := sign.ReadSignatureFile(file)
	if err != nil {
		return nil, err
	}
	var out []Signed
	for _, envelope := range f.DSSE {
		s, err := sign.ParseStatement(envelope.Payload)
		if err != nil {
			return nil, err
		}
		signed := Signed{Subject: s.Subject(), Version: s.Version, Digest: string(s.Digest)}
		if len(envelope.Signatures) > 0 {
			signed.KeyID = envelope.Signatures[0].KeyID
		}
		out = append(out, signed)
	}
	if f.HMAC != nil {
		// An HMAC binds neither name nor version, only the digest.
		out = append(out, Signed{Digest: "sp1:" + f.HMAC.Checksum})
	}
	return out, nil
}

// readSignature is the first half of the check: the file can be read.
func (h *Hub) readSignature(file []byte) ([]Signed, error) {
	if file == nil {
		return nil, nil
	}
	if len(file) > hubapi.MaxSignature {
		return nil, signatureError(hubapi.TooLarge, "sign.too-large", "the signature file is larger than %d KiB", hubapi.MaxSignature>>10)
	}
	signed, err := h.signatures.Signed(file)
	if err != nil {
		id := "sign.format"
		if e, ok := errors.AsType[*sign.Error](err); ok {
			id = e.ID
		}
		return nil, signatureError(hubapi.Invalid, id, "the signature file cannot be read: %v", err)
	}
	return signed, nil
}

// checkSigned is the second half: all that it vouches for is this release.
func checkSigned(signed []Signed, ref hubapi.Ref, digest string) error {
	again := "sign it again as " + ref.String() + ", then push"
	subject := ref.Author + "/" + ref.Name
	for _, s := range signed {
		var e *hubapi.Error
		switch {
		case s.Digest != digest:
			e = signatureError(hubapi.Invalid, "sign.digest", "the signature is for the content %s, but this pack is %s", s.Digest, digest)
		case s.Subject != "" && s.Subject != subject:
			e = signatureError(hubapi.Invalid, "sign.subject", "the signature is for %q, but this push is %q", s.Subject, subject)
		case s.Version != "" && s.Version != ref.Version:
			e = signatureError(hubapi.Invalid, "sign.subject", "the signature is for version %q of %s, but this push is version %q", s.Version, subject, ref.Version)
		default:
			continue
		}
		return e.WithHint("%s", again)
	}
	return nil
}

// addSignature keeps what vouched for a release before, and adds to it. Nothing that
// was said is ever taken away: who could replace a signature could strip it.
func (h *Hub) addSignature(w Writer, p Principal, row ReleaseRow, file []byte) (ReleaseRow, error) {
	if row.Signature != nil {
		before, err := content(w, *row.Signature)
		if err != nil {
			return row, err
		}
		if file, err = mergeSignatures(before, file); err != nil {
			return row, err
		}
	}
	sum := Sum(sha256.Sum256(file))
	if row.Signature != nil && *row.Signature == sum {
		return row, nil
	}
	if err := w.PutContent(sum, file); err != nil {
		return row, err
	}
	if err := w.SetSignature(row.Seq, sum); err != nil {
		return row, err
	}
	row.Signature = &sum
	return row, h.audit(w, p, actSign, row, "")
}

// mergeSignatures adds to a signature file the envelopes of keys that have not signed
// in it. An HMAC is taken from the newer file, where it has one: secrets are rotated.
func mergeSignatures(before, after []byte) ([]byte, error) {
	old, err := sign.ReadSignatureFile(before)
	if err != nil {
		return after, nil // what nobody can read vouches for nothing
	}
	more, err := sign.ReadSignatureFile(after)
	if err != nil {
		return nil, err
	}
	signed := map[string]bool{}
	for _, e := range old.DSSE {
		for _, s := range e.Signatures {
			signed[s.KeyID] = true
		}
	}
	changed := false
	for _, e := range more.DSSE {
		if !slices.ContainsFunc(e.Signatures, func(s sign.Signature) bool { return signed[s.KeyID] }) {
			old.DSSE, changed = append(old.DSSE, e), true
		}
	}
	if more.HMAC != nil && (old.HMAC == nil || *old.HMAC != *more.HMAC) {
		old.HMAC, changed = more.HMAC, true
	}
	if !changed {
		return before, nil
	}
	merged, err := old.Marshal()
	if err != nil {
		return nil, signatureError(hubapi.TooLarge, "sign.too-large", "the release has too many signatures: %v", err)
	}
	return merged, nil
}

func signatureError(c hubapi.Code, id, format string, args ...any) *hubapi.Error {
	e := hubapi.Errorf(c, format, args...)
	return e.With(hubapi.Detail{ID: id, Message: e.Message})
}
