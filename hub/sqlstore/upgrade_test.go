package sqlstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/storetest"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// R15: a hub that was last written with any of the schemas that there were is brought to
// this one, and its releases are found, delivered and without a fault; reading alone
// leaves it as it was.
func TestEverySchemaIsBroughtUp(t *testing.T) {
	steps, err := sqliteDialect.migrations()
	if err != nil {
		t.Fatal(err)
	}
	files := skillPack("triage", "Sort the letterbox.")
	for n := 1; n < len(steps); n++ {
		t.Run(fmt.Sprintf("%04d", n), func(t *testing.T) {
			dir := storetest.TempDir(t)
			db := raw(t, dir)
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			do := func(query string, args ...any) {
				t.Helper()
				if _, err := conn.ExecContext(t.Context(), query, args...); err != nil {
					t.Fatal(err)
				}
			}
			if err := sqliteDialect.migrate(t.Context(), conn, steps[:1], time.Now); err != nil {
				t.Fatal(err)
			}
			do("INSERT INTO skills VALUES (1, 'local', 'triage', 'acme', 2)")
			do(`INSERT INTO releases (seq, skill, tenant, version, status, digest, format, summary, description, tags, tools, source, published_by, created_at, updated_at)
				VALUES (1, 1, 'local', '1', 'active', ?, 'skill-md', 'Sorts mail', 'Sorts mail', '[]', '{}', 'manual', 'root', 1, 1)`, string(pack.DigestFiles(files)))
			for _, f := range files {
				sum := pack.FileSum(f)
				do("INSERT OR IGNORE INTO contents (sha256, data) VALUES (?, ?)", sum[:], append([]byte{}, f.Data...))
				do("INSERT INTO release_files VALUES (1, ?, ?, ?, ?)", f.Path, len(f.Data), sum[:], f.Executable)
			}
			if err := sqliteDialect.migrate(t.Context(), conn, steps[:n], time.Now); err != nil {
				t.Fatal(err)
			}
			_, _ = conn.Close(), db.Close()

			before := traces(t, dir)
			if _, err := OpenToRead(t.Context(), dir, Options{Now: time.Now}); err == nil || !strings.Contains(err.Error(), "an older kx wrote") {
				t.Errorf("to read: %v", err)
			}
			if after := traces(t, dir); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
			s := opened(t, dir)
			h := hub.New(s, hub.Config{Now: time.Now})
			got, err := h.Archive(t.Context(), hub.LocalAdmin(), hubapi.Ref{Author: "acme", Name: "triage", Version: "1"})
			if err != nil || got.Release.Status != hubapi.Active || pack.DigestFiles(got.Files) != pack.DigestFiles(files) {
				t.Errorf("%+v, %v", got.Release, err)
			}
			found, err := h.Search(t.Context(), hub.LocalAdmin(), hub.SearchQuery{Text: "letterbox"})
			if err != nil || len(found.Items) != 1 {
				t.Errorf("found %+v, %v", found.Items, err)
			}
			if _, err := h.Publish(t.Context(), hub.LocalAdmin(), hub.PublishInput{Author: "acme", Files: skillPack("triage", "Sort the mailbag."), Approve: true}); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			report, err := Fsck(t.Context(), Place{Dir: dir})
			if err != nil || len(report.Faults) > 0 || report.Releases != 2 {
				t.Errorf("%+v, %v", report, err)
			}
		})
	}
}
