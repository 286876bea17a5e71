package deliver

import (
	"encoding/json"
	"os"
	"path"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
)

// Surroundings are what decides where agents are and what they read.
type Surroundings struct {
	Getenv  func(string) string
	Home    string // of the user, absolute; empty when there is none
	Project string // where the user stands, absolute
	OS      string // runtime.GOOS of the machine
}

// Detected is one agent that is here.
type Detected struct {
	Agent Agent
	By    string // the path that told
}

// Detect gives the agents that are here, in the order of the table. It looks at a
// few paths for each and reads at most the project's package.json.
func (s Surroundings) Detect() []Detected {
	var out []Detected
	seen := map[string]bool{} // many agents ask for the same path
	for _, a := range readTable() {
		for _, sign := range a.Detect {
			if by := s.sign(sign, seen); by != "" {
				out = append(out, Detected{Agent: a, By: by})
				break
			}
		}
	}
	return out
}

// sign gives the path that proves a sign, empty when it does not hold.
func (s Surroundings) sign(sign string, seen map[string]bool) string {
	if app, ok := strings.CutPrefix(sign, "app:"); ok {
		if s.OS != "darwin" {
			return ""
		}
		for _, folder := range []string{"/Applications", s.join(s.Home, "Applications")} {
			if at := s.join(folder, app); s.isAbs(at) && exists(at, seen) {
				return at
			}
		}
		return ""
	}
	sign, dependency, _ := strings.Cut(sign, " & ")
	at, err := s.expand(sign)
	if err != nil || at == "" || !exists(at, seen) {
		return ""
	}
	if file, name, ok := strings.Cut(dependency, "="); ok && !s.dependsOn(strings.TrimPrefix(file, "./"), name) {
		return ""
	}
	return at
}

func exists(at string, seen map[string]bool) bool {
	there, known := seen[at]
	if !known {
		_, err := os.Stat(at)
		there = err == nil
		seen[at] = there
	}
	return there
}

// maxPackageJSON bounds the project's file of dependencies that is looked into.
const maxPackageJSON = 1 << 20 // bytes

// dependsOn tells whether the project's package.json names a dependency. A file
// that cannot be read names none: it is other programs' and not ours to judge.
func (s Surroundings) dependsOn(file, name string) bool {
	root, err := fsx.Open(s.Project)
	if err != nil {
		return false
	}
	defer root.Close()
	data, err := root.ReadFile(file, maxPackageJSON)
	if err != nil {
		return false
	}
	var doc struct {
		Dependencies    map[string]json.RawMessage `json:"dependencies"`
		DevDependencies map[string]json.RawMessage `json:"devDependencies"`
	}
	if json.Unmarshal(data, &doc) != nil {
		return false
	}
	_, runs := doc.Dependencies[name]
	_, builds := doc.DevDependencies[name]
	return runs || builds
}

// expand makes an absolute path of a pattern, or of a path that begins with "./"
// and is below the project. It is empty for one that means nothing here: a
// variable without a fallback that is not set. The error says why a set variable
// names no place.
func (s Surroundings) expand(pattern string) (string, error) {
	if below, ok := strings.CutPrefix(pattern, "./"); ok {
		return s.join(s.Project, below), nil
	}
	name, fallback, rest, ok := override(pattern)
	if !ok {
		return s.below(pattern)
	}
	value := ""
	if s.Getenv != nil {
		value = strings.TrimSpace(s.Getenv(name))
	}
	switch {
	case value != "" && s.isAbs(value):
		return s.join(value, rest), nil
	case value != "" && strings.HasPrefix(name, "XDG_"): // its rule: relative counts as not set
	case strings.HasPrefix(value, "~"):
		return "", hubapi.Errorf(hubapi.Usage, "%s is %q, where ~ was not expanded", name, value)
	case value != "":
		return "", hubapi.Errorf(hubapi.Usage, "%s is %q, which is another folder wherever one stands", name, value)
	}
	if fallback == "" {
		return "", nil
	}
	return s.below(fallback + rest)
}

// below expands ~ alone.
func (s Surroundings) below(pattern string) (string, error) {
	rest, ok := strings.CutPrefix(pattern, "~")
	if !ok {
		if s.OS == "windows" && strings.HasPrefix(pattern, "/") {
			return "", nil // /etc is no place there
		}
		return pattern, nil
	}
	if s.Home == "" {
		return "", hubapi.Errorf(hubapi.Usage, "there is no home directory")
	}
	return s.join(s.Home, rest), nil
}

// join puts a "/" separated path below base, in the form of the machine's system.
func (s Surroundings) join(base, below string) string {
	below = strings.TrimPrefix(path.Clean("/"+below), "/")
	if below == "" {
		return base
	}
	if s.OS == "windows" {
		return strings.TrimRight(base, `\/`) + `\` + strings.ReplaceAll(below, "/", `\`)
	}
	return strings.TrimRight(base, "/") + "/" + below
}

func (s Surroundings) isAbs(p string) bool {
	if s.OS != "windows" {
		return strings.HasPrefix(p, "/")
	}
	p = strings.ReplaceAll(p, "/", `\`)
	letter := len(p) >= 3 && p[1] == ':' && p[2] == '\\' && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z')
	return letter || strings.HasPrefix(p, `\\`)
}

// Folder is the skills folder of an agent in a scope as an absolute path, whether
// it is there or not. It is empty, with the reason as an error, when there is none.
func (s Surroundings) Folder(a Agent, scope Scope) (string, error) {
	if scope == ProjectScope {
		if !s.isAbs(s.Project) {
			return "", hubapi.Errorf(hubapi.Usage, "there is no project folder")
		}
		return s.join(s.Project, a.Project), nil
	}
	if a.User == "" {
		return "", hubapi.Errorf(hubapi.NotFound, "%s reads no folder of the user, only %s in a project", a.Title, a.Project)
	}
	at, err := s.expand(a.User)
	if err != nil || len(a.Fallbacks) == 0 {
		return at, err
	}
	if seen := map[string]bool{}; !exists(s.dir(at), seen) {
		for _, earlier := range a.Fallbacks {
			if old, err := s.expand(earlier); err == nil && exists(s.dir(old), seen) {
				return old, nil
			}
		}
	}
	return at, nil
}

// dir is the parent of a path in the form of the machine's system.
func (s Surroundings) dir(p string) string {
	separators := "/"
	if s.OS == "windows" {
		separators = `\/`
	}
	return p[:max(strings.LastIndexAny(p, separators), 0)]
}
