package pack

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// SplitFrontmatter takes a SKILL.md apart. There is one rule, because text that
// one reader takes for body and another for frontmatter can hide from both: the
// first line is exactly ---, and the first following line that is exactly ---
// closes. Blanks behind the three hyphens are allowed on both, a byte order mark
// before the first (both with a warning). Later --- lines are body.
//
// front is what stands between the fences and body what follows them, both byte
// for byte; bodyLine is the line of the file on which body starts. With faults
// all three are zero.
func SplitFrontmatter(data []byte) (front, body []byte, bodyLine int, faults Errors, warnings []*Error) {
	f, faults, warnings := splitSkillMD(data)
	return f.front, f.body, f.bodyLine, faults, warnings
}

// framed is a SKILL.md in parts. head is everything before the closing fence: a
// YAML document that starts with ---, with the lines of the file.
type framed struct {
	head, front, body []byte
	bodyLine          int
}

const bom = "\ufeff"

func splitSkillMD(data []byte) (f framed, faults Errors, warnings []*Error) {
	if fault := checkEncoding(data); fault != nil {
		return framed{}, Errors{fault}, nil
	}
	start := 0
	if bytes.HasPrefix(data, []byte(bom)) {
		start = len(bom)
		warnings = append(warnings, skillError(KindPack, "text.bom", 1, "the file starts with a byte order mark", "save it as UTF-8 without BOM: some agents do not find the frontmatter behind it"))
	}
	first, next := lineAt(data, start)
	if fault := checkOpening(data[start:], first); fault != nil {
		return framed{}, Errors{fault}, warnings
	}
	if len(first) > len("---") {
		warnings = append(warnings, skillError(KindInvalid, "frontmatter.fence-space", 1, "there are blanks behind the opening ---", "remove them: some agents do not take the line for a fence"))
	}
	f.front = data[next:]
	near, nearLine := "", 0
	for at, n := next, 2; at < len(data) && at <= MaxManifest; n++ {
		line, after := lineAt(data, at)
		switch {
		case isFence(line):
			f.head, f.front, f.body, f.bodyLine = data[:at], data[next:at], data[after:], n+1
			return f, nil, append(warnings, mixedLineEnds(data)...)
		case near == "" && nearFence(line):
			near, nearLine = string(line), n
		}
		at = after
	}
	fault := skillError(KindInvalid, "frontmatter.unclosed", 1, "the frontmatter that opens here is not closed by a line ---", "")
	if len(data) > MaxManifest {
		fault.Text += fmt.Sprintf(" within %d bytes", MaxManifest)
	}
	if near != "" {
		fault.Hint = fmt.Sprintf("line %d is %s: the closing line must be --- alone, from the first column", nearLine, quoted(near))
	}
	return framed{}, append(faults, fault), warnings
}

func skillError(kind Kind, id string, line int, text, hint string) *Error {
	return &Error{Kind: kind, ID: id, Place: Place{File: SkillMD.ManifestFile(), Line: line, Column: 1}, Text: text, Hint: hint}
}

// lineAt gives the line that starts at, without its line end, and the offset of
// the next one.
func lineAt(data []byte, at int) (line []byte, next int) {
	next = len(data)
	if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
		next = at + i + 1
	}
	line = bytes.TrimSuffix(data[at:next], []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), next
}

func isFence(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	return ok && len(bytes.Trim(rest, " \t")) == 0
}

// nearFence tells whether a line may have been meant to close the frontmatter.
func nearFence(line []byte) bool {
	text := bytes.TrimSpace(line)
	return len(text) >= 3 && len(bytes.Trim(text, "-")) == 0 || string(text) == "..."
}

// checkOpening says why a file does not start with frontmatter.
func checkOpening(data, first []byte) *Error {
	if isFence(first) {
		return nil
	}
	missing := func(text, hint string) *Error {
		return skillError(KindInvalid, "frontmatter.missing", 1, text, hint)
	}
	const form = "start the file with a line ---, then name and description, then another line ---"
	trimmed := bytes.TrimLeft(first, " \t")
	text := bytes.TrimLeft(data, " \t\r\n")
	opening, _ := lineAt(text, 0)
	switch {
	case len(text) == 0:
		return missing("the file is empty", form)
	case bytes.IndexByte(data, '\n') < 0 && bytes.IndexByte(data, '\r') >= 0:
		return missing("lines end in a lone carriage return, which hardly any reader takes for a line end", "save the file with LF line ends")
	case bytes.HasPrefix(first, []byte("----")):
		return missing("the first line has more than three hyphens, so it opens no frontmatter", "write exactly ---")
	case bytes.HasPrefix(first, []byte("---")):
		return skillError(KindInvalid, "frontmatter.fence", 1,
			fmt.Sprintf("there is %s directly behind the opening ---, where the line must end", describe(first[3:])), "put it on the next line")
	case len(trimmed) == 0 && isFence(opening):
		return missing("there is a blank line before the opening ---, which must be the first line of the file", "remove the blank line")
	case isFence(trimmed):
		return missing("the opening --- is indented", "start it in the first column")
	case isFence(opening):
		return missing("there is space before the opening ---, which must start the file", "remove it")
	}
	return missing("the file does not start with frontmatter", form)
}

// describe names what stands where it should not, the character when it cannot
// be seen.
func describe(b []byte) string {
	if r, _ := utf8.DecodeRune(b); r <= ' ' || r >= utf8.RuneSelf {
		return runeAt(string(b), 0)
	}
	return quoted(string(b))
}

// checkEncoding finds what is not UTF-8 text, before anything looks for lines.
func checkEncoding(data []byte) *Error {
	other := func(name string) *Error {
		return skillError(KindPack, "text.encoding", 1, "the file is written in "+name+", not in UTF-8", "save it as UTF-8")
	}
	for _, e := range []struct{ start, name string }{
		{"\xff\xfe\x00\x00", "UTF-32 (little-endian)"},
		{"\x00\x00\xfe\xff", "UTF-32 (big-endian)"},
		{"\xff\xfe", "UTF-16 (little-endian)"},
		{"\xfe\xff", "UTF-16 (big-endian)"},
		{"-\x00-\x00-\x00", "UTF-16 (little-endian)"},
		{"\x00-\x00-\x00-", "UTF-16 (big-endian)"},
	} {
		if strings.HasPrefix(string(data[:min(len(data), 8)]), e.start) {
			return other(e.name)
		}
	}
	if !utf8.Valid(data) {
		return notUTF8("text.invalid-utf8", SkillMD.ManifestFile(), data)
	}
	return nil
}

// mixedLineEnds warns when some lines end in CR LF and others in LF. Either alone
// is fine.
func mixedLineEnds(data []byte) []*Error {
	all, crlf := bytes.Count(data, []byte("\n")), bytes.Count(data, []byte("\r\n"))
	if crlf == 0 || crlf == all {
		return nil
	}
	isCRLF := func(end int) bool { return end > 0 && data[end-1] == '\r' }
	end := bytes.IndexByte(data, '\n')
	first := isCRLF(end)
	line := 1
	for isCRLF(end) == first {
		end += 1 + bytes.IndexByte(data[end+1:], '\n')
		line++
	}
	text := "lines end in LF above this one, which ends in CR LF"
	if first {
		text = "lines end in CR LF above this one, which ends in LF"
	}
	return []*Error{skillError(KindPack, "text.line-ends", line, text, "save the file with one kind of line end")}
}
