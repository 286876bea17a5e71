//go:build !unix

package scripttest

import "github.com/rogpeppe/go-internal/testscript"

func fifo(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("this system has no named pipes: guard the script with [unix]")
}
