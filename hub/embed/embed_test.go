package embed

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func client(t *testing.T, address string) *Client {
	t.Helper()
	c, err := New(Config{URL: address, Model: "small", Key: "private-key", UserAgent: "kx/test"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEmbedAsksAsOpenAIDoes(t *testing.T) {
	var got struct {
		Model  string   `json:"model"`
		Input  []string `json:"input"`
		Format string   `json:"encoding_format"`
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer private-key" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		data, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(data, &got)
		_, _ = io.WriteString(w, `{"object":"list","model":"small","data":[
			{"object":"embedding","index":1,"embedding":[0,2.5]},{"object":"embedding","index":0,"embedding":[1e-3,0]}],"usage":{"total_tokens":3}}`)
	}))
	defer server.Close()
	for _, address := range []string{server.URL + "/v1", server.URL + "/v1/", server.URL + "/v1/embeddings"} {
		vectors, err := client(t, address).Embed(t.Context(), []string{"a", "b"})
		if err != nil || fmt.Sprint(vectors) != "[[0.001 0] [0 2.5]]" {
			t.Errorf("%s: %v, %v", address, vectors, err)
		}
	}
	if got.Model != "small" || fmt.Sprint(got.Input) != "[a b]" || got.Format != "float" {
		t.Errorf("asked %+v", got)
	}
}

func TestWhatIsNoAnswerIsRefused(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
	}{
		{200, ``},
		{200, `<html>`},
		{200, `{}`},
		{200, `{"data":[]}`},
		{200, `{"data":[{"index":0,"embedding":[]}]}`},
		{200, `{"data":[{"index":1,"embedding":[1]}]}`},
		{200, `{"data":[{"index":-1,"embedding":[1]}]}`},
		{200, `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`},
		{200, `{"data":[{"index":0,"embedding":[1e999]}]}`},
		{200, `{"data":[{"index":0,"embedding":["1"]}]}`},
		{200, `{"data":[{"index":0,"embedding":[1]}],"data":[]}`},
		{200, strings.Repeat(" ", maxAnswer+1)},
		{401, `{"error":"no"}`},
		{302, ``},
		{500, `{"data":[{"index":0,"embedding":[1]}]}`},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		}))
		vectors, err := client(t, server.URL).Embed(t.Context(), []string{"a"})
		server.Close()
		if err == nil || strings.Contains(err.Error(), "private") {
			t.Errorf("%d %.60q: %v, %v", tt.status, tt.body, vectors, err)
		}
	}
}

func TestNewRefusesWhatIsNoEndpoint(t *testing.T) {
	for _, c := range []Config{
		{URL: "", Model: "m"}, {URL: "file:///x", Model: "m"}, {URL: "http://u:p@h/", Model: "m"}, {URL: "http://h/"}, {URL: "http://h/", Model: " "},
	} {
		if _, err := New(c); err == nil || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"data":[{"index":0,"embedding":[1,2]}]}`))
	f.Add([]byte(`{"data":[{"index":0,"embedding":[1e38]},{"index":1,"embedding":[-0.0]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for n := 1; n < 3; n++ {
			vectors, err := readAnswer(data, n)
			if err == nil && len(vectors) != n {
				t.Fatalf("%d vectors for %d texts", len(vectors), n)
			}
		}
	})
}
