package deliver

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/sorting"
)

// Placement is one folder into which a skill goes, for all the agents that read
// it.
type Placement struct {
	// Dir is absolute. Where the skills folder, or a folder on the way to it below
	// the project or the home, is a symbolic link, it is what that leads to.
	Dir string
	// Via is the path with the link in it, empty without one. Callers say it:
	// what is written appears in two places.
	Via string
	// Agents are the names of all agents that Dir reaches, in the order of the
	// table: those that were asked for, and those that are here and read it too.
	Agents []string
	// Shared are those of Agents that nobody asked for.
	Shared []string
	// Create says that Dir is not there yet.
	Create bool
	// Outside says that a link inside the project leads out of it, so that what is
	// written there is not the project's. Callers do not do that silently.
	Outside bool
}

// Unplaced is one agent that cannot be reached.
type Unplaced struct {
	Agent  string
	Path   string // its skills folder; empty when it has none
	Reason string
}

// Place finds the folders that reach agents in a scope. Each agent is in exactly
// one placement or is unplaced with a reason, and no two placements are the same
// folder, however it is spelled. Nothing is written. The error is for a scope that
// there is not.
func (s Surroundings) Place(agents []Agent, scope Scope) ([]Placement, []Unplaced, error) {
	if !slices.Contains(Scopes, scope) {
		return nil, nil, hubapi.Errorf(hubapi.Usage, "there is no scope %q", scope).WithHint("say project or user")
	}
	p := placer{s: s, scope: scope, asked: map[string]bool{}}
	for _, a := range agents {
		if !p.asked[a.Name] {
			p.asked[a.Name] = true
			p.place(a)
		}
	}
	p.share()
	return p.placements, p.unplaced, nil
}

type placer struct {
	s          Surroundings
	scope      Scope
	asked      map[string]bool
	placements []Placement
	real       []resolved // of each placement
	unplaced   []Unplaced
}

func (p *placer) place(a Agent) {
	at, err := p.s.Folder(a, p.scope)
	if err != nil || at == "" {
		p.fail(a, at, err)
		return
	}
	where, err := p.s.resolve(at, p.scope)
	if err != nil {
		p.fail(a, at, err)
		return
	}
	for i := range p.placements {
		if known := &p.placements[i]; p.real[i].same(where) {
			known.Agents = append(known.Agents, a.Name)
			known.Via = cmp.Or(known.Via, where.Via)
			known.Outside = known.Outside || where.Outside
			return
		}
	}
	where.Agents = []string{a.Name}
	p.placements, p.real = append(p.placements, where.Placement), append(p.real, where)
}

func (p *placer) fail(a Agent, at string, err error) {
	reason := "it has no folder on this system"
	if err != nil {
		reason = err.Error()
	}
	p.unplaced = append(p.unplaced, Unplaced{Agent: a.Name, Path: at, Reason: reason})
}

// resolved is one skills folder with its links followed.
type resolved struct {
	Placement
	real string      // without any link
	info fs.FileInfo // nil when it is not there yet
}

// same compares two folders; a disk that folds case has one folder under two
// spellings.
func (r resolved) same(other resolved) bool {
	return r.real == other.real || r.info != nil && other.info != nil && os.SameFile(r.info, other.info)
}

// share adds the agents that are here and read a placement without having been
// asked for.
func (p *placer) share() {
	if len(p.placements) == 0 {
		return
	}
	for _, d := range p.s.Detect() {
		if p.asked[d.Agent.Name] {
			continue
		}
		for _, at := range p.s.reads(d.Agent, p.scope) {
			where, err := p.s.resolve(at, p.scope)
			if err != nil {
				continue
			}
			for i := range p.placements {
				known := &p.placements[i]
				if p.real[i].same(where) && !slices.Contains(known.Shared, d.Agent.Name) {
					known.Agents = append(known.Agents, d.Agent.Name)
					known.Shared = append(known.Shared, d.Agent.Name)
				}
			}
		}
	}
	order := map[string]int{}
	for i, a := range readTable() {
		order[a.Name] = i
	}
	for i := range p.placements {
		sorting.Stable(p.placements[i].Agents, func(a, b string) int { return cmp.Compare(order[a], order[b]) })
	}
}

// reads are all folders that an agent reads in a scope, its own first.
func (s Surroundings) reads(a Agent, scope Scope) []string {
	var out []string
	if at, err := s.Folder(a, scope); err == nil && at != "" {
		out = append(out, at)
	}
	if scope == ProjectScope && len(out) > 0 {
		for _, more := range a.Also {
			out = append(out, s.join(s.Project, more))
		}
	}
	return out
}

// resolve follows the links on the way to a skills folder. An error says in words
// why nothing can be put there.
func (s Surroundings) resolve(at string, scope Scope) (resolved, error) {
	there, missing, info, err := deepest(at)
	if err != nil {
		return resolved{}, err
	}
	real, err := filepath.EvalSymlinks(there)
	if err != nil {
		return resolved{}, fmt.Errorf("%s cannot be looked at: %w", there, plainError(err))
	}
	real = filepath.Join(real, missing)
	out := resolved{Placement{Dir: real, Create: missing != ""}, real, info}
	if out.Create {
		out.info = nil
	} else if err := readable(real); err != nil {
		return resolved{}, fmt.Errorf("%s cannot be read: %w", at, plainError(err))
	}
	// A link above the project or the home is the user's own way of naming it.
	base := s.Home
	if scope == ProjectScope {
		base = s.Project
	}
	realBase, err := filepath.EvalSymlinks(base)
	if err != nil {
		realBase = base
	}
	if below, err := filepath.Rel(base, at); err == nil && !escapes(below) && filepath.Join(realBase, below) == real {
		out.Dir = at
	} else if real != filepath.Clean(at) {
		out.Via = at
	}
	if below, err := filepath.Rel(realBase, real); scope == ProjectScope && (err != nil || escapes(below)) {
		out.Outside = true
	}
	return out, nil
}

// deepest walks up to what is there of a path: a folder, whose info it gives, and
// what is missing below it.
func deepest(at string) (there, missing string, info fs.FileInfo, err error) {
	for there = at; ; there = filepath.Dir(there) {
		seen, err := os.Lstat(there)
		switch {
		case err == nil:
			if info, err = os.Stat(there); err != nil {
				return "", "", nil, badLink(there, seen, err)
			}
			if !info.IsDir() {
				return "", "", nil, fmt.Errorf("%s is not a folder", there)
			}
			return there, missing, info, nil
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return "", "", nil, fmt.Errorf("%s cannot be looked at: %w", there, plainError(err))
		case filepath.Dir(there) == there:
			return "", "", nil, fmt.Errorf("%s is not there", there)
		}
		missing = filepath.Join(filepath.Base(there), missing)
	}
}

func escapes(rel string) bool {
	return rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func readable(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return f.Close()
}

func badLink(at string, seen fs.FileInfo, err error) error {
	if seen.Mode()&fs.ModeSymlink == 0 {
		return fmt.Errorf("%s cannot be looked at: %w", at, plainError(err))
	}
	target, _ := os.Readlink(at)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is a link to %s, which is not there", at, target)
	}
	return fmt.Errorf("%s is a link to %s, which cannot be followed: %w", at, target, plainError(err))
}

// plainError is the system's reason without the operation and the path.
func plainError(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
