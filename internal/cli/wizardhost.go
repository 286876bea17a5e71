package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/scan"
	"github.com/kortecx/kx/sign"
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
	found map[string]wizardSource // by reference, so that a source is fetched once

	// Answers came as flags. What they leave open is asked.
	Answers WizardAnswers
}

// WizardAnswers are the answers to a wizard's questions; a zero value is no answer.
type WizardAnswers struct {
	Skills     []string // references
	Agents     []string // names of agents
	Scope      string   // project or user
	To         string   // a folder instead of agents
	Accept     bool     // install in spite of grave findings
	Yes        bool     // install what was planned
	Force      bool     // over what a person edited
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
	Grave        int // findings that are meant to stop an installation
	Signature    *sign.Result
	SignatureErr error
	Badge        *hubapi.Badge // nil: none
	BadgeErr     error
	Log          *WizardLog // nil: nothing proved
	LogErr       error
	Remarks      []string // warnings of the commands that ask nothing

	Refused error

	signature []byte
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
	Diff    string // from that copy to what would be installed; a unified diff of SKILL.md
}

// wizardRelease is what a hub has and says.
func (a *app) wizardRelease(ctx context.Context, c *cli.Command, hub *hubclient.Client, ref hubapi.Ref) (*WizardSkill, error) {
	got, err := hub.Archive(ctx, ref)
	if err != nil {
		return nil, err
	}
	r := got.Release
	s := &WizardSkill{
		Ref: r.Ref(), From: "the hub", Author: r.Author, Version: r.Version, Digest: got.Digest, Pack: got.Pack, Release: &r,
	}
	s.Refused = onlyActive(r, false)
	if r.Signed {
		exact := hubapi.Ref{Author: r.Author, Name: r.Name, Version: r.Version}
		if s.signature, err = hub.Signature(ctx, exact); err != nil {
			s.SignatureErr = unsignedAfterAll(r, err)
		} else {
			s.SignatureErr = signatureFits(got, s.signature)
		}
	}
	if s.SignatureErr == nil {
		trusted, err := a.trustedKeys()
		if err != nil {
			return nil, err
		}
		secrets, policy := sign.Secrets{Current: sign.SecretFromEnv(a.Getenv("KAZMA_SECRET"))}, sign.Accept
		if secrets.Empty() {
			policy = sign.Off
		}
		result := sign.Verify(got.Pack, sign.VerifyInput{
			SignatureFile: s.signature, Trusted: trusted, Now: a.Now(), Secrets: secrets, KazmaPolicy: policy,
			RequireSigned: c.Bool("require-signed"), ExpectSigned: r.Signed && !hmacOnly(s.signature),
			ExpectedSubject: r.Author + "/" + r.Name, ExpectedVersion: r.Version, ExpectedDigest: got.Digest,
		})
		s.Signature = &result
		for _, problem := range result.Problems {
			if problem.ID != sign.IDUnknownKey || c.Bool("require-signed") {
				s.SignatureErr = notTaken(r, problem.ID, problem.Text)
				break
			}
		}
		for _, w := range result.Warnings {
			if w.ID != sign.IDUnsigned {
				s.Remarks = append(s.Remarks, w.Text)
			}
		}
	}
	log, err := a.proofInLog(ctx, c.Bool("require-log"), hub, r)
	if log != nil {
		s.Log = &WizardLog{Origin: log.Origin, Index: log.Index, Size: log.Size}
	}
	s.LogErr = err
	badge, err := hub.Badge(ctx, hubapi.Ref{Author: r.Author, Name: r.Name, Version: r.Version})
	switch e, ok := errors.AsType[*hubapi.Error](err); {
	case err == nil:
		s.Badge = &badge
	case !ok || e.Code != hubapi.NotFound && e.Code != hubapi.Unsupported:
		s.BadgeErr = err
	}
	for _, err := range []error{s.SignatureErr, s.LogErr} {
		if s.Refused == nil {
			s.Refused = err
		}
	}
	return s, ctx.Err()
}

// wizardContent scans a pack and renders it.
func (a *app) wizardContent(s *WizardSkill) {
	s.Scan = scan.Pack(s.Pack, scan.Options{})
	s.Grave = s.Scan.Counts.AtLeast(scan.High)
	files, err := pack.AgentFiles(s.Pack)
	if err != nil && s.Refused == nil {
		s.Refused = err
	}
	s.Rendered = files
	a.wizardInstalled(s)
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
	b := &app{Env: a.Env, program: a.program, root: a.root, out: a.out, relativeHome: true}
	b.Stderr = h
	return b, h
}
