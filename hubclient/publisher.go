package hubclient

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/kortecx/kx/hubapi"
)

// PublisherChain gives an author's signed lists of keys behind the version after, all
// that there are. Nothing of it is verified.
func (c *Client) PublisherChain(ctx context.Context, author string, after int64) (out hubapi.PublisherChain, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	for range maxPages {
		var page hubapi.PublisherChain
		err := c.call(ctx, request{
			method: http.MethodGet, path: []string{"publishers", author}, limit: maxList,
			query: url.Values{"after": {strconv.FormatInt(after+int64(len(out.Items)), 10)}},
		}, &page)
		if err != nil {
			return out, err
		}
		out.Author, out.Version, out.Items = page.Author, page.Version, append(out.Items, page.Items...)
		if len(page.Items) == 0 || after+int64(len(out.Items)) >= page.Version {
			return out, nil
		}
	}
	return out, fetchError(hubapi.Internal, "fetch.too-large", "the hub's list of an author's keys does not end")
}

// PutPublisher publishes the next version of an author's list of keys.
func (c *Client) PutPublisher(ctx context.Context, author string, envelope []byte) (out hubapi.PublisherChain, err error) {
	err = c.call(ctx, request{method: http.MethodPut, path: []string{"publishers", author}, body: envelope, kind: typeJSON}, &out)
	return out, err
}
