package pack_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kortecx/kx/pack"
)

const benchManifest = `{
  "schema": "kortecx.skill/v1",
  "name": "email-triage",
  "version": "3",
  "description": "Sort the inbox, draft answers and keep a list of what is still open.",
  "tags": ["email", "triage", "inbox"],
  "tools": {
    "gmail/search": "1",
    "gmail/read": "1",
    "retrieve": "2"
  }
}
`

func BenchmarkParseManifest(b *testing.B) {
	data := []byte(benchManifest)
	b.ReportAllocs()
	for b.Loop() {
		if _, faults, _ := pack.ParseManifest(data, pack.PackForm); faults != nil {
			b.Fatal(faults)
		}
	}
}

func BenchmarkReadSmallSkillMD(b *testing.B) {
	files := []pack.File{{Path: "SKILL.md", Data: []byte("---\nname: triage\ndescription: Sorts messages by what they are about.\n---\n\n# Triage\n\n" +
		strings.Repeat("Read the message, then decide what it is about. Ask when two answers are possible.\n", 30))}}
	b.ReportAllocs()
	for b.Loop() {
		if in := pack.Read("triage", files, pack.Options{}); in.Pack == nil {
			b.Fatal(in.Faults)
		}
	}
}

func BenchmarkInspect(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "email-triage")
	writeFiles(b, dir, map[string]string{
		"skill.json": benchManifest, "instructions.md": "# Triage\n\nRead the inbox first.\n", "README.md": "Docs.\n",
	})
	b.ReportAllocs()
	for b.Loop() {
		in, err := pack.Inspect(dir, pack.Options{})
		if err != nil || in.Err() != nil || len(in.Layout) > 0 {
			b.Fatal(err, in)
		}
	}
}

func writeFiles(tb testing.TB, dir string, files map[string]string) {
	tb.Helper()
	for name, content := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
}
