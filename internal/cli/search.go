package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/termtext"
)

func (a *app) searchCommand() *cli.Command {
	return a.leaf("search", "find active skills by what they say and do", spec{
		args: "[WORD...]", max: -1,
		long: "Every WORD must stand somewhere in the skill: in its name, summary, description, tags, tools, author or text. Another\n" +
			"form of it (deploy, deploying), the beginning of a word and, where nothing else fits, a word with a typo will do.\n" +
			"The summary weighs most. Without a WORD everything that the filters leave is listed by name.\n\n" +
			"--json holds next_cursor while there is more; --cursor takes it.",
		examples: []example{
			{"search mailbox", "find skills about mailboxes"},
			{"search mail draft --explain", "both words, and why each hit is where it is"},
			{"search --tag email --author acme --json", "everything of acme with that tag"},
		},
	}, append([]cli.Flag{
		&cli.IntFlag{Name: "limit", Value: 20, Usage: "show at most `N` skills (100 at most)"},
		&cli.StringFlag{Name: "cursor", Usage: "go on behind the page whose next_cursor is `CURSOR`"},
		&cli.StringSliceFlag{Name: "tag", Usage: "only with `TAG`; more than once: with all of them"},
		&cli.StringSliceFlag{Name: "capability", Usage: "only with `CAPABILITY`: of a kazma manifest, or a tool that the skill wishes for; all of them"},
		&cli.StringFlag{Name: "author", Usage: "only of `AUTHOR`"},
		&cli.StringFlag{Name: "pack-format", Aliases: []string{formatFlag}, Usage: "only packs of `FORMAT`: " + formatNames()},
		&cli.StringFlag{Name: "status", Usage: "releases with `STATUS` instead of the active ones; for reviewers"},
		&cli.BoolFlag{Name: "explain", Usage: "show what each word met, and what that was worth"},
	}, clientFlags()...), a.runSearch)
}

func (a *app) runSearch(ctx context.Context, c *cli.Command) error {
	if n := c.Int("limit"); n < 1 || n > 100 {
		return usagef("--limit needs a number from 1 to 100")
	}
	options := hubclient.SearchOptions{
		Tags: c.StringSlice("tag"), Capabilities: c.StringSlice("capability"),
		Author: c.String("author"), Format: c.String("pack-format"), Status: hubapi.Status(c.String("status")),
		Limit: c.Int("limit"), Cursor: c.String("cursor"),
	}
	return a.withHub(ctx, c, func(hub *hubclient.Client) error {
		found, err := hub.Search(ctx, strings.Join(c.Args().Slice(), " "), options)
		if err != nil {
			return err
		}
		found.Items = found.Items[:min(len(found.Items), options.Limit)]
		if c.Bool("json") {
			return a.printJSON(found)
		}
		if len(found.Items) == 0 {
			status := options.Status
			if status == "" {
				status = hubapi.Active
			}
			a.printf("(nothing %s matches)\n", string(status))
		}
		for _, item := range found.Items {
			a.printf("%s/%s@%s  %s\n", brief(item.Author), brief(item.Name), brief(item.Version), brief(item.Summary))
			if c.Bool("explain") {
				a.explainItem(item)
			}
		}
		if len(found.Items) > 0 && a.StdoutTerminal && a.StderrTerminal {
			a.note("look at one with: %s show %s/%s", a.program, termtext.Escape(found.Items[0].Author), termtext.Escape(found.Items[0].Name))
		}
		for _, near := range found.DidYouMean[:min(len(found.DidYouMean), maxSuggests)] {
			a.note("did you mean: %s search %s", a.program, termtext.Escape(near))
		}
		if found.Note != "" {
			a.note("%s", termtext.Escape(brief(found.Note)))
		}
		if found.NextCursor != "" {
			more := "more"
			if options.Cursor == "" {
				more = fmt.Sprintf("%d more", max(0, found.Total-len(found.Items)))
			}
			a.note("%s; narrow the search, raise --limit, or go on with --cursor %s", more, termtext.Escape(found.NextCursor))
		}
		return nil
	})
}

func (a *app) explainItem(item hubapi.SearchItem) {
	a.printf("  score %.3f\n", item.Score)
	a.some(len(item.Matches), maxRows, func(i int) {
		m := item.Matches[i]
		word := m.Word
		if word == "" {
			word = "the query"
		}
		if m.Term != "" && m.Term != m.Word {
			word += " → " + m.Term
		}
		a.printf("  %9.3f  %s: %s in %s\n", m.Points, brief(word), string(m.Kind), brief(m.Field))
	})
}
