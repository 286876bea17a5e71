package deliver

import (
	_ "embed" // the table of agents
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/kortecx/kx/hubapi"
)

// IDUnknownAgent is the refusal of an agent's name that is not in the table.
const IDUnknownAgent = "agent.unknown"

// Scope says for whom a skill is installed.
type Scope string

// The scopes.
const (
	ProjectScope Scope = "project" // for whoever works in one project
	UserScope    Scope = "user"    // for one user, in every project
)

// Scopes are all of them.
var Scopes = []Scope{ProjectScope, UserScope}

// Precedence is which of two skills of one name an agent loads.
type Precedence string

// The precedences. Empty means that it is not known.
const (
	ProjectFirst Precedence = "project" // the project's over the user's
	FirstWins    Precedence = "first"   // the first that it finds
	LastWins     Precedence = "last"    // the last that it finds
)

// Deep is the depth of an agent that looks for skills however deep they are.
const Deep = -1

// Agent is one program that reads skills, from the table. All of them read folders
// with a SKILL.md.
type Agent struct {
	Name  string // as --agent takes it
	Title string

	// Project is its skills folder below a project, "/" separated.
	Project string
	// User is its skills folder for one user as a pattern: ~ is the user's home,
	// and $X(~/y) the variable X when it is set, else ~/y. Empty when it has none.
	User string
	// Fallbacks are earlier user folders, as patterns. The first whose parent is
	// there counts when that of User is not.
	Fallbacks []string
	// Detect are the signs that it is here, any of which is enough: a pattern; a
	// path below the project, which begins with "./"; "app:X", a macOS application;
	// or "PATH & ./package.json=X", where the project also depends on the package
	// X. Empty means that nothing tells.
	Detect []string
	// Also are further folders below the project that it reads.
	Also []string

	Depth           int        // of folders below the skills folder that it looks into: 1 is one level, Deep any, 0 not known
	Loads           Precedence // which of two skills with one name
	MaxDescription  int        // characters of a description that it takes
	Listing         int        // characters that its list of all skills has room for, about; 0 is not known
	RefusesBrackets bool       // it takes no description with < or >
}

// specDescription is how many characters of a description the Agent Skills
// specification allows: what an agent takes of which nothing else is known.
const specDescription = 1024

// Unread says why the agent does not read a skill for its description, and what helps;
// both are empty where it does.
func (a Agent) Unread(description string) (why, fix string) {
	switch n := utf8.RuneCountInString(description); {
	case n > a.MaxDescription:
		return fmt.Sprintf("its description has %d characters, and %d are read", n, a.MaxDescription), "shorten the description"
	case a.RefusesBrackets && strings.ContainsAny(description, "<>"):
		return "its description has < or >, and is refused for it", "write it without < and >"
	}
	return "", ""
}

//go:embed agents.tsv
var agentTable string

var readTable = sync.OnceValue(func() []Agent {
	lines := strings.Split(strings.TrimSpace(agentTable), "\n")
	out := make([]Agent, 0, len(lines))
	for _, line := range lines[2:] {
		f := strings.Split(line, "\t")
		for i := range f {
			if f[i] == "-" {
				f[i] = ""
			}
		}
		a := Agent{
			Name: f[0], Title: f[1], Project: f[2], User: f[3],
			Fallbacks: alternatives(f[4]), Detect: alternatives(f[5]), Also: strings.Fields(f[6]),
			Loads: Precedence(f[8]), MaxDescription: specDescription, RefusesBrackets: f[11] != "",
		}
		if f[7] == "all" {
			a.Depth = Deep
		} else {
			a.Depth, _ = strconv.Atoi(f[7]) // a test reads every cell
		}
		if n, err := strconv.Atoi(f[9]); err == nil {
			a.MaxDescription = n
		}
		a.Listing, _ = strconv.Atoi(f[10])
		out = append(out, a)
	}
	return out
})

func alternatives(cell string) []string {
	if cell == "" {
		return nil
	}
	return strings.Split(cell, " | ")
}

// Agents is the table, in its order. The caller may keep and change it.
func Agents() []Agent { return append([]Agent(nil), readTable()...) }

// AgentsDated is the month from which the table is, as YYYY-MM.
func AgentsDated() string {
	first, _, _ := strings.Cut(agentTable, "\n")
	return strings.TrimPrefix(first, "dated\t")
}

// FindAgent gives the agent of that name or title, in any case. Another name is
// an error (IDUnknownAgent) that says which one may be meant.
func FindAgent(name string) (Agent, error) {
	names := make([]string, 0, len(readTable()))
	for _, a := range readTable() {
		if strings.EqualFold(a.Name, name) || strings.EqualFold(a.Title, name) {
			return a, nil
		}
		names = append(names, a.Name)
	}
	err := refusal(hubapi.Usage, IDUnknownAgent, "", "there is no agent %q in the table of %s", name, AgentsDated())
	if near := hubapi.Nearest(strings.ToLower(name), names); near != "" {
		return Agent{}, err.WithHint("did you mean %s?", near)
	}
	return Agent{}, err.WithHint("kx agents --all lists them")
}

// DetectedBy says in words how it is seen that the agent is here.
func (a Agent) DetectedBy() string {
	if len(a.Detect) == 0 {
		return "never auto-detected"
	}
	words := make([]string, 0, len(a.Detect))
	for _, sign := range a.Detect {
		words = append(words, signInWords(sign))
	}
	return strings.Join(words, " or ")
}

func signInWords(sign string) string {
	if app, ok := strings.CutPrefix(sign, "app:"); ok {
		return "macOS app " + app
	}
	if path, dependency, ok := strings.Cut(sign, " & "); ok {
		file, name, _ := strings.Cut(dependency, "=")
		return fmt.Sprintf("%s exists and %s depends on %s", path, strings.TrimPrefix(file, "./"), name)
	}
	return WithoutOverride(sign)
}

// WithoutOverride is a pattern as it reads while no variable is set.
func WithoutOverride(pattern string) string {
	if _, fallback, rest, ok := override(pattern); ok && fallback != "" {
		return fallback + rest
	}
	return pattern
}

// Overrides are the variables that move what the agent reads, or where it is
// looked for, away from the user's home.
func (a Agent) Overrides() []string {
	var out []string
	for _, p := range append([]string{a.User}, a.Detect...) {
		if name, fallback, _, ok := override(p); ok && fallback != "" && !(len(out) > 0 && out[0] == name) {
			out = append(out, name)
		}
	}
	return out
}

// override takes "$X(~/y)/z" apart into X, ~/y and /z. The fallback is empty for
// "$X/z", which means nothing while X is not set.
func override(pattern string) (name, fallback, rest string, ok bool) {
	inner, ok := strings.CutPrefix(pattern, "$")
	if !ok {
		return "", "", "", false
	}
	end := strings.IndexAny(inner, "(/")
	if end < 0 {
		return inner, "", "", true
	}
	name, rest = inner[:end], inner[end:]
	if rest[0] == '(' {
		fallback, rest, _ = strings.Cut(rest[1:], ")")
	}
	return name, fallback, rest, true
}
