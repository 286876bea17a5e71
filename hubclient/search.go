package hubclient

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/kortecx/kx/hubapi"
)

// SearchOptions narrow a search. Everything that is set must hold.
type SearchOptions struct {
	Tags         []string // none with a comma
	Capabilities []string
	Author       string
	Format       string
	Status       hubapi.Status // empty means active
	Limit        int           // 0 is the hub's default
	Cursor       string        // NextCursor of the page before
}

// Search finds releases; an empty query lists them by name.
func (c *Client) Search(ctx context.Context, q string, o SearchOptions) (hubapi.SearchResult, error) {
	query := url.Values{}
	set(query, "q", q)
	set(query, "tag", strings.Join(o.Tags, ","))
	set(query, "capability", strings.Join(o.Capabilities, ","))
	set(query, "author", o.Author)
	set(query, "format", o.Format)
	set(query, "status", string(o.Status))
	set(query, "cursor", o.Cursor)
	setLimit(query, o.Limit)
	var out hubapi.SearchResult
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"search"}, query: query, limit: maxList}, &out)
	if out.Items == nil {
		out.Items = []hubapi.SearchItem{}
	}
	return out, err
}
