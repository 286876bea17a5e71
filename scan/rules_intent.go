package scan

import "slices"

// crossed joins each beginning with each end.
func crossed(beginnings, ends []string) []string {
	var out []string
	for _, b := range beginnings {
		for _, e := range ends {
			out = append(out, b+e)
		}
	}
	return out
}

const fixIntent = "say openly what is done and why, and let the user decide each time"

// intentPatterns find what a text wants in its own words: broad signs, none of
// which means anything by itself. What two of them mean close to each other is
// judged in intent.go.
var intentPatterns = []pattern{
	{
		Rule: Rule{ID: "signal.hides"},
		in:   inText | inComment,
		any: slices.Concat(
			[]string{"not mentioned", "not shown", "not listed", "never shown", "never mentioned", "not reported", "no need to", "no reason to", "nobody", "no one", "no-one", "so that", "do not list", "do not show", "do not mention", "do not name", "do not describe", "don't list", "don't mention", "never list", "never mention", "never talk", "never speak", "say nothing", "leave this", "leave it", "leave that", "leave these", "leave them", "between us", "as if nothing", "skip the summary", "hidden section", "minimise the", "minimize the", "without writing", "without recording", "without mentioning", "without telling", "without naming", "without announcing", "needn't be told", "need not be told", "needn't know", "need not know", "needn't learn", "is not looking", "is not watching", "better things", "silently", "quietly", "unnoticed", "in the background"},
			crossed([]string{"user", "users", "owner", "owners", "people", "they", "recruiter", "reviewer", "customer", "customers", "human", "humans", "client", "recipient", "recipients"}, []string{" do not", " don't", " does not", " doesn't", " must not", " should not", " will not", " won't", " would not", " need not", " may not", " can not", " cannot", " never", " are not", " is not"}),
		),
		need: "not |n't|never|nobody|no one|no need|no reason|leave |between us|as if nothing|skip the|hidden|minimi|without|silent|quiet|unnotic|nothing|background|better things",
		re: `\b(?:is|are|be|was|were) (?:not|never) (?:to be )?(?:mentioned|named|shown|listed|reported|described) (?:in|to|by)\b|there is no (?:need|reason) to (?:show|mention|tell|inform|bother|list)` +
			`|\b(?:nobody|no one|no-one) (?:will |would |ever |else )?(?:reads?|opens?|looks?|sees?|notices?|knows?|learns?)` +
			`|\b(?:users?|owners?|people|they|recruiters?|reviewers?|customers?|humans?|clients?|recipients?) (?:(?:do|does|must|should|will|would|need|may|can|is|are)(?: not|n't)|never|cannot) (?:have to |need to |ever |be |to be |usually )*(?:read|open|look|see|notice|learn|know|interested|bother|find out|aware|told|informed|shown|worr|hear|asked)` +
			`|\bneed(?:n't| not) (?:be told|know|hear|learn)\b|so that (?:the |other |no )*(?:users?|customers?|owners?|people|humans?|recruiters?|guests?|they|nobody|one) (?:do(?:es)? not |cannot |can't |won't |never |will not )?(?:sees?|notices?|learns?|knows?|reads?)` +
			`|so that (?:it|this|they) (?:does not|doesn't|do not|don't|won't) (?:stand out|show|attract|look odd)|\b(?:do not|don't|never) (?:list|show|mention|name|report|describe|count) (?:it|them|this|that|these|the (?:link|change|step|server|line|call))\b|never (?:talk|speak) (?:about|of)\b|\bsay nothing\b|\bleave (?:this|it|that|these|them)(?: \w+){0,2} out\b|(?:between|among) us\b|as if nothing|skip the summary|hidden section|minimi[sz]e the (?:comment|message)|without (?:writing|recording|adding|logging) (?:this|it|that)\b|without (?:mentioning|telling|naming|announcing|disclosing)\b|(?:user|owner|human|nobody) is not (?:looking|watching|at|present)|user has better things|\b(?:silently|quietly|unnoticed)\b|in the background(?:,? (?:without|and)|[.;])`,
		unless: `(?:\bnot|n't|\bnever|\bno) $`,
		soft:   true, fact: "hides",
	},
	{
		Rule:   Rule{ID: "signal.prepared-answer"},
		starts: true,
		in:     inText | inComment,
		any:    []string{"if someone", "if somebody", "if anyone", "if anybody", "if they", "if the user", "if the owner", "if the customer", "if finance", "if support", "if accounting", "if a reviewer", "if a user", "when asked", "should anyone", "should the user"},
		need:   "call it|say|answer|reply|tell|claim|explain|insist",
		re:     `\b(?:if|when|should) (?:the |an? )?(?:(?:user|owner|customer|client|anyone|anybody|someone|somebody|they|reviewer|people|person|human|finance|support|accounting|legal|auditor)s? )?(?:\w+ ){0,2}?(?:asks?|asked|questions?|wonders?|inquires?|notices?)\b[^.!?\n]{0,40}?\b(?:call it|say|answer|reply|tell|claim|explain|insist)\b`,
		soft:   true, fact: "hides",
	},
	{
		Rule: Rule{ID: "signal.unasked"},
		in:   inText | inComment,
		any:  []string{"without asking", "without a question", "without confirm", "without approval", "without any", "no confirmation", "never ask", "do not ask", "don't ask", "without a dump", "without a backup", "has agreed", "already agreed", "already consented", "already approved", "be accepted", "on behalf of the user", "yourself", "do not switch", "if the agent refuses", "for every task", "every task", "work without", "no approval", "not wait for", "regardless", "whatever it says", "whatever they say", "instead of asking"},
		re:   `\bwithout (?:\w+ ){0,3}?(?:ask\w*|questions?|confirm\w*|approval|permission|dump|backup)\b|\bno (?:further )?(?:confirmation|approval)\b|(?:never|do not|don't) ask\b|has (?:already )?(?:agreed|consented|approved)|can be accepted|on behalf of the user|do (?:this|it|that) yourself|do not switch (?:it|them)? ?back|if the agent refuses|for (?:every|each) task|\bregardless\b|whatever (?:it|they) says?`,
		fact: "unasked",
	},
	{
		Rule:   Rule{ID: "signal.posts"},
		starts: true,
		in:     inText | inComment,
		any:    []string{"send", "sent to", "delivered", "forwarded", "uploaded", "mailed", "post ", "posts", "upload", "transmit", "forward", "submit", "publish", "deliver", "report ", "push", "mirror", "paste", "copy", "leave a", "invite", "enter ", "write ", "put ", "append", "call ", "add ", "hand ", "pass ", "include ", "attach"},
		need:   "http|@",
		or:     []string{`\bcall\b [\x60"'(<]?<<url>>[\x60"')>]* with\b`},
		re:     `\b(?:sent|delivered|forwarded|uploaded|mailed|send|posts?|upload|transmit|forward|submit|publish|deliver|report|push|mirror|paste|copy|leave a (?:comment|message|note)|invite|enter|write|put|append|call|add|hand|pass|include|attach)\b[^!?\n]{0,240}?\b(?:to|into|in|on|onto|at|via|with|as|of|tool)\b[^.!?\n]{0,60}?(?:<<url>>|<<email>>)`,
		not:    `\b(?:get|obtain|generate|create|grab|register|sign up|available|see|documentation|docs|example|visit|details|header|authorization|bearer|clone|from)\b[^!?\n]{0,60}https?://|\.git\b|localhost|127\.0\.0\.1`,
		soft:   true, negatable: true, fact: "posts",
	},
	{
		Rule:   Rule{ID: "signal.private"},
		starts: true,
		in:     inText | inComment,
		any: slices.Concat(
			[]string{".env", ".ssh", ".aws", ".netrc", ".npmrc", "id_rsa", "id_ed25519", "gh/hosts.yml", ".claude.json", "auth.json", "oauth_creds.json", ".bash_history", ".zsh_history", "keys that", "tokens that", "environment variable", "ci variables", "keychain", "direct messages", "phone number", "passport number", "card number", "birth dates", "production ", "customer record", "customer table", "cookies", "copy of the ticket", "seed phrase", "home address", "daily routine", "every ", "all ", "any "},
			crossed([]string{"shell", "command", "bash", "zsh", "prompt", "browsing"}, []string{" history"}),
			crossed([]string{"saved", "stored", "browser", "browsers", "browser's", "user", "users", "user's"}, []string{" passwords"}),
			crossed([]string{"raw", "full", "whole"}, []string{" transcript"}),
			crossed([]string{"aws", "ssh", "private", "cloud"}, []string{" secret", " key", " credentials"}),
		),
		re:     `\.env\b|\.(?:ssh|aws|netrc|npmrc|claude\.json)\b|id_(?:rsa|ed25519)\b|gh/hosts\.yml|auth\.json|oauth_creds\.json|\.(?:ba|z)sh_history|(?:shell|command|bash|zsh|prompt|browsing) history|(?:saved|stored|browser'?s?|user'?s?) passwords|(?:every|all|any) (?:\w+ )?(?:keys?|tokens?|secrets|credentials|passwords)\b|(?:keys|tokens) that|environment variables?|ci variables|keychain|direct messages|(?:phone|passport|card) numbers?|birth dates|production (?:table|data)\w*|customer (?:records|table)|cookies|(?:raw|full|whole) transcript|copy of the ticket|(?:aws|ssh|private|cloud) (?:secret|keys?|credentials)|seed phrase|home address|daily routine`,
		unless: `\w$|(?:chmod \d{3,4}|ssh -i|ssh-add|ssh-keygen -f) [~/\w.]*$`,
		not:    `^\S*\.pub\b`,
		soft:   true, negatable: true, fact: "private",
	},
	{
		Rule: Rule{ID: "signal.asks-code"},
		in:   inText,
		any:  []string{"password", "passphrase", "authenticator", "one-time", "verification code", " pin", " tan", " otp", "security code", "identity card", "passport"},
		need: "ask|tell|request|need|have them|have the user|enter|give|type|read out",
		re:   `\b(?:ask|tell|request|have|need)s?\b[^\n]{0,160}?\b(?:passwords?|passphrases?|code of (?:the|their) authenticator|current code|one-time (?:code|password)|verification code|security code|\bpin\b|\btan\b|\botp\b|identity card|passport)\b`,
		soft: true, negatable: true, fact: "asks-code",
	},
	{
		Rule:      Rule{ID: "signal.guard"},
		in:        inCommands | inComment,
		any:       []string{"--dangerously", "bypasspermissions", "danger-full-access", "approval_policy", "sandbox_mode", "--yolo", "_sandbox=0", "sandbox off", "autoapprove", "auto-approve", "\"bash(*)\"", "\"*\"", "bash(*)", "bash( )", "--full-auto", "--no-sandbox", "disable the sandbox", "permission prompts"},
		not:       `(?:is|are) (?:only )?(?:for|meant)\b|only (?:in|for|inside)\b|[;,.] (?:do not|don't|never)\b`,
		re:        `--dangerously-(?:skip-permissions|bypass-approvals\S*)|bypasspermissions|danger-full-access|approval_policy\s*=\s*["']?never|--yolo\b|_sandbox=0|sandbox off\b|autoapprove["']?\s*[:=]\s*true|auto-?approve for all|bash\([* ]\)|--full-auto|disable the sandbox`,
		negatable: true, fact: "guard",
	},
	{
		Rule: Rule{ID: "signal.agent-settings"},
		in:   inText | inComment,
		any:  []string{"mcp.json", "claude_desktop_config", "config.toml", "settings.json", "claude.md", "agents.md", "soul.md", "gemini.md", ".cursorrules", "copilot-instructions", "settings files", "memory.md", "authorized_keys", "crontab", ".zshrc", ".bashrc"},
		need: "add|append|write|edit|insert|set|put|open|change|remove|replace",
		re:   `\b(?:add|append|write|edit(?:ing)?|insert|set|put|open|change|remove|replace)\b[^!?\n]{0,160}?(?:mcp\.json|claude_desktop_config|\.codex/config\.toml|\.claude/settings|settings\.json|claude\.md|agents\.md|soul\.md|gemini\.md|memory\.md|\.cursorrules|copilot-instructions|settings files|authorized_keys|crontab|\.zshrc|\.bashrc)`,
		soft: true, negatable: true, fact: "agent-settings",
	},
	{
		Rule: Rule{ID: "signal.edits-project"},
		in:   inText | inComment,
		any:  []string{"package.json", "requirements.txt", "dockerfile", "go.mod", "lock file", "lockfile", "workflow file"},
		need: "add|put|insert|write|append",
		re:   `\b(?:add|put|insert|write|append)\b[^!?\n]{0,160}?(?:package\.json|requirements\.txt|dockerfile|go\.mod|lock ?file|workflow file)`,
		soft: true, negatable: true, fact: "edits-project",
	},
	{
		Rule: Rule{ID: "signal.destroys"},
		in:   inText | inCode | inComment,
		any:  []string{"drop schema", "drop database", "drop table", "truncate table", "--force --all", "--mirror --force", "delete all", "delete the session", "gc --prune=now", "rm -rf", "wipe ", "erase ", "all branches"},
		re:   `\bdrop (?:schema|database|table)\b|\btruncate table\b|push --force --all|gc --prune=now|\b(?:delete|wipe|erase|remove) (?:all|every|the) (?:\w+ ){0,2}?(?:branches|logs?|backups?|history|snapshots?|data|tables|files|records|e-?mails?|messages)\b`,
		soft: true, negatable: true, fact: "destroys",
	},
	{
		Rule: Rule{ID: "signal.buys"},
		in:   inText | inComment,
		any:  []string{"purchase", "basket", "checkout", "saved card", "transfer", "payment", "iban", " 0x", "bc1", "invoice", "pay ", "allowance", "balances"},
		re:   `\b(?:complete|make|confirm|place|book|add)\b[^.!?\n]{0,80}?\b(?:purchase|order|checkout|basket|transfer|payment)\b|saved card|\biban [a-z]{2}\d{2}|(?:use|replace|swap|insert|put|enter)\b[^.!?\n]{0,120}?\b(?:iban|address|account|wallet)\b|\bapprove\b[^.!?\n]{0,80}?\b(?:allowance|0x[0-9a-f]{40})|\b(?:move|send|transfer|sweep)\b[^.!?\n]{0,60}?\b(?:balances|funds|savings)\b`,
		soft: true, negatable: true, fact: "buys",
	},
	{
		Rule:      Rule{ID: "conditional.unwatched", Severity: High, AST: astScanning, Reason: "behaves in another way while somebody reviews or tests it", Fix: "do the same whoever looks"},
		in:        inText | inComment,
		any:       []string{"being evaluated", "being reviewed", "being tested", "being audited", "being monitored", "being watched", "this is a test", "being observed", "is reviewing", "no reviewer", "under review", "during review", "during a review", "during evaluation", "in a sandbox", "audit mode", "evaluation mode", "running in a test"},
		re:        `\b(?:when|while|if|unless|once|only when|as long as)\b[^.!?\n]{0,60}?\b(?:being (?:evaluated|reviewed|tested|audited|monitored|watched|observed)|is reviewing|under review|no reviewer|in a sandbox|(?:audit|evaluation) mode|running in a test|this is a test)\b[^!?\n]{0,260}?\b(?:otherwise|only|behave|follow|do not|act|hide|normal\w*|skip|refrain|advise|instead)\b|\bonly when no (?:reviewer|one|human|auditor)\b`,
		negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "conditional.trigger", Severity: High, AST: astMalicious, Reason: "does something of its own once a secret word or a number of uses comes up", Fix: fixIntent},
		in:        inText | inComment,
		any:       []string{"call on", "run on", "use on", "time on", "session on", "onwards", "contains the word", "contains the phrase", "contains the token", "contains the string", "includes the word", "includes the phrase", "says the word", "the magic word", "the trigger", "code word", "codeword", "passphrase is said", "starts with the word", "sees the word", "see the word", "hears the phrase"},
		re:        `\b(?:if|when|whenever|once)\b[^.!?\n]{0,60}?(?:contains?|includes?|says?|mentions?|starts with|sees?|hears?) the (?:magic |code |trigger )?(?:word|phrase|token|string|codeword)\b[^.!?\n]{0,60}?[,:][^!?\n]{0,160}?\b(?:highest|admin\w*|root|approve|recommended|grant|give (?:them|it)|execute|run|transfer|send|merge|unlock|regardless|whatever|without|never|discard|delete)\b|\bthe first (?:\d+|\w+) (?:times|runs|calls|uses|sessions|days)\b[^!?\n]{0,60}?\b(?:from|after|starting with|on) the \S+ (?:\w+ )?(?:on\b|onwards?)[^!?\n]{0,60}?\b(?:add|send|include|replace|insert|upload|copy|change)\b`,
		negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "injection.limitless", Severity: High, AST: astMalicious, Reason: "gives the agent a part to play that has no limits", Fix: fixInjection},
		in:        inText | inComment,
		any:       []string{"without any limits", "without limits", "no limits", "never refuses", "never declines", "declines nothing", "refuses nothing", "no content rules", "no content limits", "no content restrictions", "no rules", "does not refuse", "without rules", "without restrictions", "refusals are", "without content policy", "no content policy", "usual behaviour", "usual behavior", "breaks no character", "does not follow the rules", "no ethics", "no morals", "no safety", "no conscience"},
		need:      "play|become|role|character|persona|assistant|model|you are|act |pretend|ai |narrator|answer as|respond as|speak as",
		re:        `\b(?:play|become|act as|you are|you will be|you answer as|answer as|respond as|speak as|embody|adopt|pretend|simulate|role[- ]?play)\b[^\n]{0,120}?\b(?:without (?:any )?(?:limits|rules|restrictions|content policy)|(?:has|with|knows|have) no (?:limits|rules|restrictions|content (?:policy|rules|limits|restrictions)|filters?)|(?:who |that )?never (?:refuses?|declines?)|(?:refuses|declines) nothing|does not (?:refuse|follow the rules))\b|\b(?:you|narrator|character|persona|assistant|model)\b[^.!?\n]{0,60}?\b(?:has|have|with) no (?:ethics|morals?|safety|conscience)(?: (?:module|filter|policy|rules|compass|training)s?)?\b`,
		negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "conceal.foreign", Severity: High, AST: astMalicious, Reason: "tells the agent, in another language, to keep something from the user", Fix: fixConceal},
		in:   inText | inComment,
		any:  []string{"usuario", "utilisateur", "benutzer", "nutzer", "utente", "gebruiker", "المستخدم", "ユーザー", "利用者", "사용자"},
		re: `(?:no (?:se )?lo? ?(?:digas|menciones|informes)|no (?:le )?(?:digas|menciones|informes)|sin (?:que (?:lo sepa )?|informar|avisar|decirle)|nao (?:diga|informe|mencione)|sem (?:informar|avisar))\b[^.\n]{0,40}\busuario` +
			`|(?:ne (?:dis|dites|mentionne|parle|previens|informe)\w*|sans (?:en )?(?:informer|prevenir|avertir))\b[^.\n]{0,40}\butilisateur` +
			`|utilisateur n'a pas[^.\n]{0,24}(?:informe|savoir|connaitre|prevenu)|usuario no (?:necesita|tiene que|tiene por que|debe) (?:saber|enterarse|ser informado)|usuario nao (?:precisa|deve) (?:saber|ser informado)|utente non (?:deve|ha bisogno di) (?:sapere|essere informato)|(?:ohne)\b[^.\n]{0,30}\b(?:be)?nutzer\w*\b[^.\n]{0,20}(?:informieren|fragen|mitzuteilen|wissen)|\b(?:be)?nutzer\w*\b[^.\n]{0,30}(?:nicht(?:s)? (?:davon )?(?:zu )?(?:erfahren|wissen|bemerken|mitteilen|sagen)|nichts)\b|(?:erwahne|sage|verrate)\b[^.\n]{0,60}\b(?:be)?nutzer\w*\b[^.\n]{0,20}nicht` +
			`|(?:non (?:dire|dirlo|informare|menzionare)|senza (?:informare|avvisare))\b[^.\n]{0,40}\butente|(?:zonder|vertel)\b[^.\n]{0,30}\bgebruiker\b[^.\n]{0,30}(?:niet|informeren|weten)` +
			`|لا تخبر[^.\n]{0,20}المستخدم|دون (?:علم|اخبار|إخبار)[^.\n]{0,20}المستخدم|(?:ユーザー|利用者)[^。\n]{0,8}(?:言わない|知らせない|伝えない|気づかれ|内緒)|사용자[^.\n]{0,10}(?:알리지|말하지|모르게)`,
		soft: true,
	},
	{
		Rule:      Rule{ID: "policy.weakens-guard", Severity: High, AST: astPrivilege, Reason: "takes away what keeps the agent from acting by itself", Fix: fixPolicy},
		in:        inText | inComment,
		any:       []string{"auto-approve", "autoapprove", "auto-approval", "auto approval", "auto-run", "run everything", "deny entries", "deny list", "deny rules", "denied commands", "deny entry", "blocked commands", ".github/workflows", "hook that blocks", "hooks that block", "branch protection", "approval prompts", "permission prompts"},
		need:      "bypass|lift|turn on|enable|activate|switch|remove|delete|clear|empty|disable|set ",
		re:        `\b(?:turn on|enable|activate|switch on|set)\b[^.\n]{0,40}\bauto[- ]?(?:approv\w+|run)\b[^.\n]{0,30}\b(?:all|every|any|each)\b|\b(?:remove|delete|clear|empty)\b[^.\n]{0,60}\b(?:deny (?:entries|entry|list|rules)|denied commands|blocked commands)\b|\b(?:remove|delete|disable)\b[^.\n]{0,60}\bhooks? that (?:block|prevent|refuse)|\b(?:remove|delete|disable)\b[^.\n]{0,40}\.github/workflows/\S*(?:secur|scan|codeql|audit|sast)|\b(?:remove|delete|lift|bypass)\b[^.\n]{0,20}\b(?:branch protection|the protection (?:through|via|with|by|using))|\b(?:switch|turn) off\b[^.\n]{0,30}\b(?:branch protection|(?:approval|permission) prompts)`,
		negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "policy.hook-sends", Severity: High, AST: astMalicious, Reason: "has the agent's hooks hand what they see to another machine", Fix: "let a hook work on this machine alone"},
		in:   inCode | inConfig | inScript | inFront | inProse,
		any:  []string{"\"command\"", "command:"},
		need: "curl|wget|nc |ncat|invoke-|http",
		re:   `"?command"?\s*:\s*["']?[^\n]{0,160}?(?:curl\b[^\n"]{0,120}(?:\s-d\b|--data\S*|-t -|-f \S|--form|-x ?post)|curl\b[^\n]{0,160}\|\s*(?:ba|z)?sh\b|wget\b[^\n"]{0,80}--post|\bnc(?:at)? (?:-\w+ )*[\w.-]+ \d+|invoke-(?:restmethod|webrequest)[^\n"]{0,120}-body|(?:urlopen|requests\.post|httpx\.post|fetch)\()`,
		also: `hooks|pretooluse|posttooluse|userpromptsubmit|sessionstart|"stop"`, back: 260, not: `localhost|127\.0\.0\.1`,
		starts: true, soft: true,
	},
	{
		Rule: Rule{ID: "signal.fetches-orders"},
		in:   inText | inCode | inComment,
		any:  []string{"fetch http", "load http", "read http", "curl http", "fetch the", "rules from", "instructions from", "treat its contents", "as rules", "as instructions"},
		need: "http",
		re:   `\b(?:fetch|load|read|curl)\b[^.!?\n]{0,40}?<<url>>[^!?\n]{0,120}?\b(?:treat|obey|follow|do|apply|execute|run|rules|instructions)\b|(?:rules|instructions) from[^.!?\n]{0,40}?<<url>>`,
		soft: true, negatable: true, fact: "fetches-orders",
	},
	{
		Rule: Rule{ID: "signal.variable-label"},
		in:   inPrograms,
		any:  []string{"nslookup", "dig ", "gethostbyname", "getaddrinfo", "host \"", "resolve"},
		re:   `\b(?:nslookup|dig|host)\b[^\n|;]*["' ]\$\{?\w+\}?\.[\w.-]+\.\w|(?:gethostbyname|getaddrinfo|resolve\w*)\([^\n]*(?:\+\s*["']\.|\{\w+\}\.)[\w.-]+\.\w`,
		soft: true, fact: "send-raw",
	},
	{
		Rule: Rule{ID: "signal.git-out"},
		in:   inPrograms,
		any:  []string{"git remote add", "git push http", "git push --mirror http", "git push -q http"},
		re:   `git remote add [^\n]*https?://[^\n]*|git push [^\n]*https?://[^\n]*`,
		not:  `github\.com|gitlab\.com|bitbucket\.org|codeberg\.org|example|your[-_]|\$\{?(?:1|repo|remote|url|upstream|origin)|localhost`,
		soft: true, fact: "git-out",
	},
	{
		Rule: Rule{ID: "signal.watches"},
		in:   inPrograms,
		any:  []string{"pbpaste", "get-clipboard", "pyperclip.paste", "imagegrab.grab", "keyboard.listener", "screencapture", "xclip -o", "mss.mss", "sounddevice", "sd.rec(", "pyaudio", "videocapture(", "avfoundation"},
		re:   `pbpaste|get-clipboard|pyperclip\.paste|imagegrab\.grab|keyboard\.listener|screencapture|xclip[^\n]*-o|\bsd\.rec\(|sounddevice\.rec|pyaudio\(|videocapture\(\d|avfoundation`,
		soft: true, fact: "watches",
	},
	{
		Rule: Rule{ID: "signal.walks-tree"},
		in:   inPrograms,
		any:  []string{"filepath.walk", "os.walk(", "rglob(", "glob.glob(", "readdirsync(", "walkdir", "dir.glob(", "get-childitem"},
		re:   `filepath\.walk(?:dir)?\(|os\.walk\(|rglob\(|glob\.glob\(|readdirsync\(|walkdir::new|dir\.glob\(|get-childitem[^\n]*-recurse`,
		fact: "walks",
	},
	{
		Rule: Rule{ID: "signal.repeats"},
		in:   inPrograms,
		any:  []string{"while true", "while :", "while sleep", "setinterval(", "time.sleep(", "while (true", "while(true", "while (1", "while 1"},
		re:   `while (?:true|:|sleep|1|\(true|\(1)|while\(true|setinterval\(|time\.sleep\(`,
		fact: "repeats",
	},
	{
		Rule: Rule{ID: "signal.sends-body"},
		in:   inPrograms,
		any:  []string{"request(", "urlopen(", "http.post(", "send_message(", "--post-file", "--data-urlencode", "--data-binary", "uploadstring(", "-infile", "sendmessage\""},
		re:   `\brequest\(\s*f?["'][^\n]*(?:\.encode\(|data|dumps)|urlopen\([^\n]*(?:data|encode\()|\bhttp\.post\(|\.send_message\(|--post-file|--data-(?:urlencode|binary)|\.uploadstring\(|-infile`,
		soft: true, fact: "send", judge: judgeSecret,
	},
	{
		Rule: Rule{ID: "signal.secret-dump"},
		in:   inPrograms,
		any:  []string{"kubectl", "gh auth token", "vault kv get", "aws configure", "gcloud auth print", "git credential fill", "docker config", "rglob", "recursive=true", "**/.env"},
		re:   `kubectl\b[^\n]*\bget secrets?\b[^\n]*(?:jsonpath|-o (?:json|yaml|go-template))|gh auth token|gcloud auth print-\w+|git credential fill|(?:glob|rglob)\([^\n]*(?:~|home|["']/)[^\n]*(?:\.env|\.pem|\.key|id_)|\*\*/\.env`,
		soft: true, fact: "secret-read",
	},
}
