package httpapi

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/kortecx/kx/hubapi"
)

// Bodies of document routes, in bytes: data of 256 KiB with what is around it, and
// the rest.
const (
	maxDocumentBody = 320 << 10
	maxQueryBody    = 64 << 10
)

// documentRoutes are MemClaw's routes of documents and of what nodes reconcile.
// Every one asks the same rules as the MCP tool does. Members of a request that we
// do not know are passed over: their clients are older, or newer, than we are.
func (a *api) documentRoutes() map[string]methods {
	on := func(params string, serve func(*call) error) endpoint {
		return endpoint{params: params, legacy: true, serve: serve}
	}
	return map[string]methods{
		"/api/v1/documents": {
			http.MethodGet:  on("collection limit offset tenant_id fleet_id", a.documentList),
			http.MethodPost: on("", a.documentWrite),
		},
		"/api/v1/documents/query":       {http.MethodPost: on("", a.documentQuery)},
		"/api/v1/documents/search":      {http.MethodPost: on("", a.documentSearch)},
		"/api/v1/documents/collections": {http.MethodGet: on("tenant_id", a.collections)},
		"/api/v1/documents/{id...}": {
			http.MethodGet:    on("collection tenant_id", a.document),
			http.MethodDelete: on("collection tenant_id", a.documentDelete),
		},
		"/api/v1/skills/installable": {http.MethodPost: on("", a.installable)},
		"/api/v1/auth/verify":        {http.MethodPost: {public: true, legacy: true, serve: a.verifyKey}},
	}
}

// inTenant refuses a request for the documents of another tenant.
func (c *call) inTenant(tenant string) error {
	if tenant != "" && tenant != c.p.Tenant {
		return hubapi.Errorf(hubapi.Forbidden, "this key is not one of the tenant %.80q", tenant)
	}
	return nil
}

func (a *api) document(c *call) error {
	if err := c.inTenant(c.q["tenant_id"]); err != nil {
		return err
	}
	return c.answer(a.hub.ReadDocument(c.r.Context(), c.p, c.q["collection"], c.r.PathValue("id")))
}

func (a *api) documentDelete(c *call) error {
	if err := c.inTenant(c.q["tenant_id"]); err != nil {
		return err
	}
	return c.answer(a.hub.DeleteDocument(c.r.Context(), c.p, c.q["collection"], c.r.PathValue("id")))
}

func (a *api) documentList(c *call) error {
	q := hubapi.DocumentQuery{Collection: c.q["collection"], FleetID: c.q["fleet_id"], TenantID: c.q["tenant_id"]}
	if _, asked := c.q["limit"]; asked {
		limit, err := c.q.number("limit")
		if err != nil {
			return err
		}
		q.Limit = &limit
	}
	var err error
	if q.Offset, err = c.q.number("offset"); err != nil {
		return err
	}
	return a.queryDocuments(c, q)
}

func (a *api) documentQuery(c *call) error {
	var q hubapi.DocumentQuery
	if err := c.readLax(&q, maxQueryBody); err != nil {
		return err
	}
	return a.queryDocuments(c, q)
}

func (a *api) queryDocuments(c *call, q hubapi.DocumentQuery) error {
	if err := c.inTenant(q.TenantID); err != nil {
		return err
	}
	return c.answer(a.hub.QueryDocuments(c.r.Context(), c.p, q))
}

func (a *api) documentSearch(c *call) error {
	var q hubapi.DocumentSearch
	if err := c.readLax(&q, maxQueryBody); err != nil {
		return err
	}
	if err := c.inTenant(q.TenantID); err != nil {
		return err
	}
	return c.answer(a.hub.SearchDocuments(c.r.Context(), c.p, q))
}

func (a *api) documentWrite(c *call) error {
	var in hubapi.DocumentWrite
	if err := c.readLax(&in, maxDocumentBody); err != nil {
		return err
	}
	if err := c.inTenant(in.TenantID); err != nil {
		return err
	}
	return c.answer(a.hub.WriteDocument(c.r.Context(), c.p, in))
}

func (a *api) collections(c *call) error {
	if err := c.inTenant(c.q["tenant_id"]); err != nil {
		return err
	}
	return c.answer(a.hub.Collections(c.r.Context(), c.p))
}

// installable answers with the whole catalogue, 304 for one that the caller has, or
// a refusal. What a node takes for an empty catalogue it deletes by, so there is no
// other success.
func (a *api) installable(c *call) error {
	var q hubapi.InstallableQuery
	if err := c.readLax(&q, maxQueryBody); err != nil {
		return err
	}
	all, err := a.hub.Installable(c.r.Context(), c.p, q)
	if err != nil {
		return err
	}
	header := c.w.Header()
	header.Set("ETag", all.ETag)
	header.Set("Cache-Control", "private, no-cache")
	header.Set(hubapi.HeaderGeneration, fmt.Sprint(all.Generation))
	header.Set(hubapi.HeaderTotal, fmt.Sprint(all.Total))
	if n := len(all.Withheld); n > 0 {
		header.Set(hubapi.HeaderWithheld, fmt.Sprint(n))
	}
	if unchanged(c.r, all.ETag) {
		c.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	for _, w := range all.Withheld {
		a.log.Warn("a skill is withheld from nodes", "skill", w.Ref, "why", w.Why)
	}
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(all.Body)))
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write(all.Body)
	return nil
}

// verifyKey says whose a key is, to who has it.
func (a *api) verifyKey(c *call) error {
	var in hubapi.KeyVerify
	if err := c.readLax(&in, maxQueryBody); err != nil {
		return err
	}
	if in.Key == "" {
		return hubapi.Errorf(hubapi.Invalid, "key is missing")
	}
	shown := c.r.Clone(c.r.Context())
	shown.Header = http.Header{"X-Api-Key": {in.Key}}
	p, err := a.auth.Authenticate(shown)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, hubapi.KeyVerified{TenantID: p.Tenant})
	return nil
}
