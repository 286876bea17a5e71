//go:build unix

package wizard

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/internal/timetest"
)

// patience is how long a test waits for a picture on a loaded machine.
var patience = timetest.Limit(30 * time.Second)

// terminal is a real one, drawn by tmux, in which the program runs.
type terminal struct {
	t      *testing.T
	socket string
	pid    string // the file with the program's process id
}

func newTerminal(t *testing.T, w *world, width, height int, program string, args ...string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		if os.Getenv("KX_TEST_ALL") == "1" {
			t.Fatal("tmux is not installed")
		}
		t.Skip("tmux is not installed")
	}
	dir, err := os.MkdirTemp("", "kxt") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	x := &terminal{t: t, socket: filepath.Join(dir, "s"), pid: filepath.Join(dir, "pid")}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`cd %s; sh -c 'echo $$ >%s; exec %s %s'; echo "exit $?"; stty -a | grep -ow -e '-*echo'; sleep 1000`,
		w.project, x.pid, binary, strings.Join(args, " "))
	cmd := exec.Command("tmux", "-S", x.socket, "-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), script)
	cmd.Env = []string{
		asProgram + "=" + program, "HOME=" + w.home, "KX_HOME=" + w.vars["KX_HOME"], "PATH=" + os.Getenv("PATH"),
		"TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "GOCOVERDIR=" + dir,
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v\n%s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", x.socket, "kill-server").Run() })
	return x
}

func (x *terminal) tmux(args ...string) string {
	x.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-u", "-S", x.socket}, args...)...).CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (x *terminal) press(keys ...string) {
	x.t.Helper()
	x.tmux(append([]string{"send-keys"}, keys...)...)
}

func (x *terminal) typed(text string) { x.t.Helper(); x.tmux("send-keys", "-l", text) }

// sees waits for a picture with every text in it, and gives it once it stays.
func (x *terminal) sees(texts ...string) string {
	x.t.Helper()
	before, picture := "", ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(15 * time.Millisecond) {
		picture = x.tmux("capture-pane", "-p")
		all := picture == before
		before = picture
		for _, text := range texts {
			all = all && strings.Contains(picture, text)
		}
		if all {
			return trimmed(strings.TrimRight(picture, "\n"))
		}
	}
	x.t.Fatalf("no picture with %q came; this is the last one:\n%s", texts, picture)
	return ""
}

// left holds the terminal against how it was before: the cursor can be seen, the
// screen is the ordinary one, and what is typed is echoed.
func (x *terminal) left(exit int) {
	x.t.Helper()
	x.sees(fmt.Sprintf("exit %d", exit), "\necho")
	if got := strings.TrimSpace(x.tmux("display-message", "-p", "#{cursor_flag} #{alternate_on} #{mouse_any_flag}")); got != "1 0 0" {
		x.t.Errorf("cursor, alternate screen, mouse: %s, want 1 0 0", got)
	}
}

// The whole way in a real terminal, at a comfortable size and at a small one. The
// pictures of the first are the demo.
func TestTheWholeWayInATerminal(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ width, height int }{{100, 30}, {44, 16}} {
		t.Run(fmt.Sprintf("%dx%d", size.width, size.height), func(t *testing.T) {
			t.Parallel()
			w := furnished(t)
			x := newTerminal(t, w, size.width, size.height, "kazma", "wizard")
			var demo strings.Builder
			shot := func(caption string, texts ...string) {
				t.Helper()
				fmt.Fprintf(&demo, "--- %s\n\n%s\n\n", caption, x.sees(texts...))
			}
			shot("kazma wizard", "Install skills for your agents")
			x.press("Enter")
			shot("enter: what the hub has", "acme/mailbox@2", "none chosen")
			x.typed("drfat")
			shot(`"drfat" is typed: a typo finds drafts`, "drfat", "▸ [ ] acme/triage@1")
			x.press("Tab")
			x.sees("1 chosen: triage")
			x.press("C-u")
			x.typed("../strangers")
			x.sees("painted", "danger")
			x.press("Tab")
			shot(`tab chooses it; then "../strangers", the path of a folder, and tab`, "2 chosen: triage, danger")
			x.press("Enter")
			shot("enter: the review of the first", "acme/triage@1   1 of 2")
			x.press("Enter")
			shot("enter: the review of the other one", "danger   2 of 2")
			x.press("Enter")
			shot("enter: what speaks for the first and against it", "Content scan", "1 of 2")
			x.press("Enter")
			shot("enter: the other one, with a box of its own", "danger   2 of 2", "grave findings")
			x.press("x")
			x.sees("danger was left out")
			x.press("Enter")
			shot("x leaves it out; enter: where", "Claude Code", ".claude/skills")
			x.press("Down", "Down", "Down", "Space")
			x.sees("[ ] Codex")
			x.press("Enter")
			shot("without Codex; enter: exactly what will be written", "will be written", ".claude/skills/triage")
			if _, err := os.Stat(filepath.Join(w.project, ".claude")); err == nil {
				t.Error("something was written before it was confirmed")
			}
			x.press("Enter")
			shot("enter: done, and read back", "Done: 1 skill", "The same without questions")
			x.press("Enter")
			x.left(0)
			x.sees("installed acme/triage@1 in")
			shot("enter: the terminal is as it was, and these lines are on it", "the same without questions")
			if data, err := os.ReadFile(filepath.Join(w.project, ".claude", "skills", "triage", "SKILL.md")); err != nil || !strings.Contains(string(data), "Never send a reply yourself") {
				t.Errorf("%q, %v", data, err)
			}
			if size.width == 100 {
				checkDemo(t, w, demo.String())
			}
		})
	}
}

// checkDemo compares the pictures with the ones in the documentation.
func checkDemo(t *testing.T, w *world, pictures string) {
	t.Helper()
	file := filepath.Join("..", "docs", "demo", "wizard.txt")
	got := "A run of `kazma wizard` in a terminal of 100 columns and 30 rows, as go test ./wizard -update records it.\n\n" +
		strings.Replace(strings.ReplaceAll(pictures, w.home, "~"), "exit 0\necho\n", "", 1)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; look at it, then run: go test ./wizard -update\n%s", file, diff)
	}
}

func TestLeavingATerminal(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*terminal){
		"q":      func(x *terminal) { x.press("q") },
		"ctrl-c": func(x *terminal) { x.press("C-c") },
		"ctrl-c while typing": func(x *terminal) {
			x.press("Enter")
			x.sees("none chosen")
			x.typed("quiet q")
			x.sees("quiet q")
			x.press("C-c")
		},
		"signal": func(x *terminal) {
			data, err := os.ReadFile(x.pid)
			if err != nil {
				x.t.Fatal(err)
			}
			var pid int
			if _, err := fmt.Sscan(string(data), &pid); err != nil {
				x.t.Fatal(err)
			}
			if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
				x.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := furnished(t)
			before := tree(t, w.home, ".kx")
			x := newTerminal(t, w, 100, 30, "kazma", "wizard")
			x.sees("Install skills for your agents")
			leave(x)
			x.left(130)
			if !sameTree(before, tree(t, w.home, ".kx")) {
				t.Error("something was written")
			}
		})
	}
}

// A window that gets smaller and larger while the wizard runs.
func TestResizedTerminal(t *testing.T) {
	t.Parallel()
	w := furnished(t)
	x := newTerminal(t, w, 100, 30, "kazma", "wizard")
	x.sees("Install skills for your agents")
	x.press("Enter")
	x.sees("acme/triage@1")
	x.tmux("resize-window", "-x", "40", "-y", "10")
	x.sees("2/9 Choose", "acme/triage@1")
	x.tmux("resize-window", "-x", "3", "-y", "2")
	x.tmux("resize-window", "-x", "90", "-y", "20")
	x.sees("acme/triage@1", "ctrl+c quit")
	x.press("C-c")
	x.left(130)
}

// kx skills install without an argument is the wizard where nothing is locked, and
// what the lock says where something is.
func TestInstallWithoutAnArgument(t *testing.T) {
	t.Parallel()
	w := furnished(t)
	x := newTerminal(t, w, 90, 24, "kx", "skills", "install")
	x.sees("kx skills install", "Install skills for your agents")
	x.press("Enter")
	x.sees("acme/mailbox@2", "none chosen")
	for _, want := range []string{"What it wishes for", "Content scan", "Claude Code", "kx-lock.json", "kx skills install acme/mailbox --agent claude-code"} {
		x.press("Enter")
		x.sees(want)
	}
	x.press("q")
	x.left(0)
	if err := os.RemoveAll(filepath.Join(w.project, ".claude")); err != nil {
		t.Fatal(err)
	}
	x = newTerminal(t, w, 90, 24, "kx", "skills", "install")
	x.left(0)
	if _, err := os.Stat(filepath.Join(w.project, ".claude", "skills", "mailbox", "SKILL.md")); err != nil {
		t.Errorf("what the lock says is not there: %v", err)
	}
}

// One skill that was installed for the user alone ended the wizard for every folder.
func TestTheUsersOwnLockIsNoAnswer(t *testing.T) {
	w := furnished(t)
	own := deliver.Lock{Skills: map[string]deliver.Locked{}}
	if err := os.WriteFile(filepath.Join(w.vars["KX_HOME"], deliver.LockFile), own.Encode(), 0o600); err != nil {
		t.Fatal(err)
	}
	w.project = t.TempDir() // no project
	x := newTerminal(t, w, 90, 24, "kx", "skills", "install")
	x.sees("kx skills install", "Install skills for your agents")
	x.press("C-c")
	x.left(130)
	x = newTerminal(t, w, 90, 24, "kx", "skills", "install", "--scope", "user")
	x.sees("nothing to install")
	x.left(0)
}

// On a simple terminal the wizard asks line by line, and asks again.
func TestDialogueOnATerminal(t *testing.T) {
	w := furnished(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "wizard")
	cmd.Dir = w.project
	cmd.Env = []string{asProgram + "=kazma", "HOME=" + w.home, "KX_HOME=" + w.vars["KX_HOME"], "TERM=dumb", "GOCOVERDIR=" + t.TempDir()}
	tty, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	said := &strings.Builder{}
	read := make(chan byte, 1<<16)
	go func() {
		defer close(read)
		one := make([]byte, 1)
		for {
			if _, err := tty.Read(one); err != nil {
				return
			}
			read <- one[0]
		}
	}()
	answer := func(prompt, text string) {
		t.Helper()
		late := time.After(patience)
		for !strings.HasSuffix(said.String(), prompt+": ") {
			select {
			case b, ok := <-read:
				if !ok {
					t.Fatalf("it ended before it asked %q:\n%s", prompt, said)
				}
				said.WriteByte(b)
			case <-late:
				t.Fatalf("it did not ask %q:\n%s", prompt, said)
			}
		}
		if _, err := io.WriteString(tty, text+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	answer("such as 1 or 1,3", "drafts")
	answer("such as 1 or 1,3", "7")
	answer("such as 1 or 1,3", "1")
	answer("all that were found", "nonsense")
	answer("all that were found", "1")
	answer("1 or 2", "1")
	answer("Install? Answer yes or no", "perhaps")
	answer("Install? Answer yes or no", "yes")
	for b := range read {
		said.WriteByte(b)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, want := range []string{"the list has no number 7", `there is no agent "nonsense"`, "say yes or no", "Read back from disk", "installed acme/triage@1"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it never said %q:\n%s", want, said)
		}
	}
	if strings.Contains(said.String(), "\x1b") {
		t.Errorf("a dialogue of plain lines has escapes: %q", said)
	}
}
