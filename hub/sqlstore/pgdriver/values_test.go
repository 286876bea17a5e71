package pgdriver

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kortecx/kx/internal/pgtest"
)

type (
	flag  bool
	count int32
	label string
	blob  []byte
)

type valuer struct{ v driver.Value }

func (v valuer) Value() (driver.Value, error) { return v.v, nil }

// everyText has every character that there is, but NUL.
func everyText() string {
	var out strings.Builder
	for r := rune(1); r <= utf8.MaxRune; r++ {
		if utf8.ValidRune(r) {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// What is sent arrives, as the server says in words of its own, and comes back.
func TestValues(t *testing.T) {
	megabyte := make([]byte, 1<<20)
	_, _ = rand.Read(megabyte)
	number := 7
	db := opened(t)
	for _, tt := range []struct {
		kind string
		in   any
		says string // the server's text for it
		out  any    // what is scanned; in when it is nil
	}{
		{"bigint", int64(0), "0", nil},
		{"bigint", int64(-1), "-1", nil},
		{"bigint", int64(math.MaxInt64), "9223372036854775807", nil},
		{"bigint", int64(math.MinInt64), "-9223372036854775808", nil},
		{"bigint", 42, "42", int64(42)},
		{"bigint", uint32(math.MaxUint32), "4294967295", int64(math.MaxUint32)},
		{"bigint", count(-5), "-5", int64(-5)},
		{"bigint", &number, "7", int64(7)},
		{"bigint", sql.NullInt64{Int64: 3, Valid: true}, "3", int64(3)},
		{"integer", math.MaxInt32, "2147483647", int64(math.MaxInt32)},
		{"integer", math.MinInt32, "-2147483648", int64(math.MinInt32)},
		{"smallint", math.MaxInt16, "32767", int64(math.MaxInt16)},
		{"smallint", math.MinInt16, "-32768", int64(math.MinInt16)},
		{"boolean", true, "true", nil},
		{"boolean", false, "false", nil},
		{"boolean", flag(true), "true", true},
		{"double precision", math.MaxFloat64, "1.7976931348623157e+308", nil},
		{"double precision", math.SmallestNonzeroFloat64, "5e-324", nil},
		{"double precision", -0.5, "-0.5", nil},
		{"double precision", math.Inf(-1), "-Infinity", nil},
		{"double precision", float32(1.5), "1.5", 1.5},
		{"text", "", "", nil},
		{"text", `\x41 '' " $1 ?`, `\x41 '' " $1 ?`, nil},
		{"text", "a\nb\tc\r\n", "a\nb\tc\r\n", nil},
		{"text", everyText(), everyText(), nil},
		{"text", strings.Repeat("ü", 1<<19), strings.Repeat("ü", 1<<19), nil},
		{"text", label("name"), "name", "name"},
		{"text", valuer{"from a Valuer"}, "from a Valuer", "from a Valuer"},
		{"varchar", "grün", "grün", nil},
		{"varchar(3)", "abc", "abc", nil},
		{"char(4)", "ab", "ab", "ab  "},
		{"name", "pg_class", "pg_class", nil},
		{"bytea", []byte{}, `\x`, nil},
		{"bytea", []byte{0}, `\x00`, nil},
		{"bytea", []byte(`\x41`), `\x5c783431`, nil},
		{"bytea", megabyte, `\x` + hex.EncodeToString(megabyte), nil},
		{"bytea", blob{1, 2}, `\x0102`, []byte{1, 2}},
	} {
		var says string
		var out any
		if err := db.QueryRowContext(t.Context(), fmt.Sprintf("SELECT $1::%s::text, $1::%[1]s", tt.kind), tt.in).Scan(&says, &out); err != nil {
			t.Errorf("%s %.60v: %v", tt.kind, tt.in, err)
			continue
		}
		if tt.out == nil {
			tt.out = tt.in
		}
		if says != tt.says || !reflect.DeepEqual(out, tt.out) {
			t.Errorf("%s %.60v: the server has %.60q, back came %.60v", tt.kind, tt.in, says, out)
		}
	}
	if got := get[float64](t, db, "SELECT $1::double precision", math.NaN()); !math.IsNaN(got) {
		t.Errorf("NaN came back as %v", got)
	}
	// Bytes that stand for a text: no character is lost on the way there.
	if got := get[string](t, db, "SELECT convert_from($1, 'UTF8')", []byte(everyText())); got != everyText() {
		t.Errorf("%d bytes of text came back as %d", len(everyText()), len(got))
	}
}

func TestNull(t *testing.T) {
	db := opened(t)
	for _, kind := range []string{"bigint", "integer", "smallint", "boolean", "double precision", "text", "varchar", "name", "bytea"} {
		for _, in := range []any{nil, sql.NullString{}, (*int)(nil), []byte(nil), valuer{}} {
			if _, bytes := in.([]byte); bytes && kind != "bytea" {
				continue
			}
			var null bool
			var out any = "something"
			if err := db.QueryRowContext(t.Context(), fmt.Sprintf("SELECT $1::%s IS NULL, $1::%[1]s", kind), in).Scan(&null, &out); err != nil || !null || out != nil {
				t.Errorf("%T as a %s: %v, %v, %v", in, kind, null, out, err)
			}
		}
	}
	var there, empty []byte
	if err := db.QueryRowContext(t.Context(), "SELECT NULL::bytea, ''::bytea").Scan(&there, &empty); err != nil || there != nil || empty == nil {
		t.Errorf("NULL is %v, empty is %v, %v", there, empty, err)
	}
	if get[bool](t, db, "SELECT $1::text IS NULL", "") {
		t.Error("an empty text is NULL")
	}
}

// Nothing is guessed: neither a column's type, before its statement has done anything,
// nor what a parameter might mean.
func TestOtherTypesAreRefused(t *testing.T) {
	db := opened(t)
	do(t, db, "CREATE TABLE t (n numeric)")
	for query, oid := range map[string]string{
		"SELECT 1.5":                                    "OID 1700",
		"SELECT now()":                                  "OID 1184",
		"SELECT '{}'::json":                             "OID 114",
		"SELECT ARRAY[1]":                               "OID 1007",
		"SELECT 'pg_class'::regclass":                   "OID 2205",
		"SELECT pg_advisory_xact_lock(1)":               "OID 2278",
		"SELECT 1, 2 AS ok, '1'::real AS other":         "column other",
		"INSERT INTO t (n) VALUES (1) RETURNING n":      "OID 1700",
		"INSERT INTO t (n) VALUES (1) RETURNING 1, (n)": "OID 1700",
	} {
		rows, err := db.QueryContext(t.Context(), query)
		if err == nil {
			_ = rows.Close()
		}
		if err == nil || !strings.Contains(err.Error(), oid) {
			t.Errorf("%s: %v", query, err)
		}
	}
	if n := get[int](t, db, "SELECT count(*) FROM t"); n != 0 {
		t.Errorf("%d statements ran whose rows cannot be read", n)
	}
	for query, arg := range map[string]any{
		"SELECT $1::text = ''":               7,
		"SELECT $1::text = ' '":              []byte("x"),
		"SELECT $1::bytea = ''":              "x",
		"SELECT $1::bigint = 0":              true,
		"SELECT $1::boolean":                 1,
		"SELECT $1::numeric > 0":             1.5,
		"SELECT $1::timestamptz IS NOT NULL": time.Unix(0, 0),
		"SELECT $1::integer":                 int64(math.MaxInt32) + 1,
		"SELECT $1::smallint":                math.MinInt16 - 1,
		"SELECT $1::integer + 1":             uint64(math.MaxUint64),
		"SELECT $1::text IS NULL":            struct{}{},
		"SELECT $1::text IS NOT NULL":        sql.Named("name", "x"),
	} {
		var out any
		if err := db.QueryRowContext(t.Context(), query, arg).Scan(&out); err == nil {
			t.Errorf("%s with a %T %v gave %v", query, arg, arg, out)
		}
	}
	for _, args := range [][]any{nil, {1}, {1, 2, 3}} {
		if _, err := db.QueryContext(t.Context(), "SELECT $1::bigint + $2::bigint", args...); err == nil || !strings.Contains(err.Error(), "2 parameters") {
			t.Errorf("%d of two parameters: %v", len(args), err)
		}
	}
	// The server reads the text of any type.
	if got := get[bool](t, db, "SELECT $1::timestamptz > $2::numeric * interval '1 s' + timestamptz 'epoch'", "2020-01-01T00:00:00Z", "12.5"); !got {
		t.Error("a text was not read as a time")
	}
}

// Bytes that were scanned are the caller's, whatever is read after them.
func TestScannedBytesStay(t *testing.T) {
	db := opened(t)
	rows, err := db.QueryContext(t.Context(), "SELECT decode(repeat(lpad(to_hex(i), 2, '0'), 5000), 'hex') FROM generate_series(0, 255) i")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plainly [][]byte
	var inAny []any
	for n := 0; rows.Next(); n++ {
		var raw sql.RawBytes
		var own []byte
		var either any
		for _, into := range []any{&own, &either} {
			if err := rows.Scan(into); err != nil {
				t.Fatal(err)
			}
		}
		// RawBytes hold until the next call.
		if err := rows.Scan(&raw); err != nil || len(raw) != 5000 || raw[4999] != byte(n) {
			t.Fatalf("row %d: %d raw bytes, %v", n, len(raw), err)
		}
		plainly, inAny = append(plainly, own), append(inAny, either)
	}
	if err := rows.Err(); err != nil || len(plainly) != 256 {
		t.Fatalf("%d rows, %v", len(plainly), err)
	}
	for i := range plainly {
		want := bytes.Repeat([]byte{byte(i)}, 5000)
		if !bytes.Equal(plainly[i], want) || !reflect.DeepEqual(inAny[i], any(want)) {
			t.Fatalf("row %d was changed by those after it", i)
		}
	}
}

// The other driver reads what this one wrote.
func TestAnotherDriverReadsIt(t *testing.T) {
	url := pgtest.URL(t)
	db := connected(t, url)
	do(t, db, "CREATE TABLE t (a bigint, b boolean, c text, d bytea, e double precision)")
	do(t, db, "INSERT INTO t VALUES ($1, $2, $3, $4, $5)", int64(math.MinInt64), true, everyText(), []byte(everyText()), math.MaxFloat64)
	other, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var a int64
	var b bool
	var c string
	var d []byte
	var e float64
	if err := other.QueryRowContext(t.Context(), "SELECT a, b, c, d, e FROM t").Scan(&a, &b, &c, &d, &e); err != nil {
		t.Fatal(err)
	}
	if a != math.MinInt64 || !b || c != everyText() || string(d) != everyText() || e != math.MaxFloat64 {
		t.Errorf("it has %d, %v, %d bytes of text, %d bytes, %g", a, b, len(c), len(d), e)
	}
}

// FuzzDecode: whatever a server sends, no decoder panics, and what one reads can be
// sent as it came.
func FuzzDecode(f *testing.F) {
	for oid := range codecs {
		for _, size := range []int{0, 1, 2, 4, 8, 9} {
			f.Add(oid, bytes.Repeat([]byte{0x81}, size))
		}
	}
	f.Fuzz(func(t *testing.T, oid uint32, src []byte) {
		codec, ok := codecs[oid]
		if !ok {
			return
		}
		v, err := codec.decode(src)
		if err != nil {
			return
		}
		if !driver.IsValue(v) {
			t.Fatalf("OID %d gave a %T", oid, v)
		}
		var p params
		p.clear()
		if err := p.add(oid, v); err != nil {
			t.Fatalf("OID %d: %v cannot be sent: %v", oid, v, err)
		}
		if b, isBool := v.(bool); isBool && b {
			src = []byte{1}
		}
		if got := p.values[0]; got == nil || !bytes.Equal(got, src) {
			t.Fatalf("OID %d: %x came, %x goes", oid, src, got)
		}
	})
}

// A buffer that has to grow leaves the values before in place.
func TestParametersOutgrowTheirBuffer(t *testing.T) {
	db := opened(t)
	conn, inside := single(t, db)
	var args []any
	query := "SELECT 0"
	for i := range 300 {
		args = append(args, strings.Repeat(string(rune('a'+i%26)), i*10))
		query += fmt.Sprintf(" + CASE WHEN $%d::text = repeat('%c', %d) THEN 1 ELSE 0 END", i+1, 'a'+i%26, i*10)
	}
	for range 2 {
		if got := get[int](t, conn, query, args...); got != len(args) {
			t.Fatalf("%d of %d arrived", got, len(args))
		}
	}
	if size := cap(inside.params.buffer); size > keptBuffer {
		t.Errorf("a buffer of %d bytes is kept", size)
	}
	if _, err := conn.ExecContext(context.Background(), "SELECT $1::text", "still there"); err != nil {
		t.Error(err)
	}
}
