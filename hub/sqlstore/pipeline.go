package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/kortecx/kx/hub/sqlstore/pgdriver"
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
	batch := make([]pgdriver.Queued, len(waiting))
	for i, l := range waiting {
		batch[i] = pgdriver.Queued{Query: s.is.rewrite(l.query), Args: l.args}
	}
	return s.conn.Raw(func(c any) error {
		sent, err := c.(*pgdriver.Conn).SendBatch(context.Background(), batch)
		for i, l := range waiting {
			l.sent, l.rows, l.err = sent, batch[i].Rows, batch[i].Err
		}
		return err
	})
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
