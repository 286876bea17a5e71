package deliver

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/sorting"
)

// Ids of what Diagnose finds.
const (
	IDInvalidSkill    = "agents.invalid-skill"    // no agent reads it, and none says so
	IDShadowed        = "agents.shadowed"         // another skill of that name is loaded instead
	IDLoadedTwice     = "agents.loaded-twice"     // one skill is reached by two ways
	IDDescription     = "agents.description"      // an agent does not take its description
	IDListing         = "agents.listing"          // an agent has no room for all descriptions
	IDBrokenLink      = "agents.broken-link"      // it leads nowhere
	IDFolder          = "agents.folder"           // a skills folder cannot be used
	IDOutside         = "agents.outside"          // a skills folder leads out of the project
	IDLeftover        = "agents.leftover"         // of a run that was killed
	IDForeignMarker   = "agents.foreign-marker"   // another installer's folder
	IDEdited          = "agents.edited"           // somebody edited a folder of ours
	IDLockUnreadable  = "agents.lock-unreadable"  // the lock is none
	IDLockUnfinished  = "agents.lock-unfinished"  // a run was killed while it changed folders and lock
	IDLockDisagrees   = "agents.lock-disagrees"   // lock and folders differ
	IDUnlocked        = "agents.unlocked"         // a folder of ours that no lock has
	IDHomePermissions = "agents.home-permissions" // others can read or change what is the user's
)

// Level is how much a problem matters.
type Level string

// The levels. A Note is worth knowing and no reason to act.
const (
	Wrong   Level = "error"
	Doubted Level = "warning"
	Note    Level = "note"
)

// Problem is one thing that keeps an agent from seeing what the user expects.
type Problem struct {
	ID      string   `json:"id"`
	Level   Level    `json:"level"`
	Agents  []string `json:"agents"` // whom it concerns, in the order of the table; empty for all
	Path    string   `json:"path"`
	Message string   `json:"message"`
	Rule    string   `json:"rule,omitempty"`   // of IDInvalidSkill: the rule of kx check
	Winner  string   `json:"winner,omitempty"` // of IDShadowed: the folder that is loaded; empty when that is not known
	Loser   string   `json:"loser,omitempty"`
	Fix     string   `json:"fix"`
}

// DiagnoseOptions say whose view it is.
type DiagnoseOptions struct {
	// Owner is that of InstallOptions; empty when nothing was installed yet.
	Owner string
	// Workspaces are the locks to compare the folders with.
	Workspaces []WorkspaceOptions
}

// Diagnose gives what is wrong with what the agents that are here will see, in a
// fixed order, and the survey that it was found in. It writes nothing.
func (s Surroundings) Diagnose(o DiagnoseOptions) ([]Surveyed, []Problem) {
	survey := s.Survey(o.Owner, false)
	d := doctor{at: map[string]int{}, adopted: map[string]bool{}}
	locked := map[string]bool{}
	for _, w := range o.Workspaces {
		d.lock(w, locked)
	}
	for _, v := range survey {
		for _, scope := range Scopes {
			for _, f := range v.Folders[scope] {
				d.folder(v.Agent, f)
			}
		}
		d.view(v)
	}
	if len(o.Workspaces) > 0 {
		d.unlocked(survey, locked)
	}
	sorting.Stable(d.found, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(rank(a.Level), rank(b.Level)), strings.Compare(a.Path, b.Path), strings.Compare(a.ID, b.ID), strings.Compare(a.Message, b.Message))
	})
	return survey, d.found
}

func rank(l Level) int { return slices.Index([]Level{Wrong, Doubted, Note}, l) }

// doctor collects problems; what concerns many agents is one.
type doctor struct {
	found   []Problem
	at      map[string]int
	adopted map[string]bool // folders that hold what their lock says, whoever wrote them
}

func (d *doctor) add(agent string, p Problem) {
	key := p.ID + "\x00" + p.Path + "\x00" + p.Message
	i, known := d.at[key]
	if !known {
		i = len(d.found)
		d.at[key] = i
		p.Agents = []string{}
		d.found = append(d.found, p)
	}
	if agent != "" && !slices.Contains(d.found[i].Agents, agent) {
		d.found[i].Agents = append(d.found[i].Agents, agent)
	}
}

// folder finds what is wrong with one folder, whoever reads it.
func (d *doctor) folder(a Agent, f *SkillsFolder) {
	if f.Fault != "" {
		d.add(a.Name, Problem{ID: IDFolder, Level: Wrong, Path: f.Path, Message: f.Fault, Fix: "make it a folder, or remove it"})
		return
	}
	if f.Outside && f.There {
		d.add(a.Name, Problem{
			ID: IDOutside, Level: Doubted, Path: f.Path, Message: "it leads out of the project, to " + f.Dir,
			Fix: "what is installed for the project lands there; replace the link by a folder if that is not meant",
		})
	}
	for _, left := range f.Leftovers {
		d.add(a.Name, Problem{
			ID: IDLeftover, Level: Doubted, Path: left, Message: "a run that was killed left it",
			Fix: "the next kx skills install into this folder removes it",
		})
	}
	for i := range f.Skills {
		d.skill(a, &f.Skills[i])
	}
}

func (d *doctor) skill(a Agent, v *Seen) {
	switch {
	case v.Broken:
		d.add(a.Name, Problem{
			ID: IDBrokenLink, Level: Wrong, Path: v.Dir, Message: fmt.Sprintf("it is a link to %s, which is not there", v.Link),
			Fix: "remove the link, or install the skill again",
		})
		return
	case v.Fault != nil:
		text := v.Fault.Text
		if place := v.Fault.Place.String(); place != "" {
			text = place + ": " + text
		}
		d.add(a.Name, Problem{
			ID: IDInvalidSkill, Level: Wrong, Path: v.Dir, Message: "agents skip it without a word: " + text, Rule: v.Fault.ID,
			Fix: cmp.Or(v.Fault.Hint, "kx check shows all that is wrong with it"),
		})
	}
	switch {
	case v.Other == "":
	case d.adopted[v.Dir] || d.adopted[v.real]:
		d.add("", Problem{ID: IDForeignMarker, Level: Note, Path: v.Dir, Message: v.Other + ", and the lock has it", Fix: "nothing has to be done: kx skills update and remove see to it as to one of their own"})
	default:
		d.add("", Problem{ID: IDForeignMarker, Level: Note, Path: v.Dir, Message: v.Other, Fix: "kx does not touch it; use what installed it"})
	}
}

// view finds what is wrong with all that one agent sees together.
func (d *doctor) view(v Surveyed) {
	byName := map[string][]*Seen{}
	var names []string
	listing := 0
	type size struct {
		name string
		n    int
	}
	var sizes []size
	seen := map[string]bool{} // by real folder: each is listed once
	for _, scope := range Scopes {
		for _, f := range v.Folders[scope] {
			for i := range f.Skills {
				skill := &f.Skills[i]
				if skill.Fault != nil || skill.Broken {
					continue
				}
				if byName[skill.Name] == nil {
					names = append(names, skill.Name)
				}
				byName[skill.Name] = append(byName[skill.Name], skill)
				n := utf8.RuneCountInString(skill.Description)
				if !seen[skill.real] {
					listing += utf8.RuneCountInString(skill.Name) + n
					sizes = append(sizes, size{skill.Name, n})
				}
				seen[skill.real] = true
				if why, fix := v.Agent.Unread(skill.Description); why != "" {
					d.add(v.Agent.Name, Problem{ID: IDDescription, Level: Wrong, Path: skill.Dir, Message: why, Fix: fix})
				}
			}
		}
	}
	for _, name := range names {
		d.duplicates(v.Agent, name, byName[name])
	}
	if v.Agent.Listing > 0 && listing > v.Agent.Listing {
		sorting.Sort(sizes, func(a, b size) int { return cmp.Or(cmp.Compare(b.n, a.n), strings.Compare(a.name, b.name)) })
		longest := make([]string, 0, 3)
		for _, s := range sizes[:min(3, len(sizes))] {
			longest = append(longest, s.name)
		}
		d.add(v.Agent.Name, Problem{
			ID: IDListing, Level: Doubted,
			Message: fmt.Sprintf("names and descriptions of %d skills have %d characters, and its list has room for about %d: it leaves descriptions out", len(sizes), listing, v.Agent.Listing),
			Fix:     "shorten the longest (" + strings.Join(longest, ", ") + "), or remove skills",
		})
	}
}

// duplicates tells which of several skills of one name an agent takes. They come
// in the order in which it looks: the project's first.
func (d *doctor) duplicates(a Agent, name string, list []*Seen) {
	winner := list[0]
	if a.Loads == LastWins {
		winner = list[len(list)-1]
	}
	for _, other := range list {
		switch {
		case other == winner:
		case other.real == winner.real:
			if other.Dir != winner.Dir {
				d.add(a.Name, Problem{
					ID: IDLoadedTwice, Level: Note, Path: other.Dir, Message: "it is the same folder as " + winner.Dir + ", which is read too",
					Fix: "nothing has to be done: both are one skill",
				})
			}
		case a.Loads == "":
			d.add(a.Name, Problem{
				ID: IDShadowed, Level: Doubted, Path: other.Dir, Loser: other.Dir,
				Message: fmt.Sprintf("it is called %s like %s, and which of them is loaded is not known", name, winner.Dir),
				Fix:     "remove one of them, or give it another name",
			})
		default:
			d.add(a.Name, Problem{
				ID: IDShadowed, Level: Doubted, Path: other.Dir, Winner: winner.Dir, Loser: other.Dir,
				Message: fmt.Sprintf("it is called %s like %s, which is loaded instead", name, winner.Dir),
				Fix:     "remove one of them, or give it another name",
			})
		}
	}
}

// lock compares one lock with the folders, without mending anything. It marks in
// known the folders that the lock accounts for.
func (d *doctor) lock(o WorkspaceOptions, known map[string]bool) {
	w := &Workspace{o: o, roots: map[string]fsx.Root{}}
	if err := w.read(); err != nil {
		d.add("", Problem{ID: IDLockUnreadable, Level: Wrong, Path: o.File, Message: hubapi.AsError(err).Message, Fix: cmp.Or(hubapi.AsError(err).Hint, "restore it from version control")})
		return
	}
	defer w.Close()
	if pending, err := readJournal(filepath.Join(o.Data, journalName(o.File)), o.File); err == nil && len(pending) > 0 {
		d.add("", Problem{ID: IDLockUnfinished, Level: Doubted, Path: o.File, Message: "a run was killed while it changed the folders", Fix: "any kx skills command here ends what it began; kx skills list --installed is one"})
	}
	for _, p := range w.List() {
		adopted := p.Standing != NotOurs && p.Standing != MissingDir
		known[p.Dir], d.adopted[p.Dir] = true, adopted
		if real, err := filepath.EvalSymlinks(p.Dir); err == nil {
			known[real], d.adopted[real] = true, adopted
		}
		d.placed(p)
	}
}

func (d *doctor) placed(p Placed) {
	if p.Link != "" {
		return // its state is that of the copy that it leads to
	}
	problem := Problem{ID: IDLockDisagrees, Level: Wrong, Path: p.Dir, Fix: "kx skills install without an argument writes what the lock says"}
	switch p.Standing {
	case Current:
		if p.Why == "" {
			return
		}
		problem.Level, problem.Message, problem.Fix = Doubted, p.Why, p.Fix
	case Modified:
		problem.ID, problem.Level, problem.Message = IDEdited, Doubted, editedText(p.Edits)
		problem.Fix = "kx skills update keeps the edits; kx skills install --force loses them"
	case Stale:
		problem.Message = fmt.Sprintf("the lock wants %s, another revision lies there", shortDigest(p.Locked.Digest))
	case MissingDir:
		problem.Message = "the lock has it, and it is not there"
	case NotOurs:
		problem.Message = "the lock has it, and something else is in its place: " + p.Why
		problem.Fix = cmp.Or(p.Fix, "move it away, then kx skills install without an argument")
	default:
		problem.Message = "it is " + string(p.Standing)
	}
	d.add("", problem)
}

func editedText(edits []Difference) string {
	words := make([]string, 0, len(edits))
	for _, e := range edits {
		words = append(words, e.String())
	}
	const shown = 3
	text := "somebody edited it since it was installed: " + strings.Join(words[:min(shown, len(words))], ", ")
	if more := len(words) - shown; more > 0 {
		text += fmt.Sprintf(", %d more", more)
	}
	return text
}

// edited compares a folder that no lock has with its marker.
func (d *doctor) edited(a Agent, v *Seen) {
	root, err := fsx.Open(filepath.Dir(v.real))
	if err != nil {
		return // the look at the folder has told why
	}
	defer root.Close()
	if state, err := Check(root, filepath.Base(v.real)); err == nil && len(state.Touched()) > 0 {
		d.add(a.Name, Problem{
			ID: IDEdited, Level: Doubted, Path: v.Dir, Message: editedText(state.Touched()),
			Fix: "keep the changes elsewhere before it is installed again",
		})
	}
}

func unlockedFix(scope Scope, name string) string {
	if scope == ProjectScope {
		return "install it without --to to have it updated, or remove it with kx skills remove --installed " + name
	}
	return "install it without --to to have it updated, or remove it"
}

// unlocked finds folders of ours that no lock has.
func (d *doctor) unlocked(survey []Surveyed, known map[string]bool) {
	for _, v := range survey {
		for _, scope := range Scopes {
			for _, f := range v.Folders[scope] {
				for i := range f.Skills {
					if s := &f.Skills[i]; s.Ours && !known[s.Dir] && !known[s.real] {
						d.add(v.Agent.Name, Problem{
							ID: IDUnlocked, Level: Note, Path: s.Dir, Message: "kx installed it, and no lock here has it",
							Fix: unlockedFix(scope, s.Slug),
						})
						d.edited(v.Agent, s)
					}
				}
			}
		}
	}
}
