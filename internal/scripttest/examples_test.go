package scripttest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/internal/cli"
	"github.com/kortecx/kx/internal/timetest"
	"github.com/kortecx/kx/wizard"
)

// session is one user in one folder, running commands in this process.
type session struct {
	dir  string
	vars map[string]string
}

func newSession(dir string) *session {
	return &session{dir: dir, vars: map[string]string{"KX_HOME": filepath.Join(dir, ".kx"), "TMPDIR": dir}}
}

func (s *session) run(ctx context.Context, program, line string) (code int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	env := cli.System()
	env.Context = ctx
	env.Args = append([]string{program}, strings.Fields(unquote(line))...)
	for i, arg := range env.Args {
		env.Args[i] = strings.ReplaceAll(arg, "\x00", " ")
	}
	env.Stdin, env.Stdout, env.Stderr = strings.NewReader(""), &out, &errOut
	env.StdinTerminal, env.StdoutTerminal, env.StderrTerminal = false, false, false
	env.Dir, env.HomeDir = s.dir, s.dir
	env.Getenv = func(name string) string { return s.vars[name] }
	env.Wizard = wizard.Run
	run := cli.Kx
	if program == "kazma" {
		run = cli.Kazma
	}
	code = run(env)
	return code, out.String(), errOut.String()
}

// unquote keeps the spaces of a quoted argument away from strings.Fields.
func unquote(line string) string {
	parts := strings.Split(line, `"`)
	for i := 1; i < len(parts); i += 2 {
		parts[i] = strings.ReplaceAll(parts[i], " ", "\x00")
	}
	return strings.Join(parts, "")
}

// preparation is the folder in which the examples make sense.
var preparation = []string{
	`new skill triage --description "Sort a mailbox and draft replies." --tool gmail/search@1`,
	"new skill good --dir skills",
	"keys new me",
	"sign triage --key me --author acme",
	"push triage --author acme --approve",
	"skills add triage",
	"skills install triage --to .claude/skills",
}

// before says what has to happen first for one example, "rm PATH", "heartbeat NODE" or
// a command.
var before = map[string][]string{
	"new skill triage --tool gmail/search@1": {"rm triage"},
	"keys new me":                            {"rm .kx/keys"},
	"pull triage":                            {"rm triage"},
	"inbox approve triage":                   {"push triage-2/triage --author acme"},
	"inbox approve acme/triage@2":            {"push triage-2/triage --author acme"},
	"inbox diff acme/triage@2 --from 1":      {"push triage-2/triage --author acme"},
	"inbox defer triage":                     {"push triage-2/triage --author acme"},
	"inbox repropose acme/triage@2":          {"push triage-2/triage --author acme", `inbox reject triage --reason "not yet"`},
	"hub import mirror --dry-run":            {"hub export mirror"},
	"hub import mirror --approve":            {"hub export mirror"},
	"hub token revoke laptop":                {"hub token new --role agent --author acme --name laptop"},
	"fleet show laptop":                      {"heartbeat laptop"},
	"fleet show laptop --json":               {"heartbeat laptop"},
	"fleet remove laptop":                    {"heartbeat laptop"},

	`inbox reject triage --reason "sends mail without asking"`:              {"push triage-2/triage --author acme"},
	`inbox quarantine acme/triage@2 --reason "downloads and runs a file"`:   {"push triage-2/triage --author acme"},
	`inbox edit triage --description "Sort a mailbox; ask before sending."`: {"push triage-2/triage --author acme"},

	"wizard --skill acme/demo --to skills --yes":                        {"push demo --approve"},
	"wizard acme/demo --agent claude-code --scope project --yes --json": {"push demo --approve"},

	"hub info acme/demo":                        {"push demo --approve"},
	"hub install acme/demo":                     {"push demo --approve"},
	"hub update demo --yes":                     {"push demo --approve", "kazma hub install acme/demo"},
	"hub update":                                {"push demo --approve", "kazma hub install acme/demo"},
	"hub uninstall acme/demo":                   {"push demo --approve", "kazma hub install acme/demo"},
	"hub publish demo --key me":                 {"rm demo@1.0.0.sig.json"},
	"hub import-registry registry.db --dry-run": {"registry registry.db"},
	"hub install kazma-hub://acme/demo@1.0.0 --to skills --json": {"push demo --approve"},

	"hub status acme/demo":  {"push demo --approve", "kazma hub certify acme/demo"},
	"hub badge acme/demo":   {"push demo --approve", "kazma hub certify acme/demo"},
	"hub certify acme/demo": {"push demo --approve"},
	`hub attest acme/demo code_review_approved --reason "read every line"`: {"push demo --approve"},
	`hub revoke acme/demo --reason "a hole was found"`:                     {"push demo --approve", "kazma hub certify acme/demo"},
	"keys import acme acme.pub":                                            {"keys export me > acme.pub"},
	"trust publisher show acme":                                            {"trust publisher init acme me"},
	"trust publisher sign acme.json":                                       {"trust publisher init acme me --pending acme.json"},
	"trust publisher publish acme.json":                                    {"trust publisher init acme me --pending acme.json"},
	"trust publisher rotate acme me work":                                  {"keys new work", "trust publisher init acme me"},
	"trust publisher revoke acme work --reason compromised":                {"keys new work", "trust publisher init acme me work"},
	"trust list":                              {"trust add acme me"},
	"trust show acme":                         {"trust add acme me"},
	"trust remove acme":                       {"trust add acme me"},
	"trust unblock mallory":                   {"trust block mallory"},
	"keys remove acme":                        {"keys export me > acme.pub", "keys import acme acme.pub"},
	"fmt skills --check":                      {"fmt skills"},
	"hub restore hub.backup --data restored":  {"rm hub.backup", "rm restored", "hub backup hub.backup"},
	"hub backup hub.backup":                   {"rm hub.backup"},
	"check . --format github":                 {"rm demo", "rm .claude"},
	"sign triage --hmac --secret-file secret": {"rm triage@1.sig.json"},

	"skills install --frozen":                            {installGood},
	"skills merge-lock --setup":                          {"repository"},
	"skills update good --yes --json":                    {installGood},
	"skills remove good --installed --scope project":     {installGood},
	"skills rollback good --scope project":               {installGood, "rm skills/good", `new skill good --dir skills --description "Other words."`, "skills update --yes"},
	"skills rollback good --to 1 --scope project --json": {installGood, "rm skills/good", `new skill good --dir skills --description "Other words."`, "skills update --yes"},
}

const installGood = "skills install ./skills/good --agent claude-code --scope project"

// Every example that help shows runs, exits 0 and prints something.
func TestExamplesOfHelpRun(t *testing.T) {
	t.Parallel()
	model := prepared(t)
	for _, program := range []string{"kx", "kazma"} {
		for _, line := range cli.Examples(program) {
			t.Run(program+" "+line, func(t *testing.T) {
				t.Parallel()
				s := model.copy(t)
				for _, step := range before[line] {
					s.step(t, step)
				}
				ctx := t.Context()
				if strings.HasPrefix(line, "serve") {
					s.serves(t, line)
					return
				}
				code, stdout, stderr := s.run(ctx, program, line)
				if code != 0 {
					t.Errorf("exit %d\n%s%s", code, stdout, stderr)
				}
				if quiet := line == "mcp" || strings.HasSuffix(line, "fmt triage") || strings.Contains(line, "--check") || strings.Contains(line, "--format github"); stdout == "" && !quiet {
					t.Errorf("nothing on standard output; standard error: %s", stderr)
				}
			})
		}
	}
}

func prepared(t *testing.T) *session {
	t.Helper()
	s := newSession(t.TempDir())
	s.vars["KAZMA_SECRET"] = "a shared secret of some length"
	write(t, s.dir, "secret", "another shared secret of some length\n")
	write(t, s.dir, "demo/skill_manifest.yaml", "name: demo\nversion: 1.0.0\ndescription: Shows how signing works.\nauthor: acme\nlicense: MIT\nentry_point: main:Demo\n")
	write(t, s.dir, "demo/main.py", "class Demo:\n    pass\n")
	write(t, s.dir, "triage-2/triage/skill.json", `{"schema":"kortecx.skill/v1","name":"triage","version":"2","description":"Sort a mailbox."}`)
	write(t, s.dir, "triage-2/triage/instructions.md", "# Triage\n\nSort the mailbox.\n")
	for _, line := range preparation {
		s.step(t, line)
	}
	return s
}

func (s *session) copy(t *testing.T) *session {
	t.Helper()
	c := newSession(t.TempDir())
	maps.Copy(c.vars, s.vars)
	c.vars["KX_HOME"], c.vars["TMPDIR"] = filepath.Join(c.dir, ".kx"), c.dir
	copyUser(t, c.dir, s.dir)
	return c
}

func (s *session) step(t *testing.T, line string) {
	t.Helper()
	if path, ok := strings.CutPrefix(line, "rm "); ok {
		if err := os.RemoveAll(filepath.Join(s.dir, path)); err != nil {
			t.Fatal(err)
		}
		return
	}
	if line == "repository" {
		write(t, s.dir, ".git/HEAD", "ref: refs/heads/main\n")
		return
	}
	if name, ok := strings.CutPrefix(line, "heartbeat "); ok {
		s.heartbeat(t, name)
		return
	}
	if name, ok := strings.CutPrefix(line, "registry "); ok {
		s.registry(t, name)
		return
	}
	line, file, _ := strings.Cut(line, " > ")
	program, rest := "kx", line
	if after, ok := strings.CutPrefix(line, "kazma "); ok {
		program, rest = "kazma", after
	}
	code, stdout, stderr := s.run(t.Context(), program, rest)
	if code != 0 {
		t.Fatalf("%s: exit %d\n%s%s", line, code, stdout, stderr)
	}
	if file != "" {
		write(t, s.dir, file, stdout)
	}
}

// registry makes a registry of the original Kazma, which knows the skill demo.
func (s *session) registry(t *testing.T, name string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(s.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		`CREATE TABLE skills (id INTEGER PRIMARY KEY, name TEXT, author TEXT, version TEXT, installed_path TEXT)`,
		`CREATE TABLE skill_dependencies (skill_id INTEGER)`,
		`INSERT INTO skills (name, author, version, installed_path) VALUES ('demo', 'acme', '1.0.0', 'demo')`,
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// serves runs a server example until it listens, interrupts it, and wants a clean
// end: exit 0, and no server.json left.
func (s *session) serves(t *testing.T, line string) {
	if !strings.Contains(line, "--listen") {
		line += " --listen 127.0.0.1:0" // the default port may be taken on this machine
	}
	data := filepath.Join(s.dir, ".kx", "hub")
	if strings.Contains(line, "--data") {
		data = filepath.Join(s.dir, "scratch")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	type result struct {
		code           int
		stdout, stderr string
	}
	ended := make(chan result, 1)
	go func() {
		code, stdout, stderr := s.run(ctx, "kx", line)
		ended <- result{code, stdout, stderr}
	}()
	server := filepath.Join(data, "server.json")
	for deadline := time.Now().Add(timetest.Limit(20 * time.Second)); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(server); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the server did not start within 20 s")
		}
	}
	cancel()
	if r := <-ended; r.code != 0 {
		t.Errorf("an interrupted server exits %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	if _, err := os.Stat(server); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("server.json is left: %v", err)
	}
}
