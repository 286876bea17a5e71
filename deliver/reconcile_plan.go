package deliver

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/pack"
)

// standing is how one folder of a target stands against what was written there.
type standing string

const (
	standsAbsent  standing = "absent"
	standsOurs    standing = "ours"    // as this reconciler wrote it
	standsEdited  standing = "edited"  // ours, with the work of a person in it
	standsAlike   standing = "alike"   // marked by this kx, unedited, without a receipt
	standsForeign standing = "foreign" // a folder that nobody marked
	standsOthers  standing = "others"  // not to be touched: another program's or kx's, a link, a file
)

// found is one name in a target.
type found struct {
	standing standing
	why      string // of what is not ours
	// What lies there, of what is ours or alike.
	slug, author, version string
	digest                pack.Digest
	signed                bool
	edits                 []Difference
	runs                  bool // a file that was not written to be run can be
	seen                  glimpse
	marker                string // hash of the marker file
	held                  bool   // its removal was held back before
}

// verb is what is to be done with one folder.
type verb string

const (
	doNothing verb = "same"
	doWrite   verb = "write"   // nothing is there
	doUpdate  verb = "update"  // ours, to be replaced
	doAdopt   verb = "adopt"   // equal to what is wanted: only the receipt is missing
	doRemove  verb = "remove"  // ours, and the catalogue no longer has it
	doPrune   verb = "prune"   // not ours, in a directory that belongs to the catalogue alone
	doForget  verb = "forget"  // the folder is gone, and nothing wants it
	doCollide verb = "collide" // wanted, and somebody else's
	doKeep    verb = "keep"    // edited: neither updated nor removed
	doHold    verb = "hold"    // would be removed, if more than this catalogue said so
	doProtect verb = "protect"
	doSpare   verb = "spare" // not ours, and marked by somebody, in a directory of the catalogue's alone
	doLeave   verb = "leave" // not in the catalogue, and it may stay
)

// step is one folder of a plan.
type step struct {
	folder string
	slug   string
	verb   verb
	why    string
	want   *want
}

// String is the step in words, for a plan that is printed.
func (s step) String() string {
	text := string(s.verb) + " " + s.folder
	if s.why != "" {
		text += ": " + s.why
	}
	return text
}

// situation is everything that a plan depends on.
type situation struct {
	mode    SyncMode
	claimed bool
	wants   []want
	named   map[string]bool
	disk    map[string]found // by folder
	// hold says why nothing may be removed; proven, that everything may.
	hold   string
	proven bool
}

// few is how many removals at a time need no proof: few enough that a person would
// see which.
const few = 3

// plan decides what happens to each folder, ascending by folder. It is pure: the same
// situation gives the same plan, and a plan that was carried out gives one without
// changes.
func (s situation) plan() []step {
	var steps []step
	wanted := make(map[string]bool, len(s.wants))
	for i := range s.wants {
		w := &s.wants[i]
		wanted[w.folder] = true
		steps = append(steps, s.towards(w))
	}
	for _, folder := range slices.Sorted(maps.Keys(s.disk)) {
		if !wanted[folder] {
			if st, ok := s.away(folder); ok {
				steps = append(steps, st)
			}
		}
	}
	s.holdBack(steps)
	sorting.Sort(steps, func(a, b step) int {
		if a.folder < b.folder {
			return -1
		}
		return 1
	})
	return steps
}

// towards is the step for a folder that the catalogue wants.
func (s situation) towards(w *want) step {
	st := step{folder: w.folder, slug: w.slug, want: w}
	have, ok := s.disk[w.folder]
	if !ok {
		have.standing = standsAbsent
	}
	same := have.digest == w.digest && have.author == w.author && have.version == w.version && have.signed == w.signed
	switch have.standing {
	case standsAbsent:
		st.verb = doWrite
	case standsOurs:
		if st.verb = doUpdate; same && have.slug == w.slug && !have.runs {
			st.verb = doNothing
		}
	case standsEdited:
		st.verb, st.why = doKeep, "it was edited since it was written: "+inWords(have.edits)
	case standsAlike:
		switch {
		case same:
			st.verb = doAdopt
		case have.digest == w.digest:
			st.verb = doUpdate // of the record alone
		default:
			st.verb, st.why = doCollide, have.why
		}
	default:
		st.verb, st.why = doCollide, have.why
	}
	return st
}

// away is the step for a folder that the catalogue does not want, if there is
// anything to say of it.
func (s situation) away(folder string) (step, bool) {
	have := s.disk[folder]
	st := step{folder: folder, slug: have.slug}
	if st.slug == "" {
		st.slug = folder
	}
	ours := have.standing == standsOurs || have.standing == standsEdited
	switch {
	case have.standing == standsAbsent:
		st.verb = doForget
	case isProtected(folder) && (ours || s.mode == OwnedTarget):
		st.verb = doProtect
	case s.named[folder] || ours && s.named[have.slug]:
		if st.verb, st.why = doLeave, "the catalogue has it in a form that cannot be used"; !ours {
			return step{}, false
		}
	case have.standing == standsEdited:
		st.verb, st.why = doKeep, "the catalogue no longer has it, and it was edited since it was written: "+inWords(have.edits)
	case have.standing == standsOurs:
		st.verb = doRemove
	case have.standing == standsForeign && s.mode == OwnedTarget && s.claimed:
		st.verb = doPrune
	case have.standing == standsForeign && s.mode == OwnedTarget:
		st.verb, st.why = doHold, "it was there before the folder became ours; claim the folder to have it removed"
	case s.mode == OwnedTarget:
		st.verb, st.why = doSpare, "the catalogue does not have it, and it is not ours to remove: "+have.why
	default:
		return step{}, false
	}
	return st, true
}

// holdBack turns removals into steps that say why they are not made, unless they are
// few or something proves that they are meant: an answer without skills, one of
// another tenant, or one that was cut, looks just like a catalogue of which much was
// withdrawn. What was held back once stays so until then, because the skills that such
// a catalogue brings would soon make it few. What others put into an owned directory
// is not counted: it goes by any catalogue that is not in doubt.
func (s situation) holdBack(steps []step) {
	removals, ours := 0, 0
	for _, st := range steps {
		switch st.verb {
		case doRemove:
			if !s.disk[st.folder].held {
				removals++
				ours++
			}
		case doNothing, doUpdate, doAdopt, doLeave:
			ours++
		}
	}
	if s.proven && s.hold == "" {
		return
	}
	all := s.hold
	if all == "" && len(s.named) == 0 {
		all = "the catalogue is empty"
	}
	mass := all
	switch {
	case mass != "" || removals == 0:
	case removals == ours:
		mass = "all that is there would go"
	case removals > few && 2*removals > ours:
		mass = fmt.Sprintf("%d of %d would go at once", removals, ours)
	}
	for i := range steps {
		st := &steps[i]
		why := ""
		switch {
		case st.verb == doPrune:
			why = all
		case st.verb == doRemove && mass != "":
			why = mass
		case st.verb == doRemove && s.disk[st.folder].held:
			why = "so was much else at the same time"
		}
		if why != "" {
			st.verb, st.why = doHold, "it is no longer in the catalogue, but "+why
		}
	}
}

// inWords is what a person changed, shortened.
func inWords(edits []Difference) string {
	const shown = 3
	text := ""
	for i, d := range edits[:min(len(edits), shown)] {
		if i > 0 {
			text += ", "
		}
		text += d.String()
	}
	if more := len(edits) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
