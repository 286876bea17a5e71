package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/pack"
)

// skillsCommand holds the catalog of the calling principal, and delivery. The old
// spellings of the Kortecx client (--dir, --name) keep working.
func (a *app) skillsCommand(category string) *cli.Command {
	return a.group("skills", "keep a catalog of your own, and install released skills", category,
		a.skillsAdd(), a.skillsList(), a.skillsShow(), a.skillsRemove(), a.skillsFind(),
		a.skillsInstall(), a.skillsUpdate(), a.skillsRollback(), a.skillsOutdated(), a.skillsMergeLock())
}

// catalogFlags are accepted by every catalog command and ignored where they mean
// nothing, as the reference does; help tells of a command's own ones only.
func catalogFlags(own ...string) []cli.Flag {
	all := []*cli.StringFlag{
		{Name: "dir", Usage: "the pack `FOLDER` to add (same as the argument)"},
		{Name: "manifest", Usage: "add the skill.json in `FILE`, sent as it is"},
		{Name: "instructions", Usage: "with --manifest: the instructions in `FILE`; without them the manifest must be in stored form"},
		{Name: "name", Usage: "the `SKILL` to show or remove (same as the argument)"},
	}
	var out []cli.Flag
	for _, f := range all {
		f.Hidden = !slices.Contains(own, f.Name)
		out = append(out, f)
	}
	return append(out, clientFlags()...)
}

func (a *app) skillsAdd() *cli.Command {
	return a.leaf("add", "put a kortecx pack into your catalog", spec{
		args: "[FOLDER]", max: 1, there: 1,
		long: "Takes a pack folder, or a manifest file with its instructions. An entry of the same name is replaced.\n" +
			"The catalog is yours alone: adding publishes nothing. Packs of other formats are refused.",
		examples: []example{
			{"skills add triage", "add the pack in the folder triage"},
			{"skills add --manifest triage/skill.json --instructions triage/instructions.md --json", "add two files"},
		},
	}, catalogFlags("dir", "manifest", "instructions"), func(ctx context.Context, c *cli.Command) error {
		add, err := a.catalogInput(c)
		if err != nil {
			return err
		}
		return a.withHub(ctx, c, func(hub *hubclient.Client) error {
			added, err := hub.CatalogAdd(ctx, add)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return a.printJSON(added)
			}
			suffix := ""
			if added.Deduplicated {
				suffix = " (unchanged)"
			}
			a.printf("added skill %s skill_ref=%s instructions_ref=%s…%s\n", added.Name, added.SkillRef, shorten(added.InstructionsRef, 12), suffix)
			return nil
		})
	})
}

// catalogInput reads what is to be added. Every local failure is a usage error,
// as in the reference; nothing is contacted before it.
func (a *app) catalogInput(c *cli.Command) (hubapi.CatalogAdd, error) {
	dir := c.String("dir")
	if arg := c.Args().First(); arg != "" {
		if dir != "" {
			return hubapi.CatalogAdd{}, usagef("the folder is named twice: %s and --dir %s", arg, dir)
		}
		dir = arg
	}
	manifest, instructions := c.String("manifest"), c.String("instructions")
	switch {
	case dir == "" && manifest == "":
		return hubapi.CatalogAdd{}, usagef("nothing to add: name a pack folder, or a --manifest file")
	case dir != "" && manifest != "":
		return hubapi.CatalogAdd{}, usagef("a pack folder and --manifest exclude each other")
	case dir != "" && instructions != "":
		return hubapi.CatalogAdd{}, usagef("--instructions goes with --manifest; a pack folder brings its own")
	case dir != "":
		return a.catalogFolder(dir)
	}
	data, err := readCapped(a.path(manifest), pack.MaxManifest+1)
	if err != nil {
		return hubapi.CatalogAdd{}, usagef("cannot read the manifest: %v", err)
	}
	add, form := hubapi.CatalogAdd{Manifest: string(data)}, pack.StoredForm
	if instructions != "" {
		body, err := readCapped(a.path(instructions), pack.MaxInstructions+1)
		if err != nil {
			return hubapi.CatalogAdd{}, usagef("cannot read the instructions: %v", err)
		}
		text := string(body)
		add.Instructions, form = &text, pack.PackForm
	}
	if _, faults, _ := pack.ParseManifest(data, form); len(faults) > 0 {
		return hubapi.CatalogAdd{}, asUsage(packError(faults), manifest)
	}
	return add, nil
}

// catalogFolder sends the canonical manifest and the instructions of a pack.
func (a *app) catalogFolder(dir string) (hubapi.CatalogAdd, error) {
	in, err := pack.Inspect(a.path(dir), pack.Options{})
	if err != nil {
		return hubapi.CatalogAdd{}, usagef("%v", err)
	}
	if in.Format != pack.Kortecx && in.Format != "" {
		return hubapi.CatalogAdd{}, usagef("%s is a %s pack; the catalog keeps kortecx packs only", dir, in.Format)
	}
	if err := in.Err(); err != nil {
		return hubapi.CatalogAdd{}, asUsage(asHubError(err), dir)
	}
	for i, extra := range in.Layout {
		if i == maxRows {
			a.note("%s: and %d more", a.program, len(in.Layout)-i)
			break
		}
		a.note("%s: not part of the pack, not sent: %s", a.program, termtext.Escape(extra.Error()))
	}
	body := string(in.Pack.Instructions())
	return hubapi.CatalogAdd{Manifest: string(in.Pack.Kortecx.Canonical()), Instructions: &body}, nil
}

// asUsage turns a refusal into a usage error that names what was read.
func asUsage(e *hubapi.Error, what string) *hubapi.Error {
	e.Code = hubapi.Usage
	e.Message = what + ": " + e.Message
	return e
}

func (a *app) skillsList() *cli.Command {
	return a.leaf("list", "list your catalog, or what is installed", spec{
		long: "With --installed or --scope it is what kx-lock.json has, with how every folder stands: current, stale (another\n" +
			"revision than the lock says), modified, missing or foreign; a link stands as the copy that it leads to. One that\n" +
			"cannot be read hides no other. Folders that look untouched since they were last read, within the last hour, are\n" +
			"not read again without --verify.",
		examples: []example{
			{"skills list", "one line per skill"},
			{"skills list --json", "with references, tags and wishes"},
			{"skills list --installed", "what is installed in this scope"},
		},
		choices: map[string][]string{"scope": {"project", "user"}},
	}, slices.Concat(installedFlags(), []cli.Flag{
		&cli.BoolFlag{Name: "verify", Usage: "with --installed: read every file, also those that look unchanged"},
	}, catalogFlags()), func(ctx context.Context, c *cli.Command) error {
		if aboutInstalled(c) {
			return a.listInstalled(ctx, c)
		}
		return a.withHub(ctx, c, func(hub *hubclient.Client) error {
			list, err := hub.CatalogAll(ctx)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return a.printJSON(list)
			}
			if len(list.Skills) == 0 {
				a.printf("(no skills in your catalog; add one with: %s skills add FOLDER)\n", a.program)
			}
			for _, s := range list.Skills {
				a.printf("%s@%s  %d tool wish(es)  %s\n", s.Name, s.Version, len(s.Tools), brief(s.Description))
			}
			return nil
		})
	})
}

// skillName takes the skill from the argument or from --name.
func skillName(c *cli.Command) (string, error) {
	name := first(c.Args().First(), c.String("name"))
	if name == "" {
		return "", usagef("which skill? %s NAME", c.FullName())
	}
	return name, nil
}

func noSuchSkill(name string) *hubapi.Error {
	return hubapi.Errorf(hubapi.NotFound, "no skill %q in your catalog", name)
}

func (a *app) skillsShow() *cli.Command {
	return a.leaf("show", "show one skill of your catalog: wishes and the beginning of its instructions", spec{
		args: "NAME", max: 1,
		examples: []example{{"skills show triage", "wishes and instructions"}, {"skills show --name triage --json", "the old spelling, as JSON"}},
	}, catalogFlags("name"), func(ctx context.Context, c *cli.Command) error {
		name, err := skillName(c)
		if err != nil {
			return err
		}
		return a.withHub(ctx, c, func(hub *hubclient.Client) error {
			form, err := hub.CatalogForm(ctx, name)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				if err := a.printJSON(form); err != nil {
					return err
				}
			}
			if !form.Found {
				return noSuchSkill(name)
			}
			if !c.Bool("json") {
				a.printForm(form)
			}
			return nil
		})
	})
}

func (a *app) printForm(form hubapi.CatalogForm) {
	a.printf("skill %s@%s  %s\n", form.Summary.Name, form.Summary.Version, brief(form.Summary.Description))
	a.printf("instructions_ref %s\n", form.Summary.InstructionsRef)
	a.some(len(form.Wishes), maxRows, func(i int) {
		w := form.Wishes[i]
		state := "UNREGISTERED"
		if w.Registered {
			state = "registered"
		}
		a.printf("  wish %s@%s  %s\n", w.ToolID, w.ToolVersion, state)
	})
	if len(form.Wishes) == 0 {
		a.printf("  (no tool wishes)\n")
	}
	lines := slices.Collect(strings.Lines(form.InstructionsPreview))
	for _, line := range lines[:min(len(lines), maxPreview)] {
		a.printf("  %s\n", strings.TrimRight(line, "\r\n"))
	}
	if form.PreviewTruncated || len(lines) > maxPreview {
		a.printf("  … (truncated)\n")
	}
}

func (a *app) skillsRemove() *cli.Command {
	return a.leaf("remove", "take a skill out of your catalog, or remove installed ones", spec{
		args: "NAME...", max: -1,
		long: "Without a flag it is about your catalog, as it always was. With --installed, --scope or --agent the skills of\n" +
			"kx-lock.json are removed: exactly the folders that we wrote, nothing that somebody edited unless --force, and\n" +
			"nothing that has taken their place.",
		examples: []example{
			{"skills remove triage", "out of the catalog"},
			{"skills remove good --installed --scope project", "from every agent of this scope"},
		},
		choices: map[string][]string{"scope": {"project", "user"}},
	}, slices.Concat(installedFlags(), []cli.Flag{
		&cli.StringSliceFlag{Name: "agent", Usage: "remove it from `AGENT` only; may be repeated"},
		&cli.BoolFlag{Name: "force", Usage: "with --installed: lose what was edited in the folder"},
	}, catalogFlags("name")), func(ctx context.Context, c *cli.Command) error {
		name, err := skillName(c)
		if err != nil {
			return err
		}
		names := namesOnce(c)
		if len(names) == 0 {
			names = []string{name}
		}
		if aboutInstalled(c) {
			return a.removeInstalled(ctx, c, names)
		}
		if len(names) > 1 {
			return usagef("unexpected argument %q", names[1]).WithHint("the catalog removes one at a time; --installed takes several")
		}
		return a.withHub(ctx, c, func(hub *hubclient.Client) error {
			removed, err := hub.CatalogRemove(ctx, name)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				if err := a.printJSON(removed); err != nil {
					return err
				}
			}
			if !removed.Removed {
				if !c.Bool("json") {
					a.printf("not removed (no such skill)\n")
				}
				return noSuchSkill(name).WithHint("%s", a.installedHint(c, name))
			}
			if !c.Bool("json") {
				a.printf("removed\n")
			}
			return nil
		})
	})
}

// shorten gives the first n bytes of an ASCII text.
func shorten(s string, n int) string { return s[:min(n, len(s))] }
