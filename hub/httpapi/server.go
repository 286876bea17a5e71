package httpapi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// How long a server waits, and for what.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 30 * time.Second // for a whole request
	writeTimeout  = 5 * time.Minute  // for a whole answer
	idleTimeout   = 60 * time.Second
	drainTimeout  = 10 * time.Second

	// maxHeader is 16 KiB less the 4 KiB that net/http adds to what it is told.
	maxHeader = 12 << 10
)

// NewServer makes a server that cuts off slow and oversized requests. It speaks
// HTTP/1.1, and HTTP/2 to clients that begin with it, on one port; over TLS once a
// TLSConfig is set.
func NewServer(h http.Handler) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		Protocols:         &protocols,
	}
}

// Serve serves until ctx ends, then lets the requests that have begun finish for
// up to 10 seconds. It closes the listener. A server that ended because it was
// asked to is no error.
func Serve(ctx context.Context, s *http.Server, l net.Listener) error {
	failed := make(chan error, 1)
	go func() {
		if s.TLSConfig != nil {
			failed <- s.ServeTLS(l, "", "")
			return
		}
		failed <- s.Serve(l)
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err := s.Shutdown(drain)
	if err != nil {
		err = errors.Join(err, s.Close())
	}
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
