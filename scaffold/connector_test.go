package scaffold

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kortecx/kx/pack"
)

// The new connector is a module of its own: it is built, vetted and tested as its
// author would do it first.
func TestNewConnectorBuildsAndPassesItsTest(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		if os.Getenv("KX_TEST_ALL") != "" {
			t.Fatal("there is no go tool")
		}
		t.Skip("there is no go tool")
	}
	dir := t.TempDir()
	made, err := NewConnector("weather", dir)
	if err != nil {
		t.Fatal(err)
	}
	if made.Tool != "weather/count-words@1" || strings.Join(made.Files, " ") != "README.md go.mod go.sum main.go main_test.go" {
		t.Errorf("made %+v", made)
	}
	for _, args := range [][]string{{"vet", "./..."}, {"test", "./..."}} {
		cmd := exec.Command(goTool, args...)
		cmd.Dir = made.Path
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	for _, file := range made.Files {
		data, err := os.ReadFile(filepath.Join(made.Path, file))
		if err != nil || strings.Contains(string(data), "{{") {
			t.Errorf("%s is not filled in: %v", file, err)
		}
	}
	_, err = NewConnector("weather", dir)
	if e, ok := errors.AsType[*pack.Error](err); !ok || e.ID != "new.exists" {
		t.Errorf("a second one over it: %v", err)
	}
}

// A module that is called like a package of Go's own, time or main, cannot be built.
func TestConnectorModuleIsNoPackageOfGo(t *testing.T) {
	for _, name := range []string{"time", "main", "internal"} {
		made, err := NewConnector(name, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(made.Path, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		line, _, _ := strings.Cut(string(data), "\n")
		module := strings.TrimPrefix(line, "module ")
		// Go keeps paths without a dot in their first part for itself.
		if host, _, _ := strings.Cut(module, "/"); !strings.Contains(host, ".") || !strings.HasSuffix(module, "/"+name) {
			t.Errorf("the module of %s is %q", name, module)
		}
	}
}

func TestConnectorNames(t *testing.T) {
	for _, name := range []string{"", "Weather", "2go", "a/b", "..", "con", "a b", strings.Repeat("x", 65)} {
		if _, err := NewConnector(name, t.TempDir()); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
}

// The modules of a new connector are those that kx itself is built and tested with.
func TestConnectorModulesAreOurs(t *testing.T) {
	ours, err := os.ReadFile(filepath.Join("..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := templates.ReadFile("templates/connector/go.mod.txt")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for line := range strings.Lines(string(ours)) {
		have[strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "// indirect"))] = true
	}
	for line := range strings.Lines(string(theirs)) {
		line = strings.TrimPrefix(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "// indirect")), "require ")
		if strings.Contains(line, " v") && !have[line] {
			t.Errorf("kx does not use %s: go mod tidy in a new connector with kx's versions, and take its go.mod and go.sum over", line)
		}
	}
}
