package pgdriver

import (
	"fmt"
	"testing"
)

// onServer counts what the server keeps for a connection, without keeping more.
const onServer = `DO $$ BEGIN PERFORM set_config('kx.kept', (SELECT count(*) FROM pg_prepared_statements)::text, false); END $$`

func keptStatements(t *testing.T, on doer) (n int) {
	t.Helper()
	do(t, on, onServer)
	n, err := fmt.Sscan(get[string](t, on, "SHOW kx.kept"), &n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestStatementsArePreparedOnce(t *testing.T) {
	db := opened(t)
	conn, inside := single(t, db)
	for range 5 {
		do(t, conn, "SELECT $1::bigint", 1)
		_ = get[int](t, conn, "SELECT $1::bigint", 2)
		st, err := conn.PrepareContext(t.Context(), "SELECT $1::bigint")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := st.ExecContext(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if inside.cache.made != 1 {
		t.Errorf("one text was prepared %d times", inside.cache.made)
	}
}

// The server keeps no more than it was said to, and what was used last stays.
func TestTheCacheHasABound(t *testing.T) {
	const most = 3
	db := opened(t, fmt.Sprint("statement_cache_capacity=", most))
	conn, inside := single(t, db)
	old, err := conn.PrepareContext(t.Context(), "SELECT 'old'")
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	for i := range 20 {
		_ = get[int](t, conn, fmt.Sprintf("SELECT %d", i))
		_ = get[string](t, conn, "SELECT 'often'")
		if n := inside.cache.used.Len(); n > most || n != len(inside.cache.byText) {
			t.Fatalf("%d are kept, %d are known by text", n, len(inside.cache.byText))
		}
	}
	if inside.cache.made != 22 {
		t.Errorf("%d were prepared: the one that is used often was, again", inside.cache.made)
	}
	do(t, conn, onServer)
	// The one that SHOW is, and those that go when it is prepared.
	var kept int
	if err := conn.QueryRowContext(t.Context(), "SHOW kx.kept").Scan(&kept); err != nil || kept > most+1 {
		t.Errorf("the server has %d statements, %v", kept, err)
	}
	// A statement of database/sql outlives what the server had of it.
	var got string
	if err := old.QueryRowContext(t.Context()).Scan(&got); err != nil || got != "old" {
		t.Errorf("%q, %v", got, err)
	}
}

// A schema that changed costs a statement another preparation, not its caller an error.
func TestStatementsAreMadeAgain(t *testing.T) {
	db := opened(t)
	conn, inside := single(t, db)
	do(t, conn, "CREATE TABLE t (a bigint); INSERT INTO t VALUES (7)")
	st, err := conn.PrepareContext(t.Context(), "SELECT * FROM t")
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	read := func() (v any, err error) {
		return v, st.QueryRowContext(t.Context()).Scan(&v)
	}
	for _, tt := range []struct {
		change string
		want   any
	}{
		{"SELECT 1", int64(7)},
		{"ALTER TABLE t ALTER a TYPE text", "7"}, // cached plan must not change result type
		{"ALTER TABLE t ALTER a TYPE bytea USING a::bytea", []byte("7")},
		{"DEALLOCATE ALL", []byte("7")}, // prepared statement does not exist
		{"DISCARD ALL", []byte("7")},
		{"DROP TABLE t; CREATE TABLE t (a bigint); INSERT INTO t VALUES (8)", int64(8)},
	} {
		do(t, conn, tt.change)
		if got, err := read(); err != nil || fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("after %s: %v, %v", tt.change, got, err)
		}
		if _, err := conn.ExecContext(t.Context(), "SELECT * FROM t WHERE $1", true); err != nil {
			t.Errorf("exec after %s: %v", tt.change, err)
		}
	}
	// A transaction has ended by then: its caller is told, the next one is not.
	do(t, conn, "ALTER TABLE t ALTER a TYPE text")
	do(t, conn, "BEGIN")
	if _, err := read(); code(err) != "0A000" || inside.pg.TxStatus() != 'E' {
		t.Errorf("in a transaction: %v in state %c", err, inside.pg.TxStatus())
	}
	if _, err := read(); code(err) != "25P02" {
		t.Errorf("in a transaction that has failed: %v", err)
	}
	do(t, conn, "ROLLBACK")
	do(t, conn, "BEGIN")
	if got, err := read(); err != nil || got != "8" {
		t.Errorf("in the next transaction: %v, %v", got, err)
	}
	do(t, conn, "ROLLBACK")
	// A parameter whose type changed: what was prepared for the old one goes.
	const find = "SELECT count(*) FROM t WHERE a = $1"
	_ = get[int](t, conn, find, "8")
	do(t, conn, "ALTER TABLE t ALTER a TYPE bigint USING a::bigint")
	_, first := conn.ExecContext(t.Context(), find, "8")
	if n := get[int](t, conn, find, 8); n != 1 {
		t.Errorf("%d found after the error %v", n, first)
	}
}

// What cannot be prepared leaves nothing behind.
func TestWhatCannotBePrepared(t *testing.T) {
	db := opened(t)
	conn, inside := single(t, db)
	for range 3 {
		if _, err := conn.PrepareContext(t.Context(), "SELECT nothing FROM nowhere"); code(err) != "42P01" {
			t.Errorf("%v", err)
		}
	}
	if n := keptStatements(t, conn); n > 1 {
		t.Errorf("%d statements are kept", n)
	}
	if inside.cache.used.Len() != 1 || inside.IsClosed() {
		t.Errorf("%d statements are known", inside.cache.used.Len())
	}
}
