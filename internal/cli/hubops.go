package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hubapi"
)

// databaseURL names the environment variable with the address of a PostgreSQL
// database: a command line can be seen by others.
const databaseURL = "KX_DATABASE_URL"

// gcGrace is how long a content is kept that nothing refers to.
const gcGrace = time.Hour

// placeFlags say which hub's database is meant.
func placeFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "data", Usage: "the hub in `DIR` (default: the one in your KX_HOME)"},
		&cli.StringFlag{Name: "database-url", Usage: "the hub in the PostgreSQL database at `URL` (also " + databaseURL + ", which others cannot see)"},
		jsonFlag(),
	}
}

// dataDir is --data, else the user's own hub.
func (a *app) dataDir(c *cli.Command) (string, error) {
	if dir := c.String("data"); dir != "" {
		return a.path(dir), nil
	}
	home, err := a.home()
	return home.hub(), err
}

// databaseURL is --database-url, else the environment's.
func (a *app) databaseURL(c *cli.Command) string {
	if c.IsSet("database-url") {
		return c.String("database-url")
	}
	return a.Getenv(databaseURL)
}

func (a *app) place(c *cli.Command) (sqlstore.Place, error) {
	if url := a.databaseURL(c); url != "" {
		if c.IsSet("data") && c.IsSet("database-url") {
			return sqlstore.Place{}, usagef("--data and --database-url exclude each other")
		}
		if !c.IsSet("data") {
			return sqlstore.Place{URL: url}, nil
		}
	}
	dir, err := a.dataDir(c)
	return sqlstore.Place{Dir: dir}, err
}

func placeName(p sqlstore.Place) string {
	if p.URL != "" {
		return "PostgreSQL" // the URL may hold a password
	}
	return p.Dir
}

// storeFault and storeReport are the JSON of a check.
type storeFault struct {
	ID    string `json:"id"`
	Place string `json:"place"`
	Text  string `json:"text"`
}

type storeReport struct {
	OK                bool         `json:"ok"`
	Place             string       `json:"place"`
	File              string       `json:"file,omitempty"`
	Schema            int          `json:"schema"`
	Releases          int          `json:"releases"`
	Contents          int          `json:"contents"`
	Bytes             int64        `json:"bytes"`
	Unreferenced      int          `json:"unreferenced"`
	UnreferencedBytes int64        `json:"unreferenced_bytes"`
	Faults            []storeFault `json:"faults"`
}

// printReport prints what a check found; faults make the answer no.
func (a *app) printReport(c *cli.Command, p sqlstore.Place, file, done string, r sqlstore.Report) error {
	out := storeReport{
		OK: len(r.Faults) == 0, Place: placeName(p), File: file, Schema: r.Schema, Releases: r.Releases, Contents: r.Contents,
		Bytes: r.Bytes, Unreferenced: r.Unreferenced, UnreferencedBytes: r.UnreferencedBytes, Faults: []storeFault{},
	}
	for _, f := range r.Faults {
		out.Faults = append(out.Faults, storeFault(f))
	}
	if c.Bool("json") {
		if err := a.printJSON(out); err != nil {
			return err
		}
	} else {
		for _, f := range r.Faults {
			a.printf("%s: %s [%s]\n", f.Place, f.Text, f.ID)
		}
		verdict := "no faults"
		if n := len(r.Faults); n > 0 {
			verdict = fmt.Sprintf("%d faults", n)
		}
		a.printf("%s: %d releases, %d contents of %d bytes, %s\n", done, r.Releases, r.Contents, r.Bytes, verdict)
		if r.Unreferenced > 0 {
			a.printf("%d contents of %d bytes are in no use: %s hub gc removes them\n", r.Unreferenced, r.UnreferencedBytes, a.program)
		}
	}
	if len(r.Faults) > 0 {
		return exitError(hubapi.ExitFailed)
	}
	return nil
}

func (a *app) hubFsck() *cli.Command {
	return a.leaf("fsck", "check everything that a hub keeps", spec{
		long: "Compares every content with its hash, every release with its digest, and what refers to what, on one view of the\n" +
			"hub. It changes nothing and may run beside a server. Exit 1 when something is wrong, with one line for each.",
		examples: []example{{"hub fsck", "check your own hub"}, {"hub fsck --json", "the same for a program"}},
	}, placeFlags(), func(ctx context.Context, c *cli.Command) error {
		p, err := a.place(c)
		if err != nil {
			return err
		}
		report, err := sqlstore.Fsck(ctx, p)
		if err != nil {
			return err
		}
		return a.printReport(c, p, "", "checked", report)
	})
}

func (a *app) hubBackup() *cli.Command {
	return a.leaf("backup", "write everything that a hub keeps to one file", spec{
		args: "FILE", min: 1, max: 1,
		long: "The backup is the hub as of one moment, while servers go on, and is checked as `hub fsck` does. FILE must not exist;\n" +
			"it is a SQLite database from either kind of hub, and `hub restore` puts it into either. It holds the hashes of keys.",
		examples: []example{{"hub backup hub.backup", "back your own hub up"}},
	}, placeFlags(), func(ctx context.Context, c *cli.Command) error {
		p, err := a.place(c)
		if err != nil {
			return err
		}
		file := a.path(c.Args().First())
		report, err := sqlstore.Backup(ctx, p, file, sqlstore.Options{Now: a.Now})
		if err != nil {
			return err
		}
		return a.printReport(c, p, file, "backed up to "+file, report)
	})
}

func (a *app) hubRestore() *cli.Command {
	return a.leaf("restore", "put a backup into a new hub", spec{
		args: "FILE", min: 1, max: 1, there: 1,
		long: "Only into a new place: a --data directory that is not there or is empty, or a PostgreSQL database without a hub.\n" +
			"The backup is checked as `hub fsck` does; a damaged one is refused, and leaves nothing behind.",
		examples: []example{{"hub restore hub.backup --data restored", "into a new directory; serve it with --data restored"}},
	}, placeFlags(), func(ctx context.Context, c *cli.Command) error {
		if !c.IsSet("data") && !c.IsSet("database-url") {
			return usagef("say where to: --data DIR or --database-url URL")
		}
		p, err := a.place(c)
		if err != nil {
			return err
		}
		report, err := sqlstore.Restore(ctx, a.path(c.Args().First()), p, sqlstore.Options{Now: a.Now})
		if err != nil {
			return err
		}
		done := "restored into " + placeName(p)
		if len(report.Faults) > 0 {
			done = "not restored"
		}
		return a.printReport(c, p, "", done, report)
	})
}

func (a *app) hubMigrate() *cli.Command {
	return a.leaf("migrate", "bring a hub's database to this program's schema", spec{
		long: "A server does it by itself when it starts. Each step is one transaction; a database that a newer kx wrote is refused.",
		examples: []example{
			{"hub migrate --plan", "list the steps, done and to be done, and change nothing"},
			{"hub migrate", "do them"},
		},
	}, append([]cli.Flag{&cli.BoolFlag{Name: "plan", Usage: "list the steps and change nothing"}}, placeFlags()...), a.runMigrate)
}

type migrationStep struct {
	Number  int        `json:"number"`
	Name    string     `json:"name"`
	Applied *time.Time `json:"applied_at"`
}

func (a *app) runMigrate(ctx context.Context, c *cli.Command) error {
	p, err := a.place(c)
	if err != nil {
		return err
	}
	if !c.Bool("plan") {
		store, err := sqlstore.OpenPlace(ctx, p, sqlstore.Options{Now: a.Now, Wait: a.lockWait(), Waiting: a.waitingFor})
		if err != nil {
			return err
		}
		if err := store.Close(); err != nil {
			return err
		}
	}
	steps, err := sqlstore.Plan(ctx, p)
	if err != nil {
		return err
	}
	out := make([]migrationStep, 0, len(steps))
	pending := 0
	for _, step := range steps {
		s := migrationStep{Number: step.Number, Name: step.Name}
		if step.Applied.IsZero() {
			pending++
		} else {
			s.Applied = &step.Applied
		}
		out = append(out, s)
	}
	if c.Bool("json") {
		return a.printJSON(map[string]any{"place": placeName(p), "pending": pending, "steps": out})
	}
	for _, s := range out {
		state := "to be done"
		if s.Applied != nil {
			state = "done " + s.Applied.Format(time.RFC3339)
		}
		a.printf("%04d_%s  %s\n", s.Number, s.Name, state)
	}
	a.printf("%d steps to be done\n", pending)
	return nil
}

func (a *app) hubGC() *cli.Command {
	return a.leaf("gc", "remove contents that nothing in a hub refers to", spec{
		long: "Releases, signatures and catalogs keep what they refer to. It is one transaction, and may run beside a server:\n" +
			"a push stores its contents and what refers to them in one transaction too.",
		examples: []example{{"hub gc", "says how much was removed"}},
	}, append([]cli.Flag{
		&cli.DurationFlag{Name: "grace", Value: gcGrace, Usage: "keep what came within this `TIME`"},
	}, placeFlags()...), func(ctx context.Context, c *cli.Command) error {
		p, err := a.place(c)
		if err != nil {
			return err
		}
		if c.Duration("grace") < 0 {
			return usagef("--grace is not negative")
		}
		out, err := sqlstore.Collect(ctx, p, a.Now().Add(-c.Duration("grace")))
		if err != nil {
			return err
		}
		if c.Bool("json") {
			return a.printJSON(map[string]any{"place": placeName(p), "removed": out.Contents, "removed_bytes": out.Bytes})
		}
		a.printf("removed %d contents of %d bytes\n", out.Contents, out.Bytes)
		return nil
	})
}
