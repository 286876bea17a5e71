package hubclient

import (
	"context"
	"net/http"
	"net/url"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// Limits on all pages of a list together, so that no hub can send pages for ever.
const (
	maxPages   = 10_000
	maxCatalog = 16 << 20 // bytes of all pages of a catalog
)

// CatalogList lists the caller's catalog in order of names, behind the name after.
// Limit 0 is the hub's default.
func (c *Client) CatalogList(ctx context.Context, limit int, after string) (hubapi.CatalogList, error) {
	list, _, err := c.catalogPage(ctx, limit, after)
	return list, err
}

func (c *Client) catalogPage(ctx context.Context, limit int, after string) (out hubapi.CatalogList, size int, err error) {
	query := url.Values{}
	setLimit(query, limit)
	set(query, "after_name", after)
	size, err = c.sized(ctx, request{method: http.MethodGet, path: []string{"catalog"}, query: query, limit: maxList}, &out)
	if out.Skills == nil {
		out.Skills = []hubapi.CatalogSkill{}
	}
	return out, size, err
}

// CatalogAll lists the whole catalog of the caller, page by page, within the time
// of one call. At most 16 MiB are taken.
func (c *Client) CatalogAll(ctx context.Context) (hubapi.CatalogList, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	all := hubapi.CatalogList{Skills: []hubapi.CatalogSkill{}}
	after, total := "", 0
	for range maxPages {
		page, size, err := c.catalogPage(ctx, 0, after)
		if err != nil {
			return hubapi.CatalogList{}, err
		}
		if total += size; total > maxCatalog {
			return hubapi.CatalogList{}, fetchError(hubapi.Internal, "fetch.too-large", "the hub's catalog is larger than %d MiB", maxCatalog>>20)
		}
		for _, skill := range page.Skills {
			if skill.Name <= after {
				return hubapi.CatalogList{}, fetchError(hubapi.Internal, "fetch.type", "the hub's catalog does not go on: %.80q comes behind %.80q", skill.Name, after)
			}
			after = skill.Name
			all.Skills = append(all.Skills, skill)
		}
		if !page.HasMore || len(page.Skills) == 0 {
			return all, nil
		}
	}
	return hubapi.CatalogList{}, fetchError(hubapi.Internal, "fetch.too-large", "the hub's catalog has more than %d pages", maxPages)
}

// CatalogForm shows one skill of the caller's catalog; a name that is not there is
// an answer with Found false, and only then without a Summary.
func (c *Client) CatalogForm(ctx context.Context, name string) (hubapi.CatalogForm, error) {
	if pack.ValidName(name) != nil { // no catalog can have it, and it may not be a path segment
		return hubapi.CatalogForm{Wishes: []hubapi.Wish{}}, nil
	}
	var out hubapi.CatalogForm
	if err := c.call(ctx, request{method: http.MethodGet, path: []string{"catalog", name}}, &out); err != nil {
		return hubapi.CatalogForm{}, err
	}
	if out.Found && (out.Summary == nil || out.Summary.Name != name) {
		return hubapi.CatalogForm{}, fetchError(hubapi.Internal, "fetch.type", "the hub says that %q is in the catalog, and does not show it", name)
	}
	if out.Wishes == nil {
		out.Wishes = []hubapi.Wish{}
	}
	return out, nil
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
