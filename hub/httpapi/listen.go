package httpapi

import (
	"net"
	"sync"
	"sync/atomic"
)

// MaxConns is how many connections a server keeps open at a time; more wait until
// one of them ends. Idle and slow ones end by their timeouts.
const MaxConns = 4096

// Listener lets in a limited number of connections, and counts them.
type Listener struct {
	net.Listener
	tokens  chan struct{}
	closing chan struct{}
	once    sync.Once
	open    atomic.Int64
}

// Limit makes l let in at most n connections at a time.
func Limit(l net.Listener, n int) *Listener {
	return &Listener{Listener: l, tokens: make(chan struct{}, n), closing: make(chan struct{})}
}

// Open is the number of connections that are open.
func (l *Listener) Open() int64 { return l.open.Load() }

// Accept waits until there is room, and for somebody to come.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case l.tokens <- struct{}{}:
	case <-l.closing:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.tokens
		return nil, err
	}
	l.open.Add(1)
	return &limited{Conn: conn, listener: l}, nil
}

// Close also ends the wait for room.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closing) })
	return l.Listener.Close()
}

type limited struct {
	net.Conn
	listener *Listener
	once     sync.Once
}

func (c *limited) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.listener.open.Add(-1)
		<-c.listener.tokens
	})
	return err
}
