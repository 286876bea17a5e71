package hub

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/pack"
)

const (
	maxCatalogPage = 256
	maxPreview     = 4096 // bytes of the preview in a form
)

// CatalogAdd puts a kortecx skill into the principal's own catalog, in place of
// the one with its name. With instructions the manifest must be in pack form,
// without them in stored form. A skill that is added again by its ref keeps the
// instructions that it had. Name is the name that the caller expects, or empty.
func (h *Hub) CatalogAdd(ctx context.Context, p Principal, name string, manifest, instructions []byte) (hubapi.CatalogAdded, error) {
	if err := p.check(); err != nil {
		return hubapi.CatalogAdded{}, err
	}
	m, ref, err := catalogSkill(name, manifest, instructions)
	if err != nil {
		return hubapi.CatalogAdded{}, err
	}
	stored := *m
	stored.InstructionsRef = ref
	row := CatalogRow{
		Tenant: p.Tenant, Principal: p.ID, Name: m.Name, Version: m.Version, Description: m.Description,
		Tags: m.Tags, Tools: m.Tools, SkillRef: m.SkillRef(ref), InstructionsRef: ref,
		Manifest: stored.Canonical(), UpdatedAt: h.now(),
	}
	out := hubapi.CatalogAdded{Name: row.Name, SkillRef: row.SkillRef, InstructionsRef: ref}
	err = h.write(ctx, func(w Writer) error {
		old, err := w.CatalogSkill(p.Tenant, p.ID, row.Name)
		there := err == nil
		if err != nil && !errors.Is(err, ErrNoRow) {
			return err
		}
		out.Deduplicated = there && old.SkillRef == row.SkillRef
		row.Instructions = nil
		switch {
		case len(instructions) > 0:
			sum := Sum(sha256.Sum256(instructions))
			row.Instructions = &sum
			if err := w.PutContent(sum, instructions); err != nil {
				return err
			}
		case there && old.InstructionsRef == ref:
			row.Instructions = old.Instructions
		}
		return w.PutCatalogSkill(row)
	})
	return out, err
}

// catalogSkill reads what is added; its ref is that of the instructions, given or
// named.
func catalogSkill(name string, manifest, instructions []byte) (*pack.KortecxManifest, string, error) {
	if len(manifest) == 0 {
		return nil, "", hubapi.Errorf(hubapi.Invalid, "no manifest was sent")
	}
	if len(instructions) > pack.MaxInstructions {
		return nil, "", hubapi.Errorf(hubapi.Invalid, "the instructions have %d bytes, at most %d are kept", len(instructions), pack.MaxInstructions)
	}
	if len(instructions) > 0 && strings.TrimSpace(string(instructions)) == "" {
		return nil, "", hubapi.Errorf(hubapi.Invalid, "the instructions are blank")
	}
	form := pack.StoredForm
	if len(instructions) > 0 {
		form = pack.PackForm
	}
	m, faults, _ := pack.ParseManifest(manifest, form)
	if len(faults) > 0 {
		return nil, "", packError("the manifest is refused", faults)
	}
	if name != "" && name != m.Name {
		return nil, "", hubapi.Errorf(hubapi.Invalid, "the manifest is that of %q, not of %q", m.Name, name)
	}
	if form == pack.PackForm {
		return m, pack.InstructionsRef(instructions), nil
	}
	return m, m.InstructionsRef, nil
}

// CatalogList lists the principal's catalog in order of names, behind the name
// after. Limit 0 means 100; more than 256 is 256.
func (h *Hub) CatalogList(ctx context.Context, p Principal, limit int, after string) (hubapi.CatalogList, error) {
	if err := p.check(); err != nil {
		return hubapi.CatalogList{}, err
	}
	limit, err := clamp(limit, 100, maxCatalogPage)
	if err != nil {
		return hubapi.CatalogList{}, err
	}
	var out hubapi.CatalogList
	err = h.read(ctx, func(r Reader) error {
		rows, err := r.CatalogSkills(p.Tenant, p.ID, after, limit+1)
		if err != nil {
			return err
		}
		out = hubapi.CatalogList{HasMore: len(rows) > limit, Skills: []hubapi.CatalogSkill{}}
		for _, row := range rows[:min(limit, len(rows))] {
			s := summary(row)
			tools := row.Tools
			if tools == nil {
				tools = map[string]string{}
			}
			out.Skills = append(out.Skills, hubapi.CatalogSkill{
				Description: s.Description, InstructionsRef: s.InstructionsRef, Name: s.Name,
				SkillRef: s.SkillRef, Tags: s.Tags, Tools: tools, Version: s.Version,
			})
		}
		return nil
	})
	return out, err
}

func summary(row CatalogRow) hubapi.CatalogSummary {
	tags := row.Tags
	if tags == nil {
		tags = []string{}
	}
	return hubapi.CatalogSummary{
		Description: row.Description, InstructionsRef: row.InstructionsRef, Name: row.Name,
		SkillRef: row.SkillRef, Tags: tags, Version: row.Version,
	}
}

// CatalogForm shows one skill of the principal's catalog: its wishes, whether this
// server could call them now, and the beginning of its instructions. A name that
// is not there is an answer, not an error.
func (h *Hub) CatalogForm(ctx context.Context, p Principal, name string) (hubapi.CatalogForm, error) {
	if err := p.check(); err != nil {
		return hubapi.CatalogForm{}, err
	}
	out := hubapi.CatalogForm{Wishes: []hubapi.Wish{}}
	err := h.read(ctx, func(r Reader) error {
		row, err := r.CatalogSkill(p.Tenant, p.ID, name)
		if errors.Is(err, ErrNoRow) {
			return nil
		}
		if err != nil {
			return err
		}
		s := summary(row)
		out = hubapi.CatalogForm{Found: true, Summary: &s, Wishes: h.wishes(row.Tools)}
		if row.Instructions == nil {
			return nil
		}
		data, err := content(r, *row.Instructions)
		if err != nil {
			return err
		}
		out.InstructionsPreview, out.PreviewTruncated = preview(data)
		return nil
	})
	return out, err
}

func (h *Hub) wishes(tools map[string]string) []hubapi.Wish {
	wishes := make([]hubapi.Wish, 0, len(tools))
	for id, version := range tools {
		wishes = append(wishes, hubapi.Wish{
			ToolID: id, ToolVersion: version,
			Registered: h.tools != nil && h.tools.Registered(id, version),
		})
	}
	sorting.Sort(wishes, func(a, b hubapi.Wish) int { return cmp.Compare(a.ToolID, b.ToolID) })
	return wishes
}

// preview cuts between characters; bytes that are no text become U+FFFD.
func preview(data []byte) (text string, truncated bool) {
	text = strings.ToValidUTF8(string(data), "\uFFFD")
	if len(text) <= maxPreview {
		return text, false
	}
	cut := maxPreview
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut], true
}

// CatalogRemove takes a skill out of the principal's catalog. A name that is not
// there is an answer, not an error.
func (h *Hub) CatalogRemove(ctx context.Context, p Principal, name string) (hubapi.CatalogRemoved, error) {
	if err := p.check(); err != nil {
		return hubapi.CatalogRemoved{}, err
	}
	var out hubapi.CatalogRemoved
	err := h.write(ctx, func(w Writer) error {
		var err error
		out.Removed, err = w.DropCatalogSkill(p.Tenant, p.ID, name)
		return err
	})
	return out, err
}
