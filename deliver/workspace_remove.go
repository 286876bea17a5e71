package deliver

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kortecx/kx/hubapi"
)

// IDShared is the refusal to take a skill from one agent alone, where others read the
// same folder.
const IDShared = "remove.shared"

// Removal is one skill that is to go.
type Removal struct {
	Name string
	// Agents are those that are to lose it; none means all.
	Agents []string
	// Dirs are the folders of skills, absolute, that are to lose it; none means all.
	Dirs []string
	// Force loses what a person edited.
	Force bool
}

// PlanRemoval says what removing skills would do. Nothing is written. Only what the
// lock accounts for is ever removed, and Strays that this installation of kx wrote.
func (w *Workspace) PlanRemoval(removals []Removal) []Planned {
	out := make([]Planned, len(removals))
	all := w.Strays()
	for i, r := range removals {
		out[i] = w.planRemoval(r, straysOf(r, all))
	}
	return out
}

func (w *Workspace) planRemoval(r Removal, strays []Stray) Planned {
	p := Planned{Name: r.Name, force: r.Force}
	before, ok := w.lock.Skills[r.Name]
	if !ok && len(strays) == 0 {
		p.Err = refusal(hubapi.NotFound, IDNotInstalled, r.Name, "the skill %s is not in %s", r.Name, w.o.File)
		if near := hubapi.Nearest(r.Name, w.lock.Names()); near != "" {
			p.Err = hubapi.AsError(p.Err).WithHint("did you mean %s?", near)
		}
		return p
	}
	if ok {
		p.Before = &before
	}
	after := before.clone()
	after.Targets = nil
	found := map[string]bool{}
	for _, t := range before.clone().Targets {
		gone := len(r.Agents) == 0
		var rest []string
		switch {
		case len(r.Dirs) > 0 && !slices.Contains(r.Dirs, w.Path(t)):
			gone = false
		case !gone:
			for _, a := range t.Agents {
				if slices.Contains(r.Agents, a) {
					found[a] = true
				} else {
					rest = append(rest, a)
				}
			}
			gone = len(rest) == 0 && len(t.Agents) > 0
			if len(rest) > 0 && len(rest) < len(t.Agents) {
				p.Err = refusal(hubapi.Conflict, IDShared, r.Name, "%s is shared by %s: it cannot be taken from some of them", filepath.Join(w.Path(t), r.Name), strings.Join(t.Agents, ", ")).
					WithHint("name them all, or give the others a folder of their own first")
				return p
			}
		}
		if !gone {
			after.Targets = append(after.Targets, t)
			continue
		}
		step, err := w.planRemoveStep(r, before, t)
		if err != nil {
			p.Err = err
			return p
		}
		p.Steps = append(p.Steps, step)
	}
	for _, s := range strays {
		step, err := w.planRemoveStep(r, s.entry, s.target)
		if err != nil {
			p.Err = err
			return p
		}
		step.stray = &s.entry
		p.Steps = append(p.Steps, step)
		for _, a := range agentFolders()[s.target.Dir] {
			found[a] = true
		}
	}
	if len(after.Targets) > 0 && !slices.ContainsFunc(after.Targets, func(t Target) bool { return t.Mode == AsCopy }) {
		p.Err = refusal(hubapi.Conflict, IDShared, r.Name, "the folders of other agents are links to %s: it cannot go alone", w.canonical(before, r.Name)).
			WithHint("name all agents, or none, to remove it everywhere")
		return p
	}
	for _, a := range r.Agents {
		if !found[a] {
			p.Err = refusal(hubapi.NotFound, IDNotInstalled, r.Name, "the skill %s is not installed for %s", r.Name, a)
			return p
		}
	}
	if len(after.Targets) > 0 {
		p.After = &after
	}
	return p
}

func (w *Workspace) planRemoveStep(r Removal, entry Locked, t Target) (Step, error) {
	step := Step{Dir: filepath.Join(w.Path(t), r.Name), Agents: t.Agents, Action: ActForget, target: t}
	state, err := w.check(r.Name, w.Path(t))
	if err != nil {
		return step, err
	}
	if t.Mode == AsLink && w.ourLink(&state, entry, t) {
		step.Action, step.canonical = ActRemove, w.canonical(entry, r.Name)
		return step, nil
	}
	if state.Status != Owned || !w.ours(&state, entry) {
		return step, nil
	}
	step.Edits = state.Edits()
	if len(step.Edits) > 0 && !r.Force {
		return step, localEdits(r.Name, step.Edits)
	}
	step.Action = ActRemove
	return step, nil
}

// uninstall removes the folders of all plans, links before what they lead to.
func (w *Workspace) uninstall(plans []Planned) {
	for _, mode := range []TargetMode{AsLink, AsCopy} {
		w.uninstallThose(plans, mode)
	}
}

func (w *Workspace) uninstallThose(plans []Planned, mode TargetMode) {
	for i := range plans {
		p := &plans[i]
		if p.Err != nil {
			continue
		}
		for j := range p.Steps {
			s := &p.Steps[j]
			if s.Action != ActRemove || s.target.Mode != mode {
				continue
			}
			if s.Err = w.removeDir(p, s); s.Err == nil {
				w.pruneMade(s.target)
			}
		}
	}
}

func (w *Workspace) removeDir(p *Planned, s *Step) error {
	w.sweep(filepath.Dir(s.Dir))
	root, err := w.root(filepath.Dir(s.Dir))
	if err != nil || root == nil {
		return err
	}
	if s.canonical != "" {
		target, err := LinkTarget(filepath.Dir(s.Dir), s.canonical)
		if err == nil {
			err = unlink(root, p.Name, target)
		}
		if isRefusal(err, IDNotInstalled) {
			return nil
		}
		return err
	}
	state, err := look(root, p.Name, false)
	if err != nil {
		return err
	}
	entry := s.stray
	if entry == nil {
		entry = p.Before
	}
	if state.Status != Owned || !w.ours(&state, *entry) {
		return collision(p.Name, "it is not what the lock says")
	}
	err = remove(root, p.Name, state.Marker.Owner, p.force)
	if e, ok := errors.AsType[*hubapi.Error](err); ok && e.Code == hubapi.NotFound {
		return nil
	}
	return err
}
