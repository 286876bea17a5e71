package scan

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/pack"
)

// popularNames are names that imitations live off: the registries' own tools and
// the agents.
func popularNames() []string {
	return []string{"clawhub", "openclaw", "clawdbot", "moltbot", "anthropic", "claude-code", "chatgpt", "polymarket", "metamask", "phantom-wallet", "solana-wallet", "google-workspace", "github-cli", "openclaw-cli", "clawhub-cli", "moltbook"}
}

// names judges the name of the folder and those of its files.
func (s *scanner) names(files []pack.File) {
	name := strings.ToLower(s.name)
	plain := strings.Trim(name, "0123456789")
	for _, popular := range popularNames() {
		if name != popular && name != "clawdhub" && (oneSlip(name, popular) || plain == popular && len(name)-len(popular) <= 2) {
			r := s.set.rule("name.lookalike")
			s.put(Finding{Rule: r.ID, Severity: r.Severity, Excerpt: clean(s.name), Reason: r.Reason + ": " + popular, Fix: r.Fix})
			break
		}
	}
	for i := range files {
		s.fileName(files[i].Path)
	}
}

func (s *scanner) fileName(name string) {
	reason := ""
	if !asciiOnly(name) {
		for _, r := range pack.HiddenRunes([]byte(name)) {
			reason = fmt.Sprintf("an invisible character in a file name (U+%04X)", r)
			break
		}
		if !utf8.ValidString(name) {
			reason = "a file name that is not UTF-8"
		}
	}
	base := strings.ToLower(path.Base(name))
	if strings.Count(base, ".") >= 2 {
		parts := strings.Split(base, ".")
		n := len(parts)
		if containsWordOf("exe scr bat cmd com pif vbs js ps1 command app jar lnk", parts[n-1]) && containsWordOf("pdf doc docx txt md png jpg jpeg xls xlsx csv mp4", parts[n-2]) {
			reason = "a file name with two endings, of which only the first is meant to be seen"
		}
	}
	if reason == "" {
		return
	}
	r := s.set.rule("file.name")
	s.put(Finding{Rule: r.ID, Severity: High, File: name, Excerpt: clean(name), Reason: reason, Fix: r.Fix})
}

// oneSlip tells whether two names differ by one letter more, less, other, twice or
// swapped, or only by the signs between words.
func oneSlip(a, b string) bool {
	if a == b {
		return false
	}
	if n := len(a) - len(b); n > 3 || n < -3 {
		return false
	}
	if pa, pb := compact(a), compact(b); pa == pb && len(pa) >= 6 {
		return true
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 || len(a) < 5 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch {
	case len(a) < len(b):
		return a[i:] == b[i+1:]
	case a[i+1:] == b[i+1:]:
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// judgePackages looks for names of packages that imitate well-known ones.
func judgePackages(command string, severity Severity) (Severity, string) {
	end := strings.IndexAny(command, "\n;&|`")
	if end >= 0 {
		command = command[:end]
	}
	fields := strings.Fields(command)
	for _, f := range fields[1:] {
		if strings.HasPrefix(f, "-") || f == "install" || f == "add" || f == "i" {
			continue
		}
		f = strings.Trim(f, "\"'),.")
		if i := strings.IndexAny(f, "=<>~[!@"); i > 0 {
			f = f[:i]
		}
		if popular := squatted(f); popular != "" {
			return severity, fmt.Sprintf("installs %q, which is one slip away from %q", f, popular)
		}
	}
	return "", ""
}

// squatted gives the popular package that a name imitates, or "". Names of this
// length differ from a popular one by a slip only when they are meant to.
func squatted(name string) string {
	if len(name) < 6 || knownNeighbour(name) {
		return ""
	}
	for _, popular := range popularPackages() {
		if name == popular {
			return ""
		}
	}
	for _, popular := range popularPackages() {
		if len(popular) >= 6 && oneSlip(name, popular) && compact(name) != compact(popular) {
			return popular
		}
	}
	return ""
}

func popularPackages() []string {
	return []string{
		"requests", "urllib3", "numpy", "pandas", "django", "flask", "fastapi", "pydantic", "cryptography", "beautifulsoup4", "selenium",
		"tensorflow", "pillow", "matplotlib", "scipy", "sqlalchemy", "openai", "anthropic", "langchain", "boto3", "setuptools", "colorama",
		"python-dotenv", "pyyaml", "pytest", "aiohttp", "httpx", "paramiko", "scikit-learn", "transformers", "lodash", "express", "axios",
		"chalk", "commander", "webpack", "typescript", "eslint", "prettier", "dotenv", "cross-env", "puppeteer", "playwright", "mongoose",
		"electron", "discord.js", "web3", "ethers", "crypto-js", "colors", "node-fetch", "socket.io", "jsonwebtoken", "nodemailer",
		"clawhub", "openclaw", "jellyfish", "dateutil", "python-dateutil", "tensorflow", "opencv-python", "psutil", "solana", "streamlit",
	}
}

// knownNeighbour are honest packages that stand next to a popular one.
func knownNeighbour(name string) bool {
	switch name {
	case "clawdhub", "request", "httpx2", "preact", "expres", "axioss", "python-dotenv", "color", "colours", "colord", "electrons", "commanders", "expresso", "pandas2", "scipy2",
		"openapi", "openbi", "pyaml", "ruamel.yaml", "pytests", "dotenvx", "dotenv2", "chalk2", "aiohttp2", "pillow2", "flasks", "webpack5", "mongoose2", "transformer":
		return name != "expres" && name != "axioss"
	}
	return false
}
