package deliver

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/sorting"
)

// LeftTarget tells what became of one target that a reconciler left.
type LeftTarget struct {
	Dir     string   `json:"dir"`
	Removed []string `json:"removed"`
	// Stayed are folders that are still there, with the reason.
	Stayed       []hubapi.ReconcileNote `json:"stayed"`
	Unregistered bool                   `json:"unregistered"` // from OpenClaw's configuration
	Error        string                 `json:"error,omitempty"`
}

// Leave undoes what Run did: in each target (all that are known, when dirs is empty) it
// removes the folders that it wrote and nobody edited, the file that claims the target,
// the target itself where it made that and it is empty now, and the entry in OpenClaw's
// configuration that it made. What it did not write stays,
// and so does what somebody edited.
func (r *Reconciler) Leave(dirs []string) ([]LeftTarget, error) {
	noTarget := func(dir string) error {
		return hubapi.Errorf(hubapi.NotFound, "%s is no target that kx sync has written to", dir)
	}
	// Who never synced has nothing to leave, and nothing is made to say so.
	if there, err := fsx.Open(r.State); err == nil {
		_ = there.Close()
	} else if errors.Is(err, fs.ErrNotExist) {
		if len(dirs) > 0 {
			return nil, noTarget(dirs[0])
		}
		return nil, nil
	}
	state, err := r.open(r.State, 0o700)
	if err != nil {
		return nil, err
	}
	defer state.Close()
	known, err := knownTargets(state)
	if err != nil {
		return nil, err
	}
	var out []LeftTarget
	for _, dir := range dirs {
		if !slices.ContainsFunc(known, func(k *receipts) bool { return k.Dir == realPath(dir) }) {
			return nil, noTarget(dir)
		}
	}
	for _, k := range known {
		if len(dirs) > 0 && !slices.ContainsFunc(dirs, func(dir string) bool { return realPath(dir) == k.Dir }) {
			continue
		}
		left := LeftTarget{Dir: k.Dir, Removed: []string{}, Stayed: []hubapi.ReconcileNote{}}
		if err := r.leave(state, k, &left); err != nil {
			left.Error = err.Error()
		} else if len(left.Stayed) == 0 {
			pruneDirs(fsx.Open, k.Dir, min(k.Made, maxMade))
		}
		out = append(out, left)
	}
	return out, r.forgetMade(state)
}

// knownTargets are the receipts of all targets, ascending by directory.
func knownTargets(state fsx.Root) ([]*receipts, error) {
	entries, err := state.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var out []*receipts
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "target-") || !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		k := new(receipts)
		if found, err := recall(state, e.Name(), k); err != nil {
			return nil, err
		} else if found && k.V == receiptsVersion && fileName("target", k.Dir) == e.Name() {
			out = append(out, k)
		}
	}
	sorting.Sort(out, func(a, b *receipts) int { return strings.Compare(a.Dir, b.Dir) })
	return out, nil
}

func (r *Reconciler) leave(state fsx.Root, k *receipts, left *LeftTarget) error {
	root, err := fsx.Open(k.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		root, err = nil, nil
	}
	if err != nil {
		return err
	}
	if root != nil {
		defer root.Close()
		unlock, err := fsx.LockDir(k.Dir)
		if err != nil {
			return err
		}
		defer unlock()
		_ = fsx.SweepStaged(root, ".")
		if err := r.emptied(root, k, left); err != nil {
			return err
		}
	}
	if k.Registered != "" {
		made, err := r.madeInOpenClaw(state)
		if err != nil {
			return err
		}
		removed, err := UnregisterFromOpenClaw(r.OpenClaw, []string{k.Registered}, made)
		if err != nil {
			return err
		}
		left.Unregistered = len(removed) > 0
	}
	if len(left.Stayed) > 0 {
		// What stays is ours as long as a receipt says so: it can be left later.
		k.Claimed, k.Registered = false, ""
		k.Skills = slices.DeleteFunc(k.Skills, func(s receipt) bool { return slices.Contains(left.Removed, s.Slug) })
		return k.save(state)
	}
	return state.Remove(fileName("target", k.Dir))
}

// emptied removes what is ours in one target.
func (r *Reconciler) emptied(root fsx.Root, k *receipts, left *LeftTarget) error {
	run := &reconciliation{Reconciler: r, state: nil, details: &hubapi.ReconcileDetails{}}
	t := &targetRun{reconciliation: run, target: SyncTarget{Dir: k.Dir}, root: root, known: k, verify: true}
	for _, s := range slices.Clone(k.Skills) {
		have := t.lookAt(s.Folder)
		stays := func(why string) {
			left.Stayed = append(left.Stayed, hubapi.ReconcileNote{Dir: k.Dir, Slug: s.Slug, Reason: why})
		}
		switch have.standing {
		case standsAbsent:
		case standsOurs:
			if err := t.remove(step{folder: s.Folder, slug: s.Slug, verb: doRemove}); err != nil {
				stays(err.Error())
				continue
			}
			left.Removed = append(left.Removed, s.Slug)
		case standsEdited:
			stays("it was edited since it was written: " + inWords(have.edits))
		default:
			// Whatever it is now, it is not ours any more, and no receipt is needed.
			k.drop(s.Folder)
		}
	}
	data, err := root.ReadFile(sentinel, maxSentinel)
	if err == nil && string(data) == string(r.sentinelText()) {
		if err := root.Remove(sentinel); err != nil {
			return fmt.Errorf("the claim to the folder: %w", err)
		}
	}
	return nil
}
