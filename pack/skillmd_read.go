package pack

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/internal/yamledit"
)

// readSkillMD judges a folder with a SKILL.md by the Agent Skills specification.
// What the specification forbids is a fault; what agents and validators are known
// to disagree on is a warning.
func readSkillMD(t *tree) *Inspection {
	in := &Inspection{Format: SkillMD, Name: t.name}
	file := SkillMD.ManifestFile()
	data, _ := t.file(file)
	parts, faults, warnings := splitSkillMD(data)
	s := skillReader{yamlReader: yamlReader{file: file, faults: faults, warnings: warnings}, tree: t}
	if len(faults) == 0 {
		s.parse(parts.head)
		s.warnings = slices.DeleteFunc(s.warnings, func(e *Error) bool { return e.ID == yamledit.IDBOM }) // said as text.bom
		s.m.Body, s.m.BodyLine = parts.body, parts.bodyLine
		if s.root != nil {
			s.read()
			if s.m.Name != "" {
				in.Name = s.m.Name
			}
		}
		s.body()
		s.hidden(data)
	}
	in.Faults, in.Layout, in.Warnings = s.faults, s.layout, s.warnings
	if len(in.Faults) > 0 {
		return in
	}
	m := &s.m
	in.Pack = &Pack{
		Format: SkillMD, Name: m.Name, Version: s.version, Description: m.Description,
		Tags: s.tags, SkillMD: m, Files: t.files, Warnings: in.Warnings,
	}
	return in
}

type skillReader struct {
	yamlReader
	tree    *tree
	layout  Errors
	m       SkillMDManifest
	version string
	tags    []string
}

func (s *skillReader) read() {
	s.name()
	s.description()
	s.m.License = s.optional("license")
	s.m.Compatibility = s.optional("compatibility")
	if n := utf8.RuneCountInString(s.m.Compatibility); n > maxCompatibility {
		s.fault("compatibility.too-long", s.root.Get("compatibility"), "/compatibility",
			fmt.Sprintf("compatibility is %d characters long, %d are allowed", n, maxCompatibility), "")
	}
	s.metadata()
	s.allowedTools()
	s.unknownKeys()
	s.version = s.m.Metadata["version"]
	if v := s.given("version"); v != nil && s.version == "" {
		s.version = strings.TrimSpace(v.Text)
	}
	s.readTags()
}

func (s *skillReader) name() {
	v := s.root.Get("name")
	text, ok := s.required("name", v)
	if !ok {
		return
	}
	e, ascii := judgeSkillName(text)
	if e != nil {
		e.Place = Place{File: s.file, Line: v.Line, Column: v.Column, Pointer: "/name"}
		if slug := slugOf(text); slug != text && ValidSkillName(slug) == nil {
			e.Hint = "write name: " + slug
		}
		s.faults = append(s.faults, e)
		return
	}
	s.m.Name = text
	s.notString("name", v, "name")
	if !ascii {
		s.warn("name.non-ascii", v, "/name", fmt.Sprintf("name %s has letters beyond a-z, which most validators refuse", quoted(text)), "use a-z, 0-9 and '-' only")
	}
	if s.tree.name != "" && text != s.tree.name {
		e := s.at("pack.name-mismatch", v, "/name", fmt.Sprintf("the name is %s, the folder is called %s", quoted(text), quoted(s.tree.name)))
		e.Kind, e.Hint = KindPack, "rename the folder or change the name: they must be equal, also in case"
		s.faults = append(s.faults, e)
	}
}

// slugOf makes a name that is allowed out of one that is not, where that is
// obvious.
func slugOf(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune(" -_.", r) })
	return strings.Join(words, "-")
}

func (s *skillReader) description() {
	v := s.root.Get("description")
	text, ok := s.required("description", v)
	if !ok {
		return
	}
	text = strings.TrimSpace(text)
	s.m.Description = text
	s.notString("description", v, "description")
	if n := utf8.RuneCountInString(text); n > maxDescription {
		// Skills in wide use are above the limit and agents read them, so this
		// stops checking and publishing, not reading.
		e := s.at("description.too-long", v, "/description", fmt.Sprintf("description is %d characters long, %d are allowed", n, maxDescription))
		e.Hint = "say here what the skill does and when to use it, and move the rest to the body"
		s.layout = append(s.layout, e)
	}
	if i := strings.IndexAny(text, "<>"); i >= 0 {
		s.warn("description.angle", v, "/description", fmt.Sprintf("description has %q, which some agents (Codex) refuse", text[i]), "write it without < and >")
	}
}

// required gives the text of a key that must say something.
func (s *skillReader) required(key string, v *yamledit.Value) (string, bool) {
	if v == nil {
		s.missing(key)
		return "", false
	}
	text, _ := s.scalar(key, v, "/"+key)
	if v.Kind == yamledit.Sequence || v.Kind == yamledit.Map {
		return "", false
	}
	if strings.TrimSpace(text) == "" {
		s.fault(key+".empty", v, "/"+key, key+" is empty", "")
		return "", false
	}
	return text, true
}

// optional gives the text of a key that may be absent.
func (s *skillReader) optional(key string) string {
	v := s.given(key)
	if v == nil {
		return ""
	}
	text, _ := s.scalar(key, v, "/"+key)
	s.notString(key, v, key)
	return text
}

// notString warns about an unquoted value that some agents read as a number or
// the like: they then refuse the skill, or everything in the listing.
func (s *skillReader) notString(id string, v *yamledit.Value, key string) {
	as := v.ReadsAs()
	if as == "" {
		return
	}
	pointer := pointerTo("", key)
	if id == "metadata" {
		pointer = pointerTo("/metadata", key)
	}
	s.warn(id+".not-string", v, pointer, fmt.Sprintf("%s is %s to some agents, which expect text", key, article(as)), quotedForm(key, v))
}

func (s *skillReader) metadata() {
	v := s.given("metadata")
	if v == nil {
		return
	}
	if v.Kind != yamledit.Map {
		s.fault("metadata.type", v, "/metadata", "metadata must be a mapping of names to texts, not "+shape(v), "")
		return
	}
	s.m.Metadata = make(map[string]string, len(v.Map.Entries))
	for i := range v.Map.Entries {
		e := &v.Map.Entries[i]
		if e.Value.Kind == yamledit.Sequence || e.Value.Kind == yamledit.Map {
			s.fault("metadata.type", &e.Value, pointerTo("/metadata", e.Key),
				fmt.Sprintf("metadata %s must be text, not %s", quoted(e.Key), shape(&e.Value)), "write it as one quoted text, such as JSON in single quotes")
			continue
		}
		s.m.Metadata[e.Key] = e.Value.Text
		s.notString("metadata", &e.Value, e.Key)
	}
}

func (s *skillReader) allowedTools() {
	const key = "allowed-tools"
	v := s.given(key)
	switch {
	case v == nil:
	case v.Kind == yamledit.Sequence:
		s.m.AllowedTools = s.list(key, v, "/"+key)
		s.warn("allowed-tools.list", v, "/"+key, "allowed-tools is a list; the specification has one text with spaces between the tools",
			"write allowed-tools: "+yamledit.Text(strings.Join(s.m.AllowedTools, " ")))
	case v.Kind == yamledit.Scalar:
		commas := false
		for _, tool := range splitTools(v.Text) {
			name := strings.Trim(tool, ",")
			commas = commas || name != tool
			if name != "" {
				s.m.AllowedTools = append(s.m.AllowedTools, name)
			}
		}
		if commas {
			s.warn("allowed-tools.commas", v, "/"+key, "there are commas between the tools; the specification has spaces only",
				"write allowed-tools: "+yamledit.Text(strings.Join(s.m.AllowedTools, " ")))
		}
	default:
		s.scalar(key, v, "/"+key)
	}
}

// splitTools splits at blanks, except inside parentheses: Bash(git add:*) is one
// tool.
func splitTools(text string) []string {
	depth := 0
	return strings.FieldsFunc(text, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth = max(0, depth-1)
		}
		return depth == 0 && (r == ' ' || r == '\t' || r == '\n')
	})
}

func (s *skillReader) unknownKeys() {
	for i := range s.root.Entries {
		e := &s.root.Entries[i]
		if slices.Contains(specKeys(), e.Key) {
			continue
		}
		if e.Key != "tags" && (e.Key != "version" || s.m.Metadata["version"] != "" && e.Value.Text != s.m.Metadata["version"]) {
			s.m.OtherKeys = append(s.m.OtherKeys, e.Key)
		}
		if agentKey(e.Key) {
			continue
		}
		hint := "put it below metadata to keep it: agents ignore it or refuse the skill"
		for _, key := range specKeys() {
			if strings.EqualFold(strings.ReplaceAll(e.Key, "_", "-"), key) {
				hint = "write " + key
			}
		}
		at := yamledit.Value{Line: e.Line, Column: e.Column}
		s.warn("key.unknown", &at, pointerTo("", e.Key), fmt.Sprintf("the specification has no key %s", quoted(e.Key)), hint)
	}
}

// readTags reads a key that is not the specification's, so that nothing about it
// is a fault.
func (s *skillReader) readTags() {
	v := s.given("tags")
	if v == nil {
		return
	}
	add := func(tag string) {
		if tag = strings.TrimSpace(tag); tag != "" {
			s.tags = append(s.tags, tag)
		}
	}
	for i := range v.Items {
		if v.Items[i].Kind == yamledit.Scalar {
			add(v.Items[i].Text)
		}
	}
	for tag := range strings.SplitSeq(v.Text, ",") {
		add(tag)
	}
}
