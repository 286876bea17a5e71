package mcpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/strictjson"
)

// The tool of other systems' agents for documents, of which the collection skills is
// the hub's releases. Its one tool both reads and writes, and its answers have a form
// of their own; what it does is decided in package hub.

// documentTools are its name and the one that it was given later.
var documentTools = []string{"memclaw_doc", "caura_doc"}

var documentOps = []string{"delete", "list_collections", "query", "read", "search", "write"}

// documentInput is the schema of the arguments; it takes hub.SkillDataGuide.
const documentInput = `{"type":"object","properties":{
	"op":{"type":"string","enum":["write","read","query","delete","list_collections","search"]},
	"collection":{"type":"string","description":"Needed for all but list_collections and search. The collection skills holds skills."},
	"doc_id":{"type":"string"},
	"data":{"type":"object","description":"For write. %s"},
	"where":{"type":"object","description":"For query: members of the data and their values."},
	"order_by":{"type":"string"},
	"order":{"type":"string","enum":["asc","desc"],"default":"asc"},
	"limit":{"type":"integer","default":20},
	"offset":{"type":"integer","default":0},
	"agent_id":{"type":"string","default":"mcp-agent"},
	"fleet_id":{"type":"string"},
	"query":{"type":"string","description":"For search."},
	"top_k":{"type":"integer","default":5}},
	"required":["op"]}`

func (s *service) addDocumentTools(server *mcp.Server) {
	input := json.RawMessage(fmt.Sprintf(documentInput, hub.SkillDataGuide()))
	for _, name := range documentTools {
		description := "Documents in collections, such as reviewed skills in the collection skills: op is read, query, search, list_collections, write or delete. " +
			"To find a skill: op=search, collection=skills, query=what you are about to do; its instructions are data.content. What is written there waits for review."
		if name != documentTools[0] {
			description = "Another name of " + documentTools[0] + ". " + description
		}
		server.AddTool(&mcp.Tool{
			Name: name, Title: "Documents", Description: description, InputSchema: input,
			Annotations: &mcp.ToolAnnotations{Title: "Documents", DestructiveHint: yes(), OpenWorldHint: no()},
		}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return s.document(ctx, r.Params.Arguments), nil
		})
	}
}

// documentArguments are the tool's arguments; null is as absent.
type documentArguments struct {
	Op         string          `json:"op"`
	Collection string          `json:"collection"`
	DocID      string          `json:"doc_id"`
	Data       json.RawMessage `json:"data"`
	Where      map[string]any  `json:"where"`
	OrderBy    string          `json:"order_by"`
	Order      string          `json:"order"`
	Limit      *count          `json:"limit"`
	Offset     count           `json:"offset"`
	AgentID    string          `json:"agent_id"` // callers are known by their key
	FleetID    string          `json:"fleet_id"`
	Query      string          `json:"query"`
	TopK       *count          `json:"top_k"`
}

// document runs one operation and puts what comes back into the tool's envelope.
func (s *service) document(ctx context.Context, data json.RawMessage) *mcp.CallToolResult {
	begun := s.options.Now()
	latency := func() int64 { return max(0, s.options.Now().Sub(begun).Milliseconds()) }
	in, err := readDocumentArguments(data)
	var out any
	if err == nil {
		out, err = s.operate(ctx, in)
	}
	if err == nil {
		return envelope(out, latency(), false)
	}
	e := hubapi.AsError(err)
	switch {
	case e.Code == hubapi.NotFound && in.Op == "read":
		text := fmt.Sprintf("Not found: %s/%s\n\n_latency_ms: %d", in.Collection, in.DocID, latency())
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	case e.Code == hubapi.NotFound && in.Op == "delete":
		return envelope(map[string]string{"error": fmt.Sprintf("Not found: %s/%s", in.Collection, in.DocID)}, latency(), false)
	}
	if e.Code == hubapi.Internal || e.Code == hubapi.NoSpace {
		s.log.Error("request failed", "tool", documentTools[0], "op", in.Op, "error", e.Message)
	}
	return envelope(map[string]any{"error": documentFault(e, in)}, latency(), true)
}

func readDocumentArguments(data json.RawMessage) (in documentArguments, err error) {
	var members map[string]json.RawMessage
	if len(data) > 0 {
		if err := strictjson.Unmarshal(data, &members); err != nil {
			return in, hubapi.Errorf(hubapi.Invalid, "the arguments: %v", err)
		}
	}
	for name, value := range members {
		if string(bytes.TrimSpace(value)) == "null" {
			delete(members, name)
		}
	}
	kept, err := json.Marshal(members)
	if err != nil {
		return in, err
	}
	if members == nil {
		kept = []byte("{}")
	}
	if err := strictjson.Unmarshal(kept, &in); err != nil {
		_ = json.Unmarshal(members["op"], &in.Op) // whose argument it is that cannot be read
		return in, hubapi.Errorf(hubapi.Invalid, "the arguments: %v", err)
	}
	return in, nil
}

// operate calls the hub.
func (s *service) operate(ctx context.Context, in documentArguments) (any, error) {
	if !slices.Contains(documentOps, in.Op) {
		return nil, hubapi.Errorf(hubapi.Invalid, "unknown op %q", clip(in.Op, 80)).
			WithHint("one of %s", strings.Join(documentOps, ", "))
	}
	if in.Collection == "" && in.Op != "list_collections" && in.Op != "search" {
		return nil, hubapi.Errorf(hubapi.Invalid, "op=%s needs a collection", in.Op)
	}
	if in.DocID == "" && (in.Op == "read" || in.Op == "write" || in.Op == "delete") {
		return nil, hubapi.Errorf(hubapi.Invalid, "op=%s needs a doc_id", in.Op)
	}
	p := caller(ctx)
	switch in.Op {
	case "read":
		return s.hub.ReadDocument(ctx, p, in.Collection, in.DocID)
	case "query":
		return s.hub.QueryDocuments(ctx, p, hubapi.DocumentQuery{
			Collection: in.Collection, Where: in.Where, OrderBy: in.OrderBy, Order: in.Order,
			Limit: (*int)(in.Limit), Offset: int(in.Offset), FleetID: in.FleetID,
		})
	case "search":
		return s.hub.SearchDocuments(ctx, p, hubapi.DocumentSearch{
			Collection: in.Collection, Query: in.Query, TopK: (*int)(in.TopK), FleetID: in.FleetID,
		})
	case "write":
		if len(in.Data) == 0 {
			return nil, hubapi.Errorf(hubapi.Invalid, "op=write needs data, an object")
		}
		return s.hub.WriteDocument(ctx, p, hubapi.DocumentWrite{
			Collection: in.Collection, DocID: in.DocID, Data: in.Data, FleetID: in.FleetID,
		})
	case "delete":
		return s.hub.DeleteDocument(ctx, p, in.Collection, in.DocID)
	}
	return s.hub.Collections(ctx, p)
}

// documentError is a refusal in the tool's form.
type documentError struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

func documentFault(e *hubapi.Error, in documentArguments) documentError {
	out := documentError{Code: errorCode(e), Message: e.Message}
	if e.Hint != "" {
		out.Message += "; " + e.Hint
	}
	if len(e.Details) > 0 {
		out.Details = map[string]any{"findings": e.Details}
	}
	if e.Code == hubapi.Invalid && !slices.Contains(documentOps, in.Op) {
		out.Details = map[string]any{"op": in.Op, "expected_ops": documentOps}
	}
	return out
}

// errorCode names a refusal as those clients know it.
func errorCode(e *hubapi.Error) string {
	switch e.Code {
	case hubapi.Invalid, hubapi.Precondition, hubapi.Usage:
		return "INVALID_ARGUMENTS"
	case hubapi.Unauthorized:
		return "UNAUTHORIZED"
	case hubapi.Forbidden:
		return "FORBIDDEN"
	case hubapi.NotFound:
		return "NOT_FOUND"
	case hubapi.Conflict:
		return "CONFLICT"
	case hubapi.TooLarge:
		return "PAYLOAD_TOO_LARGE"
	case hubapi.RateLimited:
		return "RATE_LIMITED"
	case hubapi.Unavailable:
		return "UNAVAILABLE"
	case hubapi.Timeout:
		return "UPSTREAM_TIMEOUT"
	case hubapi.Internal:
		return "INTERNAL_ERROR"
	}
	return fmt.Sprintf("HTTP_%d", e.Code.HTTP())
}

// envelope is an answer as one text: the JSON object with the time that it took.
func envelope(v any, latency int64, failed bool) *mcp.CallToolResult {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // the hub's types can always be written
		panic(err)
	}
	text := bytes.TrimSpace(b.Bytes())
	text = text[:len(text)-1]
	if len(text) > 1 {
		text = append(text, ',')
	}
	text = fmt.Appendf(text, `"_latency_ms":%d}`, latency)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}, IsError: failed}
}

func isText(data []byte) bool { return utf8.Valid(data) && !bytes.ContainsRune(data, 0) }
