package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
)

// demoStep is one command of the demo.
type demoStep struct {
	does string
	args string // of kx, separated by spaces; no argument holds one
}

// demoSteps is the road of one pack. Everything is relative to the scratch folder.
var demoSteps = [...]demoStep{
	{"Make a pack", "new skill hello --tool retrieve@1"},
	{"Check it", "check hello"},
	{"Make a key", "keys new demo"},
	{"Sign it: one statement over every file, the name, the author and the version", "sign hello --key demo --author acme"},
	{"Publish it to the hub; nothing is active before somebody approves it", "push hello --author acme"},
	{"See what waits for review", "inbox list"},
	{"Approve it", "inbox approve acme/hello"},
	{"Find it", "search hello"},
	{"Install it where an agent reads skills", "skills install acme/hello --to .claude/skills"},
	{"Verify what is on disk there against what was signed", "verify .claude/skills/hello"},
}

func (a *app) demoCommand() *cli.Command {
	return a.leaf("demo", "take one pack the whole way, in a scratch folder", spec{
		long: "Runs the commands that it shows, in a scratch folder with a KX_HOME of its own: your keys, hub and settings are\n" +
			"not touched. The hub runs inside this process; nothing is left running.",
		examples: []example{
			{"demo", "in a new temporary folder"},
			{"demo --dir scratch", "in a folder that you choose; it must be new or empty"},
		},
	}, []cli.Flag{
		&cli.StringFlag{Name: "dir", Usage: "use the scratch folder `DIR`, which must be new or empty"},
		jsonFlag(),
	}, a.runDemo)
}

// demoResult is the --json document of the demo.
type demoResult struct {
	Dir     string       `json:"dir"`
	Release string       `json:"release"`
	Digest  string       `json:"digest"`
	Steps   []demoOutput `json:"steps"`
}

type demoOutput struct {
	Command string `json:"command"`
	Output  string `json:"output"`
}

func (a *app) runDemo(ctx context.Context, c *cli.Command) error {
	dir, err := a.scratch(c.String("dir"))
	if err != nil {
		return err
	}
	result := demoResult{Dir: dir, Release: "acme/hello@1"}
	text := !c.Bool("json")
	if text {
		a.printf("One skill pack, from nothing to an agent's folder. Everything happens in\n  %s\n", dir)
	}
	for i, step := range demoSteps {
		command := "kx " + step.args
		if text {
			a.printf("\n%d. %s.\n   $ %s\n", i+1, step.does, command)
		}
		out, err := a.demoRun(ctx, dir, step.args)
		if text {
			for line := range strings.Lines(out) {
				fmt.Fprint(a.Stdout, "   ", line)
			}
		}
		if err != nil {
			return err
		}
		result.Steps = append(result.Steps, demoOutput{Command: command, Output: out})
		if at := strings.Index(out, "sp1:"); at >= 0 && len(out) >= at+68 {
			result.Digest = out[at : at+68]
		}
	}
	if !text {
		return a.printJSON(result)
	}
	a.printf("\nDone: %s, digest %s,\nis in %s and verified there. Nothing is left running.\n", result.Release, result.Digest, filepath.Join(dir, ".claude", "skills", "hello"))
	a.printf("\nBy hand, with a KX_HOME that is not your own yet (go install ./cmd/kx gives you kx):\n\n   export KX_HOME=%s\n   cd \"$(mktemp -d)\"\n", shellQuote(filepath.Join(dir, "again")))
	for _, step := range demoSteps {
		a.printf("   kx %s\n", step.args)
	}
	a.printf("\nAll of it can be removed: rm -r %s\n", shellQuote(dir))
	return nil
}

// scratch makes the folder of the demo.
func (a *app) scratch(dir string) (string, error) {
	if dir == "" {
		return os.MkdirTemp(a.Getenv("TMPDIR"), "kx-demo-")
	}
	dir, err := filepath.Abs(a.path(dir))
	if err != nil {
		return "", err
	}
	if err := fsx.EnsureDir(dir, 0o755); err != nil {
		return "", usagef("cannot use the folder: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		return "", usagef("%s is not empty; name a new folder", dir)
	}
	return dir, nil
}

// demoRun runs one command line of kx in the scratch folder, in this process.
func (a *app) demoRun(ctx context.Context, dir, args string) (string, error) {
	var out bytes.Buffer
	env := a.Env
	// A context of its own: the library finds the calling command in ctx, and would
	// call every command of the demo a sub-command of the demo.
	own, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	env.Context = own
	env.Args = append([]string{"kx"}, strings.Fields(args)...)
	env.Stdin = strings.NewReader("")
	env.Stdout, env.Stderr = &out, &out
	env.StdinTerminal, env.StdoutTerminal, env.StderrTerminal, env.Width = false, false, false, 0
	env.Dir = dir
	env.Getenv = func(name string) string {
		if name == "KX_HOME" {
			return filepath.Join(dir, "home")
		}
		return ""
	}
	switch code := Kx(env); code {
	case hubapi.ExitOK:
	case hubapi.ExitInterrupted:
		return out.String(), hubapi.Errorf(hubapi.Interrupted, "interrupted; what was made is in %s", dir)
	default:
		return out.String(), hubapi.Errorf(hubapi.Internal, "the demo stopped: kx %s ended with %d", args, code)
	}
	return out.String(), nil
}
