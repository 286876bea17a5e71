package source

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/kortecx/kx/hubapi"
)

// openLocal opens a repository on this machine for reading. Its configuration, which
// can name programs, is not looked at.
func (s *Sources) openLocal(ref Ref) (*commits, func(), error) {
	top := s.onDisk(ref.Location)
	git, err := gitFolder(top)
	if err != nil {
		return nil, nil, asError(err, hubapi.NotFound, "%s is no git repository", ref.Location)
	}
	return openGit(git)
}

func openGit(git string) (*commits, func(), error) {
	store := filesystem.NewStorageWithOptions(osfs.New(git), cache.NewObjectLRU(32*cache.MiByte), filesystem.Options{KeepDescriptors: true})
	c := &commits{objects: store, names: names{refs: map[string]plumbing.Hash{}}}
	c.find = func(prefix string) (plumbing.Hash, error) { return findPrefix(store, prefix) }
	all, err := store.IterReferences()
	if err != nil {
		return nil, nil, hubapi.Errorf(hubapi.Invalid, "the repository cannot be read: %v", bare(err))
	}
	err = all.ForEach(func(r *plumbing.Reference) error {
		name := r.Name().String()
		if r.Type() == plumbing.HashReference && (strings.HasPrefix(name, "refs/heads/") || strings.HasPrefix(name, "refs/tags/")) {
			c.names.refs[name] = peel(store, r.Hash())
		}
		return nil
	})
	if err != nil {
		return nil, nil, hubapi.Errorf(hubapi.Invalid, "the repository cannot be read: %v", bare(err))
	}
	if head, err := storer.ResolveReference(store, plumbing.HEAD); err == nil {
		c.names.head = head.Hash()
	}
	return c, func() { _ = store.Close() }, nil
}

// findPrefix looks a commit up in the index of the repository.
func findPrefix(store *filesystem.Storage, prefix string) (plumbing.Hash, error) {
	var found plumbing.Hash
	whole, err := hex.DecodeString(prefix[:len(prefix)&^1])
	if err != nil {
		return found, err
	}
	all, err := store.HashesWithPrefix(whole)
	if err != nil {
		return found, err
	}
	for _, h := range all {
		if !strings.HasPrefix(h.String(), prefix) || h == found {
			continue
		}
		if _, err := commitTree(store, h); err != nil {
			continue
		}
		if !found.IsZero() {
			return found, fail(hubapi.Conflict, "source.ambiguous", "several commits begin with %s", prefix)
		}
		found = h
	}
	if found.IsZero() {
		return found, fail(hubapi.NotFound, "source.no-rev", "there is no commit that begins with %s", prefix)
	}
	return found, nil
}

// peel gives the commit that a tag is about.
func peel(store storer.EncodedObjectStorer, h plumbing.Hash) plumbing.Hash {
	for range 8 {
		target, err := tagTarget(store, h)
		if err != nil {
			return h
		}
		h = target
	}
	return h
}

// gitFolder is where a repository keeps its objects: the folder itself, .git in it, or
// what a .git file of a worktree points at.
func gitFolder(top string) (string, error) {
	if isGit(top) {
		return top, nil
	}
	at := filepath.Join(top, ".git")
	info, err := os.Lstat(at)
	if err != nil {
		if _, statErr := os.Stat(top); statErr != nil {
			return "", fail(hubapi.NotFound, "source.not-found", "there is nothing at %s", top)
		}
		return "", fail(hubapi.NotFound, "source.not-found", "%s is no git repository", top)
	}
	if info.Mode().IsRegular() && info.Size() < 4096 {
		data, err := os.ReadFile(at)
		if err != nil {
			return "", err
		}
		to, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
		if !ok {
			return "", errors.New(".git is no pointer to a repository")
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(top, to)
		}
		// A worktree has its own HEAD and shares everything else.
		if common, err := os.ReadFile(filepath.Join(to, "commondir")); err == nil {
			return "", fail(hubapi.Unsupported, "source.worktree", "%s is a worktree of another repository", top).
				WithHint("name that repository: %s", filepath.Dir(filepath.Join(to, strings.TrimSpace(string(common)))))
		}
		at = to
	}
	if !isGit(at) {
		return "", fail(hubapi.NotFound, "source.not-found", "%s is no git repository", top)
	}
	return at, nil
}

func isGit(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}
