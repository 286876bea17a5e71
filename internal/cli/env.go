// Package cli is the command line of both programs: it parses arguments, calls the
// packages below and prints. No rule about packs, signatures or hubs lives here.
//
// Kx and Kazma run one command line in an Env and give the exit code; mains pass
// System(), tests build their own. Every command is declared with leaf or group
// (command.go), returns an error of package hubapi, and is turned into an exit
// code in one place (run.go).
package cli

import (
	"context"
	"crypto/rand"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/kortecx/kx/internal/fsx"
)

// Env is everything that a command takes from outside. Nothing below this package
// reads the process's own environment, clock or streams.
type Env struct {
	Args    []string // with the program's name at index 0
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Getenv  func(string) string
	Dir     string // working directory; empty means the process's own
	HomeDir string // the user's home, for the defaults of KX_HOME
	OS      string // runtime.GOOS of the machine that is served
	Now     func() time.Time
	Rand    io.Reader
	// Symlink makes a link to an installed skill; nil leaves it to the system.
	Symlink func(root fsx.Root, target, name string) error

	StdinTerminal  bool
	StdoutTerminal bool
	StderrTerminal bool
	Width          int // columns of the terminal, 0 without one

	// LockWait is how long a command waits for another one to leave the user's own hub,
	// CompleteTime how long completion may look into it; 0 means 10 seconds, and 150 ms.
	LockWait, CompleteTime time.Duration

	// Context ends when the user interrupts; nil means context.Background().
	Context context.Context

	// Wizard asks for what an installation needs to know, and installs, through its
	// host alone. It lives above this package; nil means that this program has none.
	Wizard func(context.Context, *WizardHost) (*WizardResult, error)
}

// System is the process's own surroundings, for its main.
func System() Env {
	if os.Getenv("GOGC") == "" {
		collectLate()
	}
	home, _ := os.UserHomeDir()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second interrupt ends the process at once
	}()
	env := Env{
		Args:           os.Args,
		Stdin:          os.Stdin,
		Stdout:         os.Stdout,
		Stderr:         os.Stderr,
		Getenv:         os.Getenv,
		HomeDir:        home,
		OS:             runtime.GOOS,
		Now:            time.Now,
		Rand:           rand.Reader,
		StdinTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		StdoutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		StderrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		Context:        ctx,
	}
	if env.StdoutTerminal {
		env.Width, _, _ = term.GetSize(int(os.Stdout.Fd()))
	}
	return env
}
