package cli

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestOnlyTheFirstCollectionIsLate: what follows costs no more memory than without it.
func TestOnlyTheFirstCollectionIsLate(t *testing.T) {
	percent := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	defer debug.SetGCPercent(percent())
	for _, c := range []struct{ meanwhile, after int }{{0, 100}, {40, 40}} {
		collectLate()
		if got := percent(); got != latePercent {
			t.Fatalf("at first the heap may grow by %d percent", got)
		}
		if c.meanwhile != 0 {
			debug.SetGCPercent(c.meanwhile)
		}
		for range 100 {
			if runtime.GC(); percent() == c.after && c.meanwhile == 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if got := percent(); got != c.after {
			t.Errorf("after the first collection it may grow by %d percent instead of %d", got, c.after)
		}
	}
}
