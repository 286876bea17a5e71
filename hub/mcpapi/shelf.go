package mcpapi

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

// maxKept is how many bytes of skills a snapshot keeps.
const maxKept = 32 << 20

// shelf holds a tenant's current snapshot.
type shelf struct {
	mu  sync.Mutex
	now *snapshot
}

// snapshot is what is active as of one change. What it says never changes; it is read
// from the store piece by piece, and a piece that turns out to be of another change
// is not taken in.
type snapshot struct {
	change int64

	mu     sync.Mutex
	listed bool
	list   []hub.Served     // by name
	items  map[string]*item // by name
	kept   int
}

// item is one skill of a snapshot.
type item struct {
	*hub.ServedSkill
	root string

	once  sync.Once
	entry *skillEntry // for the extension; nil with why
	why   error
}

// current gives the snapshot that holds now.
func (s *service) current(ctx context.Context, t *tenant) (*snapshot, error) {
	change, err := s.hub.ServedChange(ctx, caller(ctx))
	if err != nil {
		return nil, err
	}
	return t.shelf.at(change), nil
}

// at gives the snapshot of a change, a new one when the current one is of another.
func (h *shelf) at(change int64) *snapshot {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.now == nil || h.now.change != change {
		h.now = &snapshot{change: change, items: map[string]*item{}}
	}
	return h.now
}

// all is the list of the current snapshot. It is not to be changed.
func (s *service) all(ctx context.Context, t *tenant) ([]hub.Served, *snapshot, error) {
	snap, err := s.current(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	snap.mu.Lock()
	list, listed := snap.list, snap.listed
	snap.mu.Unlock()
	if listed {
		return list, snap, nil
	}
	change, list, err := s.hub.ServedSkills(ctx, caller(ctx))
	if err != nil {
		return nil, nil, err
	}
	if change != snap.change {
		snap = t.shelf.at(change)
	}
	snap.mu.Lock()
	defer snap.mu.Unlock()
	snap.list, snap.listed = list, true
	return list, snap, nil
}

// find gives a skill of the current snapshot.
func (s *service) find(ctx context.Context, t *tenant, ref hubapi.Ref) (*item, error) {
	snap, err := s.current(ctx, t)
	if err != nil {
		return nil, err
	}
	return s.take(ctx, t, snap, ref)
}

// take gives a skill of a snapshot, or of the one that has replaced it.
func (s *service) take(ctx context.Context, t *tenant, snap *snapshot, ref hubapi.Ref) (*item, error) {
	snap.mu.Lock()
	found := snap.items[ref.Name]
	snap.mu.Unlock()
	if found != nil && (ref.Author == "" || ref.Author == found.Author) && (ref.Version == "" || ref.Version == found.Version) {
		return found, nil
	}
	change, skill, err := s.hub.ServedSkill(ctx, caller(ctx), ref)
	if err != nil {
		return nil, err
	}
	if change != snap.change {
		snap = t.shelf.at(change)
	}
	snap.mu.Lock()
	defer snap.mu.Unlock()
	if found := snap.items[skill.Name]; found != nil {
		return found, nil
	}
	size := len(skill.Text) + 128*len(skill.Files)
	if snap.kept += size; snap.kept > maxKept {
		clear(snap.items)
		snap.kept = size
	}
	found = &item{ServedSkill: skill, root: rootOf(skill.Served)}
	snap.items[skill.Name] = found
	return found, nil
}

// behind is the part of a list behind a name.
func behind(list []hub.Served, name string) []hub.Served {
	i, found := slices.BinarySearchFunc(list, name, func(s hub.Served, name string) int { return strings.Compare(s.Name, name) })
	if found {
		i++
	}
	return list[i:]
}
