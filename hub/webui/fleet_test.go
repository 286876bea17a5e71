package webui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

// beat lets a machine report.
func (b *browserless) beat(name, fleet string, summary *hubapi.ReconcileSummary) string {
	b.t.Helper()
	in := hubapi.Heartbeat{NodeName: name, FleetID: fleet, Hostname: name + ".example", IP: "10.0.0.7", PluginVersion: "2.3.0"}
	if summary != nil {
		summary.Normalize()
		raw, err := json.Marshal(summary)
		if err != nil {
			b.t.Fatal(err)
		}
		in.Reconcile = raw
	}
	answer, err := b.hub.Heartbeat(b.t.Context(), hub.Principal{ID: "k0123456789abcdef", Tenant: hub.LocalTenant, Role: hub.Node}, in)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer.NodeID
}

// machines is a fleet in which everything occurs that a page can show.
func (b *browserless) machines() (drifted string) {
	b.t.Helper()
	b.publish("triage", "1", "# Triage\n", true)
	b.publish("digest", "1", "# Digest\n", true)
	b.publish("translate", "1", "# Translate\n", true)
	r, err := b.hub.Release(b.t.Context(), hub.LocalAdmin(), hubapi.Ref{Name: "triage"})
	if err != nil {
		b.t.Fatal(err)
	}
	has := func(skills ...hubapi.ReconciledSkill) *hubapi.ReconcileSummary {
		s := &hubapi.ReconcileSummary{
			CatalogCount: 3, Targets: []hubapi.ReconcileTarget{{Dir: "/home/ann/.openclaw/plugins/memclaw/skills", Mode: "owned"}},
			Kx: &hubapi.ReconcileDetails{Status: hubapi.ReconcileConverged, Installed: skills},
		}
		for _, skill := range skills {
			s.Installed = append(s.Installed, skill.Slug)
			s.Targets[0].Installed = append(s.Targets[0].Installed, skill.Slug)
		}
		return s
	}
	triage := hubapi.ReconciledSkill{Slug: "triage", Version: "1", Digest: r.Digest}
	b.beat("a-machine-with-quite-a-long-name-that-somebody-chose.example.com", "eu-west", has(triage, hubapi.ReconciledSkill{Slug: "digest"}, hubapi.ReconciledSkill{Slug: "translate"}))
	old := hubapi.ReconciledSkill{Slug: "triage", Version: "0.9", Digest: "sp1:" + strings.Repeat("ab", 32)}
	drift := has(old, hubapi.ReconciledSkill{Slug: "retired", Version: "4", Digest: "sp1:" + strings.Repeat("cd", 32)})
	drift.Collisions, drift.Protected = []string{"digest"}, []string{"memclaw"}
	drift.Kx.Skipped = []hubapi.ReconcileNote{{Slug: "translate", Reason: "its signature does not verify"}}
	drift.Kx.Kept = []hubapi.ReconcileNote{{Slug: "triage", Reason: "SKILL.md was edited here", Dir: "/home/ann/skills"}}
	drift.Kx.Failed = []hubapi.ReconcileNote{{Reason: "no space left on the device", Dir: "/mnt/skills"}}
	drifted = b.beat("build-7", "us-east", drift)
	b.beat("broken-2", "eu-west", &hubapi.ReconcileSummary{Kx: &hubapi.ReconcileDetails{Status: hubapi.ReconcileFailed, Error: "cannot reach the hub at https://hub.example: connection refused"}})
	b.beat("new-laptop", "", nil)
	return drifted
}

func (b *browserless) logIn(key string) {
	b.t.Helper()
	if status, body := b.post("/login", url.Values{"key": {key}, "next": {"/"}}); status != http.StatusOK {
		b.t.Fatalf("login: %d %s", status, body)
	}
}

func TestFleetPages(t *testing.T) {
	b := newSite(t, false)
	drifted := b.machines()
	evil := b.beat("<script>alert(1)</script>\u202e", "<b>x</b>", nil)
	b.logIn("reviewer-key")
	status, body := b.get("/fleet")
	if status != http.StatusOK || strings.Contains(body, "<script>") || strings.Contains(body, "\u202e") || strings.Contains(body, "<b>x</b>") {
		t.Errorf("%d\n%s", status, body)
	}
	for _, want := range []string{
		"5 machines: 5 online, 0 stale, 0 offline", `<a href="/fleet">Fleet</a>`, "<caption", `scope="col"`, `href="/fleet/` + drifted + `"`,
		"in sync", "2 missing, 1 outdated, 1 not active, 1 in the way, 1 failed", ">failing<", "3 of 3", "1 of 3", "now",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the fleet does not say %q", want)
		}
	}
	for query, want := range map[string]int{
		"": 5, "?fleet=eu-west": 2, "?fleet=us-east&status=online": 1, "?status=offline": 0, "?status=stale&fleet=": 0, "?fleet=none": 0,
	} {
		status, body := b.get("/fleet" + query)
		if got := strings.Count(body, `href="/fleet/n`); status != http.StatusOK || got != want {
			t.Errorf("%s: %d, %d machines, want %d", query, status, got, want)
		}
	}
	if status, _ := b.get("/fleet?status=lost"); status != http.StatusBadRequest {
		t.Errorf("an unknown status: %d", status)
	}
	status, body = b.get("/fleet/" + drifted)
	for _, want := range []string{
		"<h1>build-7</h1>", "a folder that is not ours is in its place", "its signature does not verify", "no space left on the device",
		"SKILL.md was edited here", "retired", "0.9", `href="/skills/acme/digest"`, "Protected (1)", "/home/ann/.openclaw/plugins/memclaw/skills", "build-7.example", "us-east",
	} {
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("the machine (%d) does not say %q", status, want)
		}
	}
	if strings.Contains(body, "/remove\"") {
		t.Error("a reviewer is offered what only an admin may do")
	}
	if status, body := b.get("/fleet/" + evil); status != http.StatusOK || strings.Contains(body, "<script>") || strings.Contains(body, "\u202e") {
		t.Errorf("%d\n%s", status, body)
	}
	if status, _ := b.get("/fleet/n0"); status != http.StatusNotFound {
		t.Errorf("an unknown machine: %d", status)
	}

	csrf := regexp.MustCompile(`name="csrf" value="([0-9a-f]+)"`)
	remove := func(key, token string) int {
		t.Helper()
		b.logIn(key)
		_, body := b.get("/fleet")
		if found := csrf.FindStringSubmatch(body); token == "" && found != nil {
			token = found[1]
		}
		status, _ := b.post("/fleet/"+drifted+"/remove", url.Values{"csrf": {token}})
		return status
	}
	if status := remove("reviewer-key", ""); status != http.StatusForbidden {
		t.Errorf("a reviewer removes: %d", status)
	}
	if status := remove("admin-key", "forged"); status != http.StatusForbidden {
		t.Errorf("a forged form removes: %d", status)
	}
	if status := remove("admin-key", ""); status != http.StatusOK {
		t.Errorf("an admin removes: %d", status)
	}
	if status, _ := b.get("/fleet/" + drifted); status != http.StatusNotFound {
		t.Errorf("a removed machine: %d", status)
	}

	b.logIn("agent-key")
	if status, body := b.get("/fleet"); status != http.StatusForbidden || strings.Contains(body, `href="/fleet"`) {
		t.Errorf("an agent: %d\n%s", status, body)
	}
	if status, _ := b.get("/fleet/" + evil); status != http.StatusForbidden {
		t.Errorf("an agent at a machine: %d", status)
	}
}

func TestFleetInABrowser(t *testing.T) {
	ctx := browser(t)
	b := newSite(t, false)
	logInByKeyboard(t, ctx, b.server.URL)
	looks(t, ctx, "fleet-empty", b.server.URL+"/fleet")
	drifted := b.machines()
	for i := range 12 {
		b.beat(fmt.Sprintf("worker-%02d", i), "eu-west", nil)
	}
	for name, path := range map[string]string{
		"fleet": "/fleet", "fleet-filtered": "/fleet?fleet=us-east&status=online", "fleet-none": "/fleet?status=offline", "node": "/fleet/" + drifted,
	} {
		looks(t, ctx, name, b.server.URL+path)
	}

	// By keyboard: to the fleet, to one fleet of it, to a machine.
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 800), chromedp.Navigate(b.server.URL+"/"), chromedp.WaitReady("main")); err != nil {
		t.Fatal(err)
	}
	tabTo, press := keyboard(t, ctx)
	tabTo("Fleet")
	press(".nodes")
	tabTo("anyeu-westus-east") // a select is named by its options here
	if err := chromedp.Do(ctx, chromedp.KeyEvent("us"), chromedp.Sleep(50*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	tabTo("Show")
	if err := chromedp.Do(ctx, chromedp.KeyEvent("\r"), chromedp.WaitReady(`option[value="us-east"][selected]`)); err != nil {
		t.Fatal(err)
	}
	tabTo("build-7")
	press("#missing")
	if heading, err := chromedp.Run(ctx, chromedp.Text("h1")); err != nil || heading != "build-7" {
		t.Errorf("at %q, %v", heading, err)
	}
}
