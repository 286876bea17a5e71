//go:build unix

package scripttest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/kortecx/kx/internal/timetest"
)

// shellTime is how long a shell may take to do what was typed; a loaded machine is slow.
var shellTime = timetest.Limit(60 * time.Second)

// shells are those that completion is tried in, with how each is set up in a home
// folder as its user would do it, and with a function in place of the programs that
// writes down its arguments: so the script has to get past it to the program.
var shells = []struct {
	name  string
	start []string
	files map[string]string // below the home
	tabs  string            // what lists the candidates
}{
	{"bash", []string{"bash", "--noprofile", "--rcfile", ".bashrc", "-i"}, map[string]string{".bashrc": `
PS1='ready> '
source <(kx completion bash)
source <(kazma completion bash)
typed() { printf '%s\n' "$@" > "$HOME/typed.new" && mv "$HOME/typed.new" "$HOME/typed"; }
kx() { typed kx "$@"; }
kazma() { typed kazma "$@"; }
`}, "\t\t"},
	{"zsh", []string{"zsh", "-i"}, map[string]string{".zshrc": `
PS1='ready> '
autoload -U compinit && compinit -u -D
source <(kx completion zsh)
source <(kazma completion zsh)
typed() { printf '%s\n' "$@" > "$HOME/typed.new" && command mv "$HOME/typed.new" "$HOME/typed"; }
kx() { typed kx "$@"; }
kazma() { typed kazma "$@"; }
`}, "\t"},
	{"fish", []string{"fish", "-i"}, map[string]string{
		".config/fish/config.fish": `
set -g fish_greeting ''
set -g fish_autosuggestion_enabled 0
function fish_prompt; echo -n 'ready> '; end
function typed; printf '%s\n' $argv > $HOME/typed.new; and command mv $HOME/typed.new $HOME/typed; end
function kx; typed kx $argv; end
function kazma; typed kazma $argv; end
`,
		".config/fish/completions/kx.fish": "", ".config/fish/completions/kazma.fish": "",
	}, "\t"},
}

// terminal is a shell on a pseudo-terminal.
type terminal struct {
	t    *testing.T
	home string
	file *os.File
	mu   sync.Mutex
	out  bytes.Buffer
}

// screenCode is what a terminal obeys and does not show.
var screenCode = regexp.MustCompile("\x1b(\\[[0-9;?<>=]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)|[()][A-Z0-9]|[=>78])")

func (m *terminal) shown() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return screenCode.ReplaceAllString(m.out.String(), "")
}

// until waits for something to be so.
func (m *terminal) until(what string, so func() bool) {
	m.t.Helper()
	for end := time.Now().Add(shellTime); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			m.t.Fatalf("after %v not: %s\nthe terminal shows:\n%s", shellTime, what, m.shown())
		}
	}
}

func (m *terminal) types(keys string) {
	m.t.Helper()
	if _, err := m.file.WriteString(keys); err != nil {
		m.t.Fatal(err)
	}
}

// prompted waits for the next prompt behind what is shown.
func (m *terminal) prompted(prompts int) {
	m.until("a prompt", func() bool { return strings.Count(m.shown(), "ready> ") > prompts })
}

// ran gives the command line that keys and Enter made of it, as the shell took it apart.
func (m *terminal) ran(keys string) string {
	m.t.Helper()
	file := filepath.Join(m.home, "typed")
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	m.types(keys + "\r")
	var data []byte
	m.until("the line with "+keys+" is run", func() bool {
		var err error
		data, err = os.ReadFile(file)
		return err == nil
	})
	return strings.Join(strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"), "|")
}

// shellHome is a user with keys, a hub and files.
func shellHome(t *testing.T) (home string, env []string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	env = []string{
		"HOME=" + home, "ZDOTDIR=" + home, "KX_HOME=" + filepath.Join(home, "kxhome"), "TERM=xterm", "LANG=C.UTF-8", "LC_ALL=C.UTF-8",
		"PATH=" + builtPrograms(t) + string(os.PathListSeparator) + os.Getenv("PATH"),
	}
	for _, line := range []string{
		"new skill triage", "keys new work", "push triage --author acme --approve",
	} {
		cmd := exec.Command(program(t, "kx"), strings.Fields(line)...)
		cmd.Dir, cmd.Env = home, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("kx %s: %v\n%s", line, err, out)
		}
	}
	for _, name := range []string{"folio.txt", "token.txt", "Im Ordner.md"} {
		if err := os.WriteFile(filepath.Join(home, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(home, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	return home, env
}

func TestCompletionInRealShells(t *testing.T) {
	for _, shell := range shells {
		t.Run(shell.name, func(t *testing.T) {
			path, err := exec.LookPath(shell.name)
			if err != nil {
				if os.Getenv("KX_TEST_ALL") == "1" {
					t.Fatalf("KX_TEST_ALL=1 and there is no %s on this machine", shell.name)
				}
				t.Skipf("there is no %s on this machine", shell.name)
			}
			home, env := shellHome(t)
			for name, text := range shell.files {
				if text == "" {
					program := strings.TrimSuffix(filepath.Base(name), ".fish")
					cmd := exec.Command(filepath.Join(builtPrograms(t), program), "completion", shell.name)
					out, err := cmd.Output()
					if err != nil {
						t.Fatal(err)
					}
					text = string(out)
				}
				if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			m := startShell(t, home, env, append([]string{path}, shell.start[1:]...))
			for keys, want := range map[string]string{
				"kx ski\tli\t":                                "kx|skills|list",
				"kx check --format sar\t":                     "kx|check|--format|sarif",
				"kx check --format=sar\t":                     "kx|check|--format=sarif",
				"kx check --pack-f\tkaz\ttriage":              "kx|check|--pack-format|kazma|triage",
				"kx check foli\t":                             "kx|check|folio.txt",
				"kx check Im\t":                               "kx|check|Im Ordner.md",
				"kx pull tri\t":                               "kx|pull|triage",
				"kx pull acme/\t":                             "kx|pull|acme/triage",
				"kx pull acme/triage@\t":                      "kx|pull|acme/triage@1",
				"kx pull triage --dir fol\t":                  "kx|pull|triage|--dir|folder/",
				"kx pull triage --dir=fol\t":                  "kx|pull|triage|--dir=folder/",
				"kx push triage --token-file tok\t":           "kx|push|triage|--token-file|token.txt",
				"kx push triage --token-file=tok\t":           "kx|push|triage|--token-file=token.txt",
				"kx sign triage --key w\t":                    "kx|sign|triage|--key|work",
				"kx sign triage --author fol\t":               "kx|sign|triage|--author|fol",
				"kazma hub val\ttriage":                       "kazma|hub|validate|triage",
				"kazma wizard --agent claude-c\t":             "kazma|wizard|--agent|claude-code",
				"kx hub token new --role rev\t --json":        "kx|hub|token|new|--role|reviewer|--json",
				`kx check '$(touch pwned)' --format g` + "\t": "kx|check|$(touch pwned)|--format|github",
			} {
				// zsh takes the slash back when the line ends with it.
				if got := m.ran(keys); got != want && got != strings.TrimSuffix(want, "/") {
					t.Errorf("%q became %q, want %q", keys, got, want)
				}
			}
			if _, err := os.Stat(filepath.Join(home, "pwned")); err == nil {
				t.Error("what was typed was run")
			}
			before := len(m.shown())
			m.types("kx hub token " + shell.tabs)
			m.until("the commands of kx hub token are listed", func() bool {
				text := m.shown()[before:]
				return strings.Contains(text, "revoke") && strings.Contains(text, "list")
			})
			if shell.name != "bash" { // which shows no descriptions
				m.until("each says what it does", func() bool { return strings.Contains(m.shown()[before:], "list the keys") })
			}
		})
	}
}

func startShell(t *testing.T, home string, env, args []string) *terminal {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = home, env
	file, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	m := &terminal{t: t, home: home, file: file}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buffer := make([]byte, 4096)
		for {
			n, err := file.Read(buffer)
			m.mu.Lock()
			m.out.Write(buffer[:n])
			m.mu.Unlock()
			if err != nil {
				return // an I/O error when the shell closes its side
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = file.Close()
		<-read
	})
	m.prompted(0)
	return m
}

// A key press must not be felt: the user's own hub is looked into within the budget.
func TestCompletionIsQuick(t *testing.T) {
	home, env := shellHome(t)
	budget := timetest.Budget(maxCompletion)
	least := within(budget, func() time.Duration {
		cmd := exec.Command(program(t, "kx"), "__complete", "pull", "tri")
		cmd.Dir, cmd.Env = home, env
		out, err := cmd.Output()
		if err != nil || !strings.HasPrefix(string(out), "triage\t") {
			t.Fatalf("%q, %v", out, err)
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	})
	t.Logf("%v CPU", least)
	if least > budget {
		t.Errorf("completion of a skill takes %v CPU, the budget here is %v", least, budget)
	}
}

// maxCompletion is the CPU time of one TAB, the least of 41.
const maxCompletion = 20 * time.Millisecond
