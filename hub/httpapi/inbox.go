package httpapi

import (
	"net/http"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

// maxReview is the body of an edit: a text of 256 KiB with every byte escaped as
// JSON may escape it, and the rest.
const maxReview = 6*(256+64)<<10 + 16<<10

// reviewRoutes are the inbox, whose shapes and statuses are those of the MemClaw
// Inbox API, and what moves releases outside of it.
func (a *api) reviewRoutes() map[string]methods {
	list := methods{http.MethodGet: {params: "limit include_content status fleet_id tenant_id", legacy: true, serve: a.inbox}}
	one := func(serve func(*call) error, method, params string) methods {
		return methods{method: {params: params, legacy: true, serve: serve}}
	}
	move := func(action hub.Action) methods {
		return methods{http.MethodPost: {serve: func(c *call) error { return a.moveRelease(c, action) }}}
	}
	return map[string]methods{
		"/api/v1/skills-inbox":                                 list,
		"/api/v1/skills-inbox/{$}":                             list,
		"/api/v1/skills-inbox/{slug}":                          one(a.inboxDetail, http.MethodGet, "author version include_content"),
		"/api/v1/skills-inbox/{slug}/{action}":                 one(a.inboxAction, http.MethodPost, "author version tenant_id"),
		"/api/v1/skills-inbox/{slug}/diff":                     one(a.inboxDiff, http.MethodGet, "author version from"),
		"/api/v1/releases/{author}/{name}/{version}/withdraw":  move(hub.Withdraw),
		"/api/v1/releases/{author}/{name}/{version}/deprecate": move(hub.Deprecate),
		"/api/v1/releases/{author}/{name}/{version}/diff":      {http.MethodGet: {params: "from", serve: a.diff}},
		"/api/v1/events":                                       {http.MethodGet: {params: "after limit", serve: a.events}},
	}
}

func (a *api) inbox(c *call) error {
	if err := c.ownTenant(); err != nil {
		return err
	}
	in := hub.InboxInput{Status: hubapi.Status(c.q["status"])}
	var err error
	if in.Limit, err = c.q.number("limit"); err != nil {
		return err
	}
	if _, asked := c.q["limit"]; asked && in.Limit == 0 {
		return hubapi.Errorf(hubapi.Invalid, "the query parameter limit is at least 1")
	}
	if in.Contents, err = c.q.boolean("include_content"); err != nil {
		return err
	}
	box, err := a.hub.InboxOf(c.r.Context(), c.p, in)
	if err != nil {
		return err
	}
	if fleet := c.q["fleet_id"]; fleet != "" {
		box.FleetID = &fleet // releases belong to no fleet: every fleet sees them
	}
	writeJSON(c.w, http.StatusOK, box)
	return nil
}

// ownTenant refuses a request for the inbox of another tenant as what is absent.
func (c *call) ownTenant() error {
	if tenant := c.q["tenant_id"]; tenant != "" && tenant != c.p.Tenant {
		return hubapi.Errorf(hubapi.NotFound, "the hub has no tenant %.80q", tenant)
	}
	return nil
}

// slug is the release that a path of the inbox names.
func (c *call) slug() (hubapi.Ref, error) {
	ref := hubapi.Ref{Author: c.q["author"], Name: c.r.PathValue("slug"), Version: c.q["version"]}
	if err := hubapi.CheckName(ref.Name); err != nil {
		return ref, err
	}
	if _, asked := c.q["author"]; asked {
		if err := hubapi.CheckAuthor(ref.Author); err != nil {
			return ref, err
		}
	}
	if _, asked := c.q["version"]; asked {
		return ref, hubapi.CheckVersion(ref.Version)
	}
	return ref, nil
}

func (a *api) inboxDetail(c *call) error {
	ref, err := c.slug()
	if err != nil {
		return err
	}
	contents, err := c.q.boolean("include_content")
	if err != nil {
		return err
	}
	return c.answer(a.hub.InboxDetail(c.r.Context(), c.p, ref, contents))
}

// inboxDiff is the difference of a release to what is active.
func (a *api) inboxDiff(c *call) error {
	ref, err := c.slug()
	if err != nil {
		return err
	}
	if from, asked := c.q["from"]; asked {
		if err := hubapi.CheckVersion(from); err != nil {
			return err
		}
	}
	return c.answer(a.hub.InboxDiff(c.r.Context(), c.p, ref, c.q["from"]))
}

func (a *api) inboxAction(c *call) error {
	if err := c.ownTenant(); err != nil {
		return err
	}
	ref, err := c.slug()
	if err != nil {
		return err
	}
	action := hub.Action(c.r.PathValue("action"))
	if action == hub.Withdraw || action == hub.Deprecate {
		action = "" // they are not the inbox's
	}
	return a.act(c, ref, action)
}

func (a *api) moveRelease(c *call, action hub.Action) error {
	ref, err := c.ref()
	if err != nil {
		return err
	}
	return a.act(c, ref, action)
}

func (a *api) act(c *call, ref hubapi.Ref, action hub.Action) error {
	// Who may not act is told so before the body is read.
	if err := a.hub.MayAct(c.r.Context(), c.p, action); err != nil {
		return err
	}
	var in hubapi.Review
	if err := c.readJSON(&in, maxReview, true); err != nil {
		return err
	}
	return c.answer(a.hub.Act(c.r.Context(), c.p, ref, action, in))
}

func (a *api) diff(c *call) error {
	ref, err := c.ref()
	if err != nil {
		return err
	}
	if from, asked := c.q["from"]; asked {
		if err := hubapi.CheckVersion(from); err != nil {
			return err
		}
	}
	return c.answer(a.hub.Diff(c.r.Context(), c.p, ref, c.q["from"]))
}

func (a *api) events(c *call) error {
	after, err := c.q.number("after")
	if err != nil {
		return err
	}
	limit, err := c.q.number("limit")
	if err != nil {
		return err
	}
	return c.answer(a.hub.Events(c.r.Context(), c.p, int64(after), limit))
}
