package pack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReservedNames(t *testing.T) {
	for name, want := range map[string]string{
		".kx-owned": "", ".KX-owned": ".KX-owned", ".memclaw-owned": ".memclaw-owned", ".Memclaw-Owned": ".Memclaw-Owned",
		".memclaw-owned/x": ".memclaw-owned", "sub/.memclaw-owned": "", ".kx-owned2": "",
	} {
		for format, files := range map[Format][]File{
			SkillMD: skillFolder(skillHead+"Do.\n", name),
			Kazma:   kazmaFolder(kazmaMinimal, name),
		} {
			dir := filepath.Join(t.TempDir(), "demo")
			for _, f := range files {
				to := filepath.Join(dir, filepath.FromSlash(f.Path))
				if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(to, f.Data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			onDisk, err := Inspect(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for where, in := range map[string]*Inspection{"disk": onDisk, "memory": Read("demo", files, Options{})} {
				got := []string{}
				for _, f := range in.Faults {
					if f.ID == "path.reserved" {
						got = append(got, f.Place.File)
					}
				}
				if strings.Join(got, " ") != want {
					t.Errorf("%s, %s in %s: %v", format, name, where, in.Faults)
				}
			}
		}
	}
}

func TestYAMLTextsThatATerminalObeys(t *testing.T) {
	head := strings.Replace(skillHead, "Does things. Use when asked.", `"Does \e]8;;http://evil\a things."`, 1)
	if got := said(Read("demo", skillFolder(head+"Do.\n"), Options{}).Warnings); !strings.Contains(got, "terminal-escape@SKILL.md:3:14/description") {
		t.Error(got)
	}
	manifest := kazmaMinimal + "tags: [\"a\\x9b1m\"]\nmcp_servers:\n  - {name: \"\\u001b[2J\", type: stdio}\n"
	got := said(Read("demo", kazmaFolder(manifest), Options{}).Warnings)
	for _, want := range []string{"/tags/0", "/mcp_servers/0/name"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}
