package storetest

import (
	"testing"

	"github.com/kortecx/kx/hub"
)

func testPublishers(t *testing.T, open Opener) {
	s := opened(t, open)
	s.write(func(w hub.Writer) error { return w.PutTenant(hub.TenantRow{ID: "other"}) })
	row := func(tenant, author string, version int64) hub.PublisherRow {
		return hub.PublisherRow{Tenant: tenant, Author: author, Version: version, Envelope: []byte{byte(version)}, AddedAt: at(int(version)), AddedBy: "me"}
	}
	rows := []hub.PublisherRow{row(hub.LocalTenant, "ann", 1), row(hub.LocalTenant, "ann", 2), row(hub.LocalTenant, "ann", 3), row(hub.LocalTenant, "bob", 1), row("other", "ann", 1)}
	s.write(func(w hub.Writer) error {
		for _, r := range rows {
			if err := w.AddPublisher(r); err != nil {
				return err
			}
		}
		return nil
	})
	s.read(func(r hub.Reader) error {
		got, err := r.Publishers(hub.LocalTenant, "ann", 1, 10)
		equal(t, "behind a version", got, rows[1:3])
		if err != nil {
			return err
		}
		got, err = r.Publishers(hub.LocalTenant, "ann", 0, 1)
		equal(t, "as many as asked", got, rows[:1])
		if err != nil {
			return err
		}
		last, err := r.LastPublisher(hub.LocalTenant, "ann")
		equal(t, "the last", last, rows[2])
		_, none := r.LastPublisher("other", "bob")
		absent(t, "another tenant's", none)
		return err
	})
}
