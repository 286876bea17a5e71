package scripttest

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hubapi"
)

// post sends a file as JSON to the hub of the script, as a program that is not ours
// would, and wants that status: post STATUS PATH FILE [KEY]. $NAMES in the file stand
// for variables of the script. The answer is then in the file answer.
func post(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || len(args) > 4 {
		ts.Fatalf("usage: post STATUS PATH FILE [KEY]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	r, err := http.NewRequest(http.MethodPost, ts.Getenv("KX_ENDPOINT")+args[1], strings.NewReader(os.Expand(ts.ReadFile(args[2]), ts.Getenv)))
	ts.Check(err)
	r.Header.Set("Content-Type", "application/json")
	if len(args) == 4 {
		r.Header.Set("X-API-Key", args[3])
	}
	resp, err := http.DefaultClient.Do(r)
	ts.Check(err)
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("answer"), body, 0o644))
	if resp.StatusCode != want {
		ts.Fatalf("%s, want %d: %s", resp.Status, want, body)
	}
}

// heartbeat lets a machine of the user's own hub report once.
func (s *session) heartbeat(t *testing.T, name string) {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), filepath.Join(s.dir, ".kx", "hub"), sqlstore.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	_, err = hub.New(store, hub.Config{Now: time.Now}).Heartbeat(t.Context(), hub.LocalAdmin(), hubapi.Heartbeat{NodeName: name})
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
}
