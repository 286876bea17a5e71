package hub_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// W2: no way of asking shows below reviewers what is not active.
func TestBelowReviewersOnlyWhatIsActiveIsSeen(t *testing.T) {
	f := newHub(t)
	f.pushed(publisher, hub.PublishInput{Files: skillMD("triage", "one"), Version: "1"})
	f.approved(reviewer, "triage")
	f.pushed(publisher, hub.PublishInput{Files: skillMD("triage", "two"), Version: "2"})
	f.approved(reviewer, "triage")
	f.pushed(publisher, hub.PublishInput{Files: skillMD("triage", "three"), Version: "3", Signature: []byte("- - " + digestOf("three"))})
	f.pushed(publisher, hub.PublishInput{Files: skillMD("other", "x")})

	// Every way of asking for a release, for every one of them.
	ask := func(p hub.Principal, ref string) map[string]error {
		r := parse(t, ref)
		_, one := f.Release(t.Context(), p, r)
		_, two := f.File(t.Context(), p, r, "SKILL.md")
		_, three := f.Archive(t.Context(), p, r)
		return map[string]error{"release": one, "file": two, "archive": three}
	}
	for _, p := range []hub.Principal{reviewer, admin} {
		for _, ref := range []string{"triage", "triage@1", "triage@2", "triage@3", "acme/other@1"} {
			for what, err := range ask(p, ref) {
				if err != nil {
					t.Errorf("%s %s %s: %v", p.ID, what, ref, err)
				}
			}
		}
	}
	// F19, F21: what may not be seen is answered as what is not there, to the byte.
	for _, p := range []hub.Principal{publisher, stranger, agent, node, elsewhere} {
		for _, ref := range []string{"triage@3", "acme/triage@3", "other", "other@1", "acme/other"} {
			for what, err := range ask(p, ref) {
				got, _ := json.Marshal(refused(t, p.ID+" "+what+" "+ref, err, hubapi.NotFound))
				never := strings.NewReplacer("triage", "absent", "other", "nobody").Replace(ref)
				want, _ := json.Marshal(refused(t, never, ask(p, never)[what], hubapi.NotFound))
				if seen := strings.ReplaceAll(string(want), never, ref); string(got) != seen {
					t.Errorf("%s %s %s: %s, but what is absent gets %s", p.ID, what, ref, got, seen)
				}
			}
		}
	}
	for _, p := range []hub.Principal{publisher, agent, node} {
		for what, err := range ask(p, "triage@2") {
			if err != nil {
				t.Errorf("%s %s: %v", p.ID, what, err)
			}
		}
	}
	_, err := f.Signature(t.Context(), node, parse(t, "triage@3"))
	refused(t, "signature", err, hubapi.NotFound)
	// A reviewer learns what waits.
	_, err = f.Release(t.Context(), reviewer, parse(t, "other"))
	refused(t, "nothing is active", err, hubapi.NotFound, "acme/other@1 waits")
	for what, err := range ask(hub.Principal{}, "triage") {
		refused(t, what, err, hubapi.Unauthorized)
	}
}

func digestOf(text string) string { return string(pack.DigestFiles(skillMD("triage", text))) }

func TestArchiveAndFiles(t *testing.T) {
	f := newHub(t)
	files := append(skillMD("triage", "text"),
		pack.File{Path: "empty.txt", Data: []byte{}},
		pack.File{Path: "scripts/run.sh", Data: []byte("#!/bin/sh\ntrue\n"), Executable: true})
	f.pushed(local, hub.PublishInput{Files: files, Approve: true})
	out, err := f.Archive(t.Context(), local, parse(t, "triage"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files, out.Files, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if string(pack.DigestFiles(out.Files)) != out.Release.Digest {
		t.Error("the digest does not fit")
	}
	file, err := f.File(t.Context(), local, parse(t, "triage"), "scripts/run.sh")
	if diff := cmp.Diff(files[2], file); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, path := range []string{"", "scripts", "../SKILL.md", "skill.md", "SKILL.md/"} {
		_, err := f.File(t.Context(), local, parse(t, "triage"), path)
		refused(t, path, err, hubapi.NotFound)
	}
}

func TestInbox(t *testing.T) {
	f := newHub(t)
	f.pushed(agent, hub.PublishInput{Files: skillMD("triage", "text")})
	f.now = f.now.Add(-time.Hour)
	f.pushed(publisher, hub.PublishInput{Files: kortecx("other", "4", "text")})
	f.pushed(publisher, hub.PublishInput{Files: kazma("third", "1.0.0", "acme")})
	f.pushed(reviewer, hub.PublishInput{Name: "fourth", Files: kortecx("fourth", "1", "x")})
	f.approved(admin, "fourth")
	f.pushed(elsewhere, hub.PublishInput{Files: kortecx("other", "1", "text")})

	box, err := f.Inbox(t.Context(), reviewer, 0, true)
	if err != nil {
		t.Fatal(err)
	}
	if box.TenantID != "team" || box.Count != 3 || box.Truncated || len(box.Items) != 3 {
		t.Fatalf("box %+v", box)
	}
	var names []string
	for _, item := range box.Items {
		names = append(names, item.Slug)
	}
	if diff := cmp.Diff([]string{"third", "other", "triage"}, names); diff != "" {
		t.Errorf("order is not that of the sequence: %s", diff)
	}
	content := string(skillMD("triage", "text")[0].Data)
	first := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	want := hubapi.InboxItem{
		Slug: "triage", DocID: "triage", Name: "triage", Description: "Does triage well", Summary: "Does triage well",
		Content: &content, Domain: "general", Tags: []string{}, Source: "agent", Status: hubapi.Staged,
		CreatedAt: first, UpdatedAt: first, ContentHash: fmt.Sprintf("sha256:%x", pack.FileSum(pack.File{Data: []byte(content)})),
		Kind: "create", Author: "acme", Version: "1", Digest: digestOf("text"), Format: "skill-md",
		Fingerprint: box.Items[2].Fingerprint, ScanState: "not_scanned", Cites: []string{},
		SentinelScan: hubapi.SentinelScan{Status: "not_scanned", Findings: []hubapi.Finding{}},
		Origin:       hubapi.Origin{AgentID: "bot"},
	}
	if !strings.HasPrefix(want.Fingerprint, "fp:text:") {
		t.Errorf("fingerprint %q", want.Fingerprint)
	}
	if diff := cmp.Diff(want, box.Items[2]); diff != "" {
		t.Error(diff)
	}
	if box.Items[1].Source != "manual" || !strings.HasPrefix(*box.Items[1].Content, "# other") {
		t.Errorf("kortecx: %+v", box.Items[1])
	}
	short, err := f.Inbox(t.Context(), admin, 2, false)
	if err != nil || short.Count != 2 || !short.Truncated || short.Items[0].Content != nil {
		t.Errorf("two of three: %+v, %v", short, err)
	}
	for _, p := range []hub.Principal{publisher, agent, node} {
		_, err := f.Inbox(t.Context(), p, 0, false)
		refused(t, p.ID, err, hubapi.Forbidden)
	}
	_, err = f.Inbox(t.Context(), admin, -1, false)
	refused(t, "a negative limit", err, hubapi.Invalid)
	if all, err := f.Inbox(t.Context(), admin, 1<<40, false); err != nil || all.Count != 3 {
		t.Errorf("a huge limit: %+v, %v", all, err)
	}
}

// The detail of a release has the versions that the caller may see: all of them for who
// reviews, the active one for everybody else, in this tenant alone.
func TestVersionsAreThoseThatTheCallerSees(t *testing.T) {
	f := newHub(t)
	for _, version := range []string{"1", "2", "3"} {
		f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", version, "text "+version)})
		if version != "3" {
			f.approved(reviewer, "triage@"+version)
		}
	}
	f.pushed(publisher, hub.PublishInput{Files: kortecx("other", "9", "text")})
	f.approved(reviewer, "other")
	for _, tt := range []struct {
		p    hub.Principal
		want string
	}{
		{admin, "3 staged, 2 active, 1 deprecated, "},
		{reviewer, "3 staged, 2 active, 1 deprecated, "},
		{publisher, "2 active, "},
		{agent, "2 active, "},
		{node, "2 active, "},
	} {
		r, err := f.Release(t.Context(), tt.p, parse(t, "triage"))
		got := ""
		for _, v := range r.Versions {
			if v.CreatedAt.IsZero() {
				t.Errorf("%s: %+v", tt.p.ID, v)
			}
			got += v.Version + " " + string(v.Status) + ", "
		}
		if err != nil || got != tt.want {
			t.Errorf("%s sees %q, want %q, %v", tt.p.ID, got, tt.want, err)
		}
	}
}
