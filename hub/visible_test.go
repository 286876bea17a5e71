package hub_test

import (
	"slices"
	"testing"

	"github.com/kortecx/kx/hub"
)

// found are the names that a search gives.
func (f *fixture) found(p hub.Principal, text string) (names []string) {
	f.Helper()
	out, err := f.Search(f.Context(), p, hub.SearchQuery{Text: text})
	if err != nil {
		f.Fatal(err)
	}
	for _, item := range out.Items {
		names = append(names, item.Name)
	}
	return names
}

// W1, W25: what is approved is found and installed from then on, by the words that it
// has now, and what waits is neither.
func TestApprovedIsFoundAndInstalled(t *testing.T) {
	f := newHub(t)
	f.pushed(publisher, hub.PublishInput{Files: skillMD("triage", "Sort the letterbox.")})
	installed := func() []string {
		_, rows := f.catalogue(node)
		return slugs(rows)
	}
	if got := f.found(agent, "letterbox"); len(got)+len(installed()) != 0 {
		t.Fatalf("what waits is found as %v and installed as %v", got, installed())
	}
	f.approved(reviewer, "triage")
	if got := f.found(agent, "letterbox"); !slices.Equal(got, []string{"triage"}) || !slices.Equal(installed(), got) {
		t.Fatalf("found %v, installed %v", got, installed())
	}
	f.pushed(publisher, hub.PublishInput{Files: skillMD("triage", "Sort the mailbag.")})
	if got := f.found(agent, "mailbag"); len(got) != 0 {
		t.Fatalf("a proposal is found: %v", got)
	}
	f.approved(reviewer, "triage")
	if now, before := f.found(agent, "mailbag"), f.found(agent, "letterbox"); !slices.Equal(now, []string{"triage"}) || len(before) != 0 {
		t.Fatalf("by the new words %v, by the old ones %v", now, before)
	}
}

// W22: two tenants have a skill of one name, and neither sees the other's.
func TestTwoTenantsHaveOneName(t *testing.T) {
	f := newHub(t)
	f.pushed(publisher, hub.PublishInput{Files: skillMD("triage", "Sort the letterbox.")})
	f.approved(reviewer, "triage")
	f.pushed(elsewhere, hub.PublishInput{Files: skillMD("triage", "Sort the mailbag.")})
	if got := f.found(agent, "mailbag"); len(got) != 0 {
		t.Errorf("another tenant's words are found: %v", got)
	}
	mine, err := f.File(t.Context(), agent, parse(t, "triage"), "SKILL.md")
	if err != nil || string(mine.Data) != string(skillMD("triage", "Sort the letterbox.")[0].Data) {
		t.Errorf("%s %v", mine.Data, err)
	}
	theirs, err := f.File(t.Context(), elsewhere, parse(t, "triage@1"), "SKILL.md")
	if err != nil || string(theirs.Data) != string(skillMD("triage", "Sort the mailbag.")[0].Data) {
		t.Errorf("%s %v", theirs.Data, err)
	}
}
