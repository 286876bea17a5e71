package pgdriver

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
)

// Queued is a statement of a batch and, once the batch was sent, what came of it.
type Queued struct {
	Query string
	Args  []any
	Rows  int64 // that it changed
	Err   error
}

// SendBatch runs statements one after the other in one round trip, and one before it
// when some have to be prepared. The first error is given; its statement and those
// after it, which the server passes over, have it too. Nothing is prepared again and
// run again. Where none reached the server, for a value that cannot be sent, sent is
// false, and a transaction is as it was.
func (c *Conn) SendBatch(ctx context.Context, queue []Queued) (sent bool, err error) {
	done := 0
	for i := range queue {
		queue[i].Rows, queue[i].Err = 0, nil
	}
	defer func() {
		for i := done; err != nil && i < len(queue); i++ {
			queue[i].Err = err
		}
	}()
	statements, err := c.statements(ctx, queue)
	if err != nil {
		return true, err
	}
	var batch pgconn.Batch
	defer c.params.clear()
	for i, s := range statements {
		if err := c.params.fillPlain(s, queue[i].Args); err != nil {
			return false, err
		}
		batch.ExecStatement(s.description, c.params.values, c.params.formats, s.formats)
	}
	results := c.pg.ExecBatch(ctx, &batch)
	for done < len(queue) && results.NextResult() {
		tag, err := results.ResultReader().Close()
		if err != nil {
			break // it comes again below
		}
		queue[done].Rows = tag.RowsAffected()
		done++
	}
	if err := results.Close(); err != nil {
		if done < len(queue) {
			c.outdated(statements[done], err)
		}
		return true, c.failure(ctx, err)
	}
	if done < len(queue) {
		return true, fmt.Errorf("the server answered %d of %d statements", done, len(queue))
	}
	return true, nil
}

// statements finds what a batch needs, and prepares what is missing.
func (c *Conn) statements(ctx context.Context, queue []Queued) ([]*statement, error) {
	if c.pg.IsClosed() {
		return nil, driver.ErrBadConn
	}
	out := make([]*statement, len(queue))
	var missing []string
	for i := range queue {
		text := queue[i].Query
		if out[i] = c.cache.get(text); out[i] == nil && !slices.Contains(missing, text) {
			missing = append(missing, text)
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	// Those that give way to new ones are closed with what is prepared next, so all
	// of them last for this batch.
	made, err := c.prepare(ctx, missing)
	if err != nil {
		return nil, err
	}
	for i := range queue {
		if out[i] == nil {
			out[i] = made[slices.Index(missing, queue[i].Query)]
		}
	}
	return out, nil
}

// fillPlain is fill with values that database/sql has not seen.
func (p *params) fillPlain(s *statement, args []any) error {
	if err := rightNumber(s.description, len(args)); err != nil {
		return err
	}
	p.clear()
	for i, arg := range args {
		v, err := plain(arg)
		if err == nil {
			err = p.add(s.description.ParamOIDs[i], v)
		}
		if err != nil {
			return fmt.Errorf("parameter $%d: %w", i+1, err)
		}
	}
	return nil
}
