package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kortecx/kx/kazmaload"
)

// settingsRead is what the source reads from outside: variables of the environment, and
// keys of the YAML files that people write. The place is the file that reads it.
type settingsRead struct{ variables, keys map[string]string }

// readsOf looks for the calls that read: getenv with a name, readConfig and entries with
// the keys that they know.
func readsOf(t *testing.T) settingsRead {
	t.Helper()
	out := settingsRead{map[string]string{}, map[string]string{}}
	fset := token.NewFileSet()
	variable := regexp.MustCompile(`^(KX|KAZMA)_[A-Z_]+$`)
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if name == "testdata" || name == "tools" || name == "pgtest" || name == "nodetest" || name == "stracetest" || name == "timetest" || name == "memtest" || len(name) > 2 && name[0] == '.' {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || name == "reference.go" {
			return nil
		}
		file, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			return err
		}
		text := func(e ast.Expr) string {
			if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				s, _ := strconv.Unquote(lit.Value)
				return s
			}
			return ""
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if s := text(n); variable.MatchString(s) {
					out.variables[s] = path
				}
			case *ast.ValueSpec:
				if strings.HasSuffix(filepath.ToSlash(path), "kazmaload/settings.go") && n.Names[0].Name == "known" {
					for _, e := range n.Values[0].(*ast.CompositeLit).Elts {
						out.keys[text(e)] = path
					}
				}
			case *ast.CallExpr:
				called := ""
				switch f := n.Fun.(type) {
				case *ast.Ident:
					called = f.Name
				case *ast.SelectorExpr:
					called = f.Sel.Name
				}
				switch called {
				case "Getenv", "getenv", "LookupEnv":
					if s := text(n.Args[0]); s != "" {
						out.variables[s] = path
					}
				case "memclaw":
					out.variables["MEMCLAW_"+text(n.Args[0])] = path
				case "readConfig", "entries":
					for _, e := range n.Args[1:] {
						if s := text(e); s != "" {
							out.keys[s] = path
						}
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Every variable and every key that the source reads is in docs/settings.md, and no
// variable is there that nothing reads.
func TestSettingsPageIsCurrent(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "settings.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	reads := readsOf(t)
	for _, must := range []string{"KX_HOME", "KAZMA_USER_HOME", "NO_COLOR", "MEMCLAW_API_URL"} {
		if reads.variables[must] == "" {
			t.Errorf("the test did not find who reads %s: it looks in the wrong place", must)
		}
	}
	for _, must := range []string{"token_file", "require_signed", "kazmaHMAC", "reason"} {
		if reads.keys[must] == "" {
			t.Errorf("the test did not find who reads the key %s: it looks in the wrong place", must)
		}
	}
	documented := map[string]int{}
	for _, name := range regexp.MustCompile("`([A-Z][A-Z_0-9]+)`").FindAllStringSubmatch(page, -1) {
		documented[name[1]]++
	}
	for _, name := range slices.Sorted(maps.Keys(reads.variables)) {
		if documented[name] == 0 && !strings.HasPrefix(name, "CAURA_") { // the older names, told of as such
			t.Errorf("docs/settings.md does not say what %s means, which %s reads", name, reads.variables[name])
		}
	}
	_, rows, _ := strings.Cut(page, "| variable | means |\n")
	rows, _, _ = strings.Cut(rows, "\n\n")
	seen := map[string]bool{}
	for row := range strings.Lines(rows) {
		names, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " |")
		for _, name := range regexp.MustCompile("`([A-Z][A-Z_0-9]+)`").FindAllStringSubmatch(names, -1) {
			if seen[name[1]] {
				t.Errorf("docs/settings.md has %s twice", name[1])
			}
			if seen[name[1]] = true; reads.variables[name[1]] == "" {
				t.Errorf("docs/settings.md knows %s, which nothing reads", name[1])
			}
		}
	}
	if len(seen) < 10 {
		t.Fatalf("only %d variables in the table of docs/settings.md", len(seen))
	}
	_, example, _ := strings.Cut(page, "```yaml\nskills:")
	example, _, _ = strings.Cut(example, "```")
	settings, err := kazmaload.ReadSettings([]byte("skills:"+example), func(string) string { return "" })
	if err != nil || settings.Path != kazmaload.DefaultPath || !settings.AutoDiscover || settings.RequireSigned || len(settings.Disabled) != 1 {
		t.Errorf("the kazma.yaml of docs/settings.md is %+v, %v", settings, err)
	}
	for _, key := range slices.Sorted(maps.Keys(reads.keys)) {
		if !regexp.MustCompile("[`{, (]" + regexp.QuoteMeta(key) + "[`:]").MatchString(strings.ReplaceAll(page, "\n", "\n ")) {
			t.Errorf("docs/settings.md does not know the key %s, which %s reads", key, reads.keys[key])
		}
	}
}
