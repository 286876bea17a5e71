package hub_test

import (
	"fmt"
	"strings"
	"testing"
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
