package cli

import (
	"path/filepath"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
)

// Scope is the scope that is offered first: that of the project which the user stands
// in, else the user's.
func (h *WizardHost) Scope() string {
	a, _ := h.listening()
	s, err := a.standing(h.c)
	if err != nil {
		return string(deliver.UserScope)
	}
	return string(s.scope)
}

// Agents are all agents, those that are here first.
func (h *WizardHost) Agents() ([]WizardAgent, error) {
	a, _ := h.listening()
	st, err := a.standing(h.c)
	if err != nil {
		return nil, err
	}
	s := a.surroundingsOf(st.dir)
	here := map[string]string{}
	for _, d := range s.Detect() {
		here[d.Agent.Name] = d.By
	}
	var out, others []WizardAgent
	for _, agent := range deliver.Agents() {
		w := WizardAgent{Name: agent.Name, Title: agent.Title}
		if by, ok := here[agent.Name]; ok {
			w.Here, w.Why = true, h.Show(by)
			out = append(out, w)
		} else {
			others = append(others, w)
		}
	}
	return append(out, others...), nil
}

// Folders are the folders that a choice leads to.
func (h *WizardHost) Folders(where WizardWhere) (WizardFolders, error) {
	if where.To != "" {
		dir, err := filepath.Abs(h.a.path(h.expand(where.To)))
		if err != nil {
			return WizardFolders{}, err
		}
		_, err = lstatPath(dir)
		return WizardFolders{Folders: []WizardFolder{{Dir: dir, Create: err != nil}}}, nil
	}
	a, _ := h.listening()
	c, err := h.installCommand(nil, where, false)
	if err != nil {
		return WizardFolders{}, err
	}
	st, err := a.standing(c)
	if err != nil {
		return WizardFolders{}, err
	}
	agents := make([]deliver.Agent, len(where.Agents))
	for i, name := range where.Agents {
		if agents[i], err = deliver.FindAgent(name); err != nil {
			return WizardFolders{}, err
		}
	}
	placed, unplaced, err := a.surroundingsOf(st.dir).Place(agents, st.scope)
	if err != nil {
		return WizardFolders{}, err
	}
	var out WizardFolders
	for _, p := range placed {
		out.Folders = append(out.Folders, WizardFolder{Dir: p.Dir, Via: p.Via, Agents: p.Agents, Shared: p.Shared, Create: p.Create, Outside: p.Outside})
	}
	for _, u := range unplaced {
		out.Unplaced = append(out.Unplaced, u.Agent+": "+u.Reason)
	}
	return out, nil
}

// KazmaFolder is where skills go of themselves: Kazma's own folder, where the kazma
// program installs skills that only Kazma loads. Else it is empty.
func (h *WizardHost) KazmaFolder(skills []*WizardSkill) string {
	if h.a.program != "kazma" || len(skills) == 0 {
		return ""
	}
	for _, s := range skills {
		if !kazmaOnly(s.Pack) {
			return ""
		}
	}
	place, err := h.a.kazmaPlaceOr("")
	if err != nil || place.writable(h.c) != nil {
		return ""
	}
	return place.dir
}

// kazmaOnly tells whether nothing but Kazma can read a pack.
func kazmaOnly(p *pack.Pack) bool {
	_, read := p.File(pack.SkillMD.ManifestFile())
	return p.Format == pack.Kazma && !read
}

// unread says which of the packs the agents cannot read, and why.
func (in *installer) unread(offers []deliver.Offer, spots []deliver.Spot) {
	if in.c.String("to") != "" {
		return
	}
	var agents []deliver.Agent
	for _, spot := range spots {
		for _, name := range spot.Agents {
			if agent, err := deliver.FindAgent(name); err == nil {
				agents = append(agents, agent)
			}
		}
	}
	for _, o := range offers {
		if kazmaOnly(o.Pack) {
			in.notes.Warn("%s is a kazma skill without a SKILL.md, which agents cannot read; kazma hub install puts it where Kazma loads it", o.Pack.Name)
			continue
		}
		for _, agent := range agents {
			if why, fix := agent.Unread(o.Pack.Description); why != "" {
				in.notes.Warn("%s does not read %s: %s; %s", agent.Title, o.Pack.Name, why, fix)
			}
		}
	}
}

// Show shortens a path for people: relative in the project, with ~ in the home.
func (h *WizardHost) Show(path string) string {
	absolute, err := filepath.Abs(h.a.path(path))
	if err != nil {
		return path
	}
	project, err := filepath.Abs(h.a.path("."))
	if rel, relErr := filepath.Rel(project, absolute); err == nil && relErr == nil && rel != "." && !strings.HasPrefix(rel, "..") {
		return rel
	}
	if rel, err := filepath.Rel(h.a.HomeDir, absolute); err == nil && h.a.HomeDir != "" && !strings.HasPrefix(rel, "..") {
		return filepath.Join("~", rel)
	}
	return absolute
}

// wizardInstalled finds the copies of a skill that agents of this machine have now.
// What cannot be looked at is not there for this purpose; the plan says more.
func (a *app) wizardInstalled(c *cli.Command, s *WizardSkill) {
	st, err := a.standing(c)
	slug := pack.SkillName(s.Pack)
	if err != nil || slug == "" {
		return
	}
	surroundings := a.surroundingsOf(st.dir)
	agents := make([]deliver.Agent, 0, 8)
	for _, d := range surroundings.Detect() {
		agents = append(agents, d.Agent)
	}
	seen := map[string]bool{}
	if s.Pack.Format == pack.Kazma {
		if place, err := a.kazmaPlaceOr(c.String("to")); err == nil {
			seen[place.dir] = true
			if there, ok := compareInstalled(place.dir, slug, s); ok {
				s.Installed = append(s.Installed, there)
			}
		}
	}
	for _, scope := range deliver.Scopes {
		placed, _, err := surroundings.Place(agents, scope)
		if err != nil {
			continue
		}
		for _, p := range placed {
			if p.Create || seen[p.Dir] {
				continue
			}
			seen[p.Dir] = true
			if there, ok := compareInstalled(p.Dir, slug, s); ok {
				s.Installed = append(s.Installed, there)
			}
		}
	}
}

// compareInstalled compares a skill with the copy in one folder of skills.
func compareInstalled(dir, slug string, s *WizardSkill) (WizardInstalled, bool) {
	root, err := fsx.Open(dir)
	if err != nil {
		return WizardInstalled{}, false
	}
	defer root.Close()
	state, err := deliver.Check(root, slug)
	if err != nil || state.Status != deliver.Owned {
		return WizardInstalled{}, false
	}
	out := WizardInstalled{
		Dir: filepath.Join(dir, slug), Version: state.Marker.Version,
		Same: state.Marker.Digest == s.Digest, Edited: len(state.Edits()) > 0,
	}
	if s.Pack.Format == pack.Kazma && !out.Same {
		out.Diff, out.Changes = kazmaChanges(out.Dir, state.Marker.Version, s)
		return out, true
	}
	for _, f := range s.Rendered {
		if f.Path != pack.SkillMD.ManifestFile() {
			continue
		}
		before, err := root.ReadFile(slug+"/"+f.Path, pack.MaxInstructions+pack.MaxManifest)
		if err == nil {
			out.Diff = udiff.Unified("installed", "new", string(before), string(f.Data))
		}
	}
	return out, true
}

// kazmaChanges compares a kazma pack with the copy in dir as an update does. A copy that
// cannot be read any more has nothing to compare.
func kazmaChanges(dir, version string, s *WizardSkill) (diff string, changes []string) {
	in, err := pack.Inspect(dir, pack.Options{Format: pack.Kazma, LeaveBytecode: true})
	if err != nil || in.Pack == nil {
		return "", []string{"the copy that is installed cannot be read, so what changes cannot be told"}
	}
	r := deliver.NewReview(s.Name(), deliver.Locked{Version: version, Digest: in.Pack.Digest()}, in.Pack, deliver.Offer{Pack: s.Pack, Version: s.Version})
	for _, f := range r.Files {
		if f.Text == "" {
			changes = append(changes, f.Path+" "+f.Change)
			continue
		}
		diff += f.Text
	}
	return diff, append(widens(r), changes...)
}
