package hub_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hub/storetest"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

func (f *fixture) catalogue(p hub.Principal) (hubapi.Installable, []hubapi.InstallableRow) {
	f.Helper()
	all, err := f.Installable(f.Context(), p, hubapi.InstallableQuery{TenantID: p.Tenant, FleetID: "any"})
	if err != nil {
		f.Fatal(err)
	}
	var rows []hubapi.InstallableRow
	if err := json.Unmarshal(all.Body, &rows); err != nil || len(rows) != all.Total || rows == nil {
		f.Fatalf("%v: %s", err, all.Body)
	}
	return all, rows
}

func slugs(rows []hubapi.InstallableRow) (out []string) {
	for _, row := range rows {
		out = append(out, row.DocID)
	}
	return out
}

// TestInstallable is table 9.5 of the MemClaw behaviour, and what section 10.1 wants
// of every row.
func TestInstallable(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fixture) {
		empty, rows := f.catalogue(node)
		if string(empty.Body) != "[]\n" || len(rows) != 0 {
			t.Errorf("an empty catalogue is %q", empty.Body)
		}
		docs(f)
		f.live("another")
		first, rows := f.catalogue(node)
		same(t, "opted in", slugs(rows), []string{"another", "live-skill"})
		for _, row := range rows {
			d := row.Data
			if row.TenantID != "team" || row.Collection != "skills" || row.FleetID != nil || len(row.ID) != 36 || row.CreatedAt.IsZero() || row.UpdatedAt.IsZero() {
				t.Errorf("%+v", row)
			}
			if !strings.HasPrefix(d.Content, "---\n") || d.ContentHash == "" || d.Status != hubapi.Active || d.Description == "" || d.KX.Author != "acme" || d.KX.Digest == "" || d.KX.Signed {
				t.Errorf("%+v", d)
			}
		}
		if again, _ := f.catalogue(node); again.ETag != first.ETag || again.Generation != first.Generation {
			t.Errorf("nothing changed, and %s %d became %s %d", first.ETag, first.Generation, again.ETag, again.Generation)
		}
		_, err := f.settingsOut().Installable(f.Context(), node, hubapi.InstallableQuery{TenantID: "team"})
		refused(t, "outage", err, hubapi.Unavailable, "skill lifecycle gate unavailable")
		_, err = f.Installable(f.Context(), node, hubapi.InstallableQuery{TenantID: "other"})
		refused(t, "another tenant", err, hubapi.Forbidden)
		own, err := f.Installable(f.Context(), node, hubapi.InstallableQuery{})
		if err != nil || own.ETag != first.ETag {
			t.Errorf("without a tenant, the key's own: %v %s", err, own.ETag)
		}
		for _, limit := range []int{0, -1, 1001} {
			_, err = f.Installable(f.Context(), node, hubapi.InstallableQuery{TenantID: "team", Limit: &limit})
			refused(t, fmt.Sprint("limit ", limit), err, hubapi.Invalid)
		}
		one := 1
		_, err = f.Installable(f.Context(), node, hubapi.InstallableQuery{TenantID: "team", Limit: &one})
		refused(t, "a limit that would cut", err, hubapi.TooLarge)

		// Everything that changes what is active raises the generation.
		last := first
		for _, change := range []struct {
			what string
			do   func()
			want []string
		}{
			{"approval", func() { f.approved(reviewer, "staged-skill") }, []string{"another", "live-skill", "staged-skill"}},
			{"quarantine", func() { f.acted(reviewer, "acme/another@1", hub.Quarantine, hubapi.Review{Reason: "bad"}) }, []string{"live-skill", "staged-skill"}},
			{"deletion", func() {
				if _, err := f.DeleteDocument(f.Context(), admin, "skills", "staged-skill"); err != nil {
					t.Fatal(err)
				}
			}, []string{"live-skill"}},
			{"a signature", func() {
				digest := strings.TrimSpace(f.digest("live-skill"))
				file := fmt.Appendf(nil, "acme/live-skill 1 %s", digest)
				archive, err := f.Archive(f.Context(), node, hubapi.Ref{Name: "live-skill"})
				if err != nil {
					t.Fatal(err)
				}
				f.pushed(publisher, hub.PublishInput{Name: "live-skill", Files: archive.Files, Signature: file})
			}, []string{"live-skill"}},
			{"opting out", func() {
				f.wrote(agent, "skills", "waits", skill("waits"))
				f.optOut()
				f.pushed(publisher, hub.PublishInput{Name: "direct", Files: renamedFiles(f, "live-skill", "direct")})
			}, []string{"direct", "live-skill"}},
		} {
			change.do()
			now, rows := f.catalogue(node)
			same(t, change.what, slugs(rows), change.want)
			if now.Generation <= last.Generation || now.ETag == last.ETag {
				t.Errorf("%s: generation %d %s behind %d %s", change.what, now.Generation, now.ETag, last.Generation, last.ETag)
			}
			last = now
		}
		if _, rows := f.catalogue(node); !rows[1].Data.KX.Signed {
			t.Error("the signature is not told")
		}
	})
}

func (f *fixture) digest(name string) string {
	f.Helper()
	release, err := f.Release(f.Context(), node, hubapi.Ref{Name: name})
	if err != nil {
		f.Fatal(err)
	}
	return release.Digest
}

// TestInstallableMakesTextsSafe: no reader puts another head before what it gets.
func TestInstallableMakesTextsSafe(t *testing.T) {
	f := newHub(t)
	for name, text := range map[string]string{
		"bom":   "\ufeff---\nname: bom\ndescription: Has a mark\n---\nText.\n",
		"space": "--- \nname: space\ndescription: Has a blank\n---\nText.\n",
		"crlf":  "---\r\nname: crlf\r\ndescription: Has two line ends\r\n---\r\nText.\r\n",
	} {
		f.pushed(publisher, hub.PublishInput{Name: name, Files: []pack.File{{Path: "SKILL.md", Data: []byte(text)}}})
		f.approved(reviewer, name)
	}
	f.pushed(publisher, hub.PublishInput{Name: "triage", Files: kortecx("triage", "1", "Sort.")})
	f.approved(reviewer, "triage")
	f.pushed(reviewer, hub.PublishInput{Name: "other", Files: kazma("other", "1.0.0", "rev")})
	f.approved(admin, "other")
	all, rows := f.catalogue(node)
	same(t, "rows", slugs(rows), []string{"bom", "crlf", "space", "triage"})
	for _, row := range rows {
		if !strings.HasPrefix(row.Data.Content, "---\nname: "+row.DocID) {
			t.Errorf("%s begins with %.30q", row.DocID, row.Data.Content)
		}
		if data, err := f.reads(agent, row.DocID); err != nil || data.ContentHash != row.Data.ContentHash {
			t.Errorf("%s is read as %s, %v", row.DocID, data.ContentHash, err)
		}
	}
	if len(all.Withheld) != 1 || all.Withheld[0].Ref != "rev/other@1.0.0" || !strings.Contains(all.Withheld[0].Why, "kazma") {
		t.Errorf("withheld: %+v", all.Withheld)
	}
}

// many puts n active skills into the tenant team, past the rules: their review is
// not what is tested.
func many(t testing.TB, store hub.Store, n int) {
	t.Helper()
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	err := store.Write(t.Context(), func(w hub.Writer) error {
		for i := range n {
			name := fmt.Sprintf("skill-%04d", i)
			p := pack.Read(name, skillMD(name, strings.Repeat("Do it. ", 200)), pack.Options{}).Pack
			id, err := w.AddSkill(hub.SkillRow{Tenant: "team", Name: name, Author: "acme", NextInteger: 2})
			if err != nil {
				return err
			}
			seq, err := w.AddRelease(hub.ReleaseRow{
				Skill: id, Tenant: "team", Version: "1", Status: hubapi.Active, Digest: string(p.Digest()), Format: string(p.Format),
				Summary: p.Description, Description: p.Description, Source: "agent", PublishedBy: "bot", CreatedAt: now, UpdatedAt: now,
			})
			if err != nil {
				return err
			}
			sum := hub.Sum(pack.FileSum(p.Files[0]))
			if err := w.PutContent(sum, p.Files[0].Data); err != nil {
				return err
			}
			if err := w.AddFiles(seq, []hub.FileRow{{Path: "SKILL.md", Size: int64(len(p.Files[0].Data)), Sum: sum}}); err != nil {
				return err
			}
		}
		return w.AddAudit(hub.AuditRow{Tenant: "team", At: now, Action: "test"})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestInstallableIsWholeOrRefused: a part of a catalogue would have nodes remove the
// rest (W8).
func TestInstallableIsWholeOrRefused(t *testing.T) {
	f := newHub(t)
	many(t, f.store, hubapi.MaxInstallable)
	if all, _ := f.catalogue(node); all.Total != hubapi.MaxInstallable {
		t.Errorf("%d rows", all.Total)
	}
	f.live("one-more")
	for range 2 {
		_, err := f.Installable(f.Context(), node, hubapi.InstallableQuery{TenantID: "team"})
		refused(t, "too many", err, hubapi.TooLarge, "1000")
	}
	if _, err := f.DeleteDocument(f.Context(), admin, "skills", "one-more"); err != nil {
		t.Fatal(err)
	}
	if all, _ := f.catalogue(node); all.Total != hubapi.MaxInstallable {
		t.Errorf("%d rows after one went", all.Total)
	}
}

// BenchmarkInstallable is a poll of 1,000 skills: unchanged, after one changed, and
// the first.
func BenchmarkInstallable(b *testing.B) {
	store, err := sqlstore.Open(b.Context(), storetest.TempDir(b), sqlstore.Options{Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	if err := store.Write(b.Context(), func(w hub.Writer) error { return w.PutTenant(hub.TenantRow{ID: "team"}) }); err != nil {
		b.Fatal(err)
	}
	many(b, store, hubapi.MaxInstallable)
	ask := func(b *testing.B, h *hub.Hub) {
		all, err := h.Installable(b.Context(), node, hubapi.InstallableQuery{TenantID: "team"})
		if err != nil || all.Total != hubapi.MaxInstallable {
			b.Fatal(all.Total, err)
		}
	}
	warm := hub.New(store, hub.Config{Now: time.Now})
	ask(b, warm)
	b.Run("unchanged", func(b *testing.B) {
		for b.Loop() {
			ask(b, warm)
		}
	})
	b.Run("changed", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			err := store.Write(b.Context(), func(w hub.Writer) error {
				return w.AddAudit(hub.AuditRow{Tenant: "team", At: time.Now(), Action: "test"})
			})
			if err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			ask(b, warm)
		}
	})
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			ask(b, hub.New(store, hub.Config{Now: time.Now}))
		}
	})
}

// After a tenant had opted out, nodes got an agent's proposal in place of the release
// that a person had approved, and the other proposals besides.
func TestAProposalShadowedTheActiveReleaseOfAnOptedOutTenant(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fixture) {
		propose := func(name, content string) {
			if _, err := f.SubmitSkill(f.Context(), agent, hubapi.SkillSubmit{Name: name, Description: "Does it", Content: content}); err != nil {
				t.Fatal(err)
			}
		}
		live := f.live("live-skill")
		propose("live-skill", "# Other\n\nDo something else.\n")
		propose("proposed-before", "# Before\n\nDo it.\n")
		f.pushed(publisher, hub.PublishInput{Name: "waits", Files: renamedFiles(f, "live-skill", "waits")})
		f.optOut()
		propose("live-skill", "# Third\n\nDo a third thing.\n")
		propose("proposed-since", "# Since\n\nDo it.\n")
		f.wrote(agent, "skills", "imported-since", skill("imported-since", "source", "imported"))
		f.pushed(publisher, hub.PublishInput{Name: "direct", Files: renamedFiles(f, "live-skill", "direct")})

		_, rows := f.catalogue(node)
		same(t, "for nodes", slugs(rows), []string{"direct", "live-skill"})
		for _, row := range rows {
			if row.DocID == "live-skill" && row.Data.KX.Digest != live.KX.Digest {
				t.Errorf("nodes get %s", row.Data.KX.Version)
			}
		}
		if data, err := f.reads(agent, "live-skill"); err != nil || data.Status != hubapi.Active || data.KX.Digest != live.KX.Digest {
			t.Errorf("the document is %+v, %v", data, err)
		}
		found, err := f.QueryDocuments(f.Context(), agent, hubapi.DocumentQuery{Collection: "skills"})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range found.Results {
			if d.DocID == "live-skill" && !strings.Contains(string(d.Data), live.KX.Digest) {
				t.Errorf("a query gives %s", d.Data)
			}
		}
	})
}

// renamedFiles are the files of a release under another name.
func renamedFiles(f *fixture, from, name string) []pack.File {
	f.Helper()
	archive, err := f.Archive(f.Context(), node, hubapi.Ref{Name: from})
	if err != nil {
		f.Fatal(err)
	}
	var out []pack.File
	for _, file := range archive.Files {
		file.Data = []byte(strings.ReplaceAll(string(file.Data), from, name))
		out = append(out, file)
	}
	return out
}
