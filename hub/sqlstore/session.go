package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// session is one connection with the statements that it has prepared. One
// goroutine uses it at a time.
//
// Statements run without the caller's context: all of them are short, and a
// context that can end costs a goroutine for every statement.
type session struct {
	conn  *sql.Conn
	is    *dialect
	now   func() time.Time // of the store; nil outside of one
	stmts map[string]*sql.Stmt
	held  pipeline
}

func newSession(conn *sql.Conn, is *dialect) *session {
	return &session{conn: conn, is: is, stmts: map[string]*sql.Stmt{}}
}

func (s *session) stmt(query string) (*sql.Stmt, error) {
	if st, ok := s.stmts[query]; ok {
		return st, nil
	}
	st, err := s.conn.PrepareContext(context.Background(), s.is.rewrite(query))
	if err != nil {
		return nil, err
	}
	s.stmts[query] = st
	return st, nil
}

// control runs statements that begin and end transactions.
func (s *session) control(query string) error {
	if s.is.direct {
		_, err := s.conn.ExecContext(context.Background(), query)
		return err
	}
	_, err := s.exec(query)
	return err
}

func (s *session) exec(query string, args ...any) (sql.Result, error) {
	if !storable(args) {
		return nil, notStorable()
	}
	if s.held.on {
		return s.hold(query, args...), nil
	}
	st, err := s.stmt(query)
	if err != nil {
		return nil, err
	}
	return st.Exec(args...)
}

// query runs fn on every row. A text that cannot have been stored finds nothing.
func (s *session) query(fn func(*sql.Rows) error, query string, args ...any) (err error) {
	if !storable(args) {
		return nil
	}
	if err := s.flush(); err != nil {
		return err
	}
	st, err := s.stmt(query)
	if err != nil {
		return err
	}
	rows, err := st.Query(args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (s *session) alive() bool { return s.is.intact(s.conn) }

func (s *session) close() error {
	var errs []error
	for _, st := range s.stmts {
		errs = append(errs, st.Close())
	}
	return errors.Join(append(errs, s.conn.Close())...)
}
