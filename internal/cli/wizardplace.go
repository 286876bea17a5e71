package cli

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

func (a *app) wizardSurroundings() (deliver.Surroundings, error) {
	project, err := filepath.Abs(a.path("."))
	return deliver.Surroundings{Getenv: a.Getenv, Home: a.HomeDir, Project: project, OS: a.OS}, err
}

// Scope is the scope that is offered first: the project where one stands in one, the
// user where one stands at home.
func (h *WizardHost) Scope() string {
	s, err := h.a.wizardSurroundings()
	if err == nil && s.Project == s.Home {
		return string(deliver.UserScope)
	}
	return string(deliver.ProjectScope)
}

// Agents are all agents, those that are here first.
func (h *WizardHost) Agents() ([]WizardAgent, error) {
	s, err := h.a.wizardSurroundings()
	if err != nil {
		return nil, err
	}
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
		return WizardFolders{Folders: []WizardFolder{{Dir: dir, Create: !h.exists(dir)}}}, nil
	}
	s, err := h.a.wizardSurroundings()
	if err != nil {
		return WizardFolders{}, err
	}
	agents := make([]deliver.Agent, len(where.Agents))
	for i, name := range where.Agents {
		if agents[i], err = deliver.FindAgent(name); err != nil {
			return WizardFolders{}, err
		}
	}
	placed, unplaced, err := s.Place(agents, deliver.Scope(where.Scope))
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
func (a *app) wizardInstalled(s *WizardSkill) {
	surroundings, err := a.wizardSurroundings()
	slug := pack.SkillName(s.Pack)
	if err != nil || slug == "" {
		return
	}
	agents := make([]deliver.Agent, 0, 8)
	for _, d := range surroundings.Detect() {
		agents = append(agents, d.Agent)
	}
	seen := map[string]bool{}
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

// Plan says exactly what an installation would write. Nothing is written.
func (h *WizardHost) Plan(ctx context.Context, skills []*WizardSkill, where WizardWhere) (*WizardPlan, error) {
	folders, err := h.Folders(where)
	if err != nil {
		return nil, err
	}
	plan := &WizardPlan{Where: where, Skills: skills}
	if len(folders.Unplaced) > 0 {
		plan.Refused = hubapi.Errorf(hubapi.Invalid, "%s", strings.Join(folders.Unplaced, "; "))
	}
	for _, folder := range folders.Folders {
		for _, s := range skills {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			plan.Writes = append(plan.Writes, h.planned(folder, s))
		}
	}
	return plan, nil
}

func (h *WizardHost) planned(folder WizardFolder, s *WizardSkill) WizardWrite {
	slug := pack.SkillName(s.Pack)
	w := WizardWrite{Skill: s, Dir: filepath.Join(folder.Dir, slug), Agents: folder.Agents, Action: WizardInstall, Files: len(s.Rendered)}
	for _, f := range s.Rendered {
		w.Bytes += int64(len(f.Data))
	}
	if folder.Create {
		return w
	}
	root, err := fsx.Open(folder.Dir)
	if err != nil {
		w.Fault = err.Error()
		return w
	}
	defer root.Close()
	state, err := deliver.Check(root, slug)
	switch {
	case err != nil:
		w.Fault = err.Error()
	case state.Status == deliver.Foreign:
		w.Fault = "something that kx did not write is there: " + state.Why
	case state.Status == deliver.Owned:
		w.Action, w.From = WizardUpdate, state.Marker.Version
		if state.Marker.Digest == s.Digest {
			w.Action, w.From = WizardUnchanged, ""
		}
		for _, d := range state.Edits() {
			w.Lost = append(w.Lost, d.String())
		}
		if len(w.Lost) > 0 && !h.Answers.Force {
			w.Fault = "somebody edited it since it was installed; --force overwrites that"
		}
	}
	return w
}

// Install carries a plan out. It ends between two skills when the context does; each
// is whole or not there.
func (h *WizardHost) Install(ctx context.Context, plan *WizardPlan, tell func(WizardEvent)) (*WizardResult, error) {
	out := &WizardResult{Items: []WizardDone{}, Command: h.command(plan)}
	a, _ := h.a.listening()
	owner, err := a.ownerID()
	if err != nil {
		return out, err
	}
	tell(WizardEvent{Total: len(plan.Writes)})
	for i, w := range plan.Writes {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		s := w.Skill
		item := WizardDone{
			Name: s.Pack.Name, Author: s.Author, Version: s.Version, Digest: s.Digest, Path: w.Dir, Agents: w.Agents,
			Signed: s.Signature != nil && s.Signature.Signature != sign.Unsigned,
		}
		e := WizardEvent{Done: i + 1, Total: len(plan.Writes), Ref: s.Ref, Dir: w.Dir}
		if err := installOne(a, owner, w, h.Answers.Force); err != nil {
			item.Problem = asHubError(err).Message
			e.Fault = item.Problem
		} else {
			item.Action = w.Action
		}
		out.Items = append(out.Items, item)
		tell(e)
	}
	return out, nil
}

func installOne(a *app, owner string, w WizardWrite, force bool) error {
	root, err := fsx.OpenOrCreate(filepath.Dir(w.Dir), 0o755)
	if err != nil {
		return err
	}
	_, err = deliver.Install(root, w.Skill.Pack, deliver.InstallOptions{
		Owner: owner, Author: w.Skill.Author, Version: w.Skill.Version, Source: w.Skill.Ref,
		Signature: w.Skill.signature, Now: a.Now(), Force: force,
	})
	return errors.Join(err, root.Close())
}

// Verify reads back what was installed, compares every file with what was meant to
// be there, and the signature that was kept with it.
func (h *WizardHost) Verify(ctx context.Context, done *WizardResult) error {
	a, _ := h.a.listening()
	trusted, err := a.trustedKeys()
	if err != nil {
		return err
	}
	for i := range done.Items {
		item := &done.Items[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		if item.Problem != "" {
			continue
		}
		v, err := a.judgeInstalled(h.c, item.Path, sign.VerifyInput{Now: a.Now(), Trusted: trusted, ExpectedDigest: item.Digest, KazmaPolicy: sign.Off})
		switch {
		case err != nil:
			item.Problem = "it cannot be read back: " + asHubError(err).Message
		case v.exitCode() != 0 && !onlyUnknownKey(v.Problems):
			item.Problem = v.Problems[0].Text
		default:
			item.Verified = true
		}
	}
	return nil
}

func onlyUnknownKey(problems []sign.Finding) bool {
	return !slices.ContainsFunc(problems, func(f sign.Finding) bool { return f.ID != sign.IDUnknownKey })
}

// command does the same without questions.
func (h *WizardHost) command(plan *WizardPlan) string {
	words := []string{h.a.program, "wizard"}
	for _, s := range plan.Skills {
		words = append(words, "--skill", s.Ref)
	}
	if plan.Where.To != "" {
		words = append(words, "--to", plan.Where.To)
	} else {
		for _, name := range plan.Where.Agents {
			words = append(words, "--agent", name)
		}
		words = append(words, "--scope", plan.Where.Scope)
	}
	if plan.Accept {
		words = append(words, "--accept-findings")
	}
	if h.Answers.Force {
		words = append(words, "--force")
	}
	words = append(words, "--yes")
	for i, w := range words {
		words[i] = shellQuote(w)
	}
	return strings.Join(words, " ")
}
