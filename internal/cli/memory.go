package cli

import (
	"runtime"
	"runtime/debug"
)

// latePercent lets the heap grow to 12 MiB (4 MiB is the least of the runtime, for 100)
// before it is collected for the first time.
const latePercent = 300

// collectLate puts off the first garbage collection of this process: most commands
// allocate less than that in all, and end without one. Afterwards all is as the runtime
// has it by itself, unless somebody set something else meanwhile.
func collectLate() {
	const usual = 100
	debug.SetGCPercent(latePercent)
	// The first collection finds this, which nothing refers to.
	runtime.AddCleanup(new([64]byte), func(struct{}) {
		if other := debug.SetGCPercent(usual); other != latePercent {
			debug.SetGCPercent(other)
		}
	}, struct{}{})
}
