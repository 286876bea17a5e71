package hub_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/pgtest"
)

// eachStore runs a test over SQLite and over PostgreSQL.
func eachStore(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Run("sqlite", func(t *testing.T) { test(t, newHub(t)) })
	t.Run("postgres", func(t *testing.T) {
		store, err := sqlstore.OpenPostgres(t.Context(), pgtest.URL(t), sqlstore.Options{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		f := &fixture{T: t, now: time.Date(2026, 5, 4, 3, 2, 1, 987654321, time.UTC), store: store}
		err = store.Write(t.Context(), func(w hub.Writer) error {
			return errors.Join(w.PutTenant(hub.TenantRow{ID: "team"}), w.PutTenant(hub.TenantRow{ID: "other"}))
		})
		if err != nil {
			t.Fatal(err)
		}
		f.Hub = hub.New(store, hub.Config{Now: func() time.Time { return f.now }, Signatures: fakeSignatures{}, Tools: f.tools})
		test(t, f)
	})
}

func (f *fixture) queried(p hub.Principal, q hubapi.DocumentQuery) (ids []string) {
	f.Helper()
	list, err := f.QueryDocuments(f.Context(), p, q)
	if err != nil {
		f.Fatalf("query: %v", err)
	}
	if list.Count != len(list.Results) || list.Collection != q.Collection {
		f.Errorf("%+v", list)
	}
	for _, item := range list.Results {
		ids = append(ids, item.DocID)
	}
	return ids
}

func (f *fixture) hits(p hub.Principal, q hubapi.DocumentSearch) (ids []string) {
	f.Helper()
	hits, err := f.SearchDocuments(f.Context(), p, q)
	if err != nil {
		f.Fatalf("search: %v", err)
	}
	last := 1.0
	for _, hit := range hits.Results {
		ids = append(ids, hit.Collection+"/"+hit.DocID)
		if hit.Similarity <= 0 || hit.Similarity > last {
			f.Errorf("%s has similarity %v behind %v", hit.DocID, hit.Similarity, last)
		}
		last = hit.Similarity
	}
	if hits.Count != len(hits.Results) || (hits.Collection == nil) != (q.Collection == "") {
		f.Errorf("%+v", hits)
	}
	return ids
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// docs is a tenant with one active, one staged and one quarantined skill, and a
// plain document.
func docs(f *fixture) {
	f.Helper()
	f.live("live-skill", "domain", "mail")
	f.wrote(agent, "skills", "staged-skill", skill("staged-skill", "domain", "mail"))
	f.wrote(agent, "skills", "dirty-skill", skill("dirty-skill", "content", "{{system}} skill"))
	f.wrote(agent, "customers", "c1", json.RawMessage(`{"name": "A skill of Acme"}`))
}

// The following are the lines of table 9.4 of the MemClaw behaviour, for each
// operation. W2: they go through the hub, so that REST and MCP answer alike.

func TestDocRead(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fixture) {
		docs(f)
		if _, err := f.reads(agent, "live-skill"); err != nil {
			t.Errorf("active, opted in: %v", err)
		}
		for _, p := range []hub.Principal{agent, node, publisher, reviewer, admin} {
			for _, slug := range []string{"staged-skill", "dirty-skill", "nothing", "forge/x"} {
				_, err := f.reads(p, slug)
				e := refused(t, slug+" for "+p.ID, err, hubapi.NotFound)
				if e.Message != "not found: skills/"+slug || len(e.Details) > 0 || e.Hint != "" {
					t.Errorf("the answer tells more than that: %+v", e)
				}
			}
		}
		out := f.settingsOut()
		_, err := out.reads(agent, "staged-skill")
		refused(t, "outage, staged", err, hubapi.NotFound)
		if _, err := out.reads(agent, "live-skill"); err != nil {
			t.Errorf("outage, active: %v", err)
		}
		_, err = f.reads(elsewhere, "live-skill")
		refused(t, "another tenant", err, hubapi.NotFound)

		f.optOut()
		if data, err := f.reads(agent, "staged-skill"); err != nil || data.Status != hubapi.Staged {
			t.Errorf("opted out, staged: %+v, %v", data, err)
		}
		_, err = f.reads(agent, "dirty-skill")
		refused(t, "opted out, quarantined", err, hubapi.NotFound)
		_, err = f.reads(elsewhere, "staged-skill")
		refused(t, "foreign staged", err, hubapi.NotFound)
		// The rest of the hub shows what is active, whatever the flag.
		_, err = f.Release(f.Context(), agent, hubapi.Ref{Name: "staged-skill"})
		refused(t, "the release", err, hubapi.NotFound)
	})
}

func TestDocQuery(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fixture) {
		docs(f)
		skills := func(where map[string]any) hubapi.DocumentQuery {
			return hubapi.DocumentQuery{Collection: "skills", Where: where}
		}
		same(t, "no status", f.queried(agent, skills(nil)), []string{"live-skill"})
		same(t, "status active", f.queried(agent, skills(map[string]any{"status": "active"})), []string{"live-skill"})
		same(t, "a domain", f.queried(agent, skills(map[string]any{"domain": "mail"})), []string{"live-skill"})
		same(t, "another domain", f.queried(agent, skills(map[string]any{"domain": "x"})), nil)
		for _, status := range []any{"staged", "ACTIVE", "quarantined", "", true, 1.0} {
			_, err := f.QueryDocuments(f.Context(), admin, skills(map[string]any{"status": status}))
			refused(t, fmt.Sprint("status ", status), err, hubapi.Invalid, "skills-inbox")
			_, err = f.settingsOut().QueryDocuments(f.Context(), agent, skills(map[string]any{"status": status}))
			refused(t, fmt.Sprint("outage, status ", status), err, hubapi.Internal)
		}
		same(t, "outage", f.settingsOut().queried(agent, skills(nil)), []string{"live-skill"})
		same(t, "another tenant", f.queried(elsewhere, skills(nil)), nil)

		f.optOut()
		same(t, "opted out, staged", f.queried(agent, skills(map[string]any{"status": "staged"})), []string{"staged-skill"})
		same(t, "opted out, active", f.queried(agent, skills(map[string]any{"status": "active"})), []string{"live-skill"})
		same(t, "opted out, by slug", f.queried(agent, hubapi.DocumentQuery{Collection: "skills", OrderBy: "slug", Order: "desc"}), []string{"staged-skill", "live-skill"})
		no := false
		f.setting("other", hubapi.TenantChange{OptedIn: &no})
		same(t, "opted out, foreign", f.queried(elsewhere, skills(map[string]any{"status": "staged"})), nil)
	})
}

func TestDocSearch(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fixture) {
		docs(f)
		scoped := hubapi.DocumentSearch{Collection: "skills", Query: "skill"}
		same(t, "scoped", f.hits(agent, scoped), []string{"skills/live-skill"})
		same(t, "broad", f.hits(agent, hubapi.DocumentSearch{Query: "skill"}), []string{"skills/live-skill", "customers/c1"})
		same(t, "plain only", f.hits(agent, hubapi.DocumentSearch{Collection: "customers", Query: "skills of acme"}), []string{"customers/c1"})
		same(t, "outage", f.settingsOut().hits(agent, scoped), []string{"skills/live-skill"})
		same(t, "another tenant", f.hits(elsewhere, scoped), nil)
		same(t, "no word", f.hits(agent, hubapi.DocumentSearch{Query: "!!"}), nil)
		f.live("mail-sorter", "description", "Sorts the mail of every morning", "content", "Sort.")
		same(t, "words that nothing has together", f.hits(agent, hubapi.DocumentSearch{Collection: "skills", Query: "please sort my mail before lunch"}), []string{"skills/mail-sorter"})
		for _, query := range []string{"", " \n"} {
			_, err := f.SearchDocuments(f.Context(), agent, hubapi.DocumentSearch{Query: query})
			refused(t, "a blank query", err, hubapi.Invalid)
		}

		f.optOut()
		got := f.hits(agent, scoped)
		slices.Sort(got)
		same(t, "opted out", got, []string{"skills/live-skill", "skills/staged-skill"})
		same(t, "opted out, foreign", f.hits(elsewhere, scoped), nil)
	})
}

// TestDocSearchTopK: 9999 is 50, and less than 1 is 1.
func TestDocSearchTopK(t *testing.T) {
	f := newHub(t)
	for i := range 60 {
		f.wrote(agent, "notes", fmt.Sprintf("n%02d", i), json.RawMessage(`{"text":"the same words"}`))
	}
	for k, want := range map[int]int{9999: 50, 0: 1, -3: 1, 7: 7} {
		if got := len(f.hits(agent, hubapi.DocumentSearch{Query: "words", TopK: &k})); got != want {
			t.Errorf("top_k %d gives %d", k, got)
		}
	}
	if got := len(f.hits(agent, hubapi.DocumentSearch{Query: "words"})); got != 5 {
		t.Errorf("no top_k gives %d", got)
	}
}

func TestDocWrite(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fixture) {
		_, err := f.settingsOut().writes(agent, "skills", "a", skill("a"))
		refused(t, "outage", err, hubapi.Internal)
		_, err = f.settingsOut().writes(agent, "skills", "a", skill("a", "kind", "update", "target", target("x")))
		refused(t, "outage, update", err, hubapi.Internal)
		_, err = f.writes(agent, "skills", "a", skill("a", "status", "active"))
		refused(t, "active", err, hubapi.Forbidden)
		_, err = f.writes(agent, "skills", "a", skill("a", "source", "forge"))
		refused(t, "forge", err, hubapi.Forbidden)
		box, err := f.Inbox(f.Context(), reviewer, 0, false)
		if err != nil || box.Count != 0 {
			t.Errorf("a refused write left something: %+v, %v", box, err)
		}
		out := f.wrote(agent, "skills", "a", skill("a"))
		detail, err := f.InboxDetail(f.Context(), reviewer, hubapi.Ref{Name: "a"}, false)
		if err != nil || out.Status != hubapi.Staged || detail.Item.Source != "agent" || !strings.HasPrefix(detail.Item.ContentHash, "sha256:") {
			t.Errorf("%+v %+v %v", out, detail, err)
		}
		f.wrote(agent, "skills", "imported-one", skill("imported-one", "source", "imported", "content", nil, "description", "Has no text"))

		f.optOut()
		out = f.wrote(agent, "skills", "free", json.RawMessage(`{"status":"active","content":"do it","extra":1}`))
		if out.Status != hubapi.Staged || !slices.Equal(out.Ignored, []string{"extra"}) {
			t.Errorf("opted out: %+v", out)
		}
		if data, err := f.reads(agent, "free"); err != nil || !strings.HasSuffix(data.Content, "---\ndo it") {
			t.Errorf("opted out: %+v, %v", data, err)
		}
		_, err = f.writes(agent, "skills", "a/b", json.RawMessage(`{"content":"do it"}`))
		refused(t, "opted out, no name", err, hubapi.Invalid)
	})
}

func TestDocDelete(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fixture) {
		docs(f)
		for _, id := range []string{"staged-skill", "dirty-skill", "nothing"} {
			for _, p := range []hub.Principal{agent, publisher, admin} {
				_, err := f.DeleteDocument(f.Context(), p, "skills", id)
				e := refused(t, id+" by "+p.ID, err, hubapi.NotFound)
				if e.Message != "not found: skills/"+id {
					t.Errorf("the answer is %q", e.Message)
				}
			}
		}
		_, err := f.settingsOut().DeleteDocument(f.Context(), admin, "skills", "live-skill")
		refused(t, "outage", err, hubapi.Internal)
		for _, p := range []hub.Principal{agent, stranger, node} {
			_, err = f.DeleteDocument(f.Context(), p, "skills", "live-skill")
			refused(t, "by "+p.ID, err, hubapi.Forbidden)
		}
		_, err = f.DeleteDocument(f.Context(), elsewhere, "skills", "live-skill")
		refused(t, "another tenant's", err, hubapi.NotFound)
		if _, err := f.reads(agent, "live-skill"); err != nil {
			t.Errorf("it is gone: %v", err)
		}
		done, err := f.DeleteDocument(f.Context(), publisher, "skills", "live-skill")
		if err != nil || !done.OK || !done.Deleted {
			t.Errorf("by its author: %+v, %v", done, err)
		}
		_, err = f.reads(agent, "live-skill")
		refused(t, "deleted", err, hubapi.NotFound)
		if f.statusOf("acme/live-skill@1") != hubapi.Deprecated {
			t.Error("it was not withdrawn")
		}

		f.optOut()
		if _, err := f.DeleteDocument(f.Context(), agent, "skills", "staged-skill"); err != nil {
			t.Errorf("opted out, one's own proposal: %v", err)
		}
		_, err = f.reads(agent, "staged-skill")
		refused(t, "opted out, deleted", err, hubapi.NotFound)
	})
}

func TestDocCollections(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fixture) {
		docs(f)
		f.wrote(agent, "zoo", "z", json.RawMessage(`{}`))
		count := func(f *fixture, p hub.Principal) (out []string) {
			list, err := f.Collections(f.Context(), p)
			if err != nil || list.Count != len(list.Collections) {
				t.Errorf("%+v, %v", list, err)
			}
			for _, c := range list.Collections {
				out = append(out, fmt.Sprint(c.Name, " ", c.Count))
			}
			return out
		}
		same(t, "opted in", count(f, agent), []string{"customers 1", "skills 1", "zoo 1"})
		same(t, "outage", count(f.settingsOut(), agent), []string{"customers 1", "skills 1", "zoo 1"})
		same(t, "another tenant", count(f, elsewhere), nil)
		f.optOut()
		same(t, "opted out", count(f, agent), []string{"customers 1", "skills 2", "zoo 1"})
	})
}

// TestPlainDocuments are kept as they were written, within their limits.
func TestPlainDocuments(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fixture) {
		for i, data := range []string{`{"n": 2, "ok": true, "who": "bob", "x": null}`, `{"n":10,"who":"ann","s":"2"}`, `{"n":3.5}`} {
			f.now = f.now.Add(time.Second)
			out := f.wrote(agent, "notes", fmt.Sprint("n", i), json.RawMessage(data))
			if out.Action != "created" || !out.Indexed || out.Status != "" {
				t.Errorf("%+v", out)
			}
		}
		doc, err := f.ReadDocument(f.Context(), node, "notes", "n0")
		if err != nil || string(doc.Data) != `{"n":2,"ok":true,"who":"bob","x":null}` {
			t.Errorf("%s, %v", doc.Data, err)
		}
		ask := func(q hubapi.DocumentQuery) []string {
			q.Collection = "notes"
			return f.queried(node, q)
		}
		one := 1
		same(t, "newest first", ask(hubapi.DocumentQuery{}), []string{"n2", "n1", "n0"})
		same(t, "a page", ask(hubapi.DocumentQuery{Limit: &one, Offset: 1}), []string{"n1"})
		same(t, "behind all", ask(hubapi.DocumentQuery{Offset: 9}), nil)
		same(t, "a number", ask(hubapi.DocumentQuery{Where: map[string]any{"n": 2.0}}), []string{"n0"})
		same(t, "a number as text", ask(hubapi.DocumentQuery{Where: map[string]any{"n": "10"}}), []string{"n1"})
		same(t, "text is no number", ask(hubapi.DocumentQuery{Where: map[string]any{"s": 2.0}}), nil)
		same(t, "a boolean", ask(hubapi.DocumentQuery{Where: map[string]any{"ok": true}}), []string{"n0"})
		same(t, "two of which one fails", ask(hubapi.DocumentQuery{Where: map[string]any{"ok": true, "who": "ann"}}), nil)
		same(t, "by a member, as text", ask(hubapi.DocumentQuery{OrderBy: "n"}), []string{"n1", "n0", "n2"})
		same(t, "down", ask(hubapi.DocumentQuery{OrderBy: "n", Order: "desc"}), []string{"n2", "n0", "n1"})
		same(t, "who has none comes last", ask(hubapi.DocumentQuery{OrderBy: "who", Order: "desc"}), []string{"n0", "n1", "n2"})

		_, err = f.WriteDocument(f.Context(), agent, hubapi.DocumentWrite{Collection: "notes", DocID: "n9", Data: json.RawMessage(`{"summary":" \t"}`)})
		refused(t, "a blank summary", err, hubapi.Invalid, "data.summary is blank")
		f.now = f.now.Add(time.Second)
		if out := f.wrote(publisher, "notes", "n0", json.RawMessage(`{"n":4}`)); out.Action != "updated" {
			t.Errorf("%+v", out)
		}
		same(t, "changed last", ask(hubapi.DocumentQuery{}), []string{"n0", "n2", "n1"})
		_, err = f.DeleteDocument(f.Context(), agent, "notes", "n0")
		refused(t, "what another changed", err, hubapi.Forbidden)
		if _, err := f.DeleteDocument(f.Context(), agent, "notes", "n1"); err != nil {
			t.Error(err)
		}
		_, err = f.DeleteDocument(f.Context(), agent, "notes", "n1")
		refused(t, "again", err, hubapi.NotFound)
		_, err = f.ReadDocument(f.Context(), elsewhere, "notes", "n0")
		refused(t, "another tenant", err, hubapi.NotFound)

		zero, minus := 0, -1
		for _, q := range []hubapi.DocumentQuery{
			{Limit: &zero}, {Limit: &minus}, {Offset: -1}, {Order: "up"}, {Where: map[string]any{"a": nil}}, {Where: map[string]any{"a": []any{}}},
		} {
			q.Collection = "notes"
			_, err := f.QueryDocuments(f.Context(), node, q)
			refused(t, fmt.Sprintf("%+v", q), err, hubapi.Invalid)
		}
	})
}

// TestNumbersOfAnySize: one that no program can hold breaks nothing.
func TestNumbersOfAnySize(t *testing.T) {
	f := newHub(t)
	f.wrote(agent, "notes", "big", json.RawMessage(`{"n":1e400,"t":"big one"}`))
	f.wrote(agent, "notes", "exact", json.RawMessage(`{"n":9007199254740993,"t":"big too"}`))
	ask := func(n any) []string {
		return f.queried(node, hubapi.DocumentQuery{Collection: "notes", Where: map[string]any{"n": n}})
	}
	same(t, "as text", ask("1e400"), []string{"big"})
	same(t, "exact", ask("9007199254740993"), []string{"exact"})
	same(t, "another", ask(1.0), nil)
	same(t, "found", f.hits(node, hubapi.DocumentSearch{Query: "big"}), []string{"notes/big", "notes/exact"})
}

func TestPlainDocumentsThatAreRefused(t *testing.T) {
	f := newHub(t)
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	for _, tt := range []struct {
		collection, id, data string
		code                 hubapi.Code
	}{
		{"", "a", `{}`, hubapi.Invalid},
		{"_system", "a", `{}`, hubapi.Forbidden},
		{" x", "a", `{}`, hubapi.Invalid},
		{"a\nb", "a", `{}`, hubapi.Invalid},
		{strings.Repeat("c", 201), "a", `{}`, hubapi.Invalid},
		{"c", "", `{}`, hubapi.Invalid},
		{"c", strings.Repeat("i", 501), `{}`, hubapi.Invalid},
		{"c", "a\x00", `{}`, hubapi.Invalid},
		{"c", "a", ``, hubapi.Invalid},
		{"c", "a", `[]`, hubapi.Invalid},
		{"c", "a", `null`, hubapi.Invalid},
		{"c", "a", `{"a":1,"a":2}`, hubapi.Invalid},
		{"c", "a", `{} {}`, hubapi.Invalid},
		{"c", "a", deep, hubapi.Invalid},
		{"c", "a", `{"x":"` + strings.Repeat("x", 256<<10) + `"}`, hubapi.TooLarge},
	} {
		_, err := f.writes(agent, tt.collection, tt.id, json.RawMessage(tt.data))
		refused(t, fmt.Sprintf("%.20q/%.20q %.20s", tt.collection, tt.id, tt.data), err, tt.code)
	}
	_, err := f.writes(node, "c", "a", json.RawMessage(`{}`))
	refused(t, "a node", err, hubapi.Forbidden)
	_, err = f.ReadDocument(f.Context(), admin, "_system", "a")
	refused(t, "a system collection", err, hubapi.Forbidden)
}

func TestSubmitSkill(t *testing.T) {
	f := newHub(t)
	submit := func(p hub.Principal, in hubapi.SkillSubmit) (hubapi.SkillSubmitted, error) {
		return f.SubmitSkill(f.Context(), p, in)
	}
	in := hubapi.SkillSubmit{
		Name: "tidy", Description: "Tidies: all of it", Content: "# Tidy\n",
		Files: []hubapi.SubmitFile{{Path: "references/a.md", Content: "more"}},
	}
	out, err := submit(agent, in)
	if err != nil || out.Release.Status != hubapi.Staged || out.Release.Version != "1" || out.Release.Author != "acme" || out.Release.Description != "Tidies: all of it" || out.Unchanged {
		t.Fatalf("%+v, %v", out, err)
	}
	if again, err := submit(agent, in); err != nil || !again.Unchanged || again.Release.Version != "1" {
		t.Errorf("again: %+v, %v", again, err)
	}
	whole := hubapi.SkillSubmit{Name: "tidy", Content: "---\nname: tidy\ndescription: Its own\nmetadata:\n  version: \"7\"\n---\nText.\n"}
	if out, err := submit(agent, whole); err != nil || out.Release.Version != "2" || out.Release.Description != "Its own" {
		t.Errorf("with frontmatter: %+v, %v", out, err)
	}
	for what, bad := range map[string]hubapi.SkillSubmit{
		"no name":                {Description: "d", Content: "c"},
		"a name that is none":    {Name: "No Name", Description: "d", Content: "c"},
		"no description":         {Name: "a", Content: "c"},
		"another description":    {Name: "tidy", Description: "Other", Content: whole.Content},
		"another name inside":    {Name: "other", Content: whole.Content},
		"a path that leaves":     {Name: "a", Description: "d", Content: "c", Files: []hubapi.SubmitFile{{Path: "../x"}}},
		"a second SKILL.md":      {Name: "a", Description: "d", Content: "c", Files: []hubapi.SubmitFile{{Path: "SKILL.md"}}},
		"the marker of a folder": {Name: "a", Description: "d", Content: "c", Files: []hubapi.SubmitFile{{Path: ".kx-owned", Content: "x"}}},
		"a protected name":       {Name: "memclaw", Description: "d", Content: "c"},
		"content without an end": {Name: "a", Content: "---\nname: a\n"},
	} {
		_, err := submit(agent, bad)
		refused(t, what, err, hubapi.Invalid)
	}
	_, err = submit(node, in)
	refused(t, "a node", err, hubapi.Forbidden)
}

// TestW9ProtectedNames are refused whichever way they come in.
func TestW9ProtectedNames(t *testing.T) {
	f := newHub(t)
	for _, name := range []string{"memclaw", "caura"} {
		_, err := f.push(local, hub.PublishInput{Name: name, Files: skillMD(name, "x")})
		if e := refused(t, name, err, hubapi.Invalid); e.ID() != "name.reserved" {
			t.Errorf("the id is %s", e.ID())
		}
	}
}
