package wizard

import (
	"fmt"
	"strings"
)

// screen is what one step shows: a head and a foot that stay, and a body that
// scrolls or follows the cursor of a list.
type screen struct {
	head, body, foot []row
	focus            int // the row of the body that must be seen; -1: scrolled by hand
	keys             []hint
}

// hint is one key of the help line, the most useful first.
type hint struct{ key, does string }

// margin is the space at the left edge, where there is room for it.
const roomy = 50

// Chrome around the body. In low windows it goes away, the rules first.
const (
	rulesFrom = 12
	titleFrom = 5
	helpFrom  = 3
)

func (m *model) margin() int {
	if m.width >= roomy {
		return 2
	}
	return 0
}

// inner is how many columns a screen has for its text.
func (m *model) inner() int { return max(m.width-2*m.margin(), 1) }

// room is how many rows a screen has for head, body and foot.
func (m *model) room(s screen) int {
	n := m.height
	if m.height >= rulesFrom {
		n -= 2
	}
	if m.height >= titleFrom {
		n--
	}
	return max(n-len(m.help(s))-len(m.noticeRows()), 1)
}

// noticeRows are why the last key did nothing, or what it did. They stand above the
// keys, which stay; only where there is no room at all for both the keys go.
func (m *model) noticeRows() []row {
	if m.notice == "" || m.height < titleFrom {
		return nil
	}
	most := 1
	if m.height >= rulesFrom {
		most = 3
	}
	var out []row
	for i, line := range wrap("! "+m.notice, m.inner()) {
		if i == most {
			last := len(out) - 1
			out[last] = row{{cut(out[last].text()+" "+line, m.inner()), warn}}
			break
		}
		out = append(out, row{{line, warn}})
	}
	return out
}

// fitted drops what has no room: the foot first, then the head.
func (m *model) fitted() screen {
	s := m.screen()
	const least = 3
	for len(s.head)+len(s.foot)+min(len(s.body), least) > m.room(s) && len(s.foot) > 0 {
		s.foot = s.foot[:len(s.foot)-1]
	}
	for len(s.head)+min(len(s.body), least) > m.room(s) && len(s.head) > 0 {
		s.head = s.head[1:]
	}
	return s
}

func (m *model) bodyRoom(s screen) int { return max(m.room(s)-len(s.head)-len(s.foot), 0) }

// visible is how many rows of the body are seen at once.
func (m *model) visible() int { return m.bodyRoom(m.fitted()) }

func (m *model) clampScroll() {
	s := m.fitted()
	m.scroll = max(min(m.scroll, len(s.body)-m.bodyRoom(s)), 0)
}

// window is the part of the body that is seen.
func (m *model) window(s screen) (rows []row, above, below int) {
	n := m.bodyRoom(s)
	from := m.scroll
	if s.focus >= 0 {
		from = s.focus - n/2
	}
	from = max(min(from, len(s.body)-n), 0)
	to := min(from+n, len(s.body))
	return s.body[from:to], from, len(s.body) - to
}

// View draws the screen: as many rows as the terminal has at most, none of them
// wider than it.
func (m *model) View() string {
	if m.width < 1 || m.height < 1 {
		return ""
	}
	s := m.fitted()
	body, above, below := m.window(s)
	var rows []row
	if m.height >= titleFrom {
		rows = append(rows, m.title())
	}
	if m.height >= rulesFrom {
		rows = append(rows, m.rule(above, "↑"))
	}
	indent := strings.Repeat(" ", m.margin())
	for _, part := range [][]row{s.head, body} {
		for _, r := range part {
			rows = append(rows, append(row{{indent, plain}}, r...))
		}
	}
	chrome := 0
	if m.height >= rulesFrom {
		chrome++
	}
	keys := m.help(s)
	chrome += len(keys)
	notice := m.noticeRows()
	chrome += len(notice)
	for len(rows)+len(s.foot)+chrome < m.height {
		rows = append(rows, nil)
	}
	for _, r := range s.foot {
		rows = append(rows, append(row{{indent, plain}}, r...))
	}
	if m.height >= rulesFrom {
		rows = append(rows, m.rule(below, "↓"))
	}
	for _, r := range notice {
		rows = append(rows, append(row{{indent, plain}}, r...))
	}
	rows = append(rows, keys...)
	rows = rows[:min(len(rows), m.height)]
	lines := make([]string, len(rows))
	for i, r := range rows {
		lines[i] = m.theme.render(r.cut(m.width))
	}
	return strings.Join(lines, "\n")
}

// title says which program this is and how far one has come.
func (m *model) title() row {
	indent := strings.Repeat(" ", m.margin())
	at := fmt.Sprintf("%d/%d ", m.step+1, steps)
	name := called(m.program)
	trail := row{}
	for s := welcome; s < steps; s++ {
		sep := " › "
		if s == welcome {
			sep = ""
		}
		l := faint
		if s == m.step {
			l = accent
		}
		trail = append(trail, span{sep, faint}, span{strings.ToLower(stepTitles[s]), l})
	}
	left := row{{indent, plain}, {name, strong}, {"   ", plain}}
	if left.width()+trail.width()+m.margin() <= m.width {
		return append(left, trail...)
	}
	right := row{{at, faint}, {stepTitles[m.step], accent}}
	if gap := m.width - m.margin()*2 - widthOf(name) - right.width(); gap > 0 {
		return append(row{{indent, plain}, {name, strong}, {strings.Repeat(" ", gap), plain}}, right...)
	}
	return right
}

// called is how the wizard is called in a program.
func called(program string) string {
	if program == "kx" {
		return "kx skills install"
	}
	return program + " wizard"
}

// rule is a line across, which says how much there is beyond it.
func (m *model) rule(more int, arrow string) row {
	if more == 0 {
		return row{{strings.Repeat("─", m.width), faint}}
	}
	says := fmt.Sprintf(" %s %d more ", arrow, more)
	left := max(m.width-widthOf(says)-2, 0)
	return row{{strings.Repeat("─", left), faint}, {says, accent}, {strings.Repeat("─", max(m.width-left-widthOf(says), 0)), faint}}
}

// help are the keys: all of them, on a second line where one has no room for them and the
// window is not low; else as many as have room.
func (m *model) help(s screen) []row {
	if m.height < helpFrom {
		return nil
	}
	line := func() row { return row{{strings.Repeat(" ", m.margin()), plain}} }
	if m.notice != "" && m.height < titleFrom {
		return []row{append(line(), span{"! " + m.notice, warn})}
	}
	most := 1
	if m.height >= rulesFrom {
		most = 2
	}
	sep := "   "
	if m.width < roomy {
		sep = "  "
	}
	out, room := []row{line()}, m.width-m.margin()
	for _, k := range s.keys {
		next := row{{sep, plain}, {k.key, strong}, {" " + k.does, faint}}
		first := len(out[len(out)-1]) == 1
		if !first && next.width() > room && len(out) < most {
			out, room, first = append(out, line()), m.width-m.margin(), true
		}
		if first {
			next = next[1:]
		}
		if next.width() > room {
			break
		}
		room -= next.width()
		out[len(out)-1] = append(out[len(out)-1], next...)
	}
	return out
}
