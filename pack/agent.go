package pack

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/internal/yamledit"
)

// SkillName is the name of the skill that p is to agents. Agents that read SKILL.md
// want the folder to have it, in a grammar that is narrower than that of a kortecx
// pack: there a dot or an underscore becomes a hyphen. It is empty when no name can
// be made of p's.
func SkillName(p *Pack) string {
	if p.Format != Kortecx || ValidSkillName(p.Name) == nil {
		return p.Name
	}
	words := strings.FieldsFunc(p.Name, func(r rune) bool { return r == '.' || r == '_' || r == '-' })
	return strings.Join(words, "-")
}

// AgentFiles gives the files that p is for an agent: those of the pack as they are,
// or one SKILL.md made of a kortecx pack. The same pack gives the same bytes. The
// error is an *Error: p's name cannot be that of a skill.
func AgentFiles(p *Pack) ([]File, error) { return AgentFilesAs(p, SkillName(p)) }

// AgentFilesAs is AgentFiles under a name that somebody chose instead of
// SkillName(p). Only the SKILL.md that is made of a kortecx pack depends on it.
func AgentFilesAs(p *Pack, name string) ([]File, error) {
	if p.Format != Kortecx {
		return p.Files, nil
	}
	if err := ValidSkillName(name); err != nil {
		return nil, err
	}
	text := append(p.Kortecx.AgentHead(name, p.Digest()), p.Instructions()...)
	return []File{{Path: SkillMD.ManifestFile(), Data: text}}, nil
}

// AgentHead is the frontmatter of the SKILL.md that a kortecx pack with that digest
// becomes under a name that ValidSkillName accepts; the instructions follow it byte
// for byte. The version of deliver's marker counts its form: another
// form needs another version, and this one stays readable.
//
// Wished tools are told, never granted: allowed-tools would let an agent take
// them for a permission.
func (m *KortecxManifest) AgentHead(name string, digest Digest) []byte {
	var b bytes.Buffer
	b.WriteString("---\n")
	b.WriteString("name: " + bareName(name) + "\n")
	b.WriteString("description: " + yamledit.Quote(agentDescription(m.Description, name)) + "\n")
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

// bareName leaves a name without quotes where that is the same text to every
// reader, because some agents read the frontmatter line by line.
func bareName(name string) string {
	if name[0] >= 'a' && name[0] <= 'z' && yamledit.ReadsAs(name) == "" {
		return name
	}
	return yamledit.Quote(name)
}

// agentDescription is what an agent decides by. It may be neither empty nor too
// long.
func agentDescription(text, name string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return "Instructions for " + strings.ReplaceAll(name, "-", " ") + "."
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
