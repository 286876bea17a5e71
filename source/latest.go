package source

import (
	"context"

	"github.com/kortecx/kx/hubapi"
)

// Latest finds out what each source is now, in the order of refs, at a small cost:
// sources of one repository, site or hub are asked for together. An error of one
// source does not keep the others from being looked at; the error that Latest itself
// gives is that of ctx.
func (s *Sources) Latest(ctx context.Context, refs []Ref) ([]Revision, error) {
	out := make([]Revision, len(refs))
	err := eachOf(ctx, len(refs), func(i int) error {
		out[i] = Revision{Ref: refs[i]}
		out[i].Revision, out[i].Err = s.latest(ctx, refs[i])
		return ctx.Err()
	})
	return out, overdueAll(ctx, err)
}

func overdueAll(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return hubapi.Errorf(hubapi.Interrupted, "interrupted")
	}
	return err
}

func (s *Sources) latest(ctx context.Context, ref Ref) (string, error) {
	if ref.Kind == Hub && s.Hub != nil {
		r, err := s.Hub.Release(ctx, ref.Hub)
		if err != nil {
			return "", notInHub(ref, err)
		}
		return r.Version, nil
	}
	got, err := s.Fetch(ctx, ref)
	if err != nil {
		return "", err
	}
	return got.Revision, nil
}
