package sqlstore

import (
	"fmt"
	"sync"
	"testing"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/internal/pgtest"
	"github.com/kortecx/kx/internal/translog"
)

// Several servers append to one log, and it stays one.
func TestServersShareALog(t *testing.T) {
	url := pgtest.URL(t)
	stores := []*Store{openedPostgres(t, url), openedPostgres(t, url), openedPostgres(t, url)}
	const each = 40
	var wg sync.WaitGroup
	for n, s := range stores {
		for i := range each {
			wg.Go(func() {
				err := s.Write(t.Context(), func(w hub.Writer) error {
					_, err := w.AppendLog(hub.LocalTenant, hub.LogRow{Entry: fmt.Appendf(nil, "%d %d", n, i), Op: "submit", Name: "x", Principal: "p"})
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	for _, s := range stores {
		err := s.Read(t.Context(), func(r hub.Reader) error {
			stored, err := r.LogTree(hub.LocalTenant)
			if err != nil {
				return err
			}
			rows, err := r.LogEntries(hub.LocalTenant, 0, 1000)
			if err != nil {
				return err
			}
			var tree translog.Tree
			for i, row := range rows {
				if row.Index != int64(i) {
					t.Fatalf("entry %d stands at %d", row.Index, i)
				}
				tree, _ = tree.Append(translog.LeafHash(row.Entry))
			}
			if tree.Size != int64(each*len(stores)) || stored.Size != tree.Size || stored.Root() != tree.Root() {
				t.Errorf("%d entries make %s, the tree of %d is %s", tree.Size, tree.Root(), stored.Size, stored.Root())
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
