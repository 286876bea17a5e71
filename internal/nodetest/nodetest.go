// Package nodetest runs programs of others that are written for Node: the MCP
// conformance suite, Inspector and client, and other installers of skills. Only
// tests use it; nothing of them is shipped.
//
// Call Command.
package nodetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Variable names the environment variable with the folder that .ci/node/install
// filled.
const Variable = "KX_TEST_NODE"

// Dir is that folder. Without it the test is skipped, or fails where KX_TEST_ALL=1
// asks for every test.
func Dir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv(Variable)
	if dir == "" {
		if os.Getenv("KX_TEST_ALL") == "1" {
			t.Fatalf("no Node: %s is not set", Variable)
		}
		t.Skipf("no Node: %s is not set (.ci/node/install fills a folder)", Variable)
	}
	return dir
}

// Command is a program of node_modules/.bin, or node itself, in a fresh HOME and
// with nothing else of the environment. It ends with the test.
func Command(t testing.TB, program string, args ...string) *exec.Cmd {
	t.Helper()
	bin := filepath.Join(Dir(t), "node_modules", ".bin")
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, program), args...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + t.TempDir(), "NO_COLOR=1", "CI=true"}
	return cmd
}
