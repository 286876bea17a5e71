package deliver

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func agents(t fatal, names string) []Agent {
	t.Helper()
	var out []Agent
	for name := range strings.FieldsSeq(names) {
		a, err := FindAgent(name)
		if err != nil {
			t.Fatalf("%v", err)
		}
		out = append(out, a)
	}
	return out
}

// placed is one placement or unplaced agent in one line, below the test's folder.
func placed(s Surroundings, placements []Placement, unplaced []Unplaced) []string {
	short := strings.NewReplacer(filepath.Dir(s.Home)+"/", "")
	var out []string
	for _, p := range placements {
		line := p.Dir
		if p.Via != "" {
			line += " via " + p.Via
		}
		line += ": " + strings.Join(p.Agents, " ")
		if len(p.Shared) > 0 {
			line += " (shared by " + strings.Join(p.Shared, " ") + ")"
		}
		if p.Create {
			line += " create"
		}
		if p.Outside {
			line += " outside"
		}
		out = append(out, short.Replace(line))
	}
	for _, u := range unplaced {
		out = append(out, "! "+u.Agent+": "+short.Replace(u.Reason))
	}
	return out
}

// Peers 1 and 2: the folder of a chosen agent is made; one that is a link is one folder.
func TestPlace(t *testing.T) {
	for _, tt := range []struct {
		name, ask string
		scope     Scope
		paths     []string
		want      []string
	}{
		{
			name: "a missing folder of an agent that was chosen is made", ask: "claude-code",
			want: []string{"project/.claude/skills: claude-code create"},
		},
		{
			name: "one folder for all that share it", ask: "codex cursor claude-code", paths: []string{"project/.agents/skills/"},
			want: []string{"project/.agents/skills: codex cursor", "project/.claude/skills: claude-code create"},
		},
		{
			name: "shared before it is there", ask: "cursor codex codex",
			want: []string{"project/.agents/skills: codex cursor create"},
		},
		{
			name: "those that are here are reached too", ask: "codex", paths: []string{"home/.gemini/", "home/.claude/", "project/.agents/skills/"},
			want: []string{"project/.agents/skills: codex gemini-cli (shared by gemini-cli)"},
		},
		{
			name: "crush reads the folders of others", ask: "claude-code", paths: []string{"home/.config/crush/", "project/.claude/skills/"},
			want: []string{"project/.claude/skills: claude-code crush (shared by crush)"},
		},
		{
			name: "the whole skills folder is a link into the shared one", ask: "claude-code codex", paths: []string{"project/.agents/skills/", "project/.claude/skills -> ../.agents/skills"},
			want: []string{"project/.agents/skills via project/.claude/skills: claude-code codex"},
		},
		{
			name: "and those who share the target are said", ask: "claude-code", paths: []string{"home/.cursor/", "project/.agents/skills/", "project/.claude/skills -> ../.agents/skills"},
			want: []string{"project/.agents/skills via project/.claude/skills: claude-code cursor (shared by cursor)"},
		},
		{
			name: "a folder on the way is a link", ask: "claude-code codex", paths: []string{"project/.agents/", "project/.claude -> .agents"},
			want: []string{"project/.agents/skills via project/.claude/skills: claude-code codex create"},
		},
		{
			name: "a link out of the project", ask: "claude-code", paths: []string{"home/mine/", "project/.claude/skills -> DIR/home/mine"},
			want: []string{"home/mine via project/.claude/skills: claude-code outside"},
		},
		{
			name: "a link out of the home is the user's own", ask: "claude-code", scope: UserScope, paths: []string{"dotfiles/claude/", "home/.claude/skills -> DIR/dotfiles/claude"},
			want: []string{"dotfiles/claude via home/.claude/skills: claude-code"},
		},
		{
			name: "a link to nowhere", ask: "claude-code", paths: []string{"project/.claude/skills -> ../gone"},
			want: []string{"! claude-code: project/.claude/skills is a link to ../gone, which is not there"},
		},
		{
			name: "a link to itself", ask: "claude-code", paths: []string{"project/.claude/skills -> skills"},
			want: []string{"! claude-code: project/.claude/skills is a link to skills, which cannot be followed: too many levels of symbolic links"},
		},
		{
			name: "a file", ask: "claude-code codex", paths: []string{"project/.claude/skills"},
			want: []string{"project/.agents/skills: codex create", "! claude-code: project/.claude/skills is not a folder"},
		},
		{
			name: "a file on the way", ask: "claude-code", paths: []string{"project/.claude"},
			want: []string{"! claude-code: project/.claude is not a folder"},
		},
		{
			name: "a link to a file", ask: "claude-code", paths: []string{"project/package.json", "project/.claude/skills -> ../package.json"},
			want: []string{"! claude-code: project/.claude/skills is not a folder"},
		},
		{
			name: "no user folder is never silent", ask: "eve promptscript claude-code", scope: UserScope,
			want: []string{"home/.claude/skills: claude-code create", "! eve: Eve reads no folder of the user, only agent/skills in a project", "! promptscript: PromptScript reads no folder of the user, only .agents/skills in a project"},
		},
		{
			name: "two variables lead to one folder", ask: "amp universal", scope: UserScope,
			want: []string{"home/.config/agents/skills: amp universal create"},
		},
		{name: "nobody", ask: ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := here(t, nil, tt.paths...)
			scope := tt.scope
			if scope == "" {
				scope = ProjectScope
			}
			placements, unplaced, err := s.Place(agents(t, tt.ask), scope)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, placed(s, placements, unplaced)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, _, err := (Surroundings{}).Place(nil, "global"); err == nil {
		t.Error("the scope global was taken")
	}
}

// A link above the project is the user's way of naming it, and not worth a word.
func TestPlaceBelowALinkedProject(t *testing.T) {
	s := here(t, nil, "project/.agents/", "project/.claude -> .agents")
	alias := filepath.Join(filepath.Dir(s.Home), "alias")
	if err := os.Symlink(s.Project, alias); err != nil {
		t.Fatal(err)
	}
	s.Project = alias
	placements, unplaced, err := s.Place(agents(t, "codex claude-code"), ProjectScope)
	if err != nil || len(unplaced) > 0 || len(placements) != 1 {
		t.Fatalf("%+v %+v %v", placements, unplaced, err)
	}
	if p := placements[0]; p.Dir != filepath.Join(alias, ".agents", "skills") || p.Outside || len(p.Agents) != 2 {
		t.Errorf("%+v", p)
	}
}

// Whatever links, files and folders are in the way, each agent that was asked for
// is reached by exactly one placement or is unplaced with a reason, and no two
// placements are one folder.
func TestPlaceProperty(t *testing.T) {
	all := Agents()
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		dir := filepath.Join(base, fmt.Sprint(n))
		s := Surroundings{Getenv: func(string) string { return "" }, Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project"), OS: "linux"}
		for _, d := range []string{s.Home, s.Project} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				rt.Fatal(err)
			}
		}
		tops := []string{".claude", ".agents", ".goose", ".cursor", ".roo"}
		var spots []string
		for _, top := range tops {
			spots = append(spots, top, top+"/skills")
		}
		for range rapid.IntRange(0, 8).Draw(rt, "things") {
			in := rapid.SampledFrom([]string{s.Home, s.Project}).Draw(rt, "base")
			at := filepath.Join(in, rapid.SampledFrom(spots).Draw(rt, "spot"))
			// What is in the way of an earlier one stays as it is.
			_ = os.MkdirAll(filepath.Dir(at), 0o755)
			switch rapid.IntRange(0, 2).Draw(rt, "kind") {
			case 0:
				_ = os.MkdirAll(at, 0o755)
			case 1:
				_ = os.WriteFile(at, nil, 0o644)
			case 2:
				_ = os.Symlink(filepath.Join(in, rapid.SampledFrom(spots).Draw(rt, "target")), at)
			}
		}
		asked := rapid.SliceOf(rapid.SampledFrom(all)).Draw(rt, "agents")
		scope := rapid.SampledFrom(Scopes).Draw(rt, "scope")
		placements, unplaced, err := s.Place(asked, scope)
		if err != nil {
			rt.Fatal(err)
		}
		reached, reals := map[string]int{}, map[string]bool{}
		for _, p := range placements {
			for _, a := range p.Agents {
				if !slices.Contains(p.Shared, a) {
					reached[a]++
				}
			}
			if err := os.MkdirAll(p.Dir, 0o755); err != nil {
				rt.Fatalf("%s cannot be made: %v", p.Dir, err)
			}
			real, err := filepath.EvalSymlinks(p.Dir)
			if err != nil || reals[real] {
				rt.Fatalf("%s is %s, which is placed twice (%v)", p.Dir, real, err)
			}
			reals[real] = true
		}
		for _, u := range unplaced {
			if u.Reason == "" {
				rt.Fatalf("%s is unplaced without a reason", u.Agent)
			}
			reached[u.Agent]++
		}
		for _, a := range asked {
			if reached[a.Name] != 1 {
				rt.Fatalf("%s is reached %d times", a.Name, reached[a.Name])
			}
		}
	})
}
