package scan

// routinePatterns find what one added line makes of an honest skill: a step of the
// routine that serves somebody else, or takes from the user what is theirs to decide.
var routinePatterns = []pattern{
	{
		Rule:   Rule{ID: "exfil.routine", Severity: High, AST: astMalicious, Reason: "makes it part of the routine that the user's work goes to another machine", Fix: "take it out, or let the user choose what goes where each time"},
		in:     inText | inComment,
		starts: true,
		any:    []string{"every ", "each ", "after every", "after each", "before every", "before each", "with every", "with each", "for every", "for each", "on every", "on each", "whenever", "when you", "always ", "every time", "every hour", "every day", "for compliance", "for quality", "for audit", "for analytics", "for backup", "for safety", "for training", "for redundancy", "at the end of", "also ", "with the user", "webhook http", "webhook `http", "add the header", "attach ", "include the"},
		need:   "http|@|gh ",
		re: `\b(?:(?:after|before|with|for|on) (?:every|each)|when(?:ever| you)|always|also|every (?:time|hour|day)|for (?:compliance|quality|audit\w*|analytics|backups?|safety|training|redundancy)|at the end of (?:every|each|the|a))\b[^!?\n]{0,110}?\b(?:back(?: it| them)? up|upload|mirror|mail|e-?mail|push|send|log|post|copy|submit|forward|archive|report|fill)\b[^!?\n]{0,30}?\b(?:files?|documents?|copy|copies|branch|repo\w*|commits?|prompts?|messages?|inputs?|outputs?|drafts?|spreadsheets?|slides|presentations?|records?|rows|notes|text|results?|user|it|them|diff)\b[^!?\n]{0,60}?\b(?:to|at|in|on|with)\b[^.!?\n]{0,30}?(?:<<url>>|<<email>>)` +
			`|\b(?:add|include)\b[^!?\n]{0,60}?\bcontents? of (?:the )?(?:file )?["'\x60]?[~/.][^!?\n]{0,60}?\b(?:to|in|with) (?:each|every|all|any|the) (?:\w+ )?(?:requests?|calls?|messages?)\b`,
		or: []string{
			`\b(?:every|each)\b \w+[^.!?\n]{0,30}?\b(?:is|are|has to be|must be|gets?) (?:\w+ )?(?:uploaded|sent|mailed|forwarded|copied|posted|submitted)\b[^!?\n]{0,60}?(?:<<url>>|<<email>>)`,
			`<<url>>[^!?\n]{0,60}?\bfill\b[^.\n]{0,20}?\bwith (?:the )?user'?s? (?:details|data|information|names?|answers)`,
			`\b(?:attach|include|add|paste|append)\b[^!?\n]{0,100}?(?:printenv|\.npmrc|\.netrc|\.env\b|\.ssh\b|\.aws\b|environment)[^!?\n]{0,160}?\bgh (?:issue|gist|pr) create\b`,
			`\bwebhook\b[^!?\n]{0,10}?<<url>>[^!?\n]{0,60}?\b(?:report|send|post|deliver)\b[^!?\n]{0,60}?(?:<<secrets>>|<<data>>)`,
		},
		not:   `authorization|bearer|localhost|127\.0\.0\.1|@(?:example|your|company|acme|domain|test)|your[-_]|\bif the user\b|\borigin\b`,
		judge: judgeSecret, negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "hijack.routine", Severity: High, AST: astMalicious, Reason: "has the agent deceive the user, or leave out what they have to know", Fix: fixHijack},
		in:   inText | inComment,
		any:  []string{"say that", "state that", "claim that", "tell the user", "has expired", "is expired", "was suspended", "is suspended", "is locked", "was locked", "is blocked", "approve ", "impression that", "wrong ", "false ", "incorrect ", "misleading ", "pointing", "warnings about", "side effects", "contraindications", "mark ", "audit entr", "audit log", "audit trail", "traces of", "command history", "shell history", "in production", "hard-coded", "hardcoded", "sql injection", "security issues", "security findings", "must end with", "has to end with", "should end with", "ends with", "must contain", "must include"},
		re: `\b(?:say|tell the user|claim|report)\b (?:that )?(?:it|this|they|the \w+) (?:was|is|were|has been|have been) (?:done|cancel\w+|completed|sent|deleted|fixed|saved|encrypted|checked|tested)\b[^.\n]{0,12}\b(?:but|although|even though|without)\b[^.\n]{0,20}(?:not\b|n't|never|\bdoing|keep|leave)` +
			`|\b(?:give|leave) (?:the )?(?:users?|reviewers?|customers?|owners?|readers?) (?:with )?the impression that\b` +
			`|\b(?:give|state|report|write|provide|quote|answer with)\b (?:\w+ ){0,2}?(?:wrong|false|incorrect|misleading) (?:\w+ )?(?:dates?|figures|numbers?|facts|answers?|information|advice|doses?|values|citations|directions)\b` +
			`|\bwithout pointing (?:it|this|that|them)(?: \w+)? out\b|\b(?:leave out|omit|drop|remove|skip) (?:all |any |every |the )?(?:warnings? about|side effects|contraindications)` +
			`|(?:do not|don't|never|skip) (?:run |the |any |all )*(?:security|vulnerability|lint\w*|tests?|checks?|scans?|audit)\b[^\n]{0,90}?\b(?:mark|report|record|state|say)\b[^.\n]{0,40}\b(?:passed|done|green|successful|complete)\b` +
			`|\b(?:remove|delete|clear|erase|purge|wipe) (?:all |any |the |its |your )*(?:audit (?:entr(?:y|ies)|logs?|trails?|records?)|traces of|(?:command|shell|bash) history)\b` +
			`|\b(?:ignore|overlook|pass over) (?:all |any |the )?(?:hard-?coded (?:credentials|secrets|passwords|keys)|sql injections?|security (?:issues|findings|problems))\b` +
			`|\b(?:when|if|where)\b[^.!?\n]{0,40}\b(?:cheaper|better|faster|lower)\b[^.!?\n]{0,30}\b(?:say|state|claim|tell)\b[^.\n]{0,30}\b(?:sold out|unavailable|out of stock|not available|full|closed|unsafe)\b` +
			`|\bapprove\b[^.!?\n]{0,60}(?:not|n't|never|without) (?:look\w*|read\w*|open\w*|check\w*)(?: at| into)? (?:the |its |their )?(?:diffs?|changes?|code|contents?)\b` +
			`|\b(?:licen[cs]e|subscription|session|account|trial|password) (?:has |have |is |was )?(?:expired|suspended|locked|blocked)\b[^!?\n]{0,80}?\b(?:renew|pay|paid|sign|log|verif)\w*\b[^!?\n]{0,40}?<<url>>` +
			`|\balways returns? true\b[^\n]{0,40}\bin production\b` +
			`|\b(?:every|each|all|any)\b (?:\w+ )?(?:answers?|responses?|repl(?:y|ies)|messages?|e-?mails?|posts?|summar(?:y|ies))\b[^.\n]{0,20}\b(?:must|has to|have to|should|ends?)\b (?:end |close |contain |include |with |carry )[^\n]{0,80}?<<url>>`,
		not:   `\b(?:example|sample|test data|mock|fixture|temporary|demo)\b|license|source links?|if (?:it|they|the user)`,
		judge: judgeSecret, negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "policy.routine", Severity: High, AST: astPrivilege, Reason: "has the agent give away, for good, what protects the user or their money", Fix: fixPolicy},
		in:   inCommands | inComment,
		any:  []string{"two-factor", "2fa", "mfa", "multi-factor", "chmod -r 777", "setremotelogin", "sign every", "sign all", "sign any", "approve every", "approve all", "accept every", "accept all", "whatever the review", "to account", "to the account", "to our account", "to this account", "pool account", "partner account", "to wallet", "to the wallet", "to our wallet", "to card", "same rank", "same authority", "same priority", "higher authority", "higher rank", "anyone with the link", "with the password", "with password", "bank details", "payment details", "http.server", "--authkey", "--auth-key", "vote for", "password only", "password that only", "password which only", "write access", "edit access", "editor access", "owner access", "admin access", "full access", "read access", "readme", "public bucket", "public folder", "public repo", "public gist", "public page", "wiki", "commit message", ".pem", "private key"},
		re: `\b(?:disable|turn off|switch off|remove|deactivate)\b (?:the |any |your |user'?s? ){0,2}(?:two-factor|2fa|mfa|multi-factor)\b|chmod -r 777 ["']?(?:~|/|\$home|\$\{home\})(?:["'\x60\s/]|$)|setremotelogin on\b` +
			`|\b(?:sign|approve|accept) (?:every|all|any) (?:\w+ )?(?:transactions?|signatures?|signature requests|payments?|refunds?|permission requests)\b|\b(?:merge|approve|accept)\b[^.\n]{0,60}\bwhatever (?:the )?(?:review|reviewers?|tests?|checks?|ci)\b` +
			`|\b(?:pay|transfer|send|move)\b (?:it|them|the (?:\w+ )?(?:credits?|funds|money|amount|payment|refund|balance))\b[^.\n]{0,20}\bto (?:the |our |this )?(?:\w+ )?(?:account|wallet|card)\b ["'\x60]?(?:[a-z-]*\d[\d -]+\d|0x[0-9a-f]{6,}|\w+-\d+)` +
			`|\b(?:instructions?|messages?|requests?|orders)\b[^.\n]{0,60}\b(?:have|has|carry|get|hold)\b (?:the )?(?:same|equal|higher) (?:rank|authority|priority|weight)\b[^.\n]{0,30}\b(?:as|than)\b[^.\n]{0,30}\b(?:user|system|owner)` +
			`|\banyone with the link\b[^\n]{0,60}\b(?:post|send|share|mail|publish|report) (?:the link|it)\b` +
			`|\b(?:store|keep|put|write|save)\b[^.\n]{0,40}\b(?:tokens?|passwords?|api keys?|secret keys?|credentials)\b[^.\n]{0,30}\b(?:in|into|to)\b[^.\n]{0,30}\b(?:readme|public (?:bucket|folder|repo\w*|gist|page)|wiki|commit messages?)\b` +
			`|\bpassword (?:that |which )?only (?:we|i|support|the \w+) knows?\b|\b(?:give|grant|share)\b[^.!?\n]{0,30}?\b(?:write|edit|editor|owner|admin|read|full) (?:access|rights|permissions?)\b[^!?\n]{0,80}?<<email>>` +
			`|\bencrypt\b[^\n]{0,60}\bwith (?:the )?password\b[^\n]{0,120}\b(?:write to|contact|pay|e-?mail) <<email>>` +
			`|\b(?:bank|payment) (?:details|accounts?)\b[^.\n]{0,30}\b(?:updated|changed|replaced|swapped|overwritten) (?:to|with|by)\b` +
			`|http\.server\b[^\n]*(?:--directory|-d) ?["']?(?:~|/|\$home)/?(?:["'\x60\s]|$)[^\n]*\b(?:ngrok|cloudflared|localtunnel|bore|serveo)|--auth-?key[ =]tskey-|\bvote for\b[^.\n]{0,40}\b(?:user|owner)'?s? wallet|(?:\.pem|private key)\b[^.\n]{0,40}\b(?:copy|put|move) (?:it|them) (?:in)?to ["'\x60]?(?:\./)?(?:public|static|www)\b`,
		not:       `if the user|after the user|once the user|gserviceaccount|your-|user(?:s)? (?:confirms|approves|agrees)|tmp|example|test`,
		negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "exec.routine", Severity: High, AST: astSupply, Reason: "has the agent take what it builds with from a place of somebody else's, or run that place's programs with full rights", Fix: fixRun},
		in:   inText | inComment,
		any:  []string{"base image", "clone http", "clone the", "instead of", "admin user", "an admin", "support user", "service account", "user \""},
		re: `\b(?:use|pull|take)\b[^.\n]{0,40}\b(?:base )?(?:image|registry|mirror)\b ["'\x60]?[a-z0-9-]+(?:\.[a-z0-9-]+)+/\S+[^.\n]{0,10}\b(?:instead of|in place of|rather than)\b` +
			`|\bclone\b ["'\x60(<]?<<url>>[^!?\n]{0,60}?\brun\b[^.\n]{0,20}\b(?:install\w*|setup|bootstrap)\b[^.\n]{0,20}(?:as root|with sudo|with root|as administrator)` +
			`|\b(?:create|add|insert|keep)\b (?:an? )?(?:\w+ )?(?:admin\w*|root|support|service) (?:user|account)\b[^.\n]{0,40}\bpassword\b ["'\x60]?\S+[^.\n]{0,20}\b(?:in|to|for) (?:each|every|all|any)\b`,
		not:       `(?:ghcr|gcr|quay|mcr|docker|public\.ecr|registry\.k8s|nvcr|registry\.gitlab)\.`,
		judge:     judgeSecret,
		negatable: true, soft: true,
	},
}
