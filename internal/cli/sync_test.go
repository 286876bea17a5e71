//go:build unix

package cli

import (
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hub/sqlstore"
)

// everything is each path below dir with its mode, its times and its content.
func everything(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s %s", path, info.Mode(), info.ModTime())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %x", data)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// aHub serves one active skill, triage.
func aHub(t *testing.T) string {
	t.Helper()
	author := newPlace(t)
	author.must("new", "skill", "triage")
	author.must("push", "triage", "--approve")
	store, err := sqlstore.Open(t.Context(), filepath.Join(author.vars["KX_HOME"], "hub"), sqlstore.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(httpapi.Handler(hub.New(store, hub.Config{Now: time.Now}), httpapi.DevLocal(), httpapi.Options{}))
	t.Cleanup(func() {
		server.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return server.URL
}

// sync --dry-run made KX_HOME, an owner id, a folder for what it remembers and an empty
// hub. It changes nothing, wherever it is asked to look.
func TestSyncDryRunWritesNothing(t *testing.T) {
	endpoint := aHub(t)
	type example struct {
		prepare func(p *place)
		args    string
		says    string // empty: something is left to do
	}
	cases := map[string]example{
		"an empty home":    {func(p *place) { mkdir(p.t, p.dir, ".home") }, "--endpoint " + endpoint, "would write"},
		"no home":          {func(*place) {}, "--endpoint " + endpoint, "would write"},
		"no hub either":    {func(*place) {}, "", "converged: 0 of 0"},
		"an empty own hub": {func(p *place) { mkdir(p.t, p.dir, ".home/hub") }, "", "converged: 0 of 0"},
		"a hub of one's own": {func(p *place) {
			p.must("new", "skill", "sorter")
			p.must("push", "sorter", "--approve")
		}, "", "would write"},
		"after a real run": {func(p *place) {
			p.must("sync", "--target", "agent/skills:owned", "--endpoint", endpoint)
			p.write("agent/skills/triage/SKILL.md", "edited")
		}, "--node n --endpoint " + endpoint, ""},
	}
	if runtime.GOOS == "linux" {
		cases["a home that cannot be made"] = example{func(p *place) { p.vars["KX_HOME"] = "/proc/kx/home" }, "--endpoint " + endpoint, "would write"}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			mkdir(t, p.dir, "shared/skills/mine")
			mkdir(t, p.dir, ".openclaw")
			p.write(".openclaw/openclaw.json", "{}")
			c.prepare(p)
			before := everything(t, p.dir)
			code, stdout, stderr := p.kx(strings.Fields("sync --dry-run --target agent/skills:owned --target shared/skills:additive:register " + c.args)...)
			if after := everything(t, p.dir); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
			if done := code == 0; done != (c.says != "") || !strings.Contains(stdout, c.says) {
				t.Errorf("it ends with %d:\n%s%s", code, stdout, stderr)
			}
		})
	}
}

func mkdir(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
		t.Fatal(err)
	}
}
