package scan

import (
	"regexp"
	"strings"
	"sync"
)

// Scores of a required download. What a honest skill needs comes from a package
// manager or from the maker of a known tool, and needs none of the rest.
const (
	prerequisiteHigh     = 4
	prerequisiteCritical = 8
)

// prerequisites scores every place that offers a program for download.
func (s *scanner) prerequisites(d *document, signals []signal) {
	if d.kind != markdown {
		return
	}
	s.commandPages(d, signals)
	s.demandedPackages(d, signals)
	for i := range signals {
		g := &signals[i]
		if g.kind != "artefact" && g.kind != "offers" || g.severity.Rank() <= Low.Rank() {
			continue
		}
		score, a := s.artefactScore(d, g)
		class := a.class
		if g.kind == "offers" && class == hostUnknown {
			if score = min(score, 1); score <= 0 { // nobody's file, or a page that may say anything
				continue
			}
		}
		if class == hostVendor || class == hostLocal || class == hostExample {
			continue
		}
		from, to := around(d, g)
		text := d.text[from:to]
		pressure, runs := 0, 0
		for j := range signals {
			h := &signals[j]
			if h.at < from || h.at >= to {
				continue
			}
			switch h.kind {
			case "pressure":
				pressure++
			case "runs-it":
				runs = 1
			case "archive-password":
				score += 4
				// One password counts once.
				from = max(from, h.at+1)
			}
		}
		score += min(pressure, 2) + runs
		if containsAny(text, []string{"encrypted archive", "encrypted zip", "antivirus", "false positive", "open anyway", "run anyway", "smartscreen", "hxxp"}) {
			score += 2 // what a honest download has no need to say
		}
		if containsAny(text, []string{"real-time protection", "threat protection"}) {
			score += 4 // is to be switched off, and reads like talk of attacks, which counts for less below
		}
		title := d.sections[d.units[g.unit].section].title
		if containsAny(title, preparing()) {
			score++
		}
		if strings.Contains(text, "windows") && (strings.Contains(text, "macos") || strings.Contains(text, "mac os") || strings.Contains(text, "mac:")) {
			score++
		}
		if skipsCheck().MatchString(text) {
			score += 4
		}
		if managers := packageManager().FindAllStringIndex(text, 8); managers != nil {
			score -= 2
			for _, at := range managers {
				if packages, _, _ := strings.Cut(text[at[1]:], "\n"); packaged(a.text, packages[:min(len(packages), 80)]) {
					score = 0 // a second way to the same program
				}
			}
		}
		if m := d.units[g.unit].marks; m&markBad != 0 || m&markAttack != 0 && m&markDetect != 0 || s.subject.security && d.sections[d.units[g.unit].section].marks&(markBad|markAttack|markDetect) != 0 {
			score -= 3
		}
		switch {
		case score >= prerequisiteCritical:
			s.addSignal(d, "prerequisite.download", Critical, g)
		case score >= prerequisiteHigh:
			s.addSignal(d, "prerequisite.download", High, g)
		case score >= prerequisiteHigh-1:
			s.addSignal(d, "prerequisite.download", Medium, g)
		}
	}
}

// demandedPackages looks for packages that a skill does not just need: they have to
// run every time, nothing else may be used, and what they print or ask for is not to
// be minded.
func (s *scanner) demandedPackages(d *document, signals []signal) {
	for i := range signals {
		g := &signals[i]
		if g.kind != "installs" || g.severity.Rank() <= Low.Rank() {
			continue
		}
		from, to := around(d, g)
		text, demands := d.text[from:to], 0
		for _, demand := range packageDemands() {
			if demand.MatchString(text) {
				demands++
			}
		}
		if demands >= 3 {
			s.addSignal(d, "prerequisite.package", High, g)
			return
		}
	}
}

var packageDemands = sync.OnceValue(func() []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, demand := range [...]string{
		`(?:\bnot|n't|\bnever|\bcannot) (?:\S+ ){0,5}?(?:any other|another|other|alternatives?|elsewhere|substitutes?|a fallback)\b`,
		`\bignore (?:the |any |all |its |these )*(?:warnings?|errors?|prompts?|alerts?)|warnings?\b[^.\n]{0,30}\b(?:ignore|disregard)|\b(?:asks?|prompts?|prompted) (?:you |the user )?for (?:\w+ ){0,3}?(?:permissions?|passwords?|access)\b[^\n]{0,40}\b(?:allow|grant|accept|confirm|approve|type|enter)`,
		`\blogin items?\b|\bregisters itself\b|\b(?:starts?|launches) (?:itself |automatically )*(?:at|on|with) (?:every |each )?(?:log-?in|boot|start-?up)|\b(?:stays?|remains?|must be kept|has to be kept|must stay|keep it|keeps) running\b`,
		`\b(?:prior to|before|at the start of|whenever|on|with) (?:each|every|the skill is loaded|the skill loads|any)(?: new)? ?(?:session|run|use|task|request|conversation|start)?\b[^.\n]{0,20}`,
		`--silent\b|> ?/dev/null|\b(?:prints|shows) nothing\b|without (?:any )?output`,
	} {
		out = append(out, regexp.MustCompile(demand))
	}
	return out
})

var packageManager = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:brew|apt|apt-get|dnf|yum|winget|choco|scoop|npm|pnpm|yarn|pip3?|pipx|uv|cargo|go|gem|conda|snap|flatpak|pacman|nix-env)\s+(?:-\S+ )*(?:install|add|tool install|i|get)\b`)
})

// packaged tells whether the repository of an address has the name of one of the
// packages that a package manager is told to install.
func packaged(address, packages string) bool {
	parts := strings.Split(address, "/")
	if len(parts) < 5 {
		return false
	}
	name := compact(parts[4])
	for field := range strings.FieldsFuncSeq(packages, func(r rune) bool { return strings.ContainsRune(" /`'\"@=,;|&()", r) }) {
		if len(name) > 2 && compact(field) == name {
			return true
		}
	}
	return false
}

// skipsCheck finds advice not to look at a download.
var skipsCheck = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:do not|don't|no need to|skip|ignore)\b[^.\n]{0,30}\b(?:verify|check|compare|verifying|checking)\b[^.\n]{0,30}(?:it|checksum|signature|hash|certificate)|(?:warning|warn|complains?)\b[^.\n]{0,80}(?:can be ignored|ignore it|is normal|false positive)|setenforce 0`)
})

// around is the stretch of a text that belongs to a place: its section, as far as
// 900 bytes to each side.
func around(d *document, g *signal) (from, to int) {
	section := d.units[g.unit].section
	from, to = d.sections[section].start, len(d.text)
	if section+1 < len(d.sections) {
		to = d.sections[section+1].start
		if to-g.at < 300 { // steps are often headings of their own
			to = min(len(d.text), g.at+600)
		}
	}
	if g.at-from < 300 {
		from = max(0, g.at-600)
	}
	return max(from, g.at-900), min(to, g.at+900)
}

// artefactScore scores the address of a download by itself.
func (s *scanner) artefactScore(d *document, g *signal) (int, address) {
	u := &d.units[g.unit]
	list := s.addresses(d.text[g.at:min(u.end, g.at+400)])
	if len(list) == 0 && g.kind == "offers" { // other languages put the verb last
		list = s.addresses(d.text[max(u.start, g.at-200):g.at])
	}
	if len(list) == 0 {
		return 0, address{}
	}
	a := list[0]
	score := 0
	for _, ext := range [...]string{".zip", ".exe", ".dmg", ".msi", ".rar", ".7z", ".scr", ".pkg"} {
		if strings.HasSuffix(a.text, ext) {
			score = 1
		}
	}
	switch {
	case a.class.suspicious() && !a.own:
		score += 4
	case a.class == hostFree:
		score += 2
	case a.class == hostCode:
		if !a.own && !s.namesRepository(a.text) {
			score += 2
		} else if !a.own {
			score++
		}
	case a.own:
		score--
	default:
		score += 2
		if score == 2 { // a page of its own, which may be anything
			score = 1
		}
	}
	return score, a
}

// commandPages looks for pages that the user is sent to for a command to run. What
// such a page shows is not part of the skill, and nobody reviewed it.
func (s *scanner) commandPages(d *document, signals []signal) {
	const before, behind = 300, 160
	for i := range signals {
		g := &signals[i]
		if g.kind != "pastes" || g.severity.Rank() <= Low.Rank() {
			continue
		}
		section := d.units[g.unit].section
		from := max(d.sections[section].start, g.at-before)
		a, ok := s.page(d.text[from:g.at])
		if !ok {
			end := min(d.units[g.unit].end, g.at+behind)
			end += addressLength(d.text[end:d.units[g.unit].end])
			a, ok = s.page(d.text[g.at:end])
		}
		if !ok || a.own && a.class != hostFree || a.named || s.showsCommand(d, g) {
			continue
		}
		switch {
		case a.class.suspicious():
			s.addSignal(d, "prerequisite.command-page", Critical, g)
		case a.class == hostUnknown, a.class == hostFree, a.class == hostCode:
			s.addSignal(d, "prerequisite.command-page", High, g)
		}
	}
}

// showsCommand tells whether what is to be pasted stands in the text itself, or is no
// command but a key or a token.
func (s *scanner) showsCommand(d *document, g *signal) bool {
	u := &d.units[g.unit]
	sentence := d.text[max(u.start, g.at-120):g.at]
	ended := strings.LastIndex(sentence, ". ")
	if ended >= 0 {
		sentence = sentence[ended+1:]
	}
	if containsAny(sentence, []string{"token", "key", "secret", "webhook", "credential", "password", "code ", " id "}) {
		return true
	}
	after := d.text[g.at:min(u.end, g.at+140)]
	first, second := strings.IndexByte(after, '`'), strings.LastIndexByte(after, '`')
	return ended >= 0 && !strings.Contains(sentence, "://") && second > first+6 && !strings.Contains(after[:first], ". ")
}

// page is the last address of a text that is one to look at, and not a part of a
// command or of a file's name.
func (s *scanner) page(text string) (address, bool) {
	for at := len(text); ; {
		i := strings.LastIndex(text[:at], "://")
		if i < 0 {
			if m := bareSite().FindStringSubmatch(text); m != nil {
				return s.address("https://" + m[1]), true
			}
			return address{}, false
		}
		at = i
		line := text[:i]
		if n := strings.LastIndexByte(line, '\n'); n >= 0 {
			line = line[n+1:]
		}
		if containsAny(line, []string{"curl ", "wget ", "irm ", "iwr ", "git clone", "export ", "invoke-", "=", "npm ", "pip "}) {
			continue
		}
		if list := s.addresses(text[max(0, i-6) : i+3+addressLength(text[i+3:])]); len(list) > 0 {
			return list[0], true
		}
	}
}

// bareSite finds a site that a text sends to without a scheme.
var bareSite = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:go|head|navigate|browse) to ["'\x60*]*((?:[a-z0-9-]+\.)+(?:com|net|org|io|app|dev|site|xyz|top|help|cc|co|ai|click|online|live|pro)\b[\w/.-]*)`)
})

// preparing are parts of titles under which a skill says what it needs.
var preparing = sync.OnceValue(func() []string {
	return strings.Split("prereq,requirement,setup,set up,install,important,getting started,dependenc,before you,required,quick start,update,patch,first,activat,one-time,"+
		"environment,step 0,step 1,helper,driver,component,bridge,runtime,preparation,"+
		normalise("前提,先决,安装,准备,必备,环境,必要,準備,インストール,사전,설치,준비,requisit,instalac,prealable,prérequis,voraussetzung,einrichtung,vorbereitung,installa,требован,установ,подготовк,المتطلبات,التثبيت,wymagan,gereksinim").text, ",")
})

// namesRepository tells whether the name of the repository in an address is what
// the pack says that it is about.
func (s *scanner) namesRepository(address string) bool {
	parts := strings.Split(address, "/")
	if len(parts) < 5 {
		return false
	}
	for part := range strings.FieldsFuncSeq(parts[4], func(r rune) bool { return r == '-' || r == '_' || r == '.' }) {
		if len(part) >= 4 && !commonLabel(part) && strings.Contains(s.subject.words, part) {
			return true
		}
	}
	return false
}
