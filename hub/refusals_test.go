package hub_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

// Who may not approve does not do so by publishing either, and a candidate is an admin's
// to bring in. What is refused leaves no release and no line in the trail.
func TestPublishingIsNoWayAroundReview(t *testing.T) {
	f := newHub(t)
	before := f.trail("team")
	for _, p := range []hub.Principal{publisher, agent} {
		_, err := f.push(p, hub.PublishInput{Files: skillMD("triage", "text"), Approve: true})
		refused(t, p.ID+" approves", err, hubapi.Forbidden, "may not approve")
	}
	for _, p := range []hub.Principal{publisher, agent, reviewer} {
		_, err := f.push(p, hub.PublishInput{Files: skillMD("triage", "text"), Origin: &hubapi.Origin{ClusterSize: 9}})
		refused(t, p.ID+" brings in a candidate", err, hubapi.Forbidden, "candidates")
	}
	_, err := f.push(admin, hub.PublishInput{Files: skillMD("triage", "text"), Origin: &hubapi.Origin{ClusterSize: 9}, Approve: true})
	refused(t, "an admin approves a candidate with it", err, hubapi.Forbidden, "candidates")
	box, err := f.Inbox(t.Context(), reviewer, 0, false)
	if err != nil || box.Count != 0 || !slices.Equal(before, f.trail("team")) {
		t.Errorf("left behind: %+v, %q, %v", box.Items, f.trail("team"), err)
	}
}

// An action takes what it needs and nothing else; a refused one moves nothing.
func TestActionsTakeWhatTheyNeed(t *testing.T) {
	f := newHub(t)
	f.pushed(publisher, hub.PublishInput{Files: skillMD("triage", "text")})
	text := "x"
	before := f.trail("team")
	for name, tt := range map[string]struct {
		action hub.Action
		in     hubapi.Review
		code   hubapi.Code
		says   string
	}{
		"no such action":            {"promote", hubapi.Review{}, hubapi.NotFound, "no action"},
		"reject without a reason":   {hub.Reject, hubapi.Review{Reason: " \n"}, hubapi.Invalid, "needs a reason"},
		"quarantine without one":    {hub.Quarantine, hubapi.Review{}, hubapi.Invalid, "needs a reason"},
		"approve with a reason":     {hub.Approve, hubapi.Review{Reason: "fine"}, hubapi.Invalid, "takes no reason"},
		"a long reason":             {hub.Reject, hubapi.Review{Reason: strings.Repeat("ü", 2001)}, hubapi.Invalid, "at most"},
		"a cool-off to quarantine":  {hub.Quarantine, hubapi.Review{Reason: "x", CooloffDays: 3}, hubapi.Invalid, "cool-off"},
		"an edit of nothing":        {hub.Edit, hubapi.Review{}, hubapi.Invalid, "an edit needs"},
		"an approval that edits":    {hub.Approve, hubapi.Review{Content: &text}, hubapi.Invalid, "only an edit"},
		"a forced rejection":        {hub.Reject, hubapi.Review{Reason: "x", Force: true}, hubapi.Invalid, "cannot be forced"},
		"forced, and no admin":      {hub.Approve, hubapi.Review{Force: true}, hubapi.Forbidden, ""},
		"a reason of spaces to end": {hub.Reject, hubapi.Review{Reason: "\t"}, hubapi.Invalid, "needs a reason"},
	} {
		_, err := f.Act(t.Context(), reviewer, parse(t, "triage"), tt.action, tt.in)
		refused(t, name, err, tt.code, tt.says)
	}
	if f.statusOf("acme/triage@1") != hubapi.Staged || !slices.Equal(before, f.trail("team")) {
		t.Errorf("a refusal changed something: %q", f.trail("team"))
	}
}
