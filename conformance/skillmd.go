package conformance

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/pack"
)

// usefulDescription is how many characters a description has at least that can say
// what a skill does and when to use it.
const usefulDescription = 20

// skillMD runs the checks of an Agent Skills folder.
func (j *judgement) skillMD() {
	p := j.in.Pack
	j.portable(skillFile)
	seen := p != nil || !j.blind(skillFile)
	name, description, body := unheard, unheard, unheard
	if p != nil {
		name = "the folder is called " + strconv.Quote(p.Name)
		description = j.describe(p)
		body = plural(len(p.SkillMD.Body), "byte")
	}
	j.check(checkLoads, gateLoads, plural(len(j.files()), "file")+" read")
	j.judged(j.read(skillFile), checkFrontmatter, gateLoads, "the frontmatter follows the specification")
	j.judged(seen, checkFolderName, gateLoads, name)
	j.judged(seen, checkDescription, gateBounded, description)
	j.judged(seen, checkInstructions, gateBounded, body)
	j.check(checkPortable, gateDeclarative, "every path can be stored on every system")
	j.judged(p != nil, checkLinks, gateDeclarative, "every link into the folder leads to a file")
}

const skillFile = "SKILL.md"

// describe looks for descriptions that no agent could choose a skill by.
func (j *judgement) describe(p *pack.Pack) string {
	n := utf8.RuneCountInString(p.Description)
	at := pack.Place{File: skillFile, Pointer: "/description"}
	switch {
	case plainWords(p.Description) == plainWords(p.Name):
		j.own("description.repeats-name", at, "the description only repeats the name",
			"say what the skill does and when an agent should use it")
	case n < usefulDescription:
		j.own("description.short", at, "the description has "+plural(n, "character")+"; an agent chooses a skill by it alone",
			"say what the skill does and when an agent should use it")
	}
	return plural(n, "character")
}

// plainWords is text without case, punctuation and white space.
func plainWords(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r < utf8.RuneSelf && (r < '0' || r > '9') && (r < 'a' || r > 'z'):
			return -1
		}
		return r
	}, s)
}
