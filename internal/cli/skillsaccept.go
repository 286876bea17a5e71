package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/scan"
	"github.com/kortecx/kx/sign"
	"github.com/kortecx/kx/source"
)

// acceptFlags are on every command that takes packs from somewhere.
func acceptFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "require-signed", Usage: "refuse a pack without a key signature"},
		requireLogFlag(),
		policyFlag(),
		&cli.BoolFlag{Name: "allow-findings", Usage: "take a pack in which the scan finds something critical"},
	}
}

// accepted is what was learnt about a pack on the way in.
type accepted struct {
	signed  bool
	signers []string // ids of the keys that are known here and made it
}

// offered is one pack from a source before it was judged.
type offered struct {
	fetched *source.Fetched
	found   *source.Found
	// locked says that a lock asks for exactly this release, so that one that was
	// active and has a successor will do.
	locked bool
	// unreviewed says that the hub gives it out although nobody reviewed it: what waits
	// for review will do.
	unreviewed bool
}

// gate is what packs are judged by in one command. It is safe for concurrent use.
type gate struct {
	c          *cli.Command
	hub        *hubclient.Client // nil when nothing comes from a hub
	notes      *notes
	log        *logLook
	publishers publishers
	trusted    func() ([]sign.NamedKey, error)
	policy     func() (*sign.TrustPolicy, error)
}

func (a *app) newGate(c *cli.Command, hub *hubclient.Client, notes *notes) *gate {
	return &gate{
		c: c, hub: hub, notes: notes, log: new(logLook),
		trusted: sync.OnceValues(a.trustedKeys),
		policy:  sync.OnceValues(func() (*sign.TrustPolicy, error) { return a.trustPolicy(c) }),
	}
}

// acceptPack judges a pack before it is installed, wherever it came from: its
// status and the log's proof of it where a hub has it, its signature, what the scan
// finds, and the user's trust policy. Every command that installs goes through here.
func (a *app) acceptPack(ctx context.Context, g *gate, o offered) (accepted, error) {
	result, err := a.acceptOrigin(ctx, g, o)
	if err != nil {
		return accepted{}, err
	}
	if err := acceptContent(g, o); err != nil {
		return accepted{}, err
	}
	out := accepted{signed: result.Signature != sign.Unsigned}
	for _, s := range result.Signers {
		out.signers = append(out.signers, s.KeyID)
	}
	return out, nil
}

// ref names a pack for messages.
func (o offered) ref() string {
	if o.fetched.Release != nil {
		return o.fetched.Release.Ref()
	}
	return o.found.Name
}

// signature is the pack's own; nil without one.
func (o offered) signature() []byte {
	if o.fetched.Release == nil && len(o.fetched.Found) != 1 {
		return o.found.Signature
	}
	return o.fetched.Signature
}

// acceptFromHub holds a release against its hub and the hub's log. A pack from
// elsewhere has neither.
func (a *app) acceptFromHub(ctx context.Context, g *gate, o offered) (sign.LogFacts, error) {
	r := o.fetched.Release
	if r == nil {
		if g.c.Bool("require-log") {
			return sign.LogFacts{}, hubapi.Errorf(hubapi.Precondition, "%s does not come from a hub, so no log can have it", o.ref()).
				WithHint("leave --require-log out to take it all the same")
		}
		return sign.LogFacts{}, nil
	}
	was := o.fetched.Ref.Hub.Version != "" || o.locked
	switch waits := r.Status == hubapi.Staged || r.Status == hubapi.Candidate; {
	case r.Status == hubapi.Deprecated && was:
		g.notes.warn("%s was replaced or withdrawn since", r.Ref())
	case waits && o.unreviewed:
		g.notes.warn("nobody reviewed %s: its tenant opted out of review", r.Ref())
	default:
		if err := onlyActive(*r, false); err != nil {
			return sign.LogFacts{}, err
		}
	}
	e, why, said, err := g.log.prove(ctx, g.c.Bool("require-log"), g.hub, *r)
	if err != nil {
		return sign.LogFacts{}, err
	}
	if e == nil && !said {
		g.notes.warn("%s; nothing proves that others get the same %s", why, r.Ref())
	}
	return e.facts(why), nil
}

// fetchRelease gets a release and its signature; the signature is nil without one.
func fetchRelease(ctx context.Context, hub *hubclient.Client, ref hubapi.Ref) (*hubclient.Archive, []byte, error) {
	got, err := hub.Archive(ctx, ref)
	if err != nil || !got.Release.Signed {
		return got, nil, err
	}
	signature, err := hub.Signature(ctx, hubapi.Ref{Author: got.Release.Author, Name: got.Release.Name, Version: got.Release.Version})
	if err != nil {
		return nil, nil, unsignedAfterAll(got.Release, err)
	}
	return got, signature, signatureFits(got, signature)
}

// acceptRelease is acceptPack for a reconciler.
func (a *app) acceptRelease(ctx context.Context, g *gate, got *hubclient.Archive, signature []byte, unreviewed bool) (*pack.Pack, error) {
	found := source.Found{Name: got.Release.Name, Digest: got.Digest, Pack: got.Pack}
	o := offered{fetched: &source.Fetched{Release: &got.Release, Signature: signature, Found: []source.Found{found}}, found: &found, unreviewed: unreviewed}
	if _, err := a.acceptPack(ctx, g, o); err != nil {
		return nil, err
	}
	return got.Pack, nil
}

// acceptOrigin judges where a pack comes from and who vouches for it.
func (a *app) acceptOrigin(ctx context.Context, g *gate, o offered) (sign.Result, error) {
	facts, err := a.acceptFromHub(ctx, g, o)
	if err != nil {
		return sign.Result{}, err
	}
	result, err := a.acceptSignature(g, o)
	if err != nil {
		return result, err
	}
	if err := a.acceptByPolicy(g, o, result, facts); err != nil {
		return result, err
	}
	if o.fetched.Release == nil {
		return result, nil
	}
	if err := a.acceptByPublisher(ctx, g, *o.fetched.Release, result, facts); err != nil {
		return result, err
	}
	return result, a.keepEvidence(g, *o.fetched.Release)
}

// acceptSignature judges what vouches for a pack. A signature that is there must
// verify; one by a key that is not known here cannot be judged, which is said.
func (a *app) acceptSignature(g *gate, o offered) (sign.Result, error) {
	if fault := sign.ChecksumFault(o.found.Pack); fault != nil {
		return sign.Result{}, hubapi.Errorf(hubapi.Invalid, "%s was not installed: %s", o.ref(), fault.Text).
			With(hubapi.Detail{ID: fault.ID, Message: fault.Text})
	}
	trusted, err := g.trusted()
	if err != nil {
		return sign.Result{}, err
	}
	// Without the secret an HMAC can be judged by nobody; with it, it must be right.
	secrets, policy := sign.Secrets{Current: sign.SecretFromEnv(a.Getenv("KAZMA_SECRET"))}, sign.Accept
	if secrets.Empty() {
		policy = sign.Off
	}
	if o.found.SignatureFault != nil {
		return sign.Result{}, o.found.SignatureFault
	}
	signature := o.signature()
	input := sign.VerifyInput{
		SignatureFile: signature, Trusted: trusted, Now: a.Now(), Secrets: secrets,
		RequireSigned: g.c.Bool("require-signed"), ExpectedDigest: o.found.Digest, KazmaPolicy: policy,
	}
	if r := o.fetched.Release; r != nil {
		if signature != nil {
			if err := signatureFits(&hubclient.Archive{Release: *r, Digest: o.found.Digest}, signature); err != nil {
				return sign.Result{}, err
			}
		}
		input.ExpectSigned = r.Signed && !hmacOnly(signature)
		input.ExpectedSubject, input.ExpectedVersion = r.Author+"/"+r.Name, r.Version
	}
	result := sign.Verify(o.found.Pack, input)
	for _, problem := range result.Problems {
		if problem.ID == sign.IDUnknownKey && !g.c.Bool("require-signed") {
			g.notes.warn("%s is signed by a key that you do not know; import it with kx keys import to have it checked", o.ref())
			continue
		}
		e := hubapi.Errorf(hubapi.Invalid, "%s was not installed: %s", o.ref(), problem.Text)
		e.Details = []hubapi.Detail{{ID: problem.ID, Message: problem.Text}}
		if problem.ID == sign.IDStripped {
			e.Hint = "a signature by a shared secret proves nothing here; ask the author for a release that is signed with a key"
		}
		return result, e
	}
	for _, w := range result.Warnings {
		if w.ID != sign.IDUnsigned {
			g.notes.warn("%s: %s [%s]", o.ref(), w.Text, w.ID)
		}
	}
	switch {
	case result.Signature != sign.Unsigned:
	case slices.ContainsFunc(result.HMAC, func(h sign.HMACResult) bool { return h.State == sign.HMACVerified }):
		g.notes.warn("%s is signed with the shared secret and with no key: whoever knows the secret can have made it", o.ref())
	default:
		g.notes.unsigned(o.ref())
	}
	return result, nil
}

// acceptByPolicy judges by the user's trust policy, where there is one.
func (a *app) acceptByPolicy(g *gate, o offered, result sign.Result, facts sign.LogFacts) error {
	policy, err := g.policy()
	if policy == nil {
		return err
	}
	judged := policy.Judge(result, o.subject(result), facts, a.Now())
	for _, w := range judged.Warnings {
		g.notes.warn("%s: %s [%s]", o.ref(), w.Text, w.ID)
	}
	if judged.OK {
		return nil
	}
	return refusedByPolicy(o.ref(), judged)
}

// subject is whose a pack is: as its hub knows it; as somebody signed it, who the
// policy then knows or not; else that of the user, where it lies on this machine.
// What comes from elsewhere and is not signed is nobody's.
func (o offered) subject(result sign.Result) string {
	switch {
	case o.fetched.Release != nil:
		return o.fetched.Release.Author + "/" + o.fetched.Release.Name
	case len(result.Signers) > 0:
		return result.Signers[0].Subject
	case o.fetched.Ref.Remote():
		return ""
	}
	return sign.LocalAuthor + "/" + o.found.Name
}

// refusedByPolicy is the error for what a policy refuses, with all reasons.
func refusedByPolicy(ref string, judged sign.TrustResult) error {
	e := hubapi.Errorf(hubapi.Forbidden, "%s was not taken: your trust policy refuses it: %s", ref, judged.Problems[0].Text)
	for _, p := range judged.Problems {
		e.Details = append(e.Details, hubapi.Detail{ID: p.ID, Message: p.Text})
	}
	if judged.Subject != "" {
		return e.WithHint("kx trust check %s says which rule decides", judged.Subject)
	}
	return e
}

// acceptContent scans a pack: something critical refuses it, something high is said.
// How the output is printed changes nothing here.
func acceptContent(g *gate, o offered) error {
	report := scan.Pack(o.found.Pack, scan.Options{})
	if report.Counts.AtLeast(scan.High) == 0 {
		return nil
	}
	e := hubapi.Errorf(hubapi.Invalid, "%s was not installed: the scan found something critical in it", o.ref())
	for _, f := range report.Findings {
		switch {
		case f.Severity == scan.Critical:
			e.Details = append(e.Details, hubapi.Detail{ID: f.Rule, Message: f.Reason, File: f.File, Line: f.Line, Column: f.Column})
		case f.Severity == scan.High:
			g.notes.warn("%s: %s [%s]", placeIn(o.ref(), f), f.Reason, f.Rule)
		}
	}
	if len(e.Details) == 0 {
		return nil
	}
	if g.c.Bool("allow-findings") {
		for _, d := range e.Details {
			g.notes.warn("%s: %s [%s]", o.ref(), d.Message, d.ID)
		}
		return nil
	}
	return e.WithHint("read it; --allow-findings installs it all the same")
}

func placeIn(ref string, f scan.Finding) string {
	if f.File == "" {
		return ref
	}
	if f.Line == 0 {
		return ref + ", " + f.File
	}
	return fmt.Sprintf("%s, %s:%d", ref, f.File, f.Line)
}

// notes gathers remarks about packs that are judged at the same time, so that they
// come out in one place and in bounds.
type notes struct {
	mu       sync.Mutex
	warnings []string
	bare     []string // refs without a signature
}

func (n *notes) warn(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.warnings = append(n.warnings, fmt.Sprintf(format, args...))
}

func (n *notes) unsigned(ref string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.bare = append(n.bare, ref)
}

// print writes the remarks to standard error and forgets them.
func (n *notes) print(a *app) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, w := range n.warnings {
		if i == maxRows {
			a.note("%s: and %d more warnings", a.program, len(n.warnings)-i)
			break
		}
		a.note("%s: warning: %s", a.program, termtext.Escape(w))
	}
	const few = 3
	switch {
	case len(n.bare) > few:
		a.note("%s: warning: %d skills are not signed: nothing says who made them", a.program, len(n.bare))
	default:
		for _, ref := range n.bare {
			a.note("%s: warning: %s is not signed: nothing says who made it", a.program, termtext.Escape(ref))
		}
	}
	n.warnings, n.bare = nil, nil
}

// hubNeeded tells whether any of the refs is in a hub.
func hubNeeded(refs []source.Ref) bool {
	for _, r := range refs {
		if r.Kind == source.Hub {
			return true
		}
	}
	return false
}

// failures words the end of a command that went on after failures.
func failures(what string, errs []error) error {
	var failed []*hubapi.Error
	for _, err := range errs {
		if err != nil {
			if code, ok := errors.AsType[exitError](err); ok {
				return code
			}
			failed = append(failed, asHubError(err))
		}
	}
	switch {
	case len(failed) == 0:
		return nil
	case len(errs) == 1:
		return failed[0]
	}
	e := hubapi.Errorf(failed[0].Code, "%d of %d %s: %s", len(failed), len(errs), what, failed[0].Message)
	e.Hint = failed[0].Hint
	for _, f := range failed {
		id := ""
		if len(f.Details) > 0 {
			id = f.Details[0].ID
		}
		e.Details = append(e.Details, hubapi.Detail{ID: id, Message: strings.TrimSpace(f.Message)})
	}
	return e
}
