package workers

import (
	"runtime"
	"sync"
)

// places are those that were made by whoever is in Roomy now.
var places struct {
	mu     sync.Mutex
	users  int
	before int // how many goroutines run at once without them
}

// Roomy runs f, and lets two goroutines more run at once meanwhile than there are
// processors for. It is for what waits in calls of the system, such as for a disk: who does
// keeps their place among those that run until the scheduler looks after them, which takes
// it up to ten milliseconds, and others that have work to do stand behind them for so long.
func Roomy(f func()) {
	const more = 2
	places.mu.Lock()
	if places.users++; places.users == 1 {
		places.before = runtime.GOMAXPROCS(0)
		runtime.GOMAXPROCS(places.before + more)
	}
	places.mu.Unlock()
	defer func() {
		places.mu.Lock()
		defer places.mu.Unlock()
		if places.users--; places.users > 0 {
			return
		}
		// This way the number goes on following what the system grants; not where somebody
		// has set it.
		runtime.SetDefaultGOMAXPROCS()
		if runtime.GOMAXPROCS(0) != places.before {
			runtime.GOMAXPROCS(places.before)
		}
	}()
	f()
}
