package cli

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/source"
)

// sourceFlags are on every command that takes a source other than a hub.
func sourceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "git", Value: "builtin", Usage: "read repositories over https by `HOW`: builtin, or system for your own git; ssh always is your own git's"},
		&cli.BoolFlag{Name: "allow-private", Usage: "read from addresses of private networks too, and over plain http"},
	}
}

// gitChoices are the values of --git.
var gitChoices = []string{"builtin", "system"}

// sources is how this command reads sources, and what takes its progress off the
// terminal again. The hub may be nil.
func (a *app) sources(c *cli.Command, hub source.HubReader) (*source.Sources, func()) {
	watch := a.counter("receiving", "KiB")
	return &source.Sources{
		Hub: hub, Dir: a.path("."),
		Net:      source.Net{AllowPrivate: c.Bool("allow-private"), PrivateHosts: a.listed("KX_PRIVATE_HOSTS"), UserAgent: a.program + "/" + a.build().Version},
		Git:      source.GitOptions{System: c.String("git") == "system", Prompts: a.StdinTerminal, Token: a.gitToken, TempDir: a.Getenv("TMPDIR")},
		Progress: func(p source.Progress) { watch.count(int(p.Done >> 10)) },
	}, watch.clear
}

// listed are the parts of a variable that holds several, with commas or white space between them.
func (a *app) listed(name string) []string {
	return strings.FieldsFunc(a.Getenv(name), func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// gitToken is the token that the user set for a host. KX_GIT_TOKEN is for the host in
// KX_GIT_HOST, else for github.com, and goes nowhere else.
func (a *app) gitToken(host string) string {
	if host == cmp.Or(a.Getenv("KX_GIT_HOST"), "github.com") {
		return a.Getenv("KX_GIT_TOKEN")
	}
	return ""
}

// orFolder adds to the error about a name that the hub does not have that a folder of
// that name is here.
func (a *app) orFolder(ref source.Ref, err error) error {
	e, ok := errors.AsType[*hubapi.Error](err)
	if !ok || e.Code != hubapi.NotFound || ref.Kind != source.Hub || ref.Hub.Author != "" || ref.Hub.Version != "" {
		return err
	}
	if info, statErr := os.Stat(a.path(ref.Hub.Name)); statErr != nil || !info.IsDir() {
		return err
	}
	out := *e
	return out.WithHint("a folder of that name is here: for it, write ./%s", ref.Hub.Name)
}

// refLeads is mustLead for a source that is a folder or an archive of this machine.
func (a *app) refLeads(ref source.Ref) error {
	if ref.Remote() || ref.Kind != source.Dir && ref.Kind != source.Archive {
		return nil
	}
	return a.mustLead(ref.Location)
}

// sourceRef reads a source as it was typed.
func (a *app) sourceRef(text string) (source.Ref, error) {
	ref, err := source.Parse(text, source.ParseOptions{Exists: func(p string) bool {
		_, err := os.Lstat(a.path(p))
		return !errors.Is(err, fs.ErrNotExist)
	}})
	if err != nil {
		e := *hubapi.AsError(err)
		e.Code = hubapi.Usage
		return source.Ref{}, &e
	}
	return ref, nil
}

// foundSkill is one pack of a source.
type foundSkill struct {
	Path        string          `json:"path"` // its folder in the source
	Name        string          `json:"name"`
	Format      pack.Format     `json:"format"`
	Version     string          `json:"version,omitempty"`
	Description string          `json:"description,omitempty"`
	Digest      pack.Digest     `json:"digest,omitempty"`
	Source      string          `json:"source"` // what names this skill alone
	Faults      []hubapi.Detail `json:"faults,omitempty"`
	Installed   bool            `json:"installed,omitempty"` // a copy that kx wrote there, and no source
}

// writtenByUs tells whether a folder is a copy that was installed for an agent.
func (a *app) writtenByUs(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, deliver.MarkerFile)); err != nil {
		return false // most are none, and need no more than this look
	}
	root, err := fsx.Open(filepath.Dir(dir))
	if err != nil {
		return false
	}
	defer root.Close()
	state, err := deliver.Check(root, filepath.Base(dir))
	return err == nil && state.Status == deliver.Owned
}

// foundIn is the --json document of kx skills find.
type foundIn struct {
	Source   string          `json:"source"`
	Kind     source.Kind     `json:"kind"`
	Revision string          `json:"revision"`
	Skills   []foundSkill    `json:"skills"`
	Notes    []hubapi.Detail `json:"notes"`
}

func (a *app) skillsFind() *cli.Command {
	return a.leaf("find", "list the skills that a source holds, and install none", spec{
		args: "SOURCE", min: 1, max: 1,
		long: "A SOURCE is a folder (./skills), an archive (./skills.zip, or its https address), a repository (github:owner/repo,\n" +
			"github:owner/repo/folder@v1, https://host/group/repo.git//folder@v1, git@host:group/repo.git, ./repo@branch), a site\n" +
			"that lists its skills (https://host), or a skill in the hub (triage, acme/triage@1). Only SKILL.md, skill.json and\n" +
			"skill_manifest.yaml make a folder a skill. One that has faults is listed with them and hides no other.\n\n" +
			"Nothing is written and nothing that a source holds is run. Private addresses are refused unless --allow-private;\n" +
			"http://127.0.0.1:PORT, typed like this, is your own machine. A repository that wants to know you gets KX_GIT_TOKEN\n" +
			"(of the host in KX_GIT_HOST, else of github.com), or what git's credential helpers have.",
		examples: []example{
			{"skills find ./skills", "the packs below a folder"},
			{"skills find triage --json", "a skill in the hub"},
		},
		choices: map[string][]string{"git": gitChoices},
	}, append(sourceFlags(), clientFlags()...), func(ctx context.Context, c *cli.Command) error {
		ref, err := a.sourceRef(c.Args().First())
		if err == nil {
			err = a.refLeads(ref)
		}
		if err != nil {
			return err
		}
		if ref.Kind != source.Hub {
			return a.findIn(ctx, c, ref, nil)
		}
		return a.withHub(ctx, c, func(hub *hubclient.Client) error { return a.findIn(ctx, c, ref, hub) })
	})
}

func (a *app) findIn(ctx context.Context, c *cli.Command, ref source.Ref, hub source.HubReader) error {
	sources, done := a.sources(c, hub)
	got, err := sources.Fetch(ctx, ref)
	err = a.orFolder(ref, err)
	done()
	if err != nil {
		return err
	}
	out := foundIn{Source: got.Ref.String(), Kind: got.Ref.Kind, Revision: got.Revision, Skills: []foundSkill{}, Notes: append([]hubapi.Detail{}, got.Notes...)}
	for i := range got.Found {
		f := &got.Found[i]
		row := foundSkill{Path: f.Path, Name: f.Name, Format: f.Format, Digest: f.Digest, Source: got.RefOf(f).String()}
		if f.Pack != nil {
			row.Version, row.Description = f.Pack.Version, f.Pack.Description
		} else {
			row.Faults = hubapi.AsError(f.Faults).Details
		}
		if got.Ref.Kind == source.Dir {
			row.Installed = a.writtenByUs(filepath.Join(a.path(got.Ref.Location), filepath.FromSlash(f.Path)))
		}
		out.Skills = append(out.Skills, row)
	}
	if c.Bool("json") {
		return a.printJSON(out)
	}
	copies := 0
	for _, s := range out.Skills {
		where := cmp.Or(s.Path, ".")
		if s.Installed {
			copies++
			continue
		}
		if len(s.Faults) == 0 {
			a.printf("%s  %s  %s\n", s.Name, string(s.Format), where)
			continue
		}
		a.printf("%s  cannot be used  %s\n", s.Name, where)
		for _, d := range s.Faults {
			at := ""
			if d.File != "" {
				at = d.File + ": "
			}
			a.printf("  %s%s [%s]\n", at, strings.TrimPrefix(d.Message, at), d.ID)
		}
	}
	a.printf("%s at %s\n", out.Source, out.Revision)
	if copies > 0 {
		a.note("%s: note: left out what is installed there already: %d; kx skills list --installed lists it", a.program, copies)
	}
	for _, n := range out.Notes {
		a.note("%s: note: %s [%s]", a.program, termtext.Escape(n.Message), n.ID)
	}
	return nil
}
