package deliver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/workers"
	"github.com/kortecx/kx/pack"
)

// WorkspaceOptions say whose lock it is and what it takes to work with it.
type WorkspaceOptions struct {
	// Dir is the project, or the user's home; absolute.
	Dir string
	// File is the lock file, which need not be there.
	File string
	// User says that the lock is a user's own: its folders may be anywhere.
	User bool
	// Shared says that another lock speaks of the same folders, as the user's own does
	// where the project is their home: what this one does not have is no stray then.
	Shared bool
	// Data is the folder of this installation of kx: store and journal are there.
	Data string
	// Owner is as in InstallOptions.
	Owner string
	Now   func() time.Time
	// Frozen keeps Apply from writing the lock.
	Frozen bool
	// AnyFolder agrees to folders of a project's lock that are no agent's and that
	// the user did not name before. Hidden ones, and the project itself, stay refused.
	AnyFolder bool
	// Named is the folder that the user named, if any: a lock may name it too, also
	// when it is hidden.
	Named string
	// Symlink makes a link in place of the system; nil leaves it to that.
	Symlink func(root fsx.Root, target, name string) error
	// wrap stands between the workspace and every directory that it opens; nil does
	// not. Tests end the process there.
	wrap func(fsx.Root) fsx.Root
	// Rebuild fetches a revision again that the store no longer has; nil cannot.
	Rebuild func(ctx context.Context, name string, past Past) (Kept, error)
	// SameOrigin tells whether two sources differ in nothing but the version or ref
	// that is asked for; nil compares their texts.
	SameOrigin func(a, b string) bool
}

// Workspace is one lock and the folders that it speaks of. What is to be done is
// planned first (Plan, PlanRemoval), which writes nothing, and then applied. After
// each Apply lock and folders agree, whatever failed; where the process was killed
// meanwhile, the next OpenWorkspace makes them agree.
type Workspace struct {
	o     WorkspaceOptions
	lock  *Lock
	data  []byte // of the lock file as it was read; nil without one
	store *Store

	// Repaired are the skills whose lock entry was mended when it was opened,
	// because an earlier run was killed.
	Repaired []string

	mu     sync.Mutex
	roots  map[string]fsx.Root // by directory
	absent map[string]bool     // directories that are not there, while a plan is made; else nil
	agreed []string            // folders of the project that the user names now

	madeNow map[string]bool // folders that this run made
	swept   map[string]bool // see sweep
}

// OpenWorkspace reads the lock. Without one it is empty, and is written when there
// is something in it.
func OpenWorkspace(o WorkspaceOptions) (*Workspace, error) {
	w := &Workspace{o: o, store: NewStore(filepath.Join(o.Data, "store")), roots: map[string]fsx.Root{}, madeNow: map[string]bool{}, swept: map[string]bool{}}
	w.store.open = w.openOrCreate
	if err := w.read(); err != nil {
		return nil, err
	}
	if err := w.repair(); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Close frees the folders that were opened.
func (w *Workspace) Close() error {
	var all error
	for _, root := range w.roots {
		if root != nil {
			all = errors.Join(all, root.Close())
		}
	}
	w.roots = nil
	return all
}

// Lock is what the lock says; the caller must not change it.
func (w *Workspace) Lock() *Lock { return w.lock }

// Locked reports whether there is a lock file.
func (w *Workspace) Locked() bool { return w.data != nil }

// File is the path of the lock file.
func (w *Workspace) File() string { return w.o.File }

func (w *Workspace) open(dir string) (fsx.Root, error) {
	root, err := fsx.Open(dir)
	if err == nil && w.o.wrap != nil {
		root = w.o.wrap(root)
	}
	return root, err
}

func (w *Workspace) openOrCreate(dir string, perm fs.FileMode) (fsx.Root, error) {
	root, err := fsx.OpenOrCreate(dir, perm)
	if err == nil && w.o.wrap != nil {
		root = w.o.wrap(root)
	}
	return root, err
}

func (w *Workspace) read() error {
	data, err := readLockFile(w.o.File)
	if errors.Is(err, fs.ErrNotExist) {
		w.data, w.lock = nil, &Lock{Skills: map[string]Locked{}}
		return nil
	}
	if err != nil {
		return err
	}
	lock, err := ParseLock(data)
	if err != nil {
		return err
	}
	if err := w.checkFolders(lock, data); err != nil {
		return err
	}
	w.data, w.lock = data, lock
	return nil
}

// LockedIn are the skills that a lock has in the folder dir, by name. Nothing is
// written, not even what an earlier run was kept from finishing. Of o it takes Dir, File
// and User.
func LockedIn(o WorkspaceOptions, dir string) (map[string]Locked, error) {
	data, err := readLockFile(o.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lock, err := ParseLock(data)
	if err != nil {
		return nil, err
	}
	w := Workspace{o: o}
	out := map[string]Locked{}
	for name, s := range lock.Skills {
		if slices.ContainsFunc(s.Targets, func(t Target) bool { return w.Path(t) == dir }) {
			out[name] = s
		}
	}
	return out, nil
}

// Had reports whether digest is of a revision that the lock accounts for.
func (s Locked) Had(digest pack.Digest) bool { return slices.Contains(s.digests(), digest) }

func readLockFile(file string) ([]byte, error) {
	root, err := fsx.Open(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	data, err := root.ReadFile(filepath.Base(file), maxLock)
	switch {
	case errors.Is(err, fsx.ErrNotRegular):
		return nil, lockFault(IDLockInvalid, 0, "it is not a regular file")
	case errors.Is(err, fsx.ErrTooLarge):
		return nil, lockFault(IDLockInvalid, 0, "it is larger than %d MiB", maxLock>>20)
	}
	return data, err
}

// root opens a folder of skills; nil when it is not there. It is closed with the
// workspace.
func (w *Workspace) root(dir string) (fsx.Root, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if root := w.roots[dir]; root != nil || w.absent[dir] {
		return root, nil
	}
	root, err := w.open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if w.absent != nil {
			w.absent[dir] = true
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	w.roots[dir] = root
	return root, nil
}

func lstat(p string) (fs.FileInfo, error) {
	root, err := fsx.Open(filepath.Dir(p))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Lstat(filepath.Base(p))
}

// Path is the folder of a target on this machine.
func (w *Workspace) Path(t Target) string {
	if rest, ok := strings.CutPrefix(t.Dir, "~/"); ok && w.o.User {
		return filepath.Join(w.o.Dir, filepath.FromSlash(rest))
	}
	if w.o.User {
		return filepath.FromSlash(t.Dir)
	}
	return filepath.Join(w.o.Dir, filepath.FromSlash(t.Dir))
}

// TargetDir is what a lock calls a folder; ok is false for one that the lock cannot
// name, because it is outside of the project.
func (w *Workspace) TargetDir(dir string) (name string, ok bool) {
	base := w.o.Dir
	rel, err := filepath.Rel(base, dir)
	if err != nil || escapesDir(rel) {
		if real, evalErr := filepath.EvalSymlinks(base); evalErr == nil {
			rel, err = filepath.Rel(real, dir)
		}
	}
	inside := err == nil && !escapesDir(rel)
	switch {
	case inside && w.o.User:
		return "~/" + filepath.ToSlash(rel), true
	case inside:
		return filepath.ToSlash(rel), true
	case w.o.User:
		return filepath.ToSlash(dir), true
	}
	return "", false
}

func escapesDir(rel string) bool {
	return rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) || filepath.IsAbs(rel)
}

// Standing is how a folder stands against the lock.
type Standing string

// The standings.
const (
	Current    Standing = "current"
	Stale      Standing = "stale"    // another revision than the lock wants
	Modified   Standing = "modified" // somebody edited it
	MissingDir Standing = "missing"
	NotOurs    Standing = "foreign" // something else is in its place
)

// Placed is one skill in one folder.
type Placed struct {
	Name     string
	Locked   Locked
	Target   Target
	Dir      string // absolute, of the skill itself
	Standing Standing
	Why      string // of NotOurs, of a link that leads nowhere, and of a copy where the lock has a link
	Fix      string // what to do about it, where that is not to move it away
	Edits    []Difference
	// Link is the copy that it leads to, where it is the link that the lock wants: it
	// stands as the copy does.
	Link string
}

// List tells how every skill of the lock stands in every one of its folders,
// ascending by name. A folder that cannot be read is reported and hides no other.
func (w *Workspace) List() []Placed { return w.list(nil) }

// Glance is List that does not read a folder which looks, from outside, as it did when
// it was last found as written. After an hour all are read.
func (w *Workspace) Glance() []Placed {
	seen := w.glances()
	out := w.list(seen)
	seen.save()
	return out
}

func (w *Workspace) list(seen *glances) []Placed {
	var out []Placed
	for _, name := range w.lock.Names() {
		s := w.lock.Skills[name]
		for _, t := range s.Targets {
			out = append(out, Placed{Name: name, Locked: s, Target: t, Dir: filepath.Join(w.Path(t), name)})
		}
	}
	parallel(len(out), func(i int) {
		if seen == nil || !w.standAsSeen(&out[i], seen) {
			w.stand(&out[i])
		}
	})
	followLinks(out)
	return out
}

// followLinks gives links the standing of their copies.
func followLinks(placed []Placed) {
	copies := map[string]*Placed{}
	for i := range placed {
		if placed[i].Target.Mode == AsCopy {
			copies[placed[i].Dir] = &placed[i]
		}
	}
	for i := range placed {
		p := &placed[i]
		c := copies[p.Link]
		if p.Link == "" || c == nil {
			continue
		}
		switch p.Standing, p.Why, p.Fix, p.Edits = c.Standing, c.Why, c.Fix, c.Edits; c.Standing {
		case MissingDir:
			p.Why = "it is a link to " + p.Link + ", which is not there"
		case NotOurs:
			p.Why = "it is a link to " + p.Link + ": " + c.Why
		}
	}
}

// standAsSeen is stand for a folder that looks as it did; false says that it does not. One
// that is read and found as written is remembered.
func (w *Workspace) standAsSeen(p *Placed, seen *glances) bool {
	if p.Target.Mode == AsLink {
		return false // it stands as its copy does
	}
	one, remembered := seen.known[p.Dir]
	// The look comes before the reading: what changes in between shows the next time.
	sight, ok := w.sight(p, one)
	if !ok {
		return false
	}
	if !remembered || one.sum != sight.Sum {
		state, err := w.check(p.Name, filepath.Dir(p.Dir))
		if err != nil || state.Status != Owned || len(state.Differences) > 0 {
			return false
		}
		one = glance{sight.Sum, sight.Names, string(state.Marker.Digest)}
	}
	seen.note(p.Dir, one)
	switch {
	case !slices.Contains(p.Locked.digests(), pack.Digest(one.is)):
		return false
	case one.is != string(p.Locked.Digest):
		p.Standing = Stale
	default:
		p.Standing = Current
	}
	return true
}

// sight is how the folder of p looks; ok is false where that proves nothing.
func (w *Workspace) sight(p *Placed, last glance) (sight fsx.Sight, ok bool) {
	root, err := w.root(filepath.Dir(p.Dir))
	if root == nil || err != nil {
		return sight, false
	}
	return last.again(root, p.Name, w.o.Now())
}

func (w *Workspace) stand(p *Placed) {
	state, err := w.check(p.Name, filepath.Dir(p.Dir))
	switch {
	case err == nil && p.Target.Mode == AsLink && state.Link != "":
		if w.ourLink(&state, p.Locked, p.Target) {
			p.Standing, p.Link = Current, w.canonical(p.Locked, p.Name)
		} else {
			p.Standing, p.Why = NotOurs, "it is a link to "+state.Link
		}
	case err != nil:
		p.Standing, p.Why = NotOurs, "it cannot be read: "+hubapi.AsError(err).Message
	case state.Status == Absent:
		p.Standing = MissingDir
	case state.Status == Foreign:
		p.Standing, p.Why = NotOurs, state.Why
	case !w.ours(&state, p.Locked):
		p.Standing, p.Why = NotOurs, "it holds "+state.Marker.Ref()+", which the lock does not know"
	case p.Target.Mode == AsLink:
		// Where there can be no links it is all that there can be.
		if p.Standing = NotOurs; len(state.Edits()) == 0 && state.Marker.Digest == p.Locked.Digest {
			p.Standing = Current
		}
		p.Why, p.Fix = copyForLink(&state)
	case len(state.Edits()) > 0:
		p.Standing, p.Edits = Modified, state.Edits()
	case state.Marker.Digest != p.Locked.Digest:
		p.Standing = Stale
	case len(state.Touched()) > 0:
		p.Standing, p.Edits = Modified, state.Touched()
	default:
		p.Standing = Current
	}
}

// check is Check in a folder that need not be there.
func (w *Workspace) check(slug, dir string) (State, error) {
	root, err := w.root(dir)
	if err != nil {
		return State{}, err
	}
	if root == nil {
		return State{Slug: slug, Status: Absent}, nil
	}
	return Check(root, slug)
}

// ours tells whether a folder with a marker is one that the lock accounts for. A
// marker alone proves nothing: anybody can write one.
func (w *Workspace) ours(state *State, s Locked) bool {
	return slices.Contains(s.digests(), state.Marker.Digest)
}

// ourLink tells whether a link is the one that the lock wants.
func (w *Workspace) ourLink(state *State, s Locked, t Target) bool {
	target, err := LinkTarget(w.Path(t), w.canonical(s, state.Slug))
	return err == nil && state.Link == target
}

// digests are all that may lie in a folder of s.
func (s Locked) digests() []pack.Digest {
	out := []pack.Digest{s.Digest}
	for _, t := range s.Targets {
		if t.Digest != "" {
			out = append(out, t.Digest)
		}
	}
	for _, p := range s.History {
		out = append(out, p.Digest)
	}
	return out
}

// parallel calls f for 0 to n-1, as many at a time as the machine has processors.
func parallel(n int, f func(i int)) {
	workers.Each(n, runtime.GOMAXPROCS(0), f)
}

// errLockChanged: the lock is not the one that was planned with.
func (w *Workspace) errLockChanged() error {
	return refusal(hubapi.Conflict, IDBusy, LockFile, "%s was changed by another program meanwhile", w.o.File).WithHint("run the command again")
}

// commit changes the lock: before and after name what happens to each skill, and do
// does it in the folders. It gives the entry that each skill really has then. The
// journal tells a later run what was meant, should this one be killed in between: do
// changes nothing that is there before recorded has said that it is written.
func (w *Workspace) commit(changes map[string]intent, do func(recorded func() error) map[string]*Locked) error {
	unlock, err := w.exclusive(changes)
	if err != nil {
		return err
	}
	defer unlock()
	if err := w.fits(changes); err != nil {
		return err
	}
	journal := filepath.Join(w.o.Data, filepath.FromSlash(journalName(w.o.File)))
	recorded := w.beside(func() error { return w.writeJournal(journal, changes) })
	entries := do(recorded)
	if err := recorded(); err != nil {
		return err
	}
	next := w.lock.clone()
	for name, entry := range entries {
		if entry == nil {
			delete(next.Skills, name)
		} else {
			next.Skills[name] = *entry
		}
	}
	if err := w.write(next); err != nil {
		return fmt.Errorf("the lock does not say yet what is in the folders, the next run sees to that: %w", err)
	}
	return w.removeJournal(journal)
}

// fits refuses changes after which the lock could not be written, before anything is done:
// the next run could not bring lock and folders together either.
func (w *Workspace) fits(changes map[string]intent) error {
	const most = 4 << 10 // bytes of one entry, as good as always
	if len(w.data)+most*len(changes) < maxLock {
		return nil
	}
	next := w.lock.clone()
	for name, c := range changes {
		if c.After == nil {
			delete(next.Skills, name)
		} else {
			next.Skills[name] = *c.After
		}
	}
	return checkSize(next.Encode())
}

func checkSize(lock []byte) error {
	if len(lock) > maxLock {
		return hubapi.Errorf(hubapi.TooLarge, "%s would have %d bytes, %d are allowed", LockFile, len(lock), maxLock)
	}
	return nil
}

// exclusive waits for other runs to leave the lock, and keeps them away. What they
// changed meanwhile is taken over, unless it is about the same skills.
func (w *Workspace) exclusive(changes map[string]intent) (unlock func(), err error) {
	dir := filepath.Dir(w.o.File)
	root, err := fsx.OpenOrCreate(dir, 0o755)
	if err != nil {
		return nil, err
	}
	release, err := fsx.LockDir(dir)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	unlock = func() {
		release()
		_ = root.Close() // where it was made for nothing it goes again
	}
	_ = fsx.SweepStaged(root, ".") // as in InstallAll
	now, err := readLockFile(w.o.File)
	if errors.Is(err, fs.ErrNotExist) {
		now, err = nil, nil
	}
	if err == nil && string(now) != string(w.data) {
		err = w.read()
	}
	if err == nil {
		err = w.unchanged(changes)
	}
	if err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// unchanged makes sure that nobody changed the skills in the lock since the changes
// were planned.
func (w *Workspace) unchanged(changes map[string]intent) error {
	for name, c := range changes {
		now, known := w.lock.Skills[name]
		switch {
		case !known && c.Before == nil, known && c.Before != nil && sameEntry(now, *c.Before):
		case known && c.After != nil && sameEntry(now, *c.After): // they did the same
		default:
			return w.errLockChanged()
		}
	}
	return nil
}

// write makes next the lock, on disk where it differs.
func (w *Workspace) write(next *Lock) error {
	data := next.Encode()
	if string(data) == string(w.data) || w.data == nil && len(next.Skills) == 0 {
		w.lock = next
		return nil
	}
	if err := checkSize(data); err != nil {
		return err
	}
	root, err := w.open(filepath.Dir(w.o.File))
	if err != nil {
		return err
	}
	if err := errors.Join(root.WriteFile(filepath.Base(w.o.File), data, 0o644), root.Close()); err != nil {
		return err
	}
	w.lock, w.data = next, data
	return nil
}
