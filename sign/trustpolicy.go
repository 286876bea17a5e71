package sign

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/internal/yamledit"
)

// MaxTrustPolicy is the most bytes of a trust policy file.
const MaxTrustPolicy = yamledit.MaxBytes

// TrustPolicy is whom a consumer trusts with what: the file trust.yaml. Anything in
// it that is not understood makes the whole file invalid, and an invalid policy
// trusts nobody.
type TrustPolicy struct {
	Level      TrustLevel // for what no publisher's scope fits
	Publishers []Publisher
	Unsigned   []Scope // may come without a signature
	Blocked    Blocked
	// Log is the verifier key of the one hub whose log counts; empty: any log that
	// the caller knows.
	Log string
}

// TrustLevel says what happens to a pack that the policy does not cover.
type TrustLevel string

// The levels.
const (
	Strict TrustLevel = "strict" // refuse it
	Warn   TrustLevel = "warn"   // accept it with a warning
	Audit  TrustLevel = "audit"  // accept it; the result says what it lacks
)

// Publisher is what is wanted of the releases in one scope.
type Publisher struct {
	Scope     Scope
	Keys      []string // ids, 64 hex digits
	Threshold int      // how many of Keys must have signed; at least 1
	Author    bool     // require author-signature
	LogProof  bool     // require log-proof
	Hub       bool     // require hub-signature: the log that proves it is TrustPolicy.Log
	MinAge    time.Duration
	HMAC      Policy
}

// Scope is "author/*" or "author/name". A star stands for one whole name; there is
// no other pattern, so that acme/* can never mean acme-evil.
type Scope string

// Covers reports whether the scope covers author/name.
func (s Scope) Covers(subject string) bool {
	author, name, ok := strings.Cut(subject, "/")
	if !ok || strings.Contains(name, "/") || !isNamespace(author) || !isNamespace(name) {
		return false
	}
	wantAuthor, wantName, _ := strings.Cut(string(s), "/")
	return author == wantAuthor && (wantName == "*" || name == wantName)
}

// Blocked is what is refused whoever signed it.
type Blocked struct {
	Digests    []Block // "sp1:" and 64 hex digits
	Keys       []Block // ids
	Publishers []Block // namespaces
	Skills     []Block // author/name
}

// Block is one thing that is refused, and why, where the file says so.
type Block struct {
	ID     string
	Reason string
}

func (b Block) because() string {
	if b.Reason == "" {
		return ""
	}
	return ": " + b.Reason
}

func find(blocks []Block, id string) (Block, bool) {
	at := slices.IndexFunc(blocks, func(b Block) bool { return b.ID == id })
	if at < 0 {
		return Block{}, false
	}
	return blocks[at], true
}

// LogFacts is what a hub's log proved about a release; the zero value means that
// nothing was proved.
type LogFacts struct {
	Proved bool
	At     time.Time // of the entry that was proven: the release is at least that old
	VKey   string    // of the log
	Why    string    // why nothing was proved, where that is known
}

func (f LogFacts) because() string {
	if f.Why == "" {
		return ""
	}
	return ": " + f.Why
}

// TrustResult is a policy's judgement. Every question that was asked is in it,
// whatever the answer.
type TrustResult struct {
	OK        bool      `json:"ok"`
	Exit      int       `json:"exit_code"`
	Subject   string    `json:"subject"`
	Scope     string    `json:"scope"`     // that decided; empty when none fits
	Threshold int       `json:"threshold"` // keys that must have signed
	SignedBy  []string  `json:"signed_by"` // ids of the scope's keys that did
	Logged    bool      `json:"logged"`
	Age       string    `json:"age,omitempty"` // since it was logged
	Blocked   bool      `json:"blocked"`
	Problems  []Finding `json:"problems"`
	Warnings  []Finding `json:"warnings"`

	strange bool // a log proves it that does not count
}

// The ids of a policy's refusals, and the exit codes of the two that have their own.
const (
	IDPolicyInvalid  = "policy.invalid"
	IDTrustScope     = "trust.scope"     // no scope of the policy covers it
	IDTrustThreshold = "trust.threshold" // too few of the scope's keys signed
	IDTrustAge       = "trust.age"       // logged too lately
	IDTrustBlocked   = "trust.blocked"
	IDTrustRevoked   = "trust.revoked"   // signed by a key that its author revoked
	IDTrustPublisher = "trust.publisher" // signed by no key that its author stands for
	IDTrustHub       = "trust.hub"       // proved by another log than the policy names
	IDLogProof       = "log.proof"       // the log does not prove it

	ExitLog    = 13
	ExitPolicy = 14
)

// Judge holds a verification against the policy. The subject is author/name as the
// caller knows it, from a lock or a hub: what a pack says of itself decides nothing.
func (p TrustPolicy) Judge(v Result, subject string, log LogFacts, now time.Time) TrustResult {
	j := TrustResult{Subject: subject, Logged: log.Proved, SignedBy: []string{}, Problems: []Finding{}, Warnings: []Finding{}}
	for _, problem := range v.Problems {
		// Whose keys count is the policy's to say; everything else stands.
		if problem.ID != IDUnknownKey && problem.ID != IDUntrustedKey && problem.ID != IDUnsigned {
			j.Problems = append(j.Problems, problem)
		}
	}
	problem := func(id, format string, args ...any) {
		j.Problems = append(j.Problems, Finding{id, fmt.Sprintf(format, args...)})
	}
	j.Blocked = p.block(v, subject, problem)
	if log.Proved && !log.At.IsZero() {
		j.Age = now.Sub(log.At).Round(time.Second).String()
	}
	if log.Proved && p.Log != "" && log.VKey != p.Log {
		log = LogFacts{Why: "the log that has it is another than the policy names"}
		j.Logged, j.Age, j.strange = false, "", true
	}
	switch rule, at := p.rule(v, subject); rule {
	case RulePublisher:
		p.Publishers[at].judge(&j, v, subject, log, now, problem)
	case RuleUnsigned:
		j.Warnings = append(j.Warnings, Finding{IDUnsigned, "it is not signed, which the policy allows here"})
	case RuleDefault:
		text := fmt.Sprintf("no scope of the policy covers %q", subject)
		if subject == "" {
			text = "nothing says whose it is, so no scope of the policy covers it"
		}
		switch p.Level {
		case Strict:
			problem(IDTrustScope, "%s", text)
		case Warn:
			j.Warnings = append(j.Warnings, Finding{IDTrustScope, text})
		}
	}
	sorting.Stable(j.Problems, func(a, b Finding) int { return gravity(a.ID) - gravity(b.ID) })
	j.OK = len(j.Problems) == 0
	if !j.OK {
		j.Exit = trustExit(j.Problems[0].ID)
	}
	return j
}

// block says what of a release is blocked.
func (p TrustPolicy) block(v Result, subject string, problem func(id, format string, args ...any)) (blocked bool) {
	author, _, _ := strings.Cut(subject, "/")
	if b, ok := find(p.Blocked.Digests, string(v.Digest)); ok {
		blocked = true
		problem(IDTrustBlocked, "the digest %s is blocked%s", v.Digest, b.because())
	}
	if b, ok := find(p.Blocked.Skills, subject); ok {
		blocked = true
		problem(IDTrustBlocked, "the skill %q is blocked%s", subject, b.because())
	}
	if b, ok := find(p.Blocked.Publishers, author); ok {
		blocked = true
		problem(IDTrustBlocked, "the publisher %q is blocked%s", author, b.because())
	}
	for _, s := range v.Signers {
		if b, ok := find(p.Blocked.Keys, s.KeyID); ok {
			blocked = true
			problem(IDTrustBlocked, "it is signed by the blocked key %s%s", s.KeyID[:shortIDLength], b.because())
		}
	}
	// The maker of these cannot be told, but a blocked key cannot hide by being
	// unknown here: nobody else has a reason to name it.
	for _, id := range v.UnknownKeys {
		if b, ok := find(p.Blocked.Keys, id); ok {
			blocked = true
			problem(IDTrustBlocked, "its signature names the blocked key %s%s", id[:shortIDLength], b.because())
		}
	}
	return blocked
}

// Rule is what of a policy decides about a release.
type Rule string

// The rules, in the order in which they are looked for.
const (
	RulePublisher Rule = "publisher" // a scope under publishers
	RuleUnsigned  Rule = "unsigned"  // a scope under unsigned
	RuleDefault   Rule = "default"   // nothing covers it
)

// rule finds what decides. The narrower scope wins: one for a single name over one
// for all of an author.
func (p TrustPolicy) rule(v Result, subject string) (Rule, int) {
	at := -1
	for i, one := range p.Publishers {
		if one.Scope.Covers(subject) && (at < 0 || !strings.HasSuffix(string(one.Scope), "/*")) {
			at = i
		}
	}
	switch {
	case at >= 0:
		return RulePublisher, at
	case v.Signature == Unsigned && slices.ContainsFunc(p.Unsigned, func(s Scope) bool { return s.Covers(subject) }):
		return RuleUnsigned, -1
	}
	return RuleDefault, -1
}

// Rule says what decides about a release that was verified.
func (p TrustPolicy) Rule(v Result, subject string) Rule {
	rule, _ := p.rule(v, subject)
	return rule
}

// Decides says which rule decides about author/name when it is signed, or when it
// is not, and the scope of that rule; the scope is nil for the default.
func (p TrustPolicy) Decides(subject string, signed bool) (Rule, *Publisher) {
	v := Result{Signature: Unsigned}
	if signed {
		v.Signature = Unknown
	}
	rule, at := p.rule(v, subject)
	if at < 0 {
		return rule, nil
	}
	one := p.Publishers[at]
	return rule, &one
}

// WantsLog tells whether the policy cannot accept author/name without a log's proof.
func (p TrustPolicy) WantsLog(subject string) bool {
	_, one := p.Decides(subject, true)
	return one != nil && (one.LogProof || one.Hub || one.MinAge > 0)
}

// judge holds a release against what its publisher's scope wants.
func (p Publisher) judge(j *TrustResult, v Result, subject string, log LogFacts, now time.Time, problem func(id, format string, args ...any)) {
	j.Scope, j.Threshold = string(p.Scope), p.Threshold
	for _, s := range v.Signers {
		if slices.Contains(p.Keys, s.KeyID) && s.Subject == subject && !slices.Contains(j.SignedBy, s.KeyID) {
			j.SignedBy = append(j.SignedBy, s.KeyID)
		}
	}
	if p.Author && len(j.SignedBy) < p.Threshold {
		problem(IDTrustThreshold, "%d of the keys for %s signed it, %d must", len(j.SignedBy), p.Scope, p.Threshold)
	}
	switch why := log.because(); {
	case p.Hub && j.strange:
		problem(IDTrustHub, "%s", log.Why)
	case p.Hub && !log.Proved:
		problem(IDLogProof, "the policy's hub has not signed that it has it%s", why)
	case p.LogProof && !log.Proved:
		problem(IDLogProof, "no log proves that others get the same release%s", why)
	}
	if p.MinAge > 0 {
		switch {
		case !log.Proved || log.At.IsZero():
			problem(IDLogProof, "it must be %s old, and no log says since when it exists%s", DurationText(p.MinAge), log.because())
		case now.Before(log.At):
			problem(IDClock, "the log has it from %s, which is in the future", log.At.UTC().Format(time.RFC3339))
		case now.Sub(log.At) < p.MinAge:
			problem(IDTrustAge, "it is %s old, and must be %s", DurationText(now.Sub(log.At).Round(time.Second)), DurationText(p.MinAge))
		}
	}
	if p.HMAC == Require && !slices.ContainsFunc(v.HMAC, func(h HMACResult) bool { return h.State == HMACVerified }) {
		problem(IDHMAC, "a verified HMAC is required here")
	}
}

// trustExit is the exit code of the gravest problem: as kx verify has it, and 13 for
// the log's.
func trustExit(id string) int {
	switch {
	case strings.HasPrefix(id, "log."):
		return ExitLog
	case id == IDPolicyInvalid:
		return ExitPolicy
	case strings.HasPrefix(id, "trust."), strings.HasPrefix(id, "rotate."):
		return ExitTrust
	}
	return ExitCodeOf(id)
}
