package deliver

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/pack"
)

// Seen is one skill, or what was meant to be one, in a folder of skills.
type Seen struct {
	Dir         string // as an agent reaches it
	Slug        string // the folder's name
	Name        string // what its SKILL.md calls it, else Slug
	Description string
	Ours        bool        // this installation of kx wrote it
	Marker      *Marker     // of whichever kx wrote it; nil without one
	Other       string      // why a marker that is there is not ours
	Link        string      // the text of the link that it is
	Broken      bool        // that link leads nowhere
	Fault       *pack.Error // why no agent can read it; nil when one can

	real   string
	hidden int // how many folders it is below the first level
}

// SkillsFolder is one folder of skills with what is in it.
type SkillsFolder struct {
	Path string // as the agent's table says it
	Dir  string // what that is when links are followed
	Via  string // as in Placement
	// There says that it is there. Fault says why it could not be used if it were
	// or is.
	There     bool
	Fault     string
	Outside   bool
	Skills    []Seen   // ascending by Dir
	Leftovers []string // paths of what killed runs left in it and, while it was made, beside it

	counted Counts // of those that are not among Skills
}

// Counts are how many skills a folder holds.
type Counts struct {
	Ours    int `json:"ours"`    // that this kx wrote
	Foreign int `json:"foreign"` // all others
	Invalid int `json:"invalid"` // of both: no agent can read them
}

// Counts counts.
func (f *SkillsFolder) Counts() Counts {
	c := f.counted
	for i := range f.Skills {
		if f.Skills[i].Ours {
			c.Ours++
		} else {
			c.Foreign++
		}
		if f.Skills[i].Fault != nil || f.Skills[i].Broken {
			c.Invalid++
		}
	}
	return c
}

// Surveyed is one agent with the folders that it reads from here, the project's
// before the user's.
type Surveyed struct {
	Agent   Agent
	By      string // as in Detected; empty for one that is not here
	Folders map[Scope][]*SkillsFolder
	// NoFolder says why there is no folder in a scope.
	NoFolder map[Scope]string
}

// Survey looks at the folders of agents: of those that are here, or of all. Owner is
// that of InstallOptions; empty means that nothing is ours. It writes nothing and
// reads each folder once, however many agents share it, and of each skill its
// SKILL.md and marker alone.
func (s Surroundings) Survey(owner string, all bool) []Surveyed {
	return s.survey(owner, all, nil)
}

// Count is Survey for who wants the counts alone. Skills that look from outside as they
// did when they were read are counted as they were then, for an hour at most, and are not
// among the Skills of their folder; what it saw is kept below data, the folder of this
// installation of kx, which must be there.
func (s Surroundings) Count(owner string, all bool, data string, now time.Time) []Surveyed {
	return s.survey(owner, all, func(dir string) *glances {
		return recallGlances(data, "agents "+owner+" "+dir, now)
	})
}

// survey looks at folders. remembered gives what was seen of one; nil means nothing.
func (s Surroundings) survey(owner string, all bool, remembered func(dir string) *glances) []Surveyed {
	by := map[string]string{}
	for _, d := range s.Detect() {
		by[d.Agent.Name] = d.By
	}
	known := map[string]*SkillsFolder{}
	var out []Surveyed
	for _, a := range readTable() {
		if _, here := by[a.Name]; !here && !all {
			continue
		}
		v := Surveyed{Agent: a, By: by[a.Name], Folders: map[Scope][]*SkillsFolder{}, NoFolder: map[Scope]string{}}
		for _, scope := range Scopes {
			if _, err := s.Folder(a, scope); err != nil {
				v.NoFolder[scope] = err.Error()
			}
			for _, at := range s.reads(a, scope) {
				depth := levels(a)
				key := at + "\x00" + strconv.Itoa(depth)
				if known[key] == nil {
					known[key] = s.lookInto(at, scope, depth, owner, remembered)
				}
				v.Folders[scope] = append(v.Folders[scope], known[key])
			}
		}
		out = append(out, v)
	}
	return out
}

// maxLevels bounds how deep the folders of an agent are looked into that goes as
// deep as they are.
const maxLevels = 16

func levels(a Agent) int {
	switch a.Depth {
	case Deep:
		return maxLevels
	case 0:
		return 1
	}
	return a.Depth
}

func (s Surroundings) lookInto(at string, scope Scope, depth int, owner string, remembered func(dir string) *glances) *SkillsFolder {
	f := &SkillsFolder{Path: at, Dir: at}
	where, err := s.resolve(at, scope)
	if err != nil {
		f.Fault = err.Error()
		return f
	}
	f.Dir, f.Via, f.Outside, f.There = where.Dir, where.Via, where.Outside, !where.Create
	f.Leftovers = leftovers(filepath.Dir(f.Dir))
	if !f.There {
		return f
	}
	root, err := fsx.Open(f.Dir)
	if err != nil {
		f.Fault = plainError(err).Error()
		return f
	}
	defer root.Close()
	inside, err := fsx.Leftovers(root, ".")
	if err != nil {
		f.Fault = plainError(err).Error()
		return f
	}
	for _, name := range inside {
		f.Leftovers = append(f.Leftovers, filepath.Join(at, name))
	}
	if remembered == nil {
		f.Skills = candidates(f.Dir, at, depth, 0, nil)
		parallel(len(f.Skills), func(i int) { f.Skills[i].look(owner) })
	} else {
		f.count(root, owner, depth, remembered(f.Dir))
	}
	sorting.Sort(f.Skills, func(a, b Seen) int { return strings.Compare(a.Dir, b.Dir) })
	return f
}

// leftovers are the paths of what killed runs left in a folder, as far as it can be read.
func leftovers(dir string) (out []string) {
	root, err := fsx.Open(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	names, _ := fsx.Leftovers(root, ".")
	for _, name := range names {
		out = append(out, filepath.Join(dir, name))
	}
	return out
}

// count counts the skills that look as they did, and reads the others.
func (f *SkillsFolder) count(root fsx.Root, owner string, depth int, seen *glances) {
	names := slices.Collect(maps.Keys(seen.known))
	tallies := make([]Counts, len(names))
	parallel(len(names), func(i int) {
		last := seen.known[names[i]]
		one, ok := tallyOf(last.is)
		if !ok || hubapi.CheckName(names[i]) != nil {
			return
		}
		if sight, settled := last.again(root, names[i], seen.now); settled && sight.Sum == last.sum {
			tallies[i] = one
			seen.note(names[i], last)
		}
	})
	for _, one := range tallies {
		f.counted.Ours += one.Ours
		f.counted.Foreign += one.Foreign
		f.counted.Invalid += one.Invalid
	}
	f.Skills = candidates(f.Dir, f.Path, depth, 0, seen.next)
	parallel(len(f.Skills), func(i int) {
		v := &f.Skills[i]
		if v.hidden > 0 || v.Link != "" || hubapi.CheckName(v.Slug) != nil {
			v.look(owner) // it is not all in one folder of this one
			return
		}
		sight, settled := glance{}.again(root, v.Slug, seen.now)
		if v.look(owner); settled {
			seen.note(v.Slug, glance{sight.Sum, sight.Names, v.tally()})
		}
	})
	seen.save()
}

// tally is one skill as a word, for glance.
func (v *Seen) tally() string {
	whose, state := "foreign", "fine"
	if v.Ours {
		whose = "ours"
	}
	if v.Fault != nil || v.Broken {
		state = "invalid"
	}
	return whose + ":" + state
}

func tallyOf(word string) (c Counts, ok bool) {
	whose, state, _ := strings.Cut(word, ":")
	switch whose {
	case "ours":
		c.Ours = 1
	case "foreign":
		c.Foreign = 1
	default:
		return c, false
	}
	if state == "invalid" {
		c.Invalid = 1
	}
	return c, state == "invalid" || state == "fine"
}

// candidates lists the folders below dir that hold a skill, or a marker, or are
// links that lead nowhere, without those that are done. shown is what dir is called.
func candidates(dir, shown string, depth, hidden int, done map[string]glance) []Seen {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // a folder that is gone meanwhile, or that no agent can read either
	}
	var out []Seen
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !e.IsDir() && e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		if _, counted := done[e.Name()]; counted {
			continue
		}
		at := filepath.Join(dir, e.Name())
		v := Seen{Dir: filepath.Join(shown, e.Name()), Slug: e.Name(), Name: e.Name(), real: at, hidden: hidden}
		if !e.IsDir() {
			v.Link, _ = os.Readlink(at)
			info, err := os.Stat(at)
			switch {
			case err != nil:
				v.Broken = true
				out = append(out, v)
				continue
			case !info.IsDir():
				continue
			}
			if real, err := filepath.EvalSymlinks(at); err == nil {
				v.real = real
			}
		}
		switch {
		case holdsSkill(at):
			out = append(out, v)
		case depth > 1 && v.Link == "": // a link may lead around in a circle
			out = append(out, candidates(at, v.Dir, depth-1, hidden+1, nil)...)
		}
	}
	return out
}

func holdsSkill(dir string) bool {
	for _, name := range []string{skillFile, MarkerFile, foreignMarker, "skill.md"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// look reads the marker and the SKILL.md of one skill.
func (v *Seen) look(owner string) {
	if v.Broken {
		return
	}
	dir, err := fsx.Open(v.real)
	if err != nil {
		v.Fault = unreadable(err)
		return
	}
	defer dir.Close()
	state := State{Slug: filepath.Base(v.real)}
	if err := state.identify(dir); err == nil {
		switch {
		case state.Status == Owned:
			v.Marker, v.Ours = state.Marker, owner != "" && state.Marker.Owner == owner
			if !v.Ours {
				v.Other = "another installation of kx wrote it"
			}
		case state.marked():
			v.Other = state.Why
		}
	}
	data, err := dir.ReadFile(skillFile, pack.MaxBytes)
	if err != nil {
		v.Fault = unreadable(err)
		return
	}
	in := pack.Read(v.Slug, []pack.File{{Path: skillFile, Data: data}}, pack.Options{Format: pack.SkillMD})
	v.Name = in.Name
	if in.Pack == nil {
		v.Fault = in.Faults[0]
		return
	}
	v.Description = in.Pack.Description
}

// marked tells whether any installer left a marker.
func (s *State) marked() bool {
	return slices.ContainsFunc(s.entries, func(e fs.DirEntry) bool { return e.Name() == MarkerFile || e.Name() == foreignMarker })
}

func unreadable(err error) *pack.Error {
	e := &pack.Error{Kind: pack.KindPack, ID: "pack.unreadable", Place: pack.Place{File: skillFile}, Text: "it cannot be read: " + plainError(err).Error()}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.ID, e.Text = "pack.no-manifest", "there is no SKILL.md in it"
	case errors.Is(err, fsx.ErrNotRegular):
		e.ID, e.Text = "pack.not-regular", "SKILL.md is not a regular file"
	}
	return e
}
