package hubclient

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// PushInput is one push.
type PushInput struct {
	Name      string // of the pack's folder
	Files     []pack.File
	Author    string // namespace; empty: the pack's own, else the key's default
	Version   string // empty: the manifest's, else the hub's next integer
	Signature []byte // content of the signature file; nil without one
	Approve   bool   // make it active at once; for reviewers
}

// Push publishes a pack. Pushing what is there already is no error: the answer
// says Unchanged.
func (c *Client) Push(ctx context.Context, in PushInput) (hubapi.PushResult, error) {
	archive := hubapi.Archive{Top: in.Name, Signature: in.Signature, Files: make([]hubapi.File, len(in.Files))}
	for i, f := range in.Files {
		archive.Files[i] = hubapi.File(f)
	}
	var body bytes.Buffer
	if err := c.archives.Write(&body, archive); err != nil {
		return hubapi.PushResult{}, hubapi.Errorf(hubapi.Invalid, "the pack cannot be sent: %v", err)
	}
	if body.Len() > hubapi.MaxArchive {
		return hubapi.PushResult{}, hubapi.Errorf(hubapi.TooLarge, "the pack has %d MiB when packed, a hub takes at most %d", body.Len()>>20, hubapi.MaxArchive>>20)
	}
	query := url.Values{}
	set(query, "author", in.Author)
	set(query, "version", in.Version)
	if in.Approve {
		query.Set("approve", "true")
	}
	var out hubapi.PushResult
	err := c.call(ctx, request{
		method: http.MethodPost, path: []string{"releases"}, query: query,
		body: body.Bytes(), kind: typeGzip,
	}, &out)
	return out, err
}

func set(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

// releasePath is where a release lives in the API.
func releasePath(ref hubapi.Ref, more ...string) []string {
	author := ref.Author
	if author == "" {
		author = hubapi.AnyAuthor
	}
	path := []string{"releases", author, ref.Name}
	if ref.Version != "" {
		path = append(path, ref.Version)
	}
	return append(path, more...)
}

// Release describes one release with its files: that version, or the active one
// when ref has no version.
func (c *Client) Release(ctx context.Context, ref hubapi.Ref) (hubapi.Release, error) {
	var out hubapi.Release
	err := c.call(ctx, request{method: http.MethodGet, path: releasePath(ref)}, &out)
	return out, err
}

// Archive is a release with its files, whose digest was computed from them again.
type Archive struct {
	Release hubapi.Release
	Name    string
	Digest  pack.Digest
	Files   []pack.File // ascending by path
}

// Archive fetches a release whole. What does not hash to the digest that the hub
// gives for it is refused.
func (c *Client) Archive(ctx context.Context, ref hubapi.Ref) (*Archive, error) {
	release, err := c.Release(ctx, ref)
	if err != nil {
		return nil, err
	}
	if err := answers(release, ref); err != nil {
		return nil, err
	}
	exact := hubapi.Ref{Author: release.Author, Name: release.Name, Version: release.Version}
	data, err := c.do(ctx, request{method: http.MethodGet, path: releasePath(exact, "archive"), accept: typeGzip})
	if err != nil {
		return nil, err
	}
	in, err := c.archives.Read(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	out := &Archive{Release: release, Name: in.Top, Files: make([]pack.File, len(in.Files))}
	for i, f := range in.Files {
		out.Files[i] = pack.File(f)
	}
	out.Digest = pack.DigestFiles(out.Files)
	if string(out.Digest) != release.Digest {
		return nil, fetchError(hubapi.Internal, "fetch.digest", "the hub says that %s is %s, but what it sent is %s", exact, release.Digest, out.Digest).
			WithHint("do not use it; tell the hub's operator")
	}
	if in.Top != release.Name {
		return nil, fetchError(hubapi.Internal, "fetch.digest", "the archive of %s holds a folder called %q", exact, in.Top)
	}
	return out, nil
}

// answers refuses a release that is not the one that was asked for, or that has
// no reference that may be used as a path.
func answers(release hubapi.Release, ref hubapi.Ref) error {
	got, err := hubapi.ParseRef(release.Ref())
	if err != nil || got.Name != ref.Name ||
		ref.Author != "" && got.Author != ref.Author || ref.Version != "" && got.Version != ref.Version {
		return fetchError(hubapi.Internal, "fetch.type", "the hub was asked for %s and answers with %.200q", ref, release.Ref())
	}
	return nil
}

// Signature fetches the signature file of a release; NotFound means unsigned.
func (c *Client) Signature(ctx context.Context, ref hubapi.Ref) ([]byte, error) {
	if ref.Version == "" {
		release, err := c.Release(ctx, ref)
		if err != nil {
			return nil, err
		}
		if err := answers(release, ref); err != nil {
			return nil, err
		}
		ref = hubapi.Ref{Author: release.Author, Name: release.Name, Version: release.Version}
	}
	return c.do(ctx, request{method: http.MethodGet, path: releasePath(ref, "signature")})
}

func setLimit(query url.Values, limit int) {
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
}

// Inbox lists what waits for review. Limit 0 is the hub's default.
func (c *Client) Inbox(ctx context.Context, limit int, contents bool) (hubapi.Inbox, error) {
	query := url.Values{}
	setLimit(query, limit)
	if contents {
		query.Set("include_content", "true")
	}
	var out hubapi.Inbox
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"skills-inbox"}, query: query}, &out)
	return out, err
}

// Approve makes a staged release the active one: that version, or the newest that
// waits. An author in ref must be the owner of the name.
func (c *Client) Approve(ctx context.Context, ref hubapi.Ref) (hubapi.InboxMove, error) {
	query := url.Values{}
	set(query, "author", ref.Author)
	set(query, "version", ref.Version)
	var out hubapi.InboxMove
	err := c.call(ctx, request{
		method: http.MethodPost, path: []string{"skills-inbox", ref.Name, "approve"}, query: query,
	}, &out)
	return out, err
}

// CatalogAdd puts a kortecx skill into the caller's own catalog. Without
// instructions the manifest must be in stored form.
func (c *Client) CatalogAdd(ctx context.Context, in hubapi.CatalogAdd) (hubapi.CatalogAdded, error) {
	var out hubapi.CatalogAdded
	body, err := json.Marshal(in)
	if err != nil {
		return out, hubapi.AsError(err)
	}
	err = c.call(ctx, request{
		method: http.MethodPut, path: []string{"catalog"}, body: body, kind: typeJSON,
	}, &out)
	return out, err
}

// CatalogList lists the caller's catalog in order of names, behind the name after.
// Limit 0 is the hub's default.
func (c *Client) CatalogList(ctx context.Context, limit int, after string) (hubapi.CatalogList, error) {
	query := url.Values{}
	setLimit(query, limit)
	set(query, "after_name", after)
	var out hubapi.CatalogList
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"catalog"}, query: query}, &out)
	return out, err
}

// CatalogForm shows one skill of the caller's catalog; a name that is not there is
// an answer with Found false.
func (c *Client) CatalogForm(ctx context.Context, name string) (hubapi.CatalogForm, error) {
	if pack.ValidName(name) != nil { // no catalog can have it, and it may not be a path segment
		return hubapi.CatalogForm{Wishes: []hubapi.Wish{}}, nil
	}
	var out hubapi.CatalogForm
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"catalog", name}}, &out)
	return out, err
}

// CatalogRemove takes a skill out of the caller's catalog; a name that is not
// there is an answer with Removed false.
func (c *Client) CatalogRemove(ctx context.Context, name string) (hubapi.CatalogRemoved, error) {
	if pack.ValidName(name) != nil {
		return hubapi.CatalogRemoved{}, nil
	}
	var out hubapi.CatalogRemoved
	err := c.call(ctx, request{method: http.MethodDelete, path: []string{"catalog", name}}, &out)
	return out, err
}
