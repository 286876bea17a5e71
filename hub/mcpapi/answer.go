package mcpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kortecx/kx/hubapi"
)

const (
	metaVersion = "io.modelcontextprotocol/protocolVersion"
	modernEra   = "2026-07-28"
)

// modern tells whether a request has the metadata of revisions without a handshake.
func modern(meta map[string]any) bool {
	version, _ := meta[metaVersion].(string)
	return version >= modernEra
}

// middleware answers what depends on the skills that are active. It stands before
// the library's own answers.
func (s *service) middleware(t *tenant) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			ctx = context.WithValue(ctx, tenantKey{}, t)
			result, err := s.answer(ctx, t, next, method, req)
			return result, s.protocolError(method, err)
		}
	}
}

type tenantKey struct{}

func tenantOf(ctx context.Context) *tenant {
	t, _ := ctx.Value(tenantKey{}).(*tenant)
	return t
}

func (s *service) answer(ctx context.Context, t *tenant, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
	switch r := req.(type) {
	case *mcp.ServerRequest[*mcp.ListResourcesParams]:
		return s.listResources(ctx, t, cursorOf(r.Params))
	case *mcp.ServerRequest[*mcp.ListResourceTemplatesParams]:
		return s.listTemplates(cursorOf(r.Params))
	case *mcp.ServerRequest[*mcp.ReadResourceParams]:
		result, err := s.readResource(ctx, t, r.Params.URI)
		if err != nil {
			return nil, err
		}
		return next(withResult(ctx, result), method, &mcp.ServerRequest[*mcp.ReadResourceParams]{
			Session: r.Session, Extra: r.Extra, Params: &mcp.ReadResourceParams{Meta: r.Params.Meta, URI: standIn},
		})
	case *mcp.ServerRequest[*mcp.ListPromptsParams]:
		return s.listPrompts(ctx, t, cursorOf(r.Params))
	case *mcp.ServerRequest[*mcp.GetPromptParams]:
		result, err := s.getPrompt(ctx, t, r.Params)
		if err != nil {
			return nil, err
		}
		return next(withResult(ctx, result), method, &mcp.ServerRequest[*mcp.GetPromptParams]{
			Session: r.Session, Extra: r.Extra, Params: &mcp.GetPromptParams{Meta: r.Params.Meta, Name: standIn},
		})
	case *mcp.ServerRequest[*mcp.SubscriptionsListenParams]:
		return s.listen(ctx, t, func(ctx context.Context) (mcp.Result, error) { return next(ctx, method, req) })
	}
	result, err := next(ctx, method, req)
	if err != nil {
		return nil, err
	}
	switch r := result.(type) {
	case *mcp.InitializeResult:
		instructed := *r
		instructed.Instructions, err = s.instructions(ctx)
		// Clients that shake hands would be told of changes on a stream that is not
		// there without sessions.
		told := *r.Capabilities
		told.Resources, told.Prompts = &mcp.ResourceCapabilities{}, &mcp.PromptCapabilities{}
		instructed.Capabilities = &told
		return &instructed, err
	case *mcp.DiscoverResult:
		r.Instructions, err = s.instructions(ctx)
		r.TTLMs = ttlSkills // the instructions name skills
	}
	return result, err
}

// standIn is the one resource and the one prompt that the library knows. Nobody can
// ask for them: they carry the answers that were made here through the library, which
// gives each the form of its revision.
const standIn = "kx:answer"

type resultKey struct{}

func withResult(ctx context.Context, result mcp.Result) context.Context {
	return context.WithValue(ctx, resultKey{}, result)
}

// addStandIns adds both to a server, or adds them again, of which its clients are
// told as of a change of the lists.
func addStandIns(server *mcp.Server) {
	server.AddResource(&mcp.Resource{URI: standIn, Name: standIn}, func(ctx context.Context, _ *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		if result, ok := ctx.Value(resultKey{}).(*mcp.ReadResourceResult); ok {
			return result, nil
		}
		return nil, notServed(standIn)
	})
	server.AddPrompt(&mcp.Prompt{Name: standIn}, func(ctx context.Context, _ *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if result, ok := ctx.Value(resultKey{}).(*mcp.GetPromptResult); ok {
			return result, nil
		}
		return nil, notServed(standIn)
	})
}

func cursorOf[P interface {
	*mcp.ListResourcesParams | *mcp.ListResourceTemplatesParams | *mcp.ListPromptsParams
}](params P) string {
	switch p := any(params).(type) {
	case *mcp.ListResourcesParams:
		if p != nil {
			return p.Cursor
		}
	case *mcp.ListResourceTemplatesParams:
		if p != nil {
			return p.Cursor
		}
	case *mcp.ListPromptsParams:
		if p != nil {
			return p.Cursor
		}
	}
	return ""
}

// protocolError is err as the protocol has it. What is absent and what may not be
// seen are the same answer everywhere.
func (s *service) protocolError(method string, err error) error {
	e, ok := err.(*hubapi.Error)
	if err == nil || !ok {
		return err
	}
	switch e.Code {
	case hubapi.Invalid, hubapi.NotFound, hubapi.TooLarge, hubapi.Forbidden, hubapi.Unauthorized, hubapi.Conflict, hubapi.Precondition:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: e.Message}
	case hubapi.Internal, hubapi.NoSpace:
		s.log.Error("request failed", "method", method, "error", e.Message)
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: e.Message}
}

// notServed is the one answer to a URI that is not served to this caller, whether it
// names nothing, something of another tenant, or something that is not active.
func notServed(uri string) error {
	data, err := json.Marshal(map[string]string{"uri": uri})
	if err != nil { // a string can always be written
		panic(err)
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Resource not found", Data: data}
}

// orNotServed keeps only the refusals that say more than that.
func orNotServed(uri string, err error) error {
	if e, ok := err.(*hubapi.Error); ok && (e.Code == hubapi.NotFound || e.Code == hubapi.Invalid) {
		return notServed(uri)
	}
	return err
}

// maxInstructions is how many bytes of instructions every client puts before its
// model without objecting.
const maxInstructions = 1024

// instructions say when to look for a skill, and name the newest ones.
func (s *service) instructions(ctx context.Context) (string, error) {
	const most = 12
	newest, total, err := s.hub.ServedNewest(ctx, caller(ctx), most)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("Reviewed skills: instructions that say how this organisation does a task. " +
		"Before you begin a task that a skill might cover, call search_skills with what you are about to do, then read_skill with the uri that fits, and follow it. " +
		"You can propose a skill with submit_skill; people review it before anybody sees it.")
	if total == 0 {
		b.WriteString(" No skill is active now.")
		return b.String(), nil
	}
	fmt.Fprintf(&b, "\n%d active.", total)
	for i, skill := range newest {
		line := fmt.Sprintf("\n- %s/%s: %s", rootOf(skill), skillFile, clip(oneLine(skill.Description), 80))
		if b.Len()+len(line) > maxInstructions {
			break
		}
		if i == 0 {
			if b.Len()+len(line)+len(" The newest:") > maxInstructions {
				break
			}
			b.WriteString(" The newest:")
		}
		b.WriteString(line)
	}
	return b.String(), nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// clip keeps at most n bytes of s, whole characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
