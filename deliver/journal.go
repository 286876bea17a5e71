package deliver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/pack"
)

// intent is what one command means to do to one skill of a lock; nil is a lock
// without it.
type intent struct {
	Before *Locked `json:"before"`
	After  *Locked `json:"after"`
}

type journalFile struct {
	V      int               `json:"v"`
	Lock   string            `json:"lock"` // path of the lock file
	Skills map[string]intent `json:"skills"`
}

func (w *Workspace) writeJournal(file string, changes map[string]intent) error {
	data, err := json.Marshal(journalFile{V: 1, Lock: w.o.File, Skills: changes})
	if err == nil {
		err = w.writeRecord(file, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("cannot write the journal: %w", err)
	}
	return nil
}

func (w *Workspace) writeRecord(file string, data []byte) error {
	root, err := w.openOrCreate(filepath.Dir(file), 0o700)
	if err != nil {
		return err
	}
	defer root.Close()
	_ = fsx.SweepStaged(root, ".") // as in InstallAll
	return root.WriteFile(filepath.Base(file), data, 0o600)
}

func (w *Workspace) removeJournal(file string) error {
	root, err := w.open(filepath.Dir(file))
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Remove(filepath.Base(file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// readJournal gives what a killed run left; nil without it. One that cannot be read
// was not finished, and then nothing had been moved.
func readJournal(file, lock string) (map[string]intent, error) {
	root, err := fsx.Open(filepath.Dir(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	data, err := root.ReadFile(filepath.Base(file), 4*maxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var j journalFile
	if strictjson.Unmarshal(data, &j) != nil || j.V != 1 || j.Lock != lock {
		return map[string]intent{}, nil
	}
	return j.Skills, nil
}

// repair ends what a killed run began: for every skill that it was about, the lock
// comes to say what the folders hold.
func (w *Workspace) repair() error {
	file := filepath.Join(w.o.Data, filepath.FromSlash(journalName(w.o.File)))
	if _, err := lstat(file); err != nil {
		return nil // there is none, or nothing can be done about it
	}
	unlock, err := fsx.LockDir(filepath.Dir(w.o.File))
	if err != nil {
		return err
	}
	defer unlock()
	// Only now is it sure that the run which wrote it is gone.
	left, err := readJournal(file, w.o.File)
	if err != nil || left == nil {
		return err
	}
	if err := w.read(); err != nil {
		return err
	}
	next := w.lock.clone()
	for _, name := range slices.Sorted(maps.Keys(left)) {
		was, known := w.lock.Skills[name]
		// The lock may have been written already, or by somebody else since.
		if i := left[name]; i.Before == nil && known || i.Before != nil && (!known || !sameEntry(was, *i.Before)) {
			continue
		}
		entry, err := w.settle(name, left[name])
		if err != nil {
			return err
		}
		if entry == nil && known {
			delete(next.Skills, name)
			w.Repaired = append(w.Repaired, name)
		}
		if entry != nil && !(known && sameEntry(was, *entry)) {
			next.Skills[name] = *entry
			w.Repaired = append(w.Repaired, name)
		}
	}
	if err := w.write(next); err != nil {
		return err
	}
	return w.removeJournal(file)
}

func sameEntry(a, b Locked) bool {
	return string(lockLine("", a)) == string(lockLine("", b))
}

// settle says which entry a skill has after an intent was carried out in part, by
// what its folders hold.
func (w *Workspace) settle(name string, i intent) (*Locked, error) {
	holds, err := w.holds(name, i)
	if err != nil {
		return nil, err
	}
	var entry *Locked
	if i.Before != nil {
		was := i.Before.clone()
		entry = &was
	}
	if i.After != nil {
		for _, t := range i.After.Targets {
			if holds[t.Dir] == i.After.Digest && (i.Before == nil || i.Before.Digest != i.After.Digest || i.Before.target(t.Dir) < 0) {
				now := i.After.clone()
				entry = &now
				break
			}
		}
	}
	if entry == nil {
		return nil, nil
	}
	var targets []Target
	for _, t := range unionTargets(i) {
		there := holds[t.Dir]
		before := i.Before != nil && i.Before.target(t.Dir) >= 0
		after := i.After != nil && i.After.target(t.Dir) >= 0
		if there == "" && !(before && after) {
			continue // not there yet, or gone already
		}
		if t.Digest = ""; there != "" && there != entry.Digest {
			t.Digest = there
		}
		targets = append(targets, t)
	}
	if len(targets) == 0 {
		return nil, nil
	}
	entry.Targets = targets
	return entry, nil
}

// unionTargets are the folders before and after, as they are meant to be.
func unionTargets(i intent) []Target {
	byDir := map[string]Target{}
	for _, s := range []*Locked{i.Before, i.After} {
		if s == nil {
			continue
		}
		for _, t := range s.clone().Targets {
			byDir[t.Dir] = t
		}
	}
	out := make([]Target, 0, len(byDir))
	for _, dir := range slices.Sorted(maps.Keys(byDir)) {
		out = append(out, byDir[dir])
	}
	return out
}

// holds gives the digest that lies in each folder of an intent, where it is one that
// the intent knows.
func (w *Workspace) holds(name string, i intent) (map[string]pack.Digest, error) {
	var known []pack.Digest
	for _, s := range []*Locked{i.Before, i.After} {
		if s != nil {
			known = append(known, s.digests()...)
		}
	}
	out := map[string]pack.Digest{}
	for _, t := range unionTargets(i) {
		w.sweep(w.Path(t)) // a parked folder goes back to its place
		root, err := w.root(w.Path(t))
		if err != nil {
			return nil, err
		}
		if root == nil {
			continue
		}
		state, err := look(root, name, false)
		if errors.Is(err, errMeanwhile) {
			state, err = look(root, name, false)
		}
		if err != nil {
			return nil, err
		}
		if t.Mode == AsLink && state.Link != "" {
			// A link has what its copy has; copies are written first.
			for _, entry := range []*Locked{i.After, i.Before} {
				if entry != nil && w.ourLink(&state, *entry, t) {
					out[t.Dir] = entry.Digest
					break
				}
			}
		}
		if state.Status == Owned && slices.Contains(known, state.Marker.Digest) {
			out[t.Dir] = state.Marker.Digest
		}
	}
	return out, nil
}
