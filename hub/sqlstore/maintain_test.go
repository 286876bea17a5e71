package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// places runs a test on both databases.
func places(t *testing.T, test func(t *testing.T, p Place)) {
	t.Run("sqlite", func(t *testing.T) { test(t, Place{Dir: storetest.TempDir(t)}) })
	t.Run("postgres", func(t *testing.T) { test(t, Place{URL: pgtest.URL(t)}) })
}

func openedPlace(t testing.TB, p Place) *Store {
	t.Helper()
	s, err := OpenPlace(t.Context(), p, Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// soon is after everything that was written so far.
func soon() time.Time { return time.Now().Add(time.Minute) }

// inPlace runs statements on a database as anybody could.
func inPlace(t *testing.T, p Place, statements ...string) {
	t.Helper()
	if err := p.inSession(t.Context(), func(s *session) error {
		for _, statement := range statements {
			if _, err := s.conn.ExecContext(t.Context(), statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// skillPack is a pack with an empty file, for the edge of what is copied.
func skillPack(name, text string) []pack.File {
	return []pack.File{
		{Path: "SKILL.md", Data: fmt.Appendf(nil, "---\nname: %s\ndescription: Sorts mail, ünïcode\n---\n\n%s\n", name, text)},
		{Path: "assets/empty.txt"},
		{Path: "run.sh", Data: []byte("echo\n"), Executable: true},
	}
}

func publish(t testing.TB, s *Store, name, text string, approve bool) hubapi.PushResult {
	t.Helper()
	h := hub.New(s, hub.Config{Now: time.Now})
	out, err := h.Publish(t.Context(), hub.LocalAdmin(), hub.PublishInput{Name: name, Files: skillPack(name, text), Approve: approve})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func fsck(t *testing.T, p Place) Report {
	t.Helper()
	report, err := Fsck(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func clean(t *testing.T, p Place) Report {
	t.Helper()
	report := fsck(t, p)
	if len(report.Faults) > 0 {
		t.Errorf("faults: %+v", report.Faults)
	}
	return report
}

// everything is all that a hub keeps, by table, for comparison.
func everything(t *testing.T, p Place) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	if err := p.inView(t.Context(), func(s *session) error {
		for _, table := range []string{"tenants", "contents", "skills", "releases", "release_files", "audit", "catalog"} {
			columns, err := s.columns(table)
			if err != nil {
				return err
			}
			var row []string
			for _, c := range columns {
				text := "coalesce(CAST(" + c.name + " AS TEXT), '-')"
				switch c.name {
				case "sha256", "data", "signature", "manifest", "instructions":
					text = "coalesce(length(" + c.name + "), -1)"
				}
				if c.flag || c.name == "executable" || strings.Contains(" self_approve opted_out auto_promote_clean public_log public_catalog inbox_muted ", " "+c.name+" ") {
					text = "CASE WHEN " + c.name + " THEN 'yes' ELSE 'no' END"
				}
				row = append(row, "CAST("+text+" AS TEXT)")
			}
			slices.Sort(row)
			lines, err := texts(s, "SELECT "+strings.Join(row, " || '|' || ")+" FROM "+table)
			if err != nil {
				return fmt.Errorf("%s: %w", table, err)
			}
			slices.Sort(lines)
			out[table] = lines
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func equalAll(t *testing.T, got, want map[string][]string) {
	t.Helper()
	for table := range want {
		if !slices.Equal(got[table], want[table]) {
			t.Errorf("%s:\n got %q\nwant %q", table, got[table], want[table])
		}
	}
}

// R14: a backup that was made under load is one moment of the hub, and comes back
// whole in either database.
func TestBackupAndRestore(t *testing.T) {
	places(t, func(t *testing.T, p Place) {
		s := openedPlace(t, p)
		publish(t, s, "triage", "one", true)
		publish(t, s, "triage", "two", true)
		publish(t, s, "waiting", "one", false)
		before := everything(t, p)
		quiet := filepath.Join(t.TempDir(), "hub.backup")
		if report, err := Backup(t.Context(), p, quiet, Options{Now: time.Now}); err != nil || len(report.Faults) > 0 || report.Releases != 3 {
			t.Fatalf("%+v, %v", report, err)
		}
		if _, err := Backup(t.Context(), p, quiet, Options{Now: time.Now}); codeOf(err) != hubapi.Conflict {
			t.Errorf("over a file: %v", err)
		}

		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for worker := range 4 {
			wg.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					publish(t, s, fmt.Sprintf("load-%d-%d", worker, i), "text", true)
				}
			})
		}
		busy := filepath.Join(t.TempDir(), "busy.backup")
		time.Sleep(20 * time.Millisecond)
		report, err := Backup(t.Context(), p, busy, Options{Now: time.Now})
		stop()
		wg.Wait()
		if err != nil || len(report.Faults) > 0 {
			t.Fatalf("under load: %+v, %v", report, err)
		}
		for name, file := range map[string]string{"quiet": quiet, "busy": busy} {
			targets := []Place{{Dir: filepath.Join(storetest.TempDir(t), "new")}}
			if p.URL != "" {
				targets = append(targets, Place{URL: pgtest.URL(t)})
			}
			for _, target := range targets {
				got, err := Restore(t.Context(), file, target, Options{Now: time.Now})
				if err != nil || len(got.Faults) > 0 {
					t.Fatalf("%s: %+v, %v", name, got, err)
				}
				if name == "quiet" {
					equalAll(t, everything(t, target), before)
				} else if got.Releases != report.Releases {
					t.Errorf("%d releases came back of %d", got.Releases, report.Releases)
				}
				again := openedPlace(t, target)
				publish(t, again, "triage", "three", true) // numbers go on
				clean(t, target)
				if err := again.Close(); err != nil {
					t.Error(err)
				}
				if _, err := Restore(t.Context(), file, target, Options{Now: time.Now}); codeOf(err) != hubapi.Conflict {
					t.Errorf("into a place that is in use: %v", err)
				}
			}
		}
	})
}

func TestRestoreLeavesNothingOfADamagedBackup(t *testing.T) {
	p := Place{Dir: storetest.TempDir(t)}
	s := openedPlace(t, p)
	publish(t, s, "triage", "one", true)
	file := filepath.Join(t.TempDir(), "hub.backup")
	if _, err := Backup(t.Context(), p, file, Options{Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(data), "echo\n")
	data[at] ^= 1
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "new")
	report, err := Restore(t.Context(), file, Place{Dir: dir}, Options{Now: time.Now})
	if err != nil || len(report.Faults) != 2 || report.Faults[0].ID != "blob.corrupt" || report.Faults[1].ID != "release.digest" {
		t.Errorf("%+v, %v", report, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was left: %v", err)
	}
	for name, content := range map[string]string{"text": "hello", "short": string(data[:5000])} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		report, err := Restore(t.Context(), file, Place{Dir: dir}, Options{Now: time.Now})
		if err == nil && len(report.Faults) == 0 {
			t.Errorf("%s was restored", name)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: something was left: %v", name, err)
		}
	}
	if _, err := Restore(t.Context(), file+"x", Place{Dir: dir}, Options{Now: time.Now}); codeOf(err) != hubapi.NotFound {
		t.Errorf("no file: %v", err)
	}
}

// I4, I5, R5: what is wrong is named, all of it, beside a server.
func TestFsckNamesWhatIsWrong(t *testing.T) {
	places(t, func(t *testing.T, p Place) {
		s := openedPlace(t, p)
		publish(t, s, "triage", "one", true)
		publish(t, s, "triage", "two", true)
		publish(t, s, "waiting", "one", false)
		if report := clean(t, p); report.Releases != 3 || report.Contents != 5 || report.Unreferenced != 0 || report.Schema != schema(t) {
			t.Errorf("%+v", report)
		}
		free := []string{}
		if p.URL == "" {
			free = append(free, "PRAGMA foreign_keys = OFF")
		} else {
			free = append(free, "SET session_replication_role = replica")
		}
		for _, tt := range []struct {
			id, place string
			change    []string
		}{
			{"search.stale", "local/waiting@1", []string{"INSERT INTO search_docs (release, tenant, change, data) SELECT seq, 'local', 999, data FROM releases, search_docs WHERE status = 'staged' AND data IS NOT NULL"}},
			{"search.change", "tenant local", nil},
			{"search.missing", "local/triage@2", []string{"DELETE FROM search_docs"}},
			{"skill.active", "local/triage", []string{"DROP INDEX releases_one_active", "UPDATE releases SET status = 'active' WHERE skill = (SELECT min(id) FROM skills)"}},
			{"release.files", "local/waiting@1", []string{"DELETE FROM release_files WHERE release = (SELECT max(seq) FROM releases)"}},
			{"release.digest", "local/triage@1", []string{"UPDATE releases SET digest = 'sp1:0' WHERE seq = (SELECT min(seq) FROM releases)"}},
			{"file.size", "local/triage@1 SKILL.md", []string{"UPDATE release_files SET size = size + 1 WHERE path = 'SKILL.md'"}},
			{"blob.corrupt", "content ", []string{"UPDATE contents SET data = sha256 WHERE id = (SELECT min(id) FROM contents)"}},
			{"blob.missing", "release_files.sha256", append(free, "DELETE FROM contents WHERE id = (SELECT min(id) FROM contents)")},
			{"row.dangling", "release_files.release", append(free, "DELETE FROM releases WHERE seq = (SELECT min(seq) FROM releases)")},
		} {
			inPlace(t, p, tt.change...)
			report := fsck(t, p)
			if !slices.ContainsFunc(report.Faults, func(f Fault) bool {
				return f.ID == tt.id && strings.HasPrefix(f.Place, tt.place) && f.Text != ""
			}) {
				t.Errorf("%s of %s is not among %+v", tt.id, tt.place, report.Faults)
			}
		}
	})
}

// R5, and weakness 16 of the Kazma hub: any flipped bit of a content is found and its
// bytes are not given out.
func TestBitRot(t *testing.T) {
	rounds := 20
	p := Place{Dir: storetest.TempDir(t)}
	s := openedPlace(t, p)
	for i := range rounds {
		publish(t, s, fmt.Sprintf("pack-%d", i), strings.Repeat(fmt.Sprint("line ", i, "\n"), 100), true)
	}
	h := hub.New(s, hub.Config{Now: time.Now})
	for i := range rounds {
		name := fmt.Sprintf("pack-%d", i)
		flip := fmt.Sprintf(`UPDATE contents SET data = CAST(substr(data, 1, %d) || x'01' || substr(data, %d) AS BLOB)
  WHERE sha256 = (SELECT f.sha256 FROM release_files f JOIN releases r ON r.seq = f.release JOIN skills s ON s.id = r.skill WHERE s.name = '%s' AND f.path = 'SKILL.md')`, 20*i, 20*i+2, name)
		inPlace(t, p, flip)
		for _, read := range []func() error{
			func() error {
				_, err := h.Archive(t.Context(), hub.LocalAdmin(), hubapi.Ref{Name: name})
				return err
			},
		} {
			if e := hubapi.AsError(read()); e == nil || e.Code != hubapi.Internal || e.ID() != "blob.corrupt" {
				t.Errorf("%s: %v", name, e)
			}
		}
	}
	n := 0
	for _, f := range fsck(t, p).Faults {
		if f.ID == "blob.corrupt" {
			n++
		}
	}
	if n != rounds {
		t.Errorf("fsck found %d of %d", n, rounds)
	}
}

// I5: what is in no use goes, and nothing else, however many push meanwhile.
func TestCollectNeverRacesAPush(t *testing.T) {
	places(t, func(t *testing.T, p Place) {
		s := openedPlace(t, p)
		publish(t, s, "triage", "one", true)
		if got, err := Collect(t.Context(), p, soon()); err != nil || got != (Collected{}) {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := putContent(s, []byte("nobody's")); err != nil {
			t.Fatal(err)
		}
		if got, err := Collect(t.Context(), p, time.Now().Add(-time.Hour)); err != nil || got != (Collected{}) {
			t.Errorf("a fresh one went: %+v, %v", got, err)
		}
		if report := clean(t, p); report.Unreferenced != 1 || report.UnreferencedBytes != 8 {
			t.Errorf("%+v", report)
		}
		if got, err := Collect(t.Context(), p, soon()); err != nil || got != (Collected{1, 8}) {
			t.Errorf("%+v, %v", got, err)
		}
		var wg sync.WaitGroup
		for worker := range 4 {
			wg.Go(func() {
				for i := range 15 {
					// The same contents come and go.
					if _, err := putContent(s, fmt.Appendf(nil, "---\nname: race-%d-%d\ndescription: Sorts mail, ünïcode\n---\n\ntext\n", worker, i)); err != nil {
						t.Error(err)
					}
					publish(t, s, fmt.Sprintf("race-%d-%d", worker, i), "text", true)
				}
			})
		}
		for range 20 {
			if _, err := Collect(t.Context(), p, soon()); err != nil {
				t.Error(err)
			}
		}
		wg.Wait()
		if report := clean(t, p); report.Releases != 61 {
			t.Errorf("%+v", report)
		}
	})
}

func TestPlan(t *testing.T) {
	places(t, func(t *testing.T, p Place) {
		if p.URL == "" {
			if _, err := Plan(t.Context(), p); codeOf(err) != hubapi.NotFound {
				t.Errorf("no database: %v", err)
			}
		} else if steps, err := Plan(t.Context(), p); err != nil || len(steps) != schema(t) || !steps[0].Applied.IsZero() {
			t.Errorf("an empty database: %+v, %v", steps, err)
		}
		s := openedPlace(t, p)
		steps, err := Plan(t.Context(), p)
		if err != nil || len(steps) != schema(t) || steps[0].Name != "hub" || steps[len(steps)-1].Applied.IsZero() {
			t.Errorf("%+v, %v", steps, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		inPlace(t, p, "UPDATE migrations SET sha256 = 'x'")
		if _, err := Plan(t.Context(), p); codeOf(err) != hubapi.Precondition {
			t.Errorf("an edited history: %v", err)
		}
	})
}
