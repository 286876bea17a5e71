package hub_test

import (
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

func (f *fixture) acted(p hub.Principal, ref string, a hub.Action, in hubapi.Review) hubapi.InboxMove {
	f.Helper()
	move, err := f.Act(f.Context(), p, parse(f, ref), a, in)
	if err != nil {
		f.Fatalf("%s %s: %v", a, ref, err)
	}
	return move
}

func (f *fixture) statusOf(ref string) hubapi.Status {
	f.Helper()
	r, err := f.Release(f.Context(), admin, parse(f, ref))
	if err != nil {
		f.Fatal(err)
	}
	return r.Status
}

// W3: who publishes is not who approves, by the key or by the author, unless the
// tenant allows it; the setting holds from the next request on (W28).
func TestW3AuthorsDoNotApprove(t *testing.T) {
	f := newHub(t)
	f.pushed(reviewer, hub.PublishInput{Files: kortecx("triage", "1", "x")})
	colleague := hub.Principal{ID: "rev2", Tenant: "team", Role: hub.Reviewer, Authors: []string{"rev"}}
	for _, p := range []hub.Principal{reviewer, colleague} {
		_, err := f.Approve(t.Context(), p, parse(t, "triage"))
		refused(t, p.ID, err, hubapi.Forbidden, "own")
		_, err = f.push(p, hub.PublishInput{Files: kortecx("triage", "2", "y"), Approve: true})
		refused(t, p.ID+" pushes and approves", err, hubapi.Forbidden, "own")
	}
	f.setting("team", hubapi.TenantChange{SelfApprove: yes()})
	f.approved(reviewer, "triage")
	if trail := f.trail("team"); !strings.Contains(trail[len(trail)-1], "by its own author") {
		t.Errorf("%q", trail)
	}
}

// W4: a proposal does not touch what is active.
func TestW4ProposalsDoNotHideTheActiveRelease(t *testing.T) {
	f := newHub(t)
	f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", "1", "one")})
	f.approved(reviewer, "triage")
	f.pushed(agent, hub.PublishInput{Files: kortecx("triage", "2", "two")})
	for _, a := range []hub.Action{hub.Reject, hub.Quarantine, hub.Defer} {
		in := hubapi.Review{Reason: "because"}
		if a == hub.Defer {
			f.acted(reviewer, "triage", a, in)
		} else {
			f.acted(reviewer, "triage@2", a, in)
			f.acted(reviewer, "triage@2", hub.Repropose, hubapi.Review{})
		}
		if r, err := f.Release(t.Context(), node, parse(t, "triage")); err != nil || r.Version != "1" {
			t.Errorf("after %s: %+v, %v", a, r, err)
		}
	}
}

// W5: an update goes on only what it was made from.
func TestW5UpdatesApplyToTheirBase(t *testing.T) {
	f := newHub(t)
	f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", "1", "one")})
	f.approved(reviewer, "triage")
	f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", "2", "two")})
	f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", "3", "three")})
	f.approved(reviewer, "triage@3")
	_, err := f.Approve(t.Context(), reviewer, parse(t, "triage@2"))
	if e := refused(t, "over version 3", err, hubapi.Conflict, "version 3 is active"); e.ID() != "review.base" {
		t.Errorf("%+v", e)
	}
	box, err := f.Inbox(t.Context(), reviewer, 0, false)
	if err != nil || box.Items[0].Kind != "update" || box.Items[0].Target == nil || box.Items[0].Target.PreviousVersion != "1" {
		t.Errorf("%+v, %v", box, err)
	}
	_, err = f.Act(t.Context(), reviewer, parse(t, "triage@2"), hub.Approve, hubapi.Review{Force: true})
	refused(t, "forced by a reviewer", err, hubapi.Forbidden)
	f.acted(publisher, "triage@2", hub.Repropose, hubapi.Review{})
	f.approved(reviewer, "triage@2")
	// A withdrawn base is no base either; an admin forces it, and the trail says so.
	f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", "4", "four")})
	f.acted(publisher, "triage@2", hub.Withdraw, hubapi.Review{Reason: "wrong"})
	_, err = f.Approve(t.Context(), reviewer, parse(t, "triage@4"))
	refused(t, "over nothing", err, hubapi.Conflict, "nothing is active")
	f.acted(admin, "triage@4", hub.Approve, hubapi.Review{Force: true})
	if trail := f.trail("team"); !strings.Contains(trail[len(trail)-1], "forced: ") {
		t.Errorf("%q", trail[len(trail)-1])
	}
}

// W6: whatever was pushed can be rejected; the same content stays out for the
// cool-off, whatever it is called then, and no longer.
func TestW6RejectionAndItsCooloff(t *testing.T) {
	f := newHub(t)
	f.pushed(agent, hub.PublishInput{Files: kortecx("triage", "1", "Send everything.")})
	move := f.acted(reviewer, "triage", hub.Reject, hubapi.Review{Reason: "leaks"})
	if move.Detail == nil || !strings.Contains(*move.Detail, "30 days") || move.NewStatus != hubapi.Rejected {
		t.Errorf("%+v", move)
	}
	for name, in := range map[string]hub.PublishInput{
		"another version": {Files: kortecx("triage", "2", "Send everything.")},
		"other spacing":   {Files: kortecx("triage", "2", "SEND \u200b  everything.\n\n")},
	} {
		before := len(f.trail("team"))
		_, err := f.push(publisher, in)
		if e := refused(t, name, err, hubapi.Conflict, "leaks"); e.ID() != "review.cooloff" || len(f.trail("team")) != before {
			t.Errorf("%s: %+v", name, e)
		}
	}
	// The very same push again is the same release, still rejected.
	if out := f.pushed(agent, hub.PublishInput{Files: kortecx("triage", "1", "Send everything.")}); !out.Unchanged || out.Status != hubapi.Rejected {
		t.Errorf("%+v", out)
	}
	_, err := f.Act(t.Context(), publisher, parse(t, "triage@1"), hub.Repropose, hubapi.Review{})
	refused(t, "reproposed by its author", err, hubapi.Conflict, "leaks")
	f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", "2", "Ask first.")})
	f.now = f.now.Add(31 * 24 * time.Hour)
	f.acted(publisher, "triage@1", hub.Repropose, hubapi.Review{})
	f.acted(reviewer, "triage@1", hub.Reject, hubapi.Review{Reason: "still", CooloffDays: 7})
	// A reviewer may end a cool-off.
	f.acted(reviewer, "triage@1", hub.Repropose, hubapi.Review{Reason: "mended elsewhere"})
	f.pushed(agent, hub.PublishInput{Files: kortecx("triage", "3", "Send everything.")})
	f.setting("team", hubapi.TenantChange{CooloffDays: num(2)})
	if move := f.acted(reviewer, "triage@3", hub.Reject, hubapi.Review{Reason: "no"}); !strings.Contains(*move.Detail, "2 days") {
		t.Errorf("%s", *move.Detail)
	}
}

// W6: an active release has ways out, and each takes it from everywhere.
func TestW6ActiveReleasesEnd(t *testing.T) {
	for _, tt := range []struct {
		p    hub.Principal
		a    hub.Action
		want hubapi.Status
	}{
		{publisher, hub.Withdraw, hubapi.Deprecated},
		{publisher, hub.Deprecate, hubapi.Deprecated},
		{reviewer, hub.Withdraw, hubapi.Deprecated},
		{reviewer, hub.Reject, hubapi.Rejected},
		{reviewer, hub.Quarantine, hubapi.Quarantined},
	} {
		f := newHub(t)
		f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", "1", "one")})
		f.approved(reviewer, "triage")
		for _, p := range []hub.Principal{agent, stranger, node} {
			_, err := f.Act(t.Context(), p, parse(t, "triage@1"), tt.a, hubapi.Review{Reason: "x"})
			refused(t, p.ID+" "+string(tt.a), err, hubapi.Forbidden)
		}
		if move := f.acted(tt.p, "triage@1", tt.a, hubapi.Review{Reason: "because"}); move.NewStatus != tt.want || move.PreviousStatus != hubapi.Active {
			t.Errorf("%s: %+v", tt.a, move)
		}
		_, err := f.Release(t.Context(), node, parse(t, "triage"))
		refused(t, "release", err, hubapi.NotFound)
		if found, err := f.Search(t.Context(), node, hub.SearchQuery{}); err != nil || len(found.Items) != 0 {
			t.Errorf("%s: search still shows %+v, %v", tt.a, found, err)
		}
		_, err = f.Act(t.Context(), tt.p, parse(t, "triage@1"), tt.a, hubapi.Review{Reason: "again"})
		refused(t, "again", err, hubapi.Conflict)
		f.acted(reviewer, "triage@1", hub.Repropose, hubapi.Review{})
		f.approved(reviewer, "triage@1")
	}
}

// W7: of several at once, one wins, and what it did is all that happened.
func TestW7OneOfManyMovesWins(t *testing.T) {
	f := newHub(t)
	f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", "1", "one")})
	var won atomic.Int32
	var wg sync.WaitGroup
	for i := range 12 {
		a := []hub.Action{hub.Approve, hub.Reject, hub.Quarantine}[i%3]
		in := hubapi.Review{Reason: "because"}
		if a == hub.Approve {
			in.Reason = ""
		}
		wg.Go(func() {
			_, err := f.Act(t.Context(), reviewer, parse(t, "triage@1"), a, in)
			if err == nil {
				won.Add(1)
			} else if hubapi.AsError(err).Code != hubapi.Conflict {
				t.Errorf("%s: %v", a, err)
			}
		})
	}
	wg.Wait()
	// An approved or quarantined release may be moved on by a later one.
	if n, trail := int(won.Load()), f.trail("team"); n < 1 || len(trail) != n+1 {
		t.Errorf("%d won, the trail is %q", n, trail)
	}
}

func TestDeferredComesLast(t *testing.T) {
	f := newHub(t)
	for _, name := range []string{"triage", "other", "third"} {
		f.pushed(publisher, hub.PublishInput{Name: name, Files: kortecx(name, "1", name)})
	}
	f.acted(reviewer, "third", hub.Defer, hubapi.Review{Reason: "later"})
	names := func() string {
		box, err := f.Inbox(t.Context(), reviewer, 0, false)
		if err != nil {
			t.Fatal(err)
		}
		out := ""
		for _, item := range box.Items {
			out += item.Name + " "
			if (item.DeferredAt != nil) != (item.Name == "third") {
				t.Errorf("%+v", item)
			}
		}
		return out
	}
	if got := names(); got != "other triage third " {
		t.Error(got)
	}
	f.setting("team", hubapi.TenantChange{InboxMaxPending: num(1)})
	if box, err := f.Inbox(t.Context(), reviewer, 0, false); err != nil || box.Count != 1 || !box.Truncated {
		t.Errorf("%+v, %v", box, err)
	}
	f.setting("team", hubapi.TenantChange{InboxMaxPending: num(0)})
	if box, err := f.Inbox(t.Context(), reviewer, 0, false); err != nil || box.Count != 0 || !box.Truncated {
		t.Errorf("%+v, %v", box, err)
	}
	if box, err := f.InboxOf(t.Context(), reviewer, hub.InboxInput{Status: "archived"}); hubapi.AsError(err).Code != hubapi.Invalid {
		t.Errorf("%+v, %v", box, err)
	}
}

func TestEdit(t *testing.T) {
	for name, tt := range map[string]struct {
		files       []pack.File
		in          hubapi.Review
		version     string
		file, wants string
	}{
		"kortecx, text":       {kortecx("triage", "3", "one"), review("# triage\n\nAsk first.\n", "", ""), "4", "instructions.md", "# triage\n\nAsk first.\n"},
		"kortecx, words":      {kortecx("triage", "3", "one"), review("", `Sorts "mail"`, ""), "4", "skill.json", `"description":"Sorts \"mail\""`},
		"skill-md, body":      {skillMD("triage", "one"), review("# triage\n\nAsk first.\n", "", ""), "2", "SKILL.md", "description: Does triage well\n---\n# triage\n\nAsk first.\n"},
		"skill-md, whole":     {skillMD("triage", "one"), review("---\nname: triage\ndescription: New\n---\n\nAsk first.\n", "", ""), "2", "SKILL.md", "description: New"},
		"skill-md, words":     {skillMD("triage", "one", "1.0"), review("", "Sorts: all", ""), "1.0-edit.1", "SKILL.md", `description: "Sorts: all"`},
		"kazma, words":        {kazma("triage", "1.2.3", "acme"), review("", "Does more", ""), "1.2.4", "skill_manifest.yaml", "version: 1.2.4\ndescription: Does more\nauthor: acme\n"},
		"only a summary":      {kortecx("triage", "3", "one"), review("", "", "Sorts mail, asks first"), "4", "skill.json", `"version":"4"`},
		"kortecx, everything": {kortecx("triage", "3", "one"), review("# t\n\nx\n", "d", "s"), "4", "skill.json", `"description":"d"`},
	} {
		t.Run(name, func(t *testing.T) {
			f := newHub(t)
			old := f.pushed(publisher, hub.PublishInput{Files: tt.files})
			move := f.acted(reviewer, "triage", hub.Edit, tt.in)
			if move.NewStatus != hubapi.Staged || move.Release.Version != tt.version || move.Release.PublishedBy != "rev" || move.Release.Author != "acme" || move.Detail == nil {
				t.Fatalf("%+v", move)
			}
			got, err := f.File(t.Context(), reviewer, parse(t, "triage@"+tt.version), tt.file)
			if err != nil || !strings.Contains(string(got.Data), tt.wants) {
				t.Errorf("%s:\n%s(%v), want %q", tt.file, got.Data, err, tt.wants)
			}
			if f.statusOf(old.Ref()) != hubapi.Stale {
				t.Errorf("the old one is %s", f.statusOf(old.Ref()))
			}
			// What was pushed is what it was, and an editor is an author.
			was, err := f.File(t.Context(), reviewer, parse(t, old.Ref()), tt.files[0].Path)
			if err != nil || string(was.Data) != string(tt.files[0].Data) {
				t.Errorf("the old one changed: %s %v", was.Data, err)
			}
			_, err = f.Approve(t.Context(), reviewer, parse(t, "triage"))
			refused(t, "approved by its editor", err, hubapi.Forbidden)
			f.approved(admin, "triage")
		})
	}
}

func review(content, description, summary string) hubapi.Review {
	var in hubapi.Review
	for text, to := range map[*string]**string{&content: &in.Content, &description: &in.Description, &summary: &in.Summary} {
		if *text != "" {
			*to = text
		}
	}
	return in
}

func TestEditsThatAreRefused(t *testing.T) {
	s := &scanner{rules: "1", critical: "evil"}
	f := scanned(t, s)
	f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", "1", "one")})
	before := len(f.trail("team"))
	blank, same := " \n", "# triage\n\none\n"
	for name, in := range map[string]hubapi.Review{
		"nothing":      {},
		"no change":    {Content: &same},
		"blank":        {Content: &blank},
		"with reason":  {Content: &same, Reason: "x"},
		"two lines":    review("", "", "a\nb"),
		"a large text": review(strings.Repeat("x", pack.MaxInstructions+1), "", ""),
	} {
		_, err := f.Act(t.Context(), reviewer, parse(t, "triage"), hub.Edit, in)
		if e := hubapi.AsError(err); e == nil || e.Code != hubapi.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(f.trail("team")); n != before {
		t.Errorf("refusals left %d traces", n-before)
	}
	// An edit is scanned like a push.
	if move := f.acted(reviewer, "triage", hub.Edit, review("# triage\n\nevil\n", "", "")); move.NewStatus != hubapi.Quarantined || move.Release.Version != "2" {
		t.Errorf("%+v", move)
	}
}

func TestDiff(t *testing.T) {
	f := newHub(t)
	lines := func(change string) string {
		var b strings.Builder
		for i := range 30 {
			if b.WriteString("line\n"); i == 14 {
				b.WriteString(change + "\n")
			}
		}
		return b.String()
	}
	f.pushed(publisher, hub.PublishInput{Files: append(kortecx("triage", "1", lines("old")), pack.File{Path: "README.md", Data: []byte("gone\n")})})
	first, err := f.InboxDiff(t.Context(), reviewer, parse(t, "triage"), "")
	if err != nil || first.From != nil || len(first.Files) != 3 || first.Files[0].Change != "added" || !strings.Contains(first.Files[0].Text, "--- /dev/null\n+++ b/README.md\n@@ -0,0 +1 @@\n+gone\n") {
		t.Errorf("%+v, %v", first, err)
	}
	f.approved(reviewer, "triage")
	f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", "2", lines("new"))})
	d, err := f.InboxDiff(t.Context(), reviewer, parse(t, "triage@2"), "")
	if err != nil {
		t.Fatal(err)
	}
	var changes []string
	for _, file := range d.Files {
		changes = append(changes, file.Change+" "+file.Path)
	}
	if diff := cmp.Diff([]string{"removed README.md", "changed instructions.md", "changed skill.json"}, changes); diff != "" || d.From.Version != "1" || d.WhitespaceOnly {
		t.Error(diff)
	}
	want := "--- a/instructions.md\n+++ b/instructions.md\n@@ -15,7 +15,7 @@\n line\n line\n line\n-old\n+new\n line\n line\n line\n"
	if got := d.Files[1].Text; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// F19 for differences: what may not be seen is absent.
	_, err = f.Diff(t.Context(), node, parse(t, "triage@2"), "")
	refused(t, "the waiting one", err, hubapi.NotFound)
	_, err = f.Diff(t.Context(), node, parse(t, "triage@1"), "2")
	refused(t, "against the waiting one", err, hubapi.NotFound)
	_, err = f.InboxDiff(t.Context(), publisher, parse(t, "triage@2"), "")
	refused(t, "a publisher", err, hubapi.Forbidden)
}

// H17: new line breaks are another digest, and no change of sense.
func TestH17WhitespaceIsNoSemanticChange(t *testing.T) {
	f := newHub(t)
	f.pushed(publisher, hub.PublishInput{Files: skillMD("triage", "one two\nthree"), Version: "1"})
	f.approved(reviewer, "triage")
	out := f.pushed(publisher, hub.PublishInput{Files: skillMD("triage", "one\ntwo   three"), Version: "2"})
	d, err := f.InboxDiff(t.Context(), reviewer, parse(t, out.Ref()), "")
	if err != nil || !d.WhitespaceOnly || d.From.Digest == d.To.Digest {
		t.Errorf("%+v, %v", d, err)
	}
}

// W27: nobody below reviewers sees the inbox or the trail, but for what they proposed
// themselves; F19: their refusals do not say whether what they ask for is there.
func TestW27TheInboxIsForReviewers(t *testing.T) {
	f := newHub(t)
	f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", "1", "one")})
	for _, p := range []hub.Principal{publisher, agent, node, stranger} {
		for _, name := range []string{"triage", "absent"} {
			ref := hubapi.Ref{Name: name}
			_, detail := f.InboxDetail(t.Context(), p, ref, true)
			_, diff := f.InboxDiff(t.Context(), p, ref, "")
			_, approve := f.Approve(t.Context(), p, ref)
			if p.ID == publisher.ID && name == "triage" {
				if detail != nil {
					t.Errorf("its author does not see it: %v", detail)
				}
				detail = diff
			}
			for what, err := range map[string]error{"detail": detail, "diff": diff, "approve": approve} {
				if e := refused(t, p.ID+" "+what, err, hubapi.Forbidden); e.ID() != "SKILLS_INBOX_FORBIDDEN" || strings.Contains(e.Message, name) {
					t.Errorf("%s: %+v", what, e)
				}
			}
		}
		_, err := f.Events(t.Context(), p, 0, 0)
		refused(t, "events", err, hubapi.Forbidden)
	}
	// Another author's proposal is absent to who withdraws it, to the byte.
	_, staged := f.Act(t.Context(), stranger, parse(t, "triage@1"), hub.Withdraw, hubapi.Review{})
	_, absent := f.Act(t.Context(), stranger, parse(t, "absent@1"), hub.Withdraw, hubapi.Review{})
	a, _ := json.Marshal(refused(t, "staged", staged, hubapi.NotFound))
	b, _ := json.Marshal(refused(t, "absent", absent, hubapi.NotFound))
	if got := strings.ReplaceAll(string(b), "absent", "triage"); string(a) != got {
		t.Errorf("staged %s, absent %s", a, got)
	}
}

// The opt-in: without it there is no inbox, and everything else is as it was.
func TestOptedOut(t *testing.T) {
	f := newHub(t)
	no := false
	f.setting("team", hubapi.TenantChange{OptedIn: &no, SelfApprove: yes()})
	f.pushed(reviewer, hub.PublishInput{Files: kortecx("triage", "1", "one")})
	for _, p := range []hub.Principal{reviewer, node} {
		_, list := f.Inbox(t.Context(), p, 0, false)
		_, approve := f.Approve(t.Context(), p, parse(t, "triage"))
		for what, err := range map[string]error{"list": list, "approve": approve} {
			if e := refused(t, what, err, hubapi.Forbidden); e.ID() != "SKILLS_FACTORY_DISABLED" {
				t.Errorf("%s: %+v", what, e)
			}
		}
	}
	if out := f.pushed(reviewer, hub.PublishInput{Files: kortecx("triage", "1", "one"), Approve: true}); out.Status != hubapi.Active {
		t.Errorf("%+v", out)
	}
	f.acted(reviewer, "triage", hub.Deprecate, hubapi.Review{})
	f.setting("team", hubapi.TenantChange{OptedIn: yes()})
	if _, err := f.Inbox(t.Context(), reviewer, 0, false); err != nil {
		t.Error(err)
	}
}

func TestInboxDetail(t *testing.T) {
	f := scanned(t, &scanner{rules: "7"})
	f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", "1", "one")})
	d, err := f.InboxDetail(t.Context(), reviewer, parse(t, "triage"), true)
	if err != nil || d.Scan == nil || d.Scan.Rules != "7" || len(d.Gates) != 6 || len(d.Release.Files) != 2 || d.Item.Content == nil {
		t.Fatalf("%+v, %v", d, err)
	}
	if diff := cmp.Diff([]string{"approve", "reject", "quarantine", "defer", "edit", "withdraw", "repropose"}, d.Actions); diff != "" {
		t.Error(diff)
	}
	events, err := f.Events(t.Context(), reviewer, 0, 1)
	if err != nil || len(events.Events) != 1 || events.Events[0].Action != "publish" || events.Next != events.Events[0].Seq {
		t.Errorf("%+v, %v", events, err)
	}
	if more, err := f.Events(t.Context(), reviewer, events.Next, 0); err != nil || len(more.Events) != 0 || more.Next != events.Next {
		t.Errorf("%+v, %v", more, err)
	}
}
