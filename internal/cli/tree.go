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
		"Begin with kx demo, which takes one pack the whole way in a scratch folder and shows every command that it runs; or\n"+
			"with kx new skill NAME for one of your own, and kx doctor for what the agents here see.",
		in(headAuthor, a.newCommand()),
		in(headAuthor, a.checkCommand()),
		in(headAuthor, a.scanCommand()),
		in(headAuthor, a.fmtCommand()),
		in(headAuthor, a.convertCommand()),
		in(headAuthor, a.schemaCommand()),
		in(headTrust, a.signCommand()),
		in(headTrust, a.verifyCommand()),
		a.keysCommand(headTrust),
		a.trustCommand(headTrust),
		in(headHub, a.pushCommand()),
		in(headHub, a.pullCommand()),
		in(headHub, a.searchCommand()),
		in(headHub, a.showCommand()),
		a.inboxCommand(headHub),
		a.fleetCommand(headHub),
		a.logCommand(headHub),
		a.skillsCommand(headUse),
		in(headUse, a.agentsCommand()),
		in(headUse, a.doctorCommand()),
		in(headUse, a.syncCommand()),
		in(headUse, a.mcpCommand()),
		in(headOperate, a.serveCommand()),
		a.hubCommand(headOperate),
		in(headOperate, a.demoCommand()),
		in(headOperate, a.completionCommand()),
		in(headOperate, a.manCommand()),
		in(headOperate, a.versionCommand()),
	)
}

func kazmaTree(a *app) *cli.Command {
	return a.newRoot("the hub commands of Kazma, over the packages of kx",
		"Begin with kazma wizard, which shows what speaks for and against a skill before it installs it. To publish one of your\n"+
			"own, see kazma hub publish. Packs are made with kx new skill NAME --pack-format kazma.",
		a.wizardCommand(),
		a.kazmaHubCommand(),
		a.serveCommand(),
		a.completionCommand(),
		a.manCommand(),
		a.versionCommand(),
	)
}

// newRoot is the program itself: help without arguments, and --version.
func (a *app) newRoot(usage, begin string, commands ...*cli.Command) *cli.Command {
	root := a.group(a.program, usage, "", commands...)
	root.Description = begin
	root.Flags = append([]cli.Flag{&cli.BoolFlag{Name: "version", Usage: "print the version", Local: true}}, root.Flags...)
	alone := root.Action
	root.Action = func(ctx context.Context, c *cli.Command) error {
		if c.Bool("version") && c.NArg() == 0 {
			return a.printVersion(c.Bool("json"))
		}
		return alone(ctx, c)
	}
	return root
}
