package httpapi

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kortecx/kx/internal/workers"
)

// What panicked in a write was logged with two stacks, one of them as its value.
func TestAPanicOfAWorkerIsLoggedAsWhatItIs(t *testing.T) {
	var log bytes.Buffer
	a := &api{log: slog.New(slog.NewTextHandler(&log, nil))}
	answer := httptest.NewRecorder()
	func() {
		defer a.recover(answer, httptest.NewRequest(http.MethodGet, "/healthz", nil))
		workers.Each(1, 1, func(int) { panic("boom") })
	}()
	if got := log.String(); !strings.Contains(got, "panic=boom ") || strings.Count(got, "[running]") != 1 || !strings.Contains(got, "recover_test.go") {
		t.Errorf("logged %s", got)
	}
	if answer.Code != http.StatusInternalServerError {
		t.Errorf("answered %d", answer.Code)
	}
}
