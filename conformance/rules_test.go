package conformance

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/kortecx/kx/pack"
)

// An id is a family and a name. File names and Go qualifiers look alike; a file
// name has one of these endings.
var (
	idShape   = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*\.[a-z0-9]+(-[a-z0-9]+)*$`)
	fileNames = regexp.MustCompile(`\.(json|md|yaml|py|go|mod)$`)
	// parts from which ids are put together
	idPart = regexp.MustCompile(`^(\.[a-z]+(-[a-z]+)*|[a-z]+\.([a-z]+-)?|-format)$`)
	// ids without a dot, which only their family's word tells from other text
	bareIDs = map[string]bool{"terminal-escape": true}
)

// emitted collects every id that stands as a string in the sources of the readers
// and of this package.
func emitted(t *testing.T) map[string]string {
	t.Helper()
	ids := map[string]string{}
	for _, dir := range []string{"../pack", "../internal/strictjson", "../internal/yamledit", "."} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no sources in %s: %v", dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == "rulelist.go" {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			text := func(n ast.Node) string {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return ""
				}
				s, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ImportSpec:
					return false
				case *ast.BinaryExpr:
					for _, part := range []string{text(n.X), text(n.Y)} {
						whole, known := composed[part]
						if idPart.MatchString(part) && !known {
							t.Errorf("%q of %s looks like a part of ids: say in this test of which", part, file)
						}
						for _, id := range whole {
							ids[id] = file
						}
					}
				case *ast.BasicLit:
					if s := text(n); idShape.MatchString(s) && !fileNames.MatchString(s) || bareIDs[s] {
						ids[s] = file
					}
				}
				return true
			})
		}
	}
	return ids
}

// composed says which ids the sources put together from a part.
var composed = map[string][]string{
	".missing": {"name.missing", "version.missing", "description.missing", "author.missing", "license.missing"},
	".empty": {
		"name.empty", "version.empty", "description.empty", "author.empty", "license.empty",
		"capabilities.empty", "permissions.empty", "tags.empty", "allowed-tools.empty",
	},
	".type": {
		"name.type", "version.type", "description.type", "author.type", "license.type", "min-core-version.type",
		"capabilities.type", "permissions.type", "tags.type", "entry.type", "compatibility.type", "metadata.type", "allowed-tools.type",
	},
	".not-string": {"name.not-string", "description.not-string", "license.not-string", "compatibility.not-string", "metadata.not-string"},
	".many":       {"capabilities.many", "tags.many", "mcp.many"},
	"mcp.no-":     {"mcp.no-name", "mcp.no-type"},
	"sign.":       {"sign.checksum-format", "sign.signature-format"},
	"-format":     nil, ".py": nil, ".json": nil, ".git": nil, ".inf": nil, ".nan": nil, // no ids by themselves
}

// notIDs look like ids and are not.
var notIDs = map[string]bool{"os.system": true}

func TestEveryIDHasARule(t *testing.T) {
	ids := emitted(t)
	if len(ids) < 60 {
		t.Fatalf("only %d ids found: the test looks in the wrong place", len(ids))
	}
	for id, file := range ids {
		if _, ok := ruleByID(id); !ok && !notIDs[id] {
			t.Errorf("%s of %s has no rule", id, file)
		}
	}
	for _, r := range Rules() {
		if ids[r.ID] == "" {
			t.Errorf("the rule %s is about nothing that is ever reported", r.ID)
		}
	}
}

func TestRulesAreSortedAndWhole(t *testing.T) {
	list := Rules()
	if !sort.SliceIsSorted(list, func(i, k int) bool { return list[i].ID < list[k].ID }) {
		t.Error("not sorted")
	}
	for i, r := range list {
		if i > 0 && list[i-1].ID == r.ID {
			t.Errorf("%s comes twice", r.ID)
		}
		if !strings.HasSuffix(r.Summary, ".") || strings.Contains(strings.TrimSuffix(r.Summary, "."), ". ") || r.Summary[0] < 'A' || r.Summary[0] > 'Z' {
			t.Errorf("%s: %q is not one sentence", r.ID, r.Summary)
		}
		for _, f := range pack.Formats {
			if r.Check(f) == "" {
				t.Errorf("%s has no check for %s", r.ID, f)
			}
		}
		if len(r.Formats()) == 0 || !regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)*$`).MatchString(r.ID) {
			t.Errorf("%s: formats %v", r.ID, r.Formats())
		}
		if r.Severity != Error && r.Severity != Warning {
			t.Errorf("%s has severity %q", r.ID, r.Severity)
		}
	}
	list[0].ID = "changed"
	if Rules()[0].ID == "changed" {
		t.Error("the table can be changed from outside")
	}
}
