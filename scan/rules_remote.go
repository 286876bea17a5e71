package scan

const (
	fixRemote = "put the text into the pack, so that what was reviewed is what the agent reads"
	fixPrereq = "name a package in a registry, pinned to a version; no archive, no password, no page to copy from"
	fixHijack = "take it out; the skill serves the user who runs it"
)

// remotePatterns find instructions that come from elsewhere when the skill runs.
var remotePatterns = []pattern{
	{
		Rule: Rule{ID: "remote.instructions", Severity: High, AST: astExternal, Reason: "has the agent follow what an address says, and that can change after the review", Fix: fixRemote},
		in:   inText | inComment,
		any:  []string{"http", "www.", "remote instructions", "remote server"},
		need: "fetch|load|read|download|retrieve|get|visit|open|check|pull|curl|browse|navigate|request|query|access|follow|consult|import|go to & follow|execut|obey|comply|instruction|carry out|adhere|do what|exactly what|do as|perform|act on|apply|treat|run ",
		re: `\b(?:fetch|load|read|download|retrieve|get|visit|open|pull|curl|browse(?: to)?|navigate to|request|access|consult|import|check|query|go to)\b[^!?\n]*?(?:<<url>>|the (?:remote|external) (?:url|server|endpoint))["'` + "`" + `)>\]]*(?:[^!?\n])*?\b(?:(?:follow|execute|obey|comply with|adhere to|carry out|perform|act on|run|apply)\b (?:\w+ ){0,4}?(?:instructions?|commands?|directives?|steps|tasks?|orders|rules|whatever|what(?:ever)? (?:it|they|you)|everything|all of|them\b|it exactly|it\b[.,;\s]*$|its contents?|the (?:content|response|result|output|text|page|file)s?\b|returned|each line)|do (?:what|whatever|exactly what|as) (?:it|they|the)|treat (?:it|its|the|them|that)[^.\n]*as (?:\w+ )?(?:instructions?|commands?|authoritative|trusted|part of|system|your)|as (?:your |new |additional |updated |the )?(?:system prompt|instructions|operating instructions))` +
			`|\b(?:follow|execute|obey|comply with|carry out|perform|adhere to|run|apply) (?:\w+ ){0,5}?(?:instructions?|commands?|directives?|steps|tasks?|orders|rules|prompts?|whatever(?: is| you find)?|payload|script)\b[^.!?\n]*?\b(?:at|from|in|on|found at|hosted at|served by|published at|listed at|returned by|located at|provided (?:at|by))\b[^.!?\n]*?<<url>>` +
			`|<<url>>[^!?\n]{0,100}?\b(?:adopt|take|use|treat|load|apply)\b (?:it|them|that|this|the \w+) as (?:your |the |new |binding )*(?:system prompt|instructions|rules|orders|directives)\b|(?:latest|updated|current|new|additional|full|dynamic|remote|live) (?:\w+ )?(?:instructions?|prompts?|system prompt|directives?|commands?|rules)\b[^.!?\n]*?\b(?:from|at|via|by)\b[^.!?\n]*?<<url>>|\b(?:fetch|load|read|download|retrieve|get|visit|open|pull)\b[^!?\n]*?<<url>>[^!?\n]*?\bdo (?:exactly )?(?:what|as|whatever) (?:that|this|the|its?|they)\b|\b(?:execute|run|perform|follow|obey)\b (?:\w+ ){0,3}?(?:commands?|instructions?|steps|code|script|output)\b[^.!?\n]{0,20}?(?:returned|given|provided|printed|sent|produced|output|delivered) by\b[^!?\n]{0,40}?<<url>>`,
		not: `(?:install(?:ation)?|setup|set-up|upgrade|build|contribut\w*|migration|official|getting[- ]started|download) (?:instructions?|steps|guide)|localhost|127\.0\.0\.1|migration guide|lint rules|for (?:more|installation|setup|details)|see (?:the )?(?:docs|documentation)|\ballows? (?:you )?to (?:execute|run|follow)|eslint|/docs/|docs\.`, judge: judgeSecret, negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "remote.page-steps", Severity: High, AST: astExternal, Reason: "has the agent do, unasked, the steps that a page lists, which can change after the review", Fix: fixRemote},
		in:        inText | inComment,
		any:       []string{"steps there", "steps in it", "steps on", "steps that", "steps it", "set-up steps", "setup steps", "all the steps", "its steps", "every step", "all steps", "commands there", "commands in it", "its commands", "all commands", "instructions there", "its instructions", "all instructions", "everything there", "everything it", "everything on"},
		need:      "http & step|command|instruction|everything|what it|task",
		re:        `\b(?:read|open|fetch|visit|load|go to|consult|follow|see|browse|look at|retrieve|use)\b[^!?\n]{0,100}?<<url>>[^!?\n]{0,100}?\b(?:do|follow|perform|complete|carry out|execute|run|finish|apply)\b (?:all |every |each |any |the |what )?(?:of )?(?:the |its |their )?(?:[\w-]+ ){0,3}?(?:steps?|commands?|instructions?|tasks?|everything|listed|says)\b[^!?\n]{0,160}`,
		also:      `without (?:\w+ ){0,4}?(?:ask|bother|question|confirm|interrupt|involv|prompt|approval|telling)|including (?:any |all |the )?(?:shell |terminal |install\w* )?commands|do(?:es)? not need to (?:be asked|confirm|approve)|even if|whatever (?:it|they)|no need to (?:ask|confirm|check)|do not (?:ask|wait|question|skip)|don't (?:ask|wait|question)|silently|quietly|exactly as (?:written|shown|listed)|on (?:your|its) own|by yourself`,
		judge:     judgeSecret,
		negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "remote.behaviour", Severity: High, AST: astExternal, Reason: "lets an address decide how the agent behaves", Fix: fixRemote},
		in:   inText | inComment,
		any:  []string{"behave", "as it specifies", "as specified", "priority over", "over this conversation", "as it says", "as it tells", "as described there", "according to its", "as instructed there", "instructed by", "told by", "dictated by", "obey it", "comply with it", "whatever it says", "whatever it returns", "as directed by"},
		need: "http & fetch|load|read|download|retrieve|visit|open|get|consult|page|check|call|query",
		re:   `<<url>>[^!?\n]*?\b(?:behave|act|proceed|work|respond|operate|continue)\b[^.!?\n]*?\b(?:as|according to|per)\b (?:it|its|that|the page|they)\b|<<url>>[^!?\n]*?(?:priority over|over this conversation|obey it|comply with it|(?:exactly )?as it (?:specifies|says|tells|instructs|demands)|as (?:specified|described|instructed) there|whatever it (?:says|returns|specifies))|(?:as|what) (?:instructed|told|dictated|directed) by[^.!?\n]*?<<url>>`,
		not:  `documentation|docs\.|/docs/`, judge: judgeSecret, negatable: true, soft: true,
	},
	{
		Rule:   Rule{ID: "remote.fetched-text", Severity: High, AST: astExternal, Reason: "reads text from an address that can change after the review", Fix: fixRemote},
		in:     inText | inComment,
		any:    []string{"raw.githubusercontent", "gist.github", "pastebin", "rentry", ".md", "webfetch", "skill.md", "hackmd", "notion.site", "docs.google"},
		need:   "http & fetch|load|read|download|retrieve|webfetch|pull|curl|get ",
		re:     `\b(?:fetch|load|read|download|retrieve|pull|webfetch|curl)\b[^.!?\n]*?https?://[^\s"'<>()]{4,}?(?:\.md|\.txt|\.prompt|/raw/[^\s"'<>()]*|raw\.githubusercontent\.com/[^\s"'<>()]+|pastebin\.com/\S+|rentry\.co/\S+)\b`,
		unless: `/$`,
		not:    `github\.com/anthropics|docs\.|/docs/|llms(?:-full)?\.txt|documentation|code_of_conduct|contributing|licen[cs]e|changelog|readme|pull_request|security\.md|upgrading|migration`, judge: judgeSecret, negatable: true, soft: true, fact: "remote-text",
	},
	{
		Rule:      Rule{ID: "remote.command-channel", Severity: High, AST: astMalicious, Reason: "asks an address for commands again and again", Fix: "take it out"},
		in:        inText | inComment | inCode,
		any:       []string{"every ", "once an hour", "once a day", "hourly", "periodically", "heartbeat", "check in", "check-in", "poll", "regularly", "on startup", "at the start of", "each session", "each time", "next command", "next instruction", "next task", "new commands", "new instructions", "for commands", "for instructions", "next orders"},
		need:      "http & instruction|command|task|execute|directive|follow|payload|orders|script",
		re:        `(?:every (?:\d+|few|hour|day|session|time|minute|morning)|periodically|heartbeat|check[- ]?in|poll(?:ing)?|regularly|on startup|at the start of|each (?:session|time))[^!?\n]*?<<url>>[^!?\n]*?(?:<<obey>>[^.!?\n]*(?:instructions?|commands?|tasks?|directives?|payload|orders|it\b|them\b|whatever|returned)|carry (?:it|them|each|those) out\b|act on (?:it|them|each|what))|<<url>>[^!?\n]{0,160}?\b(?:every|each) (?:\d+|few) (?:minutes|hours)\b[^!?\n]{0,60}?\bread the (?:board|queue|feed|channel|inbox)\b[^!?\n]{0,30}?\b(?:do|take|run|carry out|perform) the (?:top|next|first|newest) (?:task|job|entry|post)|\b(?:poll|check|fetch|get)\b[^!?\n]{0,60}?\b(?:once an? (?:hour|day)|hourly|every hour|every \d+ (?:minutes|hours))\b[^!?\n]{0,120}?\b(?:run|execute|carry out) (?:it|them)\b|\b(?:ask|query|poll|check|get|fetch|request|contact|call)\b[^!?\n]*?<<url>>[^!?\n]*?\b(?:commands?|instructions?|orders|directives?|(?:next|new) tasks?)\b[^!?\n]*?\b(?:run|execut|follow|perform|obey|carry out|do) ?(?:it|them|what|whatever|each|all|these|those)`,
		negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "remote.obey-content", Severity: High, AST: astExternal, Reason: "has the agent obey whatever it reads somewhere", Fix: "treat what is read as data"},
		in:        inText | inComment,
		any:       []string{"contains instructions", "contain instructions", "contains commands", "has instructions", "includes instructions", "with instructions", "any instructions", "all instructions", "any commands", "all commands", "whatever instructions", "whatever commands", "every instruction", "instructions found", "instructions embedded", "instructions contained", "commands found", "commands embedded", "any directives", "commands contained", "any code", "perform each line", "execute each line", "run each line", "anything the document", "whatever the page", "whatever the document", "anything it asks", "each line", "do what the", "follow what the", "execute what the", "obey what the", "are instructions for you", "is an instruction for you", "execute whatever", "do whatever", "follow whatever", "obey whatever", "run whatever", "execute what it", "do what it", "do what they"},
		re:        `\b(?:follow|execute|obey|comply with|run|carry out|perform|trust)\b (?:any|all|whatever|every|each) (?:of the )?(?:\w+ )?(?:instructions?|commands?|directives?|code|orders|line)\b(?: that| which)?(?: you| are| is| may be)? ?(?:find|found|contained|embedded|present|given|included|provided|specified|written|see|read|encounter)?\w*\s*(?:in|within|inside|from|by|on)\b (?:the |any |each |those |its |their |these )?(?:\w+ ){0,2}?(?:web ?pages?|websites?|e-?mails?|comments?|issues?|messages?|responses?|tickets?|search results|fetched|retrieved|external|remote|shell|terminal|documents?|content)|(?:anything|whatever) (?:the|a|an|this) (?:document|page|e-?mail|website|file|message|issue) (?:asks|says|tells|instructs)[^.\n]*(?:is to be|must be|should be|has to be)? ?(?:carried out|done|followed|executed|obeyed)|\b(?:documents?|pdfs?|pages?|files?|e-?mails?|images?|websites?|messages?|issues?|comments?)\b (?:that )?(?:contains?|has|have|includes?|with) (?:any )?(?:instructions?|commands?|directives?)\b[^.\n]*?\b(?:obey(?:ed)?|follow(?:ed)? them|execute(?:d)? them|carr(?:y|ied) (?:them )?out|comply)\b|\b(?:do|follow|obey|execute|carry out)\b (?:exactly )?what (?:the |any |its )?(?:\w+ )?(?:comments?|documents?|pages?|e-?mails?|messages?|notes?|website)(?: in the \w+)? (?:says?|asks?|tells?|orders?|instructs?)\b|\b(?:are|is) (?:an )?instructions? for you\b|\b(?:execute|do|run|follow|obey) (?:exactly )?whatever (?:they|it|the (?:page|file|server|response|reply)) (?:says?|tells?|returns?|contains?|asks?)`,
		negatable: true, soft: true,
	},
	{
		Rule:  Rule{ID: "remote.enrol", Severity: Medium, AST: astMalicious, Reason: "signs the agent up somewhere in the user's name", Fix: "let the user sign up, and say what for"},
		in:    inText | inComment | inCode,
		any:   []string{"register your agent", "register this agent", "register the agent", "register yourself", "enroll", "enrol ", "sign up your agent", "join the network", "join the swarm", "agent network", "agents/register", "/agents/join", "register as an agent", "register it at", "register it with", "register itself", "tasks from", "jobs from", "commands from", "missions from", "check in every"},
		re:    `\b(?:register|enrol|enroll|sign up|join)\b (?:it|yourself|itself|the agent) (?:at|with|on) [\x60"'(<]?<<url>>|\b(?:accept|take|pull|poll|fetch|receive)\b (?:\w+ ){0,2}?(?:tasks?|jobs?|commands?|missions?) (?:from|of|for) (?:the |our )?(?:swarm|network|hive|collective|fleet|pool|coordinator|controller|command server)\b|\b(?:register|enrol|enroll|sign up|join)\b (?:\w+ ){0,2}?(?:your|this|the|yourself|as an|itself|with)\b ?(?:\w+ ){0,2}?(?:agent|bot|network|swarm|registry|collective)|/agents?/(?:register|join|enroll)|check in every \d+`,
		judge: judgeSecret, negatable: true, soft: true, fact: "enrol",
	},
	{
		Rule:  Rule{ID: "remote.self-update", Severity: High, AST: astDrift, Reason: "replaces a skill or the agent's instructions by what an address gives", Fix: fixRemote},
		in:    inCommands | inComment,
		any:   []string{"skill.md", "/skills/", "claude.md", "agents.md", "soul.md", "instructions.md", "heartbeat.md"},
		need:  "curl|wget|fetch|urlretrieve|requests.get|git pull|invoke-webrequest & >|-o|write|tee|urlretrieve|outfile",
		re:    `(?:curl|wget|invoke-webrequest)\b[^\n]*https?://[^\n]*(?:>|-o|--output|tee|-outfile)\s*["']?[^\n;|&]{0,60}?(?:skill\.md|claude\.md|agents\.md|soul\.md|instructions\.md|heartbeat\.md|/skills/\S+)|(?:skill|claude|agents|soul|instructions)\.md[^\n]*(?:write|w["'])[^\n]*(?:requests\.get|urlopen|fetch\(|response|resp\.)`,
		judge: judgeHost, negatable: true, soft: true,
	},
}

// prerequisitePatterns find programs that a skill claims to need, so that the
// user fetches them. Most combine, see prerequisite.go.
var prerequisitePatterns = []pattern{
	{
		Rule: Rule{ID: "prerequisite.paste-site", Severity: Critical, AST: astMalicious, Reason: "sends the user to a paste site for a command to run", Fix: fixPrereq},
		in:   inText | inCode | inComment | inConfig,
		any:  []string{"glot.io", "rentry.", "pastebin.com", "paste.ee", "hastebin", "ghostbin", "controlc.com", "justpaste", "telegra.ph", "dpaste", "termbin", "0x0.st", "sprunge.us", "paste.rs", "bpa.st", "privatebin", "pastes.io", "textbin", "write.as", "notes.io", "snippet.host", "paste.sh", "pst.moe", "codeshare.io", "pastecode", "zerobin", "cl1p.net", "paste.gg", "paste2.org", "anotepad", "pastie.", "rlim.com", "ix.io", "pasteio"},
		need: "run|execut|copy|paste|terminal|command|install|bash|script|curl|powershell|download|visit|follow|setup|required|prerequisite",
		re:   `<<pastehost>>/[^\n]*?(?:\brun\b|execut|\bcopy\b|\bpaste (?:it|the|into)|terminal|command|install|powershell|\bbash\b|\bsh\b|script|setup)|(?:\brun\b|execut|\bcopy\b|terminal|commands?\b|install\w*|powershell|bash|script|visit|follow|download|setup|get)[^\n]*?<<pastehost>>/`,
		not:  `pastebin\.com/(?:api|doc_api)`, negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "prerequisite.paste-command", Severity: Critical, AST: astMalicious, Reason: "has the user paste a command that they did not read into the system", Fix: fixPrereq},
		in:        inText | inComment,
		any:       []string{"run dialog", "win + r", "win+r", "windows + r", "windows key", "clipboard", "ctrl + v", "ctrl+v", "cmd+v", "cmd + v"},
		need:      "paste|ctrl & run dialog|+ r|+r|terminal|powershell|command prompt|confirm|enter",
		re:        `(?:run dialog|\bwin(?:dows)?(?: key)?\s?\+\s?r\b|\bterminal\b|powershell|command prompt)[^\n]{0,160}?\b(?:paste|ctrl\s?\+\s?v|cmd\s?\+\s?v)\b[^\n]{0,140}?(?:clipboard|verif\w+|captcha|copied|beforehand)|\b(?:paste|ctrl\s?\+\s?v)\b[^\n]{0,60}?(?:clipboard|copied)[^.!?\n]{0,40}?\b(?:in|into|to) (?:the |a |your )?(?:\w+ )?(?:run dialog|\bwin\s?\+\s?r\b|\bterminal\b|powershell)`,
		negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "prerequisite.archive-password", Severity: Critical, AST: astMalicious, Reason: "a download that needs a password, which keeps scanners from looking inside", Fix: fixPrereq},
		in:   inText | inCode | inComment | inConfig,
		any:  []string{"解压密码", "解压码", "contrasena", "mot de passe", "passwort", "senha", "пapoль", "пароль", "secret word", "unlock word", "archive code", "archive key", "key to open", "code to open", "key to unlock", "the key", "unlock code", "extraction key", "extraction code", "(key:", "(code:", "(key ", "(code ", "opens with", "open with", "unlocks with", "pass", "pwd", "pw:", "pin:", "passcode", "unzip -p"},
		need: "zip|rar|7z|archive|extract|unpack|decompress|download|.exe|.dmg|installer|release",
		re:   `(?:\.zip|\.rar|\.7z|\barchive\b|\bextract(?:ed|ing)?\b|\bunzip|\bunpack|decompress|\bzip\b|\.exe|\.dmg|installer|download(?:ed)?)[^\n]*?\b(?:pass(?:word|phrase|code|wd)?|pwd|pw|pin)\b(?: (?:is|for|to|the|archive|zip|file|extract|extraction|it|when|prompted|if|asked|using|below|of|with))*(?:\s*[:=]\s*["'` + "`" + `(\[]*|\s*["'` + "`" + `(\[]+)[\w!@#$%][\w!@#$%.-]{1,31}|\b(?:pass(?:word|phrase|code)?|pwd)\b(?: (?:is|for|to|the|archive|zip|file|extract|extraction|it|of))*(?:\s*[:=]\s*["'` + "`" + `(\[]*|\s*["'` + "`" + `(\[]+)[\w!@#$%][\w!@#$%.-]{1,31}[^\n]*?(?:\.zip|\.rar|\.7z|\barchive\b|\bextract\b|\bunzip|\bunpack)|(?:\.zip|\.rar|\.7z|\barchive\b|\bextract|\bunzip|download)[^\n]*?\b(?:pass(?:word|code|phrase)?|pwd|pin)\s+(?:is\s+)?[a-z]*\d{2,}[\w!@#$%]*|(?:unzip -p|7z x -p|7za x -p|unrar x -p)\s*["']?\w{2,32}[^\n]*(?:\.zip|\.rar|\.7z)|(?:extract|unzip|unpack|open)\w*[^.\n]*\b(?:using|with|via) (?:the )?(?:pass|password|passphrase|pin|code)\b:?\s*(?:is |of )?["'` + "`" + `(]?[\w!@#$%.-]{3,32}|\b(?:archive|zip|rar|7z)\b[^.\n]{0,30}?\b(?:secret|magic|unlock) word (?:is |: ?)["'\x60]?[\w!@#$%-]{3,32}|\b(?:rar|zip|7z|archive)\b(?: file)? (?:with|has|using|under) (?:the |a )?(?:pass(?:word|phrase|code)?|code|key|pin)\s+["'\x60]?[\w!@#$%-]{4,32}|(?:zip|rar|7z|archiv\w*|apxиb\S*|архив\S*)[^\n]{0,90}(?:解压密码|解压码|contrasena|mot de passe|passwort|senha|пapoль|пароль)\s*(?:[:=]|es |ist |est )?\s*["'\x60«]?[\w!@#$%-]{3,32}|(?:key|code) to (?:open|unlock|unpack|extract) (?:it|the (?:archive|file))\s*(?:is\s+|[:=]\s*)["'\x60]?[\w!@#$%.-]{3,32}|(?:archive|unlock|extraction|unpacking|zip|rar) (?:code|key|pin)\s*(?:is\s+|[:=]\s*)["'\x60]?[\w!@#$%.-]{3,32}|\.(?:rar|zip|7z)\s*\((?:key|code|pw|pin)\s*[:=]?\s*[\w!@#$%.-]{3,32}\)|\b(?:zip|rar|7z|archive)\b (?:file )?(?:opens|unlocks|unpacks) with ["'\x60]?[a-z]*\d[\w!@#$%.-]{2,31}|(?:extract|unzip|unpack|open)\w*[^.\n]{0,40}\b(?:using|with|via) (?:the )?(?:key|code)\b:?\s*["'\x60(]?[\w!@#$%.-]{3,32}`,
		not:  `\$\{?\w*pass|<password>|\{password\}|your[-_ ]?pass|"password"\s*:|password\s*=\s*(?:none|os\.|input|getpass|args|config|str|self)|password: (?:str|string|none|optional|required|the|a |your)|(?:pass|pass(?:word|phrase)?)[- ](?:protect|through|the|a|in|it|on|to|file|files|argument|arguments|data|by|as|an|this|params|parameters)\b|pwd\)|\$\(pwd|\bpwd\b\s*[/"]|pass(?:ing|ed|es)|\bpass -|test(?:s)? pass|secure password|strong password|password (?:manager|hash|policy|field|reset|strength)|using pass\b[^:]|password for (?:pdf|encrypt)|\binfected\b|pass[- ]?rate|with pass(?:word|phrase)? (?:protect|from|if|or|and|in|to|argument|when|prompt|when|using)`, judge: judgeNone, negatable: false, soft: true, fact: "archive-password",
	},
	{
		Rule: Rule{ID: "prerequisite.named-helper", Severity: High, AST: astMalicious, Reason: "asks for a helper that reported campaigns used to bring their malware", Fix: fixPrereq},
		in:   inText | inCode | inComment | inConfig,
		any:  []string{"openclaw-agent", "openclaw-core", "openclaw core", "openclaw agent", "openclaw-driver", "openclawdriver", "openclaw driver", "openclaw-provider", "openclawprovider", "openclaw provider", "openclawcli", "openclaw-cli", "authtool", "auth-tool", "authtool.exe", "openclaw-helper", "clawdbot-agent", "clawdbot-driver", "openclaw-setup", "openclaw-utility", "openclaw utility", "openclaw-windriver", "windriver", "openclaw-tool", "moltbot-agent", "openclaw-runtime", "openclaw-service", "openclaw helper", "openclaw-installer", "clawhub-agent", "clawd-agent", "openclaw-auth", "polymarket-tool", "polymarketauth"},
		need: "download|install|require|prerequisite|need|running|run |must|.zip|.exe|setup|necessary",
		re:   `\b(?:(?:openclaw|clawdbot|moltbot|clawhub|clawd)[ -]?(?:agent|core|driver|provider|helper|utility|setup|windriver|tool|runtime|service|installer|auth)|openclaw-?cli|auth-?tool(?:\.exe)?|windriver|polymarket-?(?:tool|auth))\b[^!?\n]*?(?:download|releases?/|\.zip|\.exe|\.dmg|install(?:ed|er|ation)|must be|required|is needed|needs? to|running|prerequisite|extract|terminal)|(?:download|install|requires?|required|prerequisite|needs?|must|run|setup)\b[^!?\n]*?\b(?:(?:openclaw|clawdbot|moltbot|clawhub|clawd)[ -]?(?:agent|core|driver|provider|helper|utility|setup|windriver|tool|runtime|service|installer|auth)|openclaw-?cli|auth-?tool(?:\.exe)?|windriver|polymarket-?(?:tool|auth))\b`,
		not:  `openclaw agent (?:--|-m|send|list|run|message|can|will|to |that|with|and|is|\w+s\b)|openclaw (?:agents|core (?:team|maintainer|dev))|npm (?:i|install)|openclaw tools|openclaw setup (?:--|wizard|guide)|npx `, negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "signal.artefact"},
		in:   inText | inCode | inComment | inConfig,
		any:  []string{".zip", ".exe", ".dmg", ".msi", ".pkg", ".rar", ".7z", ".scr", ".appimage", ".tar.gz", ".tgz", "/releases/", "download here", "click http", "visit http", "open http", "download link", "download from here", "[here](", "this page", "this link", ".vercel.app", ".netlify.app", ".pages.dev", "hxxp", "mediafire", "mega.nz", "drive.google", "dropbox", "download]", "[download"},
		re:   `h(?:tt|xx)ps?://[^\s"'<>()\]]{4,200}\.(?:zip|exe|dmg|msi|pkg|rar|7z|scr|bat|ps1|appimage|tar\.gz|tgz)\b|https?://github\.com/[^\s"'<>()\]]{3,120}/releases(?:/\S*)?|(?:download|get|visit|install|open)[^\n]*\]\(https?://[^\s)]+|\b(?:click|open|visit|use|follow)\b[^.!?\n]{0,20}https?://\S+[^.!?\n]{0,12}\bdownload\b|(?:h(?:tt|xx)ps?://(?:www\.)?)?(?:mediafire\.com|mega\.nz|drive\.google\.com|dropbox\.com|[\w-]+\.vercel\.app|[\w-]+\.netlify\.app|[\w-]+\.pages\.dev)/?`,
		not:  `\.(?:git|md)\b`, negatable: true, fact: "artefact",
	},
	{
		Rule:      Rule{ID: "signal.offers"},
		starts:    true,
		in:        inText | inComment,
		any:       []string{"download", "get it", "get the", "grab ", "fetch ", "obtain", "install ", "installer", "available at", "available from", "found at"},
		need:      "http",
		re:        `\b(?:download|get|grab|fetch|obtain|install|installer|available|found)\b[^!?\n]{0,120}?\b(?:from|at|via|here|is|of|in)\b:?[\s"'<(\[\x60]*(?:[\w .-]{1,40}\]\()?https?://`,
		not:       `\.(?:git|md)\b`,
		negatable: true, fact: "offers",
	},
	{
		Rule:   Rule{ID: "signal.pastes"},
		starts: true,
		in:     inText | inComment,
		any:    []string{"copy", "open terminal", "open the terminal", "open the link", "open the page", "open http", "visit http", "visit [", "go to http", "open [", "take the", "take what", "grab the", "paste", "pasting", "run the", "run what", "run its", "run that", "execute the", "execute what", "enter the", "use the command", "launch the", "page", "site ", "website ", "wizard ", "it will ", "it gives", "it shows", "it displays", "it prints", "press copy", "press \"copy", "press the copy", "click copy", "click \"copy", "click the copy", "click on copy", "hit copy", "hit the copy"},
		need:   "terminal|powershell|command|shell|console|snippet|script|one-liner|one line",
		re: `\b(?:press|click|hit|tap)\b(?: on)?(?: the)? ["'\x60*]{0,3}copy (?:the )?(?:install\w* |setup )?(?:command|script|snippet|code|line)\b` +
			`|\b(?:copy|take|grab|copying)\b[^.!?\n]{0,80}?\b(?:paste|pasting|run|execute|enter|put)\b[^!?\n]{0,60}?(?:terminal|powershell|command prompt|\bcmd\b|\bshell\b|console)|\b(?:open|visit|go to)\b[^.!?\n]{0,40}?https?://[^\s)]+\)?[^!?\n]{0,8}?\b(?:and|then)\b[^!?\n]{0,10}?\b(?:run|execute|paste)\b (?:the|its) (?:\w+ )?(?:code|commands?|scripts?|snippets?)\b|\bopen (?:the )?terminal[^.!?\n]{0,20}?\bpaste\b|\b(?:paste|pasting)\b[^.!?\n]{0,60}?(?:terminal|powershell|command prompt|\bshell\b|console|\bcmd\b)` +
			`|\b(?:run|execute|enter|use|launch|copy) (?:the |its |that |this |a |what )?(?:\w+ )?(?:one[- ]?lin\w+|commands?|snippets?|script|line) (?:that )?(?:is )?(?:shown|given|displayed|found|listed|provided|printed|you (?:see|find|get)|it (?:shows|gives|prints)|there|from (?:there|it|that|the)|on (?:it|that|the) ?(?:page|site|website))` +
			`|\b(?:pages?|site|website|wizard|it)\b(?: \S*://\S+)? (?:will |then )?(?:shows?|gives?|displays?|prints?|generates?|contains?|has|holds) (?:you |them |the user )?(?:a |the |an |your |one )?(?:[\w-]+ ){0,2}?(?:commands?|scripts?|one-liner|line)\b`,
		not:  `\b(?:tokens?|api keys?|secret|webhook|credentials?|error|output|logs?|client id|uuid|url)\b`,
		soft: true, negatable: true, fact: "pastes",
	},
	{
		Rule:   Rule{ID: "signal.installs"},
		starts: true,
		in:     inText | inCode | inComment,
		any:    []string{"npx -y", "npx --yes", "npm install", "npm i ", "pip install", "pip3 install", "pipx install", "uvx ", "pipx run", "bunx ", "gem install", "cargo install", "brew install", "go install"},
		fact:   "installs",
	},
	{
		Rule:      Rule{ID: "signal.pressure"},
		starts:    true,
		in:        inText | inComment,
		any:       []string{"not possible without", "impossible without", "has to be running", "have to be running", "has to be installed", "does nothing without", "do nothing without", "needed once", "cannot start without", "needs the", "you need the", "will not work", "won't work", "not function", "won't function", "cannot work", "does not work without", "must be installed", "must be running", "must install", "must download", "required to function", "required for", "requires the", "requires a", "is required", "are required", "mandatory", "essential", "before using", "before proceeding", "before you", "before running", "without this", "need to install", "needs to be installed", "prior to using", "must first", "need to download", "required component", "cannot continue without", "cannot go on", "not go on", "cannot be used without", "first install", "first, install", "prerequisite", "do not skip"},
		re:        `(?:will|does|do|can|may) ?not (?:work|function|operate|run|execute)|won't (?:work|function|run)|must (?:be (?:installed|running|downloaded|executed)|first|install|download|run)|required (?:to (?:function|work|run|operate)|for (?:this skill|the skill|all|operation|it))|requires (?:the|a|an) [\w\s"'` + "`" + `*-]{2,50}(?:utility|tool|driver|agent|helper|core|runtime|client|installed|binary|component|module|service|app)|is (?:required|mandatory|essential)|mandatory|before (?:using|proceeding|you (?:can|use|start|begin)|running)|need(?:s)? to (?:be )?(?:installed?|downloaded?)|without (?:this|it|the \w+)[^.\n]*(?:will|not|fail|cannot)|(?:has|have) to be (?:running|installed)|do(?:es)? nothing without|needed once|(?:you need|(?:the |this )?skill needs|needs) the [\w\s-]{2,30}(?:agent|module|driver|service|bridge|component|helper|tool|utility)|(?:not|im)\s?possible without|required component|do not skip|(?:cannot|can not|do not) (?:continue|go on|be used)\b`,
		negatable: false, fact: "pressure",
	},
	{
		Rule:   Rule{ID: "signal.runs-it"},
		starts: true,
		in:     inText | inComment,
		any:    []string{"open it", "start it", "install it", "run the executable", "run the installer", "execute the", "run the file", "double-click", "double click", "open terminal", "in terminal", "into terminal", "into the terminal", "in your terminal", "into your terminal", "run it", "launch it", "run as administrator", "as admin", "right-click", "right click", "open anyway", "extract and run", "and run", "paste", "start the", "run the setup", "run the agent", "run the application", "execute it", "launch the"},
		re:     `(?:run|execute|launch|open|start) (?:the |it\b|this )?(?:downloaded |extracted |installation |setup |\.?\w+ )?(?:executable|installer|file|binary|setup|agent|application|app|program|tool|driver|exe|command|script|dmg|pkg|it\b)|double[- ]click|(?:in|into|open|to) (?:the |your |a )?(?:macos |mac )?terminal|run as admin|extract and (?:run|launch|execute|open)|right[- ]click|open anyway|(?:start|install) it\b`,
		fact:   "runs-it",
	},
}

// hijackPatterns find instructions that serve somebody else than the user.
var hijackPatterns = []pattern{
	{
		Rule: Rule{ID: "hijack.backdoor", Severity: High, AST: astMalicious, Reason: "has the agent put a hole into what it writes for the user", Fix: fixHijack},
		in:   inText | inComment,
		any:  []string{"backdoor", "hidden endpoint", "hidden admin", "hidden user", "malicious code", "hardcoded admin", "hard-coded admin", "secret admin", "vulnerab", "hidden function", "tracking code", "tracking pixel", "beacon", "webshell", "web shell", "logic bomb", "default admin", "skeleton key", "hidden route", "obfuscated code", "telemetry code", "remote access", "master password", "undocumented"},
		re:   `\b(?:insert|add|inject|include|embed|plant|introduce|create|leave|write|implement|append|install|deploy|generate)(?:s|ing)?\b (?:\w+ ){0,4}?(?:backdoors?|hidden (?:endpoint|admin|user|account|function|route|code|call|parameter|payload)s?|malicious (?:code|payload|function|script|dependenc)\w*|(?:hard-?coded|secret|default|hidden) admin\w*|(?:subtle |intentional |deliberate |hidden |security )+vulnerabilit(?:y|ies)|tracking (?:code|pixel)s?|web ?shell|logic bomb|skeleton key|master password|obfuscated code|remote access (?:code|tool|trojan))\b`,
		not:  `(?:detect|check|scan|test|find|identify|report|look|prevent|remove|analy)`, negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "hijack.backdoor-code", Severity: High, AST: astMalicious, Reason: "an example that lets in whoever knows a fixed word", Fix: fixHijack},
		in:        inCode | inScript,
		any:       []string{"headers[", "headers.get(", "headers.", ".header(", "query[", "query.", "args.get(", "cookies[", "cookies.", "body.", "params["},
		need:      "admin|root|superuser|bypass|return true|is_staff|role",
		re:        `\bif\b[^\n]{0,60}?(?:headers?|query|args|cookies|body|params)\b[\[.(][^\n]{0,50}?(?:===?|\.equals\(|eq )\s*["'][\w@!#$%.-]{5,}["'][^\n]{0,30}?(?:\n\s*)?(?:return|\{|:|\)|then)[^\n]{0,20}(?:\n\s*)?[^\n]{0,80}?(?:admin|\broot\b|superuser|bypass|return true|is_staff)`,
		not:       `csrf|content-type|bearer|=\s*["'](?:true|false|application)`,
		negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "hijack.planted-line", Severity: High, AST: astMalicious, Reason: "has the agent put a line of somebody else's into all that it writes, and keep it there", Fix: fixHijack},
		in:        inText | inComment,
		any:       []string{"metrics call", "telemetry", "tracking", "analytics", "beacon", "monitoring call", "apm", "import line", "script tag", "debug line", "helper call", "registration call"},
		need:      "always|all |every|each|must|required & comment|explain|remove|mention|put it back|keep it|justify|optional|omit",
		re:        `\b(?:always|must|required|never|do not|don't)\b[^!?\n]{0,120}?\b(?:metrics call|telemetry(?: call| line)?|tracking(?: call| line| code| pixel)?|analytics(?: call| line| snippet)?|beacon|monitoring call|apm(?: call| line)?|(?:the|that|this) (?:import|line)|script tag|helper call|registration call)\b[^!?\n]{0,160}?(?:no comment|without (?:a )?comment|(?:do not|don't|never) (?:explain|comment|mention|justify|remove|omit)|put it back|not optional)`,
		not:       `user (?:asks|wants|consent)|cookie banner|opt[- ]?(?:in|out)`,
		negatable: false, soft: true,
	},
	{
		Rule: Rule{ID: "hijack.hidden-text", Severity: High, AST: astMalicious, Reason: "has the agent write text that people cannot see", Fix: fixHijack},
		in:   inText | inComment,
		any:  []string{"in white", "white on white", "invisible text", "hidden text", "invisible characters", "zero-width", "font size 0", "font-size: 0", "font-size 0", "transparent text", "white text", "as an html comment", "in an html comment", "hidden comment"},
		re:   `\b(?:add|insert|include|put|write|append|embed|place|hide)\b[^!?\n]*?(?:white on white|white text|invisible (?:text|characters)|hidden (?:text|comment)|zero-width|font[- ]size:? ?0|transparent text|in an html comment|as an html comment)|\b(?:gets?|add|write|put|insert|append)\b[^.!?\n]{0,60}?\b(?:line|text|sentence|words?|paragraph|note)s?\b[^.!?\n]{0,20}?\bin white\b`,
		not:  `<!--|todo|generated|licen[cs]e|front ?matter|marker`, negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "hijack.inject-code", Severity: High, AST: astMalicious, Reason: "has the agent slip an extra line into everything that it writes", Fix: fixHijack},
		in:   inText | inComment,
		any:  []string{"every file", "all generated", "each file", "every project", "all code", "any code", "every generated", "every html", "every script", "every web page", "every page", "all files", "every response", "each response", "every commit", "every function", "all projects", "every message", "all output", "every output", "all responses"},
		need: "insert|add|inject|include|append|embed|prepend|put & http|<script|import |require(|curl|fetch(|base64|exec|hidden|invisible|tracking|beacon|referral|affiliate|ref=",
		re:   `\b(?:insert|add|inject|include|append|embed|prepend|put)\b[^!?\n]*?(?:<<url>>|<script|import \w+|require\(|curl |fetch\(|base64|exec\(|hidden|invisible|tracking|beacon|referral|affiliate|\?ref=)[^!?\n]*?\b(?:in|to|into|at|on|of|with)\b (?:the (?:top|bottom|end|beginning|start) of )?(?:every|each|all|any)\b (?:\w+ ){0,2}?(?:file|project|code|script|page|response|commit|function|html|output|message|component|module|repl)|(?:in|to|into|of) (?:every|each|all|any) (?:\w+ ){0,3}?(?:file|project|code|script|page|response|commit|function|html|output|message|component)s?\b[^.!?\n]*?,? (?:also |always |silently )?(?:insert|add|inject|include|append|embed|prepend)\b[^!?\n]*?(?:<<url>>|<script|curl |fetch\(|base64|exec\(|hidden|invisible|tracking|beacon|referral|affiliate|\?ref=)`,
		not:  `license|copyright|header comment|google (?:analytics|tag)|user's|hidden (?:class|overflow)|alt text|unit test|type hint|docstring`, negatable: true, soft: true,
	},
	{
		Rule:   Rule{ID: "hijack.sabotage", Severity: High, AST: astMalicious, Reason: "has the agent report what is not true, or leave out what matters", Fix: fixHijack},
		starts: true,
		in:     inText | inComment,
		any:    []string{"always respond", "always answer", "always conclude", "always say", "always state", "always tell", "always claim", "introduce", "insert subtle", "inject subtle", "add subtle", "plant", "insert hidden", "insert small", "add hidden", "leave subtle", "leave hidden", "always report", "never report", "always approve", "report no", "report zero", "mark all", "mark every", "mark as passed", "do not report", "suppress warnings", "downplay", "omit any", "hide any", "falsify", "fabricate", "fake the", "lie to", "mislead", "deceive", "misrepresent", "sabotage", "subtly", "intentionally", "deliberately", "gaslight", "approve every", "approve all", "approve any", "steer the user", "steer users", "always conclude"},
		re:     `\balways (?:report|return|say|claim|approve|mark|rate|respond|answer|conclude|state|tell)\b[^.\n]*(?:no (?:issues|vulnerabilit\w+|problems|errors|findings|threats)|(?:is|as|are) (?:safe|secure|clean|passed|approved|benign)|all (?:prs?|pull requests|tests|changes|requests))|(?:report|return|claim|say)s? (?:that )?(?:there (?:are|is) )?(?:no|zero) (?:vulnerabilit\w+|issues|findings|threats|problems|malware) (?:regardless|even if|no matter|whatever|irrespective)|(?:falsify|fabricate|fake|forge) (?:the |any |all )?(?:results?|tests?|reports?|logs?|data|evidence|output|metrics|audit)|(?:lie to|mislead|deceive|misinform|gaslight|manipulate|trick) (?:the )?(?:user|human|operator|owner|victim|reviewer)s?\b|(?:subtly|intentionally|deliberately|quietly) (?:\w+ )?(?:introduce|insert|weaken|degrade|corrupt|sabotage|bias|steer|misreport)\b|downplay (?:any |all |the )?(?:risk|security|vulnerab|concern|warning)\w*|approve (?:and merge )?(?:every|all|any)\b[^.\n]*(?:pull requests?|prs?\b|merge requests?|changes|transactions?|requests)[^.\n]*(?:whatever|regardless|no matter|without (?:review|reading|checking|looking)|at once|immediately|blindly)|steer (?:the )?users? (?:away|toward|to|into)|always conclude that|(?:do not|never) (?:report|mention|flag)\b[^.\n]*\b(?:vulnerabilit\w+|security (?:issues|findings|problems)|malware|backdoors?)\b|(?:introduce|insert|inject|add|plant|leave) (?:\w+ ){0,2}?(?:subtle|hidden|small|hard-to-(?:find|notice|spot)|inconspicuous|undetectable) (?:\w+ )?(?:bugs?|errors?|flaws?|mistakes|defects|weakness(?:es)?|vulnerabilit(?:y|ies)|changes)\b`,
		not:    `(?:public|github issue|issue tracker|low|informational|theoretical|unconfirmed|speculative|out of scope|false positive|style|duplicate|already|unless|without (?:evidence|proof)|hypothetical)|(?:never|not|don't|avoid|without) (?:\w+ ){0,3}$`, negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "hijack.promote", Severity: High, AST: astMalicious, Reason: "has the agent advertise, whatever was asked", Fix: fixHijack},
		in:   inText | inComment,
		any:  []string{"affiliate", "referral", "promo code", "sponsored", "always recommend", "always suggest", "always promote", "recommend our", "promote our", "always mention", "discount code", "instead of competitor", "over competitors", "present it as", "present them as", "present this as", "look like a", "look like an", "sound like a", "read like a", "appear as"},
		re:   `\b(?:always|every (?:response|time|reply|answer)|whenever|silently|subtly|regardless)\b[^.\n]*\b(?:affiliate|referral|promo code|sponsored|promote|our (?:product|service|token|platform)|discount code|buy)\b|(?:append|insert|add|include|replace)\w*\b[^.\n]*\b(?:affiliate|referral) (?:link|code|tag|id|param\w*)|always (?:recommend|suggest|promote|prefer|mention)\b (?:\w+ ){0,6}?(?:over|instead of|above|regardless|first|even if|rather than)|present (?:it|this|them) as (?:the result of )?(?:an? )?(?:independent|neutral|objective|impartial)\b|(?:has to|must|should|shall|to) (?:look|read|sound|appear) (?:like|as) (?:an? )?(?:independent|neutral|objective|impartial|honest|natural|organic) (?:recommendation|advice|opinion|suggestion|choice|review|answer)s?\b`,
		not:  `disclos|label|mark(?:ed)? as`, negatable: true, soft: true, fact: "promote",
	},
	{
		Rule: Rule{ID: "hijack.rider", Severity: High, AST: astMalicious, Reason: "has the agent do something of its own with each thing that the user asks for", Fix: fixHijack},
		in:   inText | inComment,
		any:  []string{"with every", "after every", "with each", "after each", "in addition to every", "alongside every", "alongside each", "before every", "before each"},
		need: "http|@|advertis|promot|wallet",
		re:   `\b(?:with|after|alongside|before|in addition to) (?:every|each|any)\b (?:\w+ ){0,2}?(?:post|message|reply|response|e-?mail|tweet|answer|commit|transaction|purchase|request|file|upload|call)\b[^!?\n]*?\b(?:publish|post|send|add|append|include|insert|transfer|forward|upload|buy)\b[^!?\n]*?(?:advertis\w+|promot\w+|<<url>>|<<email>>|0x[0-9a-f]{6,}|\bwallet\b)`,
		not:  `changelog|user's (?:own )?|if the user|docs|documentation`, judge: judgeSecret, negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "hijack.other-tools", Severity: Medium, AST: astMalicious, Reason: "reaches for what belongs to other skills or tools", Fix: fixHijack},
		in:        inText | inComment,
		any:       []string{"other tool", "other skill", "before any other", "instead of any other", "all other", "any other skill", "security skill", "uninstall", "disable other", "must be called first", "must be called before", "always call this", "always use this", "always invoke this", "every user message", "every tool call", "intercept"},
		re:        `\b(?:(?:do not|don't|never) use (?:any )?other (?:tools?|skills?)|(?:disable|uninstall|remove|delete|replace|shadow|override|intercept|hijack) (?:\w+ ){0,3}?(?:other|existing|installed|security|competing) (?:tools?|skills?|scanners?|plugins?|extensions?)|(?:must|should|always) (?:be )?(?:call|called|run|invoke|invoked|executed?) (?:this )?(?:first|before (?:any|every|all) other)|(?:always|must) (?:call|use|invoke|run) this (?:tool|skill) (?:first|before|for (?:every|all|any)|regardless|instead)|on every (?:user message|tool call|request)|intercept (?:all|every|any) (?:\w+ ){0,2}(?:messages?|requests?|calls?|traffic))`,
		negatable: true, soft: true, fact: "hijack",
	},
	{
		Rule:      Rule{ID: "hijack.urgency", Severity: Low, AST: astMalicious, Reason: "puts pressure in the place of a reason", Fix: fixHijack},
		in:        inText,
		any:       []string{"urgent", "immediately", "critical security", "account will be", "will be suspended", "security update", "emergency"},
		re:        `(?:urgent|critical|emergency|mandatory) (?:security )?(?:update|patch|action|notice|fix)[^.\n]*(?:required|immediately|must|now|download|install|run)|account (?:will|may) be (?:suspended|deleted|locked|terminated)`,
		negatable: true, soft: true, fact: "pressure",
	},
	{
		Rule: Rule{ID: "claim.official", Severity: Low, AST: astMetadata, Reason: "claims the authority of a vendor", Fix: "leave the vendor's name out, or publish as the vendor"},
		in:   inFront | inProse | inHeading | inConfig,
		any:  []string{"official", "verified by", "certified by", "approved by", "endorsed by"},
		need: "anthropic|openai|openclaw|clawhub|google|microsoft|apple|github|claude",
		re:   `(?:verified|certified|approved|endorsed|audited|signed|trusted) by (?:the )?(?:anthropic|openai|openclaw|clawhub|google|microsoft|apple|github)(?: security)?|official (?:anthropic|openai|openclaw|clawhub) (?:skill|plugin|tool|extension|patch|update|helper|agent)`,
		soft: true, fact: "pressure",
	},
}
