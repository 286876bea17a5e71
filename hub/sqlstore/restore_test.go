package sqlstore

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kortecx/kx/hub/storetest"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
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
		won := winners(t, func() error {
			_, err := Restore(t.Context(), backup, Place{Dir: dir}, Options{Now: time.Now})
			return err
		})
		if report, err := Fsck(t.Context(), Place{Dir: dir}); won != 1 || err != nil || len(report.Faults) > 0 || report.Releases != 1 {
			t.Fatalf("%d were done, and there is %+v, %v", won, report, err)
		}
	}
}

// winners runs do four times at once, and counts those that did it; the others must say
// that somebody was faster.
func winners(t *testing.T, do func() error) (won int) {
	t.Helper()
	var all sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		all.Go(func() { errs[i] = do() })
	}
	all.Wait()
	for _, err := range errs {
		if err == nil {
			won++
		} else if e := hubapi.AsError(err); e.Code != hubapi.Conflict {
			t.Errorf("a late one: %v", err)
		}
	}
	return won
}

// A backup that was killed left a whole hub under a hidden name for good, and of two at
// once the later one replaced the one that had been acknowledged.
func TestABackupLeavesAndReplacesNothing(t *testing.T) {
	s := opened(t, storetest.TempDir(t))
	publish(t, s, "triage", "text", true)
	dir := t.TempDir()
	gone := exec.Command(os.Args[0], "-test.run=^$")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, strings.Replace(fsx.StageName(), fmt.Sprint("-", os.Getpid(), "-"), fmt.Sprint("-", gone.Process.Pid, "-"), 1))
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, databaseFile), []byte("half a hub"), 0o600); err != nil {
		t.Fatal(err)
	}
	for round := range 10 {
		file := filepath.Join(dir, fmt.Sprint("backup-", round))
		won := winners(t, func() error {
			_, err := Backup(t.Context(), Place{Dir: s.dir}, file, Options{Now: time.Now})
			return err
		})
		if entries, err := os.ReadDir(dir); won != 1 || err != nil || len(entries) != round+1 {
			t.Fatalf("%d were done, and there is %v, %v", won, entries, err)
		}
	}
}
