package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
)

func (a *app) inboxCommand(category string) *cli.Command {
	return a.group("inbox", "review what was pushed", category,
		a.inboxList(), a.inboxShow(), a.inboxDiff(), a.inboxApprove(), a.inboxReject(), a.inboxQuarantine(),
		a.inboxDefer(), a.inboxEdit(), a.inboxRepropose(), a.inboxWatch())
}

func (a *app) inboxList() *cli.Command {
	return a.leaf("list", "list the releases that wait for review", spec{
		long: "What was deferred comes last; each part is in the order of newest first. The tenant's inbox_max_pending is the most\n" +
			"that is listed.",
		examples: []example{{"inbox list", "one line per release, newest first"}, {"inbox list --json", "with digests and content hashes"}, {"inbox list --status rejected", "what was rejected"}},
	}, append([]cli.Flag{
		&cli.IntFlag{Name: "limit", Value: 50, Usage: "show at most `N` releases (200 at most)"},
		&cli.StringFlag{Name: "status", Value: "staged", Usage: "list what is `STATUS`: staged, candidate, quarantined, rejected, active, deprecated or stale"},
	}, clientFlags()...), func(ctx context.Context, c *cli.Command) error {
		if n := c.Int("limit"); n < 1 || n > 200 {
			return usagef("--limit needs a number from 1 to 200")
		}
		status := hubapi.Status(c.String("status"))
		return a.withHub(ctx, c, func(hub *hubclient.Client) error {
			inbox, err := hub.InboxOf(ctx, status, c.Int("limit"), false)
			if err != nil {
				return err
			}
			inbox.Items = inbox.Items[:min(len(inbox.Items), c.Int("limit"))]
			if c.Bool("json") {
				return a.printJSON(inbox)
			}
			if len(inbox.Items) == 0 && status == hubapi.Staged {
				a.printf("(nothing waits for review)\n")
			} else if len(inbox.Items) == 0 {
				a.printf("(nothing is %s)\n", string(status))
			}
			for _, item := range inbox.Items {
				a.printf("%s/%s@%s  %s  %s  %s%s\n", brief(item.Author), brief(item.Name), brief(item.Version), brief(string(item.Status)), brief(item.Digest), brief(item.Summary), remarks(item))
			}
			if inbox.Truncated {
				a.note("there are more; raise --limit, or inbox_max_pending with: %s hub tenant set", a.program)
			}
			if status != hubapi.Staged {
				return nil
			}
			apart, err := hub.InboxOf(ctx, hubapi.Quarantined, 200, false)
			if err == nil && len(apart.Items) > 0 {
				least := ""
				if apart.Truncated {
					least = "at least "
				}
				a.note("%s%d quarantined: %s inbox list --status quarantined", least, len(apart.Items), a.program)
			}
			return err
		})
	})
}

// remarks are what a line of the inbox says behind the summary.
func remarks(item hubapi.InboxItem) string {
	var out []string
	if item.DeferredAt != nil {
		out = append(out, "deferred")
	}
	if item.ScanCritical+item.ScanWarn > 0 {
		out = append(out, count(item.ScanCritical, "critical finding"), count(item.ScanWarn, "warning"))
	}
	if item.Target != nil && item.Target.PreviousVersion != "" {
		out = append(out, "made from "+item.Target.PreviousVersion)
	}
	if len(out) == 0 {
		return ""
	}
	return "  (" + strings.Join(out, ", ") + ")"
}

func (a *app) inboxShow() *cli.Command {
	return a.leaf("show", "show one release with its files, findings and gates", spec{
		args: "REF", min: 1, max: 1,
		long: "REF is NAME, AUTHOR/NAME or AUTHOR/NAME@VERSION, in any status. Without a version it is the newest that waits.\n" +
			"Reviewers see every release of their tenant, others what was published by their own key.",
		examples: []example{{"inbox show triage", "what is known about it, and what can be done"}, {"inbox show acme/triage@1 --content", "with the text that agents would read"}},
	}, append([]cli.Flag{
		&cli.BoolFlag{Name: "content", Usage: "print the text that agents read, too"},
	}, clientFlags()...), func(ctx context.Context, c *cli.Command) error {
		ref, err := hubapi.ParseRef(c.Args().First())
		if err != nil {
			return asUsageRef(err)
		}
		return a.withHub(ctx, c, func(hub *hubclient.Client) error {
			detail, err := hub.InboxDetail(ctx, ref, c.Bool("content"))
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return a.printJSON(detail)
			}
			a.printInboxDetail(detail)
			return nil
		})
	})
}

func (a *app) printInboxDetail(d hubapi.InboxDetail) {
	r := d.Release
	a.printf("%s  %s\n  %s\n", r.Ref(), string(r.Status), brief(d.Item.Summary))
	a.printf("  digest       %s\n  pushed by    %s, %s\n", r.Digest, r.PublishedBy, r.CreatedAt.Format(time.RFC3339))
	if d.Base != "" {
		a.printf("  made from    %s\n", d.Base)
	}
	if d.Reason != "" {
		a.printf("  reason       %s\n", d.Reason)
	}
	if d.Scan == nil {
		a.printf("  scan         not scanned\n")
	} else {
		a.printf("  scan         %s, rules %s\n", scanWord(d.Scan.State, d.Scan.Findings), d.Scan.Rules)
		a.some(len(d.Scan.Findings), maxRows, func(i int) {
			a.printf("    %s\n", findingLine(d.Scan.Findings[i]))
		})
	}
	if r.Status == hubapi.Candidate { // what people push needs no gate
		for _, g := range d.Gates {
			state := "open"
			if g.Pass {
				state = "passes"
			}
			a.printf("  gate         %s %s: %s\n", g.Gate, state, g.Why)
		}
	}
	a.some(len(r.Files), maxRows, func(i int) { a.printf("  file         %s\n", r.Files[i].Path) })
	if len(d.Actions) > 0 {
		a.printf("  you may      %s\n", strings.Join(d.Actions, ", "))
	}
	if d.Item.Content != nil {
		a.printText("\n" + *d.Item.Content)
	}
}

func (a *app) inboxDiff() *cli.Command {
	return a.leaf("diff", "show how a release differs from the active one", spec{
		args: "REF", min: 1, max: 1,
		long: "REF is NAME, AUTHOR/NAME or AUTHOR/NAME@VERSION; without a version it is the newest that waits. Where nothing is\n" +
			"active, everything is new.",
		examples: []example{{"inbox diff triage", "against the active release"}, {"inbox diff acme/triage@2 --from 1", "against version 1"}},
	}, append([]cli.Flag{
		&cli.StringFlag{Name: "from", Usage: "compare with `VERSION` instead"},
	}, clientFlags()...), func(ctx context.Context, c *cli.Command) error {
		ref, err := hubapi.ParseRef(c.Args().First())
		if err != nil {
			return asUsageRef(err)
		}
		return a.withHub(ctx, c, func(hub *hubclient.Client) error {
			diff, err := hub.InboxDiff(ctx, ref, c.String("from"))
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return a.printJSON(diff)
			}
			a.printDiff(diff)
			return nil
		})
	})
}

func (a *app) printDiff(d hubapi.Diff) {
	from := "nothing"
	if d.From != nil {
		from = d.From.Ref()
	}
	a.printf("%s → %s\n", from, d.To.Ref())
	if len(d.Files) == 0 {
		a.printf("(no file differs)\n")
	}
	if d.WhitespaceOnly {
		a.printf("(no semantic change: nothing but white space differs)\n")
	}
	for _, f := range d.Files {
		switch {
		case f.Change == "mode":
			a.printf("\n%s: only the execute bit differs\n", f.Path)
		case f.Text == "":
			a.printf("\n%s: %s, not shown as text\n", f.Path, f.Change)
		default:
			a.printText("\n" + f.Text)
		}
	}
}

// move is a command that moves one release.
type move struct {
	name, usage, long string
	action            string // empty: name
	flags             []cli.Flag
	examples          []example
	review            func(*cli.Command) (hubapi.Review, error)
}

func (a *app) moveCommand(m move) *cli.Command {
	return a.leaf(m.name, m.usage, spec{args: "REF", min: 1, max: 1, long: m.long, examples: m.examples},
		slices.Concat(m.flags, clientFlags()), func(ctx context.Context, c *cli.Command) error {
			ref, err := hubapi.ParseRef(c.Args().First())
			if err != nil {
				return asUsageRef(err)
			}
			var in hubapi.Review
			if m.review != nil {
				if in, err = m.review(c); err != nil {
					return err
				}
			}
			return a.withHub(ctx, c, func(hub *hubclient.Client) error {
				moved, err := hub.Act(ctx, ref, first(m.action, m.name), in)
				if err != nil {
					return err
				}
				return a.printMove(c, moved)
			})
		})
}

func (a *app) printMove(c *cli.Command, moved hubapi.InboxMove) error {
	if c.Bool("json") {
		return a.printJSON(moved)
	}
	what := moved.Slug
	if moved.Release.Version != "" {
		what = moved.Release.Ref()
	}
	if moved.PreviousStatus == moved.NewStatus && moved.Detail != nil {
		a.printf("%s: still %s\n", what, string(moved.NewStatus))
	} else {
		a.printf("%s: %s → %s\n", what, string(moved.PreviousStatus), string(moved.NewStatus))
	}
	if moved.Detail != nil {
		a.printf("  %s\n", *moved.Detail)
	}
	return nil
}

// printText prints a text of several lines, each of them safe for a terminal.
func (a *app) printText(text string) {
	for line := range strings.Lines(text) {
		a.printf("%s\n", strings.TrimRight(line, "\r\n"))
	}
}

// count is a number with its word, which only one of has without an s.
func count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// asUsageRef is for a reference that nobody could resolve, because it is none.
func asUsageRef(err error) *hubapi.Error {
	return usagef("%v", err).WithHint("write NAME, AUTHOR/NAME or AUTHOR/NAME@VERSION")
}
