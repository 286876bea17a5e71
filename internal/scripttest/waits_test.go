package scripttest

import (
	"context"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/internal/cli"
)

// lockWaitVariable is how scripts shorten what programs wait for another.
const lockWaitVariable = "KX_TEST_LOCK_WAIT"

// withWaits takes how long is waited from the script.
func withWaits(env cli.Env) cli.Env {
	env.LockWait, _ = time.ParseDuration(os.Getenv(lockWaitVariable))
	return env
}

// holdHub has a hub's folder open, as another command would, for a while or until the
// script ends: holdhub DIR [DURATION].
func holdHub(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: holdhub DIR [DURATION]")
	}
	lock, err := sqlstore.LockDir(context.Background(), ts.MkAbs(args[0]), 0, nil)
	ts.Check(err)
	if len(args) == 1 {
		ts.Defer(func() { _ = lock.Release() })
		return
	}
	d, err := time.ParseDuration(args[1])
	ts.Check(err)
	time.AfterFunc(d, func() { _ = lock.Release() })
}

// slowHub is a hub that finds nothing, and takes its time for it: slowhub DURATION, or
// slowhub never. KX_ENDPOINT and KAZMA_HUB_URL lead to it.
func slowHub(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: slowhub DURATION|never")
	}
	d := time.Hour
	if args[0] != "never" {
		var err error
		d, err = time.ParseDuration(args[0])
		ts.Check(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"items":[],"total":0,"total_skills":0,"certified_count":0,"by_category":{}}`))
	}))
	ts.Defer(server.CloseClientConnections)
	ts.Setenv("KX_ENDPOINT", server.URL)
	ts.Setenv("KAZMA_HUB_URL", server.URL)
}

// kazmaRegistry makes a registry as the original Kazma does, with one skill that is
// installed in a folder: kazmaregistry FILE AUTHOR NAME VERSION FOLDER.
func kazmaRegistry(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: kazmaregistry FILE AUTHOR NAME VERSION FOLDER")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	for _, s := range []string{
		`CREATE TABLE skills (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, author TEXT NOT NULL, version TEXT NOT NULL, description TEXT, license TEXT, capabilities TEXT, tags TEXT, manifest_json TEXT, checksum TEXT, installed_path TEXT, created_at TEXT DEFAULT CURRENT_TIMESTAMP, UNIQUE(name, author, version))`,
		`CREATE TABLE skill_dependencies (skill_id INTEGER, dep_name TEXT NOT NULL, dep_version TEXT, is_optional INTEGER DEFAULT 0)`,
		`CREATE TABLE badges (skill_id TEXT PRIMARY KEY, level TEXT)`,
	} {
		_, err := db.Exec(s)
		ts.Check(err)
	}
	_, err = db.Exec(`INSERT INTO skills (author, name, version, installed_path) VALUES (?, ?, ?, ?)`, args[1], args[2], args[3], ts.MkAbs(args[4]))
	ts.Check(err)
	ts.Check(db.Close())
}
