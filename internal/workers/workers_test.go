package workers

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

func fall() { panic("boom") }

func TestAPanicReachesWhoWaits(t *testing.T) {
	for name, wait := range map[string]func(){
		"group": func() {
			var g Group
			g.Go(func() {})
			g.Go(fall)
			g.Wait()
		},
		"a worker that goes on": func() {
			var g Group
			work := make(chan int)
			g.Go(func() {
				for range work {
					g.Try(fall)
				}
			})
			for i := range 3 {
				work <- i
			}
			close(work)
			g.Wait()
		},
		"each":   func() { Each(3, 2, func(int) { fall() }) },
		"nested": func() { Each(1, 1, func(int) { Each(1, 1, func(int) { fall() }) }) },
	} {
		p := Catch(wait)
		if p == nil || p.Value != "boom" || !strings.Contains(string(p.Stack), "workers.fall") {
			t.Errorf("%s: %v", name, p)
		}
		if text := p.String(); !strings.HasPrefix(text, "boom\n") || strings.Count(text, "in a worker") != 1 {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestWaitTellsOfAPanicEachTime(t *testing.T) {
	var g Group
	g.Go(fall)
	if first, again := Catch(g.Wait), Catch(g.Wait); first == nil || first != again {
		t.Errorf("%v, then %v", first, again)
	}
}

func TestEachStopsAtAPanic(t *testing.T) {
	var calls atomic.Int64
	if Catch(func() {
		Each(1000, 1, func(i int) {
			if calls.Add(1); i == 2 {
				fall()
			}
		})
	}) == nil || calls.Load() != 3 {
		t.Errorf("%d calls", calls.Load())
	}
}

func TestEachDoesAll(t *testing.T) {
	for _, most := range []int{1, 2, 100} {
		done := make([]atomic.Int64, 50)
		Each(len(done), most, func(i int) { done[i].Add(1) })
		for i := range done {
			if n := done[i].Load(); n != 1 {
				t.Errorf("at most %d: %d was done %d times", most, i, n)
			}
		}
	}
	Each(0, 4, func(int) { t.Error("called") })
}

// However many come and go at once, and however they end, the room is as it was.
func TestRoomyGivesBackWhatItTook(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	var g Group
	for i := range 8 {
		g.Go(func() {
			_ = Catch(func() {
				Roomy(func() {
					if n := runtime.GOMAXPROCS(0); n != before+2 {
						t.Errorf("%d run at once, and %d without", n, before)
					}
					if i%2 == 0 {
						panic("boom")
					}
				})
			})
		})
	}
	g.Wait()
	if n := runtime.GOMAXPROCS(0); n != before {
		t.Errorf("%d run at once afterwards, and %d before", n, before)
	}
}
