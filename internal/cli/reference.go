package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/sorting"
)

// The tables that the reference pages, the manual pages and nothing else show. Texts
// may have backquotes around what is typed.

type exitRow struct {
	code    int
	meaning string
}

// exitTable are the exit codes of a program, or with a path those of one command.
func exitTable(program, path string) []exitRow {
	usage := "the command line or the configuration is wrong"
	if program == "kx" && path == "" {
		usage += "; every failure of `kx new`, and a pack that `kx skills add` cannot read"
	}
	rows := []exitRow{
		{hubapi.ExitOK, "done"},
		{hubapi.ExitFailed, "it ran and the answer is no: a check failed, something was not found or refused, the hub answered with an error"},
		{hubapi.ExitUsage, usage},
		{hubapi.ExitTimeout, "a wait timed out"},
		{hubapi.ExitInterrupted, "interrupted"},
	}
	if program == "kx" && (path == "" || path == "kx verify") {
		rows = append(rows, verifyExitRows()...)
	}
	sorting.Sort(rows, func(a, b exitRow) int { return cmp.Compare(a.code, b.code) })
	return rows
}

// variable is an environment variable that a program reads.
type variable struct {
	name    string
	meaning string
	// of are the paths of the commands that read it, with all below them; none means
	// every command.
	of []string
}

// variables are all that people may set. A test holds them against the source.
var variables = []variable{
	{"KX_HOME", "one folder for everything of yours: settings, keys, your own hub; without it, the XDG folders", nil},
	{"KX_ENDPOINT", "the hub, as `--endpoint`", nil},
	{"KX_TOKEN", "your key for the hub", nil},
	{"KX_TOKEN_FILE", "the file that holds your key for the hub, as `--token-file`", nil},
	{"KX_HUB_TIMEOUT", "how long a hub may take for one answer, such as `90s` (default: 30s; an archive has four times as long)", nil},
	{"KX_DEBUG", "1 shows the place in the program where it failed, when that is its own fault", nil},
	{"KAZMA_HUB_URL", "the hub of the `kazma hub` commands", []string{"kazma hub"}},
	{"KAZMA_HUB_DB", "the hub in a folder or database, as `--registry-path`", []string{"kazma hub"}},
	{"KAZMA_USER_HOME", "your own Kazma's folder, where skills are installed", []string{"kazma hub"}},
	{"KAZMA_SECRET", "the shared secret of HMAC signatures; of `serve`, what Kazma's write routes ask for", []string{"kx sign", "kx verify", "kx serve", "kx doctor", "kazma hub", "kazma wizard"}},
	{"KAZMA_SECRET_PREVIOUS", "an older shared secret that verifying still accepts", []string{"kx verify", "kazma hub validate"}},
	{"KX_DATABASE_URL", "the PostgreSQL database of a hub, as `--database-url`", []string{"kx serve", "kx hub"}},
	{"KX_WEBHOOK_SECRET", "the secret that signs what `--webhook` posts", []string{"kx serve"}},
	{"KX_EMBEDDINGS_KEY", "the key of the endpoint of `--embeddings-url`", []string{"kx serve"}},
	{"MEMCLAW_API_URL", "the hub, where nothing of kx says one; so do `MEMCLAW_API_KEY`, `MEMCLAW_TENANT_ID`, `MEMCLAW_FLEET_ID`, `MEMCLAW_NODE_NAME`, `MEMCLAW_API_PREFIX`, and the same with `CAURA_`", []string{"kx sync"}},
	{"MEMCLAW_SKILL_TARGETS", "the folders to manage, as `--target`, with commas between them, or a JSON list of `{\"dir\", \"mode\", \"register\"}`; also `CAURA_SKILL_TARGETS`", []string{"kx sync"}},
	{"KX_GIT_TOKEN", "your token for the git host in `KX_GIT_HOST`, else for github.com", []string{"kx skills"}},
	{"KX_GIT_HOST", "the host that `KX_GIT_TOKEN` is for", []string{"kx skills"}},
	{"KX_PRIVATE_HOSTS", "hosts of your own network by their whole names or addresses, with commas between them, from which sources are read without `--allow-private`", []string{"kx skills"}},
	{"KX_ACCESSIBLE", "1 asks line by line, without colours and without moving the cursor", []string{"kazma wizard"}},
	{"KX_BACKGROUND", "dark or light, as `--background`", []string{"kazma wizard"}},
	{"NO_COLOR", "set to anything, no colours are used", nil},
	{"SOURCE_DATE_EPOCH", "seconds since 1970: the date on manual pages, which have none without it", []string{"kx man", "kazma man"}},
}

// keptFile is a file or folder that a program keeps or reads.
type keptFile struct {
	path    string
	meaning string
	of      []string
}

var places = []keptFile{
	{"kx.yaml", "in the working directory: the settings of a project, `endpoint` and `author`", nil},
	{"~/.config/kx/config.yaml", "your settings: `endpoint`, `author` and `token_file`", nil},
	{"~/.config/kx/trust.yaml", "whose signatures `kx verify` accepts", []string{"kx verify"}},
	{"~/.local/share/kx/keys", "your keys, and those that you trust", []string{"kx keys", "kx sign", "kx verify", "kx hub export", "kx hub import"}},
	{"~/.local/share/kx/hub", "your own hub, which commands use when no endpoint is set", nil},
	{"kx-lock.json", "what is installed in a project, made to be committed", []string{"kx skills", "kx doctor", "kazma wizard"}},
	{".kx-owned", "in a folder that kx wrote for an agent: what was written, so that nothing of yours is lost", []string{"kx skills", "kx sync", "kazma wizard"}},
}

// concerns tells whether a command, or anything below a group, is among paths.
func concerns(of []string, path string) bool {
	if len(of) == 0 || !strings.Contains(path, " ") {
		program, _, _ := strings.Cut(path, " ")
		return len(of) == 0 || slices.ContainsFunc(of, func(p string) bool { return strings.HasPrefix(p, program+" ") })
	}
	return slices.ContainsFunc(of, func(p string) bool {
		return p == path || strings.HasPrefix(path, p+" ") || strings.HasPrefix(p, path+" ")
	})
}

// talks tells whether a command, or anything below it, can be sent to a hub.
func talks(c *cli.Command) bool {
	return slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), "endpoint") }) ||
		slices.ContainsFunc(c.Commands, talks)
}

// variablesOf are those that a command reads.
func variablesOf(c *cli.Command, path string) []variable {
	var out []variable
	for _, v := range variables {
		remote := slices.Contains([]string{"KX_ENDPOINT", "KX_TOKEN", "KX_TOKEN_FILE", "KX_HUB_TIMEOUT"}, v.name)
		if concerns(v.of, path) && (!remote || talks(c)) {
			out = append(out, v)
		}
	}
	return out
}

// placesOf are those that a command is about.
func placesOf(c *cli.Command, path string) []keptFile {
	var out []keptFile
	for _, p := range places {
		if concerns(p.of, path) && (len(p.of) > 0 || talks(c)) {
			out = append(out, p)
		}
	}
	return out
}

// acceptedFlags are the flags of a command that can be seen, then those that it
// inherits. The library knows who is whose parent only once the tree has run.
func acceptedFlags(root, of *cli.Command) []cli.Flag {
	var out []cli.Flag
	for c := of; c != nil; c = parentOf(root, c) {
		for _, f := range c.Flags {
			if v, ok := f.(cli.VisibleFlag); ok && !v.IsVisible() {
				continue
			}
			if l, ok := f.(cli.LocalFlag); ok && c != of && l.IsLocal() {
				continue
			}
			if slices.Contains(f.Names(), "help") {
				continue // it is on every command, and the library adds it when it runs one
			}
			out = append(out, f)
		}
	}
	return out
}
