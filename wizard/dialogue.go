package wizard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/cli"
)

// dialogue asks line by line: plain text that is never moved or painted over, one
// question at a time, answers by number or word. It suits screen readers, simple
// terminals, and pipes that hold the answers.
type dialogue struct {
	*flow
	in       io.Reader
	out      io.Writer
	terminal bool
	refused  string // why the last answer was none
	answered bool   // there was any answer
}

func newDialogue(f *flow, in io.Reader, out io.Writer, terminal bool) *dialogue {
	return &dialogue{flow: f, in: in, out: out, terminal: terminal}
}

// Not inlined, for the size of the programs.
//
//go:noinline
func (d *dialogue) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

// print writes what a page says.
func (d *dialogue) print(fill func(*page)) {
	p := newPage(1)
	p.spoken = true
	fill(p)
	for _, line := range p.lines() {
		d.say("%s", line)
	}
}

// line reads one line, a byte at a time: whatever follows it stays where it is.
func (d *dialogue) line(ctx context.Context) (string, error) {
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		var line []byte
		one := make([]byte, 1)
		for {
			n, err := d.in.Read(one)
			switch {
			case n == 1 && one[0] == '\n':
				got <- answer{string(line), nil}
				return
			case n == 1 && len(line) < 4096:
				line = append(line, one[0])
			case err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)):
				got <- answer{"", err}
				return
			case err != nil:
				got <- answer{string(line), nil}
				return
			}
		}
	}()
	select {
	case a := <-got:
		return strings.TrimSpace(strings.TrimSuffix(a.text, "\r")), a.err
	case <-ctx.Done():
		return "", errLeft()
	}
}

// ask asks until take accepts the answer. The end of the input is an error: no
// answer is ever made up.
func (d *dialogue) ask(ctx context.Context, q question, prompt string, take func(string) error) error {
	d.refused = ""
	for {
		fmt.Fprintf(d.out, "%s: ", prompt)
		text, err := d.line(ctx)
		if !d.terminal {
			d.say("")
		}
		switch {
		case errors.Is(err, io.EOF):
			e := hubapi.Errorf(hubapi.Usage, "the answers ended before the question: %s", q.prompt)
			if d.refused != "" {
				e = hubapi.Errorf(hubapi.Usage, "the answers ended, and the last one was none: %s", d.refused)
			}
			if !d.answered { // nobody answers here, so all that is asked is said at once
				e.Details = detailsOf(d.missing())
			}
			return e.WithHint("answer with %s, or add a line", q.flag)
		case err != nil:
			if d.terminal { // the cursor stands behind the question
				d.say("")
			}
			return err
		}
		d.answered = true
		if text == "q" || text == "quit" {
			return errLeft()
		}
		switch err = take(text); {
		case err == nil:
			return nil
		case errors.Is(err, errMore):
			d.refused = ""
			continue
		}
		if isLeft(err) {
			return err
		}
		d.refused = hubapi.AsError(err).Message
		d.say("Not understood: %s.", clean(d.refused))
	}
}

func again(format string, args ...any) error { return hubapi.Errorf(hubapi.Usage, format, args...) }

// yesNo asks for one of two words.
func (d *dialogue) yesNo(ctx context.Context, q question, prompt string) (yes bool, err error) {
	err = d.ask(ctx, q, prompt+" Answer yes or no", func(text string) error {
		switch strings.ToLower(text) {
		case "y", "yes":
			yes = true
		case "n", "no":
			yes = false
		default:
			return again("say yes or no")
		}
		return nil
	})
	return yes, err
}

func (d *dialogue) run(ctx context.Context) (*cli.WizardResult, error) {
	d.say("%s: install skills for your agents. Nothing is written before you confirm.", called(d.program))
	d.say("Answer each question with one line. q leaves.")
	for _, part := range []func(context.Context) error{d.choose, d.review, d.security, d.place, d.confirm} {
		if err := part(ctx); err != nil {
			return nil, err
		}
	}
	done, err := d.carryOut(ctx, func(e cli.WizardEvent) {
		switch {
		case e.Ref == "":
			d.say("Installing.")
		case e.Fault != "":
			d.say("%d of %d: %s failed: %s", e.Done, e.Total, clean(e.Ref), clean(e.Fault))
		default:
			d.say("%d of %d: %s in %s", e.Done, e.Total, clean(e.Ref), clean(d.back.Show(e.Dir)))
		}
	})
	if err == nil {
		d.say("Read back from disk: everything is as it was meant to be.")
	}
	return done, err
}

// choose lets the person search until something is chosen, and fetches it.
func (d *dialogue) choose(ctx context.Context) error {
	if len(d.chosen) == 0 {
		d.say("\nStep 1, choose.")
		if err := d.pickSkills(ctx); err != nil {
			return err
		}
	}
	for ref, more := d.nextToLoad(); more; ref, more = d.nextToLoad() {
		d.say("Fetching %s and judging it.", clean(ref))
		skill, err := d.back.Load(ctx, ref)
		if ctx.Err() != nil {
			return errLeft()
		}
		d.loaded[ref] = loaded{skill, err}
	}
	return nil
}

// pickSkills reads searches and numbers until a number was given.
func (d *dialogue) pickSkills(ctx context.Context) error {
	list, err := d.searchFor(ctx, "")
	if err != nil {
		return err
	}
	return d.ask(ctx, askSkills, "Words to search for, a folder or git address, or numbers of the list to install, such as 1 or 1,3", func(text string) error {
		if numbers, ok := numbersOf(text); ok {
			return d.takeNumbers(list, numbers)
		}
		found, err := d.searchFor(ctx, text)
		if err != nil {
			return err
		}
		list = found
		return errMore
	})
}

// errMore asks the same question again without calling the answer wrong.
var errMore = errors.New("more")

func (d *dialogue) searchFor(ctx context.Context, text string) (*cli.WizardPage, error) {
	found, err := d.back.Search(ctx, text)
	if err == nil && found.Place != "" {
		d.say("Looking into %s.", clean(found.Place))
		found, err = d.back.Look(ctx, found.Place)
	}
	if ctx.Err() != nil {
		return nil, errLeft()
	}
	if err != nil {
		d.print(func(p *page) { p.trouble(err) })
		return &cli.WizardPage{}, nil
	}
	if len(found.Items) == 0 {
		d.say("Nothing found.")
		for _, near := range found.DidYouMean {
			d.say("Did you mean %s?", clean(near))
		}
	}
	for i, item := range found.Items {
		about := clean(item.Summary)
		if item.Fault != "" {
			about = "cannot be chosen: " + clean(item.Fault)
		}
		d.say("%d: %s. %s", i+1, nameOf(item), about)
	}
	if more := found.Total - len(found.Items); more > 0 {
		d.say("And %d more; another word narrows the search.", more)
	}
	return found, nil
}

// numbersOf reads a list of numbers; ok is false for other text.
func numbersOf(text string) (numbers []int, ok bool) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, false
		}
		numbers = append(numbers, n)
	}
	return numbers, len(numbers) > 0
}

func (d *dialogue) takeNumbers(list *cli.WizardPage, numbers []int) error {
	for _, n := range numbers {
		switch {
		case n < 1 || n > len(list.Items):
			return again("the list has no number %d", n)
		case list.Items[n-1].Fault != "":
			return again("number %d cannot be chosen: %s", n, list.Items[n-1].Fault)
		}
	}
	for _, n := range numbers {
		if item := list.Items[n-1]; !d.isChosen(item.Ref) {
			d.toggle(item)
		}
	}
	return nil
}

func (d *dialogue) review(ctx context.Context) error {
	d.say("\nStep 2, review.")
	for _, c := range d.chosen {
		l := d.loaded[c.Ref]
		if l.err != nil {
			d.say("\n%s could not be had:", clean(c.Ref))
			d.print(func(p *page) { p.trouble(l.err) })
			continue
		}
		d.say("\n%s", titleOf(l.skill))
		d.print(func(p *page) { p.review(l.skill, d.back.Show) })
	}
	if len(d.skills()) == 0 {
		for _, c := range d.chosen {
			if l := d.loaded[c.Ref]; l.err != nil {
				return l.err
			}
		}
		return d.refusedSkills()
	}
	return nil
}

// security shows what was found about each skill, and asks about its grave findings
// before it goes on to the next.
func (d *dialogue) security(ctx context.Context) error {
	d.say("\nStep 3, security.")
	for _, c := range slices.Clone(d.chosen) {
		l := d.loaded[c.Ref]
		if l.skill == nil {
			continue
		}
		_, text := summary(l.skill)
		d.say("\n%s: %s.", titleOf(l.skill), clean(text))
		d.print(func(p *page) { p.security(l.skill) })
		if l.skill.Refused != nil {
			d.say("It is left out.")
		}
		if d.accepts(c.Ref) {
			continue
		}
		yes, err := d.yesNo(ctx, askAccept, fmt.Sprintf("Install %s in spite of %s?", titleOf(l.skill), plural(l.skill.Grave, "grave finding")))
		if err != nil {
			return err
		}
		if d.accepted[c.Ref] = yes; yes {
			continue
		}
		if d.drop(c.Ref); len(d.skills()) == 0 {
			return errLeft()
		}
		d.say("%s is left out.", titleOf(l.skill))
	}
	return nil
}

// place asks which agents, and for whom.
func (d *dialogue) place(ctx context.Context) error {
	if d.where.To != "" {
		return nil
	}
	agents, err := d.back.Agents()
	if err != nil {
		return err
	}
	given := len(d.where.Agents) > 0
	scoped := d.where.Scope != ""
	d.detected(agents)
	if given && scoped {
		return nil
	}
	d.say("\nStep 4, where.")
	if d.own != "" {
		if err := d.placeOwn(ctx); err != nil || d.where.To != "" {
			return err
		}
	}
	if !given {
		if err := d.placeAgents(ctx); err != nil || d.where.To != "" {
			return err
		}
	}
	if !scoped {
		if err := d.placeScope(ctx); err != nil {
			return err
		}
	}
	return d.placeMode(ctx)
}

// placeOwn offers Kazma's own folder for skills that only Kazma loads.
func (d *dialogue) placeOwn(ctx context.Context) error {
	d.say("Only Kazma loads these skills, from %s.", clean(d.back.Show(d.own)))
	return d.ask(ctx, askAgents, "An empty line puts them there; other is for agents or another folder", func(text string) error {
		switch strings.ToLower(text) {
		case "":
			d.where.To = d.own
		case "other":
			d.where.To = ""
		default:
			return again("leave the line empty, or say other")
		}
		return nil
	})
}

func (d *dialogue) placeScope(ctx context.Context) error {
	d.say("1: this project, %s. 2: you, in every project.", clean(d.back.Show(".")))
	return d.ask(ctx, askScope, "For whom, 1 or 2", func(text string) error {
		switch strings.ToLower(text) {
		case "1", project:
			d.where.Scope = project
		case "2", user:
			d.where.Scope = user
		default:
			return again("say 1 or 2")
		}
		return nil
	})
}

// placeMode asks whether to copy or to link, where that makes a difference.
func (d *dialogue) placeMode(ctx context.Context) error {
	if d.answers.Mode != "" {
		return nil
	}
	folders, err := d.back.Folders(d.where)
	if err != nil || len(folders.Folders) < 2 {
		return err
	}
	d.say("There are %d folders. 1: a copy in each of them. 2: one copy, and links to it.", len(folders.Folders))
	return d.ask(ctx, askMode, "How, 1 or 2; an empty line means copies", func(text string) error {
		switch strings.ToLower(text) {
		case "", "1", "copy":
			d.where.Link = false
		case "2", link:
			d.where.Link = true
		default:
			return again("say 1 or 2")
		}
		return nil
	})
}

func (d *dialogue) placeAgents(ctx context.Context) error {
	var here []string // in the order of their numbers
	for _, a := range d.agents {
		if a.Here {
			here = append(here, a.Name)
			d.say("%d: %s, found by %s.", len(here), clean(a.Title), clean(a.Why))
		}
	}
	if len(here) == 0 {
		d.say("No agent was found on this machine.")
	}
	d.say("Other agents are known by name, such as %s.", clean(d.agents[len(d.agents)-1].Name))
	prompt := "Numbers or names of agents, separated by commas, or the path of a folder"
	if len(here) > 0 {
		prompt += "; an empty line means all that were found"
	}
	return d.ask(ctx, askAgents, prompt, func(text string) error {
		switch {
		case text == "" && len(here) > 0:
			d.where.Agents = here
			return nil
		case text == "":
			return again("name an agent or a folder")
		case strings.ContainsAny(text, `/\`) || text == ".":
			d.where.To, d.where.Agents = text, nil
			return nil
		}
		var names []string
		for word := range strings.SplitSeq(text, ",") {
			name, err := d.agentNamed(strings.TrimSpace(word), here)
			if err != nil {
				return err
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		d.where.Agents = names
		return nil
	})
}

// agentNamed finds the agent that a word means. A number means one of those that were
// listed, and no other.
func (d *dialogue) agentNamed(word string, listed []string) (string, error) {
	if n, err := strconv.Atoi(word); err == nil {
		if n < 1 || n > len(listed) {
			return "", again("the list has no number %d", n)
		}
		return listed[n-1], nil
	}
	for _, a := range d.agents {
		if strings.EqualFold(a.Name, word) || strings.EqualFold(a.Title, word) {
			return a.Name, nil
		}
	}
	_, err := d.back.Folders(cli.WizardWhere{Agents: []string{word}, Scope: d.back.Scope()})
	if err == nil {
		err = again("there is no agent %q", word)
	}
	return "", err
}

func (d *dialogue) confirm(ctx context.Context) error {
	plan, err := d.back.Plan(ctx, d.skills(), d.where, d.allowing())
	if err != nil {
		return err
	}
	d.plan = plan
	d.say("\nStep 5, confirm. This will be written:")
	d.print(func(p *page) {
		for _, w := range plan.Writes {
			p.write(w, d.back.Show)
		}
		p.planNotes(plan, d.back.Show)
	})
	if err := d.refusedPlan(); err != nil {
		return err
	}
	if d.answers.Yes {
		return nil
	}
	yes, err := d.yesNo(ctx, askConfirm, "Install?")
	if err == nil && !yes {
		return errLeft()
	}
	return err
}
