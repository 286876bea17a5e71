package source

import (
	"context"
	"errors"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/kortecx/kx/hubapi"
)

// commits is where the objects of a repository are read from, and what it calls its
// commits.
type commits struct {
	objects storer.EncodedObjectStorer
	names   names
	// find looks a commit up by the beginning of its id, where names does not have it.
	find func(prefix string) (plumbing.Hash, error)
}

// names are the branches and tags of a repository.
type names struct {
	head plumbing.Hash
	refs map[string]plumbing.Hash // full name to commit; tags are peeled
}

// fetchGit reads the packs in one commit of a repository. Nothing is checked out:
// files come from the commit's tree, under the path rules of package pack.
func (s *Sources) fetchGit(ctx context.Context, ref Ref, limits Limits) (*Fetched, error) {
	if !ref.Remote() {
		c, closeRepo, err := s.openLocal(ref)
		if err != nil {
			return nil, err
		}
		defer closeRepo()
		ref, commit, err := c.resolve(ref)
		if err != nil {
			return nil, err
		}
		return readCommit(ctx, c.objects, ref, commit, limits)
	}
	if s.bySystem(ref) {
		return s.fetchBySystem(ctx, ref, limits)
	}
	r, err := s.dialGit(ctx, ref, limits)
	if err != nil {
		return nil, err
	}
	defer r.web.close()
	c := &commits{names: r.names}
	ref, commit, err := c.resolve(ref)
	if err != nil && isShort(ref.Rev) {
		// Only the history knows what a short id stands for.
		all := slices.Collect(mapValues(r.names.refs))
		if c.objects, err = r.receive(ctx, all, 0, limits); err != nil {
			return nil, err
		}
		c.find = func(prefix string) (plumbing.Hash, error) { return findCommit(c.objects, prefix) }
		if ref, commit, err = c.resolve(ref); err != nil {
			return nil, err
		}
		return readCommit(ctx, c.objects, ref, commit, limits)
	}
	if err != nil {
		return nil, err
	}
	objects, err := r.receive(ctx, []plumbing.Hash{commit}, 1, limits)
	if err != nil && !r.names.has(commit) && r.web.why(nil) == nil {
		// A server may give only what its branches lead to.
		objects, err = r.receive(ctx, slices.Collect(mapValues(r.names.refs)), 0, limits)
	}
	if err != nil {
		return nil, err
	}
	return readCommit(ctx, objects, ref, commit, limits)
}

func mapValues[K comparable, V any](m map[K]V) func(func(V) bool) {
	return func(yield func(V) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

func (n names) has(h plumbing.Hash) bool {
	for _, r := range n.refs {
		if r == h {
			return true
		}
	}
	return n.head == h
}

// resolve finds the commit that ref means, and takes Tree apart.
func (c *commits) resolve(ref Ref) (Ref, plumbing.Hash, error) {
	if ref.Tree == "" {
		h, err := c.commit(ref, ref.Rev)
		return ref, h, err
	}
	for i := 0; i <= len(ref.Tree); i++ {
		if i < len(ref.Tree) && ref.Tree[i] != '/' {
			continue
		}
		h, err := c.commit(ref, ref.Tree[:i])
		if e, ok := errors.AsType[*hubapi.Error](err); ok && e.Code == hubapi.NotFound {
			continue
		}
		ref.Rev, ref.Path, ref.Tree = ref.Tree[:i], strings.TrimPrefix(ref.Tree[i:], "/"), ""
		return ref, h, err
	}
	first, _, _ := strings.Cut(ref.Tree, "/")
	return ref, plumbing.ZeroHash, noRev(ref, first)
}

func noRev(ref Ref, rev string) error {
	return fail(hubapi.NotFound, "source.no-rev", "%s has no branch, tag or commit %q", ref.Location, clip(rev))
}

// commit finds a branch, a tag or a commit.
func (c *commits) commit(ref Ref, rev string) (plumbing.Hash, error) {
	if rev == "" || rev == "HEAD" {
		if c.names.head.IsZero() {
			return plumbing.ZeroHash, fail(hubapi.NotFound, "source.no-rev", "%s has no commit", ref.Location)
		}
		return c.names.head, nil
	}
	if h, ok := c.names.refs[rev]; ok && strings.HasPrefix(rev, "refs/") {
		return h, nil
	}
	branch, isBranch := c.names.refs["refs/heads/"+rev]
	tag, isTag := c.names.refs["refs/tags/"+rev]
	switch {
	case isBranch && isTag && branch != tag:
		return plumbing.ZeroHash, fail(hubapi.Conflict, "source.ambiguous", "%s has a branch and a tag %q, at different commits", ref.Location, clip(rev)).
			WithHint("write refs/heads/%s or refs/tags/%s", clip(rev), clip(rev))
	case isTag:
		return tag, nil
	case isBranch:
		return branch, nil
	case isCommit(rev) && len(rev) == 40:
		return plumbing.NewHash(rev), nil
	case isShort(rev):
		return c.abbreviated(ref, rev)
	}
	return plumbing.ZeroHash, noRev(ref, rev)
}

// isShort knows the beginning of a commit's id, as git abbreviates it.
func isShort(rev string) bool {
	return len(rev) >= 7 && len(rev) < 40 && strings.Trim(rev, "0123456789abcdef") == ""
}

func (c *commits) abbreviated(ref Ref, rev string) (plumbing.Hash, error) {
	var found plumbing.Hash
	for _, h := range c.names.refs {
		if strings.HasPrefix(h.String(), rev) {
			if !found.IsZero() && found != h {
				return plumbing.ZeroHash, fail(hubapi.Conflict, "source.ambiguous", "several commits of %s begin with %s", ref.Location, rev)
			}
			found = h
		}
	}
	if found.IsZero() && c.find != nil {
		return c.find(rev)
	}
	if found.IsZero() {
		return found, noRev(ref, rev)
	}
	return found, nil
}

// findCommit looks through all commits at hand.
func findCommit(objects storer.EncodedObjectStorer, prefix string) (plumbing.Hash, error) {
	var found plumbing.Hash
	all, err := objects.IterEncodedObjects(plumbing.CommitObject)
	if err != nil {
		return found, err
	}
	err = all.ForEach(func(o plumbing.EncodedObject) error {
		h := o.Hash()
		if !strings.HasPrefix(h.String(), prefix) || h == found {
			return nil
		}
		if !found.IsZero() {
			return fail(hubapi.Conflict, "source.ambiguous", "several commits begin with %s", prefix)
		}
		found = h
		return nil
	})
	if err == nil && found.IsZero() {
		err = fail(hubapi.NotFound, "source.no-rev", "there is no commit that begins with %s", prefix)
	}
	return found, err
}

// remote is a repository behind http or https.
type remote struct {
	ref     Ref
	web     *web
	session transport.UploadPackSession
	shallow bool
	names   names
}

// dialGit asks a repository for its branches and tags: one request, or two where it
// wants to know who is asking.
func (s *Sources) dialGit(ctx context.Context, ref Ref, limits Limits) (*remote, error) {
	u, err := checkURL(ref.Location)
	if err != nil {
		return nil, err
	}
	w, err := s.web(ctx, u, limits.Packed, s.received(ref))
	if err != nil {
		return nil, err
	}
	var auth *githttp.BasicAuth
	for asked := false; ; asked = true {
		r, err := dialAs(ctx, w, ref, u, auth)
		if err == nil {
			return r, nil
		}
		denied := errors.Is(err, transport.ErrAuthenticationRequired) || errors.Is(err, transport.ErrAuthorizationFailed)
		if denied && !asked {
			if auth, err = s.credentials(ctx, u); err == nil && auth != nil {
				continue
			}
		}
		w.close()
		if denied {
			e := fail(hubapi.Unauthorized, "source.auth", "%s is private, or is not there", ref.Location)
			if auth != nil {
				e = fail(hubapi.Unauthorized, "source.auth", "%s does not accept the credentials, or is not there", ref.Location)
			}
			return nil, e.WithHint("set KX_GIT_TOKEN, or store a password with git's credential helper")
		}
		return nil, gitError(w, u, ref, err)
	}
}

func dialAs(ctx context.Context, w *web, ref Ref, u *url.URL, auth *githttp.BasicAuth) (*remote, error) {
	end := &transport.Endpoint{Protocol: u.Scheme, Host: u.Hostname(), Path: u.Path}
	if strings.Contains(end.Host, ":") {
		end.Host = "[" + end.Host + "]"
	}
	if p := u.Port(); p != "" {
		end.Port, _ = strconv.Atoi(p)
	}
	var method transport.AuthMethod
	if auth != nil {
		method = auth
	}
	session, err := githttp.NewClient(w.http).NewUploadPackSession(end, method)
	if err != nil {
		return nil, err
	}
	adv, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return nil, err
	}
	r := &remote{ref: ref, web: w, session: session, shallow: adv.Capabilities.Supports(capability.Shallow)}
	r.names.refs = make(map[string]plumbing.Hash, len(adv.References))
	for name, h := range adv.References {
		if peeled, ok := adv.Peeled[name]; ok {
			h = peeled
		}
		if strings.HasPrefix(name, "refs/heads/") || strings.HasPrefix(name, "refs/tags/") {
			r.names.refs[name] = h
		}
	}
	if adv.Head != nil {
		r.names.head = *adv.Head
	}
	return r, nil
}

// receive gets the objects of commits, with depth 1 without their history.
func (r *remote) receive(ctx context.Context, want []plumbing.Hash, depth int, limits Limits) (storer.EncodedObjectStorer, error) {
	req := packp.NewUploadPackRequest()
	_ = req.Capabilities.Set(capability.OFSDelta)
	_ = req.Capabilities.Set(capability.Agent, "kx")
	_ = req.Capabilities.Set(capability.NoProgress)
	if depth > 0 && r.shallow {
		_ = req.Capabilities.Set(capability.Shallow)
		req.Depth = packp.DepthCommits(depth)
	}
	plumbing.HashesSort(want)
	req.Wants = slices.Compact(want)
	resp, err := r.session.UploadPack(ctx, req)
	if err != nil {
		return nil, gitError(r.web, nil, r.ref, err)
	}
	defer resp.Close()
	packed, err := io.ReadAll(resp)
	if err != nil {
		return nil, gitError(r.web, nil, r.ref, err)
	}
	objects, err := unpack(ctx, packed, limits)
	if err != nil {
		return nil, asError(err, hubapi.Invalid, "what %s sent is not a git pack", r.ref.Location)
	}
	return objects, nil
}

// gitError puts an error of the library into the vocabulary.
func gitError(w *web, u *url.URL, ref Ref, err error) error {
	if e := w.why(err); e != err {
		return e
	}
	switch {
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return fail(hubapi.NotFound, "source.not-found", "there is no repository at %s", ref.Location)
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return fail(hubapi.NotFound, "source.empty", "the repository %s is empty", ref.Location)
	}
	var odd *packp.ErrUnexpectedData
	if errors.As(err, &odd) || errors.Is(err, packp.ErrEmptyInput) || errors.Is(err, pktline.ErrInvalidPktLen) {
		return fail(hubapi.Invalid, "fetch.type", "what answers at %s is not a git server", ref.Location)
	}
	if e, ok := errors.AsType[*hubapi.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return fail(hubapi.Unavailable, "fetch.unreachable", "cannot read %s: %v", ref.Location, err)
}

// received reports what comes in.
func (s *Sources) received(ref Ref) func(int64) {
	if s.Progress == nil {
		return nil
	}
	return func(n int64) { s.progress(Progress{Ref: ref, What: "receiving", Done: n}) }
}

// readCommit finds the packs in a commit.
func readCommit(ctx context.Context, objects storer.EncodedObjectStorer, ref Ref, h plumbing.Hash, limits Limits) (*Fetched, error) {
	tree, err := commitTree(objects, h)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil, commitGone(ref, h.String())
	}
	if err != nil {
		return nil, asError(gitMissing(err), hubapi.Invalid, "the commit %s of %s cannot be read", h, ref.Location)
	}
	w := &gitWalk{ctx: ctx, objects: objects, limits: limits, ref: ref}
	if err := w.find(tree); err != nil {
		return nil, asError(gitMissing(err), hubapi.Invalid, "the commit %s of %s cannot be read", h, ref.Location)
	}
	sortFound(w.found)
	return &Fetched{Ref: ref, Revision: h.String(), Found: w.found, Notes: w.notes}, nil
}

// commitGone is the error for a commit that somebody once named: branches that are pushed
// over leave it to nobody, and it is thrown away some day.
func commitGone(ref Ref, commit string) error {
	return fail(hubapi.NotFound, "source.no-rev", "%s no longer has the commit %s", ref.Location, commit).
		WithHint("its history was rewritten, or it never had it: name a branch, a tag or another commit")
}

func gitMissing(err error) error {
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return fail(hubapi.Invalid, "source.damaged", "an object is missing: the repository is damaged or incomplete")
	}
	return err
}
