package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/sign"
)

// kazmaHub is the hub that a kazma command is about, as far as the kazma program has
// words of its own for it. Both are empty when it has none: then what kx knows counts.
type kazmaHub struct {
	url string
	dir string // of a hub in this process
}

// kazmaHub finds it: a flag comes before the environment, and there the address
// before the file, because a file is what one has had before there was a server.
func (a *app) kazmaHub(c *cli.Command) (kazmaHub, error) {
	return a.kazmaHubOf(c.String("hub-url"), c.String("registry-path"))
}

func (a *app) kazmaHubOf(url, file string) (kazmaHub, error) {
	if a.program != "kazma" {
		return kazmaHub{}, nil
	}
	if url != "" && file != "" {
		return kazmaHub{}, usagef("--hub-url and --registry-path exclude each other: the skills are there or here")
	}
	if url == "" && file == "" {
		if url = a.Getenv("KAZMA_HUB_URL"); url == "" {
			file = a.Getenv("KAZMA_HUB_DB")
		}
	}
	if file == "" {
		return kazmaHub{url: url}, nil
	}
	dir, err := registryDir(a.path(file))
	return kazmaHub{dir: dir}, err
}

// registryDir is the folder of the hub that --registry-path means: the path itself, or
// where it lies when it is a hub's database. A path that is not there becomes the
// folder of a new hub. The reference's own database is not touched.
func registryDir(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(absolute)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir():
		if filepath.Base(absolute) == sqlstore.FileName && err != nil {
			return filepath.Dir(absolute), nil
		}
		return absolute, nil
	case err != nil:
		return "", usagef("cannot look at the registry: %v", err)
	}
	if info.Mode().IsRegular() && info.Size() == 0 && filepath.Base(absolute) == sqlstore.FileName {
		return filepath.Dir(absolute), nil // opening it says what is wrong with it
	}
	kind, err := sqlstore.KindOf(absolute)
	if err != nil {
		return "", usagef("cannot read the registry: %v", err)
	}
	switch {
	case kind == sqlstore.KazmaRegistry:
		return "", usagef("%s is a registry of the original Kazma, which keeps manifests and no skills; it was not touched", path).
			With(hubapi.Detail{ID: "hub.kazma-registry", Message: "it is a registry of the original Kazma"}).
			WithHint("kazma hub import-registry %s registers the skills whose folders are still there; then name another path, or leave --registry-path and KAZMA_HUB_DB out", path)
	case kind == sqlstore.HubDatabase && filepath.Base(absolute) == sqlstore.FileName:
		return filepath.Dir(absolute), nil
	case kind == sqlstore.HubDatabase:
		return "", usagef("%s is a hub's database under another name than %s, by which it is found", path, sqlstore.FileName).
			WithHint("name the folder of the hub instead")
	}
	return "", usagef("%s is neither a hub's folder nor its database", path).WithHint("name a folder, which is made if it is missing")
}

// registryMemory is the name under which what the log of a registry said is
// remembered: each has a log of its own.
func registryMemory(dir string) string { return "registry-" + sign.Checksum([]byte(dir))[:16] }
