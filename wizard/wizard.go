// Package wizard asks a person what to install and where, shows what the skills say
// and what speaks for and against them, and installs them. It has two front ends
// over the same questions: a program on the whole terminal, and a dialogue of plain
// lines for screen readers, simple terminals and pipes. With every answer given as a
// flag it asks nothing.
//
// It decides nothing about skills: what it shows, plans and does are the functions
// of its Backend, which the commands that ask nothing call too. Before the person has
// confirmed, nothing is written.
//
// Call Run, which fits cli.Env's Wizard.
package wizard

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/cli"
)

// Backend is what a wizard needs from below. All of it may be slow, ends with the
// context, and gives errors of package hubapi. Only Install writes.
type Backend interface {
	// Search finds skills: a folder's, when text is the path of one, else the hub's.
	Search(ctx context.Context, text string) (*cli.WizardPage, error)
	// Look lists the skills of a place beyond this machine.
	Look(ctx context.Context, place string) (*cli.WizardPage, error)
	Load(ctx context.Context, ref string) (*cli.WizardSkill, error)
	Agents() ([]cli.WizardAgent, error)
	// Scope is the one that is offered first.
	Scope() string
	Folders(where cli.WizardWhere) (cli.WizardFolders, error)
	// Plan says what would be written; accept allows findings that refuse a skill.
	Plan(ctx context.Context, skills []*cli.WizardSkill, where cli.WizardWhere, accept bool) (*cli.WizardPlan, error)
	// Install tells of each skill as it is done. When it ends early, by its context
	// or an error, the result holds what is on disk.
	Install(ctx context.Context, plan *cli.WizardPlan, tell func(cli.WizardEvent)) (*cli.WizardResult, error)
	// Verify reads back what was installed and fills that in.
	Verify(ctx context.Context, done *cli.WizardResult) error
	// KazmaFolder is the folder that is offered first for these skills; empty when the
	// agents are.
	KazmaFolder(skills []*cli.WizardSkill) string
	// Show shortens a path for people.
	Show(path string) string
	// Hub names the hub that is asked.
	Hub() string
}

// Run asks, and installs. What was installed comes back even with an error, which is
// that of an interruption when the person left.
func Run(ctx context.Context, host *cli.WizardHost) (*cli.WizardResult, error) {
	env := host.Env()
	f := newFlow(host, host.Program(), host.Answers)
	switch {
	case len(f.missing()) == 0:
		return f.unattended(ctx)
	case plainLines(env, host.Answers):
		d := newDialogue(f, env.Stdin, env.Stderr, env.StdinTerminal)
		host.Waits = func(text string) { d.say("Still %s.", text) }
		return d.run(ctx)
	case env.StdinTerminal && env.StderrTerminal:
		heard := &hearing{}
		host.Waits = heard.hear
		return onScreen(ctx, f, env, heard)
	}
	return nil, f.unanswered()
}

// plainLines tells whether to ask line by line. A pipe is only listened to when
// somebody said so, and TERM=dumb says so; that there is none at all does not.
func plainLines(env cli.Env, given cli.WizardAnswers) bool {
	asked := env.Getenv("KX_ACCESSIBLE")
	if given.Accessible || asked != "" && asked != "0" {
		return true
	}
	switch env.Getenv("TERM") {
	case "dumb":
		return true
	case "":
		return env.StdinTerminal && env.StderrTerminal
	}
	return false
}

// unanswered is the error for questions that nobody can be asked.
func (f *flow) unanswered() error {
	missing := f.missing()
	flags := make([]string, len(missing))
	for i, q := range missing {
		flags[i] = q.flag
	}
	e := hubapi.Errorf(hubapi.Usage, "there is no terminal to ask on, and these answers are missing: %s", strings.Join(flags, "; "))
	e.Details = detailsOf(missing)
	return e.WithHint("give them as flags, or --accessible to answer line by line through a pipe")
}

func detailsOf(missing []question) (out []hubapi.Detail) {
	for _, q := range missing {
		out = append(out, hubapi.Detail{ID: "wizard." + q.id, Message: q.flag + ": " + q.prompt})
	}
	return out
}

// errLeft ends a run that the person ended.
func errLeft() error { return hubapi.Errorf(hubapi.Interrupted, "interrupted; nothing was installed") }

// leftAfter words how an interrupted installation stands.
func leftAfter(done *cli.WizardResult, total int) error {
	n := 0
	if done != nil {
		n = installedOf(done)
	}
	if n == 0 {
		return errLeft()
	}
	return hubapi.Errorf(hubapi.Interrupted, "interrupted; %d of %d were installed, each of them whole", n, total)
}

func installedOf(done *cli.WizardResult) (n int) {
	for _, item := range done.Items {
		if item.Problem == "" {
			n++
		}
	}
	return n
}

// failed is the error for a result in which something did not work.
func failed(done *cli.WizardResult) error {
	bad := 0
	var firstBad string
	for _, item := range done.Items {
		if item.Problem != "" || !item.Verified {
			if bad++; firstBad == "" {
				firstBad = item.Name + " in " + item.Path + ": " + orElse(item.Problem, "it is not on disk as it was installed")
			}
		}
	}
	switch {
	case bad == 0:
		return nil
	case bad == 1:
		return hubapi.Errorf(hubapi.Invalid, "%s", firstBad)
	}
	return hubapi.Errorf(hubapi.Invalid, "%d of %d were not installed; the first is %s", bad, len(done.Items), firstBad)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// isLeft tells whether an error is only that the run was ended.
func isLeft(err error) bool {
	if e, ok := errors.AsType[*hubapi.Error](err); ok {
		return e.Code == hubapi.Interrupted
	}
	return errors.Is(err, context.Canceled)
}

// plural is a number of things in words.
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
