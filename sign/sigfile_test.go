package sign

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func pairOf(t testing.TB) *Pair {
	t.Helper()
	pair, err := HMACPair(helloPack(t), []byte("test-secret"))
	if err != nil {
		t.Fatal(err)
	}
	return &pair
}

func TestSignatureFileBytes(t *testing.T) {
	v := readSigningVectors(t).DSSE
	f := &SignatureFile{HMAC: pairOf(t)}
	if err := f.Add(helloEnvelope(t), vectorKey(t).Public()); err != nil {
		t.Fatal(err)
	}
	got, err := f.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "v": 1,
  "dsse": [
    {
      "payloadType": "application/vnd.in-toto+json",
      "payload": "` + base64.StdEncoding.EncodeToString([]byte(v.Payload)) + `",
      "signatures": [
        {
          "keyid": "` + v.KeyID + `",
          "sig": "` + v.SignatureBase64 + `"
        }
      ]
    }
  ],
  "hmac": {
    "checksum": "07fd4c82af75bc07234e9fd7f4acbb1f5fb915c08c836cc5db8db6e51d84dd61",
    "signature": "` + MAC([]byte("test-secret"), "07fd4c82af75bc07234e9fd7f4acbb1f5fb915c08c836cc5db8db6e51d84dd61") + `"
  }
}
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	back, err := ReadSignatureFile(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f, back); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestReadSignatureFile(t *testing.T) {
	good := string(fileOf(t, helloEnvelope(t)))
	compact := strings.NewReplacer("\n", "", "  ", "").Replace(good)
	edit := func(old, new string) string {
		t.Helper()
		if !strings.Contains(good, old) {
			t.Fatalf("%s is not in the file", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	e := helloEnvelope(t)
	payload, sig := e.wire().Payload, e.wire().Signatures[0].Sig
	signatures := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`{"keyid":"%d","sig":%q}`, i, base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{byte(i)}, 64)))
		}
		return `"signatures":[` + strings.Join(list, ",") + "]"
	}
	envelopes := func(n, each int) string {
		one := `{"payloadType":"x","payload":"eA==",` + signatures(each) + "}"
		return `{"v":1,"dsse":[` + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + "]}"
	}
	hmac := func(pair string) string { return `{"v":1,"dsse":[],"hmac":` + pair + "}" }
	hex := strings.Repeat("0123456789abcdef", 4)
	for _, tt := range []struct{ name, data, id string }{
		{"as written", good, ""},
		{"compact", compact, ""},
		{"G9: payload in URL-safe base64", edit(payload, strings.NewReplacer("+", "-", "/", "_").Replace(payload)), ""},
		{"signature in URL-safe base64", edit(sig, strings.NewReplacer("+", "-", "/", "_").Replace(sig)), ""},
		{"no keyid", strings.Replace(compact, `"keyid": "`+e.Signatures[0].KeyID+`",`, "", 1), ""},
		{"HMAC alone", hmac(`{"checksum":"` + hex + `","signature":"` + hex + `"}`), ""},
		{"HMAC without dsse", strings.Replace(hmac(`{"checksum":"`+hex+`","signature":"`+hex+`"}`), `"dsse":[],`, "", 1), ""},
		{"sixteen", envelopes(2, 8), ""},
		{"nothing", "", IDFormat},
		{"no signature", `{"v":1,"dsse":[]}`, IDFormat},
		{"no v", `{"dsse":[]}`, IDFormat},
		{"v 2", edit(`"v": 1`, `"v": 2`), IDFormat},
		{"v in words", edit(`"v": 1`, `"v": "1"`), IDFormat},
		{"unknown field", edit(`"v": 1,`, `"v": 1, "x": 1,`), IDFormat},
		{"unknown field in an envelope", edit(`"payload":`, `"x": 1, "payload":`), IDFormat},
		{"a field twice", edit(`"v": 1,`, `"v": 1, "v": 1,`), IDFormat},
		{"other case", edit(`"payload":`, `"Payload":`), IDFormat},
		{"trailing data", good + "x", IDFormat},
		{"an envelope alone", compact[strings.Index(compact, `{"payloadType`) : len(compact)-2], IDFormat},
		{"no signatures", `{"v":1,"dsse":[{"payloadType":"x","payload":"eA==","signatures":[]}]}`, IDFormat},
		{"no payload", `{"v":1,"dsse":[{"payloadType":"x","payload":"",` + signatures(1) + `}]}`, IDFormat},
		{"payload not base64", edit(payload, "*"), IDFormat},
		{"line ends in the payload", edit(payload, payload[:8]+`\n`+payload[8:]), IDFormat},
		{"payload without padding", `{"v":1,"dsse":[{"payloadType":"x","payload":"eA",` + signatures(1) + `}]}`, IDFormat},
		{"signature too short", edit(sig, "eHh4"), IDFormat},
		{"keyid too long", edit(e.Signatures[0].KeyID, strings.Repeat("a", 257)), IDFormat},
		{"G25: seventeen", envelopes(1, 17), IDTooLarge},
		{"G25: seventeen in all", envelopes(17, 1), IDTooLarge},
		{"G25: ten thousand", envelopes(1, 10000), IDTooLarge},
		{"G25: large", good + strings.Repeat(" ", MaxSignatureFile), IDTooLarge},
		{"as large as allowed", good + strings.Repeat(" ", MaxSignatureFile-len(good)), ""},
		{"B27: checksum in capitals", hmac(`{"checksum":"` + strings.ToUpper(hex) + `","signature":"` + hex + `"}`), IDChecksumFormat},
		{"B27: 63 digits", hmac(`{"checksum":"` + hex[:63] + `","signature":"` + hex + `"}`), IDChecksumFormat},
		{"B27: not ASCII", hmac(`{"checksum":"` + hex[:63] + `é","signature":"` + hex + `"}`), IDChecksumFormat},
		{"signature in capitals", hmac(`{"checksum":"` + hex + `","signature":"` + strings.ToUpper(hex) + `"}`), IDSignatureFormat},
		{"no HMAC signature", hmac(`{"checksum":"` + hex + `"}`), IDSignatureFormat},
		{"HMAC signature alone", hmac(`{"signature":"` + hex + `"}`), IDChecksumFormat},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := ReadSignatureFile([]byte(tt.data))
			wantID(t, err, tt.id)
			if err == nil && f.Empty() {
				t.Error("it was read as empty")
			}
		})
	}
}

func TestAddReplacesBySigner(t *testing.T) {
	p := helloPack(t)
	alice, bob := vectorKey(t), seedKey(t, 40)
	first := statementOf(t, p, StatementOptions{Author: "acme"})
	later := statementOf(t, p, StatementOptions{Author: "acme", SignedAt: now})
	add := func(f *SignatureFile, s Statement, key PrivateKey) {
		t.Helper()
		if err := f.Add(envelopeOf(t, s, key), key.Public()); err != nil {
			t.Fatal(err)
		}
	}
	marshal := func(f *SignatureFile) string {
		t.Helper()
		data, err := f.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	var f SignatureFile
	add(&f, first, alice)
	alone := marshal(&f)
	add(&f, first, alice)
	if got := marshal(&f); got != alone {
		t.Error("signing the same again changes the file")
	}
	add(&f, first, bob)
	if len(f.DSSE) != 1 || len(f.DSSE[0].Signatures) != 2 {
		t.Errorf("one statement by two keys is %d envelopes", len(f.DSSE))
	}
	var g SignatureFile
	add(&g, first, bob)
	add(&g, first, alice)
	if marshal(&f) != marshal(&g) {
		t.Error("the order of signing shows in the file")
	}
	add(&f, later, alice)
	if len(f.DSSE) != 2 || len(f.DSSE[0].Signatures) != 1 || len(f.DSSE[1].Signatures) != 1 {
		t.Errorf("after a new statement by one of two: %+v", f)
	}
	add(&g, later, alice)
	if marshal(&f) != marshal(&g) {
		t.Error("the order of signing shows in the file")
	}
	// What only claims to be by the key goes as well.
	h := SignatureFile{DSSE: []Envelope{{"x", []byte("x"), []Signature{{alice.Public().ID(), make([]byte, 64)}}}}}
	add(&h, first, alice)
	if marshal(&h) != alone {
		t.Error("a signature with the same keyid stays")
	}
	for i := range byte(15) {
		add(&h, first, seedKey(t, 100+i))
	}
	wantID(t, h.Add(envelopeOf(t, first, bob), bob.Public()), IDTooLarge)
	if len(h.DSSE[0].Signatures) != 16 {
		t.Error("a refused signature changed the file")
	}
	_, err := new(SignatureFile).Marshal()
	wantID(t, err, IDFormat)
}

func TestFileName(t *testing.T) {
	for _, tt := range []struct{ name, version, want string }{
		{"hello", "1", "hello@1.sig.json"},
		{"hello", "", "hello.sig.json"},
		{"greeter", "1.2.0-rc.1+build_5", "greeter@1.2.0-rc.1+build_5.sig.json"},
		{"Bad Name!", "1", "Bad%20Name%21@1.sig.json"},
		{"a@b", "1", "a%40b@1.sig.json"},
		{"a", "b@1", "a@b%401.sig.json"},
		{"a", "../x", "a@..%2fx.sig.json"},
		{"a", "1:2\x00\n", "a@1%3a2%00%0a.sig.json"},
		{"a%", "%", "a%25@%25.sig.json"},
		{"é", "1", "%c3%a9@1.sig.json"},
		{"..", "1", ""},
		{".hidden", "1", ""},
		{"", "1", ""},
		{"con", "", ""},
		{"con", "1", "con@1.sig.json"},
		{strings.Repeat("a", 250), "1", ""},
		{"a", strings.Repeat("\n", 100), ""},
	} {
		got, err := FileName(tt.name, tt.version)
		if tt.want == "" {
			wantID(t, err, IDFileName)
		} else if err != nil || got != tt.want {
			t.Errorf("%q %q: %q, %v, want %q", tt.name, tt.version, got, err, tt.want)
		}
	}
}
