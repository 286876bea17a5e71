package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/internal/workers"
)

// completes answers a completion script; false when args are a command line instead.
func (a *app) completes(args []string) bool {
	if len(args) == 0 {
		return false
	}
	rest, stderr := args[1:], a.Stderr
	a.Stderr = io.Discard // a warning in the middle of a line helps nobody
	complete := func(words []string, before string) {
		// A mistake of ours offers nothing: its trace would land in the line.
		_ = workers.Catch(func() { a.complete(words, before) })
	}
	switch args[0] {
	case completeWord:
		complete(rest, "")
	case completeNext:
		complete(append(slices.Clone(rest), ""), "")
	case completeLine:
		if len(rest) == 2 {
			words := lineWords(rest[1])
			complete(words, beforePiece(words[len(words)-1], rest[0]))
		}
	default:
		a.Stderr = stderr
		return false
	}
	return true
}

// lineWords are the words of an unfinished line of a shell behind the program's name,
// the last of which is the one at the cursor. Nothing is expanded.
func lineWords(line string) []string {
	var words []string
	var b strings.Builder
	begun, quote := false, rune(0)
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			escaped = false
			b.WriteRune(r)
		case r == '\\' && quote != '\'':
			escaped, begun = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				b.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if begun {
				words = append(words, b.String())
				b.Reset()
			}
			begun = false
		default:
			begun = true
			b.WriteRune(r)
		}
	}
	words = append(words, b.String())
	for len(words) > 1 && assignment(words[0]) {
		words = words[1:]
	}
	if len(words) == 1 {
		return []string{""}
	}
	return words[1:]
}

// assignment tells whether a word in front of a command sets a variable for it.
func assignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// beforePiece is what stands in word before the piece of it that bash replaces: it
// takes words apart at "=", ":" and "@".
func beforePiece(word, piece string) string {
	if lead, ok := strings.CutSuffix(word, strings.TrimLeft(piece, `'"`)); ok {
		return lead
	}
	return ""
}

// completion is one question: what can the last word become?
type completion struct {
	*app
	lead  string // of every candidate, not printed
	c     *cli.Command
	path  string   // of c, from the program's name on
	args  []string // arguments before the word
	given map[string]bool
	word  string
}

// complete prints what the last of words could become, one candidate a line with its
// description behind a tab, and without lead, with which each begins. A line such as
// :files leaves it to the shell.
func (a *app) complete(words []string, lead string) {
	if len(words) == 0 {
		words = []string{""}
	}
	q := completion{app: a, lead: lead, c: a.root, path: a.program, given: map[string]bool{}, word: words[len(words)-1]}
	pending, over := "", false // a flag that waits for its value; "--" was there
	for _, word := range words[:len(words)-1] {
		switch {
		case pending != "":
			pending = ""
		case over || !strings.HasPrefix(word, "-") || word == "-":
			if sub := q.c.Command(word); sub != nil && len(q.args) == 0 && !over {
				q.c, q.path = sub, q.path+" "+sub.Name
			} else {
				q.args = append(q.args, word)
			}
		case word == "--":
			over = true
		default:
			name, _, hasValue := strings.Cut(strings.TrimLeft(word, "-"), "=")
			if f := q.flag(name); f != nil {
				q.given[f.Names()[0]] = true
				if !hasValue && takesValue(f) {
					pending = f.Names()[0]
				}
			}
		}
	}
	name, value, joined := strings.Cut(q.word, "=")
	switch {
	case pending != "":
		q.flagValue(pending, "", q.word)
	case !over && joined && strings.HasPrefix(name, "--"):
		q.flagValue(name[2:], name+"=", value)
	case !over && strings.HasPrefix(q.word, "-"):
		q.flags()
	case len(q.c.Commands) > 0:
		if len(q.args) == 0 {
			q.commands()
		}
	default:
		q.argument()
	}
}

// flag is the flag of that name which the command at hand accepts.
func (q *completion) flag(name string) cli.Flag {
	for _, f := range q.accepted() {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

func (q *completion) accepted() []cli.Flag { return acceptedFlags(q.root, q.c) }

func (q *completion) commands() {
	for _, sub := range q.c.Commands {
		if !sub.Hidden {
			q.offer("", value{sub.Name, sub.Usage}, q.word)
		}
	}
}

// flags offers those that were not given, but for those that may be given again.
func (q *completion) flags() {
	offered := []value{{"--help", "show help"}}
	for _, f := range q.accepted() {
		name := f.Names()[0]
		d, ok := f.(cli.DocGenerationMultiValueFlag)
		if q.given[name] && !(ok && d.IsMultiValueFlag()) {
			continue
		}
		offered = append(offered, value{dashed(name), flagUsage(f)})
	}
	sorting.Stable(offered, func(a, b value) int { return strings.Compare(a.text, b.text) })
	for _, v := range slices.CompactFunc(offered, func(a, b value) bool { return a.text == b.text }) {
		q.offer("", v, q.word)
	}
}

func (q *completion) flagValue(name, before, typed string) {
	f := q.flag(name)
	if f == nil || !takesValue(f) {
		return
	}
	name = f.Names()[0]
	q.values(wanted{path: q.path, flag: name, word: valueName(f), choices: specOf(q.c).choices[name]}, before, typed)
}

func (q *completion) argument() {
	s := specOf(q.c)
	if s.max >= 0 && len(q.args) >= s.max {
		return
	}
	words := argWords(s.args)
	if len(words) == 0 {
		return
	}
	word := words[min(len(q.args), len(words)-1)]
	q.values(wanted{path: q.path, word: word, choices: s.choices[""]}, "", q.word)
}

// argWords are the names of the arguments in a usage line, such as NAME and FILE.
func argWords(usage string) []string {
	words := strings.Fields(usage)
	for i, word := range words {
		words[i] = strings.TrimSuffix(strings.Trim(word, "[]"), "...")
	}
	return words
}

// values offers what a flag or an argument can be, and else what the shell knows.
func (q *completion) values(w wanted, before, typed string) {
	known, kind := w.source()
	found := known
	if kind.list != nil {
		found = append(slices.Clone(found), kind.list(q, typed)...)
	}
	some := false
	for _, v := range found {
		some = q.offer(before, v, typed) || some
	}
	if !some && kind.shell != "" {
		fmt.Fprintln(q.Stdout, kind.shell)
	}
}

// offer prints a candidate when it begins with what was typed.
func (q *completion) offer(before string, v value, typed string) bool {
	if !strings.HasPrefix(v.text, typed) || !plain(v.text) {
		return false
	}
	line := strings.TrimPrefix(before+v.text, q.lead)
	if v.does != "" {
		line += "\t" + termtext.Escape(strings.ReplaceAll(v.does, "`", ""))
	}
	fmt.Fprintln(q.Stdout, line)
	return true
}

// plain tells whether a shell takes a candidate as it is. Names that are not plain are
// for people to type.
func plain(text string) bool {
	return text != "" && text[0] != ':' && !strings.ContainsFunc(text, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-+/@:,", r))
	})
}

// parentOf finds the group that holds a command.
func parentOf(root, c *cli.Command) *cli.Command {
	for _, sub := range root.Commands {
		if sub == c {
			return root
		}
		if found := parentOf(sub, c); found != nil {
			return found
		}
	}
	return nil
}

func takesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}
