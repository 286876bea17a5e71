package scripttest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hub/storetest"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/nodetest"
	"github.com/kortecx/kx/pack"
)

// serveGit serves the repositories below a folder by git's own HTTP server for the
// rest of the script: servegit DIR NAME keeps the address as $NAME. A script without
// git on the machine is skipped.
func serveGit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: servegit DIR NAME")
	}
	git, err := exec.LookPath("git")
	ts.Check(err)
	server := httptest.NewServer(&cgi.Handler{
		Path: git, Args: []string{"http-backend"}, Stderr: io.Discard,
		Env: []string{
			"GIT_PROJECT_ROOT=" + ts.MkAbs(args[0]), "GIT_HTTP_EXPORT_ALL=1",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		},
	})
	ts.Defer(server.Close)
	ts.Setenv(args[1], server.URL)
}

// An installer that knows nothing of hubs takes skills from a hub as from any site.
func TestSkillsInstallsFromAHub(t *testing.T) {
	program := nodetest.Command(t, "skills")
	s := serve(t, sqlstore.Place{Dir: storetest.TempDir(t)})
	text := func(name string) []byte {
		return []byte("---\nname: " + name + "\ndescription: Sorts what came in. Use it every morning.\n---\n\n# " + name + "\n\nRead it and file it.\n")
	}
	for _, in := range []hubclient.PushInput{
		{Name: "alpha", Version: "1", Files: []pack.File{{Path: "SKILL.md", Data: text("alpha")}}},
		{Name: "beta", Version: "1", Files: []pack.File{{Path: "SKILL.md", Data: text("beta")}, {Path: "references/more.md", Data: []byte("More of it.\n")}}},
		skillPack("gamma", "1", "Sort the mail."),
		{Name: "waits", Version: "1", Files: []pack.File{{Path: "SKILL.md", Data: text("waits")}}},
	} {
		in.Approve = in.Name != "waits"
		if _, err := s.client.Push(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	program.Env = append(program.Env, "DISABLE_TELEMETRY=1", "DO_NOT_TRACK=1") // it would call its maker
	program.Args = append(program.Args, "add", s.address, "--yes", "--agent", "claude-code")
	out, err := program.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	folder := filepath.Join(program.Dir, ".claude", "skills")
	for name, want := range map[string][]byte{"alpha/SKILL.md": text("alpha"), "beta/SKILL.md": text("beta"), "beta/references/more.md": []byte("More of it.\n"), "gamma/SKILL.md": nil} {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || want != nil && !bytes.Equal(got, want) {
			t.Errorf("%s: %v, %q", name, err, got)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "waits")); err == nil {
		t.Error("a release that waits for review was installed")
	}

	// What kx reads from the same site is the same.
	found := newSession(t.TempDir())
	code, stdout, stderr := found.run(t.Context(), "kx", "skills find "+s.address+" --json")
	var doc struct {
		Skills []struct{ Name, Digest string }
	}
	if err := json.Unmarshal([]byte(stdout), &doc); code != 0 || err != nil || len(doc.Skills) != 3 {
		t.Errorf("%d, %v: %s%s", code, err, stdout, stderr)
	}
	for _, skill := range doc.Skills {
		if !strings.HasPrefix(skill.Digest, "sp1:") {
			t.Errorf("%+v", skill)
		}
	}
}
