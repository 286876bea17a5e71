package mcpapi_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/mcpapi"
	"github.com/kortecx/kx/hubapi"
)

var eras = []string{"2025-06-18", modernEra}

// C.6: what is staged is on no surface, and asking for it is answered as asking for
// what does not exist.
func TestNothingStagedIsServed(t *testing.T) {
	s := start(t, mcpapi.Options{Loopback: true})
	s.shelf()
	said := func(what string, out any) {
		t.Helper()
		text, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"hidden plan", "Not yet.", "local/secret/SKILL.md\",\"name"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s tells of what is staged: %s", what, text)
			}
		}
	}
	for _, era := range eras {
		for _, method := range []string{"initialize", "server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list", "skills/list"} {
			params := map[string]any{}
			if method == "initialize" {
				params = map[string]any{"protocolVersion": era, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"}}
			}
			_, out := s.message(era, method, params)
			said(method, out)
		}
		for _, method := range []string{"resources/read", "skills/get", "resources/directory/read"} {
			for _, form := range []string{"skill://local/%s/SKILL.md", "skill://local/%s", "skill://local/%s/SKILL.md?x", "skill://local/%s/../%[1]s/SKILL.md", "skill://other/%s/SKILL.md"} {
				var answers []any
				for _, name := range []string{"secret", "nothing"} {
					status, out := s.message(era, method, map[string]any{"uri": fmt.Sprintf(form, name)})
					said(method, out)
					fault, _ := out["error"].(map[string]any)
					if fault == nil || fault["code"].(float64) != -32602 {
						t.Fatalf("%s of %s: %v", method, name, out)
					}
					delete(fault, "data")
					answers = append(answers, []any{status, fault})
				}
				if diff := cmp.Diff(answers[1], answers[0]); diff != "" {
					t.Errorf("%s: staged and absent differ: %s", method, diff)
				}
			}
		}
		_, staged := s.message(era, "prompts/get", map[string]any{"name": "secret"})
		_, absent := s.message(era, "prompts/get", map[string]any{"name": "nobody"})
		if diff := cmp.Diff(absent["error"].(map[string]any)["code"], staged["error"].(map[string]any)["code"]); diff != "" {
			t.Error(diff)
		}
		said("prompts/get", staged)
	}
	for _, arguments := range []map[string]any{{"name": "secret"}, {"name": "local/secret"}, {"name": "secret@1"}, {"uri": "skill://local/secret/SKILL.md"}, {"uri": "skill://local/secret"}} {
		text, failed := s.call("read_skill", arguments)
		said("read_skill", text)
		if !failed {
			t.Errorf("read_skill %v: %s", arguments, text)
		}
	}
	for _, query := range []string{"secret", "hidden plan of staging", ""} {
		text, _ := s.call("search_skills", map[string]any{"query": query})
		said("search_skills", text)
		if strings.Contains(text, "secret") {
			t.Errorf("search_skills finds it: %s", text)
		}
	}
	// It was there all the time, and is served once it is active.
	if _, err := s.hub.Approve(t.Context(), hub.LocalAdmin(), hubapi.Ref{Name: "secret"}); err != nil {
		t.Fatal(err)
	}
	if text, failed := s.call("read_skill", map[string]any{"name": "secret"}); failed || !strings.Contains(text, "Not yet.") {
		t.Errorf("what is active is not served: %s", text)
	}
}

// What another tenant has is as absent as what nobody has.
func TestTenantsAreStrangers(t *testing.T) {
	s := start(t, mcpapi.Options{Loopback: true})
	other := hub.Principal{ID: "x", Tenant: "other", Role: hub.Admin, Authors: []string{"spy"}}
	if _, err := s.hub.NewTenant(t.Context(), hub.LocalAdmin(), hubapi.NewTenant{ID: "other"}); err != nil {
		t.Fatal(err)
	}
	s.push(hub.LocalAdmin(), "local", true, "mine", skillMD("mine", "Ours alone.", "", "x"))
	s.push(other, "spy", false, "theirs", skillMD("theirs", "Theirs alone.", "", "x"))
	reviewer := hub.Principal{ID: "y", Tenant: "other", Role: hub.Reviewer}
	if _, err := s.hub.Approve(t.Context(), reviewer, hubapi.Ref{Name: "theirs"}); err != nil {
		t.Fatal(err)
	}
	for _, era := range eras {
		for _, method := range []string{"resources/list", "prompts/list", "skills/list"} {
			text, _ := json.Marshal(s.result(era, method, nil))
			has(t, string(text), "Ours alone.")
			if strings.Contains(string(text), "Theirs") {
				t.Errorf("%s: %s", method, text)
			}
		}
	}
	if status, out := s.message(modernEra, "resources/read", map[string]any{"uri": "skill://spy/theirs/SKILL.md"}); status == 200 {
		t.Errorf("%v", out)
	}
}

// pages follows the cursors of a list.
func (s *running) pages(era, method, member string, params map[string]any) (all []map[string]any, pages int) {
	s.t.Helper()
	for cursor := ""; ; pages++ {
		ask := maps.Clone(params)
		if ask == nil {
			ask = map[string]any{}
		}
		if cursor != "" {
			ask["cursor"] = cursor
		}
		result := s.result(era, method, ask)
		for _, one := range result[member].([]any) {
			all = append(all, one.(map[string]any))
		}
		if cursor, _ = result["nextCursor"].(string); cursor == "" {
			return all, pages + 1
		}
	}
}

// Every page of one item, the lists are the same as in one page.
func TestPagesOfOne(t *testing.T) {
	one, whole := start(t, mcpapi.Options{Loopback: true, PageSize: 1}), start(t, mcpapi.Options{Loopback: true})
	one.shelf()
	whole.shelf()
	for _, era := range eras {
		for method, member := range map[string]string{"resources/list": "resources", "prompts/list": "prompts", "skills/list": "skills", "resources/directory/read": "resources"} {
			params := map[string]any{}
			if method == "resources/directory/read" {
				params["uri"] = "skill://acme/triage"
			}
			few, n := one.pages(era, method, member, params)
			all, m := whole.pages(era, method, member, params)
			if diff := cmp.Diff(all, few); diff != "" || n != len(all) || m != 1 || len(all) < 3 {
				t.Errorf("%s: %d pages of %d, %s", method, n, len(all), diff)
			}
		}
	}
	// A cursor is of its list alone.
	cursor := one.result(modernEra, "resources/list", nil)["nextCursor"].(string)
	for _, method := range []string{"prompts/list", "skills/list"} {
		for _, wrong := range []string{cursor, cursor + "A", "%%", strings.Repeat("A", 9000), base64.RawURLEncoding.EncodeToString([]byte("triage"))} {
			if status, out := one.message(modernEra, method, map[string]any{"cursor": wrong}); status != 400 || out["error"].(map[string]any)["code"].(float64) != -32602 {
				t.Errorf("%s takes the cursor %.40s: %d %v", method, wrong, status, out)
			}
		}
	}
}

// Walking the folders of every skill finds exactly the files of its entry, and each
// is what its digest says.
func TestEntriesAreComplete(t *testing.T) {
	s := start(t, mcpapi.Options{Loopback: true})
	s.shelf()
	for _, era := range eras {
		entries, _ := s.pages(era, "skills/list", "skills", nil)
		if len(entries) != 3 {
			t.Fatalf("%d entries", len(entries))
		}
		for _, entry := range entries {
			uri := entry["uri"].(string)
			root := strings.TrimSuffix(uri, "/SKILL.md")
			name := entry["frontmatter"].(map[string]any)["name"].(string)
			if !strings.HasSuffix(root, "/"+name) {
				t.Errorf("%s is called %s", uri, name)
			}
			got := s.result(era, "skills/get", map[string]any{"uri": uri})
			if diff := cmp.Diff(entry, got["skill"]); diff != "" {
				t.Errorf("list and get differ: %s", diff)
			}
			if _, modern := got["resultType"]; modern != (era == modernEra) {
				t.Errorf("%s: %v", era, got)
			}
			if era == modernEra && (got["cacheScope"] != "private" || got["ttlMs"].(float64) != 5000) {
				t.Errorf("%v", got)
			}
			var walked []string
			s.walk(era, root, &walked)
			var listed []string
			for _, r := range entry["resources"].([]any) {
				resource := r.(map[string]any)
				listed = append(listed, resource["uri"].(string))
				contents := s.result(era, "resources/read", map[string]any{"uri": resource["uri"]})["contents"].([]any)[0].(map[string]any)
				data := []byte(fmt.Sprint(contents["text"]))
				if blob, ok := contents["blob"].(string); ok {
					data, _ = base64.StdEncoding.DecodeString(blob)
				}
				sum := sha256.Sum256(data)
				if resource["digest"] != "sha256:"+hex.EncodeToString(sum[:]) || resource["size"].(float64) != float64(len(data)) {
					t.Errorf("%v is %d bytes of %x", resource, len(data), sum)
				}
			}
			slices.Sort(walked)
			slices.Sort(listed)
			if diff := cmp.Diff(walked, listed); diff != "" {
				t.Errorf("%s: folders and entry differ: %s", uri, diff)
			}
		}
	}
}

func (s *running) walk(era, folder string, out *[]string) {
	children, _ := s.pages(era, "resources/directory/read", "resources", map[string]any{"uri": folder})
	for _, child := range children {
		if child["mimeType"] == "inode/directory" {
			s.walk(era, child["uri"].(string), out)
			continue
		}
		*out = append(*out, child["uri"].(string))
	}
}

// A skill whose frontmatter hosts would refuse hides itself in the extension, and no
// other skill; agents read it as before.
func TestOneBadSkillHidesNoOther(t *testing.T) {
	s := start(t, mcpapi.Options{Loopback: true})
	s.shelf()
	for name, more := range map[string]string{
		"numbered": "metadata:\n  version: 1.0\n",
		"infinite": "limit: .inf\n",
		"keyed":    "hooks:\n  1: x\n",
	} {
		s.push(hub.LocalAdmin(), "local", true, name, skillMD(name, "A skill with odd frontmatter.", more, "x"))
	}
	s.push(hub.LocalAdmin(), "local", true, "typed", skillMD("typed", "A skill with typed frontmatter.", "hooks: {day: 2026-01-02, octal: 010, grouped: 1_000, exponent: 1e3, flag: yes}\n", "x"))
	entries, _ := s.pages(modernEra, "skills/list", "skills", nil)
	var names []string
	for _, entry := range entries {
		frontmatter := entry["frontmatter"].(map[string]any)
		names = append(names, frontmatter["name"].(string))
		if frontmatter["name"] == "typed" {
			want := map[string]any{"day": "2026-01-02", "octal": 10.0, "grouped": "1_000", "exponent": 1000.0, "flag": "yes"}
			if diff := cmp.Diff(want, frontmatter["hooks"]); diff != "" {
				t.Error(diff)
			}
		}
	}
	if diff := cmp.Diff([]string{"git-workflow", "my-skill", "triage", "typed"}, names); diff != "" {
		t.Error(diff)
	}
	if text, failed := s.call("read_skill", map[string]any{"name": "numbered"}); failed {
		t.Error(text)
	}
	resources, _ := s.pages(modernEra, "resources/list", "resources", nil)
	if len(resources) != 7 {
		t.Errorf("%d resources", len(resources))
	}
}

func TestReadSkillBeginsWithItsOriginAndIsPlain(t *testing.T) {
	s := start(t, mcpapi.Options{Loopback: true})
	s.shelf()
	for _, tt := range []struct {
		arguments map[string]any
		want      string
	}{
		{map[string]any{"name": "triage"}, "See references/Q&A.md."},
		{map[string]any{"name": "acme/triage"}, "See references/Q&A.md."},
		{map[string]any{"name": "acme/triage@1"}, "See references/Q&A.md."},
		{map[string]any{"uri": "skill://acme/triage/SKILL.md"}, "See references/Q&A.md."},
		{map[string]any{"uri": "skill://acme/triage"}, "See references/Q&A.md."},
		{map[string]any{"uri": "skill://acme/triage/references/Q&A.md"}, "# Questions"},
		{map[string]any{"uri": "skill://acme/triage/references/Q%26A.md"}, "# Questions"},
		{map[string]any{"uri": "skill://acme/triage/logo.png"}, "not text"},
		{map[string]any{"uri": "skill://local/my.skill/my-skill/SKILL.md"}, "# My skill"},
		{map[string]any{"name": "my.skill"}, "# My skill"},
	} {
		result := s.result(modernEra, "tools/call", map[string]any{"name": "read_skill", "arguments": tt.arguments})
		content := result["content"].([]any)
		text := content[0].(map[string]any)["text"].(string)
		if len(content) != 1 || result["structuredContent"] != nil || !strings.HasPrefix(text, "[skill skill://") || !strings.Contains(text, tt.want) {
			t.Errorf("%v: %v", tt.arguments, result)
		}
	}
	for _, arguments := range []map[string]any{
		{},
		{"name": "triage", "uri": "skill://acme/triage"},
		{"name": "other/triage"},
		{"name": "triage@2"},
		{"name": "../x"},
		{"uri": "skill://acme/triage/../../x"},
		{"uri": "skill://acme/triage/references"},
		{"uri": "skill://acme/triage/%2e%2e/triage/SKILL.md"},
		{"uri": "skill://acme/triage/references%2FQ&A.md"},
		{"uri": "skill://local/my.skill/SKILL.md"},
		{"uri": "file:///etc/passwd"},
		{"x": 1},
	} {
		if text, failed := s.call("read_skill", arguments); !failed {
			t.Errorf("%v: %s", arguments, text)
		}
	}
}

func TestPromptsAreCapped(t *testing.T) {
	s := start(t, mcpapi.Options{Loopback: true, Prompts: 2})
	s.shelf()
	prompts, _ := s.pages(modernEra, "prompts/list", "prompts", nil)
	if len(prompts) != 2 {
		t.Errorf("%d prompts", len(prompts))
	}
	got := s.result(modernEra, "prompts/get", map[string]any{"name": "triage", "arguments": map[string]any{"task": "fix the login"}})
	text := got["messages"].([]any)[0].(map[string]any)["content"].(map[string]any)["text"].(string)
	has(t, text, "fix the login")
	has(t, text, "See references/Q&A.md.")
	none := start(t, mcpapi.Options{Loopback: true, Prompts: -1})
	none.shelf()
	if prompts, _ := none.pages(modernEra, "prompts/list", "prompts", nil); len(prompts) != 0 {
		t.Errorf("%d prompts", len(prompts))
	}
}

// The instructions stay within what every client takes, whatever the skills say.
func TestInstructionsAreShort(t *testing.T) {
	s := start(t, mcpapi.Options{Loopback: true})
	for i := range 30 {
		name := fmt.Sprintf("skill-%d", i)
		s.push(hub.LocalAdmin(), "local", true, name, skillMD(name, strings.Repeat("é", 600), "", "x"))
	}
	for _, era := range eras {
		method, params := "server/discover", map[string]any{}
		if era != modernEra {
			method, params = "initialize", map[string]any{"protocolVersion": era, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"}}
		}
		text := s.result(era, method, params)["instructions"].(string)
		if len(text) > 1024 || !strings.Contains(text, "search_skills") || !strings.Contains(text, "skill://local/skill-29/SKILL.md") || !strings.Contains(text, "30 active") {
			t.Errorf("%d bytes: %s", len(text), text)
		}
	}
}
