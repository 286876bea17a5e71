package httpapi

import (
	"net/http"

	"github.com/kortecx/kx/hubapi"
)

// publisherRoutes are authors' signed lists of keys.
func (a *api) publisherRoutes() map[string]methods {
	return map[string]methods{
		"/api/v1/publishers/{author}": {
			http.MethodGet: {params: "after", serve: a.publisher},
			http.MethodPut: {serve: a.putPublisher},
		},
	}
}

func (a *api) publisher(c *call) error {
	after, err := c.q.number("after")
	if err != nil {
		return err
	}
	return c.answer(a.hub.PublisherChain(c.r.Context(), c.p, c.r.PathValue("author"), int64(after)))
}

func (a *api) putPublisher(c *call) error {
	data, err := c.body(hubapi.MaxPublisher)
	if err != nil {
		return err
	}
	return c.answer(a.hub.PutPublisher(c.r.Context(), c.p, c.r.PathValue("author"), data))
}
