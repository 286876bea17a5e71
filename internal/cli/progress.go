package cli

import (
	"fmt"
	"sync"
	"time"
)

// A count is shown when it has lasted a second, and then a few times each second.
const (
	progressAfter = time.Second
	progressEvery = 200 * time.Millisecond
)

// counter is one line on the terminal that says how far a long command is. Without
// a terminal on standard error it does nothing.
type counter struct {
	a           *app
	verb, what  string
	start, last time.Time

	mu    sync.Mutex
	shown bool
}

// counter makes a counter that reads "verb n of m what".
func (a *app) counter(verb, what string) *counter {
	return &counter{a: a, verb: verb, what: what, start: a.Now()}
}

// show says that done of total are done. It may be called from several goroutines.
func (c *counter) show(done, total int) {
	c.line(fmt.Sprintf("%s %d of %d %s", c.verb, done, total, c.what))
}

// count is show where nobody knows how many there will be.
func (c *counter) count(done int) { c.line(fmt.Sprintf("%s %d %s", c.verb, done, c.what)) }

func (c *counter) line(text string) {
	if !c.a.StderrTerminal {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.a.Now()
	if now.Sub(c.start) < progressAfter || now.Sub(c.last) < progressEvery {
		return
	}
	c.last, c.shown = now, true
	fmt.Fprint(c.a.Stderr, "\r\x1b[K"+text)
}

// clear takes the line away, before anything else is printed.
func (c *counter) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shown {
		fmt.Fprint(c.a.Stderr, "\r\x1b[K")
		c.shown = false
	}
}
