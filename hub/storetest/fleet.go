package storetest

import (
	"testing"

	"github.com/kortecx/kx/hub"
)

func testFleet(t *testing.T, open Opener) {
	s := opened(t, open)
	s.write(func(w hub.Writer) error { return w.PutTenant(hub.TenantRow{ID: "other"}) })
	full := hub.NodeRow{
		ID: "n1", Tenant: hub.LocalTenant, Name: "läptop", Fleet: "f1", ReportedBy: "k1", Report: `{"ip":"ü"}`, Reconcile: `{"a":1}`,
		Snapshot: `{"installed":["a"]}`, SnapshotHash: "h1", SnapshotAt: at(3), SuccessAt: at(2), Failure: "why", HeartbeatAt: at(4), CreatedAt: at(1),
	}
	plain := hub.NodeRow{ID: "n2", Tenant: hub.LocalTenant, Name: "b", HeartbeatAt: at(9), CreatedAt: at(1)}
	same := hub.NodeRow{ID: "n3", Tenant: hub.LocalTenant, Name: "a", Fleet: "f1", HeartbeatAt: at(9), CreatedAt: at(1)}
	foreign := hub.NodeRow{ID: "n4", Tenant: "other", Name: "b", Fleet: "f1", HeartbeatAt: at(9), CreatedAt: at(1)}
	put := func(rows ...hub.NodeRow) {
		s.write(func(w hub.Writer) error {
			for _, row := range rows {
				if err := w.PutNode(row); err != nil {
					return err
				}
			}
			return nil
		})
	}
	put(full, plain, same, foreign)
	one := func(what string, want hub.NodeRow) {
		t.Helper()
		s.read(func(r hub.Reader) error {
			got, err := r.Node(want.Tenant, want.ID)
			equal(t, what, got, want)
			return err
		})
	}
	one("all of a node", full)
	one("a bare node", plain)
	s.read(func(r hub.Reader) error {
		_, err := r.Node("other", "n1")
		absent(t, "another tenant's", err)
		_, err = r.Node(hub.LocalTenant, "n9")
		absent(t, "an unknown one", err)
		n, err := r.CountNodes(hub.LocalTenant)
		equal(t, "count", n, 3)
		return err
	})
	for what, q := range map[string]struct {
		query hub.NodeQuery
		want  []string
	}{
		"newest first, then by name": {hub.NodeQuery{Limit: 9}, []string{"n3", "n2", "n1"}},
		"two":                        {hub.NodeQuery{Limit: 2}, []string{"n3", "n2"}},
		"a fleet":                    {hub.NodeQuery{Limit: 9, Fleet: "f1"}, []string{"n3", "n1"}},
		"a name":                     {hub.NodeQuery{Limit: 9, Name: "läptop"}, []string{"n1"}},
		"heard of at that time":      {hub.NodeQuery{Limit: 9, From: at(9)}, []string{"n3", "n2"}},
		"heard of before":            {hub.NodeQuery{Limit: 9, Before: at(9)}, []string{"n1"}},
		"between":                    {hub.NodeQuery{Limit: 9, From: at(5), Before: at(9)}, nil},
	} {
		q.query.Tenant = hub.LocalTenant
		s.read(func(r hub.Reader) error {
			rows, err := r.Nodes(q.query)
			var ids []string
			for _, row := range rows {
				ids = append(ids, row.ID)
			}
			equal(t, what, ids, q.want)
			return err
		})
	}
	s.read(func(r hub.Reader) error {
		fleets, err := r.Fleets(hub.LocalTenant, at(9), at(4))
		equal(t, "fleets", fleets, []hub.FleetRow{
			{Nodes: 1, HeartbeatAt: at(9)},
			{Fleet: "f1", Nodes: 2, Stale: 1, HeartbeatAt: at(9)},
		})
		return err
	})

	// A heartbeat replaces everything but the snapshot that it says is still the same.
	again := full
	again.Fleet, again.Report, again.Reconcile, again.HeartbeatAt, again.Failure = "f2", "{}", "", at(10), ""
	again.Snapshot = "not written"
	put(again)
	again.Snapshot = full.Snapshot
	one("the same snapshot", again)
	again.SnapshotHash, again.Snapshot, again.SnapshotAt = "h2", `{}`, at(10)
	put(again)
	one("another snapshot", again)
	later := again
	later.CreatedAt = at(11)
	put(later)
	one("created once", again)

	for what, bad := range map[string]hub.NodeRow{
		"a name twice": {ID: "n9", Tenant: hub.LocalTenant, Name: "b", HeartbeatAt: at(1), CreatedAt: at(1)},
		"no tenant":    {ID: "n8", Tenant: "nowhere", Name: "x", HeartbeatAt: at(1), CreatedAt: at(1)},
	} {
		if err := s.Write(t.Context(), func(w hub.Writer) error { return w.PutNode(bad) }); err == nil {
			t.Errorf("%s was kept", what)
		}
	}
	for _, drop := range []struct {
		tenant, id string
		want       bool
	}{{"other", "n1", false}, {hub.LocalTenant, "n1", true}, {hub.LocalTenant, "n1", false}} {
		s.write(func(w hub.Writer) error {
			ok, err := w.DropNode(drop.tenant, drop.id)
			equal(t, "dropped "+drop.id+" of "+drop.tenant, ok, drop.want)
			return err
		})
	}
	put(full)
	one("back again", full)
}
