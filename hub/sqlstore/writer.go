package sqlstore

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/workers"
)

// maxBatch is how many waiting writes share one transaction and so one wait for
// the disk.
const maxBatch = 64

// writer owns the one connection that changes the database. It takes all writes
// that wait, runs each under its own savepoint, commits once, and only then tells
// any of them that it is done.
type writer struct {
	is       *dialect
	session  *session // nil after its connection broke
	connect  func(context.Context) (*session, error)
	tx       *tx
	jobs     chan *job
	quit     chan struct{}
	done     chan struct{}
	degraded atomic.Pointer[error] // the first failure of the disk

	writes, commits, failures atomic.Int64
}

type job struct {
	fn    func(hub.Writer) error
	taken atomic.Bool // by the writer, or by the caller who gives up
	err   error
	panic *workers.Panic
	done  chan struct{}
}

func startWriter(first *session, connect func(context.Context) (*session, error)) *writer {
	w := &writer{
		is: first.is, session: first, connect: connect, tx: &tx{first},
		jobs: make(chan *job, maxBatch), quit: make(chan struct{}), done: make(chan struct{}),
	}
	go w.run()
	return w
}

// Write implements hub.Store.
func (s *Store) Write(ctx context.Context, fn func(hub.Writer) error) error {
	j := &job{fn: fn, done: make(chan struct{})}
	select {
	case s.writer.jobs <- j:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.writer.quit:
		return errClosed()
	}
	select {
	case <-j.done:
	case <-ctx.Done():
		if j.taken.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		<-j.done
	case <-s.writer.done:
		if j.taken.CompareAndSwap(false, true) {
			return errClosed()
		}
		<-j.done
	}
	if j.panic != nil {
		panic(j.panic)
	}
	return storeError(j.err)
}

func errClosed() error { return hubapi.Errorf(hubapi.Unavailable, "the hub is closing") }

// close lets the writes that were taken end.
func (w *writer) close() error {
	close(w.quit)
	<-w.done
	if w.session == nil {
		return nil
	}
	return w.session.close()
}

func (w *writer) run() {
	defer close(w.done)
	batch := make([]*job, 0, maxBatch)
	for {
		batch = batch[:0]
		select {
		case j := <-w.jobs:
			batch = append(batch, j)
		case <-w.quit:
			return
		}
	drain:
		for len(batch) < maxBatch {
			select {
			case j := <-w.jobs:
				batch = append(batch, j)
			default:
				break drain
			}
		}
		w.commit(batch)
	}
}

// commit runs a batch. When the batch fails as a whole, its writes are tried again
// one by one: a push that does not fit the disk must not take smaller ones with it.
func (w *writer) commit(batch []*job) {
	taken := batch[:0]
	for _, j := range batch {
		if j.taken.CompareAndSwap(false, true) {
			taken = append(taken, j)
		}
	}
	if len(taken) == 0 {
		return
	}
	err := w.attempt(taken)
	if err != nil && len(taken) > 1 && !w.is.failed(err) && !errors.Is(err, errUnknown) {
		for _, j := range taken {
			w.finish(j, w.attempt([]*job{j}))
		}
		return
	}
	for _, j := range taken {
		w.finish(j, err)
	}
}

// finish answers one write. A failed transaction outweighs what the write itself
// said: nothing of it is there.
func (w *writer) finish(j *job, err error) {
	if err != nil {
		j.err = err
		if w.is.failed(err) {
			w.degraded.CompareAndSwap(nil, &err)
		}
	}
	close(j.done)
}

// attempts is how often a transaction is begun that failed through no fault of its
// own: its connection broke before the commit, or others were in its way.
const attempts = 3

// errUnknown says that the connection broke while a commit was on its way.
var errUnknown = hubapi.Errorf(hubapi.Unavailable, "the connection to the hub's database broke during a commit: the change may have been made").
	WithHint("look whether it was before trying again")

func (w *writer) attempt(jobs []*job) (err error) {
	for range attempts {
		err = w.transaction(jobs)
		lost := w.session == nil || !w.session.alive()
		if lost && w.session != nil {
			_ = w.session.close()
			w.session = nil
		}
		if err != nil {
			w.failures.Add(1)
		}
		if err == nil || errors.Is(err, errUnknown) || !lost && !w.is.again(err) {
			return err
		}
	}
	return err
}

// begin starts a transaction that is alone.
func (w *writer) begin() error {
	if w.session == nil {
		ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
		defer cancel()
		session, err := w.connect(ctx)
		if err != nil {
			return err
		}
		w.session, w.tx.session = session, session
	}
	if err := w.session.control(w.is.beginWrite); err != nil {
		return err
	}
	if w.is.beginCheck == nil {
		return nil
	}
	return w.is.beginCheck(w.session)
}

// transaction runs jobs in one transaction. Its error is that of the transaction;
// errors of single jobs are in the jobs.
func (w *writer) transaction(jobs []*job) (err error) {
	committed := false
	defer func() {
		if !committed && w.session != nil {
			// SQLite has already rolled back where the disk is full.
			_ = w.session.control("ROLLBACK")
		}
	}()
	if err := w.begin(); err != nil {
		return err
	}
	wrote := int64(0)
	for _, j := range jobs {
		ok, err := w.savepoint(j)
		if err != nil {
			return err
		}
		if ok {
			wrote++
		}
	}
	if wrote == 0 {
		return nil
	}
	if err := w.session.control("COMMIT"); err != nil {
		if !w.session.alive() {
			return errUnknown
		}
		return err
	}
	committed = true
	w.writes.Add(wrote)
	w.commits.Add(1)
	return nil
}

// savepoint runs one job and takes its changes back if it fails.
func (w *writer) savepoint(j *job) (wrote bool, err error) {
	if w.is.direct {
		return w.savepointHeld(j)
	}
	if err := w.session.control(savepoint); err != nil {
		return false, err
	}
	j.panic, j.err = w.call(j.fn)
	if j.err == nil && j.panic == nil {
		err := w.session.control("RELEASE job")
		return err == nil, err
	}
	// Some failures end the whole transaction; then the savepoint is gone, and
	// so are the changes of the jobs before.
	if err := w.session.control("ROLLBACK TO job"); err != nil {
		return false, errors.Join(j.err, err)
	}
	return false, w.session.control("RELEASE job")
}

// call keeps a panic of a rule from ending the writer; it goes on in the caller.
func (w *writer) call(fn func(hub.Writer) error) (panicked *workers.Panic, err error) {
	panicked = workers.Catch(func() { err = fn(w.tx) })
	return panicked, err
}
