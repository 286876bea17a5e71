package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/deliver"
)

func (a *app) agentsCommand() *cli.Command {
	return a.leaf("agents", "which agents are here, and which folders they read skills from", spec{
		long: "An agent is here when one of its signs is, such as its own folder in your home. For each, the folder of this project\n" +
			"and yours, with how many skills are in them: ours (that this kx installed), foreign (all others), and of both those\n" +
			"that no agent can read. Agents that read one folder share what is in it. A skill whose folder looks from outside as\n" +
			"it did is counted as it was, for an hour at most.",
		examples: []example{
			{"agents", "the agents that are here"},
			{"agents --all --json", "all that kx knows, with their folders"},
		},
	}, []cli.Flag{
		&cli.BoolFlag{Name: "all", Usage: "list the agents that are not here too"},
		jsonFlag(),
	}, a.runAgents)
}

// agentList is the --json document of kx agents.
type agentList struct {
	Dated   string      `json:"dated"` // the month that the table of agents is from
	Project string      `json:"project"`
	Agents  []agentInfo `json:"agents"`
}

type agentInfo struct {
	Name     string       `json:"name"`
	Title    string       `json:"title"`
	Detected bool         `json:"detected"`
	By       string       `json:"by"` // the path that told; empty for one that is not here
	Project  []folderInfo `json:"project"`
	User     []folderInfo `json:"user"`
	// Unplaced says by scope why there is no folder.
	Unplaced map[deliver.Scope]string `json:"unplaced"`
}

type folderInfo struct {
	Path   string `json:"path"`
	Target string `json:"target,omitempty"` // what the path leads to, when there is a link in it
	Exists bool   `json:"exists"`
	Fault  string `json:"fault,omitempty"` // why it cannot be used
	deliver.Counts
	SharedBy []string `json:"shared_by"` // the other agents that are here and read it
}

// surroundings are where agents are looked for.
func (a *app) surroundings() (deliver.Surroundings, error) {
	project, err := filepath.Abs(a.path("."))
	return deliver.Surroundings{Getenv: a.Getenv, Home: a.HomeDir, Project: project, OS: a.OS}, err
}

func (a *app) runAgents(_ context.Context, c *cli.Command) error {
	s, err := a.surroundings()
	if err != nil {
		return err
	}
	owner, err := a.knownOwner()
	if err != nil {
		return err
	}
	var survey []deliver.Surveyed
	if owner == "" { // nothing was installed from here, and there may be no KX_HOME
		survey = s.Survey(owner, c.Bool("all"))
	} else {
		home, err := a.home()
		if err != nil {
			return err
		}
		survey = s.Count(owner, c.Bool("all"), home.data, a.Now())
	}
	readers := map[string][]string{} // by the folder that a path leads to
	for _, v := range survey {
		for _, scope := range deliver.Scopes {
			for _, f := range v.Folders[scope] {
				if v.By != "" && !slices.Contains(readers[f.Dir], v.Agent.Name) {
					readers[f.Dir] = append(readers[f.Dir], v.Agent.Name)
				}
			}
		}
	}
	list := agentList{Dated: deliver.AgentsDated(), Project: s.Project, Agents: []agentInfo{}}
	for _, v := range survey {
		list.Agents = append(list.Agents, agentInfo{
			Name: v.Agent.Name, Title: v.Agent.Title, Detected: v.By != "", By: v.By,
			Project:  folderInfos(v, deliver.ProjectScope, readers),
			User:     folderInfos(v, deliver.UserScope, readers),
			Unplaced: v.NoFolder,
		})
	}
	if c.Bool("json") {
		return a.printJSON(list)
	}
	if len(list.Agents) == 0 {
		a.printf("no agent is here; kx agents --all lists those that kx knows\n")
		return nil
	}
	for _, v := range list.Agents {
		by := "not here"
		if v.Detected {
			by = v.By
		}
		a.printf("%s  %s (%s)\n", v.Name, v.Title, by)
		a.printFolders(deliver.ProjectScope, v, v.Project)
		a.printFolders(deliver.UserScope, v, v.User)
	}
	return nil
}

func folderInfos(v deliver.Surveyed, scope deliver.Scope, readers map[string][]string) []folderInfo {
	out := []folderInfo{}
	for _, f := range v.Folders[scope] {
		info := folderInfo{Path: f.Path, Exists: f.There, Fault: f.Fault, Counts: f.Counts(), SharedBy: []string{}}
		if f.Via != "" {
			info.Target = f.Dir
		}
		for _, name := range readers[f.Dir] {
			if name != v.Agent.Name {
				info.SharedBy = append(info.SharedBy, name)
			}
		}
		out = append(out, info)
	}
	return out
}

func (a *app) printFolders(scope deliver.Scope, v agentInfo, folders []folderInfo) {
	if why := v.Unplaced[scope]; why != "" {
		a.printf("  %-8s none: %s\n", string(scope), why)
	}
	for _, f := range folders {
		a.printf("  %-8s %s", string(scope), f.Path)
		if f.Target != "" {
			a.printf(" -> %s", f.Target)
		}
		switch {
		case f.Fault != "":
			a.printf(": %s", f.Fault)
		case !f.Exists:
			a.printf(": not there yet")
		default:
			a.printf(": %d ours, %d foreign", f.Ours, f.Foreign)
			if f.Invalid > 0 {
				a.printf(", %d invalid", f.Invalid)
			}
		}
		if len(f.SharedBy) > 0 {
			a.printf("; shared by %s", strings.Join(f.SharedBy, ", "))
		}
		a.printf("\n")
	}
}
