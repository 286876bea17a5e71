package source

import (
	"context"
	"errors"

	"github.com/kortecx/kx/hubapi"
)

// hubWorkers are questions to a hub that are on the way at a time.
const hubWorkers = 8

// Latest finds out what each source is now, in the order of refs, at a small cost:
// sources of one repository, one site or one archive are asked for together, by one
// request, and a commit's full id is no question at all. An error of one source does
// not keep the others from being looked at; the error that Latest itself gives is
// that of ctx.
func (s *Sources) Latest(ctx context.Context, refs []Ref) ([]Revision, error) {
	limits := s.Limits.orDefault()
	out := make([]Revision, len(refs))
	type place struct {
		kind     Kind
		location string
	}
	groups := map[place][]int{}
	var order []place
	for i, ref := range refs {
		out[i].Ref = ref
		at := place{ref.Kind, ref.Location}
		if ref.Kind == Hub || ref.Kind == Dir {
			at.location = ref.String()
		}
		if groups[at] == nil {
			order = append(order, at)
		}
		groups[at] = append(groups[at], i)
	}
	err := eachOf(ctx, len(order), hubWorkers, func(g int) error {
		ctx, cancel := context.WithTimeout(ctx, limits.Timeout)
		defer cancel()
		list := groups[order[g]]
		if refs[list[0]].Kind == Dir {
			got, err := s.Fetch(ctx, refs[list[0]])
			for _, i := range list {
				if out[i].Err = err; err == nil {
					out[i].Revision = got.Revision
					if len(got.Found) == 1 {
						out[i].Found = &got.Found[0]
					}
				}
			}
			return nil
		}
		now, done, err := s.nowAt(ctx, refs[list[0]], limits)
		defer done()
		for _, i := range list {
			revision, each := "", err
			if err == nil {
				revision, each = now(refs[i])
			}
			if each != nil {
				each = overdue(ctx, refs[i], each)
			}
			out[i].Revision, out[i].Err = revision, each
		}
		return nil
	})
	if ctx.Err() != nil {
		return out, hubapi.Errorf(hubapi.Interrupted, "interrupted")
	}
	return out, err
}

// nowAt asks one place and gives the answer to what each reference means there.
func (s *Sources) nowAt(ctx context.Context, ref Ref, limits Limits) (now func(Ref) (string, error), done func(), err error) {
	done = func() {}
	switch ref.Kind {
	case Git:
		now, done = s.gitNow(ctx, ref, limits)
		return now, done, nil
	case Site:
		w, index, err := s.siteIndex(ctx, ref, limits)
		if err != nil {
			return nil, done, err
		}
		w.close()
		return func(r Ref) (string, error) {
			revision, _, err := index.pick(r)
			return revision, err
		}, done, nil
	case Archive:
		data, err := s.archiveBytes(ctx, ref, limits)
		revision := hashOf(data)
		return func(Ref) (string, error) { return revision, nil }, done, err
	case Hub:
		if s.Hub == nil {
			return nil, done, hubapi.Errorf(hubapi.Unsupported, "%s is a skill in a hub, and no hub is at hand", ref)
		}
		r, err := s.Hub.Release(ctx, ref.Hub)
		if err != nil {
			return nil, done, s.notInHub(ctx, ref, err)
		}
		return func(Ref) (string, error) { return r.Version, nil }, done, nil
	}
	return nil, done, hubapi.Errorf(hubapi.Internal, "nobody knows the kind %s", ref.Kind)
}

// gitNow asks a repository for its branches and tags, when it is first needed.
func (s *Sources) gitNow(ctx context.Context, ref Ref, limits Limits) (now func(Ref) (string, error), done func()) {
	var c *commits
	closeRepo := func() {}
	open := func() error {
		if c != nil {
			return nil
		}
		if !ref.Remote() {
			opened, closeIt, err := s.openLocal(ref)
			if err == nil {
				c, closeRepo = opened, closeIt
			}
			return err
		}
		n, err := s.remoteNames(ctx, ref, limits)
		if err == nil {
			c = &commits{names: n}
		}
		return err
	}
	var failed error
	return func(r Ref) (string, error) {
		if isCommit(r.Rev) && r.Tree == "" {
			return r.Rev, nil // it never is another one
		}
		if c == nil && failed == nil {
			failed = open()
		}
		if failed != nil {
			return "", failed
		}
		_, h, err := c.resolve(r)
		if e, ok := errors.AsType[*hubapi.Error](err); ok && e.ID() == "source.no-rev" && isShort(r.Rev) {
			return "", fail(hubapi.NotFound, "source.no-rev", "%s is no branch or tag of %s; whether it is a commit only its history knows", r.Rev, r.Location).
				WithHint("name the commit by its full id")
		}
		if err != nil {
			return "", err
		}
		return h.String(), nil
	}, func() { closeRepo() }
}

// remoteNames asks a remote repository for its branches and tags.
func (s *Sources) remoteNames(ctx context.Context, ref Ref, limits Limits) (names, error) {
	if s.bySystem(ref) {
		g, err := s.openRemote(ctx, ref)
		if err != nil {
			return names{}, err
		}
		defer g.remove()
		return g.lsRemote(ctx, ref)
	}
	r, err := s.dialGit(ctx, ref, limits)
	if err != nil {
		return names{}, err
	}
	r.web.close()
	return r.names, nil
}
