package cli

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/workers"
)

// value is one candidate and what it is; does may be empty.
type value struct{ text, does string }

// kind is where the values of a flag or an argument come from beside its choices. The
// zero kind is free text, for which there is nothing to offer.
type kind struct {
	list  func(q *completion, typed string) []value
	shell string // what the shell offers when nothing of that fits
}

var (
	freeText = kind{}
	files    = kind{shell: offerFiles}
	folders  = kind{shell: offerFolders}

	activeSkills  = kind{list: releasesIn(hubapi.Active)}
	skillOrFolder = kind{list: releasesIn(hubapi.Active), shell: offerFolders}
	anyRelease    = kind{list: releasesIn(hubapi.Active, hubapi.Deprecated)}
	underReview   = kind{list: releasesIn(hubapi.Candidate, hubapi.Staged, hubapi.Quarantined, hubapi.Rejected, hubapi.Stale)}
	ownSkills     = kind{list: listOwnSkills}
	hereSkills    = kind{list: listInstalled}
	signingKeys   = kind{list: listRing}
	agentNames    = kind{list: listAgents}
	nodeIDs       = kind{list: fromHub(func(ctx context.Context, n sqlstore.Names) ([]sqlstore.Named, error) { return n.Nodes(ctx) })}
	hubKeys       = kind{list: fromHub(func(ctx context.Context, n sqlstore.Names) ([]sqlstore.Named, error) { return n.Keys(ctx) })}
	tenants       = kind{list: fromHub(func(ctx context.Context, n sqlstore.Names) ([]sqlstore.Named, error) { return n.Tenants(ctx) })}
)

// kindOfWord says what stands for which values in usage lines and between the
// backquotes of flags. A test finds words that are not here.
var kindOfWord = map[string]kind{
	"PATH": files, "FILE": files, "BASE": files, "OURS": files, "THEIRS": files,
	"DIR": folders, "PARENT": folders, "FOLDER": folders, "DIR:MODE": folders,
	"SOURCE": skillOrFolder, "REF": activeSkills, "AUTHOR/NAME": activeSkills, "SKILL_ID": activeSkills, "SKILL_REF": activeSkills,
	"SKILL": ownSkills, "COMMAND": {list: listCommands}, "NODE": nodeIDs, "ID|NAME": hubKeys, "TENANT": tenants,

	// What only the user knows.
	"ADDRESS": freeText, "AUTHOR": freeText, "CAPABILITY": freeText, "COSINE": freeText, "CURSOR": freeText,
	"DIGEST": freeText, "DURATION": freeText, "FLEET": freeText, "HOST": freeText, "ID": freeText, "KEY": freeText, "LICENSE": freeText, "LIST": freeText, "QUERY": freeText, "WHAT": freeText,
	"MODEL": freeText, "N": freeText, "NAME": freeText, "NUMBER": freeText, "ORIGIN": freeText, "SENTENCE": freeText, "SEQ": freeText, "SUBMISSION_ID": freeText,
	"TAG": freeText, "TEXT": freeText, "TIME": freeText, "TOOL@VERSION": freeText, "URL": freeText, "VERSION": freeText,
	"WHY": freeText, "WORD": freeText, "[TENANT=]URL": freeText,

	// What is among the choices of its command.
	"FORMAT": freeText, "HOW": freeText, "LEVEL": freeText, "MODE": freeText, "POLICY": freeText, "REQUIREMENT": freeText, "ROLE": freeText,
	"SCOPE": freeText, "SEVERITY": freeText, "SHADE": freeText, "SHELL": freeText, "STATUS": freeText,
}

// kindOf is for what its word does not tell: by the command and the flag, or the
// argument.
var kindOf = map[string]kind{
	"kx keys show NAME":          signingKeys,
	"kx keys export NAME":        signingKeys,
	"kx keys remove NAME":        signingKeys,
	"kx trust add KEY":           signingKeys,
	"kx sign --key":              signingKeys,
	"kx hub export --key":        signingKeys,
	"kx skills show NAME":        ownSkills,
	"kx skills remove NAME":      ownSkills,
	"kx skills update NAME":      hereSkills,
	"kx skills outdated NAME":    hereSkills,
	"kx skills rollback NAME":    hereSkills,
	"kx skills install REF":      skillOrFolder,
	"kx inbox show REF":          underReview,
	"kx inbox diff REF":          underReview,
	"kx inbox approve REF":       underReview,
	"kx inbox reject REF":        underReview,
	"kx inbox quarantine REF":    underReview,
	"kx inbox defer REF":         underReview,
	"kx inbox edit REF":          underReview,
	"kx inbox repropose REF":     underReview,
	"kx pull REF":                anyRelease,
	"kx show REF":                anyRelease,
	"kx hub withdraw REF":        activeSkills,
	"kx hub deprecate REF":       activeSkills,
	"kx log prove REF":           activeSkills,
	"kx hub token new --name":    freeText,
	"kazma hub attest SKILL_REF": activeSkills,
}

// choicesOf are the values of flags that mean the same wherever they are; a command's
// own choices go before.
var choicesOf = map[string]func() []string{
	"status": func() []string {
		return texts(hubapi.Candidate, hubapi.Staged, hubapi.Active, hubapi.Rejected, hubapi.Quarantined, hubapi.Deprecated, hubapi.Stale)
	},
	"role":        func() []string { return texts(hub.Admin, hub.Reviewer, hub.Publisher, hub.Agent, hub.Node) },
	"scope":       func() []string { return texts(deliver.Scopes...) },
	"pack-format": packFormats,
	"git":         func() []string { return []string{"builtin", "system"} },
	"require":     func() []string { return []string{"author", "log", "hub"} },
}

func texts[S ~string](list ...S) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

// wanted is one value of a command line: of a flag, or an argument.
type wanted struct {
	path    string   // of the command
	flag    string   // empty for an argument
	word    string   // what stands for it in help
	choices []string // the command's own
}

// source is where the values come from.
func (w wanted) source() ([]value, kind) {
	choices := w.choices
	if len(choices) == 0 && w.flag != "" && choicesOf[w.flag] != nil {
		choices = choicesOf[w.flag]()
	}
	var known []value
	for _, choice := range choices {
		known = append(known, value{text: choice})
	}
	place := w.path + " " + w.word
	if w.flag != "" {
		place = w.path + " --" + w.flag
	}
	if k, ok := kindOf[place]; ok {
		return known, k
	}
	if w.flag == "agent" {
		return known, agentNames
	}
	if len(known) > 0 {
		return known, freeText
	}
	return known, kindOfWord[w.word]
}

func listRing(q *completion, _ string) []value {
	home, err := q.home()
	if err != nil {
		return nil
	}
	root, err := fsx.Open(home.keys())
	if err != nil {
		return nil
	}
	defer root.Close()
	entries, err := root.ReadDir(".")
	if err != nil {
		return nil
	}
	var out []value
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".pub"); ok && !strings.HasPrefix(name, ".") {
			out = append(out, value{text: name})
		}
	}
	return out
}

// listCommands are the commands below those that were named before.
func listCommands(q *completion, _ string) []value {
	c, _, err := q.commandAt(q.args)
	if err != nil {
		return nil
	}
	var out []value
	for _, sub := range c.Commands {
		if !sub.Hidden {
			out = append(out, value{sub.Name, sub.Usage})
		}
	}
	return out
}

func listAgents(*completion, string) []value {
	var out []value
	for _, agent := range deliver.Agents() {
		out = append(out, value{agent.Name, agent.Title})
	}
	return out
}

// listOwnSkills are those of the user's catalog, and those that are installed here.
func listOwnSkills(q *completion, typed string) []value {
	out := fromHub(func(ctx context.Context, n sqlstore.Names) ([]sqlstore.Named, error) {
		return n.Catalog(ctx, hub.LocalAdmin().ID)
	})(q, typed)
	for _, v := range listInstalled(q, typed) {
		if !slices.ContainsFunc(out, func(other value) bool { return other.text == v.text }) {
			out = append(out, v)
		}
	}
	return out
}

// listInstalled are the skills in the lock that the command would take: the project's,
// else the user's.
func listInstalled(q *completion, _ string) []value {
	home, err := q.home()
	if err != nil {
		return nil
	}
	project, err := q.findProject()
	if err != nil {
		return nil
	}
	var out []value
	for _, dir := range []string{project, home.data} {
		if dir == "" {
			continue
		}
		data, err := readLimited(filepath.Join(dir, deliver.LockFile), maxCompletedLock)
		if err != nil {
			continue
		}
		lock, err := deliver.ParseLock(data)
		if err != nil {
			continue
		}
		for _, name := range lock.Names() {
			if v := (value{name, "installed here"}); !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
		if !q.given["scope"] {
			break
		}
	}
	return out
}

// maxCompletedLock is the largest lock that completion reads; a larger one takes too
// long for a key press.
const maxCompletedLock = 1 << 20

func releasesIn(statuses ...hubapi.Status) func(*completion, string) []value {
	return func(q *completion, typed string) []value {
		return fromHub(func(ctx context.Context, n sqlstore.Names) ([]sqlstore.Named, error) {
			return n.Releases(ctx, typed, statuses...)
		})(q, typed)
	}
}

// fromHub asks the user's own hub, and only when the command would: with an endpoint
// it would ask a server, which completion never does.
func fromHub(ask func(context.Context, sqlstore.Names) ([]sqlstore.Named, error)) func(*completion, string) []value {
	return func(q *completion, _ string) []value {
		dir := q.ownHub()
		if dir == "" {
			return nil
		}
		// What is not there by then is not offered.
		ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(q.CompleteTime, 150*time.Millisecond))
		defer cancel()
		found := make(chan []sqlstore.Named, 1)
		go func() {
			var names []sqlstore.Named
			var err error
			fault := workers.Catch(func() {
				names, err = ask(ctx, sqlstore.Names{Place: sqlstore.Place{Dir: dir}, Tenant: hub.LocalTenant, Limit: maxCandidates})
			})
			if fault != nil || err != nil {
				names = nil
			}
			found <- names
		}()
		select {
		case names := <-found:
			out := make([]value, len(names))
			for i, n := range names {
				out[i] = value{n.Text, brief(n.Does)}
			}
			return out
		case <-ctx.Done():
			return nil // the process ends, and what it waits for with it
		}
	}
}

// maxCandidates is how many names of a hub are offered: more are not read by anybody.
const maxCandidates = 200

// ownHub is the folder of the user's own hub; empty when the command would not use it.
func (q *completion) ownHub() string {
	for _, flag := range []string{"endpoint", "hub-url", "registry-path", "data", "database-url"} {
		if q.given[flag] {
			return ""
		}
	}
	if first(q.Getenv("KX_ENDPOINT"), q.Getenv("KAZMA_HUB_URL"), q.Getenv("KAZMA_HUB_DB"), q.Getenv("KX_DATABASE_URL")) != "" {
		return ""
	}
	home, err := q.home()
	if err != nil {
		return ""
	}
	project, err := q.projectConfig()
	if err != nil || project["endpoint"] != "" {
		return ""
	}
	user, err := readConfig(home.configFile(), "endpoint", "author", "token_file")
	if err != nil || user["endpoint"] != "" {
		return ""
	}
	return home.hub()
}
