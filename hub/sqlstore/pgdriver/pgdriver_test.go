package pgdriver

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"maps"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/kortecx/kx/internal/pgtest"
)

// opened gives a database of its own.
func opened(t testing.TB, parameters ...string) *sql.DB {
	t.Helper()
	return connected(t, strings.Join(append([]string{pgtest.URL(t)}, parameters...), "&"))
}

func connected(t testing.TB, url string) *sql.DB {
	t.Helper()
	config, err := ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(NewConnector(config))
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// single gives one connection of a database, and the driver's side of it.
func single(t testing.TB, db *sql.DB) (*sql.Conn, *Conn) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	var inside *Conn
	if err := conn.Raw(func(c any) error {
		inside = c.(*Conn)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return conn, inside
}

// doer is a *sql.DB, *sql.Conn or *sql.Tx.
type doer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func do(t testing.TB, on doer, query string, args ...any) {
	t.Helper()
	if _, err := on.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func get[T any](t testing.TB, on doer, query string, args ...any) (v T) {
	t.Helper()
	if err := on.QueryRowContext(t.Context(), query, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

// Every URL that pgx reads is read alike, and every other is refused.
func TestURLsArePgxs(t *testing.T) {
	t.Setenv("PGSSLMODE", "")
	for _, url := range []string{
		"postgres://u:p%40ss@h/d",
		"postgresql://u@h:5433/d?sslmode=disable",
		"postgres://u@one:1,two:2,[::1]:3/d?target_session_attrs=read-write",
		"postgres:///d?host=/tmp/socket&user=u",
		"postgres://u@h/d?sslmode=require",
		"postgres://u@h/d?sslmode=prefer",
		"postgres://u@h/d?sslmode=verify-full&sslrootcert=system",
		"postgres://u@h/d?connect_timeout=7&application_name=me&search_path=x&lock_timeout=5",
		"postgres://u@h/d?statement_cache_capacity=7&description_cache_capacity=8&default_query_exec_mode=exec",
		"postgres://u@h/d?statement_cache_capacity=0&default_query_exec_mode=simple_protocol",
		"postgres://u@h/d?statement_cache_capacity=many",
		"postgres://u@h/d?description_cache_capacity=many",
		"postgres://u@h/d?default_query_exec_mode=whatever",
		"postgres://u@h/d?sslmode=maybe",
		"postgres://u@h:port/d",
		"postgres://u@h/d?connect_timeout=soon",
		"postgres://u:p ss@h/%zz",
		"host=h password='",
	} {
		want, theirs := pgx.ParseConfig(url)
		got, ours := ParseConfig(url)
		if (theirs == nil) != (ours == nil) {
			t.Errorf("%s: pgx says %v, we say %v", url, theirs, ours)
			continue
		}
		if ours != nil {
			continue
		}
		if got.Host != want.Host || got.Port != want.Port || got.User != want.User || got.Password != want.Password || got.Database != want.Database ||
			got.ConnectTimeout != want.ConnectTimeout || len(got.Fallbacks) != len(want.Fallbacks) || (got.TLSConfig == nil) != (want.TLSConfig == nil) ||
			(got.ValidateConnect == nil) != (want.ValidateConnect == nil) || !maps.Equal(got.RuntimeParams, want.RuntimeParams) {
			t.Errorf("%s: read otherwise than pgx reads it", url)
		}
		if capacity := max(want.StatementCacheCapacity, 0); capacity > 0 && got.Statements != capacity || capacity == 0 && got.Statements != defaultStatements {
			t.Errorf("%s: %d statements", url, got.Statements)
		}
	}
}

func TestNoErrorHasThePassword(t *testing.T) {
	for _, url := range []string{
		"postgres://u:secret@h:port/d", "postgres://u:sec ret@h/", "postgres://u:secret@h/d?sslmode=maybe", "host=h password=secret port=x",
		"postgres://u:sec/ret@h:x/d", "postgres://h/d?password=secret&default_query_exec_mode=secret", "postgres://u:secret@h/d?statement_cache_capacity=secret",
	} {
		_, err := ParseConfig(url)
		if err == nil || strings.Contains(err.Error(), "sec") || strings.Contains(err.Error(), "ret@") {
			t.Errorf("%s: %v", url, err)
		}
		if _, err := (byURL{}).Open(url); err == nil || strings.Contains(err.Error(), "sec") {
			t.Errorf("opening %s: %v", url, err)
		}
	}
	_, err := (byURL{}).Open("postgres://u:secret@127.0.0.1:1/d?connect_timeout=2")
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("nobody there: %v", err)
	}
}

// The driver of a *sql.DB opens a URL by itself; several hosts are tried one by one.
func TestSeveralHosts(t *testing.T) {
	url := strings.Replace(pgtest.URL(t), "host=", "host=/nowhere/at/all,", 1)
	conn, err := connected(t, url).Driver().Open(url)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.(driver.Pinger).Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}
