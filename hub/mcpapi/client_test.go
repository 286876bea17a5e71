package mcpapi_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/mcpapi"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/timetest"
)

// connect gives a session of the library's own client.
func (s *running) connect(version string, o *mcp.ClientOptions) *mcp.ClientSession {
	s.t.Helper()
	if o == nil {
		o = &mcp.ClientOptions{}
	}
	o.Capabilities = &mcp.ClientCapabilities{}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session, err := client.Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: s.url + "/mcp", DisableStandaloneSSE: true},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = session.Close() })
	return session
}

// The library's client, in both eras.
func TestGoClient(t *testing.T) {
	s := start(t, mcpapi.Options{Loopback: true})
	s.shelf()
	for _, version := range []string{"2025-06-18", "2025-11-25", modernEra} {
		session := s.connect(version, nil)
		if got := session.InitializeResult().ProtocolVersion; got != version {
			t.Fatalf("%s became %s", version, got)
		}
		var tools []string
		for tool, err := range session.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			tools = append(tools, tool.Name)
			readOnly := tool.Name == "read_skill" || tool.Name == "search_skills"
			if tool.Annotations.ReadOnlyHint != readOnly || (tool.OutputSchema != nil) != (tool.Name == "search_skills") {
				t.Errorf("%+v", tool)
			}
		}
		if strings.Join(tools, " ") != "caura_doc memclaw_doc read_skill search_skills submit_skill" {
			t.Error(tools)
		}
		n := 0
		for resource, err := range session.Resources(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			out, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: resource.URI})
			if err != nil || len(out.Contents) != 1 || out.Contents[0].Text == "" {
				t.Errorf("%s: %+v, %v", resource.URI, out, err)
			}
		}
		if n != 3 {
			t.Errorf("%d resources", n)
		}
		out, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "git-workflow"})
		if err != nil || len(out.Messages) != 1 {
			t.Errorf("%+v, %v", out, err)
		}
		found, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "search_skills", Arguments: map[string]any{"query": "mailbox"}})
		if err != nil || found.IsError || found.StructuredContent == nil {
			t.Errorf("%+v, %v", found, err)
		}
		if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "skill://local/secret/SKILL.md"}); err == nil {
			t.Error("what is staged is read")
		}
	}
}

// Who listens is told when something is activated and when it is withdrawn, and a
// server that ends does not wait for them.
func TestListenersAreToldOfChanges(t *testing.T) {
	s := start(t, mcpapi.Options{Loopback: true, Poll: 10 * time.Millisecond})
	s.shelf()
	var resources, prompts atomic.Int32
	s.connect(modernEra, &mcp.ClientOptions{
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { resources.Add(1) },
		PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { prompts.Add(1) },
	})
	waitFor := func(what string, n int32) {
		t.Helper()
		for deadline := time.Now().Add(timetest.Limit(10 * time.Second)); resources.Load() < n || prompts.Load() < n; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: told %d times of resources, %d of prompts", what, resources.Load(), prompts.Load())
			}
		}
	}
	time.Sleep(100 * time.Millisecond) // the subscription is under way behind connect
	if _, err := s.hub.Approve(t.Context(), hub.LocalAdmin(), hubapi.Ref{Name: "secret"}); err != nil {
		t.Fatal(err)
	}
	waitFor("activated", 1)
	if _, err := s.hub.Act(t.Context(), hub.LocalAdmin(), hubapi.Ref{Name: "secret"}, hub.Withdraw, hubapi.Review{Reason: "no longer"}); err != nil {
		t.Fatal(err)
	}
	waitFor("withdrawn", 2)
}
