package httpapi_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
)

func (k *withKeys) push(name, version, text string) hubapi.PushResult {
	k.t.Helper()
	out, err := k.as("publisher").Push(k.t.Context(), hubclient.PushInput{Name: name, Files: kortecx(name, version, text)})
	if err != nil {
		k.t.Fatal(err)
	}
	return out
}

func (k *withKeys) post(path, body string) answer {
	k.t.Helper()
	return k.request(http.MethodPost, "/api/v1/skills-inbox/"+path, strings.NewReader(body), k.bearer("reviewer")...)
}

// The card has every key of the Inbox API, and an action answers with its four.
func TestInboxShapes(t *testing.T) {
	k := startKeyed(t)
	k.push("triage", "1", "text")
	got := k.get("/api/v1/skills-inbox?tenant_id=team&fleet_id=f1", k.bearer("reviewer")...)
	var box map[string]any
	decode(t, got.body, &box)
	if diff := cmp.Diff([]string{"count", "fleet_id", "items", "tenant_id", "truncated"}, slices.Sorted(maps.Keys(box))); diff != "" {
		t.Error(diff)
	}
	card := box["items"].([]any)[0].(map[string]any)
	for _, key := range strings.Fields(`slug doc_id name description summary content domain tags source status fingerprint scan_state
		scan_critical scan_warn sentinel_scan forge_evidence origin evidence cites created_at updated_at content_hash kind target deferred_at`) {
		if _, ok := card[key]; !ok {
			t.Errorf("the card has no %s", key)
		}
	}
	for key, want := range map[string]any{
		"content": nil, "deferred_at": nil, "target": nil, "forge_evidence": nil, "evidence": map[string]any{}, "cites": []any{},
		"kind": "create", "status": "staged",
		"sentinel_scan": map[string]any{"status": "not_scanned", "critical_count": 0.0, "warning_count": 0.0, "findings": []any{}},
	} {
		if diff := cmp.Diff(want, card[key]); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
	var move map[string]any
	decode(t, k.post("triage/approve", "").body, &move)
	delete(move, "release")
	if diff := cmp.Diff(map[string]any{"slug": "triage", "previous_status": "staged", "new_status": "active", "detail": nil}, move); diff != "" {
		t.Error(diff)
	}
}

// The statuses of the actions, in each case with both forms of the refusal.
func TestInboxStatuses(t *testing.T) {
	k := startKeyed(t)
	for version, action := range map[string]string{"1": "", "2": "approve", "3": "reject", "4": "quarantine"} {
		k.push("triage", version, "text "+version)
		if action == "" {
			continue
		}
		body := `{"reason":"because"}`
		if action == "approve" {
			body = ""
		}
		if got := k.post("triage/"+action+"?version="+version, body); got.StatusCode != 200 {
			t.Fatalf("%s: %s %s", action, got.Status, got.body)
		}
	}
	// 1 staged, 2 active, 3 rejected, 4 quarantined.
	long := strings.Repeat("x", 2001)
	for _, tt := range []struct {
		path, body string
		want       int
	}{
		{"absent/approve", "", 404},
		{"triage/archive", "", 404},
		{"triage/withdraw", "", 404},
		{"triage/approve?version=9", "", 404},
		{"triage/approve?author=evil", "", 404},
		{"triage/approve?version=2", "", 409},
		{"triage/approve?version=3", "", 409},
		{"triage/approve?version=4", "", 409},
		{"triage/reject?version=3", `{"reason":"x"}`, 409},
		{"triage/quarantine?version=3", `{"reason":"x"}`, 409},
		{"triage/quarantine?version=4", `{"reason":"x"}`, 409},
		{"triage/defer?version=2", "", 409},
		{"triage/edit?version=2", `{"summary":"x"}`, 409},
		{"triage/reject", "", 422},
		{"triage/reject", `{"reason":" "}`, 422},
		{"triage/reject", `{"reason":"` + long + `"}`, 422},
		{"triage/reject", `{"reason":"x","cooloff_days":366}`, 422},
		{"triage/reject", `{"reason":"x","cooloff_days":-1}`, 422},
		{"triage/reject", `{"reason":"x","cooloff_days":"7"}`, 422},
		{"triage/reject", `{"reason":"x","reason":"y"}`, 422},
		{"triage/quarantine", `{}`, 422},
		{"triage/edit", "{}", 422},
		{"triage/edit", `{"status":"active"}`, 422},
		{"triage/edit", `{"cluster_fingerprint":"fp:v1:x","summary":"x"}`, 422},
		{"triage/defer", `{"cooloff_days":1}`, 422},
		{"triage/approve", `{"force":true}`, 403},
		{"triage/approve?version=1&version=2", "", 422},
		{"triage/approve?x=1", "", 422},
		{"triage/approve?tenant_id=other", "", 404},
	} {
		got := k.post(tt.path, tt.body)
		var body hubapi.ErrorBody
		decode(t, got.body, &body)
		if got.StatusCode != tt.want || body.Error == nil || !strings.Contains(body.Detail, body.Error.Message) {
			t.Errorf("%s %.60s: %s %s, want %d", tt.path, tt.body, got.Status, got.body, tt.want)
		}
	}
	if box, err := k.as("reviewer").Inbox(t.Context(), 0, false); err != nil || box.Count != 1 || box.Items[0].Version != "1" {
		t.Errorf("the refusals moved something: %+v, %v", box, err)
	}
	for limit, want := range map[string]int{"1": 200, "200": 200, "201": 200, "0": 422, "-1": 422, "x": 422, "": 422} {
		if got := k.get("/api/v1/skills-inbox?limit="+limit, k.bearer("reviewer")...); got.StatusCode != want {
			t.Errorf("limit %q: %s", limit, got.Status)
		}
	}
}

// First whether there is an inbox, then who asks, then what for.
func TestInboxGateOrder(t *testing.T) {
	k := startKeyed(t)
	check := func(what string, got answer, status int, detail string) {
		t.Helper()
		var body hubapi.ErrorBody
		decode(t, got.body, &body)
		if got.StatusCode != status || !strings.HasPrefix(body.Detail, detail) || body.Error == nil {
			t.Errorf("%s: %s %s", what, got.Status, got.body)
		}
	}
	ask := func(role string) answer {
		return k.request("POST", "/api/v1/skills-inbox/absent/reject", strings.NewReader("not json"), k.bearer(role)...)
	}
	check("nobody", k.request("POST", "/api/v1/skills-inbox/absent/reject", nil), 401, "")
	check("a node", ask("node"), 403, "SKILLS_INBOX_FORBIDDEN")
	check("a node lists", k.get("/api/v1/skills-inbox", k.bearer("node")...), 403, "SKILLS_INBOX_FORBIDDEN")
	check("a reviewer", ask("reviewer"), 422, "")
	no := false
	if _, err := k.as("admin").SetTenant(t.Context(), "", hubapi.TenantChange{OptedIn: &no}); err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"node", "reviewer", "admin"} {
		check(role+", opted out", ask(role), 403, "SKILLS_FACTORY_DISABLED")
		check(role+" lists, opted out", k.get("/api/v1/skills-inbox", k.bearer(role)...), 403, "SKILLS_FACTORY_DISABLED")
	}
}

// The client's calls and the routes fit together, through a whole life.
func TestReviewThroughTheClient(t *testing.T) {
	k := startKeyed(t)
	k.push("triage", "1", "one")
	ctx, r := t.Context(), k.as("reviewer")
	ref := hubapi.Ref{Author: "acme", Name: "triage"}
	act := func(action string, in hubapi.Review) hubapi.InboxMove {
		t.Helper()
		move, err := r.Act(ctx, ref, action, in)
		if err != nil {
			t.Fatalf("%s: %v", action, err)
		}
		return move
	}
	act("defer", hubapi.Review{Reason: "later"})
	text := "# triage\n\nedited\n"
	if move := act("edit", hubapi.Review{Content: &text}); move.Release.Version != "2" {
		t.Errorf("%+v", move)
	}
	act("reject", hubapi.Review{Reason: "no", CooloffDays: 3})
	act("repropose", hubapi.Review{})
	if detail, err := r.InboxDetail(ctx, ref, true); err != nil || detail.Release.Version != "2" || detail.Item.Content == nil || len(detail.Gates) != 6 {
		t.Errorf("%+v, %v", detail, err)
	}
	if diff, err := r.InboxDiff(ctx, ref, "1"); err != nil || diff.From == nil || len(diff.Files) != 2 {
		t.Errorf("%+v, %v", diff, err)
	}
	if _, err := k.as("admin").Act(ctx, ref, "approve", hubapi.Review{}); err != nil {
		t.Fatal(err)
	}
	if move, err := k.as("publisher").Withdraw(ctx, ref, "twice"); err != nil || move.NewStatus != hubapi.Deprecated || move.Release.Version != "2" {
		t.Errorf("%+v, %v", move, err)
	}
	if _, err := r.Deprecate(ctx, ref, ""); hubapi.AsError(err).Code != hubapi.NotFound {
		t.Errorf("nothing is active: %v", err)
	}
	if box, err := r.InboxOf(ctx, hubapi.Stale, 0, false); err != nil || box.Count != 1 {
		t.Errorf("%+v, %v", box, err)
	}
	events, err := r.Events(ctx, 0, 0)
	var actions []string
	for _, e := range events.Events {
		if e.Name != "" {
			actions = append(actions, e.Action+" "+e.Version)
		}
	}
	want := []string{"publish 1", "defer 1", "publish 2", "superseded 1", "edit 2", "reject 2", "repropose 2", "approve 2", "withdraw 2"}
	if diff := cmp.Diff(want, actions); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if tick, err := k.as("admin").Promote(ctx); err != nil || tick.Scanned != 0 {
		t.Errorf("%+v, %v", tick, err)
	}
	keys, err := k.as("admin").Keys(ctx, "")
	if err != nil || len(keys.Keys) != 5 {
		t.Errorf("%+v, %v", keys, err)
	}
	if tenants, err := k.as("local").Tenants(ctx); err != nil || len(tenants.Tenants) != 2 {
		t.Errorf("%+v, %v", tenants, err)
	}
	if tenant, err := k.as("admin").Tenant(ctx, ""); err != nil || tenant.ID != "team" || !tenant.Settings.OptedIn {
		t.Errorf("%+v, %v", tenant, err)
	}
}
