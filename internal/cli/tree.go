package cli

import (
	"context"

	"github.com/urfave/cli/v3"
)

// The headings of kx --help, in the order in which a pack travels.
const (
	headAuthor  = "Make and judge packs"
	headTrust   = "Vouch for packs"
	headHub     = "Publish, review, find"
	headUse     = "Catalog and agents"
	headOperate = "Run and operate"
)

func kxTree(a *app) *cli.Command {
	return a.newRoot("make, check, sign, publish, review, deliver and use skill packs",
		in(headAuthor, a.newCommand()),
		in(headAuthor, a.checkCommand()),
		in(headAuthor, a.fmtCommand()),
		in(headAuthor, a.schemaCommand()),
		in(headTrust, a.signCommand()),
		in(headTrust, a.verifyCommand()),
		a.keysCommand(headTrust),
		in(headHub, a.pushCommand()),
		in(headHub, a.pullCommand()),
		in(headHub, a.searchCommand()),
		a.inboxCommand(headHub),
		a.skillsCommand(headUse),
		in(headOperate, a.serveCommand()),
		in(headOperate, a.demoCommand()),
		in(headOperate, a.versionCommand()),
	)
}

func kazmaTree(a *app) *cli.Command {
	return a.newRoot("the hub commands of Kazma, over the packages of kx",
		a.kazmaHubCommand(),
		a.versionCommand(),
	)
}

// newRoot is the program itself: help without arguments, --version, completion.
func (a *app) newRoot(usage string, commands ...*cli.Command) *cli.Command {
	root := a.group(a.program, usage, "", commands...)
	root.Flags = []cli.Flag{&cli.BoolFlag{Name: "version", Usage: "print the version", Local: true}}
	alone := root.Action
	root.Action = func(ctx context.Context, c *cli.Command) error {
		if c.Bool("version") && c.NArg() == 0 {
			return a.printVersion(false)
		}
		return alone(ctx, c)
	}
	root.EnableShellCompletion = true
	root.ConfigureShellCompletionCommand = func(c *cli.Command) { a.completionCommand(c) }
	return root
}

// completionCommand makes the library's own command look and fail like ours.
func (a *app) completionCommand(c *cli.Command) {
	c.Hidden = false
	c.Category = headOperate
	c.Usage = "print a completion script for bash, zsh, fish or PowerShell"
	c.Description = "Load it into the running shell, or save it where the shell looks for completions:\n" +
		"  bash        source <(" + a.program + " completion bash)\n" +
		"  zsh         source <(" + a.program + " completion zsh)\n" +
		"  fish        " + a.program + " completion fish > ~/.config/fish/completions/" + a.program + ".fish\n" +
		"  PowerShell  " + a.program + " completion pwsh | Out-String | Invoke-Expression"
	c.Metadata = map[string]any{specKey: spec{max: -1, examples: []example{{"completion bash", "print the script for bash"}}}}
	c.Action = func(_ context.Context, c *cli.Command) error {
		if c.NArg() == 0 {
			printHelp(a.Stdout, c)
			return nil
		}
		return unknownCommand(c, c.Args().First())
	}
	a.finishCommand(c)
}
