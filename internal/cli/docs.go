package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v3"
)

// Reference writes the reference page of one program in Markdown. docs/ holds its
// output, and a test compares.
func Reference(w io.Writer, program string) {
	a := &app{program: program}
	tree := kxTree
	if program == "kazma" {
		tree = kazmaTree
	}
	root := tree(a)
	a.finish(root)
	fmt.Fprintf(w, "# %s\n\n%s. This page is generated from the command tree; `%s man` gives the same as manual pages.\n", program, capital(root.Usage), program)
	fmt.Fprint(w, "\nEvery command takes `--help`. With `--json` it writes exactly one JSON document to standard\noutput; everything else that it has to say goes to standard error.\n")
	fmt.Fprint(w, "\n- [Commands](#commands)\n- [Exit codes](#exit-codes)\n- [Environment](#environment)\n- [Files](#files)\n")
	fmt.Fprint(w, "\n## Commands\n")
	for _, h := range headingsOf(root) {
		if h.title != "" {
			fmt.Fprintf(w, "\n### %s\n", h.title)
		}
		fmt.Fprintln(w)
		for _, c := range h.commands {
			contentsOf(w, program, c)
		}
	}
	fmt.Fprint(w, "\n## Exit codes\n\n| code | meaning |\n|---|---|\n")
	for _, row := range exitTable(program, "") {
		fmt.Fprintf(w, "| %d | %s |\n", row.code, row.meaning)
	}
	fmt.Fprint(w, "\n## Environment\n\n| variable | meaning |\n|---|---|\n")
	for _, v := range variablesOf(root, program) {
		fmt.Fprintf(w, "| `%s` | %s |\n", v.name, inTable(v.meaning))
	}
	fmt.Fprint(w, "\nA flag goes before its variable, a variable before the settings in files; [settings.md](settings.md) says more.\n")
	fmt.Fprint(w, "\n## Files\n\n| file or folder | meaning |\n|---|---|\n")
	for _, p := range placesOf(root, program) {
		fmt.Fprintf(w, "| `%s` | %s |\n", p.path, inTable(p.meaning))
	}
	fmt.Fprint(w, "\nWith `KX_HOME` set, what is below `~/.config/kx` and `~/.local/share/kx` is below `KX_HOME`.\n")
	for _, c := range root.Commands {
		referenceOf(w, root, program, c)
	}
}

// contentsOf lists a command, or those of a group, with links to their sections.
func contentsOf(w io.Writer, path string, c *cli.Command) {
	if c.Hidden {
		return
	}
	path += " " + c.Name
	if len(c.Commands) == 0 {
		fmt.Fprintf(w, "- [%s](#%s): %s\n", path, strings.ReplaceAll(path, " ", "-"), c.Usage)
	}
	for _, sub := range c.Commands {
		contentsOf(w, path, sub)
	}
}

func inTable(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func referenceOf(w io.Writer, root *cli.Command, path string, c *cli.Command) {
	if c.Hidden {
		return
	}
	path += " " + c.Name
	if len(c.Commands) == 0 {
		s := specOf(c)
		fmt.Fprintf(w, "\n## %s\n\n%s.\n\n    %s\n", path, capital(c.Usage), strings.TrimSpace(path+" "+s.args+" [FLAGS]"))
		if c.Description != "" {
			fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(c.Description))
		}
		if flags := acceptedFlags(root, c); len(flags) > 0 {
			fmt.Fprint(w, "\n| flag | meaning |\n|---|---|\n")
			for _, f := range flags {
				fmt.Fprintf(w, "| `%s` | %s |\n", inTable(flagNames(f)), inTable(flagUsage(f)))
			}
		}
		if v := outputOf(path); v != nil {
			fmt.Fprint(w, "\nWith `--json` it prints one object with these keys:\n\n")
			for _, key := range outputKeys(v) {
				fmt.Fprintf(w, "    %s\n", key)
			}
		}
		if len(s.examples) > 0 {
			fmt.Fprint(w, "\nExamples:\n\n")
			program, _, _ := strings.Cut(path, " ")
			for _, ex := range s.examples {
				fmt.Fprintf(w, "    %s %s   # %s\n", program, ex.line, ex.does)
			}
		}
	}
	for _, sub := range c.Commands {
		referenceOf(w, root, path, sub)
	}
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Examples gives the command lines that the help of a program shows, without the
// program's name, in the order of the tree.
func Examples(program string) []string {
	a := &app{program: program}
	tree := kxTree
	if program == "kazma" {
		tree = kazmaTree
	}
	var lines []string
	var visit func(*cli.Command)
	visit = func(c *cli.Command) {
		for _, ex := range specOf(c).examples {
			lines = append(lines, ex.line)
		}
		for _, sub := range c.Commands {
			visit(sub)
		}
	}
	visit(tree(a))
	return lines
}
