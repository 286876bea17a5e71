package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/internal/timetest"
)

func manOf(t *testing.T, program string) []manPage {
	t.Helper()
	a := &app{program: program}
	a.root = trees()[program]
	return a.manPages("")
}

// Nothing that a text holds is taken for a request or an escape.
func TestRoffEscapes(t *testing.T) {
	for text, want := range map[string]string{
		".TH x":                 `\&.TH x`,
		"'quoted'":              `\(aqquoted\(aq`,
		`a\fBb`:                 `a\efBb`,
		"--dir DIR, not -d":     `\-\-dir DIR, not \-d`,
		"well-known skill-md":   "well-known skill-md",
		"(--all) ~/.config/a-b": `(\-\-all) \(ti/.config/a\-b`,
		`say "yes" or ^C`:       `say \(dqyes\(dq or \(haC`,
		"`kx new` … é":          `kx new \[u2026] \[u00E9]`,
		"\x1b[31mred\u202e":     `\ex1b[31mred\eu202e`,
		"a\n.b":                 `a .b`,
	} {
		if got := roffProse(text); got != want {
			t.Errorf("roffProse(%q) = %s, want %s", text, got, want)
		}
	}
	var r roff
	r.text("One\ntwo.\n\n.Three\n  kx a\n  'b'\nfour")
	want := "One two.\n.PP\n\\&.Three\n.PP\n.in +4n\n.EX\nkx a\n\\(aqb\\(aq\n.EE\n.in\n.PP\nfour\n"
	if got := r.b.String(); got != want {
		t.Errorf("text: %q, want %q", got, want)
	}
}

func TestManPagesAreWellFormed(t *testing.T) {
	names := map[string]bool{}
	var pages []manPage
	for _, program := range []string{"kx", "kazma"} {
		for _, page := range manOf(t, program) {
			if names[page.Name] {
				t.Errorf("two pages are called %s", page.Name)
			}
			names[page.Name] = true
			pages = append(pages, page)
		}
	}
	ref := regexp.MustCompile(`\\fB([a-z0-9\\-]+)\\fR\(1\)`)
	for _, page := range pages {
		at := 0
		for _, section := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "SEE ALSO"} {
			i := strings.Index(page.Text, ".SH \""+section+"\"\n")
			if i < at {
				t.Errorf("%s: no section %s, or not in its place", page.Name, section)
			}
			at = i
		}
		for _, m := range ref.FindAllStringSubmatch(page.Text, -1) {
			if name := strings.ReplaceAll(m[1], `\`, "") + ".1"; !names[name] {
				t.Errorf("%s refers to %s, which is not there", page.Name, name)
			}
		}
		if strings.Contains(page.Text, "\n\n") || strings.ContainsFunc(page.Text, func(r rune) bool { return r > 126 }) {
			t.Errorf("%s has an empty line or a character beyond ASCII", page.Name)
		}
	}
}

func TestManPagesAreTheSameEachTime(t *testing.T) {
	for _, program := range []string{"kx", "kazma"} {
		if first, second := manOf(t, program), manOf(t, program); !slices.Equal(first, second) {
			t.Errorf("the pages of %s differ from run to run", program)
		}
	}
	u := newUser(t)
	env, out := u.env("kx", "man", "check")
	if code := Kx(env); code != 0 || !slices.ContainsFunc(manOf(t, "kx"), func(p manPage) bool { return p.Text == out.String() }) {
		t.Errorf("kx man check prints another page than kx man --dir writes (exit %d):\n%s", code, out)
	}
	date := func() string {
		env, out := u.env("kx", "man", "check")
		if code := Kx(env); code != 0 {
			t.Fatal(code, out)
		}
		return regexp.MustCompile(`(?m)^\.TH .*$`).FindString(out.String())
	}
	if got := date(); !strings.HasPrefix(got, `.TH "KX\-CHECK" 1 "" "kx `) {
		t.Errorf("without a date: %s", got)
	}
	u.vars["SOURCE_DATE_EPOCH"] = "1700000000"
	if got := date(); !strings.Contains(got, `"2023\-11\-14"`) {
		t.Errorf("with a date: %s", got)
	}
	u.vars["SOURCE_DATE_EPOCH"] = "yesterday"
	env, _ = u.env("kx", "man")
	if code := Kx(env); code != 2 {
		t.Errorf("a date that is none: exit %d", code)
	}
}

// The real man renders every page without a warning, and the real indexer finds its
// name and what it does.
func TestManRendersEveryPage(t *testing.T) {
	timetest.LongInOneGoroutine(t)
	for _, tool := range []string{"man", "groff", "lexgrog"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("KX_TEST_ALL") == "1" {
				t.Fatalf("KX_TEST_ALL=1 and there is no %s on this machine", tool)
			}
			t.Skipf("there is no %s on this machine", tool)
		}
	}
	dir := t.TempDir()
	var files []string
	whatis := map[string]string{}
	for _, program := range []string{"kx", "kazma"} {
		for _, page := range manOf(t, program) {
			file := filepath.Join(dir, page.Name)
			if err := os.WriteFile(file, []byte(page.Text), 0o600); err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		walk(trees()[program], program, func(path string, c *cli.Command) {
			if !c.Hidden {
				whatis[filepath.Join(dir, manName(path)+".1")] = manName(path) + " - " + c.Usage
			}
		})
	}
	run := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), "MANWIDTH=80", "LC_ALL=C.UTF-8", "MANROFFSEQ=", "MANOPT=", "MAN_KEEP_FORMATTING=")
		var out, errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errOut
		if err := cmd.Run(); err != nil || errOut.Len() > 0 {
			t.Errorf("%s: %v\n%.3000s", name, err, errOut.String())
		}
		return out.String()
	}
	if out := run("man", append([]string{"--warnings=w", "-E", "UTF-8", "-l", "-Tutf8", "-Z"}, files...)...); len(out) < 1000*len(files) {
		t.Errorf("man wrote %d bytes for %d pages", len(out), len(files))
	}
	line := regexp.MustCompile(`^(.*?): "(.*)"$`)
	for l := range strings.Lines(run("lexgrog", files...)) {
		m := line.FindStringSubmatch(strings.TrimSpace(l))
		if m == nil {
			t.Errorf("lexgrog says %s", l)
			continue
		}
		if m[2] != whatis[m[1]] {
			t.Errorf("%s is indexed as %q, want %q", filepath.Base(m[1]), m[2], whatis[m[1]])
		}
		delete(whatis, m[1])
	}
	for file := range whatis {
		t.Errorf("%s is not indexed", filepath.Base(file))
	}
	shown := run("man", "-E", "UTF-8", "-l", "-Tutf8", "-P", "cat", filepath.Join(dir, "kx-check.1"))
	plain := regexp.MustCompile(".\b|\x1b\\[[0-9;]*m").ReplaceAllString(shown, "")
	for _, part := range []string{"kx check PATH... [FLAGS]", "--format FORMAT", "kx check triage"} {
		if !strings.Contains(plain, part) {
			t.Errorf("the page of kx check does not show %q:\n%s", part, plain)
		}
	}
}

// Every variable of ours that the source reads is in the table, and the other way round.
func TestVariablesAreDocumented(t *testing.T) {
	known := map[string]bool{}
	for _, v := range variables {
		known[v.name] = true
	}
	ours := regexp.MustCompile(`"(KX|KAZMA)_[A-Z_]+"`)
	found := map[string]bool{}
	for _, dir := range []string{".", "../../deliver", "../../source", "../../wizard", "../../sign", "../../cmd/kx", "../../cmd/kazma"} {
		sources, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range sources {
			if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == "reference.go" {
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range ours.FindAllString(string(data), -1) {
				name = strings.Trim(name, `"`)
				if found[name] = true; !known[name] {
					t.Errorf("%s reads %s: say in reference.go what it means", file, name)
				}
			}
		}
	}
	for name := range known {
		if strings.HasPrefix(name, "KX_") && !found[name] {
			t.Errorf("reference.go knows %s, and nothing reads it", name)
		}
	}
	settings, err := os.ReadFile("../../docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range known {
		if (strings.HasPrefix(name, "KX_") || strings.HasPrefix(name, "KAZMA_")) && !strings.Contains(string(settings), name) {
			t.Errorf("docs/settings.md does not know %s", name)
		}
	}
}
