package sign

import (
	"fmt"
	"testing"

	"github.com/kortecx/kx/pack"
)

func BenchmarkVerify(b *testing.B) {
	p := helloPack(b)
	in := trusting(b, signed(b, p, vectorKey(b)))
	b.ReportAllocs()
	for b.Loop() {
		if !Verify(p, in).OK {
			b.Fatal("refused")
		}
	}
}

// As many files and bytes as a pack may have.
func BenchmarkVerifyLargest(b *testing.B) {
	p := skillPack(b)
	for i := len(p.Files); i < pack.MaxFiles; i++ {
		p.Files = append(p.Files, pack.File{Path: fmt.Sprintf("zzz/%04d.bin", i), Data: make([]byte, 32<<10)})
	}
	in := trusting(b, signed(b, p, vectorKey(b)))
	b.SetBytes(pack.MaxBytes)
	for b.Loop() {
		if !Verify(p, in).OK {
			b.Fatal("refused")
		}
	}
}

// What a hostile signature file can cost with a ring of 100 keys.
func BenchmarkVerifyHostile(b *testing.B) {
	p := helloPack(b)
	in := trusting(b, nil)
	for i := range byte(100) {
		in.Trusted = append(in.Trusted, named("k", seedKey(b, i)))
	}
	s := statementOf(b, p, StatementOptions{})
	e := envelopeOf(b, s, seedKey(b, 120))
	for i := range byte(MaxSignatures - 1) {
		e.Signatures = append(e.Signatures, envelopeOf(b, s, seedKey(b, 121+i)).Signatures...)
	}
	in.SignatureFile = fileOf(b, e)
	for b.Loop() {
		if Verify(p, in).OK {
			b.Fatal("accepted")
		}
	}
}

func BenchmarkSign(b *testing.B) {
	p := helloPack(b)
	key := vectorKey(b)
	b.ReportAllocs()
	for b.Loop() {
		s, err := NewStatement(p, StatementOptions{Author: "acme", SignedAt: signedAt})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Sign(s, key); err != nil {
			b.Fatal(err)
		}
	}
}
