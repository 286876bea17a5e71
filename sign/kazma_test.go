package sign

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/pack"
)

var secret = []byte("test-secret")

func TestSignKazma(t *testing.T) {
	p := kazmaPack(t, kazmaManifest)
	manifest, pair, err := SignKazma(p, secret)
	if err != nil {
		t.Fatal(err)
	}
	checksum := Checksum([]byte(kazmaEntry))
	if diff := cmp.Diff(Pair{checksum, MAC(secret, checksum)}, pair); diff != "" {
		t.Errorf("pair (-want +got):\n%s", diff)
	}
	want := kazmaManifest + fmt.Sprintf("checksum: %q\nsignature: %q\n", pair.Checksum, pair.Signature)
	if diff := cmp.Diff(want, string(manifest)); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	// Signing again, also with another secret, only changes the two values.
	signed := kazmaPack(t, string(manifest))
	again, pair, err := SignKazma(signed, []byte("another secret"))
	if err != nil {
		t.Fatal(err)
	}
	want = kazmaManifest + fmt.Sprintf("checksum: %q\nsignature: %q\n", pair.Checksum, pair.Signature)
	if diff := cmp.Diff(want, string(again)); diff != "" {
		t.Errorf("resigned (-want +got):\n%s", diff)
	}
}

func TestSignKazmaKeepsTheManifest(t *testing.T) {
	before := "\ufeff# top\r\nname: greeter\r\nversion: '1.2.0'\r\nsignature: old # stale\r\ndescription: Says hello to whoever asks for it\r\nauthor: acme\r\nlicense: MIT\r\nx-extra: {a: [1, 2]}\r\nentry_point: main:Greeter\r\n"
	p := kazmaPack(t, strings.Replace(before, "signature: old # stale\r\n", "", 1))
	for i := range p.Files {
		if p.Files[i].Path == "skill_manifest.yaml" {
			p.Files[i].Data = []byte(before)
		}
	}
	got, pair, err := SignKazma(p, secret)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(before, "signature: old # stale", fmt.Sprintf("signature: %q # stale", pair.Signature), 1) + fmt.Sprintf("checksum: %q\r\n", pair.Checksum)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSignKazmaRefusals(t *testing.T) {
	_, _, err := SignKazma(helloPack(t), secret)
	wantID(t, err, IDFormat)
	_, _, err = SignKazma(kazmaPack(t, kazmaManifest), nil)
	wantID(t, err, IDSecretEmpty)
	_, err = HMACPair(helloPack(t), nil)
	wantID(t, err, IDSecretEmpty)
	p := kazmaPack(t, kazmaManifest)
	without := func(name string) *pack.Pack {
		return with(p, func(files []pack.File) []pack.File {
			for i := range files {
				if files[i].Path == name {
					return append(files[:i], files[i+1:]...)
				}
			}
			return files
		})
	}
	_, _, err = SignKazma(without("main.py"), secret)
	wantID(t, err, IDDigest)
	_, _, err = SignKazma(without("skill_manifest.yaml"), secret)
	wantID(t, err, IDDigest)
}

// Every state of the two lines under every policy.
func TestVerifyKazma(t *testing.T) {
	checksum := Checksum([]byte(kazmaEntry))
	good := MAC(secret, checksum)
	other := Checksum([]byte("other"))
	current := Secrets{Current: secret}
	rotated := Secrets{Current: []byte("new"), Previous: [][]byte{[]byte("x"), secret}}
	for _, tt := range []struct {
		name     string
		pair     Pair
		secrets  Secrets
		state    HMACState
		secret   Which
		id       string // of the problem or the warning under accept
		warning  bool
		required string // id of the problem under require
	}{
		{"signed", Pair{checksum, good}, current, HMACVerified, 1, "", false, ""},
		{"signed with a previous secret", Pair{checksum, good}, rotated, HMACVerified, 3, "", false, ""},
		{"unsigned", Pair{}, current, HMACUnsigned, 0, IDUnsigned, true, IDUnsigned},
		{"unsigned, no secret", Pair{}, Secrets{}, HMACUnsigned, 0, IDUnsigned, true, IDUnsigned},
		{"B24: signature alone", Pair{"", good}, current, HMACFailed, 0, IDNoChecksum, false, IDNoChecksum},
		{"B24: junk alone", Pair{"", "junk"}, Secrets{}, HMACFailed, 0, IDNoChecksum, false, IDNoChecksum},
		{"B25: signature removed", Pair{checksum, ""}, current, HMACDowngraded, 0, IDDowngraded, true, IDDowngraded},
		{"entry changed", Pair{other, MAC(secret, other)}, current, HMACFailed, 0, IDDigest, false, IDDigest},
		{"entry changed, signature removed", Pair{other, ""}, current, HMACFailed, 0, IDDigest, false, IDDigest},
		{"entry changed, signature of what is here", Pair{other, good}, current, HMACFailed, 0, IDDigest, false, IDDigest},
		{"other secret", Pair{checksum, MAC([]byte("other"), checksum)}, current, HMACFailed, 0, IDHMAC, false, IDHMAC},
		{"signed with nothing", Pair{checksum, MAC(nil, checksum)}, Secrets{Current: secret, Previous: [][]byte{{}}}, HMACFailed, 0, IDHMAC, false, IDHMAC},
		{"no secret", Pair{checksum, good}, Secrets{Previous: [][]byte{{}}}, HMACFailed, 0, IDNoSecret, false, IDNoSecret},
		{"B27: checksum in capitals", Pair{strings.ToUpper(checksum), good}, current, HMACFailed, 0, IDChecksumFormat, false, IDChecksumFormat},
		{"B27: 63 digits", Pair{checksum[:63], good}, current, HMACFailed, 0, IDChecksumFormat, false, IDChecksumFormat},
		{"B27: not ASCII", Pair{checksum[:62] + "é", good}, current, HMACFailed, 0, IDChecksumFormat, false, IDChecksumFormat},
		{"prefixed", Pair{"sha256:" + checksum, good}, current, HMACFailed, 0, IDChecksumFormat, false, IDChecksumFormat},
		{"white space", Pair{checksum + " ", good}, current, HMACFailed, 0, IDChecksumFormat, false, IDChecksumFormat},
		{"signature in capitals", Pair{checksum, strings.ToUpper(good)}, current, HMACFailed, 0, IDSignatureFormat, false, IDSignatureFormat},
		{"signature cut", Pair{checksum, good[:63]}, current, HMACFailed, 0, IDSignatureFormat, false, IDSignatureFormat},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := kazmaPack(t, kazmaManifest)
			p.Kazma.Checksum, p.Kazma.Signature = tt.pair.Checksum, tt.pair.Signature
			id := func(f *Finding) string {
				if f == nil {
					return ""
				}
				return f.ID
			}
			for _, policy := range []Policy{"", Accept, Require} {
				r := VerifyKazma(p, tt.secrets, policy)
				problem, warning := tt.id, ""
				if tt.warning {
					problem, warning = "", tt.id
				}
				if policy == Require {
					problem, warning = tt.required, ""
				}
				if r.State != tt.state || r.Secret != tt.secret || id(r.Problem) != problem || id(r.Warning) != warning || r.File != "main.py" {
					t.Errorf("policy %q: %+v, problem %+v, warning %+v", policy, r, r.Problem, r.Warning)
				}
			}
			if r := VerifyKazma(p, tt.secrets, Off); r != (HMACResult{State: HMACOff}) {
				t.Errorf("policy off: %+v", r)
			}
		})
	}
	p := kazmaPack(t, kazmaManifest)
	if r := VerifyKazma(p, current, "requires"); r.Problem == nil || r.Problem.ID != IDUnsigned {
		t.Errorf("a misspelt policy is lenient: %+v", r)
	}
	p.Kazma.EntryFile = "gone.py"
	if r := VerifyKazma(p, current, Accept); r.Problem == nil || r.Problem.ID != IDDigest {
		t.Errorf("without its entry file: %+v", r)
	}
}

func TestParsePolicy(t *testing.T) {
	for _, p := range []Policy{Require, Accept, Off} {
		if got, err := ParsePolicy(string(p)); err != nil || got != p {
			t.Errorf("%s reads as %s, %v", p, got, err)
		}
	}
	for _, text := range []string{"", "Require", "on"} {
		_, err := ParsePolicy(text)
		wantID(t, err, IDFormat)
	}
}
