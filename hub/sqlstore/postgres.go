package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/kortecx/kx/hub/sqlstore/pgdriver"
	"github.com/kortecx/kx/hubapi"
)

const (
	// oneWriter is the advisory lock that every transaction takes which changes
	// a hub: writes of all servers over one database run one by one, as the
	// rules of package hub need it. The transaction holds it until its end,
	// after its changes became visible, so that the next one sees them.
	oneWriter = applicationID
	// oldestPostgres is the version that the tests run with.
	oldestPostgres = 15
	connectTimeout = 10 * time.Second
	// lockTimeout is how long a batch of writes waits for other servers.
	lockTimeout = 30 * time.Second
	// idleTimeout ends the transaction of a server that froze, so that others
	// can write again.
	idleTimeout = 60 * time.Second
)

var postgresDialect = &dialect{
	name:       "postgres",
	rewrite:    numbered,
	direct:     true,
	beginRead:  "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
	beginWrite: fmt.Sprintf("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT pg_advisory_xact_lock(%d)", oneWriter),
	createMigrations: `CREATE TABLE IF NOT EXISTS migrations (
  number     BIGINT NOT NULL PRIMARY KEY,
  name       TEXT COLLATE "C" NOT NULL,
  sha256     TEXT COLLATE "C" NOT NULL,
  applied_at BIGINT NOT NULL
)`,
	listTables: `SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename`,
	listReferences: `SELECT c.conrelid::regclass::text, a.attname::text, c.confrelid::regclass::text, b.attname::text
  FROM pg_constraint c
  JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
  JOIN pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = c.confkey[1]
  WHERE c.contype = 'f' AND c.connamespace = current_schema()::regnamespace ORDER BY 1, c.conname`,
	databaseSize: "SELECT pg_database_size(current_database())",
	listColumns: `SELECT column_name::text, data_type = 'boolean' FROM information_schema.columns
  WHERE table_schema = current_schema() AND table_name = ? AND is_generated = 'NEVER' ORDER BY ordinal_position`,
	markSchema: func(int) []string { return nil },
	intact:     intactPostgres,
	again: func(err error) bool {
		switch pgCode(err) {
		case "40001", "40P01": // serialization failure, deadlock
			return true
		}
		return false
	},
	failed:     func(error) bool { return false },
	beginCheck: sameSchema,
}

// sameSchema keeps a server from writing after a newer one has changed the schema.
func sameSchema(s *session) error {
	files, err := fs.Glob(migrationFiles, "migrations/*."+s.is.name+".sql")
	if err != nil {
		return err
	}
	return s.query(func(rows *sql.Rows) error {
		var n int
		if err := rows.Scan(&n); err != nil || n == len(files) {
			return err
		}
		return hubapi.Errorf(hubapi.Unavailable, "a newer kx has changed the schema of the hub's database").
			WithHint("restart this server with that kx")
	}, "SELECT count(*) FROM migrations")
}

// OpenPostgres opens the store in the PostgreSQL database that url names
// (postgres://USER:PASSWORD@HOST/NAME?sslmode=verify-full, or with ?host=DIR for a
// socket), and brings its schema up to date. Several servers may have one database
// open: their writes run one by one. A database that a newer kx wrote, or that is
// not PostgreSQL 15 or newer in UTF-8, is refused without changing it. No error
// holds the password.
func OpenPostgres(ctx context.Context, url string, o Options) (*Store, error) {
	s, err := openPostgres(ctx, url, o)
	if err != nil {
		return nil, storeError(err)
	}
	return s, nil
}

func openPostgres(ctx context.Context, url string, o Options) (*Store, error) {
	steps, err := postgresDialect.migrations()
	if err != nil {
		return nil, err
	}
	db, err := connectPostgres(url, o.Now)
	if err != nil {
		return nil, err
	}
	var unsafe []string
	s, err := newStore(ctx, db, postgresDialect, o, func(first *session) (err error) {
		if err := checkPostgres(ctx, first.conn); err != nil {
			return err
		}
		if err := postgresDialect.migrate(context.WithoutCancel(ctx), first.conn, steps, o.Now); err != nil {
			return err
		}
		unsafe, err = texts(first, "SELECT name || ' is off: what the hub has acknowledged may be lost when the database server crashes' FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name")
		return err
	})
	if err != nil {
		return nil, err
	}
	s.warn = unsafe
	return s, nil
}

// connectPostgres reads the address; it connects when it is used.
func connectPostgres(url string, now func() time.Time) (*sql.DB, error) {
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return nil, badURL()
	}
	config, err := pgdriver.ParseConfig(url)
	if err != nil {
		return nil, badURL()
	}
	config.Now = now
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	for name, value := range map[string]string{
		"application_name":                    "kx",
		"lock_timeout":                        fmt.Sprint(lockTimeout.Milliseconds()),
		"idle_in_transaction_session_timeout": fmt.Sprint(idleTimeout.Milliseconds()),
	} {
		if _, set := config.RuntimeParams[name]; !set {
			config.RuntimeParams[name] = value
		}
	}
	// What is sent is UTF-8, whatever the address, the database or the role ask for.
	config.RuntimeParams["client_encoding"] = "UTF8"
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		// An answer means durable, whatever the database's own setting is.
		return conn.Exec(ctx, "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'").Close()
	}
	return sql.OpenDB(pgdriver.NewConnector(config)), nil
}

func badURL() error {
	return hubapi.Errorf(hubapi.Usage, "the database URL cannot be read").
		WithHint("write it as postgres://USER:PASSWORD@HOST/NAME?sslmode=verify-full")
}

// checkPostgres refuses a database that cannot keep a hub.
func checkPostgres(ctx context.Context, conn *sql.Conn) error {
	var version int
	var encoding string
	err := conn.QueryRowContext(ctx, "SELECT current_setting('server_version_num')::bigint / 10000, current_setting('server_encoding')").
		Scan(&version, &encoding)
	switch {
	case err != nil:
		return err
	case version < oldestPostgres:
		return hubapi.Errorf(hubapi.Precondition, "the database server is PostgreSQL %d", version).
			WithHint("a hub needs PostgreSQL %d or newer", oldestPostgres)
	case encoding != "UTF8":
		return hubapi.Errorf(hubapi.Precondition, "the database's encoding is %s", encoding).
			WithHint("make one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0")
	}
	return nil
}

func intactPostgres(conn *sql.Conn) bool {
	intact := false
	_ = conn.Raw(func(c any) error {
		pg, ok := c.(*pgdriver.Conn)
		intact = ok && !pg.IsClosed()
		return nil
	})
	return intact
}

func pgCode(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// postgresError puts an error of PostgreSQL into the vocabulary, nil if it is none.
func postgresError(err error) *hubapi.Error {
	unreachable := func() *hubapi.Error {
		return hubapi.Errorf(hubapi.Unavailable, "the hub's database cannot be reached: %v", err).WithHint("try again when the database server answers")
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return unreachable()
	}
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || pgconn.SafeToRetry(err) {
		return unreachable()
	}
	switch code := pgCode(err); {
	case code == "":
		return nil
	case code == "53100": // disk full
		return noSpace()
	case code == "55P03", code == "40001", code == "40P01":
		return hubapi.Errorf(hubapi.Unavailable, "the hub's database is busy").WithHint("try again")
	case code == "25006":
		return hubapi.Errorf(hubapi.Unavailable, "the hub's database takes no writes now: %v", err).WithHint("is it a standby?")
	case strings.HasPrefix(code, "08"), strings.HasPrefix(code, "57P"), strings.HasPrefix(code, "53"):
		return unreachable()
	case strings.HasPrefix(code, "58"): // the server's own system
		return hubapi.Errorf(hubapi.Internal, "the hub's disk failed: %v", err)
	case strings.HasPrefix(code, "XX"):
		return hubapi.Errorf(hubapi.Internal, "the hub's database is damaged: %v", err).WithHint("restore a backup")
	}
	return nil
}
