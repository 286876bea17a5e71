package wizard

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/cli"
	"github.com/kortecx/kx/internal/workers"
)

// interrupting presses a key when so many skills are installed.
type interrupting struct {
	Backend
	after int
	press func()
}

func (i *interrupting) Install(ctx context.Context, plan *cli.WizardPlan, tell func(cli.WizardEvent)) (*cli.WizardResult, error) {
	return i.Backend.Install(ctx, plan, func(e cli.WizardEvent) {
		tell(e)
		if e.Done == i.after {
			i.press()
		}
	})
}

func (w *world) locked() []string {
	data, err := os.ReadFile(filepath.Join(w.project, deliver.LockFile))
	if err != nil {
		return nil
	}
	lock, err := deliver.ParseLock(data)
	if err != nil {
		w.t.Fatal(err)
	}
	return lock.Names()
}

// An installation that is stopped leaves every skill whole or absent, and the lock
// says which.
func TestStoppedInstallation(t *testing.T) {
	t.Parallel()
	var pictures album
	for after := range 4 {
		w := furnished(t)
		w.with(func(ctx context.Context, host *cli.WizardHost) {
			back := &interrupting{Backend: host, after: after}
			d := drive(t, ctx, back, host.Answers, 80, 24)
			back.press = func() {
				if after == 2 {
					pictures.add(d, "two of three are installed")
				}
				d.press("ctrl+c")
				if after == 2 {
					pictures.add(d, "and ctrl-c was pressed")
				}
			}
			d.press("enter", "enter", "enter", "enter", "enter", "enter", "enter")
			if d.m.step != confirm {
				t.Fatalf("at %v: %s", d.m.step, d.view())
			}
			d.press("y")
			done, err := d.m.result()
			if !d.quit || !isLeft(err) {
				t.Fatalf("stopped after %d: quit %v, %v", after, d.quit, err)
			}
			if want := "interrupted"; !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%v", err)
			}
			entries, _ := os.ReadDir(filepath.Join(w.project, ".agents", "skills"))
			if len(entries) != after || len(done.Items) != after || len(w.locked()) != after {
				t.Errorf("stopped after %d: %d folders, %d told, %v in the lock", after, len(entries), len(done.Items), w.locked())
			}
			for _, e := range entries {
				w.run("kx", "verify", filepath.Join(".agents", "skills", e.Name()))
			}
		}, "../strangers/danger", "acme/triage", "acme/mailbox", "--agent", "codex", "--scope", "project", "--allow-findings")
	}
	golden(t, "installing", pictures.String())
}

// What changes on disk between the yes and the writing is not written over.
func TestChangedSinceItWasShown(t *testing.T) {
	w := furnished(t)
	w.with(func(ctx context.Context, host *cli.WizardHost) {
		d := drive(t, ctx, host, host.Answers, 80, 24)
		d.press("enter", "enter", "enter")
		if d.m.step != confirm {
			t.Fatalf("at %v: %s", d.m.step, d.view())
		}
		w.write("project/.agents/skills/triage/SKILL.md", "my own\n")
		d.press("enter")
		_, err := d.m.result()
		if e := hubapi.AsError(err); e == nil || e.Code != hubapi.Conflict {
			t.Errorf("%v", err)
		}
		data, err := os.ReadFile(filepath.Join(w.project, ".agents", "skills", "triage", "SKILL.md"))
		if err != nil || string(data) != "my own\n" || len(w.locked()) != 0 {
			t.Errorf("%q, %v, %v", data, err, w.locked())
		}
	}, "acme/triage", "--agent", "codex", "--scope", "project")
}

// An update shows what changes, and what it asks for more.
func TestUpdate(t *testing.T) {
	w := furnished(t)
	w.run("kx", "skills", "install", "acme/mailbox", "--agent", "codex", "--scope", "project", "--yes")
	w.write("src/mailbox/skill.json", `{"schema":"kortecx.skill/v1","name":"mailbox","version":"3","description":"Keep a mailbox small: archive what was answered.","tools":{"gmail/archive":"1"}}`)
	w.write("src/mailbox/instructions.md", mailboxText+"Use gmail/archive.\n")
	w.run("kx", "push", "../src/mailbox", "--author", "acme", "--approve")
	var pictures album
	w.with(func(ctx context.Context, host *cli.WizardHost) {
		d := drive(t, ctx, host, host.Answers, 80, 40)
		pictures.add(d, "review of an update")
		d.press("enter", "enter", "enter")
		pictures.add(d, "confirm an update")
		d.press("enter")
		pictures.add(d, "done")
		if _, err := d.m.result(); err != nil {
			t.Error(err)
		}
	}, "acme/mailbox", "--agent", "codex", "--scope", "project")
	golden(t, "update", pictures.String())
}

// falling is a hub that is asked by a program with a mistake.
type falling struct{ Backend }

func (falling) Load(context.Context, string) (*cli.WizardSkill, error) { panic("boom") }

// A panic beside the screen was printed to standard output, with a trace, by the library
// that draws.
func TestAPanicBesideTheScreenGoesOnInTheCommand(t *testing.T) {
	w := furnished(t)
	w.with(func(ctx context.Context, host *cli.WizardHost) {
		env := cli.Env{Stdin: strings.NewReader(""), Stderr: io.Discard, Getenv: func(string) string { return "" }}
		p := workers.Catch(func() {
			_, _ = onScreen(ctx, newFlow(falling{host}, "kazma", host.Answers), env, new(hearing))
		})
		if p == nil || p.Value != "boom" || !strings.Contains(string(p.Stack), "falling.Load") {
			t.Errorf("%v", p)
		}
	}, "acme/triage")
}
