//go:build unix

package scripttest

import (
	"bytes"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/creack/pty"
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
			if took := time.Since(start); took > time.Second {
				t.Errorf("%s %v took %v on a silent terminal", name, args, took)
			}
			if len(out) == 0 || bytes.ContainsRune(out, 0x1b) {
				t.Errorf("%s %v wrote %q, want text without escape bytes", name, args, out)
			}
		}
	}
}
