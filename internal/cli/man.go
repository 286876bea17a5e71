package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/internal/fsx"
)

// manPage is one manual page.
type manPage struct {
	Name string `json:"name"` // of the file, such as kx-check.1
	Text string `json:"text,omitempty"`
}

// manWritten is what man prints as JSON: the page that was asked for with its text, or
// the names of those that were written.
type manWritten struct {
	Dir   string    `json:"dir,omitempty"`
	Pages []manPage `json:"pages"`
}

func (a *app) manCommand() *cli.Command {
	return a.leaf("man", "print or write the manual pages", spec{
		args: "[COMMAND...]", max: -1,
		long: "Prints the page of a command, or of the program, in the language that man reads. With --dir it writes the pages of\n" +
			"all commands into a folder. To have them where man looks:\n\n" +
			"  " + a.program + " man --dir ~/.local/share/man/man1\n\n" +
			"To read one without that:\n\n" +
			"  " + a.program + " man | man -l -\n\n" +
			"The pages are the same from run to run; they have a date only when SOURCE_DATE_EPOCH is set.",
		examples: []example{
			{"man", "the page of the program"},
			{"man completion --json", "the page of one command, as JSON"},
			{"man --dir man1", "all pages, into the folder man1"},
		},
	}, []cli.Flag{
		&cli.StringFlag{Name: "dir", Usage: "write all pages into the folder `DIR`"},
		jsonFlag(),
	}, a.runMan)
}

func (a *app) runMan(_ context.Context, c *cli.Command) error {
	date, err := a.sourceDate()
	if err != nil {
		return err
	}
	if c.IsSet("dir") {
		return a.writeManPages(c, date)
	}
	of, path, err := a.commandAt(c.Args().Slice())
	if err != nil {
		return err
	}
	page := a.manPage(of, path, date)
	if c.Bool("json") {
		return a.printJSON(manWritten{Pages: []manPage{page}})
	}
	_, err = fmt.Fprint(a.Stdout, page.Text)
	return err
}

func (a *app) writeManPages(c *cli.Command, date string) error {
	dir := c.String("dir")
	if c.NArg() > 0 {
		return usagef("--dir writes the pages of all commands; it goes without %q", c.Args().First())
	}
	root, err := fsx.OpenOrCreate(a.path(dir), 0o755)
	if err != nil {
		return err
	}
	defer root.Close()
	written := manWritten{Dir: root.Name()}
	for _, page := range a.manPages(date) {
		if err := root.WriteFile(page.Name, []byte(page.Text), 0o644); err != nil {
			return err
		}
		written.Pages = append(written.Pages, manPage{Name: page.Name})
	}
	if c.Bool("json") {
		return a.printJSON(written)
	}
	a.printf("%d pages in %s\n", len(written.Pages), dir)
	return nil
}

// sourceDate is the date of SOURCE_DATE_EPOCH; empty without it.
func (a *app) sourceDate() (string, error) {
	text := a.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return "", nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 || seconds > maxSourceDate {
		return "", usagef("SOURCE_DATE_EPOCH is %q, and not a number of seconds since 1970", text)
	}
	return time.Unix(seconds, 0).UTC().Format(time.DateOnly), nil
}

// maxSourceDate is the last second of the year 9999.
const maxSourceDate = 253402300799

// commandAt finds a command by its words, with or without the program's name.
func (a *app) commandAt(words []string) (*cli.Command, string, error) {
	if len(words) > 0 && words[0] == a.program {
		words = words[1:]
	}
	c, path := a.root, a.program
	for _, word := range words {
		sub := c.Command(word)
		if sub == nil || sub.Hidden {
			e := usagef("there is no command %q", path+" "+word).WithHint("%s --help", path)
			var names []string
			for _, s := range c.Commands {
				names = append(names, s.Name)
			}
			if near := nearest(word, names); near != "" {
				e.Hint = fmt.Sprintf("did you mean %q?", path+" "+near)
			}
			return nil, "", e
		}
		c, path = sub, path+" "+sub.Name
	}
	return c, path, nil
}

// manPages are the pages of all commands that can be seen, the program's first.
func (a *app) manPages(date string) []manPage {
	var out []manPage
	var visit func(c *cli.Command, path string)
	visit = func(c *cli.Command, path string) {
		out = append(out, a.manPage(c, path, date))
		for _, sub := range c.Commands {
			if !sub.Hidden {
				visit(sub, path+" "+sub.Name)
			}
		}
	}
	visit(a.root, a.program)
	return out
}

func manName(path string) string { return strings.ReplaceAll(path, " ", "-") }

// manRef is how one page names another.
func manRef(path string) string { return roffBold(manName(path)) + "(1)" }

func (a *app) manPage(c *cli.Command, path, date string) manPage {
	var r roff
	s := specOf(c)
	r.line(`.\" Written by %s man; change the command, not this page.`, a.program)
	r.line(".TH %s 1 %s %s %s", roffQuoted(strings.ToUpper(manName(path))), roffQuoted(date), roffQuoted(a.program+" "+a.build().Version), roffQuoted("User Commands"))
	r.line(".nh\n.ad l")
	r.section("NAME")
	r.line(`%s \- %s`, roffName(manName(path)), roffEscape(c.Usage, false))
	r.section("SYNOPSIS")
	r.line("%s", manSynopsis(a.root, c, path))
	r.section("DESCRIPTION")
	r.text(capital(c.Usage) + ".")
	if c.Description != "" {
		r.line(".PP")
		r.text(c.Description)
	}
	r.commands(c, path)
	r.section("OPTIONS")
	for _, f := range acceptedFlags(a.root, c) {
		r.item(manFlag(f))
		r.line("%s", roffProse(flagUsage(f)))
	}
	r.item(roffBold("--help") + ", " + roffBold("-h"))
	r.line("show help")
	if v := outputOf(path); v != nil {
		r.section("JSON OUTPUT")
		r.text("With --json, exactly one document on standard output, with these keys:")
		r.literal(outputKeys(v))
	}
	r.section("EXIT STATUS")
	for _, row := range exitTable(a.program, path) {
		r.item(roffBold(strconv.Itoa(row.code)))
		r.line("%s", roffProse(row.meaning))
	}
	r.section("ENVIRONMENT")
	for _, v := range variablesOf(c, path) {
		r.item(roffBold(v.name))
		r.line("%s", roffProse(v.meaning))
	}
	if found := placesOf(c, path); len(found) > 0 {
		r.section("FILES")
		for _, p := range found {
			r.item(roffItalic(p.path))
			r.line("%s", roffProse(p.meaning))
		}
		r.line(".PP")
		r.text("With KX_HOME set, what is below ~/.config/kx and ~/.local/share/kx is below KX_HOME.")
	}
	if len(s.examples) > 0 {
		r.section("EXAMPLES")
		for _, ex := range s.examples {
			r.line(".PP\n%s:", roffProse(ex.does))
			r.literal([]string{a.program + " " + ex.line})
		}
	}
	r.section("SEE ALSO")
	r.line("%s", strings.Join(a.manSeeAlso(c, path), ",\n"))
	return manPage{Name: manName(path) + ".1", Text: r.b.String()}
}

// commands lists those of a group under their headings.
func (r *roff) commands(c *cli.Command, path string) {
	for i, heading := range headingsOf(c) {
		if i == 0 {
			r.section("COMMANDS")
		}
		if heading.title != "" {
			r.line(".SS %s", roffQuoted(heading.title))
		}
		for _, sub := range heading.commands {
			r.item(manRef(path + " " + sub.Name))
			r.line("%s", roffProse(sub.Usage))
		}
	}
}

func manSynopsis(root, c *cli.Command, path string) string {
	parts := []string{roffBold(path)}
	if len(c.Commands) > 0 {
		parts = append(parts, roffItalic("COMMAND"))
	}
	for _, word := range strings.Fields(specOf(c).args) {
		parts = append(parts, roffItalic(word))
	}
	if len(acceptedFlags(root, c)) > 0 {
		parts = append(parts, `[\fIFLAGS\fR]`)
	}
	return strings.Join(parts, " ")
}

func manFlag(f cli.Flag) string {
	var names []string
	for _, name := range shownNames(f) {
		names = append(names, roffBold(dashed(name)))
	}
	head := strings.Join(names, ", ")
	if takesValue(f) {
		head += " " + roffItalic(valueName(f))
	}
	return head
}

// manSeeAlso are the pages around one: above it, below it and beside it.
func (a *app) manSeeAlso(c *cli.Command, path string) []string {
	near := []string{a.program}
	if at := strings.LastIndex(path, " "); at >= 0 {
		near = append(near, path[:at])
		for _, sub := range parentOf(a.root, c).Commands {
			if !sub.Hidden && strings.Contains(path[:at], " ") {
				near = append(near, path[:at]+" "+sub.Name)
			}
		}
	}
	for _, sub := range c.Commands {
		if !sub.Hidden {
			near = append(near, path+" "+sub.Name)
		}
	}
	other := map[string]string{"kx": "kazma", "kazma": "kx"}[a.program]
	if c == a.root {
		near = append(near, other)
	}
	slices.Sort(near)
	var refs []string
	for _, p := range slices.Compact(near) {
		if p != path {
			refs = append(refs, manRef(p))
		}
	}
	return refs
}
