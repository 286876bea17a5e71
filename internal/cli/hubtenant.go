package cli

import (
	"context"
	"strconv"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
)

func (a *app) hubTenant() *cli.Command {
	return a.group("tenant", "show and set what holds for a tenant", "", a.tenantShow(), a.tenantSet(), a.tenantNew())
}

func (a *app) tenantShow() *cli.Command {
	return a.leaf("show", "show the settings of a tenant, or list all tenants", spec{
		args: "[TENANT]", max: 1,
		examples: []example{{"hub tenant show", "your own"}, {"hub tenant show --all --json", "all that you manage"}},
	}, append([]cli.Flag{
		&cli.BoolFlag{Name: "all", Usage: "all tenants that you manage"},
	}, operatorFlags()...), func(ctx context.Context, c *cli.Command) error {
		if c.Bool("all") && c.NArg() > 0 {
			return usagef("--all and a TENANT exclude each other")
		}
		return a.withOperated(ctx, c, func(hub *hubclient.Client) error {
			if !c.Bool("all") {
				tenant, err := hub.Tenant(ctx, c.Args().First())
				if err != nil {
					return err
				}
				return a.printTenant(c, tenant)
			}
			list, err := hub.Tenants(ctx)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return a.printJSON(list)
			}
			for _, tenant := range list.Tenants {
				if err := a.printTenant(c, tenant); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func (a *app) printTenant(c *cli.Command, t hubapi.Tenant) error {
	if c.Bool("json") {
		return a.printJSON(t)
	}
	s := t.Settings
	a.printf("tenant %s\n", t.ID)
	for _, row := range []struct{ name, value string }{
		{"opted-in", strconv.FormatBool(s.OptedIn)},
		{"self-approve", strconv.FormatBool(s.SelfApprove)},
		{"auto-promote-clean", strconv.FormatBool(s.AutoPromoteClean)},
		{"public-log", strconv.FormatBool(s.PublicLog)},
		{"public-catalog", strconv.FormatBool(s.PublicCatalog)},
		{"inbox-max-pending", strconv.Itoa(s.InboxMaxPending)},
		{"cooloff-days", strconv.Itoa(s.CooloffDays)},
		{"stale-days", strconv.Itoa(s.StaleDays)},
		{"min-cluster-size", strconv.Itoa(s.MinClusterSize)},
		{"min-distinct-agents", strconv.Itoa(s.MinDistinctAgents)},
		{"freshness-window-days", strconv.Itoa(s.FreshnessWindowDays)},
		{"description-max-bytes", strconv.Itoa(s.DescriptionMaxBytes)},
		{"body-max-bytes", strconv.Itoa(s.BodyMaxBytes)},
	} {
		a.printf("  %s = %s\n", row.name, row.value)
	}
	return nil
}

// settingFlags are the settings of a tenant.
func settingFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "opted-in", Usage: "documents are shown once they are active, and there is an inbox; --opted-in=false ends both"},
		&cli.BoolFlag{Name: "self-approve", Usage: "authors may approve their own releases"},
		&cli.BoolFlag{Name: "auto-promote-clean", Usage: "mined candidates that pass all gates become active without a reviewer"},
		&cli.BoolFlag{Name: "public-log", Usage: "the transparency log may be read without a key"},
		&cli.BoolFlag{Name: "public-catalog", Usage: "what is active may be listed and read without a key at /.well-known/agent-skills; of the tenant local only"},
		&cli.IntFlag{Name: "inbox-max-pending", Usage: "list at most `N` waiting releases, 0 to 200; 0 mutes the inbox"},
		&cli.IntFlag{Name: "cooloff-days", Usage: "do not take rejected content again for `N` days, 1 to 365"},
		&cli.IntFlag{Name: "stale-days", Usage: "let proposals that nobody moved grow stale after `N` days; 0 never"},
		&cli.IntFlag{Name: "min-cluster-size", Usage: "want at least `N` runs behind a mined candidate"},
		&cli.IntFlag{Name: "min-distinct-agents", Usage: "want at least `N` agents behind a mined candidate"},
		&cli.IntFlag{Name: "freshness-window-days", Usage: "want them within the last `N` days"},
		&cli.IntFlag{Name: "description-max-bytes", Usage: "take descriptions of documents up to `N` bytes"},
		&cli.IntFlag{Name: "body-max-bytes", Usage: "take texts of documents up to `N` bytes"},
	}
}

// tenantChange is what the setting flags ask for.
func tenantChange(c *cli.Command) hubapi.TenantChange {
	flag := func(name string) *bool {
		if !c.IsSet(name) {
			return nil
		}
		v := c.Bool(name)
		return &v
	}
	number := func(name string) *int {
		if !c.IsSet(name) {
			return nil
		}
		v := c.Int(name)
		return &v
	}
	return hubapi.TenantChange{
		OptedIn: flag("opted-in"), SelfApprove: flag("self-approve"), AutoPromoteClean: flag("auto-promote-clean"), PublicLog: flag("public-log"),
		PublicCatalog:   flag("public-catalog"),
		InboxMaxPending: number("inbox-max-pending"), CooloffDays: number("cooloff-days"), StaleDays: number("stale-days"),
		MinClusterSize: number("min-cluster-size"), MinDistinctAgents: number("min-distinct-agents"),
		FreshnessWindowDays: number("freshness-window-days"), DescriptionMaxBytes: number("description-max-bytes"), BodyMaxBytes: number("body-max-bytes"),
	}
}

func (a *app) tenantSet() *cli.Command {
	return a.leaf("set", "change settings of a tenant; they hold at once", spec{
		args: "[TENANT]", max: 1,
		long: "TENANT is your own when it is left out. Settings that are not named stay as they are.",
		examples: []example{
			{"hub tenant set --cooloff-days 14", "of your own tenant"},
			{"hub tenant set local --self-approve=false", "a second person has to approve"},
		},
	}, append(settingFlags(), operatorFlags()...), func(ctx context.Context, c *cli.Command) error {
		change := tenantChange(c)
		if change == (hubapi.TenantChange{}) {
			return usagef("no setting to change").WithHint("%s --help", c.FullName())
		}
		return a.withOperated(ctx, c, func(hub *hubclient.Client) error {
			tenant, err := hub.SetTenant(ctx, c.Args().First(), change)
			if err != nil {
				return err
			}
			return a.printTenant(c, tenant)
		})
	})
}

func (a *app) tenantNew() *cli.Command {
	return a.leaf("new", "add a tenant: its own skills, keys and settings", spec{
		args: "TENANT", min: 1, max: 1,
		long:     "Only an admin of the tenant local may, which is you on your own machine. Next: kx hub token new --tenant TENANT.",
		examples: []example{{"hub tenant new team", "with the default settings"}},
	}, append(settingFlags(), operatorFlags()...), func(ctx context.Context, c *cli.Command) error {
		return a.withOperated(ctx, c, func(hub *hubclient.Client) error {
			tenant, err := hub.NewTenant(ctx, hubapi.NewTenant{ID: c.Args().First(), Settings: tenantChange(c)})
			if err != nil {
				return err
			}
			return a.printTenant(c, tenant)
		})
	})
}
