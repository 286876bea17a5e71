package wizard

import (
	"slices"
	"strings"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kortecx/kx/internal/cli"
)

// listed are the agents that the screen lists: those that match what is typed, else
// those that are here or were chosen, or all.
func (m *model) listed() []cli.WizardAgent {
	var out []cli.WizardAgent
	for _, a := range m.agents {
		switch {
		case m.filter != "":
			if !matches(m.filter, a) {
				continue
			}
		case !m.allAgents && !a.Here && !slices.Contains(m.where.Agents, a.Name):
			continue
		}
		out = append(out, a)
	}
	return out
}

// matches tells whether an agent is called so, whatever stands between the letters.
func matches(filter string, a cli.WizardAgent) bool {
	wanted := letters(filter)
	return strings.Contains(letters(a.Title), wanted) || strings.Contains(letters(a.Name), wanted)
}

func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// rowKind is what a row of where is about.
type rowKind int

const (
	scopeRow rowKind = iota
	modeRow
	agentRow
	moreRow
	folderRow
)

// whereRow is one row of where: an agent only in an agentRow.
type whereRow struct {
	kind  rowKind
	agent cli.WizardAgent
}

func (m *model) whereRows() []whereRow {
	rows := []whereRow{{kind: scopeRow}, {kind: modeRow}}
	listed := m.listed()
	for _, a := range listed {
		rows = append(rows, whereRow{agentRow, a})
	}
	if !m.allAgents && m.filter == "" && len(listed) < len(m.agents) {
		rows = append(rows, whereRow{kind: moreRow})
	}
	return append(rows, whereRow{kind: folderRow})
}

func (m *model) whereKey(k tea.KeyMsg, name string) tea.Cmd {
	rows := m.whereRows()
	last := len(rows) - 1
	m.whereAt = min(m.whereAt, last)
	here := rows[m.whereAt]
	switch name {
	case "up", "ctrl+p":
		m.whereAt = max(m.whereAt-1, 0)
	case "down", "ctrl+n":
		m.whereAt = min(m.whereAt+1, last)
	case "pgup":
		m.whereAt = max(m.whereAt-m.visible(), 0)
	case "pgdown":
		m.whereAt = min(m.whereAt+m.visible(), last)
	case "home":
		m.whereAt = 0
	case "end":
		m.whereAt = last
	case "left", "right":
		if here.kind == scopeRow || here.kind == modeRow {
			return m.change(here)
		}
	case "esc":
		if m.filter != "" {
			m.filtered("")
			return nil
		}
		m.show(security)
	case "backspace", "ctrl+h":
		letters := []rune(m.filter)
		m.filtered(string(letters[:max(len(letters)-1, 0)]))
	case "ctrl+u", "ctrl+w":
		m.filtered("")
	case "tab":
		return m.change(here)
	case "enter":
		if here.kind == moreRow || here.kind == folderRow && m.where.To == "" {
			return m.change(here)
		}
		return m.makePlan()
	default:
		if name == " " && m.filter == "" {
			return m.change(here)
		}
		typed := input{text: m.filter, at: len(m.filter)}
		if k.Type == tea.KeyRunes && !k.Alt || k.Type == tea.KeySpace {
			typed.insert(string(k.Runes))
			m.filtered(typed.text)
		}
	}
	return nil
}

// filtered lists the agents that match a text, and stands on the first of them.
func (m *model) filtered(text string) {
	if text == m.filter {
		return
	}
	m.filter, m.whereAt = text, 0
	if text == "" {
		return
	}
	for i, row := range m.whereRows() {
		if row.kind == agentRow {
			m.whereAt = i
			return
		}
	}
}

// change is what tab does to a row.
func (m *model) change(row whereRow) tea.Cmd {
	switch row.kind {
	case scopeRow:
		if m.where.Scope == user {
			m.where.Scope = project
		} else {
			m.where.Scope = user
		}
	case modeRow:
		if m.where.To != "" {
			m.notice = "one folder alone has the copy"
			return nil
		}
		m.where.Link = !m.where.Link
	case moreRow:
		m.allAgents = true
		return nil
	case folderRow:
		m.folderTyping()
		return nil
	case agentRow:
		m.toggleAgent(row.agent.Name)
		m.whereAt = min(m.whereAt, len(m.whereRows())-1)
	}
	return m.askFolders()
}

func (m *model) folderTyping() {
	m.typing = true
	m.folder.set(m.where.To)
}

func (m *model) folderKey(k tea.KeyMsg, name string) tea.Cmd {
	switch name {
	case "esc":
		m.typing = false
	case "enter", "tab":
		m.typing = false
		m.where.To = m.folder.text
		if m.where.To != "" {
			m.where.Agents, m.where.Link = nil, false
		}
		return m.askFolders()
	default:
		edit(&m.folder, k, name)
	}
	return nil
}
