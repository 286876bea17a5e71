package wizard

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/kortecx/kx/internal/cli"
)

// shell runs one line as a person would who copied it, and gives what it printed.
func (w *world) shell(line string) (string, error) {
	w.t.Helper()
	if runtime.GOOS == "windows" {
		w.t.Skip("the command is one for a POSIX shell")
	}
	binary, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	bin := w.t.TempDir()
	for _, program := range []string{"kx", "kazma"} {
		script := "#!/bin/sh\n" + asProgram + "=" + program + " exec '" + binary + "' \"$@\"\n"
		if err := os.WriteFile(filepath.Join(bin, program), []byte(script), 0o755); err != nil {
			w.t.Fatal(err)
		}
	}
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = w.project
	cmd.Env = []string{"HOME=" + w.home, "KX_HOME=" + w.vars["KX_HOME"], "PATH=" + bin + ":" + os.Getenv("PATH"), "TERM=xterm", "GOCOVERDIR=" + bin}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The command that a wizard prints does again what was done: it runs without a
// question, needs no flag that it does not have, and writes the same files.
func TestThePrintedCommandRuns(t *testing.T) {
	for _, tt := range []struct {
		name     string
		program  string
		answers  string // on standard input, one a line
		contains string
		lacks    string
	}{
		{"a release", "kx", "triage\n1\n1\n1\nyes\n", "kx skills install acme/triage", "findings"},
		{"a release", "kazma", "triage\n1\n1\n1\nyes\n", "kazma wizard acme/triage", "findings"},
		{"links", "kx", "triage\n1\n1,2\n1\n2\nyes\n", "--link --yes", "findings"},
		{"something grave of a stranger", "kx", "../strangers/gruff\n1\nyes\n1\n1\nyes\n", "--accept-findings --yes", "--allow-findings"},
		{"something grave of a stranger", "kazma", "../strangers/gruff\n1\nyes\n1\n1\nyes\n", "--accept-findings --yes", "--allow-findings"},
		{"something grave in a folder", "kx", "../strangers/gruff\n1\nyes\n./o ut\nyes\n", "'./o ut' --accept-findings --yes", "--allow-findings"},
		{"something critical", "kx", "../strangers/danger\n1\nyes\n1\n1\nyes\n", "--allow-findings --yes", "--accept-findings"},
		{"something critical", "kazma", "../strangers/danger\n1\nyes\n1\n1\nyes\n", "--allow-findings --yes", "--accept-findings"},
		{"something grave that a reviewer let in", "kx", "gruff\n1\nyes\n1\n1\nyes\n", "acme/gruff --agent claude-code", "--allow-findings"},
	} {
		t.Run(tt.program+" "+tt.name, func(t *testing.T) {
			w := furnished(t)
			w.write("strangers/gruff/SKILL.md", gruffText)
			w.run("kx", "push", "../strangers/gruff", "--author", "acme", "--approve")
			w.vars["TERM"] = "dumb"
			args, run := []string{"wizard"}, cli.Kazma
			if tt.program == "kx" {
				args, run = []string{"skills", "install"}, cli.Kx
			}
			env, stdout, stderr := w.env(tt.program, args...)
			env.Stdin, env.StdinTerminal, env.StderrTerminal = strings.NewReader(tt.answers), true, true
			if code := run(env); code != 0 {
				t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
			}
			_, line, found := strings.Cut(stderr.String(), "the same without questions:\n  ")
			line = strings.TrimSpace(line)
			if !found || !strings.Contains(line, tt.contains) || strings.Contains(line, tt.lacks) {
				t.Fatalf("the command is %q, want %q and not %q", line, tt.contains, tt.lacks)
			}
			lock := filepath.Join(w.project, "kx-lock.json")
			before, locked := tree(t, w.project, "kx-lock.json"), filesOf(lock)
			for _, dir := range []string{".claude", ".agents", "o ut", "kx-lock.json"} {
				if err := os.RemoveAll(filepath.Join(w.project, dir)); err != nil {
					t.Fatal(err)
				}
			}
			if out, err := w.shell(line); err != nil {
				t.Fatalf("%s\n%v\n%s", line, err, out)
			}
			if after := tree(t, w.project, "kx-lock.json"); !sameTree(before, after) {
				t.Errorf("%s\nwrites %v, want %v", line, after, before)
			}
			if now := filesOf(lock); now != locked {
				t.Errorf("the lock is\n%s\nwant\n%s", now, locked)
			}
			if !strings.Contains(line, "findings") {
				return
			}
			// On a machine that never installed it.
			for _, name := range []string{lock, filepath.Join(w.vars["KX_HOME"], "store")} {
				if err := os.RemoveAll(name); err != nil {
					t.Fatal(err)
				}
			}
			without := strings.NewReplacer(" --accept-findings", "", " --allow-findings", "").Replace(line)
			out, err := w.shell(without)
			reviewed := strings.Contains(line, "acme/")
			if refused := err != nil && strings.Contains(out, "-findings"); refused == reviewed {
				t.Errorf("%s\n%v\n%s", without, err, out)
			}
		})
	}
}

// filesOf is what a file holds; empty for none.
func filesOf(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return string(data)
}
