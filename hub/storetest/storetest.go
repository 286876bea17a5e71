// Package storetest is the suite that every hub.Store must pass. It tests the
// promises of the interface, not the rules of a hub, and knows no database.
//
// A store's own test calls Run.
package storetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

// Opener opens one store again and again: what one opening wrote and closed, the
// next one must find. The suite closes what it opens.
type Opener func(t *testing.T) hub.Store

// Run runs the suite. Every test calls fresh for a place of its own, which holds
// nothing but the tenant "local".
func Run(t *testing.T, fresh func(t *testing.T) Opener) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, open Opener)
	}{
		{"Tenant", testTenant},
		{"Keys", testKeys},
		{"Review", testReview},
		{"Cooloffs", testCooloffs},
		{"Skills", testSkills},
		{"Releases", testReleases},
		{"VersionsAreUnique", testUnique},
		{"Move", testMove},
		{"Files", testFiles},
		{"Contents", testContents},
		{"SearchDocs", testSearchDocs},
		{"SearchRelevance", testRelevance},
		{"SearchFollowsEveryHub", testSearchFollows},
		{"Catalog", testCatalog},
		{"Audit", testAudit},
		{"Fleet", testFleet},
		{"Webhooks", testWebhooks},
		{"Embeddings", testEmbeddings},
		{"Publishers", testPublishers},
		{"Badges", testBadges},
		{"Attestations", testAttestations},
		{"Submissions", testSubmissions},
		{"KazmaLists", testKazmaLists},
		{"KazmaListsFollow", testKazmaListsFollow},
		{"Documents", testDocuments},
		{"Log", testLog},
		{"LogOfManyWriters", testLogConcurrent},
		{"OrderIsByBytes", testOrder},
		{"AnErrorTakesEverythingBack", testRollback},
		{"AWriteSeesItself", testOwnView},
		{"AReadIsOneView", testSnapshot},
		{"AWriteMovesTheMark", testMark},
		{"ALookSeesWhatWasAcknowledged", testLook},
		{"WritesOneByOne", testSerial},
		{"OneFailureAmongMany", testMixed},
		{"PanicsGoOnInTheCaller", testPanic},
		{"AContextEndsTheWait", testContext},
		{"ReopenFindsEverything", testReopen},
		{"CloseRefusesWrites", testClosed},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, fresh(t))
		})
	}
}

// s is an open store with the helpers of the tests.
type s struct {
	*testing.T
	hub.Store
}

func opened(t *testing.T, open Opener) s {
	t.Helper()
	store := open(t)
	t.Cleanup(func() { _ = store.Close() })
	return s{t, store}
}

func (s s) write(fn func(hub.Writer) error) {
	s.Helper()
	if err := s.Write(s.Context(), fn); err != nil {
		s.Fatal(err)
	}
}

func (s s) read(fn func(hub.Reader) error) {
	s.Helper()
	if err := s.Read(s.Context(), fn); err != nil {
		s.Fatal(err)
	}
}

func equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

func absent(t testing.TB, what string, err error) {
	t.Helper()
	if !errors.Is(err, hub.ErrNoRow) {
		t.Errorf("%s: error %v, want ErrNoRow", what, err)
	}
}

// at is a time of the resolution that stores keep.
func at(second int) time.Time {
	return time.Date(2026, 1, 2, 3, 4, second, 123456000, time.UTC)
}

func sum(data string) hub.Sum { return sha256.Sum256([]byte(data)) }

// addSkill makes a skill and gives it with its id.
func (s s) addSkill(name, author string) hub.SkillRow {
	s.Helper()
	row := hub.SkillRow{Tenant: hub.LocalTenant, Name: name, Author: author, NextInteger: 1}
	s.write(func(w hub.Writer) (err error) {
		row.ID, err = w.AddSkill(row)
		return err
	})
	return row
}

func releaseOf(skill hub.SkillRow, version string, status hubapi.Status) hub.ReleaseRow {
	return hub.ReleaseRow{
		Skill: skill.ID, Tenant: skill.Tenant, Name: skill.Name, Author: skill.Author,
		Version: version, Status: status, Digest: "sp1:" + version, Format: "kortecx",
		Summary: "summary of " + version, Description: "description", Source: "manual",
		PublishedBy: "ann", CreatedAt: at(1), UpdatedAt: at(2),
	}
}

func (s s) addRelease(row hub.ReleaseRow) hub.ReleaseRow {
	s.Helper()
	s.write(func(w hub.Writer) (err error) {
		row.Seq, err = w.AddRelease(row)
		return err
	})
	return row
}

func testTenant(t *testing.T, open Opener) {
	s := opened(t, open)
	s.read(func(r hub.Reader) error {
		got, err := r.Tenant(hub.LocalTenant)
		equal(t, "tenant local", got, hub.TenantRow{ID: hub.LocalTenant, SelfApprove: true})
		if err != nil {
			return err
		}
		_, err = r.Tenant("elsewhere")
		absent(t, "tenant elsewhere", err)
		return nil
	})
	for _, row := range []hub.TenantRow{{ID: "team"}, {ID: "team", SelfApprove: true}, {
		ID: "team", OptedOut: true, AutoPromoteClean: true, PublicLog: true, InboxMuted: true, InboxMaxPending: 1, CooloffDays: 2,
		StaleDays: 3, MinClusterSize: 4, MinAgents: 5, FreshnessDays: 6, DescriptionBytes: 7, BodyBytes: 8, PublicCatalog: true,
	}} {
		s.write(func(w hub.Writer) error { return w.PutTenant(row) })
		s.read(func(r hub.Reader) error {
			got, err := r.Tenant("team")
			equal(t, "tenant team", got, row)
			return err
		})
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("a fresh store is not ready: %v", err)
	}
}

func testSkills(t *testing.T, open Opener) {
	s := opened(t, open)
	skill := s.addSkill("triage", "acme")
	s.write(func(w hub.Writer) error { return w.SetNextInteger(skill.ID, 8) })
	skill.NextInteger = 8
	s.read(func(r hub.Reader) error {
		got, err := r.Skill(hub.LocalTenant, "triage")
		equal(t, "skill", got, skill)
		if err != nil {
			return err
		}
		for _, name := range []string{"Triage", "triage ", "", "triag"} {
			_, err = r.Skill(hub.LocalTenant, name)
			absent(t, name, err)
		}
		_, err = r.Skill("elsewhere", "triage")
		absent(t, "the name in another tenant", err)
		return nil
	})
	if err := s.Write(t.Context(), func(w hub.Writer) error {
		_, err := w.AddSkill(hub.SkillRow{Tenant: hub.LocalTenant, Name: "triage", Author: "evil", NextInteger: 1})
		return err
	}); err == nil {
		t.Error("one name was added twice")
	}
}

func testReleases(t *testing.T, open Opener) {
	s := opened(t, open)
	skill := s.addSkill("triage", "acme")
	other := s.addSkill("other", "acme")
	s.write(func(w hub.Writer) error { return w.PutContent(sum("sig"), []byte("sig")) })

	full := releaseOf(skill, "1", hubapi.Active)
	full.Tags = []string{"b", "a", "ü"}
	full.Tools = map[string]string{"gmail/read": "1", "retrieve": "007"}
	full.ApprovedAt, full.ApprovedBy = at(3), "bob"
	signature := sum("sig")
	full.Signature = &signature
	full = s.addRelease(full)
	second := releaseOf(skill, "2", hubapi.Staged)
	second.Digest = full.Digest
	second = s.addRelease(second)
	third := s.addRelease(releaseOf(skill, "3", hubapi.Staged))
	fourth := releaseOf(other, "1", hubapi.Staged)
	fourth.Digest = "sp1:other"
	fourth = s.addRelease(fourth)

	s.read(func(r hub.Reader) error {
		check := func(what string, want hub.ReleaseRow) func(hub.ReleaseRow, error) {
			return func(got hub.ReleaseRow, err error) {
				t.Helper()
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
				equal(t, what, got, want)
			}
		}
		list := func(what string, want ...hub.ReleaseRow) func([]hub.ReleaseRow, error) {
			return func(got []hub.ReleaseRow, err error) {
				t.Helper()
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
				equal(t, what, got, want)
			}
		}
		check("by version", full)(r.Release(skill.ID, "1"))
		check("first with the digest", full)(r.ReleaseWithDigest(skill.ID, full.Digest))
		list("staged of a skill", third, second)(r.Releases(skill.ID, hubapi.Staged, 10))
		list("newest staged", third)(r.Releases(skill.ID, hubapi.Staged, 1))
		list("of any status", third, second, full)(r.Releases(skill.ID, "", 10))
		list("rejected", []hub.ReleaseRow(nil)...)(r.Releases(skill.ID, hubapi.Rejected, 1))
		list("staged of a tenant", fourth, third, second)(r.TenantReleases(hub.LocalTenant, hubapi.Staged, 10))
		list("two of a tenant", fourth, third)(r.TenantReleases(hub.LocalTenant, hubapi.Staged, 2))
		list("of another tenant", []hub.ReleaseRow(nil)...)(r.TenantReleases("elsewhere", hubapi.Staged, 2))
		list("active", full)(r.ActiveReleases(hub.LocalTenant, "", 10))
		list("active behind", []hub.ReleaseRow(nil)...)(r.ActiveReleases(hub.LocalTenant, "triage", 10))
		list("by sequence", third, full)(r.ReleasesBySeq([]int64{third.Seq, 999, full.Seq}))
		var many []int64
		for i := range int64(120) {
			many = append(many, 1000+i)
		}
		many[0], many[99] = third.Seq, full.Seq
		list("many by sequence", third, full)(r.ReleasesBySeq(many))
		list("none by sequence", []hub.ReleaseRow(nil)...)(r.ReleasesBySeq(nil))
		_, err := r.Release(skill.ID, "9")
		absent(t, "version 9", err)
		_, err = r.ReleaseWithDigest(other.ID, full.Digest)
		absent(t, "digest in another skill", err)
		n, err := r.CountReleases(hub.LocalTenant, hubapi.Staged)
		equal(t, "count", n, 3)
		return err
	})
}

func testUnique(t *testing.T, open Opener) {
	s := opened(t, open)
	skill := s.addSkill("triage", "acme")
	s.addRelease(releaseOf(skill, "1", hubapi.Active))
	for name, row := range map[string]hub.ReleaseRow{
		"a version twice":      releaseOf(skill, "1", hubapi.Staged),
		"two active ones":      releaseOf(skill, "2", hubapi.Active),
		"a skill that is not":  releaseOf(hub.SkillRow{ID: 999, Tenant: hub.LocalTenant}, "1", hubapi.Staged),
		"a status that is not": releaseOf(skill, "3", "fine"),
	} {
		if err := s.Write(t.Context(), func(w hub.Writer) error {
			_, err := w.AddRelease(row)
			return err
		}); err == nil {
			t.Errorf("%s was added", name)
		}
	}
}

func testMove(t *testing.T, open Opener) {
	s := opened(t, open)
	skill := s.addSkill("triage", "acme")
	row := s.addRelease(releaseOf(skill, "1", hubapi.Staged))
	var moved [3]bool
	s.write(func(w hub.Writer) (err error) {
		if moved[0], err = w.Move(row.Seq, hubapi.Staged, hubapi.Active, at(9), "bob"); err != nil {
			return err
		}
		if moved[1], err = w.Move(row.Seq, hubapi.Staged, hubapi.Active, at(10), "eve"); err != nil {
			return err
		}
		moved[2], err = w.Move(999, hubapi.Staged, hubapi.Active, at(11), "eve")
		return err
	})
	equal(t, "moved", moved, [3]bool{true, false, false})
	row.Status, row.UpdatedAt, row.ApprovedAt, row.ApprovedBy = hubapi.Active, at(9), at(9), "bob"
	get := func() (got hub.ReleaseRow) {
		s.read(func(r hub.Reader) (err error) {
			got, err = r.Release(skill.ID, "1")
			return err
		})
		return got
	}
	equal(t, "approved", get(), row)
	s.write(func(w hub.Writer) error {
		_, err := w.Move(row.Seq, hubapi.Active, hubapi.Deprecated, at(12), "eve")
		return err
	})
	row.Status, row.UpdatedAt = hubapi.Deprecated, at(12)
	equal(t, "deprecated", get(), row)
}

func testFiles(t *testing.T, open Opener) {
	s := opened(t, open)
	skill := s.addSkill("triage", "acme")
	row := s.addRelease(releaseOf(skill, "1", hubapi.Staged))
	files := []hub.FileRow{
		{Path: "b/run.sh", Size: 3, Sum: sum("run"), Executable: true},
		{Path: "SKILL.md", Size: 2, Sum: sum("md")},
		{Path: "b.txt", Size: 2, Sum: sum("md")},
	}
	s.write(func(w hub.Writer) error {
		for _, data := range []string{"run", "md"} {
			if err := w.PutContent(sum(data), []byte(data)); err != nil {
				return err
			}
		}
		return w.AddFiles(row.Seq, files)
	})
	s.read(func(r hub.Reader) error {
		got, err := r.Files(row.Seq)
		equal(t, "files by path", got, []hub.FileRow{files[1], files[2], files[0]})
		if err != nil {
			return err
		}
		one, err := r.File(row.Seq, "b/run.sh")
		equal(t, "one file", one, files[0])
		if err != nil {
			return err
		}
		_, err = r.File(row.Seq, "B/run.sh")
		absent(t, "the path in another case", err)
		none, err := r.Files(999)
		equal(t, "files of no release", len(none), 0)
		return err
	})
	if err := s.Write(t.Context(), func(w hub.Writer) error {
		return w.AddFiles(row.Seq, []hub.FileRow{{Path: "x", Sum: sum("never stored")}})
	}); err == nil {
		t.Error("a file without its content was added")
	}
}

func testContents(t *testing.T, open Opener) {
	s := opened(t, open)
	contents := []string{"", "a", "\x00\xff binary", strings.Repeat("sixteen MiB is the most of a pack", 1<<19)[:16<<20]}
	for range 2 {
		s.write(func(w hub.Writer) error {
			for _, data := range contents {
				if err := w.PutContent(sum(data), []byte(data)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	s.write(func(w hub.Writer) error { return w.PutContent(sum(""), nil) })
	s.read(func(r hub.Reader) error {
		for _, data := range contents {
			got, err := r.Content(sum(data))
			if err != nil {
				return err
			}
			if string(got) != data {
				t.Errorf("a content of %d bytes came back as %d other ones", len(data), len(got))
			}
		}
		_, err := r.Content(sum("absent"))
		absent(t, "content", err)
		return nil
	})
}

func catalogRow(principal, name string) hub.CatalogRow {
	return hub.CatalogRow{
		Tenant: hub.LocalTenant, Principal: principal, Name: name, Version: "1", Description: "d",
		SkillRef: strings.Repeat("a", 32), InstructionsRef: strings.Repeat("b", 64),
		Manifest: []byte(`{"name":"` + name + `"}`), UpdatedAt: at(1),
	}
}

func testCatalog(t *testing.T, open Opener) {
	s := opened(t, open)
	full := catalogRow("ann", "b")
	full.Tags, full.Tools = []string{"x"}, map[string]string{"t": "1"}
	body := sum("body")
	full.Instructions = &body
	rows := []hub.CatalogRow{catalogRow("ann", "a"), full, catalogRow("ann", "c")}
	s.write(func(w hub.Writer) error {
		if err := w.PutContent(body, []byte("body")); err != nil {
			return err
		}
		for _, row := range append(rows, catalogRow("bob", "a")) {
			if err := w.PutCatalogSkill(row); err != nil {
				return err
			}
		}
		return nil
	})
	list := func(principal, after string, limit int) (got []hub.CatalogRow) {
		s.read(func(r hub.Reader) (err error) {
			got, err = r.CatalogSkills(hub.LocalTenant, principal, after, limit)
			return err
		})
		return got
	}
	equal(t, "all", list("ann", "", 10), rows)
	equal(t, "one behind a", list("ann", "a", 1), rows[1:2])
	equal(t, "of nobody", len(list("eve", "", 10)), 0)

	changed := catalogRow("ann", "b")
	changed.Version, changed.UpdatedAt = "2", at(5)
	var dropped, again bool
	s.write(func(w hub.Writer) (err error) {
		if err = w.PutCatalogSkill(changed); err != nil {
			return err
		}
		if dropped, err = w.DropCatalogSkill(hub.LocalTenant, "ann", "a"); err != nil {
			return err
		}
		again, err = w.DropCatalogSkill(hub.LocalTenant, "ann", "a")
		return err
	})
	equal(t, "dropped", [2]bool{dropped, again}, [2]bool{true, false})
	equal(t, "replaced and dropped", list("ann", "", 10), []hub.CatalogRow{changed, rows[2]})
	equal(t, "of bob", len(list("bob", "", 10)), 1)
}

func testAudit(t *testing.T, open Opener) {
	s := opened(t, open)
	// The clock goes back: order is by sequence.
	for i := range 3 {
		s.write(func(w hub.Writer) error {
			return w.AddAudit(hub.AuditRow{
				Tenant: hub.LocalTenant, At: at(30 - i), Principal: "ann", Action: "publish",
				Author: "acme", Name: "triage", Version: fmt.Sprint(i), Digest: "sp1:0", Note: "n",
			})
		})
	}
	s.read(func(r hub.Reader) error {
		all, err := r.Audit(hub.LocalTenant, 0, 10)
		if err != nil {
			return err
		}
		if len(all) != 3 {
			t.Fatalf("%d audit rows, want 3", len(all))
		}
		for i, row := range all {
			equal(t, "row", row, hub.AuditRow{
				Seq: row.Seq, Tenant: hub.LocalTenant, At: at(30 - i), Principal: "ann", Action: "publish",
				Author: "acme", Name: "triage", Version: fmt.Sprint(i), Digest: "sp1:0", Note: "n",
			})
		}
		rest, err := r.Audit(hub.LocalTenant, all[0].Seq, 1)
		equal(t, "one behind the first", rest, all[1:2])
		return err
	})
}

func testOrder(t *testing.T, open Opener) {
	s := opened(t, open)
	names := []string{"-", "0", "A", "a", "aa", "z", "ä", "€", "\U0001F600"}
	s.write(func(w hub.Writer) error {
		for i := len(names) - 1; i >= 0; i-- {
			if err := w.PutCatalogSkill(catalogRow("ann", names[i])); err != nil {
				return err
			}
		}
		return nil
	})
	s.read(func(r hub.Reader) error {
		rows, err := r.CatalogSkills(hub.LocalTenant, "ann", "", 100)
		var got []string
		for _, row := range rows {
			got = append(got, row.Name)
		}
		equal(t, "order", got, names)
		return err
	})
}

// TempDir is t.TempDir in memory where the system has a place for that: tests of
// rules need no disk, and the disk of a busy machine makes them slow.
func TempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "kx-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
