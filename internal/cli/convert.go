package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/scaffold"
)

// toPrompt is the --to that prints and makes no pack.
const toPrompt = "prompt"

// maxLosses is how many files and keys that are lost for one reason are named.
const maxLosses = 5

// converted is the --json document of kx convert.
type converted struct {
	Packs []convertedPack `json:"packs"`
	// Prompt and Skills are those of --to prompt.
	Prompt string                 `json:"prompt,omitempty"`
	Skills []scaffold.PromptSkill `json:"skills,omitempty"`
}

type convertedPack struct {
	scaffold.Converted
	Path  string   `json:"path"` // of the new folder
	Files []string `json:"files"`
}

func (a *app) convertCommand() *cli.Command {
	return a.leaf("convert", "make a pack of another format, and say what it loses", spec{
		args: "PATH...", min: 1, max: -1, there: 1,
		long: "The new folder appears below --dir (default: a folder called after the format), whole or not at all, and passes every\n" +
			"check. What the other format cannot carry is listed. Signatures do not carry over: the content is another.\n\n" +
			"--to prompt prints the block of names, descriptions and places that goes into an agent's system prompt.",
		choices: map[string][]string{"to": append(packFormats(), toPrompt), "from-format": packFormats()},
		examples: []example{
			{"convert triage --to skill-md", "into skill-md/triage"},
			{"convert triage --to kazma --dir out --json", "into out/triage, with the losses as JSON"},
			{"convert triage --to prompt", "print it for a system prompt"},
		},
	}, []cli.Flag{
		&cli.StringFlag{Name: "to", Usage: "make a pack of `FORMAT`: " + formatNames() + "; or print a " + toPrompt},
		&cli.StringFlag{Name: "dir", Usage: "put the new folder below `PARENT`"},
		&cli.StringFlag{Name: "name", Usage: "call it `NAME`"},
		&cli.StringFlag{Name: "author", Usage: "the `AUTHOR` in the manifest (kazma only)"},
		&cli.StringFlag{Name: "license", Usage: "the `LICENSE` in the manifest (kazma only)"},
		&cli.BoolFlag{Name: "force", Usage: "replace a folder that is there already"},
		packFormatFlag("from-format"),
		jsonFlag(),
	}, a.runConvert)
}

func (a *app) runConvert(ctx context.Context, c *cli.Command) error {
	to := c.String("to")
	if to == "" {
		return usagef("into what? say --to skill-md, kortecx, kazma or %s", toPrompt)
	}
	from, err := packFormat(c.String("pack-format"))
	if err != nil {
		return err
	}
	if to != toPrompt {
		if _, err := packFormat(to); err != nil {
			e := hubapi.AsError(err)
			e.Message += ", or " + toPrompt
			return e
		}
	}
	if c.NArg() > 1 && c.String("name") != "" {
		return usagef("--name goes with one pack")
	}
	if to != string(pack.Kazma) && (c.String("author") != "" || c.String("license") != "") {
		return usagef("--author and --license go with --to kazma: another manifest has no word for them")
	}
	var packs []*pack.Pack
	for _, path := range c.Args().Slice() {
		p, err := pack.Open(a.path(path), pack.Options{Format: from})
		if err != nil {
			return err
		}
		packs = append(packs, p)
	}
	if to == toPrompt {
		return a.printPrompt(c, packs)
	}
	return a.convertAll(ctx, c, packs, pack.Format(to))
}

// convertAll converts everything before it writes anything.
func (a *app) convertAll(ctx context.Context, c *cli.Command, packs []*pack.Pack, to pack.Format) error {
	dir := first(c.String("dir"), string(to))
	out := converted{Packs: []convertedPack{}}
	var names []string
	for _, p := range packs {
		made, err := scaffold.Convert(p, to, scaffold.ConvertOptions{Name: c.String("name"), Author: c.String("author"), License: c.String("license")})
		if err != nil {
			return err
		}
		if slices.Contains(names, strings.ToLower(made.Name)) {
			return usagef("two packs would be called %s", made.Name).WithHint("convert them one by one, with --name")
		}
		names = append(names, strings.ToLower(made.Name))
		one := convertedPack{Converted: *made, Path: filepath.Join(dir, made.Name)}
		for _, f := range made.Files {
			one.Files = append(one.Files, f.Path)
		}
		out.Packs = append(out.Packs, one)
	}
	for i := range out.Packs {
		if err := ctx.Err(); err != nil {
			return err
		}
		write := out.Packs[i].Write
		if c.Bool("force") {
			write = out.Packs[i].Replace
		}
		if err := write(a.path(dir)); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return a.printJSON(out)
	}
	for _, p := range out.Packs {
		a.printf("%s pack %s from %s\n", string(p.Format), p.Path, string(p.From))
		a.printLosses(p.Losses)
	}
	return nil
}

// printLosses prints what is lost for one reason in one line.
func (a *app) printLosses(losses []scaffold.Loss) {
	var whys []string
	lost := map[string][]string{}
	for _, l := range losses {
		if lost[l.Why] == nil {
			whys = append(whys, l.Why)
		}
		lost[l.Why] = append(lost[l.Why], l.What)
	}
	for _, why := range whys {
		what, more := lost[why], ""
		if n := len(what) - maxLosses; n > 0 {
			what, more = what[:maxLosses], fmt.Sprintf(" and %d more (--json lists them all)", n)
		}
		a.printf("  lost: %s%s: %s\n", strings.Join(what, ", "), more, why)
	}
}

func (a *app) printPrompt(c *cli.Command, packs []*pack.Pack) error {
	var skills []scaffold.PromptSkill
	for i, p := range packs {
		path, err := filepath.Abs(a.path(c.Args().Get(i)))
		if err != nil {
			return err
		}
		skills = append(skills, scaffold.PromptSkill{
			Name: p.Name, Description: p.Description, Location: filepath.Join(path, p.Format.ManifestFile()),
		})
	}
	block := string(scaffold.Prompt(skills))
	if c.Bool("json") {
		return a.printJSON(converted{Packs: []convertedPack{}, Prompt: block, Skills: skills})
	}
	for line := range strings.Lines(block) {
		a.printf("%s\n", strings.TrimSuffix(line, "\n"))
	}
	return nil
}
