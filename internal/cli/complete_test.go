package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/internal/timetest"
)

// user is somebody who completes: a home, a folder, variables.
type user struct {
	t    *testing.T
	home string
	vars map[string]string
}

func newUser(t *testing.T) *user {
	home := t.TempDir()
	return &user{t, home, map[string]string{"KX_HOME": filepath.Join(home, "kx")}}
}

func (u *user) env(program string, args ...string) (Env, *bytes.Buffer) {
	var out bytes.Buffer
	return Env{
		Args: append([]string{program}, args...), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
		Dir: u.home, HomeDir: u.home, OS: "linux", Getenv: func(name string) string { return u.vars[name] },
		Now: time.Now, Rand: constant{}, CompleteTime: timetest.Limit(time.Second),
	}, &out
}

// constant is the randomness of keys that nobody uses.
type constant struct{}

func (constant) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(i)
	}
	return len(p), nil
}

func (u *user) run(args ...string) {
	u.t.Helper()
	env, out := u.env("kx", args...)
	if code := Kx(env); code != 0 {
		u.t.Fatalf("kx %v: exit %d: %s", args, code, out)
	}
}

// complete gives the candidates without their descriptions.
func (u *user) complete(program string, args ...string) []string {
	u.t.Helper()
	env, out := u.env(program, args...)
	run := map[string]func(Env) int{"kx": Kx, "kazma": Kazma}[program]
	if code := run(env); code != 0 {
		u.t.Errorf("%s %q: exit %d", program, args, code)
	}
	got := []string{}
	for l := range strings.Lines(out.String()) {
		text, _, _ := strings.Cut(strings.TrimSuffix(l, "\n"), "\t")
		got = append(got, text)
	}
	return got
}

func TestComplete(t *testing.T) {
	u := newUser(t)
	for line, want := range map[string]string{
		"kx sk":                                       "skills",
		"kx skills sh":                                "show",
		"kx check --fo":                               "--format",
		"kx check --format s":                         "sarif",
		"kx check --format=s":                         "--format=sarif",
		"kx check --strict --format j":                "json junit",
		"kx check --format ":                          "text json sarif junit github",
		"kx check some/":                              ":files",
		"kx check -- --fo":                            ":files",
		"kx check a b c":                              ":files",
		"kx check --jobs ":                            "",
		"kx sign a b":                                 "",
		"kx completion z":                             "zsh",
		"kx completion zsh ":                          "",
		"kx push --tok":                               "--token --token-file",
		"kx push --token-file ":                       ":files",
		"kx push --token-file=a":                      ":files",
		"kx push --author ":                           "",
		"kx pull --dir ":                              ":dirs",
		"kx new skill x --format k":                   "kortecx kazma",
		"kx search --status s":                        "staged stale",
		"kx hub token new --role r":                   "reviewer",
		"kx nonsense x":                               "",
		"kx --ver":                                    "--version",
		"kx --json sk":                                "skills",
		"kx serve --nonsense x --tls-k":               "--tls-key",
		"kx sync --target ":                           ":dirs",
		"kazma hub si":                                "sign",
		"kazma hub certify x --level ":                "basic standard premium",
		"kazma hub sign --hub":                        "--hub-url",
		"kazma hub --hub-url x sig":                   "sign",
		"kazma wizard --agent codex --agent claude-c": "claude-code",
		"kazma wizard --scope ":                       "project user",
		"kazma hub sign p":                            ":files",
	} {
		words := strings.Split(line, " ")
		got := u.complete(words[0], append([]string{completeWord}, words[1:]...)...)
		if strings.Join(got, " ") != want {
			t.Errorf("complete %q: %q, want %q", line, got, want)
		}
	}
	if got := u.complete("kx", completeNext, "hub", "token"); !slices.Equal(got, []string{"new", "list", "revoke"}) {
		t.Errorf("the next word of kx hub token: %q", got)
	}
	if got := u.complete("kx", completeWord); !slices.Contains(got, "check") {
		t.Errorf("the first word of kx: %q", got)
	}
}

// bash hands over the line and the piece that it replaces.
func TestCompleteALine(t *testing.T) {
	u := newUser(t)
	for _, c := range []struct{ piece, line, want string }{
		{"sh", "kx skills sh", "show"},
		{"--", "kx check --", "--format --help --jobs --json --pack-format --strict"},
		{"s", "kx check --format=s", "sarif"},
		{"", "kx check --format=", "text json sarif junit github"},
		{"s", `kx check --format "s`, "sarif"},
		{`"s`, `kx check --format "s`, "sarif"},
		{"--fo", "KX_HOME=/x A=b kx check --fo", "--format"},
		{"sarif", `kx check 'a b' c\ d --format sarif`, "sarif"},
		{"ver", "kx ver", "verify version"},
		{"x", `kx "$(touch x)" x`, ""},
	} {
		got := u.complete("kx", completeLine, c.piece, c.line)
		if strings.Join(got, " ") != c.want {
			t.Errorf("complete line %q: %q, want %q", c.line, got, c.want)
		}
	}
}

// A flag that was given is not offered again, unless it may be.
func TestCompleteOffersAFlagOnce(t *testing.T) {
	u := newUser(t)
	if got := u.complete("kx", completeWord, "check", "--format", "json", "--form"); len(got) != 0 {
		t.Errorf("offered again: %q", got)
	}
	if got := u.complete("kx", completeWord, "search", "--tag", "a", "--ta"); !slices.Equal(got, []string{"--tag"}) {
		t.Errorf("a flag that may be repeated: %q", got)
	}
}

func TestCompleteKnowsWhatIsTheUsers(t *testing.T) {
	u := newUser(t)
	u.run("keys", "new", "work")
	u.run("new", "skill", "triage", "--tool", "gmail/search@1")
	u.run("new", "skill", "letters")
	u.run("push", "triage", "--author", "acme", "--approve")
	u.run("push", "letters", "--author", "acme")
	u.run("skills", "add", "triage")
	u.run("skills", "install", "triage", "--agent", "claude-code")
	for line, want := range map[string]string{
		"sign triage --key ":                   "work",
		"keys show w":                          "work",
		"keys new w":                           "",
		"pull t":                               "triage",
		"pull acme/":                           "acme/triage",
		"pull acme/triage@":                    "acme/triage@1",
		"pull l":                               "",
		"pull other/":                          "",
		"inbox approve ":                       "letters",
		"inbox approve acme/lett":              "acme/letters",
		"inbox approve letters@":               "letters@1",
		"skills show ":                         "triage",
		"skills install nothing":               ":dirs",
		"skills install t":                     "triage",
		"pull --endpoint http://127.0.0.1:1 t": "",
		"hub withdraw --data x t":              "",
		"skills update ":                       "triage",
		"skills rollback ":                     "triage",
		"hub tenant show ":                     "local",
	} {
		got := u.complete("kx", append([]string{completeWord}, strings.Split(line, " ")...)...)
		if strings.Join(got, " ") != want {
			t.Errorf("complete %q: %q, want %q", line, got, want)
		}
	}
	if got := u.complete("kx", completeLine, "", "kx pull acme/triage@"); !slices.Equal(got, []string{"1"}) {
		t.Errorf("bash takes words apart at @: %q", got)
	}
	u.vars["KX_ENDPOINT"] = "http://127.0.0.1:1"
	if got := u.complete("kx", completeWord, "pull", "t"); len(got) != 0 {
		t.Errorf("with an endpoint, names of another hub were offered: %q", got)
	}
}

// Completion changes nothing: a home that is not there is not made.
func TestCompleteMakesNothing(t *testing.T) {
	u := newUser(t)
	for _, line := range []string{"pull ", "keys show ", "skills show ", "hub tenant show "} {
		u.complete("kx", append([]string{completeWord}, strings.Split(line, " ")...)...)
	}
	if left, err := os.ReadDir(u.home); err != nil || len(left) > 0 {
		t.Errorf("completion made %v, %v", left, err)
	}
}

// What a program prints for a shell must not be taken for more than one word of it.
func TestCompleteOffersPlainWordsOnly(t *testing.T) {
	for word, want := range map[string]bool{
		"acme/triage@1.0+x": true, "a b": false, "$(x)": false, "": false, ":files": false, "a\nb": false, "ä": false, "`x`": false,
	} {
		if plain(word) != want {
			t.Errorf("plain(%q) = %v", word, !want)
		}
	}
}

func TestEveryValueIsKnownToCompletion(t *testing.T) {
	used := map[string]bool{}
	for program, root := range trees() {
		walk(root, program, func(path string, c *cli.Command) {
			look := func(place, word, flag string) {
				_, placed := kindOf[place]
				used[place] = true
				if _, ok := kindOfWord[word]; !ok && !placed && flag != "agent" {
					t.Errorf("%s: say in completevalues.go what %s stands for", place, word)
				}
			}
			for _, word := range argWords(specOf(c).args) {
				look(path+" "+word, word, "")
			}
			for _, f := range c.Flags {
				if takesValue(f) {
					look(path+" --"+f.Names()[0], valueName(f), f.Names()[0])
				}
			}
		})
	}
	for place := range kindOf {
		if !used[place] {
			t.Errorf("completevalues.go knows %q, and no command does", place)
		}
	}
}

func TestCompletionScriptsNameTheirProgram(t *testing.T) {
	for _, s := range completionScripts {
		u := newUser(t)
		env, out := u.env("kazma", "completion", s.shell)
		if code := Kazma(env); code != 0 {
			t.Fatalf("completion %s: exit %d", s.shell, code)
		}
		if text := out.String(); strings.Contains(text, "PROGRAM") || !strings.Contains(text, "kazma") || strings.Contains(text, "eval") {
			t.Errorf("the script for %s:\n%s", s.shell, text)
		}
	}
}

// There is no PowerShell here; what its script must have is looked at.
func TestPowerShellScript(t *testing.T) {
	u := newUser(t)
	env, out := u.env("kx", "completion", "pwsh")
	if code := Kx(env); code != 0 {
		t.Fatal(code)
	}
	text := out.String()
	for _, part := range []string{"Register-ArgumentCompleter -Native -CommandName kx, kx.exe -ScriptBlock {", completeNext, "-split \"\x60t\", 2", "[System.Management.Automation.CompletionResult]::new("} {
		if !strings.Contains(text, part) {
			t.Errorf("the script has no %q:\n%s", part, text)
		}
	}
	depth := map[rune]int{}
	for _, r := range text {
		switch r {
		case '{', '(', '[':
			depth[r]++
		case '}', ')', ']':
			depth[map[rune]rune{'}': '{', ')': '(', ']': '['}[r]]--
		}
	}
	if diff := cmp.Diff(map[rune]int{'{': 0, '(': 0, '[': 0}, depth); diff != "" {
		t.Errorf("brackets are not even: %s", diff)
	}
}

// What is offered is put into the command line as it is, or between quotes: no character
// that completion lets through may mean something else to PowerShell. It takes a comma
// for a list, and @ at the beginning of a word for splatting; in the middle of words of
// programs it takes none of the others for anything.
func TestPowerShellScriptQuotesEveryName(t *testing.T) {
	u := newUser(t)
	env, out := u.env("kx", "completion", "pwsh")
	if code := Kx(env); code != 0 {
		t.Fatalf("exit %d", code)
	}
	rule := regexp.MustCompile(`\$typed = if \(\$value -cmatch '([^']+)'\) \{ \$value \} else \{ "'" \+ \$value\.Replace\("'", "''"\) \+ "'" \}`).FindStringSubmatch(out.String())
	if rule == nil || !strings.Contains(out.String(), "CompletionResult]::new($typed, $value,") {
		t.Fatalf("the script puts names into the command line as they are:\n%s", out)
	}
	unquoted := regexp.MustCompile(rule[1])
	offered := 0
	for c := rune(1); c < 0x300; c++ {
		for _, name := range []string{string(c) + "a", "a" + string(c) + "a", "a" + string(c), string(c)} {
			if !plain(name) {
				continue // never offered
			}
			offered++
			if want := !strings.Contains(name, ",") && name[0] != '@'; unquoted.MatchString(name) != want {
				t.Errorf("%q is put into the command line without quotes: %v, want %v", name, !want, want)
			}
		}
	}
	if offered < 100 {
		t.Errorf("only %d names were tried", offered)
	}
	for _, name := range []string{"'", "a'b", "$x", "a b", "a;b", "`", "(x)", "\u2019", "a\u201cb"} {
		if plain(name) || unquoted.MatchString(name) {
			t.Errorf("%q is offered, or put into the command line without quotes", name)
		}
	}
}
