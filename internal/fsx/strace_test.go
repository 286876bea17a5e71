//go:build linux

package fsx

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kortecx/kx/internal/stracetest"
)

// TestInterruptedCallsAreMadeAgain has a signal interrupt every third of the calls that
// write a folder.
func TestInterruptedCallsAreMadeAgain(t *testing.T) {
	strace := stracetest.Find(t)
	dir, log := memory(t), t.TempDir()+"/log"
	_, out := runChild(t, []string{
		strace, "-f", "-qq", "-o", log, "-e", "trace=mkdirat,write",
		"-e", "inject=mkdirat,write:error=EINTR:when=1+3",
	}, "many", dir, "KX_FSX_BARE=1")
	if out != "" {
		t.Fatal(out)
	}
	data, err := os.ReadFile(log)
	must(t, err)
	times := map[string]int{}
	for line := range strings.Lines(string(data)) {
		for _, call := range []string{"mkdirat", "write"} {
			if strings.Contains(line, call) && strings.Contains(line, "INJECTED") {
				times[call]++
			}
		}
	}
	if times["mkdirat"] < wholeSync/2 || times["write"] < wholeSync/2 {
		t.Errorf("too few calls were interrupted: %v", times)
	}
	var all []string
	for i := range wholeSync {
		all = append(all, want(fmt.Sprint("s", i), folder("1"))...)
	}
	slices.Sort(all)
	same(t, dir, all)
}

// TestKilledInsideSystemCalls lets strace end or disturb the process at its Nth
// call of each kind that changes a directory or makes it durable.
func TestKilledInsideSystemCalls(t *testing.T) {
	strace := stracetest.Find(t)
	calls := []string{"mkdirat", "renameat,renameat2", "fsync,syncfs", "unlinkat"}
	faults := []string{"signal=KILL"}
	if os.Getenv("KX_TEST_ALL") != "" {
		calls = append(calls, "openat", "write", "close")
		faults = append(faults, "error=EIO", "error=ENOSPC")
	}
	for name, j := range jobs {
		for _, call := range calls {
			for _, fault := range faults {
				if call == "close" && fault != "signal=KILL" {
					continue // Go ends the process when its own descriptors fail to close
				}
				t.Run(name+" "+call+" "+fault, func(t *testing.T) {
					t.Parallel()
					for n := 1; n <= 40; n++ {
						dir := prepare(t, j.before)
						inject := fmt.Sprintf("inject=%s:%s:when=%d", call, fault, n)
						log := t.TempDir() + "/log"
						killed, out := runChild(t, []string{strace, "-f", "-qq", "-o", log, "-e", "trace=" + call, "-e", inject}, name, dir, "KX_FSX_BARE=1")
						if fault == "signal=KILL" && !killed {
							if out != "" {
								t.Fatalf("call %d: %s", n, out)
							}
							return
						}
						must(t, SweepStaged(open(t, dir), "."))
						j.intact(t, dir, false)
						if !killed && out == "" {
							var all []string
							for name, version := range j.after {
								all = append(all, want(name, folder(version))...)
							}
							slices.Sort(all)
							same(t, dir, all)
						}
						j.converges(t, dir)
						if t.Failed() {
							t.Fatalf("%s at call %d of %s: %s", fault, n, call, out)
						}
						data, err := os.ReadFile(log)
						must(t, err)
						if fault != "signal=KILL" && !strings.Contains(string(data), "INJECTED") {
							return
						}
					}
				})
			}
		}
	}
}
