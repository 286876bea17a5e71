package pgdriver

import (
	"container/list"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// statement is one that the server has prepared on a connection.
type statement struct {
	description *pgconn.StatementDescription
	columns     []string
	formats     []int16 // of the columns
	decode      []decoder
	unreadable  error         // a column's type that is not read
	place       *list.Element // in the cache; nil once it is out of it
}

func newStatement(d *pgconn.StatementDescription) *statement {
	s := &statement{description: d}
	for _, field := range d.Fields {
		codec, ok := codecs[field.DataTypeOID]
		if !ok && s.unreadable == nil {
			s.unreadable = fmt.Errorf("column %s has a type that is not read here: OID %d; cast it in the statement", field.Name, field.DataTypeOID)
		}
		s.columns = append(s.columns, field.Name)
		s.formats = append(s.formats, codec.format)
		s.decode = append(s.decode, codec.decode)
	}
	return s
}

// cache is what a connection has prepared, by text.
type cache struct {
	most   int
	made   int // how many were prepared so far; it names the next one
	byText map[string]*statement
	used   list.List // the most recently used one first
	// unwanted are names that the server need not keep; they go with the next one
	// that is prepared.
	unwanted []string
}

func newCache(most int) cache { return cache{most: most, byText: map[string]*statement{}} }

func (c *cache) get(text string) *statement {
	s := c.byText[text]
	if s != nil {
		c.used.MoveToFront(s.place)
	}
	return s
}

func (c *cache) put(s *statement) {
	s.place = c.used.PushFront(s)
	c.byText[s.description.SQL] = s
	for c.used.Len() > max(c.most, 1) {
		c.drop(c.used.Back().Value.(*statement))
	}
}

func (c *cache) drop(s *statement) {
	if s.place == nil {
		return
	}
	c.used.Remove(s.place)
	s.place = nil
	delete(c.byText, s.description.SQL)
	c.unwanted = append(c.unwanted, s.description.Name)
}

// prepare lets the server prepare statements that are not in the cache, in one round
// trip. After an error those before the one that failed are in the cache.
func (c *Conn) prepare(ctx context.Context, texts []string) ([]*statement, error) {
	if c.pg.IsClosed() {
		return nil, driver.ErrBadConn
	}
	pipeline := c.pg.StartPipeline(ctx)
	unwanted := c.cache.unwanted
	c.cache.unwanted = nil
	for _, name := range unwanted {
		pipeline.SendDeallocate(name)
	}
	names := make([]string, len(texts))
	for i, text := range texts {
		c.cache.made++
		names[i] = "kx_" + strconv.Itoa(c.cache.made)
		pipeline.SendPrepare(names[i], text, nil)
	}
	if err := pipeline.Sync(); err != nil {
		return nil, c.failure(ctx, err)
	}
	out := make([]*statement, 0, len(texts))
	var failed error
	for range unwanted {
		if _, err := pipeline.GetResults(); err != nil && failed == nil {
			failed = err
		}
	}
	for i, text := range texts {
		if failed != nil {
			break
		}
		result, err := pipeline.GetResults()
		if err != nil {
			// It is there where the server could read it but not describe it.
			c.cache.unwanted = append(c.cache.unwanted, names[i])
			failed = err
			break
		}
		description, ok := result.(*pgconn.StatementDescription)
		if !ok {
			failed = fmt.Errorf("a statement was prepared, and the server answered with %T", result)
			break
		}
		description.Name, description.SQL = names[i], text
		s := newStatement(description)
		c.cache.put(s)
		out = append(out, s)
	}
	if err := pipeline.Close(); failed == nil {
		failed = err
	}
	if failed != nil {
		return nil, c.failure(ctx, failed)
	}
	return out, nil
}

// outdated looks at the error of a statement and says whether to prepare it once more
// and run it again: the schema has changed since, or the server was told to forget
// it. Within a transaction, which that error has ended, only its next use prepares it.
func (c *Conn) outdated(s *statement, err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	switch {
	case pg.Code == "26000", pg.Code == "0A000" && pg.Routine == "RevalidateCachedQuery":
		c.cache.drop(s)
		return !c.pg.IsClosed() && c.pg.TxStatus() == 'I'
	case strings.HasPrefix(pg.Code, "42"):
		// What its parameters are was found out for a schema that is gone.
		c.cache.drop(s)
	}
	return false
}

// stmt is a statement of database/sql. It holds nothing on the server: when the cache
// gave the prepared one up, it is prepared again.
type stmt struct {
	conn *Conn
	text string
	is   *statement
}

var _ interface {
	driver.StmtExecContext
	driver.StmtQueryContext
} = (*stmt)(nil)

func (s *stmt) current(ctx context.Context) (*statement, error) {
	if s.conn.pg.IsClosed() {
		return nil, driver.ErrBadConn
	}
	if s.is != nil && s.is.place != nil {
		s.conn.cache.used.MoveToFront(s.is.place)
		return s.is, nil
	}
	if s.is = s.conn.cache.get(s.text); s.is != nil {
		return s.is, nil
	}
	made, err := s.conn.prepare(ctx, []string{s.text})
	if err != nil {
		return nil, err
	}
	s.is = made[0]
	return s.is, nil
}

// ExecContext implements driver.StmtExecContext.
func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.conn.exec(ctx, s, args)
}

// QueryContext implements driver.StmtQueryContext.
func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.conn.query(ctx, s, args)
}

// NumInput implements driver.Stmt. After an execution that failed it is not known.
func (s *stmt) NumInput() int {
	if s.is == nil {
		return -1
	}
	return len(s.is.description.ParamOIDs)
}

// Close implements driver.Stmt. The cache goes on keeping what was prepared.
func (s *stmt) Close() error { return nil }

// Exec implements driver.Stmt; database/sql calls ExecContext.
func (s *stmt) Exec(args []driver.Value) (driver.Result, error) {
	return s.ExecContext(context.Background(), named(args))
}

// Query implements driver.Stmt; database/sql calls QueryContext.
func (s *stmt) Query(args []driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), named(args))
}

func named(args []driver.Value) []driver.NamedValue {
	out := make([]driver.NamedValue, len(args))
	for i, v := range args {
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return out
}
