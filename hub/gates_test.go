package hub_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// The vectors of the mined candidates' fingerprint.
func TestFingerprint(t *testing.T) {
	want := "fp:v1:4c2a40177a2f36c9f898e20041e1fa313673df7fe7f8b93061777b3bb59190e3"
	for name, o := range map[string]hubapi.Origin{
		"as it is": {Goal: "deploy hangs eu-west", Domain: " DevOps ", Entities: []string{"e3", "e1", "e2"}, Steps: []string{"run the preflight checks", "Deploy script v4"}},
		"permuted": {Goal: "EU-west deploys hang", Domain: "devops", Entities: []string{"e1", "e2", "e3"}, Steps: []string{"Run preflight check", "deploy scripts v4"}},
	} {
		if got := hub.Fingerprint(o); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := hub.Fingerprint(hubapi.Origin{}); got != "fp:v1:d562fffe71d283931a966f837e6b65aeebf1cb8efc0a8d3135e8a8e8b31e38d7" {
		t.Errorf("nothing: %s", got)
	}
	other := hubapi.Origin{Goal: "deploy hangs eu-west", Domain: "devops", Entities: []string{"e1", "e2", "e3"}, Steps: []string{"Deploy script v4", "run the preflight checks"}}
	if hub.Fingerprint(other) == want {
		t.Error("the order of the steps does not count")
	}
}

// scanner finds what its words say.
type scanner struct {
	rules    string
	critical string
}

func (s *scanner) Rules() string { return s.rules }

func (s *scanner) Scan(p *pack.Pack) hub.ScanResult {
	var out hub.ScanResult
	for _, f := range p.Files {
		if s.critical != "" && strings.Contains(string(f.Data), s.critical) {
			out.Critical++
			out.Findings = append(out.Findings, hubapi.Finding{Rule: "TEST", Severity: "critical", Message: "says " + s.critical, File: f.Path, Line: 1})
		}
	}
	return out
}

// scanned is a hub whose content is scanned.
func scanned(t *testing.T, s hub.Scanner) *fixture {
	t.Helper()
	f := newHub(t)
	f.Hub = hub.New(f.store, hub.Config{Now: func() time.Time { return f.now }, Signatures: fakeSignatures{}, Tools: f.tools, Scanner: s})
	return f
}

func TestGates(t *testing.T) {
	now := time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)
	seen := now.Add(-24 * time.Hour)
	settings := hubapi.TenantSettings{MinClusterSize: 3, MinDistinctAgents: 3, FreshnessWindowDays: 14}
	good := hub.GateInput{
		Now: now, Settings: settings, Fingerprint: "fp:v1:x", Origin: hubapi.Origin{ClusterSize: 3, DistinctAgents: 3, WindowEnd: &seen},
		Scan: &hubapi.Scan{State: hubapi.ScanClean, Warn: 2},
	}
	failing := func(in hub.GateInput) string {
		var out []string
		for _, g := range hub.Gates(in) {
			if !g.Pass {
				out = append(out, g.Gate)
			}
			if g.Why == "" {
				t.Errorf("%s says nothing", g.Gate)
			}
		}
		return strings.Join(out, " ")
	}
	old, future := now.Add(-15*24*time.Hour), now.Add(48*time.Hour)
	for name, tt := range map[string]struct {
		change func(*hub.GateInput)
		want   string
	}{
		"all pass":             {func(*hub.GateInput) {}, ""},
		"few runs":             {func(in *hub.GateInput) { in.Origin.ClusterSize = 2 }, "volume"},
		"few agents":           {func(in *hub.GateInput) { in.Origin.DistinctAgents = 2 }, "diversity"},
		"old":                  {func(in *hub.GateInput) { in.Origin.WindowEnd = &old }, "freshness"},
		"of the future":        {func(in *hub.GateInput) { in.Origin.WindowEnd = &future }, "freshness"},
		"rejected":             {func(in *hub.GateInput) { in.Cooling = true }, "poison"},
		"no fingerprint":       {func(in *hub.GateInput) { in.Fingerprint = "" }, "poison"},
		"not scanned":          {func(in *hub.GateInput) { in.Scan = nil }, "scan"},
		"dirty":                {func(in *hub.GateInput) { in.Scan = &hubapi.Scan{State: hubapi.ScanQuarantined, Critical: 1} }, "scan"},
		"clean but critical":   {func(in *hub.GateInput) { in.Scan = &hubapi.Scan{State: hubapi.ScanClean, Critical: 3} }, "scan"},
		"an update":            {func(in *hub.GateInput) { in.Base, in.Active = "sp1:a", "sp1:a" }, ""},
		"an update too late":   {func(in *hub.GateInput) { in.Base, in.Active = "sp1:a", "sp1:b" }, "hash_binding"},
		"everything missing":   {func(in *hub.GateInput) { *in = hub.GateInput{Now: now, Settings: settings} }, "volume diversity freshness poison scan"},
		"an update of nothing": {func(in *hub.GateInput) { in.Base = "sp1:a" }, "hash_binding"},
	} {
		in := good
		tt.change(&in)
		if got := failing(in); got != tt.want {
			t.Errorf("%s: %q fail, want %q", name, got, tt.want)
		}
	}
}

func (f *fixture) mined(name, text string) hubapi.PushResult {
	f.Helper()
	end := f.now
	return f.pushed(admin, hub.PublishInput{Name: name, Files: kortecx(name, "1", text), Origin: &hubapi.Origin{
		AgentID: "forged", Goal: "deploy " + name, Domain: "ops", ClusterSize: 5, DistinctAgents: 4, WindowEnd: &end,
	}})
}

func (f *fixture) ticked() hubapi.Promotion {
	f.Helper()
	out, err := f.Tick(f.Context(), admin)
	if err != nil {
		f.Fatal(err)
	}
	return out
}

func (f *fixture) setting(tenant string, c hubapi.TenantChange) {
	f.Helper()
	if _, err := f.SetTenant(f.Context(), local, tenant, c); err != nil {
		f.Fatal(err)
	}
}

func yes() *bool { v := true; return &v }

func num(n int) *int { return &n }

func TestTick(t *testing.T) {
	s := &scanner{rules: "1"}
	f := scanned(t, s)
	if out := f.mined("triage", "good"); out.Status != hubapi.Candidate {
		t.Fatalf("%+v", out)
	}
	few := f.pushed(admin, hub.PublishInput{Name: "other", Files: kortecx("other", "1", "x"), Origin: &hubapi.Origin{Goal: "x"}})
	if few.Status != hubapi.Candidate {
		t.Fatalf("%+v", few)
	}
	if _, err := f.push(publisher, hub.PublishInput{Files: kortecx("triage", "2", "x"), Origin: &hubapi.Origin{}}); err == nil {
		t.Error("a publisher brought a candidate in")
	}
	got := f.ticked()
	if got.Scanned != 2 || got.Promoted != 1 || got.Held != 1 || got.AutoApproved != 0 {
		t.Errorf("%+v", got)
	}
	if got := f.ticked(); got.Scanned != 1 || got.Held != 1 {
		t.Errorf("the second: %+v", got)
	}
	// With the setting a candidate that passes becomes active, at once.
	f.setting("team", hubapi.TenantChange{AutoPromoteClean: yes()})
	f.mined("third", "good")
	if got := f.ticked(); got.AutoApproved != 1 || got.Held != 1 {
		t.Errorf("with auto_promote_clean: %+v", got)
	}
	if r, err := f.Release(t.Context(), node, parse(t, "third")); err != nil || r.ApprovedBy != "hub" {
		t.Errorf("%+v, %v", r, err)
	}
	// An agent's staged release is none of the tick's business.
	f.pushed(agent, hub.PublishInput{Name: "fourth", Files: kortecx("fourth", "1", "x")})
	if got := f.ticked(); got.Scanned != 1 {
		t.Errorf("%+v", got)
	}
	for _, p := range []hub.Principal{reviewer, publisher, agent, node} {
		_, err := f.Tick(t.Context(), p)
		refused(t, p.ID, err, hubapi.Forbidden)
	}
}

// A candidate from before anything was active waits for a reviewer, whatever the
// tenant promotes by itself.
func TestCandidatesDoNotReplaceUnseen(t *testing.T) {
	f := scanned(t, &scanner{rules: "1"})
	f.setting("team", hubapi.TenantChange{AutoPromoteClean: yes()})
	f.mined("triage", "good")
	f.pushed(admin, hub.PublishInput{Files: kortecx("triage", "2", "better")})
	f.approved(reviewer, "triage@2")
	if got := f.ticked(); got.Promoted != 1 || got.AutoApproved != 0 {
		t.Errorf("%+v", got)
	}
	if r, err := f.Release(t.Context(), node, parse(t, "triage")); err != nil || r.Version != "2" {
		t.Errorf("%+v, %v", r, err)
	}
}

// Without a scanner nothing is promoted by itself.
func TestNothingUnscannedIsPromoted(t *testing.T) {
	f := newHub(t)
	f.setting("team", hubapi.TenantChange{AutoPromoteClean: yes()})
	f.mined("triage", "good")
	if got := f.ticked(); got.Held != 1 || got.Candidates[0].Gates[4] != (hubapi.Gate{Gate: "scan", Why: "not scanned"}) {
		t.Errorf("%+v", got)
	}
}

// W21: a rejected cluster holds the next candidate of it; nobody can choose the
// fingerprint or the agent.
func TestW21FingerprintsAreTheHubs(t *testing.T) {
	f := scanned(t, &scanner{rules: "1"})
	f.mined("triage", "good")
	if _, err := f.Act(t.Context(), reviewer, parse(t, "triage"), hub.Reject, hubapi.Review{Reason: "no", CooloffDays: 7}); err != nil {
		t.Fatal(err)
	}
	end := f.now
	again := f.pushed(admin, hub.PublishInput{Name: "other", Files: kortecx("other", "1", "fresh"), Origin: &hubapi.Origin{
		AgentID: "eve", Goal: "triage deploys", Domain: "OPS", ClusterSize: 9, DistinctAgents: 9, WindowEnd: &end,
	}})
	if got := f.ticked(); got.Held != 1 {
		t.Errorf("%+v", got)
	}
	d, err := f.InboxDetail(t.Context(), reviewer, parse(t, again.Ref()), false)
	if err != nil || d.Item.Origin.AgentID != "root" || !strings.HasPrefix(d.Item.Fingerprint, "fp:v1:") || d.Item.ForgeEvidence == nil {
		t.Errorf("%+v, %v", d, err)
	}
	f.now = f.now.Add(8 * 24 * time.Hour)
	if got := f.ticked(); got.Promoted != 1 {
		t.Errorf("after the cool-off: %+v", got)
	}
}

func TestProposalsGrowStale(t *testing.T) {
	f := newHub(t)
	f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", "1", "x")})
	f.now = f.now.Add(5000 * 24 * time.Hour)
	if got := f.ticked(); got.Stale != 0 {
		t.Errorf("without the setting: %+v", got)
	}
	f.setting("team", hubapi.TenantChange{StaleDays: num(30)})
	f.pushed(publisher, hub.PublishInput{Files: kortecx("other", "1", "y")})
	if got := f.ticked(); got.Stale != 1 {
		t.Errorf("%+v", got)
	}
	if _, err := f.Act(t.Context(), publisher, parse(t, "triage@1"), hub.Repropose, hubapi.Review{}); err != nil {
		t.Error(err)
	}
}

// A change of the rules is a new scan of what waits, of what is active, and of what was
// replaced and is still given out.
func TestRescan(t *testing.T) {
	s := &scanner{rules: "1"}
	f := scanned(t, s)
	f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", "1", "now evil")})
	f.approved(reviewer, "triage")
	for _, version := range []string{"1", "2"} {
		f.pushed(publisher, hub.PublishInput{Name: "older", Files: kortecx("older", version, "evil "+version)})
		f.approved(reviewer, "older")
	}
	f.pushed(publisher, hub.PublishInput{Files: kortecx("other", "1", "fine")})
	scans := func() [2]int {
		a, b, err := f.Rescan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return [2]int{a, b}
	}
	if diff := cmp.Diff([2]int{0, 0}, scans()); diff != "" {
		t.Error(diff)
	}
	s.rules, s.critical = "2", "evil"
	if diff := cmp.Diff([2]int{4, 3}, scans()); diff != "" {
		t.Error(diff)
	}
	_, err := f.Release(t.Context(), node, parse(t, "triage"))
	refused(t, "quarantined", err, hubapi.NotFound)
	_, err = f.Release(t.Context(), node, parse(t, "older@1"))
	refused(t, "quarantined after it was replaced", err, hubapi.NotFound)
	if diff := cmp.Diff([2]int{0, 0}, scans()); diff != "" {
		t.Error(diff)
	}
	// What is critical does not get in, nor back.
	bad := f.pushed(publisher, hub.PublishInput{Files: kortecx("third", "1", "evil too")})
	if bad.Status != hubapi.Quarantined {
		t.Errorf("%+v", bad)
	}
	_, err = f.push(reviewer, hub.PublishInput{Name: "fifth", Files: kortecx("fifth", "1", "evil"), Approve: true})
	refused(t, "approved with it", err, hubapi.Precondition, "TEST")
	_, err = f.Act(t.Context(), reviewer, parse(t, "third"), hub.Repropose, hubapi.Review{})
	refused(t, "reproposed", err, hubapi.Precondition, "rescan refused")
	_, err = f.Act(t.Context(), reviewer, parse(t, "third"), hub.Repropose, hubapi.Review{Force: true})
	refused(t, "forced by a reviewer", err, hubapi.Forbidden)
	if _, err = f.Act(t.Context(), admin, parse(t, "third"), hub.Repropose, hubapi.Review{Force: true}); err != nil {
		t.Error(err)
	}
	_, err = f.Approve(t.Context(), reviewer, parse(t, "third"))
	refused(t, "approved", err, hubapi.Precondition, "rescan refused")
	if _, err = f.Act(t.Context(), reviewer, parse(t, "third"), hub.Reject, hubapi.Review{Reason: "evil"}); err != nil {
		t.Error(err)
	}
}
