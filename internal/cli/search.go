package cli

import (
	"context"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubclient"
)

func (a *app) searchCommand() *cli.Command {
	return a.leaf("search", "find active skills by name, description and tags", spec{
		args: "[WORD...]", max: -1,
		long: "Every WORD must match somewhere; the beginning of a word is enough. Without a WORD everything active is listed.",
		examples: []example{
			{"search mailbox", "find skills about mailboxes"},
			{"search mail draft --json", "both words, with digests and scores"},
		},
	}, append([]cli.Flag{
		&cli.IntFlag{Name: "limit", Value: 20, Usage: "show at most `N` skills (100 at most)"},
	}, clientFlags()...), func(ctx context.Context, c *cli.Command) error {
		if n := c.Int("limit"); n < 1 || n > 100 {
			return usagef("--limit needs a number from 1 to 100")
		}
		return a.withHub(ctx, c, func(hub *hubclient.Client) error {
			found, err := hub.Search(ctx, strings.Join(c.Args().Slice(), " "), c.Int("limit"))
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return a.printJSON(found)
			}
			if len(found.Items) == 0 {
				a.printf("(nothing active matches)\n")
			}
			for _, item := range found.Items {
				a.printf("%s/%s@%s  %s\n", item.Author, item.Name, item.Version, item.Summary)
			}
			if more := found.Total - len(found.Items); more > 0 {
				a.note("%d more; narrow the search or raise --limit", more)
			}
			return nil
		})
	})
}
