// Package deliver puts skill packs into the directories that agents read, and
// takes them out again. A target is additive: beside ours it holds folders of
// people and of other tools, and those are never touched. What is ours says so in
// a marker file, with the hash of every file as it was written, so that what a
// person changed since is seen and not lost.
//
// It does not fetch, verify or judge packs: source, sign and scan do, before.
//
// Call Install for one pack, InstallAll for many, Check to see how a folder stands
// against its marker, Remove to take one away. Every change is atomic for its
// folder: whatever ends the process, it is as before or as after. Agents is the
// table of the programs that read skills; Surroundings says which are here and
// which folders reach them.
package deliver

import (
	"fmt"
	"strings"

	"github.com/kortecx/kx/hubapi"
)

// Ids of refusals, in hubapi.Detail.
const (
	IDCollision    = "install.collision"     // the folder is not ours
	IDLocalEdits   = "install.local-edits"   // a person changed it since
	IDName         = "install.name"          // the pack's name cannot be a folder's or a skill's
	IDReserved     = "install.reserved-name" // the pack has a file that is called like a marker
	IDTooLarge     = "install.too-large"     // the marker would be
	IDBusy         = "install.busy"          // another program kept changing it
	IDNotInstalled = "install.not-installed" // there is nothing to remove
	IDTooLong      = "path.too-long"         // no other program could open the file
)

// Change is how a file on disk differs from what was written.
type Change string

// The changes.
const (
	Added   Change = "added"
	Missing Change = "missing"
	Changed Change = "changed"
	Renamed Change = "renamed" // missing here, and there under a new name
	Mode    Change = "mode"    // only the execute bit
)

// Difference is one file of an installed skill that is not as it was written.
type Difference struct {
	Path   string `json:"path"` // below the skill's folder; ends in "/" for a folder that was not looked into
	Change Change `json:"change"`
	To     string `json:"to,omitempty"` // of Renamed: the new path
}

// String says it in words.
func (d Difference) String() string {
	switch d.Change {
	case Renamed:
		return d.Path + " renamed to " + d.To
	case Mode:
		return d.Path + " has another execute bit"
	}
	return d.Path + " " + string(d.Change)
}

// Edit reports whether this is somebody's work, which must not be lost. The
// execute bit is none, because some disks do not keep it, and neither is what
// programs leave behind by themselves.
func (d Difference) Edit() bool {
	return d.Change != Mode && !(d.Change == Added && isLitter(d.Path))
}

// isLitter names files that desktops and interpreters put into any folder that is
// opened or run from.
func isLitter(path string) bool {
	base := path[strings.LastIndexByte(strings.TrimSuffix(path, "/"), '/')+1:]
	switch base {
	case ".DS_Store", "Thumbs.db", "desktop.ini", "__pycache__/":
		return true
	}
	return strings.HasPrefix(base, "._") ||
		strings.HasSuffix(base, ".pyc") && (strings.HasPrefix(path, "__pycache__/") || strings.Contains(path, "/__pycache__/"))
}

// refusal is an error with one detail under id, which repeats its message.
func refusal(code hubapi.Code, id, file, format string, args ...any) *hubapi.Error {
	err := hubapi.Errorf(code, format, args...)
	err.Details = []hubapi.Detail{{ID: id, Message: err.Message, File: file}}
	return err
}

func collision(slug, why string) *hubapi.Error {
	return refusal(hubapi.Conflict, IDCollision, slug, "the folder %s is not ours: %s", slug, why).
		WithHint("move it away or install under another name; it has not been touched")
}

// localEdits refuses to lose edits.
func localEdits(slug string, edits []Difference) *hubapi.Error {
	const shown = 3
	words := make([]string, 0, shown+1)
	err := &hubapi.Error{Code: hubapi.Conflict}
	for i, d := range edits {
		if i < shown {
			words = append(words, d.String())
		}
		err.Details = append(err.Details, hubapi.Detail{ID: IDLocalEdits, Message: d.String(), File: slug + "/" + d.Path})
	}
	if more := len(edits) - shown; more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	err.Message = fmt.Sprintf("the folder %s was edited since it was installed: %s", slug, strings.Join(words, ", "))
	return err.WithHint("keep the changes elsewhere first, or lose them with --force")
}

func busy(slug string) *hubapi.Error {
	return refusal(hubapi.Conflict, IDBusy, slug, "the folder %s was changed by another program each time we looked", slug).
		WithHint("try again when it has finished")
}
