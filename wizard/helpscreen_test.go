package wizard

import (
	"context"
	"strings"
	"testing"

	"github.com/muesli/termenv"

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

// Who stops the fetching of a skill that a flag named finds a list, not a search that
// nobody began.
func TestStoppingLeadsToTheList(t *testing.T) {
	t.Parallel()
	w := furnished(t)
	w.with(func(ctx context.Context, host *cli.WizardHost) {
		d := &driver{t: t, m: newModel(ctx, newFlow(host, "kazma", host.Answers), newTheme(termenv.Ascii, true))}
		d.m.Init() // fetching
		d.press("esc")
		if picture := d.view(); d.m.step != choose || !strings.Contains(picture, "acme/mailbox@2") || !strings.Contains(picture, "1 chosen") {
			t.Errorf("on %v:\n%s", d.m.step, picture)
		}
	}, "acme/triage")
}

// A skill that cannot be installed leads to the page that says why, and what to do.
func TestWhyASkillIsRefusedCanBeRead(t *testing.T) {
	w := furnished(t)
	w.write("src/signed/skill_manifest.yaml", "name: signed\nversion: 1.0.0\ndescription: Is signed with a secret.\nauthor: acme\nlicense: MIT\nentry_point: main:Demo\n")
	w.write("src/signed/main.py", "class Demo:\n    pass\n")
	w.vars["KAZMA_SECRET"] = "a-secret-of-some-length"
	w.run("kazma", "hub", "sign", "../src/signed")
	for secret, want := range map[string]string{
		"": "KAZMA_SECRET is not set", "another-secret-of-length": "none of the known secrets",
	} {
		w.vars["KAZMA_SECRET"] = secret
		w.with(func(ctx context.Context, host *cli.WizardHost) {
			d := drive(t, ctx, host, host.Answers, 80, 24)
			d.press("enter")
			picture := strings.Join(strings.Fields(d.view()), " ")
			if d.m.step != security || strings.Contains(picture, "was not installed") || !strings.Contains(picture, want) || secret == "" && !strings.Contains(picture, "What to do export KAZMA_SECRET") {
				t.Errorf("on %v, want %q:\n%s", d.m.step, want, d.view())
			}
			d.press("enter")
			if d.m.step != security || !strings.Contains(d.view(), "none of them can be installed") {
				t.Errorf("on %v:\n%s", d.m.step, d.view())
			}
		}, "../src/signed")
	}
}

// The hub that is shown is the one that is asked.
func TestTheWelcomeNamesTheHub(t *testing.T) {
	w := furnished(t)
	w.with(func(ctx context.Context, host *cli.WizardHost) {
		d := drive(t, ctx, host, host.Answers, 80, 24)
		if picture := d.view(); !strings.Contains(picture, "your own, in ~/registry") {
			t.Errorf("another hub is named:\n%s", picture)
		}
	}, "--registry-path", "../registry")
}

// What is waited for is said when it takes longer, and forgotten with it.
func TestWaitingSaysForWhat(t *testing.T) {
	w := furnished(t)
	w.with(func(ctx context.Context, host *cli.WizardHost) {
		d := drive(t, ctx, host, host.Answers, 80, 24)
		host.Waits = d.m.heard.hear
		d.hold("enter") // searching
		host.Waits("waiting for process 7, which has the hub in ~/.kx/hub open")
		d.send(sinceMsg{d.m.searches})
		d.send(sinceMsg{d.m.searches})
		if picture := d.view(); !strings.Contains(picture, "2 s so far") || !strings.Contains(picture, "waiting for process 7") {
			t.Errorf("it does not say what it waits for:\n%s", picture)
		}
		page, err := host.Search(ctx, "")
		d.send(foundMsg{d.m.searches, "", page, err})
		d.press("tab")
		d.hold("enter") // fetching
		d.send(waitedMsg{d.m.running})
		d.send(waitedMsg{d.m.running})
		if picture := d.view(); !strings.Contains(picture, "2 s so far") || strings.Contains(picture, "process 7") {
			t.Errorf("it says what was waited for before:\n%s", picture)
		}
		host.Waits("waiting for the hub at http://127.0.0.1:1")
		if picture := d.view(); !strings.Contains(picture, "waiting for the hub at") {
			t.Errorf("it does not say what it waits for:\n%s", picture)
		}
	})
}
