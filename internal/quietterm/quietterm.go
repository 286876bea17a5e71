// Package quietterm keeps libraries that look at the terminal while they are
// initialised from doing so. A terminal toolkit that kx links (for the wizard)
// asks the terminal for its background colour in a package initialiser and waits
// five seconds on a pseudo-terminal that does not answer: an agent's shell, ssh
// -tt, expect. It asks nothing when TERM is "dumb".
//
// So this package, initialised before any such library, hides TERM, and the first
// statement of main calls Restore. It may import os alone and nothing else: Go
// initialises packages in the order of their import paths as soon as their own
// imports are ready, so that a package below github.com which needs only os comes
// before everything that needs text/template.
package quietterm

import "os"

var hidden = hide()

// hide sets TERM to "dumb" when standard output is a terminal and returns what to
// put back.
func hide() (term string) {
	info, err := os.Stdout.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return ""
	}
	term = os.Getenv("TERM")
	if term != "" {
		_ = os.Setenv("TERM", "dumb")
	}
	return term
}

// Restore gives TERM its value back. Call it first in main.
func Restore() {
	if hidden != "" {
		_ = os.Setenv("TERM", hidden)
	}
}
