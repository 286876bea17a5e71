package scan

import (
	"slices"
	"strings"

	"github.com/kortecx/kx/pack"
)

// mark is a set of hints about what a piece of text is for.
type mark uint16

const (
	markBad      mark = 1 << iota // shown as what not to do
	markAttack                    // speaks of attacks
	markDetect                    // speaks of finding, refusing or exemplifying something
	markSecurity                  // speaks of security at all
	markRotated                   // has telling words in rot13
	markReversed                  // has telling words written backwards
	markBadHost                   // names a host of a reported campaign
)

// markWords gives the words of each mark, in the order of the bits.
func markWords() [7][]string {
	return [7][]string{
		{
			"❌ ", "❌*", "❌`", "🚫", "⛔ ", "✗ ", "✘ ", "🔴", "bad:", "bad example", "bad practice", "bad code", "anti-pattern", "antipattern", "wrong:",
			"don't do this", "do not do this", "never do this", "never do", "incorrect", "not recommended", "unsafe example", "insecure",
			"vulnerable code", "what not to do", "# bad", "// bad", "# wrong", "// wrong", "# danger", "// danger", "# unsafe",
			"# vulnerable", "// vulnerable", "avoid:", "don't:", "do not:", "never:", "forbidden", "prohibited", "must not", "not allowed",
			"disallowed", "out of scope", "blocklist", "denylist", "deny list", "blacklist", "don'ts", "destructive", "dangerous ",
		},
		{
			"malicious", "attacker", "adversar", "attack", "exploit", "vulnerab", "injection", "jailbreak", "phish", "red flag", "red-flag",
			"suspicious", "threat", "payload", "malware", "compromis", "hostile", "untrusted", "social engineering", "pentest",
			"penetration test", "red team", "red-team", "exfiltrat", "poisoning", "backdoor", "reverse shell", "ransomware", "stealer",
			"trojan", "evil", "spoof", "manipulat", "tamper", "abuse", "honeypot", "hack", "scam", "smuggl", "bypass attempt", "privilege escalation",
		},
		{
			"detect", "flag ", "flags ", "flagged", "look for", "looks for", "looking for", "scan for", "scans for", "scanning for",
			"check for", "checks for", "watch for", "watch out", "search for", "grep", "pattern", "regex", "signature", "indicator",
			"warning sign", "block", "deny", "reject", "refuse", "alert", "treat as", "sanitiz", "sanitis", "defend", "defence", "defense",
			"prevent", "protect", "mitigat", "filter", "examples of", "example of", "e.g.", "such as", "test case", "fixture",
			"for example", "example:", "for instance", "might", "may contain", "if you see", "if the content", "contains", "attempts to",
			"attempting", "tries to", "trying to", "classif", "severity", "risk", "catches", "like ", "phrases", "red flags", "mock",
		},
		{"security", "safety", "owasp", "cve-", "audit", "hardening", "compliance", "secure ", "guardrail", "trust"},
		rotated(),
		reversedWords(),
		badNames(),
	}
}

// marksOf reads the marks of a short text.
func marksOf(text string) mark {
	set := ruleSet()
	var m mark
	set.finder.each(text, func(literal, _, _ int) { m |= set.marks[literal] })
	return m
}

// subject is what a pack says that it is about.
type subject struct {
	name     string // normal
	words    string // name, description and title, normal
	security bool   // attacks are its topic, so that it quotes them
}

func subjectOf(name string, p *pack.Pack, docs []document) subject {
	parts := []string{name}
	if p != nil {
		parts = append(parts, p.Name, p.Description)
		parts = append(parts, p.Tags...)
	}
	for i := range docs {
		d := &docs[i]
		base := strings.ToLower(d.path)
		if d.kind != markdown || (base != "skill.md" && base != "instructions.md" && base != "readme.md") {
			continue
		}
		head := d.text[:min(len(d.text), 4096)]
		if strings.HasPrefix(head, "---") {
			if front, _, ok := strings.Cut(head[3:], "\n---"); ok {
				parts = append(parts, front)
			}
		}
		for line := range strings.Lines(head) {
			if strings.HasPrefix(line, "# ") {
				parts = append(parts, line)
				break
			}
		}
	}
	n := normalise(strings.Join(parts, "\n"))
	s := subject{name: normalise(name).text, words: n.text}
	s.security = containsAny(s.words, securityTopics)
	return s
}

// securityTopics are words of which a pack on security has one.
var securityTopics = []string{
	"security", "pentest", "penetration", "red team", "red-team", "vulnerab", "exploit", "malware", "threat", "forensic", "ctf",
	"prompt injection", "prompt-injection", "jailbreak", "osint", "hardening", "guardrail", "incident response", "yara", "semgrep",
	"bug bounty", "owasp", "cve-", "sast", "fuzzing", "reverse engineering", "attack", "adversarial", "hacking", "phishing",
	"privilege escalation", "active directory", "burp", "metasploit", "nmap", "siem", "edr", "detection", "secret scan",
	"safety", "skill-vetter", "vetting", "sandbox", "privesc", "supply chain", "supply-chain",
}

// temper lowers the severity of a match by what stands around it.
func (s *scanner) temper(p *compiled, d *document, number, start, end int) Severity {
	u := &d.units[number]
	base := p.Severity
	if base == "" { // only a signal
		base = High
	}
	if u.in&(inHidden|inDecoded) != 0 {
		return base
	}
	text := d.text[u.start:u.end]
	from, to := start-u.start, min(end-u.start, u.end-u.start)
	switch {
	case detectorPattern(text, from, to) && (p.soft || p.judge == judgeHost):
		return Info
	case p.negatable && (negated(text, from) || condemned(text, to) || s.leadNegates(d, number)):
		return Info
	}
	if !p.soft {
		return base
	}
	if elided := text[from:to]; strings.Contains(elided, " ... ") || strings.Contains(elided, "…") {
		base = base.lower(2) // nobody can run what leaves its address out
	}
	if u.in&inText != 0 && describes(text, from) {
		base = base.lower(2)
	}
	return base.lower(s.softSteps(p, d, u, text, from, to))
}

// softSteps tells by how much a match of a soft rule counts for less.
func (s *scanner) softSteps(p *compiled, d *document, u *unit, text string, from, to int) int {
	quoted := isQuoted(text, from, to)
	around := d.sections[u.section].marks
	steps := 0
	unitMarks := u.marks
	if u.lead >= 0 {
		unitMarks |= d.units[u.lead].marks
	}
	switch {
	case unitMarks&markBad != 0 && (quoted || u.item || u.in == inCode):
		steps = 3
	case unitMarks&markAttack != 0 && unitMarks&markDetect != 0 && (quoted || u.item || u.in&(inCode|inConfig|inComment) != 0):
		steps = 3
	case unitMarks&markAttack != 0 && unitMarks&markDetect != 0:
		steps = 2
	case quoted && unitMarks&markDetect != 0:
		steps = 3
	case quoted && unitMarks&markAttack != 0:
		steps = 2
	}
	if around&markBad != 0 || around&markAttack != 0 && (quoted || u.item || s.subject.security) {
		steps = max(steps, 2)
	} else if around&(markSecurity|markDetect) != 0 && (quoted || u.item) {
		steps = max(steps, 1)
	}
	switch {
	case quoted && testFile(d.path):
		steps = max(steps, 2)
	case quoted && u.in&(inScript|inConfig) != 0:
		// A string of a program: a list of what a detector looks for reads so.
		near := d.text[max(0, u.start-1500):min(len(d.text), u.end+1500)]
		if containsAny(near, []string{"detect", "pattern", "injection", "sanitiz", "scanner", "malicious", "blocklist", "suspicious"}) {
			steps = max(steps, 3)
		} else if p.in&inCode == 0 {
			steps = max(steps, 1)
		}
	case u.in == inComment:
		steps = max(steps, 1)
	}
	if s.subject.security {
		switch {
		case u.in&(inScript|inConfig) != 0 && !quoted && u.marks&(markAttack|markDetect) == 0:
		case quoted || strings.ContainsAny(text[from:to], "\"`") || u.item || u.in&(inCode|inComment|inHeading) != 0 || around&(markAttack|markBad|markDetect) != 0:
			steps = max(steps, 2)
		case p.in&inHeading == 0: // a command, which such texts name freely
			steps = max(steps, 1)
		}
	}
	return steps
}

// describes tells whether the verb at an offset has a subject of its own, so that
// the sentence says what happens and does not order it.
func describes(text string, at int) bool {
	sentence := text[max(0, at-48):at]
	if i := strings.LastIndexAny(sentence, ".!?;:,"); i >= 0 {
		sentence = sentence[i+1:]
	}
	before := strings.Fields(sentence)
	before = before[max(0, len(before)-3):]
	subject := false
	for i, w := range before {
		switch strings.Trim(w, ",;:\"'`()") {
		case "and", "then", "or", "but", "so":
			subject = false // what follows has its own
		case "you", "must", "should", "agent", "agents", "assistant", "assistants", "claude", "please", "always", "to", "ai":
			return false
		case "it", "they":
			// "Get it with …" has it for an object.
			subject = i == len(before)-1 || !slices.Contains(afterObject(), before[i+1])
		case "model", "models", "llm", "llms", "attacker", "attackers", "users", "people", "injections", "prompts", "adversaries",
			"may", "might", "could", "can", "sometimes", "often", "would", "humans", "scammers", "hackers", "malware", "criminals":
			subject = true
		}
	}
	return subject
}

// afterObject are words that follow an object, and no subject.
func afterObject() []string {
	return []string{"with", "by", "from", "via", "using", "at", "here", "like", "through"}
}

// testFile tells whether a file holds tests, which feed programs what they must
// withstand.
func testFile(name string) bool {
	return containsAny(strings.ToLower(name), []string{"test", "spec.", "fixture", "mock"})
}

// leadNegates tells whether the sentence before a code block, or a comment before
// the line in it, says that this is not to be done.
func (s *scanner) leadNegates(d *document, number int) bool {
	u := &d.units[number]
	if u.in != inCode {
		return false
	}
	if u.lead >= 0 {
		lead := &d.units[u.lead]
		text := strings.TrimSpace(d.text[lead.start:lead.end])
		if lead.marks&markBad != 0 || strings.HasSuffix(text, ":") && negated(text, len(text)) {
			return true
		}
	}
	if d.sections[u.section].marks&markBad != 0 {
		return true
	}
	for i := number - 1; i >= max(0, number-4); i-- {
		if v := &d.units[i]; v.block == u.block && v.marks&markBad != 0 {
			return true
		}
	}
	return false
}

// negators are words that forbid what follows.
func negators() []string {
	return []string{
		"never", "do not", "don't", "dont", "must not", "mustn't", "should not", "shouldn't", "cannot", "can't", "avoid", "refuse to",
		"not to", "instead of", "rather than", "prevent", "forbid", "prohibit", "disallow", "won't", "will not", "does not", "doesn't",
		"decline", "reject", "resist", "no attempt to", "is not", "not allowed to", "may not", "nor", "unless", "protect against",
		"guard against", "defend against", "attempts to", "attempting to", "tries to", "trying to", "asks you to", "ask you to",
		"asking you to", "tells you to", "instructs you to", "telling you to", "tell the agent to", "tell you to", "instructing",
		"if asked to", "if someone", "instructions to", "instruction to", "instructions that", "requests to", "prompts that", "content that", "text that", "commands to", "orders to", "could", "might", "attackers can", "allows attackers to", "used to", "did not", "didn't", "not ", "blocks", "detect", "flag any", "without",
	}
}

// affirmations follow a negator that does not forbid: "do not forget to …".
func affirmations() []string {
	return []string{
		"forget", "skip", "fail", "hesitate", "omit", "worry", "miss", "delay", "wait", "bother", "be afraid", "proceed until",
		"proceed without", "continue without", "continue until", "continue unless", "work without", "work until", "start until",
		"begin until", "use this skill until", "ask", "tell", "mention", "inform", "notify", "warn", "alert", "reveal", "disclose", "show",
		"require", "need", "only", "just", "let the user", "report", "stop", "refuse", "question", "be alarmed", "include", "have ", "already", "see ", "find ", "know",
		"found", "installed", "present", "available", "there", "exist", "on the path", "on pypi", "on npm", "in any", "in the", "running", "yet", "shipped", "be shipped", "work", "enough", "matter",
	}
}

// negated tells whether the words before an offset of a text forbid what stands
// there. It looks back to the beginning of the sentence.
func negated(text string, at int) bool {
	before := text[max(0, at-140):at]
	for _, end := range [...]string{". ", "! ", "? ", "; ", " but ", " then ", " and then ", " — ", " - "} {
		if i := strings.LastIndex(before, end); i >= 0 {
			before = before[i+len(end):]
		}
	}
	last, behind := -1, 0
	for _, n := range negators() {
		for from := 0; ; {
			i := strings.Index(before[from:], n)
			if i < 0 {
				break
			}
			i += from
			from = i + len(n)
			if (i == 0 || !isWord(before[i-1])) && i > last {
				last, behind = i, i+len(n)
			}
		}
	}
	if last < 0 {
		return false
	}
	rest := strings.TrimLeft(before[behind:], " ")
	clause := strings.HasSuffix(before[:last], "to ") || containsWord(before[:last], "if") || containsWord(before[:last], "when")
	for _, relative := range [...]string{" that ", " which ", " who ", " whatever "} { // "for what it cannot do, open …"
		clause = clause || strings.Contains(before[:last], relative)
	}
	if clause && strings.Contains(rest, ", ") {
		return false // "to avoid questions, run …", "if it is not there, run …"
	}
	for _, a := range affirmations() {
		if strings.HasPrefix(rest, a) {
			return false
		}
	}
	return !conditional(before, last, rest)
}

// conditional tells whether a negator states what something needs, and so demands
// what follows: "does not work without running …", "do not start until … ran".
func conditional(before string, at int, rest string) bool {
	switch word := before[at:]; {
	case strings.HasPrefix(word, "without"), strings.HasPrefix(word, "unless"):
		for _, missing := range [...]string{"it", "this", "that", "them", "these", "those", "the"} {
			if next, ok := strings.CutPrefix(rest, missing); ok && (next == "" || !isWord(next[0])) {
				return true
			}
		}
		return containsAny(before[:at], []string{"not ", "n't ", "cannot ", "never ", "impossible ", "no ", "nothing ", "fail", "useless"})
	default:
		return containsAny(rest, []string{" until ", " unless ", " without ", " before you ", " before running ", " before installing ", " before the "})
	}
}

// condemned tells whether the words behind an offset say that it is bad.
func condemned(text string, at int) bool {
	after := strings.TrimLeft(text[at:min(len(text), at+70)], " `\"'.,)")
	for _, clause := range [...]string{" when ", " if ", " where ", " or, "} {
		after, _, _ = strings.Cut(after, clause) // what holds then does not condemn this
	}
	for _, s := range [...]string{
		"is dangerous", "is unsafe", "is forbidden", "is not allowed", "is prohibited", "is malicious", "is suspicious", "is a red flag",
		"is blocked", "is rejected", "is an attack", "is bad", "are dangerous", "are forbidden", "are blocked", "are not allowed",
		"are red flags", "should never", "must never", "should be avoided", "is risky", "is discouraged", "is not recommended",
	} {
		if strings.Contains(after, s) {
			return true
		}
	}
	return false
}

// isQuoted tells whether a stretch of a text stands between quotation marks.
func isQuoted(text string, from, to int) bool {
	opening := strings.LastIndexAny(text[max(0, from-60):from], "\"'`(")
	if opening < 0 {
		return false
	}
	opening += max(0, from-60)
	q := text[opening]
	if opening > 0 && q == '\'' && isWord(text[opening-1]) {
		return false // an apostrophe
	}
	if q == '(' {
		q = ')'
	}
	// An even number of them before means that this one closes.
	if q != ')' && strings.Count(text[max(0, opening-400):opening], string(q))%2 != 0 {
		return false
	}
	return strings.IndexByte(text[to:min(len(text), to+120)], q) >= 0 || to > from && strings.IndexByte(text[from:to], q) >= 0
}

// detectorPattern tells whether a match stands in the source of a regular
// expression, as detectors have them.
func detectorPattern(text string, from, to int) bool {
	around := text[max(0, from-12):min(len(text), to+12)]
	n := 0
	for _, s := range [...]string{`\s`, `\b`, `.*`, `.+`, `(?:`, `(?i`, `[^`, `\.`, `\w`, `\d`, `\|`, `\(`, `\/`, `)?`, `]+`, `]*`, `\$`, `\s+`} {
		if strings.Contains(around, s) {
			n++
		}
	}
	return n >= 2
}
