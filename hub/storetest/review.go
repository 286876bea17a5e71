package storetest

import (
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

func testKeys(t *testing.T, open Opener) {
	s := opened(t, open)
	full := hub.KeyRow{
		ID: "k2", Sum: sum("two"), Prefix: "kx_2", Tenant: hub.LocalTenant, Role: hub.Publisher, Authors: []string{"b", "a"},
		Name: "läptop", Rate: 7, CreatedAt: at(2), CreatedBy: "ann", ExpiresAt: at(9),
	}
	plain := hub.KeyRow{ID: "k1", Sum: sum("one"), Prefix: "kx_1", Tenant: hub.LocalTenant, Role: hub.Node, CreatedAt: at(1), CreatedBy: "ann"}
	s.write(func(w hub.Writer) error {
		if err := w.AddKey(full); err != nil {
			return err
		}
		return w.AddKey(plain)
	})
	s.read(func(r hub.Reader) error {
		got, err := r.Key("k2")
		equal(t, "by id", got, full)
		if err != nil {
			return err
		}
		got, err = r.KeyWithSum(sum("one"))
		equal(t, "by sum", got, plain)
		if err != nil {
			return err
		}
		_, err = r.Key("k3")
		absent(t, "an unknown id", err)
		_, err = r.KeyWithSum(sum("three"))
		absent(t, "an unknown sum", err)
		list, err := r.Keys(hub.LocalTenant)
		equal(t, "oldest first", list, []hub.KeyRow{plain, full})
		if err != nil {
			return err
		}
		list, err = r.Keys("elsewhere")
		equal(t, "another tenant's", len(list), 0)
		return err
	})
	for what, row := range map[string]hub.KeyRow{
		"an id twice": {ID: "k1", Sum: sum("x"), Tenant: hub.LocalTenant, Role: hub.Node},
		"a sum twice": {ID: "k9", Sum: sum("one"), Tenant: hub.LocalTenant, Role: hub.Node},
		"no tenant":   {ID: "k8", Sum: sum("y"), Tenant: "nowhere", Role: hub.Node},
		"no role":     {ID: "k7", Sum: sum("z"), Tenant: hub.LocalTenant, Role: "root"},
	} {
		if err := s.Write(t.Context(), func(w hub.Writer) error { return w.AddKey(row) }); err == nil {
			t.Errorf("%s was kept", what)
		}
	}
	for i, want := range []bool{true, false} {
		s.write(func(w hub.Writer) error {
			ok, err := w.RevokeKey("k1", at(3+i), "bob")
			equal(t, "revoked", ok, want)
			return err
		})
	}
	plain.RevokedAt, plain.RevokedBy = at(3), "bob"
	s.read(func(r hub.Reader) error {
		got, err := r.Key("k1")
		equal(t, "revoked once", got, plain)
		return err
	})
	s.write(func(w hub.Writer) error {
		ok, err := w.RevokeKey("k3", at(3), "bob")
		equal(t, "an unknown key revoked", ok, false)
		return err
	})
}

func testReview(t *testing.T, open Opener) {
	s := opened(t, open)
	s.write(func(w hub.Writer) error { return w.PutTenant(hub.TenantRow{ID: "a"}) })
	s.read(func(r hub.Reader) error {
		rows, err := r.Tenants()
		equal(t, "tenants", rows, []hub.TenantRow{{ID: "a"}, {ID: hub.LocalTenant, SelfApprove: true}})
		return err
	})
	skill := s.addSkill("triage", "acme")
	row := releaseOf(skill, "1", hubapi.Staged)
	row.Fingerprint, row.EditedFrom = "fp", 9
	row.Note = hub.ReviewNote{Base: "sp1:0", Reason: "why", DeferredAt: at(4), DeferReason: "later", ReplacedBy: "2"}
	first := s.addRelease(row)
	second := s.addRelease(releaseOf(skill, "2", hubapi.Staged))
	third := s.addRelease(releaseOf(skill, "3", hubapi.Staged))
	candidate := s.addRelease(releaseOf(skill, "4", hubapi.Candidate))
	versions := func(rows []hub.ReleaseRow) (out []string) {
		for _, row := range rows {
			out = append(out, row.Version)
		}
		return out
	}
	s.read(func(r hub.Reader) error {
		got, err := r.Release(skill.ID, "1")
		equal(t, "all of a review", got, first)
		if err != nil {
			return err
		}
		rows, err := r.Waiting(hub.LocalTenant, hubapi.Staged, 10)
		equal(t, "deferred last", versions(rows), []string{"3", "2", "1"})
		if err != nil {
			return err
		}
		rows, err = r.Waiting(hub.LocalTenant, hubapi.Staged, 2)
		equal(t, "two of them", versions(rows), []string{"3", "2"})
		if err != nil {
			return err
		}
		rows, err = r.OldestReleases(hub.LocalTenant, hubapi.Staged, 0, 2)
		equal(t, "oldest first", versions(rows), []string{"1", "2"})
		if err != nil {
			return err
		}
		rows, err = r.OldestReleases(hub.LocalTenant, hubapi.Staged, second.Seq, 2)
		equal(t, "behind", versions(rows), []string{"3"})
		if err != nil {
			return err
		}
		rows, err = r.OldestReleases(hub.LocalTenant, hubapi.Candidate, 0, 2)
		equal(t, "another status", versions(rows), []string{candidate.Version})
		if err != nil {
			return err
		}
		_, err = r.Evidence(third.Seq + 100)
		absent(t, "evidence of nothing", err)
		none, err := r.Evidence(third.Seq)
		equal(t, "no evidence", none, hub.EvidenceRow{})
		return err
	})
	evidence := hub.EvidenceRow{Origin: `{"goal":"ü"}`, Scan: `{"state":"clean"}`, Rules: "7"}
	s.write(func(w hub.Writer) error {
		if err := w.SetEvidence(first.Seq, evidence); err != nil {
			return err
		}
		return w.Annotate(first.Seq, hub.ReviewNote{Base: "sp1:1"})
	})
	first.Note = hub.ReviewNote{Base: "sp1:1"}
	s.read(func(r hub.Reader) error {
		got, err := r.Release(skill.ID, "1")
		equal(t, "annotated", got, first)
		if err != nil {
			return err
		}
		kept, err := r.Evidence(first.Seq)
		equal(t, "evidence", kept, evidence)
		if err != nil {
			return err
		}
		rows, err := r.Waiting(hub.LocalTenant, hubapi.Staged, 10)
		equal(t, "no longer deferred", versions(rows), []string{"3", "2", "1"})
		return err
	})
}

func testCooloffs(t *testing.T, open Opener) {
	s := opened(t, open)
	release := s.addRelease(releaseOf(s.addSkill("triage", "acme"), "1", hubapi.Rejected))
	row := func(fingerprint string, until time.Time) hub.CooloffRow {
		return hub.CooloffRow{
			Tenant: hub.LocalTenant, Fingerprint: fingerprint, Release: release.Seq, RejectedBy: "ann",
			RejectedAt: at(1), Until: until, Reason: "why",
		}
	}
	s.write(func(w hub.Writer) error {
		for _, c := range []hub.CooloffRow{row("a", at(5)), row("a", at(9)), row("a", at(7)), row("b", at(6))} {
			if err := w.AddCooloff(c); err != nil {
				return err
			}
		}
		return nil
	})
	s.read(func(r hub.Reader) error {
		got, err := r.Cooloff(hub.LocalTenant, "a")
		equal(t, "the longest", got, row("a", at(9)))
		if err != nil {
			return err
		}
		_, err = r.Cooloff(hub.LocalTenant, "c")
		absent(t, "another content", err)
		_, err = r.Cooloff("elsewhere", "a")
		absent(t, "another tenant", err)
		return nil
	})
	for _, want := range []bool{true, false} {
		s.write(func(w hub.Writer) error {
			ok, err := w.DropCooloffs(hub.LocalTenant, "a")
			equal(t, "dropped", ok, want)
			return err
		})
	}
	s.read(func(r hub.Reader) error {
		_, err := r.Cooloff(hub.LocalTenant, "a")
		absent(t, "dropped", err)
		got, err := r.Cooloff(hub.LocalTenant, "b")
		equal(t, "the other one", got, row("b", at(6)))
		return err
	})
}
