package deliver

import (
	"context"
	"path/filepath"

	"github.com/kortecx/kx/internal/fsx"
)

// planLink decides about one folder that holds a link.
func (w *Workspace) planLink(_ context.Context, step *Step, _ *Locked, c Wanted) error {
	state, err := w.check(c.Name, filepath.Dir(step.Dir))
	if err != nil {
		return err
	}
	target, err := LinkTarget(filepath.Dir(step.Dir), step.canonical)
	switch {
	case err != nil:
		return err
	case state.Status == Absent:
		step.Action = ActLink
	case state.Link == "" && state.Status == Owned:
		return collision(c.Name, "it holds a copy of "+state.Marker.Ref()+", and was to be a link")
	case state.Link != target:
		return collision(c.Name, state.Why)
	default:
		step.Action = ActNone
	}
	return nil
}

// link makes the links of all plans, after the copies. Where there can be none, the
// folder gets a copy, and the lock says so.
func (w *Workspace) link(plans []Planned) {
	for i := range plans {
		p := &plans[i]
		if p.Err != nil || p.After == nil {
			continue
		}
		for j := range p.Steps {
			s := &p.Steps[j]
			if s.Action != ActLink {
				continue
			}
			if s.Err = w.linkStep(p, s); isRefusal(s.Err, IDNoLinks) {
				s.NoLink = s.Err
				s.Err = w.copyInstead(p, s)
			}
		}
	}
}

func (w *Workspace) linkStep(p *Planned, s *Step) error {
	dir := filepath.Dir(s.Dir)
	root, err := w.made(dir)
	if err != nil {
		return err
	}
	target, err := LinkTarget(dir, s.canonical)
	if err != nil {
		return err
	}
	if w.o.Symlink != nil {
		root = linking{root, w.o.Symlink}
	}
	_, err = Link(root, p.Name, target)
	return err
}

// linking is a root whose links are made by somebody else.
type linking struct {
	fsx.Root
	symlink func(root fsx.Root, target, name string) error
}

func (l linking) Symlink(target, name string) error { return l.symlink(l.Root, target, name) }

func (w *Workspace) copyInstead(p *Planned, s *Step) error {
	root, err := w.made(filepath.Dir(s.Dir))
	if err != nil {
		return err
	}
	if _, err := Install(root, p.offer.Pack, s.options); err != nil {
		return err
	}
	s.Action, s.target.Mode = ActCreate, AsCopy
	p.After.Targets[p.After.target(s.target.Dir)].Mode = AsCopy
	return nil
}
