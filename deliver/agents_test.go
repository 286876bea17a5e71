package deliver

import (
	"bytes"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/hubapi"
)

func vectors(t *testing.T) []map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "vectors", "agents.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	r := csv.NewReader(bytes.NewReader(data))
	r.Comma, r.LazyQuotes = '\t', true
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]string
	for _, row := range rows[1:] {
		entry := map[string]string{}
		for i, head := range rows[0] {
			entry[head] = row[i]
		}
		out = append(out, entry)
	}
	return out
}

func TestTheTableHasEveryAgentOfTheVectors(t *testing.T) {
	byName := map[string]Agent{}
	for _, a := range Agents() {
		if _, twice := byName[a.Name]; twice {
			t.Errorf("%s is there twice", a.Name)
		}
		byName[a.Name] = a
	}
	want := vectors(t)
	if len(want) != 79 || len(byName) != len(want) {
		t.Errorf("%d agents in the vectors, %d in the table", len(want), len(byName))
	}
	for _, row := range want {
		a, ok := byName[row["agent"]]
		if !ok {
			t.Errorf("%s is missing", row["agent"])
			continue
		}
		user := WithoutOverride(a.User)
		switch {
		case user == "":
			user = "—"
		case len(a.Fallbacks) > 0:
			user += " (falls back to " + strings.Join(a.Fallbacks, ", ") + " if only those exist)"
		}
		overrides := strings.Join(a.Overrides(), " ")
		if overrides == "" {
			overrides = "-"
		}
		got := map[string]string{
			"agent": a.Name, "title": a.Title, "project_dir": a.Project, "user_dir": user,
			"detected_by": a.DetectedBy(), "home_override": overrides,
		}
		if diff := cmp.Diff(row, got); diff != "" {
			t.Errorf("%s (-vectors +table):\n%s", a.Name, diff)
		}
	}
}

// Every cell of the table means something: what is misspelt would silently be
// taken for "not known".
func TestEveryCellOfTheTableIsRead(t *testing.T) {
	data, err := os.ReadFile("agents.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	head := strings.Split(lines[1], "\t")
	allowed := map[string]string{
		"depth": "- 1 6 all", "loads": "- project first last", "description": "- 1536", "listing": "- 8000", "refuses": "- <>",
	}
	for _, line := range lines[2:] {
		cells := strings.Split(line, "\t")
		if len(cells) != len(head) {
			t.Errorf("%d cells, want %d: %s", len(cells), len(head), line)
			continue
		}
		for i, cell := range cells {
			if words, ok := allowed[head[i]]; cell == "" || ok && !strings.Contains(" "+words+" ", " "+cell+" ") {
				t.Errorf("%s: %s is %q", cells[0], head[i], cell)
			}
		}
	}
	if dated := AgentsDated(); len(dated) != len("2026-11") || strings.Contains(dated, "\t") {
		t.Errorf("the table is dated %q", dated)
	}
	claude, _ := FindAgent("claude-code")
	codex, _ := FindAgent("Codex")
	goose, _ := FindAgent("goose")
	if claude.MaxDescription != 1536 || claude.Depth != 1 || claude.Listing != 8000 || codex.Depth != 6 || !codex.RefusesBrackets || codex.MaxDescription != 1024 || goose.Depth != Deep {
		t.Errorf("limits are not read: %+v %+v %+v", claude, codex, goose)
	}
}

func TestFindAgent(t *testing.T) {
	for _, tt := range []struct{ name, want, hint string }{
		{"claude-code", "claude-code", ""},
		{"Claude Code", "claude-code", ""},
		{"OPENCLAW", "openclaw", ""},
		{"claude-cod", "", "claude-code"},
		{"curser", "", "cursor"},
		{"nothing-like-it", "", "kx agents --all"},
		{"", "", "kx agents --all"},
	} {
		a, err := FindAgent(tt.name)
		if a.Name != tt.want {
			t.Errorf("FindAgent(%q) is %q", tt.name, a.Name)
		}
		if tt.want == "" && (err == nil || !strings.Contains(hint(err), tt.hint)) {
			t.Errorf("FindAgent(%q): %v, hint %q", tt.name, err, hint(err))
		}
	}
}

func hint(err error) string {
	if e, ok := errors.AsType[*hubapi.Error](err); ok && e.Code == hubapi.Usage {
		return e.Hint
	}
	return ""
}

func here(t *testing.T, vars map[string]string, paths ...string) Surroundings {
	t.Helper()
	dir := t.TempDir()
	s := Surroundings{
		Getenv: func(name string) string { return strings.ReplaceAll(vars[name], "DIR", dir) },
		Home:   filepath.Join(dir, "home"), Project: filepath.Join(dir, "project"), OS: "linux",
	}
	for _, path := range append(paths, "home/", "project/") {
		full := filepath.Join(dir, filepath.FromSlash(path))
		if strings.HasSuffix(path, "/") {
			mkdir(t, full)
			continue
		}
		path, target, link := strings.Cut(path, " -> ")
		full = filepath.Join(dir, filepath.FromSlash(path))
		mkdir(t, filepath.Dir(full))
		if link {
			if err := os.Symlink(strings.ReplaceAll(target, "DIR", dir), full); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(full, []byte(`{"dependencies": {"eve": "1"}}`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestDetect(t *testing.T) {
	for _, tt := range []struct {
		name, os string
		vars     map[string]string
		make     []string
		want     []string // NAME by PATH
	}{
		{name: "nothing"},
		{name: "two", make: []string{"home/.claude/", "home/.cursor/"}, want: []string{"claude-code by home/.claude", "cursor by home/.cursor"}},
		{name: "a variable that is set replaces the home", vars: map[string]string{"CLAUDE_CONFIG_DIR": "DIR/elsewhere"}, make: []string{"home/.claude/"}},
		{name: "and is looked at", vars: map[string]string{"CLAUDE_CONFIG_DIR": "DIR/elsewhere"}, make: []string{"elsewhere/"}, want: []string{"claude-code by elsewhere"}},
		{name: "below the configuration", make: []string{"home/.config/goose/"}, want: []string{"goose by home/.config/goose"}},
		{name: "moved configuration", vars: map[string]string{"XDG_CONFIG_HOME": "DIR/conf"}, make: []string{"home/.config/goose/", "conf/crush/"}, want: []string{"crush by conf/crush"}},
		{name: "relative configuration counts as unset", vars: map[string]string{"XDG_CONFIG_HOME": "conf"}, make: []string{"home/.config/goose/"}, want: []string{"goose by home/.config/goose"}},
		{name: "in the project", make: []string{"project/.continue/", "project/.replit"}, want: []string{"continue by project/.continue", "replit by project/.replit"}},
		{name: "the second of two signs", make: []string{"home/.moltbot/", "home/.kimi/"}, want: []string{"openclaw by home/.moltbot", "kimi-code-cli by home/.kimi"}},
		{name: "a folder alone is not eve", make: []string{"project/agent/"}},
		{name: "a dependency alone is not eve", make: []string{"project/package.json"}},
		{name: "both are", make: []string{"project/agent/", "project/package.json"}, want: []string{"eve by project/agent"}},
		{name: "another system's application", make: []string{"home/Applications/ZCode.app/"}},
		{name: "an application", os: "darwin", make: []string{"home/Applications/ZCode.app/"}, want: []string{"zcode by home/Applications/ZCode.app"}},
		{name: "without the variable it means nothing", make: []string{"Zed/"}},
		{name: "with it, it does", vars: map[string]string{"APPDATA": "DIR"}, make: []string{"Zed/"}, want: []string{"zed by Zed"}},
		{name: "a link to nowhere is nothing", make: []string{"home/.claude -> DIR/nowhere"}},
		{name: "the shared folder is nobody's sign", make: []string{"home/.agents/skills/", "project/.agents/skills/"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := here(t, tt.vars, tt.make...)
			if tt.os != "" {
				s.OS = tt.os
			}
			var got []string
			for _, d := range s.Detect() {
				rel, _ := filepath.Rel(filepath.Dir(s.Home), d.By)
				got = append(got, d.Agent.Name+" by "+filepath.ToSlash(rel))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFolder(t *testing.T) {
	for _, tt := range []struct {
		name, agent string
		scope       Scope
		vars        map[string]string
		make        []string
		want, fails string
	}{
		{name: "user", agent: "claude-code", scope: UserScope, want: "home/.claude/skills"},
		{name: "project", agent: "claude-code", scope: ProjectScope, want: "project/.claude/skills"},
		{name: "moved", agent: "claude-code", scope: UserScope, vars: map[string]string{"CLAUDE_CONFIG_DIR": "DIR/c"}, want: "c/skills"},
		{name: "moved, the project's stays", agent: "claude-code", scope: ProjectScope, vars: map[string]string{"CLAUDE_CONFIG_DIR": "DIR/c"}, want: "project/.claude/skills"},
		{name: "configuration", agent: "opencode", scope: UserScope, vars: map[string]string{"XDG_CONFIG_HOME": "DIR/x/"}, want: "x/opencode/skills"},
		{name: "an override for detection alone", agent: "codex", scope: UserScope, vars: map[string]string{"CODEX_HOME": "DIR/c"}, want: "home/.agents/skills"},
		{name: "relative", agent: "grok", scope: UserScope, vars: map[string]string{"GROK_HOME": "g"}, fails: "wherever one stands"},
		{name: "tilde", agent: "grok", scope: UserScope, vars: map[string]string{"GROK_HOME": "~/g"}, fails: "not expanded"},
		{name: "fresh openclaw", agent: "openclaw", scope: UserScope, want: "home/.openclaw/skills"},
		{name: "old openclaw", agent: "openclaw", scope: UserScope, make: []string{"home/.moltbot/"}, want: "home/.moltbot/skills"},
		{name: "less old openclaw", agent: "openclaw", scope: UserScope, make: []string{"home/.moltbot/", "home/.clawdbot/"}, want: "home/.clawdbot/skills"},
		{name: "both", agent: "openclaw", scope: UserScope, make: []string{"home/.moltbot/", "home/.openclaw/"}, want: "home/.openclaw/skills"},
		{name: "no user folder", agent: "eve", scope: UserScope, fails: "agent/skills"},
		{name: "no user folder either", agent: "promptscript", scope: UserScope, fails: "no folder of the user"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := here(t, tt.vars, tt.make...)
			a, err := FindAgent(tt.agent)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Folder(a, tt.scope)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("%q, %v; want an error with %q", got, err, tt.fails)
				}
				return
			}
			if want := filepath.Join(filepath.Dir(s.Home), filepath.FromSlash(tt.want)); err != nil || got != want {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		})
	}
}

func TestFoldersOnWindows(t *testing.T) {
	vars := map[string]string{}
	s := Surroundings{Getenv: func(n string) string { return vars[n] }, Home: `C:\Users\me`, Project: `D:\work\p`, OS: "windows"}
	for _, tt := range []struct {
		agent string
		scope Scope
		vars  map[string]string
		want  string
	}{
		{"windsurf", UserScope, nil, `C:\Users\me\.codeium\windsurf\skills`},
		{"windsurf", ProjectScope, nil, `D:\work\p\.windsurf\skills`},
		{"claude-code", UserScope, map[string]string{"CLAUDE_CONFIG_DIR": `E:/claude\`}, `E:/claude\skills`},
		{"claude-code", UserScope, map[string]string{"CLAUDE_CONFIG_DIR": `\\server\share`}, `\\server\share\skills`},
		{"claude-code", UserScope, map[string]string{"CLAUDE_CONFIG_DIR": `/claude`}, ""},
		{"goose", UserScope, map[string]string{"XDG_CONFIG_HOME": `conf`}, `C:\Users\me\.config\goose\skills`},
	} {
		vars = tt.vars
		a, _ := FindAgent(tt.agent)
		got, err := s.Folder(a, tt.scope)
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%s with %v: %q, %v; want %q", tt.agent, tt.vars, got, err, tt.want)
		}
	}
}
