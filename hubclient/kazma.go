package hubclient

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/strictjson"
)

// kazmaRefusal reads {"detail": …}, the refusal of the Kazma routes; nil when data
// is none.
func kazmaRefusal(status int, data []byte) *hubapi.Error {
	var body struct {
		Detail json.RawMessage `json:"detail"`
		Errors []hubapi.Detail `json:"errors"`
	}
	if strictjson.UnmarshalLax(data, &body) != nil || len(body.Detail) == 0 {
		return nil
	}
	e := &hubapi.Error{Code: hubapi.CodeOf(status), Details: body.Errors}
	var faults []hubapi.KazmaFault
	switch {
	case json.Unmarshal(body.Detail, &e.Message) == nil && e.Message != "":
	case json.Unmarshal(body.Detail, &faults) == nil && len(faults) > 0:
		e.Code = hubapi.Invalid
		last := ""
		if n := len(faults[0].Loc); n > 0 {
			last = faults[0].Loc[n-1] + ": "
		}
		e.Message = last + faults[0].Msg
	default:
		return nil
	}
	return e
}

// KazmaList says which page of the Kazma list is wanted. Zero values are the hub's
// defaults: the first page, 20 on a page, by name, all.
type KazmaList struct {
	Page, PerPage  int
	Sort, Category string
	Certified      *bool
}

// KazmaSkills lists active releases as the Kazma API does.
func (c *Client) KazmaSkills(ctx context.Context, l KazmaList) (hubapi.KazmaPage, error) {
	query := url.Values{}
	if l.Page > 0 {
		query.Set("page", strconv.Itoa(l.Page))
	}
	if l.PerPage > 0 {
		query.Set("per_page", strconv.Itoa(l.PerPage))
	}
	set(query, "sort", l.Sort)
	set(query, "category", l.Category)
	if l.Certified != nil {
		query.Set("certified", strconv.FormatBool(*l.Certified))
	}
	var out hubapi.KazmaPage
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"skills"}, query: query, limit: maxList}, &out)
	return out, err
}

// KazmaSearch finds active releases that hold q in their name, author, description,
// tags or category.
func (c *Client) KazmaSearch(ctx context.Context, q, category string, certified *bool) (hubapi.KazmaFound, error) {
	query := url.Values{}
	set(query, "q", q)
	set(query, "category", category)
	if certified != nil {
		query.Set("certified", strconv.FormatBool(*certified))
	}
	var out hubapi.KazmaFound
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"skills", "search"}, query: query, limit: maxList}, &out)
	return out, err
}

// KazmaSkill describes one release by any form of its id.
func (c *Client) KazmaSkill(ctx context.Context, id string) (hubapi.KazmaDetail, error) {
	var out hubapi.KazmaDetail
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"skills", id}}, &out)
	return out, err
}

// KazmaCertification gives the certification of a release, or the state of a
// submission, by its id. NotFound means that it has no badge, or is not there.
func (c *Client) KazmaCertification(ctx context.Context, id string) (hubapi.KazmaCertification, error) {
	var out hubapi.KazmaCertification
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"skills", id, "certification"}}, &out)
	return out, err
}

// KazmaStats counts the hub's active releases.
func (c *Client) KazmaStats(ctx context.Context) (hubapi.KazmaStats, error) {
	var out hubapi.KazmaStats
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"stats"}}, &out)
	return out, err
}

// KazmaSubmit submits a manifest. A secret is shown as X-Kazma-Secret instead of the
// client's token.
func (c *Client) KazmaSubmit(ctx context.Context, in hubapi.KazmaSubmit, secret string) (hubapi.KazmaSubmitted, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return hubapi.KazmaSubmitted{}, hubapi.Errorf(hubapi.Invalid, "the manifest cannot be sent: %v", err)
	}
	var out hubapi.KazmaSubmitted
	err = c.call(ctx, request{
		method: http.MethodPost, path: []string{"skills", "submit"}, body: body, kind: typeJSON, secret: secret,
	}, &out)
	return out, err
}

// Submission gives a submission and what became of it.
func (c *Client) Submission(ctx context.Context, id string) (hubapi.Submission, error) {
	if id == "" {
		return hubapi.Submission{}, usage("a submission has an id")
	}
	var out hubapi.Submission
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"submissions", id}}, &out)
	return out, err
}

// badgePath is where the badge of a release lives in the API.
func badgePath(ref hubapi.Ref, more ...string) []string {
	path := releasePath(ref, more...)
	path[0] = "badges"
	return path
}

// exact finds the version that a reference without one means.
func (c *Client) exact(ctx context.Context, ref hubapi.Ref) (hubapi.Ref, error) {
	if ref.Version != "" {
		return ref, nil
	}
	release, err := c.Release(ctx, ref)
	if err != nil {
		return ref, err
	}
	if err := answers(release, ref); err != nil {
		return ref, err
	}
	return hubapi.Ref{Author: release.Author, Name: release.Name, Version: release.Version}, nil
}

// onBadge makes a call about the badge of one release.
func (c *Client) onBadge(ctx context.Context, method string, ref hubapi.Ref, part string, in, out any) error {
	ref, err := c.exact(ctx, ref)
	if err != nil {
		return err
	}
	q := request{method: method, path: badgePath(ref)}
	if part != "" {
		q.path = append(q.path, part)
	}
	if in != nil {
		if q.body, err = json.Marshal(in); err != nil {
			return hubapi.Errorf(hubapi.Invalid, "the request cannot be sent: %v", err)
		}
		q.kind = typeJSON
	}
	return c.call(ctx, q, out)
}

// Badge gives the badge of a release, valid or not; NotFound means none.
func (c *Client) Badge(ctx context.Context, ref hubapi.Ref) (out hubapi.Badge, err error) {
	err = c.onBadge(ctx, http.MethodGet, ref, "", nil, &out)
	return out, err
}

// BadgeSVG is the badge of a release as a picture.
func (c *Client) BadgeSVG(ctx context.Context, ref hubapi.Ref) ([]byte, error) {
	ref, err := c.exact(ctx, ref)
	if err != nil {
		return nil, err
	}
	ref.Version += ".svg"
	return c.do(ctx, request{method: http.MethodGet, path: badgePath(ref), accept: "image/svg+xml"})
}

// BadgeRequirements says which requirements a release meets now.
func (c *Client) BadgeRequirements(ctx context.Context, ref hubapi.Ref) (out hubapi.BadgeRequirements, err error) {
	err = c.onBadge(ctx, http.MethodGet, ref, "requirements", nil, &out)
	return out, err
}

// IssueBadge certifies an active release; for reviewers.
func (c *Client) IssueBadge(ctx context.Context, ref hubapi.Ref, level hubapi.BadgeLevel) (out hubapi.Badge, err error) {
	err = c.onBadge(ctx, http.MethodPut, ref, "", hubapi.BadgeIssue{Level: level}, &out)
	return out, err
}

// Attest says of a requirement whether a release meets it; for reviewers.
func (c *Client) Attest(ctx context.Context, ref hubapi.Ref, in hubapi.BadgeAttest) (out hubapi.Requirement, err error) {
	err = c.onBadge(ctx, http.MethodPost, ref, "attest", in, &out)
	return out, err
}

// RevokeBadge takes a badge back; for reviewers.
func (c *Client) RevokeBadge(ctx context.Context, ref hubapi.Ref, reason string) (out hubapi.Badge, err error) {
	err = c.onBadge(ctx, http.MethodPost, ref, "revoke", hubapi.BadgeReason{Reason: reason}, &out)
	return out, err
}

// LiftRevocation makes a revoked badge what it was; for admins.
func (c *Client) LiftRevocation(ctx context.Context, ref hubapi.Ref, reason string) (out hubapi.Badge, err error) {
	err = c.onBadge(ctx, http.MethodPost, ref, "lift", hubapi.BadgeReason{Reason: reason}, &out)
	return out, err
}

// Badges lists the badges of active releases by name, behind the name after. An
// empty level means any, limit 0 the hub's default.
func (c *Client) Badges(ctx context.Context, level hubapi.BadgeLevel, after string, limit int) (hubapi.BadgeList, error) {
	query := url.Values{}
	set(query, "level", string(level))
	set(query, "after_name", after)
	setLimit(query, limit)
	var out hubapi.BadgeList
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"badges"}, query: query}, &out)
	return out, err
}

// BadgeStats counts the hub's badges.
func (c *Client) BadgeStats(ctx context.Context) (hubapi.BadgeStats, error) {
	var out hubapi.BadgeStats
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"badges", "stats"}}, &out)
	return out, err
}
