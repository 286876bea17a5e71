package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/termtext"
)

func (a *app) fleetCommand(category string) *cli.Command {
	return a.group("fleet", "see what the machines have installed", category, a.fleetList(), a.fleetShow(), a.fleetRemove())
}

// fleetListed is what kx fleet list prints as JSON.
type fleetListed struct {
	Nodes []hubapi.NodeBrief `json:"nodes"`
}

func (a *app) fleetList() *cli.Command {
	return a.leaf("list", "list the machines, and how far each is from what is active", spec{
		long: "A machine is online while it was heard of in the last 90 seconds, and offline after 300. What a machine has\n" +
			"installed is compared with what is active now: missing, outdated, or not active any more.",
		examples: []example{
			{"fleet list", "one line per machine, the newest heartbeat first"},
			{"fleet list --status offline --json", "those that were not heard of for five minutes, as JSON"},
		},
		choices: map[string][]string{"status": {"online", "stale", "offline"}},
	}, append([]cli.Flag{
		&cli.StringFlag{Name: "fleet", Usage: "those of `FLEET` only"},
		&cli.StringFlag{Name: "status", Usage: "those that are `STATUS`: online, stale or offline"},
		&cli.IntFlag{Name: "limit", Value: 1000, Usage: "show at most `N` machines (2000 at most)"},
	}, clientFlags()...), func(ctx context.Context, c *cli.Command) error {
		if n := c.Int("limit"); n < 1 || n > hubclient.MaxListedNodes {
			return usagef("--limit needs a number from 1 to %d", hubclient.MaxListedNodes)
		}
		q := hubapi.FleetQuery{Fleet: c.String("fleet"), Status: hubapi.NodeStatus(c.String("status")), Limit: c.Int("limit")}
		return a.withHub(ctx, c, func(hub *hubclient.Client) error {
			nodes, err := hub.FleetNodes(ctx, q)
			if err != nil {
				return err
			}
			nodes = nodes[:min(len(nodes), q.Limit)]
			if c.Bool("json") {
				return a.printJSON(fleetListed{nodes})
			}
			if len(nodes) == 0 {
				a.printf("(no machine has reported)\n")
				return nil
			}
			a.printNodes(nodes)
			if len(nodes) == q.Limit {
				a.note("there may be more; raise --limit, or ask for one --fleet or --status")
			}
			return nil
		})
	})
}

func (a *app) printNodes(nodes []hubapi.NodeBrief) {
	table := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tFLEET\tSTATUS\tINSTALLED\tDRIFT\tLAST HEARTBEAT")
	for _, n := range nodes {
		kx := n.Metadata.Kx
		installed := "-"
		if kx.SnapshotAt != nil {
			installed = fmt.Sprintf("%d of %d", kx.Present(), kx.Active)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", cell(n.NodeName), cell(orDash(n.FleetID)), cell(string(n.Status)),
			installed, cell(kx.Summary()), a.ago(n.LastHeartbeat))
	}
	_ = table.Flush() // the output itself remembers why it could not be written
}

// cell is a text in a table for people.
func cell(s string) string { return termtext.Escape(brief(s)) }

func orDash(s *string) string {
	if s == nil || *s == "" {
		return "-"
	}
	return *s
}

// ago is how long ago something was.
func (a *app) ago(at time.Time) string { return termtext.Ago(a.Now().Sub(at)) }

func (a *app) fleetShow() *cli.Command {
	return a.leaf("show", "show one machine with all of its skills, and what differs and why", spec{
		args: "NODE", min: 1, max: 1,
		long:     "NODE is the name of a machine, or its id from kx fleet list --json.",
		examples: []example{{"fleet show laptop", "what it has, what it lacks, and why"}, {"fleet show laptop --json", "with everything that it reported"}},
	}, clientFlags(), func(ctx context.Context, c *cli.Command) error {
		return a.withHub(ctx, c, func(hub *hubclient.Client) error {
			node, err := hub.FleetNode(ctx, c.Args().First())
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return a.printJSON(node)
			}
			a.printNode(node)
			return nil
		})
	})
}

func (a *app) printNode(n hubapi.FleetNode) {
	kx := n.Metadata.Kx
	a.printf("%s  %s\n", brief(n.NodeName), string(n.Status))
	fact := func(name, value string) {
		if value != "" {
			a.printf("  %-15s %s\n", name, brief(value))
		}
	}
	fact("id", n.NodeID)
	fact("fleet", orDash(n.FleetID))
	for _, known := range []struct {
		name  string
		value *string
	}{{"host", n.Hostname}, {"address", n.IP}, {"OpenClaw", n.OpenclawVersion}, {"plugin", n.PluginVersion}} {
		if known.value != nil {
			fact(known.name, *known.value)
		}
	}
	fact("last heartbeat", n.LastHeartbeat.Format(time.RFC3339)+", "+a.ago(n.LastHeartbeat))
	fact("reported by", kx.ReportedBy)
	if kx.LastSuccessAt != nil {
		fact("last success", kx.LastSuccessAt.Format(time.RFC3339)+", "+a.ago(*kx.LastSuccessAt))
	} else {
		fact("last success", "never")
	}
	fact("error", kx.Error)
	fact("drift", kx.Summary())
	if kx.SnapshotAt != nil {
		fact("installed", fmt.Sprintf("%d of %s", kx.Present(), count(kx.Active, "active skill")))
	}
	if kx.Skills == nil {
		return
	}
	if kx.Partial {
		a.printf("  The machine told a digest of what it has, which is not that of what is active: which\n  skills differ is not known.\n")
	}
	s := kx.Skills
	skills := func(head string, list []hubapi.NodeSkill) {
		a.headed(head, len(list), func(i int) string { return skillLine(list[i]) })
	}
	skills("missing", s.Missing)
	skills("outdated", s.Outdated)
	skills("not active any more", s.Extra)
	notes := func(head string, list []hubapi.ReconcileNote) {
		a.headed(head, len(list), func(i int) string {
			return strings.TrimLeft(list[i].Slug+": ", ": ") + list[i].Reason + inFolder(list[i].Dir)
		})
	}
	names := func(head string, list []string) { a.headed(head, len(list), func(i int) string { return list[i] }) }
	names("collisions", s.Collisions)
	notes("skipped", s.Skipped)
	notes("failed", s.Failed)
	notes("edited and kept", s.Kept)
	notes("held back from removal", s.Held)
	names("protected", s.Protected)
	skills("installed", s.Installed)
	a.headed("targets", len(s.Targets), func(i int) string {
		t := s.Targets[i]
		return fmt.Sprintf("%s (%s, %d installed)", t.Dir, t.Mode, len(t.Installed))
	})
	names("registered folders", s.Registered)
}

// headed prints a list under its head, or nothing for an empty one.
func (a *app) headed(head string, n int, line func(i int) string) {
	if n == 0 {
		return
	}
	a.printf("\n%s\n", head)
	a.some(n, maxRows, func(i int) { a.printf("  %s\n", brief(line(i))) })
}

func skillLine(s hubapi.NodeSkill) string {
	line := s.Slug
	if s.Version != "" {
		line += "@" + s.Version
	}
	if s.Digest != "" {
		line += "  " + s.Digest
	}
	if s.Active != nil && s.Active.Digest != s.Digest {
		line += "  active is " + s.Active.Author + "/" + s.Slug + "@" + s.Active.Version
	}
	if s.Why != "" {
		line += "  (" + s.Why + ")"
	}
	return line
}

func inFolder(dir string) string {
	if dir == "" {
		return ""
	}
	return " (in " + dir + ")"
}

func (a *app) fleetRemove() *cli.Command {
	return a.leaf("remove", "forget a machine that is gone", spec{
		args: "NODE", min: 1, max: 1,
		long: "NODE is the name of a machine, or its id. Nothing changes on the machine; one that still reports is back with its\n" +
			"next heartbeat: revoke its key first.",
		examples: []example{{"fleet remove laptop", "it is not listed any more"}},
	}, clientFlags(), func(ctx context.Context, c *cli.Command) error {
		return a.withHub(ctx, c, func(hub *hubclient.Client) error {
			removed, err := hub.RemoveNode(ctx, c.Args().First())
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return a.printJSON(removed)
			}
			a.printf("removed %s\n", removed.NodeName)
			return nil
		})
	})
}
