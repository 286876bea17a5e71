package sign

import (
	"crypto/hmac"
	"fmt"
	"strings"

	"github.com/kortecx/kx/internal/yamledit"
	"github.com/kortecx/kx/pack"
)

// Policy is how strictly HMACs are judged ("kazma: require|accept|off" in a trust
// policy).
type Policy string

// The policies. The zero value is Accept.
const (
	Require Policy = "require" // a signature must be there and be right
	Accept  Policy = "accept"  // what is there must be right; less draws a warning
	Off     Policy = "off"     // HMACs are not looked at
)

// demands reports whether a signature must be there. A word that is no policy
// demands one too: a misspelt policy must not be a lenient one.
func (p Policy) demands() bool { return p != "" && p != Accept && p != Off }

// ParsePolicy reads a policy by its name.
func ParsePolicy(text string) (Policy, error) {
	switch p := Policy(text); p {
	case Require, Accept, Off:
		return p, nil
	}
	return "", refuse(IDFormat, "HMAC policy %q is not one of require, accept, off", text)
}

// HMACState is what an HMAC turned out to be.
type HMACState string

// The states.
const (
	HMACVerified   HMACState = "verified"   // a known secret made the signature
	HMACUnsigned   HMACState = "unsigned"   // neither checksum nor signature
	HMACDowngraded HMACState = "downgraded" // a right checksum without a signature
	HMACFailed     HMACState = "failed"     // see the problem
	HMACOff        HMACState = "off"        // not looked at
)

// HMACResult is the judgement of one HMAC.
type HMACResult struct {
	State  HMACState `json:"state"`
	Secret Which     `json:"secret"`         // "current", "previous n" or "none"
	File   string    `json:"file,omitempty"` // the file that the checksum is of; empty: the whole pack

	// Problem refuses the pack; Warning does not. At most one is set.
	Problem *Finding `json:"problem,omitempty"`
	Warning *Finding `json:"warning,omitempty"`
}

// SignKazma signs a kazma pack as the reference does: the checksum is of the entry
// file alone, and both values go into the manifest, which is returned with only
// those two lines changed. Signing changes the digest of the pack, so sign with
// keys after it.
func SignKazma(p *pack.Pack, secret []byte) (manifest []byte, pair Pair, err error) {
	if p.Format != pack.Kazma {
		return nil, Pair{}, refuse(IDFormat, "a %s pack has no HMAC lines in its manifest", p.Format)
	}
	if _, err := CheckSecret(secret); err != nil {
		return nil, Pair{}, err
	}
	if err := refuseHardlinks(p, nil); err != nil {
		return nil, Pair{}, err
	}
	entry, ok := p.File(p.Kazma.EntryFile)
	if !ok {
		return nil, Pair{}, refuse(IDDigest, "the entry file %q is not in the pack", p.Kazma.EntryFile)
	}
	before, ok := p.File(p.Format.ManifestFile())
	if !ok {
		return nil, Pair{}, refuse(IDDigest, "%s is not in the pack", p.Format.ManifestFile())
	}
	checksum := Checksum(entry)
	pair = Pair{Checksum: checksum, Signature: MAC(secret, checksum)}
	manifest, err = yamledit.SetScalars(before, []yamledit.KeyValue{
		{Key: "checksum", Value: pair.Checksum},
		{Key: "signature", Value: pair.Signature},
	})
	if err != nil {
		return nil, Pair{}, fmt.Errorf("cannot write the signature into %s: %w", p.Format.ManifestFile(), err)
	}
	return manifest, pair, nil
}

// VerifyKazma judges the two lines in the manifest of a kazma pack. The entry file
// is the one that pack resolved inside the folder, whatever its manifest says.
func VerifyKazma(p *pack.Pack, secrets Secrets, policy Policy) HMACResult {
	if policy == Off {
		return HMACResult{State: HMACOff}
	}
	r := HMACResult{File: p.Kazma.EntryFile}
	entry, ok := p.File(p.Kazma.EntryFile)
	if !ok {
		return r.fail(IDDigest, "the entry file %q is not in the pack", p.Kazma.EntryFile)
	}
	return r.judge(Pair{p.Kazma.Checksum, p.Kazma.Signature}, Checksum(entry), secrets, policy)
}

// PairFault tells what anybody can see to be wrong with checksum and signature in the
// manifest of a kazma pack, whether or not the secret is known: the checksum is not
// that of the entry file, or half of the pair is missing. Nothing that has such a fault
// may be loaded, so nothing that has it should be published or installed. It is nil
// for a pack with a pair that could be right, and for one without.
func PairFault(p *pack.Pack) *Finding {
	if p.Kazma == nil || p.Kazma.Checksum == "" && p.Kazma.Signature == "" {
		return nil
	}
	if p.Kazma.Checksum == "" {
		return &Finding{IDNoChecksum, "it has a signature and no checksum, so the signature is of nothing"}
	}
	if entry, ok := p.File(p.Kazma.EntryFile); !ok || Checksum(entry) != p.Kazma.Checksum {
		return &Finding{IDDigest, fmt.Sprintf("the checksum in the manifest is not that of %q: it was changed after it was signed", p.Kazma.EntryFile)}
	}
	if p.Kazma.Signature == "" {
		// Whoever can change the entry file can change the checksum with it.
		return &Finding{IDDowngraded, "it has a checksum and no signature, so the checksum vouches for nothing"}
	}
	return nil
}

// HMACPair signs a pack of any format with a secret: the checksum is the 64 hex
// digits of its digest, so it covers every file. The pair is kept in the signature
// file.
func HMACPair(p *pack.Pack, secret []byte) (Pair, error) {
	if _, err := CheckSecret(secret); err != nil {
		return Pair{}, err
	}
	if err := refuseHardlinks(p, nil); err != nil {
		return Pair{}, err
	}
	checksum := strings.TrimPrefix(string(p.Digest()), digestPrefix)
	return Pair{Checksum: checksum, Signature: MAC(secret, checksum)}, nil
}

// verifyPair judges the pair of a signature file against a pack's digest.
func verifyPair(pair *Pair, digest pack.Digest, secrets Secrets, policy Policy) HMACResult {
	if policy == Off {
		return HMACResult{State: HMACOff}
	}
	var given Pair
	if pair != nil {
		given = *pair
	}
	return HMACResult{}.judge(given, strings.TrimPrefix(string(digest), digestPrefix), secrets, policy)
}

// judge is the whole table of states; actual is the checksum of what is here.
func (r HMACResult) judge(pair Pair, actual string, secrets Secrets, policy Policy) HMACResult {
	switch {
	case pair == Pair{}:
		r.State = HMACUnsigned
		return r.weak(policy, IDUnsigned, "it carries no HMAC")
	case pair.Checksum == "":
		return r.fail(IDNoChecksum, "it has a signature and no checksum, so the signature is of nothing")
	case !isHex256(pair.Checksum):
		return r.fail(IDChecksumFormat, "checksum %.80q is not 64 lower-case hex digits", pair.Checksum)
	case pair.Signature != "" && !isHex256(pair.Signature):
		return r.fail(IDSignatureFormat, "signature %.80q is not 64 lower-case hex digits", pair.Signature)
	case !hmac.Equal([]byte(pair.Checksum), []byte(actual)):
		return r.fail(IDDigest, "%s was changed after it was signed: the checksum is %s, signed was %s", r.what(), actual, pair.Checksum)
	case pair.Signature == "":
		r.State = HMACDowngraded
		return r.weak(policy, IDDowngraded, "the checksum of "+r.what()+" is right and its signature is missing: anyone can write a checksum")
	case secrets.Empty():
		return r.fail(IDNoSecret, "it carries an HMAC signature and there is no secret to check it with")
	}
	if r.Secret = secrets.Match(pair.Checksum, pair.Signature); r.Secret == 0 {
		return r.fail(IDHMAC, "none of the known secrets made the HMAC signature")
	}
	r.State = HMACVerified
	return r
}

func (r HMACResult) what() string {
	if r.File == "" {
		return "the pack"
	}
	return fmt.Sprintf("%q", r.File)
}

func (r HMACResult) fail(id, format string, args ...any) HMACResult {
	r.State = HMACFailed
	r.Problem = &Finding{ID: id, Text: fmt.Sprintf(format, args...)}
	return r
}

// weak is a problem where a signature is demanded and a warning otherwise.
func (r HMACResult) weak(policy Policy, id, text string) HMACResult {
	f := &Finding{ID: id, Text: text}
	if policy.demands() {
		r.Problem = f
	} else {
		r.Warning = f
	}
	return r
}
