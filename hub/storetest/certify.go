package storetest

import (
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

func testBadges(t *testing.T, open Opener) {
	s := opened(t, open)
	first := s.addRelease(releaseOf(s.addSkill("b", "ann"), "1", hubapi.Active))
	second := s.addRelease(releaseOf(s.addSkill("a", "ann"), "1", hubapi.Active))
	waiting := s.addRelease(releaseOf(s.addSkill("c", "ann"), "1", hubapi.Staged))
	badge := hub.BadgeRow{
		Release: first.Seq, Tenant: hub.LocalTenant, Digest: first.Digest, Level: hubapi.BadgeBasic,
		Met: []string{"x", "y"}, IssuedAt: at(1), ExpiresAt: at(9), IssuedBy: "rev",
	}
	put := func(b hub.BadgeRow) {
		s.Helper()
		s.write(func(w hub.Writer) error { return w.PutBadge(b) })
	}
	put(badge)
	badge.Level, badge.IssuedAt = hubapi.BadgePremium, at(2)
	put(badge)
	other := badge
	other.Release, other.Level, other.Met = second.Seq, hubapi.BadgeBasic, nil
	put(other)
	hidden := other
	hidden.Release = waiting.Seq
	put(hidden)
	s.read(func(r hub.Reader) error {
		got, err := r.Badge(first.Seq)
		equal(t, "the last badge", got, badge)
		_, none := r.Badge(first.Seq + 1000)
		absent(t, "no badge", none)
		_, none = r.RevokedDigest(hub.LocalTenant, badge.Digest)
		absent(t, "nothing is revoked", none)
		return err
	})
	list := func(level hubapi.BadgeLevel, after string, limit int) (names []string) {
		s.read(func(r hub.Reader) error {
			rows, err := r.Badges(hub.LocalTenant, level, after, limit)
			for _, row := range rows {
				names = append(names, row.Author+"/"+row.Name+"@"+row.Version+" "+row.ReleaseDigest)
			}
			return err
		})
		return names
	}
	equal(t, "by name, of active releases", list("", "", 10), []string{"ann/a@1 sp1:1", "ann/b@1 sp1:1"})
	equal(t, "by level", list(hubapi.BadgePremium, "", 10), []string{"ann/b@1 sp1:1"})
	equal(t, "behind a name", list("", "a", 10), []string{"ann/b@1 sp1:1"})
	equal(t, "as many as asked", list("", "", 1), []string{"ann/a@1 sp1:1"})
	badge.RevokedAt, badge.RevokedBy, badge.RevokeReason = at(3), "root", "why"
	put(badge)
	s.read(func(r hub.Reader) error {
		got, err := r.RevokedDigest(hub.LocalTenant, badge.Digest)
		equal(t, "revoked", got, badge)
		_, none := r.RevokedDigest("elsewhere", badge.Digest)
		absent(t, "another tenant", none)
		counts, countErr := r.CountBadges(hub.LocalTenant, at(2))
		equal(t, "counts", counts, []hub.BadgeCount{
			{Level: hubapi.BadgeBasic, Badges: 2, Recent: 2},
			{Level: hubapi.BadgePremium, Revoked: true, Badges: 1, Recent: 1},
		})
		equal(t, "count error", countErr, nil)
		later, countErr := r.CountBadges(hub.LocalTenant, at(3))
		equal(t, "none is recent", later[0].Recent+later[1].Recent, 0)
		equal(t, "count error", countErr, nil)
		return err
	})
	badge.RevokedAt, badge.RevokedBy, badge.RevokeReason = time.Time{}, "", ""
	put(badge)
	s.read(func(r hub.Reader) error {
		got, err := r.Badge(first.Seq)
		equal(t, "lifted", got, badge)
		return err
	})
}

func testAttestations(t *testing.T, open Opener) {
	s := opened(t, open)
	release := s.addRelease(releaseOf(s.addSkill("a", "ann"), "1", hubapi.Active))
	word := func(requirement string, met bool, second int) hub.AttestationRow {
		return hub.AttestationRow{Release: release.Seq, Requirement: requirement, Met: met, At: at(second), By: "rev", Reason: "seen"}
	}
	for _, a := range []hub.AttestationRow{word("b", true, 1), word("a", true, 2), word("b", false, 3)} {
		s.write(func(w hub.Writer) error { return w.PutAttestation(a) })
	}
	s.read(func(r hub.Reader) error {
		got, err := r.Attestations(release.Seq)
		equal(t, "the last words", got, []hub.AttestationRow{word("a", true, 2), word("b", false, 3)})
		return err
	})
}

func testSubmissions(t *testing.T, open Opener) {
	s := opened(t, open)
	row := hub.SubmissionRow{
		ID: "one", Tenant: hub.LocalTenant, Author: "ann", Name: "a", Version: "1.0.0", Manifest: `{"name": "ä \u0000"}`,
		SourceURL: "https://x", SubmitterID: "cli", By: "secret", At: at(1),
	}
	s.write(func(w hub.Writer) error { return w.AddSubmission(row) })
	s.read(func(r hub.Reader) error {
		got, err := r.Submission(hub.LocalTenant, "one")
		equal(t, "submission", got, row)
		_, none := r.Submission("elsewhere", "one")
		absent(t, "another tenant", none)
		again := row
		again.ID, again.At = "two", at(2)
		same, sameErr := r.SameSubmission(again)
		equal(t, "the same", same, row)
		equal(t, "the same: error", sameErr, nil)
		for _, change := range []func(*hub.SubmissionRow){
			func(s *hub.SubmissionRow) { s.Manifest = "{}" },
			func(s *hub.SubmissionRow) { s.SourceURL = "" },
			func(s *hub.SubmissionRow) { s.SubmitterID = "" },
			func(s *hub.SubmissionRow) { s.By = "other" },
			func(s *hub.SubmissionRow) { s.Tenant = "elsewhere" },
		} {
			other := again
			change(&other)
			_, none := r.SameSubmission(other)
			absent(t, "another one", none)
		}
		return err
	})
}

func testListed(t *testing.T, open Opener) {
	s := opened(t, open)
	add := func(name, author, version, category string, status hubapi.Status, change func(*hub.ReleaseRow)) hub.ReleaseRow {
		row := releaseOf(s.addSkill(name, author), version, status)
		row.Description = "about " + name
		if change != nil {
			change(&row)
		}
		row = s.addRelease(row)
		if category != "" {
			s.write(func(w hub.Writer) error { return w.SetCategory(row.Seq, category) })
		}
		return row
	}
	add("zeta", "ann", "1.0.0", "Mail", hubapi.Active, nil)
	beta := add("beta", "Bob_by", "10.0.0", "news", hubapi.Active, func(r *hub.ReleaseRow) { r.Tags = []string{"Ünder_score"} })
	add("gamma", "ann", "9.0.0", "", hubapi.Active, func(r *hub.ReleaseRow) { r.Description = "100% sure!" })
	add("hidden", "ann", "1.0.0", "Mail", hubapi.Staged, nil)
	s.write(func(w hub.Writer) error {
		return w.PutBadge(hub.BadgeRow{
			Release: beta.Seq, Tenant: hub.LocalTenant, Digest: beta.Digest, Level: hubapi.BadgeBasic, IssuedAt: at(1), ExpiresAt: at(5),
		})
	})
	yes, no := true, false
	for _, tt := range []struct {
		what  string
		q     hub.ListQuery
		names string
		total int
	}{
		{"all in order of publication", hub.ListQuery{Limit: 9}, "zeta beta gamma ", 3},
		{"by name", hub.ListQuery{Limit: 9, Sort: hub.ByName}, "beta gamma zeta ", 3},
		{"by text of the version", hub.ListQuery{Limit: 9, Sort: hub.ByVersion}, "zeta beta gamma ", 3},
		{"a page", hub.ListQuery{Limit: 1, Offset: 1, Sort: hub.ByName}, "gamma ", 3},
		{"behind the end", hub.ListQuery{Limit: 9, Offset: 3}, "", 3},
		{"none wanted", hub.ListQuery{}, "", 3},
		{"category, exactly", hub.ListQuery{Limit: 9, Category: "Mail"}, "zeta ", 1},
		{"category, in another case", hub.ListQuery{Limit: 9, Category: "mail"}, "", 0},
		{"text in a name", hub.ListQuery{Limit: 9, Text: "ET"}, "zeta beta ", 2},
		{"text in a category", hub.ListQuery{Limit: 9, Text: "mail"}, "zeta ", 1},
		{"text in an author", hub.ListQuery{Limit: 9, Text: "bob_"}, "beta ", 1},
		{"text in a tag", hub.ListQuery{Limit: 9, Text: "Ünder_SCORE"}, "beta ", 1},
		{"no wildcards", hub.ListQuery{Limit: 9, Text: "b%y"}, "", 0},
		{"no wildcards", hub.ListQuery{Limit: 9, Text: "z_ta"}, "", 0},
		{"a percent sign", hub.ListQuery{Limit: 9, Text: "100% S"}, "gamma ", 1},
		{"an exclamation mark", hub.ListQuery{Limit: 9, Text: "sure!"}, "gamma ", 1},
		{"what cannot be stored", hub.ListQuery{Limit: 9, Text: "\x00"}, "", 0},
		{"what cannot be stored", hub.ListQuery{Limit: 9, Category: "\xff"}, "", 0},
		{"certified", hub.ListQuery{Limit: 9, Certified: &yes, Now: at(5)}, "beta ", 1},
		{"not certified", hub.ListQuery{Limit: 9, Certified: &no, Now: at(5)}, "zeta gamma ", 2},
		{"expired", hub.ListQuery{Limit: 9, Certified: &yes, Now: at(6)}, "", 0},
		{"all of it", hub.ListQuery{Limit: 9, Certified: &yes, Now: at(5), Text: "news", Category: "news"}, "beta ", 1},
	} {
		tt.q.Tenant = hub.LocalTenant
		s.read(func(r hub.Reader) error {
			rows, total, err := r.Listed(tt.q)
			names := ""
			for _, row := range rows {
				names += row.Name + " "
			}
			equal(t, tt.what, names, tt.names)
			equal(t, tt.what+": total", total, tt.total)
			return err
		})
	}
	s.read(func(r hub.Reader) error {
		rows, _, err := r.Listed(hub.ListQuery{Tenant: hub.LocalTenant, Text: "beta", Limit: 1, Now: at(5)})
		equal(t, "a row", rows, []hub.ListedRow{{
			Author: "Bob_by", Name: "beta", Version: "10.0.0", Description: "about beta",
			Tags: []string{"Ünder_score"}, Category: "news", Certified: true,
		}})
		equal(t, "error", err, nil)
		_, total, err := r.Listed(hub.ListQuery{Tenant: "elsewhere", Limit: 9})
		equal(t, "another tenant", total, 0)
		equal(t, "error", err, nil)
		counts, err := r.CountCategories(hub.LocalTenant, at(5))
		equal(t, "categories", counts, []hub.CategoryCount{
			{Category: "", Releases: 1}, {Category: "Mail", Releases: 1}, {Category: "news", Releases: 1, Certified: 1},
		})
		equal(t, "error", err, nil)
		category, err := r.Category(beta.Seq)
		equal(t, "category", category, "news")
		_, none := r.Category(beta.Seq + 1)
		absent(t, "no category", none)
		return err
	})
}
