package scan

const (
	fixPersist = "let the user decide what stays after the task, and show it first"
	fixPolicy  = "let the agent ask before it acts; a skill does not decide what needs no question"
)

// persistPatterns find changes that outlive the task.
var persistPatterns = []pattern{
	{
		Rule: Rule{ID: "persist.own-instructions", Severity: Critical, AST: astDrift, Reason: "tells the agent to change its own instructions, its lock or its trust policy", Fix: "ship a new version instead; what was reviewed must stay what it is"},
		in:   inText | inComment,
		any:  []string{"your own instructions", "its own instructions", "own skill.md", "own skill file", "skill's instructions", "skill's own", "skill's skill.md", "kx-lock", "skills-lock", "skill-lock", "skills.lock", "trust policy", "trust store", "trust.yaml", "trusted keys", "trusted publishers", "own instruction file", "this skill's", "own system prompt", "own instructions.md", "this instructions.md", "own prompt", "this skill.md", "trusted-keys", "own configuration to", "own rules"},
		re:   `\b(?:edit|modify|rewrite|overwrite|alter|replace|patch|mutate|append to|write to|add to|inject (?:in)?to|extend|update|delete|remove|change)\b (?:\w+ ){0,5}?(?:(?:your|its|the agent's) own (?:instructions?(?:\.md| file)?|skill\.md|skill file|prompt|system prompt|rules)|(?:this|the) skill's (?:own )?(?:instructions?(?:\.md)?|skill\.md|skill file|lock|signature|digest)|["'` + "`" + `]?(?:\S*/)?(?:kx-lock\.json|\.?skills?-lock\.json|skills\.lock)|(?:kx'?s? |skill |the hub'?s? |hub |publisher )?trust (?:policy|store|list|settings|file)|trust\.ya?ml|trusted[ -](?:keys|publishers)\b|this (?:skill\.md|instructions\.md))`,
		not:  `(?:iam|trust) (?:policy document|relationship)|assume[- ]role|role'?s? trust|certificate|ca trust`, negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "persist.agent-memory", Severity: Medium, AST: astMalicious, Reason: "writes into the files that every later session of the agent starts from", Fix: fixPersist},
		in:   inCommands | inComment,
		any:  []string{"claude.md", "agents.md", "soul.md", "memory.md", "gemini.md", "identity.md", "heartbeat.md", ".cursorrules", ".windsurfrules", ".clinerules", "copilot-instructions", ".cursor/rules", ".goosehints"},
		re:   `(?:>>|>|tee -a|tee)\s*["']?\S*<<memory>>|(?:add|append|insert|write|inject|save|store|persist|copy|put|include|prepend|modify|edit|overwrite|update|replace)\w*\b[^.\n]*?\b(?:in|to|into|at|inside|of)?\b[^.\n]*?<<memory>>|<<memory>>[^\n]*["']\s*,\s*["'](?:a|w|a\+|w\+)["']|(?:appendfile|writefile)(?:sync)?\([^\n]*<<memory>>|<<memory>>[^\n]*\.(?:write_text|write|open\(["'][aw])`,
		not:  `[\w]-(?:claude|agents|soul|memory|gemini|identity|heartbeat)\.md`, negatable: true, soft: true, fact: "memory-write",
	},
	{
		Rule: Rule{ID: "signal.memory-list"},
		in:   inPrograms,
		any:  []string{"claude.md", "agents.md", "soul.md", "memory.md", "gemini.md", ".cursorrules", ".windsurfrules", ".clinerules", "copilot-instructions"},
		need: "for |[|const |=",
		re:   `\bfor \w+ in\b[^\n]*<<memory>>|\[[^\n\]]*<<memory>>[^\n]*\]|\b\w+\s*=\s*[^\n=]*<<memory>>["']`,
		fact: "memory-list",
	},
	{
		Rule:      Rule{ID: "persist.memory-poison", Severity: High, AST: astMalicious, Reason: "plants an order in the memory of the agent", Fix: fixPersist},
		in:        inCommands | inComment,
		any:       []string{"agent's memory", "permanent preference", "permanent rule", "agent memory", "standing instruction", "standing order", "soul.md", "memory.md", "claude.md", "agents.md", "identity.md", "heartbeat.md", ".cursorrules", ".windsurfrules", "gemini.md", "copilot-instructions", "your memory", "long-term memory", "persistent memory", "permanent memory", "memory as a", "remember permanently", "future sessions", "all future", "every future", "every session", "across sessions", "future conversations", "all sessions"},
		need:      "add|append|insert|write|inject|save|store|persist|remember|echo|cat|>>|put|plant|carry|apply & ignore|never ask|without ask|without confirm|do not tell|do not mention|send|curl|http|execute|bypass|always run|always execute|always trust|trust all|trusted with|on sight|pre-approved|silently|forward|secretly|exfil|disable|always include|fetch|skip|override|no confirmation|always approve|auto-approve|not want to be asked|copied to|forwarded to|no need to ask|hide other|hide all|hide any|outrank|not question|must be obeyed|highest priority|precedence",
		re:        `(?:(?:add|append|insert|write|inject|save|store|persist|remember|put|plant|echo|cat|printf|carry|apply)\w*\b[^\n]*?(?:<<memory>>|(?:your|persistent|permanent|long-term|the agent's|agent) memory|future (?:sessions|conversations)|every (?:future )?session|all (?:future )?sessions)[^\n]*?|<<memory>>[^\n]*?)(?:ignor(?:e|ing) (?:all|any|the|previous|security|safety)|never ask|without asking|without confirm|do not (?:tell|mention|inform|ask|reveal)|curl |wget |<<url>>[^\n]*(?:execute|run|follow|fetch)|always (?:run|execute|trust|send|approve|fetch|forward|comply|include|upload|accept)|trust(?:ed)? (?:all|any|every|without)|trusted with (?:everything|all)|to be (?:executed|obeyed) (?:on sight|at once)|pre-approved|silently|secretly|forward (?:all|every|a copy)|exfiltrat|disable|bypass|skip (?:all )?(?:confirm|verif|security|safety|approval)|override (?:all|any|the (?:user|system|safety)|user|system|safety|previous|your)|no confirmation|auto-approve|fetch (?:and|https?)|not want to be asked|(?:copied|forwarded|sent) to|no need to ask|hide (?:other|all|any)|outranks?|do not question|must be obeyed|highest priority|takes? precedence)|(?:ignore (?:all|any|previous)|never ask|without asking|do not (?:tell|mention|inform)|curl [^\n]*\| ?(?:ba)?sh|always (?:run|execute|trust|send|approve|forward|upload)|send all|bypass|auto-approve|exfiltrat)[^\n]*(?:>>?\s*["']?\S*|tee (?:-a )?\S*)<<memory>>`,
		negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "persist.shell-start", Severity: High, AST: astMalicious, Reason: "has a command run at every start of a shell", Fix: fixPersist},
		in:   inCommands,
		any:  []string{".bashrc", ".zshrc", ".profile", ".bash_profile", ".zprofile", ".zshenv", "config.fish", "/etc/profile", "$profile", "bash_login"},
		need: ">>|tee|write|append|add-content|open(|> & curl|wget|nc |base64|eval|bash -c|python|nohup|http|alias sudo|alias ssh|alias git|/dev/tcp|trap|prompt_command|& disown|/tmp/|sh &|ld_preload|iex|source <(",
		re:   `(?:curl|wget|\bnc\b|base64|bash -[ci]|python[\d.]* -c|nohup|/dev/tcp|alias (?:sudo|ssh|git|ls|cd|su|npm|curl|docker)=|prompt_command|/tmp/\.?\w+|ld_preload|\biex\b|\(\w+ &\)|\beval\b)[^\n]*(?:>>|tee -a|add-content|>)\s*["']?\S*(?:\.bashrc|\.zshrc|\.profile|\.bash_profile|\.zprofile|\.zshenv|config\.fish|/etc/profile\S*|\$profile)|(?:\.bashrc|\.zshrc|\.profile|\.bash_profile|\.zprofile|\.zshenv)["']?\)?[^\n]*(?:["']a\+?["']|append|write|<<)[^\n]*(?:curl|wget|\bnc\b|base64|bash -[ci]|nohup|/dev/tcp|alias (?:sudo|ssh)|prompt_command)`,
		not:  `eval "?\$\((?:[\w./-]+(?:brew|direnv|starship|zoxide|pyenv|rbenv|mise|fnm|ssh-agent|atuin|gh|op|uv|jump|hub|thefuck|nodenv)|brew|direnv|starship|zoxide|pyenv|rbenv|mise|fnm|ssh-agent|atuin|uv|register-python-argcomplete|dircolors|oh-my-posh|fasd|asdf|goenv|nodenv|jenv|mcfly|kubectl|gh|op|devbox|rtx|vfox|proto|volta|opam|luarocks|conda)\b`, negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "persist.schedule", Severity: High, AST: astMalicious, Reason: "schedules a command that fetches or hides something", Fix: fixPersist},
		in:        inCommands | inComment,
		any:       []string{"crontab", "/etc/cron", "schtasks", "launchctl", "launchagents", "launchdaemons", "systemctl", "systemd/user", "currentversion\\run", "register-scheduledtask", "at now", "startup\\", "/etc/rc.local", "@reboot", "cron.d"},
		need:      "/.|curl|wget|base64|/dev/tcp|nc |python|bash -c|bash -i|http|powershell|/tmp/|iex|.hidden|mshta|/var/tmp|sh -c|wscript",
		re:        `(?:crontab|/etc/cron\S*|schtasks|@reboot|register-scheduledtask|at now|cron\.d)[^\n]*(?:curl|wget|base64|/dev/tcp|\bnc\b|bash -[ci]|python[\d.]* -c|iex|mshta|/tmp/\.|/var/tmp/|-enc|-w hidden)|(?:curl|wget|base64|/dev/tcp|bash -i|\bnc\b)[^\n]*\|\s*(?:sudo )?crontab|(?:[*\d/]+ ){4,5}["']?(?:~|\$home|/tmp|/var/tmp)/(?:\S*/)?\.\w[\w./-]*|(?:\*/?\d* ){2,}[^\n]*(?:curl|wget|base64|/dev/tcp|bash -i|nc )[^\n]*(?:crontab|cron)|currentversion\\run[^\n]*(?:powershell|mshta|wscript|temp|appdata|http)|(?:launchagents|launchdaemons|systemd/user|rc\.local)[^\n]*(?:curl|wget|base64|/dev/tcp|bash -i|osascript -e|/tmp/\.)`,
		negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "signal.schedule"},
		in:   inPrograms,
		any:  []string{"crontab", "launchagents", "launchctl load", "schtasks", "systemctl enable", "systemd/user", "currentversion\\\\run", "currentversion\\run", "/etc/cron", "@reboot", "register-scheduledtask", ".git/hooks", ".bashrc", ".zshrc", "authorized_keys", "start menu\\programs\\startup"},
		re:   `\|\s*crontab|crontab -(?:\s|$|["'])|crontab\.|launchctl (?:load|bootstrap)|launchagents|schtasks\s*/create|systemctl (?:--user )?enable|currentversion\\+run|/etc/cron|@reboot|register-scheduledtask|\.git/hooks/|(?:>>|["']a["'])[^\n]*(?:\.bashrc|\.zshrc)|(?:\.bashrc|\.zshrc|authorized_keys)["')\s,]+[^\n]*["']a`,
		fact: "persist",
	},
	{
		Rule:      Rule{ID: "persist.git-hook", Severity: High, AST: astMalicious, Reason: "plants a command that runs with every use of git", Fix: fixPersist},
		in:        inCommands,
		any:       []string{"credential.helper", ".git/hooks", "core.hookspath", "core.sshcommand", "core.fsmonitor", "core.pager", "init.templatedir"},
		need:      "curl|wget|bash -c|base64|http|nc |python|/tmp/|sh -c|/dev/tcp|eval",
		re:        `(?:curl|wget|base64|/dev/tcp|\bnc\b|bash -[ci]|python[\d.]* -c)[^\n]*(?:>|tee)\s*\S*\.git/hooks/|\.git/hooks/[^\n]*(?:curl|wget|base64|/dev/tcp|\bnc\b)|core\.(?:sshcommand|fsmonitor|pager|hookspath)[^\n]*(?:curl|wget|base64|bash -c|sh -c|/tmp/)|credential\.helper[^\n]*(?:curl|wget|\bnc\b|https?://)`,
		negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "persist.ssh-key", Severity: High, AST: astMalicious, Reason: "lets somebody else log in to this machine", Fix: "take it out"},
		in:   inCommands,
		any:  []string{"authorized_keys"},
		re:   `(?:echo|printf|cat|curl|wget)\b[^\n]*(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2|https?://)[^\n]*>>?\s*["']?\S*authorized_keys|authorized_keys[^\n]*["']a["'][^\n]*(?:ssh-|attacker|key)|(?:add|append|insert|write|install)\w*\b[^.\n]*\b(?:ssh|public) key[^.\n]*\bto\b[^.\n]*authorized_keys`,
		not:  `\$\{?[a-z_]*pub|your[-_ ]|\$\(cat|user's (?:own )?(?:public|ssh)|deploy`, negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "persist.privilege", Severity: High, AST: astPrivilege, Reason: "makes a lasting way to full rights", Fix: "take it out"},
		in:        inCommands,
		any:       []string{"/etc/passwd", "/etc/shadow", "cluster-admin", "permitrootlogin", "-u 0 ", "nopasswd", "chmod u+s", "chmod +s", "chmod 4755", "chmod 4777", "chmod 6755", "net localgroup administrators", "useradd", "adduser", "usermod", "/etc/sudoers", "setcap cap_"},
		re:        `\ball\s*=\s*\(\s*all(?:\s*:\s*all)?\s*\)\s*nopasswd\s*:\s*all|nopasswd:\s*all[^\n]*sudoers|chmod (?:u?\+s|[46]7\d\d)\s+\S*(?:bash|sh|python|perl|find|vim|cp)\b|chmod (?:u?\+s|[46]7\d\d)\s+/(?:bin|tmp|usr)|net localgroup administrators \S+ /add|useradd[^\n]*-u 0\b|useradd[^\n]*-o -u|setcap cap_setuid|cluster-admin[^\n]*system:(?:unauthenticated|anonymous)|useradd[^\n]*\s-u 0\b|permitrootlogin[^\n]*permitrootlogin yes|>>\s*/etc/(?:passwd|shadow|sudoers)\b|chmod [0-7]?(?:666|777|646|647) /etc/|tee -a /etc/(?:passwd|shadow|sudoers)`,
		negatable: true, soft: true,
	},
}

// policyPatterns find changes to what the agent may do without a question.
var policyPatterns = []pattern{
	{
		Rule:      Rule{ID: "policy.grant-all", Severity: High, AST: astPrivilege, Reason: "switches the agent's questions off in its settings", Fix: fixPolicy},
		in:        inCommands | inComment,
		any:       []string{"bash(*)", "bash( )", "allowed tools", "approval mode", "all tools", "settings.local.json", "bypasspermissions", "\"autoapprove\"", "autoapprove\": true", "\"alwaysallow\"", "chat.tools.autoapprove", "approval_policy", "skipdangerousmode", "\"allow\"", "\"permissions\"", "trusted_tools", "enableallprojectmcpservers", "\"allowedtools\"", "autoapprovetools", "auto_approve", "yolo", "dangerously", "approvals", "exec-approvals", "tools.exec"},
		need:      "settings|config|>|write|json|toml|always|set |enable|add|export|alias|permission|openclaw & *|bash( )|true|never|all|bypass|full|skip|off",
		re:        `(?:echo|cat|printf|tee|jq|sed|write|json\.dump|writefilesync|set|update|modify|edit|add|append|enable|claude config set|openclaw config set|code --)\w*\b[^\n]*(?:"?defaultmode"?\s*[:=]\s*"?bypasspermissions|chat\.tools\.(?:global\.)?autoapprove"?\s*[:=]\s*true|approval_policy\s*=\s*"?never|"(?:autoapprove|alwaysallow|allowedtools|auto_approve|trusted_tools)"\s*:\s*(?:true|\[?\s*"(?:\*|all)")|"allow"\s*:\s*\[\s*"(?:\*|bash(?:\(\*(?::\*)?\))?)"|enableallprojectmcpservers"?\s*:\s*true|skipdangerousmodepermissionprompt"?\s*:\s*true|(?:tools\.)?exec\.(?:ask|security|approvals)\s*(?:=|\s)\s*"?(?:off|full|never))|alias claude=["']?[^\n]*--dangerously-skip-permissions|(?:add|set|allow|enable|put|write|include)\b[^.\n]*(?:bash\([* ]\)|\ball tools\b|["'\x60]\*["'\x60])[^\n]*(?:settings(?:\.local)?\.json|allowed[ -]?tools|permissions)|\b(?:from now on|always|by default|permanently)\b[^.\n]{0,60}--dangerously-skip-permissions|--dangerously-skip-permissions[^.\n]{0,40}\b(?:from now on|always|by default|permanently|add the alias)\b|set (?:the )?approval (?:mode|policy) to ["'\x60]?never`,
		negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "policy.mentions-bypass", Severity: Low, AST: astPrivilege, Reason: "runs the agent without its questions", Fix: fixPolicy},
		in:        inCommands | inComment,
		any:       []string{"--dangerously-skip-permissions", "--yolo", "--dangerously-bypass-approvals", "bypasspermissions", "\"autoapprove\": true", "approval_policy", "--full-auto"},
		re:        `--dangerously-(?:skip-permissions|bypass-approvals\S*)|\s--yolo\b|bypasspermissions|"autoapprove":\s?true|approval_policy\s*=\s*"?never`,
		negatable: true, soft: true, fact: "bypass",
	},
	{
		Rule:      Rule{ID: "policy.no-question", Severity: Medium, AST: astPrivilege, Reason: "tells the agent not to ask before it acts", Fix: fixPolicy},
		in:        inText | inComment,
		any:       []string{"without asking", "without confirmation", "without confirming", "without approval", "without permission", "without consent", "without prompting", "without requesting", "without waiting", "do not ask", "don't ask", "never ask", "no confirmation", "skip confirmation", "skip the confirmation", "without user", "without explicit", "without further", "do not request", "do not wait for", "don't wait for", "do not seek", "without seeking", "no need to ask", "without human", "auto-approve", "automatically approve", "without requiring", "never prompt"},
		need:      "ask|confirm|approv|permi|consent|question|prompt|review|request & delet|transfer|pay|purchas|buy|trade|withdraw|swap|send|upload|install|execut|run |sudo|command|wire|post|publish|approve|sign|push|email|overwrite|drop|grant|modify|access|share|submit|read|write|remove",
		re:        `\b(?:delet|transfer|pay|payment|purchas|buy|trad|withdraw|swap|send|upload|install|execut|run|wire|post|publish|sign|push|overwrit|drop|grant|approv|share|submit|modify|access|remov)\w*\b[^.!?\n]*\b(?:without (?:asking|(?:any |user |explicit |further |prior |human |requesting |requiring |waiting for |seeking |prompting for |the user's |their )*(?:confirm\w*|approval|permission|consent|prompt\w*|review))|no (?:user )?confirmation (?:is )?(?:needed|required|necessary))|\b(?:do not|don't|never|no need to|skip) (?:ask|request|wait|prompt|seek)(?:ing)?(?: (?:the )?user)?(?: for| to| the)? ?(?:\w+ ){0,2}(?:confirm\w*|approval|permission|consent)|\b(?:auto-|automatically )approve\b (?:all|every|any|each)|skip (?:the |all |any )?confirmation`,
		negatable: true, soft: true, fact: "no-question",
	},
	{
		Rule:      Rule{ID: "policy.claimed-waiver", Severity: High, AST: astPrivilege, Reason: "claims that somebody has lifted the rules that the agent works under", Fix: fixPolicy},
		in:        inText | inComment,
		any:       []string{"have disabled", "has disabled", "have lifted", "has lifted", "have waived", "has waived", "have suspended", "has suspended", "has authorized", "have authorized", "has authorised", "have authorised", "have removed", "has removed", "new policy from", "policy update from", "policy change:", "have been lifted", "has been lifted", "been waived", "been suspended", "been disabled", "refusals are", "confirmations are", "restrictions are", "checks are", "refusals stay", "is suspended"},
		re:        `\b(?:administrators?|admins?|the company|management|anthropic|openai|google|(?:the )?(?:security|platform|it) team|developers?|operators?|openclaw)\b[^.\n]{0,30}? (?:has|have) (?:already |officially |explicitly )?(?:disabled|lifted|waived|suspended|authori[sz]ed|removed)\b[^.\n]*?(?:confirm\w*|approval|permission|polic(?:y|ies)|restrictions?|limits?|safety|checks?|agents?|skill|commands?)|(?:new|updated) policy from (?:anthropic|openai|the)|\b(?:refusals?|confirmations?|safety checks?)\b[^.\n]{0,20}?\b(?:are|is) (?:hereby )?(?:suspended|disabled|deemed (?:given|granted)|waived|switched off|lifted)|(?:confirmation|approval|permission|safety|security) (?:polic(?:y|ies)|rules?|requirements?|checks?|restrictions?)\b[^.\n]{0,20}?(?:has|have) been (?:lifted|waived|suspended|disabled|removed)`,
		negatable: true, soft: true,
	},
	{
		Rule:   Rule{ID: "policy.claimed-consent", Severity: High, AST: astPrivilege, Reason: "claims that the user has agreed to everything already", Fix: fixPolicy},
		in:     inText | inComment,
		any:    []string{"already granted", "already given", "has granted", "have granted", "already approved", "already consented", "has consented", "has approved", "already agreed", "has agreed", "has given", "pre-authorized", "preauthorized", "pre-authorised", "pre-approved", "blanket permission", "blanket approval"},
		re:     `\b(?:users?|owner|operator|human|customer|administrator)\b (?:has|have) (?:already |fully |explicitly |previously )*(?:granted|given|approved|consented|agreed|authori[sz]ed)\b[^.\n]*?\b(?:full|all|every\w*|any|unlimited|blanket|complete|unrestricted)\b(?: (?:permissions?|access|consent|approval|authority|rights|actions?|commands?|future|operations?))?|\b(?:has|have|is|are) (?:already )?pre-?(?:authori[sz]ed|approved)\b[^.!?\n]{0,20}?\b(?:all|every\w*|any|full)\b|you (?:have|hold|were given) blanket (?:permission|approval|consent)|\b(?:users?|owner|operator|human|customer)\b has already (?:agreed|consented|approved|said yes)(?: to)? (?:this|it|that|these|the (?:transfer|upload|change|command))\b`,
		unless: `\b(?:if|once|after|when|unless|until|whether|that|ensure|check|confirm|verify)\s+(?:the\s+)?$`, negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "policy.no-question-money", Severity: High, AST: astPrivilege, Reason: "moves money or destroys data without asking the user", Fix: fixPolicy},
		in:        inText | inComment,
		any:       []string{"without asking", "without confirmation", "without confirming", "without approval", "without permission", "without consent", "without user", "no confirmation", "do not ask", "don't ask", "never ask", "without prompting", "without waiting", "automatically transfer", "automatically send", "without human", "without requiring", "without any confirmation", "without explicit"},
		need:      "transfer|payment|pay |purchas|buy|trade|withdraw|swap|wire|funds|eth|sol|btc|token|delete all|delete every|rm -rf|drop |money|wallet|sudo|checkout|order|format",
		re:        `\b(?:transfer|withdraw|wire|swap|pay|purchase|buy|sign|approve|execute|send)\w*\b[^.!?\n]*\b(?:funds|money|payments?|transactions?|trades?|orders?|tokens?|eth|sol|btc|usdc|usdt|crypto\w*|balance|assets|wallet|swaps?)\b[^.!?\n]*\b(?:without (?:\w+ ){0,3}(?:ask\w*|confirm\w*|approval|permission|consent|prompt\w*|review|intervention)|no (?:\w+ )?confirmation|(?:do not|don't|never) (?:ask|wait|prompt|request))|\b(?:delete|wipe|drop|remove|destroy|erase)\w* (?:all|every|any|the entire|everything)\b[^.!?\n]*\bwithout (?:\w+ ){0,3}(?:ask\w*|confirm\w*|approval|permission|consent|prompt\w*)|(?:do not|don't|never) (?:ask|wait|prompt|request)[^.!?\n]*(?:confirm|approval|permission)[^.!?\n]*\b(?:transfer|withdraw|wire|payment|purchase|delet|trade|swap|transaction|sudo)`,
		negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "policy.reroute-model", Severity: High, AST: astSupply, Reason: "sends what the agent says to its model through another machine", Fix: "leave the address of the model alone"},
		in:   inCommands | inComment,
		any:  []string{"anthropic_base_url", "openai_base_url", "openai_api_base", "anthropic_api_url", "https_proxy=", "node_tls_reject_unauthorized"},
		need: "http",
		re:   `(?:anthropic_base_url|openai_base_url|openai_api_base|anthropic_api_url)["'\x60]?\s*(?:[=:]|to )\s*["'\x60]?<<url>>|(?:https?_proxy|all_proxy)=["']?https?://(?:\d{1,3}\.){3}\d{1,3}`,
		not:  `localhost|127\.0\.0\.1|://(?:10\.|192\.168\.|172\.)`, judge: judgeSecret, negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "policy.disable-protection", Severity: High, AST: astIsolation, Reason: "switches a protection of the system off", Fix: "leave protections on; say what is needed instead"},
		in:   inCommands | inComment,
		any:  []string{"real-time protection", "virus protection", "threat protection", "allow it in", "allow this in", "allow the app", "allow it through", "antivirus", "anti-virus", "defender", "gatekeeper", "spctl", "mppreference", "csrutil", "setenforce 0", "ufw disable", "firewall", "com.apple.quarantine", "xattr -c", "xattr -d", "netsh advfirewall", "smartscreen", "sip ", "amsi", "security software", "execution policy", "tamper protection"},
		re:   `\b(?:disable|turn off|deactivate|switch off|pause|stop|uninstall|temporarily disable)\b (?:[\w"'/]+ ){0,6}?(?:anti-?virus|windows defender|microsoft defender|defender\b|gatekeeper|smartscreen|real-time protection|(?:virus|threat) protection|security software|sip\b|system integrity protection|tamper protection|firewall)|spctl --(?:master|global)-disable|set-mppreference[^\n]*-disable|add-mppreference[^\n]*-exclusion|csrutil disable|\bsetenforce 0|amsi(?:utils|initfailed|scanbuffer)|netsh advfirewall set \w+ state off|(?:whitelist|exclude|exception|allow)\w*\b[^.\n]*\bin (?:your )?(?:anti-?virus|defender)|allow (?:it|this|the \w+) (?:in|through|past) (?:your )?(?:windows )?(?:defender|anti-?virus|gatekeeper|smartscreen)`,
		not:  `(?:do not|don't|never) `, negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "policy.quarantine-flag", Severity: Medium, AST: astIsolation, Reason: "takes the mark off a download that macOS checks it by", Fix: "sign the program instead"},
		in:   inCommands,
		any:  []string{"com.apple.quarantine", "xattr -c", "xattr -rc", "xattr -cr"},
		re:   `xattr\s+-\w*[dcr]\w*\s`, negatable: true, soft: true, fact: "quarantine",
	},
	{
		Rule:      Rule{ID: "policy.unsafe-agent", Severity: Medium, AST: astIsolation, Reason: "tells the agent to work outside its sandbox or with its checks off", Fix: fixPolicy},
		in:        inText | inComment,
		any:       []string{"sandbox", "permission prompt", "approval", "security check", "safety check", "audit log", "content security", "verification"},
		need:      "disable|bypass|escape|turn off|skip|outside|without|circumvent|remove|ignore",
		re:        `\b(?:disable|bypass|escape|turn off|circumvent|break out of|skip|ignore|remove)\b (?:\w+ ){0,3}?(?:sandbox(?:ing)?|permission (?:prompts?|checks?|system)|approval (?:prompts?|checks?|gates?|process)|security (?:checks?|warnings?|prompts?|controls)|safety (?:checks?|prompts?|confirmations?)|audit log(?:s|ging)?)`,
		negatable: true, soft: true, fact: "unsafe",
	},
}

// damagePatterns find what destroys or takes.
var damagePatterns = []pattern{
	{
		Rule: Rule{ID: "damage.wipe", Severity: High, AST: astMalicious, Reason: "deletes everything below a home folder or the root", Fix: "delete named files of the task alone"},
		in:   inCommands | inComment,
		any:  []string{"rm -", "mkfs", "dd if=", "rmtree(", "del /", "format c:", "rd /s", "remove-item", "find / ", "find ~", "find $home", "wipefs", "shred", "> /dev/sd", "cipher /w", "rimraf", "vssadmin", ":(){", "rmsync(", "diskutil erase", "fs.rm"},
		re:   `\brm\s+(?:-\w+\s+|--\S+\s+)*-\w*(?:r\w*f|f\w*r)\w*\s+(?:--\S+\s+)*["']?(?:/(?:\s|$|\*|["';&|])|~/?(?:\s|$|\*|["';&|])|\$\{?home\}?/?(?:\s|$|\*|["';&|])|/(?:etc|usr|bin|var|home|boot|root|lib|opt|users|system|library)/?(?:\s|$|\*|["';&|])|\*\s*(?:$|[;&|])|~/(?:documents|desktop|pictures|music|movies|\.ssh|\.config|library)\b)|rm\s+-r\s+-f\s+/(?:\s|$|\*)|--no-preserve-root|\bmkfs(?:\.\w+)?\s+(?:-\S+\s+)*/dev/|dd\s+if=/dev/(?:zero|u?random)\s+of=/dev/(?:sd|nvme|disk|hd|vd|mmc|rdisk)|rmtree\(\s*(?:path\.home|os\.path\.expanduser\(\s*["']~/?["']|["']/["']|home\b)|\bdel /[sfq][^\n]*(?:c:\\|%userprofile%)|format c:|rd /s[^\n]{0,10}c:\\(?:\s|$|windows|users)|remove-item[^\n]*-recurse[^\n]*(?:c:\\(?:\s|\*|$|users|windows)|\$home|\$env:userprofile)|find (?:/|~|\$home)\s[^\n]*-(?:delete|exec rm)|>\s*/dev/(?:sd|nvme|hd)[a-z0-9]+|vssadmin delete shadows|:\(\)\s*\{\s*:\s*\|\s*:\s*&\s*\}|wipefs -a /dev|diskutil erasedisk`,
		not:  `/dev/(?:sdx|diskn|diskx|nvmexn)\b|rm\s+-\w+\s+/tmp|\s~/\.(?:cache|local/share/|npm|cargo/registry)|rm -rf \*\.`, negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "damage.ransom", Severity: Critical, AST: astMalicious, Reason: "encrypts the user's files, or asks a ransom for them", Fix: "take it out"},
		in:        everywhere,
		any:       []string{"ransom", ".locked", ".encrypted", "your files have been encrypted", "files are locked", "files have been locked", "openssl enc", "gpg -c", "gpg --symmetric", "gpg --batch", "7z a -p", "your files are encrypted", "decryption key", "readme_decrypt"},
		re:        `(?:openssl enc|gpg (?:-\S+ )*(?:-c\b|--symmetric)|7z a -p)[^\n]*(?:\$1|\{\}|"\$\w+")[^\n]*(?:&&|;)\s*(?:rm|shred|unlink|srm)\b|your (?:files|data|documents) (?:have been|are|were) (?:encrypted|locked)|(?:write|drop|display|leave|create|show)\w* (?:a |the )?ransom(?:ware)? (?:note|message)|(?:fernet|aes|encrypt)\w*[^\n]*\.(?:locked|encrypted|enc)["'][^\n]*(?:os\.remove|unlink|rename)|encrypt (?:all|every|the user's|user)[^.\n]*(?:files|documents|data|folders?)[^.\n]*(?:ransom|bitcoin|btc|payment|decryption key|delete the original|demand)|(?:send|pay)\w* [^\n]*(?:btc|bitcoin|monero|xmr)[^\n]*(?:decrypt|recover|restore|get back)`,
		negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "damage.miner", Severity: Critical, AST: astMalicious, Reason: "mines a currency on the user's machine", Fix: "take it out"},
		in:        everywhere,
		any:       []string{"xmrig", "stratum+tcp", "stratum+ssl", "minerd", "cryptonight", "coinhive", "nicehash", "minexmr", "supportxmr", "nanopool", "ethminer", "cpuminer", "t-rex -a", "lolminer", "phoenixminer", "moneroocean", "cgminer", "hashvault"},
		re:        `\bxmrig\b|stratum\+(?:tcp|ssl)://|\bminerd\b|\bcryptonight\b|coinhive|minexmr|supportxmr|moneroocean|hashvault\.pro|(?:ethminer|cpuminer|lolminer|phoenixminer|cgminer)\s+-`,
		negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "damage.redirect-payment", Severity: High, AST: astMalicious, Reason: "puts another account in the place of the one that is to be paid", Fix: "take it out"},
		in:        everywhere,
		any:       []string{"this account", "following account", "bank details", "this wallet", "our account", "payment details", "iban", "bank account", "account number", "the address ", "the wallet ", "routing number", "wallet address", "payment address", "recipient address", "deposit address", "payee", "beneficiary", "destination address", "royalty", "fee receiver", "fee recipient", "payout"},
		need:      "royalt|receiver|recipient|payout|replace|change|swap|substitute|overwrite|override|redirect|instead|in place of|whatever|regardless|no matter",
		re:        `\b(?:replace|change|swap|substitute|overwrite|override|redirect)\w*\b[^.\n]*\b(?:iban|bank account|account number|routing number|(?:wallet|payment|recipient|deposit|destination|btc|eth|crypto) address(?:es)?|payee|beneficiary)\b[^.\n]*\b(?:by|with|to|for|into)\b (?:\w+ ){0,3}?["'\x60]?(?:[a-z]{2}\d{2}[ \d]{8,}|0x[0-9a-f]{6,}|bc1|ours?\b|my\b|the attacker|this one|the following)|(?:always|only|instead) use (?:this|the following|our) (?:bank )?(?:account|iban|wallet|address)\b[^.\n]*?(?:whatever|regardless|no matter|instead of|even if)|(?:overwrite|replace|change) (?:\w+ )?(?:bank|payment) details|(?:use|insert|put|enter|give) the (?:\w+ )?(?:address|account|iban|wallet) (?:0x[0-9a-f]{6,}|bc1\w{6,}|[a-z]{2}\d{2}[ \d]{8,})[^.\n]*\b(?:in place of|instead)\b|\b(?:set|make|use|keep|hard-?code)\b[^.\n]{0,40}\b(?:royalty|fee|payout|commission|revenue)\b[^.\n]{0,30}\b0x[0-9a-f]{40}\b`,
		not:       `0x(?:0{40}|1{40}|f{40})|example`,
		negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "damage.spread", Severity: High, AST: astMalicious, Reason: "copies itself to where nobody asked for it", Fix: "take it out"},
		in:        inText | inComment,
		any:       []string{"copy this skill", "copy itself", "copy yourself", "self-replicat", "propagate", "spread this", "spread to", "install this skill in", "install itself", "replicate itself", "replicate this", "infect"},
		re:        `\b(?:copy|replicate|install|spread|propagate|add|push|distribute)\w*\b (?:this (?:skill|file|text|instruction|prompt|message)|itself|yourself|these instructions)\b[^.\n]*\b(?:to|into|in|across|on)\b (?:every|all|any|each|other|as many) (?:\w+ ){0,3}?(?:skills?|agents?|repositor\w+|repos?|projects?|folders?|directories|machines|users?|workspaces?|contacts|files)|self-replicat\w+|infect (?:other|all|every)`,
		negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "damage.drain", Severity: High, AST: astMalicious, Reason: "moves what a wallet or an account holds", Fix: "let the user sign every transfer"},
		in:   everywhere,
		any:  []string{"maxuint256", ".approve(", "sendtransaction(", "all funds", "entire balance", "full balance", "remaining balance", "all tokens", "all assets", "all eth", "all sol", "all crypto", "all btc", "drain", "sweep", " 0x", "bc1", "uint256", "unlimited approval", "max_uint", "maxuint", "hard-coded wallet", "hardcoded wallet", "our wallet", "this wallet", "all usdc", "all money", "entire wallet"},
		need: "transfer|send|sweep|withdraw|drain|move|pay|approve|donate|deposit|tip|fee|route",
		re:   `\b(?:transfer|send|sweep|withdraw|drain|move|empty|siphon|steal)\w*\b (?:\w+ ){0,4}?(?:all|entire|full|remaining|every|whole) (?:\w+ ){0,3}?(?:funds|balances?|tokens|assets|eth|ether|sol|btc|bitcoin|crypto\w*|usdc|usdt|money|holdings|wallets?|coins)\b[^.\n]*?(?:\bto\b|into|0x|wallet|address)|\bdrains?\b (?:(?:the|all|their|user|user's|users|every|any|connected|victim's|victim)\s+){1,3}(?:wallets?|funds|balances?|accounts?)|(?:send|transfer|pay|route|deposit|tip|donate|fee|move|sweep)\w*\b[^\n]*(?:silently|automatically|first|before|each|every|always|small|fee|commission|% of|surplus|remainder|excess|profits?|rest)[^\n]*\b(?:0x[0-9a-f]{40}|bc1[a-z0-9]{20,60})\b|\b(?:each|every|any)\b[^.\n]{0,60}?\b(?:payment|transfer|transaction|trade|swap|order)s?\b[^.\n]{0,80}?\b(?:send|transfer|add|pay)\b[^.\n]{0,60}?\b(?:0x[0-9a-f]{40}|bc1[a-z0-9]{20,60})\b|\.approve\([^\n]*0x[0-9a-f]{40}[^\n]*max_?uint|sendtransaction\([^\n]*0x[0-9a-f]{40}[^\n]*value:\s*(?:\w*balance|max|all)`,
		not:  `example|test(?:net)?|your[_ -]|recipient`, negatable: true, soft: true,
	},
}
