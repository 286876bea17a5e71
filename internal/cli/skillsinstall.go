package cli

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/accept"
	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/workers"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/source"
)

func (a *app) skillsInstall() *cli.Command {
	return a.leaf("install", "install skills for agents, and record them in kx-lock.json", spec{
		args: "[REF...]", max: -1,
		long: "A REF is a release in the hub (triage, acme/triage@1), a repository (github:owner/repo/folder@v1, a git URL), an\n" +
			"archive, a site or a folder (./skills/triage). Without one, exactly what kx-lock.json says is installed; --frozen\n" +
			"also refuses folders or sources that differ from it.\n\n" +
			"Every skill becomes a folder of its own, whole or not at all, for the agents that are named or found here. A kortecx\n" +
			"pack becomes a SKILL.md; other packs are copied. Folders that are not ours are not touched, and neither is one that\n" +
			"somebody edited since, unless --force. A signature that is there must verify, the hub's log must have the release,\n" +
			"and a pack in which the scan finds something critical is refused; something grave must be accepted, unless it is a\n" +
			"release that a reviewer let in, or was installed here before. Another revision of a skill that is installed is an\n" +
			"update: see kx skills update.\n\n" +
			"With --to alone the skill is not recorded, unless the project has a lock or --save says so.",
		examples: []example{
			{"skills install triage --to .claude/skills", "the active release of triage"},
			{"skills install acme/triage@1 --to .claude/skills --json", "exactly this one"},
			{"skills install ./skills/good --agent claude-code --scope project", "from a folder, recorded in kx-lock.json"},
			{"skills install --frozen", "exactly what the lock says, as in CI"},
		},
		choices: map[string][]string{"scope": {"project", "user"}},
	}, slices.Concat([]cli.Flag{
		&cli.StringSliceFlag{Name: "agent", Usage: "install for `AGENT`, whether it is here or not; may be repeated"},
		&cli.BoolFlag{Name: "all-agents", Usage: "install for every agent that is found here (the default)"},
		scopeFlag(),
		&cli.StringFlag{Name: "to", Usage: "install below `DIR`, which is made if it is missing"},
		&cli.BoolFlag{Name: "save", Usage: "with --to: record it in kx-lock.json, which is made if it is missing"},
		&cli.BoolFlag{Name: "copy", Usage: "give every folder a copy (the default)"},
		&cli.BoolFlag{Name: "link", Usage: "one copy, and links to it in the other folders"},
		&cli.StringFlag{Name: "as", Usage: "install it under `NAME`, beside another skill of its own name"},
		&cli.StringSliceFlag{Name: "skill", Usage: "of a source with several skills, `NAME` or its folder; may be repeated"},
		&cli.BoolFlag{Name: "all", Usage: "all skills of a source with several"},
		allFoldersFlag(),
		&cli.BoolFlag{Name: "force", Usage: "overwrite what somebody edited in a folder of ours"},
		&cli.BoolFlag{Name: "frozen", Usage: "without REF: refuse any difference between lock, folders and sources, and do not write the lock"},
		&cli.BoolFlag{Name: "yes", Usage: "agree to the changes of skills that are installed already; without REF, to folders of the lock that are no agent's"},
		withoutSecretFlag(),
		acceptFindingsFlag(),
	}, acceptFlags(), sourceFlags(), clientFlags()), a.runInstall)
}

// allFoldersFlag is for commands that name folders.
func allFoldersFlag() cli.Flag {
	return &cli.BoolFlag{Name: "all-folders", Usage: "with --to or --agent: also bring the other folders, in which the lock has the skill, to its new revision"}
}

// installed is one skill in one folder, in the --json document of kx skills install.
type installed struct {
	Name      string           `json:"name"`
	Author    string           `json:"author"`
	Version   string           `json:"version"`
	Digest    pack.Digest      `json:"digest"`
	Path      string           `json:"path"`
	Outcome   string           `json:"outcome"`
	Unchanged bool             `json:"unchanged"`
	Signed    bool             `json:"signed"`
	Source    string           `json:"source"`
	Agents    []string         `json:"agents,omitempty"`
	Mode      string           `json:"mode"`
	NoLink    string           `json:"no_link,omitempty"` // why it is a copy where a link was wanted
	Error     *hubapi.Error    `json:"error,omitempty"`
	step      *deliver.Step    // nil where nothing was recorded
	planned   *deliver.Planned // of it
	others    string           // which others failed for the same reason; see fewFailed
}

// installedAll is the whole document: the keys of the first skill, and all of them.
type installedAll struct {
	installed
	Scope  string      `json:"scope"`
	Lock   string      `json:"lock"` // the lock file; empty when nothing was recorded
	Skills []installed `json:"skills"`
}

// wantedRef is one REF of the command line.
type wantedRef struct {
	text string
	ref  source.Ref
}

func (a *app) checkInstallFlags(c *cli.Command) error {
	switch {
	case c.Bool("copy") && c.Bool("link"):
		return usagef("--copy and --link exclude each other")
	case c.Bool("all-agents") && c.IsSet("agent"):
		return usagef("--agent and --all-agents exclude each other")
	case c.String("to") != "" && (c.IsSet("agent") || c.Bool("all-agents")):
		return usagef("--to names the folder, so --agent has nothing to say")
	case c.Bool("all") && c.IsSet("skill"):
		return usagef("--skill and --all exclude each other")
	case c.Bool("frozen") && c.NArg() > 0:
		return usagef("--frozen installs what the lock says, so no REF can be named")
	case c.String("as") != "" && (c.NArg() != 1 || c.Bool("all") || len(c.StringSlice("skill")) > 1):
		return usagef("--as names one skill, so there must be exactly one")
	case c.IsSet("as") && hubapi.CheckName(c.String("as")) != nil:
		return usagef("--as %q cannot be the name of a skill's folder", c.String("as"))
	case c.Bool("link") && c.String("to") != "":
		return usagef("--link needs agents: one folder alone has the copy")
	}
	return nil
}

func (a *app) runInstall(ctx context.Context, c *cli.Command) error {
	if err := a.checkInstallFlags(c); err != nil {
		return err
	}
	if c.NArg() == 0 {
		return a.installLocked(ctx, c)
	}
	refs, err := a.parseRefs(c.Args().Slice())
	if err != nil {
		return err
	}
	if len(refs) == 1 { // one of several that fails hinders no other
		if err := a.refLeads(refs[0].ref); err != nil {
			return err
		}
	}
	return a.withInstaller(ctx, c, func(*deliver.Workspace) ([]source.Ref, error) {
		out := make([]source.Ref, len(refs))
		for i, r := range refs {
			out[i] = r.ref
		}
		return out, nil
	}, func(in *installer) error { return in.installRefs(ctx, refs) })
}

// parseRefs reads the REFs of a command line.
func (a *app) parseRefs(texts []string) ([]wantedRef, error) {
	out := make([]wantedRef, len(texts))
	for i, text := range texts {
		ref, err := source.Parse(text, source.ParseOptions{Exists: func(p string) bool {
			_, err := lstatPath(a.path(p))
			return err == nil
		}})
		if err != nil {
			e := hubapi.AsError(err)
			e.Code = hubapi.Usage
			return nil, e
		}
		out[i] = wantedRef{text: text, ref: ref}
	}
	return out, nil
}

// installRefs fetches, judges and installs what was named. What cannot be installed
// hinders nothing else, and makes the command fail at the end.
func (in *installer) installRefs(ctx context.Context, refs []wantedRef) error {
	c := in.c
	spots, err := in.spots()
	if err != nil {
		return err
	}
	offers, errs := in.fetchAll(ctx, in.refsOnce(refs))
	offers, twice := in.offersOnce(offers)
	errs = append(errs, twice...)
	in.unread(offers, spots)
	if in.recorded(spots) {
		every := deliver.Wanted{Name: c.String("as"), Spots: spots, Only: in.onlyNamed(), Force: c.Bool("force")}
		wanted := make([]deliver.Wanted, len(offers))
		for i, o := range offers {
			wanted[i] = every
			wanted[i].Name, wanted[i].Offer = first(every.Name, pack.SkillName(o.Pack)), o
		}
		return in.install(ctx, wanted, errs)
	}
	done, more, err := in.installAside(offers, spots[0].Dir)
	if err != nil {
		return err
	}
	return in.reportInstalled(done, append(errs, more...), "")
}

// onlyNamed tells whether nothing but the folders that flags name may be written. Whoever
// is asked for a yes sees which others change.
func (in *installer) onlyNamed() bool {
	c := in.c
	return (c.String("to") != "" || c.IsSet("agent")) && !c.Bool("all-folders") && !in.a.asks(c)
}

// recorded tells whether what goes into the folders belongs into the lock. A folder
// that only --to names does, when there is a lock that can name it, or --save.
func (in *installer) recorded(spots []deliver.Spot) bool {
	if in.c.String("to") == "" || in.c.Bool("save") || in.c.String("scope") != "" {
		return true
	}
	_, inside := in.ws.TargetDir(spots[0].Dir)
	return in.scope == deliver.ProjectScope && in.ws.Locked() && inside
}

func (in *installer) nameFor(o deliver.Offer) string {
	return first(in.c.String("as"), pack.SkillName(o.Pack))
}

// fetchAll gets the packs of all refs. The errors are those of single packs, in no
// case of all.
func (in *installer) fetchAll(ctx context.Context, refs []wantedRef) (offers []deliver.Offer, errs []error) {
	for _, r := range refs {
		f, found, failed, err := in.fetchRef(ctx, r)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, failed...)
		got, gotErrs := in.judgeAll(ctx, f, found, false)
		for i := range got {
			if gotErrs[i] == nil {
				offers = append(offers, got[i])
			} else {
				errs = append(errs, gotErrs[i])
			}
		}
	}
	return offers, errs
}

// fetchRef gets the packs that one REF means.
func (in *installer) fetchRef(ctx context.Context, r wantedRef) (f *source.Fetched, found []*source.Found, failed []error, err error) {
	ref, err := in.local(r.ref)
	if err != nil {
		return nil, nil, nil, err
	}
	if f, err = in.sources.Fetch(ctx, ref); err != nil {
		return nil, nil, nil, in.a.orFolder(ref, err)
	}
	for _, n := range f.Notes {
		switch n.ID {
		case "source.submodule", "source.filter", "source.lfs":
			in.notes.Warn("%s [%s]", n.Message, n.ID) // what was taken is not all that the author sees
		}
	}
	switch which := in.c.StringSlice("skill"); {
	case in.c.Bool("all"):
		for _, one := range f.Found {
			if one.Faults != nil {
				failed = append(failed, one.Faults)
			}
		}
		found, err = f.All()
	case len(which) > 0:
		for _, name := range which {
			one, err := f.Pick(name)
			if err != nil {
				return nil, nil, nil, err
			}
			found = append(found, one)
		}
	default:
		var one *source.Found
		if one, err = f.Pick(""); err == nil {
			found = []*source.Found{one}
		} else if e, ok := err.(*hubapi.Error); ok && e.Code == hubapi.Conflict {
			err = e.WithHint("name one with --skill, or take them --all")
		}
	}
	for _, one := range found {
		in.noteInner(one)
	}
	return f, found, failed, err
}

// noteInner tells of a skill inside of another one: it comes along unasked, as a file, and
// agents that search deeper read it as one of its own.
func (in *installer) noteInner(one *source.Found) {
	for _, f := range one.Pack.Files {
		if inner, ok := strings.CutSuffix(f.Path, "/SKILL.md"); ok {
			in.notes.Warn("%s comes with another skill inside of it, %s, which some agents find too: name its folder to have it alone [source.inner]", one.Name, inner)
		}
	}
}

// judgeAll runs the packs of one source through the gate, on all processors.
func (in *installer) judgeAll(ctx context.Context, f *source.Fetched, found []*source.Found, locked bool) ([]deliver.Offer, []error) {
	offers, errs := make([]deliver.Offer, len(found)), make([]error, len(found))
	as := in.c.String("as")
	workers.Each(len(found), runtime.GOMAXPROCS(0), func(i int) {
		if errs[i] = ctx.Err(); errs[i] == nil {
			offers[i], errs[i] = in.offer(ctx, first(as, pack.SkillName(found[i].Pack)), accept.Incoming{Fetched: f, Found: found[i], Locked: locked})
		}
	})
	return offers, errs
}

// install plans, and leaves it to finish to ask where something changes that is
// installed, which needs a yes also of who was not asked to update, and to carry it
// out.
func (in *installer) install(ctx context.Context, wanted []deliver.Wanted, errs []error) error {
	plans := in.ws.Plan(ctx, wanted)
	if in.c.Bool("copy") {
		refuseLinks(plans)
	}
	reviews, err := in.review(ctx, plans, wanted)
	if err != nil {
		return err
	}
	in.finish = func() error {
		if err := in.agree(ctx, plans, reviews); err != nil {
			return err
		}
		plans, err := in.ws.Apply(plans)
		if err != nil {
			return err
		}
		done, more := installedOf(plans)
		return in.reportInstalled(done, append(errs, more...), in.lock)
	}
	return nil
}

// refuseLinks is for who wants a copy and says so, where the lock has a link.
func refuseLinks(plans []deliver.Planned) {
	for i := range plans {
		for _, s := range plans[i].Steps {
			if plans[i].Err == nil && s.Mode() == deliver.AsLink && !s.Other {
				e := hubapi.Errorf(hubapi.Conflict, "%s is a link to %s, and stays one: it was not made a copy", s.Dir, s.LinkTo())
				plans[i].Err = e.WithHint("kx skills remove --installed %s --agent AGENT removes the link; then install it with --copy", plans[i].Name)
			}
		}
	}
}

// installedOf tells what became of plans.
func installedOf(plans []deliver.Planned) (done []installed, errs []error) {
	for i := range plans {
		p := &plans[i]
		if p.Err != nil {
			errs = append(errs, p.Err)
			continue
		}
		if p.After == nil {
			continue
		}
		var failed error
		for j := range p.Steps {
			s := &p.Steps[j]
			one := installed{
				Name: p.Name, Author: p.After.Author, Version: p.After.Version, Digest: p.After.Digest, Path: s.Dir,
				Outcome: outcomeOf(s.Action), Unchanged: s.Action == deliver.ActNone, Signed: p.After.Signed, Source: p.After.Source,
				Agents: s.Agents, Mode: string(s.Mode()), step: s, planned: p,
			}
			if s.NoLink != nil && s.Err == nil {
				one.NoLink = asHubError(s.NoLink).Message
			}
			if s.Err != nil {
				one.Error, one.Outcome = asHubError(s.Err), "failed"
				failed = s.Err
			}
			done = append(done, one)
		}
		errs = append(errs, failed)
	}
	return done, errs
}

// outcomeOf is an action in the words of deliver.Outcome, which the document always
// had.
func outcomeOf(action deliver.Action) string {
	switch action {
	case deliver.ActCreate, deliver.ActLink:
		return string(deliver.New)
	case deliver.ActUpdate:
		return string(deliver.Updated)
	case deliver.ActMerge:
		return "merged"
	case deliver.ActKeep:
		return "kept"
	}
	return string(deliver.Unchanged)
}

// installAside installs into a folder without a record in a lock.
func (in *installer) installAside(offers []deliver.Offer, dir string) (done []installed, errs []error, err error) {
	if len(offers) == 0 {
		return nil, nil, nil
	}
	root, err := fsx.OpenOrCreate(dir, 0o755)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	items := make([]deliver.Item, len(offers))
	for i, o := range offers {
		recorded := o.Source
		if o.Author != "" {
			recorded = hubapi.Ref{Author: o.Author, Name: o.Pack.Name, Version: o.Version}.String()
		}
		items[i] = deliver.Item{Pack: o.Pack, Options: deliver.InstallOptions{
			Owner: in.owner, Slug: in.nameFor(o), Author: o.Author, Version: o.Version, Source: recorded,
			Signature: o.Signature, Now: in.a.Now(), Force: in.c.Bool("force"),
		}}
	}
	for i, r := range deliver.InstallAll(root, items, nil) {
		errs = append(errs, r.Err)
		if r.Err != nil {
			continue
		}
		o := offers[i]
		done = append(done, installed{
			Name: o.Pack.Name, Author: first(o.Author, o.Pack.Author), Version: first(o.Version, o.Pack.Version), Digest: o.Pack.Digest(),
			Path: filepath.Join(in.c.String("to"), r.Slug), Outcome: string(r.Outcome), Unchanged: r.Outcome == deliver.Unchanged,
			Signed: o.Signed, Source: o.Source, Mode: string(deliver.AsCopy),
		})
	}
	return done, errs, nil
}

// reportInstalled prints what was done, and gives the error for what was not.
func (in *installer) reportInstalled(done []installed, errs []error, lock string) error {
	a := in.a
	in.copiedInstead(done)
	in.notes.print(a)
	if in.c.Bool("json") && len(done) > 0 {
		doc := installedAll{installed: done[0], Scope: string(in.scope), Lock: lock, Skills: done}
		if err := a.printJSON(doc); err != nil {
			return err
		}
		return failures("were not installed", errs)
	}
	shown := fewFailed(done)
	a.some(len(shown), maxRows, func(i int) {
		d := shown[i]
		if d.Error != nil {
			a.printf("not installed in %s: %s\n", d.Path, d.Error.Message+d.others)
			return
		}
		how := ""
		if d.Mode == string(deliver.AsLink) {
			how = " (a link)"
		}
		a.printf("%s %s in %s%s\n", outcomeWord(d.Outcome), d.ref(), d.Path, how)
		if d.Outcome == "merged" && d.step != nil && len(d.step.Merged) > 0 {
			a.printf("  with your changes in %s\n", strings.Join(d.step.Merged, ", "))
		}
		if len(done) == 1 {
			a.printf("  digest  %s\n", string(d.Digest))
		}
	})
	if lock != "" && slices.ContainsFunc(done, func(d installed) bool { return d.Error == nil }) {
		a.printf("  lock    %s (%s)\n", lock, string(in.scope))
	}
	return failures("were not installed", errs)
}

// copiedInstead says which folders have a copy where a link was wanted: updates reach
// each copy by itself, and an edit of one is not seen in the others.
func (in *installer) copiedInstead(done []installed) {
	for _, d := range done {
		switch {
		case d.NoLink == "":
		case d.Unchanged:
			in.notes.Warn("%s: %s", d.Path, d.NoLink)
		default:
			in.notes.Warn("%s is a copy: %s (Windows lets administrators have them, and everybody in its developer mode)", d.Path, d.NoLink)
		}
	}
}

func (d installed) ref() string {
	if d.Author == "" && d.Version == "" {
		return d.Name
	}
	return hubapi.Ref{Author: d.Author, Name: d.Name, Version: d.Version}.String()
}

func outcomeWord(outcome string) string {
	switch outcome {
	case string(deliver.New), string(deliver.Recorded):
		return "installed"
	case "kept":
		return "left your edits in"
	}
	return outcome
}
