package kazmaload

import (
	"fmt"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/yamledit"
)

const (
	// SettingsFile is the configuration of a Kazma project.
	SettingsFile = "kazma.yaml"
	// MaxSettings is how many bytes it may have.
	MaxSettings = yamledit.MaxBytes
	// DefaultPath is where a project with a kazma.yaml has its skills, unless that
	// says something else. It is relative to the file.
	DefaultPath = "kazma-skills/manifests"
)

// Settings are the skills section of kazma.yaml.
type Settings struct {
	Path string // the folder of skills, relative to the file or absolute
	// Expanded says that Path was written with a variable of the environment.
	Expanded      bool
	AutoDiscover  bool
	RequireSigned bool // skills.require_signed, which only we know
	// Disabled are the skills with enabled: false.
	Disabled []string
}

// ReadSettings reads the skills section of a kazma.yaml. ${NAME} in the path is
// replaced by what getenv gives for it; without a value that is an error. $$ is a
// dollar. Other sections are not looked at, but the file must be readable as a
// whole: a fault above or below may be one that changes what the section means.
func ReadSettings(data []byte, getenv func(string) string) (Settings, error) {
	out := Settings{Path: DefaultPath, AutoDiscover: true}
	if len(strings.TrimSpace(string(data))) == 0 {
		return out, nil
	}
	root, faults, _ := yamledit.Parse(data)
	if len(faults) > 0 {
		f := faults[0]
		e := settingsFault(f.ID, f.Line, "%s", f.Text)
		e.Hint = f.Hint
		return Settings{}, e
	}
	section := root.Get("skills")
	if section == nil || section.Kind == yamledit.Null {
		return out, nil
	}
	if section.Kind != yamledit.Map {
		return Settings{}, settingsFault(IDSettings, section.Line, "skills must be a mapping")
	}
	for i := range section.Map.Entries {
		if err := out.set(&section.Map.Entries[i], getenv); err != nil {
			return Settings{}, err
		}
	}
	return out, nil
}

// known are the keys of the section that are settings of their own. Another one is
// the name of a skill, with a mapping.
var known = []string{"path", "auto_discover", "require_signed"}

func (s *Settings) set(e *yamledit.Entry, getenv func(string) string) error {
	v := &e.Value
	switch e.Key {
	case "path":
		if v.Kind != yamledit.Scalar || strings.TrimSpace(v.Text) == "" || strings.ContainsRune(v.Text, 0) {
			return settingsFault(IDSettings, e.Line, "skills.path must be the path of a folder")
		}
		text, expanded, err := Expand(v.Text, getenv)
		if err != nil {
			return settingsFault(IDVariable, e.Line, "skills.path: %v", err)
		}
		s.Path, s.Expanded = text, expanded
	case "auto_discover":
		return boolean(e, &s.AutoDiscover)
	case "require_signed":
		return boolean(e, &s.RequireSigned)
	default:
		if v.Kind != yamledit.Map {
			fault := settingsFault(IDSettings, e.Line, "skills.%.80s is no setting that is known; known are %s", e.Key, strings.Join(known, ", "))
			if near := hubapi.Nearest(e.Key, known); near != "" {
				fault.Hint = "did you mean " + near + "?"
			}
			return fault
		}
		enabled := true
		if on := v.Map.Entry("enabled"); on != nil {
			if err := boolean(on, &enabled); err != nil {
				return err
			}
		}
		if !enabled {
			s.Disabled = append(s.Disabled, e.Key)
		}
	}
	return nil
}

// boolean reads what YAML 1.1 takes for one.
func boolean(e *yamledit.Entry, to *bool) error {
	if e.Value.Kind == yamledit.Scalar {
		switch strings.ToLower(e.Value.Text) {
		case "true", "yes", "on":
			*to = true
			return nil
		case "false", "no", "off":
			*to = false
			return nil
		}
	}
	return settingsFault(IDSettings, e.Line, "%s must be true or false", e.Key)
}

func settingsFault(id string, line int, format string, args ...any) *hubapi.Error {
	why := fmt.Sprintf(format, args...)
	e := hubapi.Errorf(hubapi.Usage, "%s cannot be used: %s", SettingsFile, why)
	if line > 0 {
		e.Message = fmt.Sprintf("%s:%d cannot be used: %s", SettingsFile, line, why)
	}
	e.Details = []hubapi.Detail{{ID: id, Message: why, File: SettingsFile, Line: line}}
	return e
}

// Expand replaces ${NAME} by its value, and $$ by a dollar. A dollar before anything
// else is kept. The error names a variable without a value, and never a value.
func Expand(text string, getenv func(string) string) (out string, expanded bool, err error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		b.WriteString(before)
		switch {
		case !found:
			return b.String(), expanded, nil
		case strings.HasPrefix(rest, "$"):
			b.WriteByte('$')
			text = rest[1:]
		case strings.HasPrefix(rest, "{"):
			name, after, closed := strings.Cut(rest[1:], "}")
			if !closed || !isVariable(name) {
				return "", false, fmt.Errorf("what follows ${ is not the name of a variable and }")
			}
			value := getenv(name)
			if value == "" {
				return "", false, fmt.Errorf("the variable %s is not set", name)
			}
			b.WriteString(value)
			text, expanded = after, true
		default:
			b.WriteByte('$')
			text = rest
		}
	}
}

func isVariable(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
