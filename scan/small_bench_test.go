package scan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kortecx/kx/pack"
)

// BenchmarkSmallPack is a pack of two short files of which there is nothing to say,
// as most are that come in: what it takes is taken from every installation.
func BenchmarkSmallPack(b *testing.B) {
	files := []pack.File{
		{Path: "SKILL.md", Data: []byte("---\nname: triage\ndescription: Sorts messages by what they are about.\n---\n\n# Triage\n\n" +
			strings.Repeat("Read the message, then decide what it is about. Ask when two answers are possible.\n", 30))},
		{Path: "references/notes.md", Data: []byte("# Notes\n\n" + strings.Repeat("A note that says where to look next.\n", 40))},
	}
	in := pack.Read("triage", files, pack.Options{})
	if in.Pack == nil {
		b.Fatal(in.Faults)
	}
	b.SetBytes(int64(len(files[0].Data) + len(files[1].Data)))
	b.ReportAllocs()
	for b.Loop() {
		if r := Pack(in.Pack, Options{}); len(r.Findings) > 0 {
			b.Fatal(fmt.Sprint(r.Findings))
		}
	}
}
