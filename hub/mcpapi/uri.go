package mcpapi

import (
	"net/url"
	"strings"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

const (
	scheme    = "skill://"
	skillFile = "SKILL.md"
	maxURI    = 4096 // bytes
)

// A skill's root is skill://AUTHOR/NAME: the same name under another author is
// another skill, and what was approved for one does not hold for the other. Its last
// segment must be the name in SKILL.md, so where that cannot be the hub's name (a
// kortecx pack called my.skill) it follows: skill://AUTHOR/my.skill/my-skill.
func rootURI(author, name, agentName string) string {
	root := scheme + author + "/" + name
	if agentName != name {
		root += "/" + agentName
	}
	return root
}

func rootOf(s hub.Served) string { return rootURI(s.Author, s.Name, s.AgentName()) }

// fileURI is the URI of a file or folder below a root.
func fileURI(root, path string) string {
	var b strings.Builder
	b.Grow(len(root) + 1 + len(path))
	b.WriteString(root)
	b.WriteByte('/')
	const hex = "0123456789ABCDEF"
	for i := range len(path) {
		c := path[i]
		if c == '/' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

// place is what a URI names: something below the root of a skill.
type place struct {
	author string
	name   string
	rest   []string // behind the name, not escaped any more
}

// parseURI reads a URI. It is taken apart once: an escaped separator and a dotted
// segment are refused, so that nothing is looked up that another reader of the same
// URI would call otherwise.
func parseURI(uri string) (place, bool) {
	rest, ok := strings.CutPrefix(uri, scheme)
	if !ok || len(uri) > maxURI || strings.ContainsAny(rest, "?#") {
		return place{}, false
	}
	segments := strings.Split(rest, "/")
	for i, segment := range segments {
		plain, err := url.PathUnescape(segment)
		if err != nil || plain == "" || plain == "." || plain == ".." || strings.ContainsAny(plain, "/\\\x00") {
			return place{}, false
		}
		segments[i] = plain
	}
	if len(segments) < 2 || hubapi.CheckAuthor(segments[0]) != nil || hubapi.CheckName(segments[1]) != nil {
		return place{}, false
	}
	return place{author: segments[0], name: segments[1], rest: segments[2:]}, true
}

func (p place) ref() hubapi.Ref { return hubapi.Ref{Author: p.author, Name: p.name} }

// below is the path below the root of s, empty for the root itself.
func (p place) below(s hub.Served) (path string, ok bool) {
	rest := p.rest
	if agent := s.AgentName(); agent != s.Name {
		if len(rest) == 0 || rest[0] != agent {
			return "", false
		}
		rest = rest[1:]
	}
	return strings.Join(rest, "/"), true
}
