package sign

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/pack"
)

const (
	keyA = "a050837d85070582ccf7394b0988847cc312cb88259b894899f6f239cf1791a5"
	keyB = "b050837d85070582ccf7394b0988847cc312cb88259b894899f6f239cf1791a5"
)

const goodPolicy = `version: 1
default: {level: strict}
publishers:
  - scope: "acme/*"
    keys: [` + keyA + `, ` + keyB + `]
    threshold: 1
    require: [author-signature, log-proof]
    minAge: 72h
  - scope: "acme-labs/beta"
    keys: [` + keyB + `]
blocked: {digests: ["sp1:` + keyA + `"], publishers: [mallory]}
unsigned: ["local/*"]
`

// G23: a policy that is not what it should be is refused, never taken for one that allows.
func TestTrustPolicyIsReadStrictly(t *testing.T) {
	if p, err := ParseTrustPolicy([]byte(goodPolicy)); err != nil || len(p.Publishers) != 2 || p.Publishers[0].MinAge != 72*time.Hour || !p.Publishers[1].Author {
		t.Fatalf("%+v, %v", p, err)
	}
	for name, text := range map[string]string{
		"empty":             "",
		"no version":        "default: {level: strict}\n",
		"another version":   "version: 2\n",
		"unknown key":       "version: 1\nallow: everything\n",
		"unknown below":     "version: 1\ndefault: {level: strict, skip: true}\n",
		"unknown level":     "version: 1\ndefault: {level: skip}\n",
		"duplicate key":     "version: 1\nversion: 1\n",
		"duplicate scope":   strings.Replace(goodPolicy, "acme-labs/beta", "acme/*", 1),
		"prefix scope":      strings.Replace(goodPolicy, "acme/*", "acme*", 1),
		"upper-case scope":  strings.Replace(goodPolicy, "acme/*", "ACME/*", 1),
		"dotted scope":      strings.Replace(goodPolicy, "acme/*", "acme/../evil", 1),
		"short key":         strings.Replace(goodPolicy, keyA, "a050", 1),
		"threshold of none": strings.Replace(goodPolicy, "threshold: 1", "threshold: 0", 1),
		"threshold too big": strings.Replace(goodPolicy, "threshold: 1", "threshold: 3", 1),
		"keys not used":     strings.Replace(goodPolicy, "[author-signature, log-proof]", "[log-proof]", 1),
		"nothing wanted":    "version: 1\npublishers: [{scope: \"acme/*\"}]\n",
		"age of words":      strings.Replace(goodPolicy, "72h", "three days", 1),
		"another hub's key": "version: 1\nhub: {vkey: nonsense}\n",
		"a hub without key": "version: 1\nhub: {}\n",
		"an unknown hub":    strings.Replace(goodPolicy, "log-proof]", "hub-signature]", 1),
		"blocked twice":     strings.Replace(goodPolicy, "[mallory]", "[mallory, {id: mallory, reason: again}]", 1),
		"blocked nothing":   strings.Replace(goodPolicy, "[mallory]", "[{reason: none}]", 1),
		"blocked scope":     strings.Replace(goodPolicy, "[mallory]", "[m], skills: [\"m/*\"]", 1),
		"alias":             "version: &v 1\ndefault: {level: *v}\n",
		"not a mapping":     "- version: 1\n",
	} {
		p, err := ParseTrustPolicy([]byte(text))
		if e, ok := errors.AsType[*Error](err); !ok || e.ID != IDPolicyInvalid {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

// The zero policy, which a failed read leaves, trusts nobody.
func TestNoPolicyTrustsNobody(t *testing.T) {
	signed := Result{Signature: Trusted, Signers: []Signer{{KeyID: keyA, Subject: "acme/x"}}}
	p := TrustPolicy{Level: Strict}
	if j := p.Judge(signed, "acme/x", LogFacts{}, time.Now()); j.OK || j.Exit != ExitTrust {
		t.Errorf("%+v", j)
	}
}

// G14: a key counts for its scope alone, not for names that look like it.
func TestTrustPolicyDecides(t *testing.T) {
	p, err := ParseTrustPolicy([]byte(goodPolicy))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	old := LogFacts{Proved: true, At: now.Add(-100 * time.Hour)}
	by := func(key, subject string) Result {
		return Result{Signature: Trusted, Digest: "sp1:" + pack.Digest(keyB), Signers: []Signer{{KeyID: key, Subject: subject, Trusted: true}}}
	}
	integrity := by(keyA, "acme/x")
	integrity.Problems = []Finding{{IDDigest, "differs"}}
	blocked := by(keyA, "acme/x")
	blocked.Digest = "sp1:" + pack.Digest(keyA)
	for _, tt := range []struct {
		name    string
		result  Result
		subject string
		log     LogFacts
		id      string
		exit    int
	}{
		{"all is well", by(keyA, "acme/x"), "acme/x", old, "", 0},
		{"the other key", by(keyB, "acme/x"), "acme/x", old, "", 0},
		{"another namespace with the same beginning", by(keyA, "acme-evil/x"), "acme-evil/x", old, IDTrustScope, ExitTrust},
		{"a way up", by(keyA, "acme/../evil/x"), "acme/../evil/x", old, IDTrustScope, ExitTrust},
		{"upper case", by(keyA, "ACME/x"), "ACME/x", old, IDTrustScope, ExitTrust},
		{"a key of another scope", by(keyA, "acme-labs/beta"), "acme-labs/beta", old, IDTrustThreshold, ExitTrust},
		{"signed as something else", by(keyA, "acme/y"), "acme/x", old, IDTrustThreshold, ExitTrust},
		{"not in a log", by(keyA, "acme/x"), "acme/x", LogFacts{}, IDLogProof, ExitLog},
		{"too young", by(keyA, "acme/x"), "acme/x", LogFacts{Proved: true, At: now.Add(-time.Hour)}, IDTrustAge, ExitTrust},
		{"from the future", by(keyA, "acme/x"), "acme/x", LogFacts{Proved: true, At: now.Add(time.Hour)}, IDClock, ExitTrust},
		{"blocked digest", blocked, "acme/x", old, IDTrustBlocked, ExitTrust},
		{"blocked publisher", by(keyA, "mallory/x"), "mallory/x", old, IDTrustBlocked, ExitTrust},
		{"unsigned where it may be", Result{Signature: Unsigned, Problems: []Finding{{IDUnsigned, ""}}}, "local/x", LogFacts{}, "", 0},
		{"unsigned elsewhere", Result{Signature: Unsigned}, "acme/x", old, IDTrustThreshold, ExitTrust},
		{"files that differ", integrity, "acme/x", old, IDDigest, ExitIntegrity},
	} {
		j := p.Judge(tt.result, tt.subject, tt.log, now)
		got := ""
		if len(j.Problems) > 0 {
			got = j.Problems[0].ID
		}
		if got != tt.id || j.Exit != tt.exit || j.OK != (tt.exit == 0) {
			t.Errorf("%s: %q exit %d ok %v, want %q exit %d: %+v", tt.name, got, j.Exit, j.OK, tt.id, tt.exit, j)
		}
	}
}

func FuzzParseTrustPolicy(f *testing.F) {
	f.Add([]byte(goodPolicy))
	f.Add([]byte("version: 1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParseTrustPolicy(data)
		if err != nil && (len(p.Publishers) > 0 || len(p.Unsigned) > 0) {
			t.Error("an invalid policy says something")
		}
	})
}
