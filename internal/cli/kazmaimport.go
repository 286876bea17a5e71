package cli

import (
	"context"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/kazmaload"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

func (a *app) kazmaImport() *cli.Command {
	return a.leaf("import-registry", "register the skills of a registry of the original Kazma, where their files are still there", spec{
		args: "FILE", min: 1, max: 1, there: 1,
		long: "Reads the registry.db of the original, which is not changed. It keeps manifests and no code, so a skill can be\n" +
			"registered only where the folder that it names is still there and holds that very skill. The others are listed, with\n" +
			"what keeps them out; register their folders, when you find them. Exit 1 when there are any.",
		examples: []example{{"hub import-registry registry.db --dry-run", "what would be registered"}},
	}, append([]cli.Flag{
		&cli.BoolFlag{Name: "dry-run", Usage: "only list what would be registered"},
	}, kazmaFlags()...), a.runKazmaImport)
}

// kazmaImported is the --json document of import-registry.
type kazmaImported struct {
	File       string           `json:"file"`
	Registered int              `json:"registered"` // or that would be, with --dry-run
	Left       int              `json:"left"`
	Skills     []kazmaImportRow `json:"skills"`
}

// kazmaImportRow is one skill of the registry.
type kazmaImportRow struct {
	ID     string `json:"id"`
	Path   string `json:"path"`
	Reason string `json:"reason,omitempty"` // why it was left out
}

func (a *app) runKazmaImport(ctx context.Context, c *cli.Command) error {
	file := a.path(c.Args().First())
	rows, err := sqlstore.ReadKazmaRegistry(ctx, file)
	if err != nil {
		return err
	}
	out := kazmaImported{File: c.Args().First(), Skills: []kazmaImportRow{}}
	for _, r := range rows {
		one := kazmaImportRow{ID: hubapi.KazmaScheme + r.Author + "/" + r.Name + "@" + r.Version, Path: r.InstalledPath}
		if err := a.importSkill(ctx, c, filepath.Dir(file), r); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			one.Reason = hubapi.AsError(asHubError(err)).Message
			out.Left++
		} else {
			out.Registered++
		}
		out.Skills = append(out.Skills, one)
	}
	if c.Bool("json") {
		err = a.printJSON(out)
	} else {
		a.some(len(out.Skills), maxRows, func(i int) {
			s := out.Skills[i]
			if s.Reason != "" {
				a.printf("left out %s: %s\n", s.ID, s.Reason)
				return
			}
			a.printf("Registered: %s\n", s.ID)
		})
		a.note("%d registered, %d left out", out.Registered, out.Left)
	}
	if err == nil && out.Left > 0 {
		err = exitError(hubapi.ExitFailed)
	}
	return err
}

// importSkill registers one row. The registry says what the skill is: another one that
// lies in its folder by now is not taken for it.
func (a *app) importSkill(ctx context.Context, c *cli.Command, base string, r sqlstore.KazmaRow) error {
	if r.InstalledPath == "" {
		return hubapi.Errorf(hubapi.NotFound, "the registry has its manifest and no folder")
	}
	dir := r.InstalledPath
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(base, dir)
	}
	p, err := pack.Open(dir, pack.Options{Format: pack.Kazma})
	if err != nil {
		return err
	}
	if p.Author != r.Author || p.Name != r.Name || p.Version != r.Version {
		return hubapi.Errorf(hubapi.Conflict, "in %s is %s/%s@%s", dir, p.Author, p.Name, p.Version)
	}
	if _, err := kazmaload.Judge(p, sign.Secrets{}, kazmaload.Policy{WithoutSecret: true}); err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return nil
	}
	_, err = a.registerSkill(ctx, c, dir)
	return err
}
