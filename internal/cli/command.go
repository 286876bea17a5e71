package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
)

// action is the body of a command.
type action func(ctx context.Context, c *cli.Command) error

// spec is what a command declares beside its flags and its body.
type spec struct {
	args     string // usage of the arguments, such as "PATH..."
	min, max int    // how many there may be; max < 0 means any number
	long     string // what help says below the usage line
	examples []example
	hidden   bool
	there    int // the argument, and those behind it, that must be a path which leads to something; 0: none

	// choices are the values that completion offers for a flag by its name, and
	// for an argument under the empty name.
	choices map[string][]string
}

// example is a command line that help shows and a test runs.
type example struct {
	line string // without the program's name
	does string
}

const specKey = "kx.spec"

// leaf is a command that does something.
//
// Not inlined, for the size of the programs.
//
//go:noinline
func (a *app) leaf(name, usage string, s spec, flags []cli.Flag, run action) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: s.args, Description: s.long, Hidden: s.hidden,
		Flags:    flags,
		Action:   cli.ActionFunc(run),
		Metadata: map[string]any{specKey: s},
	}
}

// group is a command that only holds others. Alone it prints its help.
func (a *app) group(name, usage, category string, subs ...*cli.Command) *cli.Command {
	c := &cli.Command{Name: name, Usage: usage, Category: category, Commands: subs}
	c.Metadata = map[string]any{specKey: spec{max: -1}}
	c.Flags = []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print one JSON document instead of text", Local: true}}
	c.Action = func(_ context.Context, c *cli.Command) error {
		if c.NArg() == 0 && c.Bool("json") {
			return a.printJSON(describe(c))
		}
		if c.NArg() == 0 {
			printHelp(a.Stdout, c)
			return nil
		}
		return unknownCommand(c, c.Args().First())
	}
	return c
}

// described is a group in --json documents: what help says of its commands.
type described struct {
	Command  string      `json:"command"`
	Usage    string      `json:"usage"`
	Commands []described `json:"commands,omitempty"`
}

func describe(c *cli.Command) described {
	d := described{Command: c.Name, Usage: c.Usage}
	for _, sub := range c.Commands {
		if !sub.Hidden {
			d.Commands = append(d.Commands, describe(sub))
		}
	}
	return d
}

// in puts a command under a heading of the root's help.
func in(category string, c *cli.Command) *cli.Command {
	c.Category = category
	return c
}

// ourHelp guards the one seam of the library that is a global: which function
// prints help. It is set once, to the same function for every run.
var ourHelp sync.Once

// finish walks the tree once and sets what the library would otherwise do in its
// own way: help to standard output on mistakes, os.Exit, commas that split values.
func (a *app) finish(root *cli.Command) {
	root.Reader, root.Writer, root.ErrWriter = a.Stdin, a.Stdout, a.Stderr
	root.ExitErrHandler = func(context.Context, *cli.Command, error) {}
	root.HideHelpCommand, root.HideVersion = true, true
	ourHelp.Do(func() {
		cli.HelpPrinter = func(w io.Writer, _ string, command any) {
			if c, ok := command.(*cli.Command); ok {
				printHelp(w, c)
			}
		}
	})
	a.finishCommand(root)
}

func (a *app) finishCommand(c *cli.Command) {
	c.DisableSliceFlagSeparator = true
	c.OnUsageError = func(_ context.Context, c *cli.Command, err error, _ bool) error { return flagError(c, err) }
	if body := c.Action; body != nil {
		c.Action = func(ctx context.Context, c *cli.Command) error {
			if err := a.checkArgs(c); err != nil {
				return err
			}
			return body(ctx, c)
		}
	}
	for _, sub := range c.Commands {
		a.finishCommand(sub)
	}
}

func specOf(c *cli.Command) spec {
	s, _ := c.Metadata[specKey].(spec)
	return s
}

func (a *app) checkArgs(c *cli.Command) error {
	s, n := specOf(c), c.NArg()
	switch {
	case n < s.min:
		return usagef("missing argument: %s needs %s", c.FullName(), s.args).WithHint("%s --help", c.FullName())
	case s.max >= 0 && n > s.max:
		return usagef("unexpected argument %q", c.Args().Get(s.max)).WithHint("%s --help", c.FullName())
	}
	if err := emptyValue(c); err != nil {
		return err
	}
	if s.there > 0 {
		for _, text := range c.Args().Slice()[min(s.there-1, n):] {
			if err := a.mustLead(text); err != nil {
				return err
			}
		}
	}
	return nil
}

// notEmpty are the values that are never empty, by what help calls them.
var notEmpty = []string{"FILE", "DIR", "PARENT", "PATH", "URL", "DIGEST", "AUTHOR", "VERSION", "TENANT", "DURATION"}

// emptyValue refuses an empty file, folder or the like. In a script that is a variable
// that nobody set, and without the refusal kx verify --policy "$POLICY" would pass by no
// policy. A search by no author is one by all, as it was in the original.
func emptyValue(c *cli.Command) error {
	if c.Name == "search" {
		return nil
	}
	const hint = "an unset variable may be in it"
	for _, f := range visibleFlags(c) {
		s, ok := f.(*cli.StringFlag)
		if !ok || !c.IsSet(s.Name) || c.String(s.Name) != "" {
			continue
		}
		if parts := strings.SplitN(s.Usage, "`", 3); len(parts) == 3 && slices.Contains(notEmpty, parts[1]) {
			return usagef("--%s is empty and needs a %s", s.Name, parts[1]).WithHint(hint)
		}
	}
	for i, name := range strings.Fields(specOf(c).args) {
		if slices.Contains(notEmpty, name) && i < c.NArg() && c.Args().Get(i) == "" {
			return usagef("%s is empty", name).WithHint(hint)
		}
	}
	return nil
}

// mustLead refuses a path of the command line that leads to nothing. Whatever the
// command is, that is a mistake on its command line, and not an answer: exit 2.
func (a *app) mustLead(text string) error {
	if _, err := os.Stat(a.path(text)); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nothingAt(text)
	}
	return nil
}

// missing words the error of paths of which one cannot be looked into.
func (a *app) missing(paths []string, err error) error {
	for _, text := range paths {
		if missing := a.mustLead(text); missing != nil {
			return missing
		}
	}
	return usagef("%v", err)
}

func nothingAt(text string) *hubapi.Error {
	return usagef("there is nothing at %s", text).WithHint("name a file or folder that is there; a relative path counts from the working directory")
}

// flagError words a parse error of the library, with the nearest flag.
func flagError(c *cli.Command, err error) error {
	if e, ok := errors.AsType[*hubapi.Error](err); ok {
		return e
	}
	text := err.Error()
	e := usagef("%s", worded(c, text))
	e.Hint = c.FullName() + " --help"
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: "); ok {
		name = strings.TrimLeft(name, "-")
		e.Message = fmt.Sprintf("unknown flag --%s", name)
		var names []string
		for _, f := range visibleFlags(c) {
			names = append(names, f.Names()...)
		}
		names = slices.DeleteFunc(names, func(n string) bool { return len(n) == 1 })
		if len(name) == 1 {
			e.Message = fmt.Sprintf("unknown flag -%s", name) // every letter is near every other one
			if strings.EqualFold(name, "v") && c == c.Root() {
				e.Hint = fmt.Sprintf("did you mean %q?", c.FullName()+" version")
			}
		} else if near := nearest(name, names); near != "" {
			e.Hint = fmt.Sprintf("did you mean --%s?", near)
		}
	}
	return e
}

// worded says what a flag needs, where the library gives the words of a parser.
func worded(c *cli.Command, text string) string {
	const begin, middle = "invalid value ", " for flag -"
	if name, ok := strings.CutPrefix(text, "flag needs an argument: "); ok {
		return dashed(strings.TrimLeft(name, "-")) + " needs a value"
	}
	at := strings.LastIndex(text, middle)
	if !strings.HasPrefix(text, begin) || at < 0 {
		return text
	}
	name, why, _ := strings.Cut(text[at+len(middle):], ": ")
	for _, f := range visibleFlags(c) {
		if !slices.Contains(f.Names(), name) {
			continue
		}
		switch f.(type) {
		case *cli.DurationFlag:
			return dashed(name) + " needs a duration such as 720h, 30m or 10s"
		case *cli.IntFlag, *cli.Int64Flag:
			return dashed(name) + " needs a whole number"
		case *cli.UintFlag, *cli.Uint64Flag:
			return dashed(name) + " needs a whole number, not below 0"
		case *cli.FloatFlag:
			return dashed(name) + " needs a number"
		case *cli.BoolFlag:
			return dashed(name) + " is true or false"
		}
	}
	return dashed(name) + ": " + why
}

// dashed is a flag as it is typed.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func unknownCommand(c *cli.Command, name string) error {
	e := usagef("unknown command %q", c.FullName()+" "+name)
	e.Hint = c.FullName() + " --help"
	var names []string
	for _, sub := range c.Commands {
		if !sub.Hidden {
			names = append(names, sub.Names()...)
		}
	}
	if near := nearest(name, names); near != "" {
		e.Hint = fmt.Sprintf("did you mean %q?", c.FullName()+" "+near)
	}
	if said := elsewhere[c.FullName()][name]; said != "" {
		e.Hint = said
	}
	return e
}

// elsewhere are words that other programs have for what is here under another name.
var elsewhere = map[string]map[string]string{
	"kx": {
		"install": `did you mean "kx skills install"?`,
		"add":     `did you mean "kx skills install"?`,
		"update":  `did you mean "kx skills update"?`,
		"upgrade": `did you mean "kx skills update"?`,
		"remove":  `did you mean "kx skills remove"?`,
		"publish": `did you mean "kx push"?`,
		"list":    `did you mean "kx skills list"? what waits for review is in kx inbox list`,
		"init":    `did you mean "kx new skill"?`,
		"login":   "there is no login: put the hub's address into KX_ENDPOINT and your key into KX_TOKEN; kx hub token new makes one",
	},
	"kazma": {
		"install": `did you mean "kazma hub install"?`,
		"update":  `did you mean "kazma hub update"?`,
		"publish": `did you mean "kazma hub publish"?`,
		"search":  `did you mean "kazma hub search"?`,
		"list":    `did you mean "kazma hub list"?`,
		"show":    `did you mean "kazma hub info"?`,
		"init":    "packs are made with kx new skill NAME --pack-format kazma",
		"login":   "there is no login: your key is in KX_TOKEN; kx hub token new makes one",
	},
}

func nearest(word string, candidates []string) string { return hubapi.Nearest(word, candidates) }

// jsonFlag is on every command that prints something.
//
// Not inlined, for the size of the programs.
//
//go:noinline
func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print one JSON document instead of text"}
}
