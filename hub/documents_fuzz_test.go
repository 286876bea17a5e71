package hub

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// FuzzSkillWrite: whatever is written as a skill is refused with a reason, or is a
// pack that says what was written and that every reader takes the same head from.
func FuzzSkillWrite(f *testing.F) {
	for _, seed := range []string{
		`{"name":"A: b","slug":"a","description":"d: \"x\"","domain":"x # y","kind":"create","source":"agent","content":"hello","tags":["- a","true"],"summary":"s"}`,
		`{"name":"a","slug":"a","description":"d","domain":"","kind":"update","source":"imported","target":{"target_content_hash":"sha256:00"}}`,
		`{"name":"a","slug":"a","description":"d","domain":"x","kind":"create","source":"agent","content":"---\nname: a\ndescription: other\n---\ntext"}`,
		`{"name":"a","slug":"a","description":"d","domain":"x","kind":"create","source":"agent","content":"\ufeff--- \nname: a\nallowed-tools: Bash\n---\n"}`,
		`{"name":"a","slug":"a","description":"d","domain":"x","kind":"create","source":"agent","content":"x","support_files":[{"path":"a/b.md","body":"x"},{"path":"a/b.md","content":"y"}]}`,
		`{"name":"a","slug":"a","description":"d","domain":"x","kind":"create","source":"agent","content":"x","support_files":[1,{"path":2},{}],"evidence":{"memory_ids":[1]}}`,
	} {
		f.Add([]byte(seed))
	}
	agent := Principal{ID: "bot", Tenant: "t", Role: Agent, Authors: []string{"acme"}}
	h := New(nil, Config{Now: time.Now})
	live := func() ([]string, error) { return []string{"sha256:00"}, nil }
	f.Fuzz(func(t *testing.T, data []byte) {
		typed := func(err error) {
			t.Helper()
			e, ok := errors.AsType[*hubapi.Error](err)
			if !ok || e.Code == hubapi.Internal || e.Message == "" {
				t.Fatalf("%v", err)
			}
		}
		root, err := readDocumentData(data)
		if err != nil {
			typed(err)
			return
		}
		for _, read := range []func() (*skillDraft, error){
			func() (*skillDraft, error) {
				return checkSkill(agent, "a", root, settingsOf(TenantRow{}), live)
			},
			func() (*skillDraft, error) { return plainSkill(agent, "a", root) },
		} {
			d, err := read()
			if err != nil {
				typed(err)
				continue
			}
			pub, err := h.drafted(agent, d)
			if err != nil {
				typed(err)
				continue
			}
			file, _ := pub.pack.File("SKILL.md")
			text, why := safeText(file)
			if pub.pack.Name != "a" || pub.author != "acme" || why != "" || !strings.HasPrefix(text, "---\n") {
				t.Fatalf("%q by %s is %q: %s", pub.pack.Name, pub.author, text, why)
			}
			again := pack.Read("a", []pack.File{{Path: "SKILL.md", Data: []byte(text)}}, pack.Options{})
			if again.Pack == nil || again.Pack.Description != pub.pack.Description || string(again.Pack.Instructions()) != string(pub.pack.Instructions()) {
				t.Fatalf("what readers get is another skill: %v in %q", again.Err(), text)
			}
			if hasFrontmatter(d.content) {
				continue
			}
			if got := pub.pack.Description; got != strings.TrimSpace(d.head.description) {
				t.Fatalf("the description is %q, was %q", got, d.head.description)
			}
			if tools := pub.pack.SkillMD.AllowedTools; len(tools) > 0 {
				t.Fatalf("a text without frontmatter grants %q", tools)
			}
		}
	})
}
