package wizard

import (
	"context"
	"flag"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"pgregory.net/rapid"

	"github.com/kortecx/kx/internal/cli"
)

// remembering answers the same search and the same Load from memory: a property has
// thousands of them, and the hub gives the same each time.
type remembering struct {
	Backend
	mu     sync.Mutex
	pages  map[string]*cli.WizardPage
	skills map[string]*cli.WizardSkill
}

func (r *remembering) Search(ctx context.Context, text string) (*cli.WizardPage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if page, ok := r.pages[text]; ok {
		return page, nil
	}
	page, err := r.Backend.Search(ctx, text)
	if err == nil {
		r.pages[text] = page
	}
	return page, err
}

func (r *remembering) Load(ctx context.Context, ref string) (*cli.WizardSkill, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if skill, ok := r.skills[ref]; ok {
		return skill, nil
	}
	skill, err := r.Backend.Load(ctx, ref)
	if err == nil {
		r.skills[ref] = skill
	}
	return skill, err
}

// Whatever is typed, and however the window changes meanwhile: it never panics, draws
// no more than the terminal has room for, and writes nothing before it was confirmed.
func TestAnyKeysAndSizes(t *testing.T) {
	// Each run has tens of keys, so fewer runs will do unless more are asked for.
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		_ = checks.Value.Set("40")
		defer func() { _ = checks.Value.Set(checks.DefValue) }()
	}
	w := furnished(t)
	keys := []string{
		"enter", "enter", "enter", "tab", "shift+tab", "up", "down", "left", "right", "pgup", "pgdown", "home", "end",
		"esc", "backspace", "delete", "ctrl+u", "ctrl+w", "space", "a", "m", "x", "r", "s", "y", "n", "q", "/", ".", "ctrl+c", "日", "ا", "\x1b",
	}
	sizes := rapid.OneOf(rapid.IntRange(0, 6), rapid.IntRange(7, 130))
	w.with(func(ctx context.Context, host *cli.WizardHost) {
		back := &remembering{Backend: host, pages: map[string]*cli.WizardPage{}, skills: map[string]*cli.WizardSkill{}}
		before := tree(t, w.home, ".kx")
		confirmed := 0
		rapid.Check(t, func(rt *rapid.T) {
			d := drive(t, ctx, back, cli.WizardAnswers{}, sizes.Draw(rt, "width"), sizes.Draw(rt, "height"))
			if rapid.Bool().Draw(rt, "chosen") {
				d.press("enter", "tab", "tab", "enter")
			}
			for range rapid.IntRange(1, 40).Draw(rt, "steps") {
				if d.quit {
					break
				}
				if rapid.IntRange(0, 4).Draw(rt, "kind") == 0 {
					d.send(tea.WindowSizeMsg{Width: sizes.Draw(rt, "width"), Height: sizes.Draw(rt, "height")})
				} else {
					d.press(rapid.SampledFrom(keys).Draw(rt, "key"))
				}
				checkPicture(rt, d.m.View(), d.m.width, d.m.height)
			}
			if d.m.writing != nil {
				if d.m.step < install {
					rt.Fatalf("something was written on the screen %v", d.m.step)
				}
				confirmed++
				before = tree(t, w.home, ".kx")
			} else if !sameTree(before, tree(t, w.home, ".kx")) {
				rt.Fatalf("something was written without being confirmed; now there is %v", tree(t, w.home, ".kx"))
			}
			if done, err := d.m.result(); d.quit && d.m.step < install && (err == nil || done != nil || !isLeft(err)) {
				rt.Fatalf("who leaves gets %v, %v", done, err)
			}
		})
		t.Logf("%d runs confirmed; the project is %s", confirmed, filepath.Base(w.project))
	})
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a b c", "日本語の 道具", "\x1b[31m", "مرحبا\u202e", "👩‍👧 family", "a\u0301\u0301\u0301", "    deep indent of text"} {
		f.Add(s, 7)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		n = max(min(n, 200), 1)
		for _, line := range cleanLines(s) {
			if parts := chop(line, n); strings.ReplaceAll(strings.Join(parts, ""), " ", "") != strings.ReplaceAll(line, " ", "") {
				t.Fatalf("chop(%q, %d) gives %q", line, n, parts)
			}
			for _, part := range append(wrap(line, n), chop(line, n)...) {
				if widthOf(part) > max(n, 2) {
					t.Fatalf("wrap(%q, %d) has a line of %d: %q", line, n, widthOf(part), part)
				}
			}
		}
		s = clean(s)
		if got := pad(s, n); widthOf(got) != n {
			t.Fatalf("pad(%q, %d) has %d columns: %q", s, n, widthOf(got), got)
		}
		in := input{}
		in.insert(s)
		for range len(s) % 5 {
			in.left()
		}
		if got := in.shown(n).width(); got > n {
			t.Fatalf("%q is shown in %d columns of %d", s, got, n)
		}
	})
}
