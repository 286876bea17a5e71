package deliver

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hubapi"
)

// hostile opens a project whose lock, which this kx did not write, names one folder.
func hostile(t *testing.T, project string, target Target, anyFolder bool, named ...string) error {
	t.Helper()
	lock := Lock{Skills: map[string]Locked{"one": {
		Source: "./one", Revision: "1", Name: "one", Digest: someDigest(1), Format: "skill-md", Targets: []Target{target},
	}}}
	must(t, os.WriteFile(filepath.Join(project, LockFile), lock.Encode(), 0o644))
	w, err := OpenWorkspace(WorkspaceOptions{
		Dir: project, File: filepath.Join(project, LockFile), Data: filepath.Join(t.TempDir(), "data"),
		Owner: "kx-test", Now: func() time.Time { return now }, AnyFolder: anyFolder, Named: filepath.Join(append([]string{""}, named...)...),
	})
	if err == nil {
		must(t, w.Close())
	}
	return err
}

// A hidden folder that somebody had named on another machine could be agreed to by
// nothing that the refusal said.
func TestANamedFolderIsTakenUnlessItIsGits(t *testing.T) {
	for dir, taken := range map[string]bool{".team/skills": true, "src": true, ".github/workflows": true, ".git/hooks": false, "sub/.GIT": false, "../stolen": false} {
		project := t.TempDir()
		err := hostile(t, project, Target{Dir: dir, Mode: AsCopy}, false, project, dir)
		if (err == nil) != taken {
			t.Errorf("%s: %v", dir, err)
		}
		if err := hostile(t, project, Target{Dir: dir, Mode: AsCopy}, true, project, "other"); (err == nil) != (dir == "src") {
			t.Errorf("%s, when another was named: %v", dir, err)
		}
	}
	e := hubapi.AsError(hostile(t, t.TempDir(), Target{Dir: ".team/skills; x", Mode: AsCopy}, false))
	if !strings.Contains(e.Hint, "kx skills install ./one --to DIR") {
		t.Error(e.Hint)
	}
}

// A cloned lock made kx write executables into .git/hooks, and whatever it liked into
// folders that no agent reads.
func TestALockFromAStrangerNamesNoOtherFolder(t *testing.T) {
	for _, c := range []struct {
		dir    string
		agents []string
		why    string // empty: it is taken
	}{
		{".claude/skills", []string{"claude-code"}, ""},
		{".claude/skills", nil, ""},
		{".agents/skills", []string{"codex", "cursor"}, ""},
		{"skills", nil, ""}, // openclaw's
		{".git", nil, "git's own"},
		{".git/hooks", []string{"claude-code"}, "git's own"},
		{"sub/.GIT/hooks", nil, "git's own"},
		{"git~1/hooks", nil, "git's own"},
		{".claude/skills", []string{"no-such-agent"}, "which there is not"},
		{".git/hooks", []string{"no-such-agent"}, "git's own"},
		{".cursor/skills", []string{"claude-code"}, "not where claude-code"},
		{".claude", []string{"claude-code"}, "not where claude-code"},
		{".claude", nil, "no agent looks"},
		{".github/workflows", nil, "no agent looks"},
		{".", nil, "no agent looks"},
		{"src", nil, "no agent looks"},
		{"../stolen", nil, "outside of the project"},
	} {
		err := hostile(t, t.TempDir(), Target{Dir: c.dir, Agents: c.agents, Mode: AsCopy}, false)
		switch {
		case c.why == "" && err != nil:
			t.Errorf("%s %v is refused: %v", c.dir, c.agents, err)
		case c.why != "" && (!isRefusal(err, IDLockInvalid) || !strings.Contains(err.Error(), c.why)):
			t.Errorf("%s %v: %v, want %q", c.dir, c.agents, err, c.why)
		case c.why != "" && hubapi.AsError(err).Details[0].Line != 4:
			t.Errorf("%s: the line is %d", c.dir, hubapi.AsError(err).Details[0].Line)
		}
	}
	for dir, taken := range map[string]bool{"src": true, ".github": false, ".": false, ".git/hooks": false} {
		if err := hostile(t, t.TempDir(), Target{Dir: dir, Mode: AsCopy}, true); (err == nil) != taken {
			t.Errorf("%s with a yes: %v", dir, err)
		}
	}
}

// A link that was committed led what a lock installs out of the project.
func TestALockFollowsNoLinkOutOfTheProject(t *testing.T) {
	dir := t.TempDir()
	for link, why := range map[string]string{
		"../../outside": "outside of the project",
		"../.git/hooks": "git's own",
		"../.github":    "no agent looks",
		"../src":        "no agent looks",
		"../skills":     "",
	} {
		project := filepath.Join(dir, strings.ReplaceAll(link, "/", "_"), "project")
		for _, d := range []string{".claude", ".git/hooks", ".github", "src", "skills", "../outside"} {
			must(t, os.MkdirAll(filepath.Join(project, d), 0o755))
		}
		if err := os.Symlink(link, filepath.Join(project, ".claude", "skills")); err != nil {
			t.Skip("links cannot be had here")
		}
		err := hostile(t, project, Target{Dir: ".claude/skills", Agents: []string{"claude-code"}, Mode: AsCopy}, false)
		if why == "" && err != nil || why != "" && (!isRefusal(err, IDLockInvalid) || !strings.Contains(err.Error(), why)) {
			t.Errorf("%s: %v, want %q", link, err, why)
		}
	}
}

// Removing a skill took the user's own link and folder away, because kx had once made
// folders of these names.
func TestRemovalLeavesALinkThatTheUserMade(t *testing.T) {
	dir := t.TempDir()
	project := filepath.Join(dir, "project")
	must(t, os.MkdirAll(filepath.Join(project, "skills"), 0o755))
	claude := filepath.Join(project, ".claude", "skills")
	install := func(t fatal, w *Workspace) error {
		return firstFault(w.Apply(w.Plan(context.Background(), []Wanted{wantSkill(t, "one", "1", Spot{Dir: claude, Agents: []string{"claude-code"}})})))
	}
	remove := func(_ fatal, w *Workspace) error {
		return firstFault(w.Apply(w.PlanRemoval([]Removal{{Name: "one"}})))
	}
	for _, link := range []bool{true, false} {
		must(t, withWorkspace(t, dir, install))
		must(t, os.RemoveAll(filepath.Join(project, ".claude")))
		must(t, os.Mkdir(filepath.Join(project, ".claude"), 0o755))
		if link {
			must(t, os.Symlink("../skills", claude))
		} else {
			must(t, os.Mkdir(claude, 0o755))
		}
		must(t, withWorkspace(t, dir, install))
		must(t, withWorkspace(t, dir, remove))
		if _, err := os.Lstat(claude); err != nil {
			t.Errorf("link %t: %v", link, err)
		}
		must(t, os.RemoveAll(filepath.Join(project, ".claude")))
	}
	// What kx made itself goes.
	must(t, withWorkspace(t, dir, install))
	must(t, withWorkspace(t, dir, remove))
	if _, err := os.Lstat(filepath.Join(project, ".claude")); err == nil {
		t.Error(".claude was made by kx, and stays")
	}
}

// Of two installations at the same moment, one failed with install.busy.
func TestTwoInstallationsAtOnceBothEndUpInTheLock(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "project"), 0o755))
	spot := Spot{Dir: filepath.Join(dir, "project", ".claude", "skills"), Agents: []string{"claude-code"}}
	first, second := openWorkspace(t, dir, nil), openWorkspace(t, dir, nil)
	defer first.Close()
	defer second.Close()
	one := first.Plan(context.Background(), []Wanted{wantSkill(t, "one", "1", spot)})
	two := second.Plan(context.Background(), []Wanted{wantSkill(t, "two", "1", spot)})
	other := second.Plan(context.Background(), []Wanted{wantSkill(t, "one", "2", spot)})
	must(t, firstFault(first.Apply(one)))
	must(t, firstFault(second.Apply(two)))
	if err := firstFault(second.Apply(other)); !isRefusal(err, IDBusy) && !isRefusal(err, IDCollision) {
		t.Errorf("the same skill at two revisions: %v", err)
	}
	must(t, withWorkspace(t, dir, func(t fatal, w *Workspace) error {
		if got := strings.Join(w.Lock().Names(), " "); got != "one two" {
			t.Errorf("the lock has %s", got)
		}
		lockAndDiskAgree(t, w)
		return nil
	}))
}

// An installation by hand took a folder over that kx sync keeps.
func TestAnInstallationLeavesWhatSyncKeeps(t *testing.T) {
	dir := t.TempDir()
	skills := filepath.Join(dir, "project", ".claude", "skills")
	must(t, os.MkdirAll(skills, 0o755))
	w := openWorkspace(t, dir, nil)
	defer w.Close()
	root, err := w.root(skills)
	must(t, err)
	o := options()
	o.Owner, o.Source, o.Slug = "kx-test", syncSource+"https://hub.example.org", ""
	_, err = Install(root, skillMD(t, "one", "1"), o)
	must(t, err)
	before := tree(t, skills)
	for _, version := range []string{"1", "2"} {
		want := wantSkill(t, "one", version, Spot{Dir: skills})
		want.Force = version == "2"
		if err := firstFault(w.Apply(w.Plan(context.Background(), []Wanted{want}))); !isRefusal(err, IDCollision) {
			t.Errorf("version %s: %v", version, err)
		}
	}
	same(t, before, tree(t, skills))
}
