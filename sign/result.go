package sign

import (
	"fmt"

	"github.com/kortecx/kx/pack"
)

// Finding is one reason to refuse a pack, or one remark about it.
type Finding struct {
	ID   string `json:"id"`
	Text string `json:"message"` // lower case, no full stop
}

// SignatureState sums up the key signatures of a pack.
type SignatureState string

// The states, best first.
const (
	Trusted   SignatureState = "trusted"   // made by a trusted key
	Untrusted SignatureState = "untrusted" // made by a key that is known and not trusted
	Unknown   SignatureState = "unknown"   // made by no key that is known here
	Invalid   SignatureState = "invalid"   // not readable, or not made by the key that it names
	Unsigned  SignatureState = "unsigned"  // none
)

// Signer is a key that made a signature, and what it said.
type Signer struct {
	Name     string `json:"name"`  // what the caller calls the key
	KeyID    string `json:"keyid"` // 64 hex digits
	Words    string `json:"words"` // four words of the key id
	Trusted  bool   `json:"trusted"`
	Subject  string `json:"subject"` // author/name
	Version  string `json:"version"`
	Digest   string `json:"digest"`
	SignedAt string `json:"signed_at"` // RFC 3339, UTC
	Expires  string `json:"expires,omitempty"`
}

// Result is everything that a verification found. Its JSON keys only grow.
type Result struct {
	OK          bool           `json:"ok"`
	Exit        int            `json:"exit_code"`
	Name        string         `json:"name"`
	Version     string         `json:"version"`
	Format      pack.Format    `json:"format"`
	Digest      pack.Digest    `json:"digest"`
	Signature   SignatureState `json:"signature"`
	Signers     []Signer       `json:"signers"`      // whose signatures verified
	UnknownKeys []string       `json:"unknown_keys"` // what the other signatures say of their key; unproven
	Differences []Difference   `json:"differences"`  // between the folder and the first statement that it does not match
	HMAC        []HMACResult   `json:"hmac"`         // of the manifest's lines, then of the signature file
	Problems    []Finding      `json:"problems"`     // gravest first; any of them refuses the pack
	Warnings    []Finding      `json:"warnings"`
}

// ExitCode is the exit code of kx verify: 0, or that of the gravest problem.
func (r Result) ExitCode() int { return r.Exit }

// Err is nil for a pack that may be used, else its gravest problem.
func (r Result) Err() error {
	if r.OK {
		return nil
	}
	e := refuse(r.Problems[0].ID, "%s", r.Problems[0].Text)
	if n := len(r.Problems); n > 1 {
		e.Text += fmt.Sprintf(" (and %d more)", n-1)
	}
	return e
}

// maxSentences bounds what people are shown of a pack with many differences.
const maxSentences = 50

// Sentences is the result for people, one sentence each, without full stops.
func (r Result) Sentences() []string {
	var out []string
	for _, s := range r.Signers {
		trust := "which is not trusted"
		if s.Trusted {
			trust = "which is trusted"
		}
		line := fmt.Sprintf("signed at %s as %s, version %q, by %s (%s %s), %s",
			s.SignedAt, s.Subject, s.Version, s.Name, s.KeyID[:shortIDLength], s.Words, trust)
		if s.Expires != "" {
			line += ", until " + s.Expires
		}
		out = append(out, line)
	}
	for _, h := range r.HMAC {
		if h.State == HMACVerified {
			out = append(out, fmt.Sprintf("the HMAC of %s was made with the %s secret", h.what(), h.Secret))
		}
	}
	for _, f := range r.Problems {
		out = append(out, "refused: "+f.Text)
	}
	for i, d := range r.Differences {
		if len(out) >= maxSentences {
			out = append(out, fmt.Sprintf("and %d more files differ", len(r.Differences)-i))
			break
		}
		out = append(out, d.String())
	}
	for _, f := range r.Warnings {
		out = append(out, "warning: "+f.Text)
	}
	if r.OK {
		out = append(out, fmt.Sprintf("the content is %s", r.Digest))
	}
	return out
}
