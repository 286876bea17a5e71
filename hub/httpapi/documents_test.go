package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/kortecx/kx/hubapi"
)

// calls makes a request with the key of a role of the tenant team.
func (k *withKeys) calls(role, method, path, body string, header ...string) answer {
	k.t.Helper()
	return k.request(method, path, strings.NewReader(body), append([]string{"X-Api-Key", k.tokens[role]}, header...)...)
}

// legacy checks a refusal in the older form: the status, detail and error beside it.
func legacy(t testing.TB, what string, a answer, status int, code hubapi.Code, detail string) {
	t.Helper()
	var body hubapi.ErrorBody
	if err := json.Unmarshal(a.body, &body); err != nil || body.Error == nil {
		t.Fatalf("%s: %s %q", what, a.Status, a.body)
	}
	if a.StatusCode != status || body.Error.Code != code || !strings.Contains(body.Detail, detail) || body.Detail == "" {
		t.Errorf("%s: %s %q, want %d %s %q", what, a.Status, a.body, status, code, detail)
	}
}

func written(slug string) string {
	return fmt.Sprintf(`{"tenant_id":"team","agent_id":"claude","collection":"skills","doc_id":%q,"data":{"name":%q,"slug":%q,"description":"Does %s well","domain":"general","kind":"create","source":"agent","content":"# Do it\n"}}`, slug, slug, slug, slug)
}

// live writes skills and has them approved.
func (k *withKeys) live(slugs ...string) {
	k.t.Helper()
	for _, slug := range slugs {
		if a := k.calls("agent", "POST", "/api/v1/documents", written(slug)); a.StatusCode != http.StatusOK {
			k.t.Fatalf("%s %s", a.Status, a.body)
		}
		if a := k.calls("reviewer", "POST", "/api/v1/skills-inbox/"+slug+"/approve", ""); a.StatusCode != http.StatusOK {
			k.t.Fatalf("%s %s", a.Status, a.body)
		}
	}
}

// polls is the reference plugin's request as it was captured.
func (k *withKeys) polls(role, body string, more ...string) answer {
	k.t.Helper()
	header := append([]string{"Content-Type", "application/json", "Accept", "*/*", "User-Agent", "node"}, more...)
	return k.calls(role, "POST", "/api/v1/skills/installable", body, header...)
}

const poll = `{"tenant_id":"team","fleet_id":"f1","limit":1000}`

// TestReferencePluginPolls sends what the unmodified plugin sends, and reads the
// answer as it does.
func TestReferencePluginPolls(t *testing.T) {
	k := startKeyed(t)
	type row struct {
		DocID string `json:"doc_id"`
		Data  struct{ Name, Description, Content, ContentHash string }
	}
	var rows []row
	ask := func(role, body string, more ...string) answer {
		t.Helper()
		a := k.polls(role, body, more...)
		if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != "application/json" {
			t.Fatalf("%s %s", a.Status, a.body)
		}
		rows = nil
		if err := json.Unmarshal(a.body, &rows); err != nil || rows == nil {
			t.Fatalf("not a bare array: %v %q", err, a.body)
		}
		return a
	}
	if a := ask("node", poll); string(a.body) != "[]\n" || a.Header.Get("X-KX-Total") != "0" {
		t.Errorf("an empty catalogue: %q", a.body)
	}
	k.live("b-skill", "a-skill")
	k.calls("agent", "POST", "/api/v1/documents", written("c-skill")) // waits
	first := ask("node", poll)
	if len(rows) != 2 || rows[0].DocID != "a-skill" || rows[1].DocID != "b-skill" || !strings.HasPrefix(rows[0].Data.Content, "---\n") || rows[0].Data.Description != "Does a-skill well" {
		t.Errorf("%+v", rows)
	}
	if first.Header.Get("X-KX-Total") != "2" || first.Header.Get("ETag") == "" {
		t.Errorf("%v", first.Header)
	}
	if strings.Contains(string(first.body), "null,{") || strings.Contains(string(first.body), "[null") {
		t.Errorf("null rows: %s", first.body)
	}
	// Whatever else a client says does not change what it gets.
	for _, body := range []string{`{"tenant_id":"team"}`, `{"tenant_id":"team","where":{"status":"staged"},"status":"staged","x":[1]}`} {
		if a := ask("agent", body, "Accept", "text/html"); string(a.body) != string(first.body) {
			t.Errorf("%s gives %s", body, a.body)
		}
	}
	etag := first.Header.Get("ETag")
	if a := k.polls("node", poll, "If-None-Match", etag); a.StatusCode != http.StatusNotModified || len(a.body) != 0 || a.Header.Get("ETag") != etag || a.Header.Get("X-KX-Generation") != first.Header.Get("X-KX-Generation") {
		t.Errorf("%s %v %q", a.Status, a.Header, a.body)
	}
	k.live("d-skill")
	second := ask("node", poll, "If-None-Match", etag)
	before, _ := strconv.Atoi(first.Header.Get("X-KX-Generation"))
	after, err := strconv.Atoi(second.Header.Get("X-KX-Generation"))
	if err != nil || after <= before || len(rows) != 3 || second.Header.Get("ETag") == etag {
		t.Errorf("generation %d behind %d: %+v", after, before, rows)
	}
}

// TestInstallableRefusals: what is no catalogue is no success.
func TestInstallableRefusals(t *testing.T) {
	k := startKeyed(t)
	k.live("a-skill", "b-skill")
	legacy(t, "no key", k.request("POST", "/api/v1/skills/installable", strings.NewReader(poll)), 401, hubapi.Unauthorized, "key")
	legacy(t, "another tenant", k.polls("node", `{"tenant_id":"t2"}`), 403, hubapi.Forbidden, "t2")
	if own := k.polls("node", `{}`); own.StatusCode != http.StatusOK || string(own.body) != string(k.polls("node", poll).body) {
		t.Errorf("without a tenant, the key's own: %s %s", own.Status, own.body)
	}
	legacy(t, "limit 0", k.polls("node", `{"tenant_id":"team","limit":0}`), 422, hubapi.Invalid, "limit")
	legacy(t, "limit 1001", k.polls("node", `{"tenant_id":"team","limit":1001}`), 422, hubapi.Invalid, "limit")
	legacy(t, "limit of text", k.polls("node", `{"tenant_id":"team","limit":"9"}`), 422, hubapi.Invalid, "expected a number")
	legacy(t, "a limit that would cut", k.polls("node", `{"tenant_id":"team","limit":1}`), 413, hubapi.TooLarge, "limit")
	legacy(t, "no JSON", k.polls("node", `{`), 422, hubapi.Invalid, "body")
	legacy(t, "no body", k.polls("node", ``), 422, hubapi.Invalid, "body")
	if a := k.calls("node", "GET", "/api/v1/skills/installable", ""); a.StatusCode != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "POST" {
		t.Errorf("GET: %s", a.Status)
	}
}

// TestVerifyKey: the plugin asks for the tenant of its key, with nothing else.
func TestVerifyKey(t *testing.T) {
	k := startKeyed(t)
	ask := func(body string) answer {
		return k.request("POST", "/api/v1/auth/verify", strings.NewReader(body), "Content-Type", "application/json")
	}
	a := ask(fmt.Sprintf(`{"key":%q,"more":1}`, k.tokens["node"]))
	if a.StatusCode != http.StatusOK || strings.TrimSpace(string(a.body)) != `{"tenant_id":"team"}` {
		t.Errorf("%s %s", a.Status, a.body)
	}
	legacy(t, "unknown", ask(`{"key":"kx_nothing"}`), 401, hubapi.Unauthorized, "key")
	legacy(t, "none", ask(`{}`), 422, hubapi.Invalid, "key")
	legacy(t, "of another type", ask(`{"key":["x"]}`), 422, hubapi.Invalid, "expected a string")
}

// TestW2DocumentRoutesAreGated: every route shows what the MCP tool shows, whoever
// asks.
func TestW2DocumentRoutesAreGated(t *testing.T) {
	k := startKeyed(t)
	k.live("live-skill")
	k.calls("agent", "POST", "/api/v1/documents", written("staged-skill"))
	for _, role := range []string{"admin", "reviewer", "publisher", "agent", "node"} {
		a := k.calls(role, "GET", "/api/v1/documents/live-skill?collection=skills&tenant_id=team", "")
		if a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), `"doc_id":"live-skill"`) {
			t.Errorf("%s reads: %s %s", role, a.Status, a.body)
		}
		legacy(t, role+" reads what waits", k.calls(role, "GET", "/api/v1/documents/staged-skill?collection=skills", ""), 404, hubapi.NotFound, "not found: skills/staged-skill")
		for _, path := range []string{"/api/v1/documents?collection=skills", "/api/v1/documents?collection=skills&limit=5&offset=0&fleet_id=f"} {
			if a := k.calls(role, "GET", path, ""); a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), `"count":1,`) {
				t.Errorf("%s lists: %s %s", role, a.Status, a.body)
			}
		}
		if a := k.calls(role, "POST", "/api/v1/documents/query", `{"collection":"skills","tenant_id":"team","x":1}`); a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), `"count":1,`) {
			t.Errorf("%s queries: %s %s", role, a.Status, a.body)
		}
		legacy(t, role+" queries what waits", k.calls(role, "POST", "/api/v1/documents/query", `{"collection":"skills","where":{"status":"staged"}}`), 422, hubapi.Invalid, "skills-inbox")
		if a := k.calls(role, "POST", "/api/v1/documents/search", `{"query":"skill"}`); a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), `"collection":null,"count":1,`) {
			t.Errorf("%s searches: %s %s", role, a.Status, a.body)
		}
		if a := k.calls(role, "GET", "/api/v1/documents/collections", ""); strings.TrimSpace(string(a.body)) != `{"collections":[{"name":"skills","count":1}],"count":1}` {
			t.Errorf("%s counts: %s %s", role, a.Status, a.body)
		}
		if role != "node" {
			legacy(t, role+" deletes what waits", k.calls(role, "DELETE", "/api/v1/documents/staged-skill?collection=skills", ""), 404, hubapi.NotFound, "not found")
		}
	}
	for what, a := range map[string]answer{
		"list":   k.calls("agent", "GET", "/api/v1/documents?collection=skills&tenant_id=t2", ""),
		"read":   k.calls("agent", "GET", "/api/v1/documents/live-skill?collection=skills&tenant_id=t2", ""),
		"delete": k.calls("admin", "DELETE", "/api/v1/documents/live-skill?collection=skills&tenant_id=t2", ""),
		"query":  k.calls("agent", "POST", "/api/v1/documents/query", `{"collection":"skills","tenant_id":"t2"}`),
		"search": k.calls("agent", "POST", "/api/v1/documents/search", `{"query":"x","tenant_id":"t2"}`),
		"counts": k.calls("agent", "GET", "/api/v1/documents/collections?tenant_id=t2", ""),
		"write":  k.calls("agent", "POST", "/api/v1/documents", `{"tenant_id":"t2","collection":"c","doc_id":"d","data":{}}`),
	} {
		legacy(t, what+" in another tenant", a, 403, hubapi.Forbidden, "t2")
	}
	if a := k.calls("publisher", "DELETE", "/api/v1/documents/live-skill?collection=skills", ""); a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), `"deleted":true`) {
		t.Errorf("delete: %s %s", a.Status, a.body)
	}
}

// W26: an id with a slash comes to the route of documents, and the answer is that there
// is no such document rather than no such route; an escaped one is told what is wrong.
func TestW26IDsWithSlashesComeToTheirRoute(t *testing.T) {
	k := startKeyed(t)
	for _, method := range []string{"GET", "DELETE"} {
		ask := func(id string) answer {
			return k.calls("publisher", method, "/api/v1/documents/"+id+"?collection=skills", "")
		}
		legacy(t, method, ask("forge/x"), 404, hubapi.NotFound, "not found: skills/forge/x")
		for _, id := range []string{"forge%2Fx", "agent%2fx"} {
			if a := ask(id); a.StatusCode != http.StatusBadRequest || !strings.Contains(string(a.body), "not in its plain form") {
				t.Errorf("%s %s: %s %s", method, id, a.Status, a.body)
			}
		}
	}
}

// TestDocumentWrites through REST: the validator's refusals keep their statuses.
func TestDocumentWrites(t *testing.T) {
	t.Parallel()
	k := startKeyed(t)
	write := func(role, body string) answer { return k.calls(role, "POST", "/api/v1/documents", body) }
	a := write("agent", written("one"))
	var out hubapi.DocumentWritten
	if err := json.Unmarshal(a.body, &out); err != nil || !out.OK || out.Status != hubapi.Staged || out.Action != "created" || out.Version != "1" {
		t.Errorf("%s %s", a.Status, a.body)
	}
	body := written("two")
	with := func(key, value string) string {
		return strings.Replace(body, `"data":{`, `"data":{"`+key+`":`+value+`,`, 1)
	}
	legacy(t, "active", write("agent", with("status", `"active"`)), 403, hubapi.Forbidden, "active")
	legacy(t, "null", write("agent", with("status", `null`)), 422, hubapi.Invalid, "status")
	legacy(t, "STATUS", write("agent", with("STATUS", `"active"`)), 422, hubapi.Invalid, "STATUS")
	legacy(t, "twice", write("agent", with("name", `"x"`)), 422, hubapi.Invalid, "")
	legacy(t, "a path", write("agent", with("support_files", `[{"path":"../x","content":""}]`)), 422, hubapi.Invalid, "PATH_VIOLATION: ")
	legacy(t, "a live one that is none", write("agent", strings.Replace(with("target", `{"target_content_hash":"x"}`), `"create"`, `"update"`, 1)), 404, hubapi.NotFound, "two")
	legacy(t, "a prefix", write("agent", written("forge/x")), 422, hubapi.Invalid, "slug")
	legacy(t, "no data", write("agent", `{"collection":"skills","doc_id":"x"}`), 422, hubapi.Invalid, "data")
	legacy(t, "data null", write("agent", `{"collection":"skills","doc_id":"x","data":null}`), 422, hubapi.Invalid, "data")
	legacy(t, "too large", write("agent", `{"collection":"c","doc_id":"x","data":{"x":"`+big(400<<10)+`"}}`), 413, hubapi.TooLarge, "larger")
	legacy(t, "a node", write("node", `{"collection":"c","doc_id":"x","data":{}}`), 403, hubapi.Forbidden, "node")

	// A plain document comes back as it was, under an id that a path can hold.
	if a := write("agent", `{"collection":"notes","doc_id":"a/b c","data":{"n":1e400, "t":"\u00e9<&"}}`); a.StatusCode != http.StatusOK {
		t.Fatalf("%s %s", a.Status, a.body)
	}
	if a := k.calls("node", "GET", "/api/v1/documents/a/b%20c?collection=notes", ""); a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), `"t":"`) || !strings.Contains(string(a.body), `1e400`) {
		t.Errorf("%s %s", a.Status, a.body)
	}
	legacy(t, "no collection", k.calls("node", "GET", "/api/v1/documents/x", ""), 422, hubapi.Invalid, "collection")
	legacy(t, "an unknown parameter", k.calls("node", "GET", "/api/v1/documents/x?collection=c&y=1", ""), 422, hubapi.Invalid, "y")
}
