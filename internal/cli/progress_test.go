package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestCounterIsForTerminalsAndLongWaits(t *testing.T) {
	now := time.Unix(0, 0)
	var out bytes.Buffer
	a := &app{Env: Env{Stderr: &out, StderrTerminal: true, Now: func() time.Time { return now }}}
	c := a.counter("read", "packs")
	c.show(1, 3)
	if out.Len() > 0 {
		t.Fatalf("shown at once: %q", out.String())
	}
	now = now.Add(2 * time.Second)
	c.show(2, 3)
	c.show(3, 3) // too soon after the last
	if got := out.String(); !strings.Contains(got, "read 2 of 3 packs") || strings.Contains(got, "3 of 3") {
		t.Fatalf("shown %q", got)
	}
	c.clear()
	if !strings.HasSuffix(out.String(), "\x1b[K") {
		t.Fatalf("not cleared: %q", out.String())
	}

	out.Reset()
	a.StderrTerminal = false
	c = a.counter("read", "packs")
	now = now.Add(time.Hour)
	c.show(1, 3)
	c.clear()
	if out.Len() > 0 {
		t.Fatalf("written without a terminal: %q", out.String())
	}
}
