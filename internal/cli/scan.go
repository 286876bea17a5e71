package cli

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/scan"
)

func (a *app) scanCommand() *cli.Command {
	return a.leaf("scan", "look for attacks and secrets in packs, or in any folder", spec{
		args: "PATH...", min: 1, max: -1,
		long: "A PATH is a pack of any format, a folder, or a file. A folder gives a report for every pack below it, and one\n" +
			"for its other files; hidden files are read, links are not followed, of a .git nothing is read. Every finding has\n" +
			"its place, a reason and what to do. Nothing inside what is scanned can silence a rule, and secrets are not printed.\n\n" +
			"Exit 0 when nothing is as bad as --fail-on, 1 when something is, 2 when there was nothing to scan\n" +
			"or a PATH could not be read. What could not be read inside one is a finding.",
		choices: map[string][]string{"format": scan.OutputFormats(), "fail-on": {"critical", "high", "medium"}, "pack-format": packFormats()},
		examples: []example{
			{"scan triage", "scan one pack"},
			{"scan triage --fail-on medium", "be stricter"},
			{"scan skills --format sarif", "every pack of a folder, for code scanning"},
		},
	}, []cli.Flag{
		&cli.StringFlag{Name: "format", Value: scan.Text, Usage: "output `FORMAT`: " + strings.Join(scan.OutputFormats(), ", ")},
		jsonFlag(),
		&cli.StringFlag{Name: "fail-on", Value: string(scan.High), Usage: "exit 1 for findings of `SEVERITY` or worse: critical, high, medium"},
		packFormatFlag(),
	}, a.runScan)
}

func (a *app) runScan(ctx context.Context, c *cli.Command) error {
	output := c.String("format")
	if !slices.Contains(scan.OutputFormats(), output) {
		return usagef("unknown output format %q; there are: %s", output, strings.Join(scan.OutputFormats(), ", "))
	}
	if c.Bool("json") {
		output = scan.JSON
	}
	failOn := scan.Severity(c.String("fail-on"))
	if !slices.Contains([]scan.Severity{scan.Critical, scan.High, scan.Medium}, failOn) {
		return usagef("unknown severity %q; there are: critical, high, medium", failOn)
	}
	format, err := packFormat(c.String("pack-format"))
	if err != nil {
		return err
	}
	base, err := filepath.Abs(a.path("."))
	if err != nil {
		return err
	}
	w, err := scan.NewWriter(output, a.Stdout, scan.WriterOptions{Base: base, Version: a.build().Version})
	if err != nil {
		return err
	}
	if a.Getenv("GOGC") == "" {
		// A run that scans a pack or two is over before its garbage matters: a
		// third of its time was sweeping a heap of 4 MB.
		debug.SetGCPercent(400)
	}
	var sum scan.Summary
	err = a.scanPaths(ctx, c.Args().Slice(), scan.Options{Format: format}, func(r *scan.Report) error {
		sum.Add(r)
		return w.Report(r)
	})
	if err != nil && sum.Reports == 0 {
		return err
	}
	a.printed = true
	if closeErr := w.Close(); closeErr != nil {
		return closeErr
	}
	switch {
	case err != nil:
		return err
	case sum.Counts.AtLeast(failOn) > 0:
		return exitError(hubapi.ExitFailed)
	}
	return nil
}

// scanPaths goes on after a path that leads to nothing, and tells of it at the
// end.
func (a *app) scanPaths(ctx context.Context, paths []string, o scan.Options, report func(*scan.Report) error) error {
	var missing *hubapi.Error
	for _, p := range paths {
		err := scan.Walk(a.path(p), o, func(r *scan.Report) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return report(r)
		})
		switch {
		case err == nil:
		case errors.Is(err, scan.ErrNothing), errors.Is(err, scan.ErrUnread), errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			if missing == nil {
				missing = usagef("%v", err).WithHint("name a pack, a folder or a file")
				switch {
				case errors.Is(err, fs.ErrNotExist):
					missing = nothingAt(p)
				case !errors.Is(err, scan.ErrNothing):
					missing.Hint = "nothing is known about it; make it readable or smaller, or look at it yourself"
				}
			}
		default:
			return err
		}
	}
	if missing == nil {
		return nil
	}
	return missing
}
