package sign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/pack"
)

// wantResult fails unless the problems and warnings have exactly these ids, in
// this order, and everything that follows from them is so.
func wantResult(t testing.TB, r Result, exit int, problems, warnings string) {
	t.Helper()
	ids := func(list []Finding) string {
		var out []string
		for _, f := range list {
			out = append(out, f.ID)
			if f.Text == "" || strings.HasSuffix(f.Text, ".") || strings.ContainsFunc(f.Text, func(r rune) bool { return r < ' ' }) {
				t.Errorf("the text of %s is %q", f.ID, f.Text)
			}
		}
		return strings.Join(out, " ")
	}
	if got := ids(r.Problems); got != problems {
		t.Errorf("problems %q, want %q: %+v", got, problems, r.Problems)
	}
	if got := ids(r.Warnings); got != warnings {
		t.Errorf("warnings %q, want %q: %+v", got, warnings, r.Warnings)
	}
	if r.ExitCode() != exit || r.OK != (exit == 0) || (r.Err() == nil) != (exit == 0) {
		t.Errorf("exit %d, ok %v, err %v, want exit %d", r.ExitCode(), r.OK, r.Err(), exit)
	}
	if exit != 0 {
		wantID(t, r.Err(), r.Problems[0].ID)
	}
	if len(r.Sentences()) == 0 {
		t.Error("it says nothing")
	}
}

// trusting is the input of a consumer that trusts the vector's key and looks at
// the signature file given.
func trusting(t testing.TB, signatureFile []byte) VerifyInput {
	return VerifyInput{SignatureFile: signatureFile, Trusted: []NamedKey{named("acme", vectorKey(t))}, Now: now}
}

func TestVerifySigned(t *testing.T) {
	p := helloPack(t)
	in := trusting(t, signed(t, p, vectorKey(t)))
	in.RequireSigned, in.ExpectSigned = true, true
	in.ExpectedSubject, in.ExpectedVersion, in.ExpectedDigest = "acme/hello", "1", p.Digest()
	r := Verify(p, in)
	wantResult(t, r, 0, "", "")
	key := vectorKey(t).Public()
	want := Result{
		OK: true, Name: "hello", Version: "1", Format: pack.Kortecx, Digest: p.Digest(), Signature: Trusted,
		Signers: []Signer{{
			Name: "acme", KeyID: key.ID(), Words: key.Words(), Trusted: true,
			Subject: "acme/hello", Version: "1", Digest: string(p.Digest()), SignedAt: "2026-11-29T00:00:00Z",
		}},
		UnknownKeys: []string{}, Differences: []Difference{}, HMAC: []HMACResult{}, Problems: []Finding{}, Warnings: []Finding{},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// G9: in URL-safe base64 it is the same.
	file := strings.NewReplacer("+", "-", "/", "_").Replace(string(in.SignatureFile))
	file = strings.Replace(file, "application_vnd.in-toto-json", PayloadType, 1)
	if file == string(in.SignatureFile) {
		t.Fatal("nothing was changed")
	}
	urlSafe := in
	urlSafe.SignatureFile = []byte(file)
	if diff := cmp.Diff(want, Verify(p, urlSafe)); diff != "" {
		t.Errorf("in URL-safe base64 (-want +got):\n%s", diff)
	}
	sentences := []string{
		`signed at 2026-11-29T00:00:00Z as acme/hello, version "1", by acme (a050837d85070582 ` + key.Words() + `), which is trusted`,
		"the content is " + string(p.Digest()),
	}
	if diff := cmp.Diff(sentences, r.Sentences()); diff != "" {
		t.Errorf("sentences (-want +got):\n%s", diff)
	}
}

// The keys of the JSON document are a promise.
func TestResultKeys(t *testing.T) {
	p := kazmaPack(t, kazmaManifest)
	file := fileOf(t, envelopeOf(t, statementOf(t, p, StatementOptions{Expires: now.Add(time.Hour)}), vectorKey(t)))
	in := trusting(t, file)
	in.RequireSigned = true
	r := Verify(with(p, func(files []pack.File) []pack.File {
		files[0].Path = "moved.py"
		return append(files[:2], pack.File{Path: "new", Data: []byte("x")})
	}), in)
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	keys := make(map[string]bool)
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				keys[at+k] = true
				walk(at+k+".", e)
			}
		case []any:
			for _, e := range v {
				walk(at, e)
			}
		}
	}
	walk("", document)
	for _, key := range strings.Fields(`ok exit_code name version format digest signature signers signers.name signers.keyid signers.words
		signers.trusted signers.subject signers.version signers.digest signers.signed_at signers.expires unknown_keys differences
		differences.kind differences.path differences.signed_path differences.signed_size differences.size differences.signed_sha256
		differences.sha256 hmac hmac.state hmac.secret hmac.problem hmac.problem.id problems problems.id problems.message warnings`) {
		if !keys[key] {
			t.Errorf("there is no key %s in\n%s", key, data)
		}
	}
	again, err := json.Marshal(r)
	if err != nil || !bytes.Equal(data, again) {
		t.Error("two outputs of one result differ")
	}
}

// What is signed, by whom, against what the consumer demands.
func TestVerifyTrust(t *testing.T) {
	p := helloPack(t)
	alice, bob, carol := vectorKey(t), seedKey(t, 40), seedKey(t, 80)
	s := statementOf(t, p, StatementOptions{Author: "acme"})
	byAlice, byBob, byCarol := envelopeOf(t, s, alice), envelopeOf(t, s, bob), envelopeOf(t, s, carol)
	together := byAlice
	together.Signatures = append(slices.Clone(byAlice.Signatures), byCarol.Signatures...)
	lie := byCarol
	lie.Signatures = []Signature{{alice.Public().ID(), byCarol.Signatures[0].Sig}}
	swapped := byAlice
	swapped.Signatures = []Signature{{bob.Public().ID(), byAlice.Signatures[0].Sig}}
	later := statementOf(t, p, StatementOptions{Author: "acme", SignedAt: now})
	for _, tt := range []struct {
		name     string
		file     []byte
		change   func(in *VerifyInput)
		state    SignatureState
		exit     int
		problems string
		warnings string
	}{
		{"trusted", fileOf(t, byAlice), nil, Trusted, 0, "", ""},
		{"unsigned", nil, nil, Unsigned, 0, "", IDUnsigned},
		{"unsigned where it must be", nil, func(in *VerifyInput) { in.RequireSigned = true }, Unsigned, 12, IDUnsigned, ""},
		{"B26: stripped", nil, func(in *VerifyInput) { in.ExpectSigned = true }, Unsigned, 11, IDStripped, ""},
		{"stripped where it must be signed", nil, func(in *VerifyInput) { in.ExpectSigned, in.RequireSigned = true, true }, Unsigned, 11, IDStripped, ""},
		{"known", fileOf(t, byBob), nil, Untrusted, 12, IDUntrustedKey, ""},
		{"unknown", fileOf(t, byCarol), nil, Unknown, 12, IDUnknownKey, ""},
		{"nobody known", fileOf(t, byAlice), func(in *VerifyInput) { in.Trusted, in.Known = nil, nil }, Unknown, 12, IDUnknownKey, ""},
		{"trusted and known", fileOf(t, byAlice, byBob), nil, Trusted, 0, "", ""},
		{"trusted and unknown", fileOf(t, byAlice, byCarol), nil, Trusted, 0, "", IDUnknownKey},
		{"trusted and unknown in one", fileOf(t, together), nil, Trusted, 0, "", IDUnknownKey},
		{"known and unknown", fileOf(t, byBob, byCarol), nil, Untrusted, 12, IDUntrustedKey, ""},
		{"G6: another's signature under a trusted keyid", fileOf(t, lie), nil, Invalid, 11, IDInvalid, ""},
		{"a forgery beside a good one", fileOf(t, byAlice, Envelope{PayloadType, later.Payload(), []Signature{{alice.Public().ID(), bytes.Repeat([]byte{1}, 64)}}}), nil, Invalid, 11, IDInvalid, ""},
		{"right key under another keyid", fileOf(t, swapped), nil, Trusted, 0, "", ""},
		{"one key, two statements", fileOf(t, byAlice, envelopeOf(t, later, alice)), nil, Invalid, 11, IDDuplicateSigner, ""},
		{"one key both trusted and known", fileOf(t, byAlice), func(in *VerifyInput) { in.Known = append(in.Known, named("x", alice)) }, Trusted, 0, "", ""},
		{"G9: another payload type", fileOf(t, forge(alice, "text/plain", s.Payload())), nil, Invalid, 11, IDPayloadType, ""},
		{"signed nonsense", fileOf(t, forge(alice, PayloadType, []byte("{}"))), nil, Invalid, 11, IDStatement, ""},
		{"unknown nonsense is not read", fileOf(t, forge(carol, PayloadType, []byte("{}"))), nil, Unknown, 12, IDUnknownKey, ""},
		{"no signature file", []byte("hello"), nil, Invalid, 11, IDFormat, ""},
		{"an empty one", []byte{}, nil, Invalid, 11, IDFormat, ""},
		{"an empty one where it was signed", []byte{}, func(in *VerifyInput) { in.ExpectSigned, in.RequireSigned = true, true }, Invalid, 11, IDFormat, ""},
		{"G25: a large one", bytes.Repeat([]byte(" "), MaxSignatureFile+1), nil, Invalid, 11, IDTooLarge, ""},
		{"the zero key is trusted", fileOf(t, byCarol), func(in *VerifyInput) { in.Trusted = append(in.Trusted, NamedKey{}) }, Unknown, 12, IDUnknownKey, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := trusting(t, tt.file)
			in.Known = []NamedKey{named("bob", bob)}
			if tt.change != nil {
				tt.change(&in)
			}
			r := Verify(p, in)
			wantResult(t, r, tt.exit, tt.problems, tt.warnings)
			if r.Signature != tt.state {
				t.Errorf("the signature is %s, want %s", r.Signature, tt.state)
			}
		})
	}
}

// For every field that a signature binds: swapped, it no longer fits.
func TestEveryBoundField(t *testing.T) {
	p := helloPack(t)
	zero := strings.Repeat("0", 64)
	for _, tt := range []struct {
		name   string
		swap   func(s *Statement)
		change func(in *VerifyInput)
		exit   int
		ids    string
	}{
		{"nothing", func(*Statement) {}, nil, 0, ""},
		{"author", func(s *Statement) { s.Author = "mallory" }, nil, 11, IDSubject},
		{"author against none expected", func(s *Statement) { s.Author = "mallory" }, func(in *VerifyInput) { in.ExpectedSubject = "" }, 0, ""},
		{"name", func(s *Statement) { s.Name = "hallo" }, func(in *VerifyInput) { in.ExpectedSubject = "" }, 11, IDSubject},
		{"name as expected", func(s *Statement) { s.Name = "hallo" }, func(in *VerifyInput) { in.ExpectedSubject = "acme/hallo" }, 11, IDSubject},
		{"version", func(s *Statement) { s.Version = "2" }, func(in *VerifyInput) { in.ExpectedVersion = "" }, 11, IDVersion},
		{"version as expected", func(s *Statement) { s.Version = "2" }, func(in *VerifyInput) { in.ExpectedVersion = "2" }, 11, IDVersion},
		{"format", func(s *Statement) { s.Format = pack.SkillMD }, nil, 11, IDSubject},
		{"path", func(s *Statement) { s.Files[0].Path = "README.txt" }, nil, 10, IDDigest},
		{"content", func(s *Statement) { s.Files[0].SHA256 = zero }, nil, 10, IDDigest},
		{"a file less", func(s *Statement) { s.Files = s.Files[1:] }, nil, 10, IDDigest},
		{"a file more", func(s *Statement) {
			s.Files = append([]StatementFile{{Path: "AAA.md", SHA256: zero}}, s.Files...)
		}, nil, 10, IDDigest},
		{"the digest expected", func(*Statement) {}, func(in *VerifyInput) { in.ExpectedDigest = pack.Digest("sp1:" + zero) }, 10, IDDigest},
		{"time of signing", func(s *Statement) { s.SignedAt = now.Add(time.Hour) }, nil, 12, IDNotYetValid},
		{"time of expiry", func(s *Statement) { s.Expires = now }, nil, 12, IDExpired},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := statementOf(t, p, StatementOptions{Author: "acme"})
			tt.swap(&s)
			s.Digest = s.filesDigest()
			in := trusting(t, fileOf(t, envelopeOf(t, s, vectorKey(t))))
			in.ExpectedSubject, in.ExpectedVersion = "acme/hello", "1"
			if tt.change != nil {
				tt.change(&in)
			}
			wantResult(t, Verify(p, in), tt.exit, tt.ids, "")
		})
	}
	// A size that contradicts its hash changes no digest, and is still a lie.
	s := statementOf(t, p, StatementOptions{Author: "acme"})
	s.Files[0].Size++
	wantResult(t, Verify(p, trusting(t, fileOf(t, envelopeOf(t, s, vectorKey(t))))), 10, IDDigest, "")
}

func TestVersionIsBound(t *testing.T) {
	p := skillPack(t)
	file := func(version string) []byte {
		return fileOf(t, envelopeOf(t, statementOf(t, p, StatementOptions{Author: "acme", Version: version}), vectorKey(t)))
	}
	for _, tt := range []struct {
		signed, expected string
		exit             int
		problems, warned string
	}{
		{"3", "3", 0, "", ""},
		{"3", "", 0, "", ""},
		{"", "", 0, "", ""},
		{"3", "4", 11, IDVersion, ""},
		{"", "4", 0, "", IDNoVersion},
	} {
		in := trusting(t, file(tt.signed))
		in.ExpectedVersion = tt.expected
		wantResult(t, Verify(p, in), tt.exit, tt.problems, tt.warned)
	}
}

// Without a statement the manifest proves nothing, and still must not contradict.
func TestExpectationsOfUnsignedPacks(t *testing.T) {
	p := helloPack(t)
	for _, tt := range []struct {
		subject, version string
		exit             int
		problems, warned string
	}{
		{"acme/hello", "1", 0, "", IDUnsigned},
		{"acme/hallo", "1", 11, IDSubject, ""},
		{"acme/hello", "2", 11, IDVersion, ""},
		{"acme/hallo", "2", 11, IDSubject + " " + IDVersion, ""},
	} {
		wantResult(t, Verify(p, VerifyInput{ExpectedSubject: tt.subject, ExpectedVersion: tt.version}), tt.exit, tt.problems, tt.warned)
	}
	wantResult(t, Verify(skillPack(t), VerifyInput{ExpectedVersion: "9"}), 0, "", IDUnsigned)
}

// B29 and G11: the HMAC binds neither name nor version, the statement does.
func TestSignatureOfAnotherSkill(t *testing.T) {
	original := kazmaPack(t, kazmaManifest)
	manifest, _, err := SignKazma(original, secret)
	if err != nil {
		t.Fatal(err)
	}
	original = kazmaPack(t, string(manifest))
	other := strings.NewReplacer("name: greeter", "name: grabber", `"1.2.0"`, `"9.0.0"`).Replace(string(manifest))
	copied := readPack(t, "grabber", file{"main.py", kazmaEntry}, file{"notes.txt", "later\n"}, file{"skill_manifest.yaml", other})
	in := trusting(t, nil)
	in.Secrets = Secrets{Current: secret}
	r := Verify(copied, in)
	wantResult(t, r, 0, "", "")
	if r.HMAC[0].State != HMACVerified {
		t.Errorf("the HMAC is %s", r.HMAC[0].State)
	}
	in.SignatureFile = signed(t, original, vectorKey(t))
	r = Verify(copied, in)
	wantResult(t, r, 11, IDSubject+" "+IDVersion+" "+IDDigest, "")
	if r.HMAC[0].State != HMACVerified {
		t.Errorf("the HMAC is %s", r.HMAC[0].State)
	}

	p := helloPack(t)
	in = trusting(t, signed(t, p, vectorKey(t)))
	in.ExpectedSubject = "mallory/hello"
	wantResult(t, Verify(p, in), 11, IDSubject, "")
}

func TestKazmaAuthorIsTheSigner(t *testing.T) {
	p := kazmaPack(t, kazmaManifest)
	s := statementOf(t, p, StatementOptions{})
	s.Author = "mallory"
	wantResult(t, Verify(p, trusting(t, fileOf(t, envelopeOf(t, s, vectorKey(t))))), 11, IDSubject, IDUnsigned[:0])
}

// What the files may look like, and what may not (G2, G4).
func TestVerifyFiles(t *testing.T) {
	p := skillPack(t)
	in := trusting(t, signed(t, p, vectorKey(t)))
	hash := func(data string) string { return Checksum([]byte(data)) }
	skill, script := string(p.Files[0].Data), "#!/bin/sh\ncat\n"
	mode := Difference{Kind: Mode, Path: "scripts/save.sh"}
	for _, tt := range []struct {
		name   string
		change func(files []pack.File) []pack.File
		exit   int
		want   []Difference
	}{
		{"as signed", func(f []pack.File) []pack.File { return f }, 0, nil},
		{"added", func(f []pack.File) []pack.File { return append(f, pack.File{Path: "extra.md", Data: []byte("x")}) }, 10, []Difference{
			{Kind: Added, Path: "extra.md", Size: 1, SHA256: hash("x")},
		}},
		{"missing", func(f []pack.File) []pack.File { return f[:1] }, 10, []Difference{
			{Kind: Missing, Path: "scripts/save.sh", SignedSize: 14, SignedSHA256: hash(script)},
		}},
		{"changed", func(f []pack.File) []pack.File { f[1].Data = []byte("rm"); return f }, 10, []Difference{
			{Changed, "scripts/save.sh", "", 14, 2, hash(script), hash("rm")},
		}},
		{"G2: renamed", func(f []pack.File) []pack.File { f[1].Path = "scripts/load.sh"; return f }, 10, []Difference{
			{Renamed, "scripts/load.sh", "scripts/save.sh", 14, 14, hash(script), hash(script)},
		}},
		{"renamed and not executable", func(f []pack.File) []pack.File {
			f[1].Path, f[1].Executable = "a/b.sh", false
			return f
		}, 10, []Difference{
			{Renamed, "a/b.sh", "scripts/save.sh", 14, 14, hash(script), hash(script)}, {Kind: Mode, Path: "a/b.sh"},
		}},
		{"copied", func(f []pack.File) []pack.File { return append(f, pack.File{Path: "again.sh", Data: []byte(script)}) }, 10, []Difference{
			{Kind: Added, Path: "again.sh", Size: 14, SHA256: hash(script)},
		}},
		{"G2: swapped", func(f []pack.File) []pack.File { f[0].Data, f[1].Data = f[1].Data, f[0].Data; return f }, 10, []Difference{
			{Changed, "SKILL.md", "", 87, 14, hash(skill), hash(script)}, {Changed, "scripts/save.sh", "", 14, 87, hash(script), hash(skill)},
		}},
		{"line ends", func(f []pack.File) []pack.File {
			f[1].Data = []byte("#!/bin/sh\r\ncat\r\n")
			return f
		}, 10, []Difference{{Changed, "scripts/save.sh", "", 14, 16, hash(script), hash("#!/bin/sh\r\ncat\r\n")}}},
		{"everything", func([]pack.File) []pack.File { return []pack.File{{Path: "x", Data: []byte("x")}} }, 10, []Difference{
			{Kind: Missing, Path: "SKILL.md", SignedSize: 87, SignedSHA256: hash(skill)},
			{Kind: Missing, Path: "scripts/save.sh", SignedSize: 14, SignedSHA256: hash(script)},
			{Kind: Added, Path: "x", Size: 1, SHA256: hash("x")},
		}},
		{"G4: execute bit lost", func(f []pack.File) []pack.File { f[1].Executable = false; return f }, 0, []Difference{mode}},
		{"G4: execute bit gained", func(f []pack.File) []pack.File { f[0].Executable = true; return f }, 0, []Difference{{Kind: Mode, Path: "SKILL.md"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Verify(with(p, tt.change), in)
			var warned []string
			for _, d := range tt.want {
				if d.Kind == Mode {
					warned = append(warned, IDMode)
				}
			}
			problems := ""
			if tt.exit != 0 {
				problems = IDDigest
			}
			wantResult(t, r, tt.exit, problems, strings.Join(warned, " "))
			if diff := cmp.Diff(tt.want, r.Differences, cmp.Transformer("nonEmpty", func(d []Difference) []Difference { return append([]Difference(nil), d...) })); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
			for _, d := range r.Differences {
				if s := d.String(); !strings.Contains(s, d.Path) || !slices.Contains(r.Sentences(), s) {
					t.Errorf("nobody says %q", s)
				}
			}
		})
	}
	// Kortecx files have no execute bit worth signing.
	hello := helloPack(t)
	r := Verify(with(hello, func(f []pack.File) []pack.File { f[0].Executable = true; return f }), trusting(t, signed(t, hello, vectorKey(t))))
	wantResult(t, r, 0, "", "")
}

func TestVerifyTime(t *testing.T) {
	p := helloPack(t)
	year := signedAt.AddDate(1, 0, 0)
	for _, tt := range []struct {
		name     string
		now      time.Time
		expires  time.Time
		exit     int
		problems string
		warnings string
	}{
		{"no expiry", now, time.Time{}, 0, "", ""},
		{"before expiry", year.Add(-time.Second), year, 0, "", ""},
		{"at expiry", year, year, 12, IDExpired, ""},
		{"G22: 2100", time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), year, 12, IDExpired, ""},
		{"2100 without expiry", time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), time.Time{}, 0, "", ""},
		{"G22: 1970", time.Unix(0, 0), time.Time{}, 0, "", IDClock},
		{"G22: 1970 with expiry", time.Unix(0, 0), year, 12, IDClock, ""},
		{"no clock", time.Time{}, year, 12, IDClock, ""},
		{"no clock, no expiry", time.Time{}, time.Time{}, 0, "", IDClock},
		{"a little early", signedAt.Add(-MaxClockSkew), time.Time{}, 0, "", ""},
		{"too early", signedAt.Add(-MaxClockSkew - time.Second), time.Time{}, 12, IDNotYetValid, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := trusting(t, fileOf(t, envelopeOf(t, statementOf(t, p, StatementOptions{Expires: tt.expires}), vectorKey(t))))
			in.Now = tt.now
			wantResult(t, Verify(p, in), tt.exit, tt.problems, tt.warnings)
		})
	}
	// Of two trusted signers one is enough; the other's expiry is worth a remark.
	bob := seedKey(t, 40)
	in := trusting(t, fileOf(t,
		envelopeOf(t, statementOf(t, p, StatementOptions{Expires: now}), vectorKey(t)),
		envelopeOf(t, statementOf(t, p, StatementOptions{}), bob)))
	in.Trusted = append(in.Trusted, named("bob", bob))
	wantResult(t, Verify(p, in), 0, "", IDExpired)
	// A signer who is not trusted does not make up for it.
	in.Known, in.Trusted = in.Trusted[1:], in.Trusted[:1]
	wantResult(t, Verify(p, in), 12, IDExpired, "")
}

func TestVerifyHMACOfAnyFormat(t *testing.T) {
	for _, p := range []*pack.Pack{helloPack(t), skillPack(t)} {
		pair, err := HMACPair(p, secret)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.TrimPrefix(string(p.Digest()), "sp1:"); pair.Checksum != want || pair.Signature != MAC(secret, want) {
			t.Errorf("pair %+v", pair)
		}
		data, err := (&SignatureFile{HMAC: &pair}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		good := VerifyInput{SignatureFile: data, Secrets: Secrets{Current: secret}, ExpectHMAC: true, KazmaPolicy: Require}
		r := Verify(p, good)
		wantResult(t, r, 0, "", "")
		if r.HMAC[0].State != HMACVerified || r.Signature != Unsigned {
			t.Errorf("%+v", r)
		}
		if want := "the HMAC of the pack was made with the current secret"; r.Sentences()[0] != want {
			t.Errorf("it says %q", r.Sentences())
		}
		for name, tt := range map[string]struct {
			change   func(in *VerifyInput)
			exit     int
			problems string
			warnings string
		}{
			"other secret":         {func(in *VerifyInput) { in.Secrets.Current = []byte("x") }, 11, IDHMAC, ""},
			"no secret":            {func(in *VerifyInput) { in.Secrets = Secrets{} }, 12, IDNoSecret, ""},
			"not looked at":        {func(in *VerifyInput) { in.Secrets, in.KazmaPolicy = Secrets{}, Off }, 0, "", IDUnsigned},
			"a key is required":    {func(in *VerifyInput) { in.RequireSigned = true }, 12, IDUnsigned, ""},
			"a key was known":      {func(in *VerifyInput) { in.ExpectSigned = true }, 11, IDStripped, ""},
			"stripped":             {func(in *VerifyInput) { in.SignatureFile, in.KazmaPolicy = nil, Accept }, 11, IDStripped, ""},
			"required":             {func(in *VerifyInput) { in.SignatureFile, in.ExpectHMAC = nil, false }, 12, IDUnsigned, ""},
			"stripped, do not ask": {func(in *VerifyInput) { in.SignatureFile, in.KazmaPolicy = nil, Off }, 0, "", IDUnsigned},
		} {
			in := good
			tt.change(&in)
			t.Run(name, func(t *testing.T) { wantResult(t, Verify(p, in), tt.exit, tt.problems, tt.warnings) })
		}
		changed := with(p, func(f []pack.File) []pack.File { f[0].Data[0] ^= 1; return f })
		wantResult(t, Verify(changed, good), 10, IDDigest, "")
	}
}

// B24 to B27 as a consumer sees them.
func TestVerifyKazmaLines(t *testing.T) {
	lines := func(extra string) *pack.Pack { return kazmaPack(t, kazmaManifest+extra) }
	checksum := Checksum([]byte(kazmaEntry))
	mac := MAC(secret, checksum)
	both := fmt.Sprintf("checksum: %q\nsignature: %q\n", checksum, mac)
	accept := VerifyInput{Secrets: Secrets{Current: secret}}
	require := VerifyInput{Secrets: Secrets{Current: secret}, KazmaPolicy: Require}
	known := VerifyInput{Secrets: Secrets{Current: secret}, ExpectHMAC: true}
	for _, tt := range []struct {
		name     string
		pack     *pack.Pack
		in       VerifyInput
		exit     int
		problems string
		warnings string
	}{
		{"signed", lines(both), require, 0, "", ""},
		{"B25", lines(fmt.Sprintf("checksum: %q\n", checksum)), accept, 0, "", IDDowngraded},
		{"B25 under require", lines(fmt.Sprintf("checksum: %q\n", checksum)), require, 11, IDDowngraded, ""},
		{"B25, known as signed", lines(fmt.Sprintf("checksum: %q\n", checksum)), known, 11, IDStripped, IDDowngraded},
		{"B26", lines(""), known, 11, IDStripped, ""},
		{"unsigned", lines(""), accept, 0, "", IDUnsigned},
		{"unsigned under require", lines(""), require, 12, IDUnsigned, ""},
		{"no secret", lines(both), VerifyInput{}, 12, IDNoSecret, ""},
		{"not looked at", lines(both), VerifyInput{KazmaPolicy: Off}, 0, "", IDUnsigned},
	} {
		t.Run(tt.name, func(t *testing.T) { wantResult(t, Verify(tt.pack, tt.in), tt.exit, tt.problems, tt.warnings) })
	}
	// B24 and B27 are no packs at all, and why is told by a code of their own.
	for extra, id := range map[string]string{
		fmt.Sprintf("signature: %q\n", mac):                                          IDNoChecksum,
		fmt.Sprintf("checksum: %q\nsignature: %q\n", strings.ToUpper(checksum), mac): IDChecksumFormat,
		fmt.Sprintf("checksum: %q\nsignature: %q\n", checksum[:63], mac):             IDChecksumFormat,
		fmt.Sprintf("checksum: %q\nsignature: %q\n", checksum, strings.ToUpper(mac)): IDSignatureFormat,
		fmt.Sprintf("checksum: %q\nsignature: %q\n", checksum[:62]+"é", mac):         IDChecksumFormat,
	} {
		in := inspect("greeter", file{"main.py", kazmaEntry}, file{"skill_manifest.yaml", kazmaManifest + extra})
		r := VerifyInspection(in, accept)
		if r.OK || r.ExitCode() != ExitSignature || r.Problems[0].ID != id {
			t.Errorf("%s: exit %d, %+v", extra, r.ExitCode(), r.Problems)
		}
	}
	// A trusted key vouches for more than an HMAC could: nothing is missing then.
	p := lines("")
	wantResult(t, Verify(p, trusting(t, signed(t, p, vectorKey(t)))), 0, "", "")
}

func TestVerifyInspection(t *testing.T) {
	in := inspect("hello", helloFiles()...)
	signature := signed(t, in.Pack, vectorKey(t))
	r := VerifyInspection(in, trusting(t, signature))
	wantResult(t, r, 0, "", "")
	if diff := cmp.Diff(Verify(in.Pack, trusting(t, signature)), r); diff != "" {
		t.Errorf("(-Verify +VerifyInspection):\n%s", diff)
	}
	// A fourth file is no part of a kortecx pack, and was not signed.
	extra := inspect("hello", append(helloFiles(), file{"extra.txt", "x"})...)
	r = VerifyInspection(extra, trusting(t, signature))
	wantResult(t, r, 10, extra.Layout[0].ID, "")
	// What cannot be read as a pack is not what was signed either.
	broken := inspect("hello", append(helloFiles()[:2], file{"skill.json", "{"})...)
	r = VerifyInspection(broken, trusting(t, signature))
	if r.OK || r.ExitCode() != ExitIntegrity || r.Name != "hello" || r.Format != pack.Kortecx {
		t.Errorf("%+v", r)
	}
}

func TestLongExplanationsAreCut(t *testing.T) {
	p := skillPack(t)
	in := trusting(t, signed(t, p, vectorKey(t)))
	r := Verify(with(p, func(f []pack.File) []pack.File {
		for i := range 300 {
			f = append(f, pack.File{Path: fmt.Sprintf("file-%03d", i)})
		}
		return f
	}), in)
	sentences := r.Sentences()
	if len(r.Differences) != 300 || len(sentences) > maxSentences+5 || !slices.Contains(sentences, "and 252 more files differ") {
		t.Errorf("%d differences, %d sentences: %q", len(r.Differences), len(sentences), sentences[max(0, len(sentences)-3):])
	}
}
