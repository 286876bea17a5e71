package mcpapi

import (
	"context"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/pack"
)

const (
	markdown  = "text/markdown"
	directory = "inode/directory"
)

var private = mcp.Cacheable{TTLMs: ttlSkills, CacheScope: "private"}

// listResources lists one resource for each skill, its SKILL.md; the other files are
// found through it, and through the template.
func (s *service) listResources(ctx context.Context, t *tenant, cursor string) (mcp.Result, error) {
	list, next, err := s.page(ctx, t, "resources", cursor)
	if err != nil {
		return nil, err
	}
	out := &mcp.ListResourcesResult{Resources: []*mcp.Resource{}, NextCursor: next, Cacheable: private}
	for _, skill := range list {
		out.Resources = append(out.Resources, mainResource(skill))
	}
	return out, nil
}

// page gives a page of the skills that have a SKILL.md, by name.
func (s *service) page(ctx context.Context, t *tenant, list, cursor string) (page []hub.Served, next string, err error) {
	after, err := readCursor(list, cursor)
	if err != nil {
		return nil, "", err
	}
	all, _, err := s.all(ctx, t)
	if err != nil {
		return nil, "", err
	}
	for _, skill := range behind(all, after) {
		if !hasText(skill) {
			continue
		}
		if len(page) == s.options.PageSize {
			return page, newCursor(list, page[len(page)-1].Name), nil
		}
		page = append(page, skill)
	}
	return page, "", nil
}

// hasText tells whether agents get a SKILL.md: a kazma pack is code and has none.
func hasText(s hub.Served) bool { return s.Format != string(pack.Kazma) && s.AgentName() != "" }

func mainResource(s hub.Served) *mcp.Resource {
	return &mcp.Resource{
		URI: fileURI(rootOf(s), skillFile), Name: s.AgentName(), Description: s.Description, MIMEType: markdown,
		Meta: mcp.Meta{"io.modelcontextprotocol.skills/version": s.Version},
	}
}

func (s *service) listTemplates(cursor string) (mcp.Result, error) {
	if _, err := readCursor("templates", cursor); err != nil {
		return nil, err
	}
	return &mcp.ListResourceTemplatesResult{
		ResourceTemplates: []*mcp.ResourceTemplate{{
			URITemplate: "skill://{author}/{+path}", Name: "skill-file",
			Description: "A file of an active skill, such as skill://AUTHOR/NAME/SKILL.md and what that names relative to itself.",
		}},
		Cacheable: mcp.Cacheable{TTLMs: ttlTools, CacheScope: "private"},
	}, nil
}

// readResource reads one file of a skill.
func (s *service) readResource(ctx context.Context, t *tenant, uri string) (mcp.Result, error) {
	at, ok := parseURI(uri)
	if !ok {
		return nil, notServed(uri)
	}
	skill, err := s.find(ctx, t, at.ref())
	if err != nil {
		return nil, orNotServed(uri, err)
	}
	name, ok := at.below(skill.Served)
	if !ok {
		return nil, notServed(uri)
	}
	data, err := s.hub.ServedContent(ctx, caller(ctx), skill.ServedSkill, name)
	if err != nil {
		return nil, orNotServed(uri, err)
	}
	contents := &mcp.ResourceContents{URI: uri, MIMEType: mimeOf(name, data)}
	if utf8.Valid(data) {
		contents.Text = string(data)
	} else {
		contents.Blob = data
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}, Cacheable: private}, nil
}

// mimeOf names what a file is, from its name and from whether it is text.
func mimeOf(name string, data []byte) string {
	if kind, ok := typeByName(name); ok {
		return kind
	}
	if utf8.Valid(data) {
		return "text/plain"
	}
	return "application/octet-stream"
}

// typeByName knows what skills have in them. The system's own table would make the
// answer depend on the machine.
func typeByName(name string) (string, bool) {
	kind, ok := types[strings.ToLower(path.Ext(name))]
	return kind, ok
}

var types = map[string]string{
	".md": markdown, ".markdown": markdown, ".yaml": "application/yaml", ".yml": "application/yaml",
	".json": "application/json", ".csv": "text/csv", ".html": "text/html", ".css": "text/css", ".xml": "application/xml",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".svg": "image/svg+xml",
	".webp": "image/webp", ".pdf": "application/pdf",
}
