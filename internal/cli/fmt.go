package cli

import (
	"context"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/conformance"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/termtext"
)

// mended is one pack in the --json document of kx fmt.
type mended struct {
	Path    string                `json:"path"`
	Changes []conformance.Change  `json:"changes"`
	Left    []conformance.Finding `json:"left"` // what needs a person
}

func (a *app) fmtCommand() *cli.Command {
	return a.leaf("fmt", "mend in packs what needs no judgement", spec{
		args: "PATH...", min: 1, max: -1,
		long: "Canonical layout of skill.json, no byte order marks, clean fences in SKILL.md, quotes around YAML values that\n" +
			"readers stumble over. What a pack says stays the same; everything else is left to you.\n\n" +
			"With --check nothing is written, and the exit code is 1 when something would be.",
		examples: []example{
			{"fmt triage", "mend one pack"},
			{"fmt skills --check", "for CI: is there anything to mend?"},
		},
	}, []cli.Flag{
		&cli.BoolFlag{Name: "check", Usage: "write nothing; exit 1 when something would change"},
		jsonFlag(),
	}, a.runFmt)
}

func (a *app) runFmt(ctx context.Context, c *cli.Command) error {
	var paths []string
	for _, p := range c.Args().Slice() {
		paths = append(paths, a.path(p))
	}
	all, changed := []mended{}, false
	for target, err := range conformance.Targets(paths) {
		if err != nil {
			return a.missing(c.Args().Slice(), err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		result, err := conformance.Mend(target.Path, conformance.MendOptions{Check: c.Bool("check")})
		if err != nil {
			return err
		}
		m := mended{Path: filepath.ToSlash(target.Path), Changes: result.Changes, Left: result.Left}
		if m.Changes == nil {
			m.Changes = []conformance.Change{}
		}
		if m.Left == nil {
			m.Left = []conformance.Finding{}
		}
		changed = changed || len(m.Changes) > 0
		all = append(all, m)
	}
	if c.Bool("json") {
		if err := a.printJSON(map[string]any{"packs": all, "changed": changed, "written": changed && !c.Bool("check")}); err != nil {
			return err
		}
	} else {
		a.printMended(all)
	}
	if changed && c.Bool("check") {
		return exitError(hubapi.ExitFailed)
	}
	return nil
}

func (a *app) printMended(all []mended) {
	for _, m := range all {
		for _, change := range m.Changes {
			for _, note := range change.Notes {
				a.printf("%s: %s\n", m.Path+"/"+change.File, note)
			}
		}
		for _, left := range m.Left {
			a.note("left alone: %s", termtext.Escape(m.Path+"/"+detailLine(detailOfFinding(left))))
		}
	}
}
