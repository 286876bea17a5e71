package sign

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzSignatureFile(f *testing.F) {
	p := helloPack(f)
	good := helloEnvelope(f)
	f.Add(fileOf(f, good))
	f.Add(fileOf(f, good, forge(seedKey(f, 40), PayloadType, []byte("{}"))))
	f.Add(fileOf(f, forge(vectorKey(f), "x", []byte("x"))))
	f.Add([]byte(`{"v":1,"dsse":[],"hmac":{"checksum":"` + strings.Repeat("0", 64) + `","signature":"` + strings.Repeat("a", 64) + `"}}`))
	f.Add([]byte(`{"v":1,"dsse":null,"hmac":null}`))
	f.Add([]byte(`{"v":1,"dsse":[{"payloadType":"x","payload":"_-==","signatures":[{"sig":"AA=="}]}]}`))
	in := trusting(f, nil)
	in.Secrets = Secrets{Current: secret}
	in.RequireSigned = true
	f.Fuzz(func(t *testing.T, data []byte) {
		in.SignatureFile = data
		if data == nil {
			in.SignatureFile = []byte{}
		}
		r := Verify(p, in)
		file, err := ReadSignatureFile(data)
		if err != nil {
			if r.OK || r.ExitCode() != ExitSignature {
				t.Fatalf("unreadable, and judged as %+v", r)
			}
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("a refusal without an id: %v", err)
			}
			return
		}
		genuine := false
		for _, e := range file.DSSE {
			genuine = genuine || bytes.Equal(e.Payload, good.Payload)
		}
		if r.OK && !genuine {
			t.Fatal("a signature that was never made is accepted")
		}
		written, err := file.Marshal()
		if err != nil {
			if e, ok := errors.AsType[*Error](err); ok && e.ID == IDTooLarge {
				return // indenting made it too large
			}
			t.Fatal(err)
		}
		back, err := ReadSignatureFile(written)
		if err != nil {
			t.Fatal(err)
		}
		again, err := back.Marshal()
		if err != nil || !bytes.Equal(written, again) {
			t.Fatalf("not stable, %v:\n%s", err, cmp.Diff(string(written), string(again)))
		}
	})
}

func FuzzParseStatement(f *testing.F) {
	f.Add(helloEnvelope(f).Payload)
	f.Add([]byte(`{"_type":"https://in-toto.io/Statement/v1"}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		s, err := ParseStatement(payload)
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("a refusal without an id: %v", err)
			}
			return
		}
		back, err := ParseStatement(s.Payload())
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if diff := cmp.Diff(s, back); diff != "" {
			t.Fatalf("(-read +read again):\n%s", diff)
		}
	})
}

func FuzzParsePublicKey(f *testing.F) {
	key := vectorKey(f).Public()
	f.Add([]byte(key.String()))
	f.Add(key.PEM())
	f.Add([]byte(publicPrefix + "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="))
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----\n"))
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\nA: b\n\nMIIB\n-----END PUBLIC KEY-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		key, err := ParsePublicKey(data)
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok || key != (PublicKey{}) {
				t.Fatalf("refused with %v and a key %v", err, key)
			}
			return
		}
		for _, form := range [][]byte{key.PEM(), []byte(key.String())} {
			if back, err := ParsePublicKey(form); err != nil || back != key {
				t.Fatalf("%s reads back as %v, %v", form, back, err)
			}
		}
		// There is one text for each form: what was read is one of the two.
		text := strings.ReplaceAll(strings.Trim(string(data), " \t\r\n"), "\r\n", "\n")
		if text != key.String() && text != strings.TrimSpace(string(key.PEM())) {
			t.Fatalf("%q is accepted for %s", data, key)
		}
	})
}

// The passphrase is never asked for here: age is not what is tested, and guessing
// costs what it should.
func FuzzParsePrivateKey(f *testing.F) {
	key := vectorKey(f)
	plain, err := key.PEM()
	if err != nil {
		f.Fatal(err)
	}
	locked, err := key.Encrypt(quickSeal("x"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain)
	f.Add(locked)
	f.Add(key.Public().PEM())
	f.Add(bytes.ReplaceAll(plain, []byte("\n"), []byte("\r\n")))
	f.Add(bytes.Replace(plain, []byte("MC4"), []byte("MC8"), 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		key, err := ParsePrivateKey(data, nil)
		if err != nil {
			e, ok := errors.AsType[*Error](err)
			if !ok || IsEncrypted(data) && len(data) <= MaxKeyFile && e.ID != IDKeyLocked {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		written, err := key.PEM()
		if err != nil {
			t.Fatal(err)
		}
		text := bytes.ReplaceAll(bytes.Trim(data, " \t\r\n"), []byte("\r\n"), []byte("\n"))
		if !bytes.Equal(text, bytes.TrimSpace(written)) {
			t.Fatalf("%q is accepted for %s", data, key)
		}
	})
}
