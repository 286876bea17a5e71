package hubclient

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/kortecx/kx/hubapi"
)

// Keys lists the keys of a tenant; an empty one is the caller's.
func (c *Client) Keys(ctx context.Context, tenant string) (hubapi.KeyList, error) {
	query := url.Values{}
	set(query, "tenant", tenant)
	var out hubapi.KeyList
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"admin", "tokens"}, query: query, limit: maxList}, &out)
	return out, err
}

// NewKey makes a key. The answer holds it, this once.
func (c *Client) NewKey(ctx context.Context, in hubapi.NewKey) (hubapi.KeyMade, error) {
	var out hubapi.KeyMade
	err := c.exchangeJSON(ctx, request{method: http.MethodPost, path: []string{"admin", "tokens"}}, in, &out)
	return out, err
}

// RevokeKey ends a key at once.
func (c *Client) RevokeKey(ctx context.Context, id string) (hubapi.Key, error) {
	var out hubapi.Key
	err := c.call(ctx, request{method: http.MethodDelete, path: []string{"admin", "tokens", id}}, &out)
	return out, err
}

// Tenants lists the tenants that the caller manages.
func (c *Client) Tenants(ctx context.Context) (hubapi.TenantList, error) {
	var out hubapi.TenantList
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"admin", "tenants"}, limit: maxList}, &out)
	return out, err
}

// Tenant shows a tenant; an empty id is the caller's own.
func (c *Client) Tenant(ctx context.Context, id string) (hubapi.Tenant, error) {
	var out hubapi.Tenant
	err := c.call(ctx, request{method: http.MethodGet, path: tenantPath(id)}, &out)
	return out, err
}

// SetTenant changes settings of a tenant; an empty id is the caller's own.
func (c *Client) SetTenant(ctx context.Context, id string, change hubapi.TenantChange) (hubapi.Tenant, error) {
	var out hubapi.Tenant
	err := c.exchangeJSON(ctx, request{method: http.MethodPut, path: tenantPath(id)}, change, &out)
	return out, err
}

// NewTenant adds a tenant.
func (c *Client) NewTenant(ctx context.Context, in hubapi.NewTenant) (hubapi.Tenant, error) {
	var out hubapi.Tenant
	err := c.exchangeJSON(ctx, request{method: http.MethodPost, path: []string{"admin", "tenants"}}, in, &out)
	return out, err
}

// Promote runs the promotion tick of the caller's tenant at once.
func (c *Client) Promote(ctx context.Context) (hubapi.Promotion, error) {
	var out hubapi.Promotion
	err := c.call(ctx, request{method: http.MethodPost, path: []string{"admin", "promote"}, limit: maxList}, &out)
	return out, err
}

func tenantPath(id string) []string {
	if id == "" {
		id = hubapi.AnyAuthor
	}
	return []string{"admin", "tenants", id}
}

// exchangeJSON makes a call whose body and answer are JSON.
func (c *Client) exchangeJSON(ctx context.Context, q request, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return hubapi.AsError(err)
	}
	q.body, q.kind = body, typeJSON
	return c.call(ctx, q, out)
}
