package httpapi

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// goneWriter is what HTTP/2 is to a handler whose client goes away while an answer is
// sent: Write fails, and what it was given is read later.
type goneWriter struct {
	http.ResponseWriter
	later []byte
}

func (w *goneWriter) Write(p []byte) (int, error) {
	w.later = p
	return 0, errors.New("stream closed")
}

// An answer whose client went away before all of it was sent is not written over with the
// answer to somebody else, which would go out on the first one's connection.
func TestAnswersStayUntilTheyAreSent(t *testing.T) {
	for range 20 {
		gone := &goneWriter{ResponseWriter: httptest.NewRecorder()}
		writeJSON(gone, http.StatusOK, strings.Repeat("mine", 2000))
		for range 20 {
			writeJSON(httptest.NewRecorder(), http.StatusOK, strings.Repeat("theirs", 1000))
		}
		if strings.Contains(string(gone.later), "theirs") {
			t.Fatal("the answer to somebody else is in it")
		}
	}
}
