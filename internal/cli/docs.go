package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
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
	fmt.Fprintf(w, "# %s\n\n%s. This page is generated from the command tree.\n", program, capital(root.Usage))
	fmt.Fprint(w, "\nEvery command takes `--help`. With `--json` it writes exactly one JSON document to standard\noutput; everything else that it has to say goes to standard error.\n")
	fmt.Fprint(w, "\n## Exit codes\n\n| code | meaning |\n|---|---|\n")
	for _, row := range exitTable(program) {
		fmt.Fprintf(w, "| %d | %s |\n", row.code, row.meaning)
	}
	for _, c := range root.Commands {
		referenceOf(w, program, c)
	}
}

type exitRow struct {
	code    int
	meaning string
}

func exitTable(program string) []exitRow {
	rows := []exitRow{
		{hubapi.ExitOK, "done"},
		{hubapi.ExitFailed, "it ran and the answer is no: a check failed, something was not found or refused, the hub answered with an error"},
		{hubapi.ExitUsage, "the command line or the configuration is wrong; every failure of `kx new`, and a pack that `kx skills add` cannot read"},
		{hubapi.ExitTimeout, "a wait timed out"},
		{hubapi.ExitInterrupted, "interrupted"},
	}
	if program == "kx" {
		rows = append(rows, verifyExitRows()...)
	}
	return rows
}

func referenceOf(w io.Writer, path string, c *cli.Command) {
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
		if len(c.Flags) > 0 {
			fmt.Fprint(w, "\n| flag | |\n|---|---|\n")
			for _, f := range c.Flags {
				fmt.Fprintf(w, "| `%s` | %s |\n", flagNames(f), strings.ReplaceAll(flagUsage(f), "|", `\|`))
			}
		}
		if v := outputOf(path); v != nil {
			fmt.Fprint(w, "\n`--json` prints\n\n")
			for _, key := range outputKeys(v) {
				fmt.Fprintf(w, "    %s\n", key)
			}
		}
		if len(s.examples) > 0 {
			fmt.Fprintln(w)
			program, _, _ := strings.Cut(path, " ")
			for _, ex := range s.examples {
				fmt.Fprintf(w, "    %s %s   # %s\n", program, ex.line, ex.does)
			}
		}
	}
	for _, sub := range c.Commands {
		referenceOf(w, path, sub)
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
