package deliver

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
)

// fatal is what the helpers need of a test, a benchmark or a property.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// fewer keeps a property that takes many files to a part of the usual checks, unless
// everything is to be tested or somebody asked for a number.
func fewer(t *testing.T) {
	t.Helper()
	const usual, few = "100", "15"
	checks := flag.Lookup("rapid.checks")
	if os.Getenv("KX_TEST_ALL") != "" || checks.Value.String() != usual {
		return
	}
	must(t, checks.Value.Set(few))
	t.Cleanup(func() { must(t, checks.Value.Set(usual)) })
}

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func options() InstallOptions {
	return InstallOptions{Owner: "kx-test", Now: now}
}

// read makes a pack of files in memory: path to content; a path that ends in "*"
// is executable.
func read(t fatal, name string, files map[string]string) *pack.Pack {
	t.Helper()
	var list []pack.File
	for path, data := range files {
		name, executable := strings.CutSuffix(path, "*")
		list = append(list, pack.File{Path: name, Data: []byte(data), Executable: executable})
	}
	in := pack.Read(name, list, pack.Options{})
	if err := in.Err(); err != nil {
		t.Fatalf("the test's pack is wrong: %v", err)
	}
	return in.Pack
}

func kortecx(t fatal, name, version string) *pack.Pack {
	t.Helper()
	return read(t, name, map[string]string{
		"skill.json":      fmt.Sprintf("{\"schema\": \"kortecx.skill/v1\", \"name\": %q, \"version\": %q,\n \"description\": \"Sorts mail\", \"tools\": {\"retrieve\": \"1\", \"gmail/read\": \"2\"}}\n", name, version),
		"instructions.md": "# Sort\n\nVersion " + version + ".\n",
		"README.md":       "For people.\n",
	})
}

func skillMD(t fatal, name, version string) *pack.Pack {
	t.Helper()
	return read(t, name, map[string]string{
		"SKILL.md":              "---\nname: " + name + "\ndescription: Sorts mail\n---\nVersion " + version + "\n",
		"scripts/run.sh*":       "echo " + version + "\n",
		"references/v.md":       "about " + version + "\n",
		"references/" + version: "only in " + version + "\n",
	})
}

func kazma(t fatal, name string) *pack.Pack {
	t.Helper()
	return read(t, name, map[string]string{
		"skill_manifest.yaml": "name: " + name + "\nversion: 1.0.0\ndescription: Sorts mail\nauthor: acme\nlicense: MIT\nentry_point: main.py\n",
		"main.py":             "print('hi')\n",
	})
}

func target(t testing.TB) (fsx.Root, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := fsx.Open(dir)
	must(t, err)
	t.Cleanup(func() { must(t, root.Close()) })
	return root, dir
}

func must(t fatal, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// refused checks the code and the id of a refusal.
func refused(t fatal, err error, code hubapi.Code, id string) {
	t.Helper()
	refusal, ok := errors.AsType[*hubapi.Error](err)
	switch {
	case !ok:
		t.Fatalf("the error is %v, want a refusal under %s", err, id)
	case refusal.Code != code || len(refusal.Details) == 0 || refusal.Details[0].ID != id:
		t.Fatalf("the error is %q %s %+v, want %s %s", refusal.Message, refusal.Code, refusal.Details, code, id)
	}
}

// tree reads everything below dir: path to mode and content.
func tree(t fatal, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			out[filepath.ToSlash(rel)] = info.Mode().Type().String()
			return nil
		}
		data, err := os.ReadFile(name)
		out[filepath.ToSlash(rel)] = fmt.Sprintf("%o %s", info.Mode().Perm(), data)
		return err
	})
	must(t, err)
	return out
}

// without leaves the markers out.
func without(files map[string]string) map[string]string {
	out := maps.Clone(files)
	maps.DeleteFunc(out, func(name, _ string) bool { return filepath.Base(name) == MarkerFile })
	return out
}

func same(t fatal, want, got any, o ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, o...); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

func put(t fatal, dir, name, data string) {
	t.Helper()
	at := filepath.Join(dir, name)
	must(t, os.MkdirAll(filepath.Dir(at), 0o755))
	must(t, os.WriteFile(at, []byte(data), 0o644))
}

// asInstalled is what tree gives for a folder in which p was installed.
func asInstalled(t fatal, p *pack.Pack, slug string) map[string]string {
	t.Helper()
	files, err := render(p, slug)
	must(t, err)
	out := map[string]string{}
	for _, f := range files {
		out[slug+"/"+f.Path] = fmt.Sprintf("%o %s", f.Perm, f.Data)
	}
	return out
}

// nothingStaged checks that no staging is left in dir.
func nothingStaged(t fatal, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	if i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return fsx.IsStaged(e.Name()) }); i >= 0 {
		t.Errorf("%s is left over", entries[i].Name())
	}
}
