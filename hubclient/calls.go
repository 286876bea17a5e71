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
	if err == nil {
		err = pushed(out.Release, in)
	}
	if err != nil {
		return hubapi.PushResult{}, err
	}
	return out, nil
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
	if err == nil {
		err = answers(out, ref)
	}
	if err != nil {
		return hubapi.Release{}, err
	}
	return out, nil
}

func setLimit(query url.Values, limit int) {
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
}

// Inbox lists what waits for review. Limit 0 is the hub's default.
func (c *Client) Inbox(ctx context.Context, limit int, contents bool) (hubapi.Inbox, error) {
	return c.InboxOf(ctx, "", limit, contents)
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
	return moved(out, ref, "approve", err)
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
	if err == nil {
		err = added(out, in)
	}
	if err != nil {
		return hubapi.CatalogAdded{}, err
	}
	return out, nil
}
