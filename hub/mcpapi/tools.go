package mcpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/strictjson"
)

const maxFound = 50

func yes() *bool { v := true; return &v }
func no() *bool  { v := false; return &v }

// The schemas are written out: those made of Go types allow null for lists, which
// some models' tool calls cannot say.
const (
	searchInput = `{"type":"object","properties":{
		"query":{"type":"string","description":"What you are about to do, in a few words. Empty lists all skills by name."},
		"limit":{"type":"integer","minimum":1,"maximum":50,"default":10,"description":"How many skills at most."}},
		"required":["query"],"additionalProperties":false}`
	searchOutput = `{"type":"object","properties":{
		"skills":{"type":"array","items":{"type":"object","properties":{
			"uri":{"type":"string","description":"Give it to read_skill."},
			"name":{"type":"string"},"author":{"type":"string"},"version":{"type":"string"},
			"summary":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}}},
			"required":["uri","name","author","version","summary","tags"],"additionalProperties":false}},
		"total":{"type":"integer"},
		"did_you_mean":{"type":"array","items":{"type":"string"}}},
		"required":["skills","total","did_you_mean"],"additionalProperties":false}`
	readInput = `{"type":"object","properties":{
		"uri":{"type":"string","description":"The skill's URI, as search_skills gives it; or that of another file of a skill."},
		"name":{"type":"string","description":"Instead of the uri: the skill's name, or author/name."}},
		"additionalProperties":false}`
	submitInput = `{"type":"object","properties":{
		"name":{"type":"string","description":"a-z, 0-9 and single hyphens, at most 64 characters."},
		"description":{"type":"string","description":"What the skill does and when to use it: agents decide by this."},
		"content":{"type":"string","description":"The text of SKILL.md in Markdown, without frontmatter."},
		"files":{"type":"array","description":"Further text files.","items":{"type":"object","properties":{
			"path":{"type":"string","description":"Relative to SKILL.md, such as references/table.md."},
			"content":{"type":"string"}},"required":["path","content"],"additionalProperties":false}}},
		"required":["name","description","content"],"additionalProperties":false}`
)

func (s *service) addTools(server *mcp.Server) {
	server.AddTool(&mcp.Tool{
		Name: "search_skills", Title: "Search skills",
		Description: "Find reviewed skills: instructions that say how this organisation does a task. " +
			"Use it before you begin a task such as a release, a review, a migration, an incident or a report, to see whether there is a skill for it. " +
			"Then read the one that fits with read_skill.",
		InputSchema: json.RawMessage(searchInput), OutputSchema: json.RawMessage(searchOutput),
		Annotations: &mcp.ToolAnnotations{Title: "Search skills", ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: no(), OpenWorldHint: no()},
	}, s.tool(s.searchSkills))
	server.AddTool(&mcp.Tool{
		Name: "read_skill", Title: "Read a skill",
		Description: "Read a skill's instructions as Markdown, by the uri that search_skills gives or by name, and follow them. " +
			"Files that the instructions name are read with their uri: that of the skill with SKILL.md replaced by the file's path.",
		InputSchema: json.RawMessage(readInput),
		Annotations: &mcp.ToolAnnotations{Title: "Read a skill", ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: no(), OpenWorldHint: no()},
	}, s.tool(s.readSkill))
	server.AddTool(&mcp.Tool{
		Name: "submit_skill", Title: "Propose a skill",
		Description: "Propose a new skill, or a new version of one of yours, from what you have learnt. " +
			"It is scanned and waits for people to review it; nobody sees it before that.",
		InputSchema: json.RawMessage(submitInput),
		Annotations: &mcp.ToolAnnotations{Title: "Propose a skill", DestructiveHint: no(), OpenWorldHint: no()},
	}, s.tool(s.submitSkill))
	s.addDocumentTools(server)
}

// tool makes a handler whose refusals the model sees, rather than the client.
func (s *service) tool(run func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error)) mcp.ToolHandler {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result, err := run(ctx, r.Params.Arguments)
		if err == nil {
			return result, nil
		}
		e := hubapi.AsError(err)
		if e.Code == hubapi.Internal || e.Code == hubapi.NoSpace {
			s.log.Error("request failed", "tool", r.Params.Name, "error", e.Message)
		}
		text := e.Message
		if e.Hint != "" {
			text += "\n" + e.Hint
		}
		for _, d := range e.Details {
			if d.Message != e.Message {
				text += "\n- " + strings.TrimPrefix(d.File+": ", ": ") + d.Message
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: true}, nil
	}
}

// arguments reads a tool's arguments strictly.
func arguments(data json.RawMessage, v any) error {
	if len(data) == 0 {
		data = json.RawMessage("{}")
	}
	if err := strictjson.Unmarshal(data, v); err != nil {
		return hubapi.Errorf(hubapi.Invalid, "the arguments: %v", err)
	}
	return nil
}

// count is a whole number. Some clients have no other numbers than floating ones and
// write 5.0, which is an integer to JSON Schema too.
type count int

// UnmarshalJSON implements json.Unmarshaler.
func (c *count) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseFloat(string(data), 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) > 1<<31 {
		return fmt.Errorf("expected a whole number, got %s", clip(string(data), 80))
	}
	*c = count(n)
	return nil
}

type foundSkill struct {
	URI     string   `json:"uri"`
	Name    string   `json:"name"`
	Author  string   `json:"author"`
	Version string   `json:"version"`
	Summary string   `json:"summary"`
	Tags    []string `json:"tags"`
}

type foundSkills struct {
	Skills     []foundSkill `json:"skills"`
	Total      int          `json:"total"`
	DidYouMean []string     `json:"did_you_mean"`
}

func (s *service) searchSkills(ctx context.Context, data json.RawMessage) (*mcp.CallToolResult, error) {
	in := struct {
		Query string `json:"query"`
		Limit *count `json:"limit"`
	}{}
	if err := arguments(data, &in); err != nil {
		return nil, err
	}
	limit := 10
	if in.Limit != nil {
		limit = int(*in.Limit)
	}
	if limit < 1 || limit > maxFound {
		return nil, hubapi.Errorf(hubapi.Invalid, "limit is 1 to %d, not %d", maxFound, limit)
	}
	result, err := s.hub.Search(ctx, caller(ctx), hub.SearchQuery{Text: in.Query, Status: hubapi.Active, Limit: limit})
	if err != nil {
		return nil, err
	}
	out := foundSkills{Skills: []foundSkill{}, Total: result.Total, DidYouMean: append([]string{}, result.DidYouMean...)}
	for _, hit := range result.Items {
		out.Skills = append(out.Skills, foundSkill{
			URI:  fileURI(rootURI(hit.Author, hit.Name, hub.AgentName(hit.Format, hit.Name)), skillFile),
			Name: hit.Name, Author: hit.Author, Version: hit.Version, Summary: hit.Summary, Tags: append([]string{}, hit.Tags...),
		})
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}, StructuredContent: json.RawMessage(text),
	}, nil
}

func (s *service) readSkill(ctx context.Context, data json.RawMessage) (*mcp.CallToolResult, error) {
	var in struct {
		URI  string `json:"uri"`
		Name string `json:"name"`
	}
	if err := arguments(data, &in); err != nil {
		return nil, err
	}
	if (in.URI == "") == (in.Name == "") {
		return nil, hubapi.Errorf(hubapi.Invalid, "give uri or name, one of them")
	}
	text, err := s.skillText(ctx, in.URI, in.Name)
	if err != nil {
		if e, ok := err.(*hubapi.Error); ok && (e.Code == hubapi.NotFound || e.Code == hubapi.Invalid) {
			return nil, hubapi.Errorf(hubapi.NotFound, "no active skill has %q", clip(in.URI+in.Name, 200)).
				WithHint("search_skills says what there is")
		}
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
}

// skillText is what read_skill answers: the origin, then the file.
func (s *service) skillText(ctx context.Context, uri, name string) (string, error) {
	t := tenantOf(ctx)
	gone := hubapi.Errorf(hubapi.NotFound, "not served")
	if name != "" {
		ref, err := hubapi.ParseRef(name)
		if err != nil {
			return "", err
		}
		skill, err := s.find(ctx, t, ref)
		if err != nil {
			return "", err
		}
		if skill.Text == nil {
			return about(skill), nil
		}
		return origin(skill) + string(skill.Text), nil
	}
	at, ok := parseURI(uri)
	if !ok {
		return "", gone
	}
	skill, err := s.find(ctx, t, at.ref())
	if err != nil {
		return "", err
	}
	path, ok := at.below(skill.Served)
	switch {
	case !ok:
		return "", gone
	case skill.Text == nil && (path == "" || path == skillFile):
		return about(skill), nil
	case path == "" || path == skillFile:
		return origin(skill) + string(skill.Text), nil
	}
	content, err := s.hub.ServedContent(ctx, caller(ctx), skill.ServedSkill, path)
	if err != nil {
		return "", err
	}
	if kind := mimeOf(path, content); !isText(content) {
		return fmt.Sprintf("%s%s is %d bytes of %s, not text; read it as a resource.\n", origin(skill), path, len(content), kind), nil
	}
	return origin(skill) + string(content), nil
}

// about is what can be said of a pack that has no instructions.
func about(s *item) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\n\nThis skill is a program (format %s), without instructions for agents. Its files:\n\n", origin(s), s.Description, s.Format)
	for _, f := range s.Files {
		fmt.Fprintf(&b, "- %s (%d bytes)\n", fileURI(s.root, f.Path), f.Size)
	}
	return b.String()
}

func (s *service) submitSkill(ctx context.Context, data json.RawMessage) (*mcp.CallToolResult, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) == nil {
		for name := range members {
			if strings.EqualFold(name, "status") || strings.EqualFold(name, "source") {
				return nil, hubapi.Errorf(hubapi.Forbidden, "the hub decides the %s of what is proposed", strings.ToLower(name)).
					WithHint("leave it out: a proposal waits for review")
			}
		}
	}
	var in hubapi.SkillSubmit
	if err := arguments(data, &in); err != nil {
		return nil, err
	}
	out, err := s.hub.SubmitSkill(ctx, caller(ctx), in)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	switch {
	case out.Unchanged:
		fmt.Fprintf(&b, "%s was there already; its status is %s.", out.Release.Ref(), out.Release.Status)
	case out.Release.Status == hubapi.Quarantined:
		fmt.Fprintf(&b, "%s is quarantined: the scan found what must not reach anybody. Mend it and propose it again.", out.Release.Ref())
	default:
		fmt.Fprintf(&b, "%s is %s: people review it before anybody sees it.", out.Release.Ref(), out.Release.Status)
	}
	for _, f := range out.Findings {
		fmt.Fprintf(&b, "\n- %s %s:%d: %s (%s)", f.Severity, f.File, f.Line, f.Message, f.Rule)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: b.String()}}}, nil
}
