// Command kx makes, checks, signs, publishes, reviews, delivers and uses skill
// packs. All it does here is to hand the process's surroundings to internal/cli.
package main

import (
	"os"

	"github.com/kortecx/kx/internal/cli"
	"github.com/kortecx/kx/internal/quietterm"
)

func main() {
	quietterm.Restore()
	os.Exit(cli.Kx(cli.System()))
}
