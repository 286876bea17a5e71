package cli

import (
	"bufio"
	"context"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/accept"
	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/source"
)

func (a *app) skillsUpdate() *cli.Command {
	return a.leaf("update", "bring installed skills to what their sources have now", spec{
		args: "[NAME...]", max: -1,
		long: "Looks for newer revisions of the skills in kx-lock.json, all of them without a NAME, and shows of each what changes:\n" +
			"its text, the tools and permissions that it asks for, files that can be run, findings of the scan, the signer. On a\n" +
			"terminal it asks for each; elsewhere nothing is changed without --yes, and the exit code is 1 when something would\n" +
			"be. Changes that you made yourself go on in the update where they do not touch the same lines; otherwise nothing is\n" +
			"written until --theirs or --keep says whose lines count.",
		examples: []example{
			{"skills update --yes", "everything in this scope"},
			{"skills update good --yes --json", "one skill, for scripts"},
		},
		choices: map[string][]string{"scope": {"project", "user"}},
	}, slices.Concat([]cli.Flag{
		scopeFlag(),
		&cli.BoolFlag{Name: "yes", Usage: "agree to every change without being asked"},
		&cli.BoolFlag{Name: "interactive", Usage: "ask for each skill (the default on a terminal)"},
		&cli.StringFlag{Name: "digest", Usage: "with one NAME and --yes: agree to exactly the content with `DIGEST`"},
	}, mergeFlags(), []cli.Flag{withoutSecretFlag(), acceptFindingsFlag()}, acceptFlags(), sourceFlags(), clientFlags()), a.runUpdate)
}

// mergeFlags say what becomes of edits in the folders when a skill changes.
func mergeFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "theirs", Usage: "where you and the change touched the same lines, take the change's file"},
		&cli.BoolFlag{Name: "keep", Usage: "where you and the change touched the same lines, keep your file"},
		&cli.BoolFlag{Name: "force", Usage: "lose what was edited in the folders"},
	}
}

// mergeSide reads --theirs and --keep.
func mergeSide(c *cli.Command) (deliver.Side, error) {
	switch theirs, keep := c.Bool("theirs"), c.Bool("keep"); {
	case theirs && keep:
		return deliver.AskSide, usagef("--theirs and --keep exclude each other")
	case theirs:
		return deliver.TheirsSide, nil
	case keep:
		return deliver.KeepSide, nil
	}
	return deliver.AskSide, nil
}

// namesOnce are the names of a command line, each once.
func namesOnce(c *cli.Command) (out []string) {
	for _, name := range c.Args().Slice() {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// updated is the --json document of kx skills update.
type updated struct {
	Scope   string           `json:"scope"`
	Lock    string           `json:"lock"`
	Reviews []deliver.Review `json:"reviews"` // what changes, or would
	Skills  []installed      `json:"skills"`  // what was done
	Checked int              `json:"checked"`
}

func (a *app) runUpdate(ctx context.Context, c *cli.Command) error {
	side, err := mergeSide(c)
	if err != nil {
		return err
	}
	names := namesOnce(c)
	switch {
	case c.Bool("yes") && c.Bool("interactive"):
		return usagef("--yes and --interactive exclude each other")
	case c.Bool("interactive") && !a.StdinTerminal:
		return usagef("--interactive needs a terminal; use --yes after you have read what changes")
	case c.String("digest") != "" && (len(names) != 1 || !c.Bool("yes")):
		return usagef("--digest goes with one NAME and --yes")
	}
	return a.withInstaller(ctx, c, func(ws *deliver.Workspace) ([]source.Ref, error) { return lockedRefs(ws, names) },
		func(in *installer) error { return in.update(ctx, names, side) })
}

// newer is a skill whose source has something else than the lock.
type newer struct {
	name     string
	entry    deliver.Locked
	revision string // of the source now
	err      error
}

// newerThanLock asks the sources of skills, all without names, in one go.
func (in *installer) newerThanLock(ctx context.Context, names []string) (out []newer, checked int, err error) {
	if len(names) == 0 {
		names = in.ws.Lock().Names()
	}
	refs := make([]source.Ref, 0, len(names))
	entries := make([]newer, 0, len(names))
	for _, name := range names {
		entry, err := in.fromLock(name)
		if err != nil {
			return nil, 0, err
		}
		ref, err := source.Parse(entry.Source, source.ParseOptions{})
		if err != nil {
			return nil, 0, err
		}
		refs, entries = append(refs, ref), append(entries, newer{name: name, entry: entry})
	}
	revisions, err := in.fromRecord().Latest(ctx, refs)
	if err != nil {
		return nil, 0, err
	}
	for i, r := range revisions {
		e := entries[i]
		e.revision, e.err = r.Revision, in.notGiven(e.name, refs[i], r.Err)
		if r.Err != nil || r.Revision != e.entry.Revision || otherPrograms(e.entry, r.Found) {
			out = append(out, e)
		}
	}
	return in.otherContent(ctx, out), len(refs), nil
}

// otherContent leaves out what only seems newer. A skill without a version has the
// digest of its pack as its revision, and its source tells the hash of the whole, an
// archive for example: there the packs are compared.
func (in *installer) otherContent(ctx context.Context, seem []newer) []newer {
	var out []newer
	var ask []lockedSkill
	var entries []newer
	for _, n := range seem {
		if n.err != nil || n.entry.Revision != string(n.entry.Digest) || strings.HasPrefix(n.revision, "sp1:") {
			out = append(out, n)
			continue
		}
		ask, entries = append(ask, lockedSkill{name: n.name, past: deliver.Past{Source: n.entry.Source}}), append(entries, n)
	}
	for i, got := range in.locked(ctx, ask) {
		n := entries[i]
		if n.err = got.err; n.err == nil {
			n.revision = string(got.found.Digest)
		}
		if n.err != nil || n.revision != n.entry.Revision || otherPrograms(n.entry, got.found) {
			out = append(out, n)
		}
	}
	sorting.Stable(out, func(a, b newer) int { return strings.Compare(a.name, b.name) })
	return out
}

// otherPacks leaves out skills of repositories of which only other folders changed since:
// in a repository of many skills each commit would name them all. Where a pack cannot be
// had now, its commit is another one, which is what is known.
func (in *installer) otherPacks(ctx context.Context, seem []newer) []newer {
	var ask []lockedSkill
	var at []int
	for i, n := range seem {
		if ref, err := source.Parse(n.entry.Source, source.ParseOptions{}); n.err == nil && err == nil && ref.Kind == source.Git {
			ask, at = append(ask, lockedSkill{name: n.name, past: deliver.Past{Source: n.entry.Source}}), append(at, i)
		}
	}
	same := map[int]bool{}
	for k, got := range in.locked(ctx, ask) {
		if got.err == nil && samePack(seem[at[k]].entry, got.found) {
			same[at[k]] = true
		}
	}
	var out []newer
	for i, n := range seem {
		if !same[i] {
			out = append(out, n)
		}
	}
	return out
}

// otherPrograms tells whether other files can be run than a lock says, of a pack that was
// found and can be read.
func otherPrograms(entry deliver.Locked, found *source.Found) bool {
	return found != nil && found.Pack != nil && !slices.Equal(deliver.Programs(found.Pack), entry.Executable)
}

// samePack tells whether a pack is the one that a lock has, its programs included.
func samePack(entry deliver.Locked, found *source.Found) bool {
	return found.Digest == entry.Digest && !otherPrograms(entry, found)
}

func (in *installer) update(ctx context.Context, names []string, side deliver.Side) error {
	candidates, checked, err := in.newerThanLock(ctx, names)
	if err != nil {
		return err
	}
	var errs []error
	wantedSkills := make([]lockedSkill, 0, len(candidates))
	var entries []deliver.Locked
	for _, n := range candidates {
		if n.err != nil {
			errs = append(errs, hubErrorOf(n.name, n.err))
			continue
		}
		wantedSkills = append(wantedSkills, lockedSkill{name: n.name, past: deliver.Past{Source: n.entry.Source, Revision: n.revision}})
		entries = append(entries, n.entry)
	}
	var wanted []deliver.Wanted
	for i, got := range in.locked(ctx, wantedSkills) {
		name, entry := wantedSkills[i].name, entries[i]
		if got.err != nil {
			errs = append(errs, hubErrorOf(name, got.err))
			continue
		}
		if got.fetched.Ref.Kind == source.Git && samePack(entry, got.found) {
			continue // as outdated has it: only other folders of the repository changed
		}
		o, err := in.offer(ctx, name, accept.Incoming{Fetched: got.fetched, Found: got.found})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		o.Source = entry.Source
		wanted = append(wanted, deliver.Wanted{Name: name, Offer: o, Side: side, Force: in.c.Bool("force"), KeepEdits: true})
	}
	plans := in.ws.Plan(ctx, wanted)
	reviews, err := in.review(ctx, plans, wanted)
	if err != nil {
		return err
	}
	doc := updated{Scope: string(in.scope), Lock: in.lock, Reviews: reviews, Skills: []installed{}, Checked: checked}
	in.finish = func() error { return in.carryOutUpdate(ctx, doc, plans, errs) }
	return nil
}

// carryOutUpdate asks for a yes to what was reviewed, and writes it.
func (in *installer) carryOutUpdate(ctx context.Context, doc updated, plans []deliver.Planned, errs []error) error {
	a, c := in.a, in.c
	if err := in.agree(ctx, plans, doc.Reviews); err != nil {
		in.notes.print(a)
		if c.Bool("json") {
			if printErr := a.printJSON(doc); printErr != nil {
				return printErr
			}
		}
		return err
	}
	plans, err := in.ws.Apply(plans)
	if err != nil {
		return err
	}
	var more []error
	doc.Skills, more = installedOf(plans)
	if doc.Skills == nil {
		doc.Skills = []installed{}
	}
	in.notes.print(a)
	if c.Bool("json") {
		if err := a.printJSON(doc); err != nil {
			return err
		}
		return failures("were not updated", slices.Concat(errs, more))
	}
	errs = append(errs, more...)
	err = failures("were not updated", errs)
	in.printUpdated(doc, err != nil)
	return err
}

func (in *installer) printUpdated(doc updated, failed bool) {
	a := in.a
	if len(doc.Skills) == 0 && !failed {
		a.printf("up to date: %d skills of %s (%s)\n", doc.Checked, doc.Lock, doc.Scope)
		return
	}
	shown := fewFailed(doc.Skills)
	a.some(len(shown), maxRows, func(i int) {
		d := shown[i]
		if d.Error != nil {
			a.printf("not updated in %s: %s\n", d.Path, d.Error.Message+d.others)
			return
		}
		a.printf("%s %s in %s\n", outcomeWord(d.Outcome), d.ref(), d.Path)
		if d.Outcome == "merged" && d.step != nil && len(d.step.Merged) > 0 {
			a.printf("  with your changes in %s\n", strings.Join(d.step.Merged, ", "))
		}
	})
	if len(doc.Skills) > 0 {
		a.printf("  lock    %s (%s)\n", doc.Lock, doc.Scope)
	}
}

// review says what the plans change that are about something installed.
func (in *installer) review(ctx context.Context, plans []deliver.Planned, wanted []deliver.Wanted) ([]deliver.Review, error) {
	out := []deliver.Review{}
	for i := range plans {
		p := &plans[i]
		if p.Before == nil || p.After == nil || p.Before.Digest == p.After.Digest && slices.Equal(p.Before.Executable, p.After.Executable) {
			continue
		}
		var old *pack.Pack
		kept, err := in.ws.Recall(ctx, p.Name, deliver.Past{Source: p.Before.Source, Revision: p.Before.Revision, Version: p.Before.Version, Digest: p.Before.Digest})
		if err == nil {
			old = kept.Pack
		}
		r := deliver.NewReview(p.Name, *p.Before, old, wanted[i].Offer)
		for _, s := range p.Steps {
			r.Folders = append(r.Folders, s.Dir)
		}
		out = append(out, r)
	}
	return out, nil
}

// agree shows what changes and wants a yes for it. What the person declines is taken
// out of the plans. The yes is for the content that was shown: exactly that is in the
// plan.
func (in *installer) agree(ctx context.Context, plans []deliver.Planned, reviews []deliver.Review) error {
	a, c := in.a, in.c
	if want := pack.Digest(c.String("digest")); want != "" {
		for _, r := range reviews {
			if r.To.Digest != want {
				return hubapi.Errorf(hubapi.Conflict, "%s is %s now, and you agreed to %s", r.Name, r.To.Digest, want).
					WithHint("look at what changes, and agree to that")
			}
		}
	}
	ask := a.asks(c)
	var input *bufio.Reader
	if ask {
		input = bufio.NewReader(a.Stdin)
	}
	waiting := 0
	for _, r := range reviews {
		if !c.Bool("json") {
			a.printReview(r)
		}
		switch {
		case c.Bool("yes"):
		case !ask:
			waiting++
		default:
			a.askf("update %s? [y/N] ", r.Name)
			answer, err := a.answer(ctx, input)
			if err != nil {
				return err
			}
			if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
				for i := range plans {
					if plans[i].Name == r.Name {
						plans[i].Err = hubapi.Errorf(hubapi.Precondition, "%s was not updated, as you said", r.Name)
					}
				}
			}
		}
	}
	if waiting > 0 {
		return hubapi.Errorf(hubapi.Precondition, "%d of the installed skills would change, and nobody agreed to it; nothing was written", waiting).
			WithHint("read what changes, then say --yes")
	}
	return nil
}

// asks tells whether somebody is there who can be asked for a yes.
func (a *app) asks(c *cli.Command) bool {
	return a.StdinTerminal && a.StderrTerminal && !c.Bool("yes") && !c.Bool("json")
}

// answer reads what a person says to a question. An interrupt ends the question too:
// a read of the terminal alone goes on until there is a line.
func (a *app) answer(ctx context.Context, input *bufio.Reader) (string, error) {
	line := make(chan string, 1)
	go func() {
		text, _ := input.ReadString('\n')
		line <- text
	}()
	text, err := "", error(nil)
	select {
	case text = <-line:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if !strings.HasSuffix(text, "\n") {
		a.askf("\n")
	}
	return text, err
}

// askf writes a question to the terminal.
func (a *app) askf(format string, args ...any) {
	was := a.Stdout
	a.Stdout = a.Stderr
	a.printf(format, args...)
	a.Stdout = was
}

// printReview shows what an update changes.
func (a *app) printReview(r deliver.Review) {
	what := ""
	switch {
	case r.Unknown:
		what = " (what is installed cannot be had any more: everything is shown)"
	case r.WhitespaceOnly:
		what = " (nothing but white space changes)"
	}
	a.printf("%s: %s -> %s%s\n", r.Name, revisionWord(r.From), revisionWord(r.To), what)
	if len(r.Folders) > 1 {
		for _, dir := range r.Folders {
			a.printf("  in              %s\n", dir)
		}
	}
	for _, w := range r.WishesAdded {
		a.printf("  wishes now      %s\n", w)
	}
	for _, w := range r.WishesDropped {
		a.printf("  no longer       %s\n", w)
	}
	for _, f := range r.Executable {
		a.printf("  can be run now  %s\n", f)
	}
	if r.Signer != "" {
		a.printf("  signer          %s\n", r.Signer)
	}
	a.some(len(r.Findings), maxRows, func(i int) {
		f := r.Findings[i]
		a.printf("  %s  %s: %s [%s]\n", string(f.Severity), accept.Place(r.Name, f), f.Reason, f.Rule)
	})
	for _, f := range r.Files {
		if f.Text == "" {
			a.printf("  %s %s\n", f.Change, f.Path)
			continue
		}
		n := 0
		for line := range strings.Lines(f.Text) {
			if n++; n > maxPreview {
				a.printf("  … (more; --json has it all)\n")
				break
			}
			a.printf("  %s\n", strings.TrimRight(line, "\r\n"))
		}
	}
}

func revisionWord(r deliver.Revised) string {
	digest := short(r.Digest)
	switch {
	case r.Version != "":
		return r.Version + " (" + digest + ")"
	case len(r.Revision) == 40 || len(r.Revision) == 64:
		return r.Revision[:12] + " (" + digest + ")"
	}
	return digest
}

func (a *app) skillsOutdated() *cli.Command {
	return a.leaf("outdated", "list installed skills whose sources have something newer", spec{
		args: "[NAME...]", max: -1,
		long:     "Asks the sources only what they have now, and changes nothing. Of a repository that has another commit the pack is looked\nat: what changed beside it does not count. Exit 0 whether or not there is something newer;\n1 when a source cannot be asked.",
		examples: []example{{"skills outdated", "in this scope"}, {"skills outdated --json", "for scripts"}},
		choices:  map[string][]string{"scope": {"project", "user"}},
	}, slices.Concat([]cli.Flag{scopeFlag()}, sourceFlags(), clientFlags()), a.runOutdated)
}

// outdatedSkill is one row of kx skills outdated.
type outdatedSkill struct {
	Name      string        `json:"name"`
	Source    string        `json:"source"`
	Installed string        `json:"installed"` // revision
	Available string        `json:"available"`
	Error     *hubapi.Error `json:"error,omitempty"`
}

// outdatedList is the --json document of kx skills outdated.
type outdatedList struct {
	Scope   string          `json:"scope"`
	Lock    string          `json:"lock"`
	Checked int             `json:"checked"`
	Skills  []outdatedSkill `json:"skills"`
}

func (a *app) runOutdated(ctx context.Context, c *cli.Command) error {
	names := namesOnce(c)
	return a.withInstaller(ctx, c, func(ws *deliver.Workspace) ([]source.Ref, error) { return lockedRefs(ws, names) }, func(in *installer) error {
		found, checked, err := in.newerThanLock(ctx, names)
		if err != nil {
			return err
		}
		found = in.otherPacks(ctx, found)
		doc := outdatedList{Scope: string(in.scope), Lock: in.lock, Checked: checked, Skills: []outdatedSkill{}}
		var errs []error
		for _, n := range found {
			row := outdatedSkill{Name: n.name, Source: n.entry.Source, Installed: n.entry.Revision, Available: n.revision}
			if n.err != nil {
				row.Error = asHubError(n.err)
				errs = append(errs, hubErrorOf(n.name, n.err))
			}
			doc.Skills = append(doc.Skills, row)
		}
		errs = append(errs, make([]error, max(0, checked-len(errs)))...) // those that could be asked
		if c.Bool("json") {
			if err := a.printJSON(doc); err != nil {
				return err
			}
			return failures("cannot be asked for", errs)
		}
		a.some(len(doc.Skills), maxRows, func(i int) {
			switch s := doc.Skills[i]; {
			case s.Error != nil:
			case s.Installed == s.Available:
				a.printf("%s  %s, other files can be run  %s\n", s.Name, brief(s.Installed), s.Source)
			default:
				a.printf("%s  %s -> %s  %s\n", s.Name, brief(s.Installed), brief(s.Available), s.Source)
			}
		})
		if len(doc.Skills) == 0 {
			a.printf("up to date: %d skills of %s (%s)\n", checked, in.lock, string(in.scope))
		}
		return failures("cannot be asked for", errs)
	})
}
