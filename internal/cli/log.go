package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/accept"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/internal/translog"
)

func (a *app) logCommand(category string) *cli.Command {
	return a.group("log", "read and verify the hub's transparency log", category,
		a.logVerify(), a.logProve(), a.logAudit(), a.logShow())
}

// requireLogFlag is on the commands that fetch releases.
func requireLogFlag() cli.Flag {
	return &cli.BoolFlag{Name: "require-log", Usage: "refuse a release of a hub that has no log"}
}

// proofInLog refuses a release that the hub's log does not have, or has differently,
// and gives what the log proved. A hub without a log passes with a warning, and nil,
// unless one is required. The user's own hub is held against its log alone, not against
// what was seen before.
func (a *app) proofInLog(ctx context.Context, required bool, hub *hubclient.Client, release hubapi.Release) (*accept.Evidence, error) {
	view, why, err := accept.OpenLog(ctx, required, hub)
	if err != nil {
		return nil, err
	}
	if view == nil {
		a.note("%s: warning: %s; nothing proves that others get the same %s", a.program, termtext.Escape(why), termtext.Escape(release.Ref()))
		return nil, nil
	}
	return accept.ProveIn(ctx, view, release)
}

// logSeen is the --json document of kx log verify.
type logSeen struct {
	Origin string `json:"origin"`
	VKey   string `json:"vkey"`
	Size   int64  `json:"size"`
	Root   string `json:"root"`
	// BeforeSize is the size of the log that was remembered; absent on the first
	// sight of it.
	BeforeSize *int64 `json:"before_size,omitempty"`
	Checkpoint string `json:"checkpoint"` // the signed note
}

func (a *app) logVerify() *cli.Command {
	return a.leaf("verify", "verify the log's checkpoint, and that it continues what was seen before", spec{
		long: "A hub writes every submission, publication, withdrawal and quarantine into a log to which it can only add. This\n" +
			"command verifies the signature on the log's state, has the hub prove that the log continues the one that was seen\n" +
			"before, and remembers it. A log that was rolled back or forked is refused, and both signed states are kept as\n" +
			"evidence below KX_HOME/log.\n\n" +
			"The key is trusted on first sight; compare it with what the hub's operator published.",
		examples: []example{{"log verify", "your own hub's log"}, {"log verify --json", "with the signed checkpoint"}},
	}, clientFlags(), func(ctx context.Context, c *cli.Command) error {
		return a.withHub(ctx, c, func(hub *hubclient.Client) error {
			view, err := hub.OpenLog(ctx)
			if err != nil {
				return err
			}
			out := logSeen{
				Origin: view.Checkpoint.Origin, VKey: view.VKey, Size: view.Checkpoint.Size,
				Root: view.Checkpoint.Root.String(), Checkpoint: string(view.Note),
			}
			if view.Before != nil {
				out.BeforeSize = &view.Before.Size
			}
			if c.Bool("json") {
				return a.printJSON(out)
			}
			a.printf("%s  verified\n  entries  %d\n  root     %s\n  key      %s\n", out.Origin, out.Size, out.Root, out.VKey)
			if out.BeforeSize == nil {
				a.printf("  before   never seen; remembered from now on\n")
			} else {
				a.printf("  before   %d entries, continued\n", *out.BeforeSize)
			}
			return nil
		})
	})
}

// logProven is the --json document of kx log prove.
type logProven struct {
	Release hubapi.Release `json:"release"`
	Origin  string         `json:"origin"`
	VKey    string         `json:"vkey"`
	Size    int64          `json:"size"`
	Index   int64          `json:"index"`
	Op      string         `json:"op"`
	Time    time.Time      `json:"time"`
	Entry   string         `json:"entry"`
	Proof   string         `json:"proof"` // c2sp.org/tlog-proof@v1
}

func (a *app) logProve() *cli.Command {
	return a.leaf("prove", "prove that a release is in the log, and says there what the hub says", spec{
		args: "REF", min: 1, max: 1,
		long: "REF is NAME, AUTHOR/NAME or AUTHOR/NAME@VERSION; without a version it is the active one. The proof is verified here\n" +
			"and printed as a C2SP tlog-proof, which together with the entry convinces others without the hub.",
		examples: []example{{"log prove triage", "the active release"}, {"log prove acme/triage@1 --json", "with its entry and the proof"}},
	}, clientFlags(), func(ctx context.Context, c *cli.Command) error {
		ref, err := hubapi.ParseRef(c.Args().First())
		if err != nil {
			return asUsageRef(err)
		}
		return a.withHub(ctx, c, func(hub *hubclient.Client) error {
			release, err := hub.Release(ctx, ref)
			if err != nil {
				return a.provable(ctx, hub, ref, err)
			}
			view, err := hub.OpenLog(ctx)
			if err != nil {
				return err
			}
			proven, err := view.ProveRelease(ctx, release)
			if err != nil {
				return err
			}
			out := logProven{
				Release: release, Origin: view.Checkpoint.Origin, VKey: view.VKey, Size: view.Checkpoint.Size,
				Index: proven.Proof.Index, Op: string(proven.Parsed.Op), Time: proven.Parsed.Time,
				Entry: proven.Entry, Proof: proven.Proof.Text(),
			}
			if c.Bool("json") {
				return a.printJSON(out)
			}
			a.note("%s: %s of %s is entry %d of %d in the log %s", a.program, out.Op, termtext.Escape(release.Ref()), out.Index, out.Size, termtext.Escape(out.Origin))
			fmt.Fprint(a.Stdout, lines(out.Proof))
			return nil
		})
	})
}

// provable says which version of a skill can be proved to be in the log, where none
// is active: the log keeps what was quarantined or withdrawn. In all other cases the
// error is the one that the hub gave.
func (a *app) provable(ctx context.Context, hub *hubclient.Client, ref hubapi.Ref, err error) error {
	if e, ok := errors.AsType[*hubapi.Error](err); !ok || e.Code != hubapi.NotFound || ref.Version != "" {
		return err
	}
	entries, listErr := hub.LastLogEntries(ctx, ref, 0, maxProvable)
	if listErr != nil || len(entries) == 0 {
		return err
	}
	last := entries[len(entries)-1]
	if last.Name == "" {
		return err
	}
	// That something was published says most; else what came last does.
	best, what := last, last.Op
	for _, e := range entries {
		if e.Op == string(translog.Publish) {
			best, what = e, e.Op
		}
	}
	return hubapi.Errorf(hubapi.NotFound, "no release of %s is active; the last entry of the log about it is the %s of %s@%s at %s",
		last.Name, last.Op, last.Name, last.Version, last.Time.UTC().Format(time.RFC3339)).
		WithHint("what is provable is the %s of a version: %s log prove %s@%s", what, a.program, best.Name, best.Version)
}

// maxProvable is how many of the newest entries about a skill are looked at for a
// version that can be proved.
const maxProvable = 1000

// lines makes a text of several lines safe for a terminal.
func lines(text string) string {
	parts := strings.Split(text, "\n")
	for i, part := range parts {
		parts[i] = termtext.Escape(part)
	}
	return strings.Join(parts, "\n")
}

func (a *app) logAudit() *cli.Command {
	return a.leaf("audit", "replay the whole log and hold the hub's index against it", spec{
		long: "Reads every entry: they must make the root that the hub signed, one version must have one digest for ever, and what\n" +
			"the hub lists as releases must be what the log says, both ways. A reviewer's key also checks what was never active,\n" +
			"whose names the log hides from others. Exit 1 when anything is wrong; doubts about times are warnings.",
		examples: []example{{"log audit", "your own hub"}, {"log audit --json", "with one item per finding"}},
	}, clientFlags(), func(ctx context.Context, c *cli.Command) error {
		return a.withHub(ctx, c, func(hub *hubclient.Client) error {
			out, err := hub.AuditLog(ctx, a.Now())
			if err != nil {
				return err
			}
			if c.Bool("json") {
				if err := a.printJSON(out); err != nil {
					return err
				}
			} else {
				verdict := "consistent"
				if !out.OK {
					verdict = "NOT CONSISTENT"
				}
				a.printf("%s  %s\n  entries   %d\n  releases  %d\n  root      %s\n", out.Origin, verdict, out.Size, out.Releases, out.Root)
				for _, f := range out.Findings {
					kind := "problem"
					if f.Warning {
						kind = "warning"
					}
					a.printf("  %s   %s [%s]\n", kind, f.Text, f.ID)
				}
			}
			if !out.OK {
				return exitError(hubapi.ExitFailed)
			}
			return nil
		})
	})
}

// logShown is the --json document of kx log show.
type logShown struct {
	hubapi.Log
	Items []hubapi.LogEntry `json:"items"`
}

func (a *app) logShow() *cli.Command {
	return a.leaf("show", "list what the log says: who did what to which release, and when", spec{
		args: "[NAME]", max: 1,
		long: "NAME is a skill, AUTHOR/NAME or AUTHOR/NAME@VERSION. Without one, the newest entries are listed. Who did it is\n" +
			"told to reviewers; so is what was never active. The list is as the hub tells it: kx log audit checks it.",
		examples: []example{{"log show", "the newest entries"}, {"log show triage", "who submitted and approved triage"}},
	}, append([]cli.Flag{
		&cli.IntFlag{Name: "limit", Value: 50, Usage: "show at most `N` entries, the newest"},
	}, clientFlags()...), a.runLogShow)
}

func (a *app) runLogShow(ctx context.Context, c *cli.Command) error {
	limit := c.Int("limit")
	if limit < 1 || limit > 100_000 {
		return usagef("--limit needs a number from 1 to 100000")
	}
	var ref hubapi.Ref
	if name := c.Args().First(); name != "" {
		var err error
		if ref, err = hubapi.ParseRef(name); err != nil {
			return asUsageRef(err)
		}
	}
	return a.withHub(ctx, c, func(hub *hubclient.Client) error {
		state, err := hub.LogState(ctx)
		if err != nil {
			return err
		}
		out := logShown{Log: state}
		from := int64(0)
		if ref.Name == "" {
			from = max(0, state.Size-int64(limit))
		}
		if out.Items, err = hub.LastLogEntries(ctx, ref, from, limit); err != nil {
			return err
		}
		if ref.Name != "" && len(out.Items) == 0 {
			return hubapi.Errorf(hubapi.NotFound, "the log says nothing about %s that you may see", ref).
				WithHint("%s log show lists the newest entries; names of what was never active are told to reviewers only", a.program)
		}
		if c.Bool("json") {
			return a.printJSON(out)
		}
		a.printf("%s  %d entries  %s\n", out.Origin, out.Size, out.VKey)
		for _, item := range out.Items {
			a.printLogEntry(item)
		}
		return nil
	})
}

func (a *app) printLogEntry(item hubapi.LogEntry) {
	what := "(a release that is not active)"
	if item.Name != "" {
		what = item.Name + "@" + item.Version
	}
	a.printf("%6d  %s  %-10s  %s  %s", item.Index, item.Time.UTC().Format(time.RFC3339), item.Op, what, shorten(item.Digest, 16))
	if item.Principal != "" {
		a.printf("  by %s", item.Principal)
	}
	if item.Note != "" {
		a.printf("  (%s)", item.Note)
	}
	a.printf("\n")
}
