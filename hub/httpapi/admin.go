package httpapi

import (
	"net/http"

	"github.com/kortecx/kx/hubapi"
)

const maxAdmin = 64 << 10

// adminRoutes manage keys and tenants.
func (a *api) adminRoutes() map[string]methods {
	return map[string]methods{
		"/api/v1/admin/tokens": {
			http.MethodGet:  {params: "tenant", serve: a.tokens},
			http.MethodPost: {serve: a.newToken},
		},
		"/api/v1/admin/tokens/{id}": {http.MethodDelete: {serve: a.revokeToken}},
		"/api/v1/admin/tenants": {
			http.MethodGet:  {serve: a.tenants},
			http.MethodPost: {serve: a.newTenant},
		},
		"/api/v1/admin/tenants/{id}": {
			http.MethodGet: {serve: a.tenant},
			http.MethodPut: {serve: a.setTenant},
		},
		"/api/v1/admin/promote": {http.MethodPost: {serve: a.promote}},
	}
}

func (a *api) tokens(c *call) error {
	return c.answer(a.hub.Keys(c.r.Context(), c.p, c.q["tenant"]))
}

func (a *api) newToken(c *call) error {
	var in hubapi.NewKey
	if err := c.readJSON(&in, maxAdmin, false); err != nil {
		return err
	}
	made, err := a.hub.NewKey(c.r.Context(), c.p, in)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusCreated, made)
	return nil
}

func (a *api) revokeToken(c *call) error {
	return c.answer(a.hub.RevokeKey(c.r.Context(), c.p, c.r.PathValue("id")))
}

func (a *api) tenants(c *call) error {
	return c.answer(a.hub.Tenants(c.r.Context(), c.p))
}

func (a *api) newTenant(c *call) error {
	var in hubapi.NewTenant
	if err := c.readJSON(&in, maxAdmin, false); err != nil {
		return err
	}
	tenant, err := a.hub.NewTenant(c.r.Context(), c.p, in)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusCreated, tenant)
	return nil
}

// tenant shows one; "-" is the caller's own.
func (a *api) tenant(c *call) error {
	return c.answer(a.hub.Tenant(c.r.Context(), c.p, c.tenantID()))
}

func (c *call) tenantID() string {
	if id := c.r.PathValue("id"); id != hubapi.AnyAuthor {
		return id
	}
	return ""
}

func (a *api) setTenant(c *call) error {
	var in hubapi.TenantChange
	if err := c.readJSON(&in, maxAdmin, false); err != nil {
		return err
	}
	return c.answer(a.hub.SetTenant(c.r.Context(), c.p, c.tenantID(), in))
}

// promote runs the promotion tick of the caller's tenant at once.
func (a *api) promote(c *call) error {
	if err := c.readJSON(&struct{}{}, 1<<10, true); err != nil {
		return err
	}
	return c.answer(a.hub.Tick(c.r.Context(), c.p))
}
