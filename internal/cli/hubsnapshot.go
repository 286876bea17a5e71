package cli

import (
	"context"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/sign"
	"github.com/kortecx/kx/snapshot"
)

// exported is the --json document of kx hub export.
type exported struct {
	Path     string `json:"path"`
	Releases int    `json:"releases"`
	Bytes    int64  `json:"bytes"`
	Key      string `json:"key"` // id of the key that signed it
	Log      string `json:"log,omitempty"`
	LogSize  int64  `json:"log_size,omitempty"`
}

func (a *app) hubExport() *cli.Command {
	return a.leaf("export", "write a signed snapshot of what is active, for a hub that cannot reach this one", spec{
		args: "DIR", min: 1, max: 1,
		long: "DIR gets every active release with its signature and the proof that this hub's log has it, and one head that your key\n" +
			"signs. Exporting into the same folder again fetches and writes what is new, and takes away what is not active any more;\n" +
			"until that is done the folder holds the old snapshot. Keys, inbox and audit trail stay here: see kx hub backup.",
		examples: []example{
			{"hub export mirror", "sign with your only key"},
			{"hub export mirror --key me --json", "sign with this one"},
		},
	}, append([]cli.Flag{
		&cli.StringFlag{Name: "key", Usage: "sign with the key `NAME` (default: your only one)"},
		passphraseFlag(),
	}, clientFlags()...), a.runExport)
}

func (a *app) runExport(ctx context.Context, c *cli.Command) error {
	_, key, err := a.signingKey(c)
	if err != nil {
		return err
	}
	dir := c.Args().First()
	return a.withHub(ctx, c, func(hub *hubclient.Client) error {
		root, err := fsx.OpenOrCreate(a.path(dir), 0o755)
		if err != nil {
			return err
		}
		defer root.Close()
		watch := a.counter("exported", "releases")
		head, err := snapshot.Export(ctx, root, hub, snapshot.ExportOptions{Key: key, Now: a.Now(), Progress: watch.show})
		watch.clear()
		if err != nil {
			return err
		}
		out := exported{Path: dir, Releases: head.Releases, Bytes: head.Bytes, Key: key.Public().ID()}
		if head.Log != nil {
			out.Log, out.LogSize = head.Log.Origin, head.Log.Size
		}
		if c.Bool("json") {
			return a.printJSON(out)
		}
		a.printf("exported %d releases of %d bytes into %s\n  key  %s\n", out.Releases, out.Bytes, dir, out.Key)
		a.printf("  next: carry the folder to the other hub, and there kx keys import the public key, then kx hub import %s\n", shellQuote(dir))
		return nil
	})
}

// imported is the --json document of kx hub import.
type imported struct {
	Path      string            `json:"path"`
	CreatedAt time.Time         `json:"created_at"`
	Keys      []string          `json:"keys"` // ids of the trusted keys that signed it
	Taken     int               `json:"taken"`
	Unchanged int               `json:"unchanged"`
	Refused   int               `json:"refused"`
	Releases  []snapshot.Result `json:"releases"`
}

func (a *app) hubImport() *cli.Command {
	return a.leaf("import", "take in a signed snapshot of another hub", spec{
		args: "DIR", min: 1, max: 1, there: 1,
		long: "The snapshot must be signed by a key of your ring (kx keys import). Every release is verified before it is pushed:\n" +
			"its archive, its digest, its place in the first hub's log. Each keeps its author, version and signature, and waits for\n" +
			"review here like any push; --approve makes it active at once, for reviewers. A release that is refused does not keep\n" +
			"the others out; the exit code is 1 then.",
		examples: []example{
			{"hub import mirror --dry-run", "verify everything, push nothing"},
			{"hub import mirror --approve", "take it in, as a reviewer"},
		},
	}, append([]cli.Flag{
		&cli.BoolFlag{Name: "approve", Usage: "make each release active too, as a reviewer"},
		&cli.BoolFlag{Name: "dry-run", Usage: "verify the snapshot and push nothing"},
	}, clientFlags()...), a.runImport)
}

func (a *app) runImport(ctx context.Context, c *cli.Command) error {
	if c.Bool("approve") && c.Bool("dry-run") {
		return usagef("--approve and --dry-run exclude each other")
	}
	trusted, err := a.trustedKeys()
	if err != nil {
		return err
	}
	keys := make([]sign.PublicKey, len(trusted))
	for i, k := range trusted {
		keys[i] = k.Key
	}
	dir := c.Args().First()
	root, err := fsx.Open(a.path(dir))
	if err != nil {
		return usagef("cannot open the snapshot: %v", err)
	}
	defer root.Close()
	snap, err := snapshot.Open(root, keys)
	if err != nil {
		return err
	}
	out := imported{Path: dir, CreatedAt: snap.CreatedAt, Keys: []string{}, Releases: []snapshot.Result{}}
	for _, k := range snap.Signers {
		out.Keys = append(out.Keys, k.ID())
	}
	watch := a.counter("read", "releases")
	each := func(r snapshot.Result) {
		out.add(r)
		watch.show(len(out.Releases), len(snap.Entries))
	}
	run := func(hub *hubclient.Client) error {
		return snap.Import(ctx, hub, snapshot.ImportOptions{Approve: c.Bool("approve"), DryRun: c.Bool("dry-run"), Each: each})
	}
	if c.Bool("dry-run") {
		err = run(nil) // nothing is asked of a hub
	} else {
		err = a.withHub(ctx, c, run)
	}
	watch.clear()
	if err != nil {
		return hubapi.AsError(err).WithHint("%d of %d releases were done before; run it again, what is there already is passed over", len(out.Releases), len(snap.Entries))
	}
	return a.printImported(c, out)
}

func (i *imported) add(r snapshot.Result) {
	i.Releases = append(i.Releases, r)
	switch r.Outcome {
	case snapshot.Taken:
		i.Taken++
	case snapshot.Unchanged:
		i.Unchanged++
	case snapshot.Refused:
		i.Refused++
	}
}

func (a *app) printImported(c *cli.Command, out imported) error {
	if c.Bool("json") {
		if err := a.printJSON(out); err != nil {
			return err
		}
	} else {
		for _, r := range out.Releases {
			switch r.Outcome {
			case snapshot.Refused:
				a.printf("%s  refused: %s [%s]\n", r.Ref, termtext.Escape(r.Error), r.ID)
			case snapshot.Checked:
				a.printf("%s  %s\n", r.Ref, string(r.Outcome))
			default:
				a.printf("%s  %s  %s\n", r.Ref, string(r.Outcome), string(r.Status))
			}
		}
		if c.Bool("dry-run") {
			a.printf("%d releases: %d checked, %d refused; nothing was taken\n", len(out.Releases), len(out.Releases)-out.Refused, out.Refused)
		} else {
			a.printf("%d releases: %d taken, %d unchanged, %d refused\n", len(out.Releases), out.Taken, out.Unchanged, out.Refused)
		}
	}
	if out.Refused > 0 {
		return exitError(hubapi.ExitFailed)
	}
	return nil
}
