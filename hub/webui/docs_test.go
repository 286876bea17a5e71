package webui

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

func committedOpenAPI(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("../httpapi/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestDocsShowEveryOperationAndType(t *testing.T) {
	b := newSite(t, false)
	status, body := b.get("/docs") // without a key, as the document itself
	if status != http.StatusOK {
		t.Fatal(status, body)
	}
	var doc struct {
		Paths      map[string]map[string]struct{ OperationID, Summary string }
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(committedOpenAPI(t), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Paths) < 50 || len(doc.Components.Schemas) < 50 {
		t.Fatalf("%d paths, %d types", len(doc.Paths), len(doc.Components.Schemas))
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if !strings.Contains(body, `id="`+op.OperationID+`"><h3><span class="method">`+strings.ToUpper(method)+`</span> <code>`+path+`</code>`) {
				t.Errorf("%s %s is not there", method, path)
			}
		}
	}
	for name := range doc.Components.Schemas {
		if !strings.Contains(body, `id="type-`+name+`"`) {
			t.Errorf("the type %s is not there", name)
		}
	}
	var ids []string
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(body, -1) {
		if slices.Contains(ids, m[1]) {
			t.Errorf("two things have the id %s", m[1])
		}
		ids = append(ids, m[1])
	}
	for _, m := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(body, -1) {
		if !slices.Contains(ids, m[1]) {
			t.Errorf("a link to #%s, which is not there", m[1])
		}
	}
	for _, part := range []string{"X-API-Key", "admin", `<th scope="row"><code>not_found</code></th><td>404</td>`} {
		if !strings.Contains(body, part) {
			t.Errorf("the page does not say %q", part)
		}
	}
}

func TestDocsSayWhoMayCall(t *testing.T) {
	page, err := readDocs(committedOpenAPI(t))
	if err != nil {
		t.Fatal(err)
	}
	public := map[string]bool{"GET /healthz": true, "GET /api/v1/log": true, "POST /api/v1/releases": false, "GET /api/v1/admin/tokens": false}
	for _, g := range page.Groups {
		if g.Does == "" {
			t.Errorf("the group %q does not say who may call", g.Name)
		}
		for _, op := range g.Operations {
			want, ok := public[op.Method+" "+op.Path]
			if ok && op.Public != want {
				t.Errorf("%s %s: public %v", op.Method, op.Path, op.Public)
			}
			delete(public, op.Method+" "+op.Path)
		}
	}
	for op := range public {
		t.Errorf("%s is not there", op)
	}
}

func TestDocsNameTypes(t *testing.T) {
	for schema, want := range map[string]docsTypeName{
		`{"type":"string"}`:                                            {Before: "string"},
		`{"type":["string","null"]}`:                                   {Before: "string or null"},
		`{"type":"string","format":"date-time"}`:                       {Before: "time (RFC 3339)"},
		`{"$ref":"#/components/schemas/Key"}`:                          {Type: "Key"},
		`{"type":["array","null"],"items":{"type":"string"}}`:          {Before: "list of string", After: " or null"},
		`{"type":"array","items":{"$ref":"#/components/schemas/Key"}}`: {Before: "list of ", Type: "Key"},
		`{"type":"object","additionalProperties":{"type":"string"}}`:   {Before: "object of string"},
		`{"type":"object","additionalProperties":true}`:                {Before: "object"},
		`{}`: {Before: "any"},
	} {
		var s apiSchema
		if err := json.Unmarshal([]byte(schema), &s); err != nil {
			t.Fatal(err)
		}
		if got := s.name(); got != want {
			t.Errorf("%s is %+v, want %+v", schema, got, want)
		}
	}
}

func TestWithoutADescriptionThereAreNoDocs(t *testing.T) {
	s := httptest.NewServer(Handler(nil, Options{Now: time.Now, Rand: rand.Reader}))
	defer s.Close()
	resp, err := http.Get(s.URL + "/docs")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Error(resp.Status)
	}
}

// Somebody without a mouse gets from the contents to one group and on to a type.
func TestDocsByKeyboard(t *testing.T) {
	ctx := browser(t)
	b := newSite(t, false)
	if err := chromedp.Do(ctx, chromedp.Navigate(b.server.URL+"/docs"), chromedp.WaitReady("main")); err != nil {
		t.Fatal(err)
	}
	tabTo, press := keyboard(t, ctx)
	tabTo("fleet")
	press("#fleet:target")
	tabTo("HeartbeatAnswer")
	press("#type-HeartbeatAnswer:target")
}

func TestADescriptionThatCannotBeReadIsAnError(t *testing.T) {
	if _, err := readDocs([]byte("{")); err == nil {
		t.Error("half a document was read")
	}
}
