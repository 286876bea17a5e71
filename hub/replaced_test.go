package hub_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

// seenBy asks for a release in every way that there is; one answer holds for all.
func (f *fixture) seenBy(p hub.Principal, ref string) bool {
	f.Helper()
	r := parse(f, ref)
	_, one := f.Release(f.Context(), p, r)
	_, two := f.File(f.Context(), p, r, "skill.json")
	_, three := f.Archive(f.Context(), p, r)
	for _, err := range []error{one, two, three} {
		if (err == nil) != (one == nil) || err != nil && hubapi.AsError(err).Code != hubapi.NotFound {
			f.Errorf("%s asks for %s: %v, %v, %v", p.ID, ref, one, two, three)
		}
	}
	return one == nil
}

// A lock names a version: it stays installable when another one takes its place, for
// everybody, and is found in no other way. For keys that do not review, it was gone.
func TestAReplacedReleaseIsGivenByItsVersion(t *testing.T) {
	f := newHub(t)
	for _, version := range []string{"1", "2"} {
		f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", version, "text "+version)})
		f.approved(reviewer, "triage")
	}
	f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", "3", "text 3")})
	for _, p := range []hub.Principal{publisher, stranger, agent, node} {
		if !f.seenBy(p, "triage@1") || !f.seenBy(p, "acme/triage@2") || f.seenBy(p, "triage@3") {
			t.Errorf("%s does not see exactly the two that were reviewed", p.ID)
		}
		one, err := f.Release(t.Context(), p, parse(t, "triage@1"))
		if err != nil || one.Status != hubapi.Deprecated || one.ReplacedBy != "2" {
			t.Errorf("%s gets %+v, %v", p.ID, one, err)
		}
		now, err := f.Release(t.Context(), p, parse(t, "triage"))
		if err != nil || now.Version != "2" || now.ReplacedBy != "" || len(now.Versions) != 1 {
			t.Errorf("%s gets %+v, %v", p.ID, now, err)
		}
		found, err := f.Search(t.Context(), p, hub.SearchQuery{})
		if err != nil || len(found.Items) != 1 || found.Items[0].Version != "2" {
			t.Errorf("%s finds %+v, %v", p.ID, found.Items, err)
		}
	}
	if f.seenBy(elsewhere, "triage@1") {
		t.Error("another tenant sees it")
	}
}

// What was replaced can still be taken from everybody, and then is no more than what never
// was reviewed.
func TestAReplacedReleaseCanBeTakenBack(t *testing.T) {
	for _, c := range []struct {
		p      hub.Principal
		a      hub.Action
		status hubapi.Status
		logged string
	}{
		{publisher, hub.Withdraw, hubapi.Deprecated, "withdraw"},
		{reviewer, hub.Withdraw, hubapi.Deprecated, "withdraw"},
		{reviewer, hub.Quarantine, hubapi.Quarantined, "quarantine"},
	} {
		t.Run(c.p.ID+" "+string(c.a), func(t *testing.T) {
			f := newHub(t)
			for _, version := range []string{"1", "2"} {
				f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", version, "text "+version)})
				f.approved(reviewer, "triage")
			}
			for _, p := range []hub.Principal{agent, node, stranger} {
				_, err := f.Act(t.Context(), p, parse(t, "triage@1"), c.a, hubapi.Review{Reason: "x"})
				refused(t, p.ID, err, hubapi.Forbidden)
			}
			if !f.seenBy(node, "triage@1") {
				t.Fatal("a refusal took it away")
			}
			if move := f.acted(c.p, "triage@1", c.a, hubapi.Review{Reason: "it leaks"}); move.NewStatus != c.status || move.Release.ReplacedBy != "" {
				t.Errorf("it is %+v", move)
			}
			if f.seenBy(node, "triage@1") || !f.seenBy(node, "triage@2") {
				t.Error("not it alone was taken back")
			}
			_, err := f.Act(t.Context(), c.p, parse(t, "triage@1"), c.a, hubapi.Review{Reason: "again"})
			refused(t, "again", err, hubapi.Conflict)
			last := f.leaves(admin)
			if e := last[len(last)-1]; string(e.Op) != c.logged || e.Version != "1" {
				t.Errorf("the log ends with %+v", e)
			}
			f.sound("team")

			f.acted(reviewer, "triage@1", hub.Repropose, hubapi.Review{})
			if f.seenBy(node, "triage@1") {
				t.Error("a proposal is seen")
			}
			f.approved(reviewer, "triage@1")
			two, err := f.Release(t.Context(), node, parse(t, "triage@2"))
			if err != nil || two.ReplacedBy != "1" {
				t.Errorf("now 2 is %+v, %v", two, err)
			}
		})
	}
}

// To propose it again takes it away too, until it is approved: that was in no log.
func TestAReplacedReleaseThatIsProposedAgainIsLoggedAsTakenBack(t *testing.T) {
	f := newHub(t)
	for _, version := range []string{"1", "2"} {
		f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", version, "text "+version)})
		f.approved(reviewer, "triage")
	}
	f.acted(publisher, "triage@1", hub.Repropose, hubapi.Review{})
	if f.seenBy(node, "triage@1") {
		t.Error("a proposal is seen")
	}
	var ops []string
	for _, e := range f.leaves(admin) {
		ops = append(ops, string(e.Op)+" "+e.Version)
	}
	f.approved(reviewer, "triage@1")
	f.acted(publisher, "triage@2", hub.Repropose, hubapi.Review{})
	if diff := cmp.Diff([]string{"submit 1", "publish 1", "submit 2", "publish 2", "withdraw 1"}, ops); diff != "" {
		t.Error(diff)
	}
	f.sound("team")
}

// replacedLast are the versions of triage that the audit trail last says were replaced.
func (f *fixture) replacedLast() map[string]bool {
	out := map[string]bool{}
	for _, line := range f.trail("team") {
		words := strings.Fields(line)
		if _, version, ok := strings.Cut(words[2], "/triage@"); ok {
			out[version] = words[1] == string(hub.Supersede)
		}
	}
	return out
}
