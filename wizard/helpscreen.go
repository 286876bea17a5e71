package wizard

// keysOf are all keys of each step, in groups: what the key line has no room for is
// here too.
var keysOf = [steps][]hint{
	welcome:  {{"enter →", "start"}, {"esc q", "quit"}},
	choose:   append([]hint{{"enter", "go on with what is chosen; into a place that was typed"}, {"tab", "choose, or take back"}, {"space", "the same, while nothing is typed"}, {"↑↓", "move (also ctrl+p ctrl+n)"}, {"pgup pgdn", "move by a page"}, {"esc", "clear the text, then go back"}}, typingKeys...),
	review:   append([]hint{{"enter", "the next skill, then security"}, {"tab space", "as it was written, or styled"}, {"r", "try again what could not be fetched"}, {"esc", "back to the choice"}}, skillsKeys...),
	security: append([]hint{{"enter", "the next skill, then where"}, {"tab space", "accept grave findings, or take that back"}, {"esc", "back to the review"}}, skillsKeys...),
	where: append([]hint{
		{"enter", "go on; open the row that ends in …"},
		{"tab", "change the row"},
		{"space", "the same, while nothing is typed"},
		{"←→", "the other answer"},
		{"↑↓", "move (also ctrl+p ctrl+n)"},
		{"pgup pgdn", "move by a page"},
		{"home end", "the first, the last row"},
		{"letters", "find an agent"},
		{"esc", "clear the text, then go back"},
	}, quitKey),
	confirm: append([]hint{{"enter", "take what is marked"}, {"tab space ←→", "mark the other"}, {"y", "install"}, {"n esc", "back to where"}}, readingKeys...),
	install: {{"ctrl+c esc q", "stop after the skill that is being written"}},
	verify:  {{"ctrl+c esc q", "leave; what was installed stays"}},
	finish:  append([]hint{{"enter esc q", "leave"}}, readingKeys[:3]...),
}

var (
	quitKey     = hint{"ctrl+c", "quit"}
	readingKeys = []hint{{"↑↓ k j", "scroll"}, {"pgup pgdn b f", "by a page"}, {"home end g G", "to the start, to the end"}, {"q ctrl+c", "quit"}}
	skillsKeys  = append([]hint{{"←→", "the other skills"}, {"x", "leave this one out"}}, readingKeys...)
	typingKeys  = []hint{
		{"←→ home end", "move in the text (also ctrl+b f a e)"},
		{"ctrl+u", "take away what is before the cursor"},
		{"ctrl+w", "take away a word"},
		{"backspace del", "take away a letter"},
		quitKey,
	}
	folderKeys = append([]hint{{"enter tab", "take the folder; an empty one is none"}, {"esc", "back to the list"}}, typingKeys...)
)

// helpKey is what shows the keys now: a question mark, where it is not part of a text.
func (m *model) helpKey() string {
	if m.busy == "" && m.step == choose && m.query.text != "" || m.step == where && (m.filter != "" || m.typing) {
		return "f1"
	}
	return "?"
}

// helps opens and closes the help, and tells whether the key was meant for it.
func (m *model) helps(name string) bool {
	switch {
	case !m.helping && (name == "f1" || name == m.helpKey()):
		m.helping, m.beneath, m.scroll = true, m.scroll, 0
	case !m.helping:
		return false
	case name == "f1" || name == "?" || name == "esc" || name == "enter" || name == "q":
		m.helping, m.scroll = false, m.beneath
		m.clampScroll()
	default:
		m.scrollKey(name)
	}
	return true
}

func (m *model) helpScreen() screen {
	p := newPage(m.inner())
	keys := keysOf[m.step]
	switch {
	case m.busy != "" && m.step != install && m.step != verify:
		keys = []hint{{"esc", "stop waiting"}, quitKey}
	case m.typing:
		keys = folderKeys
	}
	const keyColumn = 16
	for _, k := range keys {
		p.labelled(k.key, keyColumn, plain, k.does)
	}
	p.labelled("? f1", keyColumn, plain, "this help; f1 also while text is typed")
	return screen{
		head: []row{{{"Keys: " + stepTitles[m.step], strong}}, nil}, body: p.rows, focus: -1,
		keys: []hint{{"esc", "close"}, keyScroll, keyBreak},
	}
}
