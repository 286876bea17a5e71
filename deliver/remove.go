package deliver

import (
	"errors"
	"io/fs"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
)

// Remove takes away a folder that this owner installed, whole or not at all. A
// folder that is not ours is refused (IDCollision), force or not; so is one that
// a person edited or put files into (IDLocalEdits), unless force says that these
// may go too.
func Remove(root fsx.Root, slug, owner string, force bool) error {
	_ = fsx.SweepStaged(root, ".") // as in InstallAll
	return remove(root, slug, owner, force)
}

// remove is Remove where what killed runs left was seen to.
func remove(root fsx.Root, slug, owner string, force bool) error {
	for range attempts {
		err := removeOnce(root, slug, owner, force)
		if !errors.Is(err, errMeanwhile) {
			return err
		}
	}
	return busy(slug)
}

func removeOnce(root fsx.Root, slug, owner string, force bool) error {
	state, err := Check(root, slug)
	if err != nil {
		return &DiskError{"remove", slug, err}
	}
	switch {
	case state.Status == Absent:
		return refusal(hubapi.NotFound, IDNotInstalled, slug, "there is no folder %s", slug)
	case state.Status == Foreign:
		return collision(slug, state.Why)
	case owner == "" || state.Marker.Owner != owner:
		return collision(slug, "another installation of kx wrote it")
	}
	if edits := state.Edits(); len(edits) > 0 && !force {
		return localEdits(slug, edits)
	}
	err = fsx.RemoveDir(root, slug, func(old string) error {
		return state.still(root, old, force)
	})
	switch {
	case err == nil || errors.Is(err, errMeanwhile):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return errMeanwhile // someone else removed it; the next look says so
	}
	return &DiskError{"remove", slug, err}
}
