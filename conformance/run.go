package conformance

import (
	"context"
	"errors"
	"runtime"

	"github.com/kortecx/kx/internal/workers"
)

// batchSize is how many packs a worker takes at once: large enough to keep the
// channels out of the profile, small enough that a few packs use every core.
const batchSize = 8

// maxJobs bounds Options.Jobs: more workers only take memory.
const maxJobs = 256

// Summary counts what Run judged.
type Summary struct {
	Packs  int `json:"packs"`
	Passed int `json:"passed"`
	Failed int `json:"failed"`
}

// batch is a few packs on their way through a worker.
type batch struct {
	targets []Target
	errs    []error // of the search, kept in its order; they have no report
	reports []*Report
	done    chan struct{}
}

// Run judges every pack that paths lead to, o.Jobs at a time, and hands the
// reports to emit one by one in the order of Find. It holds a bounded number of
// reports, however many packs there are. An error of emit or the end of ctx stops
// it; paths that lead to no pack do not, and are returned joined at the end.
func Run(ctx context.Context, paths []string, o Options, emit func(*Report) error) (Summary, error) {
	jobs := min(o.Jobs, maxJobs)
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancel(ctx)
	queue := make(chan *batch, jobs)
	ordered := make(chan *batch, 4*jobs)
	var wg workers.Group
	wg.Go(func() {
		defer close(queue)
		defer close(ordered)
		produce(ctx, paths, o, queue, ordered)
	})
	for range jobs {
		wg.Go(func() {
			for b := range queue {
				for i, t := range b.targets {
					if ctx.Err() == nil {
						if !wg.Try(func() { b.reports[i] = checkTarget(t, o) }) {
							cancel() // Wait goes on with the panic
						}
					}
				}
				close(b.done)
			}
		})
	}
	defer wg.Wait()
	defer cancel()

	var sum Summary
	var errs []error
	for b := range ordered {
		select {
		case <-b.done:
		case <-ctx.Done():
		}
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		for _, r := range b.reports {
			sum.Packs++
			if r.Passed {
				sum.Passed++
			} else {
				sum.Failed++
			}
			if err := emit(r); err != nil {
				return sum, err
			}
		}
		errs = append(errs, b.errs...)
	}
	if err := ctx.Err(); err != nil {
		return sum, err
	}
	return sum, errors.Join(errs...)
}

// produce walks paths and sends full batches, to the workers and, in the same
// order, to the one who emits.
func produce(ctx context.Context, paths []string, o Options, queue, ordered chan<- *batch) {
	var b *batch
	send := func() bool {
		b.reports = make([]*Report, len(b.targets))
		for _, to := range []chan<- *batch{ordered, queue} {
			select {
			case to <- b:
			case <-ctx.Done():
				return false
			}
		}
		b = nil
		return true
	}
	for t, err := range Targets(paths) {
		if b == nil {
			b = &batch{done: make(chan struct{})}
		}
		if err != nil {
			b.errs = append(b.errs, err)
		} else {
			b.targets = append(b.targets, t.wants(o.Format))
		}
		if len(b.targets)+len(b.errs) >= batchSize && !send() {
			return
		}
	}
	if b != nil {
		send()
	}
}
