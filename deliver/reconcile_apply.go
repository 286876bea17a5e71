package deliver

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/workers"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

// syncSource begins the source in the markers of a reconciler.
const syncSource = "sync:"

// Bounds of what is fetched, and of what is staged, before it is made durable.
const (
	preparers     = 4
	prepareSkills = 64
	batchBytes    = 16 << 20
	batchSkills   = 256
)

// targetRun is one target in one Run.
type targetRun struct {
	*reconciliation
	target  SyncTarget
	out     *hubapi.ReconcileTarget
	root    fsx.Root
	known   *receipts
	entries map[string]fs.DirEntry
	dirty   bool // receipts have to be saved
	claimed bool
	verify  bool
	undone  bool // something is left to do here
}

func (t *targetRun) run(ctx context.Context) error {
	made := min(missing(t.target.Dir), maxMade)
	if t.DryRun {
		root, err := fsx.Open(t.target.Dir)
		if errors.Is(err, fs.ErrNotExist) {
			t.known = &receipts{}
			t.claimed = t.target.Mode == OwnedTarget
			return t.follow(ctx, map[string]found{})
		}
		if err != nil {
			return err
		}
		t.root = fsx.DryRun(root)
	} else {
		root, err := t.open(t.target.Dir, 0o755)
		if err != nil {
			return err
		}
		t.root = root
	}
	defer t.root.Close()
	if !t.DryRun {
		unlock, err := fsx.LockDir(t.target.Dir)
		if err != nil {
			return err
		}
		defer unlock()
		// What a killed run left is in nobody's way if it cannot be removed now.
		_ = fsx.SweepStaged(t.root, ".")
	}
	var err error
	if t.known, err = readReceipts(t.state, realPath(t.target.Dir)); err != nil {
		return err
	}
	if made > 0 {
		t.known.Made, t.dirty = made, true
	}
	entries, err := t.root.ReadDir(".")
	if err != nil {
		return err
	}
	if err := t.claim(entries); err != nil {
		return err
	}
	names := namesOf(t.known)
	t.entries = make(map[string]fs.DirEntry, len(entries))
	for _, e := range entries {
		t.entries[e.Name()] = e
		// A folder that no skill could be in is nobody's business here.
		if t.target.Mode == OwnedTarget && e.IsDir() && hubapi.CheckName(e.Name()) == nil {
			names[e.Name()] = true
		}
	}
	for _, w := range t.catalogue.wants {
		names[w.folder] = true
	}
	t.verify = t.Verify || t.Now().Sub(t.known.VerifiedAt) > verifyEvery || t.known.VerifiedAt.After(t.Now())
	return t.follow(ctx, t.look(names))
}

// follow plans for what is on disk, and carries it out.
func (t *targetRun) follow(ctx context.Context, disk map[string]found) error {
	t.beginOrigin()
	hold, proven := t.proof(t.known)
	s := situation{
		mode: t.target.Mode, claimed: t.claimed, wants: t.catalogue.wants, named: t.catalogue.named,
		disk: disk, hold: hold, proven: proven,
	}
	steps := s.plan()
	t.shareOrigin(steps)
	failures, held := len(t.details.Failed), len(t.details.Held)
	err := t.apply(ctx, steps, disk)
	if t.DryRun {
		return err
	}
	if t.verify {
		t.known.VerifiedAt, t.dirty = t.Now().UTC().Truncate(time.Second), true
	}
	t.settle(disk)
	if err == nil && len(t.details.Failed) == failures {
		// Who confirms what goes confirms the move to another hub; what is kept for its
		// edits is kept whoever is followed.
		t.endOrigin(!t.undone, t.ConfirmRemovals && len(t.details.Held) == held)
	} else {
		t.endOrigin(false, false)
	}
	if t.dirty {
		err = errors.Join(err, t.known.save(t.state))
	}
	return err
}

// look finds out how folders stand, several at the same time.
func (t *targetRun) look(names map[string]bool) map[string]found {
	list := slices.Sorted(maps.Keys(names))
	finds := make([]found, len(list))
	parallel(len(list), func(n int) { finds[n] = t.lookAt(list[n]) })
	out := make(map[string]found, len(list))
	for i, name := range list {
		out[name] = finds[i]
	}
	return out
}

// lookAt is look for one folder. What looks as it did when every file was as written is
// not read again.
func (t *targetRun) lookAt(folder string) found {
	if t.entries != nil && t.entries[folder] == nil {
		return found{standing: standsAbsent}
	}
	known := t.known.at(folder)
	var seen glimpse
	if known != nil {
		believed := known.Stamp
		if t.verify || known.Pending != "" {
			believed = ""
		}
		if seen = t.lookOver(folder, believed, known.Names); seen.stamp != "" && seen.stamp == believed {
			return found{
				standing: standsOurs, slug: known.Slug, author: known.Author, version: known.Version,
				digest: known.Digest, signed: known.Signed, seen: seen, marker: known.Marker, held: known.Held,
			}
		}
	}
	state, err := Check(t.root, folder)
	if err != nil {
		return found{standing: standsOthers, why: reasonOf(err)}
	}
	f := t.judge(&state)
	f.seen = seen
	return f
}

// judge tells whose a folder is that was read.
func (t *targetRun) judge(s *State) found {
	switch {
	case s.Status == Absent:
		return found{standing: standsAbsent}
	case s.Status == Foreign && s.Why == whyUnmarked:
		return found{standing: standsForeign, why: s.Why}
	case s.Status == Foreign:
		return found{standing: standsOthers, why: s.Why}
	case s.Marker.Owner != t.Owner:
		return found{standing: standsOthers, why: "another installation of kx wrote it"}
	}
	m := s.Marker
	f := found{
		slug: s.Slug, author: m.Author, version: m.Version, digest: m.Digest, signed: len(m.Signature) > 0,
		marker: hexSum(s.marker), edits: s.Edits(),
		// The other way round a disk that keeps no execute bits would be written for ever.
		runs: slices.ContainsFunc(s.Differences, func(d Difference) bool { return d.Change == Mode && !m.Files[d.Path].Executable }),
	}
	known := t.known.at(s.Slug)
	switch {
	case known != nil && known.knows(f.marker):
		f.slug, f.held = known.Slug, known.Held
		if f.standing = standsOurs; len(f.edits) > 0 {
			f.standing = standsEdited
		}
	case strings.HasPrefix(m.Source, syncSource) && len(f.edits) == 0:
		f.standing, f.why = standsAlike, "its marker is not one that kx sync wrote here"
	default:
		f.standing, f.why = standsOthers, "kx skills install wrote it, or somebody changed its marker"
	}
	return f
}

// glimpse is how a folder looked from outside, before it was read.
type glimpse struct {
	stamp string // one word for the state of all its files; empty when they could not be looked at
	names string // of them, as in fsx.Sight
	old   bool   // a later change would show in the stamp
}

// lookOver takes the look of a folder. Where it may have the stamp that is believed, the
// names of then make it cheaper.
func (t *targetRun) lookOver(folder, believed, names string) glimpse {
	now := t.Now() // before looking, as Settled wants it
	if believed != "" && names != "" {
		sight, err := t.root.LookAgain(folder, names)
		if err == nil && stampOf(sight) == believed {
			return glimpse{believed, names, sight.Settled(now)}
		}
	}
	sight, err := t.root.LookOver(folder)
	if err != nil {
		return glimpse{}
	}
	return glimpse{stampOf(sight), sight.Names, sight.Settled(now)}
}

func stampOf(s fsx.Sight) string { return hex.EncodeToString(s.Sum[:]) }

// settle records how the folders that are as written look from outside.
func (t *targetRun) settle(disk map[string]found) {
	for folder, have := range disk {
		known := t.known.at(folder)
		if known == nil || have.standing != standsOurs || have.marker != known.Marker && have.marker != known.Pending {
			continue
		}
		now := *known
		now.Author, now.Version, now.Digest, now.Signed = have.author, have.version, have.digest, have.signed
		now.Marker, now.Pending, now.Stamp, now.Names = have.marker, "", "", ""
		if have.seen.old {
			now.Stamp, now.Names = have.seen.stamp, have.seen.names
		}
		if now != *known {
			*known, t.dirty = now, true
		}
	}
}

// apply carries a plan out: what is to be written first, so that a skill that moves is
// never missing.
func (t *targetRun) apply(ctx context.Context, steps []step, disk map[string]found) error {
	var writes, removals []step
	note := func(list *[]hubapi.ReconcileNote, st step) {
		*list = append(*list, hubapi.ReconcileNote{Dir: t.target.Dir, Slug: st.slug, Reason: st.why})
		t.undone = true
	}
	for _, st := range steps {
		if known := t.known.at(st.folder); known != nil && known.Held != (st.verb == doHold) && st.verb != doKeep && st.verb != doLeave {
			known.Held, t.dirty = st.verb == doHold, true
		}
		switch st.verb {
		case doNothing:
			t.installed(st, disk[st.folder])
		case doAdopt:
			have := disk[st.folder]
			t.known.put(receipt{Folder: st.folder, Slug: st.slug, Author: have.author, Version: have.version, Digest: have.digest, Signed: have.signed, Marker: have.marker})
			t.dirty = true
			t.installed(st, have)
		case doWrite, doUpdate:
			writes = append(writes, st)
		case doRemove, doPrune:
			removals = append(removals, st)
		case doForget:
			t.known.drop(st.folder)
			t.dirty = true
		case doCollide:
			t.out.Collisions = append(t.out.Collisions, st.slug)
			note(&t.details.Collided, st)
			t.log("collision", joined(t.target.Dir, st.folder), st.why)
		case doSpare: // told, and nothing that is left to do
			t.details.Collided = append(t.details.Collided, hubapi.ReconcileNote{Dir: t.target.Dir, Slug: st.slug, Reason: st.why})
			t.log("spared", joined(t.target.Dir, st.folder), st.why)
		case doKeep:
			note(&t.details.Kept, st)
			t.log("kept", joined(t.target.Dir, st.folder), st.why)
		case doHold:
			note(&t.details.Held, st)
			t.log("held", joined(t.target.Dir, st.folder), st.why)
		case doProtect:
			t.out.Protected = append(t.out.Protected, st.slug)
		}
	}
	if t.DryRun {
		for _, st := range writes {
			t.log("would "+string(st.verb), joined(t.target.Dir, st.folder), "")
			t.out.Added = append(t.out.Added, st.slug)
			t.installed(st, found{slug: st.slug, version: st.want.version, digest: st.want.digest})
		}
		for _, st := range removals {
			t.log("would remove", joined(t.target.Dir, st.folder), "")
			t.out.Removed = append(t.out.Removed, st.slug)
		}
		return nil
	}
	if err := t.writeAll(ctx, writes, disk); err != nil {
		return err
	}
	for _, st := range removals {
		if ctx.Err() != nil {
			return hubapi.Errorf(hubapi.Interrupted, "interrupted")
		}
		if err := t.remove(st); err != nil {
			t.fail(t.target.Dir, st.slug, err)
			continue
		}
		t.known.drop(st.folder)
		delete(disk, st.folder)
		t.dirty = true
		t.out.Removed = append(t.out.Removed, st.slug)
		t.log("removed", joined(t.target.Dir, st.folder), "")
	}
	return nil
}

func (t *targetRun) installed(st step, have found) {
	t.out.Installed = append(t.out.Installed, st.slug)
	have.slug = st.slug
	t.details.Installed = append(t.details.Installed, have.reconciled(st.folder))
}

// writing is one folder that is about to be written.
type writing struct {
	step   step
	before *State // nil when nothing is there
	marker *Marker
	sum    string // of the marker
	files  []fsx.File
	bytes  int
}

// writeAll writes folders in batches that are made durable at once.
func (t *targetRun) writeAll(ctx context.Context, steps []step, disk map[string]found) error {
	if len(steps) == 0 {
		return nil
	}
	if slices.ContainsFunc(steps, func(st step) bool { return !st.want.release }) {
		if err := t.texts(ctx); err != nil {
			return err
		}
		fresh := make(map[string]*want, len(t.catalogue.wants))
		for i := range t.catalogue.wants {
			fresh[t.catalogue.wants[i].folder] = &t.catalogue.wants[i]
		}
		for i := range steps {
			steps[i].want = fresh[steps[i].folder]
		}
	}
	var batch []*writing
	size := 0
	for len(steps) > 0 {
		if ctx.Err() != nil {
			return hubapi.Errorf(hubapi.Interrupted, "interrupted")
		}
		some := steps[:min(len(steps), prepareSkills)]
		steps = steps[len(some):]
		writings, errs := t.prepareSome(ctx, some)
		for i, w := range writings {
			if held, ok := errors.AsType[*needsReview](errs[i]); ok {
				t.reviewed(some[i], held.review)
				continue
			}
			if errs[i] != nil {
				t.fail(t.target.Dir, some[i].slug, errs[i])
				continue
			}
			batch, size = append(batch, w), size+w.bytes
		}
		if len(batch) > 0 && (len(steps) == 0 || size >= batchBytes || len(batch) >= batchSkills) {
			if err := t.commit(batch, disk); err != nil {
				return err
			}
			batch, size = nil, 0
		}
	}
	return nil
}

// prepareSome prepares several at the same time: releases wait for the hub.
func (t *targetRun) prepareSome(ctx context.Context, steps []step) ([]*writing, []error) {
	writings, errs := make([]*writing, len(steps)), make([]error, len(steps))
	workers.Each(len(steps), preparers, func(n int) {
		writings[n], errs[n] = t.prepareWriting(ctx, steps[n])
	})
	return writings, errs
}

// prepareWriting looks once more, gets the files and renders them.
func (t *targetRun) prepareWriting(ctx context.Context, st step) (*writing, error) {
	w := &writing{step: st}
	state, err := Check(t.root, st.folder)
	if err != nil {
		return nil, err
	}
	switch have := t.judge(&state); {
	case have.standing == standsAbsent && st.verb == doWrite:
	case (have.standing == standsOurs || have.standing == standsAlike) && st.verb == doUpdate:
		w.before = &state
	default:
		return nil, busy(st.folder)
	}
	p, signature := &pack.Pack{Format: pack.SkillMD, Name: st.folder, Files: []pack.File{{Path: skillFile, Data: st.want.text}}}, []byte(nil)
	if st.want.release {
		if p, signature, err = t.Fetch(ctx, st.want.ref(), st.want.unreviewed); err != nil {
			return nil, err
		}
		switch {
		case p.Digest() != st.want.digest:
			return nil, hubapi.Errorf(hubapi.Invalid, "the hub sent %s, and the catalogue says %s", p.Digest(), st.want.digest)
		case pack.SkillName(p) != st.folder:
			return nil, hubapi.Errorf(hubapi.Invalid, "it would be the folder %.80q, and the catalogue does not say so", pack.SkillName(p))
		}
	}
	if !st.want.release {
		if p, err = t.accepted(ctx, p); err != nil {
			return nil, err
		}
	}
	if w.before != nil && t.Review && (st.want.author == "" || st.want.unreviewed) {
		if err := t.needsReview(w.before, p); err != nil {
			return nil, err
		}
	}
	if w.before != nil && signedByKey(w.before.Marker.Signature) && !signedByKey(signature) {
		return nil, refusal(hubapi.Conflict, sign.IDStripped, st.folder, "what is there is signed with a key, and %s is not", st.want.ref()).
			WithHint("ask the author; if that is as it should be, remove the folder %s, and sync again", joined(t.target.Dir, st.folder))
	}
	if w.files, err = render(p, st.folder); err != nil {
		return nil, err
	}
	if err := checkLengths(t.root.Name(), st.folder, w.files); err != nil {
		return nil, err
	}
	w.marker, err = newMarker(p, st.folder, w.files, InstallOptions{
		Owner: t.Owner, Author: st.want.author, Version: st.want.version,
		Source: syncSource + t.Origin, Signature: signature, Now: t.Now(),
	})
	if err != nil {
		return nil, err
	}
	encoded := w.marker.Encode()
	if len(encoded) > maxMarker {
		return nil, refusal(hubapi.TooLarge, IDTooLarge, "", "the marker of %s would be %d bytes, %d are allowed", st.folder, len(encoded), maxMarker)
	}
	w.sum = hexSum(encoded)
	w.files = append(w.files, fsx.File{Path: MarkerFile, Data: encoded, Perm: fileMode})
	for _, f := range w.files {
		w.bytes += len(f.Data)
	}
	return w, nil
}

// commit writes one batch. The receipts know the markers before they are on disk: a run
// that is killed between leaves nothing that is taken for somebody else's.
func (t *targetRun) commit(batch []*writing, disk map[string]found) error {
	for _, w := range batch {
		one := receipt{Folder: w.step.folder, Slug: w.step.slug}
		if known := t.known.at(w.step.folder); known != nil {
			one = *known
		}
		if w.before != nil {
			one.Marker = hexSum(w.before.marker) // it may have had no receipt
		}
		one.Slug, one.Pending, one.Stamp, one.Names = w.step.slug, w.sum, "", ""
		if one.Digest == "" {
			one.Digest = w.marker.Digest
		}
		t.known.put(one)
	}
	if err := t.known.save(t.state); err != nil {
		return fmt.Errorf("what is to be written could not be remembered: %w", err)
	}
	t.dirty = true
	stage := fsx.NewBatch(t.root, ".")
	var staged []*writing
	for _, w := range batch {
		var err error
		if w.before == nil {
			err = stage.Put(w.step.folder, w.files)
		} else {
			before := w.before
			err = stage.Replace(w.step.folder, w.files, func(old string) error { return before.still(t.root, old, false) })
		}
		if err != nil {
			t.fail(t.target.Dir, w.step.slug, diskError(w.step.folder, err))
			continue
		}
		staged = append(staged, w)
	}
	errs := stage.Commit()
	for i, w := range staged {
		switch failed := errs[i]; {
		case !notStaged(failed) && (errors.Is(failed, errMeanwhile) || errors.Is(failed, fs.ErrExist) || errors.Is(failed, fs.ErrNotExist)):
			t.fail(t.target.Dir, w.step.slug, busy(w.step.folder))
		case failed != nil:
			t.fail(t.target.Dir, w.step.slug, diskError(w.step.folder, failed))
		default:
			t.wrote(w, disk)
		}
	}
	return nil
}

func (t *targetRun) wrote(w *writing, disk map[string]found) {
	m := w.marker
	one := receipt{
		Folder: w.step.folder, Slug: w.step.slug, Author: m.Author, Version: m.Version, Digest: m.Digest,
		Signed: len(m.Signature) > 0, Marker: w.sum,
	}
	t.known.put(one)
	t.out.Added = append(t.out.Added, w.step.slug)
	have := found{standing: standsOurs, slug: one.Slug, author: one.Author, version: one.Version, digest: one.Digest, signed: one.Signed, marker: w.sum}
	disk[w.step.folder] = have
	t.installed(w.step, have)
	t.log("wrote", joined(t.target.Dir, w.step.folder), "")
}

// remove takes one folder away, if it is still what the plan saw.
func (t *targetRun) remove(st step) error {
	state, err := Check(t.root, st.folder)
	if err != nil {
		return err
	}
	check := func(old string) error { return state.still(t.root, old, false) }
	switch have := t.judge(&state); {
	case have.standing == standsAbsent:
		return nil
	case have.standing == standsOurs && st.verb == doRemove:
	case have.standing == standsForeign && st.verb == doPrune:
		check = func(old string) error { return t.stillForeign(old) }
	default:
		return busy(st.folder)
	}
	err = fsx.RemoveDir(t.root, st.folder, check)
	switch {
	case errors.Is(err, errMeanwhile):
		return busy(st.folder)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// stillForeign fails when somebody marked the folder that is about to be removed.
func (t *targetRun) stillForeign(moved string) error {
	dir, err := t.root.OpenDir(moved)
	if err != nil {
		return meanwhile(err)
	}
	defer dir.Close()
	now := State{Status: Foreign}
	if err := now.identify(dir); err != nil {
		return meanwhile(err)
	}
	if now.Why != whyUnmarked {
		return errMeanwhile
	}
	return nil
}
