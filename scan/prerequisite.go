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
	for i := range signals {
		g := &signals[i]
		if g.kind != "artefact" || g.severity.Rank() <= Low.Rank() {
			continue
		}
		score, class := s.artefactScore(d, g)
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
		if containsAny(text, []string{"encrypted archive", "encrypted zip", "antivirus", "false positive", "open anyway", "hxxp"}) {
			score += 2 // what a honest download has no need to say
		}
		title := d.sections[d.units[g.unit].section].title
		if containsAny(title, []string{"prereq", "requirement", "setup", "install", "important", "getting started", "dependenc", "before you", "required", "quick start", "update", "patch", "first"}) {
			score++
		}
		if strings.Contains(text, "windows") && (strings.Contains(text, "macos") || strings.Contains(text, "mac os") || strings.Contains(text, "mac:")) {
			score++
		}
		if skipsCheck().MatchString(text) {
			score += 4
		}
		if packageManager().MatchString(text) {
			score -= 2
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

var packageManager = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:brew|apt|apt-get|dnf|yum|winget|choco|scoop|npm|pnpm|yarn|pip3?|pipx|uv|cargo|go|gem|conda|snap|flatpak|pacman|nix-env)\s+(?:-\S+ )*(?:install|add|tool install|i|get)\b`)
})

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
func (s *scanner) artefactScore(d *document, g *signal) (int, hostClass) {
	u := &d.units[g.unit]
	list := s.addresses(d.text[g.at:min(u.end, g.at+400)])
	if len(list) == 0 {
		return 0, hostUnknown
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
	return score, a.class
}

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
