package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
)

// --format is the form of the output wherever help tells of it; a pack's format is
// --pack-format. Where it was called --format before, that is still read.
func TestFormatSaysOneThing(t *testing.T) {
	old := 0
	for program, root := range trees() {
		walk(root, program, func(path string, c *cli.Command) {
			for _, f := range c.Flags {
				var told bytes.Buffer
				printHelp(&told, c)
				for _, name := range f.Names() {
					if name != formatFlag {
						continue
					}
					if f.Names()[0] == "pack-format" {
						old++
						if strings.Contains(told.String(), "--format") || !strings.Contains(told.String(), "--pack-format") {
							t.Errorf("%s --help tells of the old name:\n%s", path, &told)
						}
					} else if !strings.HasPrefix(flagUsage(f), "output FORMAT") {
						t.Errorf("%s: --format is %q", path, flagUsage(f))
					}
				}
			}
		})
	}
	if old != 5 {
		t.Errorf("%d commands read the old name, want 5: new skill, push, sign, verify, search", old)
	}
	for _, args := range [][]string{
		{"new", "skill", "one", "--format", "skill-md"}, {"new", "skill", "two", "--pack-format", "skill-md"}, {"search", "--format", "kazma"}, {"search", "--pack-format", "kazma"},
	} {
		env, stdout, stderr := testEnv(t, nil, args...)
		if code := Kx(env); code != 0 {
			t.Errorf("%v: exit %d\n%s%s", args, code, stdout, stderr)
		}
	}
	env, _, stderr := testEnv(t, nil, "new", "skill", "three", "--format", "json")
	if code := Kx(env); code != 2 || !strings.Contains(stderr.String(), "--json prints the result as JSON") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// The catalog's commands take each other's flags, as those of the reference do; help
// tells of the own ones only.
func TestHelpOfTheCatalogHasOnlyItsOwnFlags(t *testing.T) {
	own := map[string]string{"kx skills add": "dir manifest instructions", "kx skills list": "", "kx skills show": "name", "kx skills remove": "name"}
	walk(trees()["kx"], "kx", func(path string, c *cli.Command) {
		mine, ok := own[path]
		if !ok {
			return
		}
		var told bytes.Buffer
		printHelp(&told, c)
		for _, name := range strings.Fields("dir manifest instructions name") {
			if got, want := strings.Contains(told.String(), "\n  --"+name+" "), strings.Contains(" "+mine+" ", " "+name+" "); got != want {
				t.Errorf("%s --help tells of --%s: %v, want %v", path, name, got, want)
			}
		}
	})
	env, stdout, stderr := testEnv(t, nil, "skills", "list", "--name", "x", "--dir", "y")
	if code := Kx(env); code != 0 {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}
