package httpapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/pack"
)

// Everything that a command does works the same without a network.
func TestInProcess(t *testing.T) {
	s := start(t, httpapi.DevLocal())
	c, err := hubclient.New(hubclient.Config{Endpoint: "http://localhost", Transport: httpapi.InProcess(s.handler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	files := append(skillMD("triage", "Sorts mail", "text"), pack.File{Path: "run.sh", Data: []byte("true\n"), Executable: true})
	pushed, err := c.Push(ctx, hubclient.PushInput{Name: "triage", Files: files, Version: "1%2?#", Approve: true})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Archive(ctx, hubapi.Ref{Name: "triage"})
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Digest) != pushed.Digest || got.Name != "triage" || !got.Files[1].Executable || got.Release.Version != "1%2?#" {
		t.Errorf("%+v", got)
	}
	if out, err := c.Search(ctx, "sort", hubclient.SearchOptions{Limit: 5}); err != nil || out.Total != 1 {
		t.Errorf("search: %+v, %v", out, err)
	}
	if _, err := c.Signature(ctx, hubapi.Ref{Name: "triage"}); hubapi.AsError(err).Code != hubapi.NotFound {
		t.Errorf("signature: %v", err)
	}
	_, err = c.Push(ctx, hubclient.PushInput{Name: "triage", Files: files[:1], Version: "1%2?#"})
	if e := hubapi.AsError(err); e.Code != hubapi.Conflict || !strings.Contains(e.Message, pushed.Digest) || e.Hint == "" {
		t.Errorf("conflict: %+v", e)
	}
	if _, err := c.Push(ctx, hubclient.PushInput{Name: "triage", Files: files[:1], Version: "2"}); err != nil {
		t.Fatal(err)
	}
	if box, err := c.Inbox(ctx, 0, true); err != nil || box.Count != 1 || box.Items[0].Content == nil {
		t.Errorf("inbox: %+v, %v", box, err)
	}
	if _, err := c.Approve(ctx, hubapi.Ref{Author: "evil", Name: "triage"}); hubapi.AsError(err).Code != hubapi.NotFound {
		t.Errorf("approve another author's: %v", err)
	}
	if move, err := c.Approve(ctx, hubapi.Ref{Author: "local", Name: "triage", Version: "2"}); err != nil || move.NewStatus != hubapi.Active {
		t.Errorf("approve: %+v, %v", move, err)
	}
	body := "# Body\n"
	added, err := c.CatalogAdd(ctx, hubapi.CatalogAdd{Manifest: `{"schema":"kortecx.skill/v1","name":"-a.b"}`, Instructions: &body})
	if err != nil || added.Name != "-a.b" {
		t.Fatalf("%+v, %v", added, err)
	}
	if form, err := c.CatalogForm(ctx, "-a.b"); err != nil || !form.Found || form.InstructionsPreview != body {
		t.Errorf("form: %+v, %v", form, err)
	}
	if list, err := c.CatalogList(ctx, 1, ""); err != nil || len(list.Skills) != 1 || list.HasMore {
		t.Errorf("list: %+v, %v", list, err)
	}
	for _, name := range []string{"absent", "", ".", "..", "a/b", "A b", strings.Repeat("x", 100)} {
		if form, err := c.CatalogForm(ctx, name); err != nil || form.Found {
			t.Errorf("form of %q: %+v, %v", name, form, err)
		}
		if out, err := c.CatalogRemove(ctx, name); err != nil || out.Removed {
			t.Errorf("removal of %q: %+v, %v", name, out, err)
		}
	}
	if out, err := c.CatalogRemove(ctx, "-a.b"); err != nil || !out.Removed {
		t.Errorf("remove: %+v, %v", out, err)
	}
}

func call(t *testing.T, ctx context.Context, h http.HandlerFunc) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	return httpapi.InProcess(h).RoundTrip(r)
}

func TestInProcessFailures(t *testing.T) {
	if _, err := call(t, t.Context(), func(http.ResponseWriter, *http.Request) { panic("boom") }); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("a panic before the answer: %v", err)
	}
	resp, err := call(t, t.Context(), func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic("boom")
	})
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(resp.Body); string(data) != "half" || err == nil {
		t.Errorf("a panic in the answer: %q, %v", data, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	gone := make(chan struct{})
	if _, err := call(t, ctx, func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		close(gone)
	}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a context that ends: %v", err)
	}
	<-gone
	resp, err = call(t, t.Context(), func(http.ResponseWriter, *http.Request) {})
	if err != nil || resp.StatusCode != 200 {
		t.Errorf("an answer without a word: %v, %v", resp, err)
	}
	// A reader that goes away ends the writer.
	ended := make(chan error, 1)
	resp, err = call(t, t.Context(), func(w http.ResponseWriter, _ *http.Request) {
		var err error
		for err == nil {
			_, err = io.WriteString(w, "more")
		}
		ended <- err
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	<-ended
}
