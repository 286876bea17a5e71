package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/pack"
)

// maxFound is how many skills a search without pages prints.
const maxFound = 10_000

func (a *app) kazmaSearch() *cli.Command {
	return a.leaf("search", "find skills in the hub, by text, capability, tag or author", spec{
		args: "[QUERY]", max: 1,
		long: "Every word of QUERY must stand somewhere in the skill: its name, description, tags, capabilities, author or text;\n" +
			"another form or the beginning of a word will do. Lists are separated by commas, and all of one must hold. What is\n" +
			"nearest comes first; without a QUERY it is by name.",
		examples: []example{
			{`hub search "weather"`, "by text"},
			{`hub search --capabilities "image_analysis,data_processing" --json`, "by capability, for scripts"},
			{`hub search --tags "utility,beginner-friendly" --author kazma-team`, "by tag and author"},
		},
	}, append([]cli.Flag{
		&cli.StringFlag{Name: "capabilities", Usage: "only with all of the capabilities in `LIST`"},
		&cli.StringFlag{Name: "tags", Usage: "only with all of the tags in `LIST`"},
		&cli.StringFlag{Name: "author", Usage: "only of `AUTHOR`"},
	}, kazmaFlags()...), a.runKazmaSearch)
}

// kazmaHit is one skill of a search.
type kazmaHit struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Author      string   `json:"author"`
	Version     string   `json:"version"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Format      string   `json:"format"`
}

// kazmaHits is the --json document of kazma hub search.
type kazmaHits struct {
	Query string     `json:"query"`
	Total int        `json:"total"`
	Items []kazmaHit `json:"items"`
}

// commaList splits a list of the command line. Spaces around an element and elements
// without text are nothing that anybody means.
func commaList(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

func (a *app) runKazmaSearch(ctx context.Context, c *cli.Command) error {
	query := c.Args().First()
	options := hubclient.SearchOptions{
		Tags: commaList(c.String("tags")), Capabilities: commaList(c.String("capabilities")), Author: c.String("author"), Limit: 100,
	}
	return a.withHub(ctx, c, func(hub *hubclient.Client) error {
		out := kazmaHits{Query: query, Items: []kazmaHit{}}
		for {
			page, err := hub.Search(ctx, query, options)
			if err != nil {
				return err
			}
			out.Total = page.Total
			for _, s := range page.Items {
				out.Items = append(out.Items, kazmaHit{
					ID:   hubapi.KazmaID(hubapi.Ref{Author: s.Author, Name: s.Name, Version: s.Version}),
					Name: s.Name, Author: s.Author, Version: s.Version, Description: s.Summary, Tags: s.Tags, Format: s.Format,
				})
			}
			if page.NextCursor == "" || page.NextCursor == options.Cursor || len(page.Items) == 0 || len(out.Items) >= maxFound {
				break
			}
			options.Cursor = page.NextCursor
		}
		out.Total = max(out.Total, len(out.Items))
		if c.Bool("json") {
			return a.printJSON(out)
		}
		if len(out.Items) == 0 {
			a.printf("No skills found.\n")
			return nil
		}
		rows := make([][4]string, len(out.Items))
		for i, s := range out.Items {
			rows[i] = [4]string{s.Name, s.Author, s.Version, s.Description}
		}
		a.kazmaTable(rows)
		if more := out.Total - len(out.Items); more > 0 {
			a.note("and %d more; narrow the search", more)
		}
		return nil
	})
}

func (a *app) kazmaInfo() *cli.Command {
	return a.leaf("info", "describe a skill of the hub, and whether it is installed", spec{
		args: "SKILL_ID", min: 1, max: 1,
		long: "SKILL_ID is NAME, AUTHOR/NAME, AUTHOR/NAME@VERSION or kazma-hub://AUTHOR/NAME@VERSION; without a version it is the\n" +
			"active one. A skill that only is in the folder of skills is described from there.",
		examples: []example{{"hub info acme/demo", "the active release"}},
	}, append([]cli.Flag{toFlag()}, append(secretFlags(), kazmaFlags()...)...), a.runKazmaInfo)
}

// kazmaDescription is the --json document of kazma hub info.
type kazmaDescription struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Author       string   `json:"author"`
	Version      string   `json:"version"`
	License      string   `json:"license"`
	Description  string   `json:"description"`
	Capabilities []string `json:"capabilities"`
	Permissions  []string `json:"permissions"`
	Format       string   `json:"format"`
	Digest       string   `json:"digest"`
	Signed       bool     `json:"signed"`
	// Installed says that the folder of skills has it; the version there may be
	// another one.
	Installed        bool   `json:"installed"`
	InstalledVersion string `json:"installed_version,omitempty"`
	InstalledPath    string `json:"installed_path,omitempty"`
	Refused          string `json:"refused,omitempty"` // why it must not be loaded
}

func (a *app) runKazmaInfo(ctx context.Context, c *cli.Command) error {
	ref, err := hubapi.ParseKazmaID(c.Args().First())
	if err != nil {
		return asUsageRef(err)
	}
	here, err := a.kazmaHere(ctx, c)
	if err != nil {
		return err
	}
	var out kazmaDescription
	err = a.withHub(ctx, c, func(hub *hubclient.Client) error {
		got, err := hub.Archive(ctx, ref)
		if err != nil {
			return err
		}
		out = describeKazma(got.Pack)
		out.Author, out.Version, out.Signed = got.Release.Author, got.Release.Version, got.Release.Signed
		return nil
	})
	installed := here.find(ref)
	if e, ok := errors.AsType[*hubapi.Error](err); ok && e.Code == hubapi.NotFound && installed != nil && installed.manifest != nil {
		out, err = describeKazma(&pack.Pack{Format: pack.Kazma, Name: installed.manifest.Name, Kazma: installed.manifest}), nil
		out.Author, out.Version, out.Description, out.Digest = installed.manifest.Author, installed.manifest.Version, installed.manifest.Description, string(installed.digest)
	}
	if err != nil {
		return err
	}
	out.ID = hubapi.KazmaID(hubapi.Ref{Author: out.Author, Name: out.Name, Version: out.Version})
	if installed = here.find(hubapi.Ref{Author: out.Author, Name: out.Name}); installed != nil {
		out.Installed, out.InstalledPath, out.Refused = true, installed.dir, installed.refused
		if installed.manifest != nil {
			out.InstalledVersion = installed.manifest.Version
		}
	}
	if c.Bool("json") {
		return a.printJSON(out)
	}
	a.printf("Skill: %s@%s\nAuthor: %s\nLicense: %s\nDescription: %s\nCapabilities: %s\nInstalled: %s\n",
		out.Name, out.Version, out.Author, first(out.License, "N/A"), out.Description, first(strings.Join(out.Capabilities, ", "), "None"), out.standing())
	return nil
}

// standing is whether and how a skill is installed, in words.
func (d kazmaDescription) standing() string {
	switch {
	case !d.Installed:
		return "No"
	case d.Refused != "":
		return "Yes, and not loaded: " + d.Refused
	case d.InstalledVersion != d.Version:
		return "Yes (" + d.InstalledVersion + ")"
	}
	return "Yes"
}

// describeKazma is what a pack says of itself.
func describeKazma(p *pack.Pack) kazmaDescription {
	d := kazmaDescription{
		Name: p.Name, Author: p.Author, Version: p.Version, Description: p.Description, Format: string(p.Format),
		Capabilities: []string{}, Permissions: []string{},
	}
	if len(p.Files) > 0 {
		d.Digest = string(p.Digest())
	}
	switch p.Format {
	case pack.Kazma:
		d.License = p.Kazma.License
		d.Capabilities = append(d.Capabilities, p.Kazma.Capabilities...)
		d.Permissions = append(d.Permissions, p.Kazma.Permissions...)
	case pack.SkillMD:
		d.License = p.SkillMD.License
	case pack.Kortecx:
	}
	return d
}
