package cli

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
)

// operatorFlags are on the commands with which an operator manages a hub: it may be
// one that no server serves now.
func operatorFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "data", Usage: "manage the hub in `DIR` instead, whether it is served or not"},
		&cli.StringFlag{Name: "database-url", Usage: "manage the hub in the PostgreSQL database at `URL` instead"},
	}, clientFlags()...)
}

// withOperated calls use with a client of the hub that --data or --database-url
// names, as its operator; without them it is that of any other command.
func (a *app) withOperated(ctx context.Context, c *cli.Command, use func(*hubclient.Client) error) error {
	dir, url := c.String("data"), c.String("database-url")
	switch {
	case dir == "" && url == "":
		return a.withHub(ctx, c, use)
	case dir != "" && url != "", c.String("endpoint") != "":
		return usagef("--data, --database-url and --endpoint exclude each other")
	}
	var (
		store *sqlstore.Store
		err   error
	)
	if url != "" {
		store, err = sqlstore.OpenPostgres(ctx, url, sqlstore.Options{Now: a.Now, Wait: a.lockWait(), Waiting: a.waitingFor})
	} else {
		store, err = sqlstore.Open(ctx, a.path(dir), sqlstore.Options{Now: a.Now, Wait: a.lockWait(), Waiting: a.waitingFor})
	}
	if locked, ok := errors.AsType[*sqlstore.LockedError](err); ok && locked.Server != nil {
		return a.useClient(hubclient.Config{Endpoint: locked.Server.Address, Token: locked.Server.Key}, use)
	}
	if err != nil {
		return err
	}
	handler := httpapi.Handler(hub.New(store, hub.Config{Now: a.Now, Rand: a.Rand, Scanner: hub.ContentScanner{}}), httpapi.DevLocal(), httpapi.Options{})
	err = a.useClient(hubclient.Config{Endpoint: "http://127.0.0.1", Transport: httpapi.InProcess(handler)}, use)
	return errors.Join(err, store.Close())
}

func (a *app) hubToken() *cli.Command {
	return a.group("token", "make, list and revoke the keys of a hub", "", a.tokenNew(), a.tokenList(), a.tokenRevoke())
}

func (a *app) tokenNew() *cli.Command {
	return a.leaf("new", "make a key and print it, this once", spec{
		long: "Only the SHA-256 of a key is kept. It is shown to a hub with --token-file, KX_TOKEN_FILE, or as the header\n" +
			"Authorization: Bearer KEY.\n\n" +
			"Roles: node sees what is active; agent and publisher publish for review, under their --author names only; reviewer\n" +
			"sees and moves what waits; admin manages a tenant, and with the tenant local the hub.",
		examples: []example{
			{"hub token new --role publisher --author acme", "for people who publish as acme"},
			{"hub token new --role agent --author acme --expires 90d --json", "for an agent, for 90 days"},
		},
	}, append([]cli.Flag{
		&cli.StringFlag{Name: "role", Usage: "what it is for: `ROLE` is admin, reviewer, publisher, agent or node; required"},
		&cli.StringFlag{Name: "tenant", Usage: "a key of `TENANT` (default: your own)"},
		&cli.StringSliceFlag{Name: "author", Usage: "may publish as `AUTHOR`; the first is its default; may be repeated"},
		&cli.StringFlag{Name: "expires", Usage: "valid for `DURATION`, such as 90d or 12h, or until a date such as 2027-01-31 (default: until revoked)"},
		&cli.StringFlag{Name: "name", Usage: "call it `TEXT` in lists"},
		&cli.IntFlag{Name: "rate", Usage: "at most `N` requests a minute (default: 60000 for roles below reviewer)"},
	}, operatorFlags()...), func(ctx context.Context, c *cli.Command) error {
		if c.String("role") == "" {
			return usagef("--role is missing").WithHint("roles are admin, reviewer, publisher, agent and node")
		}
		in := hubapi.NewKey{
			Role: c.String("role"), Tenant: c.String("tenant"), Name: c.String("name"), Authors: c.StringSlice("author"), Rate: c.Int("rate"),
		}
		var err error
		if in.ExpiresAt, err = a.expiry(c.String("expires")); err != nil {
			return err
		}
		return a.withOperated(ctx, c, func(hub *hubclient.Client) error {
			made, err := hub.NewKey(ctx, in)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				err = a.printJSON(made)
			} else {
				a.printf("%s\n", made.Token)
				err = a.out.fault()
			}
			if err != nil { // nobody saw it, and nobody can see it again
				if _, revokeErr := hub.RevokeKey(context.WithoutCancel(ctx), made.ID); revokeErr != nil {
					return hubapi.Errorf(hubapi.Internal, "%v; nobody saw the key %s, and it is valid: it could not be revoked: %v", err, made.ID, revokeErr).
						WithHint("kx hub token revoke %s", made.ID)
				}
				return hubapi.Errorf(hubapi.Internal, "%v; the key was revoked again", err)
			}
			if c.Bool("json") {
				return nil
			}
			a.note("key %s: %s of tenant %s%s; it is not shown again", made.ID, made.Role, made.Tenant, authorsText(made.Authors))
			return nil
		})
	})
}

func authorsText(authors []string) string {
	if len(authors) == 0 {
		return ""
	}
	return ", publishes as " + strings.Join(authors, ", ")
}

// expiry reads a duration in days, hours or minutes, or a date.
func (a *app) expiry(text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	wrong := usagef("--expires needs a duration such as 90d or 12h, or a date such as 2027-01-31, not %.80q", text)
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return &at, nil
		}
	}
	length, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		if n > 36500 {
			return nil, wrong
		}
		length = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || length <= 0 {
		return nil, wrong
	}
	at := a.Now().Add(length).UTC()
	return &at, nil
}

func (a *app) tokenList() *cli.Command {
	return a.leaf("list", "list the keys of a tenant, without the keys themselves", spec{
		examples: []example{{"hub token list", "one line per key, oldest first"}, {"hub token list --json", "with dates and rates"}},
	}, append([]cli.Flag{
		&cli.StringFlag{Name: "tenant", Usage: "those of `TENANT` (default: your own)"},
	}, operatorFlags()...), func(ctx context.Context, c *cli.Command) error {
		return a.withOperated(ctx, c, func(hub *hubclient.Client) error {
			list, err := hub.Keys(ctx, c.String("tenant"))
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return a.printJSON(list)
			}
			if len(list.Keys) == 0 {
				a.printf("(no keys)\n")
			}
			for _, k := range list.Keys {
				a.printf("%s  %s…  %s  %s  %s  %s\n", k.ID, k.Prefix, k.State, k.Role, first(strings.Join(k.Authors, ","), "-"), first(k.Name, "-"))
			}
			return nil
		})
	})
}

func (a *app) tokenRevoke() *cli.Command {
	return a.leaf("revoke", "end a key, at once and for good", spec{
		args: "ID|NAME", min: 1, max: 1,
		long:     "ID is that of kx hub token list, not the key itself. A NAME must be that of one key of your tenant.",
		examples: []example{{"hub token revoke laptop", "whoever shows it is not known from now on"}},
	}, operatorFlags(), func(ctx context.Context, c *cli.Command) error {
		id := c.Args().First()
		if strings.HasPrefix(id, "kx_") {
			return usagef("that is a key, not its id; %s hub token list shows the ids", a.program)
		}
		return a.withOperated(ctx, c, func(hub *hubclient.Client) error {
			key, err := hub.RevokeKey(ctx, id)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return a.printJSON(key)
			}
			a.printf("revoked %s (%s… of tenant %s)\n", key.ID, key.Prefix, key.Tenant)
			return nil
		})
	})
}

func (a *app) hubWithdraw() *cli.Command {
	return a.endCommand("withdraw", "take back a release: an active one ends, a proposal leaves the inbox",
		[]example{{`hub withdraw acme/triage@1 --reason "it sends mail twice"`, "nobody gets it any more, nothing takes its place"}},
		", else the newest proposal", (*hubclient.Client).Withdraw)
}

func (a *app) hubDeprecate() *cli.Command {
	return a.endCommand("deprecate", "end an active release whose time is over",
		[]example{{`hub deprecate acme/triage --reason "use acme/mail"`, "the active release"}},
		"", (*hubclient.Client).Deprecate)
}

func (a *app) endCommand(name, usage string, examples []example, otherwise string, end func(*hubclient.Client, context.Context, hubapi.Ref, string) (hubapi.InboxMove, error)) *cli.Command {
	return a.leaf(name, usage, spec{
		args: "REF", min: 1, max: 1,
		long: refLong + "Without a version it is the active one" + otherwise + ". Publishers do it to releases\n" +
			"of their own authors, reviewers to all of their tenant. What was installed from it is removed by the next sync.",
		examples: examples,
	}, append([]cli.Flag{reasonFlag("say `WHY`")}, operatorFlags()...), func(ctx context.Context, c *cli.Command) error {
		ref, err := hubapi.ParseRef(c.Args().First())
		if err != nil {
			return asUsageRef(err)
		}
		return a.withOperated(ctx, c, func(hub *hubclient.Client) error {
			moved, err := end(hub, ctx, ref, c.String("reason"))
			if err != nil {
				return err
			}
			return a.printMove(c, moved)
		})
	})
}
