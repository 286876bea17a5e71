package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/internal/yamledit"
)

// settings are what a client command needs to know, first wins: flag, environment,
// project kx.yaml, user config (design.md).
type settings struct {
	home     homeDirs
	endpoint string // empty: the hub in this process
	token    string
	author   string // default author namespace, empty for the hub's own default
}

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
		dir = a.path(dir)
		return homeDirs{data: dir, config: dir}, nil
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

func (a *app) settings(c *cli.Command) (settings, error) {
	home, err := a.home()
	if err != nil {
		return settings{}, err
	}
	user, err := readConfig(home.configFile(), "endpoint", "author", "token_file")
	if err != nil {
		return settings{}, err
	}
	// A project's file comes with the project, from strangers too: it may not
	// choose which of the user's key files is read.
	project, err := readConfig(a.path("kx.yaml"), "endpoint", "author")
	if err != nil {
		return settings{}, err
	}
	s := settings{
		home:     home,
		endpoint: first(c.String("endpoint"), c.String("hub-url"), a.kazmaHubURL(), a.Getenv("KX_ENDPOINT"), project["endpoint"], user["endpoint"]),
		author:   first(project["author"], user["author"]),
	}
	if c.String("token") != "" && c.String("token-file") != "" {
		return settings{}, usagef("--token and --token-file exclude each other")
	}
	// A key that was not given for this command goes only to an endpoint that the
	// user chose.
	chosen := first(c.String("endpoint"), c.String("hub-url"), a.kazmaHubURL(), a.Getenv("KX_ENDPOINT")) != "" || project["endpoint"] == "" || project["endpoint"] == user["endpoint"]
	switch {
	case c.String("token") != "":
		s.token = c.String("token")
	case c.String("token-file") != "":
		s.token, err = a.tokenFile(c.String("token-file"))
	case !chosen && first(a.Getenv("KX_TOKEN"), a.Getenv("KX_TOKEN_FILE")) != "":
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
	data, err := os.ReadFile(a.path(path))
	if err != nil {
		return "", usagef("cannot read the token file: %v", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", usagef("the token file %s is empty", path)
	}
	return token, nil
}

// readConfig reads one settings file, a flat YAML mapping; absent is empty.
func readConfig(path string, known ...string) (map[string]string, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && len(strings.TrimSpace(string(data))) == 0) {
		return nil, nil
	}
	if err != nil {
		return nil, usagef("cannot read %s: %v", path, err)
	}
	doc, faults, _ := yamledit.Parse(data)
	if len(faults) > 0 {
		return nil, usagef("%s:%d:%d: %s", path, faults[0].Line, faults[0].Column, faults[0].Text)
	}
	values := map[string]string{}
	for _, entry := range doc.Entries {
		if !slices.Contains(known, entry.Key) {
			return nil, usagef("%s:%d: unknown setting %q; known here: %s", path, entry.Line, entry.Key, strings.Join(known, ", "))
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
