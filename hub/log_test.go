package hub_test

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/translog"
	"github.com/kortecx/kx/pack"
)

// leaves reads the log of p's tenant as whoever fetches its tiles does.
func (f *fixture) leaves(p hub.Principal) []translog.Entry {
	f.Helper()
	state, err := f.LogState(f.Context(), p)
	if err != nil {
		f.Fatal(err)
	}
	var out []translog.Entry
	for int64(len(out)) < state.Size {
		tile := translog.EntryTile(int64(len(out)), state.Size)
		data, err := f.LogTile(f.Context(), p, tile)
		if err != nil {
			f.Fatal(err)
		}
		raw, err := translog.DecodeBundle(data, tile.Width)
		if err != nil {
			f.Fatal(err)
		}
		for _, leaf := range raw {
			e, err := translog.ParseEntry(leaf)
			if err != nil {
				f.Fatal(err)
			}
			out = append(out, e)
		}
	}
	return out
}

func (f *fixture) sound(tenant string) {
	f.Helper()
	problems, err := f.CheckLog(f.Context(), tenant)
	if err != nil || len(problems) > 0 {
		f.Errorf("the log of %s: %v, %v", tenant, problems, err)
	}
}

// tamper changes the database behind the hub's back.
func (f *fixture) tamper(statement string) {
	f.Helper()
	db, err := sql.Open("sqlite", filepath.Join(f.dir, "hub.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		f.Fatal(err)
	}
	result, err := db.ExecContext(f.Context(), statement)
	if err != nil {
		f.Fatal(err)
	}
	if n, err := result.RowsAffected(); n == 0 || err != nil {
		f.Fatalf("%s changed %d rows, %v", statement, n, err)
	}
	if err := db.Close(); err != nil {
		f.Fatal(err)
	}
}

func TestLogSaysWhatHappened(t *testing.T) {
	f := newHub(t)
	files := kortecx("triage", "1", "Read first.")
	digest := string(pack.DigestFiles(files))
	key := strings.Repeat("ab", 32)
	signature := fmt.Appendf(nil, "acme/triage 1 %s %s\n", digest, key)
	f.pushed(publisher, hub.PublishInput{Files: files, Signature: signature})
	if size := len(f.leaves(reviewer)); size != 1 {
		t.Fatalf("%d entries after one push", size)
	}
	f.now = f.now.Add(time.Second)
	f.approved(reviewer, "acme/triage@1")
	// The same once more is no news.
	f.pushed(publisher, hub.PublishInput{Files: files, Signature: signature})

	got := f.leaves(node)
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	want := []translog.Entry{
		{Op: translog.Submit, Name: got[0].Name, Version: "1", Digest: digest, KeyID: key, Time: at},
		{Op: translog.Publish, Name: "acme/triage", Version: "1", Digest: digest, KeyID: key, Time: at.Add(time.Second)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !got[0].Hidden() {
		t.Errorf("a submission is called %s in the log", got[0].Name)
	}

	seen, err := f.LogEntries(t.Context(), reviewer, hubapi.Ref{Author: "acme", Name: "triage"}, 0, 0)
	if err != nil || len(seen.Items) != 2 {
		t.Fatalf("%+v, %v", seen, err)
	}
	nonce, err := hex.DecodeString(seen.Items[0].Nonce)
	if err != nil || translog.HiddenName(nonce, "acme/triage", "1") != got[0].Name {
		t.Errorf("the nonce %s does not open the name", seen.Items[0].Nonce)
	}
	if seen.Items[0].Principal != "pub" || seen.Items[1].Principal != "rev" || seen.Items[1].Op != "publish" {
		t.Errorf("who did what: %+v", seen.Items)
	}
	// Others see what is in clear, and not who did it.
	seen, err = f.LogEntries(t.Context(), node, hubapi.Ref{Name: "triage"}, 0, 0)
	if err != nil || len(seen.Items) != 1 || seen.Items[0].Principal != "" || seen.Items[0].Index != 1 {
		t.Errorf("a node sees %+v, %v", seen, err)
	}
	seen, err = f.LogEntries(t.Context(), node, hubapi.Ref{}, 0, 0)
	if err != nil || len(seen.Items) != 2 || seen.Items[0].Name != "" || seen.Items[0].Nonce != "" {
		t.Errorf("a node sees of all %+v, %v", seen, err)
	}
	// Another tenant has another log.
	if state, err := f.LogState(t.Context(), elsewhere); err != nil || state.Size != 0 || state.Origin != "local/other" {
		t.Errorf("elsewhere: %+v, %v", state, err)
	}
	f.sound("team")
}

func TestRefusalsAreNotLogged(t *testing.T) {
	f := newHub(t)
	f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", "1", "a")})
	before, err := f.Checkpoint(t.Context(), reviewer)
	if err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]func() error{
		"other content": func() error {
			_, err := f.push(publisher, hub.PublishInput{Files: kortecx("triage", "1", "b")})
			return err
		},
		"another's name": func() error {
			_, err := f.push(stranger, hub.PublishInput{Files: kortecx("triage", "2", "b")})
			return err
		},
		"a broken pack": func() error {
			_, err := f.push(publisher, hub.PublishInput{Name: "triage", Files: []pack.File{{Path: "x"}}})
			return err
		},
		"own approval": func() error {
			_, err := f.Approve(t.Context(), hub.Principal{ID: "pub", Tenant: "team", Role: hub.Admin}, parse(t, "triage"))
			return err
		},
		"an unknown name": func() error { _, err := f.Approve(t.Context(), reviewer, parse(t, "nothing")); return err },
	} {
		if try() == nil {
			t.Errorf("%s was taken", name)
		}
		after, err := f.Checkpoint(t.Context(), reviewer)
		if diff := cmp.Diff(string(before), string(after)); diff != "" || err != nil {
			t.Errorf("%s changed the log: %v %s", name, err, diff)
		}
	}
}

func TestWhoMayReadTheLog(t *testing.T) {
	f := newHub(t)
	f.pushed(local, hub.PublishInput{Files: kortecx("triage", "1", "a"), Approve: true})
	nobody := hub.Principal{}
	ask := func(p hub.Principal) []error {
		_, a := f.LogState(t.Context(), p)
		_, b := f.Checkpoint(t.Context(), p)
		_, c := f.LogTile(t.Context(), p, translog.Tile{Width: 1})
		_, d := f.LogInclusion(t.Context(), p, 0, 0)
		_, e := f.LogConsistency(t.Context(), p, 0, 0)
		_, g := f.LogEntries(t.Context(), p, hubapi.Ref{}, 0, 0)
		_, h := f.LogReleases(t.Context(), p, 0, 0)
		return []error{a, b, c, d, e, g, h}
	}
	for i, err := range ask(nobody) {
		refused(t, fmt.Sprint("nobody ", i), err, hubapi.Unauthorized)
	}
	for i, err := range ask(hub.Principal{ID: "x", Tenant: "team", Role: "king"}) {
		refused(t, fmt.Sprint("no role ", i), err, hubapi.Unauthorized)
	}
	err := f.store.Write(t.Context(), func(w hub.Writer) error {
		tenant, err := w.Tenant(hub.LocalTenant)
		if err != nil {
			return err
		}
		tenant.PublicLog = true
		return w.PutTenant(tenant)
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, err := range ask(nobody) {
		if err != nil {
			t.Errorf("public %d: %v", i, err)
		}
	}
	entries, err := f.LogEntries(t.Context(), nobody, hubapi.Ref{Name: "triage"}, 0, 0)
	if err != nil || len(entries.Items) != 1 || entries.Items[0].Principal != "" {
		t.Errorf("nobody sees %+v, %v", entries, err)
	}
	releases, err := f.LogReleases(t.Context(), nobody, 0, 0)
	if err != nil || len(releases.Items) != 1 || *releases.Items[0].LogIndex != 1 {
		t.Errorf("nobody sees %+v, %v", releases, err)
	}
}

func TestLogHost(t *testing.T) {
	f := newHub(t)
	for _, bad := range []string{"", "Hub.example", "a b", "a+b", "a/b", "-a", "a:b", strings.Repeat("a", 300)} {
		refused(t, bad, f.SetLogHost(t.Context(), bad), hubapi.Usage)
	}
	for _, host := range []string{"hub.example", "hub.example:8080"} {
		if err := f.SetLogHost(t.Context(), host); err != nil {
			t.Fatal(err)
		}
	}
	first, err := f.LogState(t.Context(), admin)
	if err != nil || first.Origin != "hub.example:8080/team" {
		t.Fatalf("%+v, %v", first, err)
	}
	note, err := f.Checkpoint(t.Context(), admin)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := translog.OpenCheckpoint(note, first.VKey); err != nil || c.Size != 0 {
		t.Errorf("the empty log: %+v, %v", c, err)
	}
	f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", "1", "a")})
	if err := f.SetLogHost(t.Context(), "hub.example:8080"); err != nil {
		t.Error(err)
	}
	refused(t, "another name", f.SetLogHost(t.Context(), "hub.example"), hubapi.Conflict, "hub.example:8080")
	// The key is the same for all tenants and after a restart.
	other, err := hub.New(f.store, hub.Config{Now: time.Now}).LogState(t.Context(), elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	_, a, _ := translog.SplitVerifierKey(first.VKey)
	_, b, _ := translog.SplitVerifierKey(other.VKey)
	if a == "" || a != b || other.Origin != "hub.example:8080/other" {
		t.Errorf("keys %q and %q of %s", a, b, other.Origin)
	}
}

// Releases of a hub that had no log yet are in it as soon as there is one.
func TestLogBeginsWithWhatWasThere(t *testing.T) {
	f := newHub(t)
	err := f.store.Write(t.Context(), func(w hub.Writer) error {
		id, err := w.AddSkill(hub.SkillRow{Tenant: "team", Name: "old", Author: "acme", NextInteger: 1})
		if err != nil {
			return err
		}
		for i, status := range []hubapi.Status{hubapi.Active, hubapi.Deprecated, hubapi.Staged, hubapi.Quarantined} {
			row := hub.ReleaseRow{
				Skill: id, Tenant: "team", Version: fmt.Sprint(i), Status: status, Digest: "sp1:" + strings.Repeat(fmt.Sprint(i), 64),
				Format: "kortecx", Source: "manual", PublishedBy: "pub", CreatedAt: f.now, UpdatedAt: f.now,
			}
			if status != hubapi.Staged {
				row.ApprovedAt = f.now
			}
			if _, err := w.AddRelease(row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", "1", "a")})
	var got []string
	entries, err := f.LogEntries(t.Context(), admin, hubapi.Ref{}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries.Items {
		got = append(got, e.Op+" "+e.Name+"@"+e.Version)
	}
	want := []string{
		"submit acme/triage@1", "publish acme/old@1", "submit acme/old@2",
		"publish acme/old@3", "withdraw acme/old@3", "publish acme/old@0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	f.sound("team")
}

// A clock that is wrong does not keep anything from being logged; order is that of
// the log (I9, G22).
func TestLogWithAWrongClock(t *testing.T) {
	f := newHub(t)
	for i, year := range []int{2026, 2100, 1970, 2026} {
		f.now = time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", fmt.Sprint(i+1), "a")})
	}
	var versions []string
	for _, e := range f.leaves(node) {
		versions = append(versions, e.Version)
	}
	if diff := cmp.Diff([]string{"1", "2", "3", "4"}, versions); diff != "" {
		t.Error(diff)
	}
	f.sound("team")
}

// What was changed behind the log's back is found.
func TestADamagedLogIsFound(t *testing.T) {
	f := newHub(t)
	f.pushed(local, hub.PublishInput{Files: kortecx("triage", "1", "a"), Approve: true})
	f.sound(hub.LocalTenant)
	for name, tamper := range map[string]string{
		"another entry":       "UPDATE log_entries SET entry = CAST(replace(CAST(entry AS TEXT), 'local', 'nobody') AS BLOB), hashes = hashes WHERE idx = 1",
		"another hash":        "UPDATE log_entries SET hashes = zeroblob(length(hashes)) WHERE idx = 0",
		"another tree":        "UPDATE log_trees SET edge = zeroblob(length(edge))",
		"a lost entry":        "DELETE FROM log_entries WHERE idx = 0",
		"another digest":      "UPDATE releases SET digest = 'sp1:' || substr(digest, 6) || '0'",
		"a silent withdrawal": "UPDATE releases SET status = 'deprecated'",
		"a shorter tree":      "UPDATE log_trees SET size = 3",
	} {
		t.Run(name, func(t *testing.T) {
			f := newHub(t)
			f.pushed(local, hub.PublishInput{Files: kortecx("triage", "1", "a"), Approve: true})
			f.tamper(tamper)
			problems, err := f.CheckLog(t.Context(), hub.LocalTenant)
			if err != nil || len(problems) == 0 {
				t.Errorf("%v, %v", problems, err)
			}
		})
	}
}

// Random histories: every checkpoint that was ever given is continued by all later
// ones, and every release is proven in the last.
func TestLogOfRandomHistories(t *testing.T) {
	f := newHub(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++ // a tenant for each history
		tenant := fmt.Sprintf("team-%d", n)
		in := func(p hub.Principal) hub.Principal { p.Tenant = tenant; return p }
		admin, reviewer, publisher, node := in(admin), in(reviewer), in(publisher), in(node)
		ctx := context.Background()
		if err := f.store.Write(ctx, func(w hub.Writer) error { return w.PutTenant(hub.TenantRow{ID: tenant}) }); err != nil {
			rt.Fatal(err)
		}
		var seen []translog.Checkpoint
		look := func() translog.Checkpoint {
			state, err := f.LogState(ctx, admin)
			if err != nil {
				rt.Fatal(err)
			}
			note, err := f.Checkpoint(ctx, node)
			if err != nil {
				rt.Fatal(err)
			}
			c, err := translog.OpenCheckpoint(note, state.VKey)
			if err != nil {
				rt.Fatal(err)
			}
			return c
		}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			name := rapid.SampledFrom([]string{"triage", "other"}).Draw(rt, "name")
			version := rapid.SampledFrom([]string{"1", "2", "3"}).Draw(rt, "version")
			text := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "text")
			if rapid.Bool().Draw(rt, "push") {
				_, _ = f.push(publisher, hub.PublishInput{Files: kortecx(name, version, text)})
			} else {
				_, _ = f.Approve(ctx, reviewer, hubapi.Ref{Name: name, Version: version})
			}
			seen = append(seen, look())
		}
		last := seen[len(seen)-1]
		for _, before := range seen {
			err := translog.CheckConsistency(before, last, func(from, to int64) ([]translog.Hash, error) {
				proof, err := f.LogConsistency(ctx, node, from, to)
				return parseHashes(t, proof.Hashes), err
			})
			if err != nil {
				rt.Fatalf("from %d to %d: %v", before.Size, last.Size, err)
			}
		}
		releases, err := f.LogReleases(ctx, admin, 0, 0)
		if err != nil {
			rt.Fatal(err)
		}
		for _, r := range releases.Items {
			entries, err := f.LogEntries(ctx, admin, hubapi.Ref{}, *r.LogIndex, 1)
			if err != nil || len(entries.Items) != 1 || entries.Items[0].Digest != r.Digest || entries.Items[0].Name != r.Author+"/"+r.Name {
				rt.Fatalf("%+v is logged as %+v, %v", r, entries, err)
			}
			if (entries.Items[0].Op == "publish") != (r.Status == hubapi.Active || r.Status == hubapi.Deprecated) {
				rt.Fatalf("%s is logged as %s", r.Status, entries.Items[0].Op)
			}
			proof, err := f.LogInclusion(ctx, node, *r.LogIndex, 0)
			if err != nil {
				rt.Fatal(err)
			}
			leaf := translog.LeafHash([]byte(entries.Items[0].Entry))
			if err := translog.CheckInclusion(parseHashes(t, proof.Hashes), last, *r.LogIndex, leaf); err != nil {
				rt.Fatal(err)
			}
		}
		if problems, err := f.CheckLog(ctx, tenant); err != nil || len(problems) > 0 {
			rt.Fatalf("%v, %v", problems, err)
		}
	})
}

func parseHashes(t testing.TB, texts []string) []translog.Hash {
	out := make([]translog.Hash, len(texts))
	for i, text := range texts {
		var err error
		if out[i], err = translog.ParseHash(text); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
