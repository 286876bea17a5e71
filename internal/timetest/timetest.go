// Package timetest says how long a test lets a piece of work take on the machine at hand.
//
// A test that a hostile input costs no time has a limit in seconds; the machine that runs
// it may be many times slower than the one on which the limit was chosen, and the race
// detector slows it again. Limit is for such tests: what they must catch is work that grows
// with the square of its input, which is slower by a factor of thousands. Budget is for
// what a user feels, such as the start of a program, measured as CPU time.
//
// LongInOneGoroutine is for what the race detector would take minutes over and can find
// nothing in. Tests only.
package timetest

import (
	"flag"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Limit is d, many times over under the race detector, and a few times over where
// KX_TEST_ALL says that this is a machine which other tests share.
func Limit(d time.Duration) time.Duration {
	if raceDetector {
		d *= 20
	}
	if os.Getenv("KX_TEST_ALL") != "" {
		d *= 4
	}
	return d
}

// LongInOneGoroutine leaves a test out of a short run under the race detector: nothing in
// it runs at once, so there is no race to find, and it takes ten times as long there. Every
// other run has it, go test ./... and the last step of .ci/run among them.
func LongInOneGoroutine(t testing.TB) {
	t.Helper()
	if raceDetector && testing.Short() {
		t.Skip("one goroutine: the race detector finds nothing here; go test runs it")
	}
}

// Budget is d on the machine on which the budgets were chosen or a faster one, and longer
// on a slower one by as much as it needs longer for a piece of fixed work.
func Budget(d time.Duration) time.Duration {
	return time.Duration(float64(d) * max(1, pace()))
}

// reference is what work takes, at the least, where the budgets were chosen.
const reference = 600 * time.Microsecond

// pace is how many times slower this machine is than the one where the budgets were chosen.
var pace = sync.OnceValue(func() float64 {
	least := time.Hour
	for range 200 {
		begun := time.Now()
		work()
		least = min(least, time.Since(begun))
	}
	return float64(least) / float64(reference)
})

// work is like the start of a program: fresh memory is touched, small values are made and
// looked up, and something is put in order.
func work() {
	pages := make([]byte, 1<<20)
	for i := 0; i < len(pages); i += 4096 {
		pages[i] = byte(i)
	}
	names := map[int][]int{}
	order := make([]int, 0, 4096)
	seed := uint32(1)
	for range 4096 {
		seed = seed*1664525 + 1013904223
		n := int(seed >> 8)
		order = append(order, n)
		names[n%512] = append(names[n%512], n)
	}
	slices.Sort(order)
	runtime.KeepAlive(pages)
	runtime.KeepAlive(order)
}

// ManyWait lets n tests that call t.Parallel run at once, or as many as -parallel says,
// where go test would run as many as there are processors: for a package in which tests
// wait for processes, for servers and for the time to pass. Its TestMain calls it.
func ManyWait(n int) {
	if n > runtime.GOMAXPROCS(0) {
		_ = flag.Set("test.parallel", strconv.Itoa(n)) // the command line is read later
	}
}
