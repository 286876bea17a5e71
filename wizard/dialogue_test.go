package wizard

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kortecx/kx/internal/cli"
)

// piped answers a dialogue through a pipe and gives the exit code.
func (w *world) piped(answers string, args ...string) (code int, stdout, stderr string) {
	env, out, errs := w.env("kazma", append([]string{"wizard"}, args...)...)
	env.Stdin = strings.NewReader(answers)
	code = cli.Kazma(env)
	return code, out.String(), errs.String()
}

func TestDialogueThroughAPipe(t *testing.T) {
	w := furnished(t)
	code, stdout, stderr := w.piped("drafts\n1\n\n1\n\nyes\n", "--accessible")
	if code != 0 || !strings.Contains(stdout, "installed acme/triage@1 in .claude/skills/triage") {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	golden(t, "dialogue", strings.ReplaceAll(stderr, w.home, "/home"))
	for _, agent := range []string{".claude", ".agents"} {
		if _, err := os.Stat(filepath.Join(w.project, agent, "skills", "triage", "SKILL.md")); err != nil {
			t.Error(err)
		}
	}
}

// Every end of the answers is an error, and nothing is written for it.
func TestAnswersThatEnd(t *testing.T) {
	w := furnished(t)
	before := tree(t, w.home, ".kx")
	for answers, want := range map[string]string{
		"":                           "before the question: which skills",
		"drafts\n":                   "before the question: which skills",
		"drafts\n9\n":                "the last one was none: the list has no number 9",
		"drafts\n1\n":                "before the question: which agents",
		"drafts\n1\nnope\n":          "the last one was none: there is no agent",
		"drafts\n1\n1\n":             "before the question: for this project",
		"drafts\n1\n1\n3":            "the last one was none: say 1 or 2",
		"drafts\n1\n1\n2\n":          "before the question: write what was planned",
		"drafts\n1\n1\n2\nperhaps":   "the last one was none: say yes or no",
		"drafts\n1\n1\n2\nperhaps\n": "the last one was none: say yes or no",
	} {
		code, stdout, stderr := w.piped(answers, "--accessible")
		if code != 2 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%q: exit %d, want 2 and %q\n%s%s", answers, code, want, stdout, stderr)
		}
	}
	for _, answers := range []string{"q\n", "drafts\n1\nq\n", "drafts\n1\n1\n2\nno\n"} {
		code, stdout, stderr := w.piped(answers, "--accessible")
		if code != 130 || stdout != "" || !strings.Contains(stderr, "nothing was installed") {
			t.Errorf("%q: exit %d, want 130\n%s%s", answers, code, stdout, stderr)
		}
	}
	if !sameTree(before, tree(t, w.home, ".kx")) {
		t.Error("something was written")
	}
}

// A number means an agent that was listed, also where none was.
func TestANumberMeansAnAgentThatWasListed(t *testing.T) {
	w := furnished(t)
	for _, here := range []string{".claude", ".codex", ""} {
		code, _, stderr := w.piped("1\n7\n1\nno\n", "--accessible")
		if !strings.Contains(stderr, "Not understood: the list has no number 7.") {
			t.Errorf("before %q went: exit %d\n%s", here, code, stderr)
		}
		if here == "" {
			if code != 2 || !strings.Contains(stderr, "No agent was found") || !strings.Contains(stderr, "the list has no number 1.") {
				t.Errorf("nobody is here: exit %d\n%s", code, stderr)
			}
			break
		}
		if err := os.RemoveAll(filepath.Join(w.home, here)); err != nil {
			t.Fatal(err)
		}
	}
}

// Each skill is asked about by itself, and no leaves that one out.
func TestDialogueAcceptsPerSkill(t *testing.T) {
	w := furnished(t)
	w.write("strangers/gruff/SKILL.md", gruffText)
	args := []string{"--accessible", "../strangers/gruff", "../strangers/danger", "--to", "out"}
	code, stdout, stderr := w.piped("yes\nno\nyes\n", args...)
	if code != 0 || !strings.Contains(stdout, "installed gruff in out/gruff") || strings.Contains(stdout, "danger") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	for _, want := range []string{"Install danger in spite of 5 grave findings?", "danger is left out.", "--to out --accept-findings --yes", "you accepted"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q is not said:\n%s", want, stderr)
		}
	}
	if code, stdout, stderr := w.piped("no\nno\n", args...); code != 130 || stdout != "" {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

// TERM=dumb is the dialogue, with answers from a pipe too; a TERM that is not set
// makes nobody read a pipe.
func TestDumbTerminalReadsAPipe(t *testing.T) {
	w := furnished(t)
	w.vars["TERM"] = "dumb"
	if code, stdout, stderr := w.piped("drafts\n1\n1\n1\nyes\n"); code != 0 || !strings.Contains(stdout, "installed acme/triage@1") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	if code, _, stderr := w.piped(""); code != 2 || !strings.Contains(stderr, "--skill REF: which") || !strings.Contains(stderr, "--yes: write") {
		t.Errorf("nobody answers: exit %d\n%s", code, stderr)
	}
	w.vars["TERM"] = ""
	if code, _, stderr := w.piped("1\n"); code != 2 || !strings.Contains(stderr, "there is no terminal") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}

// What follows the answers in a pipe is left for whoever reads next.
func TestDialogueReadsNoFurtherThanItsAnswers(t *testing.T) {
	w := furnished(t)
	env, _, stderr := w.env("kazma", "wizard", "--accessible", "--skill", "acme/triage@1", "--agent", "codex", "--scope", "project")
	in := strings.NewReader("yes\nrest")
	env.Stdin = in
	if code := cli.Kazma(env); code != 0 {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	if rest, _ := io.ReadAll(in); !bytes.Equal(rest, []byte("rest")) {
		t.Errorf("%q was left", rest)
	}
}
