package cli

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/termtext"
)

// watchPage is how many events one request asks for.
const watchPage = 500

// watchPages is how many pages one turn takes: more than any trail that was kept.
const watchPages = 100_000

func (a *app) inboxWatch() *cli.Command {
	return a.leaf("watch", "print what happens to releases, as it happens", spec{
		long: "Asks the hub again and again. With --json every event is one line: a JSON document of its own, with the number\n" +
			"that --since takes to go on behind it. Ctrl-C ends it.",
		examples: []example{
			{"inbox watch --since 0 --once", "everything that happened so far"},
			{"inbox watch --since 0 --once --json", "one JSON document per line"},
		},
	}, append([]cli.Flag{
		&cli.Int64Flag{Name: "since", Value: -1, Usage: "begin behind event `NUMBER`; 0 is the beginning (default: what happens from now on)"},
		&cli.DurationFlag{Name: "interval", Value: 2 * time.Second, Usage: "ask every `DURATION`"},
		&cli.BoolFlag{Name: "once", Usage: "print what there is and end"},
	}, clientFlags()...), func(ctx context.Context, c *cli.Command) error {
		if c.Duration("interval") < 100*time.Millisecond {
			return usagef("--interval needs at least 100ms")
		}
		after := c.Int64("since")
		if after < -1 {
			return usagef("--since needs the number of an event")
		}
		for {
			// The hub is opened for each turn: one in this process belongs to
			// other commands in between.
			err := a.withHub(ctx, c, func(hub *hubclient.Client) error {
				next, err := a.watchOnce(ctx, c, hub, after)
				after = next
				return err
			})
			if err != nil || c.Bool("once") {
				return err
			}
			timer := time.NewTimer(c.Duration("interval"))
			select {
			case <-ctx.Done():
				timer.Stop()
				return ctx.Err()
			case <-timer.C:
			}
		}
	})
}

// watchOnce prints the events behind after and gives the number of the last. With
// -1 it only finds out where the trail ends.
func (a *app) watchOnce(ctx context.Context, c *cli.Command, hub *hubclient.Client, after int64) (int64, error) {
	quiet := after < 0
	after = max(after, 0)
	for range watchPages {
		page, err := hub.Events(ctx, after, watchPage)
		if err != nil {
			return after, err
		}
		if page.Next < after || len(page.Events) > 0 && page.Next == after {
			return after, hubapi.Errorf(hubapi.Internal, "the hub's events do not go on behind number %d", after)
		}
		for _, e := range page.Events {
			if quiet {
				continue
			}
			if err := a.printEvent(c, e); err != nil {
				return after, err
			}
		}
		after = page.Next
		if len(page.Events) < watchPage {
			return after, nil
		}
	}
	return after, hubapi.Errorf(hubapi.Internal, "the hub's events do not end")
}

func (a *app) printEvent(c *cli.Command, e hubapi.Event) error {
	if c.Bool("json") {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		a.printed = true
		_, err = a.Stdout.Write(append(termtext.JSON(line), '\n'))
		return err
	}
	what := ""
	if e.Name != "" {
		what = "  " + hubapi.Ref{Author: e.Author, Name: e.Name, Version: e.Version}.String()
	}
	if e.Note != "" {
		what += "  (" + e.Note + ")"
	}
	a.printf("%s  %s  %s  %s%s\n", strconv.FormatInt(e.Seq, 10), e.At.Format(time.RFC3339), e.Principal, e.Action, what)
	return nil
}
