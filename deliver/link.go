package deliver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
)

// Ids of refusals of links.
const (
	IDNoLinks    = "install.no-links"    // this user or this disk cannot have them
	IDLinkTarget = "install.link-target" // it would lead nowhere, or to itself
)

// LinkTarget is the text of a link that is called slug in the folder dir and leads
// to the folder canonical: relative, so that both can move together. Both are
// absolute and without links.
func LinkTarget(dir, canonical string) (string, error) {
	rel, err := filepath.Rel(dir, canonical)
	if err != nil {
		return canonical, nil // on another volume only the whole path leads there
	}
	if rel == "." {
		return "", linkTarget("", "the skills folder cannot be linked into itself")
	}
	return rel, nil
}

// Link makes slug in root a symbolic link with the text target, such as
// LinkTarget gives, and tells whether it was New or Unchanged. What is there
// already is not replaced (IDCollision): a link that leads elsewhere is taken away
// with Unlink first. Where links cannot be had (IDNoLinks), on Windows without the
// privilege for example, the caller installs a copy and says so.
func Link(root fsx.Root, slug, target string) (Outcome, error) {
	if hubapi.CheckName(slug) != nil {
		return "", refusal(hubapi.Invalid, IDName, slug, "%q cannot be the name of a skill's folder", slug)
	}
	state, err := Check(root, slug)
	switch {
	case err != nil:
		return "", fmt.Errorf("link %s: %w", slug, err)
	case state.Link != "" && state.Link == target:
		return Unchanged, nil
	case state.Link != "":
		return "", collision(slug, "it is a link to "+state.Link)
	case state.Status == Owned:
		return "", collision(slug, "it holds a copy of "+state.Marker.Ref())
	case state.Status != Absent:
		return "", collision(slug, state.Why)
	}
	if err := checkTarget(root, slug, target); err != nil {
		return "", err
	}
	err = root.Symlink(target, slug)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return "", refusal(hubapi.Conflict, IDNoLinks, slug, "%s cannot be a link: this user or this disk cannot have links", slug).
			WithHint("install a copy instead")
	case errors.Is(err, fs.ErrExist):
		return "", busy(slug)
	case err != nil:
		return "", diskError(slug, err)
	}
	return New, root.Sync(".")
}

// checkTarget refuses a link that leads to itself, or to no folder.
func checkTarget(root fsx.Root, slug, target string) error {
	at := target
	if !filepath.IsAbs(at) {
		at = filepath.Join(root.Name(), filepath.FromSlash(target))
	}
	dir, err := filepath.EvalSymlinks(root.Name())
	if err != nil {
		return fmt.Errorf("link %s: %w", slug, err)
	}
	real, err := filepath.EvalSymlinks(at)
	switch {
	case filepath.Clean(at) == filepath.Join(root.Name(), slug), err == nil && real == filepath.Join(dir, slug):
		return linkTarget(slug, "the link %s would lead to itself", slug)
	case err != nil:
		return linkTarget(slug, "the link %s would lead to %s, which is not there", slug, target)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return linkTarget(slug, "the link %s would lead to %s, which is not a folder", slug, target)
	}
	return nil
}

func linkTarget(slug, format string, args ...any) error {
	return refusal(hubapi.Conflict, IDLinkTarget, slug, format, args...)
}

// Unlink takes away a link that Link made with the same target, and nothing else:
// what it leads to stays, and a link that leads elsewhere by now, or something that
// took its place, is refused (IDCollision).
func Unlink(root fsx.Root, slug, target string) error {
	_ = fsx.SweepStaged(root, ".") // as in InstallAll
	return unlink(root, slug, target)
}

// unlink is Unlink where what killed runs left was seen to.
func unlink(root fsx.Root, slug, target string) error {
	state, err := Check(root, slug)
	switch {
	case err != nil:
		return &DiskError{"remove", slug, err}
	case state.Status == Absent:
		return refusal(hubapi.NotFound, IDNotInstalled, slug, "there is no folder %s", slug)
	case state.Link == "":
		return collision(slug, "it is not a link")
	case target == "" || state.Link != target:
		return collision(slug, "it is a link to "+state.Link)
	}
	err = fsx.RemoveDir(root, slug, func(old string) error {
		if now, err := root.Readlink(old); err != nil || now != target {
			return errMeanwhile
		}
		return nil
	})
	switch {
	case errors.Is(err, errMeanwhile), errors.Is(err, fs.ErrNotExist):
		return busy(slug)
	case err != nil:
		return &DiskError{"remove", slug, err}
	}
	return nil
}
