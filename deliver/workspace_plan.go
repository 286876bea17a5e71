package deliver

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/pack"
)

// IDSameName is the refusal of a second skill under the name of one that came from
// another source.
const IDSameName = "install.same-name"

// IDOtherFolders is the refusal to bring folders that were not named to another
// revision.
const IDOtherFolders = "install.other-folders"

// Offer is one pack that may be installed, and where it came from. Whoever makes it
// has verified it.
type Offer struct {
	Source, Revision string // as in Locked
	Author, Version  string // of the release; empty means what the pack says
	Pack             *pack.Pack
	Sums             *pack.Summed // of its files; nil where nobody hashed them yet
	Signature        []byte       // the content of its signature file; nil without one
	Signed           bool
	Signers          []string
}

// Spot is one folder of skills, and the agents for which a skill goes there.
type Spot struct {
	Dir    string // absolute
	Agents []string
	Mode   TargetMode // empty means AsCopy
}

// Wanted is one skill that is to be installed or updated.
type Wanted struct {
	Name  string // of its folder
	Offer Offer
	// Spots are added to the folders that the lock has for the skill.
	Spots []Spot
	// Force loses edits, and takes the place of another skill of ours. Foreign
	// folders stay untouched.
	Force bool
	// Side decides about files that a person and the update both changed.
	Side Side
	// KeepEdits leaves an edited folder that has the wanted revision as it is.
	// Without it, that is refused.
	KeepEdits bool
	// Replace allows another source than the lock names.
	Replace bool
	// Only says that somebody named the Spots and means nothing else. Other folders that
	// the lock has for the skill are left as they are; where it gets another revision,
	// it is refused: a lock has one of a skill, in all of its folders.
	Only bool
}

// Action is what is to be done in one folder.
type Action string

// The actions.
const (
	ActNone   Action = "unchanged"
	ActCreate Action = "install"
	ActUpdate Action = "update"
	ActMerge  Action = "merge" // an update into which a person's edits go
	ActKeep   Action = "keep"  // edited, and left so
	ActLink   Action = "link"
	ActRemove Action = "remove"
	ActForget Action = "forget" // nothing of ours is there: only the lock changes
)

// Step is what a plan does in one folder.
type Step struct {
	Dir    string // absolute, of the skill itself
	Agents []string
	Action Action
	Other  bool         // the lock has the folder, and no Spot names it
	Edits  []Difference // that were found there
	// Merged are the edited files that go on in the update, Conflicts those that it
	// changed too and about which Side decided.
	Merged, Conflicts []string
	Err               error // why it was not carried out
	// NoLink says why the folder has a copy where a link was wanted; nil where it has
	// what was wanted.
	NoLink error

	target    Target
	stray     *Locked // of a Stray: what the lock would say
	options   InstallOptions
	canonical string // of a link: the folder that it leads to
	copyOf    string // of a link that takes the place of a copy: who wrote that
}

// Planned is what is to be done about one skill.
type Planned struct {
	Name   string
	Before *Locked // nil for one that the lock does not have
	After  *Locked // nil for one that is removed
	Steps  []Step
	// Err refuses the whole skill: nothing of it is carried out.
	Err error

	offer Offer
	sums  *pack.Summed // of its files
	force bool
}

// Changes reports whether there is anything to carry out.
func (p *Planned) Changes() bool {
	for _, s := range p.Steps {
		if s.Action != ActNone && s.Action != ActKeep {
			return true
		}
	}
	return !p.SameEntry()
}

// OtherThan names what of a lock's entry is not as the lock has it.
func (p *Planned) OtherThan() string {
	switch {
	case p.Before == nil || p.After == nil:
	case p.Before.Name != p.After.Name:
		return "name"
	case p.Before.Format != p.After.Format:
		return "format"
	case p.Before.Digest != p.After.Digest:
		return "digest"
	}
	return "entry"
}

// SameEntry reports whether the lock says afterwards what it said before.
func (p *Planned) SameEntry() bool {
	return p.Before != nil && p.After != nil && sameEntry(*p.Before, *p.After)
}

// Plan says what each would do. Nothing is written. A skill of which one
// folder refuses is refused whole, so that it is never at two revisions.
func (w *Workspace) Plan(ctx context.Context, changes []Wanted) []Planned {
	out := make([]Planned, len(changes))
	sources := map[string][]string{}
	for _, c := range changes {
		sources[c.Name] = append(sources[c.Name], c.Offer.Source)
	}
	for i, c := range changes {
		if from := sources[c.Name]; len(from) > 1 {
			out[i] = Planned{Name: c.Name, Err: OneName(c.Name, from)}
		}
	}
	check := w.spotCheck()
	// All skills of a plan find the same folders.
	w.absent = map[string]bool{}
	defer func() { w.absent = nil }()
	parallel(len(changes), func(i int) {
		if out[i].Err == nil {
			out[i] = w.plan(ctx, changes[i], check)
		}
	})
	return out
}

// OneName refuses skills that are to be installed together under one name: which of them
// has it is not ours to say.
func OneName(name string, sources []string) error {
	return refusal(hubapi.Conflict, IDSameName, name, "%d skills would have the name %s, those from %s, so none of them is installed", len(sources), name, strings.Join(sources, " and ")).
		WithHint("name one of them; another one can be installed by itself, under another name with kx skills install --as")
}

func sameName(name, have, want string) error {
	return refusal(hubapi.Conflict, IDSameName, name, "the name %s belongs to the skill from %s, and this one is from %s", name, have, want).
		WithHint("install it under another name with kx skills install --as, or remove the other one first")
}

func (w *Workspace) sameOrigin(a, b string) bool {
	return a == b || w.o.SameOrigin != nil && w.o.SameOrigin(a, b)
}

func (w *Workspace) plan(ctx context.Context, c Wanted, check func(Spot) error) Planned {
	sums := c.Offer.Sums
	if sums == nil {
		made := pack.SumFiles(c.Offer.Pack.Files)
		sums = &made
	}
	p := Planned{Name: c.Name, offer: c.Offer, sums: sums, force: c.Force}
	after := entryOf(c.Offer, sums.Digest)
	if before, ok := w.lock.Skills[c.Name]; ok {
		p.Before = &before
		if !c.Replace && !w.sameOrigin(before.Source, c.Offer.Source) {
			p.Err = sameName(c.Name, before.Source, c.Offer.Source)
			return p
		}
		after.Targets = before.clone().Targets
		after.follows(before)
	}
	if err := w.addSpots(&after, c.Spots, check); err != nil {
		p.Err = err
		return p
	}
	w.keepOneCopy(&after)
	if len(after.Targets) == 0 {
		p.Err = hubapi.Errorf(hubapi.Usage, "no folder was named for %s", c.Name)
		return p
	}
	others := w.others(after, c.Spots)
	if err := w.onlyNamed(c, p.Before, after, others); err != nil {
		p.Err = err
	}
	for i := range after.Targets {
		step := Step{target: after.Targets[i], Agents: after.Targets[i].Agents, Dir: filepath.Join(w.Path(after.Targets[i]), c.Name)}
		step.Other = slices.Contains(others, step.target.Dir)
		if step.Other && c.Only && p.Err == nil && !w.linkedTo(after, step.target) {
			continue
		}
		after.Targets[i].Digest = ""
		step.options = InstallOptions{
			Owner: w.o.Owner, Slug: c.Name, Author: c.Offer.Author, Version: c.Offer.Version, Source: c.Offer.Source,
			Signature: c.Offer.Signature, Now: w.o.Now(), Force: c.Force, sums: sums,
		}
		if p.Before != nil && p.Before.target(step.target.Dir) >= 0 {
			step.options.Adopt = p.Before.digests()
		}
		decide := w.planStep
		if step.target.Mode == AsLink {
			step.canonical = w.canonical(after, c.Name)
			decide = w.planLink
		}
		if err := decide(ctx, &step, p.Before, c); err != nil && p.Err == nil {
			p.Err = err
		}
		p.Steps = append(p.Steps, step)
	}
	if _, why := after.fault(c.Name); why != "" {
		e := refusal(hubapi.Invalid, IDLockInvalid, "", "the skill %s cannot be recorded: %s", c.Name, why)
		if hubapi.CheckName(c.Name) != nil {
			e = e.WithHint("kx skills install --as NAME installs it under another name")
		}
		p.Err = e
	}
	p.After = &after
	return p
}

// entryOf is what a lock says of an offer, but for its folders.
func entryOf(o Offer, digest pack.Digest) Locked {
	out := Locked{
		Source: o.Source, Revision: o.Revision, Author: o.Author, Name: o.Pack.Name, Version: o.Version,
		Digest: digest, Format: o.Pack.Format, Signed: o.Signed, Signers: slices.Clone(o.Signers),
	}
	if out.Author == "" {
		out.Author = o.Pack.Author
	}
	if out.Version == "" {
		out.Version = o.Pack.Version
	}
	if out.Revision == "" {
		out.Revision = string(out.Digest)
	}
	slices.Sort(out.Signers)
	out.Signers = slices.Compact(out.Signers)
	out.Executable = Programs(o.Pack)
	return out
}

// Programs are the files of a pack that have the execute bit, as a lock lists them.
func Programs(p *pack.Pack) (out []string) {
	for _, f := range p.Files {
		if f.Executable {
			out = append(out, f.Path)
		}
	}
	return out
}

// ProgramsChanged are the files of two such lists that can be run now, and those that no
// longer can.
func ProgramsChanged(before, now []string) (more, less []string) { return changed(before, now) }

// WithPrograms gives the pack with the execute bit on these files alone.
func WithPrograms(p *pack.Pack, programs []string) *pack.Pack {
	out := *p
	out.Files = slices.Clone(p.Files)
	for i := range out.Files {
		out.Files[i].Executable = slices.Contains(programs, out.Files[i].Path)
	}
	return &out
}

// addSpots puts folders into an entry; one that is there gets the agents.
func (w *Workspace) addSpots(s *Locked, spots []Spot, check func(Spot) error) error {
	for _, spot := range spots {
		dir, ok := w.TargetDir(spot.Dir)
		if !ok {
			return outsideProject(spot.Dir, w.o.Dir)
		}
		if err := check(spot); err != nil {
			return err
		}
		mode := spot.Mode
		if mode == "" {
			mode = AsCopy
		}
		i := s.target(dir)
		if i < 0 {
			s.Targets = append(s.Targets, Target{Dir: dir, Mode: mode})
			i = len(s.Targets) - 1
		}
		t := &s.Targets[i]
		t.Agents = slices.Concat(t.Agents, spot.Agents)
		slices.Sort(t.Agents)
		t.Agents = slices.Compact(t.Agents)
		if len(t.Agents) == 0 {
			t.Agents = nil
		}
	}
	sorting.Sort(s.Targets, func(a, b Target) int { return strings.Compare(a.Dir, b.Dir) })
	return nil
}

// others are the folders of an entry that no spot names; none where nothing was named.
func (w *Workspace) others(s Locked, spots []Spot) (out []string) {
	if len(spots) == 0 {
		return nil
	}
	named := map[string]bool{}
	for _, spot := range spots {
		dir, _ := w.TargetDir(spot.Dir)
		named[dir] = true
	}
	for _, t := range s.Targets {
		if !named[t.Dir] {
			out = append(out, t.Dir)
		}
	}
	return out
}

// onlyNamed refuses what would bring folders that nobody named to another revision.
func (w *Workspace) onlyNamed(c Wanted, before *Locked, after Locked, others []string) error {
	if !c.Only || len(others) == 0 || before == nil || before.Digest == after.Digest && slices.Equal(before.Executable, after.Executable) {
		return nil
	}
	dirs := make([]string, len(others))
	for i, dir := range others {
		dirs[i] = w.Path(Target{Dir: dir})
	}
	e := refusal(hubapi.Conflict, IDOtherFolders, c.Name, "%s is also in %s, at %s, and %s has one revision of a skill: to have %s in the folder that you named would change it there too",
		c.Name, strings.Join(dirs, " and "), first(before.Version, before.Revision), LockFile, first(after.Version, after.Revision))
	return e.WithHint("--all-folders brings them along")
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// linkedTo tells whether links of an entry lead to the copy in t.
func (w *Workspace) linkedTo(s Locked, t Target) bool {
	return t.Mode == AsCopy && w.canonical(s, "") == w.Path(t) && slices.ContainsFunc(s.Targets, func(t Target) bool { return t.Mode == AsLink })
}

// sharedDir is the folder that most agents read. Where there are links, the copy is
// best there.
const sharedDir = ".agents/skills"

// keepOneCopy makes one folder of an entry the copy to which the links lead.
func (w *Workspace) keepOneCopy(s *Locked) {
	if len(s.Targets) == 0 || slices.ContainsFunc(s.Targets, func(t Target) bool { return t.Mode == AsCopy }) {
		return
	}
	at := max(slices.IndexFunc(s.Targets, func(t Target) bool { return strings.HasSuffix(t.Dir, sharedDir) }), 0)
	s.Targets[at].Mode = AsCopy
}

// canonical is the copy of a skill to which its links lead.
func (w *Workspace) canonical(s Locked, name string) string {
	for _, t := range s.Targets {
		if t.Mode == AsCopy {
			return filepath.Join(w.Path(t), name)
		}
	}
	return ""
}

func isRefusal(err error, id string) bool {
	e, ok := errors.AsType[*hubapi.Error](err)
	return ok && len(e.Details) > 0 && e.Details[0].ID == id
}

// planStep decides about one folder.
func (w *Workspace) planStep(ctx context.Context, step *Step, before *Locked, c Wanted) error {
	dir := filepath.Dir(step.Dir)
	state, err := w.check(c.Name, dir)
	if err != nil {
		return err
	}
	// What the installation itself would refuse is refused before anything is done.
	files, err := render(c.Offer.Pack, c.Name)
	if err != nil {
		return err
	}
	if err := checkLengths(dir, c.Name, files); err != nil {
		return err
	}
	switch state.Status {
	case Absent:
		step.Action = ActCreate
		return nil
	case Foreign:
		return collision(c.Name, state.Why)
	}
	have := state.Marker
	if keptBySync(have, step.options) {
		return collision(c.Name, "kx sync keeps it")
	}
	marker, err := newMarker(c.Offer.Pack, c.Name, files, step.options)
	if err != nil {
		return err
	}
	edits := state.Edits()
	step.Edits = edits
	if len(edits) > 0 && !c.Force {
		if have.Digest == marker.Digest && c.KeepEdits {
			step.Action = ActKeep
			return nil
		}
		if have.Digest != marker.Digest {
			return w.planMerge(ctx, step, before, have, c)
		}
		return localEdits(c.Name, edits)
	}
	installed, err := decide(&state, marker, step.options)
	if err != nil {
		return err
	}
	step.Action = ActUpdate
	if installed.Outcome == Unchanged {
		step.Action = ActNone
	}
	return nil
}

// planMerge brings the edits of a person into the update.
func (w *Workspace) planMerge(ctx context.Context, step *Step, before *Locked, have *Marker, c Wanted) error {
	root, err := w.root(filepath.Dir(step.Dir))
	if err != nil {
		return err
	}
	base, err := w.base(ctx, c.Name, before, have)
	if err != nil {
		return withDetail(localEdits(c.Name, step.Edits), "it cannot be merged, because what it was made of is not here any more: "+hubapi.AsError(err).Message)
	}
	ours, err := readContents(root, c.Name)
	if err != nil {
		return err
	}
	written, err := contentsOf(base, have.Slug)
	if err != nil {
		return err
	}
	theirs, err := contentsOf(c.Offer.Pack, c.Name)
	if err != nil {
		return err
	}
	merged, conflicts := mergeFiles(written, ours, theirs, c.Side)
	step.Conflicts = conflicts
	if len(conflicts) > 0 && c.Side == AskSide {
		e := refusal(hubapi.Conflict, IDLocalEdits, c.Name, "%s: you and the update changed the same place of %s", step.Dir, strings.Join(conflicts, ", "))
		return e.WithHint("nothing was written; take the update's files with --theirs, keep yours with --keep, or take your changes elsewhere and --force")
	}
	for _, name := range sortedKeys(merged) {
		if t, ok := theirs[name]; !ok || string(t.data) != string(merged[name].data) {
			step.Merged = append(step.Merged, name)
		}
	}
	for name := range theirs {
		if _, ok := merged[name]; !ok {
			step.Merged = append(step.Merged, name) // the person removed it
		}
	}
	slices.Sort(step.Merged)
	step.Action = ActMerge
	step.options.merged, step.options.seen = merged, ours
	return nil
}

func withDetail(e *hubapi.Error, why string) error {
	e.Message += "; " + why
	return e
}

func sortedKeys(m map[string]content) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// base is the pack that a folder was made of: from the store, or fetched again.
func (w *Workspace) base(ctx context.Context, name string, before *Locked, have *Marker) (*pack.Pack, error) {
	kept, err := w.store.Get(have.Digest)
	if err != nil {
		return nil, err
	}
	if k, ok := kept[have.Digest]; ok {
		return k.Pack, nil
	}
	if before != nil {
		for _, past := range append([]Past{before.past()}, before.History...) {
			if past.Digest == have.Digest {
				k, err := w.Recall(ctx, name, past)
				return k.Pack, err
			}
		}
	}
	return nil, hubapi.Errorf(hubapi.NotFound, "the content %s is not in the store", shortDigest(have.Digest))
}

// Recall gives a revision that a skill had: from the store, else from its source,
// which must still have the same content for it.
func (w *Workspace) Recall(ctx context.Context, name string, past Past) (Kept, error) {
	kept, err := w.store.Get(past.Digest)
	if err != nil {
		return Kept{}, err
	}
	if k, ok := kept[past.Digest]; ok {
		return k, nil
	}
	if w.o.Rebuild == nil {
		return Kept{}, hubapi.Errorf(hubapi.NotFound, "the content %s of %s is not in the store", shortDigest(past.Digest), name)
	}
	k, err := w.o.Rebuild(ctx, name, past)
	if err != nil {
		return Kept{}, err
	}
	if got := k.Pack.Digest(); got != past.Digest {
		return Kept{}, refusal(hubapi.Conflict, IDLockDrift, name, "the source %s has other content for %s now: %s, not %s", past.Source, past.Revision, shortDigest(got), shortDigest(past.Digest)).
			WithHint("look at it with kx skills update %s", name)
	}
	return k, nil
}

// Installed gives those of the revisions that this machine has installed, and still keeps.
// A lock does not say that: it comes with a project, from strangers too.
func (w *Workspace) Installed(digests ...pack.Digest) (packs []*pack.Pack) {
	kept, _ := w.store.Get(digests...) // what cannot be read is not known
	for _, k := range kept {
		packs = append(packs, k.Pack)
	}
	return packs
}

// Mode is how the skill lies in the folder.
func (s *Step) Mode() TargetMode { return s.target.Mode }

// LinkTo is the folder that the step's link leads to; empty for a copy.
func (s *Step) LinkTo() string { return s.canonical }
