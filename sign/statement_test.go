package sign

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kortecx/kx/pack"
)

func TestStatementVector(t *testing.T) {
	v := readSigningVectors(t)
	p := helloPack(t)
	s := statementOf(t, p, StatementOptions{Author: "acme"})
	if got := string(s.Payload()); got != v.DSSE.Payload {
		t.Errorf("payload\n%s\nwant\n%s", got, v.DSSE.Payload)
	}
	if got := Checksum(s.Payload()); got != v.DSSE.PayloadSHA256 {
		t.Errorf("payload hash %s, want %s", got, v.DSSE.PayloadSHA256)
	}
	if string(s.Digest) != v.Digest.SP1 || s.Digest != p.Digest() {
		t.Errorf("digest %s, pack says %s, want %s", s.Digest, p.Digest(), v.Digest.SP1)
	}
	back, err := ParseStatement([]byte(v.DSSE.Payload))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, back); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestStatementOfEachFormat(t *testing.T) {
	kazma := statementOf(t, kazmaPack(t, kazmaManifest), StatementOptions{})
	if kazma.Subject() != "acme/greeter" || kazma.Version != "1.2.0" || !strings.Contains(string(kazma.Payload()), `"format":"kazma.skill_manifest"`) {
		t.Errorf("kazma: %s", kazma.Payload())
	}
	skill := statementOf(t, skillPack(t), StatementOptions{Expires: signedAt.Add(time.Hour)})
	want := `{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"local/notes","digest":{"sha256":"` + strings.TrimPrefix(string(skill.Digest), "sp1:") +
		`"}}],"predicateType":"https://github.com/kortecx/kx/release/v1","predicate":{"format":"skill-md","name":"local/notes","version":"","digestAlgorithm":"sp1",` +
		`"files":[{"path":"SKILL.md","size":87,"sha256":"` + skill.Files[0].SHA256 + `"},{"path":"scripts/save.sh","size":14,"sha256":"` + skill.Files[1].SHA256 +
		`","executable":true}],"signedAt":"2026-11-29T00:00:00Z","expires":"2026-11-29T01:00:00Z"}}`
	if got := string(skill.Payload()); got != want {
		t.Errorf("skill-md:\n%s\nwant\n%s", got, want)
	}
	for _, s := range []Statement{kazma, skill} {
		back, err := ParseStatement(s.Payload())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, back); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	}
}

func TestNewStatement(t *testing.T) {
	free := strings.Replace(kazmaManifest, "author: acme", "author: Jane Doe", 1)
	for _, tt := range []struct {
		name    string
		pack    *pack.Pack
		options StatementOptions
		subject string
		version string
		id      string
	}{
		{"nobody named", helloPack(t), StatementOptions{}, "local/hello", "1", ""},
		{"named", helloPack(t), StatementOptions{Author: "acme"}, "acme/hello", "1", ""},
		{"same version", helloPack(t), StatementOptions{Version: "1"}, "local/hello", "1", ""},
		{"other version", helloPack(t), StatementOptions{Version: "2"}, "", "", IDVersion},
		{"no author", helloPack(t), StatementOptions{Author: "Acme Inc"}, "", "", IDSubject},
		{"two segments", helloPack(t), StatementOptions{Author: "a/b"}, "", "", IDSubject},
		{"the manifest's author", kazmaPack(t, kazmaManifest), StatementOptions{}, "acme/greeter", "1.2.0", ""},
		{"the same author", kazmaPack(t, kazmaManifest), StatementOptions{Author: "acme"}, "acme/greeter", "1.2.0", ""},
		{"another author", kazmaPack(t, kazmaManifest), StatementOptions{Author: "mallory"}, "", "", IDSubject},
		{"a person", kazmaPack(t, free), StatementOptions{Author: "jane"}, "jane/greeter", "1.2.0", ""},
		{"a person, nobody named", kazmaPack(t, free), StatementOptions{}, "local/greeter", "1.2.0", ""},
		{"version from outside", skillPack(t), StatementOptions{Version: "7"}, "local/notes", "7", ""},
		{"version that does not print", skillPack(t), StatementOptions{Version: "7\n"}, "", "", IDVersion},
		{"version not UTF-8", skillPack(t), StatementOptions{Version: "\xff"}, "", "", IDVersion},
		{"version too long", skillPack(t), StatementOptions{Version: strings.Repeat("1", 257)}, "", "", IDVersion},
		{"expires before", helloPack(t), StatementOptions{Expires: signedAt}, "", "", IDStatement},
		{"year 10000", helloPack(t), StatementOptions{Expires: signedAt.AddDate(9000, 0, 0)}, "", "", IDStatement},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.options.SignedAt = signedAt
			s, err := NewStatement(tt.pack, tt.options)
			wantID(t, err, tt.id)
			if err == nil && (s.Subject() != tt.subject || s.Version != tt.version) {
				t.Errorf("signed as %s@%s, want %s@%s", s.Subject(), s.Version, tt.subject, tt.version)
			}
		})
	}
	_, err := NewStatement(helloPack(t), StatementOptions{})
	wantID(t, err, IDStatement) // no time
	zone := time.FixedZone("somewhere", 3600)
	s := statementOf(t, helloPack(t), StatementOptions{SignedAt: signedAt.Add(999 * time.Millisecond).In(zone)})
	if !strings.Contains(string(s.Payload()), `"signedAt":"2026-11-29T00:00:00Z"`) {
		t.Errorf("the time is not UTC in whole seconds: %s", s.Payload())
	}
}

func TestHardLinksAreNotSigned(t *testing.T) {
	linked := func(p *pack.Pack) *pack.Pack {
		p.Warnings = append(p.Warnings, &pack.Error{ID: "pack.hardlink", Place: pack.Place{File: "README.md"}, Text: "x"})
		return p
	}
	_, err := NewStatement(linked(helloPack(t)), StatementOptions{SignedAt: signedAt})
	wantID(t, err, IDHardlink)
	_, err = HMACPair(linked(helloPack(t)), []byte("secret"))
	wantID(t, err, IDHardlink)
	_, _, err = SignKazma(linked(kazmaPack(t, kazmaManifest)), []byte("secret"))
	wantID(t, err, IDHardlink)
	in := inspect("hello", helloFiles()...)
	wantID(t, Signable(in), "")
	in.Warnings = linked(&pack.Pack{}).Warnings
	wantID(t, Signable(in), IDHardlink)
}

func TestSignableRefusesWhatIsNoPack(t *testing.T) {
	if err := Signable(inspect("hello", file{"skill.json", "{}"})); err == nil {
		t.Error("a folder that is no pack can be signed")
	}
	in := inspect("hello", append(helloFiles(), file{"extra.txt", "x"})...)
	if len(in.Layout) == 0 {
		t.Fatal("the fixture has nothing wrong with its layout")
	}
	if err := Signable(in); err == nil {
		t.Error("a folder with another file can be signed")
	}
}

// Each rule of the statement's grammar, broken alone.
func TestParseStatementRefusals(t *testing.T) {
	good := readSigningVectors(t).DSSE.Payload
	sha := "1fec416078e4d341cce91202bb2cf0416f4a3b84c211838086ef788c8154efd4"
	file := `{"path":"README.md","size":6,"sha256":"` + sha + `"}`
	edit := func(old, new string) string {
		t.Helper()
		if !strings.Contains(good, old) {
			t.Fatalf("%s is not in the vector", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	many := make([]string, pack.MaxFiles+1)
	for i := range many {
		many[i] = file
	}
	for _, tt := range []struct{ name, payload, id string }{
		{"the vector", good, ""},
		{"white space", " " + strings.ReplaceAll(good, ",", ", ") + "\n", ""},
		{"executable false", edit(`"size":6,`, `"size":6,"executable":false,`), ""},
		{"nothing", "", IDStatement},
		{"null", "null", IDStatement},
		{"trailing data", good + "{}", IDStatement},
		{"BOM", "\ufeff" + good, IDStatement},
		{"unknown field", edit(`{"_type"`, `{"x":1,"_type"`), IDStatement},
		{"unknown field deep down", edit(`"size":6,`, `"size":6,"mode":"0755",`), IDStatement},
		{"a field twice", edit(`"version":"1"`, `"version":"2","version":"1"`), IDStatement},
		{"other case", edit(`"version"`, `"Version"`), IDStatement},
		{"a second digest", edit(`{"sha256":"07fd`, `{"sha1":"x","sha256":"07fd`), IDStatement},
		{"other _type", edit("Statement/v1", "Statement/v2"), IDStatement},
		{"other predicate", edit("release/v1", "release/v2"), IDStatement},
		{"no subject", edit(`"subject":[`, `"subject":[],"x":[`), IDStatement},
		{"two subjects", edit(`"subject":[`, `"subject":[{"name":"acme/hello","digest":{"sha256":"x"}},`), IDStatement},
		{"two names", edit(`"subject":[{"name":"acme/hello"`, `"subject":[{"name":"acme/other"`), IDStatement},
		{"name without author", strings.ReplaceAll(good, "acme/hello", "hello"), IDSubject},
		{"name with two slashes", strings.ReplaceAll(good, "acme/hello", "acme/x/hello"), IDSubject},
		{"author in capitals", strings.ReplaceAll(good, "acme/hello", "ACME/hello"), IDSubject},
		{"author with dots", strings.ReplaceAll(good, "acme/hello", "../hello"), IDSubject},
		{"no name", strings.ReplaceAll(good, "acme/hello", "acme/"), IDSubject},
		{"name that does not print", strings.ReplaceAll(good, "acme/hello", `acme/he\u001bllo`), IDSubject},
		{"no version", edit(`"version":"1"`, `"version":""`), IDVersion},
		{"version is a number", edit(`"version":"1"`, `"version":1`), IDStatement},
		{"other algorithm", edit(`"digestAlgorithm":"sp1"`, `"digestAlgorithm":"sp2"`), IDStatement},
		{"other format", edit("kortecx.skill/v1", "kortecx.skill/v2"), IDStatement},
		{"digest of something else", edit("07fd4c82", "07fd4c83"), IDStatement},
		{"digest in capitals", edit("07fd4c82", "07FD4C82"), IDStatement},
		{"file hash of something else", edit("1fec4160", "1fec4161"), IDStatement},
		{"file hash in capitals", edit("1fec4160", "1FEC4160"), IDStatement},
		{"file hash cut", edit(sha, sha[:63]), IDStatement},
		{"negative size", edit(`"size":6,`, `"size":-6,`), IDStatement},
		{"size with a fraction", edit(`"size":6,`, `"size":6.5,`), IDStatement},
		{"size of everything", edit(`"size":6,`, `"size":16777217,`), IDStatement},
		{"executable here", edit(`"size":6,`, `"size":6,"executable":true,`), IDStatement},
		{"path leads out", edit(`"README.md"`, `"../README.md"`), IDStatement},
		{"path is absolute", edit(`"README.md"`, `"/README.md"`), IDStatement},
		{"path with a line end", edit(`"README.md"`, `"README.md\n1fec  x"`), IDStatement},
		{"a file twice", edit(file, file+","+file), IDStatement},
		{"files out of order", edit(file+",", "") + "", IDStatement},
		{"no files", edit(`"files":[`, `"files":[],"x":[`), IDStatement},
		{"too many files", edit(file, strings.Join(many, ",")), IDStatement},
		{"time with a zone", edit("00:00:00Z", "00:00:00+00:00"), IDStatement},
		{"time with a fraction", edit("00:00:00Z", "00:00:00.5Z"), IDStatement},
		{"no time", edit(`,"signedAt":"2026-11-29T00:00:00Z"`, ""), IDStatement},
		{"no such day", edit("2026-11-29", "2026-11-31"), IDStatement},
		{"expires in words", edit(`00:00:00Z"`, `00:00:00Z","expires":"never"`), IDStatement},
		{"expires empty", edit(`00:00:00Z"`, `00:00:00Z","expires":""`), IDStatement},
		{"expires at once", edit(`00:00:00Z"`, `00:00:00Z","expires":"2026-11-29T00:00:00Z"`), IDStatement},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseStatement([]byte(tt.payload))
			wantID(t, err, tt.id)
		})
	}
}

// Whatever can be signed reads back as it was, by our parser and by a lenient one.
func TestStatementRoundTrip(t *testing.T) {
	label := rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,20}`)
	rapid.Check(t, func(t *rapid.T) {
		s := Statement{
			Author: label.Draw(t, "author"), Name: label.Draw(t, "name"), Format: pack.SkillMD,
			Version:  rapid.StringMatching(`[ -~éß☃]{0,20}`).Draw(t, "version"),
			SignedAt: signedAt.Add(time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "signed")) * time.Second),
		}
		if rapid.Bool().Draw(t, "expires") {
			s.Expires = s.SignedAt.Add(time.Duration(rapid.Int64Range(1, 1e9).Draw(t, "life")) * time.Second)
		}
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{5,9}(/[a-zé]{5,9})?\.md`), 1, 6, rapid.ID[string]).Draw(t, "paths")
		var files []pack.File
		for _, n := range names {
			files = append(files, pack.File{Path: n, Data: []byte(n), Executable: rapid.Bool().Draw(t, "x")})
		}
		files = with(&pack.Pack{Files: files}, func(f []pack.File) []pack.File { return f }).Files
		s.Files = statementFiles(&pack.Pack{Format: pack.SkillMD, Files: files}, nil)
		s.Digest = pack.DigestFiles(files)
		payload := s.Payload()
		back, err := ParseStatement(payload)
		if err != nil {
			t.Fatalf("%s: %v", payload, err)
		}
		if diff := cmp.Diff(s, back); diff != "" {
			t.Fatalf("read back (-want +got):\n%s", diff)
		}
		var lenient struct{ Predicate struct{ Version string } }
		if err := json.Unmarshal(payload, &lenient); err != nil || lenient.Predicate.Version != s.Version {
			t.Fatalf("encoding/json reads version %q, %v", lenient.Predicate.Version, err)
		}
	})
}
