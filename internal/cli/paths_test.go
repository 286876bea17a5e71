package cli

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
)

// missingPaths are the command lines of all commands that take a path, with one that
// leads to nothing. Those that make what is named there say why they are left out.
var missingPaths = map[string]string{
	"kx check":                      "check gone",
	"kx scan":                       "scan gone",
	"kx fmt":                        "fmt gone",
	"kx convert":                    "convert gone --to kazma",
	"kx sign":                       "sign gone --key me --author acme",
	"kx verify":                     "verify gone",
	"kx push":                       "push gone",
	"kx keys import":                "keys import me gone",
	"kx trust publisher sign":       "trust publisher sign gone",
	"kx trust publisher publish":    "trust publisher publish gone",
	"kx skills add":                 "skills add gone",
	"kx skills find":                "skills find ./gone",
	"kx skills install":             "skills install ./gone --to there",
	"kx skills merge-lock":          "skills merge-lock gone gone gone",
	"kx hub restore":                "hub restore gone --data there",
	"kx hub import":                 "hub import gone",
	"kx hub backup":                 "", // writes it
	"kx hub export":                 "", // writes it
	"kazma wizard":                  "wizard ./gone --to there --yes",
	"kazma hub register":            "hub register gone",
	"kazma hub validate":            "hub validate gone",
	"kazma hub sign":                "hub sign gone --secret-file gone",
	"kazma hub verify":              "hub verify gone",
	"kazma hub check-certification": "hub check-certification gone",
	"kazma hub submit":              "hub submit gone",
	"kazma hub publish":             "hub publish gone",
	"kazma hub import-registry":     "hub import-registry gone",
}

// A path that leads to nothing is a mistake on the command line, whatever the command
// is: exit 2, and the same words.
func TestAPathThatLeadsToNothing(t *testing.T) {
	takesPath := regexp.MustCompile(`\b(PATH|FILE|DIR|FOLDER|SOURCE|BASE)\b`)
	for program, root := range trees() {
		walk(root, program, func(path string, c *cli.Command) {
			if _, ok := missingPaths[path]; !ok && takesPath.MatchString(c.ArgsUsage) {
				t.Errorf("%s takes %s: add it to the table", path, c.ArgsUsage)
			}
		})
	}
	for path, line := range missingPaths {
		if line == "" {
			continue
		}
		program, _, _ := strings.Cut(path, " ")
		env, stdout, stderr := testEnv(t, nil, strings.Fields(line)...)
		env.Args[0] = program
		main := Kx
		if program == "kazma" {
			main = Kazma
		}
		env.Wizard = func(context.Context, *WizardHost) (*WizardResult, error) {
			t.Error("the wizard was asked")
			return nil, nil
		}
		if code := main(env); code != 2 || !strings.Contains(stderr.String(), "gone") {
			t.Errorf("%s: exit %d, want 2\n%s%s", line, code, stdout, stderr)
		} else if !strings.Contains(stderr.String(), "there is nothing at gone") && !strings.Contains(stderr.String(), "there is nothing at ./gone") {
			t.Errorf("%s: %s", line, stderr)
		}
		if _, err := os.Stat(filepath.Join(env.Dir, "there")); err == nil {
			t.Errorf("%s made a folder all the same", line)
		}
	}
}
