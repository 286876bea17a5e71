package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
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

// testKazmaLists has the lists of the Kazma routes, with and without a text, of releases
// that are as they are in the database: no document of search was written for them.
func testKazmaLists(t *testing.T, open Opener) {
	s := opened(t, open)
	now := 5
	h := hub.New(s.Store, hub.Config{Now: func() time.Time { return at(now) }})
	add := func(name, author, version, category string, status hubapi.Status, change func(*hub.ReleaseRow)) hub.ReleaseRow {
		row := releaseOf(s.addSkill(name, author), version, status)
		row.Description = "about " + name
		if change != nil {
			change(&row)
		}
		row = s.addRelease(row)
		s.write(func(w hub.Writer) error {
			if category != "" {
				if err := w.SetCategory(row.Seq, category); err != nil {
					return err
				}
			}
			if status != hubapi.Active {
				return nil
			}
			return w.PutSearchDoc(hub.SearchDoc{Tenant: hub.LocalTenant, Release: row.Seq, Data: []byte{}})
		})
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
		q     hub.KazmaQuery
		now   int
		names string
		total int
	}{
		{"all in order of publication", hub.KazmaQuery{Limit: 9}, 5, "zeta beta gamma ", 3},
		{"by name", hub.KazmaQuery{Limit: 9, Sort: hub.ByName}, 5, "beta gamma zeta ", 3},
		{"by text of the version", hub.KazmaQuery{Limit: 9, Sort: hub.ByVersion}, 5, "zeta beta gamma ", 3},
		{"a page", hub.KazmaQuery{Limit: 1, Offset: 1, Sort: hub.ByName}, 5, "gamma ", 3},
		{"behind the end", hub.KazmaQuery{Limit: 9, Offset: 3}, 5, "", 3},
		{"far behind the end", hub.KazmaQuery{Limit: 9, Offset: 1 << 40}, 5, "", 3},
		{"none wanted", hub.KazmaQuery{}, 5, "", 3},
		{"category, exactly", hub.KazmaQuery{Limit: 9, Category: "Mail"}, 5, "zeta ", 1},
		{"a page of a category", hub.KazmaQuery{Limit: 9, Offset: 1, Category: "Mail"}, 5, "", 1},
		{"category, in another case", hub.KazmaQuery{Limit: 9, Category: "mail"}, 5, "", 0},
		{"text in a name", hub.KazmaQuery{Limit: 9, Text: "ET"}, 5, "zeta beta ", 2},
		{"a page of a text", hub.KazmaQuery{Limit: 1, Offset: 1, Text: "ET"}, 5, "beta ", 2},
		{"text in a category", hub.KazmaQuery{Limit: 9, Text: "mail"}, 5, "zeta ", 1},
		{"text in an author", hub.KazmaQuery{Limit: 9, Text: "bob_"}, 5, "beta ", 1},
		{"text in a tag", hub.KazmaQuery{Limit: 9, Text: "Ünder_SCORE"}, 5, "beta ", 1},
		{"no wildcards", hub.KazmaQuery{Limit: 9, Text: "b%y"}, 5, "", 0},
		{"no wildcards", hub.KazmaQuery{Limit: 9, Text: "z_ta"}, 5, "", 0},
		{"a percent sign", hub.KazmaQuery{Limit: 9, Text: "100% S"}, 5, "gamma ", 1},
		{"an exclamation mark", hub.KazmaQuery{Limit: 9, Text: "sure!"}, 5, "gamma ", 1},
		{"what cannot be stored", hub.KazmaQuery{Limit: 9, Text: "\x00"}, 5, "", 0},
		{"what cannot be stored", hub.KazmaQuery{Limit: 9, Category: "\xff"}, 5, "", 0},
		{"certified", hub.KazmaQuery{Limit: 9, Certified: &yes}, 5, "beta ", 1},
		{"not certified", hub.KazmaQuery{Limit: 9, Certified: &no}, 5, "zeta gamma ", 2},
		{"expired", hub.KazmaQuery{Limit: 9, Certified: &yes}, 6, "", 0},
		{"a text, certified", hub.KazmaQuery{Limit: 9, Certified: &yes, Text: "e"}, 5, "beta ", 1},
		{"a text, not certified", hub.KazmaQuery{Limit: 9, Certified: &no, Text: "about"}, 5, "zeta ", 1},
		{"a text, expired", hub.KazmaQuery{Limit: 9, Certified: &yes, Text: "e"}, 6, "", 0},
		{"all of it", hub.KazmaQuery{Limit: 9, Certified: &yes, Text: "news", Category: "news"}, 5, "beta ", 1},
	} {
		now = tt.now
		items, total, err := h.KazmaList(t.Context(), hub.LocalAdmin(), tt.q)
		names := ""
		for _, item := range items {
			names += item.Name + " "
		}
		equal(t, tt.what, names, tt.names)
		equal(t, tt.what+": total", total, tt.total)
		equal(t, tt.what+": error", err, nil)
	}
	now = 5
	about, news := "about beta", "news"
	for _, q := range []hub.KazmaQuery{{Text: "beta", Limit: 1}, {Sort: hub.ByName, Limit: 1}} {
		items, _, err := h.KazmaList(t.Context(), hub.LocalAdmin(), q)
		equal(t, "an item", items, []hubapi.KazmaSkill{{
			ID: "kazma-hub://Bob_by/beta@10.0.0", Author: "Bob_by", Name: "beta", Version: "10.0.0", Description: &about,
			Tags: []string{"Ünder_score"}, Category: &news, Certified: true,
		}})
		equal(t, "error", err, nil)
	}
	stranger := hub.LocalAdmin()
	stranger.Tenant = "elsewhere"
	for _, q := range []hub.KazmaQuery{{Limit: 9}, {Limit: 9, Text: "e"}} {
		_, total, err := h.KazmaList(t.Context(), stranger, q)
		equal(t, "another tenant", total, 0)
		equal(t, "error", err, nil)
	}
	stats, err := h.KazmaStats(t.Context(), hub.LocalAdmin())
	equal(t, "stats", stats, hubapi.KazmaStats{
		TotalSkills: 3, CertifiedCount: 1, ByCategory: map[string]int{hub.Uncategorized: 1, "Mail": 1, "news": 1},
	})
	equal(t, "error", err, nil)
	s.read(func(r hub.Reader) error {
		category, err := r.Category(beta.Seq)
		equal(t, "category", category, "news")
		_, none := r.Category(beta.Seq + 1)
		absent(t, "no category", none)
		return err
	})
}

// testKazmaListsFollow compares lists with what is in the database itself after every
// change, while two hubs work on one store, as two servers do.
func testKazmaListsFollow(t *testing.T, open Opener) {
	s := opened(t, open)
	now := 0
	clock := func() time.Time { return at(now) }
	hubs := []*hub.Hub{hub.New(s.Store, hub.Config{Now: clock}), hub.New(s.Store, hub.Config{Now: clock})}
	p := hub.LocalAdmin()
	random := rand.New(rand.NewPCG(7, 3))
	done := map[string]int{}
	for range 100 {
		now += random.IntN(3)
		h := hubs[random.IntN(2)]
		name := fmt.Sprintf("skill-%d", random.IntN(3))
		ref := hubapi.Ref{Author: "ann", Name: name}
		what := []string{"publish", "propose", "withdraw", "badge", "badge", "badge", "badge", "revoke", "revoke", "lift", "lift", "lift", "expire"}[random.IntN(13)]
		var err error
		switch what {
		case "publish", "propose":
			category := []string{"", "mail", "News"}[random.IntN(3)]
			text := fmt.Sprintf("---\nname: %s\ndescription: Does %d things to mails, and then says what was done.\nlicense: MIT\nmetadata:\n  category: %q\n---\n\nDo it.\n",
				name, random.IntN(1000), category)
			_, err = h.Publish(t.Context(), p, hub.PublishInput{
				Author: "ann", Name: name, Version: fmt.Sprintf("%d.%d.0", random.IntN(30), random.IntN(1000)),
				Files: []pack.File{{Path: "SKILL.md", Data: []byte(text)}}, Approve: what == "publish",
			})
		case "withdraw":
			_, err = h.Act(t.Context(), p, ref, hub.Withdraw, hubapi.Review{Reason: "old"})
		case "badge":
			_, err = h.IssueBadge(t.Context(), p, ref, hubapi.BadgeBasic)
		case "revoke":
			_, err = h.RevokeBadge(t.Context(), p, ref, "wrong")
		case "lift":
			_, err = h.LiftRevocation(t.Context(), p, ref, "right")
		case "expire":
			// The badge ends in a moment, which nobody tells the lists about.
			now += int(hub.BadgeValidity / time.Second / 2)
		}
		if err == nil {
			done[what]++
		}
		sameAsRows(t, s, hubs, at(now))
	}
	for _, what := range []string{"publish", "propose", "withdraw", "badge", "revoke", "lift", "expire"} {
		if done[what] == 0 {
			t.Errorf("nothing was done by %q", what)
		}
	}
}

// sameAsRows compares every kind of list with the rows of the database.
func sameAsRows(t *testing.T, s s, hubs []*hub.Hub, now time.Time) {
	t.Helper()
	type listed struct {
		hub.ReleaseRow
		category  string
		certified bool
	}
	var all []listed
	s.read(func(r hub.Reader) error {
		rows, err := r.ActiveReleases(hub.LocalTenant, "", 100)
		for _, row := range rows {
			category, missing := r.Category(row.Seq)
			if missing != nil && !errors.Is(missing, hub.ErrNoRow) {
				return missing
			}
			badge, missing := r.Badge(row.Seq)
			if missing != nil && !errors.Is(missing, hub.ErrNoRow) {
				return missing
			}
			holds := missing == nil && badge.RevokedAt.IsZero() && badge.Digest == row.Digest && !now.After(badge.ExpiresAt)
			all = append(all, listed{row, category, holds})
		}
		return err
	})
	yes, no := true, false
	for _, sort := range []hub.Sort{hub.ByPublication, hub.ByName, hub.ByVersion} {
		slices.SortFunc(all, func(a, b listed) int {
			switch sort {
			case hub.ByName:
				return cmp.Compare(a.Name, b.Name)
			case hub.ByVersion:
				return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.Seq, b.Seq))
			default:
				return cmp.Compare(a.Seq, b.Seq)
			}
		})
		for _, category := range []string{"", "mail"} {
			for _, certified := range []*bool{nil, &yes, &no} {
				want := []string{}
				for _, l := range all {
					if (category == "" || l.category == category) && (certified == nil || *certified == l.certified) {
						want = append(want, fmt.Sprintf("%s@%s %v", l.Name, l.Version, l.certified))
					}
				}
				for _, h := range hubs {
					got := []string{}
					total := 0
					for offset := 0; offset == 0 || offset < total; offset += 2 {
						items, n, err := h.KazmaList(t.Context(), hub.LocalAdmin(), hub.KazmaQuery{
							Sort: sort, Category: category, Certified: certified, Limit: 2, Offset: offset,
						})
						if err != nil {
							t.Fatal(err)
						}
						total = n
						for _, item := range items {
							got = append(got, fmt.Sprintf("%s@%s %v", item.Name, item.Version, item.Certified))
						}
					}
					equal(t, fmt.Sprint("list ", sort, category, certified != nil), got, want)
					equal(t, "total", total, len(want))
				}
			}
		}
	}
}
