package wizard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/cli"
)

// question is one thing that a wizard asks. Both front ends ask the same ones in the
// same words, and each can be answered by a flag instead.
type question struct {
	id     string
	flag   string // as help shows it
	title  string // of the step
	prompt string
	// open tells whether the flags left it open.
	open func(cli.WizardAnswers) bool
}

// The questions in their order. Whether to copy or to link is asked only where there
// are several folders, and whether grave findings are accepted where there are any.
var (
	askSkills = question{
		id: "skills", flag: "--skill REF", title: "Choose", prompt: "which skills: of the hub, of a folder, or of a git repository",
		open: func(a cli.WizardAnswers) bool { return len(a.Skills) == 0 },
	}
	askAgents = question{
		id: "agents", flag: "--agent NAME (or --to FOLDER)", title: "Where", prompt: "which agents shall have them",
		open: func(a cli.WizardAnswers) bool { return len(a.Agents) == 0 && a.To == "" },
	}
	askScope = question{
		id: "scope", flag: "--scope project|user", title: "Where", prompt: "for this project, or for you in every project",
		open: func(a cli.WizardAnswers) bool { return a.Scope == "" && a.To == "" },
	}
	askMode = question{
		id: "mode", flag: "--copy or --link", title: "Where", prompt: "a copy in every folder, or one copy and links to it",
		open: func(cli.WizardAnswers) bool { return false }, // a copy suits everybody
	}
	askAccept = question{
		id: "accept", flag: "--accept-findings", title: "Security", prompt: "install in spite of grave findings",
		open: func(cli.WizardAnswers) bool { return false },
	}
	askConfirm = question{
		id: "confirm", flag: "--yes", title: "Confirm", prompt: "write what was planned",
		open: func(a cli.WizardAnswers) bool { return !a.Yes },
	}
	questions = []question{askSkills, askAgents, askScope, askMode, askAccept, askConfirm}
)

// Answers as flags take them.
const (
	project = "project"
	user    = "user"
	link    = "link"
)

// flow is one run, whatever shows it: what was answered, and what came of it.
type flow struct {
	back    Backend
	program string
	answers cli.WizardAnswers

	chosen []cli.WizardFound
	loaded map[string]loaded // by reference
	// accepted is what the person said to the grave findings of a skill, by reference.
	accepted map[string]bool
	agents   []cli.WizardAgent
	where    cli.WizardWhere
	own      string // Kazma's own folder, where it is offered first
	plan     *cli.WizardPlan
	done     *cli.WizardResult
}

// loaded is what came of fetching one chosen skill.
type loaded struct {
	skill *cli.WizardSkill
	err   error
}

func newFlow(back Backend, program string, given cli.WizardAnswers) *flow {
	f := &flow{back: back, program: program, answers: given, loaded: map[string]loaded{}, accepted: map[string]bool{}}
	for _, ref := range given.Skills {
		f.chosen = append(f.chosen, cli.WizardFound{Ref: ref, Name: ref})
	}
	f.where = cli.WizardWhere{Agents: given.Agents, Scope: given.Scope, To: given.To, Link: given.Mode == link}
	return f
}

func (f *flow) missing() []question {
	var open []question
	for _, q := range questions {
		if q.open(f.answers) {
			open = append(open, q)
		}
	}
	return open
}

func (f *flow) isChosen(ref string) bool {
	return slices.ContainsFunc(f.chosen, func(c cli.WizardFound) bool { return c.Ref == ref })
}

// toggle chooses a skill, or takes it back.
func (f *flow) toggle(item cli.WizardFound) {
	if item.Fault != "" {
		return
	}
	if f.isChosen(item.Ref) {
		f.drop(item.Ref)
		return
	}
	f.chosen = append(f.chosen, item)
}

func (f *flow) drop(ref string) {
	f.chosen = slices.DeleteFunc(f.chosen, func(c cli.WizardFound) bool { return c.Ref == ref })
	delete(f.accepted, ref) // whoever chooses it again is asked again
}

// nextToLoad is the first chosen skill that was not fetched yet.
func (f *flow) nextToLoad() (ref string, ok bool) {
	for _, c := range f.chosen {
		if _, done := f.loaded[c.Ref]; !done {
			return c.Ref, true
		}
	}
	return "", false
}

// skills are those that were chosen, could be had and may be installed.
func (f *flow) skills() []*cli.WizardSkill {
	var out []*cli.WizardSkill
	for _, c := range f.chosen {
		if l := f.loaded[c.Ref]; l.skill != nil && l.skill.Refused == nil {
			out = append(out, l.skill)
		}
	}
	return out
}

// grave counts the findings of one skill that are meant to stop its installation.
func (f *flow) grave(ref string) int {
	if s := f.loaded[ref].skill; s != nil && s.Refused == nil {
		return s.Grave
	}
	return 0
}

// accepts tells whether the grave findings of a skill hinder nothing: there are none,
// the person accepted them, or flags did. For critical ones that is --allow-findings,
// with which nothing in the content refuses the skill.
func (f *flow) accepts(ref string) bool {
	if f.grave(ref) == 0 {
		return true
	}
	if yes, said := f.accepted[ref]; said {
		return yes
	}
	return f.answers.Accept && f.loaded[ref].skill.ContentErr == nil
}

// unaccepted is the first chosen skill whose grave findings nobody accepted.
func (f *flow) unaccepted() (at int, ok bool) {
	at = slices.IndexFunc(f.chosen, func(c cli.WizardFound) bool { return !f.accepts(c.Ref) })
	return at, at >= 0
}

// unacceptedErr is the error for grave findings that no flag accepted, nor anybody
// before; it holds all of them.
func (f *flow) unacceptedErr() error {
	var of []string
	var found []hubapi.Detail
	for _, c := range f.chosen {
		s := f.loaded[c.Ref].skill
		if f.accepts(c.Ref) || s.ContentErr == nil {
			continue
		}
		of = append(of, fmt.Sprintf("%s of %s", plural(s.Grave, "grave finding"), titleOf(s)))
		for _, one := range s.Scan.Findings {
			if grave(one) {
				found = append(found, hubapi.Detail{
					ID: one.Rule, Message: fmt.Sprintf("%s: %s: %s", titleOf(s), one.Severity, one.Reason),
					File: one.File, Line: one.Line, Column: one.Column,
				})
			}
		}
	}
	if len(of) == 0 {
		return nil
	}
	e := hubapi.Errorf(hubapi.Usage, "nothing was installed: %s accepts %s, and is missing", askAccept.flag, strings.Join(of, " and "))
	e.Details = append(detailsOf([]question{askAccept}), found...)
	return e.WithHint("read them; %s installs it all the same", askAccept.flag)
}

// detected starts with the agents that are here, unless flags named others.
func (f *flow) detected(agents []cli.WizardAgent) {
	f.agents = agents
	if f.where.Scope == "" {
		f.where.Scope = f.back.Scope()
	}
	if f.own != "" && f.where.To == f.own {
		f.where.To = "" // other skills may have been chosen since
	}
	if len(f.where.Agents) > 0 || f.where.To != "" {
		return
	}
	if f.own = f.back.KazmaFolder(f.skills()); f.own != "" {
		f.where.To = f.own
		return
	}
	for _, a := range agents {
		if a.Here {
			f.where.Agents = append(f.where.Agents, a.Name)
		}
	}
}

func (f *flow) toggleAgent(name string) {
	f.where.To = ""
	if i := slices.Index(f.where.Agents, name); i >= 0 {
		f.where.Agents = slices.Delete(slices.Clone(f.where.Agents), i, i+1)
		return
	}
	f.where.Agents = append(slices.Clone(f.where.Agents), name)
}

// complete says why the answer to "where" is none yet, or nil.
func (f *flow) complete() error {
	if f.where.To == "" && len(f.where.Agents) == 0 {
		return hubapi.Errorf(hubapi.Usage, "choose an agent, or name a folder")
	}
	return nil
}

// refusedSkills is the error for a run in which a skill that a flag named cannot be
// installed: what was asked for is done whole or not at all.
func (f *flow) refusedSkills() error {
	for _, c := range f.chosen {
		l := f.loaded[c.Ref]
		switch {
		case l.err != nil:
			return l.err
		case l.skill.Refused != nil:
			return l.skill.Refused
		}
	}
	for _, s := range f.skills() {
		if s.ContentErr != nil && s.Scan.Counts.Critical > 0 {
			return s.ContentErr
		}
	}
	return f.unacceptedErr()
}

// refusedPlan is the error for a plan that cannot be carried out whole.
func (f *flow) refusedPlan() error {
	for _, w := range f.plan.Writes {
		if w.Fault != "" {
			e := hubapi.Errorf(hubapi.Conflict, "nothing was installed: %s in %s: %s", w.Skill.Name(), f.back.Show(w.Dir), w.Fault)
			e.Hint = w.Hint
			return e
		}
	}
	return nil
}

// allowing tells whether somebody accepted grave findings.
func (f *flow) allowing() bool {
	return slices.ContainsFunc(f.chosen, func(c cli.WizardFound) bool {
		s := f.loaded[c.Ref].skill
		return s != nil && s.Refused == nil && s.Grave > 0 && f.accepts(c.Ref)
	})
}

// unattended runs with every answer given.
func (f *flow) unattended(ctx context.Context) (*cli.WizardResult, error) {
	for ref, more := f.nextToLoad(); more; ref, more = f.nextToLoad() {
		skill, err := f.back.Load(ctx, ref)
		if err != nil {
			return nil, err
		}
		f.loaded[ref] = loaded{skill: skill}
	}
	if err := f.refusedSkills(); err != nil {
		return nil, err
	}
	var err error
	if f.plan, err = f.back.Plan(ctx, f.skills(), f.where, f.allowing()); err != nil {
		return nil, err
	}
	if err := f.refusedPlan(); err != nil {
		return nil, err
	}
	return f.carryOut(ctx, func(cli.WizardEvent) {})
}

// carryOut installs what was planned and reads it back.
func (f *flow) carryOut(ctx context.Context, tell func(cli.WizardEvent)) (*cli.WizardResult, error) {
	done, err := f.back.Install(ctx, f.plan, tell)
	f.done = done
	if ctx.Err() != nil {
		return done, leftAfter(done, len(f.plan.Writes))
	}
	if err != nil {
		return done, err
	}
	if err := f.back.Verify(ctx, done); err != nil {
		return done, err
	}
	return done, failed(done)
}
