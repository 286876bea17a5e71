package deliver

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite docs/agents.md")

// agentsDoc is the table for people.
func agentsDoc() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Agents and where they look for skills

This page is generated from the table that kx itself uses (deliver/agents.tsv), which is of %s. `+"`kx agents`"+` says which
of them are here and what is in their folders, `+"`kx doctor`"+` what is wrong with what they see.

All of them read folders that hold a SKILL.md. `+"`$X(~/y)`"+` is the variable X when it is set, else ~/y; a value that is not
an absolute path is refused, and of XDG variables passed over. On Windows the same paths are below the user's profile.

| agent | name | project | user | here when there is |
|---|---|---|---|---|
`, AgentsDated())
	for _, a := range Agents() {
		user := "none"
		if a.User != "" {
			user = "`" + a.User + "`"
		}
		for _, f := range a.Fallbacks {
			user += ", or `" + f + "` if only that exists"
		}
		signs := make([]string, 0, len(a.Detect))
		for _, s := range a.Detect {
			if words := signInWords(s); words != s && !strings.HasPrefix(s, "$") {
				signs = append(signs, words)
			} else {
				signs = append(signs, "`"+s+"`")
			}
		}
		detected := strings.Join(signs, " or ")
		if detected == "" {
			detected = "(never detected)"
		}
		fmt.Fprintf(&b, "| %s | `%s` | `%s` | %s | %s |\n", a.Title, a.Name, a.Project, user, detected)
	}
	b.WriteString(`
## What is known of their limits

Agents that this table does not have are taken to look one level deep and to read the 1,024 characters of a description
that the specification allows. Where two skills have one name, an agent that takes the first or the last is taken to
look into the project's folder before the user's.

| agent | looks | of two with one name | description | list of all skills | also reads in a project | refuses |
|---|---|---|---|---|---|---|
`)
	loads := map[Precedence]string{"": "not known", ProjectFirst: "the project's", FirstWins: "the first", LastWins: "the last"}
	for _, a := range Agents() {
		if a.Depth == 0 && a.Loads == "" && a.Listing == 0 && len(a.Also) == 0 && !a.RefusesBrackets {
			continue
		}
		depth := "not known"
		switch {
		case a.Depth == Deep:
			depth = "at any depth"
		case a.Depth == 1:
			depth = "one level deep"
		case a.Depth > 1:
			depth = fmt.Sprintf("%d levels deep", a.Depth)
		}
		listing := "not known"
		if a.Listing > 0 {
			listing = fmt.Sprintf("about %d characters", a.Listing)
		}
		refuses := ""
		if a.RefusesBrackets {
			refuses = "`<` and `>` in a description"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d characters | %s | %s | %s |\n", a.Title, depth, loads[a.Loads], a.MaxDescription, listing, strings.Join(a.Also, ", "), refuses)
	}
	b.WriteString("\n## Folders that several of them share\n\n| folder | agents |\n|---|---|\n")
	var folders []string
	readers := map[string][]string{}
	for _, a := range Agents() {
		for _, folder := range []string{a.Project, a.User} {
			if folder == "" {
				continue
			}
			if readers[folder] == nil {
				folders = append(folders, folder)
			}
			readers[folder] = append(readers[folder], a.Title)
		}
	}
	for _, folder := range folders {
		if len(readers[folder]) > 1 {
			fmt.Fprintf(&b, "| `%s` | %s |\n", folder, strings.Join(readers[folder], ", "))
		}
	}
	return b.String()
}

func TestAgentsDocIsCurrent(t *testing.T) {
	file := filepath.Join("..", "docs", "agents.md")
	want := agentsDoc()
	if *update {
		must(t, os.WriteFile(file, []byte(want), 0o644))
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != want {
		t.Errorf("docs/agents.md differs from the table; run: go test ./deliver -run AgentsDoc -update (%v)\n%s", err, cmp.Diff(want, string(got)))
	}
}
