package cli

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v3"
)

// version is set by the release build (-X); a plain build takes what the Go
// toolchain recorded.
var version string

// build is what --version and version say about this binary.
type build struct {
	Program string `json:"program"`
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func (a *app) build() build {
	b := build{Program: a.program, Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		b.Version = first(b.Version, "devel")
		return b
	}
	b.Version = first(b.Version, info.Main.Version, "devel")
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Commit = s.Value
		}
	}
	return b
}

func (a *app) printVersion(asJSON bool) error {
	b := a.build()
	if asJSON {
		return a.printJSON(b)
	}
	a.printf("%s %s\n", b.Program, b.Version)
	return nil
}

func (a *app) versionCommand() *cli.Command {
	return a.leaf("version", "print the version of this program", spec{
		examples: []example{
			{"version", "one line"},
			{"version --json", "with commit, Go version and platform"},
		},
	}, []cli.Flag{jsonFlag()}, func(_ context.Context, c *cli.Command) error {
		return a.printVersion(c.Bool("json"))
	})
}
