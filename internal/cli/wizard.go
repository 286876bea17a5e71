package cli

import (
	"context"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/accept"
	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/termtext"
)

func (a *app) wizardCommand() *cli.Command {
	return a.leaf("wizard", "choose skills, see what speaks for and against them, install them", spec{
		args: "[REF...]", max: -1,
		long: "Asks step by step: which skills, what you think of what they say and of what was found about them, which agents\n" +
			"shall have them, and whether that is to be written. Nothing is written before the last answer, and stopping leaves\n" +
			"every skill whole or absent. At the end it prints the command that does the same without questions.\n\n" +
			"Every answer is also a flag. With --skill, --agent and --scope (or --to), and --yes nothing is asked, and a skill\n" +
			"with grave findings that no reviewer let in is refused unless --accept-findings says that they were read\n" +
			"(--allow-findings where one is critical). Without a terminal the answers that are missing are listed. REF and\n" +
			"--skill take a skill of the hub (NAME, AUTHOR/NAME, AUTHOR/NAME@VERSION), the path of a folder, or the address of\n" +
			"a git repository.\n\n" +
			"--accessible, KX_ACCESSIBLE=1 or TERM=dumb ask line by line, which works with a screen reader and through a pipe.\n" +
			"NO_COLOR is honoured. Keys are shown on every screen; ctrl-c leaves from everywhere.",
		choices: map[string][]string{"scope": {"project", "user"}, "background": {"dark", "light"}, "git": gitChoices},
		examples: []example{
			{"wizard --skill acme/demo --to skills --yes", "every answer given: nothing is asked"},
			{"wizard acme/demo --agent claude-code --scope project --yes --json", "for scripts"},
		},
	}, slices.Concat(wizardFlags(), acceptFlags(), sourceFlags(), kazmaWizardFlags()), a.runWizard)
}

// wizardFlags are the answers to the wizard's questions.
func wizardFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "skill", Usage: "install the skill `REF`; more than once: all of them"},
		&cli.StringSliceFlag{Name: "agent", Usage: "for the agent `NAME`; more than once: for all of them"},
		&cli.StringFlag{Name: "scope", Usage: "for this project or for you everywhere: `SCOPE` is project or user"},
		&cli.StringFlag{Name: "to", Usage: "into the folder `DIR`, instead of those of agents"},
		&cli.BoolFlag{Name: "copy", Usage: "give every folder a copy (the default)"},
		&cli.BoolFlag{Name: "link", Usage: "one copy, and links to it in the other folders"},
		allFoldersFlag(),
		&cli.BoolFlag{Name: "force", Usage: "overwrite what somebody edited in a folder of ours"},
		acceptFindingsFlag(),
		&cli.BoolFlag{Name: "yes", Usage: "write what was planned, without asking"},
		&cli.BoolFlag{Name: "accessible", Usage: "ask line by line, for screen readers and pipes"},
		&cli.StringFlag{Name: "background", Usage: "colours for a terminal that is `SHADE`: dark or light (also KX_BACKGROUND)"},
	}
}

// kazmaWizardFlags say which hub is asked.
func kazmaWizardFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "endpoint", Usage: "hub at `URL` (also KAZMA_HUB_URL, KX_ENDPOINT); without one, your own hub"},
		registryPathFlag(),
		withoutSecretFlag(),
	}, kazmaFlags()...)
}

func (a *app) runWizard(ctx context.Context, c *cli.Command) error {
	if a.Wizard == nil {
		return hubapi.Errorf(hubapi.Unsupported, "this program was built without the wizard")
	}
	answers := WizardAnswers{
		Skills: append(c.StringSlice("skill"), c.Args().Slice()...), Agents: c.StringSlice("agent"), Scope: c.String("scope"),
		To: c.String("to"), Accept: c.Bool("accept-findings") || c.Bool("allow-findings"), Yes: c.Bool("yes"), Force: c.Bool("force"), Others: c.Bool("all-folders"),
		Accessible: c.Bool("accessible"), Background: c.String("background"),
	}
	if c.Bool("copy") {
		answers.Mode = string(deliver.AsCopy)
	}
	if c.Bool("link") {
		answers.Mode = string(deliver.AsLink)
	}
	switch {
	case c.String("endpoint") != "" && c.String("registry-path") != "":
		return usagef("--endpoint and --registry-path exclude each other: the skills are there or here")
	case c.Bool("copy") && c.Bool("link"):
		return usagef("--copy and --link exclude each other")
	case c.Bool("link") && answers.To != "":
		return usagef("--link needs agents: one folder alone has the copy")
	case answers.Scope != "" && answers.Scope != "project" && answers.Scope != "user":
		return usagef("--scope is project or user, not %q", answers.Scope)
	case answers.Background != "" && answers.Background != "dark" && answers.Background != "light":
		return usagef("--background is dark or light, not %q", answers.Background)
	case answers.To != "" && (len(answers.Agents) > 0 || answers.Scope != ""):
		return usagef("--to names a folder, so --agent and --scope say nothing more")
	}
	refs, err := a.parseRefs(answers.Skills)
	if err != nil {
		return err
	}
	for _, r := range refs {
		if err := a.refLeads(r.ref); err != nil {
			return err
		}
	}
	return a.askWizard(ctx, c, answers)
}

// askWizard hands over to the wizard and prints what it did.
func (a *app) askWizard(ctx context.Context, c *cli.Command, answers WizardAnswers) error {
	a.grace.Store(int64(wizardGrace))
	host := &WizardHost{a: a, c: c, Answers: answers, found: map[string]accept.Incoming{}}
	done, err := a.Wizard(ctx, host)
	if done == nil {
		return err
	}
	if c.Bool("json") {
		if err := a.printJSON(done); err != nil {
			return err
		}
	} else {
		a.printWizard(host, done)
	}
	return err
}

// wizardGrace is how long a wizard may take to end what it is writing, and to give
// the terminal back.
const wizardGrace = 30 * time.Second

// printWizard says what was installed, as kx skills install does, and how to do it
// again.
func (a *app) printWizard(host *WizardHost, done *WizardResult) {
	ok := len(done.Items) > 0
	if host.Answers.Yes { // nobody saw the plan
		for _, n := range done.Notes {
			a.note("%s: warning: %s", a.program, termtext.Escape(n))
		}
	}
	for _, item := range done.Items {
		if item.Problem != "" {
			ok = false
			a.note("%s: %s was not installed in %s: %s", a.program, termtext.Escape(item.Name), termtext.Escape(host.Show(item.Path)), termtext.Escape(item.Problem))
			continue
		}
		how := ""
		if item.Mode == string(deliver.AsLink) {
			how = " (a link)"
		}
		if item.NoLink != "" {
			how = " (a copy: " + item.NoLink + ")"
		}
		a.printf("%s %s in %s%s\n  digest  %s\n", outcomeWord(item.Outcome), wizardRef(item), host.Show(item.Path), how, string(item.Digest))
		for _, change := range item.Changes {
			a.printf("  changed %s\n", change)
		}
	}
	if ok && done.Command != "" && !host.Answers.Yes {
		a.note("the same without questions:\n  %s", termtext.Escape(done.Command))
	}
}

func wizardRef(d WizardDone) string {
	ref := d.Name
	if d.Author != "" {
		ref = d.Author + "/" + ref
	}
	if d.Version != "" {
		ref += "@" + d.Version
	}
	return ref
}
