package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

func testSearchDocs(t *testing.T, open Opener) {
	s := opened(t, open)
	skill := s.addSkill("triage", "acme")
	one := s.addRelease(releaseOf(skill, "1", hubapi.Staged)).Seq
	two := s.addRelease(releaseOf(skill, "2", hubapi.Staged)).Seq
	put := func(release int64, data []byte) {
		s.write(func(w hub.Writer) error {
			return w.PutSearchDoc(hub.SearchDoc{Tenant: hub.LocalTenant, Release: release, Data: data})
		})
	}
	docs := func(tenant string, after int64) (got []hub.SearchDoc) {
		s.read(func(r hub.Reader) error {
			return r.SearchDocs(tenant, after, func(d hub.SearchDoc) error {
				got = append(got, d)
				return nil
			})
		})
		return got
	}
	change := func(tenant string) (n int64) {
		s.read(func(r hub.Reader) (err error) {
			n, err = r.SearchChange(tenant)
			return err
		})
		return n
	}
	doc := func(release, change int64, data []byte) hub.SearchDoc {
		version := map[int64]string{one: "1", two: "2"}[release]
		return hub.SearchDoc{
			Tenant: hub.LocalTenant, Release: release, Change: change, Data: data,
			Version: version, Author: "acme", Description: "description", Tags: "null",
		}
	}
	equal(t, "before the first", change(hub.LocalTenant), int64(0))
	put(one, []byte("a\x00\xff"))
	put(two, []byte{})
	equal(t, "two changes", change(hub.LocalTenant), int64(2))
	equal(t, "both", docs(hub.LocalTenant, 0), []hub.SearchDoc{doc(one, 1, []byte("a\x00\xff")), doc(two, 2, []byte{})})
	equal(t, "behind the first", docs(hub.LocalTenant, 1), []hub.SearchDoc{doc(two, 2, []byte{})})
	equal(t, "of another tenant", len(docs("elsewhere", 0))+int(change("elsewhere")), 0)

	put(one, nil)
	equal(t, "one taken out, as a change", docs(hub.LocalTenant, 2), []hub.SearchDoc{doc(one, 3, nil)})
	equal(t, "one taken out, from the start", docs(hub.LocalTenant, 0), []hub.SearchDoc{doc(two, 2, []byte{})})
	put(one, []byte("b"))
	equal(t, "and back", docs(hub.LocalTenant, 0), []hub.SearchDoc{doc(two, 2, []byte{}), doc(one, 4, []byte("b"))})

	// What is taken back has no number: the next change has the next one.
	failed := hubapi.Errorf(hubapi.Conflict, "no")
	err := s.Write(t.Context(), func(w hub.Writer) error {
		return errors.Join(w.PutSearchDoc(hub.SearchDoc{Tenant: hub.LocalTenant, Release: two, Data: []byte("x")}), failed)
	})
	if !errors.Is(err, failed) {
		t.Errorf("a failed write: %v", err)
	}
	put(two, []byte("c"))
	equal(t, "the next change", docs(hub.LocalTenant, 4), []hub.SearchDoc{doc(two, 5, []byte("c"))})
	stop := s.Read(t.Context(), func(r hub.Reader) error {
		return r.SearchDocs(hub.LocalTenant, 0, func(hub.SearchDoc) error { return failed })
	})
	if !errors.Is(stop, failed) {
		t.Errorf("an error of the caller: %v", stop)
	}

	// What lists show comes with a document, and a badge is a change of it.
	badge := hub.BadgeRow{
		Release: two, Tenant: hub.LocalTenant, Digest: releaseOf(skill, "2", hubapi.Staged).Digest, Level: hubapi.BadgeBasic, IssuedAt: at(1), ExpiresAt: at(9),
	}
	set := func(change func(*hub.BadgeRow)) {
		s.write(func(w hub.Writer) error {
			change(&badge)
			return w.PutBadge(badge)
		})
	}
	s.write(func(w hub.Writer) error { return w.SetCategory(two, "mail") })
	want := doc(two, 6, []byte("c"))
	set(func(*hub.BadgeRow) {})
	want.Category, want.CertifiedUntil = "mail", at(9)
	equal(t, "certified", docs(hub.LocalTenant, 5), []hub.SearchDoc{want})
	set(func(b *hub.BadgeRow) { b.RevokedAt = at(2) })
	want.Change, want.CertifiedUntil = 7, time.Time{}
	equal(t, "revoked", docs(hub.LocalTenant, 5), []hub.SearchDoc{want})
	set(func(b *hub.BadgeRow) { b.RevokedAt, b.Digest = time.Time{}, "sp1:other" })
	want.Change = 8
	equal(t, "of another content", docs(hub.LocalTenant, 5), []hub.SearchDoc{want})
	put(two, nil)
	set(func(*hub.BadgeRow) {})
	equal(t, "a badge on what is not found", change(hub.LocalTenant), int64(9))

	s.read(func(r hub.Reader) error {
		tenants, err := r.SearchTenants()
		equal(t, "tenants", tenants, []string{hub.LocalTenant})
		return err
	})
}

// skills are what the relevance suite searches: name, author, description, tag,
// body.
var skills = [][5]string{
	{"deploy", "acme", "Rolls a service out to a cluster.", "ops", "Check the cluster, then roll out."},
	{"deploy-rollback", "acme", "Takes the last release of a service back.", "ops", "Find the last deployment."},
	{"ship-it", "bob", "Deploys an application with one command.", "release", "Ask before anything is deployed."},
	{"mail-triage", "bob", "Sorts a mailbox and drafts replies.", "email", "Never send without being asked."},
	{"newsletter", "carol", "Writes a newsletter from release notes.", "email", "Draft it, then send it to the mailing list."},
	{"db-backup", "carol", "Backs up a PostgreSQL database and tests the backup.", "database", "Restore it somewhere else."},
	{"sql-review", "acme", "Reviews queries against large databases.", "database", "Look for missing indexes."},
	{"kubernetes-debug", "acme", "Finds out why a pod in Kubernetes does not start.", "ops", "Look at events first."},
	{"uebersetzer", "dora", "Übersetzt Texte ins Deutsche.", "sprache", "Kurze Sätze."},
	{"honyaku", "dora", "日本語の文章を英語に翻訳する。", "言語", "丁寧に。"},
	{"tarjama", "dora", "تُرْجِم النصوص إلى العربية", "لغة", "بوضوح."},
}

func skillFiles(row [5]string) []pack.File {
	return []pack.File{{Path: "SKILL.md", Data: []byte("---\nname: " + row[0] + "\ndescription: " + row[2] +
		"\nmetadata:\n  tags: " + row[3] + "\nallowed-tools: Read Bash\n---\n\n" + row[4] + "\n")}}
}

func publishSkills(t *testing.T, h *hub.Hub, rows [][5]string) {
	t.Helper()
	for _, row := range rows {
		if _, err := h.Publish(t.Context(), hub.LocalAdmin(), hub.PublishInput{
			Name: row[0], Author: row[1], Files: skillFiles(row), Approve: true,
		}); err != nil {
			t.Fatalf("%s: %v", row[0], err)
		}
	}
}

func found(t *testing.T, h *hub.Hub, q hub.SearchQuery) []string {
	t.Helper()
	out, err := h.Search(t.Context(), hub.LocalAdmin(), q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	names := []string{}
	for _, item := range out.Items {
		names = append(names, item.Name)
	}
	return names
}

// testRelevance holds the order of answers, which must not depend on the store.
func testRelevance(t *testing.T, open Opener) {
	s := opened(t, open)
	h := hub.New(s.Store, hub.Config{Now: time.Now})
	publishSkills(t, h, skills)
	for _, tt := range []struct {
		q    hub.SearchQuery
		want []string
	}{
		{hub.SearchQuery{Text: "deploy"}, []string{"deploy", "ship-it", "deploy-rollback"}}, // the name, another form in the summary, a word of the name
		{hub.SearchQuery{Text: "Deploying"}, []string{"ship-it", "deploy-rollback", "deploy"}},
		{hub.SearchQuery{Text: "deploy rollback"}, []string{"deploy-rollback"}},
		{hub.SearchQuery{Text: "databases"}, []string{"sql-review", "db-backup"}},
		{hub.SearchQuery{Text: "databse"}, []string{"db-backup"}},
		{hub.SearchQuery{Text: "kuberntes pod"}, []string{"kubernetes-debug"}},
		{hub.SearchQuery{Text: "kubern"}, []string{"kubernetes-debug"}},
		{hub.SearchQuery{Text: "mail"}, []string{"mail-triage", "newsletter"}},
		{hub.SearchQuery{Text: "how do I draft the replies"}, []string{"mail-triage"}},
		{hub.SearchQuery{Text: "draft"}, []string{"mail-triage", "newsletter"}}, // the summary before the body
		{hub.SearchQuery{Text: "release"}, []string{"newsletter", "deploy-rollback"}},
		{hub.SearchQuery{Text: "übersetzt"}, []string{"uebersetzer"}},
		{hub.SearchQuery{Text: "ÜBERSETZ"}, []string{"uebersetzer"}},
		{hub.SearchQuery{Text: "翻訳"}, []string{"honyaku"}},
		{hub.SearchQuery{Text: "英"}, []string{"honyaku"}},
		{hub.SearchQuery{Text: "ترجم النصوص"}, []string{"tarjama"}},
		{hub.SearchQuery{Text: "acme", Author: "acme"}, []string{"kubernetes-debug", "sql-review", "deploy-rollback", "deploy"}},
		{hub.SearchQuery{Author: "carol"}, []string{"db-backup", "newsletter"}},
		{hub.SearchQuery{Author: "carol", Text: "draft"}, []string{"newsletter"}},
		{hub.SearchQuery{Author: "Carol "}, []string{"db-backup", "newsletter"}},
		{hub.SearchQuery{Format: "kazma"}, []string{}},
		{hub.SearchQuery{Format: "skill-md", Capabilities: []string{"bash", "READ"}, Author: "bob"}, []string{"mail-triage", "ship-it"}},
		{hub.SearchQuery{Capabilities: []string{"bash", "write"}}, []string{}},
		{hub.SearchQuery{Text: "deploy", Status: hubapi.Staged}, []string{}},
		{hub.SearchQuery{Text: "nowhere deploy"}, []string{}},
		{hub.SearchQuery{Text: `"*%_()`}, []string{}},
	} {
		equal(t, tt.q.Text+" "+tt.q.Author, found(t, h, tt.q), tt.want)
	}
}

// testSearchFollows has two hubs over one store, as two servers are: each knows
// what the other did, and a third that starts later says the same.
func testSearchFollows(t *testing.T, open Opener) {
	s := opened(t, open)
	one := hub.New(s.Store, hub.Config{Now: time.Now})
	two := hub.New(s.Store, hub.Config{Now: time.Now})
	equal(t, "nothing yet", found(t, two, hub.SearchQuery{Text: "deploy"}), []string{})
	publishSkills(t, one, skills[:3])
	equal(t, "what the other published", found(t, two, hub.SearchQuery{Text: "deploy"}), []string{"deploy", "ship-it", "deploy-rollback"})
	changed := skills[2]
	changed[2] = "Sends parcels."
	changed[4] = "By post."
	publishSkills(t, two, [][5]string{changed})
	for _, h := range []*hub.Hub{one, two, hub.New(s.Store, hub.Config{Now: time.Now})} {
		equal(t, "what was replaced", found(t, h, hub.SearchQuery{Text: "deploy"}), []string{"deploy", "deploy-rollback"})
		equal(t, "by what", found(t, h, hub.SearchQuery{Text: "parcel"}), []string{"ship-it"})
		equal(t, "all", found(t, h, hub.SearchQuery{}), []string{"deploy", "deploy-rollback", "ship-it"})
	}
	// Documents that an older program has left empty are made anew.
	s.write(func(w hub.Writer) error {
		skill, err := w.Skill(hub.LocalTenant, "deploy")
		if err != nil {
			return err
		}
		rows, err := w.Releases(skill.ID, hubapi.Active, 1)
		if err != nil {
			return err
		}
		return w.PutSearchDoc(hub.SearchDoc{Tenant: hub.LocalTenant, Release: rows[0].Seq, Data: []byte{}})
	})
	for range 2 {
		for _, h := range []*hub.Hub{one, hub.New(s.Store, hub.Config{Now: time.Now})} {
			equal(t, "an empty document", found(t, h, hub.SearchQuery{Text: "deploy"}), []string{"deploy", "deploy-rollback"})
		}
	}
}
