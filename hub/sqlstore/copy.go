package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Rows are copied in statements of at most that many parameters and bytes.
const (
	copyParams = 900
	copyBytes  = 4 << 20
)

func scanInt(rows *sql.Rows) (n int64, err error) { return n, rows.Scan(&n) }

// copyAll makes every table that both databases have the same. Tables and columns
// that only one of them has are derived from others there. The target's rows are
// replaced; its caller holds the transaction where it needs one.
func copyAll(ctx context.Context, source, target *session) error {
	tables, err := target.copyOrder()
	if err != nil {
		return err
	}
	have, err := source.tables()
	if err != nil {
		return err
	}
	tables = slices.DeleteFunc(tables, func(name string) bool { return name == "migrations" || !slices.Contains(have, name) })
	sqlite := target.is == sqliteDialect
	if sqlite {
		// Its own transaction, so that a table of any size is one wait for the disk.
		if err := target.control("BEGIN IMMEDIATE"); err != nil {
			return err
		}
	}
	for _, table := range slices.Backward(tables) {
		if err := target.control("DELETE FROM " + table); err != nil {
			return err
		}
	}
	for _, table := range tables {
		if err := copyTable(ctx, source, target, table); err != nil {
			return fmt.Errorf("table %s: %w", table, err)
		}
	}
	if sqlite {
		return target.control("COMMIT")
	}
	return nil
}

// copyOrder lists the tables so that none comes before one that it refers to.
func (s *session) copyOrder() ([]string, error) {
	tables, err := s.tables()
	if err != nil {
		return nil, err
	}
	refs, err := s.references()
	if err != nil {
		return nil, err
	}
	var out []string
	for len(out) < len(tables) {
		before := len(out)
		for _, table := range tables {
			ready := !slices.Contains(out, table) && !slices.ContainsFunc(refs, func(r reference) bool {
				return r.table == table && r.to != table && !slices.Contains(out, r.to)
			})
			if ready {
				out = append(out, table)
			}
		}
		if len(out) == before {
			return nil, errors.New("tables refer to each other in a circle")
		}
	}
	return out, nil
}

// column is one that can be written, and whether it is a flag.
type column struct {
	name string
	flag bool
}

func (s *session) columns(table string) ([]column, error) {
	return all(s, func(rows *sql.Rows) (c column, err error) {
		return c, rows.Scan(&c.name, &c.flag)
	}, s.is.listColumns, table)
}

func copyTable(ctx context.Context, source, target *session, table string) error {
	columns, err := target.columns(table)
	if err != nil {
		return err
	}
	have, err := source.columns(table)
	if err != nil {
		return err
	}
	columns = slices.DeleteFunc(columns, func(c column) bool {
		return !slices.ContainsFunc(have, func(h column) bool { return h.name == c.name })
	})
	if len(columns) == 0 {
		return nil
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	list := strings.Join(names, ", ")
	row := "(" + strings.Repeat("?, ", len(columns)-1) + "?)"
	var args []any
	size := 0
	flush := func() error {
		if len(args) == 0 {
			return nil
		}
		n := len(args) / len(columns)
		_, err := target.exec("INSERT INTO "+table+" ("+list+") VALUES "+strings.Repeat(row+", ", n-1)+row, args...)
		args, size = args[:0], 0
		return err
	}
	err = source.query(func(rows *sql.Rows) error {
		values, places := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			places[i] = &values[i]
		}
		if err := errors.Join(rows.Scan(places...), ctx.Err()); err != nil {
			return err
		}
		for i, v := range values {
			switch v := v.(type) {
			case int64:
				if columns[i].flag {
					values[i] = v != 0
				}
			case []byte:
				if v == nil { // a driver's way to say empty; NULL is another nil
					values[i] = []byte{}
				}
				size += len(v)
			case string:
				size += len(v)
			}
		}
		args = append(args, values...)
		if len(args)+len(columns) > copyParams || size > copyBytes {
			return flush()
		}
		return nil
	}, "SELECT "+list+" FROM "+table)
	return errors.Join(err, flush())
}
