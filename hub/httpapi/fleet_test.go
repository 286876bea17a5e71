package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
)

// The heartbeat of the MemClaw plugin is taken as it is, and a node is shown with the
// keys of the MemClaw API and no others.
func TestFleetShapes(t *testing.T) {
	t.Parallel()
	k := startKeyed(t)
	body := `{"tenant_id":"team","node_name":"n","fleet_id":null,"hostname":"h","ip":"10.0.0.1","os_info":{"platform":"linux"},
		"plugin_version":"2.3.0","install_id":"i","agents":[{"agentId":"main"}],"tools":["t"],"metadata":{"setup_status":"ok"},
		"recall_metrics":{"n":1},"reconcile":null,"a_new_key":{"with":[{"a":"value"}]}}`
	send := func(role, body string) answer {
		return k.request(http.MethodPost, "/api/v1/fleet/heartbeat", strings.NewReader(body), "X-API-Key", k.tokens[role])
	}
	got := send("node", body)
	var beat map[string]any
	decode(t, got.body, &beat)
	id, _ := beat["node_id"].(string)
	if diff := cmp.Diff(map[string]any{"ok": true, "node_id": id, "commands": []any{}}, beat); diff != "" || id == "" {
		t.Errorf("%s %s", got.Status, diff)
	}
	var list []map[string]any
	got = k.get("/api/v1/fleet/nodes?tenant_id=team&fleet_id=", k.bearer("reviewer")...)
	decode(t, got.body, &list)
	if len(list) != 1 {
		t.Fatalf("%s", got.body)
	}
	keys := strings.Fields(`node_id node_name fleet_id hostname ip openclaw_version plugin_version plugin_hash os_info status agents tools
		channels metadata last_heartbeat created_at`)
	slices.Sort(keys)
	if diff := cmp.Diff(keys, slices.Sorted(maps.Keys(list[0]))); diff != "" {
		t.Error(diff)
	}
	for key, want := range map[string]any{
		"node_id": id, "node_name": "n", "fleet_id": nil, "openclaw_version": nil, "os_info": map[string]any{"platform": "linux"},
		"status": "online", "agents": []any{map[string]any{"agentId": "main"}}, "tools": []any{"t"}, "channels": []any{},
	} {
		if diff := cmp.Diff(want, list[0][key]); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
	metadata := list[0]["metadata"].(map[string]any)
	delete(metadata, "kx")
	if diff := cmp.Diff(map[string]any{"setup_status": "ok", "recall_metrics": map[string]any{"n": 1.0}, "reconcile": nil}, metadata); diff != "" {
		t.Error(diff)
	}

	large := `{"node_name":"n","reconcile":{"catalogCount":1,"installed":["` + strings.Repeat("x", 9000) + `"]}}`
	if got := send("node", large); got.StatusCode != 200 {
		t.Errorf("a large summary: %s %s", got.Status, got.body)
	}
	for what, test := range map[string]struct {
		role, body string
		want       int
	}{
		"another tenant":     {"node", `{"tenant_id":"other","node_name":"n"}`, 403},
		"no name":            {"node", `{"tenant_id":"team"}`, 422},
		"a number for it":    {"node", `{"node_name":7}`, 422},
		"no JSON":            {"node", `{`, 422},
		"a key twice":        {"node", `{"node_name":"n","node_name":"m"}`, 422},
		"nested deeply":      {"node", `{"node_name":"n","x":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, 422},
		"too large":          {"node", `{"node_name":"n","x":"` + strings.Repeat("x", 400<<10) + `"}`, 413},
		"nobody":             {"", `{"node_name":"n"}`, 401},
		"a publisher may do": {"publisher", `{"node_name":"n"}`, 200},
	} {
		if got := send(test.role, test.body); got.StatusCode != test.want {
			t.Errorf("%s: %s %s", what, got.Status, got.body)
		} else if test.want >= 400 {
			got.refusal(t)
			if !strings.Contains(string(got.body), `"detail"`) {
				t.Errorf("%s: no detail in %s", what, got.body)
			}
		}
	}
	for path, want := range map[string]int{
		"/api/v1/fleet": 200, "/api/v1/fleet?tenant_id=other": 404, "/api/v1/fleet/nodes?tenant_id=other": 404,
		"/api/v1/fleet/nodes?limit=x": 422, "/api/v1/fleet/nodes?status=lost": 422, "/api/v1/fleet/nodes?where=1": 422,
		"/api/v1/fleet/nodes/" + id: 200, "/api/v1/fleet/nodes/n0": 404,
	} {
		if got := k.get(path, k.bearer("reviewer")...); got.StatusCode != want {
			t.Errorf("%s: %s %s", path, got.Status, got.body)
		}
		if got := k.get(path, k.bearer("node")...); want == 200 && got.StatusCode != 403 {
			t.Errorf("%s for a node: %s", path, got.Status)
		}
	}
}

// What the client says is what the hub has, by name and by id.
func TestFleetClient(t *testing.T) {
	k := startKeyed(t)
	r := k.push("triage", "1", "text").Release
	if _, err := k.as("reviewer").Approve(t.Context(), hubapi.Ref{Author: r.Author, Name: r.Name, Version: r.Version}); err != nil {
		t.Fatal(err)
	}
	summary := hubapi.ReconcileSummary{Installed: []string{"triage"}, Kx: &hubapi.ReconcileDetails{
		Status: hubapi.ReconcileConverged, Installed: []hubapi.ReconciledSkill{{Slug: "triage", Version: "1", Digest: r.Digest}},
	}}
	summary.Normalize()
	raw, err := json.Marshal(summary)
	if err != nil {
		t.Fatal(err)
	}
	beat, err := k.as("node").Heartbeat(t.Context(), hubapi.Heartbeat{NodeName: "läptop / 1", FleetID: "eu", Reconcile: raw})
	if err != nil {
		t.Fatal(err)
	}
	reviewer := k.as("reviewer")
	list, err := reviewer.FleetNodes(t.Context(), hubapi.FleetQuery{Fleet: "eu"})
	if err != nil || len(list) != 1 || list[0].Metadata.Kx.Drift != hubapi.DriftNone {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, name := range []string{"läptop / 1", beat.NodeID} {
		node, err := reviewer.FleetNode(t.Context(), name)
		if err != nil || node.NodeID != beat.NodeID || node.Metadata.Kx.Skills.Installed[0].Digest != r.Digest {
			t.Errorf("%s: %+v, %v", name, node, err)
		}
		if diff := cmp.Diff(string(raw), string(node.Metadata.Reconcile)); diff != "" {
			t.Error(diff)
		}
	}
	fleets, err := reviewer.Fleets(t.Context())
	if err != nil || fleets.Nodes != 1 || *fleets.Fleets[0].FleetID != "eu" || fleets.Fleets[0].Online != 1 {
		t.Errorf("%+v, %v", fleets, err)
	}
	for _, absent := range []string{"../../search", "nothing", "n" + strings.Repeat("0", 32)} {
		if _, err := reviewer.FleetNode(t.Context(), absent); hubapi.AsError(err).Code != hubapi.NotFound {
			t.Errorf("%s: %v", absent, err)
		}
	}
	removed, err := k.as("admin").RemoveNode(t.Context(), "läptop / 1")
	if err != nil || !removed.Removed || removed.NodeName != "läptop / 1" {
		t.Errorf("%+v, %v", removed, err)
	}
}

// BenchmarkHeartbeat is 16 nodes that report all the time, with a summary of 100 skills
// that does not change; and the pushes that get through meanwhile.
func BenchmarkHeartbeat(b *testing.B) {
	s := startIn(b, httpapi.DevLocal(), b.TempDir())
	summary := hubapi.ReconcileSummary{CatalogCount: 100}
	for i := range 100 {
		summary.Installed = append(summary.Installed, fmt.Sprintf("pack-%d", i))
	}
	summary.Targets = []hubapi.ReconcileTarget{{Dir: "/skills", Mode: "owned", Installed: summary.Installed}}
	summary.Normalize()
	raw, err := json.Marshal(summary)
	if err != nil {
		b.Fatal(err)
	}
	var next, pushes atomic.Int64
	ctx, stop := context.WithCancel(context.Background())
	var wg, beside sync.WaitGroup
	begun := time.Now()
	for pusher := range 4 {
		beside.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				name := fmt.Sprintf("pushed-%d-%d", pusher, n)
				if _, err := s.client.Push(context.Background(), hubclient.PushInput{Name: name, Files: kortecx(name, "1", "text")}); err != nil {
					b.Error(err)
					return
				}
				pushes.Add(1)
			}
		})
	}
	for range 16 {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if _, err := s.client.Heartbeat(context.Background(), hubapi.Heartbeat{NodeName: fmt.Sprintf("node-%d", n%500), Reconcile: raw}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	stop()
	beside.Wait()
	took := time.Since(begun).Seconds()
	b.ReportMetric(float64(b.N)/took, "heartbeat/s")
	b.ReportMetric(float64(pushes.Load())/took, "push/s")
}
