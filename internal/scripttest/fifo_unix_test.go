//go:build unix

package scripttest

import (
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// fifo makes a named pipe, at which a careless reader hangs for ever.
func fifo(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: fifo FILE")
	}
	ts.Check(syscall.Mkfifo(ts.MkAbs(args[0]), 0o644))
}
