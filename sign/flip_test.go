package sign

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kortecx/kx/pack"
)

// Any change of any byte of any file is noticed.
func TestFlippedFiles(t *testing.T) {
	for _, p := range []*pack.Pack{helloPack(t), skillPack(t)} {
		in := trusting(t, signed(t, p, vectorKey(t)))
		rejected := func(i, at int, by byte) bool {
			return !Verify(with(p, func(files []pack.File) []pack.File { files[i].Data[at] ^= by; return files }), in).OK
		}
		for i, f := range p.Files {
			for at := range f.Data {
				if !rejected(i, at, 1<<(at%8)) {
					t.Errorf("%s: byte %d may change", f.Path, at)
				}
			}
		}
		rapid.Check(t, func(t *rapid.T) {
			i := rapid.IntRange(0, len(p.Files)-1).Draw(t, "file")
			at := rapid.IntRange(0, len(p.Files[i].Data)-1).Draw(t, "byte")
			if by := rapid.ByteRange(1, 255).Draw(t, "by"); !rejected(i, at, by) {
				t.Fatalf("%s: byte %d may change", p.Files[i].Path, at)
			}
		})
	}
}

// Any change of the payload, the payload type or the signature is noticed.
func TestFlippedEnvelope(t *testing.T) {
	p := helloPack(t)
	good := helloEnvelope(t)
	check := func(what string, at int, e Envelope) {
		t.Helper()
		if r := Verify(p, trusting(t, fileOf(t, e))); r.OK || r.ExitCode() != ExitSignature {
			t.Errorf("byte %d of the %s may change: %+v", at, what, r.Problems)
		}
	}
	for at := range good.Payload {
		e := good
		e.Payload = slices.Clone(good.Payload)
		e.Payload[at] ^= 1 << (at % 8)
		check("payload", at, e)
	}
	for at := range good.Signatures[0].Sig {
		e := good
		e.Signatures = []Signature{{good.Signatures[0].KeyID, slices.Clone(good.Signatures[0].Sig)}}
		e.Signatures[0].Sig[at] ^= 1 << (at % 8)
		check("signature", at, e)
	}
	for at := range good.PayloadType {
		e := good
		kind := []byte(good.PayloadType)
		kind[at] ^= 1
		e.PayloadType = string(kind)
		check("payload type", at, e)
	}
}

// A changed signature file is refused, or says what it said before: white space
// and the keyid carry no meaning.
func TestFlippedSignatureFile(t *testing.T) {
	p := helloPack(t)
	good := helloEnvelope(t)
	data := fileOf(t, good)
	accepted := 0
	for at := range data {
		for _, by := range []byte{1, 1 << (at % 8), 0x80} {
			changed := slices.Clone(data)
			changed[at] ^= by
			r := Verify(p, trusting(t, changed))
			if !r.OK {
				continue
			}
			accepted++
			f, err := ReadSignatureFile(changed)
			if err != nil || len(f.DSSE) != 1 || !bytes.Equal(f.DSSE[0].Payload, good.Payload) || !bytes.Equal(f.DSSE[0].Signatures[0].Sig, good.Signatures[0].Sig) {
				t.Errorf("byte %d (%q) may become %q", at, data[at], changed[at])
			}
		}
	}
	if accepted > 64*3+100 {
		t.Errorf("%d changes were accepted", accepted)
	}
}

// The digest knows neither order nor mode, and every shuffle of a pack is the pack.
func TestShuffledFiles(t *testing.T) {
	p := skillPack(t)
	s := statementOf(t, p, StatementOptions{})
	rapid.Check(t, func(t *rapid.T) {
		files := rapid.Permutation(p.Files).Draw(t, "order")
		for i := range files {
			files[i].Executable = rapid.Bool().Draw(t, "mode")
		}
		if got := pack.DigestFiles(files); got != s.Digest {
			t.Fatalf("digest %s, want %s", got, s.Digest)
		}
	})
}
