package sign

import (
	"fmt"
	"slices"
	"strings"
	"time"

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
	Digests    []string // "sp1:" and 64 hex digits
	Keys       []string // ids
	Publishers []string // namespaces
}

// LogFacts is what a hub's log proved about a release; the zero value means that
// nothing was proved.
type LogFacts struct {
	Proved bool
	At     time.Time // when the release was logged first
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
}

// The ids of a policy's refusals, and the exit codes of the two that have their own.
const (
	IDPolicyInvalid  = "policy.invalid"
	IDTrustScope     = "trust.scope"     // no scope of the policy covers it
	IDTrustThreshold = "trust.threshold" // too few of the scope's keys signed
	IDTrustAge       = "trust.age"       // logged too lately
	IDTrustBlocked   = "trust.blocked"
	IDLogProof       = "log.proof" // the log does not prove it

	ExitLog    = 13
	ExitPolicy = 14
)

// ParseTrustPolicy reads a policy strictly. The error is an *Error with the id
// policy.invalid that names the line.
func ParseTrustPolicy(data []byte) (TrustPolicy, error) {
	doc, faults, _ := yamledit.Parse(data)
	if len(faults) > 0 {
		return TrustPolicy{}, refuse(IDPolicyInvalid, "%d:%d: %s", faults[0].Line, faults[0].Column, faults[0].Text)
	}
	r := policyReader{}
	p := r.policy(doc)
	if r.err != nil {
		return TrustPolicy{}, r.err
	}
	return p, nil
}

// policyReader keeps the first fault, so that reading needs no check at each step.
type policyReader struct{ err error }

func (r *policyReader) fail(line int, format string, args ...any) {
	if r.err == nil {
		r.err = refuse(IDPolicyInvalid, "line %d: %s", line, fmt.Sprintf(format, args...))
	}
}

// entries refuses keys that are not known.
func (r *policyReader) entries(m *yamledit.Mapping, known ...string) {
	for _, e := range m.Entries {
		if !slices.Contains(known, e.Key) {
			r.fail(e.Line, "unknown key %.40q; known here: %s", e.Key, strings.Join(known, ", "))
		}
	}
}

func (r *policyReader) mapping(v *yamledit.Value, what string) *yamledit.Mapping {
	if v == nil {
		return &yamledit.Mapping{}
	}
	if v.Kind != yamledit.Map {
		r.fail(v.Line, "%s must be a mapping", what)
		return &yamledit.Mapping{}
	}
	return v.Map
}

func (r *policyReader) text(v *yamledit.Value, what string) string {
	if v == nil {
		return ""
	}
	if v.Kind != yamledit.Scalar || v.Text == "" {
		r.fail(v.Line, "%s must be a text", what)
	}
	return v.Text
}

func (r *policyReader) list(v *yamledit.Value, what string, valid func(string) bool) []string {
	if v == nil {
		return nil
	}
	if v.Kind != yamledit.Sequence {
		r.fail(v.Line, "%s must be a list", what)
		return nil
	}
	var out []string
	for i := range v.Items {
		text := r.text(&v.Items[i], "an element of "+what)
		if !valid(text) || slices.Contains(out, text) {
			r.fail(v.Items[i].Line, "%.80q cannot stand in %s, or stands there twice", text, what)
		}
		out = append(out, text)
	}
	return out
}

func isKeyID(s string) bool { return isHex256(s) }

func isScope(s string) bool {
	author, name, ok := strings.Cut(s, "/")
	return ok && isNamespace(author) && (name == "*" || isNamespace(name))
}

func (r *policyReader) policy(doc *yamledit.Mapping) TrustPolicy {
	r.entries(doc, "version", "default", "publishers", "blocked", "unsigned")
	if v := doc.Get("version"); v == nil || v.Text != "1" {
		r.fail(1, "version must be 1")
	}
	p := TrustPolicy{Level: Strict}
	if v := doc.Get("default"); v != nil {
		m := r.mapping(v, "default")
		r.entries(m, "level")
		p.Level = TrustLevel(r.text(m.Get("level"), "level"))
		if !slices.Contains([]TrustLevel{Strict, Warn, Audit}, p.Level) {
			r.fail(v.Line, "level must be strict, warn or audit")
		}
	}
	if v := doc.Get("publishers"); v != nil {
		if v.Kind != yamledit.Sequence {
			r.fail(v.Line, "publishers must be a list")
		}
		for i := range v.Items {
			one := r.publisher(&v.Items[i])
			if slices.ContainsFunc(p.Publishers, func(other Publisher) bool { return other.Scope == one.Scope }) {
				r.fail(v.Items[i].Line, "the scope %q stands twice", one.Scope)
			}
			p.Publishers = append(p.Publishers, one)
		}
	}
	blocked := r.mapping(doc.Get("blocked"), "blocked")
	r.entries(blocked, "digests", "keys", "publishers")
	p.Blocked = Blocked{
		Digests: r.list(blocked.Get("digests"), "digests", func(s string) bool {
			hex, ok := strings.CutPrefix(s, "sp1:")
			return ok && isHex256(hex)
		}),
		Keys:       r.list(blocked.Get("keys"), "keys", isKeyID),
		Publishers: r.list(blocked.Get("publishers"), "publishers", isNamespace),
	}
	for _, scope := range r.list(doc.Get("unsigned"), "unsigned", isScope) {
		p.Unsigned = append(p.Unsigned, Scope(scope))
	}
	return p
}

func (r *policyReader) publisher(v *yamledit.Value) Publisher {
	m := r.mapping(v, "a publisher")
	r.entries(m, "scope", "keys", "threshold", "require", "minAge", "kazmaHMAC")
	p := Publisher{Threshold: 1, HMAC: Accept}
	scope := r.text(m.Get("scope"), "scope")
	if !isScope(scope) {
		r.fail(v.Line, "a scope is author/* or author/name, not %.80q", scope)
	}
	p.Scope, p.Keys = Scope(scope), r.list(m.Get("keys"), "keys", isKeyID)
	if t := m.Get("threshold"); t != nil {
		if _, err := fmt.Sscanf(t.Text, "%d", &p.Threshold); err != nil || fmt.Sprint(p.Threshold) != t.Text {
			r.fail(t.Line, "threshold must be a number")
		}
	}
	// Keys that nobody has to use would be a policy that allows everything.
	p.Author = m.Get("require") == nil && len(p.Keys) > 0
	for _, what := range r.list(m.Get("require"), "require", func(s string) bool { return s == "author-signature" || s == "log-proof" }) {
		p.Author = p.Author || what == "author-signature"
		p.LogProof = p.LogProof || what == "log-proof"
	}
	if len(p.Keys) > 0 && !p.Author {
		r.fail(v.Line, "keys without author-signature among what is required decide nothing")
	}
	if !p.Author && !p.LogProof && m.Get("minAge") == nil && m.Get("kazmaHMAC") == nil {
		r.fail(v.Line, "the publisher of %q has to fulfil nothing", scope)
	}
	if p.Threshold < 1 || p.Author && p.Threshold > len(p.Keys) {
		r.fail(v.Line, "threshold %d cannot be met by %d keys", p.Threshold, len(p.Keys))
	}
	if age := m.Get("minAge"); age != nil {
		d, err := time.ParseDuration(age.Text)
		if err != nil || d < 0 {
			r.fail(age.Line, "minAge must be a duration such as 72h")
		}
		p.MinAge = d
	}
	if h := m.Get("kazmaHMAC"); h != nil {
		policy, err := ParsePolicy(h.Text)
		if err != nil {
			r.fail(h.Line, "kazmaHMAC must be require, accept or off")
		}
		p.HMAC = policy
	}
	return p
}

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
	author, _, _ := strings.Cut(subject, "/")
	switch {
	case slices.Contains(p.Blocked.Digests, string(v.Digest)):
		j.Blocked = true
		problem(IDTrustBlocked, "the digest %s is blocked", v.Digest)
	case slices.Contains(p.Blocked.Publishers, author):
		j.Blocked = true
		problem(IDTrustBlocked, "the publisher %q is blocked", author)
	}
	for _, s := range v.Signers {
		if slices.Contains(p.Blocked.Keys, s.KeyID) {
			j.Blocked = true
			problem(IDTrustBlocked, "it is signed by the blocked key %s", s.KeyID[:shortIDLength])
		}
	}
	if log.Proved && !log.At.IsZero() {
		j.Age = now.Sub(log.At).Round(time.Second).String()
	}
	at := slices.IndexFunc(p.Publishers, func(one Publisher) bool { return one.Scope.Covers(subject) })
	switch {
	case at >= 0:
		p.Publishers[at].judge(&j, v, subject, log, now, problem)
	case v.Signature == Unsigned && slices.ContainsFunc(p.Unsigned, func(s Scope) bool { return s.Covers(subject) }):
		j.Warnings = append(j.Warnings, Finding{IDUnsigned, "it is not signed, which the policy allows here"})
	case p.Level == Strict:
		problem(IDTrustScope, "no scope of the policy covers %q", subject)
	case p.Level == Warn:
		j.Warnings = append(j.Warnings, Finding{IDTrustScope, fmt.Sprintf("no scope of the policy covers %q", subject)})
	}
	slices.SortStableFunc(j.Problems, func(a, b Finding) int { return gravity(a.ID) - gravity(b.ID) })
	j.OK = len(j.Problems) == 0
	if !j.OK {
		j.Exit = trustExit(j.Problems[0].ID)
	}
	return j
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
	if p.LogProof && !log.Proved {
		problem(IDLogProof, "no log proves that others get the same release")
	}
	if p.MinAge > 0 {
		switch {
		case !log.Proved || log.At.IsZero():
			problem(IDLogProof, "it must be %s old, and no log says since when it exists", p.MinAge)
		case now.Before(log.At):
			problem(IDClock, "the log has it from %s, which is in the future", log.At.UTC().Format(time.RFC3339))
		case now.Sub(log.At) < p.MinAge:
			problem(IDTrustAge, "it is %s old, and must be %s", now.Sub(log.At).Round(time.Second), p.MinAge)
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
	case id == IDLogProof:
		return ExitLog
	case id == IDPolicyInvalid:
		return ExitPolicy
	case strings.HasPrefix(id, "trust."):
		return ExitTrust
	}
	return ExitCodeOf(id)
}
