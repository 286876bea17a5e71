package pgdriver

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Conn is one connection. A context that ends while a statement runs closes it: the
// server is asked to cancel, and what the statement did is not known.
type Conn struct {
	pg     *pgconn.PgConn
	cache  cache
	params params
	now    func() time.Time // as in Config
	rested time.Time        // since when it lies in the pool
}

var _ interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	driver.NamedValueChecker
} = (*Conn)(nil)

// goodbye is how long the end of a connection or of a transaction may take that
// nobody waits for any more.
const goodbye = 5 * time.Second

func newConn(pg *pgconn.PgConn, config Config) *Conn {
	return &Conn{pg: pg, cache: newCache(config.Statements), now: config.Now}
}

// IsClosed says that the connection was closed or broke.
func (c *Conn) IsClosed() bool { return c.pg.IsClosed() }

// failure is what database/sql is told. ErrBadConn lets it try again with another
// connection, so it stands only for what certainly was not done.
func (c *Conn) failure(ctx context.Context, err error) error {
	if c.pg.IsClosed() && ctx.Err() == nil && pgconn.SafeToRetry(err) {
		return driver.ErrBadConn
	}
	return err
}

// ExecContext implements driver.ExecerContext. Without arguments the text may be
// several statements; the last one's rows are counted.
func (c *Conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if len(args) == 0 {
		return c.simple(ctx, query)
	}
	return c.exec(ctx, &stmt{conn: c, text: query}, args)
}

// errRolledBack is the answer to the COMMIT of a transaction in which a statement
// had failed: the server takes it for a ROLLBACK, and says so without an error.
var errRolledBack = errors.New("the transaction was rolled back at its commit: a statement in it had failed")

func (c *Conn) simple(ctx context.Context, query string) (driver.Result, error) {
	if c.pg.IsClosed() {
		return nil, driver.ErrBadConn
	}
	var tag pgconn.CommandTag
	results := c.pg.Exec(ctx, query)
	for results.NextResult() {
		tag, _ = results.ResultReader().Close() // the error comes again below
	}
	if err := results.Close(); err != nil {
		return nil, c.failure(ctx, err)
	}
	if tag.String() == "ROLLBACK" && strings.EqualFold(strings.TrimSpace(query), "COMMIT") {
		return nil, errRolledBack
	}
	return driver.RowsAffected(tag.RowsAffected()), nil
}

func (c *Conn) exec(ctx context.Context, s *stmt, args []driver.NamedValue) (driver.Result, error) {
	for first := true; ; first = false {
		reader, is, err := c.start(ctx, s, args, false)
		if err != nil {
			return nil, err
		}
		tag, err := reader.Close()
		if err == nil {
			return driver.RowsAffected(tag.RowsAffected()), nil
		}
		if !c.outdated(is, err) || !first {
			return nil, c.failure(ctx, err)
		}
	}
}

// QueryContext implements driver.QueryerContext.
func (c *Conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.query(ctx, &stmt{conn: c, text: query}, args)
}

func (c *Conn) query(ctx context.Context, s *stmt, args []driver.NamedValue) (driver.Rows, error) {
	for first := true; ; first = false {
		reader, is, err := c.start(ctx, s, args, true)
		if err != nil {
			return nil, err
		}
		// The first answer says whether the statement still fits the schema.
		if reader.NextRow() {
			return &rows{conn: c, ctx: ctx, is: is, reader: reader, ahead: true}, nil
		}
		_, err = reader.Close()
		if err == nil {
			return &rows{is: is}, nil
		}
		if !c.outdated(is, err) || !first {
			return nil, c.failure(ctx, err)
		}
	}
}

// start sends a statement. Rows that could not be read are refused before it runs.
func (c *Conn) start(ctx context.Context, s *stmt, args []driver.NamedValue, read bool) (*pgconn.ResultReader, *statement, error) {
	is, err := s.current(ctx)
	if err != nil {
		return nil, nil, err
	}
	if read && is.unreadable != nil {
		return nil, nil, is.unreadable
	}
	if err := c.params.fill(is, args); err != nil {
		return nil, nil, err
	}
	reader := c.pg.ExecStatement(ctx, is.description, c.params.values, c.params.formats, is.formats)
	c.params.clear()
	return reader, is, nil
}

// Prepare implements driver.Conn.
func (c *Conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *Conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s := &stmt{conn: c, text: query}
	if _, err := s.current(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Begin implements driver.Conn.
func (c *Conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx implements driver.ConnBeginTx.
func (c *Conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	begin := "BEGIN"
	switch level := sql.IsolationLevel(o.Isolation); level {
	case sql.LevelDefault:
	case sql.LevelReadUncommitted, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable:
		begin += " ISOLATION LEVEL " + strings.ToUpper(level.String())
	case sql.LevelSnapshot:
		begin += " ISOLATION LEVEL REPEATABLE READ"
	default:
		return nil, fmt.Errorf("PostgreSQL has no isolation level %s", level)
	}
	if o.ReadOnly {
		begin += " READ ONLY"
	}
	if _, err := c.simple(ctx, begin); err != nil {
		return nil, err
	}
	return &tx{c, ctx}, nil
}

type tx struct {
	conn *Conn
	ctx  context.Context // that it was begun with; it bounds the commit
}

// Commit implements driver.Tx.
func (t *tx) Commit() error {
	_, err := t.conn.simple(t.ctx, "COMMIT")
	return err
}

// Rollback implements driver.Tx. It comes after the context has ended, too.
func (t *tx) Rollback() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), goodbye)
	defer cancel()
	_, err := t.conn.simple(ctx, "ROLLBACK")
	return err
}

// Ping implements driver.Pinger.
func (c *Conn) Ping(ctx context.Context) error {
	if c.pg.IsClosed() {
		return driver.ErrBadConn
	}
	if err := c.pg.Ping(ctx); err != nil {
		return errors.Join(driver.ErrBadConn, err, c.Close())
	}
	return nil
}

// ResetSession implements driver.SessionResetter: a connection that lay in the pool for a
// while is asked whether it still stands. To ask each time is one more round trip for all
// that is read.
func (c *Conn) ResetSession(ctx context.Context) error {
	if !c.usable() {
		return driver.ErrBadConn
	}
	if c.now != nil && c.now().Sub(c.rested) < unasked {
		return nil
	}
	return c.Ping(ctx)
}

// IsValid implements driver.Validator: one that broke, that somebody still reads
// from, or that was left in a transaction does not go back to the pool.
func (c *Conn) IsValid() bool {
	if c.now != nil {
		c.rested = c.now() // this is called when it goes there
	}
	return c.usable()
}

func (c *Conn) usable() bool {
	return !c.pg.IsClosed() && !c.pg.IsBusy() && c.pg.TxStatus() == 'I'
}

// CheckNamedValue implements driver.NamedValueChecker.
func (c *Conn) CheckNamedValue(v *driver.NamedValue) (err error) {
	if v.Name != "" {
		return fmt.Errorf("parameters have no names here: %s is $%d", v.Name, v.Ordinal)
	}
	v.Value, err = plain(v.Value)
	return err
}

// Close implements driver.Conn.
func (c *Conn) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	return c.pg.Close(ctx)
}
