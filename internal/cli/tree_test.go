package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v3"
)

var update = flag.Bool("update", false, "rewrite docs/ from the command tree")

func trees() map[string]*cli.Command {
	out := map[string]*cli.Command{}
	for program, tree := range map[string]func(*app) *cli.Command{"kx": kxTree, "kazma": kazmaTree} {
		a := &app{program: program}
		out[program] = tree(a)
		a.finish(out[program])
	}
	return out
}

func walk(c *cli.Command, path string, visit func(string, *cli.Command)) {
	visit(path, c)
	for _, sub := range c.Commands {
		walk(sub, path+" "+sub.Name, visit)
	}
}

func TestEveryCommandIsDescribed(t *testing.T) {
	for program, root := range trees() {
		walk(root, program, func(path string, c *cli.Command) {
			if c.Usage == "" || strings.HasSuffix(c.Usage, ".") || c.Usage != strings.ToLower(c.Usage[:1])+c.Usage[1:] {
				t.Errorf("%s: usage %q must be one lower-case phrase without a full stop", path, c.Usage)
			}
			if len(c.Commands) == 0 && len(specOf(c).examples) == 0 {
				t.Errorf("%s has no example", path)
			}
			if c.OnUsageError == nil || !c.DisableSliceFlagSeparator {
				t.Errorf("%s was not finished", path)
			}
			for _, f := range c.Flags {
				if flagUsage(f) == "" {
					t.Errorf("%s: flag %v says nothing about itself", path, f.Names())
				}
				if d, ok := f.(cli.DocGenerationFlag); ok && d.TakesValue() && valueName(f) == "VALUE" {
					t.Errorf("%s: flag %v does not name its value in backquotes", path, f.Names())
				}
			}
		})
	}
}

func TestEveryCommandHasJSON(t *testing.T) {
	for program, root := range trees() {
		walk(root, program, func(path string, c *cli.Command) {
			if len(c.Commands) > 0 {
				return
			}
			for _, f := range c.Flags {
				if f.Names()[0] == "json" || (f.Names()[0] == "format" && strings.Contains(flagUsage(f), "json")) {
					return
				}
			}
			t.Errorf("%s has no --json", path)
		})
	}
}

func TestEveryJSONOutputIsDocumented(t *testing.T) {
	for program, root := range trees() {
		walk(root, program, func(path string, c *cli.Command) {
			if len(c.Commands) == 0 && (outputOf(path) == nil || len(outputKeys(outputOf(path))) == 0) {
				t.Errorf("%s: say in outputs.go what --json prints", path)
			}
		})
	}
}

func TestReferencePagesAreCurrent(t *testing.T) {
	for _, program := range []string{"kx", "kazma"} {
		var b bytes.Buffer
		Reference(&b, program)
		page := filepath.Join("..", "..", "docs", program+".md")
		if *update {
			if err := os.WriteFile(page, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), b.String()); diff != "" {
			t.Errorf("docs/%s.md differs from the command tree; run: go test ./internal/cli -run Reference -update\n%s", program, diff)
		}
	}
}

func TestNearest(t *testing.T) {
	words := []string{"check", "push", "pull", "skills", "version"}
	for word, want := range map[string]string{
		"chekc": "check", "phsu": "push", "pul": "pull", "skill": "skills", "verison": "version", "sk": "skills", "": "", "zzz": "",
	} {
		if got := nearest(word, words); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
