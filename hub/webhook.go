package hub

import (
	"context"
	"errors"

	"github.com/kortecx/kx/hubapi"
)

// maxWebhookEvents is the most events of one delivery.
const maxWebhookEvents = 100

// WebhookReader is what a store knows of those who are told about reviews.
type WebhookReader interface {
	// WebhookAfter is the event that a hook was told last; ErrNoRow for a new one.
	WebhookAfter(hook string) (int64, error)
	// LastAudit is the number of a tenant's last event, 0 without one.
	LastAudit(tenant string) (int64, error)
}

// WebhookWriter moves a hook on.
type WebhookWriter interface {
	// AddWebhook adds a hook that was told everything up to after. Its name must be
	// free.
	AddWebhook(hook, tenant string, after int64) error
	// MoveWebhook moves a hook from one event to another, if it is there.
	MoveWebhook(hook string, from, to int64) (bool, error)
}

// Untold gives what happened to releases of a tenant since a hook was told last, at
// most a hundred events, and the number up to which they go, for Told. A hook that
// is new starts here and now: its past is not told.
func (h *Hub) Untold(ctx context.Context, tenant, hook string) (events hubapi.Events, after int64, err error) {
	known := false
	err = h.read(ctx, func(r Reader) (err error) {
		events = hubapi.Events{Events: []hubapi.Event{}}
		after, err = r.WebhookAfter(hook)
		if errors.Is(err, ErrNoRow) {
			return nil
		}
		if known = true; err != nil {
			return err
		}
		rows, err := r.Audit(tenant, after, maxWebhookEvents)
		events.Next = after
		for _, row := range rows {
			events.Next = row.Seq
			if row.Name != "" {
				events.Events = append(events.Events, eventOf(row))
			}
		}
		return err
	})
	if known || err != nil {
		return events, after, err
	}
	after, err = h.addWebhook(ctx, tenant, hook)
	events.Next = after
	return events, after, err
}

// addWebhook lets a hook start behind the tenant's last event.
func (h *Hub) addWebhook(ctx context.Context, tenant, hook string) (after int64, err error) {
	err = h.write(ctx, func(w Writer) error {
		_, err := w.Tenant(tenant)
		if errors.Is(err, ErrNoRow) {
			return noTenant(tenant)
		}
		if err != nil {
			return err
		}
		if after, err = w.WebhookAfter(hook); !errors.Is(err, ErrNoRow) {
			return err // another server was first
		}
		if after, err = w.LastAudit(tenant); err != nil {
			return err
		}
		return w.AddWebhook(hook, tenant, after)
	})
	return after, err
}

// Told records that a hook was told what Untold gave. It says whether that was still
// news: another server of the same database may have told it meanwhile.
func (h *Hub) Told(ctx context.Context, hook string, after, next int64) (news bool, err error) {
	if after == next {
		return true, nil
	}
	err = h.write(ctx, func(w Writer) (err error) {
		news, err = w.MoveWebhook(hook, after, next)
		return err
	})
	return news, err
}

func eventOf(row AuditRow) hubapi.Event {
	return hubapi.Event{
		Seq: row.Seq, At: row.At, Principal: row.Principal, Action: row.Action, Author: row.Author,
		Name: row.Name, Version: row.Version, Digest: row.Digest, Note: row.Note,
	}
}
