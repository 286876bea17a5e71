package deliver

import (
	"context"
	"path/filepath"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
)

// planLink decides about one folder that holds a link.
func (w *Workspace) planLink(_ context.Context, step *Step, before *Locked, c Wanted) error {
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
	case state.Status == Owned && before != nil && before.target(step.target.Dir) >= 0 && w.ours(&state, *before):
		if c.Force && len(state.Edits()) == 0 {
			step.Action, step.copyOf = ActLink, state.Marker.Owner
			return nil
		}
		why, fix := copyForLink(&state)
		if len(state.Edits()) == 0 && state.Marker.Digest == step.options.sums.Digest {
			step.Action, step.target.Mode = ActNone, AsCopy
			step.NoLink = hubapi.Errorf(hubapi.Conflict, "%s; %s", why, fix)
			return nil
		}
		return refusal(hubapi.Conflict, IDCollision, c.Name, "%s: %s", step.Dir, why).WithHint("%s", fix)
	case state.Link == "" && state.Status == Owned:
		return collision(c.Name, "it holds a copy of "+state.Marker.Ref()+", and was to be a link")
	case state.Link != target:
		return collision(c.Name, state.Why)
	default:
		step.Action = ActNone
	}
	return nil
}

// copyForLink is about a copy of ours that took the place of a link, as tools that follow
// links make them: why it is not what the lock says, and what to do.
func copyForLink(state *State) (why, fix string) {
	if len(state.Edits()) > 0 {
		return "it is an edited copy where the lock has a link", "take your changes elsewhere and move the folder away, then kx skills install without an argument"
	}
	return "it is a copy where the lock has a link", "kx skills install --force without an argument makes it a link again"
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
	if s.copyOf != "" {
		if err := checkTarget(root, p.Name, target); err != nil {
			return err
		}
		if err := remove(root, p.Name, s.copyOf, false); err != nil && !isRefusal(err, IDNotInstalled) {
			return err
		}
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
