package deliver

import (
	"bytes"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/yamledit"
	"github.com/kortecx/kx/pack"
)

const (
	skillFile        = "SKILL.md"
	instructionsFile = "instructions.md"

	// maxDescription is how many characters the Agent Skills specification
	// allows; agents drop a skill that has more.
	maxDescription = 1024
	// maxPath is what other programs can open, in bytes.
	maxPath = 4095

	fileMode       = 0o644
	executableMode = 0o755
)

// Slug is the name of the folder that p becomes. Agents that read SKILL.md want
// it to be the skill's name in their grammar, which is narrower than that of a
// kortecx pack: there a dot or an underscore becomes a hyphen. It is empty when no
// name can be made of p's.
func Slug(p *pack.Pack) string {
	if p.Format != pack.Kortecx || pack.ValidSkillName(p.Name) == nil {
		return p.Name
	}
	words := strings.FieldsFunc(p.Name, func(r rune) bool { return r == '.' || r == '_' || r == '-' })
	return strings.Join(words, "-")
}

// checkSlug refuses a folder name that p cannot have.
func checkSlug(p *pack.Pack, slug string) error {
	var why string
	switch {
	case hubapi.CheckName(slug) != nil:
		why = "a folder name starts with a-z or 0-9, goes on with a-z, 0-9, '.', '_' or '-', and has at most 64 bytes"
	case p.Format == pack.SkillMD && slug != p.Name:
		why = "its SKILL.md says another name, and agents want the folder to have that one"
	case p.Format == pack.Kortecx:
		if err := pack.ValidSkillName(slug); err != nil {
			why = err.Text
		}
	}
	if why == "" {
		return nil
	}
	return refusal(hubapi.Invalid, IDName, "", "the pack %q cannot be installed as %q: %s", p.Name, slug, why).
		WithHint("name the folder yourself, or rename the pack")
}

// Render gives the files that p is for an agent: those of the pack as they are,
// or one SKILL.md made of a kortecx pack. The same pack gives the same bytes. The
// marker is not among them.
func Render(p *pack.Pack) ([]fsx.File, error) {
	return render(p, Slug(p))
}

func render(p *pack.Pack, slug string) ([]fsx.File, error) {
	if err := checkSlug(p, slug); err != nil {
		return nil, err
	}
	if p.Format == pack.Kortecx {
		text := append(skillHead(p.Kortecx, slug, p.Digest()), p.Instructions()...)
		return []fsx.File{{Path: skillFile, Data: text, Perm: fileMode}}, nil
	}
	files := make([]fsx.File, 0, len(p.Files)+1) // room for the marker
	for _, f := range p.Files {
		// Some disks fold case, and there it would be the marker itself.
		if top, _, _ := strings.Cut(f.Path, "/"); strings.EqualFold(top, MarkerFile) || strings.EqualFold(top, foreignMarker) {
			return nil, refusal(hubapi.Invalid, IDReserved, f.Path, "the pack %q has a file %s, which is how installers mark their folders", p.Name, f.Path)
		}
		if err := pack.CheckPath(f.Path); err != nil {
			return nil, refusal(hubapi.Invalid, err.ID, f.Path, "the pack %q cannot be installed: %s", p.Name, err.Text)
		}
		perm := fs.FileMode(fileMode)
		if f.Executable {
			perm = executableMode
		}
		files = append(files, fsx.File{Path: f.Path, Data: f.Data, Perm: perm})
	}
	return files, nil
}

// checkLengths refuses files that could be written below root but that no
// program could open by their path.
func checkLengths(root, slug string, files []fsx.File) error {
	for _, f := range files {
		if n := len(root) + 1 + len(slug) + 1 + len(f.Path); n > maxPath {
			return refusal(hubapi.Invalid, IDTooLong, path.Join(slug, f.Path), "the path of %s would be %d bytes long, %d are allowed", path.Base(f.Path), n, maxPath)
		}
	}
	return nil
}

// skillHead is the frontmatter of a kortecx pack's SKILL.md; the instructions
// follow it byte for byte. The marker's version counts its form: another form
// needs another version, and this one stays readable.
//
// Wished tools are told, never granted: allowed-tools would let an agent take
// them for a permission.
func skillHead(m *pack.KortecxManifest, slug string, digest pack.Digest) []byte {
	var b bytes.Buffer
	b.WriteString("---\n")
	b.WriteString("name: " + plainName(slug) + "\n")
	b.WriteString("description: " + yamledit.Quote(description(m.Description, slug)) + "\n")
	b.WriteString("metadata:\n")
	b.WriteString("  version: " + yamledit.Quote(m.Version) + "\n")
	b.WriteString("  kx-digest: " + yamledit.Quote(string(digest)) + "\n")
	if len(m.Tools) > 0 {
		wishes := make([]string, 0, len(m.Tools))
		for _, id := range slices.Sorted(maps.Keys(m.Tools)) {
			wishes = append(wishes, id+"@"+m.Tools[id])
		}
		b.WriteString("  kx-wishes: " + yamledit.Quote(strings.Join(wishes, " ")) + "\n")
	}
	b.WriteString("---\n")
	return b.Bytes()
}

// plainName leaves a name without quotes where that is the same text to every
// reader, because some agents read the frontmatter line by line.
func plainName(slug string) string {
	if slug[0] >= 'a' && slug[0] <= 'z' && yamledit.ReadsAs(slug) == "" {
		return slug
	}
	return yamledit.Quote(slug)
}

// description is what an agent decides by. It may be neither empty nor too long.
func description(text, slug string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return "Instructions for " + strings.ReplaceAll(slug, "-", " ") + "."
	}
	if utf8.RuneCountInString(text) <= maxDescription {
		return text
	}
	cut := 0
	for range maxDescription - 1 {
		_, size := utf8.DecodeRuneInString(text[cut:])
		cut += size
	}
	return text[:cut] + "…"
}
