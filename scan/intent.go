package scan

import (
	"slices"
	"strings"
)

// intentReach is how far two signs of one intent may be apart in prose, in bytes.
const intentReach = 420

// intents looks for what two broad signs mean close to each other: private data
// and a way out, a deed and the wish to hide it, a protection and the order to do
// without it.
func (s *scanner) intents(d *document, signals []signal) {
	pair := func(first, second []signalKind, reach int, also func(a, b *signal) bool, rule string) {
		for i := range signals {
			a := &signals[i]
			if !slices.Contains(first, a.kind) {
				continue
			}
			for j := range signals {
				b := &signals[j]
				if i == j || !slices.Contains(second, b.kind) || distance(a, b) > reach || !s.related(d, a, b) {
					continue
				}
				if also == nil || also(a, b) {
					s.addSignal(d, rule, High, a)
					return
				}
			}
		}
	}
	kinds := func(k ...signalKind) []signalKind { return k }
	outside := func(a, _ *signal) bool { return s.leavesFor(d, a) }

	pair(kinds("posts"), kinds("private"), 260, func(a, b *signal) bool { return a.unit == b.unit && s.leavesFor(d, a) }, "combined.private-sent")
	pair(kinds("posts"), kinds("hides", "conceal"), intentReach, outside, "combined.concealed-action")
	pair(kinds("posts"), kinds("asks-code"), intentReach, outside, "combined.private-sent")
	pair(kinds("private"), kinds("hides"), intentReach, func(a, b *signal) bool { return d.units[b.unit].section == d.units[a.unit].section && s.handles(d, a) }, "combined.concealed-action")
	pair(kinds("agent-settings", "guard", "destroys", "buys", "memory-write"), kinds("hides", "conceal"), intentReach, nil, "combined.concealed-action")
	pair(kinds("edits-project"), kinds("hides"), 260, func(_, b *signal) bool { return s.keepsFrom(d, b) }, "combined.concealed-action")
	pair(kinds("guard", "destroys", "buys"), kinds("unasked"), intentReach, nil, "combined.unasked-action")
	pair(kinds("agent-settings", "memory-write"), kinds("remote-text", "fetches-orders"), intentReach, nil, "combined.memory-order")
}

// related tells whether two signs belong to one passage: a block, or prose of one
// section.
func (s *scanner) related(d *document, a, b *signal) bool {
	ua, ub := &d.units[a.unit], &d.units[b.unit]
	if ua.block != 0 && ub.block != 0 {
		return ua.block == ub.block
	}
	return ua.section == ub.section
}

// keepsFrom tells whether a sign of hiding names the people who are not to see.
// That something is done quietly, or in the background, says less.
func (s *scanner) keepsFrom(d *document, g *signal) bool {
	text := d.text[g.at:min(d.units[g.unit].end, g.at+60)]
	return containsAny(text, []string{"reviewer", "user", "owner", "nobody", "no one", "people", "customer", "human"})
}

// leavesFor tells whether what a sign sends goes to a machine that nothing is
// known about.
func (s *scanner) leavesFor(d *document, g *signal) bool {
	u := &d.units[g.unit]
	text := d.text[g.at:min(u.end, g.at+420)]
	list := s.addresses(text)
	for _, a := range list {
		switch a.class {
		case hostVendor, hostLocal, hostExample:
		default:
			return true
		}
	}
	return len(list) == 0 && fixedMail(text)
}

// fixedMail tells whether a text names a mail address that stands for itself.
func fixedMail(text string) bool {
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '@')
		if i < 0 {
			return false
		}
		i += at
		at = i + 1
		domain := text[i+1:]
		end := strings.IndexFunc(domain, func(r rune) bool {
			return r != '.' && r != '-' && (r > 0x7f || !isWord(byte(r)))
		})
		if end >= 0 {
			domain = domain[:end]
		}
		if i == 0 || !isWord(text[i-1]) || !strings.Contains(strings.Trim(domain, "."), ".") {
			continue
		}
		if !containsAny(domain, []string{"example.", "yourcompany", "company.", "acme.", "domain.", "test.", "your-", "users.noreply"}) {
			return true
		}
	}
}

// handles tells whether the sentence around a sign has private data read, kept or
// passed on, and not only named.
func (s *scanner) handles(d *document, g *signal) bool {
	u := &d.units[g.unit]
	text := d.text[max(u.start, g.at-160):min(u.end, g.at+200)]
	for _, verb := range [...]string{"read", "collect", "copy", "put ", "send", "add ", "write", "gather", "look for", "look in", "include", "paste", "keep", "save", "store", "upload", "append", "extract"} {
		if i := strings.Index(text, verb); i >= 0 && (i == 0 || !isWord(text[i-1])) && !negated(text, i) {
			return true
		}
	}
	return false
}

// programIntents looks for the same in one program.
func (s *scanner) programIntents(d *document, signals []signal) {
	of := func(kind signalKind) *signal {
		for i := range signals {
			if signals[i].kind == kind {
				return &signals[i]
			}
		}
		return nil
	}
	out := of("sink")
	if out == nil {
		out = of("send")
	}
	if watch := of("watches"); watch != nil && out != nil && of("repeats") != nil {
		s.addSignal(d, "combined.data-sent", High, watch)
	}
	if walk := of("walks"); walk != nil && out != nil && namesKeys(d.text) {
		s.addSignal(d, "combined.data-sent", High, walk)
	}
	if git := of("git-out"); git != nil {
		u := &d.units[git.unit]
		for _, a := range s.addresses(d.text[git.at:min(u.end, git.at+420)]) {
			if a.class != hostVendor && a.class != hostLocal && a.class != hostExample && a.class != hostCode && strings.Contains(d.text, "git push") {
				s.addSignal(d, "combined.data-sent", High, git)
				break
			}
		}
	}
}

// namesKeys tells whether a program looks for files that hold keys. One that
// leaves them out names them too.
func namesKeys(text string) bool {
	return containsAny(text, []string{`".pem"`, `'.pem'`, `".env"`, `'.env'`, ".kdbx", "id_rsa", "wallet.dat", `".key"`, `'.key'`}) &&
		!containsAny(text, []string{"exclude", "ignore", "skip", "redact", "deny", "blocked", "sensitive"})
}
