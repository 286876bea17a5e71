package cli

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/workers"
)

// Bounds on what is printed for people, whoever made the list. --json has it all.
const (
	maxDetails  = 100 // details of one error
	maxRows     = 50  // items of a kind in one answer
	maxPreview  = 100 // lines of a preview
	maxSuggests = 10  // remarks such as "did you mean"
	maxBrief    = 200 // characters of a text in a list
)

// output is standard output that remembers why it could not be written, because
// most of what prints does not look.
type output struct {
	w io.Writer

	mu  sync.Mutex // a command that was left behind may still be writing
	err error
}

func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(data)
	if err != nil {
		o.err = hubapi.Errorf(hubapi.Internal, "cannot write the output: %v", err)
	}
	return n, o.err
}

func (o *output) fault() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// exit ends a run: it prints err and gives the exit code, which is never that of
// success when the output got lost.
func (a *app) exit(err error) int {
	code := a.report(err)
	if code != hubapi.ExitOK || a.out == nil {
		return code
	}
	return a.report(a.out.fault())
}

// guarded runs the command line. A panic is a mistake of ours: the user gets one
// line that says so, and the place with KX_DEBUG=1.
func (a *app) guarded(ctx context.Context, args []string) (err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		fault := workers.Recovered(p)
		err = hubapi.Errorf(hubapi.Internal, "internal fault: %v; please report it, with what KX_DEBUG=1 shows", fault.Value)
		if a.Getenv != nil && a.Getenv("KX_DEBUG") == "1" {
			fmt.Fprintf(a.Stderr, "%s\n", fault.Stack)
		}
	}()
	return a.root.Run(ctx, args)
}

// some calls line for the first items of n and says how many are left out.
func (a *app) some(n, most int, line func(i int)) {
	for i := range min(n, most) {
		line(i)
	}
	if n > most {
		a.printf("  and %d more; --json lists them all\n", n-most)
	}
}

// brief is a text for a line of a list.
func brief(s string) string {
	n := 0
	for i := range s {
		if n == maxBrief {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
