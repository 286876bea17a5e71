package pack

import (
	"encoding/hex"
	"maps"
	"slices"

	"github.com/zeebo/blake3"

	"github.com/kortecx/kx/internal/strictjson"
)

// SchemaKortecx is the one schema tag that a skill.json may have.
const SchemaKortecx = "kortecx.skill/v1"

// Form says which of the two forms a kortecx manifest has.
type Form byte

// The forms.
const (
	// PackForm is skill.json next to instructions.md: it carries no reference.
	PackForm Form = iota
	// StoredForm is what a catalog keeps: instructions_ref is mandatory.
	StoredForm
)

// KortecxManifest is a skill.json (kortecx.skill/v1), as written: versions are
// kept as text, tags in their order.
type KortecxManifest struct {
	Schema          string
	Name            string
	Version         string // "1" when absent
	Description     string
	Tags            []string
	InstructionsRef string // 64 hex digits in stored form, empty in pack form
	Tools           map[string]string
}

// Canonical gives the one byte form that identities are computed over: compact,
// keys sorted, empty fields left out, the version always there. It is byte-equal
// to the reference's.
func (m *KortecxManifest) Canonical() []byte { return m.encode(false) }

// Indented gives the form for people: two spaces a level, keys sorted, one
// newline at the end.
func (m *KortecxManifest) Indented() []byte { return append(m.encode(true), '\n') }

// InstructionsRef is the content-store name of an instructions body: 64 hex
// digits of its BLAKE3.
func InstructionsRef(body []byte) string {
	sum := blake3.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// SkillRef is the identity that a runtime gives to this manifest together with
// the instructions whose reference is given: 32 hex digits.
func (m *KortecxManifest) SkillRef(instructionsRef string) string {
	stored := *m
	stored.InstructionsRef = instructionsRef
	// The name is framed by zero bytes on both sides. A comment in the
	// reference leaves the second one out; its code has it, and so do the vectors.
	framed := append([]byte("kx-skill\x00"), m.Name...)
	framed = append(framed, 0)
	framed = append(framed, stored.encode(false)...)
	sum := blake3.Sum256(framed)
	return hex.EncodeToString(sum[:16])
}

func (m *KortecxManifest) encode(indent bool) []byte {
	w := manifestWriter{indent: indent, out: make([]byte, 0, 256+len(m.Description))}
	version := m.Version
	if version == "" {
		version = "1"
	}
	w.open('{')
	w.pair("description", m.Description)
	w.pair("instructions_ref", m.InstructionsRef)
	w.name("name")
	w.text(m.Name)
	w.name("schema")
	w.text(m.Schema)
	if len(m.Tags) > 0 {
		w.name("tags")
		w.open('[')
		for _, tag := range m.Tags {
			w.next()
			w.text(tag)
		}
		w.close(']')
	}
	if len(m.Tools) > 0 {
		w.name("tools")
		w.open('{')
		for _, id := range slices.Sorted(maps.Keys(m.Tools)) {
			w.name(id)
			w.text(m.Tools[id])
		}
		w.close('}')
	}
	w.name("version")
	w.text(version)
	w.close('}')
	return w.out
}

// manifestWriter writes the two JSON forms of a manifest, which differ in
// nothing but space.
type manifestWriter struct {
	out    []byte
	indent bool
	depth  int
	filled bool // the container that is open has an element already
}

func (w *manifestWriter) open(c byte) {
	w.out = append(w.out, c)
	w.depth++
	w.filled = false
}

// close ends a container that has at least one element.
func (w *manifestWriter) close(c byte) {
	w.depth--
	w.line()
	w.out = append(w.out, c)
	w.filled = true
}

func (w *manifestWriter) next() {
	if w.filled {
		w.out = append(w.out, ',')
	}
	w.filled = true
	w.line()
}

func (w *manifestWriter) line() {
	if w.indent {
		w.out = append(w.out, '\n')
		for range w.depth {
			w.out = append(w.out, "  "...)
		}
	}
}

func (w *manifestWriter) name(s string) {
	w.next()
	w.text(s)
	w.out = append(w.out, ':')
	if w.indent {
		w.out = append(w.out, ' ')
	}
}

func (w *manifestWriter) text(s string) { w.out = strictjson.AppendString(w.out, s) }

// pair writes a member that is left out when it is empty.
func (w *manifestWriter) pair(name, value string) {
	if value != "" {
		w.name(name)
		w.text(value)
	}
}
