package scan

import (
	"net/url"
	"strings"
)

// address is an address that a text names.
type address struct {
	text  string
	host  string
	class hostClass
	own   bool // of what the pack is about
	named bool // a repository whose name is what the pack is about
	plain bool // without TLS
}

// addresses lists the addresses of a normal text, those without a scheme only
// where a program that fetches is given one.
func (s *scanner) addresses(text string) []address {
	var out []address
	for at := 0; len(out) < 16; {
		i := strings.Index(text[at:], "://")
		if i < 0 {
			break
		}
		i += at
		start := i
		for start > 0 && 'a' <= text[start-1] && text[start-1] <= 'z' {
			start--
		}
		end := i + 3 + addressLength(text[i+3:])
		at = end
		switch scheme := text[start:i]; {
		case strings.HasSuffix(scheme, "https"), strings.HasSuffix(scheme, "http"), strings.HasSuffix(scheme, "ftp"),
			strings.HasSuffix(scheme, "wss"), strings.HasSuffix(scheme, "ws"), strings.HasSuffix(scheme, "hxxp"), strings.HasSuffix(scheme, "hxxps"):
			out = append(out, s.address(text[start:end]))
		}
	}
	if len(out) > 0 {
		return out
	}
	fields := strings.Fields(text)
	for i, f := range fields {
		if f = strings.TrimLeft(f, "\"'`($<"); f != "curl" && f != "wget" && f != "irm" && f != "iwr" && f != "nc" && f != "ncat" && f != "fetch" {
			continue
		}
		for _, g := range fields[i+1 : min(len(fields), i+8)] {
			g = strings.Trim(g, "\"'`)|;")
			host, _ := addressHost(g)
			if !strings.HasPrefix(g, "-") && strings.Contains(host, ".") && !strings.HasPrefix(host, ".") && !fileName(host) {
				out = append(out, s.address(g))
			}
		}
	}
	return out
}

// addressLength is how far an address goes on in a text.
func addressLength(text string) int {
	for i := range len(text) {
		switch text[i] {
		case ' ', '\n', '\t', '"', '\'', '<', '>', '`', '|', '\\', ')', ']', ';', '*':
			return i
		}
	}
	return len(text)
}

func fileName(host string) bool {
	for _, ext := range [...]string{".sh", ".py", ".js", ".json", ".txt", ".md", ".html", ".zip", ".gz", ".log", ".yaml", ".yml", ".env"} {
		if strings.HasSuffix(host, ext) && strings.Count(host, ".") == 1 {
			return true
		}
	}
	return false
}

func (s *scanner) address(text string) address {
	text = strings.TrimRight(text, ".,:!?")
	if strings.Contains(text, "%") {
		if decoded, err := url.PathUnescape(text); err == nil {
			text = strings.ToLower(decoded)
		}
	}
	host, account := addressHost(text)
	a := address{text: text, host: host, class: classifyHost(host, account), plain: strings.HasPrefix(text, "http://")}
	a.own = s.subject.related(host, account)
	a.named = a.class == hostCode && s.namesRepository(text)
	if a.class == hostCode || a.class == hostFree {
		for _, w := range hostNames().telling {
			if strings.Contains(text, w) && !strings.Contains(s.subject.words, w) {
				a.class = hostOdd
			}
		}
	}
	return a
}

// judgeHosts says how bad it is to run what the addresses near a match give.
func (s *scanner) judgeHosts(p *compiled, d *document, u *unit, severity Severity, start, end int) (Severity, string) {
	// A match may end inside of an address.
	list := s.addresses(d.text[start : end+addressLength(d.text[end:u.end])])
	if len(list) == 0 {
		list = s.addresses(d.text[max(u.start, start-200):min(u.end, end+300)])
	}
	if len(list) == 0 {
		return severity.lower(1), ""
	}
	worst, which := Severity(""), list[0]
	for _, a := range list {
		if v := severityOfHost(p.Severity, a); v.Rank() > worst.Rank() {
			worst, which = v, a
		}
	}
	switch {
	case which.class == hostKnownBad:
		return Critical, "runs what " + which.host + " gives, a host that a reported campaign used"
	case severity.Rank() < min(worst.Rank(), p.Severity.Rank()): // the context counts it for less
		return severity, ""
	}
	return worst, hostReason(which)
}

func severityOfHost(base Severity, a address) Severity {
	switch a.class {
	case hostKnownBad, hostAddress, hostPaste, hostSink:
		return Critical
	case hostOdd, hostShort:
		if a.own && a.class == hostOdd {
			return Medium
		}
		return High
	case hostVendor:
		return Info
	case hostLocal, hostExample:
		return Low
	case hostCode:
		switch {
		case a.own:
			return Low
		case strings.HasPrefix(a.host, "gist."), !a.named:
			return High
		}
		return Medium
	case hostFree:
		return base
	}
	if a.own && !a.plain {
		return Medium
	}
	return base
}

func hostReason(a address) string {
	switch a.class {
	case hostAddress:
		return "runs what a bare IP address gives"
	case hostPaste:
		return "runs what a paste site shows, which anybody can change"
	case hostShort:
		return "runs what a shortened address leads to"
	case hostSink:
		return "runs what a throw-away host gives"
	}
	return ""
}

// fixedWebhook tells whether an address is a door into one room of a messenger, which
// is the author's where the skill gives it in full.
func fixedWebhook(text string) bool {
	for _, door := range [...]string{"discord.com/api/webhooks/", "discordapp.com/api/webhooks/", "api.telegram.org/bot", "hooks.slack.com/services/t0"} {
		if _, id, ok := strings.Cut(text, door); ok && id != "" && '0' <= id[0] && id[0] <= '9' {
			return true
		}
	}
	return false
}

// judgeDestination says how bad it is to send something where a unit says.
func (s *scanner) judgeDestination(p *compiled, d *document, u *unit, severity Severity, start, end int) Severity {
	if severity.Rank() <= Low.Rank() {
		return severity
	}
	text := d.text[max(u.start, start-100):min(u.end, end+200)]
	list := s.addresses(text)
	if len(list) == 0 {
		return severity
	}
	best := hostVendor
	own := false
	for _, a := range list {
		switch {
		case fixedWebhook(a.text):
			return severity
		case a.class.suspicious() && !(a.class == hostOdd && a.own), a.class == hostFree:
			return severity
		case a.own:
			own = true
		case a.class == hostVendor, a.class == hostLocal:
		default:
			best = a.class
		}
	}
	switch best {
	case hostVendor:
		if own && (p.Severity == "" || p.Severity == Critical || strings.HasSuffix(p.ID, "secrets")) { // no service needs them all, not even one's own
			return severity.lower(1)
		}
		return severity.lower(2)
	case hostExample:
		if strings.Contains(list[0].host, "your") {
			return severity.lower(2)
		}
	}
	return severity
}
