// Package accept judges packs that come in, before anything of them is written: what
// their hub and its log say of them, who signed them, what the scan finds, and whether
// the user's trust policy and the author's own list of keys agree. It places nothing
// and asks nobody; that is for deliver and for the faces.
//
// What the scan finds critical refuses a pack, unless who installs says AllowFindings.
// What it finds high needs somebody who saw it and wants the pack all the same:
//   - for a release of a hub that the user chose that is its reviewer, who was shown the
//     findings;
//   - for what this machine installed before, and for a finding that the revision before
//     had too, who installed that;
//   - for everything else who installs, with AcceptFindings.
//
// A lock is nobody's yes: it comes with a project, from strangers too. Nor is a hub that
// only the project's settings name.
//
// Findings that nobody has to accept any more are said as warnings.
//
// Make a Gate for one command and call Accept for every pack. The parts of Accept are
// exported for a face that shows what each of them says.
package accept

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/kazmaload"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/scan"
	"github.com/kortecx/kx/sign"
	"github.com/kortecx/kx/source"
)

// Notes takes remarks about packs that were accepted all the same. It is called by
// several packs at a time.
type Notes interface {
	Warn(format string, args ...any)
	// Unsigned says that nothing vouches for the pack called ref.
	Unsigned(ref string)
}

// Options of a Gate. Trusted and Policy are asked once, when they are needed.
type Options struct {
	RequireSigned  bool // refuse what no key signed
	RequireLog     bool // refuse what no log has
	AcceptFindings bool // take what the scan finds high
	AllowFindings  bool // take what the scan finds critical, or high
	Now            func() time.Time
	Secrets        sign.Secrets // shared with authors; may be empty
	Trusted        func() ([]sign.NamedKey, error)
	// Policy is the user's trust policy; nil where there is none.
	Policy func() (*sign.TrustPolicy, error)
	// Memory is where what was seen is remembered.
	Memory func() (Memory, error)
	// HubChosen tells whether the user chose the hub, so that what its reviewers accepted
	// is accepted. It is asked where that decides.
	HubChosen func() (bool, error)
	// Load is how strictly a Kazma judges a pack that it is to load; nil, or nothing, where
	// no Kazma loads it.
	Load  func(Incoming) (*kazmaload.Policy, error)
	Notes Notes
}

// Memory are the folders in which the user's own kx remembers what it saw.
type Memory struct {
	Proofs     string // of logs, for releases that were accepted
	Publishers string // lists of authors' keys, a folder a hub
}

// Gate judges the packs of one command. It is safe for concurrent use once Hub is set.
type Gate struct {
	// Hub is where releases come from; nil when nothing comes from a hub.
	Hub *hubclient.Client

	o          Options
	log        logLook
	publishers followedPublishers
}

// NewGate makes a gate.
func NewGate(hub *hubclient.Client, o Options) *Gate {
	o.Trusted, o.Policy, o.Memory = sync.OnceValues(o.Trusted), sync.OnceValues(o.Policy), sync.OnceValues(o.Memory)
	return &Gate{Hub: hub, o: o}
}

// Policy is the user's trust policy; nil where there is none.
func (g *Gate) Policy() (*sign.TrustPolicy, error) { return g.o.Policy() }

// Incoming is one pack from a source before it was judged.
type Incoming struct {
	Fetched *source.Fetched
	Found   *source.Found
	// Locked says that a lock asks for exactly this release, so that one that was
	// active and has a successor will do.
	Locked bool
	// Unreviewed says that the hub gives it out although nobody reviewed it: what waits
	// for review will do.
	Unreviewed bool
	// Had are this revision and the one before, where this machine has installed them; nil
	// where that is not known.
	Had func() []*pack.Pack
	// Into are the folders of skills that have the skill already, and get this.
	Into []string
}

// Release is what comes in when a hub has sent a release.
func Release(got *hubclient.Archive, signature []byte) Incoming {
	found := source.Found{Name: got.Release.Name, Digest: got.Digest, Pack: got.Pack}
	return Incoming{Fetched: &source.Fetched{Release: &got.Release, Signature: signature, Found: []source.Found{found}}, Found: &found}
}

// Text is what comes in when a hub vouches for the text of a pack, and nothing else
// came with it.
func Text(p *pack.Pack) Incoming {
	found := source.Found{Name: p.Name, Digest: p.Digest(), Pack: p}
	return Incoming{Fetched: &source.Fetched{Found: []source.Found{found}}, Found: &found, Unreviewed: true}
}

// Ref names a pack for messages.
func (in Incoming) Ref() string {
	if in.Fetched.Release != nil {
		return in.Fetched.Release.Ref()
	}
	return in.Found.Name
}

// Signature is the pack's own; nil without one.
func (in Incoming) Signature() []byte {
	if in.Fetched.Release == nil && len(in.Fetched.Found) != 1 {
		return in.Found.Signature
	}
	return in.Fetched.Signature
}

// subject is whose a pack is: as its hub knows it; as somebody signed it, who the
// policy then knows or not; else that of the user, where it lies on this machine.
// What comes from elsewhere and is not signed is nobody's.
func (in Incoming) subject(result sign.Result) string {
	switch {
	case in.Fetched.Release != nil:
		return in.Fetched.Release.Author + "/" + in.Fetched.Release.Name
	case len(result.Signers) > 0:
		return result.Signers[0].Subject
	case in.Fetched.Ref.Remote():
		return ""
	}
	return sign.LocalAuthor + "/" + in.Found.Name
}

// Accepted is what was learnt about a pack on the way in.
type Accepted struct {
	Signed  bool
	Signers []string // ids of the keys that are known here and made it
}

// Accept judges a pack, wherever it came from: its status and the log's proof of it
// where a hub has it, its signature, the trust policy, the author's own list of keys,
// and what the scan finds. Every command that takes packs goes through here.
func (g *Gate) Accept(ctx context.Context, in Incoming) (Accepted, error) {
	result, err := g.origin(ctx, in)
	if err != nil {
		return Accepted{}, err
	}
	if err := g.Content(in); err != nil {
		return Accepted{}, err
	}
	out := Accepted{Signed: result.Signature != sign.Unsigned}
	for _, s := range result.Signers {
		out.Signers = append(out.Signers, s.KeyID)
	}
	return out, nil
}

// origin judges where a pack comes from and who vouches for it.
func (g *Gate) origin(ctx context.Context, in Incoming) (sign.Result, error) {
	facts, err := g.Origin(ctx, in)
	if err != nil {
		return sign.Result{}, err
	}
	result, err := g.Signature(ctx, in)
	if err != nil {
		return result, err
	}
	if err := g.Trust(ctx, in, result, facts); err != nil {
		return result, err
	}
	if in.Fetched.Release == nil {
		return result, nil
	}
	return result, g.keepProof(*in.Fetched.Release)
}

// OnlyReviewed refuses a release that no reviewer let in, and one that was taken back. One
// that was replaced is given to who names its version; Replaced says so.
func OnlyReviewed(r hubapi.Release) error {
	switch {
	case r.Status == hubapi.Active, Replaced(r) != "":
		return nil
	case r.Status == hubapi.Deprecated:
		return hubapi.Errorf(hubapi.Precondition, "%s was withdrawn", r.Ref())
	}
	return hubapi.Errorf(hubapi.Precondition, "%s is %s, not active", r.Ref(), r.Status).
		WithHint("kx inbox shows what waits; a reviewer looks at it with kx pull --unreviewed")
}

// Replaced says that another version took the place of a release, empty where none did.
func Replaced(r hubapi.Release) string {
	if r.Status != hubapi.Deprecated || r.ReplacedBy == "" {
		return ""
	}
	return r.Ref() + " was replaced since, by version " + r.ReplacedBy
}

// Origin holds a release against its hub and the hub's log. A pack from elsewhere has
// neither.
func (g *Gate) Origin(ctx context.Context, in Incoming) (sign.LogFacts, error) {
	r := in.Fetched.Release
	if r == nil {
		if g.o.RequireLog {
			return sign.LogFacts{}, hubapi.Errorf(hubapi.Precondition, "%s does not come from a hub, so no log can have it", in.Ref()).
				WithHint("leave --require-log out to take it all the same")
		}
		return sign.LogFacts{}, nil
	}
	if waits := r.Status == hubapi.Staged || r.Status == hubapi.Candidate; waits && in.Unreviewed {
		g.o.Notes.Warn("nobody reviewed %s: its tenant opted out of review", r.Ref())
	} else if err := OnlyReviewed(*r); err != nil {
		return sign.LogFacts{}, err
	}
	if said := Replaced(*r); said != "" {
		g.o.Notes.Warn("%s", said)
	}
	e, why, said, err := g.log.prove(ctx, g.o.RequireLog, g.Hub, *r)
	if err != nil {
		return sign.LogFacts{}, err
	}
	if e == nil && !said {
		g.o.Notes.Warn("%s; nothing proves that others get the same %s", why, r.Ref())
	}
	return e.Facts(why), nil
}

// Signature judges what vouches for a pack. A signature that is there must verify; one
// by a key that is not known here cannot be judged, which is said.
func (g *Gate) Signature(ctx context.Context, in Incoming) (sign.Result, error) {
	if fault := sign.PairFault(in.Found.Pack); fault != nil {
		return sign.Result{}, hubapi.Errorf(hubapi.Invalid, "%s was not installed: %s", in.Ref(), fault.Text).
			With(hubapi.Detail{ID: fault.ID, Message: fault.Text})
	}
	trusted, err := g.o.Trusted()
	if err != nil {
		return sign.Result{}, err
	}
	if r := in.Fetched.Release; r != nil && r.Signed {
		list, err := g.Listed(ctx, r.Author)
		if err != nil {
			return sign.Result{}, err
		}
		trusted = WithListed(trusted, list)
	}
	// Without the secret an HMAC can be judged by nobody; with it, it must be right.
	policy := sign.Accept
	if g.o.Secrets.Empty() {
		policy = sign.Off
	}
	if in.Found.SignatureFault != nil {
		return sign.Result{}, in.Found.SignatureFault
	}
	signature := in.Signature()
	input := sign.VerifyInput{
		SignatureFile: signature, Sums: in.Found.Sums, Trusted: trusted, Now: g.o.Now(), Secrets: g.o.Secrets,
		RequireSigned: g.o.RequireSigned, ExpectedDigest: in.Found.Digest, KazmaPolicy: policy,
	}
	if r := in.Fetched.Release; r != nil {
		if signature != nil {
			if err := SignatureFits(*r, in.Found.Digest, signature); err != nil {
				return sign.Result{}, err
			}
		}
		input.ExpectSigned = r.Signed && !hmacOnly(signature)
		input.ExpectedSubject, input.ExpectedVersion = r.Author+"/"+r.Name, r.Version
	}
	result := sign.Verify(in.Found.Pack, input)
	for _, problem := range result.Problems {
		if problem.ID == sign.IDUnknownKey && !g.o.RequireSigned {
			g.o.Notes.Warn("%s is signed by a key that you do not know; import it with kx keys import to have it checked", in.Ref())
			continue
		}
		e := hubapi.Errorf(hubapi.Invalid, "%s was not installed: %s", in.Ref(), problem.Text)
		e.Details = []hubapi.Detail{{ID: problem.ID, Message: problem.Text}}
		if problem.ID == sign.IDStripped {
			e.Hint = "a signature by a shared secret proves nothing here; ask the author for a release that is signed with a key"
		}
		return result, e
	}
	for _, w := range result.Warnings {
		if w.ID != sign.IDUnsigned {
			g.o.Notes.Warn("%s: %s [%s]", in.Ref(), w.Text, w.ID)
		}
	}
	judged, err := g.loads(in)
	if err != nil {
		return result, err
	}
	kazma := in.Found.Pack.Kazma
	switch {
	case result.Signature != sign.Unsigned:
	case slices.ContainsFunc(result.HMAC, func(h sign.HMACResult) bool { return h.State == sign.HMACVerified }):
		g.o.Notes.Warn("%s is signed with the shared secret and with no key: whoever knows the secret can have made it", in.Ref())
	case kazma != nil && kazma.Signature != "":
		if !judged { // else that was said
			g.o.Notes.Warn("%s is signed with a shared secret that is not known here, and with no key: nothing was checked", in.Ref())
		}
	default:
		g.o.Notes.Unsigned(in.Ref())
	}
	return result, nil
}

// loads refuses a kazma pack that the Kazma which is to load it would refuse: what was
// installed and is not loaded helps nobody, and on load nobody is there to ask. Judged
// tells whether there is such a Kazma.
func (g *Gate) loads(in Incoming) (judged bool, err error) {
	if g.o.Load == nil || in.Found.Pack.Kazma == nil {
		return false, nil
	}
	policy, err := g.o.Load(in)
	if err != nil || policy == nil {
		return false, err
	}
	loaded, err := kazmaload.Judge(in.Found.Pack, g.o.Secrets, *policy)
	if err != nil {
		e := hubapi.AsError(err)
		e.Message = in.Ref() + " was not installed: " + e.Message
		if e.ID() == sign.IDNoSecret {
			e.Hint += "; --without-secret takes it on the word of the hub and its log, and Kazma itself will not load it until the secret is set"
		}
		return true, e
	}
	for _, w := range loaded.Warnings {
		g.o.Notes.Warn("%s: %s", in.Ref(), w)
	}
	return true, nil
}

// Trust judges what Signature and Origin found by the user's trust policy and, for a
// release, by its author's own list of keys, where there are these.
func (g *Gate) Trust(ctx context.Context, in Incoming, result sign.Result, facts sign.LogFacts) error {
	if err := g.byPolicy(in, result, facts); err != nil || in.Fetched.Release == nil {
		return err
	}
	return g.byPublisher(ctx, *in.Fetched.Release, result, facts)
}

func (g *Gate) byPolicy(in Incoming, result sign.Result, facts sign.LogFacts) error {
	policy, err := g.o.Policy()
	if policy == nil {
		return err
	}
	judged := policy.Judge(result, in.subject(result), facts, g.o.Now())
	for _, w := range judged.Warnings {
		g.o.Notes.Warn("%s: %s [%s]", in.Ref(), w.Text, w.ID)
	}
	if judged.OK {
		return nil
	}
	e := hubapi.Errorf(hubapi.Forbidden, "%s was not taken: your trust policy refuses it: %s", in.Ref(), judged.Problems[0].Text)
	e.Details = details(judged.Problems)
	if judged.Subject != "" {
		return e.WithHint("kx trust check %s says which rule decides", judged.Subject)
	}
	return e
}

func details(problems []sign.Finding) []hubapi.Detail {
	out := make([]hubapi.Detail, len(problems))
	for i, p := range problems {
		out[i] = hubapi.Detail{ID: p.ID, Message: p.Text}
	}
	return out
}

// Content scans a pack. What is critical in it, and what is high and nobody accepted,
// refuses it; see the package. How the output is printed changes nothing here.
func (g *Gate) Content(in Incoming) error {
	var critical, high []scan.Finding
	for _, f := range scan.Pack(in.Found.Pack, scan.Options{}).Findings {
		switch f.Severity {
		case scan.Critical:
			critical = append(critical, f)
		case scan.High:
			high = append(high, f)
		}
	}
	open, ofHub := high, in.Unreviewed || in.Fetched.Release != nil
	switch {
	case g.o.AllowFindings:
		high, critical, open = append(critical, high...), nil, nil
	case g.o.AcceptFindings:
		open = nil
	case len(high) > 0:
		if ofHub {
			chosen, err := g.o.HubChosen()
			if err != nil {
				return err
			}
			if chosen {
				open = nil
			}
		}
		if len(open) > 0 && in.Had != nil {
			for _, had := range in.Had() {
				if had.Digest() == in.Found.Digest {
					open = nil
					break
				}
				open = scan.Added(scan.Pack(had, scan.Options{}).Findings, open)
			}
		}
	}
	if len(critical)+len(open) == 0 {
		for _, f := range high {
			g.o.Notes.Warn("%s: %s [%s]", Place(in.Ref(), f), f.Reason, f.Rule)
		}
		return nil
	}
	why, flag := "the scan found something critical in it", "--allow-findings"
	if len(critical) == 0 {
		why, flag = "nobody has accepted what the scan found in it", "--accept-findings"
	}
	e := hubapi.Errorf(hubapi.Invalid, "%s was not installed: %s", in.Ref(), why)
	for _, f := range append(critical, open...) {
		e.Details = append(e.Details, hubapi.Detail{ID: f.Rule, Message: f.Reason, File: f.File, Line: f.Line, Column: f.Column})
	}
	if ofHub && len(critical) == 0 {
		return e.WithHint("only the project's kx.yaml names the hub; if its reviewers are yours too, say so with --endpoint or KX_ENDPOINT")
	}
	return e.WithHint("read it; %s installs it all the same", flag)
}

// Place is where in the pack called ref a finding is, in words.
func Place(ref string, f scan.Finding) string {
	if f.File == "" {
		return ref
	}
	if f.Line == 0 {
		return ref + ", " + f.File
	}
	return fmt.Sprintf("%s, %s:%d", ref, f.File, f.Line)
}
