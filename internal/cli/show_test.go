package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// On a terminal instructions are rendered, in colours that NO_COLOR takes away, and the
// search says how to look at what it found.
func TestShowOnATerminal(t *testing.T) {
	env, stdout, stderr := testEnv(t, nil)
	base := env.Getenv
	run := func(settings map[string]string, args ...string) (string, string) {
		t.Helper()
		stdout.Reset()
		stderr.Reset()
		env.Args = append([]string{"kx"}, args...)
		env.Getenv = func(name string) string {
			if v, ok := settings[name]; ok {
				return v
			}
			return base(name)
		}
		if code := Kx(env); code != 0 {
			t.Fatalf("%v: exit %d\n%s%s", args, code, stdout, stderr)
		}
		return stdout.String(), stderr.String()
	}
	pack := filepath.Join(env.Dir, "triage")
	if err := os.Mkdir(pack, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"skill.json":      `{"schema":"kortecx.skill/v1","name":"triage","version":"1","description":"Sort a mailbox and draft replies."}`,
		"instructions.md": "# Triage\n\nRead the **newest** [messages](https://example.com/a) first, and nothing else.\n\n<!-- hidden \x1b[2J -->\n",
	} {
		if err := os.WriteFile(filepath.Join(pack, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run(nil, "push", "triage", "--author", "acme", "--approve")
	env.StdoutTerminal, env.StderrTerminal, env.Width = true, true, 40
	color := map[string]string{"TERM": "xterm-256color"}
	out, notes := run(color, "show", "triage", "--instructions")
	for _, want := range []string{
		"\x1b[1mTriage\x1b[0m\n\x1b[1m══════\x1b[0m\n\nRead the \x1b[1mnewest\x1b[0m messages\n(\x1b[4mhttps://example.com/a\x1b[0m) first, and\nnothing else.\n",
		"\x1b[33m<!-- hidden \\x1b[2J -->\x1b[0m",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%q", want, out)
		}
	}
	if !strings.Contains(notes, "install it with: kx skills install acme/triage") {
		t.Errorf("notes: %s", notes)
	}
	out, _ = run(map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, "show", "triage", "--instructions")
	if strings.Contains(out, "\x1b") || !strings.Contains(out, "Triage\n══════\n") || !strings.Contains(out, "(https://example.com/a)") {
		t.Errorf("without colours: %q", out)
	}
	out, _ = run(color, "show", "triage", "--instructions", "--raw")
	if bytes.ContainsRune([]byte(out), '\x1b') || !strings.Contains(out, "Read the **newest** [messages](https://example.com/a)") {
		t.Errorf("raw: %q", out)
	}
	if _, notes = run(color, "search", "mailbox"); !strings.Contains(notes, "look at one with: kx show acme/triage") {
		t.Errorf("notes of the search: %q", notes)
	}
}
