package storetest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// RunAll runs the tests of a package, which fail too if goroutines of this module are
// still there five seconds after the last of them ended.
func RunAll(m *testing.M) (code int) {
	if code = m.Run(); code != 0 {
		return code
	}
	var left []string
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if left = goroutines(); len(left) == 0 {
			return 0
		}
	}
	fmt.Fprintf(os.Stderr, "%d goroutines are left behind:\n%s\n", len(left), strings.Join(left, "\n\n"))
	return 1
}

// goroutines are the stacks of all but this one that run code of this module.
func goroutines() (out []string) {
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	_, others, _ := strings.Cut(string(stacks), "\n\n")
	for stack := range strings.SplitSeq(others, "\n\n") {
		if strings.Contains(stack, "github.com/kortecx/kx/") {
			out = append(out, stack)
		}
	}
	return out
}
