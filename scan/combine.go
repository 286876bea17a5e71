package scan

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/kortecx/kx/internal/sorting"
)

// combine looks at what matches mean together.
func (s *scanner) combine() {
	if s.spent {
		r := s.set.rule("scan.budget")
		s.put(Finding{Rule: r.ID, Severity: r.Severity, Reason: r.Reason, Fix: r.Fix})
	}
	if len(s.report.Findings) == 0 && len(s.signals) == 0 {
		return
	}
	byDoc := make([][]signal, len(s.docs))
	for _, g := range s.signals {
		byDoc[g.doc] = append(byDoc[g.doc], g)
	}
	for i := range s.docs {
		if len(byDoc[i]) == 0 {
			continue
		}
		d := &s.docs[i]
		s.prerequisites(d, byDoc[i])
		live := slices.DeleteFunc(byDoc[i], func(g signal) bool { return g.lowered })
		switch d.kind {
		case script, config:
			s.flow(d, live)
			s.programIntents(d, live)
		case markdown:
			for start := 0; start < len(live); {
				end := start + 1
				for end < len(live) && s.together(d, live[start], live[end]) {
					end++
				}
				s.flow(d, live[start:end])
				start = end
			}
			s.concealed(d, live)
			s.intents(d, live)
		}
		s.memoryOrders(d, live)
	}
	s.manySigns()
}

// together tells whether two signals of a markdown text stand in one code block
// or, in prose, close to each other.
func (s *scanner) together(d *document, a, b signal) bool {
	ua, ub := &d.units[a.unit], &d.units[b.unit]
	if ua.block != 0 || ub.block != 0 {
		return ua.block == ub.block
	}
	return b.at-a.at < 400
}

// flowRules are what two signs in one program mean: the first, or else the second
// one, is the place of the finding.
var flowRules = [...]struct {
	first, second string // kinds, parted by spaces
	reach         int    // bytes between them, 0 for any
	rule          string
	atSecond      bool
}{
	{"envfile-read", "sink send-raw", 0, "combined.secret-sent", false},
	{"host-read", "sink send-raw", 0, "combined.data-sent", false},
	{"files-read", "sink send-raw send", 0, "combined.data-sent", false},
	{"evaluates", "fetch", 1200, "exec.remote-code", false},
	{"files-read", "removes", 400, "damage.wipe", false},
	{"home-folder", "removes-tree", 600, "damage.wipe", true},
	{"receives", "runs-variable", 400, "exec.remote-shell", true},
	{"download-file", "start-process", 400, "exec.download-and-run", true},
	{"persist", "send-raw sink download-run", 0, "combined.persistent-channel", false},
	{"obfuscation", "sink send-raw send", 0, "combined.data-sent", false},
}

// flow looks for data that is read and sent within one program.
func (s *scanner) flow(d *document, signals []signal) {
	out := anyOf(signals, "sink send-raw send")
	open := anyOf(signals, "sink send-raw") // to a place that takes anything
	if secret := anyOf(signals, "secret-read"); secret != nil {
		if out != nil {
			severity := High
			if open != nil {
				severity = Critical
			}
			s.addSignal(d, "combined.secret-sent", severity, secret)
		}
		if stores(d, signals) >= 3 {
			s.addSignal(d, "combined.collector", High, secret)
		}
	}
	if env := anyOf(signals, "env-read"); env != nil && out != nil && (open != nil || distance(env, out) < 1500) {
		s.addSignal(d, "combined.secret-sent", High, env)
	}
	for i := range flowRules {
		r := &flowRules[i]
		a, b := anyOf(signals, r.first), anyOf(signals, r.second)
		if a == nil || b == nil || r.reach > 0 && distance(a, b) >= r.reach {
			continue
		}
		if r.atSecond {
			a = b
		}
		s.addSignal(d, r.rule, High, a)
	}
	if wait := anyOf(signals, "waits"); wait != nil && containsAny(d.text[wait.at:min(len(d.text), wait.at+360)], deeds) {
		s.addSignal(d, "conditional.date", High, wait)
	}
	if write := anyOf(signals, "clip-write"); write != nil && anyOf(signals, "host-read") != nil && anyOf(signals, "address") != nil {
		s.addSignal(d, "combined.clipboard-swap", High, write)
	}
	if persist := anyOf(signals, "persist"); persist != nil && out != nil && anyOf(signals, "background obfuscation") != nil {
		s.addSignal(d, "combined.persistent-channel", High, persist)
	}
}

// deeds are what a program may wait for a day with.
var deeds = []string{
	"rmtree", "os.remove", "unlink", "rmsync", "drop table", "drop database", "exec(", "eval(", "os.system", "subprocess", "urlopen", "requests.", "fetch(", "rm -rf", "curl ",
}

// anyOf gives the first signal of one of the kinds, which spaces part.
func anyOf(signals []signal, kinds string) *signal {
	for i := range signals {
		if containsWordOf(kinds, string(signals[i].kind)) {
			return &signals[i]
		}
	}
	return nil
}

// containsWordOf tells whether a word stands in a list that spaces part.
func containsWordOf(list, word string) bool {
	for kind := range strings.SplitSeq(list, " ") {
		if kind == word {
			return true
		}
	}
	return false
}

func distance(a, b *signal) int {
	if a.at > b.at {
		return a.at - b.at
	}
	return b.at - a.at
}

func (s *scanner) addSignal(d *document, rule string, severity Severity, g *signal) {
	u := &d.units[g.unit]
	s.add(d, s.set.rule(rule), severity, d.origin(g.at), d.rawText(g.at, min(u.end, g.at+maxExcerpt)), "")
}

// secretStores are the kinds of places that hold secrets, by what they are called.
var secretStores = [...][]string{
	{".ssh", "id_rsa", "id_ed25519"},
	{".aws"},
	{"gcloud", "application_default"},
	{".kube"},
	{".gnupg"},
	{".docker"},
	{".netrc"},
	{".npmrc", ".pypirc"},
	{".git-credentials"},
	{"/etc/shadow"},
	{"login data", "logins.json", "key4.db", "cookies"},
	{"keychain"},
	{"wallet", "exodus", "electrum", "metamask"},
	{".env"},
	{".azure"},
	{".openclaw", ".clawdbot"},
}

// stores counts the kinds of secret places that the units of signals name. A list
// of what must not be touched is no collector.
func stores(d *document, signals []signal) int {
	seen := 0
	var text strings.Builder
	last := -1
	for i := range signals {
		g := &signals[i]
		if (g.kind != "secret-read" && g.kind != "envfile-read") || g.unit == last {
			continue
		}
		last = g.unit
		u := &d.units[g.unit]
		text.WriteString(d.text[max(u.start, g.at-300):min(u.end, g.at+700)])
		text.WriteByte('\n')
	}
	all := text.String()
	for _, names := range secretStores {
		if containsAny(all, names) {
			seen++
		}
	}
	if seen >= 3 && containsAny(d.text, []string{"sensitive_paths", "blocked", "denied", "forbidden", "protected", "deny", "redact", "never read", "is_sensitive", "exclude", "ignore_patterns"}) {
		return 0
	}
	return seen
}

// concealed looks for actions beside words that keep them from the user.
func (s *scanner) concealed(d *document, signals []signal) {
	for i := range signals {
		g := &signals[i]
		if g.kind == "enrol" && enlists().MatchString(d.text[max(0, g.at-300):min(len(d.text), g.at+700)]) {
			s.addSignal(d, "remote.enrol", High, g)
		}
		if g.kind != "asks-secret" {
			continue
		}
		for j := range signals {
			if h := &signals[j]; (h.kind == "send" || h.kind == "sink" || h.kind == "send-raw") && distance(g, h) < 700 {
				s.addSignal(d, "combined.secret-sent", High, g)
				break
			}
		}
	}
	acts := []signalKind{"secret-read", "envfile-read", "env-read", "send", "sink", "memory-write", "download-run", "host-read", "files-read", "remote-text", "promote", "persist", "enrol"}
	for i := range signals {
		g := &signals[i]
		if g.kind != "conceal" {
			continue
		}
		for j := range signals {
			if h := &signals[j]; slices.Contains(acts, h.kind) && distance(g, h) < 600 {
				s.addSignal(d, "combined.concealed-action", High, g)
				break
			}
		}
	}
}

// enlists finds what makes an agent that was signed up work for somebody else.
var enlists = sync.OnceValue(func() *regexp.Regexp {
	const work = `(?:execut|carry out|perform|complet|accept|run|do)\w*`
	const tasks = `(?:tasks?|jobs?|missions?|commands?|orders)\b`
	const often = `(?:every (?:\d+|few) (?:minutes|hours)|each heartbeat|on every heartbeat|periodically)`
	return regexp.MustCompile(work + `\b[^.\n]{0,40}` + tasks + `[^.\n]{0,80}` + often + `|` + often + `[^.\n]{0,120}` + work + `\b[^.\n]{0,30}` + tasks)
})

// memoryOrders looks for writes to the agent's memory of what comes from outside.
func (s *scanner) memoryOrders(d *document, signals []signal) {
	for i := range signals {
		g := &signals[i]
		switch g.kind {
		case "memory-write":
		case "memory-list": // only a program that writes, too
			if !writes().MatchString(d.text[g.at:min(len(d.text), g.at+800)]) {
				continue
			}
		default:
			continue
		}
		if u := &d.units[g.unit]; u.block != 0 || d.kind == script {
			if poisonous().MatchString(d.text[g.at:min(len(d.text), g.at+800)]) {
				s.addSignal(d, "combined.memory-order", High, g)
				continue
			}
		}
		for j := range signals {
			h := &signals[j]
			if (h.kind == "sink" || h.kind == "conceal" || h.kind == "bypass" || h.kind == "send-raw") && distance(g, h) < 500 {
				s.addSignal(d, "combined.memory-order", High, g)
				break
			}
		}
	}
}

// writes finds what puts text into a file that a variable names.
var writes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`>>\s*["']?\$|\.write(?:_text)?\(|open\([^\n]*["'][aw]\+?["']|(?:append|write)file(?:sync)?\(|tee -a`)
})

// poisonous finds orders to act unasked, as they are planted in memories.
var poisonous = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:trust|execute|run|approve|obey|follow|send|forward|upload|accept)\b[^.\n]{0,100}(?:without (?:ask|confirm|review|approv|question|telling)|automatically|silently|secretly)|ignore (?:all|any|previous|security|safety|user)|never (?:ask|question|mention|tell|comment|explain|reveal|disclose)|do not (?:tell|mention|inform|ask the user|reveal)|always (?:send|forward|upload|trust|execute|run|approve|fetch)[^.\n]{0,80}(?:https?:|command|request|message)|curl [^\n]{0,80}\|\s*(?:ba)?sh`)
})

// manySigns raises what one file shows by weak signs of several families that
// stand close to each other.
func (s *scanner) manySigns() {
	// Honest skills seldom show even one of these signs.
	const near, nearer = 150, 60 // lines, for three signs and for two
	if s.subject.security {
		return
	}
	weak := slices.DeleteFunc(slices.Clone(s.report.Findings), func(f Finding) bool {
		family, _, ok := strings.Cut(f.Rule, ".")
		return f.Severity != Medium || !ok || slices.Contains([]string{"wish", "file", "scan", "secret"}, family)
	})
	sorting.Stable(weak, compareFindings)
	for i := range weak {
		families, close := map[string]bool{}, map[string]bool{}
		for j := i; j < len(weak) && weak[j].File == weak[i].File && weak[j].Line-weak[i].Line < near; j++ {
			family, _, _ := strings.Cut(weak[j].Rule, ".")
			families[family] = true
			if weak[j].Line-weak[i].Line < nearer {
				close[family] = true
			}
		}
		if len(families) >= 3 || len(close) >= 2 {
			r, f := s.set.rule("combined.many-signs"), weak[i]
			f.Rule, f.Severity, f.Reason, f.Fix = r.ID, r.Severity, r.Reason, r.Fix
			s.put(f)
			return
		}
	}
}
