package cli

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/conformance"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

func (a *app) checkCommand() *cli.Command {
	return a.leaf("check", "check packs against the rules of their format", spec{
		args: "PATH...", min: 1, max: -1,
		long: "A PATH is a pack, a folder of packs (searched recursively, hidden folders skipped), or the manifest file of a\n" +
			"pack. Every fault is reported with its place, not only the first.\n\n" +
			"Exit 0 when everything passes, 1 when something does not, 2 when there was nothing to check.",
		choices: map[string][]string{"format": conformance.OutputFormats(), "pack-format": packFormats()},
		examples: []example{
			{"check triage", "check one pack"},
			{"check . --format github", "annotate a pull request"},
			{"check skills --strict --format sarif", "warnings fail too; for code scanning"},
		},
	}, []cli.Flag{
		&cli.StringFlag{Name: "format", Value: conformance.Text, Usage: "output `FORMAT`: " + strings.Join(conformance.OutputFormats(), ", ")},
		jsonFlag(),
		&cli.BoolFlag{Name: "strict", Usage: "treat warnings as errors"},
		packFormatFlag(),
		&cli.IntFlag{Name: "jobs", Aliases: []string{"j"}, Usage: "check `N` packs at once (default: one per processor)"},
	}, a.runCheck)
}

// formatFlag is the name that a pack's format had before. Beside the form of the output,
// which check and scan call --format, it said two things; so it is still read where it
// was, and told to nobody.
const formatFlag = "format"

// shownNames are the names of a flag that help tells.
func shownNames(f cli.Flag) []string {
	names := f.Names()
	if names[0] == "pack-format" {
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == formatFlag })
	}
	return names
}

// packFormatFlag picks the format of a folder that could be read as two.
func packFormatFlag(aliases ...string) cli.Flag {
	return &cli.StringFlag{Name: "pack-format", Aliases: aliases, Usage: "read packs as `FORMAT`: " + formatNames()}
}

func packFormats() []string {
	var names []string
	for _, f := range pack.Formats {
		names = append(names, string(f))
	}
	return names
}

func formatNames() string { return strings.Join(packFormats(), ", ") }

func packFormat(value string) (pack.Format, error) {
	if f := pack.Format(value); value == "" || slices.Contains(pack.Formats, f) {
		return f, nil
	}
	e := usagef("unknown pack format %q; there are: %s", value, formatNames())
	if value == "json" {
		return "", e.WithHint("--json prints the result as JSON")
	}
	return "", e
}

func (a *app) runCheck(ctx context.Context, c *cli.Command) error {
	output := c.String("format")
	if !slices.Contains(conformance.OutputFormats(), output) {
		return usagef("unknown output format %q; there are: %s", output, strings.Join(conformance.OutputFormats(), ", "))
	}
	if c.Bool("json") {
		output = conformance.JSON
	}
	format, err := packFormat(c.String("pack-format"))
	if err != nil {
		return err
	}
	if c.Int("jobs") < 0 {
		return usagef("--jobs needs a positive number")
	}
	base, err := filepath.Abs(a.path("."))
	if err != nil {
		return err
	}
	w, err := conformance.NewWriter(output, a.Stdout, conformance.WriterOptions{Base: base, Version: a.build().Version})
	if err != nil {
		return err
	}
	var paths []string
	for _, p := range c.Args().Slice() {
		paths = append(paths, a.path(p))
	}
	summary, err := conformance.Run(ctx, paths, conformance.Options{Strict: c.Bool("strict"), Format: format, Jobs: c.Int("jobs")}, w.Report)
	if notFound, ok := errors.AsType[*conformance.NotFoundError](err); ok && summary.Packs == 0 {
		return usagef("%v", notFound).WithHint("name a folder with %s, or one that holds such folders", manifestNames())
	}
	a.printed = true
	if closeErr := w.Close(); closeErr != nil {
		return closeErr
	}
	switch {
	case err != nil && ctx.Err() == nil:
		return a.missing(c.Args().Slice(), err)
	case err != nil:
		return err
	case summary.Failed > 0:
		return exitError(hubapi.ExitFailed)
	}
	return nil
}

func manifestNames() string {
	var names []string
	for _, f := range pack.Formats {
		names = append(names, f.ManifestFile())
	}
	return strings.Join(names, ", ")
}
