package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/internal/yamledit"
)

// settings are what a client command needs to know, first wins: flag, environment,
// project kx.yaml, user config (design.md).
type settings struct {
	home     homeDirs
	endpoint string // empty: the hub in this process
	chosen   bool   // by the user: the project's kx.yaml alone does not name it
	hubDir   string // of that hub
	memory   string // name of what its log said
	token    string
	author   string // default author namespace, empty for the hub's own default
}

const ownMemory = "own" // of the hub in the user's home

// homeDirs is where kx keeps what belongs to one user. With KX_HOME set,
// everything is below it; else data and configuration go to the XDG folders.
type homeDirs struct {
	data   string
	config string
}

func (h homeDirs) hub() string        { return filepath.Join(h.data, "hub") }
func (h homeDirs) keys() string       { return filepath.Join(h.data, "keys") }
func (h homeDirs) logs() string       { return filepath.Join(h.data, "log") }
func (h homeDirs) configFile() string { return filepath.Join(h.config, "config.yaml") }

func (a *app) home() (homeDirs, error) {
	if dir := a.Getenv("KX_HOME"); dir != "" {
		return a.homeAt(dir)
	}
	if a.HomeDir == "" {
		return homeDirs{}, usagef("no home directory: set KX_HOME to a folder for keys, settings and the local hub")
	}
	fallback := func(variable string, elsewhere ...string) string {
		if dir := a.Getenv(variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, "kx")
		}
		return filepath.Join(append([]string{a.HomeDir}, elsewhere...)...)
	}
	if a.OS == "windows" {
		return homeDirs{
			data:   fallback("LOCALAPPDATA", "AppData", "Local", "kx"),
			config: fallback("APPDATA", "AppData", "Roaming", "kx"),
		}, nil
	}
	return homeDirs{
		data:   fallback("XDG_DATA_HOME", ".local", "share", "kx"),
		config: fallback("XDG_CONFIG_HOME", ".config", "kx"),
	}, nil
}

// homeAt is the home in KX_HOME. Only a shell expands ~, so one that is left means
// that the folder would be called so.
func (a *app) homeAt(dir string) (homeDirs, error) {
	if strings.HasPrefix(dir, "~") {
		return homeDirs{}, usagef("KX_HOME is %q, where ~ was not expanded", dir).WithHint(`write KX_HOME="$HOME/..." instead`)
	}
	if !filepath.IsAbs(dir) {
		absolute, err := filepath.Abs(a.path(dir))
		if err != nil {
			return homeDirs{}, err
		}
		if !a.relativeHome {
			a.note("%s: warning: KX_HOME is relative, so it is another folder elsewhere; here it is %s", a.program, termtext.Escape(absolute))
		}
		a.relativeHome, dir = true, absolute
	}
	return homeDirs{data: dir, config: dir}, nil
}

// path makes a path from the command line absolute in the run's own directory.
func (a *app) path(p string) string {
	if a.Dir == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(a.Dir, p)
}

// clientFlags are on every command that talks to a hub.
func clientFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "endpoint", Usage: "hub at `URL` (also KX_ENDPOINT); without one, the hub in your own KX_HOME"},
		&cli.StringFlag{Name: "token", Usage: "show the hub this `KEY`; others can see a command line, so prefer --token-file"},
		&cli.StringFlag{Name: "token-file", Usage: "read the key from `FILE` (also KX_TOKEN_FILE)"},
		&cli.StringFlag{Name: "tls-ca", Usage: "trust the certificate authorities in this PEM `FILE` (https endpoints only)"},
		jsonFlag(),
	}
}

// endpointOf is settings without the key; user is the user's own configuration.
func (a *app) endpointOf(c *cli.Command) (s settings, user map[string]string, err error) {
	home, err := a.home()
	if err != nil {
		return s, nil, err
	}
	user, err = readConfig(home.configFile(), "endpoint", "author", "token_file")
	if err != nil {
		return s, nil, err
	}
	// A project's file comes with the project, from strangers too: it may not
	// choose which of the user's key files is read.
	project, err := a.projectConfig()
	if err != nil {
		return s, nil, err
	}
	kazma, err := a.kazmaHub(c)
	if err != nil {
		return s, nil, err
	}
	named := first(c.String("endpoint"), kazma.url, a.Getenv("KX_ENDPOINT"))
	s = settings{
		home:     home,
		endpoint: first(named, project["endpoint"], user["endpoint"]),
		chosen:   named != "" || project["endpoint"] == "" || project["endpoint"] == user["endpoint"],
		hubDir:   home.hub(), memory: ownMemory,
		author: first(project["author"], user["author"]),
	}
	if kazma.dir != "" {
		s.endpoint, s.chosen, s.hubDir, s.memory = "", true, kazma.dir, registryMemory(kazma.dir)
	}
	return s, user, nil
}

func (a *app) settings(c *cli.Command) (settings, error) {
	s, user, err := a.endpointOf(c)
	if err != nil || s.memory != ownMemory {
		return s, err // in another folder is nobody else's hub, so there is no key to show
	}
	if c.String("token") != "" && c.String("token-file") != "" {
		return settings{}, usagef("--token and --token-file exclude each other")
	}
	// A key that was not given for this command goes only to an endpoint that the
	// user chose.
	switch {
	case c.String("token") != "":
		s.token = c.String("token")
	case c.String("token-file") != "":
		s.token, err = a.tokenFile(c.String("token-file"))
	case !s.chosen && first(a.Getenv("KX_TOKEN"), a.Getenv("KX_TOKEN_FILE")) != "":
		a.note("%s: the endpoint %s comes from kx.yaml, so your KX_TOKEN is not sent to it; set KX_ENDPOINT to say that you mean it", a.program, termtext.Escape(s.endpoint))
	case a.Getenv("KX_TOKEN") != "":
		s.token = a.Getenv("KX_TOKEN")
	case a.Getenv("KX_TOKEN_FILE") != "":
		s.token, err = a.tokenFile(a.Getenv("KX_TOKEN_FILE"))
	case user["token_file"] != "" && s.endpoint == user["endpoint"]:
		// The user's own key goes to the user's own hub only.
		s.token, err = a.tokenFile(user["token_file"])
	}
	return s, err
}

func (a *app) tokenFile(path string) (string, error) {
	data, err := readLimited(a.path(path), maxToken)
	if err != nil {
		return "", usagef("cannot read the token file: %v", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", usagef("the token file %s is empty", path)
	}
	return token, nil
}

// projectConfig reads the kx.yaml of the project. A link is refused: the file comes
// with the project, and could point at a file that only the user may read.
func (a *app) projectConfig() (map[string]string, error) {
	path := a.path("kx.yaml")
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, usagef("%s is not a regular file, so it is not read", path)
	}
	return readConfig(path, "endpoint", "author")
}

// readConfig reads one settings file, a flat YAML mapping of texts; absent is empty.
// Messages name places and never quote the file: it may be another than was meant.
func readConfig(path string, known ...string) (map[string]string, error) {
	data, err := readLimited(path, maxSettings)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && len(strings.TrimSpace(string(data))) == 0) {
		return nil, nil
	}
	if err != nil {
		return nil, usagef("cannot read %s: %v", path, err)
	}
	doc, faults, _ := yamledit.Parse(data)
	if len(faults) > 0 {
		return nil, usagef("%s:%d:%d: not settings, which are lines such as %s: VALUE", path, faults[0].Line, faults[0].Column, known[0]).
			With(hubapi.Detail{ID: faults[0].ID, Message: "the file cannot be read as settings", File: path, Line: faults[0].Line, Column: faults[0].Column})
	}
	values := map[string]string{}
	for _, entry := range doc.Entries {
		if !slices.Contains(known, entry.Key) {
			e := usagef("%s:%d: unknown setting; known here: %s", path, entry.Line, strings.Join(known, ", "))
			if near := nearest(entry.Key, known); near != "" {
				e.Hint = "did you mean " + near + "?"
			}
			return nil, e
		}
		if entry.Value.Kind != yamledit.Scalar {
			return nil, usagef("%s:%d: %s must be one text", path, entry.Value.Line, entry.Key)
		}
		values[entry.Key] = entry.Value.Text
	}
	return values, nil
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
