// Package stracetest finds strace, with which tests watch the system calls of a program
// or let some of them fail. Only tests use it; nothing of it is shipped.
//
// Call Find.
package stracetest

import (
	"os"
	"os/exec"
	"testing"
)

// Find gives the path of strace. Where it is missing or may not trace, the test is skipped,
// or fails where KX_TEST_ALL asks for every test.
func Find(t testing.TB) string {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err == nil {
		err = exec.Command(strace, "-f", "-o", "/dev/null", "true").Run()
	}
	if err != nil {
		if os.Getenv("KX_TEST_ALL") != "" {
			t.Fatalf("strace is needed and does not work: %v", err)
		}
		t.Skipf("strace is not on this machine or may not trace: %v", err)
	}
	return strace
}
