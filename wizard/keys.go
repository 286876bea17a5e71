package wizard

import (
	"context"
	"fmt"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kortecx/kx/internal/cli"
)

// key answers one key. On every screen enter goes on, esc goes back, and tab changes
// what the screen has to change: it chooses, accepts, switches. Space does the same,
// except where it belongs to a text that is typed. Ctrl-C leaves from everywhere, q
// where no text is typed.
func (m *model) key(k tea.KeyMsg) tea.Cmd {
	m.notice = ""
	name := k.String()
	if name == "ctrl+c" {
		return m.leave()
	}
	if m.helps(name) {
		return nil
	}
	if m.busy != "" {
		return m.waitingKey(name)
	}
	switch m.step {
	case choose:
		return m.chooseKey(k, name)
	case where:
		if m.typing {
			return m.folderKey(k, name)
		}
		return m.whereKey(k, name)
	}
	if name == "q" {
		return m.leave()
	}
	switch m.step {
	case welcome:
		return m.welcomeKey(name)
	case review, security:
		return m.readingKey(name)
	case confirm:
		return m.confirmKey(name)
	case finish:
		if name == "enter" || name == "esc" {
			return m.leave()
		}
		m.scrollKey(name)
	}
	return nil
}

// waitingKey: esc gives up what is being waited for.
func (m *model) waitingKey(name string) tea.Cmd {
	switch {
	case m.step == install || m.step == verify:
		if name == "esc" || name == "q" {
			return m.leave()
		}
	case name == "esc":
		m.stop()
		m.notice = "stopped waiting"
		if m.step == choose && m.page == nil && !m.searching {
			return m.search()
		}
	}
	return nil
}

func (m *model) welcomeKey(name string) tea.Cmd {
	switch name {
	case "enter", "right":
		m.show(choose)
		if m.page == nil && !m.searching {
			return m.search()
		}
	case "esc":
		return m.leave()
	default:
		m.scrollKey(name)
	}
	return nil
}

// edit changes a line that is being typed and says whether its text is another now.
func edit(in *input, k tea.KeyMsg, name string) (changed, known bool) {
	before := in.text
	switch name {
	case "left", "ctrl+b":
		in.left()
	case "right", "ctrl+f":
		in.right()
	case "home", "ctrl+a":
		in.at = 0
	case "end", "ctrl+e":
		in.at = len(in.text)
	case "backspace", "ctrl+h":
		in.backspace()
	case "delete", "ctrl+d":
		in.erase()
	case "ctrl+u":
		in.toStart()
	case "ctrl+w", "alt+backspace":
		in.backWord()
	default:
		if k.Type != tea.KeyRunes && k.Type != tea.KeySpace || k.Alt {
			return false, false
		}
		in.insert(string(k.Runes))
	}
	return in.text != before, true
}

func (m *model) chooseKey(k tea.KeyMsg, name string) tea.Cmd {
	items := m.items()
	switch name {
	case "up", "ctrl+p":
		m.at = max(m.at-1, 0)
	case "down", "ctrl+n":
		m.at = min(m.at+1, max(len(items)-1, 0))
	case "pgup":
		m.at = max(m.at-m.visible(), 0)
	case "pgdown":
		m.at = min(m.at+m.visible(), max(len(items)-1, 0))
	case "tab":
		m.pick()
	case " ":
		if m.query.text == "" {
			m.pick()
			return nil
		}
		if changed, _ := edit(&m.query, k, name); changed {
			return m.typed()
		}
	case "esc":
		if m.query.text != "" {
			m.query.set("")
			return m.typed()
		}
		m.show(welcome)
	case "enter":
		return m.chosenKey()
	default:
		if changed, _ := edit(&m.query, k, name); changed {
			return m.typed()
		}
	}
	return nil
}

// typed searches once the person stops typing.
func (m *model) typed() tea.Cmd {
	m.searches++
	m.searching, m.trouble = true, nil
	return m.after(pauseInTyping, typedMsg{m.searches})
}

// items are what can be chosen from now.
func (m *model) items() []cli.WizardFound {
	if m.page == nil {
		return nil
	}
	return m.page.Items
}

// pick chooses the skill under the cursor, or takes it back.
func (m *model) pick() {
	items := m.items()
	if m.searching || m.at >= len(items) {
		return
	}
	if why := items[m.at].Fault; why != "" {
		m.notice = clean(why)
		return
	}
	m.toggle(items[m.at])
}

// chosenKey goes on from the choice: into a place that was typed, or to the review.
func (m *model) chosenKey() tea.Cmd {
	switch {
	case m.searching:
		m.notice = "still searching"
		return nil
	case m.searchErr != nil && len(m.chosen) == 0:
		return m.search()
	case m.page != nil && m.page.Place != "" && len(m.page.Items) == 0:
		place := m.page.Place
		return m.begin("Looking into "+clean(place), func(ctx context.Context) (any, error) {
			page, err := m.back.Look(ctx, place)
			return lookedAt{page}, err
		})
	case len(m.chosen) == 0:
		m.pick()
	}
	if len(m.chosen) == 0 {
		if m.notice == "" {
			m.notice = "choose a skill first"
		}
		return nil
	}
	return m.load()
}

// readingKey is for the screens that show one skill at a time.
func (m *model) readingKey(name string) tea.Cmd {
	switch name {
	case "left":
		m.tab, m.scroll = max(m.tab-1, 0), 0
	case "right":
		m.tab, m.scroll = min(m.tab+1, max(len(m.chosen)-1, 0)), 0
	case "esc":
		if m.step == security {
			m.show(review)
			return nil
		}
		m.forgetFailures()
		m.show(choose)
		if m.page == nil {
			return m.search()
		}
	case "x":
		m.leaveOut()
	case "r":
		if m.step == review && m.loaded[m.current().Ref].err != nil {
			delete(m.loaded, m.current().Ref)
			return m.load()
		}
	case "tab", " ":
		switch {
		case m.step == review:
			m.raw = !m.raw
			m.clampScroll()
		case m.grave(m.current().Ref) > 0:
			m.accepted[m.current().Ref] = !m.accepts(m.current().Ref)
		}
	case "enter":
		return m.readKey()
	default:
		m.scrollKey(name)
	}
	return nil
}

// readKey goes on behind the review and the security screen, from skill to skill:
// none is passed unseen, and none whose grave findings were not accepted on its page.
func (m *model) readKey() tea.Cmd {
	at, stops := m.unaccepted()
	switch {
	case len(m.skills()) == 0 && (m.step == security || !m.anyLoaded()):
		m.notice = "none of them can be installed; esc goes back"
	case m.step == security && !m.accepts(m.current().Ref):
		m.stopAt(m.tab)
	case m.tab < len(m.chosen)-1:
		m.tab++
		m.scroll = 0
	case m.step == review:
		m.show(security)
		m.tab = 0
	case stops:
		m.stopAt(at)
	default:
		return m.findAgents()
	}
	return nil
}

// anyLoaded tells whether there is anything to say of a chosen skill.
func (m *model) anyLoaded() bool {
	return slices.ContainsFunc(m.chosen, func(c cli.WizardFound) bool { return m.loaded[c.Ref].skill != nil })
}

// stopAt shows the skill whose grave findings nobody accepted yet.
func (m *model) stopAt(at int) {
	if at != m.tab {
		m.tab, m.scroll = at, 0
	}
	c := m.current()
	m.notice = fmt.Sprintf("%s has %s: tab accepts, ", titleOf(m.loaded[c.Ref].skill), plural(m.grave(c.Ref), "grave finding"))
	if len(m.chosen) > 1 {
		m.notice += "x leaves it out"
	} else {
		m.notice += "esc goes back"
	}
}

// current is the chosen skill that is shown.
func (m *model) current() cli.WizardFound {
	if len(m.chosen) == 0 {
		return cli.WizardFound{}
	}
	m.tab = min(m.tab, len(m.chosen)-1)
	return m.chosen[m.tab]
}

func (m *model) leaveOut() {
	if len(m.chosen) < 2 {
		m.notice = "it is the only one; esc goes back"
		return
	}
	out := m.current()
	m.drop(out.Ref)
	m.tab, m.scroll = min(m.tab, len(m.chosen)-1), 0
	m.notice = clean(out.Name) + " was left out"
}

// forgetFailures lets what could not be fetched be tried again.
func (m *model) forgetFailures() {
	for ref, l := range m.loaded {
		if l.err != nil {
			delete(m.loaded, ref)
		}
	}
}

func (m *model) confirmKey(name string) tea.Cmd {
	switch name {
	case "left", "right", "tab", " ":
		m.no = !m.no
	case "y":
		return m.yes()
	case "n", "esc":
		m.show(where)
	case "enter":
		if m.no {
			m.show(where)
			return nil
		}
		return m.yes()
	default:
		m.scrollKey(name)
	}
	return nil
}

// yes starts, unless something of the plan cannot be done.
func (m *model) yes() tea.Cmd {
	if m.refusedPlan() != nil {
		m.notice = "it cannot be done as it is; esc goes back"
		return nil
	}
	return m.start()
}

func (m *model) scrollKey(name string) {
	page := max(m.visible()-1, 1)
	switch name {
	case "up", "k":
		m.scroll--
	case "down", "j":
		m.scroll++
	case "pgup", "b":
		m.scroll -= page
	case "pgdown", "f":
		m.scroll += page
	case "home", "g":
		m.scroll = 0
	case "end", "G":
		m.scroll = 1 << 30
	}
	m.clampScroll()
}
