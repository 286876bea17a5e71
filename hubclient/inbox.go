package hubclient

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/kortecx/kx/hubapi"
)

// InboxOf lists releases of a status for a reviewer; an empty status is what waits
// for review. Limit 0 is the hub's default.
func (c *Client) InboxOf(ctx context.Context, status hubapi.Status, limit int, contents bool) (hubapi.Inbox, error) {
	query := url.Values{}
	setLimit(query, limit)
	set(query, "status", string(status))
	if contents {
		query.Set("include_content", "true")
	}
	most := maxList
	if contents {
		most = maxContents
	}
	var out hubapi.Inbox
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"skills-inbox"}, query: query, limit: most}, &out)
	if out.Items == nil {
		out.Items = []hubapi.InboxItem{}
	}
	return out, err
}

// InboxDetail shows a reviewer, or its author, one release: that version, or the newest
// that waits.
func (c *Client) InboxDetail(ctx context.Context, ref hubapi.Ref, contents bool) (hubapi.InboxDetail, error) {
	query := refQuery(ref)
	if contents {
		query.Set("include_content", "true")
	}
	var out hubapi.InboxDetail
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"skills-inbox", ref.Name}, query: query, limit: maxList}, &out)
	if err == nil {
		err = answers(out.Release, ref)
	}
	if err != nil {
		return hubapi.InboxDetail{}, err
	}
	if out.Gates == nil {
		out.Gates = []hubapi.Gate{}
	}
	if out.Actions == nil {
		out.Actions = []string{}
	}
	return out, nil
}

// InboxDiff compares a release with another version of its skill, or with the
// active one.
func (c *Client) InboxDiff(ctx context.Context, ref hubapi.Ref, from string) (hubapi.Diff, error) {
	query := refQuery(ref)
	set(query, "from", from)
	var out hubapi.Diff
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"skills-inbox", ref.Name, "diff"}, query: query, limit: maxList}, &out)
	if err == nil {
		err = answers(out.To, ref)
	}
	if err != nil {
		return hubapi.Diff{}, err
	}
	if out.Files == nil {
		out.Files = []hubapi.FileDiff{}
	}
	return out, nil
}

// Act makes a move of the inbox: stage, approve, reject, quarantine, defer, edit or
// repropose. Without a version it is the newest release that the action can mean.
func (c *Client) Act(ctx context.Context, ref hubapi.Ref, action string, in hubapi.Review) (hubapi.InboxMove, error) {
	var out hubapi.InboxMove
	err := c.exchangeJSON(ctx, request{method: http.MethodPost, path: []string{"skills-inbox", ref.Name, action}, query: refQuery(ref)}, in, &out)
	return moved(out, ref, action, err)
}

// Withdraw takes a release back; without a version the active one, else the newest
// proposal.
func (c *Client) Withdraw(ctx context.Context, ref hubapi.Ref, reason string) (hubapi.InboxMove, error) {
	return c.end(ctx, ref, "withdraw", reason)
}

// Deprecate ends an active release.
func (c *Client) Deprecate(ctx context.Context, ref hubapi.Ref, reason string) (hubapi.InboxMove, error) {
	return c.end(ctx, ref, "deprecate", reason)
}

func (c *Client) end(ctx context.Context, ref hubapi.Ref, action, reason string) (hubapi.InboxMove, error) {
	if ref.Version == "" {
		meant, err := c.Release(ctx, ref)
		if err != nil && action == "withdraw" && hubapi.AsError(err).Code == hubapi.NotFound {
			// A proposal is seen in the inbox alone, by its author too.
			if detail, inboxErr := c.InboxDetail(ctx, ref, false); inboxErr == nil {
				meant, err = detail.Release, nil
			}
		}
		if err != nil {
			return hubapi.InboxMove{}, err
		}
		ref = hubapi.Ref{Author: meant.Author, Name: meant.Name, Version: meant.Version}
	}
	var out hubapi.InboxMove
	err := c.exchangeJSON(ctx, request{method: http.MethodPost, path: releasePath(ref, action)}, hubapi.Review{Reason: reason}, &out)
	return moved(out, ref, action, err)
}

// Events gives the audit trail of the caller's tenant behind the sequence number
// after. Limit 0 is the hub's default.
func (c *Client) Events(ctx context.Context, after int64, limit int) (hubapi.Events, error) {
	query := url.Values{}
	setLimit(query, limit)
	if after > 0 {
		query.Set("after", strconv.FormatInt(after, 10))
	}
	var out hubapi.Events
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"events"}, query: query, limit: maxList}, &out)
	if out.Events == nil {
		out.Events = []hubapi.Event{}
	}
	return out, err
}

func refQuery(ref hubapi.Ref) url.Values {
	query := url.Values{}
	set(query, "author", ref.Author)
	set(query, "version", ref.Version)
	return query
}
