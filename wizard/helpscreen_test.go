package wizard

import (
	"context"
	"strings"
	"testing"

	"github.com/kortecx/kx/internal/cli"
)

// A question mark shows all keys of every step, and closes them again: the step is
// then as it was.
func TestHelpOfEveryStep(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {40, 12}} {
		w := furnished(t)
		var pictures album
		w.with(func(ctx context.Context, host *cli.WizardHost) {
			d := drive(t, ctx, host, host.Answers, size[0], size[1])
			seen := map[step]bool{}
			look := func() {
				t.Helper()
				before, seenKey := d.view(), d.m.helpKey()
				d.press("?")
				if seenKey != "?" || !d.m.helping {
					t.Fatalf("no help on step %v", d.m.step)
				}
				pictures.add(d, stepTitles[d.m.step])
				for range 40 { // the whole of it can be read
					d.press("down")
					for _, k := range keysOf[d.m.step] {
						if first, _, _ := strings.Cut(k.key, " "); !strings.Contains(strings.Join(newPageOf(d.m.helpScreen()), "\n"), first) {
							t.Errorf("%q is missing on step %v", k, d.m.step)
						}
					}
				}
				d.press("?")
				if after := d.view(); after != before {
					t.Errorf("step %v was\n%s\nand is\n%s", d.m.step, before, after)
				}
				seen[d.m.step] = true
			}
			look()
			d.press("enter")
			look()
			d.press("triage", "tab", "enter")
			d.press("down")
			look()
			d.press("enter")
			look()
			d.press("enter")
			look()
			d.press("enter")
			look()
			d.m.step, d.m.busy = install, "Installing"
			look()
			d.m.step, d.m.busy = verify, "Reading back what was written"
			look()
			d.m.step, d.m.busy = confirm, ""
			d.press("enter")
			look()
			if len(seen) != int(steps) {
				t.Errorf("seen: %v", seen)
			}
		})
		golden(t, "help-"+map[bool]string{true: "80", false: "40"}[size[0] == 80], pictures.String())
	}
}

// newPageOf are the lines of a screen's body.
func newPageOf(s screen) []string { return (&page{rows: s.body}).lines() }

// Where text is typed a question mark belongs to it, and f1 shows the keys.
func TestHelpWhereTextIsTyped(t *testing.T) {
	w := furnished(t)
	w.with(func(ctx context.Context, host *cli.WizardHost) {
		d := drive(t, ctx, host, host.Answers, 80, 24)
		d.press("enter", "a", "?")
		if d.m.helping || d.m.query.text != "a?" || !strings.Contains(d.view(), "f1 help") {
			t.Errorf("typed %q:\n%s", d.m.query.text, d.view())
		}
		d.press("f1")
		if !d.m.helping || !strings.Contains(d.view(), "clear the text, then go back") {
			t.Errorf("no help:\n%s", d.view())
		}
		d.press("esc")
		if d.m.helping || d.m.step != choose || d.m.query.text != "a?" {
			t.Errorf("esc closed more than the help:\n%s", d.view())
		}
		d.press("esc", "triage", "tab", "enter", "enter", "enter", "end", "enter", "x", "?", "f1")
		if d.m.folder.text != "x?" || !strings.Contains(d.view(), "take the folder") {
			t.Errorf("typed %q:\n%s", d.m.folder.text, d.view())
		}
	})
}

// What an answer brings is shown, not the keys of a step that is over.
func TestHelpEndsWithItsStep(t *testing.T) {
	w := furnished(t)
	w.with(func(ctx context.Context, host *cli.WizardHost) {
		d := drive(t, ctx, host, host.Answers, 80, 24)
		d.press("enter", "triage", "tab")
		d.hold("enter") // fetching
		d.press("?")
		if !d.m.helping || !strings.Contains(d.view(), "stop waiting") {
			t.Errorf("no help while it waits:\n%s", d.view())
		}
		skill, err := host.Load(ctx, "acme/triage@1")
		d.send(answered{d.m.running, fetched{skill}, err})
		if d.m.helping || d.m.step != review {
			t.Errorf("still the help:\n%s", d.view())
		}
	})
}

// What cannot be written says what to do about it, on the screen, line by line and as a
// command.
func TestAFaultOfThePlanSaysWhatToDo(t *testing.T) {
	w := furnished(t)
	w.run("kx", "skills", "install", "acme/triage", "--to", "out")
	w.write("project/out/triage/SKILL.md", "my own words\n")
	w.write("project/there/triage/notes.txt", "mine\n")
	for _, tt := range []struct{ to, fault, hint string }{
		{"out", "somebody edited it since it was installed", "keep the changes elsewhere first, or lose them with --force"},
		{"there", "something that kx did not write is there", ""},
	} {
		w.with(func(ctx context.Context, host *cli.WizardHost) {
			d := drive(t, ctx, host, host.Answers, 80, 24)
			d.press("enter", "enter", "enter")
			if picture := d.view(); d.m.step != confirm || !strings.Contains(picture, tt.fault) || !strings.Contains(picture, tt.hint) {
				t.Errorf("on %v, want %q and %q:\n%s", d.m.step, tt.fault, tt.hint, picture)
			}
		}, "acme/triage", "--to", tt.to)
		for _, args := range [][]string{{"--accessible"}, {"--yes"}} {
			code, _, stderr := w.piped("", append(args, "acme/triage", "--to", tt.to)...)
			if code != 1 || !strings.Contains(stderr, tt.fault) || tt.hint != "" && !strings.Contains(stderr, "hint: "+tt.hint) {
				t.Errorf("%v: exit %d\n%s", args, code, stderr)
			}
		}
	}
}

// A name that another skill has says which command can install it all the same, and a
// plan that writes nothing says so.
func TestWhatAPlanSaysFirst(t *testing.T) {
	w := furnished(t)
	w.run("kx", "skills", "install", "acme/triage", "--agent", "claude-code", "--scope", "project")
	for ref, want := range map[string][]string{
		"acme/triage":   {"nothing will be written", "unchanged"},
		"../src/triage": {"it cannot be done as it is", "kx skills install --as"},
	} {
		w.with(func(ctx context.Context, host *cli.WizardHost) {
			d := drive(t, ctx, host, host.Answers, 40, 24)
			d.press("enter", "enter", "enter")
			picture := strings.Join(strings.Fields(d.view()), " ")
			for _, text := range want {
				if !strings.Contains(picture, text) || strings.Contains(picture, "0 folders") {
					t.Errorf("%s, want %q:\n%s", ref, text, d.view())
				}
			}
		}, ref, "--agent", "claude-code", "--scope", "project")
	}
}

// What was said while a search ran is not said any more when it has ended.
func TestNoNoticeOutlivesItsSearch(t *testing.T) {
	w := furnished(t)
	w.with(func(ctx context.Context, host *cli.WizardHost) {
		d := drive(t, ctx, host, host.Answers, 80, 24)
		d.hold("enter") // searching
		d.hold("enter")
		if !strings.Contains(d.view(), "still searching") {
			t.Errorf("nothing is said:\n%s", d.view())
		}
		page, err := host.Search(ctx, "")
		d.send(foundMsg{d.m.searches, "", page, err})
		if strings.Contains(d.view(), "still searching") || !strings.Contains(d.view(), "acme/triage") {
			t.Errorf("it is over:\n%s", d.view())
		}
	})
}
