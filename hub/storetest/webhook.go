package storetest

import (
	"errors"
	"testing"

	"github.com/kortecx/kx/hub"
)

func testWebhooks(t *testing.T, open Opener) {
	s := opened(t, open)
	s.read(func(r hub.Reader) error {
		if _, err := r.WebhookAfter("h1"); !errors.Is(err, hub.ErrNoRow) {
			t.Errorf("a hook that is not there: %v", err)
		}
		last, err := r.LastAudit(hub.LocalTenant)
		equal(t, "last event of none", last, int64(0))
		return err
	})
	s.write(func(w hub.Writer) error {
		for range 2 {
			if err := w.AddAudit(hub.AuditRow{Tenant: hub.LocalTenant, At: at(1), Action: "publish"}); err != nil {
				return err
			}
		}
		last, err := w.LastAudit(hub.LocalTenant)
		if err != nil {
			return err
		}
		if moved, err := w.MoveWebhook("h1", 0, last); moved || err != nil {
			t.Errorf("moved a hook that is not there: %v", err)
		}
		return w.AddWebhook("h1", hub.LocalTenant, last)
	})
	s.write(func(w hub.Writer) error {
		after, err := w.WebhookAfter("h1")
		if err != nil {
			return err
		}
		for _, move := range []struct {
			from int64
			want bool
		}{{after - 1, false}, {after, true}, {after, false}} {
			moved, err := w.MoveWebhook("h1", move.from, after+5)
			if err != nil {
				return err
			}
			equal(t, "moved", moved, move.want)
		}
		now, err := w.WebhookAfter("h1")
		equal(t, "after", now, after+5)
		return err
	})
}
