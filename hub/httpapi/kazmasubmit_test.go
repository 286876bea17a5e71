package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hub/storetest"
	"github.com/kortecx/kx/hubapi"
)

func (k *kazmaHub) audit(action string) (rows []hub.AuditRow) {
	k.Helper()
	err := k.store.Read(k.Context(), func(r hub.Reader) error {
		all, err := r.Audit(hub.LocalTenant, 0, 1000)
		for _, row := range all {
			if row.Action == action {
				rows = append(rows, row)
			}
		}
		return err
	})
	if err != nil {
		k.Fatal(err)
	}
	return rows
}

func (k *kazmaHub) submit(status int, body string) map[string]any {
	k.Helper()
	return k.json(status, k.send("POST", "/api/v1/skills/submit", body, "X-Kazma-Secret", "s"))
}

func TestKazmaSubmitBodies(t *testing.T) {
	k := newKazma(t, dev, "s")
	// The body is judged before who calls, as in the reference.
	for body, want := range map[string]string{
		``:   "Field required",
		`{}`: "Field required",
		`[]`: "Input should be a valid dictionary or object to extract fields from",
		`{"manifest":[],"source_url":"","submitter_id":""}`:                "Input should be a valid dictionary",
		`{"manifest":{},"source_url":1,"submitter_id":""}`:                 "Input should be a valid string",
		`{"manifest":{},"manifest":{},"source_url":"","submitter_id":"x"}`: "JSON decode error: ",
		`{"manifest":`: "JSON decode error: ",
		`{"manifest":{},"source_url":"","submitter_id":""}x`: "JSON decode error: ",
	} {
		got := k.json(422, k.send("POST", "/api/v1/skills/submit", body))["detail"].([]any)[0].(map[string]any)
		if msg := got["msg"].(string); !strings.HasPrefix(msg, want) {
			t.Errorf("%s: %v", body, got)
		}
	}
	for manifest, want := range map[string]string{
		`{}`:                                   "name",
		`{"name":"","author":"","version":""}`: "name is empty",
		`{"name":"a b","version":"1.0.0","description":"d","author":"bob","license":"MIT"}`:                      "a-z",
		`{"name":"a","version":1.0,"description":"d","author":"bob","license":"MIT"}`:                            "three numbers",
		`{"name":"a","version":"1.0.0","description":"d","license":"MIT"}`:                                       "author",
		`{"name":"a","version":"1.0.0","description":"d","author":"../bob","license":"MIT"}`:                     "author",
		`{"name":"a","version":"1.0.0","description":"d","author":"bob","license":"MIT","mcp_servers":7}`:        "mcp_servers",
		`{"name":"a","version":"1.0.0","description":"d","author":"bob","license":"MIT","entry_point":"../x:Y"}`: "entry_point",
	} {
		got := k.submit(400, `{"manifest":`+manifest+`,"source_url":"","submitter_id":"x"}`)
		text, _ := got["detail"].(string)
		if !strings.HasPrefix(text, "Invalid manifest: ") || !strings.Contains(text, want) {
			t.Errorf("%s: %v", manifest, got)
		}
	}
	long := submitBody("bob", "beta")
	if got := k.submit(413, long+strings.Repeat(" ", 1<<20)); got["detail"] == "" {
		t.Error(got)
	}
	k.submit(400, strings.Replace(long, `"source_url":""`, `"source_url":"`+strings.Repeat("x", 3000)+`"`, 1))
	k.submit(400, strings.Replace(long, `"cli-user"`, `"a\u0000b"`, 1))
	if rows := k.audit("submit"); len(rows) != 0 {
		t.Errorf("a refused submission was kept: %v", rows)
	}
}

// Weakness 9 of the Kazma hub, and: ids of submissions led nowhere, and unvalidated manifests were listed.
func TestKazmaSubmissionsResolve(t *testing.T) {
	k := newKazma(t, dev, "s")
	got := k.submit(200, submitBody("bob", "beta"))
	id := got["submission_id"].(string)
	want := map[string]any{
		"submission_id": id, "skill_id": "kazma-hub://bob/beta@1.0.0", "status": "pending", "message": "Skill submitted for certification review",
	}
	if diff := cmp.Diff(want, got); diff != "" || !hubapi.IsSubmissionID(id) {
		t.Error(diff, id)
	}
	if again := k.submit(200, submitBody("bob", "beta")); again["submission_id"] != id {
		t.Error("the same submission again is another one")
	}
	if other := k.submit(200, submitBody("bob", "gamma")); other["submission_id"] == id {
		t.Error("two submissions share an id")
	}
	if n := len(names(k.get(200, "/api/v1/skills"))); n != 0 {
		t.Errorf("%d submissions are listed as skills", n)
	}
	status := func() map[string]any { return k.get(200, "/api/v1/skills/"+id+"/certification") }
	if got := status(); got["status"] != "pending" || got["level"] != "none" || got["skill_id"] != "kazma-hub://bob/beta@1.0.0" {
		t.Error(got)
	}
	if _, err := k.hub.Publish(t.Context(), hub.LocalAdmin(), hub.PublishInput{Name: "x", Files: kazmaFiles("bob", "beta", "1.0.0", "")}); err != nil {
		t.Fatal(err)
	}
	if got := status(); got["status"] != "staged" {
		t.Error(got)
	}
	if _, err := k.hub.Approve(t.Context(), hub.LocalAdmin(), ref("bob/beta@1.0.0")); err != nil {
		t.Fatal(err)
	}
	k.certify("bob/beta")
	if got := status(); got["status"] != "active" || got["release"] != "bob/beta@1.0.0" || got["level"] != "basic" {
		t.Error(got)
	}
	own := k.get(200, "/api/v1/submissions/"+id)
	if own["status"] != "active" || own["submitted_by"] != "kazma-secret" || own["submitter_id"] != "cli-user" || own["badge"] == nil {
		t.Error(own)
	}
	if got := k.submit(200, strings.Replace(submitBody("bob", "beta"), "cli-user", "other", 1)); got["status"] != "active" {
		t.Error(got)
	}
	// A name that belongs to another author can never become a release.
	k.submit(409, submitBody("eve", "beta"))
	const nobody = "00000000-0000-4000-8000-000000000000"
	k.detail("No certification for: "+nobody, 404, k.send("GET", "/api/v1/skills/"+nobody+"/certification", ""))
}

// Weakness 8 of the Kazma hub: the badge was that of the bare name, so any author's skill and any
// version of it was certified.
func TestKazmaCertificationIsBound(t *testing.T) {
	k := newKazma(t, dev, "s")
	k.active(kazmaFiles("bob", "alpha", "1.0.0", ""))
	k.detail("No certification for: alpha", 404, k.send("GET", "/api/v1/skills/alpha/certification", ""))
	k.certify("bob/alpha@1.0.0")
	want := map[string]any{
		"skill_id": "bob/alpha@1.0.0", "level": "basic",
		"issued_at": "2026-07-01T02:03:04.000005+00:00", "expires_at": "2027-07-01T02:03:04.000005+00:00",
		"requirements_met": map[string]any{"valid": true, "manifest_valid": true, "security_lint_pass": true, "no_critical_vulnerabilities": true},
	}
	if diff := cmp.Diff(want, k.get(200, "/api/v1/skills/bob/alpha@1.0.0/certification")); diff != "" {
		t.Error(diff)
	}
	for _, id := range []string{"mallory/alpha@1.0.0", "mallory/alpha@6.6.6", "bob/alpha@6.6.6", "kazma-hub://mallory/alpha@6.6.6"} {
		k.detail("No certification for: "+id, 404, k.send("GET", "/api/v1/skills/"+id+"/certification", ""))
	}
	k.active(kazmaFiles("bob", "alpha", "1.1.0", "certified: true\ncertification_level: premium\n"))
	if got := k.get(200, "/api/v1/skills/bob/alpha"); got["version"] != "1.1.0" || got["certified"] != false {
		t.Errorf("what a manifest says of itself counts: %v", got)
	}
	k.detail("No certification for: bob/alpha", 404, k.send("GET", "/api/v1/skills/bob/alpha/certification", ""))
	k.certify("bob/alpha")
	if got := names(k.get(200, "/api/v1/skills?certified=true")); len(got) != 1 {
		t.Error(got)
	}
	if _, err := k.hub.RevokeBadge(t.Context(), hub.LocalAdmin(), ref("bob/alpha"), "a hole was found"); err != nil {
		t.Fatal(err)
	}
	got := k.get(200, "/api/v1/skills/bob/alpha/certification")
	if got["level"] != "basic" || got["requirements_met"].(map[string]any)["valid"] != false {
		t.Errorf("revoked: %v", got)
	}
	if got := names(k.get(200, "/api/v1/skills?certified=true")); len(got) != 0 {
		t.Error("revoked and listed as certified", got)
	}
	if got := names(k.get(200, "/api/v1/skills?certified=false")); len(got) != 1 {
		t.Error(got)
	}
}

func FuzzKazmaPaths(f *testing.F) {
	store, err := sqlstore.Open(f.Context(), storetest.TempDir(f), sqlstore.Options{Now: time.Now})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = store.Close() })
	handler := httpapi.Handler(hub.New(store, hub.Config{Now: time.Now}), httpapi.DevServer("s"), httpapi.Options{})
	for _, seed := range []string{"kazma-hub://bob/alpha@1.0.0", escapedAlpha + "/download", "..%2f..%2fx", "%00/certification", "search?q=%", "//", ";", "00000000-0000-4000-8000-000000000000/certification"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, rest string) {
		u, err := url.Parse("http://127.0.0.1/api/v1/skills/" + rest)
		if err != nil || u.Host != "127.0.0.1" {
			return
		}
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", nil)
		r.URL = u
		r.Header.Set("X-Kazma-Secret", "s")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code >= 500 || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%q: %d %q", rest, w.Code, w.Body)
		}
	})
}
