package cli

import (
	"context"
	"path/filepath"
	"unicode/utf8"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/scaffold"
)

func (a *app) newCommand() *cli.Command {
	return a.group("new", "make something new", "", a.newSkill(), a.newConnector())
}

func (a *app) newSkill() *cli.Command {
	return a.leaf("skill", "make a new skill pack that passes every check", spec{
		args: "NAME", min: 1, max: 1,
		long: "The folder NAME is made below --dir, whole or not at all. It may exist when it is empty; nothing is overwritten.\n" +
			"Every failure is exit 2.",
		choices: map[string][]string{"pack-format": packFormats()},
		examples: []example{
			{"new skill triage --tool gmail/search@1", "a kortecx pack that wishes for one tool"},
			{"new skill letters --pack-format skill-md --dir skills", "an Agent Skills folder below skills"},
		},
	}, []cli.Flag{
		&cli.StringFlag{Name: "dir", Usage: "make it below `PARENT` (default: here); missing folders are made"},
		&cli.StringFlag{Name: "pack-format", Aliases: []string{formatFlag}, Value: string(pack.Kortecx), Usage: "write a pack of `FORMAT`: " + formatNames()},
		&cli.StringFlag{Name: "description", Usage: "one `SENTENCE`: what it does and when to use it"},
		&cli.StringFlag{Name: "author", Usage: "the `AUTHOR` in the manifest (kazma only; default local)"},
		&cli.StringSliceFlag{Name: "tool", Usage: "wish for `TOOL@VERSION` (kortecx only, repeatable)"},
		&cli.StringSliceFlag{Name: "tag", Usage: "give it `TAG` (not for skill-md, repeatable)"},
		jsonFlag(),
	}, a.runNewSkill)
}

func (a *app) runNewSkill(_ context.Context, c *cli.Command) error {
	format, err := packFormat(c.String("pack-format"))
	if err != nil {
		return err
	}
	for _, flag := range []string{"description", "author"} {
		if !utf8.ValidString(c.String(flag)) {
			return usagef("--%s is not UTF-8", flag)
		}
	}
	if c.String("author") != "" && format != pack.Kazma {
		return usagef("--author goes with --pack-format kazma: a %s manifest names no author", format).
			WithHint("kx sign and kx push take --author")
	}
	result, err := scaffold.New(scaffold.Options{
		Name: c.Args().First(), Dir: a.path(c.String("dir")), Format: format,
		Description: c.String("description"), Author: c.String("author"),
		Tools: c.StringSlice("tool"), Tags: c.StringSlice("tag"),
	})
	if err != nil {
		e := asHubError(err)
		return usagef("%s", e.Message).WithHint("%s", first(e.Hint, c.FullName()+" --help"))
	}
	shown := filepath.Join(c.String("dir"), c.Args().First())
	if c.Bool("json") {
		return a.printJSON(map[string]any{"name": c.Args().First(), "format": result.Format, "path": shown, "files": result.Files})
	}
	a.printf("scaffolded skill pack %s\n", shown)
	a.printf("  next: write %s, then %s check %s\n", instructionsFile(format), a.program, shellQuote(shown))
	return nil
}

func (a *app) newConnector() *cli.Command {
	return a.leaf("connector", "make a small MCP server in Go, whose tools skills can wish for", spec{
		args: "NAME", min: 1, max: 1,
		long: "The folder NAME is a Go module with one tool and its test. It is made below --dir, whole or not at all; nothing is\n" +
			"overwritten. Every failure is exit 2.",
		examples: []example{
			{"new connector weather", "then go test ./... in weather"},
		},
	}, []cli.Flag{
		&cli.StringFlag{Name: "dir", Usage: "make it below `PARENT` (default: here); missing folders are made"},
		jsonFlag(),
	}, func(_ context.Context, c *cli.Command) error {
		made, err := scaffold.NewConnector(c.Args().First(), a.path(c.String("dir")))
		if err != nil {
			e := asHubError(err)
			return usagef("%s", e.Message).WithHint("%s", first(e.Hint, c.FullName()+" --help"))
		}
		made.Path = filepath.Join(c.String("dir"), c.Args().First())
		if c.Bool("json") {
			return a.printJSON(made)
		}
		a.printf("scaffolded connector %s\n", made.Path)
		a.printf("  next: cd %s && go test ./..., then %s new skill NAME --tool %s\n", shellQuote(made.Path), a.program, made.Tool)
		return nil
	})
}

// instructionsFile is the file of a new pack that its author writes first.
func instructionsFile(f pack.Format) string {
	switch f {
	case pack.Kazma:
		return "main.py"
	case pack.SkillMD:
		return "SKILL.md"
	}
	return "instructions.md"
}
