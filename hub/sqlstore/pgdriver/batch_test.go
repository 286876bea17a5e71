package pgdriver

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestABatch(t *testing.T) {
	db := opened(t)
	conn, inside := single(t, db)
	do(t, conn, "CREATE TABLE t (a bigint PRIMARY KEY, b text, c bytea, d boolean)")
	const insert = "INSERT INTO t (a, b, c, d) VALUES ($1, $2, $3, $4)"
	queue := []Queued{
		{Query: "BEGIN"},
		{Query: insert, Args: []any{1, label("one"), []byte{}, flag(true)}},
		{Query: insert, Args: []any{int64(2), nil, nil, sql.NullBool{}}},
		{Query: "SELECT * FROM t"},
		{Query: "UPDATE t SET b = $1", Args: []any{"all"}},
		{Query: "DELETE FROM t WHERE a > $1", Args: []any{9}},
		{Query: "INSERT INTO t (a) SELECT i FROM generate_series(10, 19) i RETURNING a, b"},
		{Query: "SELECT 1.5"}, // nobody reads it
		{Query: "COMMIT"},
	}
	for round, want := range [][]int64{{0, 1, 1, 2, 2, 0, 10, 1, 0}, {0, 1, 1, 14, 14, 10, 10, 1, 0}} {
		if round == 1 { // everything is prepared by now
			queue[1].Args[0], queue[2].Args[0] = 3, 4
		}
		made := inside.cache.made
		sent, err := inside.SendBatch(t.Context(), queue)
		if err != nil || !sent {
			t.Fatal(err)
		}
		for i, q := range queue {
			if q.Err != nil || q.Rows != want[i] {
				t.Errorf("round %d, %s: %d rows, %v", round, q.Query, q.Rows, q.Err)
			}
		}
		if round == 1 && inside.cache.made != made {
			t.Errorf("%d were prepared again", inside.cache.made-made)
		}
	}
	if sent, err := inside.SendBatch(t.Context(), nil); err != nil || !sent {
		t.Errorf("nothing: %v", err)
	}
	var b, c string
	if err := conn.QueryRowContext(t.Context(), "SELECT b, c FROM t WHERE a = 3").Scan(&b, &c); err != nil || b != "all" || c != "" {
		t.Errorf("%q, %q, %v", b, c, err)
	}
}

// The first error is everybody's from there on, and the transaction's savepoint still
// stands where it was set before.
func TestAnErrorInABatch(t *testing.T) {
	db := opened(t)
	conn, inside := single(t, db)
	do(t, conn, "CREATE TABLE t (a bigint PRIMARY KEY)")
	const insert = "INSERT INTO t (a) VALUES ($1)"
	batch := func() []Queued {
		return []Queued{{Query: "SAVEPOINT job"}, {Query: insert, Args: []any{1}}, {Query: insert, Args: []any{1}}, {Query: insert, Args: []any{2}}, {Query: "RELEASE job"}}
	}
	for range 2 {
		do(t, conn, "BEGIN")
		queue := batch()
		sent, err := inside.SendBatch(t.Context(), queue)
		if code(err) != "23505" || !sent || inside.pg.TxStatus() != 'E' {
			t.Fatalf("%v in state %c", err, inside.pg.TxStatus())
		}
		for i, q := range queue {
			want := error(nil)
			if i >= 2 {
				want = err
			}
			if q.Err != want { //nolint:errorlint // the same one
				t.Errorf("%d %s: %v", i, q.Query, q.Err)
			}
		}
		if queue[1].Rows != 1 || queue[3].Rows != 0 {
			t.Errorf("rows %d and %d", queue[1].Rows, queue[3].Rows)
		}
		do(t, conn, "ROLLBACK TO job; RELEASE job")
		do(t, conn, insert, 5)
		do(t, conn, "COMMIT")
		if n := get[int](t, conn, "SELECT sum(a)::bigint FROM t"); n != 5 {
			t.Errorf("the sum is %d", n)
		}
		do(t, conn, "DELETE FROM t")
	}
	// Without a transaction the batch is one.
	queue := batch()[1:3]
	if _, err := inside.SendBatch(t.Context(), queue); code(err) != "23505" {
		t.Errorf("%v", err)
	}
	if n := get[int](t, conn, "SELECT count(*) FROM t"); n != 0 || inside.pg.TxStatus() != 'I' {
		t.Errorf("%d rows, state %c", n, inside.pg.TxStatus())
	}
	// One that cannot be prepared: nothing of the batch is done.
	queue = []Queued{{Query: insert, Args: []any{1}}, {Query: "INSERT INTO nowhere VALUES ($1)", Args: []any{1}}}
	if sent, err := inside.SendBatch(t.Context(), queue); code(err) != "42P01" || !sent || queue[0].Err == nil || queue[1].Err == nil {
		t.Errorf("%v, %v", sent, err)
	}
	// A value that cannot be sent: the server is told nothing.
	do(t, conn, "BEGIN")
	do(t, conn, insert, 7)
	for _, bad := range []any{true, struct{}{}, []byte{1}} {
		queue = []Queued{{Query: insert, Args: []any{8}}, {Query: insert, Args: []any{bad}}}
		sent, err := inside.SendBatch(t.Context(), queue)
		if err == nil || sent || queue[0].Err == nil || !strings.Contains(err.Error(), "$1") || inside.pg.TxStatus() != 'T' {
			t.Errorf("%T: sent %v, %v, state %c", bad, sent, err, inside.pg.TxStatus())
		}
	}
	queue = []Queued{{Query: insert, Args: []any{8, 9}}}
	if sent, err := inside.SendBatch(t.Context(), queue); err == nil || sent {
		t.Errorf("too many parameters: %v", err)
	}
	do(t, conn, "COMMIT")
	if n := get[int](t, conn, "SELECT sum(a)::bigint FROM t"); n != 7 {
		t.Errorf("the sum is %d", n)
	}
}

// A batch may have more statements than are kept, and be larger than any buffer on the
// way, in both directions.
func TestALargeBatch(t *testing.T) {
	db := opened(t, "statement_cache_capacity=2")
	conn, inside := single(t, db)
	var queue []Queued
	for i := range 50 {
		queue = append(queue, Queued{Query: fmt.Sprintf("SELECT $1::bigint + %d", i%10), Args: []any{i}})
	}
	for range 3 {
		if _, err := inside.SendBatch(t.Context(), queue); err != nil {
			t.Fatal(err)
		}
	}
	if n := inside.cache.used.Len(); n != 2 {
		t.Errorf("%d are kept", n)
	}
	if _, err := conn.ExecContext(t.Context(), "SELECT $1::bigint", 1); err != nil {
		t.Fatal(err)
	}
	if n := keptStatements(t, conn); n > 4 {
		t.Errorf("the server has %d", n)
	}
	megabyte := make([]byte, 1<<20)
	_, _ = rand.Read(megabyte)
	queue = queue[:0]
	for range 24 {
		queue = append(queue, Queued{Query: "SELECT $1::bytea", Args: []any{megabyte}})
	}
	if _, err := inside.SendBatch(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	for _, q := range queue {
		if q.Rows != 1 {
			t.Errorf("%d rows", q.Rows)
		}
	}
}

// A statement of a batch that the schema has left behind is made again by the next one.
func TestABatchAfterASchemaChange(t *testing.T) {
	db := opened(t)
	conn, inside := single(t, db)
	do(t, conn, "CREATE TABLE t (a bigint)")
	queue := []Queued{{Query: "SELECT 1"}, {Query: "SELECT * FROM t"}}
	if _, err := inside.SendBatch(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	do(t, conn, "ALTER TABLE t ALTER a TYPE text")
	if _, err := inside.SendBatch(t.Context(), queue); code(err) != "0A000" || queue[0].Err != nil || queue[1].Err == nil {
		t.Errorf("%v, of its statements %v and %v", err, queue[0].Err, queue[1].Err)
	}
	if _, err := inside.SendBatch(t.Context(), queue); errors.Join(err, queue[1].Err) != nil {
		t.Errorf("the next one: %v", err)
	}
}
