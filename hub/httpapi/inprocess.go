package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// InProcess calls h without a network: the answer streams through a pipe, and the
// request's context ends both sides.
func InProcess(h http.Handler) http.RoundTripper { return inProcess{h} }

type inProcess struct{ h http.Handler }

// RoundTrip implements http.RoundTripper.
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context())
	in.RequestURI = r.URL.RequestURI()
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/1.1", 1, 1
	in.RemoteAddr = "127.0.0.1:0"
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	pr, pw := io.Pipe()
	w := &pipeWriter{header: http.Header{}, request: r, body: pr, pipe: pw, ready: make(chan reply, 1)}
	go func() {
		defer func() {
			if p := recover(); p != nil {
				err := fmt.Errorf("the hub's handler failed: %v", p)
				w.once.Do(func() { w.ready <- reply{err: err} })
				_ = pw.CloseWithError(err)
			}
			w.WriteHeader(http.StatusOK)
			_ = pw.Close()
			_ = in.Body.Close()
		}()
		t.h.ServeHTTP(w, in)
	}()
	select {
	case answer := <-w.ready:
		return answer.response, answer.err
	case <-r.Context().Done():
		_ = pr.CloseWithError(r.Context().Err())
		return nil, r.Context().Err()
	}
}

type reply struct {
	response *http.Response
	err      error
}

// pipeWriter hands the answer over as soon as its head is known.
type pipeWriter struct {
	header  http.Header
	request *http.Request
	body    *io.PipeReader
	pipe    *io.PipeWriter
	once    sync.Once
	ready   chan reply
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() {
		length := int64(-1)
		if n, err := strconv.ParseInt(w.header.Get("Content-Length"), 10, 64); err == nil {
			length = n
		}
		w.ready <- reply{response: &http.Response{
			Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: w.header.Clone(), Body: w.body, ContentLength: length, Request: w.request,
		}}
	})
}

func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(p)
}
