package cli

import (
	"context"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
)

func (a *app) inboxCommand(category string) *cli.Command {
	return a.group("inbox", "review what was pushed", category, a.inboxList(), a.inboxApprove())
}

func (a *app) inboxList() *cli.Command {
	return a.leaf("list", "list the releases that wait for review", spec{
		examples: []example{{"inbox list", "one line per release, newest first"}, {"inbox list --json", "with digests and content hashes"}},
	}, append([]cli.Flag{
		&cli.IntFlag{Name: "limit", Value: 50, Usage: "show at most `N` releases (200 at most)"},
	}, clientFlags()...), func(ctx context.Context, c *cli.Command) error {
		if n := c.Int("limit"); n < 1 || n > 200 {
			return usagef("--limit needs a number from 1 to 200")
		}
		return a.withHub(ctx, c, func(hub *hubclient.Client) error {
			inbox, err := hub.Inbox(ctx, c.Int("limit"), false)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return a.printJSON(inbox)
			}
			if len(inbox.Items) == 0 {
				a.printf("(nothing waits for review)\n")
			}
			for _, item := range inbox.Items {
				a.printf("%s/%s@%s  %s  %s  %s\n", item.Author, item.Name, item.Version, string(item.Status), item.Digest, item.Summary)
			}
			if inbox.Truncated {
				a.note("there are more; raise --limit")
			}
			return nil
		})
	})
}

func (a *app) inboxApprove() *cli.Command {
	return a.leaf("approve", "make a release active; it replaces the active one of its skill", spec{
		args: "REF", min: 1, max: 1,
		long: "REF is NAME, AUTHOR/NAME or AUTHOR/NAME@VERSION. Without a version it is the release pushed last.",
		examples: []example{
			{"inbox approve triage", "approve the newest release of triage that waits"},
			{"inbox approve acme/triage@2", "approve exactly this one"},
		},
	}, clientFlags(), func(ctx context.Context, c *cli.Command) error {
		ref, err := hubapi.ParseRef(c.Args().First())
		if err != nil {
			return asUsageRef(err)
		}
		return a.withHub(ctx, c, func(hub *hubclient.Client) error {
			move, err := hub.Approve(ctx, ref)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return a.printJSON(move)
			}
			a.printf("%s: %s → %s\n", move.Slug, string(move.PreviousStatus), string(move.NewStatus))
			if move.Detail != nil {
				a.printf("  %s\n", *move.Detail)
			}
			return nil
		})
	})
}

// asUsageRef is for a reference that nobody could resolve, because it is none.
func asUsageRef(err error) *hubapi.Error {
	return usagef("%v", err).WithHint("write NAME, AUTHOR/NAME or AUTHOR/NAME@VERSION")
}
