package httpapi

import (
	"strings"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

const searchParams = "q limit cursor tag capability author format status"

// search reads a query strictly: a filter that is there has a value, and a list
// has no empty element.
func (a *api) search(c *call) error {
	limit, err := c.q.number("limit")
	if err != nil {
		return err
	}
	q := hub.SearchQuery{Text: c.q["q"], Limit: limit}
	for name, to := range map[string]*string{
		"author": &q.Author, "format": &q.Format, "status": (*string)(&q.Status), "cursor": &q.Cursor,
	} {
		value, asked := c.q[name]
		if asked && value == "" {
			return hubapi.Errorf(hubapi.Invalid, "the query parameter %s is empty", name).WithHint("leave it out")
		}
		*to = value
	}
	for name, to := range map[string]*[]string{"tag": &q.Tags, "capability": &q.Capabilities} {
		if value, asked := c.q[name]; asked {
			*to = strings.Split(value, ",")
		}
	}
	return c.answer(a.hub.Search(c.r.Context(), c.p, q))
}
