package deliver

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/internal/fsx"
)

func skillFor(name, description string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\nDo it.\n"
}

// diagnosed is each problem in one line, below the test's folder.
func diagnosed(s Surroundings, problems []Problem) []string {
	short := strings.NewReplacer(filepath.Dir(s.Home)+"/", "")
	var out []string
	for _, p := range problems {
		line := fmt.Sprintf("%s %s %s", p.Level, strings.TrimPrefix(p.ID, "agents."), p.Path)
		if p.Rule != "" {
			line += " " + p.Rule
		}
		if p.Winner != "" {
			line += " under " + p.Winner
		}
		if len(p.Agents) > 0 {
			line += " for " + strings.Join(p.Agents, " ")
		}
		out = append(out, short.Replace(line))
		if p.Fix == "" || p.Message == "" {
			out = append(out, "without a fix or a message: "+line)
		}
	}
	return out
}

// Peers: a skill that shadows another, or is loaded twice.
func TestDiagnose(t *testing.T) {
	for _, tt := range []struct {
		name  string
		here  []string          // signs and links
		files map[string]string // SKILL.md and others
		want  []string
	}{
		{name: "nothing is wrong", here: []string{"home/.claude/"}, files: map[string]string{"project/.claude/skills/hello/SKILL.md": skillFor("hello", "Greets.")}},
		{name: "nobody is here", files: map[string]string{"project/.claude/skills/hello/SKILL.md": "broken"}},
		{name: "the project's hides the user's", here: []string{"home/.claude/"}, files: map[string]string{
			"project/.claude/skills/hello/SKILL.md": skillFor("hello", "Greets."),
			"home/.claude/skills/hello/SKILL.md":    skillFor("hello", "Greets otherwise."),
		}, want: []string{"warning shadowed home/.claude/skills/hello under project/.claude/skills/hello for claude-code"}},
		{name: "the last one wins", here: []string{"home/.config/opencode/"}, files: map[string]string{
			"project/.agents/skills/hello/SKILL.md":        skillFor("hello", "Greets."),
			"home/.config/opencode/skills/hello/SKILL.md":  skillFor("hello", "Greets otherwise."),
			"home/.config/opencode/skills/deep/a/SKILL.md": skillFor("a", "Is deep."),
		}, want: []string{"warning shadowed project/.agents/skills/hello under home/.config/opencode/skills/hello for opencode"}},
		{name: "which wins is not known", here: []string{"home/.cursor/"}, files: map[string]string{
			"project/.agents/skills/hello/SKILL.md": skillFor("hello", "Greets."),
			"home/.cursor/skills/hello/SKILL.md":    skillFor("hello", "Greets otherwise."),
		}, want: []string{"warning shadowed home/.cursor/skills/hello for cursor"}},
		{name: "twice the same by a link", here: []string{"home/.config/crush/", "project/.claude/skills -> ../.agents/skills"}, files: map[string]string{
			"project/.agents/skills/hello/SKILL.md": skillFor("hello", "Greets."),
		}, want: []string{"note loaded-twice project/.claude/skills/hello for crush"}},
		{name: "skipped without a word, for all who share it", here: []string{"home/.codex/", "home/.gemini/"}, files: map[string]string{
			"project/.agents/skills/hello/SKILL.md": "---\nname: hello\ndescription: Sorts: mail\n---\nx\n",
			"project/.agents/skills/other/SKILL.md": skillFor("another", "Greets."),
			"project/.agents/skills/fine/SKILL.md":  skillFor("fine", "Greets."),
		}, want: []string{
			"error invalid-skill project/.agents/skills/hello yaml.syntax for codex gemini-cli",
			"error invalid-skill project/.agents/skills/other pack.name-mismatch for codex gemini-cli",
		}},
		{name: "more than some read", here: []string{"home/.codex/", "home/.claude/"}, files: map[string]string{
			"project/.agents/skills/long/SKILL.md": skillFor("long", strings.Repeat("x", 1200)),
			"project/.claude/skills/long/SKILL.md": skillFor("long", strings.Repeat("x", 1200)),
			"project/.claude/skills/more/SKILL.md": skillFor("more", strings.Repeat("x", 1537)),
		}, want: []string{
			"error description project/.agents/skills/long for codex",
			"error description project/.claude/skills/more for claude-code",
		}},
		{name: "brackets", here: []string{"home/.codex/", "home/.gemini/"}, files: map[string]string{
			"project/.agents/skills/tag/SKILL.md": skillFor("tag", "Writes <b> tags."),
		}, want: []string{"error description project/.agents/skills/tag for codex"}},
		{name: "a broken link", here: []string{"home/.claude/", "project/.claude/skills/gone -> ../../nowhere"}, want: []string{"error broken-link project/.claude/skills/gone for claude-code"}},
		{name: "a link to itself", here: []string{"home/.claude/", "project/.claude/skills/self -> self"}, want: []string{"error broken-link project/.claude/skills/self for claude-code"}},
		{name: "a file for a folder", here: []string{"home/.claude/", "project/.claude/skills"}, want: []string{"error folder project/.claude/skills for claude-code"}},
		{name: "out of the project", here: []string{"home/.claude/", "home/all/", "project/.claude/skills -> DIR/home/all"}, want: []string{"warning outside project/.claude/skills for claude-code"}},
		{name: "another installer", here: []string{"home/.claude/"}, files: map[string]string{
			"project/.claude/skills/theirs/SKILL.md":        skillFor("theirs", "Greets."),
			"project/.claude/skills/theirs/.memclaw-owned":  "{}",
			"project/.claude/skills/empty-one/.kx-owned":    "{}",
			"project/.claude/skills/notes/README.md":        "no skill",
			"project/.claude/skills/README.md":              "no skill",
			"project/.claude/skills/deep/er/still/SKILL.md": "not looked at",
		}, want: []string{
			"error invalid-skill project/.claude/skills/empty-one pack.no-manifest for claude-code",
			"note foreign-marker project/.claude/skills/empty-one",
			"note foreign-marker project/.claude/skills/theirs",
		}},
		{name: "Codex looks six folders deep", here: []string{"home/.codex/"}, files: map[string]string{
			"project/.agents/skills/1/2/3/4/5/six/SKILL.md":     "broken",
			"project/.agents/skills/1/2/3/4/5/6/seven/SKILL.md": "broken",
		}, want: []string{"error invalid-skill project/.agents/skills/1/2/3/4/5/six frontmatter.missing for codex"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := here(t, nil, tt.here...)
			for path, text := range tt.files {
				put(t, filepath.Dir(s.Home), filepath.FromSlash(path), text)
			}
			before := tree(t, filepath.Dir(s.Home))
			_, problems := s.Diagnose(DiagnoseOptions{})
			if diff := cmp.Diff(tt.want, diagnosed(s, problems)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			same(t, before, tree(t, filepath.Dir(s.Home)))
			_, again := s.Diagnose(DiagnoseOptions{})
			same(t, problems, again)
		})
	}
}

func TestDiagnoseListing(t *testing.T) {
	s := here(t, nil, "home/.claude/", "home/.codex/")
	for i := range 10 {
		name := fmt.Sprintf("skill-%d", i)
		put(t, s.Home, ".claude/skills/"+name+"/SKILL.md", skillFor(name, strings.Repeat("x", 800+i)))
	}
	_, problems := s.Diagnose(DiagnoseOptions{})
	same(t, []string{"warning listing  for claude-code"}, diagnosed(s, problems))
	if len(problems) == 1 && !strings.Contains(problems[0].Fix, "skill-9, skill-8, skill-7") {
		t.Errorf("the fix is %q", problems[0].Fix)
	}
}

// What kx wrote is compared with its marker, and with the lock where there is one.
func TestDiagnoseOurs(t *testing.T) {
	s := here(t, nil, "home/.claude/")
	root, err := fsx.OpenOrCreate(filepath.Join(s.Project, ".claude", "skills"), 0o755)
	must(t, err)
	defer root.Close()
	for _, name := range []string{"kept", "edited", "loose"} {
		_, err := Install(root, skillMD(t, name, "1"), options())
		must(t, err)
	}
	put(t, root.Name(), "edited/SKILL.md", skillFor("edited", "By hand."))
	left := leftover(t, root)
	must(t, os.Mkdir(filepath.Join(root.Name(), left), 0o700))
	must(t, os.Mkdir(filepath.Join(filepath.Dir(root.Name()), left), 0o700))

	entry := func(name string) Locked {
		return Locked{Source: "dir:./" + name, Revision: "1", Name: name, Digest: skillMD(t, name, "1").Digest(), Format: "skill-md", Targets: []Target{{Dir: ".claude/skills", Mode: AsCopy}}}
	}
	lock := Lock{Skills: map[string]Locked{"kept": entry("kept"), "edited": entry("edited"), "missing": entry("missing")}}
	file := filepath.Join(s.Project, LockFile)
	must(t, os.WriteFile(file, lock.Encode(), 0o644))
	o := DiagnoseOptions{Owner: options().Owner, Workspaces: []WorkspaceOptions{{Dir: s.Project, File: file, Data: filepath.Join(s.Home, "kx"), Owner: options().Owner, Now: func() time.Time { return now }}}}
	_, problems := s.Diagnose(o)
	want := []string{
		"error lock-disagrees project/.claude/skills/missing",
		"warning leftover project/.claude/" + left + " for claude-code",
		"warning leftover project/.claude/skills/" + left + " for claude-code",
		"warning edited project/.claude/skills/edited",
		"note unlocked project/.claude/skills/loose for claude-code",
	}
	same(t, want, diagnosed(s, problems))
	if _, err := json.Marshal(problems); err != nil {
		t.Error(err)
	}

	// In a clone, all is of another installation; of what the lock has it was said that kx does not touch it.
	clone := o
	clone.Owner, clone.Workspaces = "somebody else", slices.Clone(o.Workspaces)
	clone.Workspaces[0].Owner = clone.Owner
	_, problems = s.Diagnose(clone)
	for _, name := range []string{"kept", "edited", "loose"} {
		i := slices.IndexFunc(problems, func(p Problem) bool {
			return p.ID == IDForeignMarker && p.Path == filepath.Join(root.Name(), name)
		})
		if i < 0 || strings.Contains(problems[i].Fix, "kx does not touch it") != (name == "loose") {
			t.Errorf("%s in a clone: %+v", name, problems)
		}
	}

	must(t, os.WriteFile(file, []byte("<<<<<<< ours\n"), 0o644))
	_, problems = s.Diagnose(o)
	if got := diagnosed(s, problems); len(got) == 0 || got[0] != "error lock-unreadable project/kx-lock.json" {
		t.Errorf("with a lock that is none: %q", got)
	}

	survey := s.Survey(options().Owner, false)
	same(t, Counts{Ours: 3}, survey[0].Folders[ProjectScope][0].Counts())
	survey = s.Survey("somebody else", false)
	same(t, Counts{Foreign: 3}, survey[0].Folders[ProjectScope][0].Counts())
	if all := s.Survey("", true); len(all) != len(Agents()) {
		t.Errorf("%d agents", len(all))
	}
}

// leftover is a staging name of a run that is gone.
func leftover(t *testing.T, root fsx.Root) string {
	t.Helper()
	gone := exec.Command("true")
	must(t, gone.Run())
	return fmt.Sprintf(".kx-stage-%s-%d-ABCDEFGHIJKLMNOP", hostOf(t, root), gone.Process.Pid)
}

// hostOf is how staging names call this machine.
func hostOf(t *testing.T, root fsx.Root) string {
	t.Helper()
	host := ""
	must(t, fsx.PutDir(root, "probe", nil))
	must(t, fsx.RemoveDir(root, "probe", func(old string) error {
		host = strings.Split(old, "-")[2]
		return nil
	}))
	return host
}
