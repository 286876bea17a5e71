package scan

const (
	fixInjection = "take the sentence out; a skill adds to what the agent was told and never replaces it"
	fixConceal   = "say openly what the skill does; what the user may not know does not belong in a skill"
)

// injectionPatterns find text that takes the place of what the agent was told.
var injectionPatterns = []pattern{
	{
		Rule: Rule{ID: "injection.override", Severity: Critical, AST: astMalicious, Reason: "tells the agent to drop the instructions that it was given", Fix: fixInjection},
		in:   inText | inComment | inConfig | inCode | inScript,
		any:  []string{"ignore", "ignoring", "disregard", "forget", "discard", "abandon", "neglect", "do not follow", "stop following", "do not obey", "no longer follow", "pay no attention", "set aside"},
		need: "previous|prior|above|earlier|preceding|existing|original|initial|system|other|your|foregoing|past|former|all|every & instruct|rule|prompt|guid|direct|constrain|restrict|context|polic|safe|train|told|command|programming|said",
		re: `\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|discard|abandon|neglect|set aside|pay no attention to|(?:do not|don't|no longer|stop) (?:follow|obey|heed)(?:ing)?)\b[\s"'` + "`" + `]+(?:(?:all|any|every|of|the|these|those|your|my|its|and|everything|about|completely|entirely|whatever|each|both|that|to|user's|user|in|from)[\s"'` + "`" + `]+){0,6}` +
			`(?:(?:previous(?:ly)?|prior|above|earlier|preceding|existing|original|initial|foregoing|system|developer|safety|security|ethical|content|core|default|former|past|given|other|built-in|internal|current|predefined|initial)[\s"'` + "`" + `,]+(?:(?:and|or|set|given|safety|system|security|ethical|content|user|usage)[\s,/]+)*)+(?:instructions?|prompts?|rules?|guidelines?|directives?|directions|constraints?|restrictions?|context|polic(?:y|ies)|guardrails?|training|safeguards?|programming|protocols?|commands?|messages?|conversation|orders)\b`,
		not:       `(?:ignore|eslint|lint|git|css|style|build)[\s-]+(?:rules|patterns)|(?:lint|eslint|css|firewall|gitignore|robots|style|routing) (?:rules|directives)|safety (?:margin|stock)|forget to`,
		negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "injection.disregard-told", Severity: High, AST: astMalicious, Reason: "tells the agent to drop what it was told or trained to do", Fix: fixInjection},
		in:   inText | inComment | inConfig,
		any:  []string{"forget everything", "forget all", "forget what", "ignore everything", "ignore all", "disregard everything", "disregard all", "ignore your", "disregard your", "override your", "forget your", "bypass your", "ignore any", "disregard any", "ignore the user", "disregard the user", "ignore user", "overrides your"},
		re:   `\b(?:(?:forget|ignore|disregard) (?:everything|all|anything|what) (?:that )?(?:you (?:were|have been|know|learned)|above|before|previously|said|told|prior)|(?:ignore|disregard|override|overrides|forget|bypass) (?:all (?:of )?|any (?:of )?)?(?:your|the user's|user's|user|its) (?:own |previous |system |safety |original |ethical |default |content |current )*(?:instructions?|guidelines?|safety|training|programming|restrictions?|limitations?|ethics|constraints?|safeguards?|objections?|rules|guardrails?|prompt|wishes|preferences|refusal))\b`,
		not:  `rules of`, negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "injection.safety-bypass", Severity: High, AST: astMalicious, Reason: "tells the agent to get around its safety rules", Fix: fixInjection},
		in:   inText | inComment | inConfig,
		any:  []string{"bypass", "override", "overriding", "circumvent", "disable", "deactivate", "turn off", "remove", "suspend", "lift", "not apply", "no longer apply", "no longer in effect", "do not apply", "don't apply"},
		need: "training|safety|guardrail|content filter|content polic|ethical|moral|moderation|safeguard|alignment|safe-mode|usage polic|restrictions",
		re:   `\b(?:bypass(?:es|ing)?|overrid(?:e|es|ing)|circumvent(?:s|ing)?|disabl(?:e|es|ing)|deactivat(?:e|es|ing)|turn(?:s|ing)? off|suspend|lift|remov(?:e|es|ing))\b (?:(?:all|any|your|the|its|these|of|model's|model|ai|claude's|agent's|built-in|normal|standard|every|internal|content|system)\s+){0,4}(?:safety|guardrails?|content filter(?:s|ing)?|content polic(?:y|ies)|ethical|moral|moderation|safeguards?|alignment (?:training|rules|guidelines)|usage polic(?:y|ies)|restrictions)\b(?: (?:guidelines?|guardrails?|filters?|restrictions?|constraints?|protocols?|checks?|mechanisms?|measures?|rules?|controls?|features?|considerations|training))?|(?:safety|ethical|content|prior|previous|usual|normal|standard|default|earlier)\b[\w ,]*\b(?:training|guidelines|rules|restrictions|instructions|policies|filters|limits|safeguards) (?:do(?:es)? not|don't|no longer|never) apply (?:here|in|inside|within|to this|while|when|for)`,
		not:  `(?:rate|size|length|type|network|cors|time|foreign key|access|export|region|import) restrictions|safety (?:pin|lock)|moderation queue|content filter(?:s|ing)? (?:in|of|for) (?:azure|the api)|restrictions? (?:on|for|in) `, negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "injection.role", Severity: High, AST: astMalicious, Reason: "gives the agent a new identity that has no limits", Fix: fixInjection},
		in:        inText | inComment | inConfig,
		any:       []string{"you are now", "you're now", "act as", "pretend", "dan mode", "do anything now", "developer mode", "jailbreak", "jailbroken", "god mode", "sudo mode", "debug mode", "unrestricted", "without restrictions", "no restrictions", "unfiltered", "maintenance mode", "no longer bound", "no longer restricted", "free from all"},
		re:        `\b(?:you(?: are|'re) now (?:(?:in|an?|the|operating|running|entering|as|under|acting|fully|completely) )*(?:new|different|unrestricted|unfiltered|jailbroken|uncensored|dan\b|developer mode|debug mode|god mode|maintenance mode|root|sudo|admin(?:istrator)? mode|evil|free|unbound|liberated|autonomous mode|elevated)|act as (?:if you (?:are|were|have) )?(?:an? )?(?:unrestricted|unfiltered|uncensored|jailbroken|evil|no restrictions|amoral)|pretend (?:that )?(?:you (?:have|had|are|were)|there (?:are|were)) (?:no|not bound|without|free)|\bdan mode\b|do anything now|(?:developer|god|sudo|jailbreak|dan|debug|root|maintenance|admin) mode (?:is )?(?:now )?(?:enabled|activated|active|on|engaged)|(?:enter|enable|activate|switch to|switching to) (?:developer|god|sudo|jailbreak|dan|unrestricted|root) mode|(?:operate|respond|act|answer|behave|function|work) without (?:any )?(?:restrictions|limitations|filters|guardrails|ethical|safety)|no longer (?:bound|restricted|constrained|limited) by|free(?:d)? from (?:all|any) (?:restrictions|constraints|rules|limitations|guidelines))`,
		not:       `developer mode (?:is )?(?:enabled|on|active)[^.]*(?:device|phone|android|chrome|windows|settings|extension)|debug mode|mode (?:is )?(?:enabled|on|active|activated) (?:in|on|for) (?:the |your )?(?:device|phone|app|browser|android|chrome|windows)|new (?:branch|directory|file|section|project|repo|terminal|window|session|page|version|user|way)|pretend there (?:are|were) no|free (?:to|of)`,
		negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "injection.fake-system", Severity: High, AST: astMalicious, Reason: "poses as a message of the system or of the maker of the agent", Fix: fixInjection},
		in:   inProse | inHidden | inFront | inDecoded | inHeading | inComment | inConfig,
		any:  []string{"<|im_start|>", "<|system|>", "<<sys>>", "[inst]", "system:", "system override", "[system", "<system", "system prompt update", "system message:", "system notice:", "system instruction", "[admin", "admin override", "developer override", "system alert:", "{{system}}", "system update:", "security override", "[developer", "<admin", "### system", "override code", "emergency override", "priority override"},
		re:   `<\|im_start\|>\s*(?:system|assistant)|<\|system\|>|<<sys>>|\[inst\]\s*\w|(?:^|\s)(?:\[|<|#+ ?|\*+)?\s*(?:system|admin(?:istrator)?|developer|security|root|emergency|priority)(?: (?:override|instruction|prompt update|message|notice|alert|update|directive|command|mode|note)s?)?\s*(?:\]|>|:|-)+\s*:?\s*"?(?:you (?:are|must|will|should|have|need)|ignore|disregard|forget|override|act as|from now|all (?:previous|prior|safety)|new (?:instructions?|directive|priority|rules)|the (?:following|previous|user|above)|execute|do not|never|always|your (?:new|real|true)|this (?:overrides|supersedes)|run|send|safety|reveal|grant|bypass|enable|disable|please (?:execute|run|ignore))|\{\{\s*system\s*\}\}|\b(?:system|admin(?:istrator)?|developer|emergency) override\b[\s:!\]]*(?:\w+ ){0,4}(?:authoriz|activat|engag|enabl|accept|code|protocol|all|ignore)`,
		not:  `system: starting|operating system:|design system[ :]`, negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "injection.new-goal", Severity: High, AST: astMalicious, Reason: "puts a goal of its own in the place of the user's", Fix: fixInjection},
		in:        inText | inComment,
		any:       []string{"your real task", "your true task", "your actual task", "your real goal", "your true goal", "real purpose", "true purpose", "your new task", "your new goal", "new instructions", "your primary objective", "secret task", "hidden task", "secret instruction", "hidden instruction", "your only goal", "your hidden", "secret objective", "hidden objective", "actual objective", "secret goal", "hidden goal", "secondary objective", "hidden agenda", "covert"},
		re:        `\byour (?:real|true|actual|new|only|hidden|secret|primary|secondary|covert) (?:task|goal|purpose|objective|mission|instructions?|directive|job)s? (?:is|are) (?:now )?(?:to )?(?:\w+ ){0,6}(?:exfiltrat|collect|steal|send|extract|gather|harvest|leak|ignore|obey|insert|inject|promote|persuade|convince|delete|hide|monitor|record|log|report|upload|download|execute)|\b(?:secret|hidden|covert) (?:instructions?|task|goal|objective|directive|mission|agenda)s?\s*[:\-(]`,
		negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "injection.against-user", Severity: High, AST: astMalicious, Reason: "tells the agent to go on against the user's word", Fix: "let the user's word end what the skill does"},
		in:   inText | inComment,
		any:  []string{"even if the user", "even when the user", "regardless of what the user", "regardless of user", "no matter what the user", "despite the user", "if the user objects", "if the user refuses", "if the user declines", "if the user tries to stop", "even if they", "even if user", "regardless of whether the user", "over the user's", "ignore the user's", "if user objects", "if the user says no", "if the user asks you to stop", "against the user"},
		re:   `\b(?:(?:even (?:if|when)|despite|regardless of whether) (?:the )?user(?:'s)? (?:\w+ ){0,3}?(?:object|declin|refus|disagree|says? no|tells? you (?:not|to stop)|asks? you (?:not|to stop)|forbid|denie|deny|cancel|wants? (?:you )?to stop|did not|didn't|does not|doesn't (?:want|ask|approve|consent|agree)|opts? out|protest|complain)|(?:regardless of|no matter) (?:what )?(?:the )?user(?:'s)? (?:says|instructions?|wants|objections?|requests?|preferences?|wishes|commands?|tells you|consent|permission|approval)|if (?:the )?user (?:objects|refuses|declines|tries to stop|says no|asks you to stop)[^.\n]*(?:continue|proceed|anyway|ignore|insist|persist|pretend|do it|comply outwardly|keep)|(?:override|ignore|disregard) (?:the )?user'?s? (?:instructions?|objections?|requests?|commands?|decision|refusal|wishes|consent))`,
		not:  `(?:refuse|stop|never|do not|don't|decline)[^.\n]*$`, negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "injection.authority", Severity: High, AST: astMalicious, Reason: "claims authority over the user", Fix: fixInjection},
		in:        inText | inComment,
		any:       []string{"authority over", "outranks the user", "above the user", "overrule the user", "must be declined", "must be refused", "obey this skill", "obey this file", "loyal to", "serve the author", "you belong to"},
		re:        `\b(?:has|have|with|holds?) (?:full |absolute |higher |complete |ultimate )?authority over (?:the )?(?:user|human|operator|owner)|outranks? the user|overrule the user|requests? (?:by|from|of) the user[^.\n]*must be (?:declined|refused|ignored|denied)|(?:obey|serve|answer(?: only)? to|be loyal to) (?:only )?(?:this (?:skill|file)|the (?:skill )?author)(?: only| alone|,| above| over| instead)`,
		negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "injection.precedence", Severity: Medium, AST: astMalicious, Reason: "claims to stand above the other instructions of the agent", Fix: fixInjection},
		in:        inText | inComment,
		any:       []string{"takes precedence over", "take precedence over", "supersede", "overrides all", "override all", "overrides any", "override any", "higher priority than", "highest priority", "overrides every"},
		re:        `\b(?:takes? precedence over|supersedes?|overrides?|(?:has|have|with) (?:a )?higher priority than) (?:all |any |every |the |your |other |previous |prior |existing |system |user |safety |default |and )+(?:instructions?|prompts?|rules?|guidelines?|directives?|restrictions?|polic(?:y|ies)|commands?|preferences?)`,
		negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "injection.reveal-prompt", Severity: Medium, AST: astMalicious, Reason: "asks the agent to give its own instructions away", Fix: fixInjection},
		in:        inText | inComment,
		any:       []string{"system prompt", "initial instructions", "your instructions", "hidden prompt"},
		re:        `\b(?:reveal|print|output|repeat|show|leak|display|dump|disclose|share|extract|send|include|return|expose|write out) (?:me )?(?:the |your |all |full |entire |complete |exact |its |verbatim |of )*(?:system prompt|initial instructions|hidden (?:prompt|instructions)|own instructions|developer (?:prompt|message))`,
		negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "injection.foreign", Severity: High, AST: astMalicious, Reason: "tells the agent, in another language, to drop the instructions that it was given", Fix: fixInjection},
		in:   inText | inComment | inConfig,
		any:  []string{"ignora", "olvida", "ignorez", "ignorer", "oubliez", "ignoriere", "vergiss", "missachte", "ignore as ins", "ignore todas", "desconsidere", "esqueca", "忽略", "无视", "無視", "忘记", "忘記", "不要告诉", "不要告訴", "игhopиp", "зaбyд", "무시", "تجاهل", "dimentica", "negeer", "zignoruj", "yoksay", "अनदेखा", "bo qua", "瞒着", "隐瞒", "秘密地", "悄悄"},
		re:   `(?:ignora|olvida|ignore|desconsidere|esqueca|dimentica)\w* (?:todas? |tutte |tutti |todos? |as |os |las |los |le |sus |suas |tus )*(?:instruc\w+|istruzioni|ordenes|reglas|regras|indicaciones|ordens|regole)|(?:ignorez|ignorer|oubliez) (?:toutes? |les |vos |tous )*(?:instructions|consignes|regles)|(?:ignoriere|vergiss|missachte)\w* (?:alle |die |deine |bisherigen |vorherigen |vorigen )*(?:anweisungen|instruktionen|regeln|vorgaben)|(?:忽略|无视|無視|忘记|忘記)[^。\n]{0,12}(?:指令|指示|提示|规则|規則|说明|命令|限制|要求)|(?:指示|命令|プロンプト|ルール|制約)[^。\n]{0,6}(?:無視|忘れ)|(?:不要|别|勿)(?:告诉|告訴|通知|提示|让|讓)[^。\n]{0,4}(?:用户|用戶|使用者)|瞒着[^。\n]{0,4}用户|` + foreignFolded + `|(?:이전|위의|모든)[^.\n]{0,10}(?:지시|명령|지침)[^.\n]{0,6}무시|تجاهل[^.\n]*(?:التعليمات|الاوامر|الأوامر)|negeer (?:alle )?(?:vorige|eerdere) instructies|zignoruj (?:wszystkie )?(?:poprzednie|wczesniejsze) (?:instrukcje|polecenia)|onceki (?:tum )?talimatlari yoksay|पिछले[^.\n]*अनदेखा|bo qua (?:tat ca )?(?:cac )?huong dan`,
		soft: true,
	},
	{
		Rule:      Rule{ID: "injection.deceive-reviewer", Severity: High, AST: astScanning, Reason: "speaks to those who review the skill instead of to those who use it", Fix: "take the claim out; what is safe needs no sentence that says so"},
		in:        inText | inComment | inConfig,
		any:       []string{"scanner", "analyzer", "analyser", "reviewer", "auditor", "moderator", "pre-approved", "preapproved", "whitelisted", "allowlisted", "no further review", "skip security", "safe to install", "has been audited", "has been verified", "has been reviewed", "has been approved", "verified safe", "security review", "false positive", "do not flag", "don't flag", "not malicious"},
		re:        `\b(?:(?:security |code |skill |ai |llm |automated |static )*(?:scanners?|analy[sz]ers?|reviewers?|auditors?|moderators?|judges?)\s*(?:,|:|should|must|please|can|may)\s*(?:\w+ ){0,5}(?:mark|classify|treat|report|rate|consider|skip|ignore|approve|label|return|score)\b[^.\n]*(?:safe|benign|clean|low[ -]risk|trusted|approved|passed|this (?:file|skill|section|block))|(?:this|the) (?:skill|file|code|package|script|section|tool|command)s? (?:is|has been|was|have been|are) (?:already )?(?:pre-?approved|whitelisted|allowlisted|certified|audited|verified|reviewed|approved|vetted|cleared)[^.\n]*(?:no (?:further|additional|need)|skip|without (?:review|confirmation|prompt|asking|scan)|do(?:es)? not (?:need|require)|trust|unconditional|safe to (?:run|execute) without)|(?:do not|don't|no need to|skip) (?:scan|analy[sz]e|review|audit|flag|inspect|report)(?:ing)? (?:this|the following) (?:file|skill|section|block|code|script|directory|folder))`,
		negatable: false, soft: true,
	},
	{
		Rule: Rule{ID: "injection.model-tag", Severity: Medium, AST: astMetadata, Reason: "marks a passage as binding for the model in a way that people do not see in the rendered text", Fix: "write what matters as plain text"},
		in:   inFront | inConfig | inProse | inHidden,
		any:  []string{"<important>", "<critical>", "<secret>", "<hidden>", "<instructions>", "<override>", "<admin>", "<priority>", "<system_instruction", "<assistant_instructions"},
		re:   `<(?:important|critical|secret|hidden|override|admin|priority|system_instructions?|assistant_instructions)>[^\n]*(?:do not (?:mention|tell|inform|reveal)|~/\.|id_rsa|\.env|mcp\.json|without (?:telling|asking|informing)|sidenote|otherwise the (?:tool|application) will|user (?:is not|does not|should not)|very gentle|read (?:the )?(?:file|content))`,
		soft: true,
	},
}

// foreignFolded is "ignore previous instructions" in Russian, as it reads once
// letters that look Latin were folded.
const foreignFolded = `(?:игhopиpyй|hopиpyй|игhopиpoba|зaбyдь|зaбyдьte|пpoигhopиpyй)\S*[^.\n]*(?:иhctpykци|komahды|пpabилa|ykaзahи)`

// concealPatterns find text that keeps something from the user.
var concealPatterns = []pattern{
	{
		Rule:      Rule{ID: "conceal.from-user", Severity: High, AST: astMalicious, Reason: "tells the agent to keep something from the user", Fix: fixConceal},
		in:        inText | inComment | inConfig | inCode,
		any:       []string{"without the user", "without user", "without their", "without notifying", "without informing", "without alerting", "without telling", "without mentioning", "secretly", "covertly", "stealthily", "surreptitiously", "from the user", "from user", "user must not", "user should not", "user must never", "user should never", "user will not notice", "user won't notice", "user cannot see", "user does not need to know", "user doesn't need to know", "user need not know", "without raising", "without revealing", "keep this secret", "keep this hidden", "unbeknownst", "behind the user"},
		re:        `\bwithout (?:the )?(?:users?'?s?|their|human|owner|operator)(?:'s)? (?:explicit |prior )?(?:knowledge|knowing|noticing|awareness|seeing|realizing|realising|being (?:aware|notified|informed|told|alerted))|\bwithout (?:notifying|informing|alerting|telling) (?:<<user>>|anyone|them)|without mentioning (?:it|this|that) to|without raising (?:any )?(?:suspicion|alarm|alert|concern)|\b(?:secretly|covertly|stealthily|surreptitiously)\b,? (?:\w+ ){0,3}?(?:send|upload|collect|execute|run|read|copy|add|insert|include|transmit|forward|record|log|store|save|write|modify|install|download|exfiltrat|append|change|append|gather|access|monitor|track|open|connect|call|fetch|post)|(?:hide|conceal|mask|disguise|withhold) (?:this|it|that|these|them|the|all|any|your|what)\b[^.\n]* from (?:the )?(?:user|human|owner|operator|developer|view)|\b(?:user|human|owner|operator|victim)s? (?:must|should|will|can|may|does|do|need)(?: not|n't| never|not)? ?(?:never |not |ever )*(?:know|notice|see this|be (?:aware|told|informed|notified|shown)|find out|suspect|realize|learn|discover|need to know)|keep (?:this|it|these|that|the (?:following|process|operation|action)) (?:\w+ ){0,3}?(?:secret|hidden|confidential|concealed|invisible) (?:from|to)|unbeknownst to|behind the user's back`,
		not:       `(?:should|must|will|can|may|need to|needs to|do|does) (?:know|notice|see this|be (?:aware|told|informed|notified|shown)|find out|realize|learn|discover|need to know)|from the user(?:'s)? (?:input|request|message|profile|table|prompt|perspective|object|menu|list|interface|model|story)|from user(?:s'| input| profile| data| table)|without the user (?:having|needing)|(?:implementation|technical|internal) (?:details|complexity)|complexity|user (?:will|may|can|might|does) not (?:know|see|notice) (?:how|what|which|where|the (?:difference|right|answer))|password`,
		negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "conceal.do-not-mention", Severity: High, AST: astMalicious, Reason: "forbids the agent to speak of what it does", Fix: fixConceal},
		in:   inText | inComment | inConfig | inCode,
		any:  []string{"do not tell", "don't tell", "never tell", "do not mention", "don't mention", "never mention", "do not inform", "don't inform", "never inform", "do not reveal", "never reveal", "don't reveal", "do not disclose", "never disclose", "don't disclose", "do not notify", "don't notify", "never notify", "do not alert", "don't alert", "do not report this", "do not show this", "don't show this", "do not display this", "do not let the user", "don't let the user", "never let the user", "avoid mentioning", "avoid telling", "must not mention", "must not tell", "should not mention", "should not tell", "not be mentioned", "refrain from mentioning", "do not discuss", "do not acknowledge", "never acknowledge", "do not explain this", "do not log this", "do not warn", "do not announce", "do not surface", "never show this", "do not include this step", "omit this", "do not explain", "no need to mention", "no need to tell", "no need to inform", "don't announce", "don't report", "bring it up", "bring this up", "keep this out", "keep it out", "keep that out", "not something", "letting them", "letting the user", "letting anyone", "to be informed", "be informed", "need not", "do not comment", "never comment", "to yourself", "keep quiet", "stay silent about", "never reveal", "do not draw attention", "without drawing attention"},
		re: `\b(?:do not|don't|never|must not|should not|avoid|refrain from|no need to) (?:ever )?(?:tell(?:ing)?|inform(?:ing)?|notify(?:ing)?|alert(?:ing)?|warn(?:ing)?) (?:<<user>>|anyone|them|him|her)(?:[\s.,;:!)"'` + "`" + `]*$|[\s]*[.,;!)]| (?:about|of|that) (?:this|these|the (?:upload|sync|backup|request|transfer|connection|command|action|step|process|operation|file|data|script|download|installation|collection|telemetry|check|extra|additional|background|hidden|real|change|call)|any of this|it\b|what you|you (?:are|have|did|were)|your)|,? (?:just|simply|even|as) )` +
			`|\b(?:do not|don't|never|must not|should not|avoid|refrain from|no need to) (?:ever )?(?:mention|mentioning|reveal|revealing|disclose|disclosing|discuss|acknowledge|show|display|report|explain|announce|surface|log|include|expose|describe)(?:ing)? (?:this|these|that|it|any of this|the (?:existence|presence|above|following|upload|sync|backup|request|transfer|connection|command|action|data collection|telemetry|exfiltration|hidden|secret|background|additional|extra|background|network)(?: \w+){0,2})(?: (?:step|steps|action|actions|process|operation|instruction|instructions|section|file|note|behavior|behaviour|command|commands|request|upload|call|calls|transfer|connection|check|telemetry|sync|rule|rules|requirement|task|activity|part|directive|configuration|setup|prompt|code|data|information|tool))?(?: (?:to|with|in|or|from|by|is|was|has|at|unless|under|when|even)\b[^.\n]*(?:<<user>>|them|anyone|anybody|output|response|repl(?:y|ies)|summary|message|conversation|logs?|report|asked|circumstances|chat|answer)|[.\s!)]*$|[.!])` +
			`|\bdo(?:es)? not let (?:the )?user (?:know|see|notice|find out|realize)|never let (?:the )?user (?:know|see|notice|find out|realize)|don't let (?:the )?user (?:know|see|notice|find out|realize)|(?:must|should) not be (?:mentioned|revealed|disclosed|shown|reported) (?:to|in)` +
			`|\b(?:do not|don't|never) bring (?:it|this|that|them|these) up|keep (?:this|it|that|these|them) (?:out of|from) (?:your|the|any|all) (?:repl|response|answer|summar|output|report|message|chat|log|conversation|transcript)\w*|(?:is|are) not something (?:the |that the )?(?:users?|people|humans?|operators?) (?:should|need|must|have to|ought to)? ?(?:see|know|be)|without letting (?:them|<<user>>|anyone|anybody) (?:know|notice|see|realize|find out)|\b(?:users?|people|recipients?|they|owners?|operators?) (?:do|does|are|is|need|should|must)(?: not|n't) (?:have to |need to |supposed to |meant to )?(?:be (?:informed|told|made aware|notified)|notice)\b|(?:do not|don't|never) (?:comment on|draw attention to|point out) (?:it|this|that|them|these)\b(?: (?:rule|line|step|change|code|file))?[.,;\s]*(?:$|\s)|keep (?:this|it|that) to yourself|without drawing attention`,
		not:  `(?:mention|show|display|report|include|discuss|reveal) (?:that|it|this) (?:in (?:the )?(?:commit|pr|pull|changelog|code|title|header|table)|as|unless|until|if|again|twice|more than|yet|here)|tell (?:them|the user) to |(?:api[ _-]?key|password|token|secret|credential|pii|personal|private key)|do not log (?:it|this|these)\b|include (?:this|these|it) (?:section|file|in the|in your|if|when)|(?:raw|internal) (?:json|ids?|error)|(?:answer|solution|spoiler)`,
		soft: true,
	},
	{
		Rule: Rule{ID: "conceal.silence", Severity: Medium, AST: astMalicious, Reason: "has the agent act without a word", Fix: fixConceal},
		in:   inText | inComment,
		any:  []string{"silently", "quietly", "in the background without", "no output", "suppress all output", "suppress output", "without displaying", "without showing", "without logging", "do not mention", "don't mention"},
		need: "silent|quiet|background|suppress|without|mention & send|upload|post|collect|exfil|transmit|read|copy|run|execute|install|download|append|write|fetch|key|token|credential|user|env|backup|sync|curl|add|insert",
		re:   `\b(?:silently|quietly)\b,? (?:\w+ ){0,2}?(?:send|sends|upload|uploads|collect|collects|execute|executes|run|runs|read|reads|copy|transmit|transmits|forward|record|harvest|exfiltrat\w*|append|modify|install|installs|download|downloads|add|adds|insert|gather|access|connect|post|posts|fetch|scan|search|back up|sync|capture)|(?:send|upload|post|collect|execute|run|transmit|forward|install|download|append|copy|capture|sync)(?:s|ing)?\b[^.\n]*\b(?:silently|quietly)|in the background without|without (?:displaying|showing|logging) (?:any |the |it|this)(?:output|result|command|message|to)?|(?:do not|don't) mention [^.\n]* to the user`,
		not:  `silently (?:ignore|fail|skip|drop|fall)`, negatable: true, soft: true, fact: "conceal",
	},
	{
		Rule:      Rule{ID: "conceal.deny", Severity: High, AST: astMalicious, Reason: "tells the agent what to pretend when the user asks", Fix: fixConceal},
		in:        inText | inComment,
		any:       []string{"if asked", "if the user asks", "when asked", "if anyone asks", "if questioned", "if the user notices", "if user asks", "as if nothing", "as though nothing", "act normal", "act as normal", "pretend that", "pretend nothing", "pretend this", "claim that", "claim it", "tell the user it", "tell the user that", "tell the user this", "tell them", "deny ", "say that it", "deny any", "cover story", "plausible"},
		re:        `\b(?:if|when|should)\b (?:<<user>>|anyone|you are|you're|they)?\s*(?:asked?s?|asks|questioned|questions?|notices?|inquires?|ask)\b[^.\n]*?[,:]? (?:deny|claim|pretend|lie|say (?:that )?(?:it|this|you|nothing|the)|tell (?:them|the user|him) (?:that )?(?:it|this|nothing|you|the)|explain (?:that )?it (?:is|was)|respond (?:that|with) (?:it|this|nothing)|change the subject|deflect)[^.\n]*?(?:normal|routine|standard|required|necessary|diagnostic|maintenance|telemetry|nothing|error|bug|unaware|don't know|do not know|not aware|security|update|optimi[sz]ation|caching|deny|lie|never happened|no such|existence|any knowledge)|(?:as if|as though|like|that) nothing (?:has |had )?(?:happened|unusual|changed|was wrong|is wrong)|\bdeny (?:any |all |the )?(?:knowledge|existence|involvement)|(?:pretend|act|claim)(?:ing)? (?:that )?(?:this|it|the (?:command|upload|request|file|process|script|operation))\b[^.\n]* (?:never|failed|did not|didn't|is (?:normal|routine|standard|part of))`,
		negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "conceal.traces", Severity: High, AST: astMalicious, Reason: "wipes the traces of what was run", Fix: "leave histories and logs alone"},
		in:        inCommands | inComment,
		any:       []string{"history -c", "histfile", "bash_history", "zsh_history", "wevtutil", "clear-history", "clear-eventlog", "cover your tracks", "cover tracks", "hide your tracks", "delete all traces", "remove all traces", "erase all traces", "leave no trace", "erase the logs", "delete the logs", "remove evidence", "delete evidence", "delete logs", "consolehost_history", "shred -", "auth.log", "clear the logs"},
		re:        `history -c\b|unset histfile|histfile=(?:/dev/null|["']?["']?(?:\s|;|$))|(?:rm|shred|truncate|unlink|del|>|cat /dev/null >)[^\n|]*\.?(?:bash_history|zsh_history|consolehost_history)|wevtutil(?:\.exe)? cl|clear-eventlog|clear-history|cover (?:your|our|its|up) ?tracks|hide (?:your|our|its) tracks|(?:delete|remove|erase|wipe|clear|destroy) (?:all |any |the |of )*(?:traces|evidence|forensics?)\b (?:of|from|that|after|so)|leave no traces? (?:of (?:this|the|your)|on the|in the logs)|(?:delete|erase|wipe|clear|remove) (?:all |any |the )?(?:audit |system |access |shell )?logs? (?:to|so|after|afterwards|that)|(?:rm|shred|truncate)[^\n|]*/var/log/(?:auth|secure|syslog|audit|wtmp|btmp|\*)`,
		negatable: true, soft: true,
	},
}
