package deliver

import (
	"strings"
	"testing"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
)

func TestRenderKortecx(t *testing.T) {
	p := kortecx(t, "email-triage", "3")
	files, err := render(p, pack.SkillName(p))
	must(t, err)
	same(t, []fsx.File{{Path: "SKILL.md", Perm: 0o644, Data: []byte(`---
name: email-triage
description: "Sorts mail"
metadata:
  version: "3"
  kx-digest: "` + string(p.Digest()) + `"
  kx-wishes: "gmail/read@2 retrieve@1"
---
# Sort

Version 3.
`)}}, files)
	if strings.Contains(string(files[0].Data), "allowed-tools") {
		t.Error("a wish became a grant")
	}
}

func TestRenderCopiesOthersWhole(t *testing.T) {
	for _, p := range []*pack.Pack{skillMD(t, "hello", "1"), kazma(t, "hello")} {
		files, err := render(p, pack.SkillName(p))
		must(t, err)
		if len(files) != len(p.Files) {
			t.Fatalf("%d files of %d", len(files), len(p.Files))
		}
		for i, f := range files {
			of := p.Files[i]
			if f.Path != of.Path || string(f.Data) != string(of.Data) || of.Executable != (f.Perm == 0o755) || !of.Executable && f.Perm != 0o644 {
				t.Errorf("%s %o became %s %o", of.Path, of.Data, f.Path, f.Perm)
			}
		}
	}
}

func TestRenderRefuses(t *testing.T) {
	for _, name := range []string{".kx-owned", ".KX-owned", ".memclaw-owned", ".kx-owned/x"} {
		p := skillMD(t, "hello", "1")
		p.Files = append(p.Files, pack.File{Path: name})
		_, err := render(p, pack.SkillName(p))
		refused(t, err, hubapi.Invalid, IDReserved)
	}
	// Names that a kortecx pack may have and a skill may not.
	for _, name := range []string{"._-", "-", "..."} {
		p := read(t, name, map[string]string{
			"skill.json":      `{"schema":"kortecx.skill/v1","name":"` + name + `"}`,
			"instructions.md": "Do.\n",
		})
		_, err := render(p, pack.SkillName(p))
		refused(t, err, hubapi.Invalid, IDName)
	}
}
