package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// pipeline holds back statements whose answers nobody waits for, and sends them
// together: with PostgreSQL a round trip costs more than most statements. They are
// sent before anything is read, and before a write is said to be done; an error
// then comes from there.
type pipeline struct {
	on      bool
	waiting []*later
}

// later is a statement that was held back, and its result.
type later struct {
	session *session
	query   string
	args    []any
	sent    bool
	rows    int64
	err     error
}

var errNoID = errors.New("numbers of new rows come from RETURNING")

// LastInsertId implements sql.Result.
func (l *later) LastInsertId() (int64, error) { return 0, errNoID }

// RowsAffected implements sql.Result.
func (l *later) RowsAffected() (int64, error) {
	if !l.sent {
		if err := l.session.flush(); err != nil {
			return 0, err
		}
	}
	return l.rows, l.err
}

// hold lets a statement wait.
func (s *session) hold(query string, args ...any) sql.Result {
	l := &later{session: s, query: query, args: args}
	s.held.waiting = append(s.held.waiting, l)
	return l
}

// flush sends what waits, and gives the first error.
func (s *session) flush() error {
	waiting := s.held.waiting
	if len(waiting) == 0 {
		return nil
	}
	s.held.waiting = nil
	return s.conn.Raw(func(c any) error {
		var batch pgx.Batch
		for _, l := range waiting {
			batch.Queue(s.is.rewrite(l.query), l.args...)
		}
		answers := c.(*stdlib.Conn).Conn().SendBatch(context.Background(), &batch)
		var first error
		for _, l := range waiting {
			tag, err := answers.Exec()
			l.sent, l.rows, l.err = true, tag.RowsAffected(), err
			if first == nil {
				first = err
			}
		}
		return errors.Join(first, ignoreAfter(first, answers.Close()))
	})
}

// ignoreAfter drops an error that only repeats the first one.
func ignoreAfter(first, err error) error {
	if first != nil {
		return nil
	}
	return err
}

const savepoint = "SAVEPOINT job"

// savepointHeld runs one job like writer.savepoint, with statements held back.
func (w *writer) savepointHeld(j *job) (wrote bool, err error) {
	s := w.session
	begin := s.hold(savepoint).(*later)
	s.held.on = true
	j.panic, j.err = w.call(j.fn)
	s.held.on = false
	if j.err == nil && j.panic == nil {
		s.hold("RELEASE job")
		if j.err = s.flush(); j.err == nil {
			return true, nil
		}
		if !s.alive() {
			return false, j.err
		}
	}
	s.held.waiting = nil
	if !begin.sent {
		return false, nil // nothing of it was sent
	}
	return false, s.control("ROLLBACK TO job; RELEASE job")
}
