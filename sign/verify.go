package sign

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/pack"
)

// MaxClockSkew is how far in the future a signature may have been made before it
// counts as not yet valid: clocks differ.
const MaxClockSkew = 5 * time.Minute

// earliest is before any signature of this kind was made. A clock that shows less
// was never set.
var earliest = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// VerifyInput is what a verification goes by besides the pack. The zero value
// accepts an unsigned pack, with a warning, and trusts nobody.
type VerifyInput struct {
	// SignatureFile is the content of the pack's signature file; nil when there
	// is none. Content that cannot be read refuses the pack.
	SignatureFile []byte

	// Sums are of the pack's files, where somebody hashed them already.
	Sums *pack.Summed

	Trusted []NamedKey // whose signatures count
	Known   []NamedKey // whose signatures can be told from forgeries, and do not count
	Now     time.Time  // required for statements that expire: a zero clock is a suspect one

	Secrets     Secrets
	KazmaPolicy Policy // for the lines of a kazma manifest and for the HMAC of a signature file

	RequireSigned   bool        // refuse a pack without a key signature
	ExpectSigned    bool        // a lock or a hub knows it as signed with a key
	ExpectHMAC      bool        // a lock or a hub knows it as signed with a secret
	ExpectedSubject string      // author/name; empty: any author, the pack's own name
	ExpectedVersion string      // empty: the manifest's own
	ExpectedDigest  pack.Digest // empty: any
}

// VerifyInspection is Verify for a folder that was read from disk: what is wrong
// with the folder itself refuses it too, as it cannot be what was signed.
func VerifyInspection(in *pack.Inspection, with VerifyInput) Result {
	v := verification{in: with, result: emptyResult()}
	v.result.Name, v.result.Format = in.Name, in.Format
	for _, faults := range []pack.Errors{in.Faults, in.Layout} {
		for _, fault := range faults {
			v.problem(fault.ID, "%s", fault.Error())
		}
	}
	if in.Pack != nil {
		v.verify(in.Pack, statementFiles(in.Pack, with.Sums))
	}
	return v.done()
}

// Verify compares the whole pack with everything that vouches for it.
func Verify(p *pack.Pack, in VerifyInput) Result {
	v := verification{in: in, result: emptyResult()}
	v.verify(p, statementFiles(p, in.Sums))
	return v.done()
}

// Record is a kortecx pack of which only the list of its files is at hand, as it
// was kept when the pack was rendered for an agent.
type Record struct {
	Name    string
	Version string
	Files   []StatementFile // ascending by path
}

// VerifyRecord is Verify for a pack that is not here itself. The caller vouches
// that the list is true of what is here.
func VerifyRecord(r Record, in VerifyInput) Result {
	v := verification{in: in, result: emptyResult()}
	v.verify(&pack.Pack{Format: pack.Kortecx, Name: r.Name, Version: r.Version}, r.Files)
	return v.done()
}

func emptyResult() Result {
	return Result{
		Signature: Unsigned, Signers: []Signer{}, UnknownKeys: []string{}, Differences: []Difference{},
		HMAC: []HMACResult{}, Problems: []Finding{}, Warnings: []Finding{},
	}
}

// verification is one verification under way.
type verification struct {
	in     VerifyInput
	p      *pack.Pack
	here   []StatementFile
	result Result

	timely bool      // a trusted signer's statement is valid now
	late   []Finding // why others' are not
	key    bool      // there was a key signature, of whatever worth
}

func (v *verification) problem(id, format string, args ...any) {
	v.result.Problems = append(v.result.Problems, Finding{id, fmt.Sprintf(format, args...)})
}

func (v *verification) warn(id, format string, args ...any) {
	v.result.Warnings = append(v.result.Warnings, Finding{id, fmt.Sprintf(format, args...)})
}

func (v *verification) verify(p *pack.Pack, files []StatementFile) {
	v.p, v.here = p, files
	r := &v.result
	r.Name, r.Version, r.Format = p.Name, p.Version, p.Format
	r.Digest = Statement{Files: v.here}.filesDigest()
	if want := v.in.ExpectedDigest; want != "" && want != r.Digest {
		v.problem(IDDigest, "the content is %s, and %s was expected", r.Digest, want)
	}
	var pair *Pair
	if v.in.SignatureFile != nil {
		v.key = true
		file, err := ReadSignatureFile(v.in.SignatureFile)
		if err != nil {
			v.refused(err)
		} else {
			pair, v.key = file.HMAC, len(file.DSSE) > 0
			v.envelopes(file.DSSE)
		}
	}
	if len(r.Signers) == 0 {
		v.expectations()
	}
	v.trust()
	v.hmac(pair)
}

// expectations holds the manifest against what was asked for where no statement
// was: what it says is unproven, but it must not even contradict.
func (v *verification) expectations() {
	if _, name, ok := strings.Cut(v.in.ExpectedSubject, "/"); ok && name != v.p.Name {
		v.problem(IDSubject, "the pack is called %q, and %q was expected", v.p.Name, v.in.ExpectedSubject)
	}
	if want := v.in.ExpectedVersion; want != "" && v.p.Format != pack.SkillMD && want != v.p.Version {
		v.problem(IDVersion, "the manifest says version %q, and %q was expected", v.p.Version, want)
	}
}

// refused turns an error of this package into a problem with the signature.
func (v *verification) refused(err error) {
	v.result.Signature = Invalid
	finding := Finding{IDFormat, err.Error()}
	if e, ok := errors.AsType[*Error](err); ok {
		finding.ID = e.ID
	}
	v.result.Problems = append(v.result.Problems, finding)
}

func (v *verification) envelopes(envelopes []Envelope) {
	names := make(map[PublicKey]Signer) // with what is known before a signature is seen
	var keys []PublicKey
	for i, list := range [][]NamedKey{v.in.Trusted, v.in.Known} {
		for _, k := range list {
			if _, twice := names[k.Key]; !twice && k.Key != (PublicKey{}) {
				names[k.Key] = Signer{Name: k.Name, Trusted: i == 0}
				keys = append(keys, k.Key)
			}
		}
	}
	index := indexKeys(keys)
	signed := make(map[PublicKey]bool)
	for _, e := range envelopes {
		checks, err := e.check(index)
		if err != nil {
			v.refused(err)
			continue
		}
		verified := false
		for _, c := range checks {
			switch {
			case c.Valid() && signed[c.Key]:
				v.refused(refuse(IDDuplicateSigner, "key %s signed two statements", c.Key.ShortID()))
			case c.Valid():
				signed[c.Key], verified = true, true
			default:
				v.unmatched(c.KeyID, index, names)
			}
		}
		if verified {
			v.statement(e.Payload, checks, names)
		}
	}
}

// unmatched is for a signature that no known key made. If it names a known key it
// is a forgery or damaged; else its maker is unknown here.
func (v *verification) unmatched(keyID string, index keyIndex, names map[PublicKey]Signer) {
	if k, known := index.byID[keyID]; known {
		v.refused(refuse(IDInvalid, "the signature says it is by %s (%s), and it is not: it or what it signs was changed", names[k].Name, k.ShortID()))
		return
	}
	v.result.UnknownKeys = append(v.result.UnknownKeys, keyID)
}

// statement judges what known keys signed. The payload is the bytes that were
// verified.
func (v *verification) statement(payload []byte, checks []Check, names map[PublicKey]Signer) {
	s, err := ParseStatement(payload)
	if err != nil {
		v.refused(err)
		return
	}
	trusted := false
	for _, c := range checks {
		if !c.Valid() {
			continue
		}
		signer := names[c.Key]
		trusted = trusted || signer.Trusted
		signer.KeyID, signer.Words = c.Key.ID(), c.Key.Words()
		signer.Subject, signer.Version, signer.Digest = s.Subject(), s.Version, string(s.Digest)
		signer.SignedAt = formatTime(s.SignedAt)
		if !s.Expires.IsZero() {
			signer.Expires = formatTime(s.Expires)
		}
		v.result.Signers = append(v.result.Signers, signer)
	}
	if fault := subjectFault(s, v.p, v.in.ExpectedSubject); fault != "" {
		v.problem(IDSubject, "%s", fault)
	}
	if fault := versionFault(s, v.p, v.in.ExpectedVersion); fault != "" {
		v.problem(IDVersion, "%s", fault)
	} else if s.Version == "" && v.in.ExpectedVersion != "" {
		v.warn(IDNoVersion, "the signer bound no version, so any version may carry this signature")
	}
	v.files(s)
	if late := v.time(s); late != nil {
		v.late = append(v.late, *late)
	} else if trusted {
		v.timely = true
	}
}

func (v *verification) files(s Statement) {
	differences := compareFiles(s.Files, v.here)
	modes := 0
	for _, d := range differences {
		if d.Kind == Mode {
			modes++
			v.warn(IDMode, "%s", d)
		}
	}
	if s.Digest != v.result.Digest {
		v.problem(IDDigest, "the content is %s, and %s was signed; files that differ: %d", v.result.Digest, s.Digest, len(differences)-modes)
	} else if len(differences) > modes {
		v.problem(IDDigest, "the statement contradicts itself: the hashes are those of the files here, a size is not")
	}
	if len(v.result.Differences) == 0 {
		v.result.Differences = append(v.result.Differences, differences...)
	}
}

// time judges the statement by the clock; nil when it is valid now. A clock that
// was never set cannot tell that something is not yet valid, and must not tell
// that it has not expired.
func (v *verification) time(s Statement) *Finding {
	now := v.in.Now
	late := func(id, format string, args ...any) *Finding {
		return &Finding{id, fmt.Sprintf(format, args...)}
	}
	switch {
	case now.Before(earliest) && !s.Expires.IsZero():
		return late(IDClock, "this machine's clock shows %s, so nothing can be said of a signature that expires", formatTime(now))
	case now.Before(earliest):
		v.warn(IDClock, "this machine's clock shows %s, which cannot be right", formatTime(now))
	case s.SignedAt.After(now.Add(MaxClockSkew)):
		return late(IDNotYetValid, "it was signed at %s, which is in the future", formatTime(s.SignedAt))
	case !s.Expires.IsZero() && !now.Before(s.Expires):
		return late(IDExpired, "the signature expired at %s", formatTime(s.Expires))
	}
	return nil
}

// trust draws the conclusion from all key signatures.
func (v *verification) trust() {
	r := &v.result
	anyTrusted := slices.ContainsFunc(r.Signers, func(s Signer) bool { return s.Trusted })
	switch {
	case r.Signature == Invalid:
	case anyTrusted:
		r.Signature = Trusted
	case len(r.Signers) > 0:
		r.Signature = Untrusted
		v.problem(IDUntrustedKey, "it is signed by %s (%s), which is not trusted here", r.Signers[0].Name, r.Signers[0].KeyID[:shortIDLength])
	case len(r.UnknownKeys) > 0:
		r.Signature = Unknown
		v.problem(IDUnknownKey, "it is signed by a key that is not known here; the signature calls it %.64q", r.UnknownKeys[0])
	case v.in.ExpectSigned:
		v.problem(IDStripped, "it is known as signed, and the signature is gone")
	case v.in.RequireSigned:
		v.problem(IDUnsigned, "it is not signed, and a signature is required")
	}
	if anyTrusted {
		for _, id := range r.UnknownKeys {
			v.warn(IDUnknownKey, "it is also signed by a key that is not known here; the signature calls it %.64q", id)
		}
	}
	for _, late := range v.late {
		if v.timely {
			r.Warnings = append(r.Warnings, late)
		} else {
			r.Problems = append(r.Problems, late)
		}
	}
}

// hmac judges the lines of a kazma manifest and the pair of the signature file. A
// pack without either is only remarked upon where an HMAC is the custom (kazma)
// and no key vouches for it.
func (v *verification) hmac(pair *Pair) {
	r := &v.result
	isKazma := v.p.Format == pack.Kazma
	if isKazma {
		r.HMAC = append(r.HMAC, VerifyKazma(v.p, v.in.Secrets, v.in.KazmaPolicy))
	}
	if pair != nil || !isKazma && v.in.KazmaPolicy.demands() {
		r.HMAC = append(r.HMAC, verifyPair(pair, r.Digest, v.in.Secrets, v.in.KazmaPolicy))
	}
	signed, remarked := false, false
	for _, h := range r.HMAC {
		switch h.State {
		case HMACVerified, HMACFailed:
			signed = true
		case HMACDowngraded:
			remarked = true
		case HMACUnsigned:
			h.Warning = nil // one remark for all kinds of signature, below
		}
		if h.Problem != nil && h.Problem.ID == IDNoSecret && r.Signature == Trusted && !v.in.KazmaPolicy.demands() {
			// A trusted key vouches for everything that the secret would.
			h.Warning, h.Problem = h.Problem, nil
		}
		if h.Problem != nil {
			r.Problems = append(r.Problems, *h.Problem)
		}
		if h.Warning != nil {
			r.Warnings = append(r.Warnings, *h.Warning)
		}
	}
	off := v.in.KazmaPolicy == Off
	if v.in.ExpectHMAC && !signed && !off {
		v.problem(IDStripped, "it is known as signed with a secret, and the signature is gone")
	}
	if !v.key && !signed && !remarked && len(r.Problems) == 0 {
		v.warn(IDUnsigned, "it is not signed: nothing says who made it")
	}
}

// done orders what was found, gravest first, and sets the exit code.
func (v *verification) done() Result {
	r := v.result
	sorting.Stable(r.Problems, func(a, b Finding) int { return gravity(a.ID) - gravity(b.ID) })
	r.OK = len(r.Problems) == 0
	if !r.OK {
		r.Exit = ExitCodeOf(r.Problems[0].ID)
	}
	return r
}

// gravity orders problems by what explains the others: a signature that is none,
// one of something else, files that differ, and only then the question of trust.
func gravity(id string) int {
	switch {
	case strings.HasPrefix(id, "trust."), id == IDLogProof:
		return 6
	}
	switch id {
	case IDFormat, IDTooLarge, IDPayloadType, IDInvalid, IDDuplicateSigner, IDStatement:
		return 0
	case IDSubject, IDVersion:
		return 1
	case IDStripped:
		return 2
	case IDNoChecksum, IDChecksumFormat, IDSignatureFormat, IDHMAC, IDDowngraded:
		return 4
	case IDExpired, IDNotYetValid, IDClock:
		return 5
	case IDUnsigned, IDUnknownKey, IDUntrustedKey, IDNoSecret:
		return 6
	}
	return 3
}
