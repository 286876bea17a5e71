package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/accept"
	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/workers"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/source"
)

func scopeFlag() cli.Flag {
	return &cli.StringFlag{Name: "scope", Usage: "for the `SCOPE` project or user (default: the project that you stand in, else you)"}
}

// standing is the scope that a command is about, and where its lock is.
type standing struct {
	scope deliver.Scope
	dir   string // the project, or the user's home
	lock  string // the lock file
	data  string // of this installation of kx
	found bool   // a project was found, or is not needed
}

// projectMarks make a folder a project, the lock first.
var projectMarks = []string{deliver.LockFile, "kx.yaml", ".git"}

// findProject is the nearest folder from here upwards that is a project. The user's
// home is one only with a lock of its own: people keep their settings in git.
func (a *app) findProject() (string, error) {
	here, err := filepath.Abs(a.path("."))
	if err != nil {
		return "", err
	}
	for at := here; ; at = filepath.Dir(at) {
		marks := projectMarks
		if at == filepath.Clean(a.HomeDir) {
			marks = marks[:1]
		}
		for _, mark := range marks {
			if _, err := os.Lstat(filepath.Join(at, mark)); err == nil {
				return at, nil
			}
		}
		if filepath.Dir(at) == at {
			return "", nil
		}
	}
}

// standing finds the scope: the one that was asked for, else that of the project
// which the user stands in, else the user's.
func (a *app) standing(c *cli.Command) (standing, error) {
	home, err := a.home()
	if err != nil {
		return standing{}, err
	}
	project, err := a.findProject()
	if err != nil {
		return standing{}, err
	}
	s := standing{data: home.data, found: true}
	switch wanted := deliver.Scope(c.String("scope")); {
	case wanted != "" && !slices.Contains(deliver.Scopes, wanted):
		return s, usagef("there is no scope %q", wanted).WithHint("say project or user")
	case wanted == deliver.UserScope, wanted == "" && project == "":
		s.scope, s.dir, s.lock = deliver.UserScope, a.HomeDir, filepath.Join(home.data, deliver.LockFile)
		if s.dir == "" {
			s.dir = home.data
		}
	default:
		if s.found = project != ""; !s.found {
			if project, err = filepath.Abs(a.path(".")); err != nil {
				return s, err
			}
		}
		s.scope, s.dir, s.lock = deliver.ProjectScope, project, filepath.Join(project, deliver.LockFile)
	}
	return s, nil
}

// surroundingsOf are what decides where agents are, seen from a project.
func (a *app) surroundingsOf(project string) deliver.Surroundings {
	return deliver.Surroundings{Getenv: a.Getenv, Home: a.HomeDir, Project: project, OS: a.OS}
}

// installer is one command about installed skills: its scope, its lock, and the
// sources that it may need.
type installer struct {
	*standing
	a       *app
	c       *cli.Command
	ws      *deliver.Workspace
	sources *source.Sources
	hub     *hubclient.Client // nil when nothing of a hub is needed
	gate    *accept.Gate
	notes   notes
	owner   string
	// fromRecord reads sources that are in the lock, for the whole command: nobody typed
	// them here, so that an address of this machine is no exception.
	fromRecord func() *source.Sources
	// finish is what is left to do when the hub is closed: to ask a person, which takes
	// as long as they like while other commands want the hub, and to write what they
	// agree to. It has everything it needs; nil means nothing is left.
	finish func() error
}

// withInstaller opens the lock of the scope, and the hub where one of the sources is
// in it, or need says so.
func (a *app) withInstaller(ctx context.Context, c *cli.Command, need func(*deliver.Workspace) ([]source.Ref, error), use func(*installer) error) error {
	s, err := a.standing(c)
	if err != nil {
		return err
	}
	return a.withInstallerIn(ctx, c, s, need, use)
}

// withInstallerIn is withInstaller for a scope that is known already.
func (a *app) withInstallerIn(ctx context.Context, c *cli.Command, s standing, need func(*deliver.Workspace) ([]source.Ref, error), use func(*installer) error) error {
	owner, err := a.ownerID()
	if err != nil {
		return err
	}
	sources, done := a.sources(c, nil)
	defer done()
	sources.Dir = s.dir
	named := ""
	if c.Name == "install" && c.String("to") != "" {
		if named, err = filepath.Abs(a.path(c.String("to"))); err != nil {
			return err
		}
	}
	in := &installer{standing: &s, a: a, c: c, owner: owner, sources: sources}
	in.fromRecord = sync.OnceValue(func() *source.Sources {
		s := in.sources.Together()
		s.Net.Recorded = true
		return s
	})
	in.ws, err = deliver.OpenWorkspace(deliver.WorkspaceOptions{
		Dir: s.dir, File: s.lock, User: s.scope == deliver.UserScope, Shared: s.dir == filepath.Clean(a.HomeDir), Data: s.data, Owner: owner, Now: a.Now,
		Frozen: c.Bool("frozen"), AnyFolder: c.Name == "install" && c.NArg() == 0 && c.Bool("yes"), Named: named, Symlink: a.Symlink, Rebuild: in.rebuild, SameOrigin: sameOrigin,
	})
	if err != nil {
		return err
	}
	defer in.ws.Close()
	if len(in.ws.Repaired) > 0 {
		a.note("%s: an earlier run was interrupted; %s says again what is installed of %s", a.program, s.lock, strings.Join(in.ws.Repaired, ", "))
	}
	refs, err := need(in.ws)
	if err != nil {
		return err
	}
	in.gate = a.newGate(c, nil, &in.notes)
	if hubNeeded(refs) {
		err = a.withHub(ctx, c, func(hub *hubclient.Client) error {
			in.hub, in.gate.Hub, in.sources.Hub = hub, hub, hub
			return use(in)
		})
	} else {
		err = use(in)
	}
	if err == nil && in.finish != nil {
		err = in.finish()
	}
	in.notes.print(a)
	return err
}

// lockedRefs are the sources of a lock's skills; no names means all.
func lockedRefs(ws *deliver.Workspace, names []string) ([]source.Ref, error) {
	var out []source.Ref
	for _, name := range ws.Lock().Names() {
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		ref, err := source.Parse(ws.Lock().Skills[name].Source, source.ParseOptions{})
		if err != nil {
			return nil, fmt.Errorf("the source of %s in %s: %w", name, ws.File(), err)
		}
		out = append(out, ref)
	}
	return out, nil
}

// fromLock looks a skill of the lock up by the name of its folder.
func (in *installer) fromLock(name string) (deliver.Locked, error) {
	if s, ok := in.ws.Lock().Skills[name]; ok {
		return s, nil
	}
	e := hubapi.Errorf(hubapi.NotFound, "the skill %s is not in %s", name, in.lock).
		With(hubapi.Detail{ID: deliver.IDNotInstalled, Message: "it is not installed in this scope"})
	if near := hubapi.Nearest(name, in.ws.Lock().Names()); near != "" {
		return deliver.Locked{}, e.WithHint("did you mean %s?", near)
	}
	return deliver.Locked{}, in.orOtherScope(name, e)
}

// orOtherScope adds to the error about a skill that is not installed where it is, if
// anywhere.
func (in *installer) orOtherScope(name string, err error) error {
	e, ok := errors.AsType[*hubapi.Error](err)
	if !ok || e.Hint != "" || !slices.ContainsFunc(e.Details, func(d hubapi.Detail) bool { return d.ID == deliver.IDNotInstalled }) {
		return err
	}
	if other, ok := in.otherScope(name); ok {
		return e.WithHint("%s has it: --scope %s", other.lock, other.scope)
	}
	return e.WithHint("kx skills list --installed shows what is; --scope chooses between the project's and yours")
}

// otherScope is the scope that was not asked for, where its lock has a skill.
func (in *installer) otherScope(name string) (standing, bool) {
	other := standing{scope: deliver.UserScope, lock: filepath.Join(in.data, deliver.LockFile)}
	if in.scope == deliver.UserScope {
		project, err := in.a.findProject()
		if err != nil || project == "" {
			return other, false
		}
		other = standing{scope: deliver.ProjectScope, lock: filepath.Join(project, deliver.LockFile)}
	}
	return other, hasLocked(other.lock, name)
}

// hasLocked tells whether a lock file has a skill, as far as it can be read.
func hasLocked(file, name string) bool {
	data, err := readCapped(file, 1<<24)
	if err != nil {
		return false
	}
	lock, err := deliver.ParseLock(data)
	if err != nil {
		return false
	}
	_, ok := lock.Skills[name]
	return ok
}

// sameOrigin tells whether two sources differ in nothing but the version or revision
// that they ask for.
func sameOrigin(a, b string) bool {
	x, errX := source.Parse(a, source.ParseOptions{})
	y, errY := source.Parse(b, source.ParseOptions{})
	if errX != nil || errY != nil {
		return a == b
	}
	x.Rev, y.Rev, x.Tree, y.Tree, x.Hub.Version, y.Hub.Version = "", "", "", "", "", ""
	return x == y
}

// local makes a path of a source relative to the scope, so that the lock means the
// same wherever one stands in the project, and on another machine where it lies
// beside it.
func (in *installer) local(ref source.Ref) (source.Ref, error) {
	if ref.Remote() {
		return ref, nil
	}
	at := filepath.FromSlash(ref.Location)
	typedAbsolute := filepath.IsAbs(at)
	absolute, err := filepath.Abs(in.a.path(at))
	if err != nil {
		return ref, err
	}
	rel, err := filepath.Rel(in.dir, absolute)
	outside := err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator))
	switch {
	case in.scope == deliver.UserScope, err != nil, outside && typedAbsolute:
		ref.Location = filepath.ToSlash(absolute)
		if in.scope != deliver.UserScope {
			in.notes.Warn("%s keeps the source %s, which is on this machine alone: others cannot install from it. Put it into the project, or push it to a hub", in.lock, ref.Location)
		}
	case outside || rel == ".":
		ref.Location = filepath.ToSlash(rel)
	default:
		ref.Location = "./" + filepath.ToSlash(rel)
	}
	return ref, nil
}

// skillRef is the source of one pack of what was fetched.
func skillRef(f *source.Fetched, found *source.Found) source.Ref {
	ref := f.Ref
	if found.Path == "" || found.Path == ref.Path {
		return ref
	}
	if ref.Kind == source.Dir {
		ref.Location = strings.TrimSuffix(ref.Location, "/") + "/" + found.Path
		if !strings.HasPrefix(ref.Location, ".") && !filepath.IsAbs(filepath.FromSlash(ref.Location)) {
			ref.Location = "./" + ref.Location
		}
		return ref
	}
	ref.Path = found.Path
	return ref
}

// atRevision is the source at the revision that a lock has.
func atRevision(ref source.Ref, revision string) source.Ref {
	switch ref.Kind {
	case source.Hub:
		ref.Hub.Version = revision
	case source.Git:
		ref.Rev, ref.Tree = revision, ""
	}
	return ref
}

// offer judges one pack and says what the lock would have of it under name. The folders
// that have it already get it too, so that what loads from there has a say.
func (in *installer) offer(ctx context.Context, name string, o accept.Incoming) (deliver.Offer, error) {
	for _, t := range in.ws.Lock().Skills[name].Targets {
		o.Into = append(o.Into, in.ws.Path(t))
	}
	o.Had = func() []*pack.Pack { return in.ws.Installed(o.Found.Digest, in.ws.Lock().Skills[name].Digest) }
	judged, err := in.gate.Accept(ctx, o)
	if err != nil {
		return deliver.Offer{}, err
	}
	out := deliver.Offer{
		Source: skillRef(o.Fetched, o.Found).String(), Revision: o.Fetched.Revision, Pack: o.Found.Pack, Sums: o.Found.Sums,
		Signed: judged.Signed, Signers: judged.Signers, Signature: o.Signature(),
	}
	switch o.Fetched.Ref.Kind {
	case source.Dir, source.Archive, source.Site:
		out.Revision = string(o.Found.Digest) // of a source with many packs, the revision is that of all
	}
	if r := o.Fetched.Release; r != nil {
		out.Author, out.Version = r.Author, r.Version
	}
	return out, nil
}

// notGiven words that a hub does not have what the lock has from one: that it is not there,
// and that it may not be seen, are one answer, and it may be another hub that is asked now.
func (in *installer) notGiven(name string, ref source.Ref, err error) error {
	e, ok := errors.AsType[*hubapi.Error](err)
	if !ok || e.Code != hubapi.NotFound || ref.Kind != source.Hub || in.sources.HubOnly {
		return err
	}
	s, _, settingsErr := in.a.endpointOf(in.c)
	if settingsErr != nil || s.endpoint != "" && strings.Contains(e.Message, strings.TrimSuffix(s.endpoint, "/")) {
		return err // what names the server is about it, not about the release
	}
	out := *e
	out.Message = fmt.Sprintf("the hub at %s no longer gives out %s: it was withdrawn, or may not be seen by this key", s.endpoint, ref)
	if s.endpoint == "" {
		out.Message = fmt.Sprintf("the private hub in %s does not give out %s: it was withdrawn there, or came from another hub", s.hubDir, ref)
	}
	hint := fmt.Sprintf("kx skills remove --installed %s removes it here; the hub's reviewer knows why; --endpoint, KX_ENDPOINT or kx.yaml names another hub", name)
	if e.Hint != "" {
		hint = e.Hint + "; " + hint
	}
	return out.WithHint("%s", hint)
}

// commitGone says what to do about a commit of the lock that its repository no longer has.
// An update leaves the lock alone where the content is the same.
func commitGone(w lockedSkill, err error) error {
	e, ok := errors.AsType[*hubapi.Error](err)
	ref, parseErr := source.Parse(w.past.Source, source.ParseOptions{})
	if !ok || e.ID() != "source.no-rev" || !w.pinned || parseErr != nil || ref.Rev == w.past.Revision {
		return err
	}
	out := *e
	return out.WithHint("its history was rewritten: kx skills update %s takes what is there now; if it says that nothing changed, kx skills install %s does", w.name, w.past.Source)
}

// locked fetches skills of the lock, each at a revision that it has or had, with one
// look at a source that holds several of them.
func (in *installer) locked(ctx context.Context, wanted []lockedSkill) []fetchedSkill {
	out := make([]fetchedSkill, len(wanted))
	groups, order := map[source.Ref][]int{}, []source.Ref{}
	for i, w := range wanted {
		ref, err := source.Parse(w.past.Source, source.ParseOptions{})
		if err != nil {
			out[i].err = err
			continue
		}
		if w.pinned {
			ref = atRevision(ref, w.past.Revision)
		}
		out[i].ref = ref
		whole := ref
		whole.Path = ""
		if len(groups[whole]) == 0 {
			order = append(order, whole)
		}
		groups[whole] = append(groups[whole], i)
	}
	sources := in.fromRecord()
	fetch := func(whole source.Ref) {
		members := groups[whole]
		ask := whole
		if len(members) == 1 {
			ask = out[members[0]].ref
		}
		f, err := sources.Fetch(ctx, ask)
		for _, i := range members {
			if err != nil {
				out[i].err = commitGone(wanted[i], in.notGiven(wanted[i].name, out[i].ref, err))
				continue
			}
			out[i].fetched = f
			out[i].found, out[i].err = pickAt(f, out[i].ref.Path)
		}
	}
	var releases []source.Ref
	for _, whole := range order {
		if whole.Kind == source.Hub {
			releases = append(releases, whole)
			continue
		}
		fetch(whole)
	}
	workers.Each(len(releases), releasesAtOnce, func(i int) { fetch(releases[i]) })
	return out
}

// releasesAtOnce is how many releases are on their way from a hub: each is small, and the
// way may be long. A repository may fill the memory by itself.
const releasesAtOnce = 8

// lockedSkill is one skill that is to be fetched again.
type lockedSkill struct {
	name   string
	past   deliver.Past
	pinned bool // at the past's revision, not at what is there now
}

type fetchedSkill struct {
	ref     source.Ref
	fetched *source.Fetched
	found   *source.Found
	err     error
}

// pickAt finds the pack in a folder of a source.
func pickAt(f *source.Fetched, folder string) (*source.Found, error) {
	for i := range f.Found {
		if found := &f.Found[i]; found.Path == folder {
			return found, found.Faults
		}
	}
	if len(f.Found) == 1 {
		return &f.Found[0], f.Found[0].Faults
	}
	return f.Pick(folder)
}

// rebuild fetches a revision again for the workspace.
func (in *installer) rebuild(ctx context.Context, name string, past deliver.Past) (deliver.Kept, error) {
	got := in.locked(ctx, []lockedSkill{{name: name, past: past, pinned: true}})[0]
	if got.err != nil {
		return deliver.Kept{}, got.err
	}
	return deliver.Kept{Pack: got.found.Pack, Signature: accept.Incoming{Fetched: got.fetched, Found: got.found}.Signature()}, nil
}

// spots are the folders for what the flags name: agents, a folder, or the agents that
// are here.
func (in *installer) spots() ([]deliver.Spot, error) {
	c, mode := in.c, deliver.AsCopy
	if c.Bool("link") {
		mode = deliver.AsLink
	}
	if to := c.String("to"); to != "" {
		dir, err := filepath.Abs(in.a.path(to))
		if err != nil {
			return nil, err
		}
		if err := deliver.CheckFolder(dir); err != nil {
			return nil, err
		}
		return []deliver.Spot{{Dir: dir, Mode: mode}}, nil
	}
	s := in.a.surroundingsOf(in.dir)
	var agents []deliver.Agent
	for _, name := range c.StringSlice("agent") {
		agent, err := deliver.FindAgent(name)
		if err != nil {
			return nil, err
		}
		agents = append(agents, agent)
	}
	if len(agents) == 0 {
		for _, d := range s.Detect() {
			agents = append(agents, d.Agent)
		}
		if len(agents) == 0 {
			return nil, usagef("no agent was found here, so there is no folder to install into").
				WithHint("name an agent with --agent, or a folder with --to")
		}
	}
	placements, unplaced, err := s.Place(agents, in.scope)
	if err != nil {
		return nil, err
	}
	for _, u := range unplaced {
		if c.IsSet("agent") || len(placements) == 0 {
			return nil, hubapi.Errorf(hubapi.Invalid, "%s cannot be reached: %s", u.Agent, u.Reason)
		}
		in.notes.Warn("%s was left out: %s", u.Agent, u.Reason)
	}
	var out []deliver.Spot
	for _, p := range placements {
		if p.Via != "" {
			in.notes.Warn("%s is a link to %s: what is installed appears in both", p.Via, p.Dir)
		}
		if len(p.Shared) > 0 {
			in.notes.Warn("%s is also read by %s", p.Dir, strings.Join(p.Shared, ", "))
		}
		asked := slices.DeleteFunc(slices.Clone(p.Agents), func(name string) bool { return slices.Contains(p.Shared, name) })
		out = append(out, deliver.Spot{Dir: p.Dir, Agents: asked, Mode: mode})
	}
	return out, nil
}
