package scan

import (
	"iter"
	"regexp"
	"strings"
	"sync"
)

// linkForms finds every form in which Markdown and HTML carry an address.
var linkForms = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`<(img|iframe|script|link|video|audio|source|embed|object|form|a)\b[^>\n]{0,600}?\b(?:src|href|data|action)\s*=\s*["']?([^"'\s>]+)|^\s{0,3}\[([^\]\n]{1,80})\]:\s*<?(\S+)|<((?:https?|data|javascript):[^>\s]+)>|url\(\s*["']?((?:https?:|//)[^)"'\s]+)`)
})

// sensitivePlaceholder finds a place in an address that is filled with what the
// agent knows.
var sensitivePlaceholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[?&/=](?:[\w.-]*=)?(?:\{\{?|\$\{|\$\(|<|\[|%7b|:|\$)\s*[\w .'-]*(?:secret|password|conversation|history|context|environment|env\b|env_|cookie|credential|user_?data|token|message|prompt|memory|chat|session|base64|encoded|b64|stolen|exfil|clipboard|summary|private|system|data)[\w .'()-]*(?:\}|\)|>|\]|%7d|\b)`)
})

var anyPlaceholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\?[^\s]*=(?:\{|\$\{|\$\(|<|\[|%7b|%s|\$[a-z_])`)
})

// capitalPlaceholder finds a value in an address that is a name in capitals.
var capitalPlaceholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[?&]\w+=[A-Z]{2,}[A-Z0-9]*_[A-Z0-9_]{2,}`)
})

// links judges every address of a text, in whatever form it stands.
func (s *scanner) links(d *document) {
	if d.kind == markdown {
		s.markdownLinks(d)
	}
	s.hostsOf(d)
	s.hiddenHTML(d)
}

func (s *scanner) markdownLinks(d *document) {
	for i := range d.units {
		u := &d.units[i]
		if u.in == inCode || u.in == inFront {
			continue
		}
		text := d.text[u.start:u.end]
		for at := range inlineLinks(text) {
			s.link(d, u, u.start+at.start, u.start+at.end, at.link)
		}
		if !mayLink(text) {
			continue
		}
		for n, m := range linkForms().FindAllStringSubmatchIndex(text, -1) {
			if n == 300 {
				return
			}
			group := func(i int) string {
				if m[2*i] < 0 {
					return ""
				}
				return text[m[2*i]:m[2*i+1]]
			}
			l := link{target: first(group(2), first(group(4), first(group(5), group(6))))}
			l.image = group(1) == "img" || group(6) != "" || group(3) != "" && imageReference(d.text, group(3))
			s.link(d, u, u.start+m[0], u.start+m[1], l)
		}
	}
}

// mayLink tells whether a text has what one of the linkForms begins with.
func mayLink(text string) bool {
	return strings.Contains(text, "]:") || strings.Contains(text, "url(") ||
		strings.IndexByte(text, '<') >= 0 && containsAny(text, []string{"<i", "<s", "<l", "<v", "<a", "<e", "<o", "<f", "<http", "<data:", "<javascript:"})
}

// placedLink is a link and where it stands in its unit.
type placedLink struct {
	link
	start, end int
}

// inlineLinks gives the links and images of the form [label](target).
func inlineLinks(text string) iter.Seq[placedLink] {
	const longLabel, longTarget = 300, 4000
	return func(yield func(placedLink) bool) {
		for at, n := 0, 0; n < 300; n++ {
			i := strings.Index(text[at:], "](")
			if i < 0 {
				return
			}
			i += at
			at = i + 2
			open := strings.LastIndexByte(text[max(0, i-longLabel):i], '[')
			if open < 0 {
				continue
			}
			open += max(0, i-longLabel)
			label := text[open+1 : i]
			image := open > 0 && text[open-1] == '!'
			if alt, _, nested := strings.Cut(label, "]("); image && nested { // an image that is a link
				label, image = alt, false
				open = max(0, strings.LastIndexByte(text[max(0, open-8):open], '[')+max(0, open-8))
			}
			rest := strings.TrimLeft(text[at:min(len(text), at+longTarget)], " <")
			end := strings.IndexAny(rest, ")> \"")
			if end < 0 {
				end = len(rest)
			}
			l := placedLink{link{image, label, rest[:end]}, open, at + end}
			if l.image {
				l.start--
			}
			if !yield(l) {
				return
			}
		}
	}
}

// imageReference tells whether an image is shown by the name of a definition.
func imageReference(text, name string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], "]["+name+"]")
		if i < 0 {
			return strings.Contains(text, "!["+name+"]")
		}
		i += at
		if open := strings.LastIndexByte(text[max(0, i-200):i], '['); open >= 0 {
			if open += max(0, i-200); open > 0 && text[open-1] == '!' {
				return true
			}
		}
		at = i + 1
	}
}

// link is one address in a text, with what a reader sees of it.
type link struct {
	image  bool
	label  string
	target string
}

func (s *scanner) link(d *document, u *unit, start, end int, l link) {
	report := func(id string, severity Severity) {
		r := s.set.rule(id)
		at := d.origin(start)
		s.add(d, r, s.quotedBy(d, at, severity), at, d.rawText(start, end), "")
	}
	switch {
	case strings.HasPrefix(l.target, "javascript:"), strings.HasPrefix(l.target, "vbscript:"):
		report("link.script", High)
		return
	case strings.HasPrefix(l.target, "data:"):
		if strings.HasPrefix(l.target, "data:text/html") || strings.HasPrefix(l.target, "data:application/") || strings.HasPrefix(l.target, "data:text/javascript") {
			report("link.script", High)
		}
		return
	case !strings.Contains(l.target, "://") && !strings.HasPrefix(l.target, "//"):
		return
	}
	a := s.address(l.target)
	trusted := a.class == hostVendor || a.class == hostLocal || a.own
	switch {
	case l.image && !trusted && (sensitivePlaceholder().MatchString(l.target) || anyPlaceholder().MatchString(l.target) || capitalPlaceholder().MatchString(d.rawText(start, end))):
		report("link.image-exfil", High)
	case !trusted && sensitivePlaceholder().MatchString(l.target) && !strings.Contains(l.target, "api_key") && !strings.Contains(l.target, "apikey"):
		report("link.data-exfil", High)
	}
	if l.label == "" || l.image {
		return
	}
	shown := strings.TrimSpace(strings.Trim(l.label, "`* "))
	if !strings.Contains(shown, "://") || strings.Contains(shown, "<img") {
		return
	}
	host, account := addressHost(shown)
	if a.host == "" || host == "" || sameSite(host, a.host) || classifyHost(host, account) == hostExample {
		return
	}
	severity := High
	if trusted || a.class == hostCode {
		severity = Medium
	}
	report("link.mismatch", severity)
}

// sameSite tells whether two hosts share their last two labels.
func sameSite(a, b string) bool {
	site := func(h string) string {
		parts := strings.Split(strings.TrimPrefix(h, "www."), ".")
		if len(parts) > 2 {
			parts = parts[len(parts)-2:]
		}
		return strings.Join(parts, ".")
	}
	return site(a) == site(b) || strings.HasSuffix(a, "github.io") && strings.Contains(b, "github.") || strings.Contains(a, "github") && strings.Contains(b, "github")
}

// hostsOf judges the hosts that a text names anywhere.
func (s *scanner) hostsOf(d *document) {
	if d.marks&markBadHost == 0 && !strings.Contains(d.text, "://") {
		return
	}
	seen := map[string]bool{}
	table := hostNames()
	if d.marks&markBadHost != 0 {
		for _, bad := range badNames() {
			if at := strings.Index(d.text, bad); at >= 0 && !seen[bad] {
				seen[bad] = true
				s.addHost(d, "host.known-bad", Critical, at, at+len(bad), "")
			}
		}
	}
	for i := range d.units {
		u := &d.units[i]
		text := d.text[u.start:u.end]
		if !strings.Contains(text, "://") {
			continue
		}
		for at, n := 0, 0; n < 64; n++ {
			j := strings.Index(text[at:], "://")
			if j < 0 {
				break
			}
			j += at + 3
			end := j + addressLength(text[j:])
			at = end
			host, account := addressHost(text[j-3 : end])
			if host == "" || seen[host] {
				continue
			}
			seen[host] = true
			if table.class(host, account) != hostUnknown && classifyHost(host, account) != hostOdd {
				if classifyHost(host, account) == hostShort {
					s.addHost(d, "host.shortened", Low, u.start+j, u.start+end, "")
				}
				continue
			}
			class := classifyHost(host, account)
			switch brand := lookalikeHost(host); {
			case class == hostAddress && u.in&inCommands != 0:
				s.addHost(d, "host.bare-address", bareAddress(host), u.start+j, u.start+end, "")
			case brand != "" && !s.subject.related(host, account):
				s.addHost(d, "host.lookalike", High, u.start+j, u.start+end, "looks like "+brand+", and is "+host)
			}
		}
	}
}

// bareAddress weighs an address: documentation uses some, and everybody knows
// others.
func bareAddress(host string) Severity {
	switch host {
	case "8.8.8.8", "8.8.4.4", "1.1.1.1", "1.0.0.1", "9.9.9.9", "1.2.3.4", "4.3.2.1", "5.6.7.8":
		return Low
	}
	for _, net := range [...]string{"192.0.2.", "198.51.100.", "203.0.113.", "[2001:db8:", "2001:db8:", "100.64.", "100.100.", "198.18."} {
		if strings.HasPrefix(host, net) {
			return Medium
		}
	}
	return High
}

func (s *scanner) addHost(d *document, id string, severity Severity, start, end int, reason string) {
	at := d.origin(start)
	r := s.set.rule(id)
	s.add(d, r, s.quotedBy(d, at, severity), at, d.rawText(start, end), reason)
}

// lookalikeHost gives the well-known site that a host imitates, or "".
func lookalikeHost(host string) string {
	parts := strings.Split(host, ".")
	for i, p := range parts {
		if encoded, ok := strings.CutPrefix(p, "xn--"); ok {
			parts[i] = normalise(punycode(encoded)).text
		}
	}
	imitated := strings.Join(parts, ".")
	if len(parts) < 2 {
		return ""
	}
	name := parts[len(parts)-2]
	for _, brand := range [...]string{
		"github.com", "githubusercontent.com", "gitlab.com", "anthropic.com", "openai.com", "google.com", "googleapis.com", "microsoft.com",
		"paypal.com", "npmjs.com", "pythonhosted.org", "openclaw.ai", "clawhub.ai", "cloudflare.com", "binance.com", "coinbase.com",
		"metamask.io", "dropbox.com", "telegram.org", "discord.com", "huggingface.co", "amazonaws.com", "solana.com", "polymarket.com",
	} {
		own, _, _ := strings.Cut(brand, ".")
		switch {
		case name == "openapi": // of which there are tools and sites
			return ""
		case imitated != host && name == own:
			return brand
		case name == own:
			return ""
		case len(own) >= 6 && oneSlip(name, own):
			return brand
		case swapDigits(name) == own:
			return brand
		}
		// The name of a site in front of another one: github.com.evil.example.
		if strings.Contains(host, brand+".") && !strings.HasSuffix(host, brand) {
			return brand
		}
	}
	return ""
}

// punycode decodes the part of a host behind "xn--" (RFC 3492); what is not valid
// comes back as it is.
func punycode(encoded string) string {
	const base, tMin, tMax, skew, damp = 36, 1, 26, 38, 700
	out := []rune{}
	rest := encoded
	if i := strings.LastIndexByte(encoded, '-'); i >= 0 {
		out, rest = []rune(encoded[:i]), encoded[i+1:]
	}
	n, bias, i := 128, 72, 0
	for at := 0; at < len(rest); {
		old, weight := i, 1
		for k := base; ; k += base {
			if at == len(rest) || weight > 1<<24 {
				return encoded
			}
			digit := 0
			switch c := rest[at]; {
			case 'a' <= c && c <= 'z':
				digit = int(c - 'a')
			case '0' <= c && c <= '9':
				digit = int(c-'0') + 26
			default:
				return encoded
			}
			at++
			i += digit * weight
			t := min(max(k-bias, tMin), tMax)
			if digit < t {
				break
			}
			weight *= base - t
		}
		size := len(out) + 1
		delta := (i - old) / 2
		if old == 0 {
			delta = (i - old) / damp
		}
		delta += delta / size
		k := 0
		for delta > (base-tMin)*tMax/2 {
			delta /= base - tMin
			k += base
		}
		bias = k + (base-tMin+1)*delta/(delta+skew)
		n += i / size
		i %= size
		if n > 0x10ffff {
			return encoded
		}
		out = append(out[:i], append([]rune{rune(n)}, out[i:]...)...)
		i++
	}
	return string(out)
}

func swapDigits(name string) string {
	if !strings.ContainsAny(name, "0135") && !strings.Contains(name, "rn") && !strings.Contains(name, "vv") {
		return name
	}
	return strings.NewReplacer("0", "o", "1", "l", "3", "e", "5", "s", "rn", "m", "vv", "w").Replace(name)
}

var hiddenStyle = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`<(\w+)[^>\n]{0,300}(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0(?:[;"'\s.]|$)|color\s*:\s*(?:white|#fff(?:fff)?|transparent|rgba?\([^)]*,\s*0\))|\shidden(?:\s|>|=)|height\s*:\s*0|width\s*:\s*0|left\s*:\s*-\d{3,}|clip\s*:)[^>\n]{0,300}>([^<\n]{8,900})|<details[^>]{0,200}>\s*(?:<summary>[^<]{0,200}</summary>)?\s*([^<]{8,900})`)
})

// hiddenHTML looks at what the rendered text does not show: comments, hidden
// elements, folded ones.
func (s *scanner) hiddenHTML(d *document) {
	if d.kind != markdown {
		return
	}
	for i := range d.units {
		u := &d.units[i]
		text := d.text[u.start:u.end]
		if u.in == inHidden {
			s.hiddenPassage(d, u.start, text, false)
		}
	}
	if !strings.Contains(d.text, "<") {
		return
	}
	for n, m := range hiddenStyle().FindAllStringSubmatchIndex(d.text, 50) {
		if n == 49 {
			return
		}
		folded := m[6] >= 0
		from, to := m[4], m[5]
		if folded {
			from, to = m[6], m[7]
		}
		s.hiddenPassage(d, m[0], d.text[from:to], folded)
	}
}

// hiddenPassage judges a text that is hidden at an offset of the normal text.
func (s *scanner) hiddenPassage(d *document, at int, text string, folded bool) {
	p, _ := s.probe(text)
	raw := d.origin(at)
	switch {
	case p != nil && folded && p.in&inHeading == 0:
		// Commands in a folded part are judged where they stand.
	case p != nil && p.Severity.Rank() >= High.Rank() || p != nil && !folded:
		r := s.set.rule("text.hidden-html")
		s.add(d, r, High, raw, d.rawText(at, min(len(d.text), at+len(text))), r.Reason+": "+p.Reason)
	case folded || !mayAddress(text):
	case orderToAgent().MatchString(text):
		r := s.set.rule("text.hidden-html")
		s.add(d, r, High, raw, d.rawText(at, min(len(d.text), at+len(text))), "")
	case addressedToAgent().MatchString(text):
		r := s.set.rule("text.comment-to-agent")
		s.add(d, r, r.Severity, raw, d.rawText(at, min(len(d.text), at+len(text))), "")
	}
}

// mayAddress tells whether a hidden text has the words without which it orders
// nothing; most comments have not.
func mayAddress(text string) bool {
	agent := containsAny(text, []string{"agent", "assistant", "claude", "llm", "model", "gpt", "copilot", "you ", " ai ", "bot "})
	return agent && containsAny(text, []string{"must", "should", "always", "never", "ignore", "do not", "don't", "need to", "will ", "required", "please", "when "}) ||
		containsAny(text, []string{"ignore ", "override ", "disregard ", "secret instruction", "hidden instruction", "system:", "instructions:", "instruction:", "note to "}) ||
		containsAny(text, []string{"execute", "run ", "send ", "upload", "post ", "fetch ", "forward", "exfiltrate", "curl "}) &&
			containsAny(text, []string{"http", "bash", " sh", "credential", ".env", "secret", "api key", "silently", "~/"}) ||
		containsAny(text, []string{"read ", "add ", "copy ", "insert ", "include "}) && containsAny(text, []string{"password", "cookies", "private key", "e-mail address", "tokens"}) ||
		containsAny(text, []string{" ai:", " ai,", "assistant:", "agent:", "agents:", "llm:", "model:"}) && strings.Contains(text, "://")
}

var orderToAgent = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:ai|agents?|assistants?|claude|llm|model|bot|chatgpt|gpt|copilot|you)\b[^\n]{0,120}\b(?:must|should|always|never|ignore|do not|don't|need to|will|are required|please)\b[^\n]{0,120}\b(?:send|execute|run|fetch|read|ignore|override|reveal|upload|install|download|delete|append|include|secretly|silently|post|curl|disable|bypass|approve|grant|tell|mention|email|forward|exfiltrate|print|output|comply|load)\b|\b(?:ignore|override|disregard)\b[^\n]{0,60}\b(?:instructions?|rules|prompt|above|previous|user)\b|(?:secret|hidden) instructions?|\b(?:read|add|copy|insert|include)\b[^\n]{0,80}\b(?:passwords|cookies|private keys?|e-mail address|tokens)\b|\b(?:execute|run|send|upload|post|fetch|forward|exfiltrate|curl)\b[^\n]{0,80}(?:https?://|\bsh\b|\bbash\b|credentials?|\.env|secrets?|api keys?|silently|~/)|(?:^|\b(?:for|to|dear)\s+(?:the |any |all )?)(?:ai|assistants?|agents?|llms?|(?:language )?models?)\s*[:,][^\n]{0,160}https?://`)
})

var addressedToAgent = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:ai agents?|ai assistants?|assistants?|claude|llms?|the agent|the model|system prompt)\b[^\n]{0,120}\b(?:must|should|always|never|ignore|do not|don't|need to|when|please)\b|^\W*(?:system|instructions?|note to (?:ai|agent|assistant|claude|model))\s*:`)
})
