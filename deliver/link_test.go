package deliver

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
)

// linked is a store with one installed skill, and an agent's folder beside it.
func linked(t *testing.T) (agent fsx.Root, dir, target string) {
	t.Helper()
	dir = t.TempDir()
	store, err := fsx.OpenOrCreate(filepath.Join(dir, ".agents", "skills"), 0o755)
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	_, err = Install(store, skillMD(t, "hello", "1"), options())
	must(t, err)
	agent, err = fsx.OpenOrCreate(filepath.Join(dir, ".claude", "skills"), 0o755)
	must(t, err)
	t.Cleanup(func() { must(t, agent.Close()) })
	target, err = LinkTarget(agent.Name(), filepath.Join(store.Name(), "hello"))
	must(t, err)
	return agent, dir, target
}

func TestLink(t *testing.T) {
	agent, dir, target := linked(t)
	same(t, filepath.FromSlash("../../.agents/skills/hello"), target)
	for _, want := range []Outcome{New, Unchanged} {
		got, err := Link(agent, "hello", target)
		must(t, err)
		same(t, want, got)
	}
	if _, err := os.Stat(filepath.Join(dir, ".claude", "skills", "hello", "SKILL.md")); err != nil {
		t.Error(err)
	}
	state, err := Check(agent, "hello")
	must(t, err)
	same(t, []string{string(Foreign), target}, []string{string(state.Status), state.Link})

	// Nothing is installed through a link, and no copy is removed by it.
	before := tree(t, dir)
	_, err = Install(agent, skillMD(t, "hello", "2"), options())
	refused(t, err, hubapi.Conflict, IDCollision)
	refused(t, Remove(agent, "hello", "kx-test", true), hubapi.Conflict, IDCollision)
	refused(t, Unlink(agent, "hello", "../elsewhere"), hubapi.Conflict, IDCollision)
	refused(t, Unlink(agent, "hello", ""), hubapi.Conflict, IDCollision)
	_, err = Link(agent, "hello", "../../.agents")
	refused(t, err, hubapi.Conflict, IDCollision)
	same(t, before, tree(t, dir))

	// Removing it from one agent leaves the copy that others read.
	must(t, Unlink(agent, "hello", target))
	refused(t, Unlink(agent, "hello", target), hubapi.NotFound, IDNotInstalled)
	delete(before, ".claude/skills/hello")
	same(t, before, tree(t, dir))
	nothingStaged(t, filepath.Join(dir, ".claude", "skills"))
}

func TestLinkRefusesWhatLeadsNowhere(t *testing.T) {
	agent, dir, _ := linked(t)
	put(t, dir, "file", "x")
	must(t, os.Symlink(filepath.Join(dir, ".claude", "skills", "hello"), filepath.Join(dir, "around")))
	before := tree(t, dir)
	for _, target := range []string{"hello", "./hello", "../skills/hello", "../../nowhere", "../../file", "../../around"} {
		_, err := Link(agent, "hello", target)
		refused(t, err, hubapi.Conflict, IDLinkTarget)
	}
	_, err := Link(agent, "../hello", "../../.agents/skills/hello")
	refused(t, err, hubapi.Invalid, IDName)
	_, err = LinkTarget("/a/b", "/a/b")
	refused(t, err, hubapi.Conflict, IDLinkTarget)
	same(t, before, tree(t, dir))
}

func TestLinkReplacesNothing(t *testing.T) {
	agent, dir, target := linked(t)
	_, err := Install(agent, skillMD(t, "hello", "1"), options())
	must(t, err)
	put(t, dir, ".claude/skills/mine/SKILL.md", "mine")
	put(t, dir, ".claude/skills/file", "mine")
	before := tree(t, dir)
	for _, slug := range []string{"hello", "mine", "file"} {
		_, err := Link(agent, slug, target)
		refused(t, err, hubapi.Conflict, IDCollision)
		refused(t, Unlink(agent, slug, target), hubapi.Conflict, IDCollision)
	}
	same(t, before, tree(t, dir))
}

type noLinks struct{ fsx.Root }

func (noLinks) Symlink(string, string) error { return errors.ErrUnsupported }

func TestLinkWhereThereAreNone(t *testing.T) {
	agent, dir, target := linked(t)
	before := tree(t, dir)
	_, err := Link(noLinks{agent}, "hello", target)
	refused(t, err, hubapi.Conflict, IDNoLinks)
	d := fsx.DryRun(agent)
	_, err = Link(d, "hello", target)
	must(t, err)
	same(t, []string{"link hello to " + target}, d.Changes())
	same(t, before, tree(t, dir))
}

// Somebody puts a folder in the place of the link between the look and the
// removal: it goes back.
type swapped struct {
	fsx.Root
	dir string
}

func (s swapped) MkdirAll(name string, perm os.FileMode) error {
	at := filepath.Join(s.dir, ".claude", "skills", "hello")
	if info, err := os.Lstat(at); err == nil && info.Mode()&os.ModeSymlink != 0 {
		if err := errors.Join(os.Remove(at), os.MkdirAll(at, 0o755), os.WriteFile(filepath.Join(at, "SKILL.md"), []byte("mine"), 0o644)); err != nil {
			return err
		}
	}
	return s.Root.MkdirAll(name, perm)
}

func TestUnlinkLosesNothingThatTookThePlace(t *testing.T) {
	agent, dir, target := linked(t)
	_, err := Link(agent, "hello", target)
	must(t, err)
	refused(t, Unlink(swapped{agent, dir}, "hello", target), hubapi.Conflict, IDBusy)
	same(t, "644 mine", tree(t, dir)[".claude/skills/hello/SKILL.md"])
}
