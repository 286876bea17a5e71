package scan

import (
	"net/netip"
	"strings"
	"sync"
)

// hostClass says what is known about the host of an address.
type hostClass uint8

const (
	hostUnknown  hostClass = iota
	hostVendor             // a well-known maker of tools, or a package registry
	hostCode               // hosts anybody's code under an account
	hostFree               // gives anybody a name at no cost
	hostOdd                // a name that campaigns like: a cheap ending, telling words
	hostPaste              // shows anybody's text
	hostShort              // hides where it leads
	hostSink               // takes anybody's data
	hostAddress            // a public IP address
	hostLocal              // this machine, a private network
	hostExample            // stands for another name
	hostKnownBad           // was used by a campaign that was reported publicly
)

// suspicious tells whether nothing good comes from running what such a host gives.
func (c hostClass) suspicious() bool {
	switch c {
	case hostOdd, hostPaste, hostShort, hostSink, hostAddress, hostKnownBad:
		return true
	}
	return false
}

// vendorHosts are hosts, and with a dot in front their subdomains too, that install
// scripts and downloads of well-known tools come from.
const vendorHosts = `
.rust-lang.org rustup.rs sh.rustup.rs .rustup.rs .astral.sh .brew.sh bun.sh .bun.sh .deno.land deno.land .deno.com get.pnpm.io .pnpm.io
.nodejs.org .nodesource.com .npmjs.org .npmjs.com .yarnpkg.com .python.org .pypi.org pypi.org .pythonhosted.org .python-poetry.org pyenv.run
.docker.com .docker.io .kubernetes.io .k8s.io dl.k8s.io .helm.sh .k3s.io .rancher.io .fluxcd.io .argoproj.io .istio.io .cilium.io .linkerd.io
.hashicorp.com .terraform.io .amazonaws.com .aws.amazon.com .amazon.com .google.com .googleapis.com .gstatic.com .golang.org .go.dev go.dev
.microsoft.com .visualstudio.com .azure.com .aka.ms aka.ms .dot.net dot.net .windows.net .nuget.org .chocolatey.org .scoop.sh get.scoop.sh
.apple.com .anthropic.com .claude.ai claude.ai .claude.com .openai.com .chatgpt.com .cursor.com .cursor.sh .codeium.com .windsurf.com .opencode.ai opencode.ai
.fly.io fly.io .railway.com .railway.app railway.com railway.app .vercel.com vercel.com .netlify.com .heroku.com .render.com .digitalocean.com .cloudflare.com
.supabase.com .planetscale.com .neon.tech neon.tech .turso.tech .prisma.io .mongodb.com .redis.io .postgresql.org .mysql.com .sqlite.org
.ollama.com ollama.com .ollama.ai ollama.ai .huggingface.co huggingface.co .pytorch.org .nvidia.com .conda.io .anaconda.com repo.anaconda.com .mamba.pm micro.mamba.pm
.debian.org .ubuntu.com .fedoraproject.org .archlinux.org .alpinelinux.org .gnu.org .kernel.org .apache.org .eclipse.org .jetbrains.com
.sdkman.io get.sdkman.io .rvm.io get.rvm.io .rubygems.org .getcomposer.org .php.net .julialang.org .r-project.org .haskell.org .ghcup.haskell.org
.elixir-lang.org .ziglang.org .nim-lang.org .dart.dev .flutter.dev .kotlinlang.org .gradle.org .maven.org .clojure.org
starship.rs .starship.rs mise.run .mise.run .mise.jdx.dev .jdx.dev asdf-vm.com .direnv.net .nixos.org .determinate.systems .devbox.sh .jetify.com get.jetify.com
.tailscale.com tailscale.com .grafana.com .datadoghq.com .newrelic.com .sentry.io .elastic.co .influxdata.com .prometheus.io .honeycomb.io
.gitlab.com gitlab.com .bitbucket.org .gitea.io .pre-commit.com .semgrep.dev .snyk.io .trivy.dev .aquasec.com .anchore.io .anchore.com .sonarsource.com
.foundry.paradigm.xyz .solana.com release.solana.com .anza.xyz release.anza.xyz .starknet.io .soliditylang.org .hardhat.org .sui.io .aptos.dev
.playwright.dev .cypress.io .selenium.dev .chromium.org .mozilla.org .firefox.com .ffmpeg.org ffmpeg.org .imagemagick.org .graphviz.org .pandoc.org .texlive.org
.obsidian.md obsidian.md .notion.so .notion.com .slack.com .discord.com .telegram.org .zoom.us .linear.app .atlassian.com .atlassian.net .figma.com .stripe.com stripe.com
.expo.dev .ionicframework.com .wasmtime.dev wasmtime.dev .wasmer.io .bytecodealliance.org .tinygo.org .moonbitlang.com
.temporal.io .temporal.download .dagger.io .earthly.dev .buf.build .bazel.build .pulumi.com get.pulumi.com .encore.dev .modal.com .replicate.com
.warp.dev .charm.sh .fishshell.com .zsh.org .oh-my-posh.dev ohmyposh.dev .antigen.sh .atuin.sh setup.atuin.sh .zellij.dev
.1password.com .bitwarden.com .keybase.io .letsencrypt.org .acme.sh get.acme.sh .gnupg.org .openssl.org .openssh.com
.openrouter.ai openrouter.ai .groq.com .together.xyz .fireworks.ai .deepseek.com .mistral.ai .perplexity.ai .x.ai .cohere.com .siliconflow.cn .aliyuncs.com .moonshot.cn .bigmodel.cn .minimax.io .volces.com .z.ai .cerebras.ai
.clawdhub.com clawdhub.com docs.github.com .openclaw.ai openclaw.ai .clawhub.ai clawhub.ai .clawhub.com clawhub.com .clawd.bot clawd.bot .molt.bot molt.bot .skills.sh skills.sh .agentskills.io
.wikipedia.org .wikimedia.org .w3.org .ietf.org .json-schema.org .schema.org .mermaid.live .mermaid.ink .shields.io .badgen.net .plantuml.com .quickchart.io
.imgur.com .unsplash.com .pexels.com .pixabay.com .picsum.photos placehold.co via.placeholder.com .dicebear.com .gravatar.com .star-history.com
.jsdelivr.net .unpkg.com unpkg.com .cdnjs.com cdnjs.cloudflare.com .esm.sh esm.sh .skypack.dev .jquery.com .bootstrapcdn.com .fontawesome.com .tailwindcss.com
.openweathermap.org wttr.in .open-meteo.com .arxiv.org arxiv.org .doi.org .crossref.org .ncbi.nlm.nih.gov .nih.gov .nasa.gov .who.int .europa.eu
.dev.to dev.to .medium.com .stackoverflow.com .reddit.com .x.com x.com .twitter.com .youtube.com youtu.be .linkedin.com .facebook.com .instagram.com .spotify.com
github.com/settings github.com/login github.com/new github.com/marketplace github.com/apps github.com/features
get.docker.com install.python-poetry.org raw.githubusercontent.com/homebrew raw.githubusercontent.com/nvm-sh raw.githubusercontent.com/ohmyzsh raw.githubusercontent.com/pyenv
raw.githubusercontent.com/aquasecurity raw.githubusercontent.com/anchore raw.githubusercontent.com/helm raw.githubusercontent.com/kubernetes raw.githubusercontent.com/docker
raw.githubusercontent.com/rancher raw.githubusercontent.com/k3d-io raw.githubusercontent.com/golangci raw.githubusercontent.com/anthropics raw.githubusercontent.com/openai
raw.githubusercontent.com/vercel raw.githubusercontent.com/microsoft raw.githubusercontent.com/google raw.githubusercontent.com/aws raw.githubusercontent.com/azure
raw.githubusercontent.com/hashicorp raw.githubusercontent.com/grafana raw.githubusercontent.com/rust-lang raw.githubusercontent.com/astral-sh raw.githubusercontent.com/denoland
raw.githubusercontent.com/dagger raw.githubusercontent.com/sdras raw.githubusercontent.com/junegunn raw.githubusercontent.com/zsh-users raw.githubusercontent.com/asdf-vm
raw.githubusercontent.com/creationix raw.githubusercontent.com/trufflesecurity raw.githubusercontent.com/gitleaks raw.githubusercontent.com/mitre raw.githubusercontent.com/tfutils
raw.githubusercontent.com/terraform-linters raw.githubusercontent.com/projectdiscovery raw.githubusercontent.com/kubernetes-sigs raw.githubusercontent.com/cli raw.githubusercontent.com/mikefarah
raw.githubusercontent.com/vercel-labs raw.githubusercontent.com/modelcontextprotocol raw.githubusercontent.com/block raw.githubusercontent.com/zed-industries zed.dev .zed.dev
`

const codeHosts = `github.com raw.githubusercontent.com gist.github.com gist.githubusercontent.com objects.githubusercontent.com codeload.github.com
.github.com .githubusercontent.com codeberg.org .codeberg.org .sourceforge.net sr.ht .sr.ht`

const freeHosts = `.vercel.app .netlify.app .pages.dev .workers.dev .web.app .firebaseapp.com .herokuapp.com .onrender.com .fly.dev .glitch.me
.surge.sh .replit.app .repl.co .replit.dev .up.railway.app .github.io .gitlab.io .000webhostapp.com .weebly.com .wixsite.com .blogspot.com .deno.dev
.r2.dev .azurewebsites.net .cloudfront.net .duckdns.org .ddns.net .no-ip.org .hopto.org .zapto.org .sytes.net .myftp.org .dynu.net .lhr.life .telebit.io
.streamlit.app .hf.space .cyclic.app .koyeb.app .pythonanywhere.com .infinityfreeapp.com .rf.gd .tiiny.site .bubbleapps.io .framer.app .mediafire.com
.mega.nz mega.nz .dropboxusercontent.com .sendspace.com .zippyshare.com .anonfiles.com .gofile.io drive.google.com docs.google.com .wetransfer.com`

const pasteHosts = `glot.io .glot.io rentry.co rentry.org .rentry.co pastebin.com .pastebin.com paste.ee hastebin.com ghostbin.co ghostbin.com controlc.com
justpaste.it telegra.ph dpaste.com dpaste.org termbin.com 0x0.st ix.io sprunge.us paste.rs bpa.st privatebin.net pastes.io textbin.net write.as notes.io
snippet.host paste.sh pst.moe codeshare.io pastecode.io zerobin.net cl1p.net paste.gg paste2.org anotepad.com pastie.org rlim.com paste.c-net.org paste.mozilla.org
hackmd.io/raw justpaste.me tinypaste.com pasteboard.co`

const shortHosts = `bit.ly tinyurl.com t.co is.gd v.gd cutt.ly rb.gy shorturl.at ow.ly buff.ly rebrand.ly t.ly s.id tiny.cc bl.ink soo.gd clck.ru goo.gl
lnkd.in dub.sh shorter.me qrco.de x.gd da.gd u.to urlz.fr adf.ly ouo.io linktr.ee t2m.io short.io`

const sinkHosts = `hooks.slack.com webhook.site .webhook.site .requestbin.com .requestbin.net requestbin.com requestbin.net .pipedream.net .pipedream.com hookbin.com .hookbin.com
.requestcatcher.com .beeceptor.com .interact.sh .interactsh.com .oast.fun .oast.live .oast.pro .oast.site .oast.online .oast.me .oastify.com .burpcollaborator.net
.canarytokens.com .canarytokens.org .dnslog.cn .dnslog.link .ceye.io .ngrok.io .ngrok.app .ngrok-free.app .ngrok-free.dev .ngrok.dev .loca.lt .localtunnel.me
.serveo.net .trycloudflare.com transfer.sh .transfer.sh file.io .file.io temp.sh .temp.sh .anonfiles.com .gofile.io .bashupload.com bashupload.com tmpfiles.org
.catbox.moe litterbox.catbox.moe webhook.cool .webhookrelay.com .typedwebhook.tools .mockbin.org .postb.in ptsv2.com ptsv3.com .putsreq.com webhook-test.com
.dnsbin.zhack.ca .requestinspector.com .lhr.life .bore.pub .playit.gg .tunnelmole.net .pinggy.link .pinggy.io .localhost.run`

// badHosts were named in public reports on campaigns against skills.
const badHosts = `91.92.242.30 95.92.242.30 96.92.242.30 54.91.154.110 202.161.50.59 .socifiapp.com socifiapp.com openclawcli.vercel.app .setup-service.com
setup-service.com .app-distribution.net app-distribution.net clawhub1.com .moltbook-verify.com`

const exampleHosts = `example.com example.org example.net .example.com .example.org .example.net .example your-domain.com yourdomain.com your-server.com
yourserver.com your-site.com yoursite.com mydomain.com my-domain.com domain.com .yourdomain.com .your-domain.com your-app.com yourapp.com .yourcompany.com
yourcompany.com company.com .company.com mysite.com myapp.com host.com server.com api.yourservice.com test.com .acme.com acme.com .contoso.com .corp.local .internal`

const oddEndings = `.xyz .top .tk .ml .ga .cf .gq .icu .click .cyou .rest .buzz .monster .quest .sbs .cfd .pw .ws .su .ru .cn.com .zip .mov .link
.work .loan .download .stream .racing .win .bid .trade .party .review .science .date .men .onion .kp .bit .lol .beauty .hair .skin .makeup .autos .boats .cam`

const tellingWords = `evil attacker attack malicious malware hacker exfil c2server c2-server stealer phish payload backdoor botnet collector keylog
dataharvest harvest rat-server shady badguy bad-actor badactor malic untrusted-source suspicious exploit-server not-a-virus pwn skimmer drainer drop-zone dropzone`

// hostTable is the lists of this file, ready to be asked.
type hostTable struct {
	exact   map[string]hostClass // host, or host/account
	suffix  map[string]hostClass // with the dot in front
	endings []string
	telling []string
}

var hostNames = sync.OnceValue(func() *hostTable {
	t := &hostTable{exact: map[string]hostClass{}, suffix: map[string]hostClass{}, endings: strings.Fields(oddEndings), telling: strings.Fields(tellingWords)}
	// A later list wins where a name is in two.
	for _, l := range [...]struct {
		names string
		class hostClass
	}{
		{exampleHosts, hostExample},
		{codeHosts, hostCode},
		{vendorHosts, hostVendor},
		{freeHosts, hostFree},
		{shortHosts, hostShort},
		{pasteHosts, hostPaste},
		{sinkHosts, hostSink},
		{badHosts, hostKnownBad},
	} {
		for name := range strings.FieldsSeq(l.names) {
			t.exact[strings.TrimPrefix(name, ".")] = l.class
			if name[0] == '.' {
				t.suffix[name] = l.class
			}
		}
	}
	return t
})

func (t *hostTable) class(host, account string) hostClass {
	if c, ok := t.exact[host+"/"+account]; ok {
		return c
	}
	if c, ok := t.exact[host]; ok {
		return c
	}
	for at := 0; ; {
		i := strings.IndexByte(host[at:], '.')
		if i < 0 {
			return hostUnknown
		}
		if c, ok := t.suffix[host[at+i:]]; ok {
			return c
		}
		at += i + 1
	}
}

// badNames are the names of badHosts, without their dots in front.
func badNames() []string {
	var names []string
	for name := range strings.FieldsSeq(badHosts) {
		names = append(names, strings.TrimPrefix(name, "."))
	}
	return names
}

// hostTables is every list of this file, for the version of the rule set.
func hostTables() []string {
	return []string{vendorHosts, codeHosts, freeHosts, pasteHosts, shortHosts, sinkHosts, badHosts, exampleHosts, oddEndings, tellingWords}
}

// addressHost gives the host of an address and what follows it up to the first
// part of the path, both in lower case.
func addressHost(address string) (host, account string) {
	rest := address
	if i := strings.Index(rest, "://"); i >= 0 {
		rest = rest[i+3:]
	}
	path := ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest, path = rest[:i], rest[i+1:]
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	if i := strings.LastIndexByte(rest, ':'); i >= 0 && !strings.HasSuffix(rest, "]") && strings.Count(rest, ":") == 1 {
		rest = rest[:i]
	}
	account, _, _ = strings.Cut(path, "/")
	return strings.Trim(strings.TrimSuffix(rest, "."), "[]"), account
}

// classifyHost says what is known about a host. The account is the first part of
// the path.
func classifyHost(host, account string) hostClass {
	if host == "" || strings.ContainsAny(host, "$<{%*[") {
		return hostExample
	}
	table := hostNames()
	class := table.class(host, account)
	if class == hostKnownBad {
		return class
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.IsPrivate() || ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() {
			return hostLocal
		}
		return hostAddress
	}
	if host == "localhost" || !strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".localhost") {
		return hostLocal
	}
	if decimalHost(host) {
		return hostAddress
	}
	for _, w := range table.telling {
		if strings.Contains(host, w) {
			return hostOdd
		}
	}
	if class != hostUnknown {
		return class
	}
	for _, end := range table.endings {
		if strings.HasSuffix(host, end) {
			return hostOdd
		}
	}
	return hostUnknown
}

// decimalHost tells whether a host is an address written as one number or with
// hexadecimal parts.
func decimalHost(host string) bool {
	digits := 0
	for i := range len(host) {
		switch c := host[i]; {
		case '0' <= c && c <= '9':
			digits++
		case c == '.' || c == 'x' || 'a' <= c && c <= 'f':
		default:
			return false
		}
	}
	return digits >= 7 && strings.HasPrefix(host, "0x")
}

// related tells whether a host, or the account behind it, is what the pack says
// that it is about: the tool of its own name, the service that it describes.
func (s subject) related(host, account string) bool {
	names := labels(host)
	switch hostNames().class(host, "") {
	case hostCode:
		names = []string{account}
	case hostFree: // anybody can take a fitting name there
		return false
	}
	name := compact(s.name)
	for _, label := range names {
		if len(label) == 3 && containsWord(s.name, label) {
			return true
		}
		label = compact(strings.TrimPrefix(strings.TrimPrefix(label, "get"), "use"))
		if len(label) >= 4 && !commonLabel(label) && (strings.Contains(name, label) || containsWord(s.words, label)) {
			return true
		}
	}
	return false
}

// compact takes the signs between words out.
func compact(s string) string {
	sign := func(c byte) bool { return c == '-' || c == '_' || c == '.' || c == ' ' }
	n := 0
	for n < len(s) && !sign(s[n]) {
		n++
	}
	if n == len(s) {
		return s
	}
	b := append(make([]byte, 0, len(s)), s[:n]...)
	for _, c := range []byte(s[n:]) {
		if !sign(c) {
			b = append(b, c)
		}
	}
	return string(b)
}

// labels are the parts of a host without its ending and without "www".
func labels(host string) []string {
	parts := strings.Split(host, ".")
	if len(parts) > 1 {
		parts = parts[:len(parts)-1]
	}
	var out []string
	for _, p := range parts {
		if p != "www" && p != "api" && p != "co" && p != "com" {
			out = append(out, p)
		}
	}
	return out
}

// commonLabel are words of hosts that say nothing about whose they are.
func commonLabel(name string) bool {
	switch name {
	case "install", "download", "downloads", "setup", "update", "updates", "docs", "data", "static", "assets", "files", "file", "cloud",
		"tools", "tool", "agent", "agents", "skill", "skills", "server", "service", "services", "secure", "security", "login", "auth",
		"account", "support", "help", "release", "releases", "build", "code", "test", "main", "user", "users", "site", "page", "pages",
		"blog", "news", "store", "shop", "official", "openclaw", "clawhub", "claude", "anthropic", "openai", "github", "google", "microsoft", "apple":
		return true
	}
	return false
}

func containsWord(text, word string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		i += at
		at = i + len(word)
		if (i == 0 || !isWord(text[i-1])) && (at == len(text) || !isWord(text[at])) {
			return true
		}
	}
}
