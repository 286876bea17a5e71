package mcpapi

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/yamledit"
	"github.com/kortecx/kx/pack"
)

// extensionID is the skills extension of the protocol (SEP-2640).
const extensionID = "io.modelcontextprotocol/skills"

// skillEntry is one skill of the extension.
type skillEntry struct {
	URI         string          `json:"uri"`
	Frontmatter json.RawMessage `json:"frontmatter"`
	Resources   []skillResource `json:"resources"`
}

type skillResource struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

// freshness are the members that results have in revisions without a handshake. The
// library adds them to its own results only.
type freshness struct {
	ResultType string `json:"resultType,omitempty"`
	TTLMs      *int   `json:"ttlMs,omitempty"`
	CacheScope string `json:"cacheScope,omitempty"`
}

func freshFor(meta map[string]any) freshness {
	if !modern(meta) {
		return freshness{}
	}
	ttl := ttlSkills
	return freshness{ResultType: "complete", TTLMs: &ttl, CacheScope: "private"}
}

type skillsListParams struct {
	mcp.ParamsBase
	Cursor string `json:"cursor,omitempty"`
}

type skillsListResult struct {
	mcp.ResultBase
	freshness
	Skills     []*skillEntry `json:"skills"`
	NextCursor string        `json:"nextCursor,omitempty"`
}

type skillsGetParams struct {
	mcp.ParamsBase
	URI string `json:"uri"`
}

type skillsGetResult struct {
	mcp.ResultBase
	freshness
	Skill *skillEntry `json:"skill"`
}

type directoryParams struct {
	mcp.ParamsBase
	URI    string `json:"uri"`
	Cursor string `json:"cursor,omitempty"`
}

type directoryResult struct {
	mcp.ResultBase
	freshness
	Resources  []*mcp.Resource `json:"resources"`
	NextCursor string          `json:"nextCursor,omitempty"`
}

// addExtension adds the extension's methods.
func (s *service) addExtension(server *mcp.Server) {
	err := errors.Join(
		mcp.AddReceivingCustomMethod(server, "skills/list", func(ctx context.Context, _ *mcp.ServerSession, p *skillsListParams) (*skillsListResult, error) {
			if p == nil {
				p = &skillsListParams{}
			}
			return s.skillsList(ctx, tenantOf(ctx), p)
		}),
		mcp.AddReceivingCustomMethod(server, "skills/get", func(ctx context.Context, _ *mcp.ServerSession, p *skillsGetParams) (*skillsGetResult, error) {
			if p == nil {
				p = &skillsGetParams{}
			}
			return s.skillsGet(ctx, tenantOf(ctx), p)
		}),
		mcp.AddReceivingCustomMethod(server, "resources/directory/read", func(ctx context.Context, _ *mcp.ServerSession, p *directoryParams) (*directoryResult, error) {
			if p == nil {
				p = &directoryParams{}
			}
			return s.directoryRead(ctx, tenantOf(ctx), p)
		}),
	)
	if err != nil { // the names are not the library's own
		panic(err)
	}
}

// skillsList lists skills by name. One that a client would refuse, and with it the
// whole list, is left out and logged.
func (s *service) skillsList(ctx context.Context, t *tenant, p *skillsListParams) (*skillsListResult, error) {
	const list = "skills"
	after, err := readCursor(list, p.Cursor)
	if err != nil {
		return nil, err
	}
	all, snap, err := s.all(ctx, t)
	if err != nil {
		return nil, err
	}
	out := &skillsListResult{Skills: []*skillEntry{}, freshness: freshFor(p.Meta)}
	files, last := 0, ""
	for _, skill := range behind(all, after) {
		if !hasText(skill) {
			continue
		}
		if len(out.Skills) == s.options.PageSize || files >= maxPageFiles {
			out.NextCursor = newCursor(list, last)
			break
		}
		last = skill.Name
		found, err := s.take(ctx, t, snap, hubapi.Ref{Author: skill.Author, Name: skill.Name})
		if e, ok := err.(*hubapi.Error); ok && e.Code == hubapi.NotFound {
			continue // it was withdrawn just now
		}
		if err != nil {
			return nil, err
		}
		entry, why := found.asEntry(s)
		if why != nil {
			continue
		}
		files += len(entry.Resources)
		out.Skills = append(out.Skills, entry)
	}
	return out, nil
}

func (s *service) skillsGet(ctx context.Context, t *tenant, p *skillsGetParams) (*skillsGetResult, error) {
	at, ok := parseURI(p.URI)
	if !ok {
		return nil, notServed(p.URI)
	}
	found, err := s.find(ctx, t, at.ref())
	if err != nil {
		return nil, orNotServed(p.URI, err)
	}
	if path, ok := at.below(found.Served); !ok || path != skillFile {
		return nil, notServed(p.URI)
	}
	entry, why := found.asEntry(s)
	if why != nil {
		return nil, notServed(p.URI)
	}
	return &skillsGetResult{Skill: entry, freshness: freshFor(p.Meta)}, nil
}

// asEntry is the skill for the extension, or why it has no place there. That is
// worked out, and logged, once.
func (i *item) asEntry(s *service) (*skillEntry, error) {
	i.once.Do(func() {
		if i.entry, i.why = newEntry(i.ServedSkill, i.root); i.why != nil {
			s.log.Warn("a skill is left out of skills/list: clients would refuse it", "skill", i.Ref(), "error", i.why.Error())
		}
	})
	return i.entry, i.why
}

// newEntry makes the entry of a skill.
func newEntry(skill *hub.ServedSkill, root string) (*skillEntry, error) {
	if skill.Text == nil {
		return nil, errors.New("it has no SKILL.md")
	}
	front, _, _, faults, _ := pack.SplitFrontmatter(skill.Text)
	if len(faults) > 0 {
		return nil, faults
	}
	m, yamlFaults, _ := yamledit.Parse(front)
	if len(yamlFaults) > 0 {
		return nil, yamlFaults[0]
	}
	frontmatter, err := m.CoreJSON()
	if err != nil {
		return nil, err
	}
	if err := acceptable(frontmatter, root); err != nil {
		return nil, err
	}
	entry := &skillEntry{URI: fileURI(root, skillFile), Frontmatter: frontmatter}
	for _, f := range skill.Files {
		entry.Resources = append(entry.Resources, skillResource{
			URI: fileURI(root, f.Path), Digest: "sha256:" + hex.EncodeToString(f.Sum[:]), Size: f.Size,
		})
	}
	return entry, nil
}

// What hosts want of frontmatter, in characters.
const (
	maxDescription   = 1024
	maxCompatibility = 500
)

// acceptable says why a host that checks entries would refuse this frontmatter.
func acceptable(frontmatter []byte, root string) error {
	var read map[string]any
	if err := json.Unmarshal(frontmatter, &read); err != nil {
		return err
	}
	name, ok := read["name"].(string)
	if !ok || pack.ValidSkillName(name) != nil {
		return errors.New("its name is not the text that it must be")
	}
	if !strings.HasSuffix(root, "/"+name) {
		return fmt.Errorf("its name %q is not the last part of %s", clip(name, 80), root)
	}
	if err := textOf(read, "description", maxDescription, true); err != nil {
		return err
	}
	if err := textOf(read, "compatibility", maxCompatibility, false); err != nil {
		return err
	}
	if metadata, there := read["metadata"]; there {
		values, ok := metadata.(map[string]any)
		if !ok {
			return errors.New("its metadata is no mapping")
		}
		for key, value := range values {
			if _, ok := value.(string); !ok {
				return fmt.Errorf("its metadata %q is not text; quote it", clip(key, 80))
			}
			if strings.HasPrefix(key, "io.modelcontextprotocol/") {
				return fmt.Errorf("its metadata %q is the protocol's own", clip(key, 80))
			}
		}
	}
	return nil
}

func textOf(read map[string]any, key string, most int, needed bool) error {
	value, there := read[key]
	if !there && !needed {
		return nil
	}
	text, ok := value.(string)
	if n := utf8.RuneCountInString(text); !ok || n == 0 || n > most {
		return fmt.Errorf("its %s is not text of 1 to %d characters", key, most)
	}
	return nil
}

// directoryRead lists what stands directly in a folder of a skill.
func (s *service) directoryRead(ctx context.Context, t *tenant, p *directoryParams) (*directoryResult, error) {
	list := "directory\n" + p.URI
	after, err := readCursor(list, p.Cursor)
	if err != nil {
		return nil, err
	}
	at, ok := parseURI(p.URI)
	if !ok {
		return nil, notServed(p.URI)
	}
	found, err := s.find(ctx, t, at.ref())
	if err != nil {
		return nil, orNotServed(p.URI, err)
	}
	folder, ok := at.below(found.Served)
	if !ok || !hasText(found.Served) {
		return nil, notServed(p.URI)
	}
	children := childrenOf(found, folder)
	if len(children) == 0 {
		return nil, notServed(p.URI)
	}
	out := &directoryResult{Resources: []*mcp.Resource{}, freshness: freshFor(p.Meta)}
	for _, child := range children {
		if child.URI <= after {
			continue
		}
		if len(out.Resources) == s.options.PageSize {
			out.NextCursor = newCursor(list, out.Resources[len(out.Resources)-1].URI)
			break
		}
		out.Resources = append(out.Resources, child)
	}
	return out, nil
}

// childrenOf are the files and folders directly in a folder of a skill, by URI.
func childrenOf(found *item, folder string) []*mcp.Resource {
	prefix := ""
	if folder != "" {
		prefix = folder + "/"
	}
	var out []*mcp.Resource
	seen := map[string]bool{}
	for _, f := range found.Files {
		rest, ok := strings.CutPrefix(f.Path, prefix)
		if !ok {
			continue
		}
		name, _, deeper := strings.Cut(rest, "/")
		if seen[name] {
			continue
		}
		seen[name] = true
		r := &mcp.Resource{URI: fileURI(found.root, prefix+name), Name: name, MIMEType: directory}
		if !deeper {
			r.Size = f.Size
			r.MIMEType = "application/octet-stream"
			if kind, ok := typeByName(name); ok {
				r.MIMEType = kind
			}
			if f.Path == skillFile {
				main := mainResource(found.Served)
				main.Size = f.Size
				r = main
			}
		}
		out = append(out, r)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].URI < out[j].URI })
	return out
}
