// Command kazma is the second face over the packages of kx: the hub commands with
// the words and outputs of the Kazma reference. All it does here is to hand the
// process's surroundings to internal/cli.
package main

import (
	"os"

	"github.com/kortecx/kx/internal/cli"
	"github.com/kortecx/kx/internal/quietterm"
)

func main() {
	quietterm.Restore()
	os.Exit(cli.Kazma(cli.System()))
}
