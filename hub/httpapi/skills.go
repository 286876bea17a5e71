package httpapi

import (
	"net/http"

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
	list, err := a.hub.CatalogList(c.r.Context(), c.p, limit, c.q["after_name"])
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, list)
	return nil
}

func (a *api) catalogForm(c *call) error {
	form, err := a.hub.CatalogForm(c.r.Context(), c.p, c.r.PathValue("name"))
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, form)
	return nil
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
	added, err := a.hub.CatalogAdd(c.r.Context(), c.p, c.r.PathValue("name"), []byte(in.Manifest), instructions)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, added)
	return nil
}

func (a *api) catalogRemove(c *call) error {
	removed, err := a.hub.CatalogRemove(c.r.Context(), c.p, c.r.PathValue("name"))
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, removed)
	return nil
}
