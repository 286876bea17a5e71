package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/accept"
	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/source"
)

// installedFlags choose what is installed instead of the catalog, in the commands
// that know both.
func installedFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "installed", Usage: "what kx-lock.json has, not the catalog"},
		scopeFlag(),
	}
}

// aboutInstalled tells which of the two a command is about.
func aboutInstalled(c *cli.Command) bool {
	return c.Bool("installed") || c.String("scope") != "" || len(c.StringSlice("agent")) > 0
}

// installedSkill is one skill in one folder, in the --json document of kx skills list
// --installed.
type installedSkill struct {
	Name     string               `json:"name"`
	Author   string               `json:"author,omitempty"`
	Version  string               `json:"version,omitempty"`
	Source   string               `json:"source"`
	Revision string               `json:"revision"`
	Digest   pack.Digest          `json:"digest"`
	Format   pack.Format          `json:"format"`
	Signed   bool                 `json:"signed"`
	Path     string               `json:"path"`
	Mode     deliver.TargetMode   `json:"mode"`
	Agents   []string             `json:"agents,omitempty"`
	Standing deliver.Standing     `json:"standing"` // current, stale, modified, missing or foreign
	Reason   string               `json:"reason,omitempty"`
	Edits    []deliver.Difference `json:"edits,omitempty"`
}

// installedList is that document.
type installedList struct {
	Scope  string           `json:"scope"`
	Lock   string           `json:"lock"`
	Skills []installedSkill `json:"skills"`
}

func noSources(*deliver.Workspace) ([]source.Ref, error) { return nil, nil }

func (a *app) listInstalled(ctx context.Context, c *cli.Command) error {
	return a.withInstaller(ctx, c, noSources, func(in *installer) error {
		doc := installedList{Scope: string(in.scope), Lock: in.lock, Skills: []installedSkill{}}
		look := in.ws.Glance
		if c.Bool("verify") {
			look = in.ws.List
		}
		for _, p := range look() {
			doc.Skills = append(doc.Skills, installedSkill{
				Name: p.Name, Author: p.Locked.Author, Version: p.Locked.Version, Source: p.Locked.Source, Revision: p.Locked.Revision,
				Digest: p.Locked.Digest, Format: p.Locked.Format, Signed: p.Locked.Signed, Path: p.Dir, Mode: p.Target.Mode,
				Agents: p.Target.Agents, Standing: p.Standing, Reason: p.Why, Edits: p.Edits,
			})
		}
		if c.Bool("json") {
			return a.printJSON(doc)
		}
		if len(doc.Skills) == 0 {
			a.printf("(nothing is installed in the %s scope; install with: %s skills install REF)\n", string(in.scope), a.program)
			return nil
		}
		var lines strings.Builder // a write for each would cost as much as the look at it
		for _, s := range doc.Skills {
			who := ""
			if len(s.Agents) > 0 {
				who = "  " + strings.Join(s.Agents, ", ")
			}
			state := string(s.Standing)
			if s.Reason != "" {
				state += " (" + s.Reason + ")"
			}
			for _, part := range [...]string{s.Name, "  ", first(s.Version, short(s.Digest)), "  ", state, "  ", s.Path, who} {
				lines.WriteString(termtext.Escape(part))
			}
			lines.WriteByte('\n')
		}
		fmt.Fprint(a.Stdout, lines.String())
		a.printf("  lock    %s (%s)\n", doc.Lock, doc.Scope)
		return nil
	})
}

// removedSkill is one folder, in the --json document of kx skills remove --installed.
type removedSkill struct {
	Name    string         `json:"name"`
	Path    string         `json:"path"`
	Agents  []string       `json:"agents,omitempty"`
	Removed bool           `json:"removed"` // false: there was nothing of ours, and the lock forgot it
	Error   *hubapi.Error  `json:"error,omitempty"`
	action  deliver.Action // what was done
}

// removedList is that document.
type removedList struct {
	Scope  string         `json:"scope"`
	Lock   string         `json:"lock"`
	Skills []removedSkill `json:"skills"`
}

func (a *app) removeInstalled(ctx context.Context, c *cli.Command, names []string) error {
	var agents []string
	for _, name := range c.StringSlice("agent") {
		agent, err := deliver.FindAgent(name)
		if err != nil {
			return err
		}
		agents = append(agents, agent.Name)
	}
	return a.withInstaller(ctx, c, noSources, func(in *installer) error {
		removals := make([]deliver.Removal, len(names))
		for i, name := range names {
			removals[i] = deliver.Removal{Name: name, Agents: agents, Force: c.Bool("force")}
		}
		plans, err := in.ws.Apply(in.ws.PlanRemoval(removals))
		if err != nil {
			return err
		}
		doc := removedList{Scope: string(in.scope), Lock: in.lock, Skills: []removedSkill{}}
		var errs []error
		for _, p := range plans {
			failed := in.orOtherScope(p.Name, p.Err)
			for _, s := range p.Steps {
				if p.Err != nil {
					break
				}
				row := removedSkill{Name: p.Name, Path: s.Dir, Agents: s.Agents, Removed: s.Action == deliver.ActRemove && s.Err == nil, action: s.Action}
				if s.Err != nil {
					row.Error, failed = asHubError(s.Err), s.Err
				}
				doc.Skills = append(doc.Skills, row)
			}
			errs = append(errs, failed)
		}
		if c.Bool("json") && len(doc.Skills) > 0 {
			if err := a.printJSON(doc); err != nil {
				return err
			}
			return failures("were not removed", errs)
		}
		for _, s := range doc.Skills {
			switch {
			case s.Error != nil:
				a.printf("not removed %s: %s\n", s.Path, s.Error.Message)
			case s.Removed:
				a.printf("removed %s\n", s.Path)
			default:
				a.printf("forgot %s: nothing of ours is there\n", s.Path)
			}
		}
		if len(doc.Skills) > 0 {
			a.printf("  lock    %s (%s)\n", doc.Lock, doc.Scope)
		}
		return failures("were not removed", errs)
	})
}

// installedHint says where a skill is that the catalog does not have.
func (a *app) installedHint(c *cli.Command, name string) string {
	s, err := a.standing(c)
	if err != nil || !hasLocked(s.lock, name) {
		return ""
	}
	return fmt.Sprintf("it is installed: kx skills remove --installed %s", name)
}

func (a *app) skillsRollback() *cli.Command {
	return a.leaf("rollback", "bring an installed skill back to an earlier revision", spec{
		args: "NAME", min: 1, max: 1,
		long: "Without --to it is the revision before this one, so that a second rollback undoes the first. The content comes from\n" +
			"what this machine keeps of earlier installations, else from the source, which must still have the same content.\n" +
			"A later update brings the newest revision again.",
		examples: []example{
			{"skills rollback good --scope project", "to what was there before"},
			{"skills rollback good --to 1 --scope project --json", "to one of the last five revisions"},
		},
		choices: map[string][]string{"scope": {"project", "user"}},
	}, slices.Concat([]cli.Flag{
		scopeFlag(),
		&cli.StringFlag{Name: "to", Usage: "the `VERSION`, revision or digest to go back to"},
	}, mergeFlags(), []cli.Flag{withoutSecretFlag(), acceptFindingsFlag()}, acceptFlags(), sourceFlags(), clientFlags()), a.runRollback)
}

// rolledBack is the --json document of kx skills rollback.
type rolledBack struct {
	Scope  string          `json:"scope"`
	Lock   string          `json:"lock"`
	Name   string          `json:"name"`
	From   deliver.Revised `json:"from"`
	To     deliver.Revised `json:"to"`
	Skills []installed     `json:"skills"`
}

func (a *app) runRollback(ctx context.Context, c *cli.Command) error {
	side, err := mergeSide(c)
	if err != nil {
		return err
	}
	name := c.Args().First()
	return a.withInstaller(ctx, c, func(ws *deliver.Workspace) ([]source.Ref, error) { return lockedRefs(ws, []string{name}) }, func(in *installer) error {
		entry, err := in.fromLock(name)
		if err != nil {
			return err
		}
		past, err := pastOf(name, entry, c.String("to"))
		if err != nil {
			return err
		}
		kept, err := in.ws.Recall(ctx, name, past)
		if err != nil {
			return err
		}
		ref, err := source.Parse(past.Source, source.ParseOptions{})
		if err != nil {
			return err
		}
		o, err := in.offer(ctx, name, accept.Incoming{
			Fetched: &source.Fetched{Ref: ref, Revision: past.Revision, Signature: kept.Signature, Found: []source.Found{{}}},
			Found:   &source.Found{Name: kept.Pack.Name, Digest: past.Digest, Pack: kept.Pack},
			Locked:  true,
		})
		if err != nil {
			return err
		}
		o.Source, o.Revision, o.Author, o.Version = past.Source, past.Revision, entry.Author, past.Version
		if ref.Kind == source.Hub && in.hub != nil {
			release := hubapi.Ref{Author: first(ref.Hub.Author, entry.Author), Name: ref.Hub.Name, Version: past.Version}
			if _, err := in.hub.Release(ctx, release); err != nil && asHubError(err).Code == hubapi.NotFound {
				in.notes.Warn("the hub does not give %s to this key any more, because it was taken back: others cannot install it from the lock", release)
			}
		}
		plans, err := in.ws.Apply(in.ws.Plan(ctx, []deliver.Wanted{{Name: name, Offer: o, Force: c.Bool("force"), KeepEdits: true, Replace: true, Side: side}}))
		if err != nil {
			return err
		}
		done, errs := installedOf(plans)
		in.notes.print(a)
		if err := failures("were not rolled back", errs); err != nil && len(done) == 0 {
			return err
		}
		doc := rolledBack{
			Scope: string(in.scope), Lock: in.lock, Name: name, Skills: done,
			From: deliver.Revised{Revision: entry.Revision, Version: entry.Version, Digest: entry.Digest},
			To:   deliver.Revised{Revision: past.Revision, Version: past.Version, Digest: past.Digest},
		}
		if c.Bool("json") {
			if err := a.printJSON(doc); err != nil {
				return err
			}
		} else {
			a.printf("rolled back %s: %s -> %s\n", name, revisionWord(doc.From), revisionWord(doc.To))
			for _, d := range done {
				a.printf("  %s %s\n", outcomeWord(d.Outcome), d.Path)
			}
			a.printf("  lock    %s (%s)\n", doc.Lock, doc.Scope)
		}
		return failures("were not rolled back", errs)
	})
}

// pastOf finds the revision that is meant among those that a skill had.
func pastOf(name string, s deliver.Locked, want string) (deliver.Past, error) {
	if len(s.History) == 0 {
		return deliver.Past{}, hubapi.Errorf(hubapi.NotFound, "%s has no earlier revision in the lock", name).
			WithHint("install the one that you want by name, such as %s", s.Source)
	}
	if want == "" {
		return s.History[0], nil
	}
	var words []string
	for _, p := range s.History {
		if p.Version == want || p.Revision == want || string(p.Digest) == want || len(want) >= 7 && strings.HasPrefix(p.Revision, want) {
			return p, nil
		}
		words = append(words, first(p.Version, p.Revision))
	}
	return deliver.Past{}, hubapi.Errorf(hubapi.NotFound, "%s was never at %q as far as the lock knows", name, want).
		WithHint("there are: %s", strings.Join(words, ", "))
}
