package wizard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kortecx/kx/internal/cli"
)

func (m *model) whereScreen() screen {
	s := screen{focus: m.whereAt, keys: []hint{{"enter", "go on"}, {"tab", "change"}, keyBack, {"↑↓", "move"}, keyBreak}}
	if m.typing {
		s.keys = []hint{{"enter", "take it"}, keyBack, keyBreak}
	}
	filter := row{{"Filter  ", faint}}
	if m.filter == "" {
		filter = append(filter, span{fmt.Sprintf("type to find one of %s", plural(len(m.agents), "agent")), faint})
	} else {
		typed := input{text: m.filter, at: len(m.filter)}
		filter = append(filter, typed.shown(m.inner()-filter.width())...)
	}
	s.head = []row{filter.cut(m.inner()), nil}
	rows, w := m.whereRows(), 0
	for _, r := range rows {
		w = max(w, widthOf(clean(r.agent.Title)))
	}
	w = min(w, max(m.inner()-8, 8))
	for i, r := range rows {
		point := span{"  ", plain}
		if i == m.whereAt {
			point = span{"▸ ", accent}
		}
		s.body = append(s.body, append(row{point}, m.whereRow(r, w)...).cut(m.inner()))
	}
	if m.filter != "" && len(m.listed()) == 0 {
		s.body = append(s.body, row{{"    no agent is called so", faint}}.cut(m.inner()))
	}
	s.foot = m.targetRows()
	return s
}

// whereRow is one row without its point; titles of agents take so many columns.
func (m *model) whereRow(r whereRow, titles int) row {
	switch r.kind {
	case scopeRow:
		return either(m.where.Scope != user, "this project", "you, everywhere")
	case modeRow:
		return either(!m.where.Link, "copies", "one copy, and links")
	case moreRow:
		return row{{fmt.Sprintf("    %d more agents …", len(m.agents)-len(m.listed())), faint}}
	case folderRow:
		switch {
		case m.typing:
			return append(row{{"folder: ", faint}}, m.folder.shown(m.inner()-10)...)
		case m.where.To != "":
			return row{{"[x] folder " + clean(m.where.To), good}}
		}
		return row{{"[ ] another folder …", plain}}
	}
	box := span{"[ ] " + pad(clean(r.agent.Title), titles), plain}
	if slices.Contains(m.where.Agents, r.agent.Name) {
		box = span{"[x] " + pad(clean(r.agent.Title), titles), good}
	}
	out := row{box}
	if r.agent.Here {
		out = append(out, span{"  found: " + clean(r.agent.Why), faint})
	}
	return out
}

// either is a row of two answers, one of which holds.
func either(first bool, a, b string) row {
	one, other := span{"(•) " + a, good}, span{"( ) " + b, plain}
	if !first {
		one, other = span{"( ) " + a, plain}, span{"(•) " + b, good}
	}
	return row{one, {"   ", plain}, other}
}

// targetRows say which folders the choice leads to.
func (m *model) targetRows() []row {
	p := newPage(m.inner())
	p.blank()
	if m.trouble != nil {
		p.trouble(m.trouble)
		return p.rows
	}
	if m.foldersErr != nil {
		p.text(faint, m.foldersErr.Error())
		return p.rows
	}
	const most = 4
	for i, f := range m.folders.Folders {
		if i == most {
			p.text(faint, fmt.Sprintf("and %s", plural(len(m.folders.Folders)-most, "more folder")))
			break
		}
		p.folder(f, m.back.Show)
	}
	for i, u := range m.folders.Unplaced {
		if i == most {
			break
		}
		p.indented("! ", warn, u)
	}
	return p.rows
}

// folder is one target folder with everything that is worth knowing about it.
func (p *page) folder(f cli.WizardFolder, show func(string) string) {
	var about []string
	if f.Create {
		about = append(about, "new folder")
	}
	if f.Via != "" {
		about = append(about, "through the link "+show(f.Via))
	}
	if len(f.Shared) > 0 {
		about = append(about, "read by "+strings.Join(f.Shared, ", ")+" too")
	}
	text := "→ " + show(f.Dir)
	if len(about) > 0 {
		text += "  (" + strings.Join(about, "; ") + ")"
	}
	p.text(accent, text)
	if f.Outside {
		p.indented("! ", warn, "a link leads out of the project")
	}
}
