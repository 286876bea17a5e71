package deliver

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kortecx/kx/internal/sorting"
)

// Stray is a skill in a folder of the project's agents that kx installed and that the
// lock does not have there: somebody took it out of the lock on another machine or
// branch, or it was installed before there was a lock.
type Stray struct {
	Name string
	Dir  string // absolute, of the skill itself
	Ours bool   // this installation of kx wrote it

	target Target
	entry  Locked // as if the lock had it
}

// Strays are all of a project, ascending by Dir. What kx sync keeps there is none, and
// neither is anything of a user's own lock: what is there besides was put there by them.
func (w *Workspace) Strays() []Stray {
	if w.o.User || w.o.Shared {
		return nil
	}
	dirs := slices.Sorted(maps.Keys(agentFolders()))
	listed := map[string]bool{} // by real folder and name
	reals := map[string]string{}
	for name, s := range w.lock.Skills {
		for _, t := range s.Targets {
			real, known := reals[t.Dir]
			if !known {
				real, _ = w.inProject(w.Path(t))
				reals[t.Dir], dirs = real, append(dirs, t.Dir)
			}
			listed[real+"/"+name] = true
		}
	}
	var out []Stray
	links := map[string]State{}
	seen := map[string]bool{}
	for _, dir := range dirs {
		t := Target{Dir: dir, Mode: AsCopy}
		real, inside := w.inProject(w.Path(t))
		root, err := w.root(w.Path(t))
		if !inside || seen[real] || root == nil || err != nil {
			continue
		}
		seen[real] = true
		entries, err := root.ReadDir(".")
		if err != nil {
			continue
		}
		for _, e := range entries {
			name := e.Name()
			if listed[real+"/"+name] {
				continue
			}
			state, err := look(root, name, false)
			switch {
			case err != nil:
			case state.Link != "":
				links[filepath.Join(w.Path(t), name)] = state
			case state.Status == Owned && state.Marker.Slug == name && !strings.HasPrefix(state.Marker.Source, syncSource):
				out = append(out, Stray{
					Name: name, Dir: filepath.Join(w.Path(t), name), Ours: state.Marker.Owner == w.o.Owner, target: t,
					entry: Locked{Source: state.Marker.Source, Name: state.Marker.Name, Digest: state.Marker.Digest, Targets: []Target{t}},
				})
			}
		}
	}
	for at, state := range links {
		if s, ok := w.strayLink(at, state, out); ok {
			out = append(out, s)
		}
	}
	sorting.Sort(out, func(a, b Stray) int { return strings.Compare(a.Dir, b.Dir) })
	return out
}

// strayLink tells whether a link leads to a skill of the lock, or to one of the strays,
// as kx makes links.
func (w *Workspace) strayLink(at string, state State, copies []Stray) (Stray, bool) {
	dir, ok := w.TargetDir(filepath.Dir(at))
	s := Stray{Name: state.Slug, Dir: at, Ours: true, target: Target{Dir: dir, Mode: AsLink}}
	if !ok {
		return s, false
	}
	var known bool
	if s.entry, known = w.lock.Skills[s.Name]; known && w.ourLink(&state, s.entry, s.target) {
		return s, true
	}
	i := slices.IndexFunc(copies, func(c Stray) bool {
		return c.Name == s.Name && c.target.Mode == AsCopy && w.ourLink(&state, c.entry, s.target)
	})
	if i >= 0 {
		s.entry, s.Ours = copies[i].entry, copies[i].Ours
	}
	return s, i >= 0
}

// straysOf are those of a removal's name that this installation of kx wrote.
func straysOf(r Removal, all []Stray) (out []Stray) {
	for _, s := range all {
		agents := agentFolders()[s.target.Dir]
		switch {
		case s.Name != r.Name || !s.Ours:
		case len(r.Dirs) > 0 && !slices.Contains(r.Dirs, filepath.Dir(s.Dir)):
		case len(r.Agents) > 0 && !slices.ContainsFunc(r.Agents, func(a string) bool { return slices.Contains(agents, a) }):
		default:
			out = append(out, s)
		}
	}
	return out
}
