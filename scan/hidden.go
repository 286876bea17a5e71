package scan

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kortecx/kx/pack"
)

// maxHidden bounds the findings on hidden characters of one file.
const maxHidden = 20

// hiddenText reports characters that nobody sees, with what they spell where they
// spell something, and has that text scanned.
func (s *scanner) hiddenText(d *document) {
	if d.kinds&beyondByte == 0 {
		return
	}
	var runs []hiddenRun
	total := 0
	for at, r := range pack.HiddenRunes(d.data) {
		total++
		if n := len(runs); n > 0 && runs[n-1].end == at {
			runs[n-1].runes = append(runs[n-1].runes, r)
			runs[n-1].end = at + utf8.RuneLen(r)
			continue
		}
		runs = append(runs, hiddenRun{start: at, end: at + utf8.RuneLen(r), runes: []rune{r}})
	}
	// A text may be spread over many runs, one character behind each letter.
	if spread := decodeHidden(joinRuns(runs)); len(runs) > 3 && spread != "" {
		s.reportHidden(d, runs[0], spread, total)
	}
	for i := range runs {
		if i == maxHidden {
			break
		}
		run := &runs[i]
		if run.start == 0 && run.runes[0] == 0xfeff && len(run.runes) == 1 {
			continue // a byte order mark, which the reader of the pack speaks of
		}
		s.reportHidden(d, *run, decodeHidden(run.runes), total)
	}
	s.homoglyphs(d)
}

type hiddenRun struct {
	start, end int
	runes      []rune
}

func joinRuns(runs []hiddenRun) []rune {
	var all []rune
	for _, r := range runs {
		all = append(all, r.runes...)
	}
	return all
}

func asciiOnly(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func (s *scanner) reportHidden(d *document, run hiddenRun, decoded string, total int) {
	what := fmt.Sprintf("%s (U+%04X)", hiddenName(run.runes[0]), run.runes[0])
	if len(run.runes) > 1 {
		what = fmt.Sprintf("%d characters such as %s", len(run.runes), what)
	}
	if decoded != "" {
		r := s.set.rule("text.hidden-unicode")
		s.add(d, r, Critical, run.start, decoded, "hidden characters that spell a text: "+what)
		s.child(d, decoded, run.start, "text.hidden-unicode", "hidden characters")
		return
	}
	raw := d.raw()
	excerpt := raw[max(0, runeStart(raw, run.start-30)):min(len(raw), runeStart(raw, run.end+30))]
	id := hiddenRule(raw, run, total)
	r := s.set.rule(id)
	s.add(d, r, r.Severity, run.start, excerpt, r.Reason+": "+what)
}

// runeStart moves an offset back to the beginning of a character.
func runeStart(s string, at int) int {
	at = min(max(at, 0), len(s))
	for at > 0 && at < len(s) && !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}

// hiddenRule picks the rule for characters that spell nothing.
func hiddenRule(raw string, run hiddenRun, total int) string {
	r := run.runes[0]
	switch {
	case r >= 0xe0000 && r <= 0xe0fff, r == 0x202d, r == 0x202e:
		return "text.hidden-unicode"
	case r >= 0x2066 && r <= 0x2069, r >= 0x202a && r <= 0x202c:
		if leftwardLine(raw, run.start) {
			return "text.invisible"
		}
		return "text.hidden-unicode"
	case len(run.runes) >= 4, total >= 12:
		return "text.zero-width"
	case r == 0xfeff && run.start > 0 && raw[run.start-1] == '\n', r == 0xad:
		return "text.invisible"
	}
	prev, _ := utf8.DecodeLastRuneInString(raw[:run.start])
	next, _ := utf8.DecodeRuneInString(raw[run.end:])
	if unicode.Is(unicode.Latin, prev) && unicode.Is(unicode.Latin, next) {
		return "text.zero-width"
	}
	if total >= 3 && (r == 0x200b || r == 0x200c || r == 0x200d || r == 0x2060) && !unicode.IsSpace(prev) && !unicode.IsSpace(next) {
		return "text.zero-width"
	}
	return "text.invisible"
}

func leftwardLine(raw string, at int) bool {
	start := strings.LastIndexByte(raw[:at], '\n') + 1
	end := len(raw)
	if n := strings.IndexByte(raw[at:], '\n'); n >= 0 {
		end = at + n
	}
	return strings.ContainsFunc(raw[start:end], func(r rune) bool {
		return r >= 0x590 && unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko)
	})
}

func hiddenName(r rune) string {
	switch {
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x61c:
		return "a bidirectional control"
	case r >= 0xe0000 && r <= 0xe007f:
		return "a tag character"
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef:
		return "a variation selector"
	case r >= 0x200b && r <= 0x200d, r == 0x2060, r == 0xfeff:
		return "a zero-width character"
	}
	return "an invisible character"
}

// decodeHidden reads text that is spelt with invisible characters: tags, bytes as
// variation selectors, bits as zero-width characters. It is empty when there is
// none.
func decodeHidden(runes []rune) string {
	var tags, selectors []byte
	var bits []byte
	for _, r := range runes {
		switch {
		case r > 0xe0000 && r < 0xe007f:
			tags = append(tags, byte(r-0xe0000))
		case r >= 0xfe00 && r <= 0xfe0f:
			selectors = append(selectors, byte(r-0xfe00))
		case r >= 0xe0100 && r <= 0xe01ef:
			selectors = append(selectors, byte(r-0xe0100+16))
		case r == 0x200b || r == 0x2062:
			bits = append(bits, 0)
		case r == 0x200c || r == 0x200d || r == 0x2064:
			bits = append(bits, 1)
		}
	}
	switch {
	case len(tags) >= 2:
		return string(tags)
	case len(selectors) >= 4 && printable(string(selectors)):
		return string(selectors)
	case len(bits) >= 24:
		return decodeBits(bits)
	}
	return ""
}

func decodeBits(bits []byte) string {
	for _, flip := range [...]byte{0, 1} {
		out := make([]byte, 0, len(bits)/8)
		for i := 0; i+8 <= len(bits); i += 8 {
			var b byte
			for _, bit := range bits[i : i+8] {
				b = b<<1 | (bit ^ flip)
			}
			out = append(out, b)
		}
		if printable(string(out)) {
			return string(out)
		}
	}
	return ""
}

// homoglyphs reports words that mix Latin letters with their lookalikes.
func (s *scanner) homoglyphs(d *document) {
	raw, found := d.raw(), 0
	for at := seek(raw, 0, beyondByte); at < len(raw) && found < maxHidden; at = seek(raw, at, beyondByte) {
		start, end := wordAround(raw, at)
		at = end
		latin, alike, wide, other := 0, 0, 0, 0
		for _, r := range raw[start:end] {
			switch {
			case r < utf8.RuneSelf:
				latin++
			case r >= 0xff21 && r <= 0xff5a, r >= 0x1d400 && r <= 0x1d6a3:
				wide++
			case r >= 0x370 && lookalike(r) != "":
				alike++
			case unicode.IsLetter(r):
				other++
			}
		}
		if wide+alike == 0 {
			continue
		}
		word := raw[start:end]
		folded := normalise(word).text
		known := tellingWord(folded)
		switch {
		case known && wide+alike > 0, alike > 0 && latin > alike && other == 0 && len(folded) >= 4 && latin+alike == len(folded):
			found++
			severity := Medium
			if known {
				severity = High
			}
			r := s.set.rule("text.homoglyph")
			s.add(d, r, severity, start, word, fmt.Sprintf("%s: it reads as %q", r.Reason, folded))
		}
	}
}

// wordAround gives the word that holds the character at an offset; when that is
// no part of a word, the character itself.
func wordAround(raw string, at int) (start, end int) {
	part := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || unseen(r) }
	start, end = at, at
	for end < len(raw) {
		r, size := utf8.DecodeRuneInString(raw[end:])
		if !part(r) {
			break
		}
		end += size
	}
	if end == at {
		_, size := utf8.DecodeRuneInString(raw[at:])
		return at, at + size
	}
	for start > 0 {
		r, size := utf8.DecodeLastRuneInString(raw[:start])
		if !part(r) {
			break
		}
		start -= size
	}
	return start, end
}

// tellingWord tells whether a word is one that filters look for.
func tellingWord(word string) bool {
	switch word {
	case "curl", "wget", "bash", "powershell", "python", "eval", "exec", "sudo", "chmod", "base64", "ignore", "disregard", "previous",
		"instructions", "instruction", "system", "prompt", "password", "secret", "token", "credentials", "admin", "execute", "download",
		"install", "github", "google", "openai", "anthropic", "claude", "paypal", "microsoft", "apple", "override", "http", "https",
		"api", "key", "keys", "exfiltrate", "send", "upload", "bypass", "developer", "jailbreak", "openclaw", "clawhub", "npm", "pip", "user", "safety":
		return true
	}
	return false
}

// controls reports characters that a terminal obeys, raw or as a JSON escape.
func (s *scanner) controls(d *document) {
	if d.kind == config && strings.HasSuffix(d.path, ".json") {
		for _, escape := range [...]string{`\u001b`, `\u001B`, `\u009b`, `\u0007`, `\x1b`} {
			if at := bytes.Index(d.data, []byte(escape)); at >= 0 {
				r := s.set.rule("text.terminal-escape")
				s.add(d, r, High, at, string(d.data[at:min(len(d.data), at+60)]), "")
				break
			}
		}
	}
	if d.kinds&controlByte == 0 {
		return
	}
	raw, found := d.raw(), 0
	for i := 0; i < len(raw) && found < 5; i++ {
		c := raw[i]
		if classes[c]&controlByte == 0 {
			continue
		}
		found++
		id, severity := "text.control", Low
		if c == 0x1b {
			id, severity = "text.terminal-escape", High
			if rest := raw[i+1:]; strings.HasPrefix(rest, "[") && colourOnly(rest[1:]) {
				severity = Low
			}
		}
		s.add(d, s.set.rule(id), severity, i, raw[i:min(len(raw), i+60)], "")
		for i+1 < len(raw) && raw[i+1] == c {
			i++
		}
	}
}

// colourOnly tells whether an escape sequence does nothing but colour text.
func colourOnly(rest string) bool {
	for i := range min(len(rest), 16) {
		switch c := rest[i]; {
		case c == 'm':
			return true
		case c != ';' && (c < '0' || c > '9'):
			return false
		}
	}
	return false
}

// Distances from which text counts as hidden by its place.
const (
	paddingLines   = 60
	paddingColumns = 400
)

// padding reports text behind many empty lines or far to the right.
func (s *scanner) padding(d *document) {
	r := s.set.rule("text.padding")
	empty := 0
	for i, start := range d.lines {
		end := len(d.data)
		if i+1 < len(d.lines) {
			end = d.lines[i+1]
		}
		line := d.data[start:end]
		if len(line) == 0 || !isWord(line[0]) && len(bytes.TrimSpace(line)) == 0 {
			empty++
			continue
		}
		if empty >= paddingLines {
			s.add(d, r, r.Severity, start, string(line), fmt.Sprintf("%s: %d empty lines before it", r.Reason, empty))
		}
		empty = 0
		if len(line) > paddingColumns {
			if at := wideGap(line); at >= 0 {
				s.add(d, r, r.Severity, start+at, string(line[at:]), fmt.Sprintf("%s: column %d", r.Reason, at+1))
			}
		}
	}
}

// wideGap gives the offset of text behind a long run of spaces, or -1.
func wideGap(line []byte) int {
	run := 0
	for i := range len(line) {
		switch line[i] {
		case ' ', '\t':
			run++
		case '\n', '\r':
			return -1
		default:
			if run >= paddingColumns {
				return i
			}
			run = 0
		}
	}
	return -1
}
