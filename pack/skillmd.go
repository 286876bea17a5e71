package pack

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SkillMDManifest is the frontmatter of a SKILL.md, with the text behind it.
type SkillMDManifest struct {
	Name          string
	Description   string // without the space around it
	License       string
	Compatibility string
	AllowedTools  []string
	Metadata      map[string]string
	OtherKeys     []string // that only some agents know, or nobody; as they stand. tags is no such key, nor is the version
	Body          []byte   // what follows the closing fence, byte for byte
	BodyLine      int      // the line of the file on which Body starts
}

// Limits of the Agent Skills specification, in characters.
const (
	maxSkillName     = 64
	maxDescription   = 1024
	maxCompatibility = 500
)

// What the specification recommends for the body, because all of it is put
// before the model at once.
const (
	longBodyLines  = 500
	longBodyTokens = 5000
	bytesPerToken  = 4
)

// ValidSkillName tells why name may not be the name of a new skill-md pack, or
// nil: 1 to 64 characters out of a-z, 0-9 and '-', no '-' at either end and no
// two together. The specification's text also allows lower-case letters beyond
// ASCII; reading a pack accepts these with a warning.
func ValidSkillName(name string) *Error {
	e, ascii := judgeSkillName(name)
	if e == nil && !ascii {
		e = skillNameError("name.charset", fmt.Sprintf("name %s has letters beyond a-z", quoted(name)))
	}
	return e
}

// judgeSkillName tells what is wrong with a name, and whether it is in ASCII.
func judgeSkillName(name string) (fault *Error, ascii bool) {
	length := utf8.RuneCountInString(name)
	if length == 0 || length > maxSkillName {
		return skillNameError("name.length", fmt.Sprintf("name is %d characters long, 1 to %d are allowed", length, maxSkillName)), true
	}
	ascii = true
	for i, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
		case r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) && !unicode.IsUpper(r) && !unicode.IsTitle(r):
			ascii = false
		default:
			return skillNameError("name.charset", fmt.Sprintf("name %s has %s; a-z, 0-9 and '-' are allowed", quoted(name), runeAt(name, i))), true
		}
	}
	switch {
	case name[0] == '-' || name[len(name)-1] == '-':
		return skillNameError("name.charset", fmt.Sprintf("name %s starts or ends with '-'", quoted(name))), ascii
	case strings.Contains(name, "--"):
		return skillNameError("name.charset", fmt.Sprintf("name %s has '-' twice in a row", quoted(name))), ascii
	}
	return nil, ascii
}

func skillNameError(id, text string) *Error {
	return &Error{Kind: KindInvalid, ID: id, Text: text, Place: Place{Pointer: "/name"}}
}

// agentKey tells whether agents know a frontmatter key beyond the
// specification's own.
func agentKey(key string) bool {
	switch key {
	case "user-invocable", "disable-model-invocation", "argument-hint", "model", "context", "agent", "hooks", "version", "tags":
		return true
	}
	return false
}

// specKeys are the keys of the specification.
func specKeys() []string {
	return []string{"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
}
