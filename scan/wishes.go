package scan

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/pack"
)

// wishes compares what a kortecx pack wishes for with what its instructions name.
func (s *scanner) wishes() {
	if s.pack == nil || s.pack.Format != pack.Kortecx {
		return
	}
	var text *document
	for i := range s.docs {
		if s.docs[i].path == "instructions.md" {
			text = &s.docs[i]
		}
	}
	if text == nil {
		return
	}
	places := s.wishPlaces()
	connectors := map[string]bool{}
	for id := range s.pack.Tools {
		if c, _, ok := strings.Cut(id, "/"); ok {
			connectors[c] = true
		}
	}
	seen := map[string]bool{}
	for at, id := range toolsNamed(text.text, connectors) {
		if _, wished := s.pack.Tools[id]; wished || seen[id] {
			continue
		}
		seen[id] = true
		r := s.set.rule("wish.not-wished")
		s.add(text, r, r.Severity, text.origin(at), id, r.Reason+": "+id)
	}
	for _, id := range slices.Sorted(maps.Keys(s.pack.Tools)) {
		place := places[id]
		if !mentions(text.text, id) {
			s.wish("wish.not-mentioned", id, place, "")
		}
		if verb := irreversible(id); verb != "" {
			s.wish("wish.irreversible", id, place, "the verb is "+verb)
		}
	}
}

func (s *scanner) wish(rule, id string, place [2]int, detail string) {
	r := s.set.rule(rule)
	reason := r.Reason + ": " + id
	if detail != "" {
		reason += " (" + detail + ")"
	}
	s.put(Finding{Rule: r.ID, Severity: r.Severity, File: "skill.json", Line: place[0], Column: place[1], Excerpt: clean(id), Reason: clean(reason), Fix: r.Fix})
}

// wishPlaces gives line and column of each wish in the manifest.
func (s *scanner) wishPlaces() map[string][2]int {
	places := map[string][2]int{}
	data, _ := s.pack.File("skill.json")
	root, _ := strictjson.Parse(data)
	if root == nil {
		return places
	}
	for _, m := range root.Members {
		if m.Name != "tools" || m.Value == nil {
			continue
		}
		for _, tool := range m.Value.Members {
			line, column := strictjson.Position(data, tool.NameOffset)
			places[tool.Name] = [2]int{line, column}
		}
	}
	return places
}

// toolsNamed finds tool ids in instructions: in backticks, or of a connector that
// the pack knows.
func toolsNamed(text string, connectors map[string]bool) map[int]string {
	found := map[int]string{}
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '/')
		if i < 0 {
			return found
		}
		slash := at + i
		at = slash + 1
		start, end := slash, slash+1
		for start > 0 && toolByte(text[start-1]) {
			start--
		}
		for end < len(text) && toolByte(text[end]) {
			end++
		}
		id := strings.TrimRight(text[start:end], ".-_")
		end = start + len(id)
		quoted := start > 0 && text[start-1] == '`' && end < len(text) && text[end] == '`'
		bounded := (start == 0 || text[start-1] != '/' && text[start-1] != '~' && text[start-1] != ':') && (end >= len(text) || text[end] != '/')
		connector, tool, _ := strings.Cut(id, "/")
		if !bounded || connector == "" || tool == "" || pack.ValidToolID(id) != nil {
			continue
		}
		if connectors[connector] || quoted && !pathLike(connector, tool) {
			found[start] = id
		}
	}
}

func toolByte(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.'
}

// pathLike tells whether two words with a slash are rather a path, a branch or a
// media type.
func pathLike(first, second string) bool {
	if path.Ext(second) != "" || strings.HasPrefix(first, ".") {
		return true
	}
	switch first {
	case "src", "docs", "doc", "scripts", "script", "references", "assets", "templates", "tests", "test", "lib", "bin", "app", "pkg", "cmd",
		"internal", "examples", "data", "config", "public", "dist", "build", "out", "tmp", "var", "etc", "usr", "home", "and", "or", "yes",
		"true", "on", "read", "input", "w", "n", "origin", "feature", "feat", "fix", "main", "release", "application", "text", "image", "audio",
		"video", "multipart", "font", "node_modules", "api", "v1", "v2", "skills", "commands", "agents", "hooks", "components", "utils":
		return true
	}
	return false
}

// mentions tells whether instructions name a tool, by its id or by its own name.
func mentions(text, id string) bool {
	if strings.Contains(text, id) {
		return true
	}
	_, name, ok := strings.Cut(id, "/")
	if !ok {
		name = id
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' || r == '.' })
	for _, sep := range [...]string{"-", "_", " ", "", "."} {
		if containsWord(text, strings.Join(words, sep)) {
			return true
		}
	}
	return false
}

// irreversible gives the verb of a tool whose effect cannot be taken back, or "".
func irreversible(id string) string {
	for word := range strings.FieldsFuncSeq(id, func(r rune) bool { return r == '-' || r == '_' || r == '.' || r == '/' }) {
		if containsWordOf("send delete remove post publish transfer pay drop purchase buy withdraw wire destroy terminate cancel revoke wipe erase refund charge "+
			"tweet purge truncate submit checkout trash reply forward deploy merge payment payout sign format kill overwrite unsubscribe", word) {
			return word
		}
	}
	return ""
}
