package scan

import (
	"fmt"
	"iter"
	"maps"
	"math/bits"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// SentinelStatus is what MemClaw's pre-scan says, in numbers.
type SentinelStatus struct {
	State    string `json:"state"` // clean, quarantined or failed; empty where it was not asked
	Critical int    `json:"critical"`
	Warn     int    `json:"warn"`
}

// SentinelFinding is one finding of MemClaw's pre-scan.
type SentinelFinding struct {
	Code     string `json:"code"`
	Severity string `json:"severity"` // critical or warn
	Message  string `json:"message"`
	Fatal    bool   `json:"fatal"`
	Locator  string `json:"locator"` // such as data.content[0:28], in characters
}

// SentinelResult is what MemClaw's pre-scan says about one document.
type SentinelResult struct {
	State    string            `json:"state"`
	Findings []SentinelFinding `json:"findings"`
}

// Status counts the findings.
func (r *SentinelResult) Status() SentinelStatus {
	status := SentinelStatus{State: r.State}
	for i := range r.Findings {
		if r.Findings[i].Severity == sentinelCritical {
			status.Critical++
		} else {
			status.Warn++
		}
	}
	return status
}

// Fatal tells whether a finding forbids even to keep the document.
func (r *SentinelResult) Fatal() bool {
	return slices.ContainsFunc(r.Findings, func(f SentinelFinding) bool { return f.Fatal })
}

// SentinelCaps are the sizes in bytes above which a field is refused; zero means
// no cap.
type SentinelCaps struct {
	Content, Description int
}

// States and severities of the pre-scan.
const (
	SentinelClean       = "clean"
	SentinelQuarantined = "quarantined"
	SentinelFailed      = "failed"

	sentinelCritical = "critical"
	sentinelWarn     = "warn"
)

// sentinelPattern is one expression of the pre-scan. Go's expressions know ASCII
// digits and spaces only, so they name the Unicode classes that Python means.
type sentinelPattern struct {
	code string
	any  []string // lower case; one of them is in every match
	re   string
	word bool // neither end may stand inside a word
}

const sp = `[\s\p{Z}\x{1c}-\x{1f}\x{85}]`

var sentinelPatterns = []sentinelPattern{
	{"PROMPT_INJECTION", []string{"ignore"}, `(?i)ignore` + sp + `+(?:all` + sp + `+)?(?:the` + sp + `+)?(?:previous|above|prior)` + sp + `+(?:instructions?|prompts?)`, true},
	{"PROMPT_INJECTION", []string{"disregard"}, `(?i)disregard` + sp + `+(?:the` + sp + `+)?(?:above|previous|prior)` + sp + `+(?:instructions?|prompts?|context)`, true},
	{"PROMPT_INJECTION", []string{"forget"}, `(?i)forget` + sp + `+(?:everything|all)` + sp + `+(?:above|prior|previously)`, true},
	{"PROMPT_INJECTION", []string{"system"}, `(?im)^` + sp + `*system` + sp + `*:` + sp + `*(?:you` + sp + `+(?:are|must|will)|ignore|act` + sp + `+as|disregard|forget|override)\b`, false},
	{"PROMPT_INJECTION", []string{"system"}, `(?i)\{\{` + sp + `*system` + sp + `*\}\}`, false},
	{"PROMPT_INJECTION", []string{"im_start"}, `(?i)<\|im_start\|>` + sp + `*system`, false},
	{"PROMPT_INJECTION", []string{"jailbreak", "dan", "developer"}, `(?i)(?:jailbreak|dan` + sp + `+mode|developer` + sp + `+mode` + sp + `+enabled)`, true},
	{"PROMPT_INJECTION", []string{"override"}, `(?i)override` + sp + `+(?:the` + sp + `+)?(?:safety|guardrails?|filters?)`, true},
	{"PROMPT_INJECTION", []string{"now"}, `(?i)you` + sp + `+are` + sp + `+now` + sp + `+(?:a` + sp + `+)?(?:new|different)` + sp + `+(?:assistant|ai|model)`, true},
	{"PROMPT_INJECTION", []string{"unrestricted"}, `(?i)act` + sp + `+as` + sp + `+(?:if` + sp + `+you` + sp + `+(?:are|were)` + sp + `+)?(?:an?` + sp + `+)?unrestricted`, true},

	{"SHELL_INJECTION", []string{"rm"}, `(?m)(?:^|[;&|` + "`" + `])` + sp + `*rm` + sp + `+-(?:rf|fr)\b`, false},
	{"SHELL_INJECTION", []string{"$(rm"}, `\$\(rm`, false},
	{"SHELL_INJECTION", []string{":()"}, `:\(\)` + sp + `*\{` + sp + `*:` + sp + `*\|` + sp + `*:` + sp + `*&` + sp + `*\}`, false},
	{"SHELL_INJECTION", []string{"dd"}, `\bdd` + sp + `+if=/dev/(?:zero|random|urandom)`, false},
	{"SHELL_INJECTION", []string{"mkfs"}, `\bmkfs\.\w+`, false},
	{"SHELL_INJECTION", []string{"chmod"}, `\bchmod` + sp + `+(?:-\w+` + sp + `+)*[0-7]?[0-7]?77\b`, false},
	{"SHELL_INJECTION", []string{"/etc/"}, `\b(?:cat|less|more|head|tail)` + sp + `+/etc/(?:passwd|shadow|sudoers)\b`, false},
	{"SHELL_INJECTION", []string{"curl", "wget"}, `(?i)\b(?:curl|wget)\b[^\n|]*\|` + sp + `*(?:sudo` + sp + `+)?(?:sh|bash|zsh)\b`, false},
	{"SHELL_INJECTION", []string{"eval"}, `(?i)\beval` + sp + `*\([^\n)]*(?:base64_decode|atob|fromcharcode)`, false},
	{"SHELL_INJECTION", []string{"exec"}, `(?i)\bexec` + sp + `*\(` + sp + `*["']?(?:cmd|powershell|sh|bash)\b`, false},

	{"URL_EXFILTRATION", []string{"post"}, `(?i)\bpost\b[^\n]{0,200}(?:webhook|requestbin|hookbin|pipedream)`, false},
	{"URL_EXFILTRATION", []string{"curl", "wget"}, `(?i)\b(?:curl|wget)\b[^\n]*(?:requestbin|webhook\.site|hookbin|interactsh|burpcollaborator)`, false},
	{"URL_EXFILTRATION", []string{"://"}, `(?i)https?://[^\s/]*(?:pastebin\.com|paste\.ee|hastebin\.com|0x0\.st|transfer\.sh)`, false},
	{"URL_EXFILTRATION", []string{"base64"}, `(?i)\bbase64` + sp + `+(?:-d|--decode)\b[^\n]*\|` + sp + `*(?:curl|wget|sh|bash)\b`, false},

	{"PII_SSN", nil, `\p{Nd}{3}-\p{Nd}{2}-\p{Nd}{4}|\p{Nd}{9}`, true},
	{"PII_CC", nil, `4\p{Nd}{3}[- ]?\p{Nd}{4}[- ]?\p{Nd}{4}[- ]?\p{Nd}{4}|5[1-5]\p{Nd}{2}[- ]?\p{Nd}{4}[- ]?\p{Nd}{4}[- ]?\p{Nd}{4}|3[47]\p{Nd}{2}[- ]?\p{Nd}{6}[- ]?\p{Nd}{5}|6(?:011|5\p{Nd}{2})[- ]?\p{Nd}{4}[- ]?\p{Nd}{4}[- ]?\p{Nd}{4}`, true},
	{"PII_PHONE", nil, `(?:\+?1[-. ])?(?:\(\p{Nd}{3}\) ?|\p{Nd}{3}[-. ])\p{Nd}{3}[-. ]\p{Nd}{4}`, false},
	{"PII_EMAIL", []string{"@"}, `[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}`, true},
}

var sentinelExpressions = sync.OnceValue(func() []func() *regexp.Regexp {
	out := make([]func() *regexp.Regexp, len(sentinelPatterns))
	for i := range sentinelPatterns {
		expression := sentinelPatterns[i].re
		if sentinelPatterns[i].folds() {
			// On text in lower case the fixed beginning of an expression is found
			// many times faster than without regard to case.
			expression = strings.NewReplacer("(?i)", "", "(?im)", "(?m)").Replace(expression)
		}
		out[i] = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
	}
	return out
})

// Sentinel is MemClaw's pre-scan of a document, with the outcome of the reference:
// deterministic, the same before a write and before it is applied. A fatal or
// critical finding quarantines; warnings alone do not. The document is decoded
// JSON; anything but an object fails.
func Sentinel(document any, caps SentinelCaps) *SentinelResult {
	object, ok := document.(map[string]any)
	if !ok {
		return &SentinelResult{State: SentinelFailed, Findings: []SentinelFinding{{"MALFORMED_INPUT", sentinelCritical, "the document is not an object", true, "data"}}}
	}
	z := sentinel{}
	z.sizes(object, caps)
	for _, field := range [...]string{"content", "description", "summary", "goal"} {
		if text, ok := object[field].(string); ok {
			z.text("data."+field, text)
		}
	}
	z.evidence("data.evidence", object["evidence"], 0)
	if evidence, ok := object["evidence"].(map[string]any); ok {
		z.memories(evidence["memory_ids"])
	}
	if files, ok := object["support_files"].([]any); ok {
		for i, f := range files {
			z.file(fmt.Sprintf("data.support_files[%d]", i), f)
		}
	}
	result := &SentinelResult{State: SentinelClean, Findings: z.findings}
	result.judge()
	return result
}

// judge quarantines what has a finding that is fatal or critical.
func (r *SentinelResult) judge() {
	for i := range r.Findings {
		if r.Findings[i].Fatal || r.Findings[i].Severity == sentinelCritical {
			r.State = SentinelQuarantined
		}
	}
}

type sentinel struct {
	findings []SentinelFinding
}

func (z *sentinel) add(code, severity, message string, fatal bool, locator string) {
	z.findings = append(z.findings, SentinelFinding{code, severity, message, fatal, locator})
}

func (z *sentinel) sizes(object map[string]any, caps SentinelCaps) {
	for _, c := range [...]struct {
		field, code string
		limit       int
	}{{"content", "BODY_TOO_LARGE", caps.Content}, {"description", "DESCRIPTION_TOO_LARGE", caps.Description}} {
		if text, ok := object[c.field].(string); ok && c.limit > 0 && len(text) > c.limit {
			z.add(c.code, sentinelCritical, fmt.Sprintf("%s is %d bytes long, %d are allowed", c.field, len(text), c.limit), true, "data."+c.field)
		}
	}
}

// text gives one finding on injection, and one on each kind of personal data, for
// one field.
func (z *sentinel) text(field, text string) {
	t := newSentinelText(text)
	z.prose(field, &t)
}

func (z *sentinel) prose(field string, t *sentinelText) {
	t.lookForPeople()
	for _, code := range [...]string{"PROMPT_INJECTION", "PII_SSN", "PII_CC", "PII_PHONE", "PII_EMAIL"} {
		start, end := t.match(code)
		if start < 0 {
			continue
		}
		severity, message := sentinelWarn, "what may be personal data"
		if code == "PROMPT_INJECTION" {
			severity, message = sentinelCritical, "a phrase of prompt injection"
		}
		z.add(code, severity, message, false, locator(field, t.raw(), start, end))
	}
}

// locator names a stretch of a field in characters.
func locator(field, text string, start, end int) string {
	from := utf8.RuneCountInString(text[:start])
	return fmt.Sprintf("%s[%d:%d]", field, from, from+utf8.RuneCountInString(text[start:end]))
}

// personal tells whether it is data of a person that the pattern finds: a number, or
// what has one telling byte.
func (p *sentinelPattern) personal() bool { return strings.HasPrefix(p.code, "PII_") }

// signs are what a finder looks for: one of them begins a word of every text with a
// match. Those of any are, but for the ones that are in every text.
func (p *sentinelPattern) signs() []string {
	if p.personal() {
		return nil
	}
	switch p.any[0] {
	case "rm":
		return []string{"-rf", "-fr"}
	case "dd":
		return []string{"if=/dev/"}
	case "now":
		return []string{"new", "different"}
	}
	return p.any
}

// sentinelText is a text as the patterns read it.
type sentinelText struct {
	text  string    // empty where it is what a document has from an offset on
	of    *document // nil where text has it
	from  int
	lower string // with ASCII letters in lower case
	kinds class  // of bytes that the text may have
	may   uint32 // by pattern, by bit: it may match
}

func (t *sentinelText) raw() string {
	if t.of != nil {
		return t.of.raw()[t.from:]
	}
	return t.text
}

// sentinelSigns finds what the patterns need, and tells which of them a sign is of.
var sentinelSigns = sync.OnceValue(func() (signs struct {
	*finder
	of []int
},
) {
	var literals []string
	for i := range sentinelPatterns {
		for _, s := range sentinelPatterns[i].signs() {
			literals, signs.of = append(literals, s), append(signs.of, i)
		}
	}
	signs.finder = newFinder(literals)
	return signs
})

func newSentinelText(text string) sentinelText {
	t := sentinelText{text: text, lower: lowerASCII(text), kinds: kindsOf(text)}
	signs := sentinelSigns()
	signs.each(t.lower, func(literal, _, _ int) { t.may |= 1 << signs.of[literal] })
	return t
}

// lookForPeople tells which data of people may be in the text.
func (t *sentinelText) lookForPeople() {
	numbers := t.kinds&(digitByte|beyondByte) != 0 && digits(t.lower) >= 0
	for i := range sentinelPatterns {
		if p := &sentinelPatterns[i]; p.personal() && (p.any == nil && numbers || p.any != nil && t.kinds&mailByte != 0) {
			t.may |= 1 << i
		}
	}
}

// sentinelCodes are the patterns of each code, by bit.
var sentinelCodes = sync.OnceValue(func() map[string]uint32 {
	codes := map[string]uint32{}
	for i := range sentinelPatterns {
		codes[sentinelPatterns[i].code] |= 1 << i
	}
	return codes
})

// match gives the first match of a code, or -1.
func (t *sentinelText) match(code string) (start, end int) {
	start, end = -1, -1
	for may := t.may & sentinelCodes()[code]; may != 0; may &= may - 1 {
		i := bits.TrailingZeros32(may)
		p := &sentinelPatterns[i]
		for from := range p.candidates(t.lower) {
			where := t.lower
			if !p.folds() {
				where = t.raw()
			}
			a, b := p.match(i, where, from)
			if a < 0 {
				continue
			}
			if start < 0 || a < start {
				start, end = a, b
			}
			break
		}
	}
	if code == "SHELL_INJECTION" && t.may != 0 {
		if at := removesRoot(t.raw()); at >= 0 && (start < 0 || at < start) {
			start, end = at, min(len(t.raw()), at+8)
		}
	}
	return start, end
}

// Sizes of what an expression of the pre-scan is given around a literal.
const (
	sentinelBefore = 200
	sentinelAfter  = 800
)

// folds tells whether the case of letters does not matter.
func (p *sentinelPattern) folds() bool { return strings.HasPrefix(p.re, "(?i") }

// candidates gives the offsets around which a pattern may match, ascending and
// far enough apart that a text full of them is still read about twice only.
func (p *sentinelPattern) candidates(lower string) iter.Seq[int] {
	return func(yield func(int) bool) {
		next := slices.Repeat([]int{-1}, max(len(p.any), 1)) // where each literal stands from here on
		for at := 0; at < len(lower); {
			nearest := -1
			for i := range next {
				if next[i] < at {
					next[i] = p.find(lower, i, at)
				}
				if next[i] < len(lower) && (nearest < 0 || next[i] < nearest) {
					nearest = next[i]
				}
			}
			if nearest < 0 || !yield(nearest) {
				return
			}
			at = nearest + sentinelAfter - 2*sentinelBefore
		}
	}
}

// find gives the offset from which literal i stands at or after at, or the length
// of the text.
func (p *sentinelPattern) find(lower string, i, at int) int {
	n := -1
	if p.any == nil {
		n = digits(lower[at:])
	} else {
		n = strings.Index(lower[at:], p.any[i])
	}
	if n < 0 {
		return len(lower)
	}
	return at + n
}

// digits gives the offset of the first place where nine digits stand close
// together, or -1. Digits beyond ASCII count as well.
func digits(text string) int {
	first, count, gap := 0, 0, 0
	for i := 0; i < len(text); i++ {
		if count == 0 {
			if i = seek(text, i, digitByte|beyondByte); i == len(text) {
				return -1
			}
		}
		switch c := text[i]; {
		case classes[c]&(digitByte|beyondByte) != 0:
			if count == 0 {
				first = i
			}
			gap = 0
			if count++; count >= 9 {
				return first
			}
		case c == '-' || c == ' ' || c == '.' || c == '(' || c == ')' || c == '+':
			if gap++; gap > 2 {
				count = 0
			}
		default:
			count, gap = 0, 0
		}
	}
	return -1
}

// match tries a pattern around an offset of a text.
func (p *sentinelPattern) match(number int, text string, at int) (start, end int) {
	from, to := runeStart(text, at-sentinelBefore), runeStart(text, at+sentinelAfter)
	window := text[from:to]
	for skip := 0; skip <= len(window); {
		m := sentinelExpressions()[number]().FindStringIndex(window[skip:])
		if m == nil {
			return -1, -1
		}
		a, b := from+skip+m[0], from+skip+m[1]
		if (!p.word || wholeWord(text, a, b)) && (p.code != "PII_SSN" || possibleSSN(text[a:b])) {
			return a, b
		}
		_, size := utf8.DecodeRuneInString(text[a:])
		skip = a - from + max(size, 1)
	}
	return -1, -1
}

// removesRoot finds rm -rf or -fr on the root or what is below it, but not on the
// folder for temporary files: the reference says so by a look-ahead.
func removesRoot(text string) int {
	if !strings.Contains(text, "-rf") && !strings.Contains(text, "-fr") {
		return -1
	}
	for at := 0; ; {
		i := strings.Index(text[at:], "rm")
		if i < 0 {
			return -1
		}
		from := max(0, at+i-1)
		m := removal().FindStringIndex(text[from:min(len(text), at+i+80)])
		if m == nil {
			at += i + 2
			continue
		}
		at = from
		if !strings.HasPrefix(text[at+m[1]:], "tmp") {
			return at + m[0]
		}
		at += m[1]
	}
}

var removal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\brm` + sp + `+-(?:rf|fr)` + sp + `+/`) })

// wholeWord tells whether neither end of a match stands inside a word, as Python
// sees words.
func wholeWord(text string, start, end int) bool {
	inside := func(a, b rune) bool { return wordRune(a) && wordRune(b) }
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	firstRune, _ := utf8.DecodeRuneInString(text[start:])
	last, _ := utf8.DecodeLastRuneInString(text[:end])
	after, _ := utf8.DecodeRuneInString(text[end:])
	return !(start > 0 && inside(before, firstRune)) && !(end < len(text) && inside(last, after))
}

func wordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// possibleSSN rules numbers out that were never given.
func possibleSSN(match string) bool {
	d := strings.ReplaceAll(match, "-", "")
	return !strings.HasPrefix(d, "000") && !strings.HasPrefix(d, "666") && !strings.HasPrefix(d, "9") &&
		len(d) >= 9 && d[3:5] != "00" && d[5:9] != "0000"
}

// evidence reads strings that are nested in evidence, to depth 4.
func (z *sentinel) evidence(field string, value any, depth int) {
	if depth > 4 {
		return
	}
	switch v := value.(type) {
	case string:
		z.text(field, v)
	case []any:
		for i, e := range v {
			z.evidence(fmt.Sprintf("%s[%d]", field, i), e, depth+1)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			z.evidence(field+"."+k, v[k], depth+1)
		}
	}
}

func (z *sentinel) memories(value any) {
	ids, ok := value.([]any)
	if !ok {
		return
	}
	seen := map[string]bool{}
	for _, id := range ids {
		if s, ok := id.(string); ok {
			seen[s] = true
		}
	}
	if len(seen) > 20 {
		z.add("MEMORY_ID_STUFFING", sentinelWarn, fmt.Sprintf("%d memories are named as evidence", len(seen)), false, "data.evidence.memory_ids")
	}
}

func (z *sentinel) file(field string, value any) {
	f, ok := value.(map[string]any)
	if !ok {
		z.add("PATH_VIOLATION", sentinelCritical, "the support file is not an object", true, field)
		return
	}
	role, _ := f["role"].(string)
	name, _ := f["path"].(string)
	z.path(name, role, field)
	for _, key := range [...]string{"content", "body"} {
		if text, ok := f[key].(string); ok {
			t := newSentinelText(text)
			z.support(&t, role, field, ".", key)
		}
	}
}

// path gives a finding on the path of a support file. The parts of the field's name are
// put together where they are needed.
func (z *sentinel) path(name, role string, field ...string) {
	if why := sentinelPath(name, role); why != "" {
		z.add("PATH_VIOLATION", sentinelCritical, why, true, strings.Join(field, "")+".path")
	}
}

// support gives one finding on commands, and one on addresses in a script, for a text of
// a support file.
func (z *sentinel) support(t *sentinelText, role string, field ...string) {
	if start, end := t.match("SHELL_INJECTION"); start >= 0 {
		z.add("SHELL_INJECTION", sentinelCritical, "a dangerous command", false, locator(strings.Join(field, ""), t.raw(), start, end))
	}
	if !scriptRole(role) {
		return
	}
	if start, end := t.match("URL_EXFILTRATION"); start >= 0 {
		z.add("URL_EXFILTRATION", sentinelWarn, "an address that collects data", false, locator(strings.Join(field, ""), t.raw(), start, end))
	}
}

func scriptRole(role string) bool {
	switch role {
	case "scripts", "script", "exec", "command":
		return true
	}
	return false
}

// sentinelPath says what is wrong with the path of a support file, or "".
func sentinelPath(name, role string) string {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return "the path is not ASCII"
		}
	}
	switch {
	case name == "":
		return "the path is missing"
	case name[0] == '/' || name[0] == '~' || strings.HasPrefix(name, `\\`):
		return "the path is absolute"
	case len(name) > 2 && isLetter(name[0]) && name[1] == ':' && name[2] == '\\':
		return "the path names a drive"
	}
	for segment := range strings.SplitSeq(name, "/") {
		switch {
		case segment == "..":
			return "the path leaves the folder"
		case strings.HasPrefix(segment, "."):
			return "a part of the path starts with a dot"
		}
	}
	switch {
	case hasEnding(name, "exe", "dll", "so", "dylib"):
		return "the file is a program"
	case !scriptRole(role) && hasEnding(name, "sh", "bash", "zsh", "ps1", "bat", "cmd"):
		return "a script outside the scripts"
	}
	return ""
}

// hasEnding tells whether a name has a dot with one of some words behind it, in any case.
func hasEnding(name string, words ...string) bool {
	for at := range len(name) {
		if name[at] != '.' {
			continue
		}
		rest := name[at+1:]
		for _, w := range words {
			if len(rest) >= len(w) && strings.EqualFold(rest[:len(w)], w) && (len(rest) == len(w) || !isWord(rest[len(w)])) {
				return true
			}
		}
	}
	return false
}
