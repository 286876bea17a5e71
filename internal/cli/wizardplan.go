package cli

import "github.com/kortecx/kx/pack"

// WizardAgent is one agent that skills can be installed for.
type WizardAgent struct {
	Name  string // as --agent takes it
	Title string
	Here  bool   // it was seen on this machine or in this project
	Why   string // how it is seen
}

// WizardWhere is where skills go: to the folders of agents, or to one that is named.
type WizardWhere struct {
	Agents []string
	Scope  string // project or user
	To     string
	Link   bool // one copy, and links to it in the other folders
}

// WizardFolder is one folder that skills go into.
type WizardFolder struct {
	Dir     string
	Via     string   // the path before links were followed, where it is another
	Agents  []string // all that read it
	Shared  []string // those of them that nobody asked for
	Create  bool     // it is not there yet
	Outside bool     // a link leads there, out of the project
}

// WizardFolders are the folders of a choice, and what cannot be reached.
type WizardFolders struct {
	Folders  []WizardFolder
	Unplaced []string // an agent and the reason, for people
}

// WizardPlan is exactly what an installation would write. It holds for the state of
// the disk that was seen: what changes in between is refused when it is carried out.
type WizardPlan struct {
	Where  WizardWhere
	Skills []*WizardSkill
	Writes []WizardWrite
	Lock   string   // the lock file that is written too; empty for none
	Accept bool     // grave findings were accepted
	Notes  []string // about the folders
}

// WizardAction is what happens to one folder.
type WizardAction string

// The actions.
const (
	WizardInstall   WizardAction = "install"
	WizardUpdate    WizardAction = "update"
	WizardMerge     WizardAction = "merge" // an update into which a person's edits go
	WizardKeep      WizardAction = "keep"  // edited, and left so
	WizardLink      WizardAction = "link"  // to the copy in another folder
	WizardUnchanged WizardAction = "unchanged"
)

// WizardWrite is one skill in one folder.
type WizardWrite struct {
	Skill  *WizardSkill
	Dir    string // the skill's own folder
	Agents []string
	Other  bool // nobody named it: the lock has the skill there too, and has one revision of it
	Action WizardAction
	LinkTo string   // the copy to which it is a link; empty for a copy
	From   string   // the version that is there, for an update
	Files  int      // that are written, the marker not counted
	Bytes  int64    // of them
	Lost   []string // files of a person that would be lost
	Widens []string // what an update asks for, or can do, that the installed one does not
	Fault  string   // why it cannot be written; empty when it can
	Hint   string   // what to do about Fault
}

// WizardEvent tells of an installation that is under way.
type WizardEvent struct {
	Done, Total int
	Ref         string // the skill that was just finished; empty at the start
	Dir         string
	Fault       string
}

// WizardResult is what an installation did: also one that was stopped, or that
// failed half way, holds everything that is on disk.
type WizardResult struct {
	Items   []WizardDone `json:"items"`
	Lock    string       `json:"lock,omitempty"`
	Command string       `json:"command"`         // does the same without questions
	Notes   []string     `json:"notes,omitempty"` // about the folders, and with --yes about the skills
}

// WizardDone is one skill in one folder, as it was installed.
type WizardDone struct {
	Name     string      `json:"name"`
	Author   string      `json:"author"`
	Version  string      `json:"version"`
	Digest   pack.Digest `json:"digest"`
	Path     string      `json:"path"`
	Agents   []string    `json:"agents"`
	Outcome  string      `json:"outcome,omitempty"` // empty when it failed
	Mode     string      `json:"mode"`              // copy or link
	NoLink   string      `json:"no_link,omitempty"` // why it is a copy where a link was wanted
	Signed   bool        `json:"signed"`
	Verified bool        `json:"verified"` // read back from disk and compared
	Problem  string      `json:"problem,omitempty"`
	Changes  []string    `json:"changes,omitempty"` // of an update, in what it asks for or can do
}
