package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/hubapi"
)

func (a *app) doctorCommand() *cli.Command {
	return a.leaf("doctor", "what the agents that are here see from here, and what is wrong with it", spec{
		long: "Skills that no agent can read and that are skipped without a word; skills that hide others of the same name;\n" +
			"descriptions that are too long for an agent, or for its list; links that lead nowhere; folders that differ from the\n" +
			"lock, or that somebody edited; what killed runs left; keys that others can read. Each with what to do about it.\n" +
			"Nothing is changed.\n\n" +
			"Exit 0 when nothing is wrong (notes do not count), 1 when something is.",
		examples: []example{
			{"doctor", "look at everything from this folder"},
			{"doctor --json", "for scripts"},
		},
	}, []cli.Flag{jsonFlag()}, a.runDoctor)
}

// diagnosis is the --json document of kx doctor.
type diagnosis struct {
	Version  string            `json:"version"` // of kx
	Project  string            `json:"project"`
	Home     string            `json:"home"` // where kx keeps what is the user's
	Dated    string            `json:"dated"`
	Agents   []string          `json:"agents"` // that are here
	Problems []deliver.Problem `json:"problems"`
	OK       bool              `json:"ok"` // nothing but notes
}

func (a *app) runDoctor(_ context.Context, c *cli.Command) error {
	s, err := a.surroundings()
	if err != nil {
		return err
	}
	home, err := a.home()
	if err != nil {
		return err
	}
	d := diagnosis{Version: a.build().Version, Project: s.Project, Home: home.data, Dated: deliver.AgentsDated(), Agents: []string{}, OK: true}
	d.Problems = a.homeProblems(home)
	owner, err := a.knownOwner()
	if err != nil {
		d.Problems = append(d.Problems, deliver.Problem{
			ID: deliver.IDHomePermissions, Level: deliver.Wrong, Agents: []string{}, Path: filepath.Join(home.data, "owner"),
			Message: "it cannot be read, so that no folder counts as ours: " + err.Error(), Fix: "make " + home.data + " yours again",
		})
	}
	survey, problems := s.Diagnose(deliver.DiagnoseOptions{Owner: owner, Workspaces: []deliver.WorkspaceOptions{
		{Dir: s.Project, File: filepath.Join(s.Project, deliver.LockFile), Data: home.data, Owner: owner, Now: a.Now},
		{Dir: s.Home, File: filepath.Join(home.data, deliver.LockFile), User: true, Data: home.data, Owner: owner, Now: a.Now},
	}})
	d.Problems = append(d.Problems, problems...)
	for _, v := range survey {
		d.Agents = append(d.Agents, v.Agent.Name)
	}
	for _, p := range d.Problems {
		d.OK = d.OK && p.Level == deliver.Note
	}
	if c.Bool("json") {
		if err := a.printJSON(d); err != nil {
			return err
		}
	} else {
		a.printDiagnosis(d)
	}
	if !d.OK {
		return exitError(hubapi.ExitFailed)
	}
	return nil
}

func (a *app) printDiagnosis(d diagnosis) {
	agents := strings.Join(d.Agents, ", ")
	if agents == "" {
		agents = "no agent"
	}
	a.printf("kx %s, home %s\nhere: %s\n", d.Version, d.Home, agents)
	a.some(len(d.Problems), 4*maxRows, func(i int) {
		p := d.Problems[i]
		a.printf("%s: ", string(p.Level))
		if p.Path != "" {
			a.printf("%s: ", p.Path)
		}
		a.printf("%s", p.Message)
		if p.Rule != "" {
			a.printf(" [%s]", p.Rule)
		}
		if len(p.Agents) > 0 {
			a.printf(" (%s)", strings.Join(p.Agents, ", "))
		}
		a.printf(" [%s]\n  fix: %s\n", p.ID, p.Fix)
	})
	if d.OK {
		a.printf("nothing is wrong\n")
	}
}

// homeProblems looks at who else may read or write what is the user's alone.
func (a *app) homeProblems(home homeDirs) []deliver.Problem {
	out := []deliver.Problem{}
	if a.OS == "windows" {
		return out // there, access lists decide, and the user's own folder has them
	}
	report := func(path string, mode fs.FileMode, what, fix string) {
		out = append(out, deliver.Problem{
			ID: deliver.IDHomePermissions, Level: deliver.Wrong, Agents: []string{}, Path: path,
			Message: fmt.Sprintf("%s (mode %04o)", what, mode.Perm()), Fix: fix + " " + shellQuote(path),
		})
	}
	if info, err := os.Stat(home.data); err == nil && info.Mode().Perm()&0o022 != 0 {
		report(home.data, info.Mode(), "others can change what is in it", "chmod go-w")
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		report(home.data, 0, "it cannot be looked at: "+err.Error(), "chmod u+rwx")
	}
	keys, err := os.ReadDir(home.keys())
	if err != nil {
		return out // without keys there is nothing to read
	}
	for _, e := range keys {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 && strings.HasSuffix(e.Name(), ".key") {
			report(filepath.Join(home.keys(), e.Name()), info.Mode(), "others can read this key", "chmod 600")
		}
	}
	return out
}
