package deliver

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/kortecx/kx/internal/fsx"
)

// madeMemory is what the first registration of a target made in OpenClaw's configuration.
// It is about the file and not about a target: whichever target leaves last undoes it.
type madeMemory struct {
	V    int    `json:"v"`
	File string `json:"file"`
	OpenClawMade
}

func (r *Reconciler) madeName() string { return fileName("openclaw", r.OpenClaw) }

// madeInOpenClaw is what has to be undone in the configuration.
func (r *Reconciler) madeInOpenClaw(state fsx.Root) (OpenClawMade, error) {
	m := new(madeMemory)
	found, err := recall(state, r.madeName(), m)
	if err != nil || !found || m.V != receiptsVersion || m.File != r.OpenClaw {
		return OpenClawMade{}, err
	}
	return m.OpenClawMade, nil
}

// rememberRegistered notes entries before they are made, so that a run that is killed
// leaves none that nobody takes out again.
func (run *reconciliation) rememberRegistered(added []string, made OpenClawMade) error {
	known, err := knownTargets(run.state)
	if err != nil {
		return err
	}
	first := true
	for _, k := range known {
		first = first && k.Registered == ""
	}
	// Later entries find the list that the first one made.
	if first || made.Member != "" {
		if err := keep(run.state, run.madeName(), madeMemory{V: receiptsVersion, File: run.OpenClaw, OpenClawMade: made}); err != nil {
			return fmt.Errorf("what is to be registered could not be remembered: %w", err)
		}
	}
	for _, dir := range added {
		known, err := readReceipts(run.state, realPath(dir))
		if err == nil {
			known.Registered = dir
			err = known.save(run.state)
		}
		if err != nil {
			return fmt.Errorf("what is to be registered could not be remembered: %w", err)
		}
	}
	return nil
}

// forgetMade forgets what was made when no entry of ours is left.
func (r *Reconciler) forgetMade(state fsx.Root) error {
	known, err := knownTargets(state)
	if err != nil {
		return err
	}
	for _, k := range known {
		if k.Registered != "" {
			return nil
		}
	}
	if err := state.Remove(r.madeName()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
