package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/storetest"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/pgtest"
	"github.com/kortecx/kx/pack"
)

func openedPostgres(t testing.TB, url string) *Store {
	t.Helper()
	s, err := OpenPostgres(t.Context(), url, Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestPostgresStore(t *testing.T) {
	pgtest.URL(t) // skips once
	storetest.Run(t, func(t *testing.T) storetest.Opener {
		url := pgtest.URL(t)
		return func(t *testing.T) hub.Store { return openedPostgres(t, url) }
	})
}

// Several servers may start at once over an empty database, and write at once.
func TestServersShareADatabase(t *testing.T) {
	url := pgtest.URL(t)
	var stores [3]*Store
	var wg sync.WaitGroup
	for i := range stores {
		wg.Go(func() {
			var err error
			if stores[i], err = OpenPostgres(t.Context(), url, Options{Now: time.Now}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, s := range stores {
		if s == nil {
			t.FailNow()
		}
		defer s.Close()
	}
	var skill int64
	if err := stores[0].Write(t.Context(), func(w hub.Writer) (err error) {
		skill, err = w.AddSkill(hub.SkillRow{Tenant: hub.LocalTenant, Name: "triage", Author: "acme", NextInteger: 1})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	const each = 40
	for _, s := range stores {
		for range each {
			wg.Go(func() {
				var mine int64
				err := s.Write(context.Background(), func(w hub.Writer) error {
					row, err := w.Skill(hub.LocalTenant, "triage")
					if err != nil {
						return err
					}
					mine = row.NextInteger + 1
					return w.SetNextInteger(skill, mine)
				})
				if err != nil {
					t.Error(err)
				}
				// What one server acknowledged, every other sees.
				for _, other := range stores {
					if err := other.Read(context.Background(), func(r hub.Reader) error {
						row, err := r.Skill(hub.LocalTenant, "triage")
						if row.NextInteger < mine {
							t.Errorf("a read after the acknowledgement of %d saw %d", mine, row.NextInteger)
						}
						return err
					}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if err := stores[1].Read(t.Context(), func(r hub.Reader) error {
		row, err := r.Skill(hub.LocalTenant, "triage")
		if want := int64(1 + each*len(stores)); row.NextInteger != want {
			t.Errorf("%d after all writes, want %d", row.NextInteger, want)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// R6: of writers on several servers that want one version, exactly one gets it.
func TestOneWinnerOverAllServers(t *testing.T) {
	url := pgtest.URL(t)
	stores := []*Store{openedPostgres(t, url), openedPostgres(t, url)}
	for round := range 20 {
		var wg sync.WaitGroup
		var mu sync.Mutex
		won, lost := 0, 0
		var skill int64
		if err := stores[0].Write(t.Context(), func(w hub.Writer) (err error) {
			skill, err = w.AddSkill(hub.SkillRow{Tenant: hub.LocalTenant, Name: fmt.Sprint("s", round), Author: "acme", NextInteger: 1})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for i := range 16 {
			wg.Go(func() {
				taken := false
				err := stores[i%2].Write(context.Background(), func(w hub.Writer) error {
					_, err := w.Release(skill, "1")
					if taken = err == nil; taken {
						return nil
					}
					if !errors.Is(err, hub.ErrNoRow) {
						return err
					}
					_, err = w.AddRelease(hub.ReleaseRow{Skill: skill, Tenant: hub.LocalTenant, Version: "1", Status: hubapi.Staged, Digest: fmt.Sprint(i)})
					return err
				})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil:
					t.Error(err)
				case taken:
					lost++
				default:
					won++
				}
			})
		}
		wg.Wait()
		if won != 1 || lost != 15 {
			t.Fatalf("round %d: %d won, %d lost", round, won, lost)
		}
	}
}

// What one server made active or certified, the next search and the next list of every
// other one knows, however quiet that server was itself.
func TestServersListWhatOthersDid(t *testing.T) {
	url := pgtest.URL(t)
	one := hub.New(openedPostgres(t, url), hub.Config{Now: time.Now})
	two := hub.New(openedPostgres(t, url), hub.Config{Now: time.Now})
	p := hub.LocalAdmin()
	listed := func(when string, want int, certified bool) {
		t.Helper()
		found, err := two.Search(t.Context(), p, hub.SearchQuery{Text: "mail"})
		if err != nil || len(found.Items) != want {
			t.Errorf("%s: found %d, %v", when, len(found.Items), err)
		}
		items, total, err := two.KazmaList(t.Context(), p, hub.KazmaQuery{Limit: 9})
		if err != nil || total != want || len(items) != want || want > 0 && items[0].Certified != certified {
			t.Errorf("%s: listed %+v of %d, %v", when, items, total, err)
		}
	}
	listed("at first", 0, false)
	files := []pack.File{{Path: "SKILL.md", Data: []byte("---\nname: triage\ndescription: Sorts the mail that comes in.\nlicense: MIT\n---\n\nSort it.\n")}}
	if _, err := one.Publish(t.Context(), p, hub.PublishInput{Author: "acme", Files: files, Approve: true}); err != nil {
		t.Fatal(err)
	}
	listed("published", 1, false)
	ref := hubapi.Ref{Author: "acme", Name: "triage"}
	if _, err := one.IssueBadge(t.Context(), p, ref, hubapi.BadgeBasic); err != nil {
		t.Fatal(err)
	}
	listed("certified", 1, true)
	if _, err := one.RevokeBadge(t.Context(), p, ref, "wrong"); err != nil {
		t.Fatal(err)
	}
	listed("revoked", 1, false)
	if _, err := one.Act(t.Context(), p, ref, hub.Withdraw, hubapi.Review{Reason: "old"}); err != nil {
		t.Fatal(err)
	}
	listed("withdrawn", 0, false)
}

// A key that a server was shown before is refused by it as soon as another one revoked it,
// and another server's new key is let in at once.
func TestServersKnowOthersKeys(t *testing.T) {
	url := pgtest.URL(t)
	one := hub.New(openedPostgres(t, url), hub.Config{Now: time.Now})
	two := hub.New(openedPostgres(t, url), hub.Config{Now: time.Now})
	made, err := one.NewKey(t.Context(), hub.LocalAdmin(), hubapi.NewKey{Role: "node"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if who, err := two.Authenticate(t.Context(), made.Token); err != nil || who.Principal.ID != made.ID {
			t.Fatalf("%+v, %v", who, err)
		}
	}
	if _, err := one.RevokeKey(t.Context(), hub.LocalAdmin(), made.ID); err != nil {
		t.Fatal(err)
	}
	if who, err := two.Authenticate(t.Context(), made.Token); err == nil || hubapi.AsError(err).Code != hubapi.Unauthorized {
		t.Errorf("revoked elsewhere: %+v, %v", who, err)
	}
}

func TestPostgresHistoryIsNotRewritten(t *testing.T) {
	for name, tt := range map[string]struct{ change, want string }{
		"a newer schema": {fmt.Sprintf("INSERT INTO migrations VALUES (%d, 'more', 'x', 0)", schema(t)+1), "newer"},
		"an edited step": {"UPDATE migrations SET sha256 = 'x'", "does not have"},
	} {
		url := pgtest.URL(t)
		running := openedPostgres(t, url)
		pgtest.Exec(t, url, tt.change)
		_, err := OpenPostgres(t.Context(), url, Options{Now: time.Now})
		if e := hubapi.AsError(err); e == nil || e.Code != hubapi.Precondition || !strings.Contains(e.Message, tt.want) || e.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
		if name != "a newer schema" {
			continue
		}
		err = running.Write(t.Context(), func(w hub.Writer) error { return w.PutTenant(hub.TenantRow{ID: "x"}) })
		if e := hubapi.AsError(err); e == nil || e.Code != hubapi.Unavailable || !strings.Contains(e.Message, "newer kx") {
			t.Errorf("a server that runs while the schema changes: %v", err)
		}
	}
}

// A database server that restarts takes nothing down: connections are made anew.
func TestBrokenConnectionsAreReplaced(t *testing.T) {
	url := pgtest.URL(t)
	s := openedPostgres(t, url)
	write := func(id string) error {
		return s.Write(t.Context(), func(w hub.Writer) error { return w.PutTenant(hub.TenantRow{ID: id}) })
	}
	read := func(id string) error {
		return s.Read(t.Context(), func(r hub.Reader) error {
			_, err := r.Tenant(id)
			return err
		})
	}
	const kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
	for i := range 3 {
		id := fmt.Sprint("t", i)
		if err := write(id); err != nil {
			t.Fatal(err)
		}
		if err := read(id); err != nil {
			t.Fatal(err)
		}
		pgtest.Exec(t, url, kill)
	}
	if err := read("t2"); err != nil {
		t.Errorf("a read after the connections broke: %v", err)
	}
	pgtest.Exec(t, url, kill)
	if err := s.Look(t.Context(), func(r hub.Reader) error {
		_, err := r.Tenant("t2")
		return err
	}); err != nil {
		t.Errorf("a look after the connections broke: %v", err)
	}
	// In the middle of a write: it is run again, once.
	runs := 0
	if err := s.Write(t.Context(), func(w hub.Writer) error {
		runs++
		if err := w.PutTenant(hub.TenantRow{ID: "middle"}); err != nil {
			return err
		}
		if runs == 1 {
			pgtest.Exec(t, url, kill)
		}
		return w.PutTenant(hub.TenantRow{ID: "end"})
	}); err != nil || runs != 2 {
		t.Errorf("a write whose connection broke: %v after %d runs", err, runs)
	}
	if err := errors.Join(read("middle"), read("end"), s.Ready(t.Context())); err != nil {
		t.Error(err)
	}
}

// Text is ordered by bytes whatever the database's collation is.
func TestPostgresColumnsAreOrderedByBytes(t *testing.T) {
	url := pgtest.URL(t)
	s := openedPostgres(t, url)
	columns, err := all(s.writer.session, func(rows *sql.Rows) (name string, err error) {
		return name, rows.Scan(&name)
	}, `SELECT table_name || '.' || column_name FROM information_schema.columns
  WHERE table_schema = 'public' AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'`)
	if err != nil || len(columns) != 0 {
		t.Errorf("without COLLATE \"C\": %v, %v", columns, err)
	}
}

func TestPostgresURLs(t *testing.T) {
	for _, url := range []string{"", "mysql://u:secret@h/d", "postgres://u:secret@h:port/d", "host=h password=secret", "postgres://u:secret@h/d?sslmode=maybe", "postgres://u:sec ret@h/"} {
		_, err := OpenPostgres(t.Context(), url, Options{Now: time.Now})
		if e := hubapi.AsError(err); e == nil || e.Code != hubapi.Usage || strings.Contains(e.Error()+e.Hint, "secret") {
			t.Errorf("%q: %v", url, err)
		}
	}
	_, err := OpenPostgres(t.Context(), "postgres://u:secret@127.0.0.1:1/d?connect_timeout=2", Options{Now: time.Now})
	if e := hubapi.AsError(err); e == nil || e.Code != hubapi.Unavailable || strings.Contains(e.Error()+e.Hint, "secret") {
		t.Errorf("nobody there: %v", err)
	}
}

func TestPostgresKeepsBytes(t *testing.T) {
	s := openedPostgres(t, pgtest.URL(t))
	for _, data := range [][]byte{{0}, []byte(`\x41`), random(1 << 20)} {
		sum, err := putContent(s, data)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Read(t.Context(), func(r hub.Reader) error {
			got, err := r.Content(sum)
			if sha256.Sum256(got) != sum {
				t.Errorf("%d bytes came back as %d others", len(data), len(got))
			}
			return err
		}); err != nil {
			t.Error(err)
		}
	}
}

// A database that waits for no disk is made to, on every connection; one that waits for
// more than the disk is left alone.
func TestPostgresCommitsAreDurable(t *testing.T) {
	for set, want := range map[string]string{"off": "on", "remote_apply": "remote_apply"} {
		url := pgtest.URL(t)
		pgtest.Exec(t, url, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = "+set+"', current_database()); END $$")
		s := openedPostgres(t, url)
		show := func(session *session) {
			t.Helper()
			if got, err := texts(session, "SHOW synchronous_commit"); err != nil || len(got) != 1 || got[0] != want {
				t.Errorf("%s became %v, %v", set, got, err)
			}
		}
		show(s.writer.session)
		reader, err := s.reader(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		show(reader)
		s.giveBack(reader)
	}
}

// A database, and an address, that ask for another encoding got broken texts.
func TestPostgresIsSpokenToInUTF8(t *testing.T) {
	url := pgtest.URL(t)
	pgtest.Exec(t, url, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET client_encoding = LATIN1', current_database()); END $$")
	for _, asked := range []string{"", "&client_encoding=LATIN1"} {
		s := openedPostgres(t, url+asked)
		got, err := texts(s.writer.session, "SELECT concat(current_setting('client_encoding'), ' ', ?::text)", "é 技能")
		if err != nil || len(got) != 1 || got[0] != "UTF8 é 技能" {
			t.Errorf("%q: %v, %v", asked, got, err)
		}
	}
}

// A value that cannot be sent is the error of its own write; the ones beside it are kept.
func TestAValueThatCannotBeSentTakesNoOtherWriteWithIt(t *testing.T) {
	s := openedPostgres(t, pgtest.URL(t))
	jobs := []*job{
		{fn: func(w hub.Writer) error { return w.PutTenant(hub.TenantRow{ID: "before"}) }},
		{fn: func(w hub.Writer) error {
			if err := w.PutTenant(hub.TenantRow{ID: "bad"}); err != nil {
				return err
			}
			_, err := w.(*tx).exec("UPDATE tenants SET stale_days = ? WHERE id = ?", uint64(1<<63), "bad")
			return err
		}},
		{fn: func(w hub.Writer) error { return w.PutTenant(hub.TenantRow{ID: "after"}) }},
	}
	for _, j := range jobs {
		j.done = make(chan struct{})
	}
	before := s.Stats(t.Context())
	if err := s.writer.attempt(jobs); err != nil {
		t.Fatal(err)
	}
	if jobs[0].err != nil || jobs[1].err == nil || !strings.Contains(jobs[1].err.Error(), "$1") || jobs[2].err != nil {
		t.Errorf("%v, %v, %v", jobs[0].err, jobs[1].err, jobs[2].err)
	}
	if stats := s.Stats(t.Context()); stats.Writes != before.Writes+2 || stats.Failed != before.Failed {
		t.Errorf("%+v, before %+v", stats, before)
	}
	if err := s.Read(t.Context(), func(r hub.Reader) error {
		rows, err := r.Tenants()
		if len(rows) != 3 {
			t.Errorf("%+v", rows)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

// What completion offers, and the size of a database, come in types that are read.
func TestPostgresNamesAndSize(t *testing.T) {
	url := pgtest.URL(t)
	s := openedPostgres(t, url)
	if err := s.Write(t.Context(), func(w hub.Writer) error {
		skill, err := w.AddSkill(hub.SkillRow{Tenant: hub.LocalTenant, Name: "triage", Author: "acme", NextInteger: 1})
		if err != nil {
			return err
		}
		_, err = w.AddRelease(hub.ReleaseRow{Skill: skill, Tenant: hub.LocalTenant, Version: "1", Status: hubapi.Active, Digest: "d", Summary: "Sorts mail."})
		return errors.Join(err,
			w.PutCatalogSkill(hub.CatalogRow{Tenant: hub.LocalTenant, Principal: "me", Name: "own", Description: "Mine.", Manifest: []byte("{}")}),
			w.PutNode(hub.NodeRow{ID: "n1", Tenant: hub.LocalTenant, Name: "laptop"}),
			w.AddKey(hub.KeyRow{ID: "k1", Tenant: hub.LocalTenant, Role: "node", Name: "cron"}))
	}); err != nil {
		t.Fatal(err)
	}
	n := Names{Place: Place{URL: url}, Tenant: hub.LocalTenant}
	for want, ask := range map[string]func() ([]Named, error){
		"[{acme/triage@1 Sorts mail.}]": func() ([]Named, error) { return n.Releases(t.Context(), "acme/triage@", hubapi.Active) },
		"[{own Mine.}]":                 func() ([]Named, error) { return n.Catalog(t.Context(), "me") },
		"[{n1 laptop}]":                 func() ([]Named, error) { return n.Nodes(t.Context()) },
		"[{k1 node of local cron}]":     func() ([]Named, error) { return n.Keys(t.Context()) },
		"[{local }]":                    func() ([]Named, error) { return n.Tenants(t.Context()) },
	} {
		if got, err := ask(); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%v, want %s, %v", got, want, err)
		}
	}
	if stats := s.Stats(t.Context()); stats.Bytes < 1<<20 {
		t.Errorf("%+v", stats)
	}
}

func BenchmarkPostgresWrite(b *testing.B) {
	s := openedPostgres(b, pgtest.URL(b))
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := s.Write(b.Context(), func(w hub.Writer) error {
				return w.AddAudit(hub.AuditRow{Tenant: hub.LocalTenant, Action: "publish"})
			}); err != nil {
				b.Error(err)
			}
		}
	})
}
