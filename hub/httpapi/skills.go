package httpapi

import (
	"github.com/kortecx/kx/hubapi"
)

// maxCatalogBody is a manifest of 64 KiB and instructions of 256 KiB with every
// byte escaped as JSON may escape it.
const maxCatalogBody = 6*(64+256)<<10 + 1<<10

func (a *api) catalogList(c *call) error {
	limit, err := c.q.number("limit")
	if err != nil {
		return err
	}
	return c.answer(a.hub.CatalogList(c.r.Context(), c.p, limit, c.q["after_name"]))
}

func (a *api) catalogForm(c *call) error {
	return c.answer(a.hub.CatalogForm(c.r.Context(), c.p, c.r.PathValue("name")))
}

func (a *api) catalogAdd(c *call) error {
	var in hubapi.CatalogAdd
	if err := c.readJSON(&in, maxCatalogBody, false); err != nil {
		return err
	}
	var instructions []byte
	if in.Instructions != nil {
		instructions = []byte(*in.Instructions)
	}
	return c.answer(a.hub.CatalogAdd(c.r.Context(), c.p, c.r.PathValue("name"), []byte(in.Manifest), instructions))
}

func (a *api) catalogRemove(c *call) error {
	return c.answer(a.hub.CatalogRemove(c.r.Context(), c.p, c.r.PathValue("name")))
}
