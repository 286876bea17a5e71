package hubclient

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kortecx/kx/hubapi"
)

func TestInstallableSpeaksTheLanguageOfOtherHubs(t *testing.T) {
	var got *http.Request
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		got, body = r, string(data)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("ETag", `"e"`)
		w.Header().Set(hubapi.HeaderGeneration, "7")
		w.Header().Set(hubapi.HeaderTotal, "-1")
		if r.Header.Get("If-None-Match") == `"e"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, `{"documents":[{"doc_id":"a","data":{"content":"x","later":1},"later":{}},{"doc_id":"b","data":7}]}`)
	}))
	defer server.Close()
	client, err := New(Config{Endpoint: server.URL + "/base", Token: "secret", Prefix: "memclaw/v2/", APIKey: true})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Installable(t.Context(), InstallableAsk{TenantID: "t1", FleetID: "f1"})
	if err != nil {
		t.Fatal(err)
	}
	if got.URL.Path != "/base/memclaw/v2/skills/installable" || got.Header.Get("X-Api-Key") != "secret" || got.Header.Get("Authorization") != "" {
		t.Errorf("asked %s with %v", got.URL, got.Header)
	}
	if body != `{"tenant_id":"t1","fleet_id":"f1","limit":1000}` {
		t.Errorf("the body is %s", body)
	}
	if len(answer.Rows) != 2 || *answer.Rows[0].Data.Content != "x" || answer.Rows[0].Fault != "" || answer.Rows[1].DocID != "b" || answer.Rows[1].Fault == "" {
		t.Errorf("%+v", answer.Rows)
	}
	if answer.ETag != `"e"` || answer.Generation == nil || *answer.Generation != 7 || answer.Total != nil {
		t.Errorf("%+v", answer)
	}
	answer, err = client.Installable(t.Context(), InstallableAsk{ETag: `"e"`})
	if err != nil || !answer.Unchanged {
		t.Errorf("%+v %v", answer, err)
	}
	for _, prefix := range []string{"a b", "../x", "a?b", "a//b", "ä"} {
		if _, err := New(Config{Endpoint: server.URL, Prefix: prefix}); err == nil {
			t.Errorf("the prefix %q is taken", prefix)
		}
	}
}

func FuzzInstallableRows(f *testing.F) {
	f.Add([]byte(`[{"doc_id":"a","data":{"content":"x","description":"d"}}]`))
	f.Add([]byte(`{"documents":[null,5,{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := installableRows(data)
		if err == nil && rows == nil {
			t.Fatal("neither rows nor an error")
		}
		if err == nil && !strings.ContainsAny(string(data), "[") {
			t.Fatalf("%q is a catalogue", data)
		}
	})
}
