package source

import (
	"context"
	"errors"

	"github.com/kortecx/kx/hubapi"
)

// fetchHub reads a release: the one that is named, else the active one.
func (s *Sources) fetchHub(ctx context.Context, ref Ref, _ Limits) (*Fetched, error) {
	if s.Hub == nil {
		return nil, hubapi.Errorf(hubapi.Unsupported, "%s is a skill in a hub, and no hub is at hand", ref)
	}
	got, err := s.Hub.Archive(ctx, ref.Hub)
	if err != nil {
		return nil, notInHub(ref, err)
	}
	r := got.Release
	exact := hubapi.Ref{Author: r.Author, Name: r.Name, Version: r.Version}
	out := &Fetched{Ref: ref, Revision: r.Version, Release: &r}
	out.Ref.Hub.Author = r.Author
	if r.Signed {
		out.Signature, err = s.Hub.Signature(ctx, exact)
		if e, ok := errors.AsType[*hubapi.Error](err); ok && e.Code == hubapi.NotFound {
			return nil, fail(hubapi.Invalid, "sign.stripped", "the hub says that %s is signed, and does not have the signature", exact)
		}
		if err != nil {
			return nil, err
		}
	}
	out.Found = []Found{{Name: r.Name, Format: got.Pack.Format, Digest: got.Digest, Pack: got.Pack}}
	return out, nil
}

// notInHub adds to the error about an owner/repo that the hub does not know how it
// would be taken from GitHub.
func notInHub(ref Ref, err error) error {
	e, ok := errors.AsType[*hubapi.Error](err)
	if !ok || e.Code != hubapi.NotFound || ref.Hub.Author == "" {
		return err
	}
	text := "github:" + ref.Hub.Author + "/" + ref.Hub.Name
	if ref.Hub.Version != "" {
		text += "@" + ref.Hub.Version
	}
	out := *e
	return out.WithHint("for a repository on GitHub write %s, for a folder ./%s", text, ref.Hub)
}
