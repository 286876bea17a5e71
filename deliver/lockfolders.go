package deliver

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/pack"
)

// chosenFolders holds a file for every folder of a project that is no agent's and
// that the user of this kx named. A lock alone proves nothing: it comes with the
// project, from strangers too.
const chosenFolders = "folders"

// agentFolders are all folders below a project that agents read, and by which.
var agentFolders = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for _, a := range readTable() {
		for _, dir := range append([]string{a.Project}, a.Also...) {
			if dir != "" {
				out[dir] = append(out[dir], a.Name)
			}
		}
	}
	return out
})

// CheckFolder refuses a folder for skills that is git's own, or leads there: what
// lies in .git/hooks is run.
func CheckFolder(dir string) error {
	for _, at := range []string{dir, realDir(dir)} {
		if name := dotGit(filepath.ToSlash(at)); name != "" {
			return refusal(hubapi.Invalid, "path.dotgit", "", "no skill can be put into %s: %q is git's own folder", dir, name).
				WithHint("name another folder")
		}
	}
	return nil
}

// dotGit gives the name in a path that is .git, or another spelling of it.
func dotGit(dir string) string {
	for name := range strings.SplitSeq(dir, "/") {
		if err := pack.CheckPath(name); err != nil && err.ID == "path.dotgit" {
			return name
		}
	}
	return ""
}

// realDir is a folder with the links of its path followed, as far as it is there. A
// path that cannot be followed stays as it is: it cannot be opened either.
func realDir(dir string) string {
	there, missing, _, err := deepest(dir)
	if err != nil {
		return dir
	}
	real, err := filepath.EvalSymlinks(there)
	if err != nil {
		return dir
	}
	return filepath.Join(real, missing)
}

// inProject is a folder below the project with all links followed, "/" separated; ok
// is false when it is outside.
func (w *Workspace) inProject(dir string) (rel string, ok bool) {
	rel, err := filepath.Rel(realDir(w.o.Dir), realDir(dir))
	if err != nil || escapesDir(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// checkFolders refuses a project's lock that names a folder in which no agent looks
// for skills: it would make kx write what a stranger wants where the stranger wants.
func (w *Workspace) checkFolders(lock *Lock, data []byte) error {
	if w.o.User {
		return nil
	}
	fine := map[string]bool{}
	for _, name := range lock.Names() {
		for _, t := range lock.Skills[name].Targets {
			key := t.Dir + "\x00" + strings.Join(t.Agents, "\x00")
			if fine[key] {
				continue
			}
			if why, hint := w.admit(t, lock.Skills[name].Source); why != "" {
				// One folder is named at a time: what was named is not asked for again.
				if w.o.Named != "" {
					if err := w.rememberChosen(); err != nil {
						return err
					}
				}
				root, _ := strictjson.Parse(data)
				line, _ := strictjson.Position(data, root.Get("skills").Get(name).Offset)
				return lockFault(IDLockInvalid, line, "the skill %q is to be in %q, %s", name, t.Dir, why).WithHint("%s", hint)
			}
			fine[key] = true
		}
	}
	return nil
}

const strangeLock = "look at who wrote this lock; a folder is named by its agent (--agent), or by you with --to DIR"

// admit says why a folder of a project's lock, for a skill of source, is refused.
func (w *Workspace) admit(t Target, source string) (why, hint string) {
	real, inside := w.inProject(w.Path(t))
	switch {
	case !t.insideProject() || !inside:
		return "which is outside of the project", strangeLock
	case dotGit(t.Dir) != "" || dotGit(real) != "":
		return "which is git's own folder", strangeLock
	}
	for _, name := range t.Agents {
		if a, err := FindAgent(name); err != nil || a.Name != name {
			return fmt.Sprintf("for the agent %q, which there is not", name), "this kx has its agents from " + AgentsDated() + "; a newer one may know it"
		}
	}
	if w.isChosen(real) {
		return "", ""
	}
	for _, name := range t.Agents {
		if !w.readsFolder(name, t.Dir, real) {
			return "which is not where " + name + " looks for skills", strangeLock
		}
	}
	named := false
	if w.o.Named != "" {
		at, ok := w.inProject(w.o.Named)
		named = ok && at == real
	}
	switch {
	case agentFolders()[real] != nil:
		return "", ""
	case named, w.o.AnyFolder && real != "." && !hidden(real):
		w.agreed = append(w.agreed, real)
		return "", ""
	case real == "." || hidden(real):
		// Many programs keep what they run in such a folder, so each is named.
		return "in which no agent looks for skills", "if you mean this folder, name it once, with a skill for it: kx skills install " + plainWord(source, "REF") + " --to " + plainWord(t.Dir, "DIR")
	}
	return "in which no agent looks for skills", "if you mean this folder, say so once: kx skills install --yes"
}

// plainWord is a text that a shell reads as itself, or what stands for it.
func plainWord(text, otherwise string) string {
	if text == "" || text[0] == '-' || strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._/:@+-", r))
	}) {
		return otherwise
	}
	return text
}

// hidden tells whether a folder, or one on the way to it, begins with a dot.
func hidden(dir string) bool {
	return slices.ContainsFunc(strings.Split(dir, "/"), func(name string) bool { return strings.HasPrefix(name, ".") })
}

// readsFolder tells whether an agent looks for skills in a folder, directly or
// through a link that is in the project.
func (w *Workspace) readsFolder(agent, dir, real string) bool {
	for folder, agents := range agentFolders() {
		if !slices.Contains(agents, agent) {
			continue
		}
		if folder == dir {
			return true
		}
		if led, ok := w.inProject(filepath.Join(w.o.Dir, filepath.FromSlash(folder))); ok && led == real {
			return true
		}
	}
	return false
}

// spotCheck is checkSpot that asks the disk once about a spot that is fine: where there
// are many skills, all go to the same few.
func (w *Workspace) spotCheck() func(Spot) error {
	var mu sync.Mutex
	fine := map[string]bool{}
	return func(spot Spot) error {
		key := spot.Dir + "\x00" + strings.Join(spot.Agents, "\x00")
		mu.Lock()
		known := fine[key]
		mu.Unlock()
		if known {
			return nil
		}
		if err := w.checkSpot(spot); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		fine[key] = true
		return nil
	}
}

// checkSpot refuses a folder that the user or an agent named, where the lock could
// not name it. One that is no agent's is remembered as chosen.
func (w *Workspace) checkSpot(spot Spot) error {
	if err := CheckFolder(spot.Dir); err != nil || w.o.User {
		return err
	}
	real, inside := w.inProject(spot.Dir)
	switch {
	case !inside:
		return outsideProject(spot.Dir, w.o.Dir)
	case agentFolders()[real] != nil:
		return nil
	case len(spot.Agents) > 0 && (real == "." || hidden(real)):
		return refusal(hubapi.Invalid, IDLockInvalid, "", "a link leads the skills of %s into %s, in which no agent looks for skills", strings.Join(spot.Agents, ", "), spot.Dir).
			WithHint("if you mean this folder, name it with --to")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.agreed = append(w.agreed, real)
	return nil
}

func outsideProject(dir, project string) error {
	return refusal(hubapi.Invalid, IDLockInvalid, "", "the folder %s is outside of the project %s, whose lock cannot name it", dir, project).
		WithHint("install for the user with --scope user, or name another folder")
}

func (w *Workspace) chosenName(real string) string {
	return hexSum([]byte(filepath.Join(realDir(w.o.Dir), filepath.FromSlash(real))))[:32]
}

func (w *Workspace) isChosen(real string) bool {
	_, err := lstat(filepath.Join(w.o.Data, chosenFolders, w.chosenName(real)))
	return err == nil
}

// rememberChosen keeps which folders the user named, before anything is in them.
func (w *Workspace) rememberChosen() error {
	slices.Sort(w.agreed)
	for _, real := range slices.Compact(w.agreed) {
		if w.isChosen(real) {
			continue
		}
		root, err := w.openOrCreate(filepath.Join(w.o.Data, chosenFolders), 0o700)
		if err != nil {
			return err
		}
		if err := errors.Join(root.WriteFile(w.chosenName(real), nil, fs.FileMode(0o600)), root.Close()); err != nil {
			return err
		}
	}
	w.agreed = nil
	return nil
}
