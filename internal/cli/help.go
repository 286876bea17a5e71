package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v3"
)

// helpAlone leaves of a command line that asks for help the command and the question:
// behind an argument, the library takes --help for a question about that argument. "help
// COMMAND" is the same question.
func helpAlone(root *cli.Command, args []string) []string {
	if len(args) < 2 {
		return args
	}
	if args[1] == "help" {
		args = append(append([]string{args[0]}, args[2:]...), "--help")
	}
	c, kept := root, []string{args[0]}
	for i := 1; i < len(args); i++ {
		arg := args[i]
		switch sub := c.Command(arg); {
		case arg == "--":
			return args
		case arg == "--help" || arg == "-h":
			return append(kept, "--help")
		case strings.HasPrefix(arg, "-") && len(arg) > 1:
			if takesNext(root, c, arg) {
				i++
			}
		case sub != nil:
			c, kept = sub, append(kept, arg)
		case len(c.Commands) > 0:
			// No such command: that it is unknown says more than the help of its group.
			return append(kept, arg)
		}
	}
	return args
}

// takesNext tells whether the word behind a flag is its value.
func takesNext(root, c *cli.Command, arg string) bool {
	for _, f := range append(slices.Clone(c.Flags), root.Flags...) {
		d, ok := f.(cli.DocGenerationFlag)
		if ok && d.TakesValue() && slices.Contains(f.Names(), strings.TrimLeft(arg, "-")) {
			return true
		}
	}
	return false
}

// visibleFlags are the flags that a command accepts, its own first, then those it
// inherits.
func visibleFlags(c *cli.Command) []cli.Flag {
	var out []cli.Flag
	for _, command := range c.Lineage() {
		for _, f := range command.Flags {
			if v, ok := f.(cli.VisibleFlag); ok && !v.IsVisible() {
				continue
			}
			if l, ok := f.(cli.LocalFlag); ok && command != c && l.IsLocal() {
				continue
			}
			out = append(out, f)
		}
	}
	return out
}

// printHelp writes the help of one command. It is our own, because the library's
// goes through text/template and shows no examples.
func printHelp(w io.Writer, c *cli.Command) {
	s := specOf(c)
	fmt.Fprintf(w, "%s: %s\n\nUsage:\n  %s\n", c.FullName(), c.Usage, usageLine(c))
	if c.Description != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(c.Description))
	}
	printCommands(w, c)
	if flags := visibleFlags(c); len(flags) > 0 {
		fmt.Fprintln(w, "\nFlags:")
		rows := make([][2]string, 0, len(flags))
		for _, f := range flags {
			rows = append(rows, [2]string{flagNames(f), flagUsage(f)})
		}
		printRows(w, rows)
	}
	if len(s.examples) > 0 {
		fmt.Fprintln(w, "\nExamples:")
		for _, ex := range s.examples {
			fmt.Fprintf(w, "  # %s\n  %s %s\n", ex.does, c.Root().Name, ex.line)
		}
	}
	if len(c.Commands) > 0 {
		fmt.Fprintf(w, "\n%s COMMAND --help tells more about one command.\n", c.FullName())
	}
}

func usageLine(c *cli.Command) string {
	parts := []string{c.FullName()}
	if len(c.Commands) > 0 {
		parts = append(parts, "COMMAND")
	}
	if a := specOf(c).args; a != "" {
		parts = append(parts, a)
	}
	if len(visibleFlags(c)) > 0 {
		parts = append(parts, "[FLAGS]")
	}
	return strings.Join(parts, " ")
}

// heading is what commands of a group stand under.
type heading struct {
	title    string // empty for those without one
	commands []*cli.Command
}

// headingsOf are the commands of a group that can be seen under their headings, in the
// order in which the headings first appear.
func headingsOf(c *cli.Command) []heading {
	var out []heading
	for _, sub := range c.Commands {
		if sub.Hidden {
			continue
		}
		at := slices.IndexFunc(out, func(h heading) bool { return h.title == sub.Category })
		if at < 0 {
			out, at = append(out, heading{title: sub.Category}), len(out)
		}
		out[at].commands = append(out[at].commands, sub)
	}
	return out
}

func printCommands(w io.Writer, c *cli.Command) {
	for _, h := range headingsOf(c) {
		title := h.title
		if title == "" {
			title = "Commands"
		}
		fmt.Fprintf(w, "\n%s:\n", title)
		var rows [][2]string
		for _, sub := range h.commands {
			rows = append(rows, [2]string{sub.Name, sub.Usage})
		}
		printRows(w, rows)
	}
}

func printRows(w io.Writer, rows [][2]string) {
	width := 0
	for _, r := range rows {
		if n := utf8.RuneCountInString(r[0]); n > width && n <= 28 {
			width = n
		}
	}
	for _, r := range rows {
		fmt.Fprintf(w, "  %-*s  %s\n", width, r[0], r[1])
	}
}

func flagNames(f cli.Flag) string {
	var b strings.Builder
	for i, name := range shownNames(f) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("-")
		if len(name) > 1 {
			b.WriteString("-")
		}
		b.WriteString(name)
	}
	if d, ok := f.(cli.DocGenerationFlag); ok && d.TakesValue() {
		b.WriteString(" " + valueName(f))
	}
	return b.String()
}

// valueName is the word between backquotes in a flag's usage text; VALUE without one.
func valueName(f cli.Flag) string {
	if d, ok := f.(cli.DocGenerationFlag); ok {
		if parts := strings.SplitN(d.GetUsage(), "`", 3); len(parts) == 3 {
			return parts[1]
		}
	}
	return "VALUE"
}

func flagUsage(f cli.Flag) string {
	d, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return ""
	}
	usage := strings.ReplaceAll(d.GetUsage(), "`", "")
	if value := d.GetDefaultText(); value != "" && d.TakesValue() && value != `""` && value != "0" {
		usage += fmt.Sprintf(" (default %s)", strings.Trim(value, `"`))
	}
	return usage
}
