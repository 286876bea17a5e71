// Command kx makes, checks, signs, publishes, reviews, delivers and uses skill
// packs. All it does here is to hand the process's surroundings to internal/cli.
package main

import (
	"os"

	"github.com/kortecx/kx/internal/cli"
	"github.com/kortecx/kx/internal/quietterm"
	"github.com/kortecx/kx/wizard"
)

func main() {
	quietterm.Restore()
	env := cli.System()
	env.Wizard = wizard.Run
	os.Exit(cli.Kx(env))
}
