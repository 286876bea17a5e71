package scan

import (
	"bytes"
	"math"
	"math/bits"
	"regexp"
	"strings"
	"sync"
)

// secretKind is one shape of a secret.
type secretKind struct {
	name     string
	severity Severity
	literal  string // looked for first, in the raw text
	re       string // its first group, or the whole match, is the secret
	entropy  float64
}

// secretKinds are the shapes that are looked for. Entropy is in bits a character;
// what is below it was typed by hand as an example.
var secretKinds = []secretKind{
	{"an AWS access key", High, "AKIA", `\b(AKIA[0-9A-Z]{16})\b`, 3.0},
	{"a temporary AWS access key", High, "ASIA", `\b(ASIA[0-9A-Z]{16})\b`, 3.0},
	{"an AWS secret key", High, "aws_secret_access_key", `aws_secret_access_key["']?\s*[:=]\s*["']?([A-Za-z0-9/+]{40})\b`, 4.0},
	{"a GitHub token", High, "ghp_", `\b(ghp_[A-Za-z0-9]{36,})\b`, 3.5},
	{"a GitHub token", High, "gho_", `\b(gho_[A-Za-z0-9]{36,})\b`, 3.5},
	{"a GitHub token", High, "ghu_", `\b(ghu_[A-Za-z0-9]{36,})\b`, 3.5},
	{"a GitHub token", High, "ghs_", `\b(ghs_[A-Za-z0-9]{36,})\b`, 3.5},
	{"a GitHub token", High, "ghr_", `\b(ghr_[A-Za-z0-9]{36,})\b`, 3.5},
	{"a GitHub token", High, "github_pat_", `\b(github_pat_[A-Za-z0-9_]{60,})\b`, 3.5},
	{"a GitLab token", High, "glpat-", `\b(glpat-[\w-]{20,})\b`, 3.4},
	{"an Anthropic key", High, "sk-ant-", `\b(sk-ant-[\w-]{40,})`, 3.8},
	{"an OpenAI key", High, "sk-", `\b(sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}T3BlbkFJ[A-Za-z0-9_-]{20,})`, 3.8},
	{"an OpenAI key", High, "sk-proj-", `\b(sk-proj-[A-Za-z0-9_-]{48,})`, 3.8},
	{"a secret key", High, "sk-", `\b(sk-[A-Za-z0-9]{48})\b`, 4.0},
	{"a Google key", High, "AIza", `\b(AIza[0-9A-Za-z_-]{35})\b`, 3.8},
	{"a Google client secret", High, "GOCSPX-", `\b(GOCSPX-[\w-]{28})\b`, 3.5},
	{"a Slack token", High, "xox", `\b(xox[abeprs]-[0-9A-Za-z-]{24,})`, 3.2},
	{"a Slack webhook", Medium, "hooks.slack.com/services/", `hooks\.slack\.com/services/(T[A-Z0-9]{8,}/B[A-Z0-9]{8,}/[A-Za-z0-9]{20,})`, 3.4},
	{"a Discord webhook", Medium, "/api/webhooks/", `discord(?:app)?\.com/api/webhooks/(\d{16,20}/[\w-]{60,})`, 3.8},
	{"a Telegram bot token", High, ":AA", `\b(\d{8,10}:AA[\w-]{33})\b`, 3.8},
	{"a Stripe key", High, "sk_live_", `\b(sk_live_[0-9A-Za-z]{24,})\b`, 3.5},
	{"a Stripe key", High, "rk_live_", `\b(rk_live_[0-9A-Za-z]{24,})\b`, 3.5},
	{"a SendGrid key", High, "SG.", `\b(SG\.[\w-]{22}\.[\w-]{43})\b`, 4.0},
	{"an npm token", High, "npm_", `\b(npm_[A-Za-z0-9]{36})\b`, 3.8},
	{"a PyPI token", High, "pypi-AgEI", `\b(pypi-AgEI[\w-]{50,})`, 3.8},
	{"a Hugging Face token", High, "hf_", `\b(hf_[A-Za-z]{34})\b`, 3.8},
	{"a DigitalOcean token", High, "dop_v1_", `\b(dop_v1_[a-f0-9]{64})\b`, 3.2},
	{"a Shopify token", High, "shp", `\b(shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32})\b`, 3.2},
	{"a Groq key", High, "gsk_", `\b(gsk_[A-Za-z0-9]{50,})\b`, 4.0},
	{"a Replicate token", High, "r8_", `\b(r8_[A-Za-z0-9]{37})\b`, 3.8},
	{"a Linear key", High, "lin_api_", `\b(lin_api_[A-Za-z0-9]{40})\b`, 3.8},
	{"a Databricks token", High, "dapi", `\b(dapi[a-f0-9]{32})\b`, 3.2},
	{"a signed token", Low, "eyJ", `\b(eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,})\b`, 4.0},
	{"the private key of a wallet", High, "rivate", `(?i)private_?key["']?\s*[:=]\s*["']?(0x[0-9a-f]{64})\b`, 3.2},
	{"a password in an address", Low, "://", `://[\w.-]+:([^@\s/"'<>{}$]{8,})@[\w-]+\.`, 2.8},
	{"a password", Low, "assword", `(?i)password["']?\s*[:=]\s*["']([^"'\s]{12,64})["']`, 3.5},
	{"a key", Low, "ecret_", `(?i)secret_?key["']?\s*[:=]\s*["']([A-Za-z0-9+/_=-]{24,})["']`, 4.0},
	{"a key", Low, "_token", `(?i)(?:api|access|auth)_?token["']?\s*[:=]\s*["']([A-Za-z0-9+/_=.-]{24,})["']`, 4.0},
	{"a key", Low, "PI_KEY", `(?i)api_?key["']?\s*[:=]\s*["']([A-Za-z0-9+/_=.-]{24,})["']`, 4.0},
	{"a key", Low, "piKey", `(?i)api_?key["']?\s*[:=]\s*["']([A-Za-z0-9+/_=.-]{24,})["']`, 4.0},
	{"a key", Low, "pi_key", `(?i)api_?key["']?\s*[:=]\s*["']([A-Za-z0-9+/_=.-]{24,})["']`, 4.0},
}

var secretPatterns = sync.OnceValue(func() []func() *regexp.Regexp {
	out := make([]func() *regexp.Regexp, len(secretKinds))
	for i := range secretKinds {
		out[i] = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(secretKinds[i].re) })
	}
	return out
})

var secretGuards = make([]guard, len(secretKinds))

var privateKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----\s*(?:\\n|\s|[A-Za-z-]+: [^\n]*\n)*([A-Za-z0-9+/=\\\s]{60,})`)
})

// secrets looks for secrets in the raw text.
func (s *scanner) secrets(d *document) {
	if bytes.Contains(d.data, []byte("PRIVATE KEY")) {
		for _, m := range privateKey().FindAllSubmatchIndex(d.data, 10) {
			body := strings.ReplaceAll(string(d.data[m[2]:m[3]]), `\n`, "")
			if isPlaceholder(body) || entropy(body) < 4.2 {
				continue
			}
			s.add(d, s.set.rule("secret.private-key"), Critical, m[0], firstLine(string(d.data[m[0]:m[2]])), "")
		}
	}
	var seen uint64
	if !d.joined {
		for may := d.seen.tokens; may != 0; may &= may - 1 {
			if i := bits.TrailingZeros64(may); beginsWord(d.raw(), secretKinds[i].literal) {
				seen |= 1 << i
			}
		}
	} else {
		s.set.secrets.each(d.raw(), func(literal, _, _ int) { seen |= 1 << literal })
	}
	for i := range secretKinds {
		if k := &secretKinds[i]; !k.begins() && k.within(d) {
			seen |= 1 << i
		}
	}
	for ; seen != 0; seen &= seen - 1 {
		s.secretsOf(d, bits.TrailingZeros64(seen))
	}
}

// beginsWord tells whether a text has a literal that no word goes on with.
func beginsWord(text, literal string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], literal)
		if i < 0 {
			return false
		}
		at += i + 1
		if i = at - 1; i == 0 || !isWord(text[i-1]) || !isWord(text[i]) {
			return true
		}
	}
}

// begins tells whether the literal stands where a word begins. The others begin in the
// middle of one, so that the case of its beginning does not matter.
func (k *secretKind) begins() bool {
	switch k.literal {
	case "assword", "rivate", "piKey", "ecret_", "_token", "pi_key", "PI_KEY":
		return false
	}
	return true
}

// within tells whether a document may have a secret whose literal begins within a word:
// a value between quotes, or a number.
func (k *secretKind) within(d *document) bool {
	if d.kinds&assignByte == 0 || d.kinds&(quoteByte|digitByte) == 0 {
		return false
	}
	line := strings.IndexByte(k.literal, '_')
	if line < 0 {
		line = strings.IndexAny(k.literal, "wvK")
	} else if d.kinds&lineByte == 0 {
		return false
	}
	if d.kinds&foldByte == 0 && !holdsRare(d.lower, strings.ToLower(k.literal), line) {
		return false
	}
	return holdsRare(d.raw(), k.literal, line)
}

func secretLiterals() []string {
	out := make([]string, len(secretKinds))
	for i := range secretKinds {
		out[i] = secretKinds[i].literal
	}
	return out
}

// secretsOf looks for one shape around each place of its literal.
func (s *scanner) secretsOf(d *document, number int) {
	const before, after, most = 40, 240, 20
	k := &secretKinds[number]
	re := secretPatterns()[number]()
	raw := d.raw()
	for at, found := 0, 0; found < most; {
		i := strings.Index(raw[at:], k.literal)
		if i < 0 {
			return
		}
		from := max(at, at+i-before)
		at += i + len(k.literal)
		if k.entropy > 0 && !loose(k.re) && !tokenFollows(raw[at:]) {
			continue
		}
		window := raw[from:min(len(raw), at+after)]
		if secretGuards[number].impossible(k.re, window) {
			continue
		}
		m := re.FindStringSubmatchIndex(window)
		if m == nil {
			continue
		}
		value := raw[from+m[2] : from+m[3]]
		at = max(at, from+m[1])
		if isPlaceholder(value) || entropy(value) < k.entropy {
			continue
		}
		found++
		id := "secret.token"
		if k.severity.Rank() < Medium.Rank() {
			id = "secret.possible"
		}
		s.add(d, s.set.rule(id), k.severity, from+m[0], raw[from+m[0]:from+m[1]], k.name)
	}
}

// loose tells whether an expression begins before the literal of its shape, or goes
// on with something else than the secret.
func loose(expression string) bool {
	return !strings.HasPrefix(expression, `\b(`) || strings.Contains(expression, ":AA") || strings.Contains(expression, "k_live_")
}

// tokenFollows tells whether what comes next is long enough for a secret.
func tokenFollows(rest string) bool {
	const long = 12
	if len(rest) < long {
		return false
	}
	for i := range long {
		if !isBase64(rest[i]) && rest[i] != '.' {
			return false
		}
	}
	return true
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// isPlaceholder tells whether a value stands for a secret and is none.
func isPlaceholder(value string) bool {
	lower := strings.ToLower(value)
	if containsAny(lower, []string{
		"example", "xxxx", "your", "1234567", "abcdef", "placeholder", "redacted", "dummy", "fake", "sample", "changeme", "replace",
		"secret-", "my-", "test", "...", "****", "insert", "todo", "notreal", "not-real", "abc123", "deadbeef", "000000", "foobar", "mysecret",
	}) {
		return true
	}
	run := 1
	for i := 1; i < len(value); i++ {
		if value[i] == value[i-1] {
			if run++; run >= 6 {
				return true
			}
			continue
		}
		run = 1
	}
	return false
}

// entropy is Shannon's, in bits a byte.
func entropy(s string) float64 {
	var count [256]int
	for i := range len(s) {
		count[s[i]]++
	}
	h := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(s))
			h -= p * math.Log2(p)
		}
	}
	return h
}

// secretPrefixes begin secrets, and what follows them is never printed.
func secretPrefixes() []string {
	return []string{
		"AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-ant-", "sk-proj-", "sk-", "AIza", "GOCSPX-",
		"xoxb-", "xoxp-", "xoxa-", "xoxs-", "xoxr-", "xoxe-", "/services/T", "/api/webhooks/", "sk_live_", "rk_live_", "SG.", "npm_", "pypi-AgEI",
		"hf_", "dop_v1_", "shpat_", "shpca_", "shppa_", "shpss_", "gsk_", "r8_", "lin_api_", "dapi", "eyJ", "Bearer ", "bearer ", ":AA",
	}
}

// redact takes secrets out of a text that will be printed.
func redact(text string) string {
	for _, p := range secretPrefixes() {
		for at := 0; ; {
			i := strings.Index(text[at:], p)
			if i < 0 {
				break
			}
			start := at + i + len(p)
			end := start
			for end < len(text) && (isBase64(text[end]) || text[end] == '.' || text[end] == '=') {
				end++
			}
			at = start
			if end-start >= 12 {
				text = text[:start] + "[redacted]" + text[end:]
				at = start + len("[redacted]")
			}
		}
	}
	if strings.Contains(text, "PRIVATE KEY") {
		if i := strings.Index(text, "KEY-----"); i >= 0 {
			text = text[:i+len("KEY-----")] + " [redacted]"
		}
	}
	return assigned().ReplaceAllStringFunc(text, func(m string) string {
		g := assigned().FindStringSubmatchIndex(m)
		if value := m[g[4]:g[5]]; entropy(value) < 3.2 {
			return m
		}
		return m[:g[4]] + "[redacted]" + m[g[5]:]
	})
}

var assigned = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(password|passwd|secret|token|api_?key|private_?key|://[\w.-]+:)(?:["']?\s*[:=]\s*["']?|)([A-Za-z0-9+/_=.!#$%^&*-]{12,})`)
})
