package wizard

import (
	"context"
	"errors"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"github.com/kortecx/kx/internal/cli"
)

// onScreen runs the wizard on the whole terminal. It draws on standard error, so that
// standard output stays data. Ctrl-C arrives as a key; a signal ends the context.
func onScreen(ctx context.Context, f *flow, env cli.Env, heard *hearing) (*cli.WizardResult, error) {
	profile := profileOf(env.Getenv)
	t := newTheme(profile, darkTerminal(f.answers.Background, env.Getenv))
	t.attributes = profile == termenv.Ascii
	m := newModel(ctx, f, t)
	m.heard = heard
	_, err := tea.NewProgram(m,
		tea.WithContext(ctx), tea.WithInput(env.Stdin), tea.WithOutput(env.Stderr),
		tea.WithAltScreen(), tea.WithoutSignalHandler(),
	).Run()
	m.stop()
	if m.writing != nil {
		<-m.writing.ended
		m.done = m.writing.done
	}
	m.apart.Wait() // for nobody: with a panic, it goes on here
	switch {
	case ctx.Err() != nil:
		planned := 0
		if m.plan != nil {
			planned = len(m.plan.Writes)
		}
		return m.done, leftAfter(m.done, planned)
	case errors.Is(err, tea.ErrProgramPanic):
		return m.done, err
	case err != nil && !errors.Is(err, tea.ErrProgramKilled):
		return m.done, err
	}
	return m.result()
}
