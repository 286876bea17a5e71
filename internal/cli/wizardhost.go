package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/accept"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/scan"
	"github.com/kortecx/kx/sign"
	"github.com/kortecx/kx/source"
)

// WizardHost is what a wizard may do: ask the hub and other sources, judge what they
// send, plan, install. Its methods are the functions that the commands call which
// ask nothing, so that a wizard can decide nothing that they would not.
//
// Its methods may run side by side. None writes anything but Install.
type WizardHost struct {
	a *app
	c *cli.Command

	mu    sync.Mutex
	found map[string]accept.Incoming // by reference, so that a source is fetched once

	// Answers came as flags. What they leave open is asked.
	Answers WizardAnswers
	// Waits takes what a method that runs is waiting for, when that takes longer; nil for
	// standard error. It is called from any goroutine.
	Waits func(text string)
}

func (h *WizardHost) listening() (*app, *heard) {
	a, heard := h.a.listening()
	if a.waits = h.Waits; a.waits == nil {
		a.waits = h.a.waitSaid
	}
	return a, heard
}

// WizardAnswers are the answers to a wizard's questions; a zero value is no answer.
type WizardAnswers struct {
	Skills     []string // references
	Agents     []string // names of agents
	Scope      string   // project or user
	To         string   // a folder instead of agents
	Mode       string   // copy or link
	Accept     bool     // grave findings are accepted, as far as none refuses the skill
	Yes        bool     // install what was planned
	Force      bool     // over what a person edited
	Others     bool     // also bring folders that were not named to the new revision
	Accessible bool     // ask line by line
	Background string   // of the terminal: dark or light
}

// Env is the surroundings of the run.
func (h *WizardHost) Env() Env { return h.a.Env }

// Program is kx or kazma.
func (h *WizardHost) Program() string { return h.a.program }

// WizardFound is one skill that can be chosen.
type WizardFound struct {
	Ref     string // what Load takes
	Name    string
	Author  string
	Version string
	Summary string
	From    string // hub, catalog, or the folder or repository that holds it
	Fault   string // why it cannot be chosen; empty when it can
}

// WizardPage answers a search.
type WizardPage struct {
	Items      []WizardFound
	Total      int      // of the hub; Items may hold fewer
	DidYouMean []string // queries near to one that found nothing
	Note       string   // what the answer does not cover
	Place      string   // the text names a place beyond this machine, which Look opens
}

// wizardPage is how many skills a search shows; a better word narrows it.
const wizardPage = 50

// WizardSkill is one skill with everything that was found out about it. Refused says
// why it cannot be installed; the rest is there all the same, as far as it came.
type WizardSkill struct {
	Ref       string // names exactly this on a command line
	From      string // where it came from, for people
	Author    string
	Version   string
	Digest    pack.Digest
	Pack      *pack.Pack
	Rendered  []pack.File // what an agent will read
	Release   *hubapi.Release
	Installed []WizardInstalled // what is there of it now

	Scan         *scan.Report
	Grave        int   // findings that somebody has to have looked at
	ContentErr   error // the findings refuse it, unless they are allowed
	Signature    *sign.Result
	SignatureErr error
	Badge        *hubapi.Badge // nil: none
	BadgeErr     error
	Log          *WizardLog // nil: nothing proved
	LogErr       error
	PolicyErr    error    // the user's trust policy refuses it
	Remarks      []string // warnings of the commands that ask nothing

	Refused error

	unseen  []string // warnings for who is shown nothing else
	offered accept.Incoming
}

// Name is what the skill is called.
func (s *WizardSkill) Name() string { return s.Pack.Name }

// WizardLog is where a hub's log has a release.
type WizardLog struct {
	Origin      string
	Index, Size int64
}

// WizardInstalled is a copy of a skill that is in an agent's folder now.
type WizardInstalled struct {
	Dir     string
	Version string
	Same    bool   // the very same content
	Edited  bool   // a person changed it since
	Diff    string // from that copy to what would be installed; unified, of SKILL.md, or of all texts of a kazma pack
	// Changes are what it asks for or can do that the copy does not, and the reverse.
	Changes []string
}

// Load fetches a skill and judges it as every command does that installs: its
// content, signature, certification, the hub's log, the user's trust policy. The
// error is for what could not be had at all.
func (h *WizardHost) Load(ctx context.Context, text string) (*WizardSkill, error) {
	a, heard := h.listening()
	ref, err := h.parse(text)
	if err != nil {
		return nil, err
	}
	var s *WizardSkill
	load := func(hub *hubclient.Client) error {
		o, err := h.fetch(ctx, text, ref, hub)
		if err != nil {
			return err
		}
		s, err = a.wizardJudge(ctx, h.c, hub, o)
		return err
	}
	if ref.Kind == source.Hub {
		err = a.withHub(ctx, h.c, load)
	} else {
		err = load(nil)
	}
	if err != nil {
		return nil, err
	}
	s.Remarks = append(s.Remarks, heard.lines(a.program)...)
	return s, nil
}

// fetch gets the pack that a reference means; what a listing showed is not fetched
// again.
func (h *WizardHost) fetch(ctx context.Context, text string, ref source.Ref, hub *hubclient.Client) (accept.Incoming, error) {
	h.mu.Lock()
	got, ok := h.found[text]
	h.mu.Unlock()
	if !ok {
		sources := h.sources(nil)
		if hub != nil { // a nil client in an interface would be one
			sources.Hub = hub
		}
		fetched, err := sources.Fetch(ctx, ref)
		if err != nil {
			return accept.Incoming{}, err
		}
		found, err := fetched.Pick("")
		if err != nil {
			return accept.Incoming{}, err
		}
		got = accept.Incoming{Fetched: fetched, Found: found}
	}
	return got, got.Found.Faults
}

// wizardJudge runs a pack through the gate, part by part, and keeps what each part
// says.
func (a *app) wizardJudge(ctx context.Context, c *cli.Command, hub *hubclient.Client, o accept.Incoming) (*WizardSkill, error) {
	p, r := o.Found.Pack, o.Fetched.Release
	s := &WizardSkill{
		Ref: skillRef(o.Fetched, o.Found).String(), Author: p.Author, Version: p.Version, Digest: o.Found.Digest, Pack: p, Release: r, offered: o,
	}
	s.From = s.Ref
	if r != nil {
		s.Author, s.Version, s.From = r.Author, r.Version, "the hub, "+r.Ref()
		s.Ref = o.Fetched.Ref.Hub.String()
	}
	for _, n := range o.Fetched.Notes {
		s.Remarks = append(s.Remarks, n.Message)
	}
	var said notes
	g := a.newGate(c, hub, &said)
	facts, err := g.Origin(ctx, o)
	if s.LogErr = err; err == nil && r != nil {
		log, err := a.proofInLog(ctx, c.Bool("require-log"), hub, *r)
		if s.LogErr = err; log != nil {
			s.Log = &WizardLog{Origin: log.Origin, Index: log.Index, Size: log.Size}
		}
	}
	result, err := g.Signature(ctx, o)
	if s.SignatureErr = err; err == nil || result.Digest != "" {
		s.Signature = &result
	}
	if err == nil {
		s.PolicyErr = g.Trust(ctx, o, result, facts)
	}
	s.Remarks = append(s.Remarks, said.warnings...)
	if r != nil {
		s.badge(ctx, hub, *r)
	}
	for _, err := range []error{s.LogErr, s.SignatureErr, s.PolicyErr} {
		if s.Refused == nil {
			s.Refused = err
		}
	}
	s.Scan = scan.Pack(p, scan.Options{})
	s.Grave = s.Scan.Counts.AtLeast(scan.High)
	s.ContentErr = g.Content(o)
	s.unseen = said.lines()
	if s.Rendered, err = pack.AgentFiles(p); err != nil && s.Refused == nil {
		s.Refused = err
	}
	a.wizardInstalled(c, s)
	return s, ctx.Err()
}

// badge asks the hub for the certification of a release.
func (s *WizardSkill) badge(ctx context.Context, hub *hubclient.Client, r hubapi.Release) {
	badge, err := hub.Badge(ctx, hubapi.Ref{Author: r.Author, Name: r.Name, Version: r.Version})
	switch e, ok := errors.AsType[*hubapi.Error](err); {
	case err == nil:
		s.Badge = &badge
	case !ok || e.Code != hubapi.NotFound && e.Code != hubapi.Unsupported:
		s.BadgeErr = err
	}
}

// heard is a standard error that is kept.
type heard struct{ strings.Builder }

// lines are the warnings that were written, without the program's name.
func (h *heard) lines(program string) []string {
	var out []string
	for line := range strings.Lines(h.String()) {
		line = strings.TrimSuffix(line, "\n")
		line = strings.TrimPrefix(strings.TrimPrefix(line, program+": "), "warning: ")
		if line != "" && !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return out
}

// listening is this run with a standard error that is kept, for what runs while the
// terminal belongs to somebody else.
func (a *app) listening() (*app, *heard) {
	h := &heard{}
	b := &app{Env: a.Env, program: a.program, root: a.root, out: a.out, relativeHome: true, waits: func(string) {}}
	b.Stderr, b.StderrTerminal, b.StdinTerminal = h, false, false
	return b, h
}
