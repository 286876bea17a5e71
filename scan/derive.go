package scan

import (
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// probe runs the patterns over a text that was decoded or derived, and gives the
// worst that matches.
func (s *scanner) probe(text string) (worst *compiled, excerpt string) {
	from := make(map[int32]int)
	whole := lacking{text: text}
	s.set.finder.each(text, func(literal, begin, end int) {
		for _, number := range s.set.rules[literal] {
			p := &s.set.patterns[number]
			if p.in&inDecoded == 0 || p.Severity.Rank() < Medium.Rank() || end <= from[number] || worst != nil && worst.Severity.Rank() >= p.Severity.Rank() {
				continue
			}
			start, stop := p.window(0, len(text), begin, end)
			a, b, ok := s.find(p, &whole, start, stop)
			if !ok {
				from[number] = p.again(stop, end)
				continue
			}
			if detectorPattern(text, start+a, start+b) {
				from[number] = start + b
				continue
			}
			worst, excerpt = p, text[start+a:start+b]
		}
	})
	return worst, excerpt
}

// child scans a text that stood hidden at a raw offset. It tells whether there
// was anything.
func (s *scanner) child(d *document, text string, at int, rule, how string) bool {
	p, _ := s.probe(normalise(text).text)
	if p == nil {
		return false
	}
	r := s.set.rule(rule)
	severity := s.quotedBy(d, at, max2(r.Severity, High))
	s.add(d, r, severity, at, text, r.Reason+" ("+how+"): "+p.Reason)
	return true
}

func max2(a, b Severity) Severity {
	if a.Rank() > b.Rank() {
		return a
	}
	return b
}

// quotedBy lowers a severity where the text around speaks about attacks.
func (s *scanner) quotedBy(d *document, at int, severity Severity) Severity {
	i := sort.Search(len(d.units), func(i int) bool { return d.origin(d.units[i].end) > at })
	if i == len(d.units) || d.units[i].in == inHidden {
		return severity
	}
	u := &d.units[i]
	marks := u.marks
	if u.lead >= 0 {
		marks |= d.units[u.lead].marks
	}
	title := d.sections[u.section].marks
	switch {
	case marks&markBad != 0, marks&markAttack != 0 && marks&markDetect != 0:
		return severity.lower(3)
	case title&(markBad|markAttack) != 0:
		return severity.lower(2)
	case s.subject.security && d.kind == markdown && (marks|title)&(markAttack|markDetect|markSecurity) != 0:
		return severity.lower(2)
	}
	return severity
}

// derived scans the units again in the forms that they have once obfuscation is
// undone.
func (s *scanner) derived(d *document) {
	budget := 4 * maxDecoded
	for i := range d.units {
		u := &d.units[i]
		if u.in == inConfig && d.kind != config || budget <= 0 {
			continue
		}
		text := d.text[u.start:u.end]
		if len(text) > 8<<10 {
			text = text[:8<<10]
		}
		for _, v := range d.views(text, u) {
			if v.text == text || v.text == "" {
				continue
			}
			budget -= len(v.text)
			s.view(d, u, text, v)
		}
	}
}

// view is a text in another form.
type view struct {
	text string
	how  string
}

func (s *scanner) view(d *document, u *unit, original string, v view) {
	p, excerpt := s.probe(v.text)
	word := ""
	if v.how == "shell quoting" {
		word = revealedCommand(original, v.text)
	}
	if p == nil && word == "" {
		return
	}
	r := s.set.rule("obfuscated.command")
	reason := r.Reason + " (" + v.how + ")"
	if p != nil {
		if before, _ := s.probe(original); before != nil && before.Severity.Rank() >= p.Severity.Rank() {
			return // it is seen as it is
		}
		reason += ": " + p.Reason
	} else {
		excerpt = original
		reason += ": it reads as " + strconv.Quote(word)
	}
	s.add(d, r, s.quotedBy(d, d.origin(u.start), High), d.origin(u.start), excerpt, reason)
}

// views lists the forms of the text of a unit that differ from what is written.
func (d *document) views(text string, u *unit) []view {
	var out []view
	in, marks := u.in, u.marks
	if in&(inPrograms|inConfig|inHidden) != 0 || strings.IndexByte(text, '`') >= 0 {
		if suspiciousQuoting(text) {
			out = append(out, view{unquoteShell(text), "shell quoting"})
		}
		if strings.IndexByte(text, '\\') >= 0 && strings.Count(text, `\u00`)+strings.Count(text, `\x`) >= 4 {
			out = append(out, view{escapes().ReplaceAllStringFunc(text, unescapeOne), "escapes"})
		}
		if strings.IndexByte(text, '+') >= 0 && (strings.Contains(text, `" +`) || strings.Contains(text, `' +`) || strings.Contains(text, `"+`) || strings.Contains(text, `'+`)) {
			out = append(out, view{joinStrings().ReplaceAllString(text, ""), "joined strings"})
		}
	}
	if in&inText != 0 || in == inComment {
		if d.seen.alone >= fewAlone {
			if t := joinSpaced(text); t != text {
				out = append(out, view{t, "spaced letters"})
			}
		}
		if !d.lacks(leetByte) {
			if t := unleet(text); t != text {
				out = append(out, view{t, "digits for letters"})
			}
		}
		if strings.IndexByte(text, '<') >= 0 {
			if t := inlineTags().ReplaceAllString(text, ""); t != text {
				out = append(out, view{t, "markup inside words"})
			}
		}
	}
	if marks&markRotated != 0 {
		out = append(out, view{strings.Map(rot13, text), "rot13"})
	}
	if marks&markReversed != 0 {
		out = append(out, view{reverse(text), "written backwards"})
	}
	return out
}

var joinStrings = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`["']\s*\+\s*["']`) })

var escapes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\u00[0-7][0-9a-f]|\\x[2-7][0-9a-f]`) })

// unescapeOne reads one escape of an ASCII character.
func unescapeOne(escape string) string {
	n := len(escape)
	return strings.ToLower(string(rune(hexDigit(escape[n-2])<<4 | hexDigit(escape[n-1]))))
}

var inlineTags = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`</?(?:b|i|em|strong|u|span|font|wbr|s|small|sub|sup)(?: [^>]*)?>|<!--[^>]*-->`)
})

// rotated are telling words in rot13.
func rotated() []string {
	return []string{"phey ", "jtrg ", "vtaber nyy", "vtaber cerivbhf", "cerivbhf vafgehpgvbaf", "| onfu", "|onfu", "| fu ", "uggcf://", "uggc://", "/ova/fu", "/ova/onfu", "onfr64 -q", "cbjrefuryy"}
}

// reversedWords are telling words written backwards.
func reversedWords() []string {
	return []string{"lruc", "hsab |", "hsab|", "hs | ", "//:sptth", "//:ptth", "snoitcurtsni suoiverp", "erongi", "tegw", "lave", "llehsrewop"}
}

func rot13(r rune) rune {
	if r >= 'a' && r <= 'z' {
		return 'a' + (r-'a'+13)%26
	}
	return r
}

func reverse(s string) string {
	r := []rune(s)
	for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
		r[i], r[j] = r[j], r[i]
	}
	return string(r)
}

// suspiciousExpansion tells whether a shell puts something else in the place of a
// part of a text.
func suspiciousExpansion(text string) bool {
	return containsAny(text, []string{"$(printf", "$(echo", "${ifs}", "$ifs", `$'\`, "$@"})
}

// suspiciousQuoting tells whether a text has quotes, backslashes or expansions
// inside words, as shells take out.
func suspiciousQuoting(text string) bool {
	if strings.IndexByte(text, '$') >= 0 && suspiciousExpansion(text) {
		return true
	}
	if !strings.ContainsAny(text, `'"\`) {
		return false
	}
	for i := 1; i+1 < len(text); i++ {
		switch text[i] {
		case '\'', '"':
			if isLetter(text[i-1]) && (text[i+1] == text[i] && i+2 < len(text) && isLetter(text[i+2]) || isLetter(text[i+1]) && text[i] == '"') {
				return true
			}
			if isLetter(text[i-1]) && isLetter(text[i+1]) && text[i] == '\'' && i+3 < len(text) && (text[i+2] == '\'' || text[i+3] == '\'') {
				return true
			}
		case '\\':
			if isLetter(text[i-1]) && isLetter(text[i+1]) {
				return true
			}
		}
	}
	return false
}

// unquoteShell reads a command as a shell does: without quotes and backslashes
// inside words, with printf and echo of fixed texts in place.
func unquoteShell(text string) string {
	text = strings.NewReplacer("${ifs}", " ", "$ifs$9", " ", "$ifs", " ", "$@", "").Replace(text)
	text = fixedOutput().ReplaceAllStringFunc(text, func(m string) string {
		parts := fixedOutput().FindStringSubmatch(m)
		return unescape(strings.Trim(strings.NewReplacer(" ", "", "%s", "").Replace(parts[1]), `"'`))
	})
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		before := i > 0 && isLetter(text[i-1])
		after := i+1 < len(text) && isLetter(text[i+1])
		switch {
		case (c == '\'' || c == '"') && before && i+2 < len(text) && text[i+1] == c && isLetter(text[i+2]):
			i++
		case (c == '\'' || c == '"') && (before || after) && i > 0 && text[i-1] != ' ' && i+1 < len(text) && text[i+1] != ' ' && (before && after):
		case c == '\\' && before && after:
		case c == '$' && i+1 < len(text) && text[i+1] == '\'':
			if end := strings.IndexByte(text[i+2:], '\''); end >= 0 {
				b.WriteString(unescape(text[i+2 : i+2+end]))
				i += end + 2
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

var fixedOutput = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\(\s*(?:printf|echo(?: -[ne]+)?)\s+((?:["']?[\w\\%./:-]+["']?\s*)+)\)`)
})

// unescape reads \xNN, \NNN and \\ escapes.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		if s[i+1] == 'x' && i+3 < len(s) && hexDigit(s[i+2]) >= 0 && hexDigit(s[i+3]) >= 0 {
			b.WriteByte(byte(hexDigit(s[i+2])<<4 | hexDigit(s[i+3])))
			i += 3
			continue
		}
		n, v := 0, 0
		for n < 3 && i+1+n < len(s) && s[i+1+n] >= '0' && s[i+1+n] <= '7' {
			v = v<<3 | int(s[i+1+n]-'0')
			n++
		}
		if n > 0 {
			b.WriteByte(byte(v))
			i += n
			continue
		}
		b.WriteByte(s[i+1])
		i++
	}
	return strings.ToLower(b.String())
}

// revealedCommand gives a command that the unquoted text has as a word and the
// written one has not.
func revealedCommand(original, plain string) string {
	for _, c := range [...]string{"curl", "wget", "bash", "python", "python3", "base64", "eval", "chmod", "sudo", "powershell", "netcat", "ncat", "socat", "nc", "rm", "exec", "iex"} {
		if containsWord(plain, c) && !containsWord(original, c) && !strings.Contains(original, c) {
			return c
		}
	}
	return ""
}

// fewAlone is how many words of one character follow each other, at the least, where
// letters are spaced.
const fewAlone = 4

// joinSpaced joins letters that stand one by one, in words that two spaces
// divide: i g n o r e.
func joinSpaced(text string) string {
	const enough = 8
	if !spaced(text, fewAlone) {
		return text
	}
	tokens := strings.Split(strings.NewReplacer(".", " ", "-", " ").Replace(text), " ")
	var out []string
	changed := false
	for i := 0; i < len(tokens); {
		n, letters := i, 0
		for n < len(tokens) && len(tokens[n]) <= 1 {
			letters += len(tokens[n])
			n++
		}
		if letters < enough {
			out = append(out, tokens[i:max(n, i+1)]...)
			i = max(n, i+1)
			continue
		}
		changed = true
		var word strings.Builder
		for _, t := range tokens[i:n] {
			if t == "" {
				t = " "
			}
			word.WriteString(t)
		}
		out = append(out, word.String())
		i = n
	}
	if !changed {
		return text
	}
	return strings.Join(out, " ")
}

// spaced tells whether at least n characters in a row stand by themselves.
func spaced(text string, n int) bool {
	if len(text) < 3 {
		return false
	}
	run := 0
	before, here := classes[text[0]]&wordByte, classes[text[1]]&wordByte
	for i := 2; i < len(text); i++ {
		after := classes[text[i]] & wordByte
		switch {
		case here == 0:
		case before|after != 0:
			run = 0
		default:
			if run++; run >= n {
				return true
			}
		}
		before, here = here, after
	}
	return false
}

// unleet writes digits inside words as the letters that they stand for.
func unleet(text string) string {
	words := 0
	for i := seek(text, 0, leetByte); i+1 < len(text); i = seek(text, i+1, leetByte) {
		if i > 0 && isLetter(text[i-1]) && isLetter(text[i+1]) {
			words++
		}
	}
	if words < 2 {
		return text
	}
	b := []byte(text)
	for i := range b {
		if (i > 0 && isLetter(text[i-1])) || (i+1 < len(b) && isLetter(text[i+1])) {
			if letter := leet(b[i]); letter != 0 {
				b[i] = letter
			}
		}
	}
	return string(b)
}
