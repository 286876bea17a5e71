package pgdriver

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5/pgconn"
)

// rows are read from the connection while they are asked for. The connection has one
// reader for all of its statements, so rows let go of it when they end.
type rows struct {
	conn   *Conn
	ctx    context.Context
	is     *statement
	reader *pgconn.ResultReader // nil when they have ended
	ahead  bool                 // the reader is on a row that nobody was given
}

// Columns implements driver.Rows.
func (r *rows) Columns() []string { return r.is.columns }

// Next implements driver.Rows. Bytes are those of the connection's buffer, and hold
// until the next call: database/sql copies them for all but sql.RawBytes, which says so.
func (r *rows) Next(dest []driver.Value) error {
	if r.reader == nil {
		return io.EOF
	}
	if !r.ahead && !r.reader.NextRow() {
		if err := r.Close(); err != nil {
			return err
		}
		return io.EOF
	}
	r.ahead = false
	values := r.reader.Values()
	if len(values) != len(r.is.decode) || len(dest) != len(values) {
		return fmt.Errorf("a row has %d columns, the statement was said to give %d", len(values), len(r.is.decode))
	}
	for i, value := range values {
		if value == nil {
			dest[i] = nil
			continue
		}
		var err error
		if dest[i], err = r.is.decode[i](value); err != nil {
			return fmt.Errorf("column %s: %w", r.is.columns[i], err)
		}
	}
	return nil
}

// Close implements driver.Rows: it reads over the rows that are left.
func (r *rows) Close() error {
	if r.reader == nil {
		return nil
	}
	_, err := r.reader.Close()
	r.reader = nil
	if err != nil {
		return r.conn.failure(r.ctx, err)
	}
	return nil
}
