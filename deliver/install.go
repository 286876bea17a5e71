package deliver

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

// InstallOptions say as what a pack is installed.
type InstallOptions struct {
	// Owner is the installation of kx that installs, from its KX_HOME. Folders
	// that another one wrote are foreign. It must not be empty.
	Owner string
	// Slug names the folder; empty means pack.SkillName(p).
	Slug string
	// Author and Version of the release; empty means what the pack says.
	Author, Version string
	// Source is where the pack came from, for the record: a hub reference, a URL.
	Source string
	// Signature is the content of the release's signature file; nil without one.
	Signature []byte
	// Now is the time to record.
	Now time.Time
	// Force installs over what a person edited, and over another skill of ours
	// that has the same folder name. It never touches a foreign folder.
	Force bool
	// Adopt are digests by which a folder that another installation of kx wrote is
	// known to be the project's: its lock, which both share, says that one of them
	// lies there.
	Adopt []pack.Digest

	// sums are those of the pack's files, where somebody hashed them already.
	sums *pack.Summed
	// merged is what the folder is to hold instead of the pack's own files, because
	// a person changed some; seen are the files that it was merged from.
	merged, seen map[string]content
}

// Outcome is what an installation changed.
type Outcome string

// The outcomes.
const (
	New       Outcome = "new"
	Updated   Outcome = "updated"
	Recorded  Outcome = "recorded" // same files; the marker now names another version, source or signature
	Unchanged Outcome = "unchanged"
)

// Installed is how one pack was installed.
type Installed struct {
	Slug     string
	Outcome  Outcome
	Marker   Marker
	Previous pack.Digest // of what was there, empty for New
	// Differences are those that the folder had from its marker before. Unless
	// the outcome is Unchanged, they are gone.
	Differences []Difference
}

// Item is one pack of many.
type Item struct {
	Pack    *pack.Pack
	Options InstallOptions
}

// Result is the answer for one Item: Installed counts when Err is nil.
type Result struct {
	Installed
	Err error
}

// Install puts p into a folder of root named after it. It refuses, with a
// *hubapi.Error and nothing written, a folder that is not ours (IDCollision) and
// one that was edited (IDLocalEdits). The same pack again writes nothing.
func Install(root fsx.Root, p *pack.Pack, o InstallOptions) (Installed, error) {
	result := InstallAll(root, []Item{{p, o}}, nil)[0]
	return result.Installed, result.Err
}

// attempts is how often an installation looks again when another program changed
// the folder between its look and its write.
const attempts = 3

// InstallAll is Install for many packs. They become durable together, which is
// much cheaper; each is still as before or as after, and each has its own result,
// in the order of the items. before, which may be nil, is asked when they are on the
// disk and none is in its place yet: its error is that of each, and nothing is changed.
func InstallAll(root fsx.Root, items []Item, before func() error) []Result {
	// What a killed run left is in nobody's way: if it cannot be removed now, the
	// next run tries again.
	_ = fsx.SweepStaged(root, ".")
	results := make([]Result, len(items))
	open := everyOne(items)
	for range attempts {
		if len(open) == 0 {
			return results
		}
		open = installation{root, ".", before}.once(items, open, results)
	}
	for _, i := range open {
		results[i].Err = busy(results[i].Slug)
	}
	return results
}

// InstallNew is InstallAll for a directory that is not there yet: below root it comes to
// be under the name dir, with all of the folders, in one step. False says that somebody
// made it meanwhile, and that nothing was changed.
func InstallNew(root fsx.Root, dir string, items []Item, before func() error) ([]Result, bool) {
	results := make([]Result, len(items))
	again := installation{root, dir, before}.once(items, everyOne(items), results)
	return results, len(again) == 0
}

func everyOne(items []Item) []int {
	out := make([]int, len(items))
	for i := range out {
		out[i] = i
	}
	return out
}

// errMeanwhile ends an attempt: the folder is no longer what we looked at.
var errMeanwhile = errors.New("the folder changed meanwhile")

// installation writes folders into dir of a root: "." or a directory that is not there.
type installation struct {
	root   fsx.Root
	dir    string
	before func() error
}

// once makes one attempt for the items at open and gives those that have to be looked at
// again.
func (in installation) once(items []Item, open []int, results []Result) (again []int) {
	root := in.root
	batch := fsx.NewBatch(root, in.dir)
	batch.Before = in.before
	var staged []int
	slugs := map[string]bool{}
	plans := in.prepareAll(items, open)
	for n, i := range open {
		plan := plans[n]
		results[i].Installed = plan.installed
		switch {
		case plan.err != nil:
			results[i].Err = plan.err
			continue
		case plan.installed.Outcome == Unchanged:
			continue
		case slugs[plan.installed.Slug]:
			results[i].Err = refusal(hubapi.Conflict, IDCollision, plan.installed.Slug, "two of these skills would be the folder %s", plan.installed.Slug)
			continue
		}
		if err := plan.stage(root, batch); err != nil {
			results[i].Err = diskError(plan.installed.Slug, err)
			continue
		}
		slugs[plan.installed.Slug] = true
		staged = append(staged, i)
	}
	errs := batch.Commit()
	for n, i := range staged {
		switch {
		case errs[n] == nil:
		case notStaged(errs[n]):
			results[i].Err = diskError(results[i].Slug, errs[n])
		case errors.Is(errs[n], errMeanwhile), errors.Is(errs[n], fs.ErrExist), errors.Is(errs[n], fs.ErrNotExist):
			again = append(again, i)
		default:
			results[i].Err = diskError(results[i].Slug, errs[n])
		}
	}
	return again
}

// notStaged tells an error of the disk from one about the folder that was to be replaced.
func notStaged(err error) bool {
	_, ok := errors.AsType[*fsx.StageError](err)
	return ok
}

// DiskError is what the disk said when something was to be done with one skill.
type DiskError struct {
	Doing, Slug string // "install", the skill's folder
	Err         error
}

func diskError(slug string, err error) error { return &DiskError{"install", slug, err} }

func (e *DiskError) Error() string { return fmt.Sprintf("%s %s: %v", e.Doing, e.Slug, e.Err) }

// Unwrap gives what the disk said, and before that what is to be done about it.
func (e *DiskError) Unwrap() []error {
	if fsx.IsNoSpace(e.Err) {
		return []error{hubapi.Errorf(hubapi.NoSpace, "%s", e.Error()).WithHint("free some space on that disk, and run it again"), e.Err}
	}
	return []error{e.Err}
}

// Cause is what the disk said, without the place, for which it is the same with many skills.
func (e *DiskError) Cause() string {
	if at, ok := errors.AsType[*fs.PathError](e.Err); ok {
		return at.Err.Error()
	}
	if at, ok := errors.AsType[*os.LinkError](e.Err); ok {
		return at.Err.Error()
	}
	return e.Err.Error()
}

// plan is one installation that may go on.
type plan struct {
	installed Installed
	files     []fsx.File         // the marker among them
	before    *State             // nil when the folder is new
	seen      map[string]content // what it held then, where that matters
	force     bool
	err       error // there is nothing to go on with
}

// prepareAll looks at many folders at the same time.
func (in installation) prepareAll(items []Item, open []int) []plan {
	plans := make([]plan, len(open))
	parallel(len(open), func(n int) {
		item := items[open[n]]
		plans[n], plans[n].err = in.prepare(item.Pack, item.Options)
	})
	return plans
}

// prepare decides what has to be done; it writes nothing.
func (in installation) prepare(p *pack.Pack, o InstallOptions) (plan, error) {
	slug := o.Slug
	if slug == "" {
		slug = pack.SkillName(p)
	}
	out := plan{installed: Installed{Slug: slug}, force: o.Force, seen: o.seen}
	if o.Owner == "" {
		return out, hubapi.Errorf(hubapi.Usage, "no owner was given for the folders that are to be installed")
	}
	files, err := render(p, slug)
	if err != nil {
		return out, err
	}
	if err := checkLengths(filepath.Join(in.root.Name(), in.dir), slug, files); err != nil {
		return out, err
	}
	marker, err := newMarker(p, slug, files, o)
	if err != nil {
		return out, err
	}
	state := State{Slug: slug, Status: Absent}
	if in.dir == "." {
		if state, err = Check(in.root, slug); err != nil {
			return out, err
		}
	}
	out.installed.Outcome = New
	switch state.Status {
	case Foreign:
		return out, collision(slug, state.Why)
	case Owned:
		if out.installed, err = decide(&state, marker, o); err != nil || out.installed.Outcome == Unchanged {
			return out, err
		}
		out.before = &state
		if out.installed.Outcome == Recorded {
			marker.InstalledAt = state.Marker.InstalledAt
		}
	}
	out.installed.Marker = *marker
	encoded := marker.Encode()
	if len(encoded) > maxMarker {
		return out, refusal(hubapi.TooLarge, IDTooLarge, "", "the marker of %s would be %d bytes, %d are allowed", slug, len(encoded), maxMarker)
	}
	if o.merged != nil {
		files = asFiles(o.merged)
	}
	out.files = append(files, fsx.File{Path: MarkerFile, Data: encoded, Perm: fileMode})
	return out, nil
}

// decide compares what is there with what is to be there.
func decide(state *State, want *Marker, o InstallOptions) (Installed, error) {
	have, force := state.Marker, o.Force
	out := Installed{Slug: state.Slug, Outcome: Updated, Previous: have.Digest, Differences: state.Differences}
	if keptBySync(have, o) {
		return out, collision(state.Slug, "kx sync keeps it")
	}
	if have.Owner != want.Owner && !slices.Contains(o.Adopt, have.Digest) {
		return out, collision(state.Slug, "another installation of kx wrote it")
	}
	if other := have.Name != want.Name || have.Author != "" && want.Author != "" && have.Author != want.Author; other && !force {
		return out, collision(state.Slug, fmt.Sprintf("it holds %s, not %s", have.Ref(), want.Ref()))
	}
	if signedByKey(have.Signature) && !signedByKey(want.Signature) && have.Name == want.Name {
		return out, refusal(hubapi.Conflict, sign.IDStripped, state.Slug, "%s is signed with a key, and %s is not: a signature was taken away, or somebody else made it", have.Ref(), want.Ref()).
			WithHint("ask the author; if that is as it should be, remove the folder %s first", state.Slug)
	}
	edits := state.Edits()
	if len(edits) > 0 && !force && o.merged == nil {
		return out, localEdits(state.Slug, edits)
	}
	asWanted := have.Digest == want.Digest && have.Owner == want.Owner && maps.Equal(have.Files, want.Files) && !(force && len(state.Differences) > 0)
	switch {
	case asWanted && have.sameRecord(want):
		out.Outcome, out.Marker = Unchanged, *have
	case asWanted:
		out.Outcome = Recorded
	}
	return out, nil
}

// keptBySync tells whether a reconciler wrote a folder that is to be installed into
// by hand: it would take the next installation away again.
func keptBySync(have *Marker, o InstallOptions) bool {
	return strings.HasPrefix(have.Source, syncSource) && !strings.HasPrefix(o.Source, syncSource) && !slices.Contains(o.Adopt, have.Digest)
}

// signedByKey tells whether a signature file holds a signature by a key. What cannot
// be read holds none.
func signedByKey(signature []byte) bool {
	file, err := sign.ReadSignatureFile(signature)
	return err == nil && len(file.DSSE) > 0
}

// stage hands the files to the batch.
func (p *plan) stage(root fsx.Root, batch *fsx.Batch) error {
	if p.before == nil {
		return batch.Put(p.installed.Slug, p.files)
	}
	return batch.Replace(p.installed.Slug, p.files, func(old string) error {
		if p.seen != nil {
			return p.before.stillHolds(root, old, p.seen)
		}
		return p.before.still(root, old, p.force)
	})
}

// still fails when the folder, which is now at moved, is not what s says:
// somebody was at work between the look and the move. With force only the marker
// counts: the folder must be the one that we looked at, however edited.
func (s *State) still(root fsx.Root, moved string, force bool) error {
	dir, err := root.OpenDir(moved)
	if err != nil {
		return meanwhile(err)
	}
	defer dir.Close()
	now := State{Slug: s.Slug, Status: Foreign}
	if err := now.identify(dir); err != nil {
		return meanwhile(err)
	}
	if now.Status != Owned || !bytes.Equal(now.marker, s.marker) {
		return errMeanwhile
	}
	if force {
		return nil
	}
	if err := now.compare(dir); err != nil {
		return meanwhile(err)
	}
	if len(now.Edits()) > 0 {
		return errMeanwhile
	}
	return nil
}
