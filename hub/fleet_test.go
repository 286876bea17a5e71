package hub_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hub/storetest"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/timetest"
)

// beat sends a heartbeat of the node "laptop" with that summary.
func (f *fixture) beat(reconcile string) string {
	f.Helper()
	return f.beatAs(node, hubapi.Heartbeat{NodeName: "laptop", FleetID: "f1", Reconcile: json.RawMessage(reconcile)})
}

func (f *fixture) beatAs(p hub.Principal, in hubapi.Heartbeat) string {
	f.Helper()
	answer, err := f.Heartbeat(f.Context(), p, in)
	if err != nil {
		f.Fatal(err)
	}
	return answer.NodeID
}

func (f *fixture) fleetNode(id string) hubapi.FleetNode {
	f.Helper()
	got, err := f.FleetNode(f.Context(), reviewer, id)
	if err != nil {
		f.Fatal(err)
	}
	return got
}

// activate publishes a skill and makes it active. Its digest is in the answer.
func (f *fixture) activate(name, version string) hubapi.Release {
	f.Helper()
	out, err := f.Publish(f.Context(), publisher, hub.PublishInput{Name: name, Files: kortecx(name, version, "text "+version)})
	if err != nil {
		f.Fatal(err)
	}
	if _, err := f.Act(f.Context(), reviewer, hubapi.Ref{Author: out.Author, Name: name, Version: version}, hub.Approve, hubapi.Review{}); err != nil {
		f.Fatal(err)
	}
	return out.Release
}

func jsonOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// told is the summary of a node of ours that has these releases in one folder.
func told(releases ...hubapi.Release) hubapi.ReconcileSummary {
	s := hubapi.ReconcileSummary{
		CatalogCount: len(releases), Targets: []hubapi.ReconcileTarget{{Dir: "/skills", Mode: "owned"}},
		Kx: &hubapi.ReconcileDetails{Status: hubapi.ReconcileConverged},
	}
	for _, r := range releases {
		s.Installed = append(s.Installed, r.Name)
		s.Kx.Installed = append(s.Kx.Installed, hubapi.ReconciledSkill{Slug: r.Name, Version: r.Version, Digest: r.Digest})
	}
	s.Normalize()
	return s
}

// The cases of the MemClaw fleet API about metadata.reconcile.
func TestHeartbeatKeepsTheSummary(t *testing.T) {
	f := newHub(t)
	shown := func(id string) string { return string(f.fleetNode(id).Metadata.Reconcile) }
	id := f.beat(`{"catalogCount":1,"installed":["a"], "targets":[]}`)
	if got, want := shown(id), `{"catalogCount":1,"installed":["a"],"targets":[]}`; got != want {
		t.Errorf("kept as %s, want %s", got, want)
	}
	if again := f.beat(`{"catalogCount":2,"installed":["b"],"anything":[{"x":null}]}`); again != id {
		t.Errorf("the same node has the ids %s and %s", id, again)
	}
	if got, want := shown(id), `{"catalogCount":2,"installed":["b"],"anything":[{"x":null}]}`; got != want {
		t.Errorf("a second one: %s, want %s", got, want)
	}
	pad := func(n int) string {
		head, tail := `{"installed":["a"],"pad":"`, `"}`
		return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
	}
	f.beat(pad(8192))
	if got := shown(id); len(got) != 8192 {
		t.Errorf("8192 bytes: %.60s", got)
	}
	f.beat(pad(8193))
	if got, want := shown(id), `{"_truncated":true,"_original_bytes":8193}`; got != want {
		t.Errorf("8193 bytes: %.60s", got)
	}
	f.beat("")
	if got := shown(id); got != "null" {
		t.Errorf("absent: %.60s", got)
	}
	if audit, err := f.Events(t.Context(), admin, 0, 0); err != nil || len(audit.Events) != 1 || audit.Events[0].Action != "node-join" {
		t.Errorf("the audit trail has %+v, %v", audit.Events, err)
	}
}

// Every way in which a node can stand to what is active.
func TestDriftOfANode(t *testing.T) {
	f := newHub(t)
	a, b, c := f.activate("a-skill", "1"), f.activate("b-skill", "1"), f.activate("c-skill", "1")
	f.now = f.now.Add(time.Minute)
	old := hubapi.Release{Name: "a-skill", Version: "0", Digest: "sp1:" + strings.Repeat("0", 64)}
	gone := hubapi.Release{Name: "gone", Version: "3", Digest: "sp1:" + strings.Repeat("1", 64)}
	with := func(s hubapi.ReconcileSummary, change func(*hubapi.ReconcileSummary)) string {
		change(&s)
		return jsonOf(s)
	}
	many := told(a, b, c)
	compact := func(s hubapi.ReconcileSummary) string {
		s.RegisteredDirs = []string{strings.Repeat("d", 9000)}
		cut := s.Fit(1 << 10)
		if cut.Kx.Compact == nil || len(cut.Kx.Installed) > 0 {
			t.Fatalf("not compact: %s", jsonOf(cut))
		}
		return jsonOf(cut)
	}
	type want struct {
		drift                                  hubapi.Drift
		installed, missing, outdated, extra    int
		collisions, skipped, failed, protected int
		partial                                bool
		why                                    string
	}
	for name, test := range map[string]struct {
		reconcile string
		want      want
	}{
		"nothing told":    {"", want{drift: "unknown"}},
		"not an object":   {`[1]`, want{drift: "unknown"}},
		"another object":  {`{"state":"fine"}`, want{drift: "unknown"}},
		"a cut one":       {`{"_truncated":true,"_original_bytes":9000}`, want{drift: "unknown"}},
		"all of it":       {jsonOf(told(a, b, c)), want{drift: "in_sync", installed: 3}},
		"one is missing":  {jsonOf(told(a, b)), want{drift: "drifted", installed: 2, missing: 1}},
		"another digest":  {jsonOf(told(old, b, c)), want{drift: "drifted", installed: 3, outdated: 1}},
		"not active":      {jsonOf(told(a, b, c, gone)), want{drift: "drifted", installed: 4, extra: 1}},
		"names alone":     {`{"catalogCount":3,"installed":["a-skill","b-skill","c-skill"],"targets":[{"dir":"/s","mode":"owned"}]}`, want{drift: "in_sync", installed: 3}},
		"an empty one":    {`{"catalogCount":0,"installed":[],"targets":[{"dir":"/s","mode":"owned"}]}`, want{drift: "drifted", missing: 3}},
		"a failed fetch":  {`{"catalogCount":0,"installed":[],"added":[],"removed":[],"skipped":[],"collisions":[],"protected":[],"targets":[],"registeredDirs":[]}`, want{drift: "failing"}},
		"lists of others": {`{"installed":["a-skill",7,null,{"slug":"x"}],"targets":"none","kx":[]}`, want{drift: "drifted", installed: 1, missing: 2}},
		"our own failure": {`{"installed":[],"targets":[],"kx":{"status":"failed","error":"no\u0000 route"}}`, want{drift: "failing"}},
		"not believed": {
			with(told(a, b), func(s *hubapi.ReconcileSummary) {
				s.Kx.Status, s.Kx.Error = hubapi.ReconcileRefused, "too many removals"
			}),
			want{drift: "failing", installed: 2, missing: 1},
		},
		"a collision": {
			with(told(a, b), func(s *hubapi.ReconcileSummary) { s.Collisions = []string{"c-skill"} }),
			want{drift: "drifted", installed: 2, missing: 1, collisions: 1, why: "a folder that is not ours is in its place"},
		},
		"a protected name": {
			with(told(a, b), func(s *hubapi.ReconcileSummary) { s.Protected = []string{"c-skill"} }),
			want{drift: "drifted", installed: 2, missing: 1, protected: 1, why: "a folder with its name is protected"},
		},
		"skipped with a reason": {
			with(told(a, b), func(s *hubapi.ReconcileSummary) {
				s.Skipped, s.Kx.Skipped = []string{"c-skill"}, []hubapi.ReconcileNote{{Slug: "c-skill", Reason: "no text"}}
			}),
			want{drift: "drifted", installed: 2, missing: 1, skipped: 1, why: "no text"},
		},
		"skipped without one": {
			`{"catalogCount":3,"installed":["a-skill","b-skill"],"skipped":["c-skill","../x"],"targets":[{}]}`,
			want{drift: "drifted", installed: 2, missing: 1, skipped: 2, why: "the node could not use it and does not say why"},
		},
		"a write that failed": {
			with(told(a, b), func(s *hubapi.ReconcileSummary) {
				s.Kx.Status, s.Kx.Failed = hubapi.ReconcileIncomplete, []hubapi.ReconcileNote{{Slug: "c-skill", Reason: "no space"}}
			}),
			want{drift: "drifted", installed: 2, missing: 1, failed: 1, why: "no space"},
		},
		"edited by a person": {
			with(told(old, b, c), func(s *hubapi.ReconcileSummary) {
				s.Kx.Kept = []hubapi.ReconcileNote{{Slug: "a-skill", Reason: "edited here"}}
			}),
			want{drift: "drifted", installed: 3, outdated: 1, why: "edited here"},
		},
		"a digest of all of it":      {compact(many), want{drift: "in_sync", installed: 3}},
		"a digest of something else": {compact(told(old, b, c)), want{drift: "drifted", installed: 3, partial: true}},
		"a digest of less":           {compact(told(a)), want{drift: "drifted", installed: 1, missing: 2, partial: true}},
	} {
		t.Run(name, func(t *testing.T) {
			id := f.beatAs(node, hubapi.Heartbeat{NodeName: name, Reconcile: json.RawMessage(test.reconcile)})
			got := f.fleetNode(id).Metadata.Kx
			why := ""
			for _, list := range [][]hubapi.NodeSkill{got.Skills.Missing, got.Skills.Outdated} {
				for _, skill := range list {
					why += skill.Why
				}
			}
			have := want{
				got.Drift, got.Installed, got.Missing, got.Outdated, got.Extra,
				got.Collisions, got.Skipped, got.Failed, got.Protected, got.Partial, test.want.why,
			}
			if test.want.why != "" {
				have.why = why
			}
			if got.Active != 3 || have != test.want {
				t.Errorf("got %+v, want %+v", have, test.want)
			}
			if !got.Partial && got.Installed != len(got.Skills.Installed) {
				t.Errorf("%d installed, and %d in the list", got.Installed, len(got.Skills.Installed))
			}
		})
	}
}

// The skills of a node are not forgotten by a heartbeat without a summary, with a cut
// or a failed one; and what a digest stood for is remembered when it was known.
func TestWhatIsKnownOfANodeStays(t *testing.T) {
	f := newHub(t)
	a := f.activate("a-skill", "1")
	f.now = f.now.Add(time.Minute)
	success := f.now.Truncate(time.Microsecond)
	id := f.beat(jsonOf(told(a)))
	for _, reconcile := range []string{
		"", `{"_truncated":true}`, `{"catalogCount":0,"installed":[],"targets":[]}`,
		`{"installed":[],"targets":[],"kx":{"status":"failed","error":"no route","last_success_at":"2001-01-01T00:00:00Z"}}`,
	} {
		f.now = f.now.Add(time.Minute)
		f.beat(reconcile)
		got := f.fleetNode(id)
		kx := got.Metadata.Kx
		if kx.Installed != 1 || kx.Missing != 0 || !kx.LastSuccessAt.Equal(success) || !kx.SnapshotAt.Equal(success) {
			t.Errorf("after %q: %+v", reconcile, kx)
		}
		if age := int64(f.now.Sub(success) / time.Second); *kx.SuccessAge != age {
			t.Errorf("the last success was %d seconds ago, want %d", *kx.SuccessAge, age)
		}
		if !got.LastHeartbeat.Equal(f.now.Truncate(time.Microsecond)) {
			t.Errorf("last heartbeat %v", got.LastHeartbeat)
		}
	}
	if kx := f.fleetNode(id).Metadata.Kx; kx.Drift != hubapi.DriftFailing || kx.Error != "no route" {
		t.Errorf("a failing node: %s, %q", kx.Drift, kx.Error)
	}
	big := told(a)
	big.RegisteredDirs = []string{strings.Repeat("d", 9000)}
	f.beat(jsonOf(big)) // shown as cut, and read all the same
	if got := f.fleetNode(id); !strings.Contains(string(got.Metadata.Reconcile), "_truncated") || got.Metadata.Kx.Drift != hubapi.DriftNone {
		t.Errorf("a large summary: %s, %s", got.Metadata.Reconcile, got.Metadata.Kx.Drift)
	}
	f.beat(jsonOf(big.Fit(1 << 10))) // the digest is that of what is active: so the hub knows the list
	f.now = f.now.Add(time.Minute)
	f.activate("b-skill", "1")
	f.activate("a-skill", "2")
	kx := f.fleetNode(id).Metadata.Kx
	if kx.Partial || kx.Missing != 1 || kx.Outdated != 1 || kx.Skills.Outdated[0].Version != "1" || kx.Skills.Outdated[0].Active.Version != "2" {
		t.Errorf("behind what is active: %+v", kx)
	}
	if want := "it became active after the node's last success"; kx.Skills.Missing[0].Why != want || kx.Skills.Outdated[0].Why != want {
		t.Errorf("missing: %+v, outdated: %+v", kx.Skills.Missing, kx.Skills.Outdated)
	}
	f.beat(jsonOf(big.Fit(1 << 10)))
	if again := f.fleetNode(id).Metadata.Kx; again.Partial || again.Outdated != 1 {
		t.Errorf("the same digest again: %+v", again)
	}
}

func TestStatusOfANode(t *testing.T) {
	f := newHub(t)
	id := f.beat("")
	heard := f.now
	for _, test := range []struct {
		age  time.Duration
		want hubapi.NodeStatus
	}{
		{-time.Hour, "online"},
		{0, "online"},
		{90 * time.Second, "online"},
		{90*time.Second + time.Microsecond, "stale"},
		{300 * time.Second, "stale"},
		{300*time.Second + time.Microsecond, "offline"},
		{1000 * time.Hour, "offline"},
	} {
		f.now = heard.Add(test.age)
		if got := f.fleetNode(id).Status; got != test.want {
			t.Errorf("after %v: %s, want %s", test.age, got, test.want)
		}
		for _, status := range []hubapi.NodeStatus{"online", "stale", "offline"} {
			list, err := f.FleetNodes(t.Context(), reviewer, hubapi.FleetQuery{Status: status})
			if err != nil || (len(list) == 1) != (status == test.want) {
				t.Errorf("after %v, %s: %d nodes, %v", test.age, status, len(list), err)
			}
		}
		fleets, err := f.Fleets(t.Context(), reviewer)
		if err != nil || len(fleets.Fleets) != 1 {
			t.Fatal(fleets, err)
		}
		one := fleets.Fleets[0]
		if got := map[hubapi.NodeStatus]int{"online": one.Online, "stale": one.Stale, "offline": one.Offline}; got[test.want] != 1 || one.Nodes != 1 {
			t.Errorf("after %v the fleet has %+v", test.age, one)
		}
	}
	_, err := f.FleetNodes(t.Context(), reviewer, hubapi.FleetQuery{Status: "lost"})
	refused(t, "the fleet", err, hubapi.Invalid)
}

// Who may report, see and remove; and that a tenant is alone with its nodes.
func TestWhoSeesTheFleet(t *testing.T) {
	f := newHub(t)
	id := f.beat("")
	for _, p := range []hub.Principal{admin, reviewer, publisher, agent, node} {
		if got := f.beatAs(p, hubapi.Heartbeat{TenantID: "team", NodeName: "laptop"}); got != id {
			t.Errorf("%s reports as %s", p.Role, got)
		}
		if by := f.fleetNode(id).Metadata.Kx.ReportedBy; by != p.ID {
			t.Errorf("%s reported, the hub says %s", p.ID, by)
		}
		_, list := f.FleetNodes(t.Context(), p, hubapi.FleetQuery{})
		_, one := f.FleetNode(t.Context(), p, id)
		_, fleets := f.Fleets(t.Context(), p)
		for _, err := range []error{list, one, fleets} {
			if p.Role == hub.Admin || p.Role == hub.Reviewer {
				if err != nil {
					t.Errorf("%s: %v", p.Role, err)
				}
				continue
			}
			refused(t, "the fleet", err, hubapi.Forbidden)
		}
		if p.Role != hub.Admin {
			_, err := f.RemoveNode(t.Context(), p, id)
			refused(t, "the fleet", err, hubapi.Forbidden)
		}
	}
	_, err := f.Heartbeat(t.Context(), node, hubapi.Heartbeat{TenantID: "other", NodeName: "laptop"})
	refused(t, "the fleet", err, hubapi.Forbidden)
	_, err = f.Heartbeat(t.Context(), hub.Principal{}, hubapi.Heartbeat{NodeName: "laptop"})
	refused(t, "the fleet", err, hubapi.Unauthorized)
	_, err = f.FleetNode(t.Context(), elsewhere, id)
	refused(t, "the fleet", err, hubapi.NotFound)
	_, err = f.RemoveNode(t.Context(), elsewhere, id)
	refused(t, "the fleet", err, hubapi.NotFound)
	if list, err := f.FleetNodes(t.Context(), elsewhere, hubapi.FleetQuery{}); err != nil || len(list) != 0 {
		t.Errorf("another tenant sees %d nodes, %v", len(list), err)
	}
	if other := f.beatAs(elsewhere, hubapi.Heartbeat{NodeName: "laptop"}); other == id {
		t.Error("two tenants share a node")
	}
	removed, err := f.RemoveNode(t.Context(), admin, id)
	if err != nil || removed != (hubapi.NodeRemoved{NodeID: id, NodeName: "laptop", Removed: true}) {
		t.Errorf("%+v, %v", removed, err)
	}
	_, err = f.FleetNode(t.Context(), admin, id)
	refused(t, "the fleet", err, hubapi.NotFound)
	_, err = f.RemoveNode(t.Context(), admin, id)
	refused(t, "the fleet", err, hubapi.NotFound)
}

func TestHeartbeatsAreBounded(t *testing.T) {
	f := newHub(t)
	for name, test := range map[string]struct {
		in   hubapi.Heartbeat
		want hubapi.Code
	}{
		"no name":         {hubapi.Heartbeat{}, hubapi.Invalid},
		"a blank name":    {hubapi.Heartbeat{NodeName: " "}, hubapi.Invalid},
		"a long name":     {hubapi.Heartbeat{NodeName: strings.Repeat("n", 201)}, hubapi.Invalid},
		"a line in it":    {hubapi.Heartbeat{NodeName: "a\nb"}, hubapi.Invalid},
		"no text":         {hubapi.Heartbeat{NodeName: "a\xff"}, hubapi.Invalid},
		"a long id":       {hubapi.Heartbeat{NodeName: "a", InstallID: strings.Repeat("n", 33)}, hubapi.Invalid},
		"a long fleet":    {hubapi.Heartbeat{NodeName: "a", FleetID: strings.Repeat("n", 201)}, hubapi.Invalid},
		"metadata a list": {hubapi.Heartbeat{NodeName: "a", Metadata: json.RawMessage("[]")}, hubapi.Invalid},
		"many tools":      {hubapi.Heartbeat{NodeName: "a", Tools: json.RawMessage(jsonOf(strings.Repeat("t", 64<<10)))}, hubapi.TooLarge},
		"a huge summary":  {hubapi.Heartbeat{NodeName: "a", Reconcile: json.RawMessage(jsonOf(strings.Repeat("t", 256<<10)))}, hubapi.TooLarge},
	} {
		_, err := f.Heartbeat(t.Context(), node, test.in)
		if e := hubapi.AsError(err); e == nil || e.Code != test.want {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
	f.beatAs(node, hubapi.Heartbeat{
		NodeName: "a", Metadata: json.RawMessage(`{"setup_status":"done","reconcile":1,"kx":{"drift":"in_sync"}}`),
		RecallMetrics: json.RawMessage(`{"n":1}`), DeployBlockedUntil: json.RawMessage(`"2999-01-01T00:00:00Z"`),
	})
	list, err := f.FleetNodes(t.Context(), reviewer, hubapi.FleetQuery{})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d nodes, %v", len(list), err)
	}
	m := list[0].Metadata
	want := map[string]json.RawMessage{
		"setup_status": json.RawMessage(`"done"`), "recall_metrics": json.RawMessage(`{"n":1}`),
		"deploy_blocked_until": json.RawMessage(jsonOf(f.now.Truncate(time.Microsecond).Add(7 * 24 * time.Hour))),
	}
	if diff := cmp.Diff(want, m.More); diff != "" || m.Kx.Drift != hubapi.DriftUnknown || string(m.Reconcile) != "null" {
		t.Errorf("metadata: %s%+v", diff, m)
	}
}

// Ten thousand nodes are the most; the next one is refused, a known one is not.
func TestATenantHasSoManyNodes(t *testing.T) {
	timetest.LongInOneGoroutine(t)
	f := newHub(t)
	err := f.store.Write(t.Context(), func(w hub.Writer) error {
		for i := range 10_000 {
			id := fmt.Sprintf("n%d", i)
			if err := w.PutNode(hub.NodeRow{ID: id, Tenant: "team", Name: id, Report: "{}", HeartbeatAt: f.now, CreatedAt: f.now}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Heartbeat(t.Context(), node, hubapi.Heartbeat{NodeName: "one more"})
	refused(t, "the fleet", err, hubapi.Precondition)
	f.beatAs(elsewhere, hubapi.Heartbeat{NodeName: "of another tenant"})
	if _, err := f.RemoveNode(t.Context(), admin, "n7"); err != nil {
		t.Fatal(err)
	}
	f.beatAs(node, hubapi.Heartbeat{NodeName: "one more"})
	f.beatAs(node, hubapi.Heartbeat{NodeName: "one more"})
	list, err := f.FleetNodes(t.Context(), reviewer, hubapi.FleetQuery{})
	if err != nil || len(list) != 1000 {
		t.Errorf("%d nodes, %v", len(list), err)
	}
}

// Whatever a node has, its skills fall into place: each active one is installed or
// missing, each installed one is current, outdated or extra, and never two of these.
func TestDriftIsAPartition(t *testing.T) {
	f := newHub(t)
	var active []hubapi.Release
	for _, name := range []string{"a", "b", "c", "d"} {
		active = append(active, f.activate(name, "1"))
	}
	rapid.Check(t, func(r *rapid.T) {
		var s hubapi.ReconcileSummary
		s.Kx = &hubapi.ReconcileDetails{Status: hubapi.ReconcileConverged}
		for _, slug := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}), rapid.ID).Draw(r, "installed") {
			digest := "sp1:" + strings.Repeat("0", 64)
			if at := slices.IndexFunc(active, func(a hubapi.Release) bool { return a.Name == slug }); at >= 0 && rapid.Bool().Draw(r, "current") {
				digest = active[at].Digest
			}
			s.Installed = append(s.Installed, slug)
			s.Kx.Installed = append(s.Kx.Installed, hubapi.ReconciledSkill{Slug: slug, Digest: digest})
		}
		kx := f.fleetNode(f.beat(jsonOf(s))).Metadata.Kx
		if kx.Missing+kx.Installed-kx.Extra != len(active) {
			r.Fatalf("%d missing, %d installed, %d of them extra, %d active", kx.Missing, kx.Installed, kx.Extra, len(active))
		}
		clean := kx.Missing+kx.Outdated+kx.Extra == 0
		if clean != (kx.Drift == hubapi.DriftNone) {
			r.Fatalf("%s with %+v", kx.Drift, kx)
		}
		for _, skill := range kx.Skills.Outdated {
			if skill.Active == nil || skill.Active.Digest == skill.Digest {
				r.Fatalf("outdated: %+v", skill)
			}
		}
	})
}

// Nothing that a reconciler may send breaks a heartbeat, or the list of all nodes.
func FuzzReconcile(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"installed":["a"],"targets":[{"dir":1}],"kx":{"status":"converged","compact":{"digest":"x","counts":{"installed":-5}}}}`,
		`{"catalogCount":1e99,"installed":{},"kx":{"installed":[{"slug":"a"}],"last_success_at":"9999-01-01T00:00:00Z"}}`,
		"{\"installed\":[\"\xff\"],\"kx\":{\"error\":\"\xff\"}}",
	} {
		f.Add(seed)
	}
	// One hub for all inputs: to make one takes longer than all the rest.
	store, err := sqlstore.Open(f.Context(), storetest.TempDir(f), sqlstore.Options{Now: time.Now})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = store.Close() })
	err = store.Write(f.Context(), func(w hub.Writer) error { return w.PutTenant(hub.TenantRow{ID: "team"}) })
	if err != nil {
		f.Fatal(err)
	}
	h := hub.New(store, hub.Config{Now: time.Now})
	f.Fuzz(func(t *testing.T, raw string) {
		if !json.Valid([]byte(raw)) {
			return
		}
		if _, err := h.Heartbeat(t.Context(), node, hubapi.Heartbeat{NodeName: "n", Reconcile: json.RawMessage(raw), OSInfo: json.RawMessage(raw)}); err != nil {
			t.Fatal(err)
		}
		list, err := h.FleetNodes(t.Context(), reviewer, hubapi.FleetQuery{})
		if err != nil || len(list) != 1 {
			t.Fatalf("%d nodes, %v", len(list), err)
		}
		if _, err := json.Marshal(list); err != nil {
			t.Fatal(err)
		}
	})
}

// Nodes are compared with what their catalogue gives them, which in a tenant that opted
// out is more than what is active.
func TestDriftFollowsTheCatalogue(t *testing.T) {
	f := newHub(t)
	f.activate("a-skill", "1")
	f.pushed(publisher, hub.PublishInput{Name: "b-skill", Files: kortecx("b-skill", "1", "text")})
	id := f.beat(`{"catalogCount":1,"installed":["a-skill"],"targets":[{"dir":"/s","mode":"owned"}]}`)
	if kx := f.fleetNode(id).Metadata.Kx; kx.Active != 1 || kx.Drift != hubapi.DriftNone {
		t.Errorf("opted in: %+v", kx)
	}
	no := false
	f.setting("team", hubapi.TenantChange{OptedIn: &no})
	if kx := f.fleetNode(id).Metadata.Kx; kx.Active != 1 || kx.Drift != hubapi.DriftNone {
		t.Errorf("opted out, and what waited for review: %+v", kx)
	}
	f.pushed(publisher, hub.PublishInput{Name: "b-skill", Files: kortecx("b-skill", "2", "text")})
	if kx := f.fleetNode(id).Metadata.Kx; kx.Active != 2 || kx.Missing != 1 || kx.Skills.Missing[0].Slug != "b-skill" {
		t.Errorf("opted out: %+v", kx)
	}
}

// A kazma pack has no SKILL.md, so that no catalogue has it and no node can lack it.
func TestNoNodeLacksWhatNoCatalogueHas(t *testing.T) {
	f := newHub(t)
	f.activate("a-skill", "1")
	out := f.pushed(publisher, hub.PublishInput{Name: "b-skill", Files: kazma("b-skill", "1.0.0", "acme")})
	if _, err := f.Act(f.Context(), reviewer, hubapi.Ref{Author: out.Author, Name: out.Name, Version: out.Version}, hub.Approve, hubapi.Review{}); err != nil {
		t.Fatal(err)
	}
	id := f.beat(`{"catalogCount":1,"installed":["a-skill"],"targets":[{"dir":"/s","mode":"owned"}]}`)
	if kx := f.fleetNode(id).Metadata.Kx; kx.Active != 1 || kx.Missing != 0 || kx.Drift != hubapi.DriftNone {
		t.Errorf("%+v", kx)
	}
}

// A node of which one target fails at every run was shown with a success just now, which
// the node itself does not claim.
func TestAnIncompleteRunIsNoSuccess(t *testing.T) {
	f := newHub(t)
	a := f.activate("a-skill", "1")
	half := told(a)
	half.Kx.Status = hubapi.ReconcileIncomplete
	half.Kx.Failed = []hubapi.ReconcileNote{{Dir: "/full", Reason: "no space left"}}
	id := f.beat(jsonOf(half))
	if kx := f.fleetNode(id).Metadata.Kx; kx.LastSuccessAt != nil || kx.Installed != 1 || kx.Failed != 1 {
		t.Errorf("after a first run that was incomplete: %+v", kx)
	}
	f.now = f.now.Add(time.Minute)
	success := f.now.Truncate(time.Microsecond)
	f.beat(jsonOf(told(a)))
	f.now = f.now.Add(time.Minute)
	f.beat(jsonOf(half))
	if kx := f.fleetNode(id).Metadata.Kx; kx.LastSuccessAt == nil || !kx.LastSuccessAt.Equal(success) {
		t.Errorf("the last success is %v, want %v", kx.LastSuccessAt, success)
	}
}
