//go:build unix

package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kortecx/kx/hubapi"
)

// noAnswer is a terminal on which nobody writes a line; asked is called when somebody
// waits for one.
type noAnswer struct {
	asked func()
	over  <-chan struct{}
}

func (n noAnswer) Read([]byte) (int, error) {
	n.asked()
	<-n.over
	return 0, io.EOF
}

// Ctrl-C at the question whether to update did nothing until a line was written, which
// was taken for a no and ended with 1.
func TestAnInterruptEndsTheQuestionOfAnUpdate(t *testing.T) {
	p := newPlace(t)
	if err := os.MkdirAll(filepath.Join(p.dir, "notes"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := "---\nname: notes\ndescription: Takes notes when somebody wants them.\n---\nWrite.\n"
	p.write("notes/SKILL.md", text)
	p.must("skills", "install", "./notes", "--agent", "claude-code", "--scope", "project")
	p.write("notes/SKILL.md", text+"More.\n")

	ctx, interrupt := context.WithCancel(t.Context())
	over := make(chan struct{})
	defer close(over)
	var stdout, stderr bytes.Buffer
	env := p.env("skills", "update")
	env.Stdin, env.Stdout, env.Stderr = noAnswer{interrupt, over}, &stdout, &stderr
	env.StdinTerminal, env.StderrTerminal, env.Context = true, true, ctx
	if code := Kx(env); code != hubapi.ExitInterrupted {
		t.Errorf("it ends with %d:\n%s%s", code, &stdout, &stderr)
	}
	if got := stderr.String(); !strings.Contains(got, "[y/N] \nkx: ") || !strings.HasSuffix(got, "\nkx: interrupted\n") {
		t.Errorf("it says %q", got)
	}
	if got, err := os.ReadFile(filepath.Join(p.dir, ".claude", "skills", "notes", "SKILL.md")); err != nil || string(got) != text {
		t.Errorf("%q, %v", got, err)
	}
}
