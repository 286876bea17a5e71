package sign

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const vkeyA = "hub.example/local+3dd73f3b+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"

const commented = `# whom we trust
version: 1 # the first
default: {level: strict}
publishers:
  # the company
  - scope: "acme/*" # all of it
    keys: [` + keyA + `]

blocked:
  digests: []
# our own
unsigned: ["local/*"]
`

func TestPolicyEditsKeepWhatElseStands(t *testing.T) {
	text := []byte(commented)
	step := func(what string, after []byte, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for _, comment := range []string{"# whom we trust", "# the first", "# the company", "# our own"} {
			if !strings.Contains(string(after), comment) {
				t.Errorf("%s: %q is gone:\n%s", what, comment, after)
			}
		}
		text = after
	}
	after, err := PutPublisher(text, Publisher{Scope: "beta/x", Keys: []string{keyA, keyB}, Threshold: 2, Author: true, LogProof: true, MinAge: 72 * time.Hour, HMAC: Require})
	step("add", after, err)
	if !strings.Contains(string(text), "  # the company\n  - scope: \"acme/*\" # all of it\n") || !strings.Contains(string(text), "minAge: 72h\n") {
		t.Errorf("\n%s", text)
	}
	after, err = PutBlock(text, BlockedDigests, Block{ID: "sp1:" + keyA, Reason: "steals tokens: all of them"})
	step("block", after, err)
	after, err = PutBlock(text, BlockedSkills, Block{ID: "acme/bad"})
	step("block a skill", after, err)
	after, err = AllowUnsigned(text, "me/*")
	step("allow", after, err)
	p, err := ParseTrustPolicy(text)
	if err != nil || len(p.Publishers) != 2 || p.Publishers[1].Threshold != 2 || p.Blocked.Digests[0].Reason != "steals tokens: all of them" || !slices.Equal(p.Unsigned, []Scope{"local/*", "me/*"}) {
		t.Fatalf("%+v %v\n%s", p, err, text)
	}
	for _, remove := range []func([]byte) ([]byte, error){
		func(b []byte) ([]byte, error) { return RemoveScope(b, "beta/x") },
		func(b []byte) ([]byte, error) { return RemoveScope(b, "me/*") },
		func(b []byte) ([]byte, error) { return RemoveBlock(b, BlockedDigests, "sp1:"+keyA) },
		func(b []byte) ([]byte, error) { return RemoveBlock(b, BlockedSkills, "acme/bad") },
	} {
		after, err := remove(text)
		step("remove", after, err)
	}
	if p, err := ParseTrustPolicy(text); err != nil || len(p.Publishers) != 1 || len(p.Blocked.Digests)+len(p.Blocked.Skills) != 0 {
		t.Errorf("%+v %v\n%s", p, err, text)
	}
}

func TestPolicyEditsRefuse(t *testing.T) {
	for name, got := range map[string]func() ([]byte, error){
		"a policy that cannot be read": func() ([]byte, error) { return AllowUnsigned([]byte("version: 1\nallow: all\n"), "a/*") },
		"a scope that is not there":    func() ([]byte, error) { return RemoveScope([]byte(commented), "beta/*") },
		"a block that is not there":    func() ([]byte, error) { return RemoveBlock([]byte(commented), BlockedKeys, keyA) },
		"an impossible threshold": func() ([]byte, error) {
			return PutPublisher([]byte(commented), Publisher{Scope: "b/*", Keys: []string{keyA}, Threshold: 2, Author: true})
		},
		"a hub that is not named": func() ([]byte, error) {
			return PutPublisher([]byte(commented), Publisher{Scope: "b/*", Threshold: 1, Hub: true})
		},
	} {
		after, err := got()
		if _, ok := errors.AsType[*Error](err); !ok || after != nil {
			t.Errorf("%s: %v\n%s", name, err, after)
		}
	}
}

// Whatever is put into a policy is what is read from it, and nothing else changes.
func TestPolicySaysWhatWasPutIntoIt(t *testing.T) {
	name := rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,8}`)
	key := rapid.StringMatching(`[0-9a-f]{64}`)
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.SampledFrom([]string{"", commented, "version: 1\n", "version: 1\nblocked: {digests: [], keys: [], publishers: []}\n"}).Draw(t, "text"))
		for range rapid.IntRange(1, 8).Draw(t, "edits") {
			before := TrustPolicy{Level: Audit}
			if len(text) > 0 {
				before, _ = ParseTrustPolicy(text)
			}
			scope := Scope(name.Draw(t, "author") + "/" + rapid.OneOf(rapid.Just("*"), name).Draw(t, "name"))
			var err error
			var after []byte
			want := before
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				keys := rapid.SliceOfNDistinct(key, 1, 3, rapid.ID).Draw(t, "keys")
				p := Publisher{
					Scope: scope, Keys: keys, Threshold: rapid.IntRange(1, len(keys)).Draw(t, "threshold"), Author: true, LogProof: rapid.Bool().Draw(t, "log"), HMAC: Accept,
					MinAge: time.Duration(rapid.IntRange(0, 1e6).Draw(t, "seconds")) * time.Second,
				}
				after, err = PutPublisher(text, p)
				if at := slices.IndexFunc(before.Publishers, func(one Publisher) bool { return one.Scope == scope }); at >= 0 {
					want.Publishers = slices.Clone(before.Publishers)
					want.Publishers[at] = p
				} else {
					want.Publishers = append(slices.Clone(before.Publishers), p)
				}
			case 1:
				after, err = AllowUnsigned(text, scope)
				if !slices.Contains(before.Unsigned, scope) {
					want.Unsigned = append(slices.Clone(before.Unsigned), scope)
				}
			default:
				b := Block{ID: key.Draw(t, "id"), Reason: rapid.StringMatching(`[ -~é]{0,20}`).Draw(t, "reason")}
				after, err = PutBlock(text, BlockedKeys, b)
				want.Blocked.Keys = append(slices.Clone(before.Blocked.Keys), b)
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			got, err := ParseTrustPolicy(after)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%v\n%+v\n%+v\n%s", err, got, want, after)
			}
			text = after
		}
	})
}

func TestBlocksAndHubs(t *testing.T) {
	p, err := ParseTrustPolicy([]byte(`version: 1
default: {level: audit}
hub: {vkey: "` + vkeyA + `"}
publishers:
  - {scope: "acme/*", require: [hub-signature]}
  - {scope: "acme/logged", require: [log-proof]}
blocked:
  skills: [{id: acme/bad, reason: steals tokens}]
  keys: ["` + keyB + `"]
`))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	here := LogFacts{Proved: true, At: now.Add(-time.Hour), VKey: vkeyA}
	other := LogFacts{Proved: true, At: now.Add(-time.Hour), VKey: "other"}
	for _, tt := range []struct {
		name, subject string
		v             Result
		log           LogFacts
		id, text      string
		exit          int
	}{
		{"signed by the hub", "acme/x", Result{Signature: Unsigned}, here, "", "", 0},
		{"signed by another hub", "acme/x", Result{Signature: Unsigned}, other, IDTrustHub, "another than the policy names", ExitTrust},
		{"signed by no hub", "acme/x", Result{Signature: Unsigned}, LogFacts{Why: "no hub"}, IDLogProof, "no hub", ExitLog},
		{"the narrower scope, another hub", "acme/logged", Result{Signature: Unsigned}, other, IDLogProof, "another than the policy names", ExitLog},
		{"a blocked skill", "acme/bad", Result{Signature: Unsigned}, here, IDTrustBlocked, "steals tokens", ExitTrust},
		{"not covered", "beta/x", Result{Signature: Unsigned}, LogFacts{}, "", "", 0},
		{"signed by a blocked key", "beta/x", Result{Signature: Trusted, Signers: []Signer{{KeyID: keyB}}}, LogFacts{}, IDTrustBlocked, "", ExitTrust},
		{"naming a blocked key", "beta/x", Result{Signature: Unknown, UnknownKeys: []string{keyB}}, LogFacts{}, IDTrustBlocked, "", ExitTrust},
	} {
		j := p.Judge(tt.v, tt.subject, tt.log, now)
		var got Finding
		if len(j.Problems) > 0 {
			got = j.Problems[0]
		}
		if got.ID != tt.id || !strings.Contains(got.Text, tt.text) || j.Exit != tt.exit {
			t.Errorf("%s: %+v", tt.name, j)
		}
	}
}

// G21: what the hub says of a release does not stand for its author.
func TestHubAloneIsNotTheAuthor(t *testing.T) {
	p, err := ParseTrustPolicy([]byte("version: 1\nhub: {vkey: \"" + vkeyA + "\"}\npublishers: [{scope: \"acme/*\", keys: [" + keyA + "], require: [author-signature, hub-signature]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	j := p.Judge(Result{Signature: Unsigned}, "acme/x", LogFacts{Proved: true, At: time.Unix(0, 0), VKey: vkeyA}, time.Unix(1, 0))
	if j.OK || j.Problems[0].ID != IDTrustThreshold {
		t.Errorf("%+v", j)
	}
}
