package mcpapi

import (
	"strings"
	"testing"
)

// What a URI is taken apart into names the same place when it is put together again,
// and never leaves it.
func FuzzParseURI(f *testing.F) {
	for _, seed := range []string{
		"skill://acme/triage/SKILL.md", "skill://acme/triage", "skill://acme/my.skill/my-skill/SKILL.md", "skill://a/b/%2e%2e/c",
		"skill://a/b/c%2Fd", "skill://a/b//c", "skill://a/b/c?d#e", "skill://a/b/%00", "skill://A/b", "skill://a/b/ü%C3%BC", "file:///x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		at, ok := parseURI(uri)
		if !ok {
			return
		}
		for _, segment := range append([]string{at.author, at.name}, at.rest...) {
			if segment == "" || segment == "." || segment == ".." || strings.ContainsAny(segment, "/\\\x00") {
				t.Fatalf("%q has the segment %q", uri, segment)
			}
		}
		root := rootURI(at.author, at.name, at.name)
		if len(at.rest) > 0 {
			root = fileURI(root, strings.Join(at.rest, "/"))
		}
		if len(root) > maxURI {
			return // every byte may need three
		}
		again, ok := parseURI(root)
		if !ok || again.author != at.author || again.name != at.name || strings.Join(again.rest, "/") != strings.Join(at.rest, "/") {
			t.Fatalf("%q became %q and that %+v", uri, root, again)
		}
	})
}

// A cursor is taken for its own list only, and gives back what it was made of.
func FuzzCursor(f *testing.F) {
	f.Add("skills", "triage", "skills", "")
	f.Add("skills", "triage", "prompts", "AAAA")
	f.Fuzz(func(t *testing.T, list, after, other, made string) {
		if after == "" || len(after) > 1000 {
			return
		}
		cursor := newCursor(list, after)
		if got, err := readCursor(list, cursor); err != nil || got != after {
			t.Fatalf("%q of %q became %q, %v", after, list, got, err)
		}
		if other != list {
			if _, err := readCursor(other, cursor); err == nil {
				t.Fatalf("a cursor of %q is taken for %q", list, other)
			}
		}
		if made != "" && made != cursor {
			if got, err := readCursor(list, made); err == nil && got == after {
				t.Fatalf("two cursors for one place: %q and %q", cursor, made)
			}
		}
	})
}
