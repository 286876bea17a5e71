package pack

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/internal/strictjson"
)

// maxFaults bounds the faults and the warnings of one manifest: 64 KiB can hold
// thousands, and nobody reads more than a page.
const maxFaults = 100

// longDescription is where agents start to cut descriptions, in characters.
const longDescription = 1024

// ParseManifest reads a skill.json. The faults are in the order in which the
// reference checks (size, syntax, numbers, authority keys, shape, schema, name,
// version, tools, tags, reference), and all of them, 100 at most. The manifest
// is nil when there are any. Warnings are there either way.
//
// Stricter than the reference: duplicate keys, nesting beyond 32, a top-level
// array, and "." or ".." as a name or in a tool id are refused.
func ParseManifest(data []byte, form Form) (*KortecxManifest, Errors, []*Error) {
	p := manifestParser{data: data}
	m, _ := p.parse(form)
	if len(p.faults) > 0 {
		return nil, p.faults, p.warnings
	}
	return m, nil, p.warnings
}

type manifestParser struct {
	data     []byte
	faults   Errors
	warnings []*Error
	reported map[int]bool // offsets of what an early step refused for its shape already; nil reads as empty
}

// parse gives what could be read of the manifest, and where its name stands.
func (p *manifestParser) parse(form Form) (*KortecxManifest, *strictjson.Node) {
	if len(p.data) > MaxManifest {
		p.faults = append(p.faults, manifestTooLarge(int64(len(p.data))))
		return nil, nil
	}
	root, faults := strictjson.Parse(p.data)
	for _, f := range faults {
		p.fault(KindJSON, f.ID, f.Offset, f.Pointer, f.Text)
	}
	if root == nil {
		return nil, nil
	}
	p.numbersAndKeys(root)
	if root.Kind != strictjson.Object {
		p.notObject(root)
		return nil, nil
	}
	s := p.shape(root)
	m := &KortecxManifest{Version: "1"}
	p.values(m, &s, form)
	p.remarks(m, &s)
	return m, s.name
}

// numbersAndKeys looks through the whole tree for numbers and for keys that
// claim authority: on purpose before the shape is looked at, so that nothing
// hides behind a shape error. A good manifest has neither, so the first look is
// one that builds no pointers.
func (p *manifestParser) numbersAndKeys(root *strictjson.Node) {
	numbers, keys := suspicious(root, root.Kind == strictjson.Object)
	if numbers {
		p.reported = make(map[int]bool)
		p.overflows(root, root, "", nil)
		p.floats(root, "")
	}
	if keys {
		p.authority(root, "", root.Kind == strictjson.Object)
	}
}

func suspicious(n *strictjson.Node, root bool) (numbers, keys bool) {
	if n.Kind == strictjson.Number {
		return true, false
	}
	for _, e := range n.Elems {
		num, key := suspicious(e, false)
		numbers, keys = numbers || num, keys || key
	}
	for i := range n.Members {
		m := &n.Members[i]
		num, key := suspicious(m.Value, false)
		numbers = numbers || num
		if root && m.Name == "tools" {
			continue
		}
		keys = keys || key || denyWord(m.Name) != ""
	}
	return numbers, keys
}

// overflows refuses numbers that a double cannot hold. The reference's parser
// stops at them, so they belong to the syntax step; what is said about them is
// what is wrong with the place they stand in. top is the member of the root
// that is being looked through.
func (p *manifestParser) overflows(root, n *strictjson.Node, pointer string, top *strictjson.Member) {
	if p.full() {
		return
	}
	if n.Kind == strictjson.Number && overflowsDouble(n.Text) {
		switch {
		case root.Kind != strictjson.Object:
			p.notObject(root)
		case known(top.Name):
			p.fault(KindJSON, "json.type", n.Offset, pointer, "a number has no place here, and this one is out of every range")
			p.reported[n.Offset] = true
		default:
			p.unknown(top)
		}
	}
	for i, e := range n.Elems {
		p.overflows(root, e, pointer+"/"+strconv.Itoa(i), top)
	}
	for i := range n.Members {
		m := &n.Members[i]
		if n == root {
			top = m
		}
		p.overflows(root, m.Value, strictjson.Child(pointer, m.Name), top)
	}
}

// overflowsDouble tells whether a number literal is beyond the range of a
// double. It costs nothing for huge exponents: nothing is computed with them.
func overflowsDouble(literal string) bool {
	_, err := strconv.ParseFloat(literal, 64)
	return err != nil
}

// floats refuses every number that is not a 64-bit integer. Numbers have no
// place in a manifest at all; this step only decides what is said about them.
func (p *manifestParser) floats(n *strictjson.Node, pointer string) {
	if p.full() {
		return
	}
	if n.Kind == strictjson.Number && !isInteger(n.Text) && !overflowsDouble(n.Text) {
		p.fault(KindInvalid, "json.float", n.Offset, pointer,
			fmt.Sprintf("the number %s is not a 64-bit integer; floats are not allowed in a manifest", clipped(n.Text)))
	}
	for i, e := range n.Elems {
		p.floats(e, pointer+"/"+strconv.Itoa(i))
	}
	for i := range n.Members {
		p.floats(n.Members[i].Value, strictjson.Child(pointer, n.Members[i].Name))
	}
}

func isInteger(literal string) bool {
	if literal == "-0" {
		return false
	}
	if _, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return true
	}
	_, err := strconv.ParseUint(literal, 10, 64)
	return err == nil
}

// authority refuses keys that claim what only a host can give. The root's tools
// are exempt: a tool may well be called secret/get.
func (p *manifestParser) authority(n *strictjson.Node, pointer string, root bool) {
	if p.full() {
		return
	}
	for i, e := range n.Elems {
		p.authority(e, pointer+"/"+strconv.Itoa(i), false)
	}
	for i := range n.Members {
		m := &n.Members[i]
		if root && m.Name == "tools" {
			continue
		}
		at := strictjson.Child(pointer, m.Name)
		if word := denyWord(m.Name); word != "" {
			p.fault(KindInvalid, "authority.key", m.NameOffset, at,
				fmt.Sprintf("the key %s is forbidden: it contains %q, and a manifest cannot grant authority", quoted(m.Name), word))
		}
		p.authority(m.Value, at, false)
	}
}

// denyWord gives the authority word that a key contains in any ASCII case.
func denyWord(key string) string {
	for _, word := range [...]string{"warrant", "grant", "secret", "credential", "executable"} {
		for i := 0; i+len(word) <= len(key); i++ {
			j := 0
			for j < len(word) && key[i+j]|0x20 == word[j] {
				j++
			}
			if j == len(word) {
				return word
			}
		}
	}
	return ""
}

// shaped holds the values that have the right type.
type shaped struct {
	schema, name, version, description, ref *strictjson.Node
	tags                                    []*strictjson.Node
	tools                                   []strictjson.Member
}

// shape checks members and types, in the document's order and then for what is
// missing.
func (p *manifestParser) shape(root *strictjson.Node) shaped {
	var s shaped
	var schema, name bool
	for i := range root.Members {
		m := &root.Members[i]
		n := m.Value
		switch m.Name {
		case "schema":
			schema = true
			p.stringField(&s.schema, n, "/schema")
		case "name":
			name = true
			p.stringField(&s.name, n, "/name")
		case "version":
			p.stringField(&s.version, n, "/version")
		case "description":
			p.stringField(&s.description, n, "/description")
		case "instructions_ref":
			p.stringField(&s.ref, n, "/instructions_ref")
		case "tags":
			s.tags = nil
			if n.Kind != strictjson.Array {
				p.wrongType(n, "/tags", strictjson.Array)
				continue
			}
			for j, tag := range n.Elems {
				if tag.Kind != strictjson.String {
					p.wrongType(tag, "/tags/"+strconv.Itoa(j), strictjson.String)
					continue
				}
				s.tags = append(s.tags, tag)
			}
		case "tools":
			s.tools = nil
			if n.Kind != strictjson.Object {
				p.wrongType(n, "/tools", strictjson.Object)
				continue
			}
			for _, wish := range n.Members {
				if wish.Value.Kind != strictjson.String {
					p.wrongType(wish.Value, strictjson.Child("/tools", wish.Name), strictjson.String)
					continue
				}
				s.tools = append(s.tools, wish)
			}
		default:
			p.unknown(m)
		}
	}
	if !schema {
		p.fault(KindJSON, "schema.unsupported", root.Offset, "/schema",
			fmt.Sprintf("the key \"schema\" is missing: got nothing, expected %q", SchemaKortecx))
	}
	if !name {
		p.fault(KindJSON, "json.missing-field", root.Offset, "/name", "the key \"name\" is missing")
	}
	return s
}

func (p *manifestParser) stringField(to **strictjson.Node, n *strictjson.Node, pointer string) {
	*to = nil
	if n.Kind != strictjson.String {
		p.wrongType(n, pointer, strictjson.String)
		return
	}
	*to = n
}

func (p *manifestParser) unknown(m *strictjson.Member) {
	if p.reported[m.NameOffset] {
		return
	}
	p.fault(KindJSON, "json.unknown-field", m.NameOffset, strictjson.Child("", m.Name),
		fmt.Sprintf("the key %s is unknown; the keys are schema, name, version, description, tags, instructions_ref, tools", quoted(m.Name)))
	if p.reported != nil {
		p.reported[m.NameOffset] = true
	}
}

func (p *manifestParser) notObject(root *strictjson.Node) {
	if p.reported[root.Offset] {
		return
	}
	p.fault(KindJSON, "json.not-object", root.Offset, "", "expected an object, got "+root.Kind.String())
	if p.reported != nil {
		p.reported[root.Offset] = true
	}
}

func (p *manifestParser) wrongType(n *strictjson.Node, pointer string, want strictjson.Kind) {
	if p.reported[n.Offset] {
		return
	}
	id := "json.type"
	if n.Kind == strictjson.Null {
		id = "json.null"
	}
	p.fault(KindJSON, id, n.Offset, pointer, fmt.Sprintf("expected %v, got %v", want, n.Kind))
}

// values checks the rules on the values that the reference checks once the
// shape is right.
func (p *manifestParser) values(m *KortecxManifest, s *shaped, form Form) {
	if s.schema != nil {
		m.Schema = s.schema.Text
		if m.Schema != SchemaKortecx {
			p.fault(KindSchema, "schema.unsupported", s.schema.Offset, "/schema",
				fmt.Sprintf("the schema is not supported: got %s, expected %q", quoted(m.Schema), SchemaKortecx))
		}
	}
	if s.name != nil {
		m.Name = s.name.Text
		for _, f := range nameFaults(m.Name) {
			p.fault(f.Kind, f.ID, s.name.Offset, "/name", f.Text)
		}
	}
	if s.version != nil {
		m.Version = s.version.Text
		if f := ValidVersion(m.Version); f != nil {
			p.fault(f.Kind, f.ID, s.version.Offset, "/version", f.Text)
		}
	}
	p.wishes(m, s.tools)
	for _, tag := range s.tags {
		m.Tags = append(m.Tags, tag.Text)
		if tag.Text == "" {
			p.fault(KindInvalid, "tags.empty", tag.Offset, "/tags/"+strconv.Itoa(len(m.Tags)-1), "skill.tags has an empty tag")
		}
	}
	if s.description != nil {
		m.Description = s.description.Text
	}
	if s.ref != nil {
		m.InstructionsRef = s.ref.Text
	}
	p.reference(m.InstructionsRef, s.ref, form)
}

// wishes checks the tools in the order of their ids, because the reference does.
func (p *manifestParser) wishes(m *KortecxManifest, tools []strictjson.Member) {
	if len(tools) == 0 {
		return
	}
	sorted := slices.Clone(tools)
	sorting.Stable(sorted, func(a, b strictjson.Member) int { return strings.Compare(a.Name, b.Name) })
	m.Tools = make(map[string]string, len(sorted))
	for _, wish := range sorted {
		version := wish.Value.Text
		m.Tools[wish.Name] = version
		if f := ValidToolID(wish.Name); f != nil {
			p.fault(f.Kind, f.ID, wish.NameOffset, strictjson.Child("/tools", wish.Name), f.Text)
		}
		if id, why := versionFault(version); id != "" {
			p.fault(KindInvalid, "tool.version", wish.Value.Offset, strictjson.Child("/tools", wish.Name),
				fmt.Sprintf("skill.tools[%s] %s %s", quoted(wish.Name), quoted(version), why))
		} else if !canonicalVersion(version) {
			p.nonCanonical(wish.Value.Offset, strictjson.Child("/tools", wish.Name), version)
		}
	}
}

func (p *manifestParser) reference(ref string, n *strictjson.Node, form Form) {
	at := 0
	if n != nil {
		at = n.Offset
	}
	switch {
	case form == PackForm && ref != "":
		p.fault(KindInvalid, "pack.instructions-ref", at, "/instructions_ref",
			"skill.instructions_ref may not stand in a pack: instructions.md is the content")
	case form == StoredForm && ref == "":
		p.fault(KindInvalid, "ref.missing", at, "/instructions_ref", "skill.instructions_ref is missing: a stored manifest needs it")
	case form == StoredForm && !isRef(ref):
		p.fault(KindInvalid, "ref.format", at, "/instructions_ref",
			fmt.Sprintf("skill.instructions_ref %s is not 64 hex digits in lower case", quoted(ref)))
	}
}

func isRef(s string) bool {
	if len(s) != 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// remarks collects what is accepted but worth saying.
func (p *manifestParser) remarks(m *KortecxManifest, s *shaped) {
	if name := m.Name; name != "." && name != ".." && name != "" && (name[0] == '-' || name[0] == '.') {
		p.warn(KindInvalid, "name.leading-punctuation", s.name.Offset, "/name",
			fmt.Sprintf("skill.name %s starts with %q: shells take it for an option or hide it", quoted(name), name[0]))
	}
	if s.version != nil {
		if id, _ := versionFault(m.Version); id == "" && !canonicalVersion(m.Version) {
			p.nonCanonical(s.version.Offset, "/version", m.Version)
		}
	}
	if s.description != nil {
		if n := utf8.RuneCountInString(m.Description); n > longDescription {
			p.warn(KindInvalid, "description.long", s.description.Offset, "/description",
				fmt.Sprintf("skill.description has %d characters; agents cut it at %d", n, longDescription))
		}
		p.controls(s.description, "/description")
	}
	seen := make(map[string]bool, len(s.tags))
	for i, tag := range s.tags {
		pointer := "/tags/" + strconv.Itoa(i)
		if seen[tag.Text] {
			p.warn(KindInvalid, "tags.duplicate", tag.Offset, pointer, fmt.Sprintf("skill.tags has %s twice", quoted(tag.Text)))
		}
		seen[tag.Text] = true
		p.controls(tag, pointer)
	}
}

func (p *manifestParser) nonCanonical(offset int, pointer, version string) {
	p.warn(KindInvalid, "version.non-canonical", offset, pointer,
		fmt.Sprintf("the version %s is not written the short way, and versions are compared as text", quoted(version)))
}

// controls remarks on characters that a terminal would obey.
func (p *manifestParser) controls(n *strictjson.Node, pointer string) {
	if r, ok := terminalControl(n.Text); ok {
		p.warn(KindInvalid, "terminal-escape", n.Offset, pointer, obeyed(r))
	}
}

// terminalControl finds a character that a terminal would obey.
func terminalControl(text string) (rune, bool) {
	for _, r := range text {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return r, true
		}
	}
	return 0, false
}

func obeyed(r rune) string {
	return fmt.Sprintf("the text has the control character U+%04X, which a terminal would obey", r)
}

func known(name string) bool {
	switch name {
	case "schema", "name", "version", "description", "tags", "instructions_ref", "tools":
		return true
	}
	return false
}

func (p *manifestParser) full() bool { return len(p.faults) >= maxFaults }

// Not inlined, for the size of the programs.
//
//go:noinline
func (p *manifestParser) fault(kind Kind, id string, offset int, pointer, text string) {
	if !p.full() {
		p.faults = append(p.faults, p.at(kind, id, offset, pointer, text))
	}
}

func (p *manifestParser) warn(kind Kind, id string, offset int, pointer, text string) {
	if len(p.warnings) < maxFaults {
		p.warnings = append(p.warnings, p.at(kind, id, offset, pointer, text))
	}
}

func (p *manifestParser) at(kind Kind, id string, offset int, pointer, text string) *Error {
	line, column := strictjson.Position(p.data, offset)
	return &Error{
		Kind: kind, ID: id, Text: text,
		Place: Place{File: "skill.json", Line: line, Column: column, Pointer: pointer},
	}
}

func manifestTooLarge(size int64) *Error {
	return &Error{
		Kind: KindInvalid, ID: "manifest.too-large", Place: Place{File: "skill.json"},
		Text: fmt.Sprintf("skill.json is %d bytes long, %d are allowed", size, MaxManifest),
	}
}
