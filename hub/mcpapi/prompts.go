package mcpapi

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

// listPrompts lists skills as commands. Clients put all of them into a menu, so
// there are no more than an operator allows.
func (s *service) listPrompts(ctx context.Context, t *tenant, cursor string) (mcp.Result, error) {
	const list = "prompts"
	after, err := readCursor(list, cursor)
	if err != nil {
		return nil, err
	}
	all, _, err := s.all(ctx, t)
	if err != nil {
		return nil, err
	}
	out := &mcp.ListPromptsResult{Prompts: []*mcp.Prompt{}, Cacheable: private}
	var listed []hub.Served
	for _, skill := range all {
		if len(listed) >= s.options.Prompts {
			break
		}
		if hasText(skill) {
			listed = append(listed, skill)
		}
	}
	for _, skill := range behind(listed, after) {
		if len(out.Prompts) == s.options.PageSize {
			out.NextCursor = newCursor(list, out.Prompts[len(out.Prompts)-1].Name)
			break
		}
		out.Prompts = append(out.Prompts, &mcp.Prompt{
			Name: skill.Name, Title: skill.Name, Description: skill.Description,
			Arguments: []*mcp.PromptArgument{{Name: taskArgument, Description: "What to do with the skill."}},
		})
	}
	return out, nil
}

const taskArgument = "task"

// getPrompt gives a skill as what a user would say.
func (s *service) getPrompt(ctx context.Context, t *tenant, params *mcp.GetPromptParams) (mcp.Result, error) {
	unknown := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown prompt %q", clip(params.Name, 100))}
	for name := range params.Arguments {
		if name != taskArgument {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown argument %q; a skill takes one, task", clip(name, 100))}
		}
	}
	if hubapi.CheckName(params.Name) != nil {
		return nil, unknown
	}
	skill, err := s.find(ctx, t, hubapi.Ref{Name: params.Name})
	if e, ok := err.(*hubapi.Error); ok && e.Code == hubapi.NotFound {
		return nil, unknown
	}
	if err != nil {
		return nil, err
	}
	if skill.Text == nil {
		return nil, unknown
	}
	text := origin(skill) + string(skill.Text)
	if task := strings.TrimSpace(params.Arguments[taskArgument]); task != "" {
		text += "\n\nUse this skill for the following task:\n\n" + task + "\n"
	}
	return &mcp.GetPromptResult{
		Description: skill.Description,
		Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}},
	}, nil
}

// origin says where a text comes from, so that a model does not take it for its
// user's own words.
func origin(s *item) string {
	return fmt.Sprintf("[skill %s, version %s, %s, reviewed, from a kx hub over MCP]\n\n", fileURI(s.root, skillFile), s.Version, s.Digest)
}
