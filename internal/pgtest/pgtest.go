// Package pgtest gives tests a PostgreSQL database of their own. Only tests use it.
//
// Call URL.
package pgtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"os"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver
)

// Variable names the environment variable with the URL of a server where tests may
// make databases; .ci/postgres starts one.
const Variable = "KX_TEST_POSTGRES"

// URL makes an empty database and gives its URL; the test's end removes it. Without
// a server the test is skipped, or fails where KX_TEST_ALL=1 asks for every test.
func URL(t testing.TB) string {
	t.Helper()
	server := os.Getenv(Variable)
	if server == "" {
		if os.Getenv("KX_TEST_ALL") == "1" {
			t.Fatalf("no PostgreSQL: %s is not set", Variable)
		}
		t.Skipf("no PostgreSQL: %s is not set (.ci/postgres starts one)", Variable)
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatalf("%s is not a URL", Variable)
	}
	name := "kx_test_" + strings.ToLower(rand.Text())
	u.Path = "/" + name
	// A collation that is not ours, so that a column which forgets it is seen.
	do(t, server, "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'")
	t.Cleanup(func() { do(t, server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") })
	return u.String()
}

func do(t testing.TB, server, statement string) {
	t.Helper()
	db, err := sql.Open("pgx", server)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(context.Background(), statement); err != nil {
		t.Fatal(err)
	}
}

// Exec runs a statement in a database, as anybody could.
func Exec(t testing.TB, url, statement string) {
	t.Helper()
	do(t, url, statement)
}
