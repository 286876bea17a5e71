//go:build unix

package scripttest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/kortecx/kx/internal/timetest"
)

// A pseudo-terminal that never answers is what an agent, ssh -tt or expect gives a
// program. Asking it anything costs seconds and prints escape bytes.
func TestNoProbeOfASilentTerminal(t *testing.T) {
	for _, name := range []string{"kx", "kazma"} {
		for _, args := range [][]string{{"--version"}, {"--help"}} {
			cmd := exec.Command(program(t, name), args...)
			cmd.Env = []string{"TERM=xterm-256color", "HOME=" + t.TempDir()}
			start := time.Now()
			terminal, err := pty.Start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			out, _ := io.ReadAll(terminal) // ends with an I/O error when the program closes its side
			if err := cmd.Wait(); err != nil {
				t.Errorf("%s %v: %v", name, args, err)
			}
			_ = terminal.Close()
			if took := time.Since(start); took > timetest.Limit(time.Second) {
				t.Errorf("%s %v took %v on a silent terminal", name, args, took)
			}
			if len(out) == 0 || bytes.ContainsRune(out, 0x1b) {
				t.Errorf("%s %v wrote %q, want text without escape bytes", name, args, out)
			}
		}
	}
}

// A person who is asked may take as long as they like; other commands want the hub
// meanwhile, and gave up after ten seconds.
func TestAQuestionDoesNotKeepTheHub(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name            string
		install, update []string
		other           []string
	}{
		{"kazma", []string{"kazma", "hub", "install", "demo", "--to", "skills"}, []string{"kazma", "hub", "update", "--to", "skills"}, []string{"kazma", "hub", "stats"}},
		{"kazma install", []string{"kazma", "hub", "install", "demo", "--to", "skills"}, []string{"kazma", "hub", "install", "demo", "--to", "skills"}, []string{"kazma", "hub", "stats"}},
		{"kx", []string{"kx", "skills", "install", "acme/demo", "--to", "skills", "--save"}, []string{"kx", "skills", "update"}, []string{"kx", "search", "demo"}},
		{"kx install", []string{"kx", "skills", "install", "acme/demo", "--to", "skills", "--save"}, []string{"kx", "skills", "install", "acme/demo", "--to", "skills", "--save"}, []string{"kx", "search", "demo"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			command := func(args ...string) *exec.Cmd {
				cmd := exec.Command(program(t, args[0]), args[1:]...)
				cmd.Dir, cmd.Env = dir, []string{"TERM=dumb", "HOME=" + dir}
				return cmd
			}
			run := func(args ...string) {
				t.Helper()
				if out, err := command(args...).CombinedOutput(); err != nil {
					t.Fatalf("%v: %v\n%s", args, err, out)
				}
			}
			register := func(version string) {
				t.Helper()
				files := map[string]string{
					"main.py":             "class Demo:\n    pass\n",
					"skill_manifest.yaml": "name: demo\nversion: " + version + "\ndescription: Asks.\nauthor: acme\nlicense: MIT\nentry_point: main:Demo\n",
				}
				for name, text := range files {
					file := filepath.Join(dir, "demo", name)
					if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
						t.Fatal(err)
					}
				}
				run("kazma", "hub", "register", "demo")
			}
			if err := os.WriteFile(filepath.Join(dir, "kx.yaml"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			register("1.0.0")
			run(tt.install...)
			register("1.1.0")
			asking := command(tt.update...)
			terminal, err := pty.Start(asking)
			if err != nil {
				t.Fatal(err)
			}
			defer terminal.Close()
			var said bytes.Buffer
			for block := make([]byte, 4096); !strings.Contains(said.String(), "[y/N]"); {
				n, err := terminal.Read(block)
				said.Write(block[:n])
				if err != nil {
					t.Fatalf("%v asked nothing: %v\n%s", tt.update, err, said.String())
				}
			}
			start := time.Now()
			run(tt.other...)
			if took := time.Since(start); took > timetest.Limit(5*time.Second) {
				t.Errorf("%v waited %v for the hub", tt.other, took)
			}
			if _, err := terminal.WriteString("y\n"); err != nil {
				t.Fatal(err)
			}
			rest, _ := io.ReadAll(terminal)
			if err := asking.Wait(); err != nil {
				t.Errorf("%v: %v\n%s%s", tt.update, err, said.String(), rest)
			}
			if data, err := os.ReadFile(filepath.Join(dir, "skills", "demo", "skill_manifest.yaml")); err != nil || !strings.Contains(string(data), "1.1.0") {
				t.Errorf("%v, %s: the yes was not carried out\n%s", err, data, rest)
			}
		})
	}
}
