// Package workers runs work on several goroutines and hands a panic of one of them to
// whoever waits for it. A panic that nobody takes ends the process with a trace, past
// every guard that stands on another goroutine.
package workers

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Panic is a panic that was taken on one goroutine, to go on on another.
type Panic struct {
	Value any
	Stack []byte // of the goroutine that panicked
}

// String says all of it, for who knows nothing of this package.
func (p *Panic) String() string { return fmt.Sprintf("%v\n\nin a worker:\n%s", p.Value, p.Stack) }

// Log writes it as every server of ours does, with more about where it came from.
func (p *Panic) Log(log *slog.Logger, where ...any) {
	log.Error("panic", append(where, "panic", fmt.Sprint(p.Value), "stack", string(p.Stack))...)
}

// Recovered is what recover gave, which is not nil, as a panic with its stack. One that was
// handed over already stays as it is: its stack says more than the one of the waiter.
func Recovered(p any) *Panic {
	if handed, ok := p.(*Panic); ok {
		return handed
	}
	return &Panic{p, debug.Stack()}
}

// Catch runs f and gives its panic, nil when there was none.
func Catch(f func()) (caught *Panic) {
	defer func() {
		if p := recover(); p != nil {
			caught = Recovered(p)
		}
	}()
	f()
	return nil
}

// Group is a sync.WaitGroup whose Wait goes on with the first panic. The zero Group is
// ready to use.
type Group struct {
	wait  sync.WaitGroup
	first atomic.Pointer[Panic]
}

// Go runs f on a goroutine of its own.
func (g *Group) Go(f func()) {
	g.wait.Go(func() { g.Try(f) })
}

// Try runs f on this goroutine, for a worker that must go on taking work from others, who
// would wait for it for ever. It tells whether f came to its end.
func (g *Group) Try(f func()) bool {
	p := Catch(f)
	if p != nil {
		g.first.CompareAndSwap(nil, p)
	}
	return p == nil
}

// Wait waits until all have ended. It may be called more than once.
func (g *Group) Wait() {
	g.wait.Wait()
	if p := g.first.Load(); p != nil {
		panic(p)
	}
}

// Each calls f for 0 to n-1, at most so many at a time. After a panic none is begun.
func Each(n, most int, f func(i int)) {
	var next atomic.Int64
	var g Group
	for range min(n, most) {
		g.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && g.first.Load() == nil; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	g.Wait()
}
