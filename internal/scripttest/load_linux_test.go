package scripttest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
)

// R13: a mixed load on a whole server, nine reads of a release in ten. At the quick
// size nothing may fail and the memory has its bound; how quick the answers are is
// a bar at the long size only, which has the machine to itself.
func TestMixedLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("a load takes seconds")
	}
	seeded, rate, lasts := 300, 100, 3*time.Second
	long := os.Getenv("KX_RELIABILITY") == "1"
	if long {
		seeded, rate, lasts = 10_000, 200, 10*time.Minute
	} else {
		t.Parallel()
	}
	s := serve(t, sqlstore.Place{Dir: t.TempDir()})
	seedLoad(t, s, seeded)

	load := mixedLoad{t: t, s: s, seeded: seeded, took: map[string][]time.Duration{}}
	half := load.run(rate, lasts/2)
	whole := load.run(rate, lasts/2)
	for kind, bar := range map[string]time.Duration{
		"get": 20 * time.Millisecond, "search": 50 * time.Millisecond, "list": 50 * time.Millisecond, "push": 300 * time.Millisecond,
	} {
		all := load.took[kind]
		if len(all) == 0 {
			if long {
				t.Errorf("no %s in the whole load", kind)
			}
			continue
		}
		slices.Sort(all)
		p99 := all[len(all)*99/100]
		t.Logf("%d × %s, p50 %v, p99 %v", len(all), kind, all[len(all)/2], p99)
		if long && p99 > bar {
			t.Errorf("the p99 of a %s is %v, the bar is %v", kind, p99, bar)
		}
	}
	t.Logf("resident %d MiB after the first half, %d MiB at the end", half>>20, whole>>20)
	if whole > 150<<20 {
		t.Errorf("the server has %d MiB, 150 are its bound", whole>>20)
	}
	if long && whole > half+half/20 {
		t.Errorf("the server grew from %d to %d MiB in the second half", half>>20, whole>>20)
	}
	noFaults(t, sqlstore.Place{Dir: s.data(t)})
}

// data is the folder of a server over SQLite.
func (s *server) data(t *testing.T) string {
	for i, arg := range s.cmd.Args {
		if arg == "--data" {
			return s.cmd.Args[i+1]
		}
	}
	t.Fatal("a server without --data")
	return ""
}

func seedLoad(t *testing.T, s *server, n int) {
	t.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				in := skillPack(fmt.Sprintf("seed-%d", i), "1", strings.Repeat("Read the mail, then sort it. ", 60))
				in.Approve = true
				if _, err := s.client.Push(t.Context(), in); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// mixedLoad sends requests at a rate, whether or not the ones before were answered.
type mixedLoad struct {
	t      *testing.T
	s      *server
	seeded int

	mu     sync.Mutex
	took   map[string][]time.Duration
	pushed int
}

// run sends for a while and gives the memory that the server then has, in bytes.
func (l *mixedLoad) run(rate int, lasts time.Duration) int64 {
	random := rand.New(rand.NewPCG(13, uint64(l.pushed)))
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	var all sync.WaitGroup
	for end := time.Now().Add(lasts); time.Now().Before(end); <-tick.C {
		n, which := random.IntN(100), 1+random.IntN(l.seeded)
		l.pushed++
		number := l.pushed
		all.Go(func() { l.send(n, which, number) })
	}
	all.Wait()
	return resident(l.t, l.s.cmd.Process.Pid)
}

func (l *mixedLoad) send(n, which, number int) {
	ctx, client := l.t.Context(), l.s.client
	var (
		kind string
		err  error
	)
	begun := time.Now()
	switch {
	case n < 90:
		kind = "get"
		_, err = client.Release(ctx, hubapi.Ref{Author: "local", Name: fmt.Sprintf("seed-%d", which)})
	case n < 98:
		kind = "search"
		_, err = client.Search(ctx, "sort mail", hubclient.SearchOptions{Limit: 20})
	case n < 99:
		kind = "list"
		_, err = client.Search(ctx, "", hubclient.SearchOptions{Limit: 20})
	default:
		kind = "push"
		_, err = client.Push(ctx, skillPack(fmt.Sprintf("load-%d", number), "1", strings.Repeat("text ", 400)))
	}
	took := time.Since(begun)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.t.Errorf("%s: %v", kind, err)
		return
	}
	l.took[kind] = append(l.took[kind], took)
}

// resident is how much memory a process has, in bytes.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(data))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
