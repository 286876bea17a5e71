package scripttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/kortecx/kx/internal/stracetest"
)

// Peers 20: nothing leaves the machine that a command did not ask for. Commands about
// what is here open no socket of the network at all.
func TestNothingLeavesTheMachine(t *testing.T) {
	t.Parallel()
	strace := stracetest.Find(t)
	dir := t.TempDir()
	for _, d := range []string{".git", ".claude", "notes"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text := "---\nname: notes\ndescription: Takes notes when somebody wants them.\n---\n\nSee https://example.com/notes and write.\n"
	if err := os.WriteFile(filepath.Join(dir, "notes", "SKILL.md"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	network := regexp.MustCompile(`.*\bAF_INET6?\b.*`)
	for _, args := range [][]string{
		{"skills", "install", "./notes", "--agent", "claude-code"},
		{"skills", "install", "--frozen"},
		{"skills", "outdated"},
		{"push", "notes", "--approve"},
		{"sync", "--target", "agent/skills:owned", "--node", "laptop"},
		{"doctor"},
		{"skills", "remove", "notes", "--installed"},
	} {
		trace := filepath.Join(dir, ".trace")
		cmd := exec.Command(strace, append([]string{"-f", "-qq", "-e", "trace=socket,connect,sendto,sendmsg", "-o", trace, program(t, "kx")}, args...)...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "KX_HOME=" + filepath.Join(dir, ".kx")}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("kx %v: %v\n%s", args, err, out)
		}
		data, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		if seen := network.FindAll(data, 5); seen != nil {
			t.Errorf("kx %v: %s", args, seen)
		}
	}
	// The same look finds a command that does ask: the test can fail.
	trace := filepath.Join(dir, ".trace")
	cmd := exec.Command(strace, "-f", "-qq", "-e", "trace=socket,connect", "-o", trace, program(t, "kx"), "search", "x", "--endpoint", "http://127.0.0.1:1")
	cmd.Env = []string{"HOME=" + dir, "KX_HOME=" + filepath.Join(dir, ".kx")}
	_ = cmd.Run()
	if data, _ := os.ReadFile(trace); !network.Match(data) {
		t.Errorf("a question to a hub was not seen:\n%s", data)
	}
}
