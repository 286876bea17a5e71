package accept

import (
	"context"
	"errors"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

// FetchRelease gets a release and its signature; the signature is nil without one.
func FetchRelease(ctx context.Context, hub *hubclient.Client, ref hubapi.Ref) (*hubclient.Archive, []byte, error) {
	got, err := hub.Archive(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	signature, err := FetchSignature(ctx, hub, got)
	return got, signature, err
}

// FetchSignature gets the signature of a release that is said to have one, and refuses
// one that is about something else; nil where there is none.
func FetchSignature(ctx context.Context, hub *hubclient.Client, got *hubclient.Archive) ([]byte, error) {
	r := got.Release
	if !r.Signed {
		return nil, nil
	}
	data, err := hub.Signature(ctx, hubapi.Ref{Author: r.Author, Name: r.Name, Version: r.Version})
	if e, ok := errors.AsType[*hubapi.Error](err); ok && e.Code == hubapi.NotFound {
		return nil, NotTaken(r, sign.IDStripped, "the hub says that it is signed, and does not have the signature")
	}
	if err != nil {
		return nil, err
	}
	return data, SignatureFits(r, got.Digest, data)
}

// NotTaken refuses a release for its signature.
func NotTaken(r hubapi.Release, id, text string) *hubapi.Error {
	return hubapi.Errorf(hubapi.Invalid, "%s was not taken: %s", r.Ref(), text).With(hubapi.Detail{ID: id, Message: text})
}

// SignatureFits refuses a signature file that cannot be read, or that is about
// something else than the release with that content. It proves nothing: it is what can
// be said before, and without, any key.
func SignatureFits(r hubapi.Release, digest pack.Digest, data []byte) error {
	file, err := sign.ReadSignatureFile(data)
	if err != nil {
		return NotTaken(r, idOf(err), "its signature cannot be read: "+err.Error())
	}
	for _, envelope := range file.DSSE {
		s, err := sign.ParseStatement(envelope.Payload)
		switch {
		case err != nil:
			return NotTaken(r, idOf(err), "its signature cannot be read: "+err.Error())
		case s.Subject() != r.Author+"/"+r.Name:
			return NotTaken(r, sign.IDSubject, "its signature is for "+s.Subject())
		case s.Version != "" && s.Version != r.Version:
			return NotTaken(r, sign.IDVersion, "its signature is for version "+s.Version)
		case s.Digest != digest:
			return NotTaken(r, sign.IDDigest, "its signature is for the content "+string(s.Digest))
		}
	}
	if file.HMAC != nil && "sp1:"+file.HMAC.Checksum != string(digest) {
		return NotTaken(r, sign.IDDigest, "its shared-secret signature is for other content")
	}
	return nil
}

func idOf(err error) string {
	if e, ok := errors.AsType[*sign.Error](err); ok {
		return e.ID
	}
	return sign.IDFormat
}

// hmacOnly tells whether a signature file holds no key signature. The hub calls such
// a release signed too; a copy that was signed with a key is not replaced by it.
func hmacOnly(data []byte) bool {
	file, err := sign.ReadSignatureFile(data)
	return err == nil && len(file.DSSE) == 0
}
