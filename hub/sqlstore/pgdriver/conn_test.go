package pgdriver

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/kortecx/kx/internal/pgtest"
	"github.com/kortecx/kx/internal/timetest"
)

func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// eventually waits until a query of a count gives n.
func eventually(t *testing.T, db *sql.DB, n int, query string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timetest.Limit(10*time.Second))
	defer cancel()
	for {
		var got int
		if err := db.QueryRowContext(ctx, query, args...).Scan(&got); err != nil {
			t.Fatalf("waiting for %d: %v", n, err)
		}
		if got == n {
			return
		}
	}
}

const running = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND state = 'active' AND query LIKE '%pg_sleep%'"

// A context that ends while a statement runs gives its connection up, and the server
// does not go on with it.
func TestACancelledQueryGivesItsConnectionUp(t *testing.T) {
	db := opened(t)
	for name, call := range map[string]func(context.Context, *sql.Conn) error{
		"query": func(ctx context.Context, conn *sql.Conn) error {
			var got string
			return conn.QueryRowContext(ctx, "SELECT 'x' || pg_sleep(60)").Scan(&got)
		},
		"exec": func(ctx context.Context, conn *sql.Conn) error {
			_, err := conn.ExecContext(ctx, "SELECT 'x' || pg_sleep($1::double precision)", 60.0)
			return err
		},
		"simple": func(ctx context.Context, conn *sql.Conn) error {
			_, err := conn.ExecContext(ctx, "SELECT 1; SELECT 'x' || pg_sleep(60)")
			return err
		},
		"batch": func(ctx context.Context, conn *sql.Conn) error {
			return conn.Raw(func(c any) error {
				_, err := c.(*Conn).SendBatch(ctx, []Queued{{Query: "SELECT 1"}, {Query: "SELECT 'x' || pg_sleep($1::double precision)", Args: []any{60.0}}})
				return err
			})
		},
	} {
		conn, inside := single(t, db)
		pid := inside.pg.PID()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- call(ctx, conn) }()
		eventually(t, db, 1, running, int64(pid))
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if !inside.IsClosed() || inside.IsValid() {
			t.Errorf("%s: the connection is taken for a good one", name)
		}
		eventually(t, db, 0, running, int64(pid))
		_ = conn.Close()
	}
	// A deadline, and one that has passed before anything was sent.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	conn, inside := single(t, db)
	if _, err := conn.ExecContext(ctx, "SELECT pg_sleep(60)"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a deadline: %v", err)
	}
	if !inside.IsClosed() {
		t.Error("the connection outlived the deadline of its statement")
	}
	_, inside = single(t, db)
	for name, err := range map[string]error{
		"exec":    second(inside.ExecContext(ctx, "SELECT 1", nil)),
		"prepare": second(inside.PrepareContext(ctx, "SELECT 2")),
		"begin":   second(inside.BeginTx(ctx, driver.TxOptions{})),
	} {
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, driver.ErrBadConn) {
			t.Errorf("%s too late: %v", name, err)
		}
	}
	if inside.IsClosed() {
		t.Error("a context that had ended before took the connection with it")
	}
}

func second[T any](_ T, err error) error { return err }

// A server that ends a connection: whoever has it is told, and the pool makes another.
// With a clock, a connection that comes back at once is not asked, and one that lay there for
// a second is: nobody sees that the server ended it.
func TestAConnectionIsAskedAfterASecondInThePool(t *testing.T) {
	url := pgtest.URL(t)
	config, err := ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	config.Now = func() time.Time { return now }
	db := sql.OpenDB(NewConnector(config))
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	_, inside := single(t, db)
	if !inside.IsValid() { // as it is put into the pool
		t.Fatal("it cannot be used")
	}
	pgtest.Exec(t, url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()")
	now = now.Add(unasked - 1)
	if err := inside.ResetSession(t.Context()); err != nil {
		t.Errorf("it was asked at once, which is one more round trip for all that is read: %v", err)
	}
	now = now.Add(1)
	if err := inside.ResetSession(t.Context()); !errors.Is(err, driver.ErrBadConn) {
		t.Errorf("it is given out again: %v", err)
	}
}

func TestAKilledBackend(t *testing.T) {
	url := pgtest.URL(t)
	db := connected(t, url)
	db.SetMaxOpenConns(2)
	const kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
	conn, inside := single(t, db)
	do(t, conn, "SELECT $1::text", "prepared")
	pgtest.Exec(t, url, kill)
	// The server's last word, or that there is nobody to talk to.
	_, err := conn.ExecContext(t.Context(), "SELECT $1::text", "prepared")
	if code(err) != "57P01" && !errors.Is(err, driver.ErrBadConn) {
		t.Errorf("the first statement: %v", err)
	}
	for name, err := range map[string]error{
		"exec":    second(inside.ExecContext(t.Context(), "SELECT 1", nil)),
		"query":   second(inside.QueryContext(t.Context(), "SELECT 1", nil)),
		"prepare": second(inside.PrepareContext(t.Context(), "SELECT 3")),
		"begin":   second(inside.BeginTx(t.Context(), driver.TxOptions{})),
		"batch":   second(inside.SendBatch(t.Context(), []Queued{{Query: "SELECT 1"}})),
		"ping":    inside.Ping(t.Context()),
		"reset":   inside.ResetSession(t.Context()),
	} {
		if !errors.Is(err, driver.ErrBadConn) {
			t.Errorf("%s on a connection that broke: %v", name, err)
		}
	}
	if inside.IsValid() {
		t.Error("it would go back to the pool")
	}
	_ = conn.Close()
	for range 3 {
		do(t, db, "SELECT $1::text", "again")
		pgtest.Exec(t, url, kill) // while it lies in the pool: nobody sees it
	}
	// In the middle of what it sends.
	rows, err := db.QueryContext(t.Context(), "SELECT repeat('x', 10000) FROM generate_series(1, 100000)")
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, url, kill)
	n := 0
	for rows.Next() {
		n++
	}
	if err := rows.Err(); err == nil || n == 100000 {
		t.Errorf("%d rows of a server that was stopped, %v", n, err)
	}
	_ = rows.Close()
	if got := get[int](t, db, "SELECT 1"); got != 1 {
		t.Errorf("the pool gave %d", got)
	}
}

// A write that could not leave at all may be tried again with another connection.
func TestAConnectionThatWasClosedUnderneath(t *testing.T) {
	_, inside := single(t, opened(t))
	if err := inside.pg.Conn().Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := inside.ExecContext(t.Context(), "SELECT 1", nil); !errors.Is(err, driver.ErrBadConn) {
		t.Errorf("%v", err)
	}
}

// A connection that was left in a transaction is not given to the next one.
func TestAnOpenTransactionDoesNotGoBackToThePool(t *testing.T) {
	db := opened(t)
	db.SetMaxOpenConns(1)
	for left, again := range map[string]bool{"BEGIN": false, "BEGIN; SELECT 1": false, "SELECT 1": true, "BEGIN; ROLLBACK": true} {
		conn, inside := single(t, db)
		pid := inside.pg.PID()
		do(t, conn, left)
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		conn, inside = single(t, db)
		if same := inside.pg.PID() == pid; same != again || inside.pg.TxStatus() != 'I' {
			t.Errorf("after %s: the same connection %v, in state %c", left, same, inside.pg.TxStatus())
		}
		_ = conn.Close()
	}
}

func TestTransactions(t *testing.T) {
	db := opened(t)
	do(t, db, "CREATE TABLE t (a bigint PRIMARY KEY)")
	for _, tt := range []struct {
		o        sql.TxOptions
		level    string
		readOnly string
	}{
		{sql.TxOptions{}, "read committed", "off"},
		{sql.TxOptions{Isolation: sql.LevelReadUncommitted}, "read uncommitted", "off"},
		{sql.TxOptions{Isolation: sql.LevelReadCommitted, ReadOnly: true}, "read committed", "on"},
		{sql.TxOptions{Isolation: sql.LevelRepeatableRead}, "repeatable read", "off"},
		{sql.TxOptions{Isolation: sql.LevelSnapshot}, "repeatable read", "off"},
		{sql.TxOptions{Isolation: sql.LevelSerializable, ReadOnly: true}, "serializable", "on"},
	} {
		tx, err := db.BeginTx(t.Context(), &tt.o)
		if err != nil {
			t.Fatal(err)
		}
		level, readOnly := get[string](t, tx, "SHOW transaction_isolation"), get[string](t, tx, "SHOW transaction_read_only")
		if level != tt.level || readOnly != tt.readOnly {
			t.Errorf("%+v: %s, read-only %s", tt.o, level, readOnly)
		}
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
	}
	if _, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelLinearizable}); err == nil {
		t.Error("a level that the server does not have")
	}
	count := func() int { return get[int](t, db, "SELECT count(*) FROM t") }
	tx, _ := db.BeginTx(t.Context(), nil)
	do(t, tx, "INSERT INTO t VALUES ($1)", 1)
	if err := tx.Rollback(); err != nil || count() != 0 {
		t.Errorf("rolled back: %d rows, %v", count(), err)
	}
	tx, _ = db.BeginTx(t.Context(), nil)
	do(t, tx, "INSERT INTO t VALUES ($1)", 1)
	if err := tx.Commit(); err != nil || count() != 1 {
		t.Errorf("committed: %d rows, %v", count(), err)
	}
	// The server takes the commit of a transaction that has failed for a rollback.
	tx, _ = db.BeginTx(t.Context(), nil)
	do(t, tx, "INSERT INTO t VALUES ($1)", 2)
	if _, err := tx.ExecContext(t.Context(), "INSERT INTO t VALUES ($1)", 1); code(err) != "23505" {
		t.Errorf("a key that is there: %v", err)
	}
	if err := tx.Commit(); !errors.Is(err, errRolledBack) || count() != 1 {
		t.Errorf("the commit of a failed transaction: %v, %d rows", err, count())
	}
	conn, _ := single(t, db)
	do(t, conn, "BEGIN")
	_, _ = conn.ExecContext(t.Context(), "SELECT 1/0")
	if _, err := conn.ExecContext(t.Context(), " commit\n"); !errors.Is(err, errRolledBack) {
		t.Errorf("a commit in words: %v", err)
	}
	do(t, conn, "ROLLBACK")
	// The end of its context rolls it back, and the connection can go on.
	db.SetMaxOpenConns(2)
	ctx, cancel := context.WithCancel(t.Context())
	tx, _ = db.BeginTx(ctx, nil)
	do(t, tx, "INSERT INTO t VALUES ($1)", 3)
	cancel()
	if err := tx.Commit(); err == nil {
		t.Error("a commit after the end of its context")
	}
	eventually(t, db, 0, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'")
	if count() != 1 {
		t.Errorf("%d rows", count())
	}
}

// Several statements without arguments go as they are, and are one transaction.
func TestSeveralStatementsAtOnce(t *testing.T) {
	db := opened(t)
	conn, _ := single(t, db)
	result, err := conn.ExecContext(t.Context(), "CREATE TABLE t (a bigint); INSERT INTO t VALUES (1), (2), (3); -- ?\nUPDATE t SET a = a + 1 WHERE a > 1")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := result.RowsAffected(); n != 2 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
	if _, err := conn.ExecContext(t.Context(), "INSERT INTO t VALUES (9); SELECT 1/0; INSERT INTO t VALUES (10)"); code(err) != "22012" {
		t.Errorf("an error in the middle: %v", err)
	}
	if n := get[int](t, conn, "SELECT count(*) FROM t"); n != 3 {
		t.Errorf("%d rows", n)
	}
	if _, err := conn.ExecContext(t.Context(), "INSERT INTO t VALUES ($1); SELECT 1", 1); code(err) != "42601" {
		t.Errorf("several with an argument: %v", err)
	}
	for _, nothing := range []string{"", "-- nothing", ";"} {
		do(t, conn, nothing)
		rows, err := conn.QueryContext(t.Context(), nothing)
		if err != nil {
			t.Errorf("%q: %v", nothing, err)
			continue
		}
		if rows.Next() || rows.Err() != nil || rows.Close() != nil {
			t.Errorf("%q has a row, or %v", nothing, rows.Err())
		}
	}
}

func TestRowsThatAreNotReadToTheirEnd(t *testing.T) {
	db := opened(t)
	conn, inside := single(t, db)
	for _, read := range []int{0, 1, 7} {
		rows, err := conn.QueryContext(t.Context(), "SELECT i, repeat('x', 1000) FROM generate_series(1, 5000) i")
		if err != nil {
			t.Fatal(err)
		}
		for range read {
			if !rows.Next() {
				t.Fatal(rows.Err())
			}
		}
		// Nothing else can be asked meanwhile, and to try it harms nothing.
		if _, err := inside.ExecContext(t.Context(), "SELECT 1", nil); err == nil || errors.Is(err, driver.ErrBadConn) {
			t.Errorf("beside open rows: %v", err)
		}
		if inside.IsValid() {
			t.Error("a connection in use would go back to the pool")
		}
		if err := errors.Join(rows.Close(), rows.Close(), rows.Err()); err != nil {
			t.Error(err)
		}
		if got := get[string](t, conn, "SELECT 'next'"); got != "next" {
			t.Errorf("after %d rows: %s", read, got)
		}
	}
	// Rows that end are read to the end: those of the next statement are its own.
	first, err := inside.QueryContext(t.Context(), "SELECT 1", nil)
	if err != nil {
		t.Fatal(err)
	}
	dest := make([]driver.Value, 1)
	if err := first.Next(dest); err != nil {
		t.Fatal(err)
	}
	if err := first.Next(dest); err == nil {
		t.Fatal("a second row")
	}
	next, err := inside.QueryContext(t.Context(), "SELECT 2 UNION ALL SELECT 3", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if err := next.Next(dest); err != nil || fmt.Sprint(dest[0]) != "2" {
		t.Errorf("the close of other rows took this row: %v, %v", dest, err)
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
}

// An error between rows comes after those before it, and ends nothing else.
func TestAnErrorBetweenRows(t *testing.T) {
	db := opened(t)
	conn, inside := single(t, db)
	rows, err := conn.QueryContext(t.Context(), "SELECT 1000 / (1000 - i) FROM generate_series(1, 2000) i")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for rows.Next() {
		n++
	}
	if code(rows.Err()) != "22012" || n != 999 {
		t.Errorf("%d rows, then %v", n, rows.Err())
	}
	_ = rows.Close()
	if inside.IsClosed() || !inside.IsValid() {
		t.Error("the connection is gone")
	}
	// One that comes only with the commit of the statement.
	do(t, conn, "CREATE TABLE a (x bigint PRIMARY KEY); CREATE TABLE b (x bigint REFERENCES a DEFERRABLE INITIALLY DEFERRED)")
	if _, err := conn.ExecContext(t.Context(), "INSERT INTO b VALUES ($1)", 1); code(err) != "23503" {
		t.Errorf("a deferred check: %v", err)
	}
	var got int
	if err := conn.QueryRowContext(t.Context(), "INSERT INTO b VALUES ($1) RETURNING x", 1).Scan(&got); code(err) != "23503" {
		t.Errorf("a deferred check behind a row: %v", err)
	}
	if n := get[int](t, conn, "SELECT count(*) FROM b"); n != 0 {
		t.Errorf("%d rows", n)
	}
	if _, err := conn.ExecContext(t.Context(), "SELECT "+strings.Repeat("(", 10)); code(err) != "42601" {
		t.Errorf("no SQL: %v", err)
	}
}
