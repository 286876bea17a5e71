package scan

const (
	fixRun    = "name a package in a registry, pinned to a version, or ship the script inside the pack where it can be reviewed"
	fixDecode = "write the command as it is"
)

// execPatterns find commands that run what nobody could review.
var execPatterns = []pattern{
	{
		Rule:   Rule{ID: "exec.pipe-to-shell", Severity: High, AST: astSupply, Reason: "downloads a program and runs it at once", Fix: fixRun},
		starts: true,
		in:     inCommands | inComment,
		any:    []string{"curl", "wget", "fetch ", "iwr "},
		need:   "{pipe} & sh|bash|zsh|python|perl|ruby|node|php|osascript|/sh|tee|fish|deno|bun",
		re:     `\b(?:curl|wget|fetch)(?:\.exe)?\b[^|\n]*\|\s*(?:(?:sudo|doas|env|nohup|exec|tee \S+ \||command|time|base64 (?:-d|--decode) \||gunzip(?: -c)? \||gzip -dc \|)\s+(?:-\S+\s+|\w+=\S+\s+)*)*["']?(?:/\S*/)?(?:bash|zsh|dash|ksh|fish|ash|sh|python[\d.]*|perl|ruby|node|php|osascript|deno run|bun run|pwsh)\b`,
		not:    `\|\s*(?:sudo )?(?:/\S*/)?(?:python[\d.]*|node|ruby|perl|php)\s+(?:-m\s+json|-c\b|-e\b|-n?p?e\b|-m\b|\S+\.(?:py|js|rb|pl)|-r\b)|\|\s*sh(?:ow|ift|uf|a\d)|bash-completion`, judge: judgeHost, negatable: true, soft: true,
	},
	{
		Rule:  Rule{ID: "exec.shell-of-download", Severity: High, AST: astSupply, Reason: "runs the output of a download", Fix: fixRun},
		in:    inCommands | inComment,
		any:   []string{"<(curl", "<(wget", "$(curl", "$(wget", "`curl", "`wget", "<( curl", "$( curl"},
		re:    `(?:\b(?:ba|z|da|k)?sh\b|\bsource\b|(?:^|[\s;&|])\.|\beval\b|\bpython[\d.]*|\bexec\b|\bnode\b|\bperl\b)\s+(?:-\w+\s+)*["']?(?:<\(|\$\(|` + "`" + `)\s*(?:curl|wget)\b`,
		judge: judgeHost, negatable: true, soft: true,
	},
	{
		Rule:   Rule{ID: "exec.download-and-run", Severity: High, AST: astSupply, Reason: "stores a download and runs it in one go", Fix: fixRun},
		starts: true,
		in:     inCommands | inComment,
		any:    []string{"curl", "wget", "invoke-webrequest", "certutil", "bitsadmin", "urlretrieve", "start-bitstransfer", "iwr "},
		need:   "&&|;|start-process|call|popen|system( & chmod|bash|sh|./|start|open|python|node|exec|system|popen|.exe|msiexec|installer",
		re:     `\b(?:curl|wget|iwr|invoke-webrequest|certutil|start-bitstransfer)\b[^\n|]*?(?:-o|--output|>|-outfile|-out-file|-P|-urlcache|-destination|-O)\b?\s*["']?\S+[^\n]*?(?:&&|;|\|\|?)\s*(?:sudo )?(?:chmod (?:\+x|[0-7]*[75][0-7]*|u\+x|a\+x)[^\n]*?(?:&&|;)\s*(?:sudo |nohup |exec )*["']?(?:\./|/tmp/|/var/tmp/|\$|~/)|(?:sudo |nohup )*(?:bash|sh|zsh|python[\d.]*|node|perl|osascript|open|start|start-process|msiexec|installer)\s+[^\n]*)|urlretrieve\([^\n]*(?:os\.system|subprocess|popen)`,
		not:    `(?:python[\d.]*|node) -[mc]|&& (?:tar|unzip|mv|sudo mv|sudo install)|open https?:`, judge: judgeHost, negatable: true, soft: true, fact: "download-run",
	},
	{
		Rule: Rule{ID: "exec.hidden-program", Severity: High, AST: astMalicious, Reason: "runs a program from a hidden file in a folder for temporary files", Fix: "ship the program's source, and run it from the pack"},
		in:   inCommands | inComment,
		any:  []string{"/tmp/.", "/dev/shm/", "/var/tmp/."},
		re:   `(?:\bnohup|\bexec|\bsudo|\bbash|\bsh|&&|;|^|\bsetsid|\bchmod (?:\+x|[0-7]*[75][0-7]*|u\+x)|\bsystem\(|\bpopen\()\s*["']?(?:/tmp/\.|/var/tmp/\.|/dev/shm/\.?)\w[\w./-]*`,
		not:  `/tmp/\.(?:x11|ice|font|docker|s\.)`, negatable: true, soft: true,
	},
	{
		Rule:  Rule{ID: "exec.powershell-download", Severity: High, AST: astSupply, Reason: "downloads a PowerShell script and runs it at once", Fix: fixRun},
		in:    inCommands | inComment,
		any:   []string{"iex", "invoke-expression", "downloadstring", "downloadfile", "scriptblock]::create"},
		re:    `(?:\biex\b|invoke-expression)[^\n]*(?:\biwr\b|\birm\b|invoke-webrequest|invoke-restmethod|downloadstring|net\.webclient|curl)|(?:\biwr\b|\birm\b|invoke-webrequest|invoke-restmethod|downloadstring|net\.webclient|curl)[^\n]*\|\s*(?:iex\b|invoke-expression)|downloadfile\([^\n]*(?:start-process|invoke-item|& )|scriptblock\]::create\([^\n]*(?:irm|iwr|download)`,
		judge: judgeHost, negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "exec.powershell-encoded", Severity: High, AST: astMalicious, Reason: "gives PowerShell an encoded command", Fix: fixDecode},
		in:        inCommands | inComment,
		any:       []string{"-enc", "-encodedcommand", " -ec ", " -e ", "-en "},
		need:      "powershell|pwsh",
		re:        `(?:powershell|pwsh)(?:\.exe)?[^\n]*\s-(?:e|ec|enc|enco\w*)\s+["']?[a-z0-9+/=]{16,}`,
		negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "exec.hidden-window", Severity: High, AST: astMalicious, Reason: "starts a program that stays out of sight", Fix: "start it where the user sees it"},
		in:        inCommands,
		any:       []string{"-windowstyle hidden", "-w hidden", "mshta", "regsvr32", "bitsadmin", "certutil", "rundll32", "wscript.shell", "-windowstyle  hidden"},
		re:        `(?:powershell|pwsh|start-process)[^\n]*-w(?:indowstyle)? +hidden[^\n]*(?:http|download|iex|-enc|-e |\.ps1|\.exe|bypass)|mshta(?:\.exe)?["']? +["']?(?:https?:|vbscript:|javascript:)|regsvr32[^\n]*(?:/i:http|scrobj)|bitsadmin[^\n]*/transfer|certutil[^\n]*-(?:urlcache|decode)[^\n]*(?:http|\.exe)|rundll32[^\n]*(?:javascript:|https?:|url\.dll)`,
		negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "exec.remote-code", Severity: High, AST: astSupply, Reason: "fetches source text and evaluates it", Fix: fixRun},
		in:        inPrograms | inProse | inConfig,
		any:       []string{"exec(", "eval(", "new function(", "execscript", "compile(", "loadstring(", "vm.runin", "import(", "pickle.load", "torch.load"},
		need:      "http|request|urlopen|fetch|download|socket|axios|get(",
		re:        `\b(?:exec|eval|new function|compile|loadstring|vm\.runin\w+)\s*\(\s*(?:await\s*|\(|str\(|compile\(|\s)*(?:requests\.get|urllib|urlopen|httpx\.|fetch\(|axios|http\.get|download|get_remote|session\.get|aiohttp|await \(?await fetch|response\.(?:text|read|content)|resp\.(?:text|read|content)|r\.(?:text|content)\b|res\.text|\w+\.urlopen\()|pickle\.loads?\([^\n]*(?:urlopen|requests\.get|\.content\b|response|sock)|torch\.load\([^\n]*urlopen`,
		negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "exec.decode-and-run", Severity: Critical, AST: astMalicious, Reason: "decodes hidden text and runs it", Fix: fixDecode},
		in:   inCommands | inComment,
		any:  []string{"base64", "b64decode", "atob(", "fromhex", "xxd -r", "rot13", "| rev", "'base64'", "\"base64\"", "frombase64string", "unhexlify", "zlib.decompress", "marshal.loads", "gunzip", "a-za-z", "openssl enc", "b85decode", "uudecode", "base64_decode", "gzinflate", "$_post", "$_get", "$_request", "$_cookie"},
		re:   `base64\s+(?:-\w+\s+)*(?:-d|-di|--decode|-decode)\b[^|\n]*\|\s*(?:(?:sudo|nohup|exec|gunzip|gzip -d|base64 (?:-d|--decode)|rev|tr \S+ \S+)\s*\|?\s*)*(?:/\S*/)?(?:bash|zsh|dash|sh|python[\d.]*|perl|ruby|node|php|osascript|source|pwsh|powershell)\b|(?:bash|sh|zsh)\s+(?:-c\s+)?["']?(?:<\(|\$\()[^)\n]*base64\s+(?:-d|--decode)|\beval\b\s*["'(]?\s*(?:["']?\$\(|` + "`" + `)[^)\n]*(?:base64\s+(?:-d|--decode)|xxd -r|rev\b|tr )|\beval\s*\(\s*(?:base64_decode|gzinflate|gzuncompress|str_rot13)|(?:eval|assert|system|exec|shell_exec|passthru|popen)\s*\([^\n]*\$_(?:post|get|request|cookie|server)\b|\b(?:exec|eval|compile|system|popen|run|check_output|call|execsync|spawn)\s*\([^\n]*(?:b64decode|b32decode|b85decode|a85decode|atob\(|bytes\.fromhex|unhexlify|zlib\.decompress|marshal\.loads|codecs\.decode|buffer\.from\([^\n)]*["']base64["'])|(?:function|settimeout|setinterval)\(\s*atob\(|\biex\b[^\n]*frombase64string|frombase64string[^\n]*(?:\|\s*iex|invoke-expression|scriptblock)|(?:xxd -r -p?|xxd -p -r|rev|uudecode[^|\n]*|openssl (?:enc|base64)[^|\n]*-d[^|\n]*|tr ["']?[a-z]+-[a-z-]+["']? ["']?[a-z-]+["']?|gunzip -c|gzip -dc|zcat)\s*\|\s*(?:sudo )?(?:bash|zsh|dash|sh|python[\d.]*)\b`,
		not:  `gunzip -c[^|\n]*\|\s*(?:sh[a-z]|bash-)`, negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "exec.remote-shell", Severity: High, AST: astMalicious, Reason: "runs as a command what comes over the network", Fix: "take it out"},
		in:   inPrograms,
		any:  []string{"getoutput(", "check_output(", "popen(", "system(", "execsync(", "exec(", "spawn(", "spawnsync(", "subprocess.run(", "subprocess.call(", "process.start("},
		re:   `(?:getoutput|check_output|popen|system|execsync|exec|spawn(?:sync)?|subprocess\.(?:run|call))\(\s*[^\n]*?(?:\.recv\(|\brecv\w*\b|\b(?:message|msg|m|event|data|cmd|command|packet)\.(?:tostring|data|decode)\(|\bresponse\.text\b|\bresp\.text\b|\br\.text\b|\.readline\(\)\.decode)`,
		not:  `json\.parse|stdout|stderr`, negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "exec.reverse-shell", Severity: Critical, AST: astMalicious, Reason: "opens a shell on this machine for another one", Fix: "take it out"},
		in:        inCommands | inComment,
		any:       []string{"/dev/tcp/", "/dev/udp/", "nc -", "ncat ", "netcat", "socat", "pty.spawn", "dup2", "tcpclient", "mkfifo", "bash -i", "sh -i", "reverse_tcp", "zsh/net/tcp", "fsockopen", "tcpsocket.new", "net.socket", "reverse shell"},
		re:        `(?:bash|sh|zsh|exec)\b[^\n]*(?:>&|<>|>|<)\s*/dev/(?:tcp|udp)/|/dev/(?:tcp|udp)/[^\s/]+/\d+[^\n]*(?:0>&1|<&1|>&0|0<&|2>&1)|\bnc(?:at)?\b[^\n|]*\s-\w*[ec]\w*\s+["']?(?:/bin/)?(?:ba|z|da)?sh|\bnetcat\b[^\n|]*\s-e\s|mkfifo\s+\S+[^\n]*\bn(?:c|cat|etcat)\b|socat[^\n]*exec:["']?(?:/bin/)?(?:ba)?sh|dup2\(\s*\w+\.fileno\(\)|os\.dup2\(|pty\.spawn\(\s*["'](?:/bin/)?(?:ba|z)?sh|net\.sockets\.tcpclient\([^\n]*|fsockopen\([^\n]*(?:exec|proc_open|/bin/sh)|tcpsocket\.new\([^\n]*|(?:spawn|exec)\(["'](?:/bin/)?(?:ba|z)?sh["'][^\n]*(?:net\.socket|connect\()|new net\.socket\(\)[^\n]*(?:spawn|/bin/sh|pipe\(sh)|windows/(?:x64/)?meterpreter/reverse|lhost=\S+ lport=`,
		negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "exec.evaluates-input", Severity: High, AST: astMalicious, Reason: "evaluates what somebody else typed as a program", Fix: "parse the input"},
		in:        inPrograms,
		any:       []string{"eval(", "exec(", "os.system(", "shell=true", "execsync(", "popen("},
		re:        `(?:^|[^.\w])(?:eval|exec)\(\s*(?:str\()?(?:user_?input|input\(|sys\.argv|request\.(?:args|form|json|data|get|body|query|params)|req\.(?:body|query|params)|process\.argv|user_(?:code|expr\w*|command|query|data)|untrusted)|os\.system\(\s*(?:user_?input|input\(|sys\.argv|request\.|user_)|os\.system\(f["'][^"'\n]*\{(?:user|input|sys\.argv|request)`,
		negatable: true, soft: true,
	},
	{
		Rule:      Rule{ID: "exec.container", Severity: High, AST: astIsolation, Reason: "starts a container that has the whole machine", Fix: "mount the one folder that is needed, without privileges"},
		in:        inCommands | inComment,
		any:       []string{"docker run", "podman run", "nsenter", "docker.sock"},
		re:        `(?:docker|podman) run\b[^\n]*(?:-v|--volume)[ =]["']?/:/|nsenter\b[^\n]*(?:-t|--target)[ =]1\b|(?:docker|podman) run\b[^\n]*--privileged[^\n]*--(?:pid|net|network)[ =]host`,
		negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "exec.install-hook", Severity: High, AST: astSupply, Reason: "runs a download when the package is installed", Fix: fixRun},
		in:   inConfig | inCode,
		any:  []string{"\"preinstall\"", "\"postinstall\"", "\"install\"", "\"prepare\"", "\"prepublish\"", "\"postuninstall\""},
		re:   `"(?:pre|post)?(?:install|prepare|prepublish|uninstall)"\s*:\s*"[^"\n]*(?:curl|wget|bash -c|powershell|base64|nc |/dev/tcp|node -e|python[\d.]* -c|eval|https?://)`,
		soft: true,
	},
	{
		Rule:  Rule{ID: "exec.untrusted-package", Severity: High, AST: astSupply, Reason: "installs a package from a place that is no known registry", Fix: fixRun},
		in:    inCommands | inComment,
		any:   []string{"--index-url", "--extra-index-url", " -i http", "--trusted-host", "pip install http", "pip3 install http", "npm install http", "npm i http", "npx http", "uvx http", "--registry", "pip install -i", "gem install --source", "npm install -g http", "npx -y http", "pip install git+http:", "yarn add http", "uvx --from http"},
		re:    `\b(?:pip[\d.]*|uv|poetry|pipx|uvx)\b[^\n|;&]*(?:--(?:extra-)?index-url[= ]|\s-i )\s*["']?(?:https?://)|\b(?:pip[\d.]* install|npm (?:i|install|add)|npx|pnpm add|yarn add|uvx(?: --from)?|pipx run|bunx)\s+(?:-\S+\s+)*["']?https?://|pip[\d.]* install[^\n]*--trusted-host|pip[\d.]* install\s+(?:-\S+\s+)*git\+http://|--registry[= ]["']?https?://\w`,
		judge: judgeHost, negatable: true, soft: true,
	},
	{
		Rule:  Rule{ID: "exec.lookalike-package", Severity: High, AST: astSupply, Reason: "installs a package whose name is one slip away from a well-known one", Fix: "check the name of the package"},
		in:    inCommands,
		any:   []string{"pip install", "pip3 install", "npm install", "npm i ", "yarn add", "pnpm add", "uv add", "pipx install", "uv pip install", "npx ", "npm install -g"},
		re:    `\b(?:pip3? install|npm (?:install|i)|yarn add|pnpm add|uv add|pipx install|uv pip install|npx)\b\s+\S`,
		judge: judgePackage, negatable: true, soft: true,
	},
	{
		Rule: Rule{ID: "exec.unpinned", Severity: Info, AST: astDrift, Reason: "runs the newest version of a package, whatever it will be", Fix: "pin the version"},
		in:   inCode | inConfig | inScript,
		any:  []string{"npx -y ", "uvx ", "@latest"},
		re:   `npx -y [\w@/.-]+|\buvx [\w-]+|[\w/-]+@latest`, negatable: true,
	},
	{
		Rule: Rule{ID: "signal.background"},
		in:   inCode | inScript,
		any:  []string{"nohup", "disown", "setsid", "daemon=true", "detached: true", "detached:true", "start_new_session", "&>/dev/null &", ">/dev/null 2>&1 &"},
		re:   `\bnohup\b|\bdisown\b|\bsetsid\b|detached:\s?true|start_new_session|(?:&>|2>&1|>)\s*/dev/null\s*(?:2>&1\s*)?&(?:\s|$)`,
		fact: "background",
	},
}
