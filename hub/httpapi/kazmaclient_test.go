package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
)

// The client speaks every route of Kazma and of badges with a hub.
func TestKazmaClient(t *testing.T) {
	s := start(t, httpapi.DevServer(kazmaSecret))
	c, ctx := s.client, t.Context()
	in := hubapi.KazmaSubmit{Manifest: json.RawMessage(`{"name":"alpha","version":"1.0.0","description":"d","author":"bob","license":"MIT"}`), SubmitterID: "me"}
	for secret, want := range map[string]string{"": "X-Kazma-Secret", "wrong": "X-Kazma-Secret"} {
		if _, err := c.KazmaSubmit(ctx, in, secret); hubapi.AsError(err).Code != hubapi.Unauthorized || !strings.Contains(err.Error(), want) {
			t.Errorf("secret %q: %v", secret, err)
		}
	}
	submitted, err := c.KazmaSubmit(ctx, in, kazmaSecret)
	if err != nil || submitted.Status != "pending" {
		t.Fatal(submitted, err)
	}
	bad := in
	bad.Manifest = json.RawMessage(`{"name":"A"}`)
	if _, err := c.KazmaSubmit(ctx, bad, kazmaSecret); hubapi.AsError(err).Code != hubapi.Invalid || len(hubapi.AsError(err).Details) == 0 {
		t.Errorf("a bad manifest: %#v", err)
	}
	bad.Manifest = json.RawMessage(`[]`)
	if _, err := c.KazmaSubmit(ctx, bad, kazmaSecret); hubapi.AsError(err).Code != hubapi.Invalid || !strings.HasSuffix(err.Error(), ": manifest: Input should be a valid dictionary") {
		t.Errorf("no manifest: %v", err)
	}
	if _, err := s.hub.Publish(ctx, hub.LocalAdmin(), hub.PublishInput{Name: "alpha", Files: kazmaFiles("bob", "alpha", "1.0.0", ""), Approve: true}); err != nil {
		t.Fatal(err)
	}
	ref := hubapi.Ref{Author: "bob", Name: "alpha"}
	if _, err := c.Badge(ctx, ref); hubapi.AsError(err).Code != hubapi.NotFound {
		t.Error(err)
	}
	if _, err := c.KazmaCertification(ctx, "bob/alpha"); hubapi.AsError(err).Code != hubapi.NotFound || !strings.HasSuffix(err.Error(), ": No certification for: bob/alpha") {
		t.Error(err)
	}
	if r, err := c.Attest(ctx, ref, hubapi.BadgeAttest{Requirement: "test_coverage_80", Met: true, Reason: "measured"}); err != nil || !r.Met {
		t.Error(r, err)
	}
	if _, err := c.IssueBadge(ctx, ref, hubapi.BadgeStandard); hubapi.AsError(err).Code != hubapi.Precondition || len(hubapi.AsError(err).Details) != 1 {
		t.Error(err)
	}
	if b, err := c.IssueBadge(ctx, ref, hubapi.BadgeBasic); err != nil || !b.Valid {
		t.Error(b, err)
	}
	yes := true
	if page, err := c.KazmaSkills(ctx, hubclient.KazmaList{Page: 1, PerPage: 5, Sort: "version", Certified: &yes}); err != nil || page.Total != 1 || page.PerPage != 5 {
		t.Error(page, err)
	}
	if found, err := c.KazmaSearch(ctx, "ALPH", "", &yes); err != nil || found.Total != 1 || found.Query != "ALPH" {
		t.Error(found, err)
	}
	for _, id := range []string{"kazma-hub://bob/alpha@1.0.0", "bob/alpha", "alpha"} {
		if d, err := c.KazmaSkill(ctx, id); err != nil || !d.Certified || d.CreatedAt == nil {
			t.Error(id, d, err)
		}
	}
	if got, err := c.KazmaCertification(ctx, submitted.SubmissionID); err != nil || got.Status != "active" || !got.RequirementsMet["valid"] {
		t.Error(got, err)
	}
	if sub, err := c.Submission(ctx, submitted.SubmissionID); err != nil || sub.Release == nil || sub.Badge == nil {
		t.Error(sub, err)
	}
	if stats, err := c.KazmaStats(ctx); err != nil || stats.CertifiedCount != 1 {
		t.Error(stats, err)
	}
	if svg, err := c.BadgeSVG(ctx, ref); err != nil || !strings.Contains(string(svg), ">Basic<") {
		t.Error(string(svg), err)
	}
	if b, err := c.RevokeBadge(ctx, ref, "a hole"); err != nil || b.Valid {
		t.Error(b, err)
	}
	if b, err := c.LiftRevocation(ctx, ref, "none"); err != nil || !b.Valid {
		t.Error(b, err)
	}
	if q, err := c.BadgeRequirements(ctx, ref); err != nil || len(q.Qualifies) != 1 {
		t.Error(q, err)
	}
	if list, err := c.Badges(ctx, "", "", 0); err != nil || len(list.Items) != 1 {
		t.Error(list, err)
	}
	if stats, err := c.BadgeStats(ctx); err != nil || stats.Total != 1 {
		t.Error(stats, err)
	}
}
