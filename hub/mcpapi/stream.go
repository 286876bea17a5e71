package mcpapi

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// keepAlive is how often a stream of events that has nothing to say says so, for the
// proxies on the way.
const keepAlive = 15 * time.Second

// stream is a response that may turn out to be a stream of events: then it is not cut
// off by the server's limit for answers, no proxy keeps it back, and it is kept alive.
type stream struct {
	http.ResponseWriter
	mu     sync.Mutex
	events bool
	over   bool
	beat   *time.Timer
}

func newStream(w http.ResponseWriter) *stream { return &stream{ResponseWriter: w} }

// Unwrap lets http.ResponseController reach what is below.
func (s *stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *stream) begin() {
	if s.events || !strings.HasPrefix(s.Header().Get("Content-Type"), "text/event-stream") {
		return
	}
	s.events = true
	s.Header().Set("X-Accel-Buffering", "no")
	// Where there is no deadline to lift there is none.
	_ = http.NewResponseController(s.ResponseWriter).SetWriteDeadline(time.Time{})
	s.beat = time.AfterFunc(keepAlive, s.say)
}

func (s *stream) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	s.ResponseWriter.WriteHeader(status)
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	return s.ResponseWriter.Write(p)
}

// Flush implements http.Flusher.
func (s *stream) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = http.NewResponseController(s.ResponseWriter).Flush()
}

// say writes a comment, which clients pass over.
func (s *stream) say() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	if _, err := s.ResponseWriter.Write([]byte(": still here\n\n")); err != nil {
		return
	}
	_ = http.NewResponseController(s.ResponseWriter).Flush()
	s.beat.Reset(keepAlive)
}

// end must be called before the handler returns.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.beat != nil {
		s.beat.Stop()
	}
}
