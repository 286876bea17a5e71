package httpapi

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"strings"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

const maxBadgeBody = 16 << 10 // a reason of 2000 characters, escaped

// badgeRoutes are the routes of badges, and of submissions in our own shape.
func (a *api) badgeRoutes() map[string]methods {
	const one = "/api/v1/badges/{author}/{name}/{version}"
	get := func(params string, serve func(*call) error) methods {
		return methods{http.MethodGet: {params: params, serve: serve}}
	}
	post := func(serve func(*call) error) methods {
		return methods{http.MethodPost: {serve: serve}}
	}
	return map[string]methods{
		"/api/v1/badges":                 get("level limit after_name", a.badges),
		"/api/v1/badges/stats":           get("", a.badgeStats),
		"/api/v1/badges/{author}/{name}": get("", a.badge),
		one: {
			http.MethodGet: {serve: a.badge},
			http.MethodPut: {serve: withBody(a.issueBadge)},
		},
		one + "/requirements":      get("", ofRelease(a.hub.BadgeRequirements)),
		one + "/attest":            post(withBody(a.hub.Attest)),
		one + "/revoke":            post(withBody(a.revokeBadge)),
		one + "/lift":              post(withBody(a.liftRevocation)),
		"/api/v1/submissions/{id}": get("", a.submission),
	}
}

func (a *api) badges(c *call) error {
	limit, err := c.q.number("limit")
	if err != nil {
		return err
	}
	return c.answer(a.hub.Badges(c.r.Context(), c.p, hubapi.BadgeLevel(c.q["level"]), c.q["after_name"], limit))
}

func (a *api) badgeStats(c *call) error {
	return c.answer(a.hub.BadgeStats(c.r.Context(), c.p))
}

// badge answers with the badge as JSON, or as a picture where the path ends in .svg.
func (a *api) badge(c *call) error {
	version, picture := strings.CutSuffix(c.r.PathValue("version"), ".svg")
	if picture {
		c.r.SetPathValue("version", version)
	}
	ref, err := c.ref()
	if err != nil {
		return err
	}
	badge, err := a.hub.Badge(c.r.Context(), c.p, ref)
	if err != nil {
		return err
	}
	if !picture {
		writeJSON(c.w, http.StatusOK, badge)
		return nil
	}
	svg := BadgeSVG(badge)
	c.w.Header().Set("Content-Type", "image/svg+xml")
	c.w.Header().Set("Content-Length", fmt.Sprint(len(svg)))
	_, _ = c.w.Write(svg)
	return nil
}

func (a *api) issueBadge(ctx context.Context, p hub.Principal, ref hubapi.Ref, in hubapi.BadgeIssue) (hubapi.Badge, error) {
	return a.hub.IssueBadge(ctx, p, ref, in.Level)
}

func (a *api) revokeBadge(ctx context.Context, p hub.Principal, ref hubapi.Ref, in hubapi.BadgeReason) (hubapi.Badge, error) {
	return a.hub.RevokeBadge(ctx, p, ref, in.Reason)
}

func (a *api) liftRevocation(ctx context.Context, p hub.Principal, ref hubapi.Ref, in hubapi.BadgeReason) (hubapi.Badge, error) {
	return a.hub.LiftRevocation(ctx, p, ref, in.Reason)
}

// ofRelease answers with what f says of the release that the path names.
func ofRelease[Out any](f func(context.Context, hub.Principal, hubapi.Ref) (Out, error)) func(*call) error {
	return func(c *call) error {
		ref, err := c.ref()
		if err != nil {
			return err
		}
		return c.answer(f(c.r.Context(), c.p, ref))
	}
}

// withBody is ofRelease for what needs a body of the form In.
func withBody[In, Out any](f func(context.Context, hub.Principal, hubapi.Ref, In) (Out, error)) func(*call) error {
	return func(c *call) error {
		ref, err := c.ref()
		if err != nil {
			return err
		}
		var in In
		if err := c.readJSON(&in, maxBadgeBody, false); err != nil {
			return err
		}
		return c.answer(f(c.r.Context(), c.p, ref, in))
	}
}

// BadgeSVG draws a badge as the Kazma reference does. One that cannot be relied on
// says so in grey instead of its level, because a picture is believed at a glance.
func BadgeSVG(b hubapi.Badge) []byte {
	fill, word := "#6b7280", b.Level.Title()
	switch {
	case b.Revoked:
		word = "Revoked"
	case !b.Valid:
		word = "Not Valid"
		if b.Reason == "expired" {
			word = "Expired"
		}
	case b.Level == hubapi.BadgeBasic:
		fill = "#22c55e"
	case b.Level == hubapi.BadgeStandard:
		fill = "#3b82f6"
	case b.Level == hubapi.BadgePremium:
		fill = "#eab308"
	}
	about := html.EscapeString("Kazma-Certified " + word + ": " + b.Author + "/" + b.Name + "@" + b.Version)
	text := func(y, size int, words string) string {
		return fmt.Sprintf(`  <text x="100" y="%d" text-anchor="middle" fill="white" font-family="Arial, sans-serif" font-size="%d" font-weight="bold">%s</text>`+"\n",
			y, size, html.EscapeString(words))
	}
	return []byte(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
		`<svg xmlns="http://www.w3.org/2000/svg" width="200" height="60" viewBox="0 0 200 60" role="img" aria-label="` + about + `">` + "\n" +
		`  <title>` + about + `</title>` + "\n" +
		`  <rect width="200" height="60" rx="8" fill="` + fill + `"/>` + "\n" +
		text(25, 12, "Kazma-Certified") + text(45, 14, word) + "</svg>\n")
}
