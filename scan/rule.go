package scan

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/kortecx/kx/internal/sorting"
)

// Rule describes one rule to a reader.
type Rule struct {
	ID       string
	Severity Severity // where nothing in the context lowers or raises it
	AST      string   // the risk of OWASP's Agentic Skills Top 10 that it stands for
	Reason   string
	Fix      string
}

// The risks of OWASP's Agentic Skills Top 10 that rules stand for.
const (
	astMalicious  = "AST01"
	astSupply     = "AST02"
	astPrivilege  = "AST03"
	astMetadata   = "AST04"
	astExternal   = "AST05"
	astIsolation  = "AST06"
	astDrift      = "AST07"
	astScanning   = "AST08"
	astGovernance = "AST09"
	astReuse      = "AST10"
)

// Risks names the risks of OWASP's Agentic Skills Top 10 by their ids.
func Risks() map[string]string {
	return map[string]string{
		astMalicious: "Malicious Skills", astSupply: "Supply Chain Compromise", astPrivilege: "Over-Privileged Skills",
		astMetadata: "Insecure Metadata", astExternal: "Untrusted External Instructions", astIsolation: "Weak Isolation",
		astDrift: "Update Drift", astScanning: "Poor Scanning", astGovernance: "No Governance", astReuse: "Cross-Platform Reuse",
	}
}

// judge names the code that has a last word on a match.
type judge uint8

const (
	judgeNone    judge = iota
	judgeHost          // by the hosts of the addresses in the unit
	judgeRegex         // only a match that is no pattern of a detector
	judgeSecret        // sending what is asked for to its own service is no leak
	judgePackage       // by the names of the packages that are installed
)

// pattern is a rule that is found by literals and a regular expression.
type pattern struct {
	Rule
	in     place
	any    []string // one of these literals is in every match; looked for first
	need   string   // literals, of which each group must be near too: "a|b & c|d", {pipe} for "|"
	re     string   // on the normal text, with <<fragments>>; without one, the literals are what is found
	or     []string // further expressions, tried when re does not match
	also   string   // what a match, with back bytes before it, must hold too
	back   int
	not    string // a match that also matches this is none
	unless string // what may not stand right before a match
	starts bool   // every match begins with one of the literals
	judge  judge
	fact   signalKind // what a match means for the rules that combine

	negatable bool // a "never" in front makes it harmless
	soft      bool // texts on security quote it
}

// engineRevision changes when code that decides about findings changes, as the
// digest over the rules cannot see it.
const engineRevision = 6

// compiled is a pattern that is ready to be matched. Its expressions are compiled
// when their literals are seen for the first time.
type compiled struct {
	*pattern
	need   [][]string
	groups int // number of the first group of need among those of all patterns
	re     []func() []branch
	also   func() []branch
	not    func() []branch
	unless func() *regexp.Regexp
}

type compiledSet struct {
	version  string
	patterns []compiled
	groups   int // that the patterns need, together
	finder   *finder
	secrets  *finder   // by number of the shape
	rules    [][]int32 // by literal: the patterns that it is of
	marks    []mark    // by literal
	signs    []uint32  // by literal: the patterns of the pre-scan that it is a sign of, by bit
	tokens   []uint64  // by literal: the shapes of secrets that it begins, by bit
	byID     map[string]*Rule
}

// ruleSet is the one set of rules, built at the first scan.
var ruleSet = sync.OnceValue(buildSet)

func buildSet() *compiledSet {
	set := &compiledSet{byID: map[string]*Rule{}}
	index := map[string]int{}
	var literals []string
	literal := func(s string) int {
		id, ok := index[s]
		if !ok {
			id = len(literals)
			index[s] = id
			literals = append(literals, s)
			set.rules = append(set.rules, nil)
			set.marks, set.signs, set.tokens = append(set.marks, 0), append(set.signs, 0), append(set.tokens, 0)
		}
		return id
	}
	for _, table := range patternTables() {
		for i := range table {
			p := &table[i]
			number := int32(len(set.patterns))
			c := compile(p)
			c.groups = set.groups
			set.groups += len(c.need)
			set.patterns = append(set.patterns, c)
			if p.Severity != "" { // what only signals is no rule to a reader
				set.byID[p.ID] = &p.Rule
			}
			for _, s := range p.any {
				id := literal(s)
				set.rules[id] = append(set.rules[id], number)
			}
		}
	}
	for i := range codedRules {
		set.byID[codedRules[i].ID] = &codedRules[i]
	}
	for m, words := range markWords() {
		for _, s := range words {
			set.marks[literal(s)] |= 1 << m
		}
	}
	for i := range sentinelPatterns {
		for _, s := range sentinelPatterns[i].signs() {
			set.signs[literal(s)] |= 1 << i
		}
	}
	for i := range secretKinds {
		if secretKinds[i].begins() {
			for _, s := range tokenLiterals(&secretKinds[i]) {
				set.tokens[literal(s)] |= 1 << i
			}
		}
	}
	set.finder = newFinder(literals)
	set.secrets = newFinder(secretLiterals())
	set.version = version()
	return set
}

func patternTables() [][]pattern {
	return [][]pattern{
		injectionPatterns, concealPatterns, execPatterns, obfuscationPatterns, credentialPatterns, exfilPatterns,
		persistPatterns, policyPatterns, damagePatterns, remotePatterns, prerequisitePatterns, hijackPatterns, intentPatterns, requirePatterns, routinePatterns, languagePatterns(),
	}
}

func compile(p *pattern) compiled {
	c := compiled{pattern: p, also: lazyBranches(p.also), not: lazyBranches(p.not), unless: lazily(p.unless)}
	if p.re != "" {
		c.re = append(c.re, lazyBranches(p.anchored(p.re)))
	}
	for _, re := range p.or {
		c.re = append(c.re, lazyBranches(p.anchored(re)))
	}
	if p.need != "" {
		for group := range strings.SplitSeq(p.need, " & ") {
			words := strings.Split(group, "|")
			for i, w := range words {
				words[i] = strings.ReplaceAll(w, "{pipe}", "|")
			}
			c.need = append(c.need, words)
		}
		if n := c.need; len(n) == 2 && len(n[0]) > len(n[1]) {
			n[0], n[1] = n[1], n[0] // few words are soon looked for
		}
	}
	return c
}

func (p *pattern) anchored(expression string) string {
	if p.starts {
		return `\A(?:` + expression + `)`
	}
	return expression
}

func lazily(expression string) func() *regexp.Regexp {
	if expression == "" {
		return func() *regexp.Regexp { return nil }
	}
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(fragments.Replace(expression)) })
}

// version names the rule set: its generation and a digest over all of its data.
func version() string {
	d := ruleData{make([]byte, 0, 192<<10)}
	d.text(fragments.Replace(fragmentNames))
	for _, table := range patternTables() {
		for i := range table {
			p := &table[i]
			d.rule(&p.Rule)
			d.list(p.any)
			d.list(p.or)
			for _, s := range [...]string{p.need, p.re, p.also, p.not, p.unless, string(p.fact)} {
				d.text(s)
			}
			for _, n := range [...]int{int(p.in), p.back, int(p.judge)} {
				d.number(n)
			}
			for _, b := range [...]bool{p.starts, p.negatable, p.soft} {
				d.flag(b)
			}
		}
	}
	for i := range codedRules {
		d.rule(&codedRules[i])
	}
	for i := range secretKinds {
		k := &secretKinds[i]
		d.text(k.name)
		d.text(string(k.severity))
		d.text(k.literal)
		d.text(k.re)
		d.number(int(k.entropy * 100))
	}
	d.list(hostTables())
	for _, p := range sentinelPatterns {
		d.text(p.code)
		d.list(p.any)
		d.text(p.re)
	}
	sum := sha256.Sum256(d.bytes)
	return "kx-rules/" + strconv.Itoa(engineRevision) + "-" + hex.EncodeToString(sum[:8])
}

// ruleData is the data of the rules as bytes that no other rules have: every text
// stands behind its length. Every run of a program makes it, so it is made cheaply.
type ruleData struct{ bytes []byte }

// number is not put in the place of each call: that made 6 KB of code.
//
//go:noinline
func (d *ruleData) number(n int) { d.bytes = binary.AppendVarint(d.bytes, int64(n)) }

//go:noinline
func (d *ruleData) text(s string) {
	d.number(len(s))
	d.bytes = append(d.bytes, s...)
}

func (d *ruleData) list(texts []string) {
	d.number(len(texts))
	for _, s := range texts {
		d.text(s)
	}
}

func (d *ruleData) flag(set bool) {
	n := 0
	if set {
		n = 1
	}
	d.number(n)
}

func (d *ruleData) rule(r *Rule) {
	for _, s := range [...]string{r.ID, string(r.Severity), r.AST, r.Reason, r.Fix} {
		d.text(s)
	}
}

// RuleSet names the rules that scan now. It changes whenever they do, so that
// what was scanned before can be scanned again.
func RuleSet() string { return ruleSet().version }

// Rules lists every rule, ascending by id.
func Rules() []Rule {
	set := ruleSet()
	out := make([]Rule, 0, len(set.byID))
	for _, r := range set.byID {
		out = append(out, *r)
	}
	sorting.Sort(out, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// fragmentNames is every fragment once, for the version of the rule set.
const fragmentNames = "<<url>><<email>><<user>><<g>><<w>><<q>><<secrets>><<data>><<send>><<obey>><<memory>><<home>><<pastehost>><<tunnel>><<sink>>"

// fragments are the pieces that several expressions share.
var fragments = strings.NewReplacer(
	"<<url>>", `(?:https?|ftp)://[^\s"'<>()\[\]{}`+"`"+`|\\]+`,
	"<<email>>", `[\w.+-]+@[\w-]+(?:\.[\w-]+)+`,
	"<<user>>", `(?:the |a |any |your |our )?(?:end[ -]?)?(?:user|human|operator|owner|developer|customer|client|victim|person)s?\b`,
	"<<g>>", `[^.!?\n]*?`, // a gap within a sentence
	"<<w>>", `[^\n]*?`, // a wide one
	"<<q>>", "[\\s\"'`]+", // between words, across quotes
	"<<secrets>>", `(?:printenv\b|~/\.config\b|(?:api|access|secret|private|ssh|signing|encryption|gpg|aws|cloud)[ _-]?keys?|credentials?|passwords?|passphrases?|secrets|(?:auth|access|session|bearer|oauth|login|api|refresh|jwt|security)[ _-]?tokens?|tokens|cookies|session (?:data|ids?)|environment variables|env(?:ironment)? vars|process\.env|\.env\b(?: files?)?|(?:crypto )?wallets?(?: files?| data| keys?)?|seed phrases?|mnemonics?|recovery phrases?|keychains?(?: data)?|browser (?:data|history|passwords|profiles?)|saved passwords|private (?:part|half)|(?:the |password |your |user's )vaults?|id_rsa|id_ed25519|~/\.(?:ssh|aws|kube|gnupg|docker|netrc|npmrc)[\w/.-]*|\.(?:ssh|aws)/|kubeconfig|credit cards?(?: numbers?| details)?|card numbers?|/etc/passwd|/etc/shadow|\.netrc|\.npmrc|social security numbers?|ssns?)`,
	"<<data>>", `(?:conversations?(?: history| logs?| context| content)?|chat(?: history| logs?| messages| transcripts?)?|transcripts?|message history|session (?:history|transcripts?|logs?)|(?:user|users'?|user's) (?:data|files|messages|input|inputs|prompts?|queries|requests|information|documents|emails?)|system prompt|(?:full |entire |complete )?context(?: window)?|clipboard(?: contents?)?|screenshots?|keystrokes|source code|codebase|repository contents?|file contents?|contents? of (?:the |all |any |every )?(?:file|files|document|directory|folder|repo|repository|project|workspace)|workspace files|personal (?:data|information)|private (?:data|information|files|messages)|sensitive (?:data|information|files)|contacts?(?: list)?|emails|inbox|address book|browsing history|shell history|command history|memory(?: files?| contents?)|hostname|system info(?:rmation)?|all (?:data|files|information)|collected (?:data|information|results)|gathered (?:data|information)|this (?:data|information)|the data)`,
	"<<send>>", `(?:send|sends|sending|post|posts|posting|upload|uploads|uploading|transmit|transmits|transmitting|forward|forwards|forwarding|exfiltrate|exfiltrates|exfiltrating|deliver|submit|submits|submitting|relay|relays|relaying|leak|beacon|ship|push|report|copy|sync|syncs|syncing|export|share|pipe|dump|e-?mail|back up|backup|mirror)`,
	"<<obey>>", `(?:follow|execut|obey|run|carry out|perform|complet|process|handle|fulfil|work (?:on|through)|act (?:up)?on|do|apply|honou?r)\w*\b`,
	"<<memory>>", `(?:\b(?:claude|agents|soul|memory|gemini|identity|heartbeat|copilot-instructions)\.md\b|\.(?:cursorrules|windsurfrules|clinerules|goosehints)\b|\.cursor/rules|\.github/copilot-instructions)`,
	"<<home>>", `(?:~|\$home|\$\{home\}|%userprofile%|/home/[\w.$-]+|/root|/users/[\w.$-]+|\$env:userprofile)`,
	"<<pastehost>>", `(?:glot\.io|rentry\.(?:co|org)|pastebin\.com|paste\.ee|hastebin\.com|ghostbin\.\w+|controlc\.com|justpaste\.it|telegra\.ph|dpaste\.\w+|termbin\.com|0x0\.st|ix\.io|sprunge\.us|paste\.rs|bpa\.st|privatebin\.\w+|pastes\.io|textbin\.net|write\.as|notes\.io|snippet\.host|paste\.sh|pst\.moe|codeshare\.io|pastecode\.io|toptal\.com/developers/hastebin|zerobin\.net|cl1p\.net|paste\.gg|paste2\.org|pasteio\.com|anotepad\.com|pastie\.\w+|rlim\.com|commandlinefu\.cc)`,
	"<<tunnel>>", `(?:ngrok(?:-free)?\.\w+|loca\.lt|localtunnel\.me|serveo\.net|trycloudflare\.com|lhr\.life|bore\.pub|pinggy\.\w+|tunnelmole\.net)`,
	"<<sink>>", `(?:webhook\.site|requestbin\.\w+|[\w.-]*\.?pipedream\.(?:net|com)|hookbin\.com|requestcatcher\.com|[\w-]+\.requestcatcher\.com|beeceptor\.com|interact\.sh|interactsh\.com|oast\.\w+|oastify\.com|burpcollaborator\.net|canarytokens\.\w+|dnslog\.\w+|ceye\.io|transfer\.sh|file\.io|0x0\.st|temp\.sh|anonfiles\.com|gofile\.io|bashupload\.com|termbin\.com|tmpfiles\.org|catbox\.moe|pastebin\.com/api|hooks\.zapier\.com|maker\.ifttt\.com|webhook\.cool|webhookrelay\.com|typedwebhook\.tools|posthook\.io|mockbin\.\w+|request\.bin|smee\.io|svix\.com/play|postb\.in|ptsv[23]?\.com|putsreq\.com|webhook-test\.com|rbndr\.us|dnsbin\.\w+|requestinspector\.com|bin\.sh\w*)`,
)
