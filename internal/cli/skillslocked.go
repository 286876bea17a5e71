package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/accept"
	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/internal/workers"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/source"
)

func lstatPath(p string) (fs.FileInfo, error) { return os.Lstat(p) }

// installLocked installs exactly what the lock says, from nothing if it must.
func (a *app) installLocked(ctx context.Context, c *cli.Command) error {
	for _, name := range []string{"agent", "all-agents", "to", "save", "as", "skill", "all", "link", "copy"} {
		if c.IsSet(name) {
			return usagef("which skill? --%s needs a REF; without one, kx-lock.json says what is installed, and where", name)
		}
	}
	ask, err := a.asksInstead(c)
	switch {
	case err != nil:
		return err
	case ask:
		return a.askWizard(ctx, c, WizardAnswers{Force: c.Bool("force")})
	}
	return a.withInstaller(ctx, c, func(ws *deliver.Workspace) ([]source.Ref, error) {
		if !ws.Locked() {
			return nil, usagef("which skill? there is no %s here, so a REF must be named", ws.File()).
				WithHint("%s, or stand in a project with a lock", c.FullName()+" REF")
		}
		return lockedRefs(ws, nil)
	}, func(in *installer) error {
		placed := in.ws.List()
		plans, errs, err := in.planLocked(ctx, placed)
		if err != nil {
			return err
		}
		if c.Bool("frozen") {
			if err := failures("do not agree with the lock", errs); err != nil {
				return err
			}
			if err := in.refuseDrift(plans); err != nil {
				return err
			}
			plans = missing(plans, placed)
		} else {
			for _, s := range in.ws.Strays() {
				in.notes.Warn("%s has no %s: %s was left there by an earlier installation; %s", in.lock, s.Name, s.Dir, strayFix(s))
			}
		}
		left := leftAlone(plans, placed)
		if plans, err = in.ws.Apply(plans); err != nil {
			return err
		}
		done, more := installedOf(plans)
		errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil }) // the others are in more
		done = append(done, left...)
		sorting.Stable(done, func(a, b installed) int { return cmp.Compare(a.Name, b.Name) })
		if len(done) == 0 && len(errs)+len(more) == 0 {
			if c.Bool("json") {
				return a.printJSON(installedAll{Scope: string(in.scope), Lock: in.lock, Skills: []installed{}})
			}
			a.printf("nothing to install: %s has no skills\n", in.lock)
			return nil
		}
		return in.reportInstalled(done, append(errs, more...), in.lock)
	})
}

// missing are the plans that have something to write once the folders that are there
// were found to be what the lock says. Those stay as they are: their markers may be of
// another machine, which is no reason to touch what is in version control, or on a disk
// that cannot be written.
func missing(plans []deliver.Planned, placed []deliver.Placed) (out []deliver.Planned) {
	missing := map[string]bool{}
	for _, p := range placed {
		missing[p.Dir] = p.Standing == deliver.MissingDir
	}
	for _, p := range plans {
		p.Steps = slices.DeleteFunc(p.Steps, func(s deliver.Step) bool { return !missing[s.Dir] })
		if len(p.Steps) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// strayFix says how a folder goes that the lock does not have.
func strayFix(s deliver.Stray) string {
	if !s.Ours {
		return "remove the folder, or install " + s.Name + " to have it in the lock"
	}
	return "kx skills remove --installed " + s.Name + " removes it"
}

// leftAlone are the skills of the lock that need nothing: they are as it says, or a
// person edited them since.
func leftAlone(plans []deliver.Planned, placed []deliver.Placed) (out []installed) {
	planned := map[string]bool{}
	for i := range plans {
		for j := range plans[i].Steps {
			planned[plans[i].Steps[j].Dir] = true
		}
	}
	for _, p := range placed {
		if planned[p.Dir] || p.Standing != deliver.Current && p.Standing != deliver.Modified {
			continue
		}
		one := installed{
			Name: p.Name, Author: p.Locked.Author, Version: p.Locked.Version, Digest: p.Locked.Digest, Path: p.Dir,
			Outcome: string(deliver.Unchanged), Unchanged: true, Signed: p.Locked.Signed, Source: p.Locked.Source,
			Agents: p.Target.Agents, Mode: string(p.Target.Mode),
		}
		if p.Standing == deliver.Modified {
			one.Outcome = "kept"
		}
		if p.Standing == deliver.Current && p.Why != "" {
			one.Mode, one.NoLink = string(deliver.AsCopy), p.Why+"; "+p.Fix
		}
		out = append(out, one)
	}
	return out
}

// asksInstead tells whether the wizard answers a call that says nothing: on a
// terminal, where no project with a lock is. What the user installed for themselves
// has a lock too, which --scope user asks for.
func (a *app) asksInstead(c *cli.Command) (bool, error) {
	if a.Wizard == nil || !a.StdinTerminal || !a.StderrTerminal || c.Bool("json") || c.Bool("frozen") {
		return false, nil
	}
	s, err := a.standing(c)
	if err != nil {
		return false, err
	}
	if s.scope == deliver.UserScope && c.String("scope") == "" {
		return true, nil
	}
	_, err = lstatPath(s.lock)
	return errors.Is(err, fs.ErrNotExist), nil
}

// planLocked plans what the lock says, fetching only what is not there already.
func (in *installer) planLocked(ctx context.Context, placed []deliver.Placed) (plans []deliver.Planned, errs []error, err error) {
	lock := in.ws.Lock()
	need := map[string]bool{}
	for _, p := range placed {
		if p.Standing != deliver.Current && p.Standing != deliver.Modified || p.Target.Digest != "" || in.c.Bool("force") && (p.Standing == deliver.Modified || p.Why != "") {
			need[p.Name] = true
		}
	}
	var names []string
	for _, name := range lock.Names() {
		if need[name] || in.c.Bool("frozen") {
			names = append(names, name)
		}
	}
	offers, errs := in.lockedOffers(ctx, names)
	var wanted []deliver.Wanted
	for _, name := range names {
		if o, ok := offers[name]; ok {
			wanted = append(wanted, deliver.Wanted{Name: name, Offer: o, Force: in.c.Bool("force"), KeepEdits: true})
		}
	}
	plans = in.ws.Plan(ctx, wanted)
	return plans, errs, nil
}

// lockedOffers gets skills of the lock at their revisions from their sources, whose
// content must be what the lock says, or from the store, where a source has something
// else now or cannot be read. With --frozen it must be the source.
func (in *installer) lockedOffers(ctx context.Context, names []string) (map[string]deliver.Offer, []error) {
	lock := in.ws.Lock()
	wanted := make([]lockedSkill, len(names))
	for i, name := range names {
		s := lock.Skills[name]
		wanted[i] = lockedSkill{name: name, pinned: true, past: deliver.Past{Source: s.Source, Revision: s.Revision, Version: s.Version, Digest: s.Digest}}
	}
	got := in.locked(ctx, wanted)
	incoming := make([]*accept.Incoming, len(names))
	errs := make([]error, len(names))
	for i, name := range names {
		s := lock.Skills[name]
		switch g := got[i]; {
		case g.err != nil && (ctx.Err() != nil || !in.hasKept(s)):
			errs[i] = hubErrorOf(name, g.err)
		case g.err != nil || g.found.Digest != s.Digest:
			if in.c.Bool("frozen") {
				errs[i] = drift(name, "the source %s has the content %s now, the lock wants %s", s.Source, short(g.found.Digest), short(s.Digest)).
					WithHint("kx skills update %s brings the lock to what the source has", name)
				continue
			}
			if g.err != nil {
				in.notes.Warn("%s comes from what this machine keeps of it, because its source cannot be read: %s", name, asHubError(g.err).Message)
				ref, _ := source.Parse(s.Source, source.ParseOptions{}) // as it was read before
				g.fetched = &source.Fetched{Ref: ref}
			}
			kept, err := in.ws.Recall(ctx, name, wanted[i].past)
			if err != nil {
				errs[i] = err
				continue
			}
			incoming[i] = &accept.Incoming{
				Fetched: &source.Fetched{Ref: g.fetched.Ref, Revision: s.Revision, Signature: kept.Signature, Found: []source.Found{{}}},
				Found:   &source.Found{Name: kept.Pack.Name, Digest: s.Digest, Pack: kept.Pack},
				Locked:  true,
			}
		default:
			incoming[i] = &accept.Incoming{Fetched: g.fetched, Found: g.found, Locked: true}
		}
	}
	offers := make([]deliver.Offer, len(names))
	workers.Each(len(names), runtime.GOMAXPROCS(0), func(i int) {
		if incoming[i] != nil {
			offers[i], errs[i] = in.lockedOffer(ctx, names[i], lock.Skills[names[i]], *incoming[i])
		}
	})
	out := make(map[string]deliver.Offer, len(names))
	for i, name := range names {
		if errs[i] == nil {
			out[name] = offers[i]
		}
	}
	return out, errs
}

// hasKept tells whether a skill can do without its source: this machine has exactly what
// the lock wants. A hub is asked all the same, because it may have withdrawn the release.
func (in *installer) hasKept(s deliver.Locked) bool {
	ref, err := source.Parse(s.Source, source.ParseOptions{})
	return err == nil && ref.Kind != source.Hub && !in.c.Bool("frozen") && len(in.ws.Installed(s.Digest)) > 0
}

// lockedOffer judges a pack that the lock has, and keeps what the lock says of it. That is
// also which files can be run, because no digest covers it: what the source lets run since
// is for an update to show, and for --frozen to refuse.
func (in *installer) lockedOffer(ctx context.Context, name string, s deliver.Locked, o accept.Incoming) (deliver.Offer, error) {
	if now := deliver.Programs(o.Found.Pack); !slices.Equal(now, s.Executable) {
		said := bitsText(s.Executable, now)
		if in.c.Bool("frozen") {
			return deliver.Offer{}, drift(name, "the source %s has other execute bits than the lock: %s", s.Source, said)
		}
		in.notes.Warn("%s is installed as the lock has it; in its source %s: kx skills update shows it", name, said)
		found := *o.Found
		found.Pack = deliver.WithPrograms(found.Pack, s.Executable)
		o.Found = &found
	}
	out, err := in.offer(ctx, name, o)
	if err != nil {
		return out, err
	}
	if s.Signed && !out.Signed {
		return out, hubapi.Errorf(hubapi.Conflict, "%s was not installed: the lock knows it as signed, and now it is not", s.Name).
			With(hubapi.Detail{ID: "sign.stripped", Message: "a signature was taken away"})
	}
	out.Source, out.Revision = s.Source, s.Revision
	out.Author, out.Version = s.Author, s.Version
	out.Signed, out.Signers = s.Signed, s.Signers
	return out, nil
}

// bitsText says which files can be run now, and which no longer.
func bitsText(before, now []string) string {
	more, less := deliver.ProgramsChanged(before, now)
	const shown = 3
	var out []string
	for _, group := range []struct {
		files []string
		what  string
	}{{more, "can be run now"}, {less, "can no longer be run"}} {
		switch n := len(group.files); {
		case n > shown:
			out = append(out, fmt.Sprintf("%s and %d more %s", strings.Join(group.files[:shown], ", "), n-shown, group.what))
		case n > 0:
			out = append(out, strings.Join(group.files, ", ")+" "+group.what)
		}
	}
	return strings.Join(out, ", ")
}

func hubErrorOf(name string, err error) error {
	e := *asHubError(err)
	e.Message = name + ": " + e.Message
	return &e
}

func short(d pack.Digest) string { return string(d[:min(len(d), 16)]) }

func drift(name, format string, args ...any) *hubapi.Error {
	e := hubapi.Errorf(hubapi.Conflict, name+": "+format, args...)
	return e.With(hubapi.Detail{ID: deliver.IDLockDrift, Message: e.Message}).
		WithHint("kx skills install brings the folders to the lock (with --force what was edited, too), kx skills update the lock to the sources")
}

// refuseDrift is what --frozen adds: a folder that is there must be what the lock
// says. One that is missing is installed.
func (in *installer) refuseDrift(plans []deliver.Planned) error {
	var errs []error
	for _, p := range in.ws.List() {
		switch {
		case p.Standing == deliver.Current, p.Standing == deliver.MissingDir:
		case p.Link != "": // the copy that it leads to says it
		case p.Standing == deliver.Modified:
			errs = append(errs, drift(p.Name, "%s was edited: %s", p.Dir, p.Edits[0]).
				WithHint("kx skills install --force brings it to the lock, and loses the edits"))
		case p.Standing == deliver.Stale:
			errs = append(errs, drift(p.Name, "%s holds another revision than the lock says", p.Dir).
				WithHint("kx skills install brings it to the lock"))
		default:
			errs = append(errs, drift(p.Name, "%s is not what the lock says: %s", p.Dir, p.Why).
				WithHint("%s", first(p.Fix, "move it away, then kx skills install")))
		}
	}
	for _, s := range in.ws.Strays() {
		e := hubapi.Errorf(hubapi.Conflict, "%s: %s was installed by kx, and the lock does not have it", s.Name, s.Dir)
		errs = append(errs, e.With(hubapi.Detail{ID: deliver.IDLockDrift, Message: e.Message}).WithHint("%s", strayFix(s)))
	}
	for _, p := range plans {
		switch {
		case p.Err != nil:
			errs = append(errs, p.Err)
		case !p.SameEntry():
			errs = append(errs, drift(p.Name, "the source gives another %s than the lock has", p.OtherThan()))
		}
	}
	return failures("folders do not agree with the lock", errs)
}
