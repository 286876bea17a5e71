package wizard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kortecx/kx/internal/cli"
)

// Help that many screens share.
var (
	keyQuit   = hint{"q", "quit"}
	keyBack   = hint{"esc", "back"}
	keyStop   = hint{"esc", "stop waiting"}
	keyScroll = hint{"↑↓", "scroll"}
	keyBreak  = hint{"ctrl+c", "quit"}
)

// screen is the present step's, or the keys of it.
func (m *model) screen() screen {
	if m.helping {
		return m.helpScreen()
	}
	s := m.stepScreen()
	at := len(s.keys)
	if at == 0 {
		return s
	}
	if s.keys[at-1] == keyScroll {
		at--
	}
	s.keys = slices.Insert(slices.Clone(s.keys), at, hint{m.helpKey(), "help"})
	return s
}

func (m *model) stepScreen() screen {
	if m.busy != "" && m.step != install {
		return m.waitingScreen()
	}
	switch m.step {
	case welcome:
		return m.welcomeScreen()
	case choose:
		return m.chooseScreen()
	case review:
		return m.reviewScreen()
	case security:
		return m.securityScreen()
	case where:
		return m.whereScreen()
	case confirm:
		return m.confirmScreen()
	case install:
		return m.installScreen()
	}
	return m.finishScreen()
}

func (m *model) waitingScreen() screen {
	p := newPage(m.inner())
	p.blank()
	p.text(plain, m.busy+" …")
	if m.waited >= 2 {
		p.blank()
		p.text(faint, fmt.Sprintf("%d s so far. Nothing is written before you confirm.", m.waited))
		p.text(faint, m.heard.text())
	}
	if n := len(m.chosen); n > 1 && m.step == choose {
		p.blank()
		p.text(faint, fmt.Sprintf("%d of %s", len(m.loaded), plural(n, "skill")))
	}
	return screen{body: p.rows, focus: -1, keys: []hint{keyStop, keyBreak}}
}

func (m *model) welcomeScreen() screen {
	p := newPage(m.inner())
	p.blank()
	p.text(strong, "Install skills for your agents")
	p.blank()
	for _, line := range [][2]string{
		{"choose", "skills of the hub, your catalog, a folder or a git repository"},
		{"review", "what they say, what they wish for, what changes"},
		{"security", "content scan, signature, certification, proof by the log"},
		{"where", "which agents; for this project, or for you; copies or links"},
		{"confirm", "every file that will be written"},
	} {
		p.labelled(line[0], column-4, plain, line[1])
	}
	p.blank()
	p.text(plain, "Nothing is written before you confirm.")
	p.blank()
	p.text(faint, "On every screen enter goes on and esc goes back; tab, or space where no text is typed, chooses or changes.")
	p.blank()
	p.labelled("Hub", column-4, faint, m.back.Hub())
	p.labelled("Project", column-4, faint, m.back.Show("."))
	return screen{body: p.rows, focus: -1, keys: []hint{{"enter", "start"}, keyQuit, keyScroll}}
}

func (m *model) chooseScreen() screen {
	s := screen{focus: -1, keys: []hint{{"tab", "choose"}, {"enter", "go on"}, keyBack, {"↑↓", "move"}, keyBreak}}
	prompt := "Search  "
	s.head = append(s.head, append(row{{prompt, faint}}, m.query.shown(m.inner()-widthOf(prompt))...), nil)
	p := newPage(m.inner())
	switch {
	case m.trouble != nil:
		p.trouble(m.trouble)
	case m.searchErr != nil:
		p.trouble(m.searchErr)
		p.blank()
		p.text(faint, "enter tries again; the path of a folder or the address of a git repository works all the same")
	case m.page == nil:
		p.text(faint, "searching …")
		if m.waited >= 2 {
			p.blank()
			p.text(faint, fmt.Sprintf("%d s so far", m.waited))
			p.text(faint, m.heard.text())
		}
	case len(m.page.Items) == 0:
		m.nothingFound(p)
	default:
		s.body, s.focus = m.itemRows(), m.at
	}
	if s.body == nil {
		s.body = p.rows
	}
	s.foot = append(s.foot, nil, m.chosenRow())
	return s
}

func (m *model) nothingFound(p *page) {
	switch {
	case m.page.Place != "":
		p.text(plain, "enter looks into "+m.page.Place)
		p.text(faint, "Nothing is fetched from there before.")
	case m.searched == "":
		p.text(plain, "The hub has no active skill yet.")
		p.text(faint, "Publish one with kx push FOLDER --approve, or type the path of a folder or the address of a git repository.")
	default:
		p.text(plain, "Nothing matches "+m.searched+".")
		for _, near := range m.page.DidYouMean {
			p.text(accent, "Did you mean "+near+"?")
		}
		p.text(faint, "Fewer words find more; the path of a folder or the address of a git repository works too.")
	}
}

// itemRows are the list of skills, one row each.
func (m *model) itemRows() []row {
	names, w := make([]string, len(m.page.Items)), 0
	for i, item := range m.page.Items {
		names[i] = nameOf(item)
		w = max(w, widthOf(names[i]))
	}
	w = min(w, max(m.inner()/2-6, 12))
	var rows []row
	for i, item := range m.page.Items {
		l, mark, point := plain, "[ ] ", "  "
		if m.isChosen(item.Ref) {
			l, mark = good, "[x] "
		}
		if item.Fault != "" {
			l, mark = faint, " -  "
		}
		if i == m.at {
			point = "▸ "
			if l == plain {
				l = accent
			}
		}
		r := row{{point, accent}, {mark, l}, {pad(names[i], w), l}}
		about := clean(orElse(item.Fault, item.Summary))
		if item.From != "hub" && item.From != "" {
			about = clean(item.From) + ": " + about
		}
		rows = append(rows, append(r, span{"  " + about, faint}).cut(m.inner()))
	}
	if m.page.Total > len(m.page.Items) {
		rows = append(rows, row{{fmt.Sprintf("      and %d more; another word narrows the search", m.page.Total-len(m.page.Items)), faint}})
	}
	if m.page.Note != "" {
		rows = append(rows, row{{"      " + clean(m.page.Note), faint}}.cut(m.inner()))
	}
	return rows
}

// nameOf names a skill in lists.
func nameOf(item cli.WizardFound) string {
	s := item.Name
	if item.Author != "" {
		s = item.Author + "/" + s
	}
	if item.Version != "" {
		s += "@" + item.Version
	}
	return clean(s)
}

func (m *model) chosenRow() row {
	if len(m.chosen) == 0 {
		return row{{"none chosen", faint}}
	}
	names := make([]string, len(m.chosen))
	for i, c := range m.chosen {
		names[i] = clean(c.Name)
	}
	return row{{fmt.Sprintf("%d chosen: ", len(m.chosen)), good}, {strings.Join(names, ", "), plain}}.cut(m.inner())
}

// skillHead names the skill that is shown, and how many there are.
func (m *model) skillHead(says span) []row {
	c := m.current()
	name := nameOf(c)
	if s := m.loaded[c.Ref].skill; s != nil {
		name = titleOf(s)
	}
	r := row{{name, strong}}
	if len(m.chosen) > 1 {
		r = append(r, span{fmt.Sprintf("   %d of %d", m.tab+1, len(m.chosen)), faint})
	}
	head := []row{r.cut(m.inner())}
	if says.text != "" {
		lines := wrap(says.text, m.inner())
		if len(lines) > 2 {
			lines = []string{lines[0], cut(lines[1]+" "+lines[2], m.inner())}
		}
		for _, line := range lines {
			head = append(head, row{{line, says.look}})
		}
	}
	return append(head, nil)
}

func (m *model) skillKeys(enter string) []hint {
	if m.tab < len(m.chosen)-1 {
		enter = "next"
	}
	keys := []hint{{"enter", enter}}
	if len(m.chosen) > 1 {
		out := hint{"x", "leave out"}
		if m.margin() == 0 {
			out.does = "drop"
		}
		keys = append(keys, hint{"←→", "other"}, out)
	}
	return append(keys, keyBack, keyQuit, keyScroll)
}

func (m *model) reviewScreen() screen {
	p := newPage(m.inner())
	l := m.loaded[m.current().Ref]
	keys := m.skillKeys("go on")
	p.raw, p.drawn = m.raw, &m.drawn
	if l.skill != nil {
		p.review(l.skill, m.back.Show)
		does := "raw"
		if m.raw {
			does = "styled"
		}
		keys = slices.Insert(keys, 1, hint{"tab", does})
	} else if l.err != nil {
		p.trouble(l.err)
		keys = slices.Insert(keys, 1, hint{"r", "again"})
	}
	return screen{head: m.skillHead(span{}), body: p.rows, focus: -1, keys: keys}
}

func (m *model) securityScreen() screen {
	p := newPage(m.inner())
	l := m.loaded[m.current().Ref]
	keys := m.skillKeys("go on")
	says := span{}
	if l.skill != nil {
		v, text := summary(l.skill)
		says = span{v.sign + " " + clean(text), v.look}
		p.security(l.skill)
	} else if l.err != nil {
		p.trouble(l.err)
	}
	s := screen{head: m.skillHead(says), body: p.rows, focus: -1, keys: keys}
	if n := m.grave(m.current().Ref); n > 0 {
		box := "[ ] "
		if m.accepts(m.current().Ref) {
			box = "[x] "
		}
		what := plural(n, "grave finding")
		if len(m.chosen) > 1 {
			what += " of " + titleOf(l.skill)
		}
		s.foot = []row{nil, row{{box, bad}, {"I have read " + what + " and accept", bad}}.cut(m.inner())}
		s.keys = slices.Insert(s.keys, 0, hint{"tab", "accept"})
	}
	return s
}

func (m *model) confirmScreen() screen {
	p := newPage(m.inner())
	for _, w := range m.plan.Writes {
		p.write(w, m.back.Show)
	}
	p.planNotes(m.plan, m.back.Show)
	yes, no := span{" Install ", cursor}, span{"  Go back ", plain}
	if m.no {
		yes, no = span{"  Install ", plain}, span{" Go back ", cursor}
	}
	if m.theme.colourless {
		yes, no = span{"▸ Install", strong}, span{"    Go back", plain}
		if m.no {
			yes, no = span{"  Install", plain}, span{"  ▸ Go back", strong}
		}
	}
	changes := 0
	for _, w := range m.plan.Writes {
		if w.Action != cli.WizardUnchanged && w.Action != cli.WizardKeep {
			changes++
		}
	}
	says := plural(changes, "folder") + " will be written"
	if changes == 0 {
		says = "nothing will be written"
	} else if rest := len(m.plan.Writes) - changes; rest > 0 {
		says += fmt.Sprintf(", %d stay as they are", rest)
	}
	head := []row{{{says, strong}}, nil}
	if m.refusedPlan() != nil {
		head = []row{{{"✗ it cannot be done as it is", bad}}, nil}
		return screen{head: head, body: p.rows, focus: -1, keys: []hint{keyBack, keyQuit, keyScroll}}
	}
	return screen{
		head: head, body: p.rows, focus: -1, foot: []row{nil, {yes, {"  ", plain}, no}},
		keys: []hint{{"enter", "take it"}, {"tab", "other"}, keyBack, keyQuit, keyScroll},
	}
}

func (m *model) installScreen() screen {
	last, log := m.progress.seen()
	total := max(last.Total, len(m.plan.Writes), 1)
	done := min(last.Done, total)
	p := newPage(m.inner())
	n := max(min(m.inner()-12, 40), 1)
	full := n * done / total
	p.blank()
	p.row(span{"[" + strings.Repeat("#", full) + strings.Repeat("·", n-full) + "]", accent}, span{fmt.Sprintf(" %d of %d", done, total), plain})
	p.blank()
	for _, e := range log {
		if e.Fault != "" {
			p.indented(" ✗ ", bad, e.Ref+": "+e.Fault)
			continue
		}
		p.indented(" ✓ ", good, e.Ref+" in "+m.back.Show(e.Dir))
	}
	if done == 0 {
		p.text(faint, m.heard.text())
	}
	keys := []hint{{"ctrl+c", "stop"}}
	if m.stopping {
		p.text(warn, "stopping …")
		keys = nil
	}
	return screen{body: p.rows, focus: len(p.rows) - 1, keys: keys}
}

func (m *model) finishScreen() screen {
	p := newPage(m.inner())
	if m.err != nil {
		p.trouble(m.err)
		p.blank()
	}
	if m.done != nil {
		if m.err == nil {
			p.text(strong, "Done: "+placesOf(m.done)+", read back from disk and right.")
			p.blank()
		}
		for _, d := range m.done.Items {
			p.finished(d, m.back.Show)
		}
		if m.done.Command != "" && m.err == nil {
			p.heading("The same without questions:")
			p.indented("  ", accent, m.done.Command)
		}
	}
	return screen{body: p.rows, focus: -1, keys: []hint{{"enter", "leave"}, keyScroll}}
}

// placesOf counts skills and the folders that they are in.
func placesOf(done *cli.WizardResult) string {
	names := map[string]bool{}
	for _, d := range done.Items {
		names[d.Name] = true
	}
	text := plural(len(names), "skill")
	if len(done.Items) > len(names) {
		text += " in " + plural(len(done.Items), "folder")
	}
	return text
}
