package hub_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

func TestSearch(t *testing.T) {
	f := newHub(t)
	add := func(name, description string) {
		files := []pack.File{{Path: "SKILL.md", Data: []byte("---\nname: " + name + "\ndescription: " + description + "\n---\n\n# x\n\nmail secretword\n")}}
		f.pushed(local, hub.PublishInput{Name: name, Files: files, Approve: true})
	}
	add("mail", "Reads letters")
	add("mail-sorter", "Puts letters into boxes")
	add("letters", "Sorts mail by sender")
	add("tickets", "Handles mailbox tickets")
	add("unicode", "Übersetzt Texte, 翻訳する ΣΊΣΥΦΟΣ")
	f.pushed(local, hub.PublishInput{Files: skillMD("triage", "staged mail")})
	f.pushed(local, hub.PublishInput{Name: "triage2", Files: kortecx("triage2", "1", "x"), Approve: true})
	f.pushed(elsewhere, hub.PublishInput{Files: skillMD("third", "mail"), Approve: false})

	for q, want := range map[string][]string{
		"mail":         {"mail", "letters", "triage2", "mail-sorter", "tickets", "unicode"},
		"  MAIL ":      {"mail", "letters", "triage2", "mail-sorter", "tickets", "unicode"},
		"mail-sorter":  {"mail-sorter"},
		"mail letters": {"mail-sorter", "letters", "mail"},
		"mailbox":      {"tickets"},
		"mail nothing": {},
		"ailbox":       {"tickets"}, // a typo
		"boxmail":      {},
		"secretword":   {"unicode", "tickets", "letters", "mail-sorter", "mail"}, // in the bodies
		"staged":       {},
		"übersetzt":    {"unicode"},
		"ÜBER":         {"unicode"},
		"翻":            {"unicode"},
		"翻訳":           {"unicode"},
		"σίσυφοσ":      {"unicode"},
		"gmail":        {"triage2"},
		"gmail/read":   {"triage2"},
		"post":         {"triage2"},
		"local":        {"unicode", "triage2", "tickets", "mail-sorter", "mail", "letters"},
		`"*%_`:         {},
		"\x00":         {},
		"":             {"letters", "mail", "mail-sorter", "tickets", "triage2", "unicode"},
		"   ":          {"letters", "mail", "mail-sorter", "tickets", "triage2", "unicode"},
	} {
		out, err := f.Search(t.Context(), local, hub.SearchQuery{Text: q})
		if err != nil {
			t.Errorf("%q: %v", q, err)
			continue
		}
		got := []string{}
		for _, item := range out.Items {
			got = append(got, item.Name)
			sum := 0.0
			for _, m := range item.Matches {
				sum += m.Points
			}
			if diff := sum - item.Score; diff > 0.01 || diff < -0.01 {
				t.Errorf("%q: the matches of %s add up to %v, its score is %v", q, item.Name, sum, item.Score)
			}
		}
		if q == "local" || q == "mail letters" || q == "secretword" { // equal ones: only their set is what is tested here
			if len(got) != len(want) {
				t.Errorf("%q: %v, want %v", q, got, want)
			}
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", q, diff)
		}
		if out.Total != len(want) || out.Query != q {
			t.Errorf("%q: total %d, query %q", q, out.Total, out.Query)
		}
	}
	out, err := f.Search(t.Context(), local, hub.SearchQuery{Text: "mail", Limit: 2})
	if err != nil || len(out.Items) != 2 || out.Total != 6 {
		t.Errorf("two of six: %d of %d, %v", len(out.Items), out.Total, err)
	}
	if out, err := f.Search(t.Context(), elsewhere, hub.SearchQuery{Text: "mail"}); err != nil || out.Total != 0 {
		t.Errorf("another tenant finds %d, %v", out.Total, err)
	}
	for what, q := range map[string]string{
		"not UTF-8": "\xff", "17 KiB": strings.Repeat("x", 17<<10), "33 words": strings.Join(manyWords(33), " "),
	} {
		_, err := f.Search(t.Context(), local, hub.SearchQuery{Text: q})
		refused(t, what, err, hubapi.Invalid)
	}
	if _, err := f.Search(t.Context(), local, hub.SearchQuery{Text: strings.Join(manyWords(32), " ")}); err != nil {
		t.Errorf("32 words: %v", err)
	}
}

func manyWords(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("word%d", i))
	}
	return out
}

func TestSearchForgetsWhatIsReplaced(t *testing.T) {
	f := newHub(t)
	add := func(version, description string) {
		files := []pack.File{{Path: "SKILL.md", Data: []byte("---\nname: triage\ndescription: " + description + "\n---\n\ntext\n")}}
		f.pushed(local, hub.PublishInput{Name: "triage", Files: files, Version: version, Approve: true})
	}
	add("1", "Sorts parcels")
	add("2", "Sorts letters")
	for q, want := range map[string]int{"parcels": 0, "letters": 1, "sorts": 1} {
		if out, err := f.Search(t.Context(), local, hub.SearchQuery{Text: q}); err != nil || out.Total != want {
			t.Errorf("%s: %d, %v", q, out.Total, err)
		}
	}
}

// Whatever is published is found by each of its own words and by the beginning of
// each of them, and any query is answered.
func TestSearchFindsEveryWord(t *testing.T) {
	f := newHub(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		description := rapid.StringMatching(`[a-zA-Zäß0-9 ,.%_*-]{1,60}[a-z]`).Draw(rt, "description")
		name := fmt.Sprintf("skill%d", n)
		files := []pack.File{{Path: "SKILL.md", Data: fmt.Appendf(nil, "---\nname: %s\ndescription: %q\n---\n\ntext\n", name, description)}}
		if _, err := f.Publish(t.Context(), local, hub.PublishInput{Name: name, Files: files, Approve: true}); err != nil {
			rt.Fatal(err)
		}
		for _, word := range strings.FieldsFunc(description, func(r rune) bool { return strings.ContainsRune(" ,.%_*-", r) }) {
			_, size := utf8.DecodeRuneInString(word)
			for _, q := range []string{word, strings.ToUpper(word), word[:size] + " " + name} {
				out, err := f.Search(t.Context(), local, hub.SearchQuery{Text: q + " " + name, Limit: 100})
				if err != nil || len(out.Items) == 0 || out.Items[0].Name != name && q != strings.ToUpper(word) {
					rt.Fatalf("%q of %q: %d items, %v", q, description, len(out.Items), err)
				}
			}
		}
		if _, err := f.Search(t.Context(), local, hub.SearchQuery{Text: rapid.StringN(0, 200, 400).Draw(rt, "any"), Limit: 5}); err != nil {
			if hubapi.AsError(err).Code != hubapi.Invalid {
				rt.Fatal(err)
			}
		}
	})
}

// Whatever was activated and withdrawn in whichever order, a hub that followed it
// answers as one that starts now, and finds what is active and nothing else.
func TestSearchFollowsAnyHistory(t *testing.T) {
	f := newHub(t)
	version := 0
	active := map[string]string{}
	words := []string{"mail", "deploy", "parcel", "letter", "cluster"}
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			name := rapid.SampledFrom([]string{"one", "two", "three", "four"}).Draw(rt, "name")
			if active[name] != "" && rapid.IntRange(0, 2).Draw(rt, "withdraw") == 0 {
				if _, err := f.Act(t.Context(), local, hubapi.Ref{Author: "local", Name: name}, hub.Withdraw, hubapi.Review{Reason: "test"}); err != nil {
					rt.Fatal(err)
				}
				delete(active, name)
				continue
			}
			version++
			word := rapid.SampledFrom(words).Draw(rt, "word")
			files := []pack.File{{Path: "SKILL.md", Data: fmt.Appendf(nil, "---\nname: %s\ndescription: %s %d\n---\n\ntext\n", name, word, version)}}
			in := hub.PublishInput{Name: name, Files: files, Version: fmt.Sprint(version), Approve: rapid.IntRange(0, 3).Draw(rt, "approve") > 0}
			if _, err := f.Publish(t.Context(), local, in); err != nil {
				rt.Fatal(err)
			}
			if in.Approve {
				active[name] = word
			}
		}
		fresh := hub.New(f.store, hub.Config{Now: func() time.Time { return f.now }})
		for _, word := range append(words, "", "text", "parcle") {
			now, err := f.Search(t.Context(), local, hub.SearchQuery{Text: word})
			if err != nil {
				rt.Fatal(err)
			}
			again, err := fresh.Search(t.Context(), local, hub.SearchQuery{Text: word})
			if err != nil {
				rt.Fatal(err)
			}
			if diff := cmp.Diff(again, now); diff != "" {
				rt.Fatalf("%q after a restart: %s", word, diff)
			}
			want := 0
			for _, has := range active {
				if word == "" || word == "text" || word == has || word == "parcle" && has == "parcel" {
					want++
				}
			}
			if now.Total != want || len(now.Items) != want {
				rt.Fatalf("%q finds %d of %v", word, now.Total, active)
			}
		}
	})
}

func TestSearchStatusIsForReviewers(t *testing.T) {
	f := newHub(t)
	f.pushed(publisher, hub.PublishInput{Files: skillMD("triage", "secretword")})
	f.pushed(publisher, hub.PublishInput{Files: skillMD("triage", "secretword two"), Version: "7"})
	out, err := f.Search(t.Context(), reviewer, hub.SearchQuery{Text: "secretword", Status: hubapi.Staged})
	if err != nil || out.Total != 2 || out.Items[0].Status != hubapi.Staged {
		t.Errorf("a reviewer: %+v, %v", out, err)
	}
	first, err := f.Search(t.Context(), reviewer, hub.SearchQuery{Status: hubapi.Staged, Limit: 1})
	if err != nil || len(first.Items) != 1 {
		t.Fatalf("a page: %+v, %v", first, err)
	}
	second, err := f.Search(t.Context(), reviewer, hub.SearchQuery{Status: hubapi.Staged, Limit: 1, Cursor: first.NextCursor})
	if err != nil || len(second.Items) != 1 || second.Items[0].Version == first.Items[0].Version || second.NextCursor != "" {
		t.Errorf("the next page: %+v, %v", second, err)
	}
	for _, p := range []hub.Principal{publisher, agent, node, elsewhere} {
		out, err := f.Search(t.Context(), p, hub.SearchQuery{Text: "secretword", Status: hubapi.Staged})
		want := hubapi.SearchResult{Query: "secretword", Items: []hubapi.SearchItem{}}
		if diff := cmp.Diff(want, out); diff != "" || err != nil {
			t.Errorf("%s: %s, %v", p.ID, diff, err)
		}
	}
}

// H21: a name that people take for another is said, not refused.
func TestPushWarnsOfLookalikes(t *testing.T) {
	f := newHub(t)
	add := func(name, author string) []string {
		out := f.pushed(local, hub.PublishInput{Name: name, Author: author, Files: skillMD(name, "text"), Approve: true})
		return out.Similar
	}
	for _, tt := range []struct {
		name, author string
		want         []string
	}{
		{"clawhub", "acme", nil},
		{"clawhub1", "eve", []string{"acme/clawhub"}},
		{"cllawhub", "eve", []string{"acme/clawhub"}},
		{"claw-hub", "eve", []string{"acme/clawhub"}},
		{"clawhubs", "acme", []string{"eve/clawhub1"}}, // one's own are not counted
		{"modern", "acme", nil},
		{"modem", "eve", []string{"acme/modern"}},
		{"step-1", "acme", nil},
		{"step-2", "eve", nil}, // a series
		{"abc", "acme", nil},
		{"abd", "eve", nil}, // too short to say
		{"unrelated", "eve", nil},
	} {
		if diff := cmp.Diff(tt.want, add(tt.name, tt.author)); diff != "" {
			t.Errorf("%s of %s: %s", tt.name, tt.author, diff)
		}
	}
	// Another version of a known name says nothing.
	out := f.pushed(local, hub.PublishInput{Name: "clawhub1", Author: "eve", Version: "2", Files: skillMD("clawhub1", "more")})
	if out.Similar != nil {
		t.Errorf("a second version: %q", out.Similar)
	}
}

func TestSearchSuggests(t *testing.T) {
	f := newHub(t)
	for name, text := range map[string]string{"triage": "sorts letters", "rollout": "ships services"} {
		f.pushed(local, hub.PublishInput{Name: name, Files: skillMD(name, text), Approve: true})
	}
	for q, want := range map[string][]string{
		"traige xx":        nil,
		"letters services": {"services", "letters"},
		"letters nowhere":  {"letters"},
		"lettttrs":         nil,
	} {
		out, err := f.Search(t.Context(), local, hub.SearchQuery{Text: q})
		if err != nil {
			t.Fatal(err)
		}
		if want != nil {
			if diff := cmp.Diff(want, out.DidYouMean); diff != "" {
				t.Errorf("%q: %s", q, diff)
			}
		}
	}
}

// F17: a cursor is of one search.
func TestSearchCursors(t *testing.T) {
	f := newHub(t)
	for i := range 5 {
		name := fmt.Sprintf("skill%d", i)
		f.pushed(local, hub.PublishInput{Name: name, Files: skillMD(name, "mail"), Approve: true})
	}
	for _, q := range []hub.SearchQuery{{Limit: 2}, {Text: "mail", Limit: 2}, {Author: "local", Limit: 2}} {
		var got []string
		cursors := []string{}
		for page := q; ; {
			out, err := f.Search(t.Context(), local, page)
			if err != nil || out.Total != 5 {
				t.Fatalf("%+v: %d, %v", page, out.Total, err)
			}
			for _, item := range out.Items {
				got = append(got, item.Name)
			}
			if page.Cursor = out.NextCursor; page.Cursor == "" {
				break
			}
			cursors = append(cursors, page.Cursor)
		}
		if len(got) != 5 || len(cursors) != 2 {
			t.Errorf("%+v: %v", q, got)
		}
		cursor := cursors[0]
		for what, bad := range map[string]hub.SearchQuery{
			"changed":         {Text: q.Text, Author: q.Author, Cursor: "A" + cursor[1:]},
			"longer":          {Text: q.Text, Author: q.Author, Cursor: cursor + "AAAA"},
			"shorter":         {Text: q.Text, Author: q.Author, Cursor: cursor[:len(cursor)-4]},
			"another query":   {Text: q.Text + " skill", Author: q.Author, Cursor: cursor},
			"another filter":  {Text: q.Text, Author: q.Author, Tags: []string{"x"}, Cursor: cursor},
			"another status":  {Text: q.Text, Author: q.Author, Status: hubapi.Staged, Cursor: cursor},
			"no cursor":       {Text: q.Text, Author: q.Author, Cursor: "\x00%"},
			"a very long one": {Text: q.Text, Author: q.Author, Cursor: strings.Repeat("A", 1<<16)},
		} {
			if bad.Cursor == cursor && what == "changed" {
				bad.Cursor = "B" + cursor[1:]
			}
			_, err := f.Search(t.Context(), local, bad)
			refused(t, what, err, hubapi.Invalid, "cursor")
		}
		other := local
		other.Tenant = "team"
		_, err := f.Search(t.Context(), other, hub.SearchQuery{Text: q.Text, Author: q.Author, Cursor: cursor})
		refused(t, "another tenant", err, hubapi.Invalid)
	}
}
