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
		return nil, s.notInHub(ctx, ref, err)
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

// notInHub adds to the error about a release that the hub does not know which version
// of the skill there is instead, and else how an owner/repo would be taken from GitHub.
// Of what a file names neither is of use: nobody chooses its words now.
func (s *Sources) notInHub(ctx context.Context, ref Ref, err error) error {
	e, ok := errors.AsType[*hubapi.Error](err)
	if !ok || e.Code != hubapi.NotFound || s.Net.Recorded && !s.HubOnly {
		return err
	}
	if ref.Hub.Version != "" {
		if there, hubErr := s.Hub.Release(ctx, hubapi.Ref{Author: ref.Hub.Author, Name: ref.Hub.Name}); hubErr == nil {
			out := *e
			return out.WithHint("of %s/%s the hub has version %s: write %s", there.Author, there.Name, there.Version, there.Ref())
		}
	}
	if ref.Hub.Author == "" || s.HubOnly {
		return err
	}
	text := "github:" + ref.Hub.Author + "/" + ref.Hub.Name
	if ref.Hub.Version != "" {
		text += "@" + ref.Hub.Version
	}
	out := *e
	return out.WithHint("for a repository on GitHub write %s, for a folder ./%s", text, ref.Hub)
}
