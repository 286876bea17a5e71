package pack

import (
	"bytes"
	"fmt"
	"net/url"
	"path"
	"strings"
)

// What one body can make us say and do: remarks of one kind, links looked at,
// bytes in the target of a link.
const (
	maxRemarks = 20
	maxLinks   = 10000
	maxTarget  = 1024
)

// body judges the text that an agent reads.
func (s *skillReader) body() {
	if !hasMeaning(s.m.Body) {
		s.faults = append(s.faults, &Error{
			Kind: KindPack, ID: "pack.empty-meaning", Place: Place{File: s.file, Line: s.m.BodyLine},
			Text: "there is nothing behind the frontmatter but space and comments",
		})
		return
	}
	lines := bytes.Count(s.m.Body, []byte("\n"))
	if s.m.Body[len(s.m.Body)-1] != '\n' {
		lines++
	}
	if tokens := len(s.m.Body) / bytesPerToken; lines > longBodyLines || tokens > longBodyTokens {
		s.remark("body.long", s.m.BodyLine, 0, fmt.Sprintf("the body has %d lines and about %d tokens; %d and %d are recommended", lines, tokens, longBodyLines, longBodyTokens),
			"move what is not always needed to files that the body names")
	}
	s.links()
}

func (s *skillReader) remark(id string, line, column int, text, hint string) {
	s.warnings = append(s.warnings, &Error{
		Kind: KindPack, ID: id, Place: Place{File: s.file, Line: line, Column: column}, Text: text, Hint: hint,
	})
}

// links warns about relative links to files that the pack does not have.
func (s *skillReader) links() {
	seen := make(map[string]bool)
	looked, found := 0, 0
	for link := range markdownLinks(s.m.Body) {
		if looked++; looked > maxLinks {
			break
		}
		target, ok := localTarget(link.target)
		if !ok || seen[target] {
			continue
		}
		seen[target] = true
		text, hint := s.missingLink(target)
		if text == "" {
			continue
		}
		if found++; found <= maxRemarks {
			s.remark("link.missing", s.m.BodyLine+link.line, link.column, text, hint)
		}
	}
	if found > maxRemarks {
		s.remark("link.missing", 0, 0, fmt.Sprintf("%d more links go to files that the pack does not have", found-maxRemarks), "")
	}
}

func (s *skillReader) missingLink(target string) (text, hint string) {
	clean := path.Clean(target)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return fmt.Sprintf("the link to %s leaves the folder of the skill", quoted(target)), ""
	}
	if _, ok := s.tree.file(clean); ok || clean == "." {
		return "", ""
	}
	for i := range s.tree.files {
		p := s.tree.files[i].Path
		if strings.HasPrefix(p, clean+"/") {
			return "", ""
		}
		if strings.EqualFold(p, clean) {
			hint = "the pack has " + quoted(p)
		}
	}
	return fmt.Sprintf("the link goes to %s, which the pack does not have", quoted(target)), hint
}

// localTarget gives the path that a link means inside the pack, or no: for URLs,
// for places on the same page, and for patterns that stand for many paths.
func localTarget(target string) (string, bool) {
	target, _, _ = strings.Cut(target, "#")
	target, _, _ = strings.Cut(target, "?")
	if strings.HasPrefix(target, "/") || strings.ContainsAny(target, "{}<>*$:") || strings.Contains(target, "...") {
		return "", false
	}
	if !strings.ContainsAny(target, "/.") {
		return "", false // a word that shows where a path would stand
	}
	if plain, err := url.PathUnescape(target); err == nil {
		target = plain
	}
	return target, true
}

// markdownLink is where a link of a markdown text leads; line counts from 0,
// column from 1.
type markdownLink struct {
	target       string
	line, column int
}

// markdownLinks finds inline links, images and reference definitions outside
// code. It reads line by line and knows nothing of HTML.
func markdownLinks(body []byte) func(yield func(markdownLink) bool) {
	return func(yield func(markdownLink) bool) {
		fence := ""
		n := -1
		for line := range bytes.Lines(body) {
			n++
			if f := codeFence(line); f != "" {
				switch {
				case fence == "":
					fence = f
				case f[0] == fence[0] && len(f) >= len(fence) && len(bytes.TrimSpace(line)) == len(f):
					fence = ""
				}
				continue
			}
			if fence != "" || bytes.IndexByte(line, ']') < 0 {
				continue
			}
			if target, at := definition(line); target != "" {
				if !yield(markdownLink{target, n, at + 1}) {
					return
				}
				continue
			}
			for target, at := range inlineLinks(line) {
				if !yield(markdownLink{target, n, at + 1}) {
					return
				}
			}
		}
	}
}

// codeFence gives the run of backticks or tildes that opens or closes a block of
// code, or nothing.
func codeFence(line []byte) string {
	text := bytes.TrimLeft(line, " \t")
	for _, c := range []byte("`~") {
		rest := bytes.TrimLeft(text, string(c))
		if n := len(text) - len(rest); n >= 3 && (c == '~' || bytes.IndexByte(rest, '`') < 0) {
			return string(text[:n])
		}
	}
	return ""
}

// definition reads "[label]: target".
func definition(line []byte) (target string, at int) {
	text := bytes.TrimLeft(line, " ")
	at = len(line) - len(text)
	if at > 3 || len(text) == 0 || text[0] != '[' || bytes.HasPrefix(text, []byte("[^")) {
		return "", 0
	}
	end := bytes.Index(text, []byte("]:"))
	if end < 0 || bytes.IndexByte(text[:end], ']') >= 0 {
		return "", 0
	}
	rest := bytes.TrimLeft(text[end+2:], " \t")
	at = len(line) - len(rest)
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return "", 0
	}
	return strings.Trim(string(fields[0]), "<>"), at
}

// inlineLinks finds "](target" outside inline code and gives the target and its
// offset.
func inlineLinks(line []byte) func(yield func(string, int) bool) {
	return func(yield func(string, int) bool) {
		var closers map[int]int
		open := 0 // brackets
		for i := 0; i < len(line); i++ {
			switch {
			case line[i] == '\\':
				i++
			case line[i] == '[':
				open++
			case line[i] == ']' && open == 0:
			case line[i] == '`':
				if closers == nil {
					closers = lastRuns(line)
				}
				i = codeEnd(line, i, closers) - 1
			case line[i] == ']':
				open--
				rest, ok := bytes.CutPrefix(line[i:], []byte("]("))
				if !ok {
					continue
				}
				target, length := destination(rest)
				if target != "" && !yield(target, i+len("](")) {
					return
				}
				i += len("](") + length - 1
			}
		}
	}
}

// codeEnd gives the offset behind the inline code that opens at start, or behind
// its backticks when no run of the same length follows.
func codeEnd(line []byte, start int, closers map[int]int) int {
	end := start + backticks(line[start:])
	length := end - start
	if closers[length] <= start {
		return end
	}
	for i := end; ; {
		i += bytes.IndexByte(line[i:], '`')
		n := backticks(line[i:])
		if i += n; n == length {
			return i
		}
	}
}

// lastRuns gives the offset of the last run of backticks of every length, so that
// a run without a closing one costs no search.
func lastRuns(line []byte) map[int]int {
	last := make(map[int]int)
	for i := 0; i < len(line); i++ {
		if line[i] == '`' {
			n := backticks(line[i:])
			last[n] = i
			i += n - 1
		}
	}
	return last
}

func backticks(b []byte) int {
	return len(b) - len(bytes.TrimLeft(b, "`"))
}

// destination reads the target of an inline link, in angle brackets or up to a
// blank or the closing parenthesis, and how many bytes were looked at.
func destination(b []byte) (target string, length int) {
	b = b[:min(len(b), maxTarget)]
	if len(b) > 0 && b[0] == '<' {
		inside, _, ok := strings.Cut(string(b[1:]), ">")
		if !ok {
			return "", len(b)
		}
		return inside, len(inside) + 2
	}
	depth := 0
	for i, c := range b {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return string(b[:i]), i
			}
		case ' ', '\t', '\r', '\n':
			return string(b[:i]), i
		}
	}
	return "", len(b)
}
