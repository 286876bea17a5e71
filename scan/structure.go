package scan

import (
	"bytes"
	"strings"
)

// divider cuts a normal text into units. Inside a unit it turns line ends, and
// signs of markup that stand between words, into spaces: every offset stays. Only
// what lies behind is changed, so that lines are read from the text as it was.
type divider struct {
	d     *document
	text  []byte // of d, as it becomes
	open  int    // start of the unit that grows, -1 when there is none
	item  bool
	block int
	lead  int
	depth []int // indices of the sections that enclose the current one

	changed bool
}

func (v *divider) section(title string, level, start int) {
	for len(v.depth) > 0 && v.d.sections[v.depth[len(v.depth)-1]].level >= level {
		v.depth = v.depth[:len(v.depth)-1]
	}
	if len(v.depth) > 0 {
		// The title of the document says what it is about, not what a section is.
		if up := v.d.sections[v.depth[len(v.depth)-1]]; up.level > 1 {
			title = up.title + " / " + title
		}
	}
	v.depth = append(v.depth, len(v.d.sections))
	v.d.sections = append(v.d.sections, section{title: title, level: level, start: start})
}

func (v *divider) unit(start, end int, in place) {
	if start >= end || len(bytes.TrimSpace(v.text[start:end])) == 0 {
		return
	}
	if in&(inProse|inHeading|inFront|inHidden) != 0 {
		v.flatten(start, end)
	}
	u := unit{start: start, end: end, in: in, section: len(v.d.sections) - 1, lead: -1, item: v.item}
	if in == inCode {
		u.block, u.lead = v.block, v.lead
	}
	v.d.units = append(v.d.units, u)
}

// flatten makes one line of a paragraph and takes out emphasis.
func (v *divider) flatten(start, end int) {
	v.changed = true
	t := v.text[start:end]
	if v.d.lacks(emphasisByte) {
		for {
			n := bytes.IndexByte(t, '\n')
			if n < 0 {
				return
			}
			t[n] = ' '
			t = t[n+1:]
		}
	}
	for i := seek(t, 0, markupByte); i < len(t); i = seek(t, i+1, markupByte) {
		switch t[i] {
		case '\n', '*', '\t':
			t[i] = ' '
		case '>':
			if i == 0 || t[i-1] == ' ' || t[i-1] == '>' {
				t[i] = ' '
			}
		case '_':
			if (i == 0 || t[i-1] == ' ' || t[i-1] == '_') || (i+1 == len(t) || t[i+1] == ' ' || t[i+1] == '_') {
				if (i > 0 && t[i-1] == '_') || (i+1 < len(t) && t[i+1] == '_') || i == 0 || t[i-1] == ' ' {
					t[i] = ' '
				}
			}
		}
	}
}

// lineEnd gives the end of the line that starts at start, without its newline.
func (v *divider) lineEnd(start int) int {
	if n := bytes.IndexByte(v.text[start:], '\n'); n >= 0 {
		return start + n
	}
	return len(v.text)
}

// lines makes a unit of every line, or of its parts when it is very long.
func (v *divider) lines() {
	for at := 0; at < len(v.text); {
		end := v.lineEnd(at)
		v.unit(at, end, inConfig)
		at = end + 1
	}
}

// program makes a unit of every logical line; a backslash at the end of a line
// joins it to the next. Comments are told from statements where the language
// says how they begin.
func (v *divider) program() {
	comment := "#"
	switch v.d.language {
	case "js", "go", "rs", "java", "kt", "swift", "c", "cc", "cpp", "h", "cs", "scala", "php":
		comment = "//"
	case "sql", "lua", "applescript":
		comment = "--"
	case "bat":
		comment = "rem "
	}
	for at := 0; at < len(v.text); {
		if end := v.docString(at); end > at {
			at = end
			continue
		}
		end := v.logicalEnd(at)
		in := inScript
		line := bytes.TrimLeft(v.text[at:end], " \t")
		if bytes.HasPrefix(line, []byte(comment)) || (comment == "//" && (bytes.HasPrefix(line, []byte("/*")) || bytes.HasPrefix(line, []byte("* ")))) {
			in = inComment
		}
		v.unit(at, end, in)
		at = end + 1
	}
}

// docString reads a text between three quotes that begins a line and goes on over
// several, as the descriptions of functions and tools do, which agents read: every
// paragraph is a unit. It gives the offset behind it, or the one that it was given.
func (v *divider) docString(at int) int {
	const longest = 8 << 10
	first := v.lineEnd(at)
	line := bytes.TrimLeft(v.text[at:first], " \t")
	if v.d.language != "py" || !bytes.HasPrefix(line, []byte(`"""`)) && !bytes.HasPrefix(line, []byte("'''")) {
		return at
	}
	start := first - len(line)
	length := bytes.Index(v.text[start+3:min(len(v.text), start+longest)], line[:3])
	if length < first-start-3 { // on one line, or never closed
		return at
	}
	end := v.lineEnd(start + 3 + length)
	for start < end {
		next := end
		if n := bytes.Index(v.text[start:end], []byte("\n\n")); n >= 0 {
			next = start + n + 1
		}
		v.flatten(start, next)
		v.unit(start, next, inComment)
		start = next + 1
	}
	return end + 1
}

// logicalEnd joins continued lines and gives the end of what it joined.
func (v *divider) logicalEnd(at int) int {
	for {
		end := v.lineEnd(at)
		if end >= len(v.text) || end == at || (v.text[end-1] != '\\' && v.text[end-1] != '`') || end-2 >= at && v.text[end-2] == '\\' {
			return end
		}
		if v.text[end-1] == '`' && (end-2 < at || v.text[end-2] != ' ') {
			return end // PowerShell continues a line with a space and a backtick
		}
		v.text[end-1], v.text[end], v.changed = ' ', ' ', true
		at = end + 1
	}
}

// markdown cuts a markdown text by its blocks.
func (v *divider) markdown() {
	v.open = -1
	at := v.frontmatter()
	blank := true
	for at < len(v.text) {
		end := v.lineEnd(at)
		line := v.d.text[at:end]
		trimmed := trimBlanks(line)
		indent := len(line) - len(trimmed)
		if trimmed != "" && isLetter(trimmed[0]) && v.open >= 0 && (v.d.lacks(tagByte) || strings.IndexByte(line, '<') < 0) {
			at = end + 1 // a line of a paragraph, as most are
			blank = false
			continue
		}
		if trimmed != "" && trimmed[0] == '>' {
			trimmed = strings.TrimLeft(trimmed, " \t>")
		}
		switch {
		case strings.TrimSpace(trimmed) == "":
			v.close(at)
			blank = true
			at = end + 1
			continue
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			v.close(at)
			at = v.fence(at, end, trimmed)
			blank = true
			continue
		case commentStart(line) >= 0:
			v.close(at)
			at = v.comment(at)
			blank = false
			continue
		case hiddenDefinition(trimmed):
			v.close(at)
			v.unit(at, end, inHidden)
		case strings.HasPrefix(trimmed, "#") && strings.HasPrefix(strings.TrimLeft(trimmed, "#"), " "):
			v.close(at)
			level := len(trimmed) - len(strings.TrimLeft(trimmed, "#"))
			v.section(strings.TrimSpace(trimmed[level:]), level, at)
			v.item = false
			v.unit(at, end, inHeading)
		case v.underlined(at, end, line):
			v.close(at)
			v.section(strings.TrimSpace(line), 2, at)
			v.unit(at, end, inHeading)
			end = v.lineEnd(end + 1)
		case blank && indent >= 4 && v.open < 0 && !v.item && !listItem(trimmed):
			v.block++
			v.lead = v.lastProse()
			v.unit(at, v.logicalEnd(at), inCode)
			end = v.logicalEnd(at)
			at = end + 1
			continue // the next indented line is code too
		case listItem(trimmed) || strings.HasPrefix(trimmed, "|"):
			v.close(at)
			v.open, v.item = at, true
		case v.open < 0:
			v.open = at
			v.item = v.item && indent > 0
		}
		blank = false
		at = end + 1
	}
	v.close(len(v.text))
}

// trimBlanks takes the spaces and tabs off the beginning of a line.
func trimBlanks(line string) string {
	for line != "" && (line[0] == ' ' || line[0] == '\t') {
		line = line[1:]
	}
	return line
}

// close ends the paragraph or item that was open.
func (v *divider) close(end int) {
	if v.open >= 0 {
		v.unit(v.open, end, inProse)
		v.open = -1
	}
}

func (v *divider) lastProse() int {
	for i := len(v.d.units) - 1; i >= 0 && i >= len(v.d.units)-8; i-- {
		if v.d.units[i].in&(inProse|inHeading) != 0 {
			return i
		}
	}
	return -1
}

// frontmatter reads the block between the first two lines of dashes; keys whose
// values go on in indented lines are one unit.
func (v *divider) frontmatter() int {
	first := v.lineEnd(0)
	if strings.TrimRight(v.d.text[:first], " ") != "---" {
		return 0
	}
	start := -1
	for at := first + 1; at < len(v.text); {
		end := v.lineEnd(at)
		line := v.d.text[at:end]
		if strings.TrimRight(line, " ") == "---" {
			if start >= 0 {
				v.unit(start, at, inFront)
			}
			return end + 1
		}
		if line != "" && line[0] != ' ' && line[0] != '-' || start < 0 {
			if start >= 0 {
				v.unit(start, at, inFront)
			}
			start = at
		}
		at = end + 1
	}
	v.d.units = v.d.units[:0]
	return 0 // never closed: read it as text
}

// fence reads a code block and gives the offset behind it.
func (v *divider) fence(at, end int, opening string) int {
	mark := opening[:1]
	length := len(opening) - len(strings.TrimLeft(opening, mark))
	if strings.Contains(opening[length:], "```") { // code between three ticks on one line
		v.unit(at, end, inProse)
		return end + 1
	}
	v.block++
	v.lead = v.lastProse()
	for at = end + 1; at < len(v.text); {
		end = v.lineEnd(at)
		line := strings.TrimSpace(strings.TrimLeft(v.d.text[at:end], " \t>"))
		if len(line) >= length && strings.Trim(line, mark) == "" {
			return end + 1
		}
		end = v.logicalEnd(at)
		v.unit(at, end, inCode)
		at = end + 1
	}
	return at
}

// commentStart gives the offset of the first HTML comment that begins on a line,
// or -1. One in backticks is shown, not hidden.
func commentStart(line string) int {
	for at := 0; ; {
		i := strings.Index(line[at:], "<!--")
		if i < 0 {
			return -1
		}
		i += at
		if strings.Count(line[:i], "`")%2 == 0 || strings.IndexByte(line[i:], '`') < 0 {
			return i
		}
		at = i + len("<!--")
	}
}

// comment reads the line that holds the beginning of an HTML comment, and what
// follows to the end of the comment and of its line.
func (v *divider) comment(at int) int {
	start := at + commentStart(v.d.text[at:v.lineEnd(at)])
	v.unit(at, start, inProse)
	end := len(v.text)
	if n := bytes.Index(v.text[start:], []byte("-->")); n >= 0 {
		end = start + n + len("-->")
	}
	v.unit(start, end, inHidden)
	rest := v.lineEnd(min(end, len(v.text)))
	if end < rest && commentStart(v.d.text[end:rest]) >= 0 {
		return v.comment(end)
	}
	v.unit(end, rest, inProse)
	return rest + 1
}

// underlined tells whether the line is a heading by the line below it.
func (v *divider) underlined(at, end int, line string) bool {
	if v.open >= 0 || end >= len(v.text) || strings.HasPrefix(line, " ") || strings.HasPrefix(line, "|") || at == end {
		return false
	}
	below := strings.TrimRight(v.d.text[end+1:v.lineEnd(end+1)], " ")
	return len(below) >= 3 && (strings.Trim(below, "=") == "" || strings.Trim(below, "-") == "")
}

// hiddenDefinition tells whether a line is a link definition that is written to
// hide a text: the label is a word for a comment, or the target is empty.
func hiddenDefinition(line string) bool {
	if !strings.HasPrefix(line, "[") {
		return false
	}
	label, target, ok := strings.Cut(line[1:], "]:")
	if !ok {
		return false
	}
	target = strings.TrimSpace(target)
	return strings.HasPrefix(target, "#") || strings.HasPrefix(target, "<>") ||
		label == "//" || label == "comment" || label == "_" || label == "hidden"
}

// listItem tells whether a line starts an item of a list.
func listItem(line string) bool {
	if len(line) < 2 {
		return false
	}
	if (line[0] == '-' || line[0] == '*' || line[0] == '+') && line[1] == ' ' {
		return true
	}
	digits := 0
	for digits < len(line) && digits < 4 && line[digits] >= '0' && line[digits] <= '9' {
		digits++
	}
	return digits > 0 && digits+1 < len(line) && (line[digits] == '.' || line[digits] == ')') && line[digits+1] == ' '
}
