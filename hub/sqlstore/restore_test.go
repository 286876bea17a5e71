package sqlstore

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/kortecx/kx/hub/storetest"
	"github.com/kortecx/kx/hubapi"
)

// Of several restores into one directory those that came late took away what the first
// had put there, which had said that it was done.
func TestALateRestoreTookAwayTheFirstOne(t *testing.T) {
	s := opened(t, storetest.TempDir(t))
	publish(t, s, "triage", "text", true)
	backup := filepath.Join(t.TempDir(), "backup")
	if _, err := Backup(t.Context(), Place{Dir: s.dir}, backup, Options{Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		dir := filepath.Join(t.TempDir(), "restored")
		var all sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			all.Go(func() { _, errs[i] = Restore(t.Context(), backup, Place{Dir: dir}, Options{Now: time.Now}) })
		}
		all.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else if e := hubapi.AsError(err); e.Code != hubapi.Conflict {
				t.Errorf("a late one: %v", err)
			}
		}
		if report, err := Fsck(t.Context(), Place{Dir: dir}); won != 1 || err != nil || len(report.Faults) > 0 || report.Releases != 1 {
			t.Fatalf("%d were done, and there is %+v, %v", won, report, err)
		}
	}
}
