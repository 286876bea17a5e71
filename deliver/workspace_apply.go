package deliver

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/workers"
)

// Apply carries plans out, each skill on its own, and writes the lock unless that is
// frozen. What a plan refused stays as it is. The answer are the plans, with the errors
// of what could not be done; the error is for what concerns them all.
func (w *Workspace) Apply(plans []Planned) ([]Planned, error) {
	if err := w.rememberChosen(); err != nil {
		return plans, fmt.Errorf("cannot remember which folders you named: %w", err)
	}
	changes, keep := w.intents(plans)
	if len(changes) == 0 {
		return plans, nil
	}
	kept := w.beside(func() error { return w.keep(keep) })
	var err error
	if w.o.Frozen {
		w.carryOut(plans, kept)
	} else {
		err = w.commit(changes, func(recorded func() error) map[string]*Locked {
			w.carryOut(plans, func() error { return cmp.Or(recorded(), kept()) })
			return w.outcomes(plans, changes)
		})
	}
	return plans, errors.Join(kept(), err)
}

// carryOut does what the plans say. Folders are written out of sight at once, and nothing
// that is there changes before ready has no error.
func (w *Workspace) carryOut(plans []Planned, ready func() error) {
	w.install(plans, ready)
	if err := ready(); err != nil {
		abandon(plans, err)
		return
	}
	w.link(plans)
	w.uninstall(plans)
}

// abandon is for steps that are not carried out, whatever they are.
func abandon(plans []Planned, err error) {
	for i := range plans {
		for j := range plans[i].Steps {
			s := &plans[i].Steps[j]
			s.Err = cmp.Or(s.Err, err)
		}
	}
}

// beside does something while folders are written, and gives what waits for it.
func (w *Workspace) beside(do func() error) (wait func() error) {
	if w.o.wrap != nil { // tests see one effect after the other
		return sync.OnceValue(do)
	}
	var group workers.Group
	var err error
	group.Go(func() { err = do() })
	return func() error {
		group.Wait()
		return err
	}
}

// keep puts packs into the store.
func (w *Workspace) keep(packs []Kept) error {
	if err := w.store.Put(packs); err != nil {
		return fmt.Errorf("cannot keep the packs in %s: %w", w.store.dir, err)
	}
	return nil
}

func (w *Workspace) intents(plans []Planned) (changes map[string]intent, keep []Kept) {
	changes = map[string]intent{}
	for i := range plans {
		p := &plans[i]
		if p.Err != nil || !p.Changes() {
			continue
		}
		changes[p.Name] = intent{Before: p.Before, After: p.After}
		if p.After != nil && slices.ContainsFunc(p.Steps, func(s Step) bool { return s.writes() }) {
			keep = append(keep, Kept{Pack: p.offer.Pack, Signature: p.offer.Signature, digest: p.sums.Digest})
		}
	}
	return changes, keep
}

// install writes the folders of all plans, those of one parent together.
func (w *Workspace) install(plans []Planned, ready func() error) {
	byDir := map[string][]*Step{}
	owner := map[*Step]*Planned{}
	for i := range plans {
		p := &plans[i]
		if p.Err != nil || p.After == nil {
			continue
		}
		for j := range p.Steps {
			s := &p.Steps[j]
			if s.writes() {
				dir := filepath.Dir(s.Dir)
				byDir[dir] = append(byDir[dir], s)
				owner[s] = p
			}
		}
	}
	for _, dir := range sortedDirs(byDir) {
		steps := byDir[dir]
		items := make([]Item, len(steps))
		for i, s := range steps {
			items[i] = Item{Pack: owner[s].offer.Pack, Options: s.options}
		}
		results, err := w.installInto(dir, items, ready)
		for i, s := range steps {
			if s.Err = err; err == nil {
				s.Err = results[i].Err
			}
		}
	}
}

// installInto writes folders into a directory that need not be there.
func (w *Workspace) installInto(dir string, items []Item, ready func() error) ([]Result, error) {
	w.sweepBeside(dir)
	root, err := w.root(dir)
	if err != nil {
		return nil, err
	}
	if root == nil {
		results, done, err := w.installNew(dir, items, ready)
		if done || err != nil {
			return results, err
		}
	}
	if root, err = w.made(dir); err != nil {
		return nil, err
	}
	return InstallAll(root, items, ready), nil
}

// sweep removes what killed runs left in a directory and beside it, once: with a listing
// for each skill, many in one directory would take the square of their number.
func (w *Workspace) sweep(dir string) {
	if w.swept[dir] {
		return
	}
	w.swept[dir] = true
	w.sweepBeside(dir)
	if root, err := w.root(dir); err == nil && root != nil {
		_ = fsx.SweepStaged(root, ".") // as in InstallAll
	}
}

// sweepBeside removes what a killed run left of a directory that it was about to make.
func (w *Workspace) sweepBeside(dir string) {
	if parent, err := w.open(filepath.Dir(dir)); err == nil {
		_ = fsx.SweepStaged(parent, ".")
		_ = parent.Close()
	}
}

// installNew is installInto for a directory that is not there; false says that it is.
func (w *Workspace) installNew(dir string, items []Item, ready func() error) ([]Result, bool, error) {
	n := missing(dir)
	parent, err := w.openOrCreate(filepath.Dir(dir), 0o755)
	if err != nil {
		return nil, false, err
	}
	defer parent.Close()
	if err := w.rememberMade(dir, n); err != nil {
		return nil, false, err
	}
	results, done := InstallNew(parent, filepath.Base(dir), items, ready)
	return results, done, nil
}

func sortedDirs(m map[string][]*Step) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// outcomes are the entries that the skills really have after the steps.
func (w *Workspace) outcomes(plans []Planned, changes map[string]intent) map[string]*Locked {
	out := map[string]*Locked{}
	for i := range plans {
		p := &plans[i]
		if _, ok := changes[p.Name]; !ok || p.Err != nil {
			continue
		}
		failed := false
		for _, s := range p.Steps {
			failed = failed || s.Err != nil
		}
		if !failed {
			out[p.Name] = p.After
			continue
		}
		entry, err := w.settle(p.Name, intent{Before: p.Before, After: p.After})
		if err != nil {
			p.Err = errors.Join(p.Err, err)
			entry = p.Before
		}
		out[p.Name] = entry
	}
	return out
}

func (s *Step) writes() bool {
	return s.Action == ActCreate || s.Action == ActUpdate || s.Action == ActMerge
}
